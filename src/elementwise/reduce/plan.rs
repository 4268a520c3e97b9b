//! A reduction as loops over memory, cut into groups of results and chunks of reduced elements.

use std::ops::Range;

use bytemuck::Zeroable;

use super::Fold;
use super::cascade::{Cascade, merge_all};
use super::lines::{FoldAlong, Rows, ShortLines};
use super::rows::{ColumnGroups, FoldAcross, VECTOR};
use crate::elementwise::run::in_parallel;
use crate::error::Result;
use crate::layout::loops::Loops;
use crate::memory::try_filled;
use crate::simd;
use crate::threads::SyncPtr;

/// Elements of a chunk: the unit of parallel work.
const CHUNK: usize = 32 << 10;
/// Elements that one accumulator takes before it is merged pairwise.
pub(super) const BLOCK: usize = 256;
/// Results side by side of at most this many elements are folded many in one loop.
const FEW: usize = 64;
/// The most results that are accumulated side by side.
pub(super) const ROW: usize = 512;
/// Results that lie side by side are accumulated side by side from this many on.
const FEW_COLUMNS: usize = 4;
/// Reduced elements that lie side by side in at most this many, in many places, are accumulated side by side first.
const SHORT_ROW: usize = 64;

/// The loops of a reduction over memory of any layout.
pub(crate) struct Reduction {
    /// Loops over the results: steps in the source and in the result.
    pub kept: Loops<2>,
    /// The elements of one result. There is at least one part, and none is empty.
    pub parts: Vec<Part>,
    /// Elements behind each result that are zeroed: the padding of a channel block of one channel.
    pub tail: usize,
}

/// The indices of a result's elements.
#[derive(Clone, Copy)]
pub(crate) enum Indices {
    /// None that matter, so that loops merge wherever memory continues.
    AllZero,
    /// The row-major indices among the reduced axes.
    RowMajor,
}

impl Indices {
    /// The distance of indices along the last reduced axis.
    pub fn first_weight(self) -> usize {
        match self {
            Indices::AllZero => 0,
            Indices::RowMajor => 1,
        }
    }
}

/// Some of the elements of a result.
#[derive(Clone)]
pub(crate) struct Part {
    /// Offset of the first element from the start of the result's elements.
    pub base: usize,
    /// Index of the first element.
    pub index: usize,
    /// Steps in the source and in the index of an element.
    pub loops: Loops<2>,
}

/// Elements at equal distances in the source, and in their indices.
#[derive(Clone, Copy, Default)]
pub(super) struct Run {
    pub start: usize,
    pub len: usize,
    pub step: usize,
    pub index: usize,
    pub apart: usize,
}

impl Part {
    /// The run along the innermost loop from element `at` on, up to `end`. (A closure that is called for each run would not be
    /// inlined into the vector loops.)
    #[inline(always)]
    pub(super) fn run(&self, at: usize, end: usize) -> Run {
        let (sizes, steps) = (&self.loops.sizes, &self.loops.steps);
        let (step, apart) = (steps[0][0], steps[1][0]);
        let (len, [start, index]) = match sizes.len() {
            1 => (end - at, [at * step, at * apart]),
            _ => ((sizes[0] - at % sizes[0]).min(end - at), self.loops.offsets(at)),
        };
        Run { start: self.base + start, len, step, index: self.index + index, apart }
    }
}

impl Part {
    /// A long dense line as two parts: the whole vectors, and the rest. Any other part as it is.
    fn whole_vectors_and_rest(&self) -> Vec<Part> {
        let Part { base, index, loops } = self;
        let (n, apart) = (loops.sizes[0], loops.steps[1][0]);
        let (whole, rest) = (n - n % VECTOR, n % VECTOR);
        let line = |first: usize, n: usize| Part {
            base: base + first,
            index: index + first * apart,
            loops: Loops::merged([(n, [1, apart])]),
        };
        match loops.sizes.len() {
            1 if loops.steps[0][0] == 1 && whole > 0 && rest > 0 => vec![line(0, whole), line(whole, rest)],
            _ => vec![Part { base: *base, index: *index, loops: loops.clone() }],
        }
    }
}

/// Where results are written.
pub(super) struct Output<T> {
    at: SyncPtr<T>,
    /// Distance of results that lie side by side in the source.
    step: usize,
    tail: usize,
    /// Elements of a result.
    count: usize,
}

impl<T: Zeroable + Copy> Output<T> {
    /// Writes the results of neighbouring accumulators.
    ///
    /// # Safety
    /// These are results of the reduction from offset `to` on, and nobody else accesses them.
    #[inline(always)]
    pub unsafe fn write<F: Fold<Out = T>>(&self, fold: &F, to: usize, accs: &[F::Acc]) {
        // SAFETY: `Reduction::run` has checked the largest offset of a result with its tail; the caller's promise.
        unsafe {
            if (self.step, self.tail) == (1, 0) {
                let to = self.at.get().add(to);
                for (i, &acc) in accs.iter().enumerate() {
                    to.add(i).write(fold.finish(acc, self.count));
                }
                return;
            }
            for (i, &acc) in accs.iter().enumerate() {
                self.write_one(fold, to + i * self.step, acc);
            }
        }
    }

