//! Convolution in pure Rust: patches of the source as columns, then a matrix product, tile by tile, phase by phase.

use std::borrow::Cow;

use super::ConvGeometry;
use super::phases::{Phase, cube, phases};
use crate::error::Result;
use crate::layout::dims::Dims;
use crate::matmul::{Matrix, matmul};
use crate::ops::post_ops::{PostOp, PostOps};
use crate::threads::{SyncPtr, parallel_for};

/// A convolution over plain strides. Weights are `[O, C/g, k...]`, dense and row-major; strides in elements.
pub(crate) struct GemmConv<'a> {
    pub g: &'a ConvGeometry,
    pub src: &'a [f32],
    pub src_strides: &'a [usize],
    pub weights: &'a [f32],
    pub bias: Option<&'a [f32]>,
    pub dst_strides: &'a [usize],
    pub post_ops: &'a PostOps,
    pub residual: Option<(&'a [f32], &'a [usize])>,
    pub channel: &'a [Vec<f32>],
}

/// Elements of the column buffer of one task: what stays in a core's second cache beside the weights.
const COLUMNS: usize = 128 << 10;

/// Writes every element of the result. The bits do not depend on the number of threads: a task computes whole
/// output pixels, and tiles depend on shapes alone.
pub(crate) fn gemm_conv(c: &GemmConv<'_>, dst: &mut [f32]) -> Result<()> {
    let (g, len) = (c.g, dst.len());
    let out = SyncPtr::new(dst);
    for phase in phases(g) {
        let part = Part::new(c, &phase);
        let (cg, og) = (g.c / g.groups, g.o / g.groups);
        let k = cg * part.taps.len();
        let pixels: usize = part.counts.iter().product();
        let tile = (COLUMNS / k.max(1)).clamp(16, 4096).min(pixels.max(1));
        let tiles = pixels.div_ceil(tile);
        parallel_for(g.n * g.groups * tiles, |task| {
            let (n, rest) = (task / (g.groups * tiles), task % (g.groups * tiles));
            let (group, first) = (rest / tiles, rest % tiles * tile);
            let count = tile.min(pixels - first);
            let mut columns = vec![0f32; k * count];
            part.fill_columns(n, group, first, count, &mut columns);
            let mut result = vec![0f32; og * count];
            let w = Matrix { data: &part.weights[group * og * k..(group + 1) * og * k], row: k, column: 1 };
            matmul(og, count, k, w, Matrix { data: &columns, row: count, column: 1 }, &mut result);
            let places = part.places(c.dst_strides);
            for (o, row) in result.chunks_mut(count).enumerate() {
                let o = group * og + o;
                part.finish_row(n, o, first, row);
                let base = n * c.dst_strides[0] + o * c.dst_strides[1];
                places.for_each(&part.counts, first, count, |i, at| {
                    assert!(base + at < len);
                    // SAFETY: in bounds by the assert; image, channel and pixel belong to this task alone, and the
                    // strides of a result do not overlap.
                    unsafe { *out.get().add(base + at) = row[i] };
                });
            }
        });
    }
    Ok(())
}

/// Where the pixels of a phase lie in a plane: the first one, and the steps between neighbours along D, H, W.
struct Places {
    start: usize,
    steps: [usize; 3],
}

impl Places {
    /// Calls `f(i, offset)` for `count` pixels from number `first` on, in row-major order.
    fn for_each(&self, sizes: &[usize; 3], first: usize, count: usize, mut f: impl FnMut(usize, usize)) {
        let mut i = 0;
        while i < count {
            let pixel = first + i;
            let (x, row) = (pixel % sizes[2], pixel / sizes[2]);
            let run = (sizes[2] - x).min(count - i);
            let (d, h) = (row / sizes[1], row % sizes[1]);
            let base = self.start + d * self.steps[0] + h * self.steps[1] + x * self.steps[2];
            for j in 0..run {
                f(i + j, base + j * self.steps[2]);
            }
            i += run;
        }
    }
}

/// The work of one phase.
struct Part<'a> {
    conv: &'a GemmConv<'a>,
    phase: &'a Phase,
    counts: [usize; 3],
    /// Source positions of the taps, beside `i * step`.
    taps: Vec<[isize; 3]>,
    /// `[O, C/g, taps]`.
    weights: Cow<'a, [f32]>,
}

