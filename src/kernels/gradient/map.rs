//! Element-wise functions of a gradient's operands, in the format or layout of one of them.

use crate::elementwise::{self, Function2, MapDestination};
use crate::error::Result;
use crate::kernels::blocked_map::{self, MapOperand};
use crate::tensor::any::{Tensor, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;

/// `f` of each pair of elements, in the sizes and the format of `like`, to which both broadcast.
pub(crate) fn map2(
    op: &'static str,
    like: TensorRef<'_>,
    (a, b): (TensorRef<'_>, TensorRef<'_>),
    f: impl Function2<f32, f32, f32>,
) -> Result<Tensor> {
    match (like, a, b) {
        (TensorRef::Strided(like), TensorRef::Strided(a), TensorRef::Strided(b)) => {
            let mut dst = FormatRule::Like.empty_result(op, &[like], like.dims(), like.dtype())?;
            elementwise::map2_to(op, MapDestination::of_result(&mut dst), a, b, f)?;
            Ok(dst.into())
        }
        (TensorRef::Blocked(like), TensorRef::Blocked(a), TensorRef::Blocked(b)) => {
            let mut dst = BlockedTensor::for_result(op, like.dims(), like.layout(), like.dtype())?;
            let of = operand(op, like);
            blocked_map::map2(op, &mut dst, (&of(a)?, &of(b)?), f)?;
            Ok(dst.into())
        }
        _ => unreachable!("operands and gradients of a call have one key"),
    }
}

/// As [`map2`], of three.
pub(crate) fn map3(
    op: &'static str,
    like: TensorRef<'_>,
    (a, b, c): (TensorRef<'_>, TensorRef<'_>, TensorRef<'_>),
    f: impl Fn(f32, f32, f32) -> f32 + Sync,
) -> Result<Tensor> {
    match (like, a, b, c) {
        (TensorRef::Strided(like), TensorRef::Strided(a), TensorRef::Strided(b), TensorRef::Strided(c)) => {
            let mut dst = FormatRule::Like.empty_result(op, &[like], like.dims(), like.dtype())?;
            elementwise::map3_to(op, MapDestination::of_result(&mut dst), a, b, c, f)?;
            Ok(dst.into())
        }
        (TensorRef::Blocked(like), TensorRef::Blocked(a), TensorRef::Blocked(b), TensorRef::Blocked(c)) => {
            let mut dst = BlockedTensor::for_result(op, like.dims(), like.layout(), like.dtype())?;
            let of = operand(op, like);
            blocked_map::map3(op, &mut dst, (&of(a)?, &of(b)?, &of(c)?), f)?;
            Ok(dst.into())
        }
        _ => unreachable!("operands and gradients of a call have one key"),
    }
}

fn operand(op: &'static str, like: &BlockedTensor) -> impl Fn(&BlockedTensor) -> Result<MapOperand> {
    let channels = like.dims().get(1).copied().unwrap_or(1);
    move |t| MapOperand::of_checked(op, t, channels)
}

/// Zeros as `t` in sizes, dtype and format or layout.
pub(crate) fn zeros_like(op: &'static str, t: TensorRef<'_>) -> Result<Tensor> {
    match t {
        TensorRef::Strided(t) => {
            let mut zeros = FormatRule::Like.empty_result(op, &[t], t.dims(), t.dtype())?;
            zeros.result_bytes().fill(0);
            Ok(zeros.into())
        }
        TensorRef::Blocked(t) => {
            let mut zeros = BlockedTensor::for_result(op, t.dims(), t.layout(), t.dtype())?;
            zeros.storage_bytes_mut().fill(0);
            Ok(zeros.into())
        }
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
    }
}
