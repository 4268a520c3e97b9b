//! Reductions of blocked tensors: vectors run along the lanes of a block.
//!
//! What is reduced is cut into chunks that depend on the sizes alone, and the chunks' results merge in order: the
//! same bits whatever the number of threads.

use crate::elementwise::Fold;
use crate::error::Result;
use crate::kernels::along_axis::{MAX_COLUMNS, gather_channels, with_scratch};
use crate::kernels::lanes::Lanes;
use crate::kernels::reduce::{Axes, channels};
use crate::layout::pack;
use crate::simd::{self, Loop};
use crate::tensor::blocked::BlockedTensor;
use crate::threads::{SyncPtr, parallel_for};

/// Reduced elements of a chunk, per element of the result: 64 kB of blocks of 16.
const CHUNK: usize = 1024;
/// Elements that one task reads at least.
const TASK: usize = 16 << 10;
/// Reduced elements that are accumulated apart, so that one operation need not wait for the one before.
const APART: usize = 4;

/// `x` reduced over `axes`, which stay with size 1, into a result of these sizes and the layout of `x`.
pub(crate) fn reduce<F: Fold<In = f32, Out = f32>>(
    op: &'static str,
    x: &BlockedTensor,
    axes: &Axes,
    fold: &F,
    dst: &mut BlockedTensor,
) -> Result<()> {
    let view = Lanes::of_blocked(op, x)?;
    let dims = axes.kept_sizes(x.dims());
    let to = Lanes::of_layout(op, &dims, x.layout())?;
    let bytes = dst.storage_bytes_mut();
    if x.dims().contains(&0) {
        bytemuck::cast_slice_mut(bytes).fill(fold.finish(fold.identity(), 0));
        if !dims.contains(&0) {
            pack::zero_padding(size_of::<f32>(), x.layout(), &dims, bytes);
        }
        return Ok(());
    }
    let (src, out) = (x.data(), bytemuck::cast_slice_mut(bytes));
    if (0..x.rank()).all(|d| axes.is_reduced[d] == (d == 1)) {
        if !channels::fold(&view, &to, fold, src, out) {
            over_channels(&view, &to, fold, src, out);
        }
    } else {
        Job::new(&view, &to, x.rank(), axes).run(fold, src, out);
    }
    Ok(())
}

/// Over the channels alone: those of some pixels are put side by side.
fn over_channels<F: Fold<In = f32, Out = f32>>(
    view: &Lanes,
    to: &Lanes,
    fold: &F,
    src: &[f32],
    dst: &mut [f32],
) {
    to.for_each_pixel_run(dst, |p, dst| {
        for (tile, dst) in dst.chunks_mut(MAX_COLUMNS * to.lanes).enumerate() {
            let (first, pixels) = (p.first + tile * MAX_COLUMNS, dst.len() / to.lanes);
            with_scratch(view.c * MAX_COLUMNS, |rows| {
                gather_channels(view, src, p.n, first, pixels, rows);
                let results = simd::dispatch(SideBySide { fold, rows });
                dst.fill(0.0);
                dst.iter_mut().step_by(to.lanes).zip(results).for_each(|(y, result)| *y = result);
            });
        }
    });
}

/// Rows of [`MAX_COLUMNS`] elements, folded into one.
struct SideBySide<'a, F> {
    fold: &'a F,
    rows: &'a [f32],
}

impl<F: Fold<In = f32, Out = f32>> Loop for SideBySide<'_, F> {
    type Out = [f32; MAX_COLUMNS];
    #[inline(always)]
    fn run(self) -> [f32; MAX_COLUMNS] {
        let SideBySide { fold, rows } = self;
        let rows = rows.as_chunks::<MAX_COLUMNS>().0;
        let mut accs = [fold.identity(); MAX_COLUMNS];
        for row in rows {
            for l in 0..MAX_COLUMNS {
                accs[l] = fold.step(accs[l], row[l]);
            }
            simd::end_of_chunk();
        }
        let mut results = [0f32; MAX_COLUMNS];
        for l in 0..MAX_COLUMNS {
            results[l] = fold.finish(accs[l], rows.len());
        }
        results
    }
}

/// Nested loops, the densest first; neighbours that continue each other are one.
struct Walk {
    sizes: Vec<usize>,
    src: Vec<usize>,
    dst: Vec<usize>,
}

