//! The kernel of all pooling: a window of every result element is folded, first along D and H into one row of source
//! columns, then along W. The first fold runs over whole rows, so its vectors are full in any layout; neighbouring
//! windows share its results. The order is the same in every layout, and so are the bits.

use super::geometry::{Span, Windows};
use crate::error::Result;
use crate::ops::lanes::{Lanes, Part};
use crate::ops::spatial::{Work, tile_end};
use crate::simd::{self, Loop};

/// Elements of the row of folded columns, which stays in the first-level cache.
const SCRATCH: usize = 4096;
/// Lanes that are folded at once where there are many.
const MANY_LANES: usize = 128;

/// What a window's elements are folded into.
pub(crate) trait Fold: 'static {
    /// State on the way.
    type Acc: Copy + Default + Send + Sync;
    /// The result of a window without elements.
    const EMPTY: f32;
    fn load(x: f32) -> Self::Acc;
    fn join(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The result of a window that counts `count` elements.
    fn finish(a: Self::Acc, count: f64) -> f32;
}

/// The largest element; NaN where there is one.
pub(crate) struct Max;

impl Fold for Max {
    type Acc = f32;
    const EMPTY: f32 = f32::NEG_INFINITY;
    #[inline(always)]
    fn load(x: f32) -> f32 {
        x
    }
    #[inline(always)]
    fn join(a: f32, b: f32) -> f32 {
        // The machine's own maximum keeps `a` where it is NaN.
        let larger = if b > a { b } else { a };
        if b.is_nan() { b } else { larger }
    }
    #[inline(always)]
    fn finish(a: f32, _: f64) -> f32 {
        a
    }
}

/// The mean of a window of few elements.
struct MeanOfFew;

impl Fold for MeanOfFew {
    type Acc = f32;
    const EMPTY: f32 = 0.0;
    #[inline(always)]
    fn load(x: f32) -> f32 {
        x
    }
    #[inline(always)]
    fn join(a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline(always)]
    fn finish(a: f32, count: f64) -> f32 {
        a / count as f32
    }
}

/// The mean of a window of many elements: the sum is f64.
struct MeanOfMany;

impl Fold for MeanOfMany {
    type Acc = f64;
    const EMPTY: f32 = 0.0;
    #[inline(always)]
    fn load(x: f32) -> f64 {
        f64::from(x)
    }
    #[inline(always)]
    fn join(a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline(always)]
    fn finish(a: f64, count: f64) -> f32 {
        (a / count) as f32
    }
}

/// Windows of at most this many elements are summed in f32.
const FEW: usize = 64;

/// The maximum of every window.
pub(crate) fn max(work: Work<'_>, windows: &Windows) -> Result<()> {
    fold::<Max>(work, windows);
    Ok(())
}

/// The mean of every window.
pub(crate) fn mean(work: Work<'_>, windows: &Windows) -> Result<()> {
    if windows.most_taps() <= FEW {
        fold::<MeanOfFew>(work, windows);
    } else {
        fold::<MeanOfMany>(work, windows);
    }
    Ok(())
}

fn fold<F: Fold>(work: Work<'_>, windows: &Windows) {
    let Work { src, from, dst, to } = work;
    let [d, h, _] = &windows.axes;
    let taps = |spans: &[Span]| spans.iter().map(|s| s.taps as usize).max().unwrap_or(0);
    let row_bytes = 4 * (to.row_len() + from.row_len() * taps(&d.list) * taps(&h.list));
    let state = || (vec![F::Acc::default(); SCRATCH], Vec::new());
    to.for_each_part(dst, row_bytes, state, |(scratch, rows), part| {
        let row = part.row;
        let (ds, hs) = (&d.list[row.d], &h.list[row.h]);
        let image = row.n * from.stride_n + row.block * from.stride_block;
        rows.clear();
        for i in 0..ds.taps as usize {
            let plane = image + (ds.start as usize + i * d.dilation) * from.stride_d;
            let row = |j: usize| plane + (hs.start as usize + j * h.dilation) * from.stride_h;
            rows.extend((0..hs.taps as usize).map(row));
        }
        let count = f64::from(ds.count) * f64::from(hs.count);
        let lanes = from.lanes_in(row.block);
        simd::dispatch(PartLoop::<F> { src, from: &from, windows, part, lanes, rows, count, scratch });
    });
}

/// One part of a row of the result.
struct PartLoop<'a, 'p, F: Fold> {
    src: &'a [f32],
    from: &'a Lanes,
    windows: &'a Windows,
    part: &'a mut Part<'p>,
    /// Logical lanes of the block.
    lanes: usize,
    /// Where the rows of the windows begin in `src`.
    rows: &'a [usize],
    /// What D and H contribute to the count of an average.
    count: f64,
    scratch: &'a mut [F::Acc],
}

