//! How the elements of a pooling window are folded into one: maximum or mean, one element or one vector of lanes at a time.

use std::marker::PhantomData;

use crate::dtype::{DType, Element, Float};

/// How pooling folds the elements of a window.
pub(crate) trait WindowFold: Copy + Send + Sync + 'static {
    /// Type of the elements of source and result.
    type Element: Element + Default;
    /// The accumulator.
    type Acc: Copy + Default + Send + Sync;
    /// The result of a window without elements.
    fn empty(self) -> Self::Element;
    /// The accumulator of one element.
    fn load(self, x: Self::Element) -> Self::Acc;
    /// The accumulator of the elements of both.
    fn join(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The result of a window; a mean divides by `count`.
    fn finish(self, a: Self::Acc, count: f64) -> Self::Element;
}

/// Declares folds that need no numbers.
macro_rules! folds {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name<E>(PhantomData<E>);

        impl<E> $name<E> {
            pub fn new() -> Self {
                $name(PhantomData)
            }
        }

        impl<E> Clone for $name<E> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<E> Copy for $name<E> {}
    )*};
}

folds! {
    /// The largest element; NaN if there is one.
    Max;

    /// The mean of a window, summed in f32.
    MeanInF32;

    /// The mean of a window, summed in f64.
    MeanInF64;
}

impl<E: Float> WindowFold for Max<E> {
    type Element = E;
    type Acc = f32;
    #[inline(always)]
    fn empty(self) -> E {
        E::rounded(f32::NEG_INFINITY)
    }
    #[inline(always)]
    fn load(self, x: E) -> f32 {
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
    fn finish(self, a: f32, _: f64) -> E {
        E::rounded(a)
    }
}

/// The largest integer.
#[derive(Clone, Copy)]
pub(crate) struct MaxOfIntegers<E> {
    /// The least of the type, which a window without elements has.
    pub least: E,
}

impl<E: Element + Default + Ord> WindowFold for MaxOfIntegers<E> {
    type Element = E;
    type Acc = E;
    #[inline(always)]
    fn empty(self) -> E {
        self.least
    }
    #[inline(always)]
    fn load(self, x: E) -> E {
        x
    }
    #[inline(always)]
    fn join(a: E, b: E) -> E {
        a.max(b)
    }
    #[inline(always)]
    fn finish(self, a: E, _: f64) -> E {
        a
    }
}

impl<E: Float> WindowFold for MeanInF32<E> {
    type Element = E;
    type Acc = f32;
    #[inline(always)]
    fn empty(self) -> E {
        E::rounded(0.0)
    }
    #[inline(always)]
    fn load(self, x: E) -> f32 {
        x.widen()
    }
    #[inline(always)]
    fn join(a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline(always)]
    fn finish(self, a: f32, count: f64) -> E {
        E::rounded(a / count as f32)
    }
}

impl<E: Float> WindowFold for MeanInF64<E> {
    type Element = E;
    type Acc = f64;
    #[inline(always)]
    fn empty(self) -> E {
        E::rounded(0.0)
    }
    #[inline(always)]
    fn load(self, x: E) -> f64 {
        f64::from(x.widen())
    }
    #[inline(always)]
    fn join(a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline(always)]
    fn finish(self, a: f64, count: f64) -> E {
        E::rounded((a / count) as f32)
    }
}

/// A small number plus this one is rounded to a whole number, ties to even, whose low bits are the last ones of the sum.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// The mean of quantised numbers, quantised: sums are exact, the mean is rounded once, ties to even. Elements are the bits of u8 or s8.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuantizedMean {
    /// What makes the bits of the source u8: for s8 it adds 128.
    flip: u8,
    /// The zero point of these.
    x_zero_point: i32,
    x_scale: f64,
    dst_scale: f64,
    /// The bits of the result's zero point.
    dst_zero_point: u8,
    /// The distances from it that the result's integers have.
    low: f64,
    high: f64,
}

impl QuantizedMean {
    /// Of a source to a result: the dtype, scale and zero point of each.
    pub fn new(x: (DType, f32, i32), dst: (DType, f32, i32)) -> QuantizedMean {
        let range = |dtype: DType| dtype.byte_range().expect("a quantised dtype");
        let to_unsigned = -range(x.0).start();
        QuantizedMean {
            flip: to_unsigned as u8,
            x_zero_point: x.2 + to_unsigned,
            x_scale: x.1.into(),
            dst_scale: dst.1.into(),
            dst_zero_point: dst.2 as u8,
            low: (range(dst.0).start() - dst.2).into(),
            high: (range(dst.0).end() - dst.2).into(),
        }
    }

    /// An integer's distance from the zero point.
    #[inline(always)]
    fn distance(self, x: u8) -> i32 {
        i32::from(x ^ self.flip) - self.x_zero_point
    }

    /// The bits of the result for a sum of distances.
    #[inline(always)]
    fn byte(self, sum: f64, count: f64) -> u8 {
        // Both products are exact for fewer than 2^21 elements: ties are ties.
        let mean = sum * self.x_scale / (count * self.dst_scale);
        // Each comparison and selection is one instruction, and so is the conversion.
        let mean = if mean > self.low { mean } else { self.low };
        let mean = if mean < self.high { mean } else { self.high };
        ((mean + ROUNDER).to_bits() as u8).wrapping_add(self.dst_zero_point)
    }
}

/// Declares the folds of quantised numbers: name and accumulator.
macro_rules! quantized_folds {
    ($($(#[$doc:meta])* $name:ident: $acc:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name(pub QuantizedMean);

        impl WindowFold for $name {
            type Element = u8;
            type Acc = $acc;
            #[inline(always)]
            fn empty(self) -> u8 {
                self.0.byte(0.0, 1.0)
            }
            #[inline(always)]
            fn load(self, x: u8) -> $acc {
                self.0.distance(x).into()
            }
            #[inline(always)]
            fn join(a: $acc, b: $acc) -> $acc {
                a + b
            }
            #[inline(always)]
            fn finish(self, a: $acc, count: f64) -> u8 {
                self.0.byte(a.into(), count)
            }
        }
    )*};
}

quantized_folds! {
    /// A [`QuantizedMean`] whose sums fit into 32 bits.
    QuantizedMeanInI32: i32;

    /// A [`QuantizedMean`] of any window: f64 has all whole numbers that its sums have.
    QuantizedMeanInF64: f64;
}

#[inline(always)]
pub(crate) fn load_all<F: WindowFold, const L: usize>(fold: F, x: &[F::Element; L]) -> [F::Acc; L] {
    let mut a = [F::Acc::default(); L];
    for l in 0..L {
        a[l] = fold.load(x[l]);
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
    fold: F,
    dst: &mut [F::Element; L],
    a: &[F::Acc; L],
    count: f64,
) {
    for l in 0..L {
        dst[l] = fold.finish(a[l], count);
    }
}
