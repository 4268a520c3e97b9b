//! The innermost loops of reductions, and how their accumulators merge.

use std::ops::Range;

use super::reduce::{BLOCK, Fold, ROW, StridedLoops};
use crate::simd::{self, Loop};
use crate::threads::SyncPtr;

/// Accumulators along a dense reduced axis. (The compiler keeps an array of this size in memory and uses full vectors. When it
/// kept such arrays in registers, it made vectors of two elements.)
const LANES: usize = 64;
/// Accumulators of a short line, and columns that are folded at once. They stay in registers.
pub(super) const VECTOR: usize = 16;

/// Pairwise (cascade) merging of rows of accumulators: level `i` holds the merge of `2^i` blocks.
pub(super) struct Cascade<F: Fold> {
    width: usize,
    /// Blocks that were pushed. Its bits tell which levels are in use.
    count: u64,
    levels: Vec<Vec<F::Acc>>,
    carry: Vec<F::Acc>,
    identity: F::Acc,
}

impl<F: Fold> Cascade<F> {
    pub fn new(fold: &F, width: usize) -> Cascade<F> {
        let identity = fold.identity();
        Cascade { width, count: 0, levels: vec![], carry: vec![identity; width], identity }
    }

    pub fn clear(&mut self, width: usize) {
        (self.width, self.count) = (width, 0);
    }

    pub fn push(&mut self, fold: &F, block: &[F::Acc]) {
        self.carry[..self.width].copy_from_slice(block);
        let mut level = 0;
        while self.count >> level & 1 == 1 {
            for (c, &l) in self.carry[..self.width].iter_mut().zip(&self.levels[level]) {
                *c = fold.merge(l, *c);
            }
            level += 1;
        }
        if level == self.levels.len() {
            self.levels.push(vec![self.identity; self.carry.len()]);
        }
        self.levels[level][..self.width].copy_from_slice(&self.carry[..self.width]);
        self.count += 1;
    }

    /// The merge of all blocks that were pushed since `clear`.
    pub fn total(&mut self, fold: &F) -> &[F::Acc] {
        let mut first = true;
        for (level, l) in self.levels.iter().enumerate().filter(|(i, _)| self.count >> i & 1 == 1) {
            debug_assert!(level < 64);
            for (c, &l) in self.carry[..self.width].iter_mut().zip(l) {
                *c = if first { l } else { fold.merge(l, *c) };
            }
            first = false;
        }
        if first {
            self.carry[..self.width].fill(self.identity);
        }
        &self.carry[..self.width]
    }
}

/// Folds the elements of one result into [`LANES`] accumulators.
pub(super) struct FoldAlong<'a, F: Fold> {
    pub fold: &'a F,
    pub src: &'a [F::In],
    pub reduced: &'a StridedLoops,
    pub range: Range<usize>,
    pub cascade: &'a mut Cascade<F>,
}

impl<F: Fold> Loop for FoldAlong<'_, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let FoldAlong { fold, src, reduced, range, cascade } = self;
        let (n, step) = (reduced.sizes[0], reduced.src[0]);
        let mut lanes = [fold.identity(); LANES];
        let mut taken = 0;
        let mut at = range.start;
        while at < range.end {
            // Up to the end of this row, this chunk or this block.
            let length = (n - at % n).min(range.end - at).min(LANES * BLOCK - taken);
            let (start, _) = reduced.offsets(at);
            if step == 1 {
                let (whole, rest) = src[start..start + length].as_chunks::<LANES>();
                for chunk in whole {
                    for (lane, &x) in lanes.iter_mut().zip(chunk) {
                        *lane = fold.step(*lane, x);
                    }
                }
                for (lane, &x) in lanes.iter_mut().zip(rest) {
                    *lane = fold.step(*lane, x);
                }
            } else {
                for i in 0..length {
                    lanes[i % LANES] = fold.step(lanes[i % LANES], src[start + i * step]);
                }
            }
            at += length;
            taken += length;
            if taken == LANES * BLOCK || at == range.end {
                cascade.push(fold, &[merged(fold, &mut lanes, taken.min(LANES))]);
                lanes = [fold.identity(); LANES];
                taken = 0;
            }
        }
    }
}

