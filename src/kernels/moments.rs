//! Mean and variance of the channels of activations: the first step of every norm that takes its statistics from the data.
//!
//! One pass over memory sums, in f64, the differences from a pivot and their squares. The pivot is the first of the summed
//! elements. So the sum of squares around the pivot is at most `count` times the sum of squares around the mean, and cancellation
//! costs at most that factor of the precision of f64, whatever the mean is.
//!
//! Long runs are cut into chunks, which are merged in order. The cuts depend only on the length of the run, so the number of
//! threads does not change the bits. Neither does the layout, except that NCHW and NHWC of fewer than 16 channels sum in another
//! order.

use crate::dtype::Float;
use crate::error::Result;
use crate::kernels::lanes::{Lanes, for_each_chunk_by};
use crate::memory::try_filled;
use crate::simd::{self, Loop};

/// The most pixels of a chunk.
const CHUNK_PIXELS: usize = 1024;
/// Channels that a vector loop processes at once.
const VECTOR_LANES: usize = 16;
/// Pixels that the loop sums for some lanes before it sums them for the next lanes, so that they stay in the first-level cache.
const STRIP_PIXELS: usize = 16;

/// Count, mean and sum of squared deviations of some elements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    pub count: f64,
    pub mean: f64,
    /// The sum of the squared deviations from the mean.
    pub squares: f64,
}

impl Moments {
    /// The moments of the elements of both (formula of Chan, Golub and LeVeque).
    #[inline(always)]
    pub fn merge(self, other: Moments) -> Moments {
        if self.count == 0.0 {
            return other;
        }
        let count = self.count + other.count;
        let delta = other.mean - self.mean;
        let mean = if delta.is_finite() {
            self.mean + delta * (other.count / count)
        } else {
            self.mean + other.mean
        };
        Moments {
            count,
            mean,
            squares: self.squares + other.squares + delta * delta * (self.count * other.count / count),
        }
    }

    /// The biased variance; NaN if there are no elements.
    pub fn variance(self) -> f64 {
        self.squares / self.count
    }

    /// 1 / sqrt(biased variance + eps).
    pub fn inverse_deviation(self, eps: f64) -> f64 {
        1.0 / (self.variance() + eps).sqrt()
    }
}

/// The moments of each run of `run` pixels of each channel, in the order image, block, run, lane. `run` divides the pixels of an
/// image. Neither the view nor `run` is empty.
pub(crate) fn moments<E: Float>(
    op: &'static str,
    view: &Lanes,
    src: &[E],
    run: usize,
) -> Result<Vec<Moments>> {
    let lanes = view.lanes;
    let chunks = run.div_ceil(CHUNK_PIXELS);
    let runs = view.n * view.blocks * (view.pixels() / run);
    let mut of_chunks = try_filled(op, runs * chunks * lanes, Moments::default())?;
    let bytes = run / chunks * lanes * size_of::<E>();
    for_each_chunk_by(&mut of_chunks, lanes, bytes, |i, out| {
        let (r, chunk) = (i / chunks, i % chunks);
        let [first, end] = [chunk, chunk + 1].map(|c| r * run + run * c / chunks);
        // The sums are made here, outside the vector loop. The compiler would split an array that is local to the loop into
        // scalars, and would not use vectors then. It does not split an array behind a reference.
        let (mut one, mut more);
        let groups = if lanes <= VECTOR_LANES {
            one = [PivotSums::default()];
            &mut one[..]
        } else {
            more = vec![PivotSums::default(); lanes.div_ceil(VECTOR_LANES)];
            &mut more[..]
        };
        simd::dispatch(ChunkLoop { src: &src[first * lanes..end * lanes], groups, out });
    });
    if chunks == 1 {
        return Ok(of_chunks);
    }
    let mut merged = try_filled(op, runs * lanes, Moments::default())?;
    for (to, of_run) in merged.chunks_exact_mut(lanes).zip(of_chunks.chunks_exact(chunks * lanes)) {
        for chunk in of_run.chunks_exact(lanes) {
            to.iter_mut().zip(chunk).for_each(|(a, &b)| *a = a.merge(b));
        }
    }
    Ok(merged)
}

/// Computes the moments of the pixels of a chunk. Each pixel has `out.len()` lanes.
struct ChunkLoop<'a, E> {
    src: &'a [E],
    /// One for each [`VECTOR_LANES`] lanes.
    groups: &'a mut [PivotSums],
    out: &'a mut [Moments],
}

