//! The exponential function and functions based on it.
//!
//! `exp(x) = 2^n * exp(r)` with `n` the integer nearest to `x / ln 2`, and `exp(r) - 1` a polynomial, so that functions that
//! need `exp - 1` compute it without cancellation.

use super::{Arithmetic, clamp};

/// `ln 2 = LN2_HI + LN2_LO`; HI has ten bits, so that its product with an exponent is exact.
pub(super) const LN2_HI: f32 = 355.0 / 512.0;
pub(super) const LN2_LO: f32 = -2.121_944_4e-4;

/// 1.5 * 2^23: adding it rounds to an integer, ties to even, and leaves that integer in the low bits.
const TO_INTEGER: f32 = 12_582_912.0;

/// `exp(x + tail) = 2^n * (1 + q)`: returns `(q, n)`. `|x|` is at most 2^21, and `tail` is small compared with it (`-0.0` for
/// none: the compiler removes the addition of `-0.0`).
#[inline(always)]
fn reduce<M: Arithmetic>(x: f32, tail: f32) -> (f32, i32) {
    let shifted = M::mul_add(x + tail, std::f32::consts::LOG2_E, TO_INTEGER);
    let n = shifted - TO_INTEGER;
    let r = M::mul_add(-n, LN2_LO, M::mul_add(-n, LN2_HI, x)) + tail;
    // Minimax for (exp(r) - 1 - r) / r^2 on |r| <= ln(2) / 2; error 2^-28 of exp(r).
    let p = M::mul_add(1.382_172_6e-3, r, 8.368_856e-3);
    let p = M::mul_add(p, r, 4.166_826e-2);
    let p = M::mul_add(p, r, 0.166_665_2);
    let p = M::mul_add(p, r, 0.499_999_94);
    let q = M::mul_add(r * r, p, r);
    (q, shifted.to_bits().wrapping_sub(TO_INTEGER.to_bits()) as i32)
}

