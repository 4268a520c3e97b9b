//! The innermost loops over the elements of one result.

use std::ops::Range;

use super::Fold;
use super::cascade::{Cascade, merge_all, merge_lanes, take};
use super::plan::{BLOCK, Output, Part, Run};
use super::rows::{VECTOR, lanes_of, load};
use crate::layout::loops::Loops;
use crate::simd::{self, Loop};

/// Accumulators along a dense reduced axis. (The compiler keeps an array of this size in memory and uses full vectors. When it
/// kept such arrays in registers, it made vectors of two elements.)
const LANES: usize = 64;
/// The most elements of a short line for each accumulator.
const SHORT: usize = 64;
/// Lines of at least this many elements are folded into several vectors in turns.
const IN_TURNS_FROM: usize = 256;

/// Folds the elements of one result into [`LANES`] accumulators.
pub(super) struct FoldAlong<'a, F: Fold> {
    pub fold: &'a F,
    pub src: &'a [F::In],
    pub part: &'a Part,
    pub range: Range<usize>,
    pub cascade: &'a mut Cascade<F>,
}

impl<F: Fold> Loop for FoldAlong<'_, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let FoldAlong { fold, src, part, range, cascade } = self;
        let mut lanes = [fold.identity(); LANES];
        let mut taken = 0;
        let mut at = range.start;
        while at < range.end {
            // Up to the end of this row, this chunk or this block.
            let run = part.run(at, range.end.min(at + LANES * BLOCK - taken));
            if run.step == 1 {
                let (whole, rest) = src[run.start..run.start + run.len].as_chunks::<LANES>();
                for x in whole {
                    take(fold, &mut lanes, x, LANES);
                }
                for (lane, &x) in lanes.iter_mut().zip(rest) {
                    *lane = fold.step(*lane, x);
                }
            } else {
                for i in 0..run.len {
                    lanes[i % LANES] = fold.step(lanes[i % LANES], src[run.start + i * run.step]);
                }
            }
            at += run.len;
            taken += run.len;
            if taken == LANES * BLOCK || at == range.end {
                let total = merge_all(fold, &mut (lanes)[..taken.min(LANES)]);
                cascade.push(fold, &[total]);
                lanes = [fold.identity(); LANES];
                taken = 0;
            }
        }
    }
}

/// Rows of `width` neighbours at equal distances.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub width: usize,
    pub run: Run,
}

/// Results `groups`, each reduced from one short line of elements.
pub(super) struct ShortLines<'a, F: Fold> {
    pub fold: &'a F,
    pub src: &'a [F::In],
    pub kept: &'a Loops<2>,
    /// The elements of each line.
    pub runs: &'a [Run],
    /// The same elements as rows of neighbours; empty if they are not.
    pub rows: &'a [Rows],
    /// No other task writes these groups.
    pub groups: Range<usize>,
    pub out: &'a Output<F::Out>,
}

impl<F: Fold> ShortLines<'_, F> {
    /// The most elements of a short line: [`SHORT`] for each accumulator.
    pub fn limit(first: &Part) -> usize {
        let dense = first.loops.steps[0][0] == 1 && first.loops.sizes[0] >= 8;
        if dense { VECTOR * SHORT } else { 2 * SHORT }
    }
}

impl<F: Fold> Loop for ShortLines<'_, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let rows = self.rows;
        let width = rows.iter().map(|r| r.width).max();
        let many = rows.iter().any(|r| r.run.len >= 8);
        let count: usize = self.runs.iter().map(|r| r.len).sum();
        match self.runs[0] {
            _ if width == Some(16) && many => self.each_line(FoldRows::<16, 4>(rows)),
            _ if width == Some(16) => self.each_line(FoldRows::<16, 1>(rows)),
            _ if width == Some(8) => self.each_line(FoldRows::<8, 1>(rows)),
            Run { step: 1, len: 8.., .. } if count >= IN_TURNS_FROM => self.each_line(FoldDense::<4>),
            Run { step: 1, len: 8.., .. } => self.each_line(FoldDense::<1>),
            _ => self.each_line(FoldSpread),
        }
    }
}

