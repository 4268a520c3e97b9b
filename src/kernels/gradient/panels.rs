//! Copies of pixels, one block of channels after another. Pixels of many channels-last channels, and every second pixel of a row, lie so
//! far apart that those of one block share few sets of the first cache: read where they are, each of them would come from the second one
//! again and again.

use super::conv_weights::Rows;
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};

/// Elements from pixel to pixel from which the first cache has too few sets for the pixels of a block: every eighth, or less.
const FAR: usize = 128;

/// Blocks of channels of an activation, and some of their pixels.
struct Panel {
    /// Where the blocks begin in the activation.
    places: Vec<usize>,
    data: Vec<f32>,
}

impl Panel {
    /// `None` if the pixels are near each other, or each block is used once.
    fn of<const B: usize>(step: usize, places: impl Iterator<Item = usize>) -> Option<Panel> {
        let mut places: Vec<usize> = places.collect();
        let uses = places.len();
        places.sort_unstable();
        places.dedup();
        let is_far = step >= FAR || step == 2 * B;
        (is_far && uses >= 2 * places.len()).then_some(Panel { places, data: Vec::new() })
    }

    /// Copies rows of `count` pixels, which begin at `starts` in the first block of all channels.
    fn fill<const B: usize>(&mut self, from: &[f32], step: usize, starts: &[usize], count: usize)
    where
        Width<B>: VectorWidth<B>,
    {
        let Panel { places, data } = self;
        data.resize(places.len() * starts.len() * count * B, 0.0);
        let (to, _) = data.as_chunks_mut();
        Width::<B>::dispatch(Copies { from, step, starts, count, places, to });
    }

    /// The pixels of the block that begins at `place`.
    fn block(&self, place: usize) -> &[f32] {
        let i = self.places.binary_search(&place).expect("a place that it was made of");
        let length = self.data.len() / self.places.len();
        &self.data[i * length..][..length]
    }
}

/// Copies pixels in the order of memory.
struct Copies<'a, const B: usize> {
    from: &'a [f32],
    step: usize,
    starts: &'a [usize],
    count: usize,
    places: &'a [usize],
    to: &'a mut [[f32; B]],
}

impl<const B: usize> VectorLoop<B> for Copies<'_, B> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        let Copies { from, step, starts, count, places, to } = self;
        let pixels = starts.len() * count;
        for (row, start) in starts.iter().enumerate() {
            for p in 0..count {
                for (i, place) in places.iter().enumerate() {
                    let block = from[place + start + p * step..].first_chunk().expect("a block is whole");
                    V::load(proof, block).store(&mut to[i * pixels + row * count + p]);
                }
            }
        }
    }
}

/// What a task reads of both operands: copies where its pixels are far from each other, else the operands themselves.
pub(super) struct Panels {
    sides: [Option<Panel>; 2],
    starts: Vec<[usize; 2]>,
}

impl Panels {
    /// Those of tiles, which have places in x and in the result. `steps` are those from pixel to pixel.
    pub fn of<const B: usize>(
        steps: [usize; 2],
        tiles: impl Iterator<Item = [usize; 2]> + Clone,
    ) -> Option<Panels> {
        let sides = [0, 1].map(|side| Panel::of::<B>(steps[side], tiles.clone().map(|at| at[side])));
        sides.iter().any(Option::is_some).then_some(Panels { sides, starts: Vec::new() })
    }

    /// Copies what is far in these rows, which begin in the first block of each operand.
    pub fn fill<const B: usize>(&mut self, rows: &Rows<'_>)
    where
        Width<B>: VectorWidth<B>,
    {
        self.starts = rows.starts.to_vec();
        for (side, (data, step)) in
            [(rows.x, rows.x_step), (rows.diff, rows.diff_step)].into_iter().enumerate()
        {
            if let Some(panel) = &mut self.sides[side] {
                let starts: Vec<usize> = rows.starts.iter().map(|start| start[side]).collect();
                panel.fill::<B>(data, step, &starts, rows.count);
                self.starts
                    .iter_mut()
                    .enumerate()
                    .for_each(|(row, start)| start[side] = row * rows.count * B);
            }
        }
    }

    /// The pixels that a tile reads of the rows that were copied.
    pub fn rows<'a, const B: usize>(&'a self, rows: &Rows<'a>, at: [usize; 2]) -> Rows<'a> {
        let of = |side: usize, data: &'a [f32], step: usize| match &self.sides[side] {
            Some(panel) => (panel.block(at[side]), B),
            None => (&data[at[side]..], step),
        };
        let ((x, x_step), (diff, diff_step)) = (of(0, rows.x, rows.x_step), of(1, rows.diff, rows.diff_step));
        Rows { x, x_step, diff, diff_step, starts: &self.starts, count: rows.count }
    }
}
