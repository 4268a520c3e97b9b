//! The one-dimensional transforms of Winograd's convolutions with three taps.
//!
//! A tile of `OUTPUTS` neighbouring outputs needs `OUTPUTS + 2` inputs. Both polynomials, of inputs and of taps, are evaluated at
//! `OUTPUTS + 1` points and at infinity; there the convolution is one multiplication a point, and `outputs` interpolates (Lavin
//! and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, and Barabasz and others, "Error Analysis and Improving
//! the Accuracy of Winograd Convolution for Deep Neural Networks", 2020, for the choice of points). In two dimensions each
//! transform is applied along both axes.

use crate::simd::vectors::Vector;

/// The most points of a transform.
pub(crate) const MAX_POINTS: usize = 6;
/// The most outputs of a tile along one axis.
pub(super) const MAX_OUTPUTS: usize = 4;

/// The transforms of one choice of points. Of each array the first `POINTS` or `OUTPUTS` elements count.
pub(crate) trait Points: Copy + Send + Sync {
    /// Outputs of a tile along one axis.
    const OUTPUTS: usize;
    /// Inputs of a tile along one axis, and points.
    const POINTS: usize;
    /// The taps' polynomial at each point, divided by what `outputs` would otherwise divide by: a row a point.
    const TAPS: [[f64; 3]; MAX_POINTS];
    /// The taps at each point, in f32.
    fn taps<V: Vector<B>, const B: usize>(proof: V::Proof, taps: [V; 3]) -> [V; MAX_POINTS];
    /// `taps` transposed, for gradients: from those of the taps at each point to those of the taps.
    fn gathered<V: Vector<B>, const B: usize>(proof: V::Proof, at: &[V; MAX_POINTS]) -> [V; 3];
    /// The inputs at each point.
    fn inputs<V: Vector<B>, const B: usize>(proof: V::Proof, x: &[V; MAX_POINTS]) -> [V; MAX_POINTS];
    /// The outputs from the products.
    fn outputs<V: Vector<B>, const B: usize>(proof: V::Proof, y: &[V; MAX_POINTS]) -> [V; MAX_OUTPUTS];
    /// `outputs` transposed, for gradients: from the gradients of the outputs to those of the products.
    fn spread<V: Vector<B>, const B: usize>(proof: V::Proof, y: &[V; MAX_OUTPUTS]) -> [V; MAX_POINTS];
}

/// F(2, 3): points 0, 1, -1, infinity.
#[derive(Clone, Copy)]
pub(crate) struct Two;

impl Points for Two {
    const OUTPUTS: usize = 2;
    const POINTS: usize = 4;
    const TAPS: [[f64; 3]; MAX_POINTS] =
        [[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0], [0.0; 3], [0.0; 3]];

    #[inline(always)]
    fn taps<V: Vector<B>, const B: usize>(proof: V::Proof, g: [V; 3]) -> [V; MAX_POINTS] {
        let half = V::splat(proof, 0.5);
        let even = half.mul(g[0].add(g[2]));
        [g[0], even.add_product(half, g[1]), even.sub_product(half, g[1]), g[2], g[2], g[2]]
    }

    #[inline(always)]
    fn gathered<V: Vector<B>, const B: usize>(proof: V::Proof, at: &[V; MAX_POINTS]) -> [V; 3] {
        let half = V::splat(proof, 0.5);
        let sum = at[1].add(at[2]);
        [at[0].add_product(half, sum), half.mul(at[1].sub(at[2])), at[3].add_product(half, sum)]
    }

    #[inline(always)]
    fn inputs<V: Vector<B>, const B: usize>(_: V::Proof, x: &[V; MAX_POINTS]) -> [V; MAX_POINTS] {
        let last = x[3].sub(x[1]);
        [x[0].sub(x[2]), x[1].add(x[2]), x[2].sub(x[1]), last, last, last]
    }

    #[inline(always)]
    fn outputs<V: Vector<B>, const B: usize>(_: V::Proof, y: &[V; MAX_POINTS]) -> [V; MAX_OUTPUTS] {
        let second = y[1].sub(y[2]).add(y[3]);
        [y[0].add(y[1]).add(y[2]), second, second, second]
    }

    #[inline(always)]
    fn spread<V: Vector<B>, const B: usize>(_: V::Proof, y: &[V; MAX_OUTPUTS]) -> [V; MAX_POINTS] {
        [y[0], y[0].add(y[1]), y[0].sub(y[1]), y[1], y[1], y[1]]
    }
}

/// The same number in every lane.
#[inline(always)]
fn number<V: Vector<B>, const B: usize>(proof: V::Proof, x: f64) -> V {
    V::splat(proof, x as f32)
}

/// F(4, 3): points 0, +-5/8, +-3/2, infinity. With +-1 and +-2 the errors would be 2.2 times as large.
#[derive(Clone, Copy)]
pub(crate) struct Four;

