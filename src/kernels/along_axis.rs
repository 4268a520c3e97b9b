//! A dense tensor as lines along one axis: `outer x len x inner` elements, lines that lie side by side taken
//! together as the columns of a vector loop.

use crate::kernels::lanes::{Lanes, for_each_chunk};
pub(crate) use crate::kernels::lent::ResultColumns;
use crate::simd;
use crate::threads::{SyncPtr, parallel_for};

/// AxisLines that a kernel takes side by side at most.
pub(crate) const MAX_COLUMNS: usize = 64;
/// Longest lines that are put side by side in scratch.
const LONGEST: usize = 4096;
/// Elements of one task at least.
const TASK: usize = 8 << 10;

/// How lines along one axis of a dense tensor lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AxisLines {
    /// Groups of lines.
    pub outer: usize,
    /// Elements of a line.
    pub len: usize,
    /// AxisLines of a group, side by side; also the step from one element of a line to the next.
    pub inner: usize,
}

/// Some lines that lie side by side: `len` rows of `width` elements, `stride` apart.
pub(crate) struct SourceColumns<'a> {
    /// The source from the first element on.
    pub src: &'a [f32],
    pub stride: usize,
    pub len: usize,
    pub width: usize,
}

impl<'a> SourceColumns<'a> {
    /// Row `i` of the source.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [f32] {
        &self.src[i * self.stride..][..self.width]
    }
}

impl AxisLines {
    /// The lines along dimension `axis` of a dense tensor of these sizes, outermost first.
    pub fn new(sizes: &[usize], axis: usize) -> AxisLines {
        AxisLines {
            outer: sizes[..axis].iter().product(),
            len: sizes[axis],
            inner: sizes[axis + 1..].iter().product(),
        }
    }

    /// The lines of a blocked activation of this rank along another axis than the channels; lines of padding too.
    pub fn of_blocked(view: &Lanes, rank: usize, axis: usize) -> AxisLines {
        let [d, h, w] = view.spatial;
        let sizes = [view.n, view.blocks, d, h, w, view.lanes];
        AxisLines::new(&sizes, if axis == 0 { 0 } else { axis + 5 - rank })
    }

    /// Calls `f` for columns that cover every line; the team shares them. `src` has `outer * len * inner` elements, `dst`
    /// has `outer * rows * inner`: rows of the same columns, as far apart as the source's.
    pub fn for_each<E: Send>(
        &self,
        src: &[f32],
        dst: &mut [E],
        rows: usize,
        f: impl Fn(SourceColumns<'_>, ResultColumns<'_, E>) + Sync,
    ) {
        let AxisLines { outer, len, inner } = *self;
        let src = &src[..outer * len * inner];
        let dst = &mut dst[..outer * rows * inner];
        if dst.is_empty() || src.is_empty() {
            return;
        }
        let parts = inner.div_ceil(MAX_COLUMNS);
        let units = outer * parts;
        let together = (TASK * units / src.len()).max(1);
        let out = SyncPtr::new(dst);
        parallel_for(units.div_ceil(together), |task| {
            for unit in task * together..((task + 1) * together).min(units) {
                let (outer, first) = (unit / parts, unit % parts * MAX_COLUMNS);
                let width = MAX_COLUMNS.min(inner - first);
                let at = outer * rows * inner + first;
                let from =
                    SourceColumns { src: &src[outer * len * inner + first..], stride: inner, len, width };
                // SAFETY: `at` is inside `dst`; the rows from there on are columns `first..first + width` of group
                // `outer`, which no other unit has. `dst` is borrowed until all tasks are done.
                unsafe { ResultColumns::lend(out.get().add(at), inner, rows, width, |to| f(from, to)) };
            }
        });
    }
}

/// `to[c * to_stride + r] = from[r * from_stride + c]` for so many columns and rows.
pub(crate) fn transpose(
    (to, to_stride): (&mut [f32], usize),
    (from, from_stride): (&[f32], usize),
    columns: usize,
    rows: usize,
) {
    if columns == 0 || rows == 0 {
        return;
    }
    assert!((rows - 1) * from_stride + columns <= from.len());
    assert!((columns - 1) * to_stride + rows <= to.len());
    // A power of two; without such a kernel larger than any size.
    let edge = simd::transpose_edge(size_of::<f32>()).unwrap_or(1 << (usize::BITS - 1));
    let whole = |n: usize| n & !(edge - 1);
    for r in (0..whole(rows)).step_by(edge) {
        for c in (0..whole(columns)).step_by(edge) {
            let (from, to) = (&from[r * from_stride + c..], &mut to[c * to_stride + r..]);
            // SAFETY: a square of `edge` rows and columns inside both, by the assertions; a shared and an exclusive
            // borrow do not overlap.
            unsafe { simd::transpose(from.as_ptr(), from_stride, to.as_mut_ptr(), to_stride, false) };
        }
    }
    for r in 0..rows {
        let first = if r < whole(rows) { whole(columns) } else { 0 };
        for c in first..columns {
            to[c * to_stride + r] = from[r * from_stride + c];
        }
    }
}

