//! The gradient of a convolution's weights: `dW[o, c, k] = sum over n, p of diff[n, o, p] * x[n, c, p * stride + k * dilation - pad]`.
//!
//! A task has `B` output channels, `B` input channels and some taps: it adds up outer products of the two, pixel by pixel, in
//! registers. After about [`PIXELS_IN_F32`] pixels the sums of a tap go to f64, and the next tap has the same pixels, which are in the
//! cache then. Each weight is computed by one task in one order, so the bits are the same for any number of threads. Channels that lie
//! together in blocks of `B` (nChw16c, channels-last) are read where they are; others are packed so first.
//!
//! The sums of a task are a tile of blocked weights: `tiles` is the memory of weights in the layout `OIhw16i16o`, or `Goihw16g`.

use std::ops::Range;

use super::blocks::{Blocks, Channels};
use super::panels::Panels;
use super::{depthwise, few_channels, for_each_chunk, winograd};
use crate::error::Result;
use crate::kernels::conv::phases::{Axis, Phase, cube, phases};
use crate::kernels::conv::{Algorithm, ConvGeometry};
use crate::kernels::lanes::RowVectors;
use crate::machine::machine;
use crate::memory::try_with_capacity;
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};
use crate::tensor::any::TensorRef;
use crate::threads::{current_threads, parallel_each};
use crate::weights_kind::WeightsKind;

/// About how many pixels are added up in f32 before the sum goes to f64.
pub(super) const PIXELS_IN_F32: usize = 256;
/// With fewer tasks than this, each tap is a task of its own. Of a depthwise convolution, whose taps are faster together, each row of taps
/// is one if there are fewer tasks than threads.
const FEW_TASKS: usize = 16;
/// A task has so many blocks of output channels, and of input channels, if a core's second cache has room for them: pixels that come from
/// far are used so often before the next ones come.
const BLOCKS_OF_TASK: [usize; 4] = [16, 8, 4, 2];
/// Tasks for each thread of the team at least, where that is more than one block.
pub(super) const TASKS_PER_THREAD: usize = 2;
/// The rows of a tile that are computed where there are not more input channels: those of images.
const FEW_ROWS: usize = 4;

/// Adds up products of pixels of both operands: outer products of the first `R` lanes of `x` with all of `diff`.
pub(super) struct Products<'a, const B: usize, const R: usize> {
    pub rows: Rows<'a>,
    pub sums: &'a mut [[f64; B]],
}

/// Rows of `count` pixels: where they begin in both operands, and the steps from pixel to pixel.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub x: &'a [f32],
    pub x_step: usize,
    pub diff: &'a [f32],
    pub diff_step: usize,
    pub starts: &'a [[usize; 2]],
    pub count: usize,
}

impl<'a> Rows<'a> {
    /// The pixels of a row: `R` lanes of x, `B` of diff. Checks of each pixel would put the sums on the stack.
    #[inline(always)]
    fn row<const R: usize, const B: usize>(
        &self,
        [x, diff]: [usize; 2],
    ) -> (RowVectors<'a, f32, R, 1>, RowVectors<'a, f32, B, 1>) {
        let Rows { x_step, diff_step, count, .. } = *self;
        (
            RowVectors::new(self.x, &[x], 0, x_step, count),
            RowVectors::new(self.diff, &[diff], 0, diff_step, count),
        )
    }
}

impl<const B: usize, const R: usize> VectorLoop<B> for Products<'_, B, R> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        let Products { rows, sums } = self;
        let mut all: [V; R] = [V::splat(proof, 0.0); R];
        for &start in rows.starts {
            let (x, diff) = rows.row::<R, B>(start);
            for p in 0..rows.count {
                let ([x], [diff]) = (x.get(p), diff.get(p));
                let diff = V::load(proof, diff);
                for i in 0..R {
                    all[i] = all[i].add_product(V::splat(proof, x[i]), diff);
                }
            }
        }
        add_in_f64(&all, sums);
    }
}

/// Adds sums of f32 to those of f64.
#[inline(always)]
pub(super) fn add_in_f64<V: Vector<B>, const B: usize>(sums: &[V], to: &mut [[f64; B]]) {
    let mut stored = [0f32; B];
    for (sum, to) in sums.iter().zip(to) {
        sum.store(&mut stored);
        for l in 0..B {
            to[l] += f64::from(stored[l]);
        }
    }
}