/// The smaller and the larger point, and their squares.
const A: f64 = 0.625;
const B_: f64 = 1.5;
const AA: f64 = A * A;
const BB: f64 = B_ * B_;
/// What the taps at the points 0, +-A and +-B are divided by.
const AT_0: f64 = AA * BB;
const AT_A: f64 = 2.0 * AA * (AA - BB);
const AT_B: f64 = 2.0 * BB * (BB - AA);

impl Points for Four {
    const OUTPUTS: usize = 4;
    const POINTS: usize = 6;
    const TAPS: [[f64; 3]; MAX_POINTS] = [
        [1.0 / AT_0, 0.0, 0.0],
        [1.0 / AT_A, A / AT_A, AA / AT_A],
        [1.0 / AT_A, -A / AT_A, AA / AT_A],
        [1.0 / AT_B, B_ / AT_B, BB / AT_B],
        [1.0 / AT_B, -B_ / AT_B, BB / AT_B],
        [0.0, 0.0, 1.0],
    ];

    #[inline(always)]
    fn taps<V: Vector<B>, const B: usize>(proof: V::Proof, g: [V; 3]) -> [V; MAX_POINTS] {
        let at_a =
            number::<V, B>(proof, 1.0 / AT_A).mul(g[0]).add_product(number::<V, B>(proof, AA / AT_A), g[2]);
        let at_b =
            number::<V, B>(proof, 1.0 / AT_B).mul(g[0]).add_product(number::<V, B>(proof, BB / AT_B), g[2]);
        let (odd_a, odd_b) = (number::<V, B>(proof, A / AT_A), number::<V, B>(proof, B_ / AT_B));
        [
            number::<V, B>(proof, 1.0 / AT_0).mul(g[0]),
            at_a.add_product(odd_a, g[1]),
            at_a.sub_product(odd_a, g[1]),
            at_b.add_product(odd_b, g[1]),
            at_b.sub_product(odd_b, g[1]),
            g[2],
        ]
    }

    #[inline(always)]
    fn gathered<V: Vector<B>, const B: usize>(proof: V::Proof, at: &[V; MAX_POINTS]) -> [V; 3] {
        let (sum_a, difference_a) = (at[1].add(at[2]), at[1].sub(at[2]));
        let (sum_b, difference_b) = (at[3].add(at[4]), at[3].sub(at[4]));
        [
            number::<V, B>(proof, 1.0 / AT_0)
                .mul(at[0])
                .add_product(number::<V, B>(proof, 1.0 / AT_A), sum_a)
                .add_product(number::<V, B>(proof, 1.0 / AT_B), sum_b),
            number::<V, B>(proof, A / AT_A)
                .mul(difference_a)
                .add_product(number::<V, B>(proof, B_ / AT_B), difference_b),
            at[5]
                .add_product(number::<V, B>(proof, AA / AT_A), sum_a)
                .add_product(number::<V, B>(proof, BB / AT_B), sum_b),
        ]
    }

    #[inline(always)]
    fn inputs<V: Vector<B>, const B: usize>(proof: V::Proof, x: &[V; MAX_POINTS]) -> [V; MAX_POINTS] {
        let (product, sum) = (number::<V, B>(proof, AT_0), number::<V, B>(proof, AA + BB));
        let (a, b, aa, bb) = (
            number::<V, B>(proof, A),
            number::<V, B>(proof, B_),
            number::<V, B>(proof, AA),
            number::<V, B>(proof, BB),
        );
        let (even_a, odd_a) = (x[4].sub_product(bb, x[2]), x[3].sub_product(bb, x[1]));
        let (even_b, odd_b) = (x[4].sub_product(aa, x[2]), x[3].sub_product(aa, x[1]));
        [
            x[4].sub_product(sum, x[2]).add_product(product, x[0]),
            even_a.add_product(a, odd_a),
            even_a.sub_product(a, odd_a),
            even_b.add_product(b, odd_b),
            even_b.sub_product(b, odd_b),
            x[5].sub_product(sum, x[3]).add_product(product, x[1]),
        ]
    }

    #[inline(always)]
    fn outputs<V: Vector<B>, const B: usize>(proof: V::Proof, y: &[V; MAX_POINTS]) -> [V; MAX_OUTPUTS] {
        let (sum_a, difference_a) = (y[1].add(y[2]), y[1].sub(y[2]));
        let (sum_b, difference_b) = (y[3].add(y[4]), y[3].sub(y[4]));
        [
            y[0].add(sum_a).add(sum_b),
            number::<V, B>(proof, A).mul(difference_a).add_product(number::<V, B>(proof, B_), difference_b),
            number::<V, B>(proof, AA).mul(sum_a).add_product(number::<V, B>(proof, BB), sum_b),
            y[5].add_product(number::<V, B>(proof, AA * A), difference_a)
                .add_product(number::<V, B>(proof, BB * B_), difference_b),
        ]
    }

