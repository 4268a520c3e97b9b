//! The transform back: values at points become pixels of the result.

use std::marker::PhantomData;

use super::points::{MAX_OUTPUTS, MAX_POINTS, Points};
use super::tiles::TileRun;
use crate::kernels::conv::direct::Out;
use crate::kernels::lanes::Lanes;
use crate::simd::vectors::{Vector, VectorLoop};

/// Transforms the sums of one run of tiles and one output block, and adds the bias.
pub(super) struct OutputTransform<'a, T, const B: usize> {
    pub points: PhantomData<T>,
    pub run: TileRun,
    /// `[point][tile]`, from the run's first tile on.
    pub sums: &'a [[f32; B]],
    /// Vectors from one point to the next.
    pub point: usize,
    pub bias: &'a [f32; B],
    /// How the result lies, and where the block of this image begins.
    pub view: &'a Lanes,
    pub at: usize,
    pub out: Out<'a>,
}

impl<T: Points, const B: usize> VectorLoop<B> for OutputTransform<'_, T, B> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        let (height, width) = (self.view.spatial[1], self.view.spatial[2]);
        let bias = V::load(proof, self.bias);
        let top = self.run.row * T::OUTPUTS;
        for tile in 0..self.run.count {
            let left = (self.run.column + tile) * T::OUTPUTS;
            let mut half = [[bias; MAX_POINTS]; MAX_OUTPUTS];
            for j in 0..T::POINTS {
                let down: [V; MAX_POINTS] = std::array::from_fn(|i| {
                    V::load(proof, &self.sums[(i.min(T::POINTS - 1) * T::POINTS + j) * self.point + tile])
                });
                let transformed = T::outputs::<V, B>(proof, &down);
                for i in 0..T::OUTPUTS {
                    half[i][j] = transformed[i];
                }
            }
            for i in 0..T::OUTPUTS.min(height - top) {
                let pixels = T::outputs::<V, B>(proof, &half[i]);
                let at = self.at + (top + i) * self.view.stride_h + left * B;
                for j in 0..T::OUTPUTS {
                    if left + j < width {
                        // SAFETY: a pixel of this tile, which one task has; the reference ends here.
                        pixels[j].add(bias).store(unsafe { self.out.pixel(at + j * B) });
                    }
                }
            }
        }
    }
}
