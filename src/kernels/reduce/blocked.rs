//! Reductions of blocked tensors. Vectors run along the lanes of a channel block.
//!
//! The reduced elements are cut into chunks whose lengths depend only on the sizes, and the accumulators of the chunks merge
//! in order. So the result has the same bits for any number of threads.

use crate::elementwise::Fold;
use crate::error::Result;
use crate::kernels::along_axis::{MAX_COLUMNS, gather_channels, with_scratch};
use crate::kernels::lanes::Lanes;
use crate::kernels::reduce::{Axes, channels};
use crate::layout::pack;
use crate::memory::try_filled;
use crate::simd::{self, Loop};
use crate::tensor::blocked::BlockedTensor;
use crate::threads::{SyncPtr, parallel_for};

/// Reduced elements of a chunk, for each element of the result: 64 kB with blocks of 16 lanes.
const CHUNK: usize = 1024;
/// The fewest elements that a task reads.
const TASK: usize = 16 << 10;
/// Independent accumulators that take reduced elements in turns, so that an operation need not wait for the previous one.
const INTERLEAVED: usize = 4;

/// Reduces `x` over `axes`, which stay with size 1. `dst` has those sizes and the layout of `x`.
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
            over_gathered_channels(&view, &to, fold, src, out);
        }
    } else {
        BlockedReduction::new(&view, &to, x.rank(), axes).run(op, fold, src, out)?;
    }
    Ok(())
}

/// Reduces over the channels alone, for any number of lanes: the channels of some pixels are gathered in scratch, side by side.
fn over_gathered_channels<F: Fold<In = f32, Out = f32>>(
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
                let results = simd::dispatch(FoldRows { fold, rows });
                dst.fill(0.0);
                dst.iter_mut().step_by(to.lanes).zip(results).for_each(|(y, result)| *y = result);
            });
        }
    });
}

/// Folds rows of [`MAX_COLUMNS`] elements into one row.
struct FoldRows<'a, F> {
    fold: &'a F,
    rows: &'a [f32],
}

