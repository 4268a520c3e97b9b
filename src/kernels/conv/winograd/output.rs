//! The transform back: values at points become pixels of the result.

use std::marker::PhantomData;

use super::points::{MAX_OUTPUTS, MAX_POINTS, Points};
use super::tiles::TileRun;
use crate::kernels::conv::tiled::Out;
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
                // No closures: one that the compiler does not inline is compiled for the baseline.
                let mut down = [bias; MAX_POINTS];
                for i in 0..T::POINTS {
                    down[i] = V::load(proof, &self.sums[(i * T::POINTS + j) * self.point + tile]);
                }
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

#[cfg(test)]
mod tests {
    use super::super::exact::{Fraction, along_both, outputs};
    use super::super::points::{Four, Two};
    use super::*;
    use crate::layout::blocked::Layout;
    use crate::simd::vectors::{VectorWidth, Width};

    /// Two tiles at the right lower edge, which cuts both, against the transform in rationals.
    fn agrees<T: Points, const B: usize>()
    where
        Width<B>: VectorWidth<B>,
    {
        let (height, width, point) = (2 * T::OUTPUTS - 1, 3 * T::OUTPUTS - 1, 3);
        let layout = Layout::blocked_activation(4, B).unwrap();
        let view = Lanes::of_layout("test", &[1, B, height, width], &layout).unwrap();
        let value =
            |at: usize, tile: usize, lane: usize| ((at * 29 + tile * 13 + lane * 7) % 19) as f32 - 9.0;
        let sums: Vec<[f32; B]> = (0..T::POINTS * T::POINTS * point)
            .map(|i| std::array::from_fn(|l| value(i / point, i % point, l)))
            .collect();
        let bias: [f32; B] = std::array::from_fn(|l| l as f32 / 4.0);
        let mut dst = vec![f32::NAN; height * width * B];
        Width::<B>::dispatch(OutputTransform {
            points: PhantomData::<T>,
            run: TileRun { image: 0, row: 1, column: 1, count: 2, at: 0 },
            sums: &sums,
            point,
            bias: &bias,
            view: &view,
            at: 0,
            out: Out::new(&mut dst),
        });
        let (top, left) = (T::OUTPUTS, T::OUTPUTS);
        for lane in 0..B {
            let want = [0, 1].map(|tile| {
                let values: [[Fraction; MAX_POINTS]; MAX_POINTS] = std::array::from_fn(|i| {
                    std::array::from_fn(|j| match i.max(j) < T::POINTS {
                        true => Fraction::of(value(i * T::POINTS + j, tile, lane).into()),
                        false => Fraction::of(0.0),
                    })
                });
                along_both::<MAX_POINTS, MAX_OUTPUTS>(values, outputs::<T>)
            });
            for (i, pixel) in dst.iter().skip(lane).step_by(B).enumerate() {
                let (y, x) = (i / width, i % width);
                if y < top || x < left {
                    assert!(pixel.is_nan(), "a pixel of another tile was written: {y} {x}");
                    continue;
                }
                let tile = (x - left) / T::OUTPUTS;
                let want = want[tile][y - top][(x - left) % T::OUTPUTS].value() + f64::from(bias[lane]);
                assert!((f64::from(*pixel) - want).abs() <= 2e-3, "{y} {x} {lane}: {pixel} for {want}");
            }
        }
    }

    #[test]
    fn pixels_are_those_of_the_values_and_none_beyond_the_edge_is_written() {
        agrees::<Two, 16>();
        agrees::<Four, 16>();
        agrees::<Two, 8>();
        agrees::<Four, 8>();
    }
}
