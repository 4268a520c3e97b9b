//! Logarithms, logit, softplus and power.
//!
//! `log(x) = k * ln 2 + log(1 + f)` with `1 + f` between `sqrt(1/2)` and `sqrt(2)`, and a polynomial for the rest.

use super::Arithmetic;
use super::exponential::{LN2_HI, LN2_LO, exp};

/// The bits of `sqrt(1/2)`.
const SQRT_HALF: u32 = 0x3f35_04f3;

/// `x = 2^k * m` with `m` from `sqrt(1/2)` to `sqrt(2)`, for a normal positive `x`.
#[inline(always)]
fn split(x: f32) -> (f32, i32) {
    let bits = x.to_bits();
    let k = (bits.wrapping_sub(SQRT_HALF) as i32) >> 23;
    (f32::from_bits(bits.wrapping_sub((k << 23) as u32)), k)
}

/// As [`split`], for a subnormal `x` too.
#[inline(always)]
fn split_any(x: f32) -> (f32, f32) {
    let subnormal = x < f32::MIN_POSITIVE;
    let (m, k) = split(if subnormal { x * 8_388_608.0 } else { x });
    (m, k as f32 - if subnormal { 23.0 } else { 0.0 })
}

/// `k * ln 2 + log(1 + f)` for `f` from -0.293 to 0.415.
#[inline(always)]
fn log_parts<M: Arithmetic>(f: f32, k: f32) -> f32 {
    // Minimax for (log(1 + f) - f + f^2 / 2) / f^3; error 2^-30 of log(1 + f).
    let p = M::mul_add(6.728_554e-2, f, -0.116_612_025);
    let p = M::mul_add(p, f, 0.118_882_276);
    let p = M::mul_add(p, f, -0.124_082_6);
    let p = M::mul_add(p, f, 0.142_200_28);
    let p = M::mul_add(p, f, -0.166_678_47);
    let p = M::mul_add(p, f, 0.200_020_79);
    let p = M::mul_add(p, f, -0.250_000_12);
    let p = M::mul_add(p, f, 0.333_333_13);
    let square = f * f;
    let tail = M::mul_add(square * f, p, k * LN2_LO);
    (M::mul_add(-0.5, square, tail) + f) + k * LN2_HI
}

/// `inside` if `0 < x < inf`; otherwise the logarithm's special values: -inf at 0, NaN below 0, and `x` itself (inf or NaN).
#[inline(always)]
fn with_edges(x: f32, inside: f32) -> f32 {
    let edge = if x < 0.0 { f32::NAN } else { x };
    let edge = if x == 0.0 { f32::NEG_INFINITY } else { edge };
    if (x > 0.0) & (x < f32::INFINITY) { inside } else { edge }
}

/// `torch.log`. Error at most 2e-7; -inf at both zeros, NaN below.
#[inline(always)]
pub fn log<M: Arithmetic>(x: f32) -> f32 {
    let (m, k) = split_any(x);
    with_edges(x, log_parts::<M>(m - 1.0, k))
}

/// `torch.log1p`: `log(1 + x)`. Error at most 2.4e-7; -inf at -1, NaN below.
#[inline(always)]
pub fn log1p<M: Arithmetic>(x: f32) -> f32 {
    let sum = 1.0 + x;
    // The rounding error of the sum, relative to the sum.
    let lost = if x > 1.0 { 1.0 - (sum - x) } else { x - (sum - 1.0) };
    let (m, k) = split(sum);
    let f = M::mul_add(lost / sum, m, m - 1.0);
    with_edges(sum, log_parts::<M>(f, k as f32).copysign(x))
}

/// `torch.logit` without `eps`: `log(x / (1 - x))`. Error at most 4e-7; -inf at both zeros, inf at 1, NaN outside of 0 to 1.
#[inline(always)]
pub fn logit<M: Arithmetic>(x: f32) -> f32 {
    let rest = 1.0 - x;
    let odds = x / rest;
    let (m, k) = split_any(odds);
    // Around one half, where the result is small, `odds - 1` without the rounding of `odds`: `2x - 1` is exact there.
    let f = if k == 0.0 { (2.0 * x - 1.0) / rest } else { m - 1.0 };
    with_edges(odds, log_parts::<M>(f, k))
}

