//! Pooling windows folded by way of a scratch row: source columns are first folded along D and H into that row, then each window
//! along W. This serves pixels of few lanes (NCHW, and NHWC of few channels), since vectors run over whole rows, and windows that
//! share many columns.

use std::ops::Range;

use crate::kernels::pool::fold::{WindowFold, finish_all, join_all, load_all};
use crate::kernels::pool::rows::ResultPart;
use crate::kernels::spatial::tile_end;
use crate::simd::{Loop, barrier, dispatch};

/// Elements of the scratch row, which stays in the first-level cache.
const SCRATCH_ELEMENTS: usize = 2048;
/// Lanes that are folded at once if a pixel has many.
const MANY_LANES: usize = 64;

/// Writes one row of the part.
pub(super) fn write_row<F: WindowFold>(part: &mut ResultPart<'_, '_, F>) {
    let all = part.dst.lanes.clone();
    let mut lane = all.start;
    while lane < all.end {
        let rest = all.end - lane;
        let lane_count = if rest < 2 * MANY_LANES { rest } else { MANY_LANES };
        write_lanes(part, lane, lane_count);
        lane += lane_count;
    }
}

/// Writes `lane_count` lanes from `lane` on, fewer than twice `MANY_LANES`, of all columns of a row.
fn write_lanes<F: WindowFold>(part: &mut ResultPart<'_, '_, F>, lane: usize, lane_count: usize) {
    let w = &part.windows.axes[2];
    let columns = part.dst.columns.clone();
    let max_columns = SCRATCH_ELEMENTS / lane_count;
    part.scratch.resize(SCRATCH_ELEMENTS.min(part.src_view.row_len()), F::Acc::default());
    let mut at = columns.start;
    while at < columns.end {
        let (from, to) = w.source_range(at);
        if w.list[at].taps == 0 {
            part.write_empty_window(at, lane, lane_count);
            at += 1;
        } else if to - from > max_columns {
            write_long_window(part, at, lane, lane_count);
            at += 1;
        } else {
            let end = tile_end(at, columns.end, max_columns, |i| w.source_range(i));
            // A window without elements ends the tile.
            let end = if w.has_empty { (at..end).find(|&i| w.list[i].taps == 0).unwrap_or(end) } else { end };
            fold_columns(part, from, w.source_range(end - 1).1, lane, lane_count);
            dispatch(FoldWindows { part: &mut *part, at: at..end, from, lane, lane_count });
            at = end;
        }
    }
}

/// Folds the rows of source columns `from..to` into the scratch row.
fn fold_columns<F: WindowFold>(
    part: &mut ResultPart<'_, '_, F>,
    from: usize,
    to: usize,
    lane: usize,
    lane_count: usize,
) {
    let acc = &mut part.scratch[..(to - from) * lane_count];
    dispatch(FoldColumns::<F> {
        fold: part.fold,
        src: part.src,
        rows: part.source_rows,
        from,
        pixel: part.src_view.lanes,
        lane,
        lane_count,
        acc,
    });
}

/// Writes a window whose columns do not fit into the scratch row, in several passes.
fn write_long_window<F: WindowFold>(
    part: &mut ResultPart<'_, '_, F>,
    at: usize,
    lane: usize,
    lane_count: usize,
) {
    let w = &part.windows.axes[2];
    let span = w.list[at];
    let (max_columns, dilation) = (SCRATCH_ELEMENTS / lane_count, w.dilation);
    let mut acc = [F::Acc::default(); 2 * MANY_LANES];
    let acc = &mut acc[..lane_count];
    let (mut tap, taps) = (0, span.taps as usize);
    while tap < taps {
        let more = ((max_columns - 1) / dilation + 1).min(taps - tap);
        let from = span.start as usize + tap * dilation;
        fold_columns(part, from, from + (more - 1) * dilation + 1, lane, lane_count);
        for i in 0..more {
            let column = &part.scratch[i * dilation * lane_count..][..lane_count];
            for (a, &c) in acc.iter_mut().zip(column) {
                *a = if tap + i == 0 { c } else { F::join(*a, c) };
            }
        }
        tap += more;
    }
    let (fold, count) = (part.fold, part.count * f64::from(span.count));
    let dst = part.dst.elements(part.row, at..at + 1, lane..lane + lane_count);
    for (d, a) in dst.iter_mut().zip(acc) {
        *d = fold.finish(*a, count);
    }
}

