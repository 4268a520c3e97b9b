//! The copies themselves, on raw pointers: the tasks of one copy write elements of `dst` that interleave.

use super::map::{self, Pair};
use crate::threads::{SyncPtr, current_threads, parallel_for};

mod general;

/// Below this many **bytes** a copy runs on the calling thread: waking another costs more.
const INLINE_BYTES: usize = 64 << 10;

/// An element, by its size.
pub(super) trait Bits: bytemuck::Pod + Send + Sync {}
impl Bits for u8 {}
impl Bits for u16 {}
impl Bits for u32 {}

/// Copies every element of the index space, which is not empty, from where `src` holds it to where `dst` does.
///
/// # Panics
/// When a side is too short for its maps, its bytes are not aligned, or `elem` is none of 1, 2, 4.
pub(super) fn copy(elem: usize, pairs: &[Pair], src: &[u8], dst: &mut [u8]) {
    match elem {
        1 => typed::<u8>(pairs, src, dst),
        2 => typed::<u16>(pairs, whole(src, 2), whole_mut(dst, 2)),
        4 => typed::<u32>(pairs, whole(src, 4), whole_mut(dst, 4)),
        _ => panic!("no element has {elem} bytes"),
    }
}

fn whole<T: bytemuck::Pod>(bytes: &[u8], size: usize) -> &[T] {
    bytemuck::cast_slice(&bytes[..bytes.len() / size * size])
}

fn whole_mut<T: bytemuck::Pod>(bytes: &mut [u8], size: usize) -> &mut [T] {
    let n = bytes.len() / size * size;
    bytemuck::cast_slice_mut(&mut bytes[..n])
}

fn typed<T: Bits>(pairs: &[Pair], src: &[T], dst: &mut [T]) {
    // The maps never decrease, so the last index is the farthest: every access below stays inside both slices.
    let last = |side: fn(&Pair) -> &map::Map| pairs.iter().map(|p| side(p).at(p.size - 1)).sum::<usize>();
    assert!(last(|p| &p.src) < src.len(), "the source is shorter than its shape");
    assert!(last(|p| &p.dst) < dst.len(), "the result is shorter than its shape");
    general::copy(pairs, src, dst);
}

/// Calls `work` with ranges that together cover `0..units` once, in parallel where `bytes` are many.
fn in_tasks(units: usize, bytes: usize, work: impl Fn(std::ops::Range<usize>) + Sync) {
    let threads = current_threads();
    if bytes <= INLINE_BYTES || units <= 1 || threads == 1 {
        return work(0..units);
    }
    let tasks = (bytes / (INLINE_BYTES / 2)).clamp(1, threads * 4).min(units);
    parallel_for(tasks, |t| work(units * t / tasks..units * (t + 1) / tasks));
}
