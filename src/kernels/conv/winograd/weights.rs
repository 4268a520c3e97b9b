//! The transform of the weights, ahead of all runs or in each.

use std::marker::PhantomData;

use super::points::{MAX_POINTS, Points};
use crate::simd::prefetch;
use crate::simd::vectors::{Vector, VectorLoop};

/// Transforms the weights of some input channels and one or two output blocks, in f32.
pub(super) struct WeightTransform<'a, T, const B: usize> {
    pub points: PhantomData<T>,
    /// For each output block its weights, `[source block][tap][source lane]`.
    pub from: [&'a [[f32; B]]; 2],
    pub output_blocks: usize,
    pub source_blocks: usize,
    /// `[point][input channel][output block]`.
    pub to: &'a mut [[f32; B]],
    /// Vectors from one point to the next.
    pub point: usize,
}

impl<T: Points, const B: usize> VectorLoop<B> for WeightTransform<'_, T, B> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        for block in 0..self.source_blocks {
            for (o, from) in self.from.iter().enumerate().take(self.output_blocks) {
                let from = &from[block * 9 * B..][..9 * B];
                for lane in 0..B {
                    for tap in 0..9 {
                        prefetch(&from[tap * B + lane..][..1], 9 * B * size_of::<[f32; B]>());
                    }
                    // No closures: one that the compiler does not inline is compiled for the baseline.
                    let down = [
                        T::taps::<V, B>(proof, column(proof, from, lane, 0)),
                        T::taps::<V, B>(proof, column(proof, from, lane, 1)),
                        T::taps::<V, B>(proof, column(proof, from, lane, 2)),
                    ];
                    let to = (block * B + lane) * self.output_blocks + o;
                    for i in 0..T::POINTS {
                        let along = T::taps::<V, B>(proof, [down[0][i], down[1][i], down[2][i]]);
                        for j in 0..T::POINTS {
                            along[j].store(&mut self.to[(i * T::POINTS + j) * self.point + to]);
                        }
                    }
                }
            }
        }
    }
}

/// The three taps of a column.
#[inline(always)]
fn column<V: Vector<B>, const B: usize>(
    proof: V::Proof,
    from: &[[f32; B]],
    lane: usize,
    column: usize,
) -> [V; 3] {
    [
        V::load(proof, &from[column * B + lane]),
        V::load(proof, &from[(3 + column) * B + lane]),
        V::load(proof, &from[(6 + column) * B + lane]),
    ]
}

/// The weights of one input and one output channel at each point, in f64: row by row.
pub(super) fn transformed<T: Points>(taps: &[f32; 9]) -> [f32; MAX_POINTS * MAX_POINTS] {
    let mut all = [0.0; MAX_POINTS * MAX_POINTS];
    let mut down = [[0f64; 3]; MAX_POINTS];
    for (down, point) in down.iter_mut().zip(&T::TAPS) {
        for (x, down) in down.iter_mut().enumerate() {
            *down = (0..3).map(|y| point[y] * f64::from(taps[y * 3 + x])).sum();
        }
    }
    for i in 0..T::POINTS {
        for j in 0..T::POINTS {
            let value: f64 = (0..3).map(|x| down[i][x] * T::TAPS[j][x]).sum();
            all[i * T::POINTS + j] = value as f32;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::exact::{Fraction, along_both, taps};
    use super::super::points::{Four, Two};
    use super::*;
    use crate::simd::vectors::{VectorWidth, Width};

    /// Weights transformed in a run and ahead, against the transform in rationals.
    fn agrees<T: Points, const B: usize>()
    where
        Width<B>: VectorWidth<B>,
    {
        let (source_blocks, output_blocks) = (2, 2);
        let value = |o: usize, c: usize, tap: usize, lane: usize| {
            ((o * 41 + c * 11 + tap * 7 + lane * 3) % 17) as f32 - 8.0
        };
        let of = |o: usize| -> Vec<[f32; B]> {
            let at = |i: usize| (i / (9 * B) * B + i % B, i / B % 9);
            (0..source_blocks * 9 * B)
                .map(|i| std::array::from_fn(|l| value(o, at(i).0, at(i).1, l)))
                .collect()
        };
        let (first, second) = (of(0), of(1));
        let point = source_blocks * B * output_blocks + 1;
        let mut to = vec![[f32::NAN; B]; T::POINTS * T::POINTS * point];
        Width::<B>::dispatch(WeightTransform {
            points: PhantomData::<T>,
            from: [&first, &second],
            output_blocks,
            source_blocks,
            to: &mut to,
            point,
        });
        for (o, c, lane) in [(0, 0, 0), (1, 0, B - 1), (0, B + 1, 2), (1, 2 * B - 1, B - 1)] {
            let g: [f32; 9] = std::array::from_fn(|tap| value(o, c, tap, lane));
            let ahead = transformed::<T>(&g);
            let exact = std::array::from_fn(|i| std::array::from_fn(|j| Fraction::of(g[i * 3 + j].into())));
            let want = along_both::<3, MAX_POINTS>(exact, taps::<T>);
            for (i, &ahead) in ahead[..T::POINTS * T::POINTS].iter().enumerate() {
                let want = want[i / T::POINTS][i % T::POINTS].value();
                let in_run = to[i * point + c * output_blocks + o][lane];
                let rounded = f64::from(f32::EPSILON) * want.abs();
                assert!((f64::from(ahead) - want).abs() <= rounded, "point {i}: {ahead} for {want}");
                assert!((f64::from(in_run) - want).abs() <= 1e-5, "point {i}: {in_run} for {want}");
            }
        }
    }

    #[test]
    fn both_transforms_have_the_numbers_of_the_table() {
        agrees::<Two, 16>();
        agrees::<Four, 16>();
        agrees::<Two, 8>();
        agrees::<Four, 8>();
    }
}
