//! For tests: the transforms in rational numbers, by the kernels' own functions.

use super::points::{MAX_OUTPUTS, MAX_POINTS, Points};
use crate::simd::vectors::{KEEP, Vector};

/// A fraction in lowest terms, as a vector of one lane: a transform of fractions is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fraction {
    over: i128,
    under: i128,
}

pub(super) const ZERO: Fraction = Fraction { over: 0, under: 1 };
pub(super) const ONE: Fraction = Fraction { over: 1, under: 1 };

fn divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { divisor(b, a % b) }
}

impl Fraction {
    pub fn new(over: i128, under: i128) -> Fraction {
        let by = divisor(over, under) * under.signum();
        Fraction { over: over / by, under: under / by }
    }

    /// The very number: every f64 is a fraction.
    pub fn of(x: f64) -> Fraction {
        let (mut x, mut under) = (x, 1i128);
        while x.fract() != 0.0 {
            (x, under) = (x * 2.0, under.checked_mul(2).expect("a number of few bits"));
        }
        Fraction::new(x as i128, under)
    }

    pub fn value(self) -> f64 {
        self.over as f64 / self.under as f64
    }

    pub fn plus(self, b: Fraction) -> Fraction {
        Fraction::new(self.over * b.under + b.over * self.under, self.under * b.under)
    }

    pub fn times(self, b: Fraction) -> Fraction {
        Fraction::new(self.over * b.over, self.under * b.under)
    }
}

impl Vector<1> for Fraction {
    type Proof = ();
    const REGISTERS: usize = 1;
    fn splat((): (), x: f32) -> Self {
        Fraction::of(x.into())
    }
    fn load((): (), x: &[f32; 1]) -> Self {
        Fraction::of(x[0].into())
    }
    fn store(self, to: &mut [f32; 1]) {
        to[0] = self.value() as f32;
    }
    fn add_product(self, a: Self, b: Self) -> Self {
        self.plus(a.times(b))
    }
    fn sub_product(self, a: Self, b: Self) -> Self {
        self.sub(a.times(b))
    }
    fn add(self, b: Self) -> Self {
        self.plus(b)
    }
    fn sub(self, b: Self) -> Self {
        self.plus(b.times(Fraction::new(-1, 1)))
    }
    fn mul(self, b: Self) -> Self {
        self.times(b)
    }
    fn larger_or(self, b: Self) -> Self {
        if self.value() > b.value() { self } else { b }
    }
    fn if_equal(self, b: Self, yes: Self, no: Self) -> Self {
        if self.value() == b.value() { yes } else { no }
    }
    fn pick(self, src: Self, index: &[i32; 1]) -> Self {
        if index[0] == KEEP { self } else { src }
    }
}

/// The inputs of a tile at each point.
pub(super) fn inputs<T: Points>(x: [Fraction; MAX_POINTS]) -> [Fraction; MAX_POINTS] {
    T::inputs::<Fraction, 1>((), &x)
}

/// The outputs of a tile from the values at each point.
pub(super) fn outputs<T: Points>(y: [Fraction; MAX_POINTS]) -> [Fraction; MAX_OUTPUTS] {
    T::outputs::<Fraction, 1>((), &y)
}

/// The gradients of a tile's outputs at each point.
pub(super) fn spread<T: Points>(y: [Fraction; MAX_OUTPUTS]) -> [Fraction; MAX_POINTS] {
    T::spread::<Fraction, 1>((), &y)
}

/// All denominators of both tables divide this.
const UNDER: i128 = 2 * 9 * 25 * 7 * 17;

/// [`Points::TAPS`] as the fractions that its numbers are rounded from.
///
/// # Panics
/// If an element is not the f64 nearest to such a fraction, give or take a last bit.
pub(super) fn taps_table<T: Points>() -> [[Fraction; 3]; MAX_POINTS] {
    T::TAPS.map(|row| {
        row.map(|tap| {
            let fraction = Fraction::new((tap * UNDER as f64).round() as i128, UNDER);
            let error = (tap - fraction.value()).abs();
            assert!(error <= f64::EPSILON * tap.abs(), "{tap} is not {fraction:?}");
            fraction
        })
    })
}

/// The taps at each point, by the table.
pub(super) fn taps<T: Points>(g: [Fraction; 3]) -> [Fraction; MAX_POINTS] {
    taps_table::<T>().map(|row| row.iter().zip(g).fold(ZERO, |sum, (a, b)| sum.plus(a.times(b))))
}

/// A square transform applied along both axes: `of` takes `N` numbers and gives `M`.
pub(super) fn along_both<const N: usize, const M: usize>(
    x: [[Fraction; N]; N],
    of: impl Fn([Fraction; N]) -> [Fraction; M],
) -> [[Fraction; M]; M] {
    // Column by column, then row by row.
    let down: [[Fraction; M]; N] = std::array::from_fn(|j| of(std::array::from_fn(|i| x[i][j])));
    std::array::from_fn(|i| of(std::array::from_fn(|j| down[j][i])))
}