impl<F: Fold> Loop for PartLoop<'_, '_, F> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        let all = self.part.lanes.clone();
        let mut first = all.start;
        while first < all.end {
            let wide = if all.end - first < 2 * MANY_LANES { all.end - first } else { MANY_LANES };
            self.lanes(first, wide);
            first += wide;
        }
    }
}

impl<F: Fold> PartLoop<'_, '_, F> {
    /// All columns of the part, some of its lanes.
    #[inline(always)]
    fn lanes(&mut self, lane: usize, wide: usize) {
        let w = &self.windows.axes[2];
        let columns = self.part.columns.clone();
        let room = SCRATCH / wide;
        let mut at = columns.start;
        while at < columns.end {
            let (from, to) = w.reach(at);
            if self.rows.is_empty() || from == to || w.list[at].taps == 0 {
                self.empty(at, lane, wide);
                at += 1;
            } else if to - from > room {
                self.long(at, lane, wide);
                at += 1;
            } else {
                let end = tile_end(at, columns.end, room, |i| w.reach(i));
                // A window without elements ends the tile.
                let end = (at..end).find(|&i| w.list[i].taps == 0).unwrap_or(end);
                let to = w.reach(end - 1).1;
                self.columns(from, to, lane, wide);
                if wide >= 16 {
                    self.windows::<16>(at..end, from, lane, wide);
                } else if wide >= 8 {
                    self.windows::<8>(at..end, from, lane, wide);
                } else {
                    self.narrow(at..end, from);
                }
                at = end;
            }
        }
    }

    /// A window without elements; padding lanes stay zero.
    #[inline(always)]
    fn empty(&mut self, at: usize, lane: usize, wide: usize) {
        let dst = self.part.elements(at..at + 1, lane..lane + wide);
        let logical = self.lanes.saturating_sub(lane).min(wide);
        dst[..logical].fill(F::EMPTY);
        dst[logical..].fill(0.0);
    }

    /// Folds the rows of source columns `from..to` into the scratch row.
    #[inline(always)]
    fn columns(&mut self, from: usize, to: usize, lane: usize, wide: usize) {
        let pixel = self.from.lanes;
        if wide == pixel {
            fold_rows::<F>(self.src, self.rows, from * pixel, &mut self.scratch[..(to - from) * pixel]);
            return;
        }
        for (i, acc) in self.scratch[..(to - from) * wide].chunks_exact_mut(wide).enumerate() {
            fold_rows::<F>(self.src, self.rows, (from + i) * pixel + lane, acc);
        }
    }

    /// A window that does not fit into the scratch row.
    #[inline(always)]
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
        let dst = self.part.elements(at..at + 1, lane..lane + wide);
        dst.iter_mut().zip(acc).for_each(|(d, a)| *d = F::finish(*a, count));
    }

    /// Folds the columns of the scratch row, which begins at source column `from`, for pixels of at least `L` lanes.
    #[inline(always)]
    fn windows<const L: usize>(&mut self, at: std::ops::Range<usize>, from: usize, lane: usize, wide: usize) {
        let w = &self.windows.axes[2];
        let step = w.dilation * wide;
        for i in at {
            let span = w.list[i];
            let begin = (span.start as usize - from) * wide;
            let taps = span.taps as usize;
            let count = self.count * f64::from(span.count);
            let dst = self.part.elements(i..i + 1, lane..lane + wide);
            let columns = &self.scratch[begin..begin + (taps - 1) * step + wide];
            let mut l = 0;
            loop {
                let mut acc = load::<F, L>(columns, l);
                match taps {
                    1 => {}
                    2 => acc = join::<F, L>(acc, load::<F, L>(columns, step + l)),
                    3 => {
                        acc = join::<F, L>(acc, load::<F, L>(columns, step + l));
                        acc = join::<F, L>(acc, load::<F, L>(columns, 2 * step + l));
                    }
                    _ => {
                        for k in 1..taps {
                            acc = join::<F, L>(acc, load::<F, L>(columns, k * step + l));
                        }
                    }
                }
                for (d, a) in dst[l..l + L].iter_mut().zip(acc) {
                    *d = F::finish(a, count);
                }
                if l + L == wide {
                    break;
                }
                // The last lanes overlap those before, with the same results.
                l = (l + L).min(wide - L);
            }
        }
    }

    /// As `windows`, for pixels of few lanes: vectors along W where neighbouring windows are alike.
    #[inline(always)]
    fn narrow(&mut self, at: std::ops::Range<usize>, from: usize) {
        let w = &self.windows.axes[2];
        let wide = self.from.lanes;
        let run = w.run.start.max(at.start)..w.run.end.min(at.end);
        let vectors = run.len() * wide >= 16 && (w.step == 1 || w.step <= 4 && wide == 1);
        if !vectors {
            return self.one_by_one(at, from);
        }
        self.one_by_one(at.start..run.start, from);
        let span = w.list[run.start];
        let scratch = &self.scratch[(span.start as usize - from) * wide..];
        let (taps, step) = (span.taps as usize, w.dilation * wide);
        let count = self.count * f64::from(span.count);
        let dst = self.part.elements(run.clone(), 0..wide);
        match w.step {
            1 => even::<F, 1>(scratch, dst, taps, step, count),
            2 => even::<F, 2>(scratch, dst, taps, step, count),
            3 => even::<F, 3>(scratch, dst, taps, step, count),
            _ => even::<F, 4>(scratch, dst, taps, step, count),
        }
        self.one_by_one(run.end..at.end, from);
    }

    #[inline(always)]
    fn one_by_one(&mut self, at: std::ops::Range<usize>, from: usize) {
        let w = &self.windows.axes[2];
        let wide = self.from.lanes;
        for i in at {
            let span = w.list[i];
            let scratch = &self.scratch[(span.start as usize - from) * wide..];
            let count = self.count * f64::from(span.count);
            for (l, d) in self.part.elements(i..i + 1, 0..wide).iter_mut().enumerate() {
                let taps = (1..span.taps as usize).map(|k| scratch[k * w.dilation * wide + l]);
                *d = F::finish(taps.fold(scratch[l], F::join), count);
            }
        }
    }
}