impl<F: Fold> ShortLines<'_, F> {
    #[inline(always)]
    fn each_line(self, line: impl FoldLine) {
        let ShortLines { fold, src, kept, runs, groups, out, .. } = self;
        let n = kept.sizes[0];
        let mut group = groups.start;
        while group < groups.end {
            let together = (n - group % n).min(groups.end - group);
            let [from, to] = kept.offsets(group);
            for i in 0..together {
                let acc = line.fold(fold, &src[from + i * kept.steps[0][0]..], runs);
                // SAFETY: each group has its own result.
                unsafe { out.write_one(fold, to + i * kept.steps[1][0], acc) };
            }
            group += together;
        }
    }
}

/// A way to fold a short line.
trait FoldLine {
    fn fold<F: Fold>(&self, fold: &F, src: &[F::In], runs: &[Run]) -> F::Acc;
}

/// Rows of at most `L` elements, such as channel blocks; the rows of a part take turns in `U` vectors.
struct FoldRows<'a, const L: usize, const U: usize>(&'a [Rows]);

impl<const L: usize, const U: usize> FoldLine for FoldRows<'_, L, U> {
    #[inline(always)]
    fn fold<F: Fold>(&self, fold: &F, src: &[F::In], _runs: &[Run]) -> F::Acc {
        let mut lanes = [[fold.identity(); L]; U];
        for &Rows { width, run } in self.0 {
            let mut at = run.start;
            if width < L {
                for _ in 0..run.len {
                    take(fold, &mut lanes[0], &load::<_, L>(&src[at..], width), width);
                    at += run.step;
                    simd::end_of_chunk();
                }
                continue;
            }
            for _ in 0..run.len / U {
                for lanes in &mut lanes {
                    let x = src[at..].first_chunk::<L>().expect("a row has all elements");
                    for l in 0..L {
                        lanes[l] = fold.step(lanes[l], x[l]);
                    }
                    at += run.step;
                }
                simd::end_of_chunk();
            }
            for _ in 0..run.len % U {
                let x = src[at..].first_chunk::<L>().expect("a row has all elements");
                for l in 0..L {
                    lanes[0][l] = fold.step(lanes[0][l], x[l]);
                }
                at += run.step;
                simd::end_of_chunk();
            }
        }
        merge_lanes(fold, lanes_of(fold, lanes))
    }
}

/// Dense runs of any length, folded into `U` vectors of accumulators in turns.
struct FoldDense<const U: usize>;

impl<const U: usize> FoldLine for FoldDense<U> {
    #[inline(always)]
    fn fold<F: Fold>(&self, fold: &F, src: &[F::In], runs: &[Run]) -> F::Acc {
        let mut lanes = [[fold.identity(); VECTOR]; U];
        for run in runs {
            let (mut at, end) = (run.start, run.start + run.len);
            if run.step != 1 {
                for i in 0..run.len {
                    lanes[0][0] = fold.step(lanes[0][0], src[at + i * run.step]);
                }
                continue;
            }
            while U > 1 && at + U * VECTOR <= end {
                for lanes in &mut lanes {
                    let x = src[at..].first_chunk::<VECTOR>().expect("a run has all elements");
                    take(fold, lanes, x, VECTOR);
                    at += VECTOR;
                }
                simd::end_of_chunk();
            }
            while at + VECTOR <= end {
                let x = src[at..].first_chunk::<VECTOR>().expect("a run has all elements");
                take(fold, &mut lanes[0], x, VECTOR);
                at += VECTOR;
                simd::end_of_chunk();
            }
            if let Some(half) = src[at..end].first_chunk::<8>() {
                let mut x = [half[0]; VECTOR];
                x[..8].copy_from_slice(half);
                take(fold, &mut lanes[0], &x, 8);
                at += 8;
            }
            if at < end {
                take(fold, &mut lanes[0], &load::<_, VECTOR>(&src[at..], end - at), end - at);
            }
        }
        merge_lanes(fold, lanes_of(fold, lanes))
    }
}

/// Runs of any step, folded into two accumulators in turns.
struct FoldSpread;

impl FoldLine for FoldSpread {
    #[inline(always)]
    fn fold<F: Fold>(&self, fold: &F, src: &[F::In], runs: &[Run]) -> F::Acc {
        let (mut even, mut odd) = (fold.identity(), fold.identity());
        for run in runs {
            for i in 0..run.len / 2 {
                even = fold.step(even, src[run.start + 2 * i * run.step]);
                odd = fold.step(odd, src[run.start + (2 * i + 1) * run.step]);
            }
            if run.len % 2 == 1 {
                even = fold.step(even, src[run.start + (run.len - 1) * run.step]);
            }
        }
        fold.merge(even, odd)
    }
}
