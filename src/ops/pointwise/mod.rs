//! What all element-wise ops share: a function of elements, on either key, into a new tensor or a caller's.

pub(crate) mod binary;
pub(crate) mod dropout;
pub(crate) mod unary;

use crate::dtype::{DType, Element};
use crate::elementwise::{self, Function, Function2, Target};
use crate::error::{Result, Unsupported, fail};
use crate::kernels::blocked_map::{self, Source};
use crate::key::DispatchKey;
use crate::op::args::check_opaque;
use crate::op::{Args, Kernel, KernelFn, KernelResult, Op, Results, Schema};

use crate::tensor::any::{Operand, TensorMut, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

/// What the ledger calls these kernels.
const IMPLEMENTATION: &str = "blocktensor:elementwise";

/// The numbers that follow the first operand.
pub(crate) fn numbers<const N: usize>(args: &Args<'_>) -> Result<[f64; N]> {
    let mut all = [0.0; N];
    for (i, v) in all.iter_mut().enumerate() {
        *v = args.float(i + 1)?;
    }
    Ok(all)
}

/// Runs `work`, which writes a result that lies as `to` says, and tells the ledger.
pub(crate) fn recorded<R>(args: &Args<'_>, to: impl FnOnce() -> String, work: impl FnOnce() -> R) -> R {
    let layouts = || {
        let from: Vec<String> = args.data_operands().map(|(_, t)| t.layout_name()).collect();
        format!("{} -> {}", from.join(", "), to())
    };
    crate::kernels::timed(args, IMPLEMENTATION, layouts, work)
}

/// The result of an element-wise op under the key of its operands, not yet written.
fn result<'r, O: Element>(
    op: &'static str,
    operands: &[(&'static str, TensorRef<'_>)],
    results: &'r mut Results<'_>,
) -> KernelResult<TensorMut<'r>> {
    if let TensorRef::Blocked(_) = operands[0].1 {
        let (dims, layout) = blocked_map::common(op, &all_blocked(operands))?;
        return results.blocked(&dims, &layout, O::DTYPE).map(TensorMut::Blocked);
    }
    let strided = all_strided(operands);
    let views: Vec<_> = strided.iter().map(|t| t.operand()).collect();
    let dims = crate::layout::iterator::broadcast(op, &views)?;
    results.in_any_strides(FormatRule::ElementWise, &strided, &dims, O::DTYPE).map(TensorMut::Strided)
}

fn all_blocked<'a>(operands: &[(&'static str, TensorRef<'a>)]) -> Vec<(&'static str, &'a BlockedTensor)> {
    let blocked = |&(name, t): &(&'static str, TensorRef<'a>)| match t {
        TensorRef::Blocked(t) => Some((name, t)),
        _ => None,
    };
    operands.iter().filter_map(blocked).collect()
}

fn all_strided<'a>(operands: &[(&'static str, TensorRef<'a>)]) -> Vec<&'a StridedTensor> {
    let strided = |&(_, t): &(&'static str, TensorRef<'a>)| match t {
        TensorRef::Strided(t) => Some(t),
        _ => None,
    };
    operands.iter().filter_map(strided).collect()
}

/// The kernel of a function of one operand, on both keys.
pub(crate) fn run1<O: Element>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    f: impl Function<f32, O>,
) -> KernelResult {
    let x = args.tensor(0)?;
    let dst = result::<O>(args.op(), &[("x", x)], results)?;
    let to = name_to_record(&dst);
    Ok(recorded(args, || to, || write1(args.op(), x, dst, f))?)
}

/// The layout's name where somebody records.
fn name_to_record(dst: &TensorMut<'_>) -> String {
    if crate::ledger::is_recording() { dst.as_ref().layout_name() } else { String::new() }
}

fn write1<O: Element>(
    op: &'static str,
    x: TensorRef<'_>,
    dst: TensorMut<'_>,
    f: impl Function<f32, O>,
) -> Result<()> {
    match (x, dst) {
        (TensorRef::Strided(x), TensorMut::Strided(dst)) => {
            elementwise::map1_to(op, Target::of(op, dst)?, x, f)
        }
        (TensorRef::Blocked(x), TensorMut::Blocked(dst)) => {
            let channels = x.dims()[1];
            blocked_map::map1(op, dst, &Source::of(op, x, channels)?, f)
        }
        _ => unreachable!("the destination has the operands' key"),
    }
}

