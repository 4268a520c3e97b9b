//! The product: pixels by input channels times input channels by output channels, a tile of sums in registers.

use crate::simd::prefetch;
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};

/// How far ahead of their use weights are asked for, in **bytes**.
const AHEAD: usize = 2048;

/// Operands that are asked for ahead of their use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Far {
    pub source: bool,
    pub weights: bool,
}

/// Neighbouring tiles of `pixels` pixels each, for `O` output blocks.
pub(super) struct Product<'a, const B: usize, const O: usize> {
    /// The first tile's pixels of every source block.
    pub source: &'a [[f32; B]],
    /// Vectors from one source block to the next.
    pub block: usize,
    /// Input channels without padding.
    pub channels: usize,
    /// `[source block][source lane]` of each output block.
    pub weights: [&'a [[f32; B]]; O],
    pub bias: [&'a [f32; B]; O],
    /// All pixels of the tiles in each output block.
    pub to: [&'a mut [[f32; B]]; O],
    /// What is likely to be in no near cache yet, besides the result.
    pub far: Far,
}

struct Run<'a, const B: usize, const P: usize, const O: usize>(Product<'a, B, O>);

impl<const B: usize, const P: usize, const O: usize> VectorLoop<B> for Run<'_, B, P, O> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        if P * O + O >= V::REGISTERS {
            unreachable!("`tile_shape` chose more sums than registers");
        }
        let product = self.0;
        let bias = product.bias.map(|b| V::load(proof, b));
        let (blocks, rest) = (product.channels / B, product.channels % B);
        for tile in 0..product.to[0].len() / P {
            let first = tile * P;
            // The next tile's result: products take longer than memory does, and post-ops read what was stored.
            for to in &product.to {
                prefetch(&to[first..][..P], P * B * size_of::<f32>());
            }
            let mut sums = bias.map(|b| [b; P]);
            for block in 0..blocks {
                let (pixels, weights) = product.block::<P>(block, first);
                if product.far.weights && tile == 0 {
                    weights.iter().for_each(|w| prefetch(w.as_slice(), AHEAD));
                }
                if product.far.source {
                    prefetch(pixels.as_slice(), P * B * size_of::<f32>());
                }
                for lane in 0..B {
                    add_lane(proof, &mut sums, pixels, weights, lane);
                }
            }
            if rest > 0 {
                let (pixels, weights) = product.block::<P>(blocks, first);
                for lane in 0..rest.min(B) {
                    add_lane(proof, &mut sums, pixels, weights, lane);
                }
            }
            for o in 0..O {
                let Some(to) = product.to[o][first..].first_chunk_mut::<P>() else {
                    unreachable!("the result has all tiles")
                };
                for_each_below!(p < P => { sums[o][p].store(&mut to[p]); });
            }
        }
    }
}

/// Adds the products of one input channel.
#[inline(always)]
fn add_lane<V: Vector<B>, const B: usize, const P: usize, const O: usize>(
    proof: V::Proof,
    sums: &mut [[V; P]; O],
    pixels: &[[f32; B]; P],
    weights: [&[[f32; B]; B]; O],
    lane: usize,
) {
    let w = weights.map(|w| V::load(proof, &w[lane]));
    for_each_below!(p < P => {
        let value = V::splat(proof, pixels[p][lane]);
        for o in 0..O {
            sums[o][p] = sums[o][p].add_product(value, w[o]);
        }
    });
}

impl<const B: usize, const O: usize> Product<'_, B, O> {
    /// A tile's pixels of one source block, and the weights of its channels.
    #[inline(always)]
    fn block<const P: usize>(&self, block: usize, first: usize) -> (&[[f32; B]; P], [&[[f32; B]; B]; O]) {
        let Some(pixels) = self.source[block * self.block + first..].first_chunk() else {
            unreachable!("the source has all pixels")
        };
        let weights = self.weights.map(|w| {
            let Some(square) = w[block * B..].first_chunk() else { unreachable!("there are all weights") };
            square
        });
        (pixels, weights)
    }
}

/// Runs the product over tiles of this size.
pub(super) fn run<const B: usize, const O: usize>(product: Product<'_, B, O>, pixels: usize)
where
    Width<B>: VectorWidth<B>,
{
    macro_rules! with_pixels {
        ($($p:literal)*) => {
            match pixels {
                $($p => Width::<B>::dispatch(Run::<B, $p, O>(product)),)*
                _ => unreachable!("tiles have 1 to 14 pixels"),
            }
        };
    }
    with_pixels!(1 2 3 4 5 6 7 8 9 10 11 12 13 14)
}
