//! Gradients that are computed plane by plane.
//!
//! Every dense activation is a list of planes, each a run of pixels of some lanes, whatever its layout ([`Lanes`]). A task has one
//! plane, so an element is added up in one order for any number of threads.

use super::for_each_chunk;
use crate::error::Result;
use crate::kernels::lanes::Lanes;
use crate::kernels::same_shape::format_of;
use crate::op::{Backward, Gradients};
use crate::tensor::any::{Tensor, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;

/// The first operand and the incoming gradient, dense and in the layout of the gradient that is written.
pub(crate) struct Dense<'a> {
    pub x: &'a [f32],
    pub x_view: Lanes,
    pub diff: &'a [f32],
    pub diff_view: Lanes,
}

/// Memory of one plane: the operand, the incoming gradient and the gradient to add to.
pub(super) struct Plane<'a> {
    pub x: &'a [f32],
    pub diff: &'a [f32],
    pub dst: &'a mut [f32],
    pub lanes: usize,
    /// The sizes H and W of the operand.
    pub size: [usize; 2],
    /// The image.
    pub n: usize,
}

/// The gradient of the first operand, whose elements `run` writes. A strided operand or incoming gradient in another format is
/// copied to that of the result; the ledger counts the copy.
pub(crate) fn with_dense(
    call: &Backward<'_>,
    run: impl FnOnce(&Dense<'_>, &mut [f32]) -> Result<()>,
) -> Result<Tensor> {
    let args = &call.args;
    let op = args.op();
    match (args.tensor(0)?, call.diff()?) {
        (TensorRef::Strided(x), TensorRef::Strided(diff)) => {
            let mut dst = FormatRule::Suggested.empty_result(op, &[x], x.dims(), x.dtype())?;
            let format = format_of(&dst);
            let (x, diff) =
                (x.dense_at(op, format, args.location())?, diff.dense_at(op, format, args.location())?);
            let views = Lanes::of_format(x.dims(), format).zip(Lanes::of_format(diff.dims(), format));
            let (x_view, diff_view) = views.expect("the forward call took such ranks");
            run(&Dense { x: x.data(), x_view, diff: diff.data(), diff_view }, dst.result_data())?;
            Ok(dst.into())
        }
        (TensorRef::Blocked(x), TensorRef::Blocked(diff)) => {
            let mut dst = BlockedTensor::for_result(op, x.dims(), x.layout(), x.dtype())?;
            let (x_view, diff_view) = (Lanes::of_blocked(op, x)?, Lanes::of_blocked(op, diff)?);
            let elements = bytemuck::cast_slice_mut(dst.storage_bytes_mut());
            run(&Dense { x: x.data(), x_view, diff: diff.data(), diff_view }, elements)?;
            Ok(dst.into())
        }
        _ => unreachable!("operands and gradients of a call have one key"),
    }
}

/// The gradient of an op's only operand, whose elements `run` writes.
pub(super) fn of_x(
    call: &Backward<'_>,
    run: impl FnOnce(&Dense<'_>, &mut [f32]) -> Result<()>,
) -> Result<Gradients> {
    if !call.wants(0) {
        return Ok(vec![None]);
    }
    Ok(vec![Some(with_dense(call, run)?)])
}

/// Calls `of` for each plane of `dst`, which may hold anything before.
pub(super) fn fill_planes(dense: &Dense<'_>, dst: &mut [f32], of: impl Fn(Plane<'_>) + Sync) {
    let Dense { x, x_view, diff, diff_view } = dense;
    let [_, h, w] = x_view.spatial;
    for_each_chunk(&mut dst[..x_view.len()], x_view.plane_len(), |i, dst| {
        let x = &x[i * x_view.plane_len()..][..x_view.plane_len()];
        let diff = &diff[i * diff_view.plane_len()..][..diff_view.plane_len()];
        of(Plane { x, diff, dst, lanes: x_view.lanes, size: [h, w], n: i / x_view.blocks });
    });
}