/// Folds the rows of a range of source columns into `acc`.
struct FoldColumns<'a, F: WindowFold> {
    fold: F,
    src: &'a [F::Element],
    /// Where the rows begin in `src`.
    rows: &'a [usize],
    /// The first column.
    from: usize,
    /// Lanes of a pixel.
    pixel: usize,
    /// The first lane that is folded, and how many are.
    lane: usize,
    lane_count: usize,
    acc: &'a mut [F::Acc],
}

impl<F: WindowFold> Loop for FoldColumns<'_, F> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        // The lanes of whole pixels are contiguous: one long run of elements.
        let run_len = if self.lane_count == self.pixel { self.acc.len().max(1) } else { self.lane_count };
        for (i, acc) in self.acc.chunks_exact_mut(run_len).enumerate() {
            fold_rows(self.fold, self.src, self.rows, (self.from + i) * self.pixel + self.lane, acc);
        }
    }
}

/// Writes the windows of the output columns `at` from the scratch row.
struct FoldWindows<'r, 'a, 'p, F: WindowFold> {
    part: &'r mut ResultPart<'a, 'p, F>,
    at: Range<usize>,
    /// The source column that the scratch row begins at.
    from: usize,
    lane: usize,
    lane_count: usize,
}

impl<F: WindowFold> Loop for FoldWindows<'_, '_, '_, F> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        self.write_windows();
    }
}

impl<F: WindowFold> FoldWindows<'_, '_, '_, F> {
    /// Writes all of the windows.
    #[inline(always)]
    fn write_windows(&mut self) {
        let (at, from, lane_count) = (self.at.clone(), self.from, self.lane_count);
        let w = &self.part.windows.axes[2];
        let regular = w.regular.start.max(at.start)..w.regular.end.min(at.end);
        let dense = w.dilation == 1 && lane_count == self.part.src_view.lanes;
        let blocks = dense && (lane_count == 16 || lane_count == 8) && regular.len() > 1;
        // The step is 0 where an adaptive pool enlarges its source and several windows begin at one pixel.
        let pixels = lane_count == 1 && (1..=4).contains(&w.regular_step) && regular.len() >= 4;
        let regular = if blocks || pixels { regular } else { at.start..at.start };
        for i in (at.start..regular.start).chain(regular.end..at.end) {
            self.write_window(i);
        }
        if regular.is_empty() {
            return;
        }
        let part = &mut *self.part;
        let (span, step) = (w.list[regular.start], w.regular_step);
        let (fold, count) = (part.fold, part.count * f64::from(span.count));
        let src = &part.scratch[(span.start as usize - from) * lane_count..];
        let dst = part.dst.elements(part.row, regular.clone(), 0..part.src_view.lanes);
        let taps = span.taps as usize;
        match (lane_count, taps, step) {
            (16, 2, _) => regular_blocks::<F, 16, 2>(fold, src, dst, taps, step, count),
            (16, 3, _) => regular_blocks::<F, 16, 3>(fold, src, dst, taps, step, count),
            (16, ..) => regular_blocks::<F, 16, 0>(fold, src, dst, taps, step, count),
            (8, ..) => regular_blocks::<F, 8, 0>(fold, src, dst, taps, step, count),
            (_, _, 1) => regular_pixels::<F, 1>(fold, src, dst, taps, w.dilation, count),
            (_, _, 2) => regular_pixels::<F, 2>(fold, src, dst, taps, w.dilation, count),
            (_, _, 3) => regular_pixels::<F, 3>(fold, src, dst, taps, w.dilation, count),
            _ => regular_pixels::<F, 4>(fold, src, dst, taps, w.dilation, count),
        }
    }

    /// Writes the window of output column `at`.
    #[inline(always)]
    fn write_window(&mut self, at: usize) {
        let (from, lane, lane_count) = (self.from, self.lane, self.lane_count);
        let part = &mut *self.part;
        let w = &part.windows.axes[2];
        let span = w.list[at];
        let step = w.dilation * lane_count;
        let columns = &part.scratch[(span.start as usize - from) * lane_count..];
        let (fold, count) = (part.fold, part.count * f64::from(span.count));
        let dst = part.dst.elements(part.row, at..at + 1, lane..lane + lane_count);
        let taps = span.taps as usize;
        match (lane_count, taps) {
            (16.., 2) => window_of_lanes::<F, 16, 2>(fold, columns, dst, taps, step, count),
            (16.., 3) => window_of_lanes::<F, 16, 3>(fold, columns, dst, taps, step, count),
            (16.., _) => window_of_lanes::<F, 16, 0>(fold, columns, dst, taps, step, count),
            (8.., _) => window_of_lanes::<F, 8, 0>(fold, columns, dst, taps, step, count),
            _ => window_of_lanes::<F, 1, 0>(fold, columns, dst, taps, step, count),
        }
    }
}

