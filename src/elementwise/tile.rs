//! Copies one tile between memory of any strides: gather, scatter, transpose.

use crate::layout::dims::{Dims, ToDims};
use crate::simd;

/// The memory of a tile in one operand: its first element, and the strides in elements.
#[derive(Clone, Copy)]
pub(super) struct TileMemory<'a, P> {
    pub start: P,
    pub strides: &'a [usize],
}

/// Copies a tile of these extents. With `stream` whole cache lines bypass the cache if the kernel can do that.
///
/// # Safety
/// Every element of the tile is valid for reading (`src`) and writing (`dst`). No element of `dst` shares memory with another
/// element of `dst` or with `src`. During the call nobody else writes these elements or reads `dst`.
pub(super) unsafe fn copy<T: Copy>(
    extents: &[usize],
    src: TileMemory<'_, *const T>,
    dst: TileMemory<'_, *mut T>,
    stream: bool,
) {
    let used: Dims = (0..extents.len()).filter(|&d| extents[d] != 1).to_dims();
    let Some(&row) = used.iter().min_by_key(|&&d| dst.strides[d]) else {
        // SAFETY: the caller's promise for the only element.
        unsafe { dst.start.write(src.start.read()) };
        return;
    };
    // A broadcast dimension (stride 0) is never the column: its value is read once and written many times.
    let densest = used.iter().copied().filter(|&d| src.strides[d] != 0).min_by_key(|&d| src.strides[d]);
    let column = densest.filter(|&d| d != row && src.strides[row] != 0);
    let rest: Dims = used.iter().copied().filter(|&d| d != row && Some(d) != column).to_dims();
    let axis = |d: usize| TileAxis { n: extents[d], src: src.strides[d], dst: dst.strides[d] };
    let inner = |from: usize, to: usize| {
        // SAFETY: both offsets are sums of index times stride within the tile.
        let (from, to) = unsafe { (src.start.add(from), dst.start.add(to)) };
        match column {
            // SAFETY: the caller's promise for this part of the tile.
            Some(c) => unsafe { copy_plane(axis(row), axis(c), from, to, stream) },
            // SAFETY: as above.
            None => unsafe { copy_line(axis(row), from, to) },
        }
    };
    for_each_offset_pair(&rest, extents, src.strides, dst.strides, 0, 0, &inner);
}

/// Calls `f` with the offsets in source and destination of every index over the dimensions `over`, the first one fastest.
fn for_each_offset_pair(
    over: &[usize],
    extents: &[usize],
    src: &[usize],
    dst: &[usize],
    from: usize,
    to: usize,
    f: &impl Fn(usize, usize),
) {
    match over.split_last() {
        None => f(from, to),
        Some((&d, rest)) => (0..extents[d]).for_each(|i| {
            for_each_offset_pair(rest, extents, src, dst, from + i * src[d], to + i * dst[d], f)
        }),
    }
}

/// One dimension of a tile: its extent and the strides in source and destination.
#[derive(Clone, Copy)]
struct TileAxis {
    n: usize,
    src: usize,
    dst: usize,
}

/// Copies the elements along one dimension.
///
/// # Safety
/// As [`copy`], for one line.
#[inline]
unsafe fn copy_line<T: Copy>(line: TileAxis, src: *const T, dst: *mut T) {
    // SAFETY: index times stride stays within the tile; the caller's promise.
    unsafe {
        match (line.src, line.dst) {
            (1, 1) => std::ptr::copy_nonoverlapping(src, dst, line.n),
            (0, 1) => std::slice::from_raw_parts_mut(dst, line.n).fill(src.read()),
            (s, 1) => (0..line.n).for_each(|i| dst.add(i).write(src.add(i * s).read())),
            (s, d) => (0..line.n).for_each(|i| dst.add(i * d).write(src.add(i * s).read())),
        }
    }
}

/// Copies the elements along two dimensions: `row`, the destination's densest, and `column`, the source's densest. Transposes
/// square blocks in vector registers where both are dense.
///
/// # Safety
/// As [`copy`], for these two dimensions.
unsafe fn copy_plane<T: Copy>(row: TileAxis, column: TileAxis, src: *const T, dst: *mut T, stream: bool) {
    let edge = match simd::transpose_edge(size_of::<T>()) {
        Some(edge) if row.dst == 1 && column.src == 1 && row.n >= edge && column.n >= edge => edge,
        _ => {
            for c in 0..column.n {
                // SAFETY: line c of the tile; the caller's promise.
                unsafe { copy_line(row, src.add(c * column.src), dst.add(c * column.dst)) };
            }
            return;
        }
    };
    // If the edge does not divide a line, the last block starts early and writes some elements a second time, with the same
    // values. Columns are the inner loop, so that the source is read in order, which suits the prefetcher.
    for r in (0..row.n).step_by(edge).map(|r| r.min(row.n - edge)) {
        for c in (0..column.n).step_by(edge).map(|c| c.min(column.n - edge)) {
            // SAFETY: the block at (r, c) lies within the tile; the caller's promise.
            unsafe {
                let (from, to) = (src.add(r * row.src + c), dst.add(c * column.dst + r));
                simd::transpose(from, row.src, to, column.dst, stream);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Copy + PartialEq + Default + std::fmt::Debug>(make: impl Fn(usize) -> T) {
        let extents = [35, 3, 19];
        for (ss, ds) in [
            ([1, 35, 105], [1, 35, 105]),
            ([57, 19, 1], [1, 35, 105]),
            ([57, 19, 1], [2, 70, 210]),
            ([0, 1, 3], [1, 35, 105]),
            ([0, 0, 0], [57, 1, 3]),
        ] {
            let src: Vec<T> = (0..1995).map(&make).collect();
            let mut dst = vec![T::default(); 2 * 1995];
            let from = TileMemory { start: src.as_ptr(), strides: &ss };
            let to = TileMemory { start: dst.as_mut_ptr(), strides: &ds };
            // SAFETY: the largest index times stride is inside both; the destination's strides are nested.
            unsafe { copy(&extents, from, to, false) };
            let at = |s: &[usize; 3], i, j, k| i * s[0] + j * s[1] + k * s[2];
            for i in 0..extents[0] {
                for j in 0..extents[1] {
                    for k in 0..extents[2] {
                        assert_eq!(dst[at(&ds, i, j, k)], src[at(&ss, i, j, k)], "{ss:?} {ds:?} {i} {j} {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_pair_of_strides_copies_element_by_element() {
        check(|i| i as u32 + 1);
        check(|i| i as u16 + 1);
        check(|i| (i % 251) as u8);
    }
}
