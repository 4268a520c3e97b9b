//! What gradients of norms share: sums of each channel of each image, and a function of each element, its gradient and numbers of
//! its channel. Each reads its operands once.

use super::planes::Dense;
use crate::error::Result;
use crate::kernels::lanes::{Lanes, for_each_chunk_by};
use crate::memory::try_filled;
use crate::simd::{self, Loop};

/// The most pixels of a task. The cuts depend on the sizes alone, so that the bits do not depend on the number of threads.
const CHUNK_PIXELS: usize = 1024;
/// Pixels that are added up in f32 before their sum goes to f64.
const STRIP_PIXELS: usize = 16;
/// Lanes that a vector loop adds up at once.
const GROUP: usize = 16;

/// Sums over the pixels of a channel of an image.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChannelSums {
    /// Of the incoming gradient.
    pub diff: f64,
    /// Of the incoming gradient times the operand's distance from a mean.
    pub product: f64,
}

impl ChannelSums {
    fn add(&mut self, other: ChannelSums) {
        self.diff += other.diff;
        self.product += other.product;
    }
}

/// The sums of each channel of each image, padded channels included, in f64. `means` has a number for each of them.
pub(crate) fn sums(op: &'static str, dense: &Dense<'_>, means: &[f32]) -> Result<Vec<ChannelSums>> {
    let view = &dense.x_view;
    let (lanes, pixels) = (view.lanes, view.pixels());
    let chunks = pixels.div_ceil(CHUNK_PIXELS);
    let mut of_chunks = try_filled(op, view.n * view.blocks * chunks * lanes, ChannelSums::default())?;
    if of_chunks.is_empty() {
        return try_filled(op, view.n * view.padded_channels(), ChannelSums::default());
    }
    for_each_chunk_by(&mut of_chunks, lanes, pixels / chunks * lanes * 8, |i, out| {
        let (plane, chunk) = (i / chunks, i % chunks);
        let [first, end] = [chunk, chunk + 1].map(|c| (plane * pixels + pixels * c / chunks) * lanes);
        let means = &means[plane * lanes..][..lanes];
        let strip = &mut [[0f32; GROUP]; 2];
        let (mut one, mut more);
        let sums = if lanes <= GROUP {
            one = [[[0f64; GROUP]; 2]];
            &mut one[..]
        } else {
            more = vec![[[0f64; GROUP]; 2]; lanes / GROUP];
            &mut more[..]
        };
        let (x, diff) = (&dense.x[first..end], &dense.diff[first..end]);
        simd::dispatch(SumLoop { x, diff, means, strip, sums, out });
    });
    let mut merged = try_filled(op, view.n * view.padded_channels(), ChannelSums::default())?;
    for (to, of_plane) in merged.chunks_exact_mut(lanes).zip(of_chunks.chunks_exact(chunks * lanes)) {
        for chunk in of_plane.chunks_exact(lanes) {
            to.iter_mut().zip(chunk).for_each(|(a, &b)| a.add(b));
        }
    }
    Ok(merged)
}

/// Adds up the pixels of a chunk, each of `out.len()` lanes.
struct SumLoop<'a> {
    x: &'a [f32],
    diff: &'a [f32],
    means: &'a [f32],
    /// Outside of the loop, because the compiler would split a local array into scalars.
    strip: &'a mut [[f32; GROUP]; 2],
    /// Zeros, for each [`GROUP`] lanes, at least one.
    sums: &'a mut [[[f64; GROUP]; 2]],
    out: &'a mut [ChannelSums],
}

impl Loop for SumLoop<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let SumLoop { x, diff, means, strip, sums, out } = self;
        let lanes = out.len();
        if lanes == 1 {
            // Sixteen pixels side by side are as sixteen lanes.
            let sums = &mut sums[0];
            let whole = x.len() / GROUP * GROUP;
            add(sums, strip, (&x[..whole], &diff[..whole]), GROUP, &[means[0]; GROUP]);
            let mut total = ChannelSums::default();
            for l in 0..GROUP {
                total.add(ChannelSums { diff: sums[0][l], product: sums[1][l] });
            }
            for (x, g) in x[whole..].iter().zip(&diff[whole..]) {
                let g = f64::from(*g);
                total.add(ChannelSums { diff: g, product: g * f64::from(x - means[0]) });
            }
            out[0] = total;
            return;
        }
        let whole = lanes / GROUP * GROUP;
        // Strip by strip, so that the pixels of many lanes are read as they lie in memory.
        for (x, diff) in x.chunks(lanes * STRIP_PIXELS).zip(diff.chunks(lanes * STRIP_PIXELS)) {
            for (lane, sums) in (0..whole).step_by(GROUP).zip(sums.iter_mut()) {
                add(sums, strip, (&x[lane..], &diff[lane..]), lanes, group_at(means, lane));
            }
        }
        for (out, sums) in out[..whole].chunks_exact_mut(GROUP).zip(sums.iter()) {
            for l in 0..GROUP {
                out[l] = ChannelSums { diff: sums[0][l], product: sums[1][l] };
            }
        }
        if whole == lanes {
            return;
        }
        for (x, g) in x.chunks_exact(lanes).zip(diff.chunks_exact(lanes)) {
            for l in whole..lanes {
                let g = f64::from(g[l]);
                out[l].add(ChannelSums { diff: g, product: g * f64::from(x[l] - means[l]) });
            }
        }
    }
}

