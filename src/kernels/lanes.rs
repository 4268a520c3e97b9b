//! One view of NCHW, NHWC and blocked activations: rows of pixels, each pixel a group of channel *lanes*.
//!
//! | layout | lanes | blocks of lanes | a row of the view |
//! |---|---|---|---|
//! | nChw16c and its like | 16 | ceil(C / 16), the last one padded | W pixels of 16 lanes |
//! | channels-last | C | 1 | W pixels of C lanes |
//! | contiguous (NCHW) | 1 | C | W pixels of 1 lane |
//!
//! A kernel written once over rows and lanes serves all three, with the same bits: its vector loop runs along the
//! lanes, the team shares the rows.

use crate::elementwise;
use crate::error::{Complaint, Error, Result};
use crate::kernels::lent::{Tile, TilePlace};
use crate::layout::blocked::Layout;
use crate::layout::memory_format::MemoryFormat;
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::strided::StridedTensor;
use crate::threads::{SyncPtr, parallel_for};
use std::marker::PhantomData;
use std::ops::Range;

/// Bytes of result that one task of a parallel section writes at least.
const TASK_BYTES: usize = 32 << 10;

/// Bytes that one task of [`Lanes::for_each_part`] reads and writes, about; rows that cost more are cut.
const PART_BYTES: usize = 64 << 10;
/// No part of a row is narrower than this, in lanes or in columns.
const MIN_PART_LANES: usize = 64;
const MIN_PART_COLUMNS: usize = 16;

/// How the channels and pixels of an activation lie. Ranks 3, 4 and 5 (N, C, W; N, C, H, W; N, C, D, H, W); rank 2
/// is one pixel. Strides in **elements**.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    pub n: usize,
    /// Logical channels.
    pub c: usize,
    /// D, H, W; 1 where the rank has none.
    pub spatial: [usize; 3],
    /// Channels that lie together.
    pub lanes: usize,
    /// Groups of lanes: `ceil(c / lanes)`.
    pub blocks: usize,
    pub stride_n: usize,
    pub stride_block: usize,
    /// Of D and H. Neighbours along W are `lanes` apart.
    pub stride_d: usize,
    pub stride_h: usize,
}

/// Some pixels of one block of one image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub n: usize,
    pub block: usize,
    /// The first pixel, counted over D, H and W.
    pub first: usize,
}

/// One row of pixels of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub n: usize,
    pub block: usize,
    pub d: usize,
    pub h: usize,
}

impl Lanes {
    /// A dense view: W pixels of `lanes` side by side, then H, D; blocks and images outermost.
    fn dense(dims: &[usize], lanes: usize, blocks: usize) -> Option<Lanes> {
        let (&n, &c) = (dims.first()?, dims.get(1)?);
        let mut spatial = [1; 3];
        let given = dims.get(2..)?;
        spatial.get_mut(3usize.checked_sub(given.len())?..)?.copy_from_slice(given);
        let [d, h, w] = spatial;
        let stride_h = w * lanes;
        let stride_d = h * stride_h;
        let stride_block = d * stride_d;
        let stride_n = blocks * stride_block;
        Some(Lanes { n, c, spatial, lanes, blocks, stride_n, stride_block, stride_d, stride_h })
    }

    /// The view of a dense strided tensor of rank 2 to 5; `None` for views that are dense in neither format.
    pub fn of_strided(t: &StridedTensor) -> Option<Lanes> {
        let c = *t.dims().get(1)?;
        if t.is_contiguous(MemoryFormat::Contiguous) {
            return Lanes::dense(t.dims(), 1, c);
        }
        let last = MemoryFormat::channels_last_of(t.rank())?;
        if t.is_contiguous(last) { Lanes::dense(t.dims(), c, 1) } else { None }
    }

    /// The view of a tensor of rank 3 to 5 with sizes `dims` that lies densely in `format`: a result's, whose sizes
    /// alone may fit both formats.
    pub fn of_format(dims: &[usize], format: MemoryFormat) -> Option<Lanes> {
        let c = *dims.get(1)?;
        if format == MemoryFormat::Contiguous { Lanes::dense(dims, 1, c) } else { Lanes::dense(dims, c, 1) }
    }

