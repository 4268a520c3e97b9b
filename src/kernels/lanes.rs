//! One view of NCHW, NHWC and blocked activations: rows of pixels, each pixel a group of channel *lanes*.
//!
//! | layout | lanes | blocks of lanes | a row of the view |
//! |---|---|---|---|
//! | nChw16c and its like | 16 | ceil(C / 16), the last one padded | W pixels of 16 lanes |
//! | channels-last | C | 1 | W pixels of C lanes |
//! | contiguous (NCHW) | 1 | C | W pixels of 1 lane |
//!
//! A kernel that is written once, over rows and lanes, serves all three layouts and computes the same bits in each. Its vector
//! loop runs along the lanes; the threads of the team share the rows.

use crate::dtype::Element;
use crate::elementwise;
use crate::error::{Call, Complaint, Error, Result, Text};
pub(crate) use crate::kernels::lane_sizes::{Lanes, RowIndex};
use crate::kernels::lent::{PixelTile, PixelTileGeometry};
use crate::kernels::plane_part::{self, PartRange};
use crate::layout::blocked::Layout;
use crate::layout::memory_format::MemoryFormat;
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::strided::StridedTensor;
use crate::threads::{SyncPtr, parallel_ranges};
use std::marker::PhantomData;

/// The least number of bytes of the result that one task of a parallel section writes.
const TASK_BYTES: usize = 32 << 10;

/// About the number of bytes that one task of [`Lanes::for_each_plane_part`] reads and writes. A row that costs more is cut.
const PART_BYTES: usize = 64 << 10;
/// No part of a row has fewer lanes.
const MIN_PART_LANES: usize = 64;
/// No part of a row has fewer columns (pixels).
const MIN_PART_COLUMNS: usize = 16;

/// A part of one plane of a result.
pub(crate) type PlanePart<'a, E> = plane_part::PlanePart<'a, RowIndex, E>;

/// Where a run of neighbouring pixels of one block of one image begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PixelRun {
    pub n: usize,
    pub block: usize,
    /// The first pixel, counted over D, H and W.
    pub first: usize,
}

impl Lanes {
    /// The view of a strided tensor of rank 2 to 5 that is dense, row-major or channels-last; `None` for any other tensor.
    pub fn of_strided(t: &StridedTensor) -> Option<Lanes> {
        let c = *t.dims().get(1)?;
        if t.is_contiguous(MemoryFormat::Contiguous) {
            return Lanes::dense(t.dims(), 1, c);
        }
        let last = MemoryFormat::channels_last_of(t.rank())?;
        if t.is_contiguous(last) { Lanes::dense(t.dims(), c, 1) } else { None }
    }

    /// The view of a dense tensor of rank 3 to 5 in `format`. This is for results: some sizes have the same strides in both
    /// formats, so the strides do not tell the format.
    pub fn of_format(dims: &[usize], format: MemoryFormat) -> Option<Lanes> {
        let c = *dims.get(1)?;
        if format == MemoryFormat::Contiguous { Lanes::dense(dims, 1, c) } else { Lanes::dense(dims, c, 1) }
    }

