//! Gradients of pooling: each element of the incoming gradient goes to the window that it came from.

use std::ops::Range;

use super::max_rows::{self, RowsLoop};
use super::planes::{Plane, fill_planes, of_x};
use super::readers::PlaneReaders;
use crate::error::Result;
use crate::kernels::pool::geometry::{Span, Windows};
use crate::memory::check_room;
use crate::op::{Backward, Gradients};
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};
use crate::simd::{self, Loop};
use crate::threads::current_threads;

/// Lanes that a vector loop processes at once.
const GROUP: usize = 16;

/// Runs a block for each window of a plane and each of some lanes, with the number of the result's pixel and the window's spans. All lanes
/// of a row of windows come before the next row, so that its pixels are still near. A macro, as is `for_each_tap`: the compiler leaves
/// a large closure a function of its own, without the instructions of the vector loop around it.
macro_rules! for_each_window {
    ($windows:expr, $lanes:expr, |$i:ident, $spans:ident, $lane:ident| $body:block) => {
        let [d, h, w] = &$windows.axes;
        let mut first = 0;
        for &d in &d.list {
            for &h in &h.list {
                for $lane in $lanes {
                    let mut $i = first;
                    for &w in &w.list {
                        let $spans = [d, h, w];
                        $body
                        $i += 1;
                    }
                }
                first += w.list.len();
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
    of_x(call, |dense, dst| {
        fill_planes(dense, dst, |mut plane| {
            if max_rows::takes(&plane, windows) && !has_nan(plane.x) {
                Width::<GROUP>::dispatch(RowsLoop { plane: &mut plane, windows });
            } else {
                Width::<GROUP>::dispatch(MaxLoop { plane, windows });
            }
        });
        Ok(())
    })
}

/// The gradient of a mean: each element of a window gets an equal part, whose number `count` of the windows says.
pub(crate) fn avg_pool(call: &Backward<'_>, windows: &Windows) -> Result<Gradients> {
    of_x(call, |dense, dst| {
        if dense.x_view.lanes == 1 {
            let results = [0, 1, 2].map(|axis| &windows.axes[axis].list[..]);
            let readers = PlaneReaders::new(dense.x_view.spatial, results, |axis, &span| {
                (0..span.taps).map(move |tap| (windows.at(axis, span, tap), 1.0))
            });
            // The parts of a plane for each thread.
            check_room(call.args.op(), current_threads() * dense.diff_view.plane_len() * size_of::<f32>())?;
            fill_planes(dense, dst, |mut plane| {
                let parts = simd::dispatch(Parts { diff: plane.diff, windows });
                readers.gather(&mut plane, &parts);
            });
        } else {
            fill_planes(dense, dst, |plane| simd::dispatch(AvgLoop { plane, windows }));
        }
        Ok(())
    })
}

/// What each element of a window gets, of windows of one lane.
struct Parts<'a> {
    diff: &'a [f32],
    windows: &'a Windows,
}

impl Loop for Parts<'_> {
    type Out = Vec<f32>;
    #[inline(always)]
    fn run(self) -> Vec<f32> {
        let Parts { diff, windows: Windows { axes: [d, h, w] } } = self;
        let mut parts = diff.to_vec();
        let counts: Vec<f32> = w.list.iter().map(|span| span.count as f32).collect();
        // An adaptive pool may have no results.
        let mut rows = parts.chunks_exact_mut(counts.len().max(1));
        for d in &d.list {
            for (h, row) in h.list.iter().zip(&mut rows) {
                let rows = d.count as f32 * h.count as f32;
                row.iter_mut().zip(&counts).for_each(|(part, count)| *part /= rows * count);
            }
        }
        parts
    }
}

fn has_nan(x: &[f32]) -> bool {
    x.iter().fold(false, |has, x| has | x.is_nan())
}

struct MaxLoop<'a> {
    plane: Plane<'a>,
    windows: &'a Windows,
}

impl VectorLoop<GROUP> for MaxLoop<'_> {
    #[inline(always)]
    fn run<V: Vector<GROUP>>(self, proof: V::Proof) {
        let MaxLoop { mut plane, windows } = self;
        plane.dst.fill(0.0);
        let whole = plane.lanes / GROUP * GROUP;
        let mut left = whole;
        if max_of_groups::<V>(proof, &mut plane, windows, whole) {
            // A NaN equals nothing.
            plane.dst.fill(0.0);
            left = 0;
        }
        max_of_lanes(&mut plane, windows, left);
    }
}

/// The first lanes, in groups. The first tap that equals the maximum takes what there is to give, so that nothing is scattered. Returns
/// whether some element is NaN: then what was written is of no use.
#[inline(always)]
fn max_of_groups<V: Vector<GROUP>>(
    proof: V::Proof,
    plane: &mut Plane<'_>,
    windows: &Windows,
    whole: usize,
) -> bool {
    let (lanes, size) = (plane.lanes, plane.size);
    let (none, one, lowest) =
        (V::splat(proof, 0.0), V::splat(proof, 1.0), V::splat(proof, f32::NEG_INFINITY));
    let mut has_nan = none;
    for_each_window!(windows, (0..whole).step_by(GROUP), |i, spans, lane| {
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
    found != [0.0; GROUP]
}

#[inline(always)]
fn lanes_at(data: &[f32], at: usize) -> &[f32; GROUP] {
    data[at..].first_chunk().expect("lanes of a pixel")
}

/// The lanes from `first` on, one at a time.
#[inline(always)]
fn max_of_lanes(plane: &mut Plane<'_>, windows: &Windows, first: usize) {
    for_each_window!(windows, first..plane.lanes, |i, spans, lane| {
        max_of_lane(plane, windows, spans, i, lane);
    });
}

/// One window of one lane, number `i`.
#[inline(always)]
pub(super) fn max_of_lane(plane: &mut Plane<'_>, windows: &Windows, spans: [Span; 3], i: usize, lane: usize) {
    let (lanes, size) = (plane.lanes, plane.size);
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
        plane.dst.fill(0.0);
        let lanes = plane.lanes;
        let whole = lanes / GROUP * GROUP;
        avg_of_lanes::<GROUP>(&mut plane, windows, 0..whole);
        avg_of_lanes::<1>(&mut plane, windows, whole..lanes);
    }
}

/// Some lanes, `L` at a time.
#[inline(always)]
fn avg_of_lanes<const L: usize>(plane: &mut Plane<'_>, windows: &Windows, of: Range<usize>) {
    let (lanes, size) = (plane.lanes, plane.size);
    for_each_window!(windows, of.clone().step_by(L), |i, spans, lane| {
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
