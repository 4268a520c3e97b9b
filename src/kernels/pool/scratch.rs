//! Windows by way of a row of source columns, each folded along D and H: for pixels of few lanes, since vectors run
//! over whole rows, and for windows that share many columns.

use std::ops::Range;

use crate::kernels::pool::fold::{Fold, finish_all, join_all, load_all};
use crate::kernels::pool::kernel::PoolPart;
use crate::kernels::spatial::tile_end;
use crate::simd::{Loop, barrier, dispatch};

/// Elements of the row of folded columns, which stays in the first-level cache.
const SCRATCH: usize = 2048;
/// Lanes that are folded at once where there are many.
pub(crate) const MANY_LANES: usize = 64;

impl<F: Fold> PoolPart<'_, '_, F> {
    /// All columns of a row, `wide` lanes from `lane` on: fewer than twice `MANY_LANES`.
    pub(crate) fn folded(&mut self, lane: usize, wide: usize) {
        let w = &self.windows.axes[2];
        let columns = self.part.columns.clone();
        let room = SCRATCH / wide;
        self.scratch.resize(SCRATCH.min(self.from.row_len()), F::Acc::default());
        let mut at = columns.start;
        while at < columns.end {
            let (from, to) = w.reach(at);
            if w.list[at].taps == 0 {
                self.empty(at, lane, wide);
                at += 1;
            } else if to - from > room {
                self.long(at, lane, wide);
                at += 1;
            } else {
                let end = tile_end(at, columns.end, room, |i| w.reach(i));
                // A window without elements ends the tile.
                let end =
                    if w.has_empty { (at..end).find(|&i| w.list[i].taps == 0).unwrap_or(end) } else { end };
                self.columns(from, w.reach(end - 1).1, lane, wide);
                dispatch(FoldWindows { part: &mut *self, at: at..end, from, lane, wide });
                at = end;
            }
        }
    }

    /// Folds the rows of source columns `from..to` into the scratch row.
    fn columns(&mut self, from: usize, to: usize, lane: usize, wide: usize) {
        let acc = &mut self.scratch[..(to - from) * wide];
        dispatch(FoldColumns::<F> {
            src: self.src,
            rows: self.rows,
            from,
            pixel: self.from.lanes,
            lane,
            wide,
            acc,
        });
    }

    /// A window that does not fit into the scratch row.
    fn long(&mut self, at: usize, lane: usize, wide: usize) {
        let w = &self.windows.axes[2];
        let span = w.list[at];
        let (room, dilation) = (SCRATCH / wide, w.dilation);
        let mut acc = [F::Acc::default(); 2 * MANY_LANES];
        let acc = &mut acc[..wide];
        let (mut tap, taps) = (0, span.taps as usize);
        while tap < taps {
            let more = ((room - 1) / dilation + 1).min(taps - tap);
            let from = span.start as usize + tap * dilation;
            self.columns(from, from + (more - 1) * dilation + 1, lane, wide);
            for i in 0..more {
                let column = &self.scratch[i * dilation * wide..][..wide];
                for (a, &c) in acc.iter_mut().zip(column) {
                    *a = if tap + i == 0 { c } else { F::join(*a, c) };
                }
            }
            tap += more;
        }
        let count = self.count * f64::from(span.count);
        let dst = self.part.elements(self.row, at..at + 1, lane..lane + wide);
        for (d, a) in dst.iter_mut().zip(acc) {
            *d = F::finish(*a, count);
        }
    }

