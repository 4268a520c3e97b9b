//! The gradient of a convolution's weights: `dW[o, c, k] = sum over n, p of diff[n, o, p] * x[n, c, p * stride + k * dilation - pad]`.
//!
//! A task has `B` output channels, `B` input channels and one tap: it adds up outer products of the two, pixel by pixel, in
//! registers. Each weight is computed by one task in one order, so the bits are the same for any number of threads. Layouts whose
//! channels lie together in blocks of `B` (nChw16c, channels-last) are read where they are; of others, rows are packed first.

use std::array::from_fn;

use super::for_each_chunk;
use crate::error::Result;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::phases::{Phase, cube, phases};
use crate::kernels::lanes::Lanes;
use crate::layout::dims::Dims;
use crate::memory::try_filled;
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};
use crate::tensor::any::TensorRef;

/// About how many pixels are added up in f32 before the sum goes to f64.
const PIXELS_IN_F32: usize = 256;

/// Where the elements of an activation are. Offsets are in **elements**.
pub(crate) struct View<'a> {
    data: &'a [f32],
    image: usize,
    /// Channels that are neighbours in memory, and the offset from one such block to the next.
    block: usize,
    block_stride: usize,
    /// The strides of D, H and W.
    spatial: [usize; 3],
}

impl<'a> View<'a> {
    /// The view of a strided tensor of any strides, or of a blocked activation.
    ///
    /// # Errors
    /// `LayoutMismatch` for a blocked tensor that is no activation.
    pub fn of(op: &'static str, t: TensorRef<'a>) -> Result<View<'a>> {
        match t {
            TensorRef::Strided(t) => {
                let s = t.strides();
                let spatial = cube(&Dims::from_slice(&s[2..]), 0);
                Ok(View { data: t.data(), image: s[0], block: 1, block_stride: s[1], spatial })
            }
            TensorRef::Blocked(t) => {
                let v = Lanes::of_blocked(op, t)?;
                let spatial = [v.stride_d, v.stride_h, v.lanes];
                let (image, block, block_stride) = (v.stride_n, v.lanes, v.stride_block);
                Ok(View { data: t.data(), image, block, block_stride, spatial })
            }
            TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
        }
    }

    fn channel(&self, c: usize) -> usize {
        c / self.block * self.block_stride + c % self.block
    }

    /// `count` channels from `first` on.
    fn lanes<const B: usize>(&self, first: usize, count: usize) -> ChannelLanes<B> {
        let offsets = from_fn(|i| self.channel(first + i.min(count - 1)));
        let is_contiguous = (0..count).all(|i| offsets[i] == offsets[0] + i);
        ChannelLanes { offsets, is_contiguous }
    }

    /// `count` pixels of these channels from `at` on, `step` apart: the memory and the step there. Where they are not vectors of
    /// `B` inside the storage they are copied to `packed`. Lanes beyond the channels hold any value.
    fn row<'r, const B: usize>(
        &'r self,
        lanes: &ChannelLanes<B>,
        at: usize,
        step: usize,
        count: usize,
        packed: &'r mut Vec<f32>,
    ) -> (&'r [f32], usize) {
        let first = at + lanes.offsets[0];
        let end = first + (count - 1) * step + B;
        if lanes.is_contiguous && end <= self.data.len() {
            return (&self.data[first..end], step);
        }
        packed.clear();
        for p in 0..count {
            packed.extend(lanes.offsets.iter().map(|offset| self.data[at + offset + p * step]));
        }
        (packed, B)
    }
}

/// Offsets of `B` channels; those beyond the last repeat it.
struct ChannelLanes<const B: usize> {
    offsets: [usize; B],
    is_contiguous: bool,
}

/// Adds up products of `count` pixels of both operands: outer products, or those of equal lanes.
struct Products<'a, const B: usize> {
    x: (&'a [f32], usize),
    diff: (&'a [f32], usize),
    count: usize,
    sums: &'a mut [[f32; B]],
}

fn vector<const B: usize>(row: &[f32], at: usize) -> &[f32; B] {
    row[at..][..B].try_into().expect("B elements")
}

impl<const B: usize> VectorLoop<B> for Products<'_, B> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        let Products { x: (x, x_step), diff: (diff, diff_step), count, sums } = self;
        if let [sums] = sums {
            let mut sum = V::load(proof, sums);
            for p in 0..count {
                let (x, diff) = (vector::<B>(x, p * x_step), vector::<B>(diff, p * diff_step));
                sum = sum.add_product(V::load(proof, x), V::load(proof, diff));
            }
            sum.store(sums);
            return;
        }
        let mut all: [V; B] = from_fn(|i| V::load(proof, &sums[i]));
        for p in 0..count {
            let (x, diff) = (vector::<B>(x, p * x_step), vector::<B>(diff, p * diff_step));
            let diff = V::load(proof, diff);
            for i in 0..B {
                all[i] = all[i].add_product(V::splat(proof, x[i]), diff);
            }
        }
        all.iter().zip(sums).for_each(|(sum, to)| sum.store(to));
    }
}

