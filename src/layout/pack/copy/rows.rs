//! Both sides dense along the same dimension: copies of rows.

use super::kernels::{self, Patch};
use super::*;

/// **Bytes** of one side that a task copies row by row before it goes on to the next group of lanes.
const PATCH_BYTES: usize = 16 << 10;

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
    let blocked = !lane.dst.is_plain();
    let patch_positions = (PATCH_BYTES / size_of::<T>() / lane.padded()).max(16);
    let patches = positions.div_ceil(patch_positions);
    let to = SyncPtr::new(dst);
    let bytes = bytes_of::<T>([lane].into_iter().chain(run).chain(outer));
    let stream = bytes >= STREAM_BYTES;
    in_tasks(count(outer) * patches, bytes, |range| {
        for unit in range {
            let start = unit % patches * patch_positions;
            let end = positions.min(start + patch_positions);
            let (s, d) = (offset(outer, src_of, unit / patches), offset(outer, dst_of, unit / patches));
            for group in 0..groups {
                let first = group * lanes;
                let valid = lane.size.saturating_sub(first).min(lanes);
                let patch = Patch {
                    src: src_steps,
                    dst: dst_steps,
                    start,
                    end,
                    valid,
                    store: if blocked { lanes } else { valid },
                    stream,
                };
                // A group that is padding has no source; any place will do.
                let from = s + if valid == 0 { 0 } else { lane.src.at(first) };
                // SAFETY: `typed` checked the last index and the last padded lane, and maps never decrease, so the
                // rows lie inside both slices; every row belongs to one unit, and no two rows share elements.
                unsafe {
                    let to = to.get().add(d + lane.dst.at(first));
                    kernel(src.as_ptr().add(from), to, patch);
                }
            }
        }
    });
}
