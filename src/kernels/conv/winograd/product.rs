//! The products: at each point a matrix of tiles by input channels times one of input by output channels.

use crate::simd::prefetch;
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};

/// How far ahead of their use weights are asked for, in **bytes**.
const AHEAD: usize = 2048;

/// One product: sums of `tiles` by `O` output blocks.
#[derive(Clone, Copy)]
pub(super) struct Product<'a, const B: usize> {
    /// Tiles of each source block.
    pub tiles: &'a [[f32; B]],
    /// Vectors from one source block to the next.
    pub block: usize,
    pub source_blocks: usize,
    /// `[input channel][output block]`.
    pub weights: &'a [[f32; B]],
    /// Vectors of sums from one output block to the next.
    pub sum_block: usize,
    /// Whether the sums go on from what is there.
    pub accumulate: bool,
}

struct Panel<'a, 'b, const B: usize, const P: usize, const O: usize> {
    product: Product<'a, B>,
    first: usize,
    sums: &'b mut [[f32; B]],
    prefetches: bool,
}

impl<const B: usize, const P: usize, const O: usize> VectorLoop<B> for Panel<'_, '_, B, P, O> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        if P * O + O >= V::REGISTERS && P > 1 {
            unreachable!("`panel` chose more sums than registers");
        }
        let product = self.product;
        let zero = V::splat(proof, 0.0);
        let mut sums = [[zero; P]; O];
        if product.accumulate {
            for o in 0..O {
                let from = &self.sums[o * product.sum_block + self.first..][..P];
                for_each_below!(p < P => { sums[o][p] = V::load(proof, &from[p]); });
            }
        }
        for block in 0..product.source_blocks {
            let Some(tiles) = product.tiles[block * product.block + self.first..].first_chunk::<P>() else {
                unreachable!("the source has all tiles")
            };
            let weights = &product.weights[block * B * O..][..B * O];
            for lane in 0..B {
                let row = &weights[lane * O..][..O];
                if self.prefetches {
                    prefetch(row, AHEAD);
                }
                // No closure: without link-time optimisation it would be a call for each vector.
                let mut w = [zero; O];
                for o in 0..O {
                    w[o] = V::load(proof, &row[o]);
                }
                for_each_below!(p < P => {
                    let value = V::splat(proof, tiles[p][lane]);
                    for o in 0..O {
                        sums[o][p] = sums[o][p].add_product(value, w[o]);
                    }
                });
            }
        }
        for o in 0..O {
            let to = &mut self.sums[o * product.sum_block + self.first..][..P];
            for_each_below!(p < P => { sums[o][p].store(&mut to[p]); });
        }
    }
}

/// How many tiles have their sums in registers at once.
pub(super) const fn tiles_at_once(registers: usize) -> usize {
    match registers {
        32.. => 14,
        16.. => 6,
        8.. => 2,
        _ => 1,
    }
}

impl<const B: usize> Product<'_, B>
where
    Width<B>: VectorWidth<B>,
{
    /// All tiles, for one output block or two: panels of nearly the same number of tiles.
    pub(super) fn run(self, tiles: usize, output_blocks: usize, sums: &mut [[f32; B]]) {
        let most = tiles_at_once(Width::<B>::registers());
        let panels = tiles.div_ceil(most);
        let mut first = 0;
        for panel in 0..panels {
            let count = (tiles - first).div_ceil(panels - panel);
            let prefetches = panel == 0;
            macro_rules! with_tiles {
                ($o:literal: $($p:literal)*) => {
                    match count {
                        $($p => Width::<B>::dispatch(Panel::<B, $p, $o> { product: self, first, sums, prefetches }),)*
                        _ => unreachable!("panels have at most 14 tiles"),
                    }
                };
            }
            match output_blocks {
                1 => with_tiles!(1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
                _ => with_tiles!(2: 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
            }
            first += count;
        }
    }
}