    /// The view of a blocked activation.
    ///
    /// # Errors
    /// `LayoutMismatch` for a layout that is not `nC..<block>c`, such as those of weights, or CHWN4.
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
                Text::from("reorder with ") + Call::ReorderToNative(dims.len()),
            ))
        })
    }

    /// Logical channels in a block: fewer than `lanes` in the last one.
    pub fn lanes_in(&self, block: usize) -> usize {
        self.lanes.min(self.c - block * self.lanes)
    }

    /// The offset of the first element of a row.
    pub fn offset(&self, row: RowIndex) -> usize {
        row.n * self.stride_n + row.block * self.stride_block + row.d * self.stride_d + row.h * self.stride_h
    }

    /// The offset of the first element of a run of pixels.
    pub fn run_offset(&self, run: PixelRun) -> usize {
        run.n * self.stride_n + run.block * self.stride_block + run.first * self.lanes
    }

    /// Elements of a row.
    pub fn row_len(&self) -> usize {
        self.spatial[2] * self.lanes
    }

    /// Elements of one block of one image, which are contiguous.
    pub fn plane_len(&self) -> usize {
        self.spatial.iter().product::<usize>() * self.lanes
    }

    /// Pixels of an image.
    pub fn pixels(&self) -> usize {
        self.spatial.iter().product()
    }

    /// Channels of an image, including padding.
    pub fn padded_channels(&self) -> usize {
        self.blocks * self.lanes
    }

    /// All elements, including padding.
    pub fn len(&self) -> usize {
        self.n * self.stride_n
    }

    /// Calls `f(run, elements)` for runs of pixels that cover `dst`. A run lies in one plane (block of an image) and is not much
    /// larger than a task. The threads of the team share the runs.
    pub fn for_each_pixel_run<E: Send>(&self, dst: &mut [E], f: impl Fn(PixelRun, &mut [E]) + Sync) {
        let dst = &mut dst[..self.len()];
        if dst.is_empty() {
            return;
        }
        let per_plane = (self.plane_len() * size_of::<E>()).div_ceil(TASK_BYTES).min(self.pixels());
        let runs = self.n * self.blocks * per_plane;
        let per_task = (TASK_BYTES * runs / size_of_val(dst)).max(1);
        let out = SyncPtr::new(dst);
        parallel_ranges(runs, per_task, |range| {
            for i in range {
                let (plane, run) = (i / per_plane, i % per_plane);
                let [first, end] = [run, run + 1].map(|r| self.pixels() * r / per_plane);
                let offset = plane * self.plane_len() + first * self.lanes;
                // SAFETY: the planes of a dense view follow each other without a gap, and the runs of one plane are ranges of
                // its pixels that do not overlap. No other task has this `i`.
                let elements = unsafe {
                    std::slice::from_raw_parts_mut(out.get().add(offset), (end - first) * self.lanes)
                };
                f(PixelRun { n: plane / self.blocks, block: plane % self.blocks, first }, elements);
            }
        });
    }

    /// Writes +0 to the elements of the padding of `dst` that are anything else.
    pub fn clear_padding<E: Element>(&self, dst: &mut [E]) {
        if self.c.is_multiple_of(self.lanes) {
            return;
        }
        let used = self.lanes_in(self.blocks - 1);
        self.for_each_pixel_run(dst, |run, dst| {
            if run.block == self.blocks - 1 {
                elementwise::clear_tail(dst, self.lanes, used);
            }
        });
    }

    /// Calls `f` for tiles of at most `pixels` pixels with all their channels. The tiles cover `dst`; the threads of the team
    /// share them.
    pub fn for_each_tile<E: Element>(
        &self,
        dst: &mut [E],
        pixels: usize,
        f: impl Fn(PixelTile<'_, E>) + Sync,
    ) {
        let dst = &mut dst[..self.len()];
        if dst.is_empty() {
            return;
        }
        let per_image = self.pixels().div_ceil(pixels);
        let tiles = self.n * per_image;
        let per_task = (TASK_BYTES * tiles / size_of_val(dst)).max(1);
        let out = SyncPtr::new(dst);
        parallel_ranges(tiles, per_task, |range| {
            for i in range {
                let (n, first) = (i / per_image, i % per_image * pixels);
                // SAFETY: this is the offset of a pixel of the view, so it lies inside `dst`.
                let start = unsafe { out.get().add(n * self.stride_n + first * self.lanes) };
                let pixels = pixels.min(self.pixels() - first);
                let (stride_block, blocks, lanes) = (self.stride_block, self.blocks, self.lanes);
                let geometry = PixelTileGeometry { n, first, pixels, stride_block, blocks, lanes };
                // SAFETY: no other task has these pixels of `dst`, and `dst` is borrowed until all tasks are done.
                unsafe { PixelTile::lend(start, geometry, &f) };
            }
        });
    }

    /// Calls `f(state, part)` for parts that cover `dst`; the threads of the team share them. `row_bytes` is the cost of one row:
    /// the **bytes** that it reads and writes. A part has some rows of one plane. A task has several parts if they are small, and
    /// one `state` for all of them. A row that costs much is cut: along its lanes if it has many, else along W.
    pub fn for_each_plane_part<S, E: Element>(
        &self,
        dst: &mut [E],
        row_bytes: usize,
        state: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, &mut PlanePart<'_, E>) + Sync,
    ) {
        let [depth, height, width] = self.spatial;
        let dst = &mut dst[..self.len()];
        if dst.is_empty() {
            return;
        }
        let cuts = row_bytes.div_ceil(PART_BYTES).max(1);
        let lane_cuts = cuts.min(self.lanes / MIN_PART_LANES).max(1);
        let column_cuts = (cuts / lane_cuts).min(width / MIN_PART_COLUMNS).max(1);
        let rows = (PART_BYTES / row_bytes.max(1)).clamp(1, height);
        let row_cuts = height.div_ceil(rows);
        let parts = self.n * self.blocks * depth * row_cuts * lane_cuts * column_cuts;
        let per_task = (PART_BYTES / (row_bytes * rows).max(1)).max(1);
        let out = SyncPtr::new(dst);
        parallel_ranges(parts, per_task, |range| {
            let mut state = state();
            for i in range {
                let (rest, lane_cut) = (i / lane_cuts, i % lane_cuts);
                let (rest, column_cut) = (rest / column_cuts, rest % column_cuts);
                let (rest, row_cut) = (rest / row_cuts, rest % row_cuts);
                let (rest, d) = (rest / depth, rest % depth);
                let plane = RowIndex { n: rest / self.blocks, block: rest % self.blocks, d, h: 0 };
                // The last part takes all remaining lanes, so that no part has fewer than `MIN_PART_LANES`.
                let wide = self.lanes / lane_cuts;
                let lane_end = if lane_cut + 1 == lane_cuts { self.lanes } else { (lane_cut + 1) * wide };
                let range = PartRange {
                    plane,
                    rows: row_cut * rows..((row_cut + 1) * rows).min(height),
                    columns: width * column_cut / column_cuts..width * (column_cut + 1) / column_cuts,
                    lanes: lane_cut * wide..lane_end,
                };
                // SAFETY: the plane lies inside `dst`, which was cut to the length of the view above. Parts do not overlap, and no
                // other task has this `i`.
                let mut part = unsafe {
                    let start = out.get().add(self.offset(plane));
                    PlanePart::new(start, self.stride_h, self.lanes, range)
                };
                f(&mut state, &mut part);
            }
        });
    }
}