/// The gradient, row-major with its groups apart. Tasks have blocks of `B` channels.
pub(crate) fn weights<const B: usize>(g: &ConvGeometry, x: &View<'_>, diff: &View<'_>) -> Result<Vec<f32>>
where
    Width<B>: VectorWidth<B>,
{
    let kernel = cube(&g.kernel, 1);
    let taps: usize = kernel.iter().product();
    let (c, o) = (g.c / g.groups, g.o / g.groups);
    let mut all = try_filled(g.op, g.weight_count(), 0f32)?;
    let is_depthwise = c == 1 && o == 1;
    // Depthwise, the lanes are those of `B` groups.
    let (groups, o_blocks, c_blocks) =
        if is_depthwise { (1, g.groups.div_ceil(B), 1) } else { (g.groups, o.div_ceil(B), c.div_ceil(B)) };
    let rows = if is_depthwise { 1 } else { B };
    let mut tiles = try_filled(g.op, groups * o_blocks * c_blocks * taps * rows * B, 0f32)?;
    for_each_chunk(&mut tiles, rows * B, |task, tile| {
        let (block, tap) = (task / taps, task % taps);
        let (group, o_block, c_block) =
            (block / (o_blocks * c_blocks), block / c_blocks % o_blocks, block % c_blocks);
        let (x_lanes, diff_lanes) = if is_depthwise {
            let count = B.min(g.groups - o_block * B);
            (x.lanes::<B>(o_block * B, count), diff.lanes::<B>(o_block * B, count))
        } else {
            let (c_count, o_count) = (B.min(c - c_block * B), B.min(o - o_block * B));
            (x.lanes(group * c + c_block * B, c_count), diff.lanes(group * o + o_block * B, o_count))
        };
        tap_sums(g, tap, (x, &x_lanes), (diff, &diff_lanes), tile);
    });
    for (block, tile) in tiles.chunks(taps * rows * B).enumerate() {
        let (group, o_block, c_block) =
            (block / (o_blocks * c_blocks), block / c_blocks % o_blocks, block % c_blocks);
        for (tap, tile) in tile.chunks(rows * B).enumerate() {
            for (i, sums) in tile.chunks(B).enumerate() {
                for (j, &sum) in sums.iter().enumerate() {
                    let (oi, ci) = (o_block * B + j, c_block * B + i);
                    if is_depthwise && oi < g.groups {
                        all[oi * taps + tap] = sum;
                    } else if !is_depthwise && oi < o && ci < c {
                        all[((group * o + oi) * c + ci) * taps + tap] = sum;
                    }
                }
            }
        }
    }
    Ok(all)
}

/// The sums of one tap: `tile` has a row for each input channel, or one row for depthwise convolutions.
fn tap_sums<const B: usize>(
    g: &ConvGeometry,
    tap: usize,
    (x, x_lanes): (&View<'_>, &ChannelLanes<B>),
    (diff, diff_lanes): (&View<'_>, &ChannelLanes<B>),
    tile: &mut [f32],
) where
    Width<B>: VectorWidth<B>,
{
    let [_, kh, kw] = cube(&g.kernel, 1);
    let k = [tap / (kh * kw), tap / kw % kh, tap % kw];
    let input = cube(&g.input, 1);
    let Some(Phase { axes }) = phases(g).next() else { return };
    let [ds, hs, ws]: [_; 3] = from_fn(|a| axes[a].outputs_inside(k[a], input[a]));
    let source = |a: usize, i: usize| ((i * axes[a].step) as isize + axes[a].taps[k[a]].at) as usize;
    let count = ws.len();
    let mut total = vec![[0f64; B]; tile.len() / B];
    let mut sums = vec![[0f32; B]; tile.len() / B];
    let (mut x_packed, mut diff_packed, mut pixels) = (Vec::new(), Vec::new(), 0);
    let mut flush = |sums: &mut Vec<[f32; B]>| {
        for (to, from) in total.iter_mut().flatten().zip(sums.iter_mut().flatten()) {
            *to += f64::from(std::mem::take(from));
        }
    };
    if count > 0 {
        for n in 0..g.n {
            for d in ds.clone() {
                for h in hs.clone() {
                    let x_at = n * x.image
                        + source(0, d) * x.spatial[0]
                        + source(1, h) * x.spatial[1]
                        + source(2, ws.start) * x.spatial[2];
                    let diff_at = n * diff.image
                        + d * diff.spatial[0]
                        + h * diff.spatial[1]
                        + ws.start * diff.spatial[2];
                    let x = x.row(x_lanes, x_at, axes[2].step * x.spatial[2], count, &mut x_packed);
                    let diff = diff.row(diff_lanes, diff_at, diff.spatial[2], count, &mut diff_packed);
                    Width::<B>::dispatch(Products { x, diff, count, sums: &mut sums });
                    pixels += count;
                    if pixels >= PIXELS_IN_F32 {
                        flush(&mut sums);
                        pixels = 0;
                    }
                }
            }
        }
    }
    flush(&mut sums);
    tile.iter_mut().zip(total.iter().flatten()).for_each(|(to, sum)| *to = *sum as f32);
}
