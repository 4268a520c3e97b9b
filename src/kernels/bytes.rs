//! Numbers as integers of 8 bits, which stand for them with a scale and a zero point: `scale * (integer - zero_point)`.

use crate::dtype::DType;
use crate::simd::bytes::{ByteVector, ROUNDER, within};

/// The integers of a quantised dtype, as distances from a zero point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteRange {
    zero_point: i32,
    is_signed: bool,
    low: f32,
    high: f32,
}

impl ByteRange {
    /// Those of u8 or s8.
    pub fn new(dtype: DType, zero_point: i32) -> ByteRange {
        let range = dtype.byte_range().expect("a quantised dtype");
        let distance = |integer: i32| (integer - zero_point) as f32;
        let is_signed = dtype == DType::S8;
        ByteRange { zero_point, is_signed, low: distance(*range.start()), high: distance(*range.end()) }
    }

    /// `x` within the range, plus [`ROUNDER`]. NaN is 0.
    #[inline(always)]
    fn shifted(self, x: f32) -> f32 {
        within(x, self.low, self.high) + ROUNDER
    }

    /// The nearest distance that an integer has, ties to even. NaN is 0.
    #[inline(always)]
    pub fn round(self, x: f32) -> f32 {
        self.shifted(x) - ROUNDER
    }

    /// The bits of the integer at the nearest distance.
    #[inline(always)]
    pub fn byte(self, x: f32) -> u8 {
        let distance = self.shifted(x).to_bits().wrapping_sub(ROUNDER.to_bits());
        distance.wrapping_add(self.zero_point.cast_unsigned()) as u8
    }

    /// [`round`](Self::round) of 16 numbers.
    #[inline(always)]
    pub fn round_all<V: ByteVector>(self, proof: V::Proof, x: V) -> V {
        x.within(self.low, self.high)
            .add(V::numbers(proof, &[ROUNDER; 16]))
            .add(V::numbers(proof, &[-ROUNDER; 16]))
    }

    /// Numbers within the range. NaN is 0.
    #[inline(always)]
    pub fn within<V: ByteVector>(self, x: V) -> V {
        x.within(self.low, self.high)
    }

    /// [`byte`](Self::byte) of four times 16 numbers, none of them NaN, all below 2^31 in magnitude.
    #[inline(always)]
    pub fn bytes<V: ByteVector>(self, four: [V; 4]) -> [u8; 64] {
        V::rounded(four, self.zero_point, self.is_signed)
    }
}

/// The number that an integer stands for.
#[inline(always)]
pub(crate) fn number(integer: i32, zero_point: i32, scale: f32) -> f32 {
    integer.wrapping_sub(zero_point) as f32 * scale
}