    /// As [`write`](Self::write), for one accumulator.
    ///
    /// # Safety
    /// As [`write`](Self::write).
    #[inline(always)]
    pub unsafe fn write_one<F: Fold<Out = T>>(&self, fold: &F, to: usize, acc: F::Acc) {
        // SAFETY: as above.
        unsafe {
            let (to, result) = (self.at.get().add(to), fold.finish(acc, self.count));
            match self.tail {
                0 => to.write(result),
                15 => {
                    let mut block = [T::zeroed(); 16];
                    block[0] = result;
                    to.cast::<[T; 16]>().write(block);
                }
                n => {
                    to.write(result);
                    std::slice::from_raw_parts_mut(to.add(1), n).fill_with(T::zeroed);
                }
            }
        }
    }
}

/// How the elements of a part are folded in chunks.
enum Way {
    /// Along its innermost loop, each result alone.
    Along,
    /// Each result is a column.
    Columns,
    /// Rows of neighbouring elements of one result are columns, whose accumulators are then merged.
    Rows { width: usize },
}

/// A part, cut into chunks.
struct ChunkedPart {
    part: Part,
    way: Way,
    chunk: usize,
}

impl ChunkedPart {
    fn new(part: &Part, width: usize) -> ChunkedPart {
        let Loops { sizes, steps } = &part.loops;
        let (base, index) = (part.base, part.index);
        let (way, loops) = if width > 1 {
            (Way::Columns, part.loops.clone())
        } else if steps[0][0] == 1 && sizes[0] <= SHORT_ROW && sizes.len() > 1 {
            let rows = (1..sizes.len()).map(|d| (sizes[d], [steps[0][d], steps[1][d]]));
            (Way::Rows { width: sizes[0] }, Loops::merged(rows))
        } else if steps[0][0] == 1 && sizes.len() == 1 && sizes[0].is_multiple_of(VECTOR) {
            let rows = Loops::merged([(sizes[0] / VECTOR, [VECTOR, 0])]);
            (Way::Rows { width: VECTOR }, rows)
        } else {
            (Way::Along, part.loops.clone())
        };
        let width = if let Way::Rows { width, .. } = way { width } else { width };
        let chunk = (CHUNK / width).max(BLOCK);
        ChunkedPart { part: Part { base, index, loops }, way, chunk }
    }

    fn chunks(&self) -> usize {
        self.part.loops.numel().div_ceil(self.chunk)
    }

    /// Folds the elements in `range` of neighbouring results. `from` is the offset of the first one in the source.
    fn fold<'c, F: Fold>(
        &self,
        fold: &F,
        src: &[F::In],
        (from, width): (usize, usize),
        range: Range<usize>,
        cascade: &'c mut Cascade<F>,
    ) -> &'c [F::Acc] {
        let (src, part) = (&src[from..], &self.part);
        let width = match self.way {
            Way::Along => {
                cascade.clear(1);
                simd::dispatch(FoldAlong { fold, src, part, range, cascade: &mut *cascade });
                return cascade.total(fold);
            }
            Way::Columns => width,
            Way::Rows { width } => width,
        };
        cascade.clear(width);
        let to = &mut *cascade;
        if width <= SHORT_ROW {
            simd::dispatch(FoldAcross::<F, SHORT_ROW> { fold, src, part, range, width, cascade: to });
        } else {
            simd::dispatch(FoldAcross::<F, ROW> { fold, src, part, range, width, cascade: to });
        }
        let accs = cascade.total(fold);
        if let Way::Rows { .. } = self.way {
            merge_all(fold, accs);
            return &accs[..1];
        }
        accs
    }
}

/// Chunk `index` of all parts: its part, and its elements or rows.
fn chunk(parts: &[ChunkedPart], mut index: usize) -> (&ChunkedPart, Range<usize>) {
    for part in parts {
        if index < part.chunks() {
            let end = part.part.loops.numel().min((index + 1) * part.chunk);
            return (part, index * part.chunk..end);
        }
        index -= part.chunks();
    }
    unreachable!("the parts have fewer chunks")
}

impl Reduction {
    /// Elements of each result.
    pub fn count(&self) -> usize {
        self.parts.iter().map(|p| p.loops.numel()).sum()
    }