    /// The view of a blocked activation.
    ///
    /// # Errors
    /// `LayoutMismatch` for a layout that is not `nC..<block>c` (weights, CHWN4).
    pub fn of_blocked(op: &'static str, t: &BlockedTensor) -> Result<Lanes> {
        Lanes::of_layout(op, t.dims(), t.layout())
    }

    /// As [`of_blocked`](Self::of_blocked), for a result that does not exist yet.
    pub fn of_layout(op: &'static str, dims: &[usize], layout: &Layout) -> Result<Lanes> {
        let block = layout.channel_block().filter(|_| layout.rank() == dims.len());
        let view = block.and_then(|b| Lanes::dense(dims, b, dims[1].div_ceil(b)));
        view.ok_or_else(|| {
            Error::LayoutMismatch(Complaint::new(
                op,
                "x",
                format!("{dims:?} {layout}"),
                "the kernel takes activations blocked along channels alone, such as nChw16c",
                format!("reorder with `reorder_to(&Layout::native_activation({})?)`", dims.len()),
            ))
        })
    }

    /// Logical channels in a block: fewer than `lanes` in the last one.
    pub fn lanes_in(&self, block: usize) -> usize {
        self.lanes.min(self.c - block * self.lanes)
    }

    /// Where the row begins.
    pub fn offset(&self, row: Row) -> usize {
        row.n * self.stride_n + row.block * self.stride_block + row.d * self.stride_d + row.h * self.stride_h
    }

    /// Elements of a row.
    pub fn row_len(&self) -> usize {
        self.spatial[2] * self.lanes
    }

    /// Elements of an image of one block: what lies together whatever the row.
    pub fn plane_len(&self) -> usize {
        self.spatial.iter().product::<usize>() * self.lanes
    }

    /// Pixels of an image.
    pub fn pixels(&self) -> usize {
        self.spatial.iter().product()
    }

    /// Channels of an image, those of the padding included.
    pub fn padded_channels(&self) -> usize {
        self.blocks * self.lanes
    }

    /// Images of one pixel as what they are in memory whatever the format: one group of all channels.
    pub fn with_points_as_lanes(self) -> Lanes {
        if self.lanes == 1 && self.pixels() == 1 {
            return Lanes { lanes: self.c, blocks: 1, stride_block: self.c, ..self };
        }
        self
    }

    /// Elements in all, padding included.
    pub fn len(&self) -> usize {
        self.n * self.stride_n
    }

    /// Calls `f(piece, elements)` for pieces of planes, none much larger than a task, that cover `dst`; the team shares
    /// them.
    pub fn for_each_piece<E: Send>(&self, dst: &mut [E], f: impl Fn(Piece, &mut [E]) + Sync) {
        let dst = &mut dst[..self.len()];
        if dst.is_empty() {
            return;
        }
        let per_plane = (self.plane_len() * size_of::<E>()).div_ceil(TASK_BYTES).min(self.pixels());
        let pieces = self.n * self.blocks * per_plane;
        let together = (TASK_BYTES * pieces / size_of_val(dst)).max(1);
        let out = SyncPtr::new(dst);
        parallel_for(pieces.div_ceil(together), |task| {
            for i in task * together..((task + 1) * together).min(pieces) {
                let (plane, part) = (i / per_plane, i % per_plane);
                let [first, end] = [part, part + 1].map(|p| self.pixels() * p / per_plane);
                let offset = plane * self.plane_len() + first * self.lanes;
                // SAFETY: planes of a dense view follow each other, and the pieces of one are ranges of its pixels
                // that do not overlap; no other task has this `i`.
                let elements = unsafe {
                    std::slice::from_raw_parts_mut(out.get().add(offset), (end - first) * self.lanes)
                };
                f(Piece { n: plane / self.blocks, block: plane % self.blocks, first }, elements);
            }
        });
    }