/// A function of one operand, into a caller's tensor.
pub(crate) fn into1<T: Operand, O: Element>(
    op: &'static Op,
    x: &T,
    dst: &mut T,
    f: impl Function<f32, O>,
) -> Result<()> {
    let (name, x) = (op.schema().name, x.tensor_ref());
    let layout = dst.tensor_ref().layout_name();
    let dst = destination::<T, O>(op, &[("x", x)], dst)?;
    let layouts = || format!("{} -> {layout}", x.layout_name());
    crate::kernels::timed_as(name, x.key(), IMPLEMENTATION, layouts, || write1(name, x, dst, f))
}

/// The kernel of a function of two operands that broadcast against each other, on both keys.
pub(crate) fn run2<O: Element>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    f: impl Function2<f32, f32, O>,
) -> KernelResult {
    let (a, b) = (args.tensor(0)?, args.tensor(1)?);
    let dst = result::<O>(args.op(), &[("a", a), ("b", b)], results)?;
    let to = name_to_record(&dst);
    Ok(recorded(args, || to, || write2(args.op(), a, b, dst, f))?)
}

fn write2<O: Element>(
    op: &'static str,
    a: TensorRef<'_>,
    b: TensorRef<'_>,
    dst: TensorMut<'_>,
    f: impl Function2<f32, f32, O>,
) -> Result<()> {
    match (a, b, dst) {
        (TensorRef::Strided(a), TensorRef::Strided(b), TensorMut::Strided(dst)) => {
            elementwise::map2_to(op, Target::of(op, dst)?, a, b, f)
        }
        (TensorRef::Blocked(a), TensorRef::Blocked(b), TensorMut::Blocked(dst)) => {
            let channels = dst.dims()[1];
            let (a, b) = (Source::of(op, a, channels)?, Source::of(op, b, channels)?);
            blocked_map::map2(op, dst, (&a, &b), f)
        }
        _ => unreachable!("the destination has the operands' key"),
    }
}

/// A function of two operands, into a caller's tensor.
pub(crate) fn into2<T: Operand, O: Element>(
    op: &'static Op,
    a: &T,
    b: &T,
    dst: &mut T,
    f: impl Function2<f32, f32, O>,
) -> Result<()> {
    let (name, a, b) = (op.schema().name, a.tensor_ref(), b.tensor_ref());
    let layout = dst.tensor_ref().layout_name();
    let dst = destination::<T, O>(op, &[("a", a), ("b", b)], dst)?;
    let layouts = || format!("{}, {} -> {layout}", a.layout_name(), b.layout_name());
    crate::kernels::timed_as(name, a.key(), IMPLEMENTATION, layouts, || write2(name, a, b, dst, f))
}

/// `where`: the kernel on both keys. The first operand is u8.
pub(crate) fn run3(
    args: &Args<'_>,
    results: &mut Results<'_>,
    f: impl Fn(u8, f32, f32) -> f32 + Sync,
) -> KernelResult {
    let op = args.op();
    let operands: Vec<(&'static str, TensorRef<'_>)> = args.data_operands().collect();
    for (&(name, t), wanted) in operands.iter().zip([DType::U8, DType::F32, DType::F32]) {
        if t.dtype() != wanted {
            let rule = format!("it is {wanted}");
            fail!(DTypeMismatch, op, name, t.describe(), rule, "pass a tensor of that dtype");
        }
    }
    let dst = result::<f32>(op, &operands, results)?;
    let to = name_to_record(&dst);
    let work = || match dst {
        TensorMut::Strided(dst) => {
            let (c, x, z) = (args.strided(0)?, args.strided(1)?, args.strided(2)?);
            elementwise::map3_into(op, dst, c, x, z, f)
        }
        TensorMut::Blocked(dst) => {
            let channels = dst.dims()[1];
            let source = |i| Source::of(op, args.blocked(i)?, channels);
            blocked_map::map3(op, dst, (&source(0)?, &source(1)?, &source(2)?), f)
        }
        TensorMut::Opaque(_) => unreachable!("the kernel stands under our two keys"),
    };
    Ok(recorded(args, || to, work)?)
}

