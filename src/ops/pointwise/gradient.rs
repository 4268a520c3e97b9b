//! Gradients of element-wise functions: a function of the operand and the incoming gradient, and sums over broadcast axes.

use crate::elementwise::Function2;
use crate::error::Result;
use crate::kernels::gradient::map::{map2, map3};
use crate::op::{Backward, Gradients};
use crate::ops::reduce;
use crate::tensor::any::{Operand, Tensor};
use crate::tensor::strided::StridedTensor;

/// The gradient of a function of one element: `f(x, diff)` for each element of the operand and of the incoming gradient. It has the
/// format of the operand, whatever that of `diff`.
pub(crate) fn of_one(call: &Backward<'_>, f: impl Function2<f32, f32, f32>) -> Result<Gradients> {
    if !call.wants(0) {
        return Ok(vec![None]);
    }
    let (x, diff) = (call.args.tensor(0)?, call.diff()?);
    Ok(vec![Some(map2(call.args.op(), x, (x, diff), f)?)])
}

/// As [`of_one`], of the result's element.
pub(crate) fn of_result(call: &Backward<'_>, f: impl Function2<f32, f32, f32>) -> Result<Gradients> {
    if !call.wants(0) {
        return Ok(vec![None]);
    }
    let (x, y, diff) = (call.args.tensor(0)?, call.results[0], call.diff()?);
    Ok(vec![Some(map2(call.args.op(), x, (y, diff), f)?)])
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

/// `f` of both operands and the incoming gradient, element by element.
pub(crate) fn map_of_two(
    op: &'static str,
    (a, b, diff): (&Tensor, &Tensor, &Tensor),
    f: impl Fn(f32, f32, f32) -> f32 + Sync,
) -> Result<Tensor> {
    map3(op, diff.tensor_ref(), (a.tensor_ref(), b.tensor_ref(), diff.tensor_ref()), f)
}

/// The gradient of the larger of two: `is_less(own, other)` says where it is the other one that was taken. Equal ones get half.
pub(crate) fn of_extreme(
    op: &'static str,
    (own, other, diff): (&Tensor, &Tensor, &Tensor),
    is_less: impl Fn(f32, f32) -> bool + Sync,
) -> Result<Tensor> {
    map_of_two(op, (own, other, diff), move |own, other, g| match own == other {
        true => g * 0.5,
        false if is_less(own, other) => 0.0,
        false => g,
    })
}

/// The sum of each channel, as a vector with the sizes of a parameter: one value for each channel, or one for all.
pub(crate) fn sum_to_channels(t: &Tensor, values: &StridedTensor) -> Result<Tensor> {
    let dims = t.tensor_ref().dims();
    let channels = dims.get(1).copied().unwrap_or(1);
    let axes: Vec<usize> = (0..dims.len()).filter(|&axis| axis != 1 || values.numel() != channels).collect();
    let sums = if axes.is_empty() { t.clone() } else { reduce::sum(t, &axes, true)? };
    let sums = match &sums {
        Tensor::Strided(sums) => sums.reshape(values.dims())?,
        // The channels of one pixel lie side by side, whatever the block.
        Tensor::Blocked(sums) => {
            StridedTensor::from_slice(&sums.data::<f32>()[..values.numel()], values.dims())?
        }
        Tensor::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
    };
    Ok(sums.into())
}

/// The gradients of a function of an element and the value of its channel: by the operand, and by the values before their sum.
pub(crate) fn of_channel_values(
    call: &Backward<'_>,
    by_x: impl Fn(&Tensor, &StridedTensor) -> Result<Tensor>,
    by_value: impl Fn(f32, f32) -> f32 + Sync,
) -> Result<Gradients> {
    let (x, values, diff) = (call.args.tensor(0)?, call.args.strided(1)?, call.diff()?);
    call.each(|i| match i {
        0 => by_x(&diff.to_tensor(), values),
        _ => sum_to_channels(&map2(call.args.op(), x, (x, diff), &by_value)?, values),
    })
}

/// The gradients of `where`. The condition has none.
pub(crate) fn of_where(call: &Backward<'_>) -> Result<Gradients> {
    let (op, diff) = (call.args.op(), call.diff()?);
    let condition = super::to_dtype::to_dtype(&call.args.tensor(0)?.to_tensor(), diff.dtype())?;
    let of = |i: usize| {
        let taken = move |c: f32, g: f32| if (c != 0.0) == (i == 1) { g } else { 0.0 };
        sum_to(map2(op, diff, (condition.tensor_ref(), diff), taken)?, call.args.tensor(i)?.dims())
    };
    Ok(vec![None, call.wants(1).then(|| of(1)).transpose()?, call.wants(2).then(|| of(2)).transpose()?])
}
