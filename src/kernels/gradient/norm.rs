//! What gradients of norms share: sums of each channel of each image, and a function of each element, its gradient and numbers of
//! its channel. Each reads its operands once.

use super::conv_weights::add_in_f64;
use super::planes::Dense;
use crate::error::Result;
use crate::kernels::lanes::{Lanes, RowVectors, for_each_chunk_by};
use crate::memory::try_filled;
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};

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
        let (mut one, mut more);
        let sums = if lanes <= GROUP {
            one = [[[0f64; GROUP]; 2]];
            &mut one[..]
        } else {
            more = vec![[[0f64; GROUP]; 2]; lanes.div_ceil(GROUP)];
            &mut more[..]
        };
        let (x, diff) = (&dense.x[first..end], &dense.diff[first..end]);
        Width::<GROUP>::dispatch(SumLoop { x, diff, means, sums, out });
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
    /// Zeros, for each [`GROUP`] lanes, at least one.
    sums: &'a mut [[[f64; GROUP]; 2]],
    out: &'a mut [ChannelSums],
}

impl VectorLoop<GROUP> for SumLoop<'_> {
    #[inline(always)]
    fn run<V: Vector<GROUP>>(self, proof: V::Proof) {
        let SumLoop { x, diff, means, sums, out } = self;
        let lanes = out.len();
        if lanes < GROUP {
            // Sixteen pixels side by side are as sixteen lanes.
            let whole = if lanes == 1 { x.len() / GROUP * GROUP } else { 0 };
            add::<V>(proof, &mut sums[0], (x, diff), GROUP, whole / GROUP, &[means[0]; GROUP]);
            for l in 0..GROUP {
                out[0].add(ChannelSums { diff: sums[0][0][l], product: sums[0][1][l] });
            }
            for (x, g) in x[whole..].chunks_exact(lanes).zip(diff[whole..].chunks_exact(lanes)) {
                for l in 0..lanes {
                    let g = f64::from(g[l]);
                    out[l].add(ChannelSums { diff: g, product: g * f64::from(x[l] - means[l]) });
                }
            }
            return;
        }
        let pixels = x.len() / lanes;
        if lanes == GROUP {
            add::<V>(proof, &mut sums[0], (x, diff), GROUP, pixels, group_at(means, 0));
        } else {
            add_many::<V>(proof, sums, (x, diff), means);
        }
        for (group, sums) in sums.iter().enumerate() {
            let out = &mut out[group_start(group, lanes)..][..GROUP];
            for l in 0..GROUP {
                out[l] = ChannelSums { diff: sums[0][l], product: sums[1][l] };
            }
        }
    }
}

/// The first lane of a group. The last group may overlap the one before it: the lanes in both are computed twice, with the same result.
#[inline(always)]
fn group_start(group: usize, lanes: usize) -> usize {
    (group * GROUP).min(lanes - GROUP)
}

#[inline(always)]
fn group_at(list: &[f32], lane: usize) -> &[f32; GROUP] {
    list[lane..].first_chunk().expect("a group of lanes")
}

/// Adds the first [`GROUP`] of each `step` elements, `count` times, those of a strip in f32 first.
#[inline(always)]
fn add<V: Vector<GROUP>>(
    proof: V::Proof,
    sums: &mut [[f64; GROUP]; 2],
    (x, diff): (&[f32], &[f32]),
    step: usize,
    count: usize,
    means: &[f32; GROUP],
) {
    let means = V::load(proof, means);
    for first in (0..count).step_by(STRIP_PIXELS) {
        let count = STRIP_PIXELS.min(count - first);
        let x = RowVectors::<f32, GROUP, 1>::new(x, &[first * step], 0, step, count);
        let diff = RowVectors::<f32, GROUP, 1>::new(diff, &[first * step], 0, step, count);
        let mut both = [V::splat(proof, 0.0); 2];
        for p in 0..count {
            let ([x], [g]) = (x.get(p), diff.get(p));
            let g = V::load(proof, g);
            both[0] = both[0].add(g);
            both[1] = both[1].add(g.mul(V::load(proof, x).sub(means)));
        }
        add_in_f64(&both, sums);
    }
}

