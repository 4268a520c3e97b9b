//! Convolution in pure Rust, tile by tile, phase by phase: patches of the source as columns, then a matrix product; or
//! sums straight from the source where few output channels would share the columns.

mod implementation;

pub(crate) use implementation::Gemm;

use std::borrow::Cow;
use std::ops::Range;

use crate::error::Result;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::epilogue::Finish;
use crate::kernels::conv::phases::{Phase, cube, phases};
use crate::layout::dims::Dims;
use crate::matmul::{self, Matrix, matmul};
use crate::memory::{Failed, try_collect};
use crate::simd::{self, Loop};
use crate::threads::{SyncPtr, parallel_for};

/// A convolution over plain strides. Weights are `[O, C/g, k...]`, dense and row-major; strides in elements.
struct GemmConv<'a> {
    pub g: &'a ConvGeometry,
    pub src: &'a [f32],
    pub src_strides: &'a [usize],
    pub weights: &'a [f32],
    pub dst_strides: &'a [usize],
    pub finish: Finish<'a>,
    /// With its strides.
    pub residual: Option<(&'a [f32], &'a [usize])>,
}

/// Elements of the column buffer of one task: what stays in a core's second cache beside the weights. A constant: the bits of a
/// product may depend on its width.
const COLUMNS: usize = 128 << 10;

/// What errors about memory call it.
const CALL: &str = "convolution";

/// So many output channels of a group are added up without columns.
const FEW: usize = 3;