/// The first `used` lanes, merged pairwise.
#[inline(always)]
fn merged<F: Fold>(fold: &F, lanes: &mut [F::Acc; LANES], used: usize) -> F::Acc {
    let mut half = used.next_power_of_two() / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half);
        for (l, &h) in low.iter_mut().zip(&high[..half]) {
            *l = fold.merge(*l, h);
        }
        half /= 2;
    }
    lanes[0]
}

/// Folds the elements of a row of neighbouring results, with an accumulator for each result.
pub(super) struct FoldAcross<'a, F: Fold> {
    pub fold: &'a F,
    pub src: &'a [F::In],
    pub reduced: &'a StridedLoops,
    pub range: Range<usize>,
    pub width: usize,
    pub cascade: &'a mut Cascade<F>,
}

impl<F: Fold> Loop for FoldAcross<'_, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let FoldAcross { fold, src, reduced, range, width, cascade } = self;
        let mut accs = [fold.identity(); ROW];
        let mut at = range.start;
        while at < range.end {
            let end = (at + BLOCK).min(range.end);
            ColumnFold { fold, src, reduced, range: at..end }.fold(&mut accs[..width]);
            at = end;
            cascade.push(fold, &accs[..width]);
        }
    }
}

/// Folds some reduced elements of neighbouring results: a matrix in which each result is a column.
struct ColumnFold<'a, F: Fold> {
    fold: &'a F,
    src: &'a [F::In],
    reduced: &'a StridedLoops,
    range: Range<usize>,
}

impl<F: Fold> ColumnFold<'_, F> {
    /// Writes an accumulator for each column.
    #[inline(always)]
    fn fold(self, to: &mut [F::Acc]) {
        let mut first = 0;
        while first < to.len() {
            let accs = &mut to[first..];
            // Two vectors hide that the step of a maximum takes several cycles.
            first += match accs.len() {
                32.. if size_of::<F::Acc>() == 4 => self.columns::<32>(first, accs),
                VECTOR.. => self.columns::<VECTOR>(first, accs),
                8.. => self.columns::<8>(first, accs),
                _ => self.rest(first, accs),
            };
        }
    }

    /// Folds `L` columns from `first` on in registers, and returns `L`. (With four vectors of f64 the compiler did not keep
    /// them there.)
    #[inline(always)]
    fn columns<const L: usize>(&self, first: usize, to: &mut [F::Acc]) -> usize {
        let mut accs = [self.fold.identity(); L];
        let step = self.reduced.src[0];
        let mut at = self.range.start;
        while at < self.range.end {
            let (start, n) = self.reduced.inner_run(at, self.range.end);
            for i in 0..n {
                let row =
                    self.src[start + first + i * step..].first_chunk::<L>().expect("a row has all columns");
                for l in 0..L {
                    accs[l] = self.fold.step(accs[l], row[l]);
                }
                simd::end_of_chunk();
            }
            at += n;
        }
        to[..L].copy_from_slice(&accs);
        L
    }

    /// Folds all columns from `first` on, which are fewer than a vector, and returns their number.
    #[inline(always)]
    fn rest(&self, first: usize, to: &mut [F::Acc]) -> usize {
        to.fill(self.fold.identity());
        let step = self.reduced.src[0];
        let mut at = self.range.start;
        while at < self.range.end {
            let (start, n) = self.reduced.inner_run(at, self.range.end);
            for i in 0..n {
                let row = &self.src[start + first + i * step..];
                to.iter_mut().zip(row).for_each(|(acc, &x)| *acc = self.fold.step(*acc, x));
            }
            at += n;
        }
        to.len()
    }
}