/// How a convolution's weights are cut into tiles.
#[derive(Clone, Copy)]
pub(super) struct Tiling {
    pub groups: usize,
    /// Channels of a group, and their blocks.
    pub o: usize,
    pub c: usize,
    pub o_blocks: usize,
    pub c_blocks: usize,
    taps: usize,
    /// Rows of a tile: input channels, or 1 if the convolution is depthwise. Then the lanes are those of `B` groups.
    rows: usize,
}

impl Tiling {
    /// That of blocks of `B` channels.
    pub fn new<const B: usize>(g: &ConvGeometry) -> Tiling {
        let (c, o) = (g.c / g.groups, g.o / g.groups);
        let taps = cube(&g.kernel, 1).iter().product();
        if g.weights_kind() == WeightsKind::Depthwise {
            let o_blocks = g.groups.div_ceil(B);
            return Tiling { groups: 1, o: g.groups, c, o_blocks, c_blocks: 1, taps, rows: 1 };
        }
        let (o_blocks, c_blocks) = (o.div_ceil(B), c.div_ceil(B));
        Tiling { groups: g.groups, o, c, o_blocks, c_blocks, taps, rows: B }
    }

    /// How many blocks of output channels, and of input channels, a task has.
    fn side<const B: usize>(&self) -> usize {
        let &Tiling { groups, o_blocks, c_blocks, taps, rows, .. } = self;
        let sets = |side: usize| groups * o_blocks.div_ceil(side) * c_blocks.div_ceil(side);
        let bytes = |side: usize| {
            let (pixels, sums) = (PIXELS_IN_F32 * B * size_of::<f32>(), taps * rows * B * size_of::<f64>());
            2 * side * pixels + side * side * sums
        };
        let is_one = |side: &usize| {
            sets(*side) >= TASKS_PER_THREAD * current_threads() && bytes(*side) <= machine().caches.second / 2
        };
        let has_several = rows > 1 && sets(1) >= FEW_TASKS;
        BLOCKS_OF_TASK.into_iter().find(|side| has_several && is_one(side)).unwrap_or(1)
    }
}

/// Writes the gradient into `tiles`, as [`Tiling`] has them; beyond the channels there are zeros. Winograd's algorithm computes it
/// where a group of blocked channels has whole blocks, and not few input channels.
pub(crate) fn weights<const B: usize>(
    g: &ConvGeometry,
    algorithm: Algorithm,
    x: TensorRef<'_>,
    diff: TensorRef<'_>,
    tiles: &mut [f32],
) -> Result<()>
where
    Width<B>: VectorWidth<B>,
{
    let tiling = Tiling::new::<B>(g);
    let Tiling { groups, o, c, o_blocks, c_blocks, taps, rows } = tiling;
    let of_x = if rows == 1 { o } else { c };
    let (input, output) = (cube(&g.input, 1), cube(&g.output, 1));
    if g.n == 0 || input.contains(&0) || output.contains(&0) {
        tiles.fill(0.0);
        return Ok(());
    }
    if few_channels::weights::<B>(g, x, diff, tiles)? {
        return Ok(());
    }
    if let (Algorithm::Winograd(outputs), TensorRef::Blocked(x), TensorRef::Blocked(diff)) =
        (algorithm, x, diff)
        && winograd::takes::<B>(g, x, diff)
    {
        return winograd::weights::<B>(g, outputs, x, diff, tiles);
    }
    let channels = |of_group| Channels { images: g.n, groups, of_group };
    let x = Blocks::of::<B>(g.op, x, channels(of_x), input)?;
    let diff = Blocks::of::<B>(g.op, diff, channels(o), output)?;
    // Of images with one row there are no short rows.
    let in_rows = g.on_images(g.n, &[g.input.iter().product()]);
    let is_one_row = g.is_pointwise() && x.is_one_row(input) && diff.is_one_row(output);
    let g = if is_one_row { &in_rows } else { g };
    let blocks = groups * o_blocks * c_blocks;
    let side = tiling.side::<B>();
    let taps_at_once = if rows == 1 { cube(&g.kernel, 1)[2] } else { 1 };
    let few = if rows == 1 { current_threads() } else { FEW_TASKS };
    let taps_of_task = if blocks < few { taps_at_once } else { taps };
    let length = taps_of_task * rows * B;
    let (across, down) = (c_blocks.div_ceil(side), o_blocks.div_ceil(side));
    let parts = taps / taps_of_task;
    let mut tasks = try_with_capacity(g.op, groups * down * across * parts)?;
    tasks.resize_with(groups * down * across * parts, Vec::new);
    for (i, sums) in tiles.chunks_mut(length).enumerate() {
        let (block, part) = (i / parts, i % parts);
        let (group, o_block, c_block) =
            (block / (o_blocks * c_blocks), block / c_blocks % o_blocks, block % c_blocks);
        let x_block = if rows == 1 { o_block } else { c_block };
        let set = (group * down + o_block / side) * across + c_block / side;
        tasks[set * parts + part].push(Tile {
            first_tap: part * taps_of_task,
            x_at: group * x.group + x_block * x.block,
            diff_at: group * diff.group + o_block * diff.block,
            used: if rows == 1 { 1 } else { B.min(c - c_block * B) },
            lanes: B.min(o - o_block * B),
            sums,
        });
    }
    parallel_each(&mut tasks, |_, task| {
        sums::<B>(g, &x, &diff, rows, task);
        for Tile { used, lanes, sums, .. } in task {
            // Beyond the channels an infinity times zero would be NaN.
            for (i, row) in sums.chunks_mut(B).enumerate() {
                row[if i % rows < *used { *lanes } else { 0 }..].fill(0.0);
            }
        }
    });
    Ok(())
}