impl Walk {
    /// Of (size, step in the source, step in the result).
    fn new(loops: impl IntoIterator<Item = (usize, usize, usize)>) -> Walk {
        let mut walk = Walk { sizes: vec![], src: vec![], dst: vec![] };
        for (size, src, dst) in loops.into_iter().filter(|&(size, ..)| size != 1) {
            if let (Some(n), Some(&s), Some(&d)) = (walk.sizes.last_mut(), walk.src.last(), walk.dst.last())
                && (src, dst) == (s * *n, d * *n)
            {
                *n *= size;
                continue;
            }
            walk.sizes.push(size);
            walk.src.push(src);
            walk.dst.push(dst);
        }
        if walk.sizes.is_empty() {
            (walk.sizes, walk.src, walk.dst) = (vec![1], vec![0], vec![0]);
        }
        walk
    }

    fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// The stretch of the innermost loop from element `at` on, up to `end`: its length, and where it begins in source and
    /// result.
    #[inline(always)]
    fn stretch(&self, at: usize, end: usize) -> (usize, usize, usize) {
        if self.sizes.len() == 1 {
            return (end.min(self.sizes[0]) - at, at * self.src[0], at * self.dst[0]);
        }
        let (inner, mut rest) = (at % self.sizes[0], at / self.sizes[0]);
        let (mut src, mut dst) = (inner * self.src[0], inner * self.dst[0]);
        for d in 1..self.sizes.len() {
            src += rest % self.sizes[d] * self.src[d];
            dst += rest % self.sizes[d] * self.dst[d];
            rest /= self.sizes[d];
        }
        ((self.sizes[0] - inner).min(end - at), src, dst)
    }
}

/// Reduced elements that have the same lanes.
struct Part {
    /// Where they begin, in the source.
    base: usize,
    walk: Walk,
    /// Lanes that are no padding.
    used: usize,
}

struct Job {
    /// Stretches of the result, and where they begin.
    kept: Walk,
    /// Elements of a stretch, side by side in source and result; the lanes of a block where channels are reduced.
    side_by_side: usize,
    /// Whether the lanes of a stretch are reduced too.
    lanes_reduced: bool,
    parts: Vec<Part>,
    /// Elements that a result is reduced from.
    count: usize,
}

impl Job {
    fn new(view: &Lanes, to: &Lanes, rank: usize, axes: &Axes) -> Job {
        let spatial = |a: usize| a + rank >= 5 && axes.is_reduced[a + rank - 3];
        let [d, h, w] = view.spatial;
        let channels = axes.is_reduced[1];
        // Size, steps in source and result, and whether it is reduced.
        let loops = [
            (w, view.lanes, to.lanes, spatial(2)),
            (h, view.stride_h, to.stride_h, spatial(1)),
            (d, view.stride_d, to.stride_d, spatial(0)),
            (view.blocks, view.stride_block, to.stride_block, channels),
            (view.n, view.stride_n, to.stride_n, axes.is_reduced[0]),
        ];
        let count: usize = loops.iter().filter(|l| l.3).map(|l| l.0).product();
        let count = if channels { count / view.blocks * view.c } else { count };
        let mut kept = Walk::new(loops.iter().filter(|l| !l.3).map(|l| (l.0, l.1, l.2)));
        let mut side_by_side = view.lanes;
        if !channels && (kept.src[0], kept.dst[0]) == (view.lanes, view.lanes) {
            // Kept pixels that lie side by side are one stretch, which is then cut to the width of a vector loop.
            side_by_side *= kept.sizes[0];
            kept.sizes[0] = 1;
        }
        let part = |blocks: std::ops::Range<usize>, used: usize| {
            let sizes = [w, h, d, blocks.len(), view.n];
            let reduced = loops.iter().zip(sizes).filter(|(l, _)| l.3);
            Part {
                base: blocks.start * view.stride_block,
                walk: Walk::new(reduced.map(|(l, size)| (size, l.1, 0))),
                used,
            }
        };
        let full = view.c / view.lanes;
        let parts = match channels {
            false => vec![part(0..view.blocks, view.lanes)],
            true if full == view.blocks => vec![part(0..full, view.lanes)],
            true if full == 0 => vec![part(0..1, view.c)],
            true => vec![part(0..full, view.lanes), part(full..view.blocks, view.lanes_in(full))],
        };
        Job { kept, side_by_side, lanes_reduced: channels, parts, count }
    }

    /// Stretches of the result are taken in pieces of at most [`MAX_COLUMNS`].
    fn pieces(&self) -> usize {
        if self.lanes_reduced { 1 } else { self.side_by_side.div_ceil(MAX_COLUMNS) }
    }