    /// Folds the columns of the scratch row, which begins at source column `from`.
    #[inline(always)]
    fn windows(&mut self, at: Range<usize>, from: usize, lane: usize, wide: usize) {
        let w = &self.windows.axes[2];
        let run = w.run.start.max(at.start)..w.run.end.min(at.end);
        let dense = w.dilation == 1 && wide == self.from.lanes;
        let blocks = dense && (wide == 16 || wide == 8) && (run.len() > 1);
        // Windows of an adaptive pool that enlarges may all begin at one pixel: step 0.
        let pixels = wide == 1 && (1..=4).contains(&w.step) && run.len() >= 4;
        let run = if blocks || pixels { run } else { at.start..at.start };
        for i in (at.start..run.start).chain(run.end..at.end) {
            self.window(i, from, lane, wide);
        }
        if run.is_empty() {
            return;
        }
        let (span, step) = (w.list[run.start], w.step);
        let count = self.count * f64::from(span.count);
        let src = &self.scratch[(span.start as usize - from) * wide..];
        let dst = self.part.elements(self.row, run.clone(), 0..self.from.lanes);
        let taps = span.taps as usize;
        match (wide, taps, step) {
            (16, 2, _) => even_blocks::<F, 16, 2>(src, dst, taps, step, count),
            (16, 3, _) => even_blocks::<F, 16, 3>(src, dst, taps, step, count),
            (16, ..) => even_blocks::<F, 16, 0>(src, dst, taps, step, count),
            (8, ..) => even_blocks::<F, 8, 0>(src, dst, taps, step, count),
            (_, _, 1) => even_pixels::<F, 1>(src, dst, taps, w.dilation, count),
            (_, _, 2) => even_pixels::<F, 2>(src, dst, taps, w.dilation, count),
            (_, _, 3) => even_pixels::<F, 3>(src, dst, taps, w.dilation, count),
            _ => even_pixels::<F, 4>(src, dst, taps, w.dilation, count),
        }
    }

    /// Folds the columns of one window.
    #[inline(always)]
    fn window(&mut self, at: usize, from: usize, lane: usize, wide: usize) {
        let w = &self.windows.axes[2];
        let span = w.list[at];
        let step = w.dilation * wide;
        let columns = &self.scratch[(span.start as usize - from) * wide..];
        let count = self.count * f64::from(span.count);
        let dst = self.part.elements(self.row, at..at + 1, lane..lane + wide);
        let taps = span.taps as usize;
        match (wide, taps) {
            (16.., 2) => one_window::<F, 16, 2>(columns, dst, taps, step, count),
            (16.., 3) => one_window::<F, 16, 3>(columns, dst, taps, step, count),
            (16.., _) => one_window::<F, 16, 0>(columns, dst, taps, step, count),
            (8.., _) => one_window::<F, 8, 0>(columns, dst, taps, step, count),
            _ => one_window::<F, 1, 0>(columns, dst, taps, step, count),
        }
    }
}

/// Folds the rows of a range of source columns.
struct FoldColumns<'a, F: Fold> {
    src: &'a [f32],
    /// Where the rows begin in `src`.
    rows: &'a [usize],
    /// The first column.
    from: usize,
    /// Lanes of a pixel, and those of them that are folded.
    pixel: usize,
    lane: usize,
    wide: usize,
    acc: &'a mut [F::Acc],
}

impl<F: Fold> Loop for FoldColumns<'_, F> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        // Whole pixels lie side by side, and are one long run.
        let run = if self.wide == self.pixel { self.acc.len().max(1) } else { self.wide };
        for (i, acc) in self.acc.chunks_exact_mut(run).enumerate() {
            fold_rows::<F>(self.src, self.rows, (self.from + i) * self.pixel + self.lane, acc);
        }
    }
}

/// Folds the windows `at` from the scratch row.
struct FoldWindows<'r, 'a, 'p, F: Fold> {
    part: &'r mut PoolPart<'a, 'p, F>,
    at: Range<usize>,
    /// The source column that the scratch row begins at.
    from: usize,
    lane: usize,
    wide: usize,
}

impl<F: Fold> Loop for FoldWindows<'_, '_, '_, F> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        self.part.windows(self.at, self.from, self.lane, self.wide);
    }
}

/// Windows of `taps` pixels of `L` lanes, side by side, each `step` pixels after the other. `K` is `taps`, or 0.
#[inline(always)]
fn even_blocks<F: Fold, const L: usize, const K: usize>(
    src: &[F::Acc],
    dst: &mut [f32],
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
        finish_all::<F, L>(dst, &acc, count);
    }
}

/// Windows of `taps` pixels of one lane, `dilation` apart, each `S` pixels after the other; four at least.
#[inline(always)]
fn even_pixels<F: Fold, const S: usize>(
    src: &[F::Acc],
    dst: &mut [f32],
    taps: usize,
    dilation: usize,
    count: f64,
) {
    match dst.len() {
        16.. => even_vectors::<F, S, 16>(src, dst, taps, dilation, count),
        8.. => even_vectors::<F, S, 8>(src, dst, taps, dilation, count),
        _ => even_vectors::<F, S, 4>(src, dst, taps, dilation, count),
    }
}

