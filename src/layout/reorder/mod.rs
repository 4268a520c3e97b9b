//! Reorders: moving elements between layouts in pure Rust, in one pass.
//!
//! Elements are only copied, so data is bytes here and a dtype is its size. The offset of an element is a sum over the
//! dimensions, for strides and for layouts alike ([`map`]). From the two maps [`plan`] chooses one of three kinds of copy, and
//! [`copy`] runs it:
//!
//! - *rows*: both sides are dense along the same dimension (NHWC and blocks of channels): copies of short rows;
//! - *tiles*: the sides are dense along different dimensions (NCHW and blocks of channels): transposed tiles;
//! - *general*: everything else, element by element.

#[allow(unsafe_code)]
mod copy;
mod map;
mod padding;
mod plan;

use super::blocked::Layout;
use map::CopyDim;
use plan::CopyPlan;

pub(crate) use padding::{first_dirty_lane, zero_padding};

/// Copies strided elements, which start at the start of `src`, into `dst` in `layout`. Every byte of `dst` is written, the
/// padding with zeros. `elem` is the size of an element in **bytes**: 1, 2 or 4.
///
/// # Panics
/// When a side is too short for its shape, or the shape does not fit the layout. The tensors have checked both.
pub(crate) fn strided_to_blocked(
    elem: usize,
    src: &[u8],
    dims: &[usize],
    strides: &[usize],
    layout: &Layout,
    dst: &mut [u8],
) {
    if !dims.contains(&0) {
        let copy_dims = map::copy_dims(dims, map::of_strides(strides), map::of_layout(layout, dims));
        copy_padded(elem, copy_dims, src, layout, dims, dst);
    }
}

/// Copies the elements of `src`, which is in `layout`, to the strided elements of `dst`. Bytes of `dst` between the elements
/// are not written. No two elements of `dst` may share memory.
///
/// # Panics
/// As [`strided_to_blocked`].
pub(crate) fn blocked_to_strided(
    elem: usize,
    src: &[u8],
    layout: &Layout,
    dims: &[usize],
    strides: &[usize],
    dst: &mut [u8],
) {
    if !dims.contains(&0) {
        let copy_dims = map::copy_dims(dims, map::of_layout(layout, dims), map::of_strides(strides));
        copy::copy(elem, &CopyPlan::of(copy_dims), src, dst);
    }
}

/// Copies a tensor from one layout to another. Every byte of `dst` is written, the padding with zeros.
///
/// # Panics
/// As [`strided_to_blocked`].
pub(crate) fn blocked_to_blocked(
    elem: usize,
    src: &[u8],
    from: &Layout,
    dims: &[usize],
    to: &Layout,
    dst: &mut [u8],
) {
    if !dims.contains(&0) {
        let copy_dims = map::copy_dims(dims, map::of_layout(from, dims), map::of_layout(to, dims));
        copy_padded(elem, copy_dims, src, to, dims, dst);
    }
}

fn copy_padded(
    elem: usize,
    copy_dims: Vec<CopyDim>,
    src: &[u8],
    to: &Layout,
    dims: &[usize],
    dst: &mut [u8],
) {
    let plan = CopyPlan::of(copy_dims);
    if plan.leaves_padding() {
        zero_padding(elem, to, dims, dst);
    }
    copy::copy(elem, &plan, src, dst);
}

#[cfg(test)]
mod tests;