    fn run<F: Fold<In = f32, Out = f32>>(&self, fold: &F, src: &[f32], dst: &mut [f32]) {
        let chunks: usize = self.parts.iter().map(Part::chunks).sum();
        let per_unit =
            self.parts.iter().map(|p| p.walk.len()).sum::<usize>() * self.side_by_side / self.pieces();
        let units = self.kept.len() * self.pieces();
        let out = SyncPtr::new(dst);
        if chunks == self.parts.len() {
            let together = (TASK / per_unit.max(1)).max(1);
            return parallel_for(units.div_ceil(together), |task| {
                let units = task * together..((task + 1) * together).min(units);
                simd::dispatch(Units { job: self, fold, src, units, out: &out });
            });
        }
        let mut sums = vec![fold.identity(); units * chunks * MAX_COLUMNS];
        let parts = SyncPtr::new(&mut sums);
        parallel_for(units * chunks, |i| {
            let mut chunk = i % chunks;
            for part in &self.parts {
                if chunk >= part.chunks() {
                    chunk -= part.chunks();
                    continue;
                }
                let count = part.walk.len();
                let [first, end] = [chunk, chunk + 1].map(|c| count * c / part.chunks());
                // SAFETY: each task writes its own stretch of `MAX_COLUMNS` partial results.
                let to =
                    unsafe { std::slice::from_raw_parts_mut(parts.get().add(i * MAX_COLUMNS), MAX_COLUMNS) };
                let unit = self.unit(i / chunks);
                simd::dispatch(Chunk { job: self, fold, src, part, range: first..end, unit, to });
                return;
            }
        });
        for (unit, sums) in sums.chunks_exact(chunks * MAX_COLUMNS).enumerate() {
            let mut total = [fold.identity(); MAX_COLUMNS];
            for chunk in sums.as_chunks::<MAX_COLUMNS>().0 {
                total.iter_mut().zip(chunk).for_each(|(t, &c)| *t = fold.merge(*t, c));
            }
            // SAFETY: nobody else writes now.
            unsafe { self.write(fold, &self.unit(unit), &total, &out) };
        }
    }

    #[inline(always)]
    fn unit(&self, unit: usize) -> Unit {
        let (pieces, piece) = (self.pieces(), unit % self.pieces());
        let (_, src, dst) = self.kept.stretch(unit / pieces, usize::MAX);
        let width =
            if self.lanes_reduced { 1 } else { MAX_COLUMNS.min(self.side_by_side - piece * MAX_COLUMNS) };
        Unit { src: src + piece * MAX_COLUMNS, dst: dst + piece * MAX_COLUMNS, width }
    }

    /// # Safety
    /// Nobody else touches this unit's elements of the result.
    #[inline(always)]
    unsafe fn write<F: Fold<In = f32, Out = f32>>(
        &self,
        fold: &F,
        unit: &Unit,
        accs: &[F::Acc; MAX_COLUMNS],
        out: &SyncPtr<f32>,
    ) {
        let len = if self.lanes_reduced { self.side_by_side } else { unit.width };
        // SAFETY: the walk's offsets are those of stretches of the result of this length; the caller's promise.
        let to = unsafe { std::slice::from_raw_parts_mut(out.get().add(unit.dst), len) };
        let (to, padding) = to.split_at_mut(unit.width);
        to.iter_mut().zip(accs).for_each(|(y, &acc)| *y = fold.finish(acc, self.count));
        padding.fill(0.0);
    }
}

impl Part {
    fn chunks(&self) -> usize {
        self.walk.len().div_ceil(CHUNK)
    }
}

/// Elements of the result that are accumulated together.
struct Unit {
    src: usize,
    dst: usize,
    width: usize,
}

/// Whole results of some units.
struct Units<'a, F: Fold> {
    job: &'a Job,
    fold: &'a F,
    src: &'a [f32],
    units: std::ops::Range<usize>,
    out: &'a SyncPtr<f32>,
}

impl<F: Fold<In = f32, Out = f32>> Loop for Units<'_, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Units { job, fold, src, units, out } = self;
        for unit in units {
            let unit = job.unit(unit);
            let mut accs = [fold.identity(); MAX_COLUMNS];
            for part in &job.parts {
                job.accumulate(fold, src, part, 0..part.walk.len(), &unit, &mut accs);
            }
            // SAFETY: no other task has this unit.
            unsafe { job.write(fold, &unit, &accs, out) };
        }
    }
}

