//! One side dense along lanes, the other along positions: transposed tiles.

use super::kernels::{self, Strip};
use super::*;

/// Positions that one task takes through one row of lanes at a time.
const STRIP: usize = 1024;

/// Rows on the side of `dst`. The caller has checked the bounds of both slices.
pub(super) fn gather<T: Bits>(
    lane: &Pair,
    lanes: usize,
    run: &[Pair],
    outer: &[Pair],
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
    let bytes = bytes_of::<T>([lane].into_iter().chain(run).chain(outer));
    let shape = Shape { lane, lanes, lines: src_of, rows: dst_of, size: lane.padded(), run, outer };
    shape.for_each_strip(bytes, |lines_at, rows_at, strip| {
        // SAFETY: `typed` checked the last index and the last padded lane, and maps never decrease, so the strip lies
        // inside both slices; every index belongs to one strip, and distinct indices to distinct elements of dst.
        unsafe { kernel(src.as_ptr().add(lines_at), to.get().add(rows_at), strip) }
    });
}

/// Rows on the side of `src`. The caller has checked the bounds of both slices.
pub(super) fn scatter<T: Bits>(
    lane: &Pair,
    lanes: usize,
    run: &[Pair],
    outer: &[Pair],
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
    let bytes = bytes_of::<T>([lane].into_iter().chain(run).chain(outer));
    let shape = Shape { lane, lanes, lines: dst_of, rows: src_of, size: lane.size, run, outer };
    shape.for_each_strip(bytes, |lines_at, rows_at, strip| {
        // SAFETY: as in `gather`; whole rows may be read where they lie in blocks, which the source holds whole.
        unsafe { kernel(src.as_ptr().add(rows_at), to.get().add(lines_at), strip) }
    });
}

struct Shape<'a> {
    lane: &'a Pair,
    lanes: usize,
    lines: Side,
    rows: Side,
    /// Lanes to visit, padding included where it is written.
    size: usize,
    run: &'a [Pair],
    outer: &'a [Pair],
}

impl Shape<'_> {
    /// Calls `f(where the lines begin, where the rows begin, strip)` for strips that cover everything once.
    fn for_each_strip(&self, bytes: usize, f: impl Fn(usize, usize, Strip<'_>) + Sync) {
        let Shape { lane, lanes, lines, rows, size, run, outer } = *self;
        let blocked = !rows(lane).is_plain();
        let offsets = Offsets::of(run, rows);
        let positions = count(run);
        let (strips, strip_positions) = even_parts(positions, STRIP, 16);
        let groups = size.div_ceil(lanes);
        in_tasks(count(outer) * groups * strips, bytes, |range| {
            for unit in range {
                let start = unit % strips * strip_positions;
                let first = unit / strips % groups * lanes;
                let index = unit / strips / groups;
                let valid = lane.size.saturating_sub(first).min(lanes);
                let strip = Strip {
                    rows: offsets.steps(),
                    line: lines(lane).stride,
                    start,
                    count: (positions - start).min(strip_positions),
                    valid,
                    store: if blocked { lanes } else { valid },
                    stream: bytes >= STREAM_BYTES,
                };
                // A group that is padding has no line of its own; any will do.
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
