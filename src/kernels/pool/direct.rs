//! Pooling windows folded directly from the source, for pixels of eight lanes and more: blocked layouts, and NHWC (channels-last)
//! of 8 channels and more. If neighbouring windows overlap, the folded columns that they share are kept.

use std::ops::Range;

use crate::kernels::lanes::RowVectors;
use crate::kernels::pool::fold::{WindowFold, finish_all, join_all, load_all};
use crate::kernels::pool::geometry::Windows;
use crate::kernels::pool::rows::ResultPart;
use crate::simd::{Loop, Wide, barrier};

/// The largest number of rows of a window that are read side by side.
pub(crate) const MAX_ROWS: usize = 8;

/// Whether folding directly is faster than folding by way of the scratch row: few columns are read twice, or shared columns are
/// kept. `width` is the width of the source.
pub(crate) fn is_faster(windows: &Windows, width: usize) -> bool {
    let w = &windows.axes[2];
    let taps: usize = w.list.iter().map(|s| s.taps as usize).sum();
    let keeps_columns = matches!((w.regular_taps(), w.regular_step), (3, 1) | (3, 2) | (5, 1))
        && w.dilation == 1
        && 2 * w.regular.len() > w.list.len();
    !w.has_empty && (2 * taps <= 3 * width || keeps_columns)
}

/// Writes one row of the part.
pub(super) fn write_row<F: WindowFold>(part: &mut ResultPart<'_, '_, F>, wide: Wide) {
    if part.dst.lanes.len() >= 16 {
        write_row_in_vectors::<F, 16>(part, wide)
    } else {
        write_row_in_vectors::<F, 8>(part, wide)
    }
}

fn write_row_in_vectors<F: WindowFold, const L: usize>(part: &mut ResultPart<'_, '_, F>, wide: Wide) {
    match part.source_rows.len() {
        1 => wide.run(DirectRow::<F, L, 1>(part)),
        2 => wide.run(DirectRow::<F, L, 2>(part)),
        3 => wide.run(DirectRow::<F, L, 3>(part)),
        4 => wide.run(DirectRow::<F, L, 4>(part)),
        5 => wide.run(DirectRow::<F, L, 5>(part)),
        6 => wide.run(DirectRow::<F, L, 6>(part)),
        7 => wide.run(DirectRow::<F, L, 7>(part)),
        _ => wide.run(DirectRow::<F, L, MAX_ROWS>(part)),
    }
}

/// Writes one row of the part in vectors of `L` lanes. The windows have `R` rows.
struct DirectRow<'r, 'a, 'p, F: WindowFold, const L: usize, const R: usize>(&'r mut ResultPart<'a, 'p, F>);

impl<F: WindowFold, const L: usize, const R: usize> Loop for DirectRow<'_, '_, '_, F, L, R> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        let all = self.0.dst.lanes.clone();
        let mut lane = all.start;
        loop {
            self.write_lanes(lane);
            if lane + L == all.end {
                return;
            }
            // The last vector may overlap the one before; it writes the same results again.
            lane = (lane + L).min(all.end - L);
        }
    }
}

impl<F: WindowFold, const L: usize, const R: usize> DirectRow<'_, '_, '_, F, L, R> {
    /// Writes the `L` lanes from `lane` on, of all columns.
    #[inline(always)]
    fn write_lanes(&mut self, lane: usize) {
        let part = &*self.0;
        let w = &part.windows.axes[2];
        let (pixel, width) = (part.src_view.lanes, part.src_view.spatial[2]);
        let src = RowVectors::<F::Element, L, R>::new(part.src, part.source_rows, lane, pixel, width);
        let columns = part.dst.columns.clone();
        let mut regular = w.regular.start.max(columns.start)..w.regular.end.min(columns.end);
        match (w.regular_taps(), w.regular_step) {
            _ if w.dilation != 1 || regular.len() < 2 => regular = columns.start..columns.start,
            (2, 2) if R == 2 => self.write_regular::<2, 2>(src, regular.clone(), lane),
            (3, 2) if R == 2 || R == 3 => self.write_regular::<3, 2>(src, regular.clone(), lane),
            (3, 1) if R == 2 || R == 3 => self.write_regular::<3, 1>(src, regular.clone(), lane),
            (5, 1) if 3 <= R && R <= 5 => self.write_regular::<5, 1>(src, regular.clone(), lane),
            _ => regular = columns.start..columns.start,
        }
        for rest in [columns.start..regular.start, regular.end..columns.end] {
            self.write_irregular(src, rest, lane);
        }
    }

    /// Writes windows of `K` columns and `R` rows, each `S` columns after the one before.
    #[inline(always)]
    fn write_regular<const K: usize, const S: usize>(
        &mut self,
        src: RowVectors<'_, F::Element, L, R>,
        columns: Range<usize>,
        lane: usize,
    ) {
        let part = &mut *self.0;
        let fold = part.fold;
        let span = part.windows.axes[2].list[columns.start];
        let count = part.count * f64::from(span.count);
        let mut source_column = span.start as usize;
        // The folded columns of a window. Column `k` of a window is column `k - S` of the next.
        let mut folded = [[F::Acc::default(); L]; K];
        for k in S..K {
            folded[k] = fold_column::<F, L, R>(fold, src.get(source_column + k - S));
        }
        for dst in part.dst.vectors::<L>(part.row, columns, lane) {
            barrier();
            for k in S..K {
                folded[k - S] = folded[k];
            }
            for k in K - S..K {
                folded[k] = fold_column::<F, L, R>(fold, src.get(source_column + k));
            }
            let mut acc = folded[0];
            for column in &folded[1..] {
                join_all::<F, L>(&mut acc, column);
            }
            finish_all::<F, L>(fold, dst, &acc, count);
            source_column += S;
        }
    }

    /// Writes windows of any size, at any columns.
    #[inline(always)]
    fn write_irregular(&mut self, src: RowVectors<'_, F::Element, L, R>, columns: Range<usize>, lane: usize) {
        let part = &mut *self.0;
        let fold = part.fold;
        let w = &part.windows.axes[2];
        let spans = &w.list[columns.clone()];
        for (dst, span) in part.dst.vectors::<L>(part.row, columns, lane).zip(spans) {
            let start = span.start as usize;
            let mut acc = fold_column::<F, L, R>(fold, src.get(start));
            for k in 1..span.taps as usize {
                barrier();
                join_all::<F, L>(&mut acc, &fold_column::<F, L, R>(fold, src.get(start + k * w.dilation)));
            }
            finish_all::<F, L>(fold, dst, &acc, part.count * f64::from(span.count));
        }
    }
}

/// Folds the vectors of one source column.
#[inline(always)]
fn fold_column<F: WindowFold, const L: usize, const R: usize>(
    fold: F,
    rows: [&[F::Element; L]; R],
) -> [F::Acc; L] {
    let mut acc = load_all::<F, L>(fold, rows[0]);
    for row in &rows[1..] {
        join_all::<F, L>(&mut acc, &load_all::<F, L>(fold, row));
    }
    acc
}
