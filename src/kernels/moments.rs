//! Mean and variance of the channels of activations: what every norm with statistics of its own begins with.
//!
//! One pass over memory, in f64, against a pivot: the first element of what is summed. Since the pivot is one of the elements,
//! the squares around it sum to at most `count` times those around the mean, so cancellation costs no more than
//! that factor of f64's precision, whatever the mean. Long runs are cut into chunks that depend on their length alone,
//! and merged in order: neither the threads nor the layout change a bit (NHWC of less than 16 channels, and NCHW, sum
//! in another order).

use crate::kernels::lanes::{Lanes, for_each_chunk_by};
use crate::simd::{self, Loop};

/// Pixels of a chunk at most.
const CHUNK: usize = 1024;
/// Channels that a vector loop takes at once.
const GROUP: usize = 16;
/// Pixels after which the loop goes on to the next channels: what stays in the first-level cache.
const STRIP: usize = 64;

/// Count, mean and sum of squared deviations of some elements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    pub count: f64,
    pub mean: f64,
    pub squares: f64,
}

impl Moments {
    /// Those of the elements of both (Chan, Golub and LeVeque's formula).
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

    /// The biased variance; NaN of no elements.
    pub fn variance(self) -> f64 {
        self.squares / self.count
    }

    /// 1 / sqrt(biased variance + eps).
    pub fn inverse_deviation(self, eps: f64) -> f64 {
        1.0 / (self.variance() + eps).sqrt()
    }
}

/// The moments of every `run` pixels of every channel, in the order image, block, run, lane. `run` divides the view's
/// pixels; nothing is empty.
pub(crate) fn moments(view: &Lanes, src: &[f32], run: usize) -> Vec<Moments> {
    let lanes = view.lanes;
    let chunks = run.div_ceil(CHUNK);
    let runs = view.n * view.blocks * (view.pixels() / run);
    let mut parts = vec![Moments::default(); runs * chunks * lanes];
    let bytes = run / chunks * lanes * size_of::<f32>();
    for_each_chunk_by(&mut parts, lanes, bytes, |i, out| {
        let (r, chunk) = (i / chunks, i % chunks);
        let [first, end] = [chunk, chunk + 1].map(|c| r * run + run * c / chunks);
        // The sums are made out here: what comes as a reference stays an array to the compiler, where it would take a
        // local one apart, and its vectors with it.
        let (mut one, mut more);
        let groups = if lanes <= GROUP {
            one = [Sums::default()];
            &mut one[..]
        } else {
            more = vec![Sums::default(); lanes.div_ceil(GROUP)];
            &mut more[..]
        };
        simd::dispatch(Run { src: &src[first * lanes..end * lanes], groups, out });
    });
    if chunks == 1 {
        return parts;
    }
    let mut merged = vec![Moments::default(); runs * lanes];
    for (to, parts) in merged.chunks_exact_mut(lanes).zip(parts.chunks_exact(chunks * lanes)) {
        for part in parts.chunks_exact(lanes) {
            to.iter_mut().zip(part).for_each(|(a, &b)| *a = a.merge(b));
        }
    }
    merged
}

/// Pixels of `out.len()` lanes.
struct Run<'a> {
    src: &'a [f32],
    /// One for every [`GROUP`] lanes.
    groups: &'a mut [Sums],
    out: &'a mut [Moments],
}

