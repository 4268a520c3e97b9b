//! Gradients of reductions: the incoming one, repeated along the reduced axes.

use crate::error::Result;
use crate::kernels::gradient::map::{map2, map3};
use crate::kernels::reduce::Axes;
use crate::op::params::Params;
use crate::op::{Backward, Gradients};
use crate::ops::pointwise::binary;
use crate::ops::reduce::Reduction;
use crate::tensor::any::{Operand, Tensor, TensorRef};

/// A reduction's axes, and its incoming gradient and its result with each reduced axis kept as 1.
struct Kept {
    axes: Vec<usize>,
    /// Elements of the operand for one of the result.
    count: usize,
    diff: Tensor,
    result: Tensor,
}

impl Kept {
    fn new(call: &Backward<'_>) -> Result<Kept> {
        let axes = Axes::new(&call.args, "axes", &Reduction::read(&call.args)?.axes)?;
        let dims = call.args.tensor(0)?.dims();
        let sizes = axes.kept_sizes(dims);
        let kept = |t: TensorRef<'_>| match t {
            TensorRef::Strided(t) => Ok::<Tensor, crate::Error>(t.reshape(&sizes)?.into()),
            t => Ok(t.to_tensor()),
        };
        let axes: Vec<usize> = (0..dims.len()).filter(|&axis| axes.is_reduced[axis]).collect();
        let count = axes.iter().map(|&axis| dims[axis]).product();
        Ok(Kept { axes, count, diff: kept(call.diff()?)?, result: kept(call.results[0])? })
    }
}

/// Every element gets the gradient of its sum.
pub(super) fn sum(call: &Backward<'_>) -> Result<Gradients> {
    let (x, kept) = (call.args.tensor(0)?, Kept::new(call)?);
    call.each(|_| map2(call.args.op(), x, (x, kept.diff.tensor_ref()), |_, g: f32| g))
}

/// Every element gets an equal part of the gradient of its mean.
pub(super) fn mean(call: &Backward<'_>) -> Result<Gradients> {
    let (x, kept) = (call.args.tensor(0)?, Kept::new(call)?);
    let count = kept.count as f32;
    call.each(|_| map2(call.args.op(), x, (x, kept.diff.tensor_ref()), move |_, g: f32| g / count))
}

/// The elements that are the extreme share its gradient equally, as in PyTorch.
pub(super) fn extreme(call: &Backward<'_>) -> Result<Gradients> {
    let (op, x, kept) = (call.args.op(), call.args.tensor(0)?, Kept::new(call)?);
    call.each(|_| {
        let result = kept.result.tensor_ref();
        let is_one = map2(op, x, (x, result), |x, y| f32::from(u8::from(x == y)))?;
        let count = total(&is_one, &kept.axes)?;
        let part = binary::div(&kept.diff, &count)?;
        // A product, as in PyTorch: where the extreme is NaN, so are the gradients.
        map3(op, x, (x, result, part.tensor_ref()), |x, y, part| f32::from(u8::from(x == y)) * part)
    })
}

/// The product of the other elements: the product of those that are not 0, divided by the own one, unless another one is 0.
pub(super) fn prod(call: &Backward<'_>) -> Result<Gradients> {
    let (op, x, kept) = (call.args.op(), call.args.tensor(0)?, Kept::new(call)?);
    call.each(|_| {
        let is_zero = map2(op, x, (x, x), |x, _| f32::from(u8::from(x == 0.0)))?;
        let zeros = total(&is_zero, &kept.axes)?;
        let others = map2(op, x, (x, x), |x, _| if x == 0.0 { 1.0 } else { x })?;
        let product = match kept.axes[..] {
            [] => others,
            _ => super::prod(&others, &kept.axes, true)?,
        };
        let scaled = binary::mul(&kept.diff, &product)?;
        map3(op, x, (x, zeros.tensor_ref(), scaled.tensor_ref()), |x, zeros, scaled| {
            match (x == 0.0, zeros) {
                (true, 1.0) => scaled,
                (false, 0.0) => scaled / x,
                // Another one is 0. NaN and infinity stay NaN.
                (true, _) => 0.0 * scaled,
                (false, _) => 0.0 * (scaled / x),
            }
        })
    })
}

/// The sum over the axes, which are kept. The one axis of a scalar is none.
fn total(t: &Tensor, axes: &[usize]) -> Result<Tensor> {
    if axes.is_empty() { Ok(t.clone()) } else { super::sum(t, axes, true) }
}