impl<E: Float> Loop for ChunkLoop<'_, E> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let ChunkLoop { src, groups, out } = self;
        let lanes = out.len();
        if lanes == 1 {
            out[0] = one_lane(src, &mut groups[0]);
            return;
        }
        if lanes < VECTOR_LANES {
            return few_lanes(src, &mut groups[0], out);
        }
        let pixels = src.len() / lanes;
        // The last group may overlap the one before it. The lanes in both are summed twice, with the same result.
        let start = |group: usize| (group * VECTOR_LANES).min(lanes - VECTOR_LANES);
        for (g, sums) in groups.iter_mut().enumerate() {
            sums.start(&src[start(g)..]);
        }
        for first in (0..pixels).step_by(STRIP_PIXELS) {
            let end = (first + STRIP_PIXELS).min(pixels);
            for (g, sums) in groups.iter_mut().enumerate() {
                sums.add(&src[first * lanes + start(g)..], lanes, end - first);
            }
        }
        for (g, sums) in groups.iter().enumerate() {
            let (sum, squares) = sums.total();
            let out = out[start(g)..].iter_mut().zip(&sums.pivot);
            for ((out, &pivot), (sum, squares)) in out.zip(sum.into_iter().zip(squares)) {
                *out = around_pivot(pixels, pivot, sum, squares);
            }
        }
    }
}

/// For pixels of one lane: a vector has several pixels.
#[inline(always)]
fn one_lane<E: Float>(src: &[E], sums: &mut PivotSums) -> Moments {
    let pivot = finite(src[0].widen());
    let (whole, rest) = src.as_chunks::<VECTOR_LANES>();
    sums.start(&[pivot; VECTOR_LANES]);
    sums.add(src, VECTOR_LANES, whole.len());
    if !rest.is_empty() {
        // The last vector is filled up with pivots, whose differences are zeros.
        let mut last = [pivot; VECTOR_LANES];
        last.iter_mut().zip(rest).for_each(|(last, x)| *last = x.widen());
        sums.add(&last, VECTOR_LANES, 1);
    }
    let (mut sum, mut squares) = sums.total();
    let mut half = VECTOR_LANES / 2;
    while half > 0 {
        for l in 0..half {
            sum[l] += sum[l + half];
            squares[l] += squares[l + half];
        }
        half /= 2;
    }
    around_pivot(src.len(), pivot, sum[0], squares[0])
}

/// For pixels of fewer than [`VECTOR_LANES`] lanes: a row of several pixels is a whole number of vectors.
#[inline(always)]
fn few_lanes<E: Float>(src: &[E], sums: &mut PivotSums, out: &mut [Moments]) {
    let lanes = out.len();
    let pixels_per_row = VECTOR_LANES >> lanes.trailing_zeros().min(VECTOR_LANES.trailing_zeros());
    let row_len = pixels_per_row * lanes;
    let pixels = src.len() / lanes;
    let whole_rows = src.len() / row_len;
    let (mut last_row, mut pivots) =
        ([0f32; VECTOR_LANES * VECTOR_LANES], [0f32; VECTOR_LANES * VECTOR_LANES]);
    for p in pivots[..row_len].chunks_exact_mut(lanes) {
        p.iter_mut().zip(src).for_each(|(p, &x)| *p = finite(x.widen()));
    }
    // The remaining pixels, filled up with pivots, whose differences are zeros.
    last_row[..row_len].copy_from_slice(&pivots[..row_len]);
    let rest = &src[whole_rows * row_len..];
    last_row.iter_mut().zip(rest).for_each(|(last, x)| *last = x.widen());
    let (mut sum, mut squares) = ([0f64; VECTOR_LANES], [0f64; VECTOR_LANES]);
    let mut lane = 0;
    for start in (0..row_len).step_by(VECTOR_LANES) {
        sums.start(&pivots[start..]);
        if whole_rows > 0 {
            sums.add(&src[start..], row_len, whole_rows);
        }
        sums.add(&last_row[start..], row_len, 1);
        let total = sums.total();
        for i in 0..VECTOR_LANES {
            sum[lane] += total.0[i];
            squares[lane] += total.1[i];
            lane = if lane + 1 == lanes { 0 } else { lane + 1 };
        }
    }
    for (lane, out) in out.iter_mut().enumerate() {
        *out = around_pivot(pixels, finite(src[lane].widen()), sum[lane], squares[lane]);
    }
}

