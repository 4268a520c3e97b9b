//! The copies themselves, on raw pointers: the elements of `dst` that different tasks write interleave.

use super::map::{self, CopyDim, OffsetMap, Side};
use super::plan::CopyPlan;
use crate::machine::machine;
use crate::threads::{SyncPtr, current_threads, parallel_for, share};
use kernels::OffsetsRef;

mod general;
mod kernels;
mod rows;
mod tiles;

/// Below this many **bytes** a copy runs on the calling thread: waking other threads costs more than they save.
const INLINE_BYTES: usize = 64 << 10;

/// Below this many **bytes** a copy may find its data in the threads' own caches.
fn cached_bytes() -> usize {
    4 * machine().caches.second
}

/// From this many **bytes** on a copy writes past the caches, since the result would not stay in them. Tests use a smaller
/// threshold.
fn stream_bytes() -> usize {
    if cfg!(test) { 256 << 10 } else { machine().caches.last }
}

/// An element, by its size.
pub(super) trait ElementBits: bytemuck::Pod + Send + Sync {}
impl ElementBits for u8 {}
impl ElementBits for u16 {}
impl ElementBits for u32 {}

/// Copies every element from `src` to `dst`, and writes zeros to the padding of the plan's `lane`. No dimension is empty.
///
/// # Panics
/// When a side is too short for its maps or not aligned for its elements, or `elem` is none of 1, 2, 4.
pub(super) fn copy(elem: usize, plan: &CopyPlan, src: &[u8], dst: &mut [u8]) {
    match elem {
        1 => typed::<u8>(plan, src, dst),
        2 => typed::<u16>(plan, elements(src, 2), elements_mut(dst, 2)),
        4 => typed::<u32>(plan, elements(src, 4), elements_mut(dst, 4)),
        _ => panic!("no element has {elem} bytes"),
    }
}

/// `bytes` as elements of `size` bytes; an incomplete one at the end is left out.
fn elements<T: bytemuck::Pod>(bytes: &[u8], size: usize) -> &[T] {
    bytemuck::cast_slice(&bytes[..bytes.len() / size * size])
}

fn elements_mut<T: bytemuck::Pod>(bytes: &mut [u8], size: usize) -> &mut [T] {
    let n = bytes.len() / size * size;
    bytemuck::cast_slice_mut(&mut bytes[..n])
}

fn typed<T: ElementBits>(plan: &CopyPlan, src: &[T], dst: &mut [T]) {
    // The maps never decrease, so no index has a larger offset than the last one, and no padding than the last padded index:
    // every access below stays inside both slices.
    let dims = || plan.dims();
    let last_src: usize = dims().map(|p| p.src.at(p.size - 1)).sum();
    let last_dst: usize = dims().map(|p| p.dst.at(p.padded() - 1)).sum();
    assert!(last_src < src.len(), "the source is shorter than its shape");
    assert!(last_dst < dst.len(), "the result is shorter than its shape");
    match plan {
        CopyPlan::General { outer } => general::copy(outer, src, dst),
        CopyPlan::Rows { lane, lanes, positions, outer } => {
            rows::copy(lane, *lanes, positions, outer, src, dst)
        }
        CopyPlan::Tiles { gather, lane, lanes, positions, outer } => match gather {
            true => tiles::gather(lane, *lanes, positions, outer, src, dst),
            false => tiles::scatter(lane, *lanes, positions, outer, src, dst),
        },
    }
}

/// Calls `work` with ranges that together cover `0..units` once. Large copies run in parallel.
fn in_tasks(units: usize, bytes: usize, work: impl Fn(std::ops::Range<usize>) + Sync) {
    let threads = current_threads();
    let work = |range| {
        work(range);
        if bytes >= stream_bytes() {
            kernels::fence();
        }
    };
    if bytes <= INLINE_BYTES || units <= 1 || threads == 1 {
        return work(0..units);
    }
    // A large copy has several tasks for each thread, so that other threads take over when one is delayed. A small copy has one,
    // so that a thread copies the same elements each time and finds them in its cache.
    let finest = if bytes < cached_bytes() { threads } else { threads * 4 };
    let tasks = (bytes / (INLINE_BYTES / 2)).clamp(1, finest).min(units);
    parallel_for(tasks, |task| work(share(0..units, task, tasks)));
}

/// Cuts `0..n` into parts of about the same size, a multiple of `step` near `most`: the number of parts, and their size.
fn even_parts(n: usize, most: usize, step: usize) -> (usize, usize) {
    let size = n.div_ceil(n.div_ceil(most)).next_multiple_of(step);
    (n.div_ceil(size), size)
}

/// The offsets of positions on one side, in **elements**.
enum Offsets {
    /// Multiples of a step.
    Even(usize),
    /// One offset for each position.
    Table(Vec<usize>),
}

impl Offsets {
    fn of(dims: &[CopyDim], side: Side) -> Offsets {
        match dims {
            [] => Offsets::Even(0),
            [one] if side(one).is_plain() => Offsets::Even(side(one).stride),
            _ => {
                let positions = dims.iter().map(|p| p.size).product();
                Offsets::Table((0..positions).map(|x| offset(dims, side, x)).collect())
            }
        }
    }

    /// The offsets of groups of `lanes` indices of one dimension.
    fn of_groups(map: &OffsetMap, lanes: usize, groups: usize) -> Offsets {
        match map.block {
            1 => Offsets::Even(map.stride * lanes),
            block if block == lanes => Offsets::Even(map.stride),
            _ => Offsets::Table((0..groups).map(|g| map.at(g * lanes)).collect()),
        }
    }

    fn as_ref(&self) -> OffsetsRef<'_> {
        match self {
            Offsets::Even(step) => OffsetsRef::Even(*step),
            Offsets::Table(table) => OffsetsRef::Table(table),
        }
    }
}

/// The offset on one side of the `n`-th index of these dimensions. The last dimension varies fastest.
fn offset(dims: &[CopyDim], side: Side, n: usize) -> usize {
    let mut rest = n;
    let mut at = 0;
    for dim in dims.iter().rev() {
        at += side(dim).at(rest % dim.size);
        rest /= dim.size;
    }
    at
}

fn src_of(dim: &CopyDim) -> &OffsetMap {
    &dim.src
}

fn dst_of(dim: &CopyDim) -> &OffsetMap {
    &dim.dst
}

/// **Bytes** that a copy of these dimensions writes, without padding.
fn bytes_of<'a, T>(dims: impl Iterator<Item = &'a CopyDim>) -> usize {
    dims.map(|p| p.size).product::<usize>() * size_of::<T>()
}

/// The number of indices of these dimensions.
fn count(dims: &[CopyDim]) -> usize {
    map::sizes(dims).iter().product()
}