impl<'a> Part<'a> {
    fn new(conv: &'a GemmConv<'a>, phase: &'a Phase) -> Part<'a> {
        let [_, kh, kw] = cube(&conv.g.kernel, 1);
        let (mut taps, mut numbers) = (Vec::new(), Vec::new());
        for d in &phase.axes[0].taps {
            for h in &phase.axes[1].taps {
                for w in &phase.axes[2].taps {
                    taps.push([d.at, h.at, w.at]);
                    numbers.push((d.k * kh + h.k) * kw + w.k);
                }
            }
        }
        let all: usize = conv.g.kernel.iter().product();
        let weights = if taps.len() == all {
            Cow::Borrowed(conv.weights)
        } else {
            let of_channel = |w: &'a [f32]| numbers.iter().map(|&k| w[k]);
            Cow::Owned(conv.weights.chunks_exact(all).flat_map(of_channel).collect())
        };
        Part { conv, phase, counts: [0, 1, 2].map(|a| phase.axes[a].count), taps, weights }
    }

    /// Steps along D, H, W of strides of N, C and the spatial axes.
    fn steps(strides: &[usize]) -> [usize; 3] {
        cube(&Dims::from_slice(&strides[2..]), 0)
    }

    /// Where the phase's pixels lie in a tensor like the result.
    fn places(&self, strides: &[usize]) -> Places {
        let (steps, axes) = (Part::steps(strides), &self.phase.axes);
        Places {
            start: (0..3).map(|a| axes[a].out_start * steps[a]).sum(),
            steps: [0, 1, 2].map(|a| axes[a].out_step * steps[a]),
        }
    }

    /// `columns[kk][i]`: what weight `kk` meets at output pixel `first + i`; 0 in the padding.
    fn fill_columns(&self, n: usize, group: usize, first: usize, count: usize, columns: &mut [f32]) {
        let (g, c) = (self.conv.g, self.conv);
        let (cg, input) = (g.c / g.groups, cube(&g.input, 1));
        let (steps, axes) = (Part::steps(c.src_strides), &self.phase.axes);
        let mut lines = columns.chunks_exact_mut(count);
        for channel in 0..cg {
            let base = n * c.src_strides[0] + (group * cg + channel) * c.src_strides[1];
            for (tap, line) in self.taps.iter().zip(&mut lines) {
                for (i, place) in line.iter_mut().enumerate() {
                    let mut pixel = first + i;
                    let mut offset = base;
                    let mut inside = true;
                    for axis in (0..3).rev() {
                        let at = pixel % self.counts[axis] * axes[axis].step;
                        pixel /= self.counts[axis];
                        // Below 0 wraps to a huge number, which is outside as well.
                        let position = at.wrapping_add_signed(tap[axis]);
                        inside &= position < input[axis];
                        offset = offset.wrapping_add(position.wrapping_mul(steps[axis]));
                    }
                    if inside {
                        *place = c.src[offset];
                    }
                }
            }
        }
    }

    /// Bias and post-ops over one output channel's pixels.
    fn finish_row(&self, n: usize, o: usize, first: usize, row: &mut [f32]) {
        let c = self.conv;
        if let Some(b) = c.bias {
            row.iter_mut().for_each(|v| *v += b[o]);
        }
        let mut vectors = c.channel.iter();
        for op in c.post_ops.iter() {
            match *op {
                PostOp::Activation(a) => row.iter_mut().for_each(|v| *v = a.apply(*v)),
                PostOp::MulChannel => {
                    let s = vectors.next().map_or(1.0, |v| v[o]);
                    row.iter_mut().for_each(|v| *v *= s);
                }
                PostOp::AddChannel => {
                    let s = vectors.next().map_or(0.0, |v| v[o]);
                    row.iter_mut().for_each(|v| *v += s);
                }
                PostOp::Residual => {
                    if let Some((data, strides)) = c.residual {
                        let base = n * strides[0] + o * strides[1];
                        let (places, count) = (self.places(strides), row.len());
                        places.for_each(&self.counts, first, count, |i, at| row[i] += data[base + at]);
                    }
                }
            }
        }
    }
}
