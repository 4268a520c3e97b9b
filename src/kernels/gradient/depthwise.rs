//! The sums of a depthwise convolution's weights: products of equal lanes of both operands.
//!
//! Neighbouring taps of a row are added up together: a pixel of the incoming gradient is read once for all of them, and their sums stay in
//! registers. Where a row ends, some taps are outside: these pixels are added to the others' sums apart.

use std::ops::Range;

use super::blocks::Blocks;
use super::conv_weights::{add_in_f64, row_at, rows_inside, source_of};
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::phases::{Axis, cube};
use crate::kernels::lanes::RowVectors;
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};

/// Taps at once, at most.
const MOST_TAPS: usize = 4;

/// A channel block of both operands, and where it begins in them.
pub(super) struct Operands<'a> {
    pub x: &'a Blocks<'a>,
    pub x_at: usize,
    pub diff: &'a Blocks<'a>,
    pub diff_at: usize,
}

/// Adds to the sums of some rows of taps, from the tap `first` on, what these rows of all images give.
pub(super) fn add<const B: usize>(
    g: &ConvGeometry,
    axes: &[Axis; 3],
    of: &Operands<'_>,
    rows: Range<usize>,
    first: usize,
    sums: &mut [[f64; B]],
) where
    Width<B>: VectorWidth<B>,
{
    let Operands { x, x_at, diff, diff_at } = *of;
    let [_, kh, kw] = cube(&g.kernel, 1);
    let width = cube(&g.input, 1)[2];
    let at_once = kw.div_ceil(kw.div_ceil(MOST_TAPS));
    let mut starts = Vec::with_capacity(rows.len());
    for (row, sums) in (first / kw..).zip(sums.chunks_mut(kw)) {
        starts.clear();
        let inside = rows_inside(g, axes, [row / kh, row % kh], rows.clone());
        starts.extend(inside.map(|[from, to]| {
            [x_at + row_at(x.image, &x.spatial, from), diff_at + row_at(diff.image, &diff.spatial, to)]
        }));
        for (i, sums) in sums.chunks_mut(at_once).enumerate() {
            let run = Run {
                x: &x.data,
                x_step: x.spatial[2],
                diff: &diff.data,
                diff_step: diff.spatial[2],
                axis: &axes[2],
                width,
                first: i * at_once,
                starts: &starts,
            };
            match sums {
                [_] => Width::<B>::dispatch(Taps::<B, 1> { run, sums }),
                [_, _] => Width::<B>::dispatch(Taps::<B, 2> { run, sums }),
                [_, _, _] => Width::<B>::dispatch(Taps::<B, 3> { run, sums }),
                _ => Width::<B>::dispatch(Taps::<B, MOST_TAPS> { run, sums }),
            }
        }
    }
}

/// Rows of pixels: where they begin in both operands, in **elements**.
#[derive(Clone, Copy)]
struct Run<'a> {
    x: &'a [f32],
    x_step: usize,
    diff: &'a [f32],
    diff_step: usize,
    axis: &'a Axis,
    /// Of a row of the source.
    width: usize,
    /// The first tap.
    first: usize,
    starts: &'a [[usize; 2]],
}

impl<'a> Run<'a> {
    /// The pixels of x that `T` taps from `tap` on meet at these outputs, and those of the gradient.
    #[inline(always)]
    fn pixels<const B: usize, const T: usize>(
        &self,
        [x, diff]: [usize; 2],
        tap: usize,
        outputs: &Range<usize>,
    ) -> (RowVectors<'a, f32, B, T>, RowVectors<'a, f32, B, 1>) {
        let mut starts = [0; T];
        for t in 0..T {
            starts[t] = x + source_of(self.axis, tap + t, outputs.start) * self.x_step;
        }
        let (step, count) = (self.axis.step * self.x_step, outputs.len());
        let of_diff = [diff + outputs.start * self.diff_step];
        (
            RowVectors::new(self.x, &starts, 0, step, count),
            RowVectors::new(self.diff, &of_diff, 0, self.diff_step, count),
        )
    }
}

/// `T` neighbouring taps.
struct Taps<'a, const B: usize, const T: usize> {
    run: Run<'a>,
    sums: &'a mut [[f64; B]],
}

impl<const B: usize, const T: usize> VectorLoop<B> for Taps<'_, B, T> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        let Taps { run, sums } = self;
        let mut inside = [const { 0..0 }; T];
        // The outputs at which all taps are inside.
        let mut all_inside = 0..usize::MAX;
        for t in 0..T {
            inside[t] = run.axis.outputs_inside(run.first + t, run.width);
            all_inside = all_inside.start.max(inside[t].start)..all_inside.end.min(inside[t].end);
        }
        if all_inside.is_empty() {
            all_inside = 0..0;
        }
        let mut all = [V::splat(proof, 0.0); T];
        for &start in run.starts {
            if !all_inside.is_empty() {
                let (x, diff) = run.pixels::<B, T>(start, run.first, &all_inside);
                for p in 0..all_inside.len() {
                    let (x, [diff]) = (x.get(p), diff.get(p));
                    let diff = V::load(proof, diff);
                    for t in 0..T {
                        all[t] = all[t].add_product(V::load(proof, x[t]), diff);
                    }
                }
            }
            for t in 0..T {
                let Range { start: first, end } = inside[t];
                for part in [first..end.min(all_inside.start), first.max(all_inside.end)..end] {
                    if part.is_empty() {
                        continue;
                    }
                    let (x, diff) = run.pixels::<B, 1>(start, run.first + t, &part);
                    for p in 0..part.len() {
                        let ([x], [diff]) = (x.get(p), diff.get(p));
                        all[t] = all[t].add_product(V::load(proof, x), V::load(proof, diff));
                    }
                }
            }
        }
        add_in_f64(&all, sums);
    }
}