/// Vectors of `L` lanes of the pixels of `R` source rows.
#[derive(Clone, Copy)]
pub(crate) struct RowVectors<'a, E, const L: usize, const R: usize> {
    first: [*const E; R],
    stride: usize,
    count: usize,
    lifetime: PhantomData<&'a [E]>,
}

impl<'a, E, const L: usize, const R: usize> RowVectors<'a, E, L, R> {
    /// `count` columns, at least one, with `stride` elements from one to the next. Row `r` begins at `starts[r] + lane`.
    ///
    /// # Panics
    /// If they are not all in `src`, or there are fewer than `R` starts.
    #[inline(always)]
    pub fn new(src: &'a [E], starts: &[usize], lane: usize, stride: usize, count: usize) -> Self {
        let reach = (count - 1).saturating_mul(stride).saturating_add(L);
        let mut first = [std::ptr::null(); R];
        for r in 0..R {
            let at = starts[r] + lane;
            assert!(count > 0 && reach.saturating_add(at) <= src.len(), "columns outside the source");
            // SAFETY: `at` lies inside `src`.
            first[r] = unsafe { src.as_ptr().add(at) };
        }
        RowVectors { first, stride, count, lifetime: PhantomData }
    }

    /// Column `i`: a vector of each row.
    ///
    /// # Panics
    /// If there is no such column.
    #[inline(always)]
    pub fn get(&self, i: usize) -> [&'a [E; L]; R] {
        assert!(i < self.count, "a column outside the rows");
        // SAFETY: `new` checked that all of these vectors lie in the slice that it borrowed.
        let vector = |r: usize| unsafe { &*self.first[r].add(i * self.stride).cast() };
        let mut column = [vector(0); R];
        for r in 1..R {
            column[r] = vector(r);
        }
        column
    }
}

/// Calls `f(i, elements)` for every chunk of `dst`, where `i` is the index of the chunk. Chunks have `chunk` elements; the last
/// one may have fewer. The threads of the team share the chunks; a task has several if they are small.
pub(crate) fn for_each_chunk<E: Send>(dst: &mut [E], chunk: usize, f: impl Fn(usize, &mut [E]) + Sync) {
    for_each_chunk_by(dst, chunk, chunk * size_of::<E>(), f);
}