/// The kernel of a function of an element and a parameter of its channel (axis 1), on both keys.
pub(crate) fn run_channels(
    args: &Args<'_>,
    results: &mut Results<'_>,
    rule: FormatRule,
    f: impl Fn(f32, f32) -> f32 + Sync,
) -> KernelResult {
    let op = args.op();
    let (x, values) = (args.tensor(0)?, args.strided(1)?);
    let channels = x.dims().get(1).copied().unwrap_or(1);
    let got = || TensorRef::Strided(values).describe();
    crate::tensor::any::check_f32(op, args.name(1), TensorRef::Strided(values), "it is f32")?;
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
            let mut along = values.reshape(&[values.numel()])?;
            while along.rank() + 1 < x.rank() {
                along = along.unsqueeze(along.rank())?;
            }
            let dst = results.in_any_strides(rule, &[x], x.dims(), DType::F32)?;
            let to = name_to_record(&TensorMut::Strided(dst));
            Ok(recorded(args, || to, || elementwise::map2_into(op, dst, x, &along, f))?)
        }
        TensorRef::Blocked(x) => {
            let dst = results.blocked(x.dims(), x.layout(), DType::F32)?;
            let sources = (Source::of(op, x, channels)?, Source::of_channels(op, values, x)?);
            let layout = || x.layout().to_string();
            Ok(recorded(args, layout, || blocked_map::map2(op, dst, (&sources.0, &sources.1), f))?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel stands under our two keys"),
    }
}

/// Checks a call with a destination: what the dispatcher checks of a call without, and the destination itself.
fn destination<'a, T: Operand, O: Element>(
    op: &'static Op,
    operands: &[(&'static str, TensorRef<'_>)],
    dst: &'a mut T,
) -> Result<TensorMut<'a>> {
    let name = op.schema().name;
    let (first_name, first) = operands[0];
    let key = first.key();
    let got = dst.tensor_ref();
    for (argument, t) in operands.iter().copied().chain([("dst", got)]) {
        check_opaque(name, argument, t)?;
        if t.key() != key {
            fail!(
                KeyMismatch,
                name,
                argument,
                format!("{} of key `{}`", t.describe(), t.key()),
                format!("`{first_name}` is {} of key `{key}`, and all must agree", first.describe()),
                "reorder one of them with `to_blocked` or `to_strided`"
            );
        }
    }
    if key != DispatchKey::STRIDED && key != DispatchKey::BLOCKED {
        let values: Vec<_> = operands.iter().map(|&(_, t)| crate::op::Arg::Tensor(t)).collect();
        let remedy = "call it without a destination".to_string();
        return Err(op.unsupported(key, Unsupported::NoKernel, &values, Some(remedy)));
    }
    operands
        .iter()
        .try_for_each(|&(argument, t)| crate::tensor::any::check_f32(name, argument, t, "it is f32"))?;
    if key == DispatchKey::BLOCKED {
        let (dims, layout) = blocked_map::common(name, &all_blocked(operands))?;
        if let TensorRef::Blocked(dst) = got {
            blocked_map::check_destination(name, dst, &dims, &layout, O::DTYPE)?;
        }
    }
    // The engine checks a strided destination.
    Ok(dst.tensor_mut())
}

