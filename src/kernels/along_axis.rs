//! A dense tensor as lines of elements along one axis: `outer x len x inner` elements. Lines that are neighbours in memory are
//! the columns of one vector loop.

use crate::dtype::Float;
use crate::kernels::lanes::{Lanes, for_each_chunk};
pub(crate) use crate::kernels::lent::ResultColumns;
use crate::kernels::wide;
use crate::simd;
use crate::threads::{SyncPtr, parallel_ranges};

/// The most lines (columns) that one vector loop processes side by side.
pub(crate) const MAX_COLUMNS: usize = 64;
/// Lines longer than this are not copied to scratch memory.
const MAX_SCRATCH_LEN: usize = 4096;
/// The least number of elements of one task.
const TASK_ELEMENTS: usize = 8 << 10;

/// Where the lines along one axis of a dense tensor lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AxisLines {
    /// Groups of lines.
    pub outer: usize,
    /// Elements of a line.
    pub len: usize,
    /// Lines of a group. They lie side by side, so this is also the step from one element of a line to the next.
    pub inner: usize,
}

/// Some neighbouring lines of the source: `len` rows of `width` elements. Each line is a column; rows begin `stride` elements
/// apart.
pub(crate) struct SourceColumns<'a, E> {
    /// The source, from the first element of row 0 on.
    pub src: &'a [E],
    /// Elements from one row to the next.
    pub stride: usize,
    /// Elements of a line.
    pub len: usize,
    /// Lines, at most [`MAX_COLUMNS`].
    pub width: usize,
}

impl<'a, E> SourceColumns<'a, E> {
    /// Row `i`: element `i` of each line.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [E] {
        &self.src[i * self.stride..][..self.width]
    }
}

impl AxisLines {
    /// The lines along dimension `axis` of a dense tensor. `sizes` begins with the outermost dimension.
    pub fn new(sizes: &[usize], axis: usize) -> AxisLines {
        AxisLines {
            outer: sizes[..axis].iter().product(),
            len: sizes[axis],
            inner: sizes[axis + 1..].iter().product(),
        }
    }

    /// The lines of a blocked activation of this rank along an axis other than the channels. The padding lanes have lines too.
    pub fn of_blocked(view: &Lanes, rank: usize, axis: usize) -> AxisLines {
        let [d, h, w] = view.spatial;
        let sizes = [view.n, view.blocks, d, h, w, view.lanes];
        AxisLines::new(&sizes, if axis == 0 { 0 } else { axis + 5 - rank })
    }

    /// Calls `f` for columns that cover every line; the threads of the team share them. `src` has `outer * len * inner` elements.
    /// `dst` has `outer * rows * inner`: the same columns, in rows with the same stride as those of the source.
    pub fn for_each<S: Sync, E: Send>(
        &self,
        src: &[S],
        dst: &mut [E],
        rows: usize,
        f: impl Fn(SourceColumns<'_, S>, ResultColumns<'_, E>) + Sync,
    ) {
        let AxisLines { outer, len, inner } = *self;
        let src = &src[..outer * len * inner];
        let dst = &mut dst[..outer * rows * inner];
        if dst.is_empty() || src.is_empty() {
            return;
        }
        // A unit is the columns of one call of `f`.
        let units_per_group = inner.div_ceil(MAX_COLUMNS);
        let units = outer * units_per_group;
        let per_task = (TASK_ELEMENTS * units / src.len()).max(1);
        let out = SyncPtr::new(dst);
        parallel_ranges(units, per_task, |range| {
            for unit in range {
                let (outer, first) = (unit / units_per_group, unit % units_per_group * MAX_COLUMNS);
                let width = MAX_COLUMNS.min(inner - first);
                let at = outer * rows * inner + first;
                let from =
                    SourceColumns { src: &src[outer * len * inner + first..], stride: inner, len, width };
                // SAFETY: `at` is inside `dst`. The rows from there on are columns `first..first + width` of group `outer`, which
                // no other unit has. `dst` is borrowed until all tasks are done.
                unsafe { ResultColumns::lend(out.get().add(at), inner, rows, width, |to| f(from, to)) };
            }
        });
    }
}