/// Groups of neighbouring results, each result of at most [`BLOCK`] elements.
pub(super) struct ColumnGroups<'a, F: Fold, G> {
    pub fold: &'a F,
    pub src: &'a [F::In],
    pub reduced: &'a StridedLoops,
    pub groups: Range<usize>,
    /// Maps the number of a group to its offsets in source and result, and to its number of results.
    pub group: &'a G,
    /// Distance from one result to the next in elements.
    pub step: usize,
    /// The result. No other task writes these groups.
    pub out: &'a SyncPtr<F::Out>,
}

impl<F: Fold, G: Fn(usize) -> (usize, usize, usize)> Loop for ColumnGroups<'_, F, G> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let ColumnGroups { fold, src, reduced, groups, group, step, out } = self;
        let count = reduced.numel();
        let mut accs = [fold.identity(); ROW];
        for g in groups {
            let (from, to, width) = group(g);
            ColumnFold { fold, src: &src[from..], reduced, range: 0..count }.fold(&mut accs[..width]);
            for (i, &acc) in accs[..width].iter().enumerate() {
                // SAFETY: each group writes its own results, and the offset is that of an element of the result.
                unsafe { out.get().add(to + i * step).write(fold.finish(acc, count)) };
            }
        }
    }
}

/// Results `groups`, each reduced from one short line of elements.
pub(super) struct ShortLines<'a, F: Fold> {
    pub fold: &'a F,
    pub src: &'a [F::In],
    pub kept: &'a StridedLoops,
    pub reduced: &'a StridedLoops,
    pub groups: Range<usize>,
    /// The result, with an element for each offset of `kept`. No other task writes these groups.
    pub out: &'a SyncPtr<F::Out>,
}

impl<F: Fold> Loop for ShortLines<'_, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let ShortLines { fold, src, kept, reduced, groups, out } = self;
        let (count, n) = (reduced.numel(), kept.sizes[0]);
        let mut group = groups.start;
        while group < groups.end {
            let run = (n - group % n).min(groups.end - group);
            let (from, to) = kept.offsets(group);
            for i in 0..run {
                let acc = fold_line(fold, &src[from + i * kept.src[0]..], reduced, count);
                // SAFETY: each group writes its own result, and the offset is that of an element of it.
                unsafe { out.get().add(to + i * kept.dst[0]).write(fold.finish(acc, count)) };
            }
            group += run;
        }
    }
}

/// Folds one short line: dense runs into a vector of accumulators, others into two accumulators in turns.
#[inline(always)]
fn fold_line<F: Fold>(fold: &F, src: &[F::In], reduced: &StridedLoops, count: usize) -> F::Acc {
    let step = reduced.src[0];
    let mut at = 0;
    if reduced.line_accumulators() == VECTOR {
        let mut lanes = [fold.identity(); VECTOR];
        while at < count {
            let (start, n) = reduced.inner_run(at, count);
            let (whole, rest) = src[start..start + n].as_chunks::<VECTOR>();
            for x in whole {
                for l in 0..VECTOR {
                    lanes[l] = fold.step(lanes[l], x[l]);
                }
                simd::end_of_chunk();
            }
            let (eight, rest) = rest.as_chunks::<8>();
            for x in eight {
                for l in 0..8 {
                    lanes[l] = fold.step(lanes[l], x[l]);
                }
            }
            for &x in rest {
                lanes[0] = fold.step(lanes[0], x);
            }
            at += n;
        }
        let mut half = VECTOR / 2;
        while half > 0 {
            for l in 0..half {
                lanes[l] = fold.merge(lanes[l], lanes[l + half]);
            }
            half /= 2;
        }
        return lanes[0];
    }
    let (mut even, mut odd) = (fold.identity(), fold.identity());
    while at < count {
        let (start, n) = reduced.inner_run(at, count);
        for i in 0..n / 2 {
            even = fold.step(even, src[start + 2 * i * step]);
            odd = fold.step(odd, src[start + (2 * i + 1) * step]);
        }
        if n % 2 == 1 {
            even = fold.step(even, src[start + (n - 1) * step]);
        }
        at += n;
    }
    fold.merge(even, odd)
}
