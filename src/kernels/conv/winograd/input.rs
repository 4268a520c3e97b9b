//! The transform of the source: tiles of pixels become a value a point.

use std::marker::PhantomData;

use super::points::{MAX_POINTS, Points};
use super::tiles::{TileRun, Tiles};
use crate::kernels::lanes::Lanes;
use crate::simd::vectors::{Vector, VectorLoop};

/// Transforms the tiles of some runs, for some source blocks.
pub(super) struct InputTransform<'a, T, const B: usize> {
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
                    let transformed = if x < width {
                        T::inputs::<V, B>(proof, &rows.map(|row| V::load(proof, &row[x])))
                    } else {
                        [zero; MAX_POINTS]
                    };
                    for i in 0..T::POINTS {
                        transformed[i].store(&mut to[i]);
                    }
                }
                for tile in 0..run.count {
                    let columns: &[[[f32; B]; MAX_POINTS]] = &whole[tile * T::OUTPUTS..][..T::POINTS];
                    let at = block * self.block + run.at + tile;
                    for i in 0..T::POINTS {
                        let along: [V; MAX_POINTS] =
                            std::array::from_fn(|j| V::load(proof, &columns[j.min(T::POINTS - 1)][i]));
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
