//! Copies of rows, for sides that are dense along the same dimension.

use super::kernels::{self, RowPatch};
use super::*;

/// **Bytes** of one side in a unit of work. With those of the other side they stay in a second-level cache.
fn patch_bytes() -> usize {
    machine().caches.second / 16
}

/// Groups of lanes that are copied together at each position. Each group is a sequence of memory accesses. If the distance
/// between the sequences is a multiple of a page, more of them than a first-level cache has ways evict each other. Streaming
/// copies bypass the caches and have no such limit.
const GROUPS: usize = 8;

/// The caller has checked the bounds of both slices.
pub(super) fn copy<T: ElementBits>(
    lane: &CopyDim,
    lanes: usize,
    positions: &[CopyDim],
    outer: &[CopyDim],
    src: &[T],
    dst: &mut [T],
) {
    let kernel = match lanes {
        16 => kernels::rows::<T, 16>,
        8 => kernels::rows::<T, 8>,
        4 => kernels::rows::<T, 4>,
        2 => kernels::rows::<T, 2>,
        _ => kernels::rows::<T, 0>,
    };
    let (src_offsets, dst_offsets) = (Offsets::of(positions, src_of), Offsets::of(positions, dst_of));
    let (src_positions, dst_positions) = (src_offsets.as_ref(), dst_offsets.as_ref());
    let position_count = count(positions);
    let groups = lane.padded().div_ceil(lanes);
    let whole = lane.size / lanes;
    let (src_groups, dst_groups) =
        (Offsets::of_groups(&lane.src, lanes, whole), Offsets::of_groups(&lane.dst, lanes, groups));
    let (src_groups, dst_groups) = (src_groups.as_ref(), dst_groups.as_ref());
    let blocked = !lane.dst.is_plain();
    let fitting = (patch_bytes() / size_of::<T>() / lane.padded()).max(16);
    let (patches, patch_positions) = even_parts(position_count, fitting, 16);
    let to = SyncPtr::new(dst);
    let bytes = bytes_of::<T>([lane].into_iter().chain(positions).chain(outer));
    let stream = bytes >= stream_bytes();
    let together = if stream { groups } else { GROUPS };
    in_tasks(count(outer) * patches, bytes, |range| {
        for unit in range {
            let start = unit % patches * patch_positions;
            let count = patch_positions.min(position_count - start);
            let (s, d) = (offset(outer, src_of, unit / patches), offset(outer, dst_of, unit / patches));
            for first in (0..whole).step_by(together) {
                let patch = RowPatch {
                    src: [src_positions, src_groups],
                    dst: [dst_positions, dst_groups],
                    start: [start, first],
                    count: [count, together.min(whole - first)],
                    valid: lanes,
                    store: lanes,
                    stream,
                };
                // SAFETY: `typed` checked the last index and the last padded lane, and maps never decrease, so the
                // rows are inside both slices; every row belongs to one unit, and no two rows share elements.
                unsafe { kernel(src.as_ptr().add(s), to.get().add(d), patch) };
            }
            for group in whole..groups {
                let valid = lane.size.saturating_sub(group * lanes);
                // A group of padding lanes has no source, and reads nothing: any offset will do.
                let from = s + if valid == 0 { 0 } else { lane.src.at(group * lanes) };
                let tail = RowPatch {
                    src: [src_positions, OffsetsRef::Even(0)],
                    dst: [dst_positions, OffsetsRef::Even(0)],
                    start: [start, 0],
                    count: [count, 1],
                    valid,
                    store: if blocked { lanes } else { valid },
                    stream: false,
                };
                // SAFETY: as above.
                unsafe { kernel(src.as_ptr().add(from), to.get().add(d + lane.dst.at(group * lanes)), tail) };
            }
        }
    });
}
