//! The machinery of the element-wise ops: kernels that apply a function to every element of strided or blocked operands.
//! `macros` makes ops of tables of functions.

pub(crate) mod binary;
pub(crate) mod dropout;
pub(crate) mod gradient;
pub(crate) mod lookup;
pub(crate) mod quantize;
pub(crate) mod quantized;
pub(crate) mod requantize;
pub(crate) mod to_dtype;
pub(crate) mod unary;

mod macros;

pub(crate) use self::macros::{
    binary_ops, gradient_of_one, gradient_of_two, into_docs, parameters, pointwise_docs, stored_type,
    unary_errors, unary_ops, with_gradient,
};

use std::marker::PhantomData;

use half::bf16;

use crate::dtype::{DType, Element};
use crate::elementwise::{self, Function, Function2, InBf16, MapDestination, MapResult};
use crate::error::{Result, fail};
use crate::kernels::blocked_map::{self, MapOperand};
use crate::math;
use crate::op::args::ArgList;
use crate::op::params::Params;
use crate::op::schema::{OutputSpec, output_like, output_of};
use crate::op::{Arg, ArgSpec, Args, KernelResult, Op, Results};
use crate::scratchpad::Scratchpad;
use crate::tensor::any::{Operand, TensorMut, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

/// The ledger's name for these kernels.
const IMPLEMENTATION: &str = "blocktensor:elementwise";

/// The result of a function to elements of type `O`: the operand's dtype where that is f32, else fixed.
const fn output<O: Element>(operand: &'static str) -> OutputSpec {
    match O::DTYPE {
        DType::F32 => output_like("dst", operand),
        fixed => output_of("dst", fixed),
    }
}

/// The parameters of an op that has none.
pub(crate) struct NoParameters;

impl Params for NoParameters {
    const SPECS: &'static [ArgSpec] = &[];

    fn read(_: &Args<'_>) -> Result<NoParameters> {
        Ok(NoParameters)
    }

    fn push_args<'a>(&'a self, _: &mut ArgList<'a>) {}
}

/// A typed call with one result of the operands' type: tensors, then parameters.
#[track_caller]
pub(crate) fn call<T: Operand, P: Params>(op: &'static Op, tensors: &[Arg<'_>], params: &P) -> Result<T> {
    // Without parameters the tensors are the whole list of arguments. Copying them costs time on small tensors.
    if P::SPECS.is_empty() { op.call_one(tensors) } else { op.call_with(tensors, params) }
}

/// As [`call`], into the caller's tensor. Element-wise kernels need no scratchpad.
#[track_caller]
pub(crate) fn call_into<T: Operand, P: Params>(
    op: &'static Op,
    tensors: &[Arg<'_>],
    params: &P,
    dst: &mut T,
) -> Result<()> {
    let into = vec![dst.tensor_mut()];
    if P::SPECS.is_empty() {
        return op.call_into(tensors, into, &mut Scratchpad::new());
    }
    op.call_into(ArgList::of(tensors, params).as_slice(), into, &mut Scratchpad::new())
}

/// Runs `work`, which writes the result, and records the run in the ledger. `to` names the result's layout.
pub(crate) fn recorded<R>(args: &Args<'_>, to: impl FnOnce() -> String, work: impl FnOnce() -> R) -> R {
    let layouts = || {
        let from: Vec<String> = args.data_operands().map(|(_, t)| t.layout_name()).collect();
        format!("{} -> {}", from.join(", "), to())
    };
    crate::kernels::timed(args, IMPLEMENTATION, layouts, work)
}

/// The name of the result's layout; empty unless the ledger is recording.
fn layout_to_record(dst: &TensorMut<'_>) -> String {
    if crate::ledger::is_recording() { dst.as_ref().layout_name() } else { String::new() }
}

/// Asks for the result of an element-wise op. It has the operands' key and their broadcast shape.
fn broadcast_result<'r, O: Element, const N: usize>(
    args: &Args<'_>,
    operands: [TensorRef<'_>; N],
    results: &'r mut Results<'_>,
) -> KernelResult<TensorMut<'r>> {
    let op = args.op();
    if let TensorRef::Blocked(_) = operands[0] {
        let mut i = 0;
        let blocked: [(&'static str, &BlockedTensor); N] = operands.map(|t| {
            let name = args.name(i);
            i += 1;
            match t {
                TensorRef::Blocked(t) => (name, t),
                _ => unreachable!("the operands of a call have one key"),
            }
        });
        let (dims, layout) = blocked_map::common(op, &blocked)?;
        return results.blocked(&dims, &layout, O::DTYPE).map(TensorMut::Blocked);
    }
    let strided: [&StridedTensor; N] = operands.map(|t| match t {
        TensorRef::Strided(t) => t,
        _ => unreachable!("the operands of a call have one key"),
    });
    let dims = crate::layout::iterator::broadcast(op, &strided.map(|t| t.operand()))?;
    results.in_any_strides(FormatRule::ElementWise, &strided, &dims, O::DTYPE).map(TensorMut::Strided)
}

/// The kernel of a function of one operand, for both keys and both dtypes.
pub(crate) fn run_unary<O: MapResult>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    f: impl Function<f32, O>,
) -> KernelResult {
    match args.tensor(0)?.dtype() {
        DType::BF16 => map_one::<bf16, O::InBf16, _>(args, results, || Ok(InBf16(f, PhantomData))),
        _ => map_one::<f32, O, _>(args, results, || Ok(f)),
    }
}

