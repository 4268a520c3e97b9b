//! What a pointwise convolution has to do: its tiles of pixels and units of output blocks, and how the tasks share them.

use std::ops::Range;

use crate::error::Result;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::tiled::TiledPlan;
use crate::layout::blocked::Layout;
use crate::simd::vectors::{VectorWidth, Width};

/// The whole work of one convolution.
pub(crate) struct PointwisePlan {
    /// How channels and weights lie: as for a direct convolution.
    pub tiled: TiledPlan,
    /// Steps along D, H and W from one output's source pixel to the next one's. `None` if every source pixel is one of the
    /// result: then the source is read where it is.
    pub(super) steps: Option<[usize; 3]>,
    pub(super) tiles: Tiles,
    /// Output blocks of a unit, which share each broadcast: 1 or 2.
    pub(super) unit: usize,
    pub(super) scheme: Scheme,
}

/// The pixels of all images in tiles. A tile lies in one image and keeps its sums in registers. The first tiles of an image
/// have `pixels` pixels, the others one less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tiles {
    pub pixels: usize,
    /// Tiles of an image, and how many of them are the larger ones.
    pub of_image: usize,
    large: usize,
    /// Tiles of all images.
    pub count: usize,
}

/// Neighbouring tiles of one image that have the same size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TileRun {
    pub n: usize,
    /// First pixel in the image.
    pub first: usize,
    pub tiles: usize,
    /// Pixels of each tile.
    pub pixels: usize,
}

/// How the work is shared, and cut into steps that the caches hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scheme {
    /// Parts of all tiles, and of all units: a task for each pair.
    pub tile_parts: usize,
    pub unit_parts: usize,
    /// Tiles of a step at most. A step's source stays in the second cache while the weights of some units pass.
    pub step_tiles: usize,
    /// Units that pass in a step at most. All steps of a task take some units, then all of them the next ones.
    pub step_units: usize,
}

impl PointwisePlan {
    /// The plan for activations in this layout; `None` where there is no kernel for it. The geometry fits
    /// (`implementation.rs` checks it).
    pub fn new(g: &ConvGeometry, layout: &Layout, threads: usize) -> Result<Option<PointwisePlan>> {
        let Some(tiled) = TiledPlan::new(g, layout)? else { return Ok(None) };
        let registers = match tiled.block {
            16 => Width::<16>::registers(),
            _ => Width::<8>::registers(),
        };
        let steps = (g.input != g.output).then(|| {
            let mut steps = [1; 3];
            steps[3 - g.stride.len()..].copy_from_slice(&g.stride);
            steps
        });
        let (most, unit) = tile_shape(registers);
        let tiles = Tiles::new(tiled.dst.n, tiled.dst.pixels(), most);
        let scheme = Scheme::new(&tiled, &tiles, unit, steps.is_some(), threads.max(1));
        Ok(Some(PointwisePlan { tiled, steps, tiles, unit, scheme }))
    }

    pub(super) fn tasks(&self) -> usize {
        self.scheme.tile_parts * self.scheme.unit_parts
    }

    pub(super) fn units(&self) -> usize {
        self.tiled.dst.blocks.div_ceil(self.unit)
    }

    /// **Bytes** of memory of a run: a copy of each task's source pixels of one step, where they lie apart.
    pub fn scratch_bytes(&self) -> usize {
        self.tasks().saturating_mul(self.task_vectors()).saturating_mul(self.tiled.block * size_of::<f32>())
    }

    pub(super) fn task_vectors(&self) -> usize {
        match self.steps {
            None => 0,
            Some(_) => self.scheme.step_tiles * self.tiles.pixels * self.tiled.src.blocks,
        }
    }
}

/// Pixels and output blocks that have their sums in registers at once, beside a unit's weights and one source value.
fn tile_shape(registers: usize) -> (usize, usize) {
    match registers {
        32.. => (14, 2),
        16.. => (6, 2),
        8.. => (6, 1),
        _ => (2, 1),
    }
}

impl Tiles {
    /// Tiles of at most `most` pixels.
    pub fn new(images: usize, pixels: usize, most: usize) -> Tiles {
        let of_image = pixels.div_ceil(most);
        let each = pixels.div_ceil(of_image.max(1));
        let large = pixels - (each.max(1) - 1) * of_image;
        Tiles { pixels: each, of_image, large, count: images * of_image }
    }

    /// First pixel of tile `i` of an image.
    fn start(&self, i: usize) -> usize {
        i * (self.pixels - 1) + i.min(self.large)
    }

