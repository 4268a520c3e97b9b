//! Windows straight from the source, for pixels of eight lanes and more. Windows that move by less than their width
//! keep the folded columns that the next one has as well.

use std::ops::Range;

use crate::kernels::lanes::RowVectors;
use crate::kernels::pool::fold::{Fold, finish_all, join_all, load_all};
use crate::kernels::pool::geometry::Windows;
use crate::kernels::pool::kernel::PoolPart;
use crate::simd::{Loop, barrier, dispatch};

/// The most rows of a window that are read side by side.
pub(crate) const MAX_ROWS: usize = 8;

/// Whether this is the better way: few columns are read twice. `width` is that of the source.
pub(crate) fn suits(windows: &Windows, width: usize) -> bool {
    let w = &windows.axes[2];
    let taps: usize = w.list.iter().map(|s| s.taps as usize).sum();
    let keeps = matches!((w.run_taps(), w.step), (3, 1) | (3, 2) | (5, 1))
        && w.dilation == 1
        && 2 * w.run.len() > w.list.len();
    !w.has_empty && (2 * taps <= 3 * width || keeps)
}

/// One row of the part.
pub(crate) fn row<F: Fold>(part: &mut PoolPart<'_, '_, F>) {
    if part.part.lanes.len() >= 16 { row_of_lanes::<F, 16>(part) } else { row_of_lanes::<F, 8>(part) }
}

fn row_of_lanes<F: Fold, const L: usize>(part: &mut PoolPart<'_, '_, F>) {
    match part.rows.len() {
        1 => dispatch(DirectRow::<F, L, 1>(part)),
        2 => dispatch(DirectRow::<F, L, 2>(part)),
        3 => dispatch(DirectRow::<F, L, 3>(part)),
        4 => dispatch(DirectRow::<F, L, 4>(part)),
        5 => dispatch(DirectRow::<F, L, 5>(part)),
        6 => dispatch(DirectRow::<F, L, 6>(part)),
        7 => dispatch(DirectRow::<F, L, 7>(part)),
        _ => dispatch(DirectRow::<F, L, MAX_ROWS>(part)),
    }
}

/// One row of the part in vectors of `L` lanes, of windows over `R` rows.
struct DirectRow<'r, 'a, 'p, F: Fold, const L: usize, const R: usize>(&'r mut PoolPart<'a, 'p, F>);

impl<F: Fold, const L: usize, const R: usize> Loop for DirectRow<'_, '_, '_, F, L, R> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let all = self.0.part.lanes.clone();
        let mut lane = all.start;
        loop {
            self.0.direct_rows::<L, R>(lane);
            if lane + L == all.end {
                return;
            }
            // The last lanes overlap those before, with the same results.
            lane = (lane + L).min(all.end - L);
        }
    }
}

impl<F: Fold> PoolPart<'_, '_, F> {
    #[inline(always)]
    fn direct_rows<const L: usize, const R: usize>(&mut self, lane: usize) {
        let w = &self.windows.axes[2];
        let (pixel, width) = (self.from.lanes, self.from.spatial[2]);
        let src = RowVectors::<L, R>::new(self.src, self.rows, lane, pixel, width);
        let columns = self.part.columns.clone();
        let mut run = w.run.start.max(columns.start)..w.run.end.min(columns.end);
        match (w.run_taps(), w.step) {
            _ if w.dilation != 1 || run.len() < 2 => run = columns.start..columns.start,
            (2, 2) if R == 2 => self.even::<L, R, 2, 2>(src, run.clone(), lane),
            (3, 2) if R == 2 || R == 3 => self.even::<L, R, 3, 2>(src, run.clone(), lane),
            (3, 1) if R == 2 || R == 3 => self.even::<L, R, 3, 1>(src, run.clone(), lane),
            (5, 1) if 3 <= R && R <= 5 => self.even::<L, R, 5, 1>(src, run.clone(), lane),
            _ => run = columns.start..columns.start,
        }
        for rest in [columns.start..run.start, run.end..columns.end] {
            self.any(src, rest, lane);
        }
    }

    /// Windows of `K` columns, each `S` after the other, over `R` rows.
    #[inline(always)]
    fn even<const L: usize, const R: usize, const K: usize, const S: usize>(
        &mut self,
        src: RowVectors<'_, L, R>,
        run: Range<usize>,
        lane: usize,
    ) {
        let span = self.windows.axes[2].list[run.start];
        let count = self.count * f64::from(span.count);
        let mut at = span.start as usize;
        // Column `k` of a window is column `k - S` of the next.
        let mut columns = [[F::Acc::default(); L]; K];
        for k in S..K {
            columns[k] = column::<F, L, R>(src.get(at + k - S));
        }
        for dst in self.part.vectors::<L>(self.row, run, lane) {
            barrier();
            for k in S..K {
                columns[k - S] = columns[k];
            }
            for k in K - S..K {
                columns[k] = column::<F, L, R>(src.get(at + k));
            }
            let mut acc = columns[0];
            for column in &columns[1..] {
                join_all::<F, L>(&mut acc, column);
            }
            finish_all::<F, L>(dst, &acc, count);
            at += S;
        }
    }

    /// Windows of any kind.
    #[inline(always)]
    fn any<const L: usize, const R: usize>(
        &mut self,
        src: RowVectors<'_, L, R>,
        columns: Range<usize>,
        lane: usize,
    ) {
        let w = &self.windows.axes[2];
        let spans = &w.list[columns.clone()];
        for (dst, span) in self.part.vectors::<L>(self.row, columns, lane).zip(spans) {
            let start = span.start as usize;
            let mut acc = column::<F, L, R>(src.get(start));
            for k in 1..span.taps as usize {
                barrier();
                join_all::<F, L>(&mut acc, &column::<F, L, R>(src.get(start + k * w.dilation)));
            }
            finish_all::<F, L>(dst, &acc, self.count * f64::from(span.count));
        }
    }
}

/// The vectors of one column, folded.
#[inline(always)]
fn column<F: Fold, const L: usize, const R: usize>(rows: [&[f32; L]; R]) -> [F::Acc; L] {
    let mut acc = load_all::<F, L>(rows[0]);
    for row in &rows[1..] {
        join_all::<F, L>(&mut acc, &load_all::<F, L>(row));
    }
    acc
}
