//! The sums of a depthwise convolution's weights: products of equal lanes of both operands.
//!
//! Taps of neighbouring rows and columns are added up together: a pixel of the incoming gradient is read once for all of them, and their
//! sums stay in registers. Where a row of outputs ends some taps are outside, and each is looked at. A row of outputs that some rows of
//! taps do not meet is added to the others' sums apart.

use std::ops::Range;

use super::blocks::Blocks;
use super::conv_weights::{add_in_f64, places, row_at, source_of};
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::phases::{Axis, cube};
use crate::kernels::lanes::RowVectors;
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};

/// Taps of a row at once, at most.
const MOST_TAPS: usize = 4;
/// Rows of taps at once: the sums of all of them have 12 of 16 registers.
const ROWS: usize = 3;

/// A channel block of both operands, and where it begins in them.
pub(super) struct Operands<'a> {
    pub x: &'a Blocks<'a>,
    pub x_at: usize,
    pub diff: &'a Blocks<'a>,
    pub diff_at: usize,
}

/// Adds to the sums of some rows of taps, from the tap `first` on, what these rows of all images give. The order in which a tap's products
/// are added up does not depend on which other rows of taps there are.
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
    let [_, kh, kw] = cube(&g.kernel, 1);
    let input = cube(&g.input, 1);
    let (mut next, end) = (first / kw, first / kw + sums.len() / kw);
    let mut starts = Vec::with_capacity(rows.len());
    while next < end {
        // The rows of taps that are added up together where there are that many, and those of them that are asked for.
        let (plane, row) = (next / kh, next % kh);
        let group = row / ROWS * ROWS..(row / ROWS * ROWS + ROWS).min(kh);
        let asked = row..group.end.min(row + end - next);
        let inside = |row: usize| axes[1].outputs_inside(row, input[1]);
        let in_all = group.map(inside).reduce(|a, b| a.start.max(b.start)..a.end.min(b.end)).unwrap_or(0..0);
        let sums = &mut sums[(next - first / kw) * kw..][..asked.len() * kw];
        next += asked.len();
        let of_plane = axes[0].outputs_inside(plane, input[0]);
        let mut add = |taps: Range<usize>, meets: &dyn Fn(usize) -> bool, sums: &mut [[f64; B]]| {
            starts.clear();
            let rows = places(g, rows.clone()).filter(|[_, d, h]| of_plane.contains(d) && meets(*h));
            starts.extend(rows.map(|[n, d, h]| {
                let from = [n, source_of(&axes[0], plane, d), source_of(&axes[1], taps.start, h)];
                [
                    of.x_at + row_at(of.x.image, &of.x.spatial, from),
                    of.diff_at + row_at(of.diff.image, &of.diff.spatial, [n, d, h]),
                ]
            }));
            let run = Run {
                x: &of.x.data,
                x_row: (axes[1].taps.get(1).map_or(0, |tap| tap.at - axes[1].taps[0].at) as usize)
                    * of.x.spatial[1],
                x_step: of.x.spatial[2],
                diff: &of.diff.data,
                diff_step: of.diff.spatial[2],
                axis: &axes[2],
                width: input[2],
                starts: &starts,
            };
            run.add(taps.len(), sums);
        };
        if asked.len() == ROWS {
            add(asked.clone(), &|h| in_all.contains(&h), sums);
        }
        for (row, sums) in asked.clone().zip(sums.chunks_mut(kw)) {
            if asked.len() < ROWS {
                add(row..row + 1, &|h| in_all.contains(&h), sums);
            }
            let inside = inside(row);
            add(row..row + 1, &|h| inside.contains(&h) && !in_all.contains(&h), sums);
        }
    }
}

/// Rows of outputs: where the first row of taps meets them in both operands, in **elements**.
#[derive(Clone, Copy)]
struct Run<'a> {
    x: &'a [f32],
    /// From what a row of taps meets to what the next one does.
    x_row: usize,
    x_step: usize,
    diff: &'a [f32],
    diff_step: usize,
    axis: &'a Axis,
    /// Of a row of the source.
    width: usize,
    starts: &'a [[usize; 2]],
}