/// The sums of some taps of a tile, and what they are of.
struct Tile<'a> {
    first_tap: usize,
    /// Where its channels begin in both operands.
    x_at: usize,
    diff_at: usize,
    /// The rows and lanes of channels that there are.
    used: usize,
    lanes: usize,
    sums: &'a mut [f32],
}

/// The position of a source that tap `k` of an output reads, which is inside.
pub(super) fn source_of(axis: &Axis, k: usize, output: usize) -> usize {
    ((output * axis.step) as isize + axis.taps[k].at) as usize
}

/// Of these rows of all images those whose source is inside for one tap along D and one along H: image, D and H of the row of the source,
/// and of the row.
pub(super) fn rows_inside<'a>(
    g: &ConvGeometry,
    axes: &'a [Axis; 3],
    k: [usize; 2],
    rows: Range<usize>,
) -> impl Iterator<Item = [[usize; 3]; 2]> + use<'a> {
    let input = cube(&g.input, 1);
    let [ds, hs] = [0, 1].map(|a| axes[a].outputs_inside(k[a], input[a]));
    let inside = places(g, rows).filter(move |[_, d, h]| ds.contains(d) && hs.contains(h));
    inside.map(move |[n, d, h]| [[n, source_of(&axes[0], k[0], d), source_of(&axes[1], k[1], h)], [n, d, h]])
}

/// Image, D and H of rows of outputs. On small images divisions for each row would take as long as its sums.
pub(super) fn places(g: &ConvGeometry, rows: Range<usize>) -> impl Iterator<Item = [usize; 3]> + use<> {
    let [od, oh, _] = cube(&g.output, 1);
    let mut next = [rows.start / oh / od, rows.start / oh % od, rows.start % oh];
    rows.map(move |_| {
        let place = next;
        next[2] += 1;
        if next[2] == oh {
            next = [next[0], next[1] + 1, 0];
        }
        if next[1] == od {
            next = [next[0] + 1, 0, 0];
        }
        place
    })
}

/// Where a row of an image begins.
pub(super) fn row_at(image: usize, spatial: &[usize; 3], [n, d, h]: [usize; 3]) -> usize {
    n * image + d * spatial[0] + h * spatial[1]
}

/// The rows of both operands that a tap reads for these rows of results, in the first block of channels of each.
fn rows_of_tap<'a>(
    g: &ConvGeometry,
    axes: &[Axis; 3],
    [x, diff]: [&'a Blocks<'_>; 2],
    tap: usize,
    results: Range<usize>,
    starts: &'a mut Vec<[usize; 2]>,
) -> Rows<'a> {
    let [_, kh, kw] = cube(&g.kernel, 1);
    let k = [tap / (kh * kw), tap / kw % kh, tap % kw];
    let ws = axes[2].outputs_inside(k[2], cube(&g.input, 1)[2]);
    starts.clear();
    if !ws.is_empty() {
        let x_at = source_of(&axes[2], k[2], ws.start) * x.spatial[2];
        let diff_at = ws.start * diff.spatial[2];
        let inside = rows_inside(g, axes, [k[0], k[1]], results);
        starts.extend(inside.map(|[from, to]| {
            [x_at + row_at(x.image, &x.spatial, from), diff_at + row_at(diff.image, &diff.spatial, to)]
        }));
    }
    Rows {
        x: &x.data,
        x_step: axes[2].step * x.spatial[2],
        diff: &diff.data,
        diff_step: diff.spatial[2],
        starts,
        count: ws.len(),
    }
}

