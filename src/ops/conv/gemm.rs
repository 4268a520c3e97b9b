//! Convolution in pure Rust: patches of the source as columns, then a matrix product, tile by tile.

use crate::error::Result;
use crate::layout::dims::Dims;
use crate::matmul::{Matrix, matmul};
use crate::ops::post_ops::{PostOp, PostOps};
use crate::threads::{SyncPtr, parallel_for};

use super::ConvGeometry;

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
    let g = c.g;
    let pixels: usize = g.output.iter().product();
    let k = g.c / g.groups * g.kernel.iter().product::<usize>();
    let tile = (COLUMNS / k.max(1)).clamp(16, 4096).min(pixels.max(1));
    let tiles = pixels.div_ceil(tile);
    let og = g.o / g.groups;
    let out = SyncPtr::new(dst);
    let len = dst.len();
    parallel_for(g.n * g.groups * tiles, |task| {
        let (n, rest) = (task / (g.groups * tiles), task % (g.groups * tiles));
        let (group, first) = (rest / tiles, rest % tiles * tile);
        let count = tile.min(pixels - first);
        let mut columns = vec![0f32; k * count];
        c.fill_columns(n, group, first, count, &mut columns);
        let mut result = vec![0f32; og * count];
        let w = Matrix { data: &c.weights[group * og * k..(group + 1) * og * k], row: k, column: 1 };
        matmul(og, count, k, w, Matrix { data: &columns, row: count, column: 1 }, &mut result);
        for (o, row) in result.chunks_mut(count).enumerate() {
            let o = group * og + o;
            c.finish_row(n, o, first, row);
            let base = n * c.dst_strides[0] + o * c.dst_strides[1];
            for_pixels(&g.output, &c.dst_strides[2..], first, count, |i, at| {
                assert!(base + at < len);
                // SAFETY: in bounds by the assert; image, channel and pixel belong to this task alone, and the
                // strides of a result do not overlap.
                unsafe { *out.get().add(base + at) = row[i] };
            });
        }
    });
    Ok(())
}

/// Calls `f(i, offset)` for `count` pixels from number `first` on, in row-major order.
fn for_pixels(sizes: &Dims, strides: &[usize], first: usize, count: usize, mut f: impl FnMut(usize, usize)) {
    let width = sizes.last().copied().unwrap_or(1);
    let step = strides.last().copied().unwrap_or(0);
    let mut i = 0;
    while i < count {
        let pixel = first + i;
        let x = pixel % width;
        let run = (width - x).min(count - i);
        let mut row = pixel / width;
        let mut base = x * step;
        for axis in (0..sizes.len().saturating_sub(1)).rev() {
            base += row % sizes[axis] * strides[axis];
            row /= sizes[axis];
        }
        for j in 0..run {
            f(i + j, base + j * step);
        }
        i += run;
    }
}

impl GemmConv<'_> {
    /// `columns[kk][i]`: what weight `kk` meets at output pixel `first + i`; 0 in the padding.
    fn fill_columns(&self, n: usize, group: usize, first: usize, count: usize, columns: &mut [f32]) {
        let g = self.g;
        let spatial = g.input.len();
        let cg = g.c / g.groups;
        let taps: usize = g.kernel.iter().product();
        let mut row = 0;
        for c in 0..cg {
            let base = n * self.src_strides[0] + (group * cg + c) * self.src_strides[1];
            for tap in 0..taps {
                let mut at = [0usize; 3];
                let mut rest = tap;
                for axis in (0..spatial).rev() {
                    at[axis] = rest % g.kernel[axis] * g.dilation[axis];
                    rest /= g.kernel[axis];
                }
                let line = &mut columns[row * count..(row + 1) * count];
                for (i, place) in line.iter_mut().enumerate() {
                    let mut pixel = first + i;
                    let mut offset = base;
                    let mut inside = true;
                    for axis in (0..spatial).rev() {
                        let position = pixel % g.output[axis] * g.stride[axis] + at[axis];
                        pixel /= g.output[axis];
                        // Below 0 wraps to a huge number, which is outside as well.
                        let position = position.wrapping_sub(g.pad_begin[axis]);
                        inside &= position < g.input[axis];
                        offset = offset.wrapping_add(position.wrapping_mul(self.src_strides[axis + 2]));
                    }
                    if inside {
                        *place = self.src[offset];
                    }
                }
                row += 1;
            }
        }
    }

    /// Bias and post-ops over one output channel's pixels.
    fn finish_row(&self, n: usize, o: usize, first: usize, row: &mut [f32]) {
        if let Some(b) = self.bias {
            row.iter_mut().for_each(|v| *v += b[o]);
        }
        let mut vectors = self.channel.iter();
        for op in self.post_ops.iter() {
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
                    if let Some((data, strides)) = self.residual {
                        let base = n * strides[0] + o * strides[1];
                        let count = row.len();
                        for_pixels(&self.g.output, &strides[2..], first, count, |i, at| {
                            row[i] += data[base + at]
                        });
                    }
                }
            }
        }
    }
}
