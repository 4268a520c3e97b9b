//! `to_dtype`: the same numbers with another element type, as an op.

use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::op::params::{Param, Params, params, with_params};
use crate::op::schema::{data, flag, output_stated, word};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::EACH_DTYPE;
use crate::ops::pointwise::recorded;
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::cast::{cast_blocked_to, cast_to};
use crate::tensor::result_format::FormatRule;

impl Param for DType {
    fn read(args: &Args<'_>, i: usize) -> Result<DType> {
        args.word(i)?.parse::<DType>().map_err(|e| e.in_call(args.op(), args.name(i)))
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Str(self.name())
    }
}

params! {
    /// Parameters of `to_dtype`.
    struct ToDType {
        dtype: DType => word("dtype", "f32"),
        saturate: bool => flag("saturate", false),
    }
}

const ARGS: &[ArgSpec] = &with_params::<3>(&[data("x").any_dtype()], ToDType::SPECS);
pub(crate) static TO_DTYPE: Op =
    Op::new(&Schema::new("to_dtype", ARGS).with_outputs(&[output_stated("dst", "dtype")]).elementwise())
        .with(&Kernel::rust(&run).with_dtypes(EACH_DTYPE).on_both_with(&gradient));

pub(crate) const OPS: &[&Op] = &[&TO_DTYPE];

/// The same numbers with another element type, as `torch.Tensor.to` with a dtype.
///
/// To bf16 and f16: round to nearest, ties to even (from s32 by way of f32). From floating point to integers: towards zero; numbers
/// outside the range are clamped and NaN becomes 0 (PyTorch leaves both undefined). From integer to integer: the low bits. A tensor
/// that has the dtype is copied; a tensor's own [`to_dtype`](crate::StridedTensor::to_dtype) returns it as it is.
/// In a call by name with `saturate`, a finite number beyond the range of the result becomes the nearest one in it: without,
/// integers keep their low bits, and numbers of bf16 and f16 become infinite.
///
/// ```
/// use blocktensor::{DType, StridedTensor, ops};
/// let x = StridedTensor::from_slice(&[1f32, -2.7, 300.0], &[3])?;
/// assert_eq!(ops::to_dtype(&x, DType::U8)?.to_vec::<u8>()?, [1, 0, 255]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// Any. The result has the shape of `x`.
///
/// # Dtypes
/// Any. The result is of the one that is named: `f32` (the default), `bf16`, `f16`, `u8`, `s8` or
/// `s32` in a call by name.
///
/// # Layouts
/// Strided: any strides. The result has the strides that PyTorch's `TensorIterator` infers. Blocked: any layout. The result keeps it.
///
/// # Errors
/// `InvalidArgument` for a name of no dtype.
#[track_caller]
pub fn to_dtype<T: Operand>(x: &T, dtype: DType) -> Result<T> {
    TO_DTYPE.call_with(&[Arg::Tensor(x.tensor_ref())], &ToDType { dtype, saturate: false })
}

fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, ToDType { dtype, saturate }) = (args.op(), ToDType::read(args)?);
    match args.tensor(0)? {
        TensorRef::Strided(x) => {
            let dst = results.in_any_strides(FormatRule::ElementWise, &[x], x.dims(), dtype)?;
            let to = dst.format_name();
            Ok(recorded(args, || to, || cast_to(op, dst, x, saturate))?)
        }
        TensorRef::Blocked(x) => {
            let dst = results.blocked(x.dims(), x.layout(), dtype)?;
            Ok(recorded(args, || x.layout().to_string(), || cast_blocked_to(op, dst, x, saturate))?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
    }
}

/// The incoming gradient in the dtype of the operand. Numbers that were rounded to integers have no gradient.
fn gradient(call: &Backward<'_>) -> Result<Gradients> {
    let diff = call.diff()?;
    if !matches!(diff.dtype(), DType::F32 | DType::BF16 | DType::F16) {
        let (got, rule) = (diff.describe(), "integers have no gradient");
        fail!(InvalidArgument, call.args.op(), "diff_dst", got, rule, "leave the call out");
    }
    call.each(|_| to_dtype(&diff.to_tensor(), call.args.tensor(0)?.dtype()))
}