    #[inline(always)]
    fn spread<V: Vector<B>, const B: usize>(proof: V::Proof, y: &[V; MAX_OUTPUTS]) -> [V; MAX_POINTS] {
        let even_a = y[0].add_product(number::<V, B>(proof, AA), y[2]);
        let even_b = y[0].add_product(number::<V, B>(proof, BB), y[2]);
        let odd_a = number::<V, B>(proof, A).mul(y[1]).add_product(number::<V, B>(proof, AA * A), y[3]);
        let odd_b = number::<V, B>(proof, B_).mul(y[1]).add_product(number::<V, B>(proof, BB * B_), y[3]);
        [y[0], even_a.add(odd_a), even_a.sub(odd_a), even_b.add(odd_b), even_b.sub(odd_b), y[3]]
    }
}

#[cfg(test)]
mod tests {
    use super::super::exact::{self, Fraction, ONE, ZERO, along_both};
    use super::*;

    fn unit<const N: usize>(i: usize) -> [Fraction; N] {
        std::array::from_fn(|k| if k == i { ONE } else { ZERO })
    }

    /// Along one axis, for each pair of one tap and one input: all three transforms are linear, so these are all cases.
    fn each_tap_meets_its_input<T: Points>() {
        for tap in 0..3 {
            for input in 0..T::POINTS {
                let (g, x) = (exact::taps::<T>(unit(tap)), exact::inputs::<T>(unit(input)));
                let products = std::array::from_fn(|i| g[i].times(x[i]));
                let y = exact::outputs::<T>(products);
                for o in 0..T::OUTPUTS {
                    let want = if o + tap == input { ONE } else { ZERO };
                    assert_eq!(y[o], want, "tap {tap}, input {input}, output {o}");
                }
            }
        }
    }

    /// `A^T [(G g G^T) . (B^T d B)] A` is the convolution, exactly.
    fn a_tile_is_the_convolution<T: Points>() {
        let mut state = 7i128;
        let mut next = || {
            state = state * 1103515245 % 2147483647;
            Fraction::new(state % 100 - 50, 1)
        };
        for _ in 0..20 {
            let g: [[Fraction; 3]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
            let d: [[Fraction; MAX_POINTS]; MAX_POINTS] =
                std::array::from_fn(|_| std::array::from_fn(|_| next()));
            let (at_g, at_d) = (along_both(g, exact::taps::<T>), along_both(d, exact::inputs::<T>));
            let products = std::array::from_fn(|i| std::array::from_fn(|j| at_g[i][j].times(at_d[i][j])));
            let y = along_both::<MAX_POINTS, MAX_OUTPUTS>(products, exact::outputs::<T>);
            for row in 0..T::OUTPUTS {
                for column in 0..T::OUTPUTS {
                    let taps = (0..9).map(|t| g[t / 3][t % 3].times(d[row + t / 3][column + t % 3]));
                    assert_eq!(y[row][column], taps.fold(ZERO, Fraction::plus), "{row} {column}");
                }
            }
        }
    }

    /// The transform of a run has the table's numbers, rounded to f32.
    fn taps_are_those_of_the_table<T: Points>() {
        let table = exact::taps_table::<T>();
        for tap in 0..3 {
            let row = T::taps::<Fraction, 1>((), unit(tap));
            for i in 0..T::POINTS {
                let (got, want) = (row[i].value(), table[i][tap].value());
                let error = (got - want).abs();
                assert!(error <= 0.51 * f64::from(f32::EPSILON) * want.abs(), "{i} {tap}: {got} for {want}");
                let transposed = T::gathered::<Fraction, 1>((), &unit(i))[tap];
                assert_eq!(transposed.value(), got, "{i} {tap}, transposed");
            }
        }
    }

    /// `<outputs(p), y> = <p, spread(y)>` for each pair of a point and an output.
    fn spread_is_outputs_transposed<T: Points>() {
        for point in 0..T::POINTS {
            let outputs = exact::outputs::<T>(unit(point));
            for output in 0..T::OUTPUTS {
                let spread = exact::spread::<T>(unit(output));
                assert_eq!(spread[point], outputs[output], "point {point}, output {output}");
            }
        }
    }

    #[test]
    fn transforms_are_exact_in_rationals() {
        spread_is_outputs_transposed::<Two>();
        spread_is_outputs_transposed::<Four>();
        each_tap_meets_its_input::<Two>();
        each_tap_meets_its_input::<Four>();
        a_tile_is_the_convolution::<Two>();
        a_tile_is_the_convolution::<Four>();
    }

    #[test]
    fn weights_transformed_in_a_run_have_the_same_table() {
        taps_are_those_of_the_table::<Two>();
        taps_are_those_of_the_table::<Four>();
    }

    #[test]
    fn sizes_fit_the_arrays() {
        assert_eq!((Two::POINTS, Four::POINTS), (Two::OUTPUTS + 2, Four::OUTPUTS + 2));
        assert_eq!((MAX_POINTS, MAX_OUTPUTS), (Four::POINTS, Four::OUTPUTS));
    }
}