impl<F: Fold<In = f32, Out = f32>> Loop for FoldRows<'_, F> {
    type Out = [f32; MAX_COLUMNS];
    #[inline(always)]
    fn run(self) -> [f32; MAX_COLUMNS] {
        let FoldRows { fold, rows } = self;
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

/// Nested loops, the densest first. Loops that continue each other in memory are merged.
struct BlockedLoops {
    sizes: Vec<usize>,
    src: Vec<usize>,
    dst: Vec<usize>,
}

impl BlockedLoops {
    /// Each loop is given as (size, step in the source, step in the result).
    fn new(loops: impl IntoIterator<Item = (usize, usize, usize)>) -> BlockedLoops {
        let mut merged = BlockedLoops { sizes: vec![], src: vec![], dst: vec![] };
        for (size, src, dst) in loops.into_iter().filter(|&(size, ..)| size != 1) {
            if let (Some(n), Some(&s), Some(&d)) =
                (merged.sizes.last_mut(), merged.src.last(), merged.dst.last())
                && (src, dst) == (s * *n, d * *n)
            {
                *n *= size;
                continue;
            }
            merged.sizes.push(size);
            merged.src.push(src);
            merged.dst.push(dst);
        }
        if merged.sizes.is_empty() {
            (merged.sizes, merged.src, merged.dst) = (vec![1], vec![0], vec![0]);
        }
        merged
    }

    fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// The run of elements along the innermost loop from element `at` on, up to `end`: its length, and its offsets in source
    /// and result.
    #[inline(always)]
    fn inner_run(&self, at: usize, end: usize) -> (usize, usize, usize) {
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

/// Reduced elements whose channel blocks use the same number of lanes: the full blocks, or the last block if it is padded.
struct BlockGroup {
    /// Offset of the first element in the source.
    base: usize,
    loops: BlockedLoops,
    /// Lanes that are not padding.
    used_lanes: usize,
}

/// A reduction over some axes: its loops, and its reduced elements in groups.
struct BlockedReduction {
    /// Loops over the rows of the result.
    kept: BlockedLoops,
    /// Elements of a row, contiguous in source and result. The lanes of a block if channels are reduced.
    row_len: usize,
    /// Whether the lanes of a row are reduced too, because channels are.
    lanes_reduced: bool,
    groups: Vec<BlockGroup>,
    /// Number of elements that are reduced to each result.
    count: usize,
}

impl BlockedReduction {
    fn new(view: &Lanes, to: &Lanes, rank: usize, axes: &Axes) -> BlockedReduction {
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
        let mut kept = BlockedLoops::new(loops.iter().filter(|l| !l.3).map(|l| (l.0, l.1, l.2)));
        let mut row_len = view.lanes;
        if !channels && (kept.src[0], kept.dst[0]) == (view.lanes, view.lanes) {
            // Kept pixels that follow each other in memory are one row, which is then cut into pieces of the width of a vector
            // loop.
            row_len *= kept.sizes[0];
            kept.sizes[0] = 1;
        }
        let group = |blocks: std::ops::Range<usize>, used_lanes: usize| {
            let sizes = [w, h, d, blocks.len(), view.n];
            let reduced = loops.iter().zip(sizes).filter(|(l, _)| l.3);
            BlockGroup {
                base: blocks.start * view.stride_block,
                loops: BlockedLoops::new(reduced.map(|(l, size)| (size, l.1, 0))),
                used_lanes,
            }
        };
        let full = view.c / view.lanes;
        let groups = match channels {
            false => vec![group(0..view.blocks, view.lanes)],
            true if full == view.blocks => vec![group(0..full, view.lanes)],
            true if full == 0 => vec![group(0..1, view.c)],
            true => vec![group(0..full, view.lanes), group(full..view.blocks, view.lanes_in(full))],
        };
        BlockedReduction { kept, row_len, lanes_reduced: channels, groups, count }
    }

    /// Number of pieces, of at most [`MAX_COLUMNS`] elements, that a row of the result is cut into.
    fn pieces_per_row(&self) -> usize {
        if self.lanes_reduced { 1 } else { self.row_len.div_ceil(MAX_COLUMNS) }
    }

    fn run<F: Fold<In = f32, Out = f32>>(
        &self,
        op: &'static str,
        fold: &F,
        src: &[f32],
        dst: &mut [f32],
    ) -> Result<()> {
        let chunks: usize = self.groups.iter().map(BlockGroup::chunks).sum();
        let reduced: usize = self.groups.iter().map(|g| g.loops.len()).sum();
        let elements_per_piece = reduced * self.row_len / self.pieces_per_row();
        let pieces = self.kept.len() * self.pieces_per_row();
        let out = SyncPtr::new(dst);
        if chunks == self.groups.len() {
            let together = (TASK / elements_per_piece.max(1)).max(1);
            parallel_for(pieces.div_ceil(together), |task| {
                let pieces = task * together..((task + 1) * together).min(pieces);
                simd::dispatch(ReducePieces { reduction: self, fold, src, pieces, out: &out });
            });
            return Ok(());
        }
        let mut sums = try_filled(op, pieces * chunks * MAX_COLUMNS, fold.identity())?;
        let partials = SyncPtr::new(&mut sums);
        parallel_for(pieces * chunks, |i| {
            let mut chunk = i % chunks;
            for group in &self.groups {
                if chunk >= group.chunks() {
                    chunk -= group.chunks();
                    continue;
                }
                let count = group.loops.len();
                let [first, end] = [chunk, chunk + 1].map(|c| count * c / group.chunks());
                // SAFETY: each task writes its own `MAX_COLUMNS` partial results.
                let to = unsafe {
                    std::slice::from_raw_parts_mut(partials.get().add(i * MAX_COLUMNS), MAX_COLUMNS)
                };
                let piece = self.piece(i / chunks);
                simd::dispatch(ReduceChunk {
                    reduction: self,
                    fold,
                    src,
                    group,
                    range: first..end,
                    piece,
                    to,
                });
                return;
            }
        });
        for (piece, sums) in sums.chunks_exact(chunks * MAX_COLUMNS).enumerate() {
            let mut total = [fold.identity(); MAX_COLUMNS];
            for chunk in sums.as_chunks::<MAX_COLUMNS>().0 {
                total.iter_mut().zip(chunk).for_each(|(t, &c)| *t = fold.merge(*t, c));
            }
            // SAFETY: the parallel section is over, so nobody else writes.
            unsafe { self.write(fold, &self.piece(piece), &total, &out) };
        }
        Ok(())
    }

    /// Piece `index` of the result, counted over all rows.
    #[inline(always)]
    fn piece(&self, index: usize) -> ResultPiece {
        let (row, in_row) = (index / self.pieces_per_row(), index % self.pieces_per_row());
        let (_, src, dst) = self.kept.inner_run(row, usize::MAX);
        let width = if self.lanes_reduced { 1 } else { MAX_COLUMNS.min(self.row_len - in_row * MAX_COLUMNS) };
        ResultPiece { src: src + in_row * MAX_COLUMNS, dst: dst + in_row * MAX_COLUMNS, width }
    }

    /// Writes the results of a piece, and zeros into the padding of its block if channels are reduced.
    ///
    /// # Safety
    /// Nobody else accesses this piece of the result.
    #[inline(always)]
    unsafe fn write<F: Fold<In = f32, Out = f32>>(
        &self,
        fold: &F,
        piece: &ResultPiece,
        accs: &[F::Acc; MAX_COLUMNS],
        out: &SyncPtr<f32>,
    ) {
        let len = if self.lanes_reduced { self.row_len } else { piece.width };
        // SAFETY: the loops give the offsets of rows of the result, which have this length; the caller's promise.
        let to = unsafe { std::slice::from_raw_parts_mut(out.get().add(piece.dst), len) };
        let (to, padding) = to.split_at_mut(piece.width);
        to.iter_mut().zip(accs).for_each(|(y, &acc)| *y = fold.finish(acc, self.count));
        padding.fill(0.0);
    }
}

impl BlockGroup {
    fn chunks(&self) -> usize {
        self.loops.len().div_ceil(CHUNK)
    }
}

/// Elements of the result that are accumulated together: their offsets in source and result, and their number.
struct ResultPiece {
    src: usize,
    dst: usize,
    width: usize,
}

/// Computes the whole results of some pieces.
struct ReducePieces<'a, F: Fold> {
    reduction: &'a BlockedReduction,
    fold: &'a F,
    src: &'a [f32],
    pieces: std::ops::Range<usize>,
    out: &'a SyncPtr<f32>,
}

impl<F: Fold<In = f32, Out = f32>> Loop for ReducePieces<'_, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let ReducePieces { reduction, fold, src, pieces, out } = self;
        for piece in pieces {
            let piece = reduction.piece(piece);
            let mut accs = [fold.identity(); MAX_COLUMNS];
            for group in &reduction.groups {
                reduction.accumulate(fold, src, group, 0..group.loops.len(), &piece, &mut accs);
            }
            // SAFETY: no other task has this piece.
            unsafe { reduction.write(fold, &piece, &accs, out) };
        }
    }
}

