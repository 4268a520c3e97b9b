//! The transform of a result's gradient: tiles of pixels become a value a point, by the transposed transform of results.

use std::marker::PhantomData;

use super::points::{MAX_OUTPUTS, MAX_POINTS, Points};
use super::tiles::TileRun;
use crate::kernels::lanes::Lanes;
use crate::simd::vectors::{Vector, VectorLoop};

/// Transforms the tiles of some runs, for some blocks of the result.
pub(crate) struct SpreadTransform<'a, T, const B: usize> {
    pub points: PhantomData<T>,
    pub runs: &'a [TileRun],
    /// The gradient, and how it lies.
    pub diff: &'a [[f32; B]],
    pub view: &'a Lanes,
    /// The first block, and how many.
    pub blocks: (usize, usize),
    /// `[point][block][tile]`.
    pub to: &'a mut [[f32; B]],
    /// Vectors from one point to the next, and from one block to the next.
    pub point: usize,
    pub block: usize,
}

impl<T: Points, const B: usize> VectorLoop<B> for SpreadTransform<'_, T, B> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        let (height, width) = (self.view.spatial[1], self.view.spatial[2]);
        let zero = V::splat(proof, 0.0);
        for block in 0..self.blocks.1 {
            let first = (self.blocks.0 + block) * self.view.stride_block;
            for run in self.runs {
                let top = run.row * T::OUTPUTS;
                let image = run.image * self.view.stride_n + first + top * self.view.stride_h;
                let rows = T::OUTPUTS.min(height - top);
                for tile in 0..run.count {
                    let left = (run.column + tile) * T::OUTPUTS;
                    let columns = T::OUTPUTS.min(width - left);
                    let at = image / B + left;
                    let mut down = [[zero; MAX_OUTPUTS]; MAX_POINTS];
                    for j in 0..columns {
                        let mut column = [zero; MAX_OUTPUTS];
                        for i in 0..rows {
                            column[i] = V::load(proof, &self.diff[at + i * self.view.stride_h / B + j]);
                        }
                        let spread = T::spread::<V, B>(proof, &column);
                        for i in 0..T::POINTS {
                            down[i][j] = spread[i];
                        }
                    }
                    let to = block * self.block + run.at + tile;
                    for i in 0..T::POINTS {
                        let along = T::spread::<V, B>(proof, &down[i]);
                        for j in 0..T::POINTS {
                            along[j].store(&mut self.to[(i * T::POINTS + j) * self.point + to]);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::exact::{Fraction, along_both, spread};
    use super::super::points::{Four, Two};
    use super::super::tests::geometry;
    use super::super::tiles::Tiles;
    use super::*;
    use crate::layout::blocked::Layout;
    use crate::simd::vectors::{VectorWidth, Width};

    /// All tiles of a gradient whose edges cut tiles, each block, against the transform in rationals.
    fn agrees<T: Points, const B: usize>()
    where
        Width<B>: VectorWidth<B>,
    {
        let (rows, columns, blocks) = (7, 6, 2);
        let layout = Layout::blocked_activation(4, B).unwrap();
        let view = Lanes::of_layout("test", &[1, blocks * B, rows, columns], &layout).unwrap();
        let value = |block: usize, y: usize, x: usize, lane: usize| {
            ((block * 31 + y * 17 + x * 5 + lane * 3) % 23) as f32 - 11.0
        };
        let diff: Vec<[f32; B]> = (0..blocks * rows * columns)
            .map(|i| std::array::from_fn(|l| value(i / columns / rows, i / columns % rows, i % columns, l)))
            .collect();
        let tiles = Tiles::new(&geometry(B, rows, 1), T::OUTPUTS);
        let mut runs = Vec::new();
        tiles.runs(0..tiles.count, &mut runs);
        let point = blocks * tiles.count + 1;
        let mut to = vec![[f32::NAN; B]; T::POINTS * T::POINTS * point];
        Width::<B>::dispatch(SpreadTransform {
            points: PhantomData::<T>,
            runs: &runs,
            diff: &diff,
            view: &view,
            blocks: (0, blocks),
            to: &mut to,
            point,
            block: tiles.count,
        });
        for (tile, block) in (0..tiles.count).flat_map(|tile| [(tile, 0), (tile, 1)]) {
            let (row, column) = (tile / tiles.grid[1] * T::OUTPUTS, tile % tiles.grid[1] * T::OUTPUTS);
            for lane in [0, B - 1] {
                let pixel = |i: usize, j: usize| match i.max(j) < T::OUTPUTS
                    && row + i < rows
                    && column + j < columns
                {
                    true => value(block, row + i, column + j, lane),
                    false => 0.0,
                };
                let tile_of: [[Fraction; MAX_OUTPUTS]; MAX_OUTPUTS] =
                    std::array::from_fn(|i| std::array::from_fn(|j| Fraction::of(pixel(i, j).into())));
                let want = along_both::<MAX_OUTPUTS, MAX_POINTS>(tile_of, spread::<T>);
                for i in 0..T::POINTS {
                    for j in 0..T::POINTS {
                        let at = (i * T::POINTS + j) * point + block * tiles.count + tile;
                        let (got, want) = (f64::from(to[at][lane]), want[i][j].value());
                        assert!(
                            (got - want).abs() <= 1e-3,
                            "tile {tile}, block {block}, {i} {j}: {got} for {want}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn values_at_points_are_those_of_the_gradient() {
        agrees::<Two, 16>();
        agrees::<Four, 16>();
        agrees::<Two, 8>();
        agrees::<Four, 8>();
    }
}
