//! Windows straight from the source, for pixels of eight lanes and more. Windows that move by less than their width
//! keep the folded columns that the next one has as well.

use std::ops::Range;

use super::fold::{Fold, barrier, finish_all, join_all, load_all};
use super::geometry::{Spans, Windows};
use super::kernel::PartLoop;
use crate::ops::lanes::{Vectors, VectorsMut};

/// The most rows of a window that are read side by side.
pub(super) const MAX_ROWS: usize = 16;

/// Whether this is the better way: few columns are read twice. `width` is that of the source.
pub(super) fn suits(windows: &Windows, width: usize) -> bool {
    let w = &windows.axes[2];
    let taps: usize = w.list.iter().map(|s| s.taps as usize).sum();
    let keeps = matches!((w.run_taps(), w.step), (3, 1) | (3, 2) | (5, 1))
        && w.dilation == 1
        && 2 * w.run.len() > w.list.len();
    !w.has_empty && (2 * taps <= 3 * width || keeps)
}

impl<F: Fold> PartLoop<'_, '_, F> {
    /// One row of the part.
    #[inline(always)]
    pub(super) fn direct(&mut self) {
        if self.part.lanes.len() >= 16 { self.direct_row::<16>() } else { self.direct_row::<8>() }
    }

    #[inline(always)]
    fn direct_row<const L: usize>(&mut self) {
        let (all, columns) = (self.part.lanes.clone(), self.part.columns.clone());
        let (pixel, width) = (self.from.lanes, self.from.spatial[2]);
        let mut lane = all.start;
        loop {
            let mut rows = [Vectors::<L>::default(); MAX_ROWS];
            for (place, &start) in rows.iter_mut().zip(self.rows.iter()) {
                *place = Vectors::new(self.src, start + lane, pixel, width);
            }
            let rows = &rows[..self.rows.len()];
            let dst = self.part.vectors::<L>(self.row, lane);
            row::<F, L>(&self.windows.axes[2], rows, columns.clone(), dst, self.count);
            if lane + L == all.end {
                return;
            }
            // The last lanes overlap those before, with the same results.
            lane = (lane + L).min(all.end - L);
        }
    }
}

/// The windows of one row of the result, `L` lanes of it. `count` is what D and H contribute.
#[inline(always)]
fn row<F: Fold, const L: usize>(
    w: &Spans,
    rows: &[Vectors<'_, L>],
    columns: Range<usize>,
    mut dst: VectorsMut<'_, L>,
    count: f64,
) {
    let run = w.run.start.max(columns.start)..w.run.end.min(columns.end);
    let shape = (w.run_taps(), w.step, rows.len());
    if w.dilation != 1 || run.len() < 2 || !matches!(shape, (2, 2, 2) | (3, 1 | 2, 2 | 3) | (5, 1, 3..=5)) {
        columns.for_each(|i| one::<F, L>(w, rows, i, &mut dst, count));
        return;
    }
    for i in columns.start..run.start {
        one::<F, L>(w, rows, i, &mut dst, count);
    }
    let first = w.list[run.start];
    let (at, even_count) = (first.start as usize, count * f64::from(first.count));
    let end = run.end;
    let even_dst = dst.reborrow();
    match shape {
        (2, 2, _) => even::<F, L, 2, 2, 2>(rows, at, run, even_dst, even_count),
        (3, 2, 3) => even::<F, L, 3, 3, 2>(rows, at, run, even_dst, even_count),
        (3, 2, _) => even::<F, L, 2, 3, 2>(rows, at, run, even_dst, even_count),
        (3, 1, 3) => even::<F, L, 3, 3, 1>(rows, at, run, even_dst, even_count),
        (3, 1, _) => even::<F, L, 2, 3, 1>(rows, at, run, even_dst, even_count),
        (5, 1, 5) => even::<F, L, 5, 5, 1>(rows, at, run, even_dst, even_count),
        (5, 1, 4) => even::<F, L, 4, 5, 1>(rows, at, run, even_dst, even_count),
        _ => even::<F, L, 3, 5, 1>(rows, at, run, even_dst, even_count),
    }
    for i in end..columns.end {
        one::<F, L>(w, rows, i, &mut dst, count);
    }
}

/// Windows of `K` columns, each `S` after the other, over `R` rows, from source column `at` on.
#[inline(always)]
fn even<F: Fold, const L: usize, const R: usize, const K: usize, const S: usize>(
    rows: &[Vectors<'_, L>],
    mut at: usize,
    run: Range<usize>,
    mut dst: VectorsMut<'_, L>,
    count: f64,
) {
    // Of a known number, so that they stay in registers.
    let mut some = [Vectors::default(); R];
    some.copy_from_slice(&rows[..R]);
    let rows = &some;
    // Column `k` of a window is column `k - S` of the next.
    let mut columns = [[F::Acc::default(); L]; K];
    for k in S..K {
        columns[k] = column::<F, L>(rows, at + k - S);
    }
    for i in run {
        barrier();
        for k in S..K {
            columns[k - S] = columns[k];
        }
        for k in K - S..K {
            columns[k] = column::<F, L>(rows, at + k);
        }
        let mut acc = columns[0];
        for column in &columns[1..] {
            join_all::<F, L>(&mut acc, column);
        }
        finish_all::<F, L>(dst.get_mut(i), &acc, count);
        at += S;
    }
}

/// Any window.
#[inline(always)]
fn one<F: Fold, const L: usize>(
    w: &Spans,
    rows: &[Vectors<'_, L>],
    at: usize,
    dst: &mut VectorsMut<'_, L>,
    count: f64,
) {
    let span = w.list[at];
    let start = span.start as usize;
    let mut acc = column::<F, L>(rows, start);
    for k in 1..span.taps as usize {
        barrier();
        join_all::<F, L>(&mut acc, &column::<F, L>(rows, start + k * w.dilation));
    }
    finish_all::<F, L>(dst.get_mut(at), &acc, count * f64::from(span.count));
}

/// Source column `at` of all rows, folded.
#[inline(always)]
fn column<F: Fold, const L: usize>(rows: &[Vectors<'_, L>], at: usize) -> [F::Acc; L] {
    let mut acc = load_all::<F, L>(rows[0].get(at));
    for row in &rows[1..] {
        join_all::<F, L>(&mut acc, &load_all::<F, L>(row.get(at)));
    }
    acc
}
