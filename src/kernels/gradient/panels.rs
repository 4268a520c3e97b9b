//! Copies of the pixels of x, one block of channels after another. Pixels of many channels-last channels lie so far apart that those of one
//! block share few sets of the first cache: read where they are, each of them would come from the second one again and again.

use super::blocks::Blocks;
use super::conv_weights::Rows;
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};

/// Elements from pixel to pixel from which the first cache has too few sets for the pixels of a block: every sixteenth, or less.
const FAR: usize = 256;
/// **Bytes** of x up to which it comes from a cache. Where it comes from memory, products hide what reading takes, and a copy does not.
const NEAR: usize = 8 << 20;

/// Blocks of channels of x, and some of their pixels.
pub(super) struct Panels {
    /// Where the blocks begin in x.
    places: Vec<usize>,
    data: Vec<f32>,
    starts: Vec<[usize; 2]>,
}

impl Panels {
    /// Those of the places that tiles have in x, whose pixels lie `step` from each other. `None` if they are near each other, or if x is
    /// large, or if each block is used once.
    pub fn of(x: &Blocks<'_>, step: usize, tiles: impl Iterator<Item = usize>) -> Option<Panels> {
        let mut places: Vec<usize> = tiles.collect();
        let uses = places.len();
        places.sort_unstable();
        places.dedup();
        let pays = step >= FAR && size_of_val(&*x.data) <= NEAR && uses >= 2 * places.len();
        pays.then_some(Panels { places, data: Vec::new(), starts: Vec::new() })
    }

    /// Copies the pixels of x of these rows, which begin in the first block.
    pub fn fill<const B: usize>(&mut self, rows: &Rows<'_>)
    where
        Width<B>: VectorWidth<B>,
    {
        let Panels { places, data, starts } = self;
        let &Rows { x, x_step, starts: from, count, .. } = rows;
        data.resize(places.len() * from.len() * count * B, 0.0);
        let (to, _) = data.as_chunks_mut();
        Width::<B>::dispatch(Copies { x, x_step, starts: from, count, places, to });
        starts.clear();
        starts.extend(from.iter().enumerate().map(|(row, [_, diff])| [row * count * B, *diff]));
    }

    /// The rows that were copied, as a tile reads them whose blocks begin at these places of x and the result.
    pub fn rows<'a, const B: usize>(&'a self, rows: &Rows<'a>, x_at: usize, diff_at: usize) -> Rows<'a> {
        let i = self.places.binary_search(&x_at).expect("a place that it was made of");
        let length = self.data.len() / self.places.len();
        let x = &self.data[i * length..][..length];
        Rows { x, x_step: B, diff: &rows.diff[diff_at..], starts: &self.starts, ..*rows }
    }
}

/// Copies pixels in the order of memory.
struct Copies<'a, const B: usize> {
    x: &'a [f32],
    x_step: usize,
    starts: &'a [[usize; 2]],
    count: usize,
    places: &'a [usize],
    to: &'a mut [[f32; B]],
}

impl<const B: usize> VectorLoop<B> for Copies<'_, B> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        let Copies { x, x_step, starts, count, places, to } = self;
        let pixels = starts.len() * count;
        for (row, [start, _]) in starts.iter().enumerate() {
            for p in 0..count {
                for (i, place) in places.iter().enumerate() {
                    let block = x[place + start + p * x_step..].first_chunk().expect("a block is whole");
                    V::load(proof, block).store(&mut to[i * pixels + row * count + p]);
                }
            }
        }
    }
}