/// The sums of the tiles of a task: each tap has `rows` rows.
fn sums<const B: usize>(
    g: &ConvGeometry,
    x: &Blocks<'_>,
    diff: &Blocks<'_>,
    rows: usize,
    tiles: &mut [Tile<'_>],
) where
    Width<B>: VectorWidth<B>,
{
    let Some(Phase { axes }) = phases(g).next() else {
        return tiles.iter_mut().for_each(|tile| tile.sums.fill(0.0));
    };
    let [od, oh, ow] = cube(&g.output, 1);
    // All rows of all images; a tap reads some.
    let (all, at_once) = (g.n * od * oh, PIXELS_IN_F32.div_ceil(ow));
    // Where all pixels are added up at once, a tile is done before the next one begins.
    let is_once = all <= at_once;
    let totals_of = |tile: &Tile<'_>| vec![[0f64; B]; tile.sums.len() / B];
    let mut totals: Vec<_> = tiles.iter().take(if is_once { 1 } else { usize::MAX }).map(totals_of).collect();
    let has_one_tap = cube(&g.kernel, 1) == [1; 3] && rows > 1;
    let step = axes[2].step * x.spatial[2];
    let mut panels = has_one_tap.then(|| Panels::of(x, step, tiles.iter().map(|tile| tile.x_at))).flatten();
    let (mut starts, mut starts_of_all) = (Vec::new(), Vec::new());
    for first in (0..all).step_by(at_once) {
        let results = first..(first + at_once).min(all);
        let copied = panels.as_mut().map(|panels| {
            let rows = rows_of_tap(g, &axes, [x, diff], 0, results.clone(), &mut starts_of_all);
            panels.fill::<B>(&rows);
            (&*panels, rows)
        });
        for (i, tile) in tiles.iter_mut().enumerate() {
            let totals = &mut totals[if is_once { 0 } else { i }];
            let Tile { x_at, diff_at, .. } = *tile;
            if let Some((panels, rows)) = &copied {
                add::<B>(panels.rows::<B>(rows, x_at, diff_at), tile.used, totals);
            } else if rows == 1 {
                let of = depthwise::Operands { x, x_at, diff, diff_at };
                depthwise::add(g, &axes, &of, results.clone(), tile.first_tap, totals);
            } else {
                for (tap, sums) in (tile.first_tap..).zip(totals.chunks_mut(rows)) {
                    let rows = rows_of_tap(g, &axes, [x, diff], tap, results.clone(), &mut starts);
                    let (x, diff) = (&rows.x[x_at..], &rows.diff[diff_at..]);
                    add::<B>(Rows { x, diff, ..rows }, tile.used, sums);
                }
            }
            if is_once {
                round(totals, tile.sums);
                totals.fill([0.0; B]);
            }
        }
    }
    if !is_once {
        tiles.iter_mut().zip(&totals).for_each(|(tile, totals)| round(totals, tile.sums));
    }
}

/// Adds up outer products of the channels of rows, of which `used` of x are there.
fn add<const B: usize>(rows: Rows<'_>, used: usize, sums: &mut [[f64; B]])
where
    Width<B>: VectorWidth<B>,
{
    match used <= FEW_ROWS {
        true => Width::<B>::dispatch(Products::<B, FEW_ROWS> { rows, sums }),
        false => Width::<B>::dispatch(Products::<B, B> { rows, sums }),
    }
}

fn round<const B: usize>(totals: &[[f64; B]], to: &mut [f32]) {
    to.iter_mut().zip(totals.iter().flatten()).for_each(|(to, sum)| *to = *sum as f32);
}

/// Blocked weights with their output and input channels exchanged: tiles of `B` x `B`, and within each its rows and columns; with
/// their taps in reverse order if they are turned.
pub(crate) fn exchange<const B: usize>(g: &ConvGeometry, from: &[f32], to: &mut [f32], is_turned: bool) {
    let Tiling { o_blocks, c_blocks, taps, .. } = Tiling::new::<B>(g);
    let tile = B * B;
    for_each_chunk(to, taps * tile, |i, to| {
        let (group, c, o) = (i / (o_blocks * c_blocks), i / o_blocks % c_blocks, i % o_blocks);
        let at = ((group * o_blocks + o) * c_blocks + c) * taps * tile;
        for (tap, to) in to.chunks_mut(tile).enumerate() {
            let from = &from[at + if is_turned { taps - 1 - tap } else { tap } * tile..][..tile];
            for (i, row) in to.chunks_mut(B).enumerate() {
                row.iter_mut().enumerate().for_each(|(j, to)| *to = from[j * B + i]);
            }
        }
    });
}
