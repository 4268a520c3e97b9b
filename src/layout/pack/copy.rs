//! The copies themselves, on raw pointers: the tasks of one copy write elements of `dst` that interleave.

use super::map::{self, Map, Pair, Side};
use super::plan::Plan;
use crate::threads::{SyncPtr, current_threads, parallel_for};
use kernels::Steps;

mod general;
mod kernels;
mod rows;
mod tiles;

/// Below this many **bytes** a copy runs on the calling thread: waking another costs more.
const INLINE_BYTES: usize = 64 << 10;

/// Below this many **bytes** a copy may find its data in the threads' own caches.
const CACHED_BYTES: usize = 4 << 20;

/// From this many **bytes** on a copy writes past the caches: the result would not stay in them. Tests stream sooner.
const STREAM_BYTES: usize = if cfg!(test) { 256 << 10 } else { 32 << 20 };

/// An element, by its size.
pub(super) trait Bits: bytemuck::Pod + Send + Sync {}
impl Bits for u8 {}
impl Bits for u16 {}
impl Bits for u32 {}

/// Copies every element of the index space, which is not empty, from where `src` holds it to where `dst` does, and
/// writes zeros to the padding of the plan's `lane`.
///
/// # Panics
/// When a side is too short for its maps, its bytes are not aligned, or `elem` is none of 1, 2, 4.
pub(super) fn copy(elem: usize, plan: &Plan, src: &[u8], dst: &mut [u8]) {
    match elem {
        1 => typed::<u8>(plan, src, dst),
        2 => typed::<u16>(plan, whole(src, 2), whole_mut(dst, 2)),
        4 => typed::<u32>(plan, whole(src, 4), whole_mut(dst, 4)),
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

fn typed<T: Bits>(plan: &Plan, src: &[T], dst: &mut [T]) {
    // The maps never decrease, so the last index is the farthest, and padding lies no farther than the last padded
    // index: every access below stays inside both slices.
    let pairs = || plan.pairs();
    let last_src: usize = pairs().map(|p| p.src.at(p.size - 1)).sum();
    let last_dst: usize = pairs().map(|p| p.dst.at(p.padded() - 1)).sum();
    assert!(last_src < src.len(), "the source is shorter than its shape");
    assert!(last_dst < dst.len(), "the result is shorter than its shape");
    match plan {
        Plan::General { outer } => general::copy(outer, src, dst),
        Plan::Rows { lane, lanes, run, outer } => rows::copy(lane, *lanes, run, outer, src, dst),
        Plan::Tiles { gather, lane, lanes, run, outer } => match gather {
            true => tiles::gather(lane, *lanes, run, outer, src, dst),
            false => tiles::scatter(lane, *lanes, run, outer, src, dst),
        },
    }
}

/// Calls `work` with ranges that together cover `0..units` once, in parallel where `bytes` are many.
fn in_tasks(units: usize, bytes: usize, work: impl Fn(std::ops::Range<usize>) + Sync) {
    let threads = current_threads();
    let work = |range| {
        work(range);
        if bytes >= STREAM_BYTES {
            kernels::fence();
        }
    };
    if bytes <= INLINE_BYTES || units <= 1 || threads == 1 {
        return work(0..units);
    }
    // A large copy is cut finer, so that a thread that is held up leaves its share to the others; a small one is not,
    // so that a thread meets the same elements in its own cache again.
    let finest = if bytes < CACHED_BYTES { threads } else { threads * 4 };
    let tasks = (bytes / (INLINE_BYTES / 2)).clamp(1, finest).min(units);
    parallel_for(tasks, |t| work(units * t / tasks..units * (t + 1) / tasks));
}

/// Parts of about the same size, a multiple of `step` and near `most`, that cover `0..n`: how many, and their size.
fn even_parts(n: usize, most: usize, step: usize) -> (usize, usize) {
    let size = n.div_ceil(n.div_ceil(most)).next_multiple_of(step);
    (n.div_ceil(size), size)
}

/// How the positions of a run step through one side.
enum Offsets {
    Even(usize),
    Table(Vec<usize>),
}

impl Offsets {
    fn of(run: &[Pair], side: Side) -> Offsets {
        match run {
            [] => Offsets::Even(0),
            [one] if side(one).is_plain() => Offsets::Even(side(one).stride),
            _ => {
                let positions = run.iter().map(|p| p.size).product();
                Offsets::Table((0..positions).map(|x| offset(run, side, x)).collect())
            }
        }
    }

    /// Where groups of `lanes` begin along one dimension.
    fn of_groups(map: &Map, lanes: usize, groups: usize) -> Offsets {
        match map.block {
            1 => Offsets::Even(map.stride * lanes),
            block if block == lanes => Offsets::Even(map.stride),
            _ => Offsets::Table((0..groups).map(|g| map.at(g * lanes)).collect()),
        }
    }

    fn steps(&self) -> Steps<'_> {
        match self {
            Offsets::Even(step) => Steps::Even(*step),
            Offsets::Table(table) => Steps::Table(table),
        }
    }
}

/// Where the `n`-th index of these dimensions lies on one side; the last dimension turns fastest.
fn offset(pairs: &[Pair], side: Side, n: usize) -> usize {
    let mut rest = n;
    let mut at = 0;
    for pair in pairs.iter().rev() {
        at += side(pair).at(rest % pair.size);
        rest /= pair.size;
    }
    at
}

fn src_of(pair: &Pair) -> &Map {
    &pair.src
}

fn dst_of(pair: &Pair) -> &Map {
    &pair.dst
}

/// **Bytes** that a copy of these dimensions writes, padding left out.
fn bytes_of<'a, T>(pairs: impl Iterator<Item = &'a Pair>) -> usize {
    pairs.map(|p| p.size).product::<usize>() * size_of::<T>()
}

/// The number of indices of these dimensions.
fn count(pairs: &[Pair]) -> usize {
    map::sizes(pairs).iter().product()
}