/// Calls `f` with so many elements of **unspecified** content, which the thread keeps for the next caller.
pub(crate) fn with_scratch<R>(len: usize, f: impl FnOnce(&mut [f32]) -> R) -> R {
    thread_local! {
        static SCRATCH: std::cell::RefCell<Vec<f32>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    // Taken out, so that a caller inside a caller finds none, and makes its own; as one in a destructor of an ending thread.
    let mut scratch = SCRATCH.try_with(std::cell::RefCell::take).unwrap_or_default();
    if scratch.len() < len {
        scratch.resize(len, 0.0);
    }
    let result = f(&mut scratch[..len]);
    let _ = SCRATCH.try_with(|kept| kept.replace(scratch));
    result
}

impl AxisLines {
    /// As [`for_each`](Self::for_each) with as many rows, but in scratch and in place where a group has few lines: `beside` gets
    /// rows of [`MAX_COLUMNS`] elements, `direct` gets the rest.
    pub fn for_each_wide(
        &self,
        src: &[f32],
        dst: &mut [f32],
        beside: impl Fn(&mut [f32]) + Sync,
        direct: impl Fn(SourceColumns<'_>, ResultColumns<'_, f32>) + Sync,
    ) {
        let Some(together) = self.groups_at_once() else { return self.for_each(src, dst, self.len, direct) };
        let chunk = together * self.len * self.inner;
        if dst.is_empty() {
            return;
        }
        for_each_chunk(&mut dst[..self.outer * self.len * self.inner], chunk, |i, dst| {
            with_scratch(self.len * MAX_COLUMNS, |rows| {
                self.gather(&src[i * chunk..][..dst.len()], rows);
                beside(rows);
                self.scatter(rows, dst);
            });
        });
    }

    /// Groups that together have at most [`MAX_COLUMNS`] lines, where a group alone has too few for a vector loop and the
    /// lines are not too long for scratch.
    pub fn groups_at_once(&self) -> Option<usize> {
        (self.inner < MAX_COLUMNS && self.len <= LONGEST).then_some(MAX_COLUMNS / self.inner.max(1))
    }

    /// Puts the lines of some whole groups side by side: row `a` of `to` has element `a` of each.
    pub fn gather(&self, src: &[f32], to: &mut [f32]) {
        let AxisLines { len, inner, .. } = *self;
        if inner == 1 {
            return transpose((to, MAX_COLUMNS), (src, len), len, src.len() / len);
        }
        for (group, src) in src.chunks_exact(len * inner).enumerate() {
            for (row, to) in src.chunks_exact(inner).zip(to.chunks_exact_mut(MAX_COLUMNS)) {
                copy_lanes(&mut to[group * inner..][..inner], row);
            }
        }
    }

    /// Puts them back.
    fn scatter(&self, from: &[f32], dst: &mut [f32]) {
        let AxisLines { len, inner, .. } = *self;
        if inner == 1 {
            let lines = dst.len() / len;
            return transpose((dst, len), (from, MAX_COLUMNS), lines, len);
        }
        for (group, dst) in dst.chunks_exact_mut(len * inner).enumerate() {
            for (row, from) in dst.chunks_exact_mut(inner).zip(from.chunks_exact(MAX_COLUMNS)) {
                copy_lanes(row, &from[group * inner..][..inner]);
            }
        }
    }
}

/// Copies the lanes of a block.
#[inline(always)]
pub(crate) fn copy_lanes(to: &mut [f32], from: &[f32]) {
    match (to.len(), to.first_chunk_mut::<16>(), from.first_chunk::<16>()) {
        (16, Some(to), Some(from)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

/// The channels of some pixels of a blocked activation, as rows of [`MAX_COLUMNS`] pixels; padding is left out.
pub(crate) fn gather_channels(
    view: &Lanes,
    src: &[f32],
    n: usize,
    first: usize,
    pixels: usize,
    to: &mut [f32],
) {
    for block in 0..view.blocks {
        let from = &src[n * view.stride_n + block * view.stride_block + first * view.lanes..];
        let to = &mut to[block * view.lanes * MAX_COLUMNS..];
        transpose((to, MAX_COLUMNS), (from, view.lanes), view.lanes_in(block), pixels);
    }
}
