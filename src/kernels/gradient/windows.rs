//! Gradients of pooling: each element of the incoming gradient goes to the window that it came from.

use super::planes::{Plane, over_planes};
use crate::error::Result;
use crate::kernels::pool::geometry::{Span, Windows};
use crate::op::{Backward, Gradients};
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};
use crate::simd::{self, Loop};

/// Lanes that a vector loop processes at once.
const GROUP: usize = 16;

/// Runs a block for each window of a plane, with the number of its result's pixel and its spans. A macro, as is [`for_each_tap`]: the
/// compiler leaves a large closure a function of its own, without the instructions of the vector loop around it.
macro_rules! for_each_window {
    ($windows:expr, |$i:ident, $spans:ident| $body:block) => {
        let [d, h, w] = &$windows.axes;
        let mut $i = 0;
        for &d in &d.list {
            for &h in &h.list {
                for &w in &w.list {
                    let $spans = [d, h, w];
                    $body
                    $i += 1;
                }
            }
        }
    };
}

/// Runs a block with the number of each pixel of a window.
macro_rules! for_each_tap {
    ($windows:expr, $spans:expr, $size:expr, |$pixel:ident| $body:block) => {
        let [d, h, w]: [Span; 3] = $spans;
        for i in 0..d.taps {
            for j in 0..h.taps {
                let row = ($windows.at(0, d, i) * $size[0] + $windows.at(1, h, j)) * $size[1];
                for k in 0..w.taps {
                    let $pixel = row + $windows.at(2, w, k);
                    $body
                }
            }
        }
    };
}

/// The gradient of a maximum: all of an element goes to the first largest element of its window, or to the last NaN, as in
/// PyTorch.
pub(crate) fn max_pool(call: &Backward<'_>, windows: &Windows) -> Result<Gradients> {
    over_planes(call, |plane| Width::<GROUP>::dispatch(MaxLoop { plane, windows }))
}

/// The gradient of a mean: each element of a window gets an equal part, whose number `count` of the windows says.
pub(crate) fn avg_pool(call: &Backward<'_>, windows: &Windows) -> Result<Gradients> {
    over_planes(call, |plane| simd::dispatch(AvgLoop { plane, windows }))
}

struct MaxLoop<'a> {
    plane: Plane<'a>,
    windows: &'a Windows,
}

impl VectorLoop<GROUP> for MaxLoop<'_> {
    #[inline(always)]
    fn run<V: Vector<GROUP>>(self, proof: V::Proof) {
        let MaxLoop { mut plane, windows } = self;
        let whole = plane.lanes / GROUP * GROUP;
        for lane in (0..whole).step_by(GROUP) {
            max_of_group::<V>(proof, &mut plane, windows, lane);
        }
        for lane in whole..plane.lanes {
            max_of_lane(&mut plane, windows, lane);
        }
    }
}

/// The lanes from `lane` on. The first tap that equals the maximum takes what there is to give, so that nothing is scattered.
#[inline(always)]
fn max_of_group<V: Vector<GROUP>>(proof: V::Proof, plane: &mut Plane<'_>, windows: &Windows, lane: usize) {
    let (lanes, size) = (plane.lanes, plane.size);
    let [none, one, lowest] = [0.0, 1.0, f32::NEG_INFINITY].map(|x| V::splat(proof, x));
    let mut has_nan = none;
    for_each_window!(windows, |i, spans| {
        let mut largest = lowest;
        for_each_tap!(windows, spans, size, |pixel| {
            let x = V::load(proof, lanes_at(plane.x, pixel * lanes + lane));
            largest = x.larger_or(largest);
            has_nan = x.if_equal(x, has_nan, one);
        });
        let mut left = V::load(proof, lanes_at(plane.diff, i * lanes + lane));
        for_each_tap!(windows, spans, size, |pixel| {
            let at = pixel * lanes + lane;
            let x = V::load(proof, lanes_at(plane.x, at));
            let to = plane.dst[at..].first_chunk_mut().expect("lanes of a pixel");
            V::load(proof, to).add(x.if_equal(largest, left, none)).store(to);
            left = x.if_equal(largest, none, left);
        });
    });
    let mut found = [0.0; GROUP];
    has_nan.store(&mut found);
    // A NaN equals nothing: its channel is computed again, one element at a time.
    for (lane, _) in (lane..).zip(found).filter(|(_, found)| *found != 0.0) {
        plane.dst[lane..].iter_mut().step_by(lanes).for_each(|to| *to = 0.0);
        max_of_lane(plane, windows, lane);
    }
}

#[inline(always)]
fn lanes_at(data: &[f32], at: usize) -> &[f32; GROUP] {
    data[at..].first_chunk().expect("lanes of a pixel")
}

#[inline(always)]
fn max_of_lane(plane: &mut Plane<'_>, windows: &Windows, lane: usize) {
    let (lanes, size) = (plane.lanes, plane.size);
    for_each_window!(windows, |i, spans| {
        let (mut best, mut place) = (0f32, None);
        for_each_tap!(windows, spans, size, |pixel| {
            let at = pixel * lanes + lane;
            let v = plane.x[at];
            if place.is_none() || v > best || v.is_nan() {
                (best, place) = (v, Some(at));
            }
        });
        if let Some(at) = place {
            plane.dst[at] += plane.diff[i * lanes + lane];
        }
    });
}

struct AvgLoop<'a> {
    plane: Plane<'a>,
    windows: &'a Windows,
}

impl Loop for AvgLoop<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let AvgLoop { mut plane, windows } = self;
        let whole = plane.lanes / GROUP * GROUP;
        for lane in (0..whole).step_by(GROUP) {
            avg_of_lanes::<GROUP>(&mut plane, windows, lane);
        }
        for lane in whole..plane.lanes {
            avg_of_lanes::<1>(&mut plane, windows, lane);
        }
    }
}

#[inline(always)]
fn avg_of_lanes<const L: usize>(plane: &mut Plane<'_>, windows: &Windows, lane: usize) {
    let (lanes, size) = (plane.lanes, plane.size);
    for_each_window!(windows, |i, spans| {
        let count: f32 = spans.iter().map(|span| span.count as f32).product();
        let mut part: [f32; L] = *plane.diff[i * lanes + lane..].first_chunk().expect("lanes of a pixel");
        for l in 0..L {
            part[l] /= count;
        }
        for_each_tap!(windows, spans, size, |pixel| {
            let to = plane.dst[pixel * lanes + lane..].first_chunk_mut::<L>().expect("lanes of a pixel");
            for l in 0..L {
                to[l] += part[l];
            }
            simd::end_of_chunk();
        });
    });
}
