//! The innermost loops over rows of neighbouring accumulators.

use std::ops::Range;

use super::Fold;
use super::cascade::{Cascade, join_lanes, take};
use super::plan::{BLOCK, Output, Part, ROW, Run};
use crate::simd::{self, Loop};

/// Columns that are folded at once. Their accumulators stay in registers.
pub(super) const VECTOR: usize = 16;
/// Accumulators of a column that take elements in turns, so that an operation need not wait for the previous one.
const IN_TURNS: usize = 4;
/// Runs that are listed at once.
const MAX_RUNS: usize = 16;

/// The first `L` elements of a slice, of which `used` count. Only the last elements of memory are copied.
#[inline(always)]
pub(super) fn load<T: Copy, const L: usize>(src: &[T], used: usize) -> [T; L] {
    if let Some(x) = src.first_chunk::<L>() {
        return *x;
    }
    let mut x = [src[0]; L];
    x[..used].copy_from_slice(&src[..used]);
    x
}

/// Folds some rows of `width` columns, at most `ROW`, and pushes the columns' accumulators.
pub(super) struct FoldAcross<'a, F: Fold, const ROW: usize> {
    pub fold: &'a F,
    pub src: &'a [F::In],
    pub part: &'a Part,
    /// Rows.
    pub range: Range<usize>,
    pub width: usize,
    pub cascade: &'a mut Cascade<F>,
}

impl<F: Fold, const ROW: usize> Loop for FoldAcross<'_, F, ROW> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let FoldAcross { fold, src, part, range, width, cascade } = self;
        let mut accs = [fold.identity(); ROW];
        let mut runs = [Run::default(); MAX_RUNS];
        let rows = if width <= VECTOR { BLOCK * IN_TURNS } else { BLOCK };
        let mut at = range.start;
        while at < range.end {
            let (end, mut used) = ((at + rows).min(range.end), 0);
            while at < end && used < MAX_RUNS {
                runs[used] = part.run(at, end);
                at += runs[used].len;
                used += 1;
            }
            ColumnFold { fold, src, runs: &runs[..used] }.fold(&mut accs[..width]);
            cascade.push(fold, &accs[..width]);
        }
    }
}

/// Merges the accumulators of vectors that took elements in turns.
#[inline(always)]
pub(super) fn lanes_of<F: Fold, const L: usize, const U: usize>(
    fold: &F,
    lanes: [[F::Acc; L]; U],
) -> [F::Acc; L] {
    let mut all = lanes[0];
    for lanes in &lanes[1..] {
        join_lanes(fold, &mut all, *lanes);
    }
    all
}

/// Folds rows into an accumulator for each column.
struct ColumnFold<'a, F: Fold> {
    fold: &'a F,
    src: &'a [F::In],
    /// Runs of rows.
    runs: &'a [Run],
}

impl<F: Fold> ColumnFold<'_, F> {
    /// Writes an accumulator for each column.
    #[inline(always)]
    fn fold(self, to: &mut [F::Acc]) {
        let mut first = 0;
        while first < to.len() {
            let accs = &mut to[first..];
            first += match accs.len() {
                64.. => self.columns::<64, 1>(first, accs),
                VECTOR.. => self.columns::<VECTOR, IN_TURNS>(first, accs),
                9.. => self.few::<VECTOR>(first, accs),
                8 => self.columns::<8, IN_TURNS>(first, accs),
                _ => self.few::<8>(first, accs),
            };
        }
    }

    /// Folds `L` columns from `first` on in registers, and returns `L`.
    #[inline(always)]
    fn columns<const L: usize, const U: usize>(&self, first: usize, to: &mut [F::Acc]) -> usize {
        to[..L].copy_from_slice(&self.lanes::<L, U>(first));
        L
    }

    /// The accumulators of `L` columns from `first` on.
    #[inline(always)]
    fn lanes<const L: usize, const U: usize>(&self, first: usize) -> [F::Acc; L] {
        let fold = self.fold;
        let mut lanes = [[fold.identity(); L]; U];
        for run in self.runs {
            let mut at = run.start + first;
            for _ in 0..run.len / U {
                for lanes in &mut lanes {
                    let row = self.src[at..].first_chunk::<L>().expect("a row has all columns");
                    take(fold, lanes, row, L);
                    at += run.step;
                }
                simd::end_of_chunk();
            }
            for _ in 0..run.len % U {
                let row = self.src[at..].first_chunk::<L>().expect("a row has all columns");
                take(fold, &mut lanes[0], row, L);
                at += run.step;
                simd::end_of_chunk();
            }
        }
        lanes_of(fold, lanes)
    }

    /// Folds all columns from `first` on, which are fewer than `L`, and returns their number.
    #[inline(always)]
    fn few<const L: usize>(&self, first: usize, to: &mut [F::Acc]) -> usize {
        let (fold, used) = (self.fold, to.len());
        let mut lanes = [[fold.identity(); L]; IN_TURNS];
        for run in self.runs {
            let mut at = run.start + first;
            for _ in 0..run.len / IN_TURNS {
                for lanes in &mut lanes {
                    take(fold, lanes, &load(&self.src[at..], used), used);
                    at += run.step;
                }
                simd::end_of_chunk();
            }
            for _ in 0..run.len % IN_TURNS {
                take(fold, &mut lanes[0], &load(&self.src[at..], used), used);
                at += run.step;
                simd::end_of_chunk();
            }
        }
        to.copy_from_slice(&lanes_of(fold, lanes)[..used]);
        used
    }
}

/// Groups of neighbouring results, each result of few elements.
pub(super) struct ColumnGroups<'a, F: Fold, G> {
    pub fold: &'a F,
    pub src: &'a [F::In],
    pub runs: &'a [Run],
    /// No other task writes these groups.
    pub groups: Range<usize>,
    /// Maps the number of a group to its offsets in source and result, and to its number of results.
    pub group: &'a G,
    pub out: &'a Output<F::Out>,
}

impl<F: Fold, G: Fn(usize) -> (usize, usize, usize)> Loop for ColumnGroups<'_, F, G> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let ColumnGroups { fold, src, runs, groups, group, out } = self;
        let mut accs = [fold.identity(); ROW];
        for g in groups {
            let (from, to, width) = group(g);
            ColumnFold { fold, src: &src[from..], runs }.fold(&mut accs[..width]);
            // SAFETY: each group has its own results.
            unsafe { out.write(fold, to, &accs[..width]) };
        }
    }
}