/// Writes windows of `taps` adjacent pixels of `L` lanes, each `step` pixels after the one before. `K` is `taps`, or 0 for any
/// number of taps.
#[inline(always)]
fn regular_blocks<F: WindowFold, const L: usize, const K: usize>(
    fold: F,
    src: &[F::Acc],
    dst: &mut [F::Element],
    taps: usize,
    step: usize,
    count: f64,
) {
    let taps = if K == 0 { taps } else { K };
    let src = src.as_chunks::<L>().0;
    for (i, dst) in dst.as_chunks_mut::<L>().0.iter_mut().enumerate() {
        barrier();
        let pixels = &src[i * step..i * step + taps];
        let mut acc = pixels[0];
        for pixel in &pixels[1..] {
            join_all::<F, L>(&mut acc, pixel);
        }
        finish_all::<F, L>(fold, dst, &acc, count);
    }
}

/// Writes at least four windows of `taps` pixels of one lane, `dilation` apart. Each window begins `S` pixels after the one
/// before.
#[inline(always)]
fn regular_pixels<F: WindowFold, const S: usize>(
    fold: F,
    src: &[F::Acc],
    dst: &mut [F::Element],
    taps: usize,
    dilation: usize,
    count: f64,
) {
    match dst.len() {
        16.. => regular_pixel_vectors::<F, S, 16>(fold, src, dst, taps, dilation, count),
        8.. => regular_pixel_vectors::<F, S, 8>(fold, src, dst, taps, dilation, count),
        _ => regular_pixel_vectors::<F, S, 4>(fold, src, dst, taps, dilation, count),
    }
}

/// As [`regular_pixels`], `L` windows at a time.
#[inline(always)]
fn regular_pixel_vectors<F: WindowFold, const S: usize, const L: usize>(
    fold: F,
    src: &[F::Acc],
    dst: &mut [F::Element],
    taps: usize,
    dilation: usize,
    count: f64,
) {
    let n = dst.len();
    let mut at = 0;
    loop {
        let mut acc = [F::Acc::default(); L];
        for k in 0..taps {
            barrier();
            let pixels = &src[at * S + k * dilation..][..(L - 1) * S + 1];
            let mut tap = [F::Acc::default(); L];
            for l in 0..L {
                tap[l] = pixels[l * S];
            }
            if k == 0 { acc = tap } else { join_all::<F, L>(&mut acc, &tap) }
        }
        finish_all::<F, L>(fold, vector_mut(dst, at), &acc, count);
        match next_vector::<L>(at, n) {
            Some(next) => at = next,
            None => return,
        }
    }
}

