//! A dense tensor as lines along one axis: `outer x len x inner` elements, lines that lie side by side taken
//! together as the columns of a vector loop.

use super::lanes::Lanes;
use crate::simd;
use crate::threads::{SyncPtr, parallel_for};

/// Lines that a kernel takes side by side at most.
pub(crate) const WIDTH: usize = 64;
/// Elements of one task at least.
const TASK: usize = 8 << 10;

/// How lines along one axis of a dense tensor lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    /// Groups of lines.
    pub outer: usize,
    /// Elements of a line.
    pub len: usize,
    /// Lines of a group, side by side; also the step from one element of a line to the next.
    pub inner: usize,
}

/// Some lines that lie side by side: `len` rows of `width` elements, `stride` apart.
pub(crate) struct Columns<'a> {
    /// The source from the first element on.
    pub src: &'a [f32],
    pub stride: usize,
    pub len: usize,
    pub width: usize,
    /// Which lines: their group, and the first one's place in it.
    pub outer: usize,
    pub first: usize,
}

impl<'a> Columns<'a> {
    /// Row `i` of the source.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [f32] {
        &self.src[i * self.stride..][..self.width]
    }

    /// The only line of its group; `None` where there are more.
    #[inline(always)]
    pub fn line(&self) -> Option<&'a [f32]> {
        (self.stride == 1).then(|| &self.src[..self.len])
    }
}

/// The destination of [`Columns`]: `rows` rows of its width, as far apart as the source's.
pub(crate) struct ColumnsMut<E> {
    start: *mut E,
    stride: usize,
    rows: usize,
    width: usize,
}

impl<E> ColumnsMut<E> {
    /// Row `i`.
    #[inline(always)]
    pub fn row(&mut self, i: usize) -> &mut [E] {
        assert!(i < self.rows);
        // SAFETY: `Lines::for_each` made this of rows inside the destination that no other task has, and `&mut self`
        // lends one at a time.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(i * self.stride), self.width) }
    }

    /// The only line of its group, whose elements follow each other; `None` where there are more lines.
    #[inline(always)]
    pub fn line(&mut self) -> Option<&mut [E]> {
        // SAFETY: as above: with a stride of 1 the rows of width 1 are one stretch.
        (self.stride == 1).then(|| unsafe { std::slice::from_raw_parts_mut(self.start, self.rows) })
    }
}

impl Lines {
    /// The lines along dimension `axis` of a dense tensor of these sizes, outermost first.
    pub fn new(sizes: &[usize], axis: usize) -> Lines {
        Lines {
            outer: sizes[..axis].iter().product(),
            len: sizes[axis],
            inner: sizes[axis + 1..].iter().product(),
        }
    }

    /// Calls `f` for columns that cover every line; the team shares them. `src` has `outer * len * inner` elements, `dst`
    /// has `outer * rows * inner`.
    pub fn for_each<E: Send>(
        &self,
        src: &[f32],
        dst: &mut [E],
        rows: usize,
        f: impl Fn(Columns<'_>, ColumnsMut<E>) + Sync,
    ) {
        let Lines { outer, len, inner } = *self;
        let src = &src[..outer * len * inner];
        let dst = &mut dst[..outer * rows * inner];
        if dst.is_empty() || src.is_empty() {
            return;
        }
        let parts = inner.div_ceil(WIDTH);
        let units = outer * parts;
        let together = (TASK * units / src.len()).max(1);
        let out = SyncPtr::new(dst);
        parallel_for(units.div_ceil(together), |task| {
            for unit in task * together..((task + 1) * together).min(units) {
                let (outer, first) = (unit / parts, unit % parts * WIDTH);
                let width = WIDTH.min(inner - first);
                let at = outer * rows * inner + first;
                // SAFETY: `at` is inside `dst`; the rows from there on are columns `first..first + width` of group
                // `outer`, which no other unit has.
                let start = unsafe { out.get().add(at) };
                let to = ColumnsMut { start, stride: inner, rows, width };
                let from = &src[outer * len * inner + first..];
                f(Columns { src: from, stride: inner, len, width, outer, first }, to);
            }
        });
    }
}

/// The lines of a blocked activation along another axis than the channels, and which of them are padding.
pub(crate) struct PaddingColumns {
    pub lines: Lines,
    view: Lanes,
    /// Groups of lines in one plane, or `None` where a group holds whole planes.
    per_plane: Option<usize>,
}

impl PaddingColumns {
    /// `axis` of a tensor of this rank; not 1.
    pub fn new(view: &Lanes, rank: usize, axis: usize) -> PaddingColumns {
        let [d, h, w] = view.spatial;
        let sizes = [view.n, view.blocks, d, h, w, view.lanes];
        let at = if axis == 0 { 0 } else { axis + 5 - rank };
        let per_plane = (axis != 0).then(|| sizes[2..at].iter().product());
        PaddingColumns { lines: Lines::new(&sizes, at), view: *view, per_plane }
    }

    /// Calls `f` with the ranges of these columns that are padding.
    pub fn for_each(&self, columns: &Columns<'_>, mut f: impl FnMut(std::ops::Range<usize>)) {
        let Lanes { lanes, blocks, .. } = self.view;
        let used = self.view.lanes_in(blocks - 1);
        if used == lanes {
            return;
        }
        let (first, end) = (columns.first, columns.first + columns.width);
        for pixel in (first / lanes * lanes..end).step_by(lanes) {
            let plane = match self.per_plane {
                Some(groups) => columns.outer / groups,
                None => pixel / self.view.plane_len(),
            };
            let padding = (pixel + used).max(first)..(pixel + lanes).min(end);
            if plane % blocks == blocks - 1 && !padding.is_empty() {
                f(padding.start - first..padding.end - first);
            }
        }
    }

    /// Writes zeros to the columns that are padding.
    pub fn clear(&self, columns: &Columns<'_>, to: &mut ColumnsMut<f32>) {
        self.for_each(columns, |range| (0..to.rows).for_each(|a| to.row(a)[range.clone()].fill(0.0)));
    }
}

/// Edge of the largest square that [`transpose`] turns.
pub(crate) const TRANSPOSE: usize = 16;

/// `to[c][r] = from[r * stride + c]` for so many rows and columns, at most [`TRANSPOSE`] each; what else `to` holds stays.
#[inline(always)]
pub(crate) fn transpose(
    to: &mut [f32; TRANSPOSE * TRANSPOSE],
    from: &[f32],
    stride: usize,
    columns: usize,
    rows: usize,
) {
    let whole = (rows, columns) == (TRANSPOSE, TRANSPOSE);
    if whole && simd::transpose_edge(size_of::<f32>()) == Some(TRANSPOSE) {
        assert!((rows - 1) * stride + columns <= from.len());
        // SAFETY: 16 rows of 16 elements in `from`, by the assertion, and in `to`, by its type.
        return unsafe { simd::transpose(from.as_ptr(), stride, to.as_mut_ptr(), TRANSPOSE, false) };
    }
    for r in 0..rows {
        let row = &from[r * stride..r * stride + columns];
        row.iter().enumerate().for_each(|(c, &v)| to[c * TRANSPOSE + r] = v);
    }
}