/// Adds the first [`GROUP`] of each `step` elements, those of a strip in f32 first.
#[inline(always)]
fn add(
    sums: &mut [[f64; GROUP]; 2],
    strip: &mut [[f32; GROUP]; 2],
    (x, diff): (&[f32], &[f32]),
    step: usize,
    means: &[f32; GROUP],
) {
    let [d, p] = strip;
    for (x, diff) in x.chunks(step * STRIP_PIXELS).zip(diff.chunks(step * STRIP_PIXELS)) {
        d.fill(0.0);
        p.fill(0.0);
        for (x, g) in x.chunks(step).zip(diff.chunks(step)) {
            let (Some(x), Some(g)) = (x.first_chunk::<GROUP>(), g.first_chunk::<GROUP>()) else { continue };
            for l in 0..GROUP {
                d[l] += g[l];
                p[l] += g[l] * (x[l] - means[l]);
            }
            simd::end_of_chunk();
        }
        for l in 0..GROUP {
            sums[0][l] += f64::from(d[l]);
            sums[1][l] += f64::from(p[l]);
        }
    }
}

/// For each channel of each image, padded channels included: `by_diff * diff + by_x * (x - mean) + shift`.
pub(crate) struct Affine {
    pub mean: Vec<f32>,
    pub by_diff: Vec<f32>,
    pub by_x: Vec<f32>,
    pub shift: Vec<f32>,
}

impl Affine {
    /// Zeros, so that padded channels stay zero.
    pub fn new(op: &'static str, view: &Lanes) -> Result<Affine> {
        let zeros = || try_filled(op, view.n * view.padded_channels(), 0f32);
        Ok(Affine { mean: zeros()?, by_diff: zeros()?, by_x: zeros()?, shift: zeros()? })
    }

    /// Writes the function of every element.
    pub fn apply(&self, dense: &Dense<'_>, dst: &mut [f32]) {
        let view = &dense.x_view;
        view.for_each_pixel_run(dst, |run, dst| {
            let at = view.run_offset(run);
            let (x, diff) = (&dense.x[at..][..dst.len()], &dense.diff[at..][..dst.len()]);
            let first = run.n * view.padded_channels() + run.block * view.lanes;
            simd::dispatch(AffineLoop { of: self, first, lanes: view.lanes, x, diff, dst });
        });
    }
}

#[inline(always)]
fn group_at(list: &[f32], lane: usize) -> &[f32; GROUP] {
    list[lane..].first_chunk().expect("a group of lanes")
}

struct AffineLoop<'a> {
    of: &'a Affine,
    /// The first lane among all channels.
    first: usize,
    lanes: usize,
    x: &'a [f32],
    diff: &'a [f32],
    dst: &'a mut [f32],
}

impl Loop for AffineLoop<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let AffineLoop { of, first, lanes, x, diff, dst } = self;
        let Affine { mean, by_diff, by_x, shift } = of;
        let all = first..first + lanes;
        let (mean, by_diff) = (&mean[all.clone()], &by_diff[all.clone()]);
        let (by_x, shift) = (&by_x[all.clone()], &shift[all]);
        if lanes == 1 {
            let (mean, by_diff, by_x, shift) = (mean[0], by_diff[0], by_x[0], shift[0]);
            for ((to, x), g) in dst.iter_mut().zip(x).zip(diff) {
                *to = by_diff * g + (by_x * (x - mean) + shift);
            }
            return;
        }
        let whole = lanes / GROUP * GROUP;
        for lane in (0..whole).step_by(GROUP) {
            let (mean, by_diff) = (group_at(mean, lane), group_at(by_diff, lane));
            let (by_x, shift) = (group_at(by_x, lane), group_at(shift, lane));
            let pixels =
                dst[lane..].chunks_mut(lanes).zip(x[lane..].chunks(lanes)).zip(diff[lane..].chunks(lanes));
            for ((to, x), g) in pixels {
                let (Some(to), Some(x), Some(g)) =
                    (to.first_chunk_mut::<GROUP>(), x.first_chunk::<GROUP>(), g.first_chunk::<GROUP>())
                else {
                    continue;
                };
                for l in 0..GROUP {
                    to[l] = by_diff[l] * g[l] + (by_x[l] * (x[l] - mean[l]) + shift[l]);
                }
                simd::end_of_chunk();
            }
        }
        if whole == lanes {
            return;
        }
        for ((to, x), g) in
            dst.chunks_exact_mut(lanes).zip(x.chunks_exact(lanes)).zip(diff.chunks_exact(lanes))
        {
            for l in whole..lanes {
                to[l] = by_diff[l] * g[l] + (by_x[l] * (x[l] - mean[l]) + shift[l]);
            }
        }
    }
}