impl Run<'_> {
    /// Adds to the sums of `rows` rows of taps, which is 1 or [`ROWS`].
    fn add<const B: usize>(self, rows: usize, sums: &mut [[f64; B]])
    where
        Width<B>: VectorWidth<B>,
    {
        let run = self;
        if run.starts.is_empty() {
            return;
        }
        let kw = sums.len() / rows;
        let at_once = kw.div_ceil(kw.div_ceil(MOST_TAPS));
        for first in (0..kw).step_by(at_once) {
            let sums = &mut *sums;
            match (rows, at_once.min(kw - first)) {
                (1, 1) => Width::<B>::dispatch(Taps::<B, 1, 1> { run, first, sums }),
                (1, 2) => Width::<B>::dispatch(Taps::<B, 1, 2> { run, first, sums }),
                (1, 3) => Width::<B>::dispatch(Taps::<B, 1, 3> { run, first, sums }),
                (1, MOST_TAPS) => Width::<B>::dispatch(Taps::<B, 1, MOST_TAPS> { run, first, sums }),
                (ROWS, 1) => Width::<B>::dispatch(Taps::<B, ROWS, 1> { run, first, sums }),
                (ROWS, 2) => Width::<B>::dispatch(Taps::<B, ROWS, 2> { run, first, sums }),
                (ROWS, 3) => Width::<B>::dispatch(Taps::<B, ROWS, 3> { run, first, sums }),
                (ROWS, MOST_TAPS) => Width::<B>::dispatch(Taps::<B, ROWS, MOST_TAPS> { run, first, sums }),
                (rows, taps) => unreachable!("{rows} rows of {taps} taps"),
            }
        }
    }
}

/// `T` neighbouring taps of each of `R` rows of taps, from the tap `first` of a row on.
struct Taps<'a, const B: usize, const R: usize, const T: usize> {
    run: Run<'a>,
    first: usize,
    /// Of all taps of these rows.
    sums: &'a mut [[f64; B]],
}

impl<const B: usize, const R: usize, const T: usize> VectorLoop<B> for Taps<'_, B, R, T> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        let Taps { run, first, sums } = self;
        let Axis { step, count, .. } = *run.axis;
        // The outputs at which all taps are inside, and what the taps meet at output 0.
        let mut inside = 0..count;
        let mut at = [0; T];
        for t in 0..T {
            let of_tap = run.axis.outputs_inside(first + t, run.width);
            inside = inside.start.max(of_tap.start)..inside.end.min(of_tap.end);
            at[t] = run.axis.taps[first + t].at;
        }
        if inside.is_empty() {
            inside = 0..0;
        }
        let mut all = [[V::splat(proof, 0.0); T]; R];
        for &[x, of_diff] in run.starts {
            let diff = RowVectors::<f32, B, 1>::new(run.diff, &[of_diff], 0, run.diff_step, count);
            let mut starts = [0; R];
            for r in 0..R {
                starts[r] = x + r * run.x_row;
            }
            let row = RowVectors::<f32, B, R>::new(run.x, &starts, 0, run.x_step, run.width);
            if !inside.is_empty() {
                let mut of_taps = [[0; T]; R];
                for r in 0..R {
                    for t in 0..T {
                        of_taps[r][t] = starts[r] + source_of(run.axis, first + t, inside.start) * run.x_step;
                    }
                }
                let step = step * run.x_step;
                let mut rows = [RowVectors::<f32, B, T>::new(run.x, &of_taps[0], 0, step, inside.len()); R];
                for r in 1..R {
                    rows[r] = RowVectors::new(run.x, &of_taps[r], 0, step, inside.len());
                }
                for p in 0..inside.len() {
                    let [diff] = diff.get(inside.start + p);
                    let diff = V::load(proof, diff);
                    for r in 0..R {
                        let x = rows[r].get(p);
                        for t in 0..T {
                            all[r][t] = all[r][t].add_product(V::load(proof, x[t]), diff);
                        }
                    }
                }
            }
            for p in (0..inside.start).chain(inside.end..count) {
                let [diff] = diff.get(p);
                let diff = V::load(proof, diff);
                for t in 0..T {
                    let column = ((p * step) as isize + at[t]) as usize;
                    if column < run.width {
                        let x = row.get(column);
                        for r in 0..R {
                            all[r][t] = all[r][t].add_product(V::load(proof, x[r]), diff);
                        }
                    }
                }
            }
        }
        let kw = sums.len() / R;
        for r in 0..R {
            add_in_f64(&all[r], &mut sums[r * kw + first..][..T]);
        }
    }
}
