//! Source pixels that a stride keeps apart, copied side by side.

use std::ops::Range;

use crate::kernels::lanes::Lanes;

/// Copies of pixels.
pub(super) struct Gather<'a, const B: usize> {
    pub src: &'a [[f32; B]],
    pub view: &'a Lanes,
    /// D, H and W of the result.
    pub spatial: [usize; 3],
    /// Steps along D, H and W of the source.
    pub steps: [usize; 3],
}

impl<const B: usize> Gather<'_, B> {
    /// Copies the source pixels of a range of output pixels of image `n`, all source blocks, each block's pixels side by side
    /// and `block` vectors behind the one before.
    pub fn run(&self, n: usize, pixels: Range<usize>, to: &mut [[f32; B]], block: usize) {
        let [_, height, width] = self.spatial;
        let [step_d, step_h, step_w] = self.steps;
        let image = &self.src[n * self.view.stride_n / B..];
        for (i, plane) in image.chunks_exact(self.view.stride_block / B).take(self.view.blocks).enumerate() {
            let mut to = to[i * block..][..pixels.len()].iter_mut();
            let mut at = pixels.start;
            while at < pixels.end {
                let (row, x) = (at / width, at % width);
                let count = (width - x).min(pixels.end - at);
                let start = (row / height * step_d * self.view.stride_d
                    + row % height * step_h * self.view.stride_h)
                    / B;
                let from = plane[start + x * step_w..].iter().step_by(step_w);
                to.by_ref().take(count).zip(from).for_each(|(to, from)| *to = *from);
                at += count;
            }
        }
    }
}