    /// How many neighbouring results are accumulated side by side; 1 if the elements of a result are the neighbours.
    fn width(&self) -> usize {
        let [part] = &self.parts[..] else { return 1 };
        let side_by_side = self.kept.steps[0][0] == 1
            && self.kept.sizes[0] >= FEW_COLUMNS
            && part.loops.steps[0][0] != 1
            && self.tail == 0;
        if side_by_side { self.kept.sizes[0].min(ROW) } else { 1 }
    }

    /// Reduces `src`. There are elements and results.
    ///
    /// # Panics
    /// If a result lies outside of `out`, or an element outside of `src`.
    pub fn run<F: Fold>(&self, op: &'static str, fold: &F, src: &[F::In], out: &mut [F::Out]) -> Result<()> {
        assert!(self.kept.last_offset(1) + self.tail < out.len(), "a result lies outside of its tensor");
        let (kept, width, count) = (&self.kept, self.width(), self.count());
        let numel = count * kept.numel();
        let out = &Output { at: SyncPtr::new(out), step: kept.steps[1][0], tail: self.tail, count };
        // The densest kept dimension is cut into pieces. Each piece, for each index of the other kept dimensions, is a group.
        let pieces = kept.sizes[0].div_ceil(width);
        let groups = pieces * (kept.numel() / kept.sizes[0]);
        let group = &|g: usize| {
            let first = g % pieces * width;
            let width = width.min(kept.sizes[0] - first);
            let [from, to] = kept.offsets(g / pieces * kept.sizes[0] + first);
            (from, to, width)
        };
        if width > 1 && count <= FEW {
            let runs = &self.runs()[..];
            in_parallel(groups, numel, |groups| {
                simd::dispatch(ColumnGroups { fold, src, runs, groups, group, out });
            });
            return Ok(());
        }
        if width == 1 && count <= ShortLines::<F>::limit(&self.parts[0]) {
            let (runs, rows) = (&self.runs()[..], &self.rows()[..]);
            in_parallel(groups, numel, |groups| {
                simd::dispatch(ShortLines { fold, src, kept, runs, rows, groups, out });
            });
            return Ok(());
        }
        let parts = self.parts.iter().flat_map(Part::whole_vectors_and_rest);
        let parts: Vec<_> = parts.map(|part| ChunkedPart::new(&part, width)).collect();
        let chunks: usize = parts.iter().map(ChunkedPart::chunks).sum();
        let cascade = || Cascade::new(fold, width.max(SHORT_ROW));
        if chunks == 1 {
            let (part, range) = chunk(&parts, 0);
            in_parallel(groups, numel, |groups| {
                let mut cascade = cascade();
                for g in groups {
                    let (from, to, width) = group(g);
                    let accs = part.fold(fold, src, (from, width), range.clone(), &mut cascade);
                    // SAFETY: each group has its own results.
                    unsafe { out.write(fold, to, accs) };
                }
            });
            return Ok(());
        }
        let mut partials = try_filled(op, groups * chunks * width, fold.identity())?;
        let to = SyncPtr::new(&mut partials);
        in_parallel(groups * chunks, numel, |tasks| {
            let mut cascade = cascade();
            for task in tasks {
                let (from, _, width_here) = group(task / chunks);
                let (part, range) = chunk(&parts, task % chunks);
                let accs = part.fold(fold, src, (from, width_here), range, &mut cascade);
                for (i, &acc) in accs.iter().enumerate() {
                    // SAFETY: each task writes its own `width` partial results.
                    unsafe { to.get().add(task * width + i).write(acc) };
                }
            }
        });
        in_parallel(groups, partials.len(), |groups| {
            let mut cascade = cascade();
            for g in groups {
                let (_, to, width_here) = group(g);
                cascade.clear(width_here);
                for part in partials[g * chunks * width..].chunks(width).take(chunks) {
                    cascade.push(fold, &part[..width_here]);
                }
                // SAFETY: each group has its own results.
                unsafe { out.write(fold, to, cascade.total(fold)) };
            }
        });
        Ok(())
    }

    /// The runs of all elements of a result, which are few.
    fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        for part in &self.parts {
            let (mut at, count) = (0, part.loops.numel());
            while at < count {
                runs.push(part.run(at, count));
                at += runs[runs.len() - 1].len;
            }
        }
        runs
    }

    /// The elements of a result as rows of neighbours, one run of rows for each part; empty if they are not.
    fn rows(&self) -> Vec<Rows> {
        let rows = self.parts.iter().map(|part| {
            let Loops { sizes, steps } = &part.loops;
            let dense = steps[0][0] == 1 && sizes.len() <= 2;
            dense.then(|| {
                let (len, step) = (sizes.get(1).copied().unwrap_or(1), steps[0].get(1).copied().unwrap_or(0));
                Rows {
                    width: sizes[0],
                    run: Run { start: part.base, len, step, index: part.index, apart: 0 },
                }
            })
        });
        rows.collect::<Option<_>>().unwrap_or_default()
    }
}