impl Loop for Run<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Run { src, groups, out } = self;
        let lanes = out.len();
        if lanes == 1 {
            out[0] = one_lane(src, &mut groups[0]);
            return;
        }
        if lanes < GROUP {
            return few_lanes(src, &mut groups[0], out);
        }
        let pixels = src.len() / lanes;
        // The last group overlaps the one before it: lanes there are summed twice, to the same sums.
        let start = |group: usize| (group * GROUP).min(lanes - GROUP);
        for (g, sums) in groups.iter_mut().enumerate() {
            sums.start(&src[start(g)..]);
        }
        for first in (0..pixels).step_by(STRIP) {
            let end = (first + STRIP).min(pixels);
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

/// One lane: several pixels make a vector.
#[inline(always)]
fn one_lane(src: &[f32], sums: &mut Sums) -> Moments {
    let pivot = finite(src[0]);
    let (whole, rest) = src.as_chunks::<GROUP>();
    sums.start(&[pivot; GROUP]);
    sums.add(src, GROUP, whole.len());
    if !rest.is_empty() {
        // Pivots add nothing.
        let mut last = [pivot; GROUP];
        last[..rest.len()].copy_from_slice(rest);
        sums.add(&last, GROUP, 1);
    }
    let (mut sum, mut squares) = sums.total();
    let mut half = GROUP / 2;
    while half > 0 {
        for l in 0..half {
            sum[l] += sum[l + half];
            squares[l] += squares[l + half];
        }
        half /= 2;
    }
    around_pivot(src.len(), pivot, sum[0], squares[0])
}

/// Fewer lanes than a vector loop takes: several pixels make one.
#[inline(always)]
fn few_lanes(src: &[f32], sums: &mut Sums, out: &mut [Moments]) {
    let lanes = out.len();
    let together = GROUP >> lanes.trailing_zeros().min(GROUP.trailing_zeros());
    let wide = together * lanes;
    let pixels = src.len() / lanes;
    let whole = src.len() / wide;
    let (mut row, mut pivots) = ([0f32; GROUP * GROUP], [0f32; GROUP * GROUP]);
    for p in pivots[..wide].chunks_exact_mut(lanes) {
        p.iter_mut().zip(src).for_each(|(p, &x)| *p = finite(x));
    }
    // What is left, filled up with pivots: they add nothing.
    row[..wide].copy_from_slice(&pivots[..wide]);
    let rest = &src[whole * wide..];
    row[..rest.len()].copy_from_slice(rest);
    let (mut sum, mut squares) = ([0f64; GROUP], [0f64; GROUP]);
    let mut lane = 0;
    for start in (0..wide).step_by(GROUP) {
        sums.start(&pivots[start..]);
        if whole > 0 {
            sums.add(&src[start..], wide, whole);
        }
        sums.add(&row[start..], wide, 1);
        let total = sums.total();
        for i in 0..GROUP {
            sum[lane] += total.0[i];
            squares[lane] += total.1[i];
            lane = if lane + 1 == lanes { 0 } else { lane + 1 };
        }
    }
    for (lane, out) in out.iter_mut().enumerate() {
        *out = around_pivot(pixels, finite(src[lane]), sum[lane], squares[lane]);
    }
}

/// A pivot: infinity less itself would be none.
#[inline(always)]
fn finite(x: f32) -> f32 {
    if x.is_finite() { x } else { 0.0 }
}

#[inline(always)]
fn around_pivot(count: usize, pivot: f32, sum: f64, squares: f64) -> Moments {
    let count = count as f64;
    let mean = sum / count;
    let around = squares - sum * mean;
    let squares = if around < 0.0 { 0.0 } else { around };
    Moments { count, mean: f64::from(pivot) + mean, squares }
}

/// Sums of the differences from a pivot and of their squares: even pixels and odd pixels apart, so that one
/// addition need not wait for the one before.
#[derive(Clone, Copy, Default)]
struct Sums {
    pivot: [f32; GROUP],
    sum: [[f64; GROUP]; 2],
    squares: [[f64; GROUP]; 2],
}

impl Sums {
    #[inline(always)]
    fn start(&mut self, pivot: &[f32]) {
        *self = Sums::default();
        self.pivot = std::array::from_fn(|l| finite(pivot[l]));
        simd::end_of_chunk();
    }

    /// Adds the first [`GROUP`] lanes of pixels of `lanes` lanes.
    #[inline(always)]
    fn add(&mut self, src: &[f32], lanes: usize, pixels: usize) {
        let ([mut s0, mut s1], [mut q0, mut q1]) = (self.sum, self.squares);
        let pivots = self.pivot.map(f64::from);
        let mut at = 0;
        for _ in 0..pixels / 2 {
            let (a, b) = (&src[at..at + GROUP], &src[at + lanes..at + lanes + GROUP]);
            for l in 0..GROUP {
                let d = f64::from(a[l]) - pivots[l];
                s0[l] += d;
                q0[l] += d * d;
            }
            for l in 0..GROUP {
                let d = f64::from(b[l]) - pivots[l];
                s1[l] += d;
                q1[l] += d * d;
            }
            at += 2 * lanes;
            simd::end_of_chunk();
        }
        if pixels % 2 == 1 {
            let a = &src[at..at + GROUP];
            for l in 0..GROUP {
                let d = f64::from(a[l]) - pivots[l];
                s0[l] += d;
                q0[l] += d * d;
            }
        }
        (self.sum, self.squares) = ([s0, s1], [q0, q1]);
    }

    #[inline(always)]
    fn total(&self) -> ([f64; GROUP], [f64; GROUP]) {
        let (mut sum, mut squares) = (self.sum[0], self.squares[0]);
        for l in 0..GROUP {
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
        let blocks = c.div_ceil(lanes);
        let plane = pixels * lanes;
        Lanes {
            n: 1,
            c,
            spatial: [1, 1, pixels],
            lanes,
            blocks,
            stride_n: blocks * plane,
            stride_block: plane,
            stride_d: plane,
            stride_h: plane,
        }
    }

    #[test]
    fn a_mean_far_away_spoils_no_digits() {
        for lanes in [1, 2, 3, 8, 15, 16, 17, 33, 64] {
            for pixels in [1, 2, 15, 64, 2500] {
                let x: Vec<f32> =
                    (0..lanes * pixels).map(|i| 1e6 + (i * 7919 % 31) as f32 * 0.0625).collect();
                let got = moments(&view(lanes, lanes, pixels), &x, pixels);
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
