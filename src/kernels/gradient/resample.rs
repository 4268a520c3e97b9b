//! Gradients of resampling: each element of the incoming gradient goes to the source pixels that it was read from, times their
//! weights.

use super::planes::{Plane, fill_planes, of_x};
use super::readers::PlaneReaders;
use crate::error::Result;
use crate::op::{Backward, Gradients};

/// The source indices along one axis that an index of the result reads, each with its weight.
pub(crate) type Taps<const K: usize> = Vec<[(usize, f32); K]>;

/// The gradient of a resampling whose weights are products of those of its axes D, H and W.
pub(crate) fn separable<const K: usize>(call: &Backward<'_>, axes: &[Taps<K>; 3]) -> Result<Gradients> {
    of_x(call, |dense, dst| {
        if dense.x_view.lanes == 1 {
            let results = [0, 1, 2].map(|axis| &axes[axis][..]);
            let readers = PlaneReaders::new(dense.x_view.spatial, results, |_, taps| *taps);
            fill_planes(dense, dst, |mut plane| {
                let diff = plane.diff;
                readers.gather(&mut plane, diff);
            });
        } else {
            fill_planes(dense, dst, |plane| spread(plane, axes));
        }
        Ok(())
    })
}

/// The gradient of a plane of many lanes.
fn spread<const K: usize>(mut plane: Plane<'_>, axes: &[Taps<K>; 3]) {
    plane.dst.fill(0.0);
    let mut pixel = 0;
    for d in &axes[0] {
        for h in &axes[1] {
            let rows = rows(d, h, plane.size[0]);
            for w in &axes[2] {
                for &(row, weight) in &rows[..] {
                    for &(column, of_column) in w {
                        plane.add(pixel, row * plane.size[1] + column, weight * of_column);
                    }
                }
                pixel += 1;
            }
        }
    }
}

/// The rows of a plane of depth and height that a row of the result reads.
fn rows<const K: usize>(d: &[(usize, f32); K], h: &[(usize, f32); K], height: usize) -> Vec<(usize, f32)> {
    let all = d.iter().flat_map(|d| h.iter().map(move |h| (d.0 * height + h.0, d.1 * h.1)));
    all.filter(|row| row.1 != 0.0).collect()
}

impl Plane<'_> {
    /// Adds a pixel of the incoming gradient, times a weight, to one of the gradient.
    #[inline(always)]
    pub(super) fn add(&mut self, from: usize, to: usize, weight: f32) {
        if weight == 0.0 {
            return;
        }
        let lanes = self.lanes;
        let from = &self.diff[from * lanes..][..lanes];
        self.dst[to * lanes..][..lanes].iter_mut().zip(from).for_each(|(to, g)| *to += weight * g);
    }
}