    /// Cuts a range of tiles into runs of at most `most` tiles.
    pub fn runs(&self, tiles: Range<usize>, most: usize) -> impl Iterator<Item = TileRun> {
        let (tiles_of, mut at) = (*self, tiles.start);
        std::iter::from_fn(move || {
            if at >= tiles.end {
                return None;
            }
            let (n, i) = (at / tiles_of.of_image, at % tiles_of.of_image);
            let (end, pixels) = match i < tiles_of.large {
                true => (tiles_of.large, tiles_of.pixels),
                false => (tiles_of.of_image, tiles_of.pixels - 1),
            };
            let count = (end - i).min(tiles.end - at).min(most);
            at += count;
            Some(TileRun { n, first: tiles_of.start(i), tiles: count, pixels })
        })
    }
}

/// Tasks for each thread of the team at least, so that a slow one costs little.
const TASKS_PER_THREAD: usize = 4;
/// **Bytes** of a step's source, and of the weights of its units: both should stay in a core's second cache.
const SOURCE_BYTES: usize = 512 << 10;
const WEIGHT_BYTES: usize = 384 << 10;
/// **Bytes** that come from memory behind the second cache while a vector of products is added.
const BYTES_PER_PRODUCT: usize = 8;

impl Scheme {
    fn new(tiled: &TiledPlan, tiles: &Tiles, unit: usize, gathers: bool, threads: usize) -> Scheme {
        let vector = tiled.block * size_of::<f32>();
        let channels = tiled.src.blocks * tiled.block;
        let units = tiled.dst.blocks.div_ceil(unit);
        let tile_bytes = tiles.pixels * tiled.src.blocks * vector;
        let unit_bytes = channels * unit * vector;
        let of = |unit_parts: usize| {
            let wanted = (TASKS_PER_THREAD * threads).div_ceil(unit_parts);
            let tile_parts = wanted.clamp(1, tiles.count.max(1));
            let own_tiles = tiles.count.div_ceil(tile_parts).max(1);
            let own_units = units.div_ceil(unit_parts);
            let steps = own_tiles.div_ceil((SOURCE_BYTES / tile_bytes.max(1)).max(1));
            let groups = own_units.div_ceil((WEIGHT_BYTES / unit_bytes).max(1));
            // All weights for each step, or the source once more for each group of units.
            let (source, weights) = (own_tiles * tile_bytes, own_units * unit_bytes);
            let stays = !gathers && steps > 1 && source * groups + weights < source + weights * steps;
            let groups = if stays { groups } else { 1 };
            let (step_tiles, step_units) = (own_tiles.div_ceil(steps), own_units.div_ceil(groups));
            let scheme = Scheme { tile_parts, unit_parts, step_tiles, step_units };
            let bytes = source * groups + if stays { weights } else { weights * steps };
            let copies = if gathers { own_tiles * tiles.pixels * tiled.src.blocks * 4 } else { 0 };
            let products = own_tiles * own_units * channels * (tiles.pixels * unit).max(8);
            let rounds = (tile_parts * unit_parts).div_ceil(threads);
            (rounds * (products + copies + bytes / BYTES_PER_PRODUCT), scheme)
        };
        let most = (TASKS_PER_THREAD * threads).min(units).max(1);
        let schemes = (1..=most).map(of);
        schemes.min_by_key(|(cost, _)| *cost).map_or_else(|| of(1).1, |(_, scheme)| scheme)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::share;

    #[test]
    fn the_runs_of_all_tiles_cover_every_pixel_once() {
        for images in [0, 1, 3] {
            for pixels in [0, 1, 5, 14, 15, 27, 28, 49, 196, 1000] {
                for most in [2, 6, 14] {
                    let tiles = Tiles::new(images, pixels, most);
                    let mut seen = vec![0; images * pixels];
                    for parts in [1, 3] {
                        for part in 0..parts {
                            for run in tiles.runs(share(0..tiles.count, part, parts), 8) {
                                assert!(run.pixels <= most && run.pixels > 0 && run.tiles <= 8, "{run:?}");
                                let first = run.n * pixels + run.first;
                                assert!(run.first + run.tiles * run.pixels <= pixels, "{run:?} {pixels}");
                                seen[first..][..run.tiles * run.pixels].iter_mut().for_each(|s| *s += 1);
                            }
                        }
                    }
                    assert!(seen.iter().all(|&s| s == 2), "{images} {pixels} {most}");
                }
            }
        }
        assert_eq!(Tiles::new(2, 49, 14), Tiles { pixels: 13, of_image: 4, large: 1, count: 8 });
    }
}
