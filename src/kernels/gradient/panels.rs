//! Copies of pixels, one block of channels after another. Pixels of many channels-last channels, and every second pixel of a row, lie so
//! far apart that those of one block share few sets of the first cache: read where they are, each of them would come from the second one
//! again and again.

use super::conv_weights::Rows;

/// Blocks of channels of an activation, and some of their pixels.
struct Panel {
    /// Where the blocks begin in the activation.
    places: Vec<usize>,
    data: Vec<f32>,
}

impl Panel {
    fn of(places: impl Iterator<Item = usize>) -> Panel {
        let mut places: Vec<usize> = places.collect();
        places.sort_unstable();
        places.dedup();
        Panel { places, data: Vec::new() }
    }

    /// Copies rows of `count` pixels, which begin at `starts` in the first block of all channels.
    fn fill<const B: usize>(
        &mut self,
        from: &[f32],
        step: usize,
        starts: impl Iterator<Item = usize>,
        count: usize,
        pixels: usize,
    ) {
        self.data.resize(self.places.len() * pixels * B, 0.0);
        let pixel_starts = starts.flat_map(|start| (0..count).map(move |p| start + p * step));
        for (pixel, start) in pixel_starts.enumerate() {
            // In the order of memory.
            for (i, place) in self.places.iter().enumerate() {
                let to = &mut self.data[(i * pixels + pixel) * B..][..B];
                to.copy_from_slice(&from[place + start..][..B]);
            }
        }
    }

    /// The pixels of the block that begins at `place`.
    fn block<const B: usize>(&self, place: usize, pixels: usize) -> &[f32] {
        let i = self.places.binary_search(&place).expect("a place that it was made of");
        &self.data[i * pixels * B..][..pixels * B]
    }
}

/// The blocks of both operands that a task reads.
pub(super) struct Panels {
    x: Panel,
    diff: Panel,
    pixels: usize,
}

impl Panels {
    /// Those of tiles, which have places in x and in the result. `steps` are those from pixel to pixel. `None` if no block would be used
    /// twice, or all are dense already.
    pub fn of<const B: usize>(
        steps: [usize; 2],
        tiles: impl Iterator<Item = [usize; 2]> + Clone,
    ) -> Option<Panels> {
        let is_dense = steps == [B; 2];
        (!is_dense && tiles.clone().nth(1).is_some()).then(|| Panels {
            x: Panel::of(tiles.clone().map(|at| at[0])),
            diff: Panel::of(tiles.map(|at| at[1])),
            pixels: 0,
        })
    }

    /// Copies these rows, which begin in the first block of each operand.
    pub fn fill<const B: usize>(&mut self, rows: &Rows<'_>) {
        self.pixels = rows.starts.len() * rows.count;
        let starts = |side: usize| rows.starts.iter().map(move |start| start[side]);
        self.x.fill::<B>(rows.x, rows.x_step, starts(0), rows.count, self.pixels);
        self.diff.fill::<B>(rows.diff, rows.diff_step, starts(1), rows.count, self.pixels);
    }

    /// The pixels that a tile reads, as one row.
    pub fn rows<const B: usize>(&self, [x, diff]: [usize; 2]) -> Rows<'_> {
        Rows {
            x: self.x.block::<B>(x, self.pixels),
            x_step: B,
            diff: self.diff.block::<B>(diff, self.pixels),
            diff_step: B,
            starts: &[[0, 0]],
            count: self.pixels,
        }
    }
}