#[inline(always)]
fn even_vectors<F: Fold, const S: usize, const L: usize>(
    src: &[F::Acc],
    dst: &mut [f32],
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
        finish_all::<F, L>(vector_mut(dst, at), &acc, count);
        match next_vector::<L>(at, n) {
            Some(next) => at = next,
            None => return,
        }
    }
}

/// One window of `taps` pixels of at least `L` lanes, which begin `step` elements apart. `K` is `taps`, or 0.
#[inline(always)]
fn one_window<F: Fold, const L: usize, const K: usize>(
    src: &[F::Acc],
    dst: &mut [f32],
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
        finish_all::<F, L>(vector_mut(dst, at), &acc, count);
        match next_vector::<L>(at, n) {
            Some(next) => at = next,
            None => return,
        }
    }
}

/// Where the vector after the one at `at` begins; the last one of `n` elements may overlap that before it, with the
/// same results again.
#[inline(always)]
fn next_vector<const L: usize>(at: usize, n: usize) -> Option<usize> {
    if at + L == n { None } else { Some((at + L).min(n - L)) }
}

/// Folds `acc.len()` elements from `at` on of every row into `acc`.
#[inline(always)]
fn fold_rows<F: Fold>(src: &[f32], rows: &[usize], at: usize, acc: &mut [F::Acc]) {
    let n = acc.len();
    let row = |i: usize| &src[rows[i] + at..][..n];
    // The first rows leave a multiple of four.
    let mut done = match (rows.len() - 1) % 4 {
        0 => some_rows::<F, 1, true>([row(0)], acc),
        1 => some_rows::<F, 2, true>([row(0), row(1)], acc),
        2 => some_rows::<F, 3, true>([row(0), row(1), row(2)], acc),
        _ => some_rows::<F, 4, true>([row(0), row(1), row(2), row(3)], acc),
    };
    while done < rows.len() {
        done += some_rows::<F, 4, false>([row(done), row(done + 1), row(done + 2), row(done + 3)], acc);
    }
}

/// Folds `R` rows into `acc`, which `FIRST` sets; gives `R`.
#[inline(always)]
fn some_rows<F: Fold, const R: usize, const FIRST: bool>(rows: [&[f32]; R], acc: &mut [F::Acc]) -> usize {
    let (rows, acc) = row_vectors::<F, R, 16, FIRST>(rows, acc);
    let (rows, acc) = row_vectors::<F, R, 4, FIRST>(rows, acc);
    row_vectors::<F, R, 1, FIRST>(rows, acc);
    R
}

/// Folds as many elements as there are whole vectors of `L`; gives the rest.
#[inline(always)]
fn row_vectors<'r, 'a, F: Fold, const R: usize, const L: usize, const FIRST: bool>(
    rows: [&'r [f32]; R],
    acc: &'a mut [F::Acc],
) -> ([&'r [f32]; R], &'a mut [F::Acc]) {
    let (whole, rest) = acc.as_chunks_mut::<L>();
    let n = whole.len();
    let vectors = rows.map(|r| &r.as_chunks::<L>().0[..n]);
    for (i, acc) in whole.iter_mut().enumerate() {
        barrier();
        let mut a = if FIRST { load_all::<F, L>(&vectors[0][i]) } else { *acc };
        for row in &vectors[usize::from(FIRST)..] {
            join_all::<F, L>(&mut a, &load_all::<F, L>(&row[i]));
        }
        *acc = a;
    }
    (rows.map(|r| &r[n * L..]), rest)
}

#[inline(always)]
fn vector<F: Fold, const L: usize>(src: &[F::Acc], at: usize) -> &[F::Acc; L] {
    src[at..].first_chunk().expect("a vector's elements")
}

#[inline(always)]
fn vector_mut<const L: usize>(dst: &mut [f32], at: usize) -> &mut [f32; L] {
    dst[at..].first_chunk_mut().expect("a vector's elements")
}