/// `to[c * to_stride + r] = from[r * from_stride + c]` for every `c` below `columns` and `r` below `rows`.
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
    // The edge of the squares that the vector kernel transposes, a power of two. Without such a kernel: larger than any size.
    let edge = simd::transpose_edge(size_of::<f32>()).unwrap_or(1 << (usize::BITS - 1));
    let whole = |n: usize| n & !(edge - 1);
    for r in (0..whole(rows)).step_by(edge) {
        for c in (0..whole(columns)).step_by(edge) {
            let (from, to) = (&from[r * from_stride + c..], &mut to[c * to_stride + r..]);
            // SAFETY: by the assertions, a square of `edge` rows and columns lies inside both slices. A shared and an
            // exclusive borrow do not overlap.
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

/// Calls `f` with `len` elements of **unspecified** content. The thread keeps the memory for the next call.
pub(crate) fn with_scratch<R>(len: usize, f: impl FnOnce(&mut [f32]) -> R) -> R {
    thread_local! {
        static SCRATCH: std::cell::RefCell<Vec<f32>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    // `f` may call this function again: the inner call finds an empty list and allocates its own memory. So does a call from a
    // destructor while the thread ends.
    let mut scratch = SCRATCH.try_with(std::cell::RefCell::take).unwrap_or_default();
    if scratch.len() < len {
        scratch.resize(len, 0.0);
    }
    let result = f(&mut scratch[..len]);
    let _ = SCRATCH.try_with(|kept| kept.replace(scratch));
    result
}

impl AxisLines {
    /// As [`for_each`](Self::for_each) with `len` rows of results. If a group has few lines, several groups are copied side by
    /// side to scratch memory: `in_scratch` gets rows of [`MAX_COLUMNS`] elements, and replaces them by the results. Otherwise
    /// `direct` gets the columns in place.
    pub fn for_each_wide<E: Float>(
        &self,
        src: &[E],
        dst: &mut [E],
        in_scratch: impl Fn(&mut [f32]) + Sync,
        direct: impl Fn(SourceColumns<'_, E>, ResultColumns<'_, E>) + Sync,
    ) {
        let Some(groups) = self.groups_at_once() else { return self.for_each(src, dst, self.len, direct) };
        let chunk = groups * self.len * self.inner;
        if dst.is_empty() {
            return;
        }
        for_each_chunk(&mut dst[..self.outer * self.len * self.inner], chunk, |i, dst| {
            with_scratch(self.len * MAX_COLUMNS + wide::scratch_len::<E>(chunk), |scratch| {
                let (rows, copy) = scratch.split_at_mut(self.len * MAX_COLUMNS);
                self.gather(wide::widened(&src[i * chunk..][..dst.len()], copy), rows);
                in_scratch(rows);
                wide::write_rounded(dst, copy, |dst| self.scatter(rows, dst));
            });
        });
    }

    /// How many groups are copied to scratch memory at once; together they have at most [`MAX_COLUMNS`] lines. `None` if a group
    /// alone has enough lines for a vector loop, or the lines are too long for scratch memory.
    pub fn groups_at_once(&self) -> Option<usize> {
        (self.inner < MAX_COLUMNS && self.len <= MAX_SCRATCH_LEN).then_some(MAX_COLUMNS / self.inner.max(1))
    }

    /// Copies the lines of some whole groups side by side: row `i` of `to` has element `i` of each line.
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

    /// The inverse of [`gather`](Self::gather).
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

/// Copies the channels of `pixels` pixels of image `n`, from pixel `first` on, to rows of [`MAX_COLUMNS`] elements: row `c` has
/// channel `c` of each pixel. Padding is left out. `copy` is scratch memory for the pixels of one block ([`wide`]).
pub(crate) fn gather_channels<E: Float>(
    view: &Lanes,
    src: &[E],
    n: usize,
    first: usize,
    pixels: usize,
    to: &mut [f32],
    copy: &mut [f32],
) {
    for block in 0..view.blocks {
        let from = &src[n * view.stride_n + block * view.stride_block + first * view.lanes..];
        let from = wide::widened(&from[..pixels * view.lanes], copy);
        let to = &mut to[block * view.lanes * MAX_COLUMNS..];
        transpose((to, MAX_COLUMNS), (from, view.lanes), view.lanes_in(block), pixels);
    }
}
