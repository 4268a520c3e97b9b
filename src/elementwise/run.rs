//! Runs a kernel over the tiles of a loop nest, in parallel.

use super::plan::{LoopNest, LoopTile, LoopTiles, MAX_OPERANDS, Tiling};
use super::tile::{self, TileMemory};
use crate::layout::dims::Dims;
use crate::machine::machine;
use crate::simd;
use crate::threads::{SyncPtr, current_threads, parallel_for, share};

/// Fewer elements than this are not worth waking other threads.
const PARALLEL_FROM: usize = 32 << 10;
/// Elements of one tile of a dense copy.
const DENSE_TILE: usize = 256 << 10;

/// The rows of one tile of every operand: what a kernel works on. A row is dense, or a single value that is repeated along
/// it. Strides are in elements from row to row.
pub(super) struct TileRows {
    pub dst: *mut u8,
    pub src: [*const u8; MAX_OPERANDS - 1],
    pub dst_stride: usize,
    pub src_strides: [usize; MAX_OPERANDS - 1],
    pub single: [bool; MAX_OPERANDS - 1],
    pub rows: usize,
    pub length: usize,
    /// Each row is one vector of 8 or 16 elements.
    pub vectors: bool,
}

/// The storage of a source from its first element on, and the size of its elements in **bytes**.
#[derive(Clone, Copy)]
pub(super) struct SourceStorage<'a> {
    pub bytes: &'a [u8],
    pub size: usize,
}

/// Splits `count` pieces of work, `numel` elements in total, over the threads.
pub(super) fn in_parallel(count: usize, numel: usize, work: impl Fn(std::ops::Range<usize>) + Sync) {
    let threads = current_threads();
    let tasks = if numel < PARALLEL_FROM || threads == 1 { 1 } else { count.min(threads * 4) };
    if tasks <= 1 {
        return work(0..count);
    }
    parallel_for(tasks, |task| work(share(0..count, task, tasks)));
}