/// Windows that all have `taps` columns, `S` elements apart from each other.
#[inline(always)]
fn even<F: Fold, const S: usize>(src: &[F::Acc], dst: &mut [f32], taps: usize, step: usize, count: f64) {
    const L: usize = 16;
    let mut at = 0;
    loop {
        let mut acc = [F::Acc::default(); L];
        let columns = &src[at * S..][..(L - 1) * S + 1];
        for l in 0..L {
            acc[l] = columns[l * S];
        }
        for k in 1..taps {
            let columns = &src[at * S + k * step..][..(L - 1) * S + 1];
            for l in 0..L {
                acc[l] = F::join(acc[l], columns[l * S]);
            }
        }
        for (d, a) in dst[at..at + L].iter_mut().zip(acc) {
            *d = F::finish(a, count);
        }
        if at + L == dst.len() {
            return;
        }
        at = (at + L).min(dst.len() - L);
    }
}

#[inline(always)]
fn load<F: Fold, const L: usize>(from: &[F::Acc], at: usize) -> [F::Acc; L] {
    let from = &from[at..at + L];
    std::array::from_fn(|l| from[l])
}

#[inline(always)]
fn join<F: Fold, const L: usize>(a: [F::Acc; L], b: [F::Acc; L]) -> [F::Acc; L] {
    std::array::from_fn(|l| F::join(a[l], b[l]))
}

/// Folds `acc.len()` elements from `at` on of every row into `acc`.
#[inline(always)]
fn fold_rows<F: Fold>(src: &[f32], rows: &[usize], at: usize, acc: &mut [F::Acc]) {
    let n = acc.len();
    let row = |i: usize| &src[rows[i] + at..][..n];
    let mut done = match rows.len() {
        1 => some_rows::<F, 1, true>([row(0)], acc),
        2 => some_rows::<F, 2, true>([row(0), row(1)], acc),
        _ => some_rows::<F, 3, true>([row(0), row(1), row(2)], acc),
    };
    while done < rows.len() {
        done += match rows.len() - done {
            1 => some_rows::<F, 1, false>([row(done)], acc),
            2 | 3 => some_rows::<F, 2, false>([row(done), row(done + 1)], acc),
            _ => some_rows::<F, 4, false>([row(done), row(done + 1), row(done + 2), row(done + 3)], acc),
        };
    }
}

/// Folds `R` rows into `acc`, which `FIRST` sets; gives `R`.
#[inline(always)]
fn some_rows<F: Fold, const R: usize, const FIRST: bool>(rows: [&[f32]; R], acc: &mut [F::Acc]) -> usize {
    const L: usize = 16;
    let n = acc.len();
    let rows = rows.map(|r| &r[..n]);
    let one = |a: F::Acc, i: usize| {
        let mut a = if FIRST { F::load(rows[0][i]) } else { a };
        for row in &rows[usize::from(FIRST)..] {
            a = F::join(a, F::load(row[i]));
        }
        a
    };
    let whole = n / L * L;
    let mut at = 0;
    while at < whole {
        let acc = &mut acc[at..at + L];
        for l in 0..L {
            acc[l] = one(acc[l], at + l);
        }
        at += L;
    }
    for i in whole..n {
        acc[i] = one(acc[i], i);
    }
    R
}