/// Accumulates one chunk of a group for one piece of the result.
struct ReduceChunk<'a, F: Fold> {
    reduction: &'a BlockedReduction,
    fold: &'a F,
    src: &'a [f32],
    group: &'a BlockGroup,
    range: std::ops::Range<usize>,
    piece: ResultPiece,
    to: &'a mut [F::Acc],
}

impl<F: Fold<In = f32, Out = f32>> Loop for ReduceChunk<'_, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let ReduceChunk { reduction, fold, src, group, range, piece, to } = self;
        let mut accs = [fold.identity(); MAX_COLUMNS];
        reduction.accumulate(fold, src, group, range, &piece, &mut accs);
        to.copy_from_slice(&accs);
    }
}

impl BlockedReduction {
    /// Accumulates the elements in `range` of a group for one piece of the result.
    #[inline(always)]
    fn accumulate<F: Fold<In = f32, Out = f32>>(
        &self,
        fold: &F,
        src: &[f32],
        group: &BlockGroup,
        range: std::ops::Range<usize>,
        piece: &ResultPiece,
        accs: &mut [F::Acc; MAX_COLUMNS],
    ) {
        let src = &src[group.base + piece.src..];
        if !self.lanes_reduced {
            if piece.width == MAX_COLUMNS {
                *accs = fold_columns::<F, MAX_COLUMNS, 1>(fold, src, &group.loops, range, MAX_COLUMNS);
                return;
            }
            for at in (0..piece.width).step_by(16) {
                let width = 16.min(piece.width - at);
                let columns = fold_few_columns(fold, &src[at..], &group.loops, range.clone(), width);
                accs[at..at + width].copy_from_slice(&columns[..width]);
            }
            return;
        }
        for at in (0..group.used_lanes).step_by(16) {
            let width = 16.min(self.row_len - at);
            let columns = fold_few_columns(fold, &src[at..], &group.loops, range.clone(), width);
            let merged = merge_lanes(fold, columns, 16.min(group.used_lanes - at));
            accs[0] = fold.merge(accs[0], merged);
        }
    }
}

/// Merges the first `used` lanes pairwise.
#[inline(always)]
fn merge_lanes<F: Fold>(fold: &F, mut lanes: [F::Acc; 16], used: usize) -> F::Acc {
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

/// As [`fold_columns`], for at most 16 columns.
#[inline(always)]
fn fold_few_columns<F: Fold<In = f32, Out = f32>>(
    fold: &F,
    src: &[f32],
    loops: &BlockedLoops,
    range: std::ops::Range<usize>,
    width: usize,
) -> [F::Acc; 16] {
    if width == 8 {
        let mut accs = [fold.identity(); 16];
        accs[..8].copy_from_slice(&fold_columns::<F, 8, INTERLEAVED>(fold, src, loops, range, 8));
        return accs;
    }
    if width == 16 {
        return fold_columns::<F, 16, INTERLEAVED>(fold, src, loops, range, 16);
    }
    fold_columns::<F, 16, 1>(fold, src, loops, range, width)
}

/// Folds `width` contiguous columns, at most `V`, over the elements in `range` of the loops. Each column has `U` accumulators
/// that take elements in turns.
#[inline(always)]
fn fold_columns<F: Fold<In = f32, Out = f32>, const V: usize, const U: usize>(
    fold: &F,
    src: &[f32],
    loops: &BlockedLoops,
    range: std::ops::Range<usize>,
    width: usize,
) -> [F::Acc; V] {
    let mut accs = [[fold.identity(); V]; U];
    let step = loops.src[0];
    let mut index = range.start;
    while index < range.end {
        let (count, mut at, _) = loops.inner_run(index, range.end);
        for _ in 0..count / U {
            for acc in &mut accs {
                step_columns(fold, acc, &src[at..], width);
                at += step;
            }
        }
        for _ in 0..count % U {
            step_columns(fold, &mut accs[0], &src[at..], width);
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

/// Adds one element to the accumulator of each column.
#[inline(always)]
fn step_columns<F: Fold<In = f32>, const V: usize>(
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
