//! Both sides dense along the same dimension: copies of rows.

use super::kernels::{self, Patch};
use super::*;

/// **Bytes** of one side that make a unit of work: with the other side they stay in a second-level cache.
const PATCH_BYTES: usize = 64 << 10;

/// Groups of lanes that are copied together at each position. More sequences than a first-level cache has ways would
/// push each other out, where their distance is a multiple of a page; streaming passes the caches by.
const GROUPS: usize = 8;

/// The caller has checked the bounds of both slices.
pub(super) fn copy<T: Bits>(
    lane: &Pair,
    lanes: usize,
    run: &[Pair],
    outer: &[Pair],
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
    let (src_offsets, dst_offsets) = (Offsets::of(run, src_of), Offsets::of(run, dst_of));
    let (src_steps, dst_steps) = (src_offsets.steps(), dst_offsets.steps());
    let positions = count(run);
    let groups = lane.padded().div_ceil(lanes);
    let whole = lane.size / lanes;
    let (src_groups, dst_groups) =
        (Offsets::of_groups(&lane.src, lanes, whole), Offsets::of_groups(&lane.dst, lanes, groups));
    let (src_groups, dst_groups) = (src_groups.steps(), dst_groups.steps());
    let blocked = !lane.dst.is_plain();
    let fitting = (PATCH_BYTES / size_of::<T>() / lane.padded()).max(16);
    let (patches, patch_positions) = even_parts(positions, fitting, 16);
    let to = SyncPtr::new(dst);
    let bytes = bytes_of::<T>([lane].into_iter().chain(run).chain(outer));
    let stream = bytes >= STREAM_BYTES;
    let together = if stream { groups } else { GROUPS };
    in_tasks(count(outer) * patches, bytes, |range| {
        for unit in range {
            let start = unit % patches * patch_positions;
            let count = patch_positions.min(positions - start);
            let (s, d) = (offset(outer, src_of, unit / patches), offset(outer, dst_of, unit / patches));
            for first in (0..whole).step_by(together) {
                let patch = Patch {
                    src: [src_steps, src_groups],
                    dst: [dst_steps, dst_groups],
                    start: [start, first],
                    count: [count, together.min(whole - first)],
                    valid: lanes,
                    store: lanes,
                    stream,
                };
                // SAFETY: `typed` checked the last index and the last padded lane, and maps never decrease, so the
                // rows lie inside both slices; every row belongs to one unit, and no two rows share elements.
                unsafe { kernel(src.as_ptr().add(s), to.get().add(d), patch) };
            }
            for group in whole..groups {
                let valid = lane.size.saturating_sub(group * lanes);
                // A group that is padding has no source; any place will do.
                let from = s + if valid == 0 { 0 } else { lane.src.at(group * lanes) };
                let tail = Patch {
                    src: [src_steps, Steps::Even(0)],
                    dst: [dst_steps, Steps::Even(0)],
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
