//! Gradients of element-wise functions: a function of the operand and the incoming gradient, and sums over broadcast axes.

use crate::elementwise::{self, Function2, MapDestination};
use crate::error::Result;
use crate::kernels::blocked_map::{self, MapOperand};
use crate::op::{Backward, Gradients};
use crate::ops::reduce;
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;

/// The gradient of a function of one element: `f(x, diff)` for each element of the operand and of the incoming gradient. It has the
/// format of the operand, whatever that of `diff`.
pub(crate) fn of_one(call: &Backward<'_>, f: impl Function2<f32, f32, f32>) -> Result<Gradients> {
    if !call.wants(0) {
        return Ok(vec![None]);
    }
    let op = call.args.op();
    let made = match (call.args.tensor(0)?, call.diff()?) {
        (TensorRef::Strided(x), TensorRef::Strided(diff)) => {
            let mut dst = FormatRule::Like.empty_result(op, &[x], x.dims(), x.dtype())?;
            elementwise::map2_to(op, MapDestination::of_result(&mut dst), x, diff, f)?;
            dst.into()
        }
        (TensorRef::Blocked(x), TensorRef::Blocked(diff)) => {
            let mut dst = BlockedTensor::for_result(op, x.dims(), x.layout(), x.dtype())?;
            let channels = x.dims().get(1).copied().unwrap_or(1);
            let of = |t| MapOperand::of_checked(op, t, channels);
            let (x, diff) = (of(x)?, of(diff)?);
            blocked_map::map2(op, &mut dst, (&x, &diff), f)?;
            dst.into()
        }
        _ => unreachable!("operands and gradients of a call have one key"),
    };
    Ok(vec![Some(made)])
}

/// The gradient of an operand that was broadcast: the sum over the axes along which it was repeated.
pub(crate) fn sum_to(diff: Tensor, dims: &[usize]) -> Result<Tensor> {
    let from = diff.tensor_ref().dims().to_vec();
    if from == dims {
        return Ok(diff);
    }
    let lead = from.len() - dims.len();
    let axes: Vec<usize> = (0..from.len()).filter(|&d| d < lead || dims[d - lead] != from[d]).collect();
    match reduce::sum(&diff, &axes, true)? {
        Tensor::Strided(t) => Ok(t.reshape(dims)?.into()),
        summed => Ok(summed),
    }
}

/// The gradient of a function of two operands that broadcast: `of(i, a, b, diff)` is that of operand `i` before its sum over
/// broadcast axes.
pub(crate) fn of_two(
    call: &Backward<'_>,
    of: impl Fn(usize, &Tensor, &Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Gradients> {
    let (a, b) = (call.args.tensor(0)?.to_tensor(), call.args.tensor(1)?.to_tensor());
    let diff = call.diff()?.to_tensor();
    call.each(|i| {
        let dims = call.args.tensor(i)?.dims();
        sum_to(of(i, &a, &b, &diff)?, dims)
    })
}