/// `torch.nn.functional.softplus`: `log(1 + exp(beta * x)) / beta`, and `x` if `beta * x > threshold`. Error at most 3e-7,
/// small results included. If `beta * x` is negative and inexact, the error is larger by up to 6e-8 times that product. A
/// threshold above 88 does not overflow.
#[inline(always)]
pub fn softplus<M: Arithmetic>(x: f32, beta: f32, threshold: f32) -> f32 {
    let z = x * beta;
    // log(1 + exp(z)) = max(z, 0) + log(1 + e) with e from 0 to 1: 1 + e spans one factor of two.
    let e = exp::<M>(-z.abs());
    // One select: with a second one on the same condition, the polynomial would be computed for both sides of it.
    let k = if e > std::f32::consts::SQRT_2 - 1.0 { 1.0 } else { 0.0 };
    let half = 0.5 * k;
    let rest = log_parts::<M>(e * (1.0 - half) - half, k);
    let smooth = ((if z > 0.0 { z } else { 0.0 }) + rest) / beta;
    if z > threshold { x } else { smooth }
}

/// `torch.pow`, with every special case of C's `pow`. It computes in f64: correctly rounded except for about one result in a
/// thousand, error at most 1.2e-7.
#[inline(always)]
pub fn pow(x: f32, y: f32) -> f32 {
    let magnitude = x.abs();
    let (base, exponent) = (magnitude as f64, y as f64);
    let log = if magnitude == 0.0 { f64::NEG_INFINITY } else { log2(base) };
    let log = if magnitude == f32::INFINITY { f64::INFINITY } else { log };
    let product = exponent * log;
    // |x| = 1 with an infinite exponent: avoids 0 * inf.
    let power = exp2(if magnitude == 1.0 { 0.0 } else { product }) as f32;
    // Whether y is an integer, and odd. Adding 2^23 leaves the integer in the low bits. From 2^23 on every f32 is an integer,
    // and from 2^24 on an even one.
    const TO_INTEGER: f32 = 8_388_608.0;
    let size = y.abs();
    let large = size >= TO_INTEGER;
    let shifted = if large { size } else { size + TO_INTEGER };
    let integer = large | (shifted - TO_INTEGER == size);
    let odd = integer & (shifted.to_bits() & 1 == 1) & (size < 2.0 * TO_INTEGER);
    let power = if odd { power.copysign(x) } else { power };
    let outside = (x < 0.0) & (magnitude < f32::INFINITY) & !integer;
    let power = if outside | x.is_nan() | y.is_nan() { f32::NAN } else { power };
    if (y == 0.0) | (x == 1.0) { 1.0 } else { power }
}

/// Base-2 logarithm of a normal positive number; error 2^-45.
#[inline(always)]
fn log2(x: f64) -> f64 {
    // As in `split`, on the upper half of the bits.
    let bits = x.to_bits();
    let k = (((bits >> 32) as u32).wrapping_sub(0x3fe6_a09e) as i32) >> 20;
    let m = f64::from_bits(bits.wrapping_sub(((k << 20) as u32 as u64) << 32));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    // Minimax for log2((1 + s) / (1 - s)) / s.
    let p = 0.282_942_314_594_356_1 * z + 0.319_902_901_106_197_3;
    let p = p * z + 0.412_209_316_500_762_87;
    let p = p * z + 0.577_077_941_773_476_4;
    let p = p * z + 0.961_796_694_115_216_4;
    let p = p * z + 2.885_390_081_777_849;
    s * p + k as f64
}

/// `2^x`; error 2^-34. The exponent is clamped to ±200, beyond which no f32 can hold the result.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    const TO_INTEGER: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    let x = if x < -200.0 { -200.0 } else { x };
    let x = if x > 200.0 { 200.0 } else { x };
    let shifted = x + TO_INTEGER;
    let r = x - (shifted - TO_INTEGER);
    // Minimax for 2^r on |r| <= 1/2.
    let p = 1.519_583_766_781_777_5e-5 * r + 1.546_688_368_535_663_5e-4;
    let p = p * r + 1.333_393_717_640_912_8e-3;
    let p = p * r + 9.618_037_760_556_903e-3;
    let p = p * r + 5.550_410_362_608_172e-2;
    let p = p * r + 0.240_226_510_689_020_23;
    let p = p * r + 0.693_147_180_705_822_2;
    let p = p * r + 1.0;
    p * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}