/// Writes one window of `taps` pixels of at least `L` lanes; the pixels begin `step` elements apart. `K` is `taps`, or 0 for any
/// number of taps.
#[inline(always)]
fn window_of_lanes<F: WindowFold, const L: usize, const K: usize>(
    fold: F,
    src: &[F::Acc],
    dst: &mut [F::Element],
    taps: usize,
    step: usize,
    count: f64,
) {
    let taps = if K == 0 { taps } else { K };
    let n = dst.len();
    let mut at = 0;
    loop {
        barrier();
        let mut acc = *vector::<F, L>(src, at);
        for k in 1..taps {
            barrier();
            join_all::<F, L>(&mut acc, vector::<F, L>(src, k * step + at));
        }
        finish_all::<F, L>(fold, vector_mut(dst, at), &acc, count);
        match next_vector::<L>(at, n) {
            Some(next) => at = next,
            None => return,
        }
    }
}

/// The start of the vector after the one at `at`, if there is one. The last vector of `n` elements may overlap the one before; it
/// writes the same results again.
#[inline(always)]
fn next_vector<const L: usize>(at: usize, n: usize) -> Option<usize> {
    if at + L == n { None } else { Some((at + L).min(n - L)) }
}

/// Folds `acc.len()` elements from `at` on of every row into `acc`.
#[inline(always)]
fn fold_rows<F: WindowFold>(fold: F, src: &[F::Element], rows: &[usize], at: usize, acc: &mut [F::Acc]) {
    let n = acc.len();
    let row = |i: usize| &src[rows[i] + at..][..n];
    // The first group leaves a multiple of four rows.
    let mut done = match (rows.len() - 1) % 4 {
        0 => fold_row_group::<F, 1, true>(fold, [row(0)], acc),
        1 => fold_row_group::<F, 2, true>(fold, [row(0), row(1)], acc),
        2 => fold_row_group::<F, 3, true>(fold, [row(0), row(1), row(2)], acc),
        _ => fold_row_group::<F, 4, true>(fold, [row(0), row(1), row(2), row(3)], acc),
    };
    while done < rows.len() {
        done += fold_row_group::<F, 4, false>(
            fold,
            [row(done), row(done + 1), row(done + 2), row(done + 3)],
            acc,
        );
    }
}

/// Folds `R` rows into `acc`, which the `FIRST` group initialises. Returns `R`.
#[inline(always)]
fn fold_row_group<F: WindowFold, const R: usize, const FIRST: bool>(
    fold: F,
    rows: [&[F::Element]; R],
    acc: &mut [F::Acc],
) -> usize {
    let (rows, acc) = fold_row_vectors::<F, R, 16, FIRST>(fold, rows, acc);
    let (rows, acc) = fold_row_vectors::<F, R, 4, FIRST>(fold, rows, acc);
    fold_row_vectors::<F, R, 1, FIRST>(fold, rows, acc);
    R
}

/// Folds the elements of all whole vectors of `L`. Returns what is left of the rows and of `acc`.
#[inline(always)]
fn fold_row_vectors<'r, 'a, F: WindowFold, const R: usize, const L: usize, const FIRST: bool>(
    fold: F,
    rows: [&'r [F::Element]; R],
    acc: &'a mut [F::Acc],
) -> ([&'r [F::Element]; R], &'a mut [F::Acc]) {
    let (whole, rest) = acc.as_chunks_mut::<L>();
    let n = whole.len();
    let vectors = rows.map(|r| &r.as_chunks::<L>().0[..n]);
    for (i, acc) in whole.iter_mut().enumerate() {
        barrier();
        let mut a = if FIRST { load_all::<F, L>(fold, &vectors[0][i]) } else { *acc };
        for row in &vectors[usize::from(FIRST)..] {
            join_all::<F, L>(&mut a, &load_all::<F, L>(fold, &row[i]));
        }
        *acc = a;
    }
    (rows.map(|r| &r[n * L..]), rest)
}

#[inline(always)]
fn vector<F: WindowFold, const L: usize>(src: &[F::Acc], at: usize) -> &[F::Acc; L] {
    src[at..].first_chunk().expect("a vector's elements")
}

#[inline(always)]
fn vector_mut<E, const L: usize>(dst: &mut [E], at: usize) -> &mut [E; L] {
    dst[at..].first_chunk_mut().expect("a vector's elements")
}