/// `2^n` for `n` from -126 to 127.
#[inline(always)]
fn pow2(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// `exp(x + tail)`. The multiplication by two factors rounds only once, whether the result is normal or not.
#[inline(always)]
pub(super) fn exp_sum<M: Arithmetic>(x: f32, tail: f32) -> f32 {
    // Beyond these bounds the result is 0 or inf, and `n` still splits into two exponents.
    let x = clamp(x, -105.0, 90.0);
    let (q, n) = reduce::<M>(x, tail);
    let half = n >> 1;
    (1.0 + q) * pow2(half) * pow2(n.wrapping_sub(half))
}

/// `exp(x) - 1` for `x` from -87 to 87, to which the caller clamps `x`. The sign is lost at `-0.0`.
#[inline(always)]
pub(super) fn expm1_inside<M: Arithmetic>(x: f32) -> f32 {
    let (q, n) = reduce::<M>(x, -0.0);
    let scale = pow2(n);
    M::mul_add(q, scale, scale - 1.0).copysign(x)
}

/// `torch.exp`. Error at most 1.2e-7; results below the normal range are rounded gradually.
#[inline(always)]
pub fn exp<M: Arithmetic>(x: f32) -> f32 {
    exp_sum::<M>(x, -0.0)
}

/// `torch.expm1`: `exp(x) - 1`. Error at most 2e-7.
#[inline(always)]
pub fn expm1<M: Arithmetic>(x: f32) -> f32 {
    let (q, n) = reduce::<M>(clamp(x, -60.0, 90.0), -0.0);
    // 2^128 is not an f32: so a factor of 8 is applied separately.
    let top = n >= 127;
    let scale = pow2(if top { n.wrapping_sub(3) } else { n });
    (M::mul_add(q, scale, scale - 1.0) * if top { 8.0 } else { 1.0 }).copysign(x)
}

/// `torch.sigmoid`: `1 / (1 + exp(-x))`. Error at most 2.4e-7, small results included.
#[inline(always)]
pub fn sigmoid<M: Arithmetic>(x: f32) -> f32 {
    let e = exp::<M>(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// `1 + exp(x)`, infinity from 88.4 on. One factor is enough: where `exp(x)` is small, the sum is 1.
#[inline(always)]
fn one_plus_exp<M: Arithmetic>(x: f32) -> f32 {
    let (q, n) = reduce::<M>(clamp(x, -87.0, 89.0), -0.0);
    1.0 + (1.0 + q) * pow2(n)
}

/// `torch.nn.functional.silu`: `x * sigmoid(x)`, computed as `x / (1 + exp(-x))`. Error at most 3e-7 for `x > -88`. Below it ends in
/// `-0.0`, as PyTorch's does, where the exact result is above -6e-37.
#[inline(always)]
pub fn silu<M: Arithmetic>(x: f32) -> f32 {
    x / one_plus_exp::<M>(-x)
}

/// `torch.tanh`. Error at most 2.4e-7.
#[inline(always)]
pub fn tanh<M: Arithmetic>(x: f32) -> f32 {
    // From 9.02 on the nearest f32 is 1.
    let m = expm1_inside::<M>(clamp(2.0 * x.abs(), 0.0, 20.0));
    (m / (m + 2.0)).copysign(x)
}

/// `torch.nn.functional.elu`: `x` if positive, otherwise `alpha * (exp(x) - 1)`. Error at most 3e-7.
#[inline(always)]
pub fn elu<M: Arithmetic>(x: f32, alpha: f32) -> f32 {
    let negative = alpha * expm1_inside::<M>(clamp(x, -60.0, 0.0));
    if x > 0.0 { x } else { negative }
}

/// `torch.nn.functional.selu`: `scale * elu(x, alpha)` with the two constants of its paper. Error at most 3e-7.
#[inline(always)]
pub fn selu<M: Arithmetic>(x: f32) -> f32 {
    const ALPHA: f64 = 1.673_263_242_354_377_2;
    const SCALE: f64 = 1.050_700_987_355_480_5;
    let negative = (ALPHA * SCALE) as f32 * expm1_inside::<M>(clamp(x, -60.0, 0.0));
    if x > 0.0 { SCALE as f32 * x } else { negative }
}

/// `torch.nn.functional.celu`: `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`. Error at most 2.4e-7;
/// with a negative `alpha`, whose exponential grows, 6e-6.
#[inline(always)]
pub fn celu<M: Arithmetic>(x: f32, alpha: f32) -> f32 {
    let negative = alpha * expm1::<M>(x * (1.0 / alpha));
    if x > 0.0 { x } else { negative }
}

/// `torch.nn.functional.gelu` with `approximate="tanh"`:
/// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`, which is `x * sigmoid` of twice that argument and
/// keeps its digits for negative `x`. Error at most 1.5e-5 where the result is tiny, 2e-6 for `x > -4`.
#[inline(always)]
pub fn gelu_tanh<M: Arithmetic>(x: f32) -> f32 {
    const LINEAR: f64 = 1.595_769_121_605_730_7; // 2 * sqrt(2 / pi)
    const CUBIC: f64 = LINEAR * 0.044_715;
    x * sigmoid::<M>(x * M::mul_add(CUBIC as f32, x * x, LINEAR as f32))
}

/// `torch.nn.functional.mish`: `x * tanh(softplus(x))`, which is `x * m / (m + 2)` with
/// `m = exp(x) * (exp(x) + 2)`. Error at most 4e-7; 1e-5 below -87, where `m` is subnormal.
#[inline(always)]
pub fn mish<M: Arithmetic>(x: f32) -> f32 {
    // From 20 on, m / (m + 2) is 1.
    let e = exp::<M>(if x > 20.0 { 20.0 } else { x });
    let m = e * (e + 2.0);
    x * (m / (m + 2.0))
}