/// A finite pivot. An infinite one does not work: infinity minus infinity is NaN.
#[inline(always)]
fn finite(x: f32) -> f32 {
    if x.is_finite() { x } else { 0.0 }
}

/// The moments from the sums of the differences from a pivot and of their squares.
#[inline(always)]
fn around_pivot(count: usize, pivot: f32, sum: f64, squares: f64) -> Moments {
    let count = count as f64;
    let mean = sum / count;
    let around = squares - sum * mean;
    let squares = if around < 0.0 { 0.0 } else { around };
    Moments { count, mean: f64::from(pivot) + mean, squares }
}

/// For each lane, the sums of the differences from a pivot and of their squares. Even and odd pixels have separate sums, so that
/// an addition need not wait for the one before.
#[derive(Clone, Copy, Default)]
struct PivotSums {
    pivot: [f32; VECTOR_LANES],
    sum: [[f64; VECTOR_LANES]; 2],
    squares: [[f64; VECTOR_LANES]; 2],
}

impl PivotSums {
    #[inline(always)]
    fn start<E: Float>(&mut self, pivot: &[E]) {
        *self = PivotSums::default();
        for (to, pivot) in self.pivot.iter_mut().zip(pivot) {
            *to = finite(pivot.widen());
        }
        simd::end_of_chunk();
    }

    /// Adds the first [`VECTOR_LANES`] lanes of each pixel. Pixels have `lanes` lanes.
    #[inline(always)]
    fn add<E: Float>(&mut self, src: &[E], lanes: usize, pixels: usize) {
        let ([mut s0, mut s1], [mut q0, mut q1]) = (self.sum, self.squares);
        let pivots = self.pivot.map(f64::from);
        let mut at = 0;
        for _ in 0..pixels / 2 {
            let (a, b) = (&src[at..at + VECTOR_LANES], &src[at + lanes..at + lanes + VECTOR_LANES]);
            for l in 0..VECTOR_LANES {
                let d = f64::from(a[l].widen()) - pivots[l];
                s0[l] += d;
                q0[l] += d * d;
            }
            for l in 0..VECTOR_LANES {
                let d = f64::from(b[l].widen()) - pivots[l];
                s1[l] += d;
                q1[l] += d * d;
            }
            at += 2 * lanes;
            simd::end_of_chunk();
        }
        if pixels % 2 == 1 {
            let a = &src[at..at + VECTOR_LANES];
            for l in 0..VECTOR_LANES {
                let d = f64::from(a[l].widen()) - pivots[l];
                s0[l] += d;
                q0[l] += d * d;
            }
        }
        (self.sum, self.squares) = ([s0, s1], [q0, q1]);
    }

    #[inline(always)]
    fn total(&self) -> ([f64; VECTOR_LANES], [f64; VECTOR_LANES]) {
        let (mut sum, mut squares) = (self.sum[0], self.squares[0]);
        for l in 0..VECTOR_LANES {
            sum[l] += self.sum[1][l];
            squares[l] += self.squares[1][l];
        }
        (sum, squares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(c: usize, lanes: usize, pixels: usize) -> Lanes {
        Lanes::dense(&[1, c, pixels], lanes, c.div_ceil(lanes)).unwrap()
    }

    #[test]
    fn a_large_mean_loses_no_digits() {
        for lanes in [1, 2, 3, 8, 15, 16, 17, 33, 64] {
            for pixels in [1, 2, 15, 64, 2500] {
                let x: Vec<f32> =
                    (0..lanes * pixels).map(|i| 1e6 + (i * 7919 % 31) as f32 * 0.0625).collect();
                let got = moments("op", &view(lanes, lanes, pixels), &x, pixels).unwrap();
                for (lane, m) in got.iter().enumerate() {
                    let of = || (0..pixels).map(|p| f64::from(x[p * lanes + lane]));
                    let mean = of().sum::<f64>() / pixels as f64;
                    let squares: f64 = of().map(|v| (v - mean) * (v - mean)).sum();
                    assert_eq!(m.count, pixels as f64);
                    assert!((m.mean - mean).abs() < 1e-8, "{lanes} {pixels}: {m:?} {mean}");
                    assert!(
                        (m.squares - squares).abs() <= 1e-8 * squares,
                        "{lanes} {pixels}: {m:?} {squares}"
                    );
                }
            }
        }
    }
}