/// A part's share of one unit.
struct Chunk<'a, F: Fold> {
    job: &'a Job,
    fold: &'a F,
    src: &'a [f32],
    part: &'a Part,
    range: std::ops::Range<usize>,
    unit: Unit,
    to: &'a mut [F::Acc],
}

impl<F: Fold<In = f32, Out = f32>> Loop for Chunk<'_, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Chunk { job, fold, src, part, range, unit, to } = self;
        let mut accs = [fold.identity(); MAX_COLUMNS];
        job.accumulate(fold, src, part, range, &unit, &mut accs);
        to.copy_from_slice(&accs);
    }
}

impl Job {
    /// Merges elements `range` of a part into a unit's accumulators.
    #[inline(always)]
    fn accumulate<F: Fold<In = f32, Out = f32>>(
        &self,
        fold: &F,
        src: &[f32],
        part: &Part,
        range: std::ops::Range<usize>,
        unit: &Unit,
        accs: &mut [F::Acc; MAX_COLUMNS],
    ) {
        let src = &src[part.base + unit.src..];
        if !self.lanes_reduced {
            if unit.width == MAX_COLUMNS {
                *accs = vectors::<F, MAX_COLUMNS, 1>(fold, src, &part.walk, range, MAX_COLUMNS);
                return;
            }
            for at in (0..unit.width).step_by(16) {
                let width = 16.min(unit.width - at);
                let part = lanes(fold, &src[at..], &part.walk, range.clone(), width);
                accs[at..at + width].copy_from_slice(&part[..width]);
            }
            return;
        }
        for at in (0..part.used).step_by(16) {
            let width = 16.min(self.side_by_side - at);
            let part_lanes = lanes(fold, &src[at..], &part.walk, range.clone(), width);
            let merged = merged_lanes(fold, part_lanes, 16.min(part.used - at));
            accs[0] = fold.merge(accs[0], merged);
        }
    }
}

/// The first `used` lanes, merged pairwise.
#[inline(always)]
fn merged_lanes<F: Fold>(fold: &F, mut lanes: [F::Acc; 16], used: usize) -> F::Acc {
    if used < 16 {
        for l in 0..16 {
            lanes[l] = if l < used { lanes[l] } else { fold.identity() };
        }
    }
    let mut half = 8;
    while half > 0 {
        for l in 0..half {
            lanes[l] = fold.merge(lanes[l], lanes[l + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// As [`vectors`], for at most 16 elements side by side.
#[inline(always)]
fn lanes<F: Fold<In = f32, Out = f32>>(
    fold: &F,
    src: &[f32],
    walk: &Walk,
    range: std::ops::Range<usize>,
    width: usize,
) -> [F::Acc; 16] {
    if width == 8 {
        let mut accs = [fold.identity(); 16];
        accs[..8].copy_from_slice(&vectors::<F, 8, APART>(fold, src, walk, range, 8));
        return accs;
    }
    if width == 16 {
        return vectors::<F, 16, APART>(fold, src, walk, range, 16);
    }
    vectors::<F, 16, 1>(fold, src, walk, range, width)
}

/// `width` elements side by side, at most `V`, accumulated over elements `range` of the walk; `U` of these in turn apart.
#[inline(always)]
fn vectors<F: Fold<In = f32, Out = f32>, const V: usize, const U: usize>(
    fold: &F,
    src: &[f32],
    walk: &Walk,
    range: std::ops::Range<usize>,
    width: usize,
) -> [F::Acc; V] {
    let mut accs = [[fold.identity(); V]; U];
    let step = walk.src[0];
    let mut index = range.start;
    while index < range.end {
        let (count, mut at, _) = walk.stretch(index, range.end);
        for _ in 0..count / U {
            for acc in &mut accs {
                accumulate(fold, acc, &src[at..], width);
                at += step;
            }
        }
        for _ in 0..count % U {
            accumulate(fold, &mut accs[0], &src[at..], width);
            at += step;
        }
        index += count;
    }
    let mut total = accs[0];
    for acc in &accs[1..] {
        for l in 0..V {
            total[l] = fold.merge(total[l], acc[l]);
        }
    }
    total
}

#[inline(always)]
fn accumulate<F: Fold<In = f32>, const V: usize>(
    fold: &F,
    accs: &mut [F::Acc; V],
    src: &[f32],
    width: usize,
) {
    if let Some(&x) = src.first_chunk::<V>().filter(|_| width == V) {
        for l in 0..V {
            accs[l] = fold.step(accs[l], x[l]);
        }
        return;
    }
    accs.iter_mut().zip(&src[..width]).for_each(|(acc, &x)| *acc = fold.step(*acc, x));
}