/// The words that every element-wise op's documentation ends with.
macro_rules! pointwise_docs {
    ($(#[doc = $doc:literal])* => $shapes:expr, $dtypes:expr, $errors:expr, $($item:tt)*) => {
        $(#[doc = $doc])*
        ///
        /// # Shapes
        #[doc = $shapes]
        ///
        /// # Dtypes
        #[doc = $dtypes]
        ///
        /// # Layouts
        /// Strided: any strides; the result's are those that PyTorch's `TensorIterator` infers. Blocked: any activation layout,
        /// which the result keeps, its channel tail zero.
        ///
        /// # Errors
        #[doc = $errors]
        #[track_caller]
        $($item)*
    };
}

/// The same for the form that writes into a caller's tensor.
macro_rules! into_docs {
    ($name:ident, $($item:tt)*) => {
        #[doc = concat!("[`", stringify!($name), "`] into a tensor that is there, in its own strides or layout.")]
        ///
        /// # Errors
        #[doc = concat!("As [`", stringify!($name), "`]; `ShapeMismatch`, `LayoutMismatch`, `DTypeMismatch` for a \
            destination that is not as the result; `OverlappingOutput`; `Aliasing` while another tensor shares its \
            storage. `dst` is then as it was.")]
        #[track_caller]
        $($item)*
    };
}

/// A table of functions of one element: ops, typed functions, and the same into a destination. `$out` is the
/// type of the result's elements; the numbers after the name are parameters with their defaults.
macro_rules! unary_ops {
    ($entries:ident: $($(#[doc = $doc:literal])* $name:ident $into:ident ($($arg:ident = $default:expr),*) -> $out:ident $f:block)*) => {
        $(
            mod $name {
                #[allow(unused_imports)]
                use super::*;
                static SCHEMA: Schema = Schema::new(stringify!($name), &[
                    data("x"),
                    $(ArgSpec::new(stringify!($arg), ArgKind::Float($default)),)*
                ]);
                pub static OP: Op = pointwise::entry(&SCHEMA, &kernel);

                pub fn function($($arg: f64),*) -> Result<impl Function<f32, $out>> {
                    Ok($f)
                }

                pub fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
                    let [$($arg),*] = pointwise::numbers(args)?;
                    pointwise::run1(args, results, function($($arg),*)?)
                }
            }

            pointwise::pointwise_docs! {
                $(#[doc = $doc])*
                => "Any; the result has that of `x`.", "f32.", "`UnsupportedDType`, and `InvalidArgument` for parameters out of range.",
                pub fn $name<T: Operand>(x: &T $(, $arg: f64)*) -> Result<T> {
                    $name::OP.call_one(&[Arg::Tensor(x.tensor_ref()) $(, Arg::Float($arg))*])
                }
            }

            pointwise::into_docs! {
                $name,
                pub fn $into<T: Operand>(x: &T $(, $arg: f64)*, dst: &mut T) -> Result<()> {
                    pointwise::into1(&$name::OP, x, dst, $name::function($($arg),*)?)
                }
            }
        )*

        pub(crate) const $entries: &[&Op] = &[$(&$name::OP),*];
    };
}

/// A table of functions of two elements. As [`unary_ops`].
macro_rules! binary_ops {
    ($entries:ident: $($(#[doc = $doc:literal])* $name:ident $into:ident -> $out:ident $f:expr;)*) => {
        $(
            mod $name {
                use super::*;
                static SCHEMA: Schema = Schema::new(stringify!($name), &[data("a"), data("b")]);
                pub static OP: Op = pointwise::entry(&SCHEMA, &kernel);

                pub fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
                    pointwise::run2(args, results, $f)
                }
            }

            pointwise::pointwise_docs! {
                $(#[doc = $doc])*
                => "Any two that broadcast, as in PyTorch; blocked operands have the same rank, and sizes of 1 stretch.",
                concat!("f32; the result is ", stringify!($out), "."),
                "`ShapeMismatch`, `UnsupportedDType`; on blocked `RankMismatch`, and `LayoutMismatch` for operands in different layouts.",
                pub fn $name<T: Operand>(a: &T, b: &T) -> Result<T> {
                    $name::OP.call_one(&[Arg::Tensor(a.tensor_ref()), Arg::Tensor(b.tensor_ref())])
                }
            }

            pointwise::into_docs! {
                $name,
                pub fn $into<T: Operand>(a: &T, b: &T, dst: &mut T) -> Result<()> {
                    pointwise::into2(&$name::OP, a, b, dst, $f)
                }
            }
        )*

        pub(crate) const $entries: &[&Op] = &[$(&$name::OP),*];
    };
}

/// An op with one kernel for both keys.
pub(crate) const fn entry(schema: &'static Schema, kernel: &'static KernelFn) -> Op {
    Op::new(schema).on_both(Kernel::rust(kernel))
}

pub(crate) use {binary_ops, into_docs, pointwise_docs, unary_ops};
