//! How the elements of a pooling window are folded into one: maximum or mean, one element or one vector of lanes at a time.

use std::marker::PhantomData;

use crate::dtype::Float;

/// How pooling folds the elements of a window.
pub(crate) trait WindowFold: 'static {
    /// Type of the elements of source and result.
    type Element: Float;
    /// The accumulator.
    type Acc: Copy + Default + Send + Sync;
    /// The result of a window without elements.
    const EMPTY: f32;
    /// The accumulator of one element.
    fn load(x: Self::Element) -> Self::Acc;
    /// The accumulator of the elements of both.
    fn join(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The result of a window; a mean divides by `count`.
    fn finish(a: Self::Acc, count: f64) -> Self::Element;
}

/// The largest element; NaN if there is one.
pub(crate) struct Max<E>(PhantomData<E>);

impl<E: Float> WindowFold for Max<E> {
    type Element = E;
    type Acc = f32;
    const EMPTY: f32 = f32::NEG_INFINITY;
    #[inline(always)]
    fn load(x: E) -> f32 {
        x.widen()
    }
    #[inline(always)]
    fn join(a: f32, b: f32) -> f32 {
        // Each comparison and selection is one instruction, which returns its second operand if either is NaN. So if an
        // operand is NaN, at least one of the two results is, and so are their bits combined; otherwise both results are
        // equal, except for zeros of both signs, whose bits combined are -0. The order of joins does not matter.
        let (one, other) = (if a > b { a } else { b }, if b > a { b } else { a });
        f32::from_bits(one.to_bits() | other.to_bits())
    }
    #[inline(always)]
    fn finish(a: f32, _: f64) -> E {
        E::rounded(a)
    }
}

/// The mean of a window, summed in f32.
pub(crate) struct MeanInF32<E>(PhantomData<E>);

impl<E: Float> WindowFold for MeanInF32<E> {
    type Element = E;
    type Acc = f32;
    const EMPTY: f32 = 0.0;
    #[inline(always)]
    fn load(x: E) -> f32 {
        x.widen()
    }
    #[inline(always)]
    fn join(a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline(always)]
    fn finish(a: f32, count: f64) -> E {
        E::rounded(a / count as f32)
    }
}

/// The mean of a window, summed in f64.
pub(crate) struct MeanInF64<E>(PhantomData<E>);

impl<E: Float> WindowFold for MeanInF64<E> {
    type Element = E;
    type Acc = f64;
    const EMPTY: f32 = 0.0;
    #[inline(always)]
    fn load(x: E) -> f64 {
        f64::from(x.widen())
    }
    #[inline(always)]
    fn join(a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline(always)]
    fn finish(a: f64, count: f64) -> E {
        E::rounded((a / count) as f32)
    }
}

#[inline(always)]
pub(crate) fn load_all<F: WindowFold, const L: usize>(x: &[F::Element; L]) -> [F::Acc; L] {
    let mut a = [F::Acc::default(); L];
    for l in 0..L {
        a[l] = F::load(x[l]);
    }
    a
}

#[inline(always)]
pub(crate) fn join_all<F: WindowFold, const L: usize>(a: &mut [F::Acc; L], b: &[F::Acc; L]) {
    for l in 0..L {
        a[l] = F::join(a[l], b[l]);
    }
}

#[inline(always)]
pub(crate) fn finish_all<F: WindowFold, const L: usize>(
    dst: &mut [F::Element; L],
    a: &[F::Acc; L],
    count: f64,
) {
    for l in 0..L {
        dst[l] = F::finish(a[l], count);
    }
}