    /// Makes zeros of what is not +0 in the padding of `dst`.
    pub fn clear_padding(&self, dst: &mut [f32]) {
        if self.c.is_multiple_of(self.lanes) {
            return;
        }
        let used = self.lanes_in(self.blocks - 1);
        self.for_each_piece(dst, |p, dst| {
            if p.block == self.blocks - 1 {
                elementwise::clear_tail(dst, self.lanes, used);
            }
        });
    }

    /// Calls `f` for tiles of up to `pixels` pixels with all their channels; the team shares them.
    pub fn for_each_tile(&self, dst: &mut [f32], pixels: usize, f: impl Fn(Tile<'_>) + Sync) {
        let dst = &mut dst[..self.len()];
        if dst.is_empty() {
            return;
        }
        let per_image = self.pixels().div_ceil(pixels);
        let tiles = self.n * per_image;
        let together = (TASK_BYTES * tiles / size_of_val(dst)).max(1);
        let out = SyncPtr::new(dst);
        parallel_for(tiles.div_ceil(together), |task| {
            for i in task * together..((task + 1) * together).min(tiles) {
                let (n, first) = (i / per_image, i % per_image * pixels);
                // SAFETY: the offset of a pixel of the view, whose every block begins inside `dst`.
                let start = unsafe { out.get().add(n * self.stride_n + first * self.lanes) };
                let pixels = pixels.min(self.pixels() - first);
                let (stride_block, blocks, lanes) = (self.stride_block, self.blocks, self.lanes);
                let place = TilePlace { n, first, pixels, stride_block, blocks, lanes };
                // SAFETY: pixels of `dst` that no other task has; `dst` is borrowed until all tasks are done.
                unsafe { Tile::lend(start, place, &f) };
            }
        });
    }

    /// Calls `f(state, part)` until the parts cover `dst`; the team shares them. `row_bytes` is what one row costs:
    /// the **bytes** that it reads and writes. A part is some rows of one plane; small parts come several to a task,
    /// which has one `state`. Rows that cost much are cut, along their lanes where there are many, else along W.
    pub fn for_each_part<S>(
        &self,
        dst: &mut [f32],
        row_bytes: usize,
        state: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, &mut Part<'_>) + Sync,
    ) {
        let [depth, height, width] = self.spatial;
        let dst = &mut dst[..self.len()];
        if dst.is_empty() {
            return;
        }
        let pieces = row_bytes.div_ceil(PART_BYTES).max(1);
        let lane_cuts = pieces.min(self.lanes / MIN_PART_LANES).max(1);
        let column_cuts = (pieces / lane_cuts).min(width / MIN_PART_COLUMNS).max(1);
        let rows = (PART_BYTES / row_bytes.max(1)).clamp(1, height);
        let row_cuts = height.div_ceil(rows);
        let parts = self.n * self.blocks * depth * row_cuts * lane_cuts * column_cuts;
        let together = (PART_BYTES / (row_bytes * rows).max(1)).max(1);
        let out = SyncPtr::new(dst);
        parallel_for(parts.div_ceil(together), |task| {
            let mut state = state();
            for i in task * together..((task + 1) * together).min(parts) {
                let (rest, lane_cut) = (i / lane_cuts, i % lane_cuts);
                let (rest, column_cut) = (rest / column_cuts, rest % column_cuts);
                let (rest, row_cut) = (rest / row_cuts, rest % row_cuts);
                let (rest, d) = (rest / depth, rest % depth);
                let plane = Row { n: rest / self.blocks, block: rest % self.blocks, d, h: 0 };
                // The last part of the lanes takes the rest, so that none is narrower than `MIN_PART_LANES`.
                let wide = self.lanes / lane_cuts;
                let lane_end = if lane_cut + 1 == lane_cuts { self.lanes } else { (lane_cut + 1) * wide };
                let mut part = Part {
                    plane,
                    rows: row_cut * rows..((row_cut + 1) * rows).min(height),
                    columns: width * column_cut / column_cuts..width * (column_cut + 1) / column_cuts,
                    lanes: lane_cut * wide..lane_end,
                    pixel: self.lanes,
                    row_stride: self.stride_h,
                    // SAFETY: the plane lies inside `dst`, whose length was checked above.
                    start: unsafe { out.get().add(self.offset(plane)) },
                    lifetime: PhantomData,
                };
                f(&mut state, &mut part);
            }
        });
    }
}

/// Part of one plane of a result, which one task alone writes.
pub(crate) struct Part<'a> {
    /// Image, block and D; `h` is 0.
    pub plane: Row,
    /// The rows (H) that the part has.
    pub rows: Range<usize>,
    /// The pixels of these rows that it has.
    pub columns: Range<usize>,
    /// The lanes of these pixels that it has.
    pub lanes: Range<usize>,
    /// Elements from one pixel to the next, and from one row to the next.
    pixel: usize,
    row_stride: usize,
    /// The first element of the plane.
    start: *mut f32,
    lifetime: PhantomData<&'a mut [f32]>,
}

