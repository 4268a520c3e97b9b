//! Copies of transposed tiles, for one side that is dense along lanes and another that is dense along positions.

use super::kernels::{self, TileStrip};
use super::*;

/// Positions of one row of lanes that a task copies at a time.
const STRIP: usize = 1024;

/// Reads lines of `src`, writes rows of `dst`. The caller has checked the bounds of both slices.
pub(super) fn gather<T: ElementBits>(
    lane: &CopyDim,
    lanes: usize,
    positions: &[CopyDim],
    outer: &[CopyDim],
    src: &[T],
    dst: &mut [T],
) {
    let kernel = match lanes {
        16 => kernels::gather::<T, 16>,
        8 => kernels::gather::<T, 8>,
        4 => kernels::gather::<T, 4>,
        _ => kernels::gather::<T, 2>,
    };
    let to = SyncPtr::new(dst);
    let bytes = bytes_of::<T>([lane].into_iter().chain(positions).chain(outer));
    let copy = TileCopy { lane, lanes, lines: src_of, rows: dst_of, size: lane.padded(), positions, outer };
    copy.for_each_strip(bytes, |lines_at, rows_at, strip| {
        // SAFETY: `typed` checked the last index and the last padded lane, and maps never decrease, so the strip is
        // inside both slices; every index belongs to one strip, and distinct indices to distinct elements of dst.
        unsafe { kernel(src.as_ptr().add(lines_at), to.get().add(rows_at), strip) }
    });
}

/// Reads rows of `src`, writes lines of `dst`. The caller has checked the bounds of both slices.
pub(super) fn scatter<T: ElementBits>(
    lane: &CopyDim,
    lanes: usize,
    positions: &[CopyDim],
    outer: &[CopyDim],
    src: &[T],
    dst: &mut [T],
) {
    let kernel = match lanes {
        16 => kernels::scatter::<T, 16>,
        8 => kernels::scatter::<T, 8>,
        4 => kernels::scatter::<T, 4>,
        _ => kernels::scatter::<T, 2>,
    };
    let to = SyncPtr::new(dst);
    let bytes = bytes_of::<T>([lane].into_iter().chain(positions).chain(outer));
    let copy = TileCopy { lane, lanes, lines: dst_of, rows: src_of, size: lane.size, positions, outer };
    copy.for_each_strip(bytes, |lines_at, rows_at, strip| {
        // SAFETY: as in `gather`. Rows that are blocks may be read whole, since the source stores whole blocks.
        unsafe { kernel(src.as_ptr().add(rows_at), to.get().add(lines_at), strip) }
    });
}

/// A copy between rows of lanes on one side and lines of positions on the other.
struct TileCopy<'a> {
    lane: &'a CopyDim,
    lanes: usize,
    lines: Side,
    rows: Side,
    /// Lanes to copy. Includes padding lanes if they are written.
    size: usize,
    positions: &'a [CopyDim],
    outer: &'a [CopyDim],
}

impl TileCopy<'_> {
    /// Calls `f(offset of the lines, offset of the rows, strip)` for strips that together cover everything once.
    fn for_each_strip(&self, bytes: usize, f: impl Fn(usize, usize, TileStrip<'_>) + Sync) {
        let TileCopy { lane, lanes, lines, rows, size, positions, outer } = *self;
        let blocked = !rows(lane).is_plain();
        let offsets = Offsets::of(positions, rows);
        let position_count = count(positions);
        let (strips, strip_positions) = even_parts(position_count, STRIP, 16);
        let groups = size.div_ceil(lanes);
        in_tasks(count(outer) * groups * strips, bytes, |range| {
            for unit in range {
                let start = unit % strips * strip_positions;
                let first = unit / strips % groups * lanes;
                let index = unit / strips / groups;
                let valid = lane.size.saturating_sub(first).min(lanes);
                let strip = TileStrip {
                    rows: offsets.as_ref(),
                    line: lines(lane).stride,
                    start,
                    count: (position_count - start).min(strip_positions),
                    valid,
                    store: if blocked { lanes } else { valid },
                    stream: bytes >= stream_bytes(),
                };
                // A group of padding lanes has no line, and reads nothing: any offset will do.
                let line = if valid == 0 { 0 } else { lines(lane).at(first) };
                f(
                    offset(outer, lines, index) + line,
                    offset(outer, rows, index) + rows(lane).at(first),
                    strip,
                );
            }
        });
    }
}
