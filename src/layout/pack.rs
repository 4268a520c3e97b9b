//! Pack, unpack, reorder: moving elements between layouts in pure Rust, in one pass.
//!
//! Elements are only moved, never computed with, so that data is bytes here and a dtype is its size. Where an
//! element lies is a sum over the dimensions, for strides and for layouts alike ([`map`]); [`plan`] finds from the
//! two maps which of three ways to go, and [`copy`] goes it:
//!
//! - *rows*: both sides are dense along the same dimension (NHWC and blocks of channels): copies of short rows;
//! - *tiles*: they are dense along different dimensions (NCHW and blocks of channels): transposed tiles;
//! - *general*: everything else, element by element.

#[allow(unsafe_code)]
mod copy;
mod map;
mod padding;
mod plan;

use super::blocked::Layout;
use map::Pair;
use plan::Plan;

pub(crate) use padding::{first_dirty_lane, zero_padding};

/// Copies the strided elements of `src` (from its first element on) into `dst` in `layout`. Every byte of `dst` is
/// written, the padding with zeros. `elem` is the size of an element in **bytes**: 1, 2 or 4.
///
/// # Panics
/// When a side is too short for its shape, or the shape does not fit the layout: the tensors have checked that.
pub(crate) fn pack(
    elem: usize,
    src: &[u8],
    dims: &[usize],
    strides: &[usize],
    layout: &Layout,
    dst: &mut [u8],
) {
    if !dims.contains(&0) {
        let pairs = map::pairs(dims, map::of_strides(strides), map::of_layout(layout, dims));
        copy_padded(elem, pairs, src, layout, dims, dst);
    }
}

/// Copies the elements of `src`, which lies in `layout`, to the strided elements of `dst`. Bytes of `dst` between
/// them are left alone. No two elements of `dst` may share memory.
///
/// # Panics
/// As [`pack`].
pub(crate) fn unpack(
    elem: usize,
    src: &[u8],
    layout: &Layout,
    dims: &[usize],
    strides: &[usize],
    dst: &mut [u8],
) {
    if !dims.contains(&0) {
        let pairs = map::pairs(dims, map::of_layout(layout, dims), map::of_strides(strides));
        copy::copy(elem, &Plan::of(pairs), src, dst);
    }
}

/// Copies a tensor from one layout to another. Every byte of `dst` is written, the padding with zeros.
///
/// # Panics
/// As [`pack`].
pub(crate) fn reorder(elem: usize, src: &[u8], from: &Layout, dims: &[usize], to: &Layout, dst: &mut [u8]) {
    if !dims.contains(&0) {
        let pairs = map::pairs(dims, map::of_layout(from, dims), map::of_layout(to, dims));
        copy_padded(elem, pairs, src, to, dims, dst);
    }
}

fn copy_padded(elem: usize, pairs: Vec<Pair>, src: &[u8], to: &Layout, dims: &[usize], dst: &mut [u8]) {
    let plan = Plan::of(pairs);
    if plan.leaves_padding() {
        zero_padding(elem, to, dims, dst);
    }
    copy::copy(elem, &plan, src, dst);
}

#[cfg(test)]
mod tests;