/// The kernel of a function of one operand of this type. `f` makes the function of what only a run has.
fn map_one<A: Element, O: Element, F: Function<A, O>>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    f: impl FnOnce() -> Result<F>,
) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    let dst = broadcast_result::<O, 1>(args, [x], results)?;
    let to = layout_to_record(&dst);
    let work = || match (x, dst) {
        (TensorRef::Strided(x), TensorMut::Strided(dst)) => {
            elementwise::map1_to(op, MapDestination::of_result(dst), x, f()?)
        }
        (TensorRef::Blocked(x), TensorMut::Blocked(dst)) => {
            let channels = x.dims().get(1).copied().unwrap_or(1);
            blocked_map::map1(op, dst, &MapOperand::of_checked(op, x, channels)?, f()?)
        }
        _ => unreachable!("the destination has the operands' key"),
    };
    Ok(recorded(args, || to, work)?)
}

/// The kernel of a function of two operands that broadcast against each other, for both keys and both dtypes.
pub(crate) fn run_binary<O: MapResult>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    f: impl Function2<f32, f32, O>,
) -> KernelResult {
    match args.tensor(0)?.dtype() {
        DType::BF16 => map_two::<bf16, bf16, O::InBf16>(args, results, InBf16(f, PhantomData)),
        _ => map_two::<f32, f32, O>(args, results, f),
    }
}

fn map_two<A: Element, B: Element, O: Element>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    f: impl Function2<A, B, O>,
) -> KernelResult {
    let (op, a, b) = (args.op(), args.tensor(0)?, args.tensor(1)?);
    let dst = broadcast_result::<O, 2>(args, [a, b], results)?;
    let to = layout_to_record(&dst);
    let work = || match (a, b, dst) {
        (TensorRef::Strided(a), TensorRef::Strided(b), TensorMut::Strided(dst)) => {
            elementwise::map2_to(op, MapDestination::of_result(dst), a, b, f)
        }
        (TensorRef::Blocked(a), TensorRef::Blocked(b), TensorMut::Blocked(dst)) => {
            let channels = dst.dims().get(1).copied().unwrap_or(1);
            let of = |t| MapOperand::of_checked(op, t, channels);
            let (a, b) = (of(a)?, of(b)?);
            blocked_map::map2(op, dst, (&a, &b), f)
        }
        _ => unreachable!("the destination has the operands' key"),
    };
    Ok(recorded(args, || to, work)?)
}

/// The kernel of `where` for both keys and both dtypes. All three operands broadcast against each other.
pub(crate) fn run_where(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    match args.tensor(1)?.dtype() {
        DType::BF16 => select::<bf16>(args, results),
        _ => select::<f32>(args, results),
    }
}

fn select<E: Element>(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let op = args.op();
    let f = |condition: u8, a: E, b: E| if condition != 0 { a } else { b };
    let dst = broadcast_result::<E, 3>(args, [args.tensor(0)?, args.tensor(1)?, args.tensor(2)?], results)?;
    let to = layout_to_record(&dst);
    let work = || match dst {
        TensorMut::Strided(dst) => {
            let (condition, a, b) = (args.strided(0)?, args.strided(1)?, args.strided(2)?);
            elementwise::map3_into(op, dst, condition, a, b, f)
        }
        TensorMut::Blocked(dst) => {
            let channels = dst.dims().get(1).copied().unwrap_or(1);
            let source = |i| MapOperand::of_checked(op, args.blocked(i)?, channels);
            blocked_map::map3(op, dst, (&source(0)?, &source(1)?, &source(2)?), f)
        }
        TensorMut::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
    };
    Ok(recorded(args, || to, work)?)
}

/// The kernel of a function of an element and the value of its channel (axis 1), for both keys and both dtypes. The values are the
/// second tensor: a parameter, which is f32.
pub(crate) fn run_with_channel_values(
    args: &Args<'_>,
    results: &mut Results<'_>,
    rule: FormatRule,
    f: impl Fn(f32, f32) -> f32 + Sync,
) -> KernelResult {
    match args.tensor(0)?.dtype() {
        DType::BF16 => {
            let rounded = |x: bf16, value| math::to_bf16(f(math::widen(x), value));
            map_with_channel_values(args, results, rule, rounded)
        }
        _ => map_with_channel_values::<f32>(args, results, rule, f),
    }
}

fn map_with_channel_values<E: Element>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    rule: FormatRule,
    f: impl Fn(E, f32) -> E + Sync,
) -> KernelResult {
    let op = args.op();
    let (x, values) = (args.tensor(0)?, args.strided(1)?);
    let channels = x.dims().get(1).copied().unwrap_or(1);
    let got = || TensorRef::Strided(values).describe();
    if values.numel() != 1 && values.numel() != channels {
        fail!(
            ShapeMismatch,
            op,
            args.name(1),
            got(),
            format!("the data are {}, with {channels} channels", x.describe()),
            format!("pass {channels} values, or one for all")
        );
    }
    match x {
        TensorRef::Strided(x) => {
            // [C, 1, 1], which broadcasts against [N, C, H, W].
            let sizes = [values.numel()];
            let mut along_channels = values.reshape(&sizes[..x.rank().min(1)])?;
            while along_channels.rank() + 1 < x.rank() {
                along_channels = along_channels.unsqueeze(along_channels.rank())?;
            }
            let dst = results.in_any_strides(rule, &[x], x.dims(), E::DTYPE)?;
            let to = layout_to_record(&TensorMut::Strided(dst));
            Ok(recorded(args, || to, || elementwise::map2_into(op, dst, x, &along_channels, f))?)
        }
        TensorRef::Blocked(x) => {
            let dst = results.blocked(x.dims(), x.layout(), E::DTYPE)?;
            let sources = (MapOperand::of(op, x, channels)?, MapOperand::of_channels(op, values, x)?);
            let layout = || x.layout().to_string();
            Ok(recorded(args, layout, || blocked_map::map2(op, dst, (&sources.0, &sources.1), f))?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
    }
}