/// The same for the lanes of `means`, more than [`GROUP`]: pixel by pixel, as they lie in memory. Group by group their reads took twice as long.
#[inline(always)]
fn add_many<V: Vector<GROUP>>(
    proof: V::Proof,
    sums: &mut [[[f64; GROUP]; 2]],
    (x, diff): (&[f32], &[f32]),
    means: &[f32],
) {
    let lanes = means.len();
    let mut strips = vec![[[0f32; GROUP]; 2]; sums.len()];
    for (x, diff) in x.chunks(lanes * STRIP_PIXELS).zip(diff.chunks(lanes * STRIP_PIXELS)) {
        for (x, diff) in x.chunks_exact(lanes).zip(diff.chunks_exact(lanes)) {
            for (group, [of_diff, of_products]) in strips.iter_mut().enumerate() {
                let lane = group_start(group, lanes);
                let g = V::load(proof, group_at(diff, lane));
                let x = V::load(proof, group_at(x, lane)).sub(V::load(proof, group_at(means, lane)));
                V::load(proof, of_diff).add(g).store(of_diff);
                V::load(proof, of_products).add(g.mul(x)).store(of_products);
            }
        }
        for (sums, strip) in sums.iter_mut().zip(&mut strips) {
            let both = [V::load(proof, &strip[0]), V::load(proof, &strip[1])];
            add_in_f64(&both, sums);
            *strip = [[0.0; GROUP]; 2];
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
            Width::<GROUP>::dispatch(AffineLoop { of: self, first, lanes: view.lanes, x, diff, dst });
        });
    }
}

/// Numbers of neighbouring lanes, or of one.
#[inline(always)]
fn of_lanes<V: Vector<GROUP>>(proof: V::Proof, list: &[f32], (at, is_one): (usize, bool)) -> V {
    if is_one { V::splat(proof, list[at]) } else { V::load(proof, group_at(list, at)) }
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

impl VectorLoop<GROUP> for AffineLoop<'_> {
    #[inline(always)]
    fn run<V: Vector<GROUP>>(self, proof: V::Proof) {
        let AffineLoop { of: Affine { mean, by_diff, by_x, shift }, first, lanes, x, diff, dst } = self;
        if lanes < GROUP && lanes > 1 {
            for (i, ((to, x), g)) in dst.iter_mut().zip(x).zip(diff).enumerate() {
                let c = first + i % lanes;
                *to = by_diff[c] * g + (by_x[c] * (x - mean[c]) + shift[c]);
            }
            return;
        }
        // Sixteen pixels of one lane are as sixteen lanes.
        let step = lanes.max(GROUP);
        let count = dst.len() / step;
        // Pixels of many lanes one by one, as they lie in memory.
        let at_once = if step == GROUP { count.max(1) } else { 1 };
        for first_pixel in (0..count).step_by(at_once) {
            for group in 0..step.div_ceil(GROUP) {
                let lane = group_start(group, step);
                let at_of = (first + if lanes == 1 { 0 } else { lane }, lanes == 1);
                let (mean, by_diff) =
                    (of_lanes::<V>(proof, mean, at_of), of_lanes::<V>(proof, by_diff, at_of));
                let (by_x, shift) = (of_lanes::<V>(proof, by_x, at_of), of_lanes::<V>(proof, shift, at_of));
                let at = first_pixel * step + lane;
                let x = RowVectors::<f32, GROUP, 1>::new(x, &[at], 0, step, at_once);
                let diff = RowVectors::<f32, GROUP, 1>::new(diff, &[at], 0, step, at_once);
                for (p, to) in dst[at..].chunks_mut(step).take(at_once).enumerate() {
                    let ([x], [g]) = (x.get(p), diff.get(p));
                    let by_x = by_x.mul(V::load(proof, x).sub(mean)).add(shift);
                    let to = to.first_chunk_mut().expect("a group of lanes");
                    by_diff.mul(V::load(proof, g)).add(by_x).store(to);
                }
            }
        }
        let whole = count * step;
        for ((to, x), g) in dst[whole..].iter_mut().zip(&x[whole..]).zip(&diff[whole..]) {
            *to = by_diff[first] * g + (by_x[first] * (x - mean[first]) + shift[first]);
        }
    }
}