/// Writes every element of the result. The bits do not depend on the number of threads: a task computes whole
/// output pixels, and tiles depend on shapes alone.
fn gemm_conv(c: &GemmConv<'_>, dst: &mut [f32]) -> Result<()> {
    let (g, len) = (c.g, dst.len());
    let out = SyncPtr::new(dst);
    let failed = Failed::default();
    matmul::check_memory()?;
    for phase in phases(g) {
        let part = Part::new(c, &phase)?;
        let (cg, og) = (g.c / g.groups, g.o / g.groups);
        let k = cg * part.taps.len();
        let pixels: usize = part.counts.iter().product();
        let tile = (COLUMNS / k.max(1)).clamp(16, 4096).min(pixels.max(1));
        let tiles = pixels.div_ceil(tile);
        parallel_for(g.n * g.groups * tiles, |task| {
            let (n, rest) = (task / (g.groups * tiles), task % (g.groups * tiles));
            let (group, first) = (rest / tiles, rest % tiles * tile);
            let count = tile.min(pixels - first);
            let Some(mut result) = failed.try_filled(CALL, og * count, 0f32) else { return };
            let weights = &part.weights[group * og * k..(group + 1) * og * k];
            if og <= FEW {
                for (sums, weights) in result.chunks_exact_mut(count).zip(weights.chunks_exact(k.max(1))) {
                    part.add_up(n, group, weights, first, sums);
                }
            } else {
                let Some(mut columns) = failed.try_filled(CALL, k * count, 0f32) else { return };
                part.fill_columns(n, group, first, count, &mut columns);
                let (w, columns) = (Matrix { data: weights, row: k, column: 1 }, &columns);
                matmul(og, count, k, w, Matrix { data: columns, row: count, column: 1 }, &mut result);
            }
            let places = part.places(c.dst_strides);
            for (o, row) in result.chunks_mut(count).enumerate() {
                let o = group * og + o;
                let residual = part.residual(n, o, first, row.len());
                c.finish.pixels(1, o..o + 1, residual.as_deref(), row);
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
    failed.result()
}

/// Adds `weight` times every `step`th element of `src` to the sums.
struct Add<'a> {
    sums: &'a mut [f32],
    src: &'a [f32],
    step: usize,
    weight: f32,
}

impl Loop for Add<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Add { sums, src, step, weight } = self;
        match step {
            // An expanded source.
            0 => sums.iter_mut().for_each(|s| *s += src[0] * weight),
            1 => sums.iter_mut().zip(src).for_each(|(s, v)| *s += v * weight),
            _ => sums.iter_mut().zip(src.iter().step_by(step)).for_each(|(s, v)| *s += v * weight),
        }
    }
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
    fn new(conv: &'a GemmConv<'a>, phase: &'a Phase) -> Result<Part<'a>> {
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
            Cow::Owned(try_collect(CALL, conv.weights.chunks_exact(all).flat_map(of_channel))?)
        };
        Ok(Part { conv, phase, counts: [0, 1, 2].map(|a| phase.axes[a].count), taps, weights })
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

    /// Calls `f(pixels, at)` for the stretches of a row that meet the source at a tap: numbers among the `count` pixels from
    /// `first` on, and where in a plane of the source the first of them meets it.
    fn stretches(
        &self,
        tap: &[isize; 3],
        first: usize,
        count: usize,
        mut f: impl FnMut(Range<usize>, usize),
    ) {
        let (g, [_, rows, columns]) = (self.conv.g, self.counts);
        let (input, steps, axes) = (cube(&g.input, 1), Part::steps(self.conv.src_strides), &self.phase.axes);
        // Before `low` a row meets the padding in front of the source, from `high` on the one behind it.
        let step = axes[2].step;
        let low = if tap[2] < 0 { tap[2].unsigned_abs().div_ceil(step) } else { 0 };
        let room = (input[2] as isize).saturating_sub(tap[2]);
        let high = if room > 0 { (room as usize).div_ceil(step) } else { 0 };
        let mut i = 0;
        while i < count {
            let (x, row) = ((first + i) % columns, (first + i) / columns);
            let run = (columns - x).min(count - i);
            // Below 0 wraps to a huge number, which is outside as well.
            let d = (row / rows * axes[0].step).wrapping_add_signed(tap[0]);
            let h = (row % rows * axes[1].step).wrapping_add_signed(tap[1]);
            let (from, to) = (low.max(x), high.min(x + run));
            if d < input[0] && h < input[1] && from < to {
                let w = (from * step).wrapping_add_signed(tap[2]);
                f(i + from - x..i + to - x, d * steps[0] + h * steps[1] + w * steps[2]);
            }
            i += run;
        }
    }

    /// What is added to one output channel's pixels, side by side.
    fn residual(&self, n: usize, o: usize, first: usize, count: usize) -> Option<Vec<f32>> {
        let (data, strides) = self.conv.residual?;
        let mut row = vec![0f32; count];
        let plane = &data[n * strides[0] + o * strides[1]..];
        self.places(strides).for_each(&self.counts, first, count, |i, at| row[i] = plane[at]);
        Some(row)
    }

    /// Where a group's input channels begin in the source of image `n`.
    fn planes(&self, n: usize, group: usize) -> impl Iterator<Item = usize> {
        let (cg, strides) = (self.conv.g.c / self.conv.g.groups, self.conv.src_strides);
        (0..cg).map(move |c| n * strides[0] + (group * cg + c) * strides[1])
    }

    /// How far apart neighbours of a row meet the source, in elements.
    fn step(&self) -> usize {
        self.phase.axes[2].step * Part::steps(self.conv.src_strides)[2]
    }

    /// `columns[kk][i]`: what weight `kk` meets at output pixel `first + i`; 0 in the padding.
    fn fill_columns(&self, n: usize, group: usize, first: usize, count: usize, columns: &mut [f32]) {
        let (src, step) = (self.conv.src, self.step());
        let mut lines = columns.chunks_exact_mut(count);
        for plane in self.planes(n, group) {
            for (tap, line) in self.taps.iter().zip(&mut lines) {
                self.stretches(tap, first, count, |pixels, at| {
                    let (line, src) = (&mut line[pixels], &src[plane + at..]);
                    match step {
                        0 => line.fill(src[0]),
                        1 => line.copy_from_slice(&src[..line.len()]),
                        _ => line.iter_mut().zip(src.iter().step_by(step)).for_each(|(l, &v)| *l = v),
                    }
                });
            }
        }
    }

    /// The sums of one output channel, straight from the source: with few of them columns cost more than they save.
    fn add_up(&self, n: usize, group: usize, weights: &[f32], first: usize, sums: &mut [f32]) {
        let (src, step) = (self.conv.src, self.step());
        for (plane, weights) in self.planes(n, group).zip(weights.chunks_exact(self.taps.len().max(1))) {
            for (tap, &weight) in self.taps.iter().zip(weights) {
                self.stretches(tap, first, sums.len(), |pixels, at| {
                    simd::dispatch(Add { sums: &mut sums[pixels], src: &src[plane + at..], step, weight });
                });
            }
        }
    }
}