/// As [`for_each_chunk`]. `bytes` is the cost of one chunk: the **bytes** of memory that computing it touches.
pub(crate) fn for_each_chunk_by<E: Send>(
    dst: &mut [E],
    chunk: usize,
    bytes: usize,
    f: impl Fn(usize, &mut [E]) + Sync,
) {
    let chunks = dst.len().div_ceil(chunk);
    let per_task = (TASK_BYTES / bytes.max(1)).max(1);
    let len = dst.len();
    let out = SyncPtr::new(dst);
    parallel_ranges(chunks, per_task, |range| {
        for i in range {
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
    fn pixel_runs_of_all_three_layouts_cover_every_element_once() {
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
            v.for_each_pixel_run(&mut data, |run, elements| {
                let start = v.run_offset(run);
                elements.iter_mut().enumerate().for_each(|(i, e)| *e -= (start + i) as f32);
            });
            assert!(data.iter().all(|&e| e == 0.0), "{v:?}");
        }
    }

    /// Sizes of many small planes, of a few wide rows, and of rows with many lanes.
    const SIZES: [[usize; 4]; 4] = [[2, 17, 3, 5], [1, 3, 40, 900], [3, 300, 2, 70], [2, 1, 1, 1]];

    fn views(dims: &[usize]) -> Vec<Lanes> {
        let mut views = vec![
            Lanes::of_format(dims, MemoryFormat::Contiguous).unwrap(),
            Lanes::of_format(dims, MemoryFormat::ChannelsLast).unwrap(),
        ];
        let layouts = [Layout::NCHW16C, Layout::NCHW8C];
        views.extend(layouts.iter().map(|layout| Lanes::of_layout("test", dims, layout).unwrap()));
        views
    }

    #[test]
    fn tiles_have_every_element_once_where_their_pixels_say() {
        for v in SIZES.iter().flat_map(|dims| views(dims)) {
            for pixels in [1, 16, 1000] {
                let mut data = vec![0f32; v.len()];
                v.for_each_tile(&mut data, pixels, |mut tile| {
                    let (n, first, count) =
                        (tile.geometry().n, tile.geometry().first, tile.geometry().pixels);
                    assert!(count <= pixels && first + count <= v.pixels());
                    for block in 0..v.blocks {
                        let start = v.run_offset(PixelRun { n, block, first });
                        let own = tile.block(block);
                        assert_eq!(own.len(), count * v.lanes);
                        own.iter_mut().enumerate().for_each(|(i, e)| *e += (start + i) as f32 + 1.0);
                    }
                });
                assert!(data.iter().enumerate().all(|(i, &e)| e == i as f32 + 1.0), "{v:?} {pixels}");
            }
        }
    }

    #[test]
    fn parts_of_planes_have_every_element_once() {
        for v in SIZES.iter().flat_map(|dims| views(dims)) {
            // Many rows in a part, one row, and rows that are cut.
            for row_bytes in [1, 64 << 10, 16 << 20] {
                let mut data = vec![0f32; v.len()];
                v.for_each_plane_part(
                    &mut data,
                    row_bytes,
                    || (),
                    |_, part| {
                        let (plane, rows) = (part.plane, part.rows.clone());
                        let (columns, lanes) = (part.columns.clone(), part.lanes.clone());
                        for h in rows {
                            for x in columns.clone() {
                                let start = v.offset(RowIndex { h, ..plane }) + x * v.lanes + lanes.start;
                                let own = part.elements(h, x..x + 1, lanes.clone());
                                own.iter_mut().enumerate().for_each(|(i, e)| *e += (start + i) as f32 + 1.0);
                            }
                        }
                    },
                );
                assert!(data.iter().enumerate().all(|(i, &e)| e == i as f32 + 1.0), "{v:?} {row_bytes}");
            }
        }
    }

    #[test]
    fn chunks_have_every_element_once_and_the_last_is_shorter() {
        for (len, chunk) in [(0, 3), (1, 3), (10, 3), (100_000, 7), (100_000, 60_000)] {
            let mut data = vec![0usize; len];
            for_each_chunk(&mut data, chunk, |i, part| {
                assert!(part.len() == chunk || part.len() == len - i * chunk);
                part.iter_mut().enumerate().for_each(|(at, e)| *e += i * chunk + at + 1);
            });
            assert!(data.iter().enumerate().all(|(i, &e)| e == i + 1), "{len} {chunk}");
        }
    }

    #[test]
    fn clearing_makes_padding_plus_zero_and_touches_nothing_else() {
        for v in SIZES.iter().flat_map(|dims| views(dims)) {
            let mut data: Vec<f32> = (0..v.len()).map(|i| [f32::NAN, -0.0, 3.0][i % 3]).collect();
            let before = data.clone();
            v.clear_padding(&mut data);
            for (i, (after, before)) in data.iter().zip(&before).enumerate() {
                let (lane, plane) = (i % v.lanes, i / v.plane_len());
                let want = if lane < v.lanes_in(plane % v.blocks) { before.to_bits() } else { 0 };
                assert_eq!(after.to_bits(), want, "{v:?} element {i}");
            }
        }
    }

    #[test]
    fn columns_are_those_of_their_rows() {
        let src: Vec<f32> = (0..100).map(|i| i as f32).collect();
        let rows = RowVectors::<f32, 4, 2>::new(&src, &[10, 50], 3, 8, 5);
        for i in 0..5 {
            let want = [13, 53].map(|start| std::array::from_fn(|l| (start + i * 8 + l) as f32));
            assert_eq!(rows.get(i).map(|v| *v), want);
        }
    }

    #[test]
    #[should_panic(expected = "outside the source")]
    fn columns_past_the_end_are_refused() {
        // The last vector would have elements 97 to 100.
        RowVectors::<f32, 4, 2>::new(&[0.0; 100], &[10, 62], 3, 8, 5);
    }

    #[test]
    #[should_panic(expected = "outside the rows")]
    fn a_column_past_the_last_is_refused() {
        RowVectors::<f32, 4, 1>::new(&[0.0; 100], &[0], 0, 8, 5).get(5);
    }

    #[test]
    fn other_layouts_are_refused_by_name() {
        let e = Lanes::of_layout("max_pool2d", &[1, 16, 2, 2], &Layout::CHWN4).unwrap_err();
        assert!(e.to_string().contains("CHWN4") && e.to_string().contains("reorder_to"), "{e}");
    }
}