impl Part<'_> {
    /// The elements of these pixels and lanes of one row, which lie together: of one pixel, or all lanes of several.
    ///
    /// # Panics
    /// When they do not lie together, or are not the part's.
    #[inline(always)]
    pub fn elements(&mut self, row: usize, columns: Range<usize>, lanes: Range<usize>) -> &mut [f32] {
        let inside = self.rows.contains(&row)
            && self.columns.start <= columns.start
            && columns.end <= self.columns.end
            && self.lanes.start <= lanes.start
            && lanes.end <= self.lanes.end;
        let (count, wide) = (columns.len(), lanes.len());
        assert!(inside && (count == 1 || wide == self.pixel), "elements of another part");
        // SAFETY: the elements lie in the part's plane, in rows, pixels and lanes that no other part has; they lie
        // together, as was just checked; `self` is borrowed for as long as they are.
        unsafe {
            let first = self.start.add(row * self.row_stride + columns.start * self.pixel + lanes.start);
            std::slice::from_raw_parts_mut(first, count * wide)
        }
    }

    /// Copies one row of a part that has all lanes to another.
    ///
    /// # Panics
    /// When it has not, or the rows are not the part's.
    pub fn copy_row(&mut self, from: usize, to: usize) {
        let (columns, lanes) = (self.columns.clone(), self.lanes.clone());
        let src: *const [f32] = self.elements(from, columns.clone(), lanes.clone());
        let dst = self.elements(to, columns, lanes);
        assert!(from != to, "a row onto itself");
        // SAFETY: two rows of the part, whose elements `elements` checked; different ones do not overlap.
        dst.copy_from_slice(unsafe { &*src });
    }

    /// The `L` lanes from `lane` on, of some columns of one row.
    ///
    /// # Panics
    /// When they are not the part's.
    #[inline(always)]
    pub fn vectors<const L: usize>(
        &mut self,
        row: usize,
        columns: Range<usize>,
        lane: usize,
    ) -> impl Iterator<Item = &mut [f32; L]> {
        let inside = self.rows.contains(&row)
            && self.columns.start <= columns.start
            && columns.end <= self.columns.end
            && self.lanes.start <= lane
            && lane <= self.lanes.end
            && L <= self.lanes.end - lane;
        assert!(inside, "elements of another part");
        let pixel = self.pixel;
        // SAFETY: the row lies in the part's plane.
        let first = unsafe { self.start.add(row * self.row_stride + lane) };
        columns.map(move |i| {
            // SAFETY: row, column and lanes are the part's, as was just checked, and no two columns overlap; `self`
            // is borrowed for as long as the vectors.
            unsafe { &mut *first.add(i * pixel).cast() }
        })
    }
}

/// `L` lanes of the pixels of `R` source rows.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a, const L: usize, const R: usize> {
    first: [*const f32; R],
    stride: usize,
    count: usize,
    lifetime: PhantomData<&'a [f32]>,
}

