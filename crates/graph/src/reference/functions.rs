//! Functions of f64 that the standard library does not have, and activations.

use blocktensor::DType;

/// The error function, to about 1e-15.
pub(super) fn erf(x: f64) -> f64 {
    let size = x.abs();
    let result = if size < 2.5 { series(size) } else { 1.0 - tail(size) };
    if x.is_nan() { x } else { result.copysign(x) }
}

/// 1 - erf(x), without cancellation where x is large.
pub(super) fn erfc(x: f64) -> f64 {
    match x {
        x if x.is_nan() => x,
        x if x >= 2.5 => tail(x),
        x if x <= -2.5 => 2.0 - tail(-x),
        _ => 1.0 - series(x.abs()).copysign(x),
    }
}

/// `2 / sqrt(pi) * exp(-x^2) * sum of 2^n x^(2n + 1) / (2n + 1)!!`: all terms are positive.
fn series(x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term > sum * 1e-17 {
        n += 2.0;
        term *= 2.0 * x * x / n;
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// erfc(x) for x of at least 2.5, by its continued fraction.
fn tail(x: f64) -> f64 {
    if x > 30.0 {
        return 0.0;
    }
    let fraction = (1..=60).rev().fold(0.0, |rest, n| f64::from(n) / 2.0 / (x + rest));
    (-x * x).exp() * std::f64::consts::FRAC_2_SQRT_PI / 2.0 / (x + fraction)
}

/// The larger; NaN if either is NaN.
pub(super) fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// The smaller; NaN if either is NaN.
pub(super) fn minimum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }
}

/// The integer of u8 or s8 that is nearest to `x` plus the zero point, ties to even. NaN becomes the zero point.
pub(super) fn quantize(x: f64, dtype: DType, zero_point: i32) -> f64 {
    let (low, high) = if dtype == DType::U8 { (0.0, 255.0) } else { (-128.0, 127.0) };
    let x = if x.is_nan() { 0.0 } else { x };
    (x.round_ties_even() + f64::from(zero_point)).clamp(low, high)
}

/// `min(max(x, low), high)`.
pub(super) fn clamp(x: f64, low: f64, high: f64) -> f64 {
    minimum(maximum(x, low), high)
}

pub(super) fn relu(x: f64) -> f64 {
    maximum(x, 0.0)
}

pub(super) fn leaky_relu(x: f64, slope: f64) -> f64 {
    if x > 0.0 { x } else { slope * x }
}

pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

pub(super) fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

pub(super) fn hardsigmoid(x: f64) -> f64 {
    clamp(x + 3.0, 0.0, 6.0) / 6.0
}

pub(super) fn hardswish(x: f64) -> f64 {
    x * hardsigmoid(x)
}

pub(super) fn gelu(x: f64) -> f64 {
    0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

pub(super) fn gelu_tanh(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    // (1 + tanh(z)) / 2 is sigmoid(2 z), which does not cancel.
    x * sigmoid(2.0 * inner)
}

pub(super) fn elu(x: f64, alpha: f64) -> f64 {
    if x > 0.0 { x } else { alpha * x.exp_m1() }
}

pub(super) fn softplus(x: f64, beta: f64, threshold: f64) -> f64 {
    if beta * x > threshold { x } else { (beta * x).exp().ln_1p() / beta }
}

pub(super) fn mish(x: f64) -> f64 {
    // For large x the exponential overflows, and the function is x.
    if x > 300.0 { x } else { x * x.exp().ln_1p().tanh() }
}