/// Calls `kernel` until every element of the destination is written.
///
/// # Safety
/// - `dst` and `srcs` are valid for the elements that the loop nest visits, which have these sizes (1, 2 or 4 bytes) and are
///   aligned to them.
/// - No element of `dst` shares memory with another element of `dst` or with a source, and nobody else accesses `dst` during
///   the call.
/// - `kernel` writes `rows * length` elements at `dst`, reads as many elements of each source (`rows` elements of a single
///   one), at the strides given, and accesses nothing else.
pub(super) unsafe fn run(
    nest: &LoopNest,
    dst: SyncPtr<u8>,
    dst_size: usize,
    srcs: &[SourceStorage<'_>],
    kernel: &(dyn Fn(&TileRows) + Sync),
) {
    let tiling = Tiling::new(nest);
    let tiles = LoopTiles::new(nest, &tiling.extents, tiling.row_dims - 1, tiling.rows_along);
    in_parallel(tiles.count(), nest.numel(), |range| {
        let mut scratch = ScratchTiles::new(nest, &tiling);
        tiles.for_each(range, |t| {
            let row_extents = &t.extents[..tiling.row_dims];
            let length = row_extents.iter().product();
            let rows = tiling.rows_along.map_or(1, |a| t.extents[a]);
            let mut block = TileRows {
                dst: dst.get(),
                src: [std::ptr::null(); MAX_OPERANDS - 1],
                dst_stride: length,
                src_strides: [length; MAX_OPERANDS - 1],
                single: std::array::from_fn(|k| tiling.single[k + 1]),
                rows,
                length,
                vectors: tiling.vectors,
            };
            for (k, src) in srcs.iter().enumerate() {
                let step = tiling.rows_along.map_or(0, |a| nest.steps[k + 1][a]);
                // SAFETY: the offset is that of an element of the operand.
                let start = unsafe { src.bytes.as_ptr().add(t.offsets[k + 1] * src.size) };
                if tiling.in_place[k + 1] {
                    (block.src[k], block.src_strides[k]) = (start, step);
                    continue;
                }
                let gathered = if step == 0 { 1 } else { rows };
                // SAFETY: the tile is in the operand, and scratch has room for a full tile.
                block.src[k] = unsafe { scratch.gather(k + 1, start, src.size, nest, &tiling, t, gathered) };
                if step == 0 {
                    block.src_strides[k] = 0;
                }
            }
            // SAFETY: the offset is that of an element of the destination.
            let to = unsafe { dst.get().add(t.offsets[0] * dst_size) };
            if tiling.in_place[0] {
                block.dst = to;
                block.dst_stride = tiling.rows_along.map_or(0, |a| nest.steps[0][a]);
                kernel(&block);
            } else {
                block.dst = scratch.tile(0);
                kernel(&block);
                // SAFETY: the tile is in the destination, and no other task has it.
                unsafe { scratch.scatter(to, dst_size, nest, &tiling, t) };
            }
        });
    });
}

/// Scratch tiles of one task, for the operands that are not used in place.
struct ScratchTiles {
    memory: Vec<u64>,
    /// Length of one operand's tile in words of 8 bytes.
    words: usize,
    /// What was gathered last into each tile: start address, rows and length.
    gathered: [(usize, usize, usize); MAX_OPERANDS],
}

impl ScratchTiles {
    fn new(nest: &LoopNest, tiling: &Tiling) -> ScratchTiles {
        let elements: usize = tiling.extents.iter().product();
        let words = elements.div_ceil(2).next_multiple_of(8);
        let wanted = tiling.in_place[..nest.operands].iter().any(|&b| !b);
        let memory = vec![0; if wanted { words * nest.operands } else { 0 }];
        ScratchTiles { memory, words, gathered: [(0, 0, 0); MAX_OPERANDS] }
    }

    fn tile(&mut self, operand: usize) -> *mut u8 {
        self.memory[operand * self.words..].as_mut_ptr().cast()
    }

    /// Extents and strides of the scratch tile: dense, first along the row, then from row to row.
    fn dense_layout(nest: &LoopNest, tiling: &Tiling, t: &LoopTile, rows: usize) -> (Dims, Dims) {
        let mut extents = Dims::filled(1, nest.sizes.len());
        let mut strides = Dims::filled(0, nest.sizes.len());
        let mut step = 1;
        for d in 0..tiling.row_dims {
            (extents[d], strides[d]) = (t.extents[d], step);
            step *= t.extents[d];
        }
        if let Some(a) = tiling.rows_along {
            (extents[a], strides[a]) = (rows, step);
        }
        (extents, strides)
    }

    /// Copies a tile of an operand into scratch, unless it is there already.
    ///
    /// # Safety
    /// The tile is in the operand at `start`, whose elements have this size.
    #[allow(clippy::too_many_arguments)]
    unsafe fn gather(
        &mut self,
        operand: usize,
        start: *const u8,
        size: usize,
        nest: &LoopNest,
        tiling: &Tiling,
        t: &LoopTile,
        rows: usize,
    ) -> *const u8 {
        let to = self.tile(operand);
        let length = t.extents[..tiling.row_dims].iter().product();
        let now = (start as usize, rows, length);
        if std::mem::replace(&mut self.gathered[operand], now) != now {
            let (extents, strides) = ScratchTiles::dense_layout(nest, tiling, t, rows);
            // SAFETY: the caller's promise; a scratch tile has room for a full tile of the widest element.
            unsafe { copy_sized(size, &extents, start, &nest.steps[operand], to, &strides, false) };
        }
        to
    }

    /// Copies the destination's scratch tile to its place in memory.
    ///
    /// # Safety
    /// The tile is in the destination at `to`, whose elements have this size, and nobody else accesses it.
    unsafe fn scatter(&mut self, to: *mut u8, size: usize, nest: &LoopNest, tiling: &Tiling, t: &LoopTile) {
        let from = self.tile(0);
        let (extents, strides) =
            ScratchTiles::dense_layout(nest, tiling, t, tiling.rows_along.map_or(1, |a| t.extents[a]));
        // SAFETY: the caller's promise.
        unsafe { copy_sized(size, &extents, from, &strides, to, &nest.steps[0], false) };
    }
}

/// Copies every element of the source to the destination of the loop nest.
///
/// # Safety
/// As [`run`], with one source whose elements have the destination's size.
pub(super) unsafe fn copy(nest: &LoopNest, dst: SyncPtr<u8>, src: SourceStorage<'_>) {
    let mut tiling = Tiling::new(nest);
    let dense = nest.sizes.len() == 1 && tiling.in_place[0] && tiling.in_place[1];
    if dense {
        tiling.extents[0] = nest.sizes[0].min(DENSE_TILE);
    }
    // The caches could not hold it.
    let stream = nest.numel() * src.size >= machine().caches.last;
    let tiles = LoopTiles::new(nest, &tiling.extents, tiling.row_dims - 1, tiling.rows_along);
    // Rows that start inside a cache line cannot be streamed one by one. A whole dense tile of such rows can: it is assembled
    // in the stage and streamed from there.
    let rows_step = tiling.rows_along.map_or(0, |a| nest.steps[0][a] * src.size);
    let staged = stream && !rows_step.is_multiple_of(crate::ALIGN);
    in_parallel(tiles.count(), nest.numel(), |range| {
        let mut stage = vec![0u64; if staged { tiling.extents.iter().product() } else { 0 }];
        tiles.for_each(range, |t| {
            let strides = &nest.steps[0];
            // SAFETY: the tile is in both tensors, and no other task has it; the stage has room for a full tile.
            unsafe {
                let from = src.bytes.as_ptr().add(t.offsets[1] * src.size);
                let to = dst.get().add(t.offsets[0] * src.size);
                if staged && is_dense(&t.extents, strides) {
                    let stage = stage.as_mut_ptr().cast();
                    copy_sized(src.size, &t.extents, from, &nest.steps[1], stage, strides, false);
                    let bytes = t.extents.iter().product::<usize>() * src.size;
                    simd::stream_copy(std::slice::from_raw_parts(stage, bytes), to);
                } else {
                    copy_sized(src.size, &t.extents, from, &nest.steps[1], to, strides, stream);
                }
            }
        });
        if stream {
            simd::stream_fence();
        }
    });
}

/// Whether a tile is contiguous memory. Dimensions are sorted by their strides.
fn is_dense(extents: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1;
    extents.iter().zip(strides).filter(|&(&n, _)| n > 1).all(|(&n, &stride)| {
        let fits = stride == expected;
        expected *= n;
        fits
    })
}

/// [`tile::copy`] for elements of 1, 2 or 4 bytes.
///
/// # Safety
/// As [`tile::copy`].
unsafe fn copy_sized(
    size: usize,
    extents: &Dims,
    src: *const u8,
    src_strides: &Dims,
    dst: *mut u8,
    dst_strides: &Dims,
    stream: bool,
) {
    let (from, to) =
        (TileMemory { start: src, strides: src_strides }, TileMemory { start: dst, strides: dst_strides });
    // SAFETY: the caller's promise; casts keep the element's size and alignment.
    unsafe {
        match size {
            1 => tile::copy(extents, from, to, stream),
            2 => tile::copy::<u16>(extents, from.cast(), to.cast(), stream),
            _ => tile::copy::<u32>(extents, from.cast(), to.cast(), stream),
        }
    }
}

impl<'a> TileMemory<'a, *const u8> {
    fn cast<T>(self) -> TileMemory<'a, *const T> {
        TileMemory { start: self.start.cast(), strides: self.strides }
    }
}

impl<'a> TileMemory<'a, *mut u8> {
    fn cast<T>(self) -> TileMemory<'a, *mut T> {
        TileMemory { start: self.start.cast(), strides: self.strides }
    }
}
