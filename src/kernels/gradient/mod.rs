//! The kernels of gradients.

mod blocks;
pub(crate) mod conv_weights;
mod depthwise;
mod few_channels;
pub(crate) mod grid_sample;
pub(crate) mod map;
mod max_rows;
pub(crate) mod norm;
mod panels;
pub(crate) mod planes;
mod readers;
pub(crate) mod resample;
pub(crate) mod windows;
mod winograd;

use super::lanes;

/// Calls `work(i, chunk)` for the chunks of `len` elements that cover `dst`; the threads of the team share them.
fn for_each_chunk(dst: &mut [f32], len: usize, work: impl Fn(usize, &mut [f32]) + Sync) {
    // `len` may be 0 then.
    if dst.is_empty() {
        return;
    }
    // A chunk reads far more than it writes, so that each is a task of its own.
    lanes::for_each_chunk_by(dst, len, usize::MAX, work);
}
