//! The transform of the source: tiles of pixels become a value a point.

use std::marker::PhantomData;

use super::points::{MAX_POINTS, Points};
use super::tiles::{TileRun, Tiles};
use crate::kernels::lanes::Lanes;
use crate::simd::vectors::{Vector, VectorLoop};

/// Transforms the tiles of some runs, for some source blocks.
pub(crate) struct InputTransform<'a, T, const B: usize> {
    pub points: PhantomData<T>,
    pub tiles: &'a Tiles,
    pub runs: &'a [TileRun],
    /// The source, and how it lies.
    pub src: &'a [[f32; B]],
    pub view: &'a Lanes,
    /// The first source block, and how many.
    pub blocks: (usize, usize),
    /// A row of zeros, which stands for rows outside of the image.
    pub zeros: &'a [[f32; B]],
    /// Columns of a run, transformed along H.
    pub columns: &'a mut [[f32; B]],
    /// `[point][source block][tile]`.
    pub to: &'a mut [[f32; B]],
    /// Vectors from one point to the next, and from one source block to the next.
    pub point: usize,
    pub block: usize,
}

impl<T: Points, const B: usize> VectorLoop<B> for InputTransform<'_, T, B> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        let (height, width) = (self.view.spatial[1], self.view.spatial[2]);
        let zero = V::splat(proof, 0.0);
        for block in 0..self.blocks.1 {
            let source_block = (self.blocks.0 + block) * self.view.stride_block;
            for run in self.runs {
                let image = run.image * self.view.stride_n + source_block;
                let rows: [&[[f32; B]]; MAX_POINTS] = std::array::from_fn(|i| {
                    let y = (run.row * T::OUTPUTS + i).wrapping_sub(self.tiles.padding[0]);
                    if i < T::POINTS && y < height {
                        &self.src[(image + y * self.view.stride_h) / B..][..width]
                    } else {
                        &self.zeros[..width]
                    }
                });
                let columns = run.count * T::OUTPUTS + T::POINTS - T::OUTPUTS;
                let first = run.column * T::OUTPUTS;
                let (whole, _) = self.columns.as_chunks_mut::<MAX_POINTS>();
                for (column, to) in whole[..columns].iter_mut().enumerate() {
                    let x = (first + column).wrapping_sub(self.tiles.padding[1]);
                    // No closures: one that the compiler does not inline is compiled for the baseline.
                    let mut pixels = [zero; MAX_POINTS];
                    if x < width {
                        for i in 0..T::POINTS {
                            pixels[i] = V::load(proof, &rows[i][x]);
                        }
                    }
                    let transformed = T::inputs::<V, B>(proof, &pixels);
                    for i in 0..T::POINTS {
                        transformed[i].store(&mut to[i]);
                    }
                }
                for tile in 0..run.count {
                    let columns: &[[[f32; B]; MAX_POINTS]] = &whole[tile * T::OUTPUTS..][..T::POINTS];
                    let at = block * self.block + run.at + tile;
                    for i in 0..T::POINTS {
                        let mut along = [zero; MAX_POINTS];
                        for j in 0..T::POINTS {
                            along[j] = V::load(proof, &columns[j][i]);
                        }
                        let transformed = T::inputs::<V, B>(proof, &along);
                        for j in 0..T::POINTS {
                            transformed[j].store(&mut self.to[(i * T::POINTS + j) * self.point + at]);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::exact::{Fraction, along_both, inputs};
    use super::super::points::{Four, Two};
    use super::super::tests::geometry;
    use super::*;
    use crate::layout::blocked::Layout;
    use crate::simd::vectors::{VectorWidth, Width};

    /// All tiles of an image with padding, each block, against the transform in rationals.
    fn agrees<T: Points, const B: usize>(tiles_of: std::ops::Range<usize>)
    where
        Width<B>: VectorWidth<B>,
    {
        let (rows, columns, blocks) = (7, 6, 2);
        let g = geometry(blocks * B, rows, 1);
        let layout = Layout::blocked_activation(4, B).unwrap();
        let view = Lanes::of_layout("test", &[1, blocks * B, rows, columns], &layout).unwrap();
        let value = |block: usize, y: usize, x: usize, lane: usize| {
            ((block * 31 + y * 17 + x * 5 + lane * 3) % 23) as f32 - 11.0
        };
        let src: Vec<[f32; B]> = (0..blocks * rows * columns)
            .map(|i| std::array::from_fn(|l| value(i / columns / rows, i / columns % rows, i % columns, l)))
            .collect();
        let tiles = Tiles::new(&g, T::OUTPUTS);
        let range = tiles_of.start..tiles_of.end.min(tiles.count);
        let (mut runs, count) = (Vec::new(), range.len());
        tiles.runs(range.clone(), &mut runs);
        let point = blocks * count + 1;
        let mut columns_of = vec![[f32::NAN; B]; (tiles.grid[1] * T::OUTPUTS + 2) * MAX_POINTS];
        let mut to = vec![[f32::NAN; B]; T::POINTS * T::POINTS * point];
        Width::<B>::dispatch(InputTransform {
            points: PhantomData::<T>,
            tiles: &tiles,
            runs: &runs,
            src: &src,
            view: &view,
            blocks: (0, blocks),
            zeros: &vec![[0.0; B]; columns],
            columns: &mut columns_of,
            to: &mut to,
            point,
            block: count,
        });
        for (at, tile) in range.enumerate() {
            let (row, column) = (tile / tiles.grid[1] * T::OUTPUTS, tile % tiles.grid[1] * T::OUTPUTS);
            for block in 0..blocks {
                for lane in [0, B - 1] {
                    // One row and column of padding lie before the image.
                    let pixel = |i: usize, j: usize| match (row + i, column + j) {
                        (y, x) if y == 0 || x == 0 || y > rows || x > columns => 0.0,
                        (y, x) => value(block, y - 1, x - 1, lane),
                    };
                    let tile: [[Fraction; MAX_POINTS]; MAX_POINTS] = std::array::from_fn(|i| {
                        std::array::from_fn(|j| match i.max(j) < T::POINTS {
                            true => Fraction::of(pixel(i, j).into()),
                            false => Fraction::of(0.0),
                        })
                    });
                    let want = along_both::<MAX_POINTS, MAX_POINTS>(tile, inputs::<T>);
                    for i in 0..T::POINTS {
                        for j in 0..T::POINTS {
                            let got = f64::from(to[(i * T::POINTS + j) * point + block * count + at][lane]);
                            let error = (got - want[i][j].value()).abs();
                            assert!(error <= 1e-4, "tile {at} block {block} point {i} {j}: {got}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn values_at_points_are_those_of_the_padded_image() {
        for range in [0..100, 1..3] {
            agrees::<Two, 16>(range.clone());
            agrees::<Four, 16>(range.clone());
            agrees::<Two, 8>(range.clone());
            agrees::<Four, 8>(range);
        }
    }
}