impl<'a, const L: usize, const R: usize> Columns<'a, L, R> {
    /// `count` columns, at least one, each `stride` elements after the other. Row `r` begins at `starts[r] + lane`.
    ///
    /// # Panics
    /// When they are not all in `src`, or there are fewer than `R` starts.
    #[inline(always)]
    pub fn new(src: &'a [f32], starts: &[usize], lane: usize, stride: usize, count: usize) -> Self {
        let reach = (count - 1).saturating_mul(stride).saturating_add(L);
        let mut first = [std::ptr::null(); R];
        for r in 0..R {
            let at = starts[r] + lane;
            assert!(count > 0 && reach.saturating_add(at) <= src.len(), "columns outside the source");
            // SAFETY: `at` lies inside `src`.
            first[r] = unsafe { src.as_ptr().add(at) };
        }
        Columns { first, stride, count, lifetime: PhantomData }
    }

    /// Column `i`: a vector of each row.
    ///
    /// # Panics
    /// When there is none.
    #[inline(always)]
    pub fn get(&self, i: usize) -> [&'a [f32; L]; R] {
        assert!(i < self.count, "a column outside the rows");
        let mut column = [&[0.0; L]; R];
        for r in 0..R {
            // SAFETY: `new` checked that all of these vectors lie in the slice that it borrowed.
            column[r] = unsafe { &*self.first[r].add(i * self.stride).cast() };
        }
        column
    }
}

/// Calls `f(i, elements)` for chunk number `i` of `dst`, each `chunk` long (the last may be shorter); the team
/// shares the chunks, small ones several at a time.
pub(crate) fn for_each_chunk<E: Send>(dst: &mut [E], chunk: usize, f: impl Fn(usize, &mut [E]) + Sync) {
    for_each_chunk_by(dst, chunk, chunk * size_of::<E>(), f);
}

/// As [`for_each_chunk`], for chunks whose making touches this many **bytes** of anything.
pub(crate) fn for_each_chunk_by<E: Send>(
    dst: &mut [E],
    chunk: usize,
    bytes: usize,
    f: impl Fn(usize, &mut [E]) + Sync,
) {
    let chunks = dst.len().div_ceil(chunk);
    let together = (TASK_BYTES / bytes.max(1)).max(1);
    let len = dst.len();
    let out = SyncPtr::new(dst);
    parallel_for(chunks.div_ceil(together), |task| {
        for i in task * together..((task + 1) * together).min(chunks) {
            let size = chunk.min(len - i * chunk);
            // SAFETY: chunk `i` is `[i * chunk, i * chunk + size)`, inside `dst`, and no other task has this `i`.
            let elements = unsafe { std::slice::from_raw_parts_mut(out.get().add(i * chunk), size) };
            f(i, elements);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn pieces_of_all_three_layouts_cover_every_element_once() {
        let dims = [2, 17, 3, 5];
        let strided = |f| StridedTensor::zeros(&dims, DType::F32, f).unwrap();
        let views = [
            Lanes::of_strided(&strided(MemoryFormat::Contiguous)).unwrap(),
            Lanes::of_strided(&strided(MemoryFormat::ChannelsLast)).unwrap(),
            Lanes::of_layout("test", &dims, &Layout::NCHW16C).unwrap(),
            Lanes::of_layout("test", &dims, &Layout::NCHW8C).unwrap(),
        ];
        let len: Vec<usize> = views.iter().map(Lanes::len).collect();
        assert_eq!(len, [510, 510, 960, 720]);
        assert_eq!((views[2].blocks, views[2].lanes_in(0), views[2].lanes_in(1)), (2, 16, 1));
        for v in views {
            let mut data: Vec<f32> = (0..v.len()).map(|i| i as f32).collect();
            v.for_each_piece(&mut data, |p, elements| {
                let start = p.n * v.stride_n + p.block * v.stride_block + p.first * v.lanes;
                elements.iter_mut().enumerate().for_each(|(i, e)| *e -= (start + i) as f32);
            });
            assert!(data.iter().all(|&e| e == 0.0), "{v:?}");
        }
    }

    #[test]
    fn other_layouts_are_refused_by_name() {
        let e = Lanes::of_layout("max_pool2d", &[1, 16, 2, 2], &Layout::CHWN4).unwrap_err();
        assert!(e.to_string().contains("CHWN4") && e.to_string().contains("reorder_to"), "{e}");
    }
}
