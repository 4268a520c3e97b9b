//! Scalar `f32` functions that the compiler vectorises inside a plain loop.
//!
//! Every kernel, strided or blocked, uses only these functions for its arithmetic, so both backends give the same bits. Four
//! rules ensure this:
//! - no branch, no table, no call: each body is arithmetic, integer arithmetic on the bits, and selects ([`round`], [`floor`]
//!   and [`ceil`] are one instruction from SSE4.1 on and a call below);
//! - products and sums of polynomials are those of the loop's [`Arithmetic`]: fused where the instruction set has that (AVX2, AVX-512,
//!   aarch64), two roundings elsewhere. So the bits are the same at every vector width and in every remainder loop, and with AVX2 and
//!   AVX-512. On x86-64 machines without AVX2 they may differ by a few units in the last place, within the same bounds;
//! - a result depends only on its own element;
//! - results below `f32::MIN_POSITIVE` are rounded gradually, not flushed (unless the thread's floating-point control says
//!   so).
//!
//! Definitions are PyTorch's; the doc comment of each function names the PyTorch function. The result of NaN is NaN, except for
//! [`sign`], `pow(NaN, 0)` and `pow(1, NaN)`. The result of `-inf` is NaN for [`silu`], [`gelu`], [`gelu_tanh`], [`mish`] and
//! [`hardswish`], as in PyTorch, because their formulas multiply `-inf` by 0.
//!
//! Do not use a condition for two selects if the result of one of them feeds a polynomial. LLVM turns two selects on one
//! condition into a branch, and a vector loop then computes both sides of it.
//!
//! A loop vectorises only if the function is inlined into it. [`sin`] and [`cos`] are so large that LLVM does not inline them
//! through a closure, or through a function that several loops call. So pass the function itself (`math::sin`), or wrap it in
//! a function that is `#[inline(always)]`.
//!
//! *Error* below is `|result - exact| / max(|exact|, f32::MIN_POSITIVE)`; one ulp is between 6e-8 and 1.2e-7 of a number.
//! `tests.rs` tests each function against the stated bound.

mod arithmetic;
mod bfloat;
mod exponential;
mod logarithm;
mod normal;
#[cfg(test)]
mod tests;
mod trigonometric;

pub use arithmetic::{Arithmetic, Fused, Separate};
pub(crate) use bfloat::{to_bf16, widen};
pub use exponential::{celu, elu, exp, expm1, gelu_tanh, mish, selu, sigmoid, silu, tanh};
pub use logarithm::{log, log1p, logit, pow, softplus};
pub use normal::{erf, gelu};
pub use trigonometric::{cos, sin};

/// `torch.nn.functional.relu`: the positive part. Exact; `-0.0` stays.
#[inline(always)]
pub fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// `torch.nn.functional.relu6`: [`clamp`] to 0 and 6. Exact.
#[inline(always)]
pub fn relu6(x: f32) -> f32 {
    clamp(x, 0.0, 6.0)
}

/// `torch.nn.functional.leaky_relu`: `x` if positive, otherwise `slope * x`. Correctly rounded.
#[inline(always)]
pub fn leaky_relu(x: f32, slope: f32) -> f32 {
    if x > 0.0 { x } else { x * slope }
}

/// `torch.nn.functional.prelu`: as [`leaky_relu`], with a slope that the model learned.
#[inline(always)]
pub fn prelu(x: f32, slope: f32) -> f32 {
    leaky_relu(x, slope)
}

/// `torch.nn.functional.hardtanh`: as [`clamp`].
#[inline(always)]
pub fn hardtanh(x: f32, lo: f32, hi: f32) -> f32 {
    clamp(x, lo, hi)
}

/// `torch.clamp`: `min(max(x, lo), hi)`, so `hi` if `lo > hi`. Exact; NaN passes through. A NaN bound is ignored here; in
/// PyTorch it fills the result with NaN, which the op implements.
#[inline(always)]
pub fn clamp(x: f32, lo: f32, hi: f32) -> f32 {
    let x = if x < lo { lo } else { x };
    if x > hi { hi } else { x }
}

/// `torch.nn.functional.hardsigmoid`: `relu6(x + 3) / 6`. Error at most 1.5e-7.
#[inline(always)]
pub fn hardsigmoid(x: f32) -> f32 {
    relu6(x + 3.0) / 6.0
}

/// `torch.nn.functional.hardswish`: `x * relu6(x + 3) / 6`. It divides first, so `f32::MAX` gives itself and not inf. Error
/// at most 2.4e-7.
#[inline(always)]
pub fn hardswish(x: f32) -> f32 {
    x * hardsigmoid(x)
}

/// `torch.nn.functional.softsign`: `x / (1 + |x|)`; NaN at ±inf as in PyTorch. Error at most 1.5e-7.
#[inline(always)]
pub fn softsign(x: f32) -> f32 {
    x / (1.0 + x.abs())
}

/// `torch.sqrt`. Correctly rounded; NaN below zero, `-0.0` stays.
#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
    x.sqrt()
}

/// `torch.rsqrt`: `1 / sqrt(x)`; -inf at `-0.0`. Error at most 1.5e-7.
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    1.0 / x.sqrt()
}

/// `torch.abs`. Exact.
#[inline(always)]
pub fn abs(x: f32) -> f32 {
    x.abs()
}

/// `torch.neg`. Exact.
#[inline(always)]
pub fn neg(x: f32) -> f32 {
    -x
}

/// `torch.square`. Correctly rounded.
#[inline(always)]
pub fn square(x: f32) -> f32 {
    x * x
}

/// `torch.reciprocal`. Correctly rounded.
#[inline(always)]
pub fn reciprocal(x: f32) -> f32 {
    1.0 / x
}

/// `torch.round`: to the nearest integer, ties to even. Exact.
#[inline(always)]
pub fn round(x: f32) -> f32 {
    x.round_ties_even()
}

/// `torch.floor`. Exact.
#[inline(always)]
pub fn floor(x: f32) -> f32 {
    x.floor()
}

/// `torch.ceil`. Exact.
#[inline(always)]
pub fn ceil(x: f32) -> f32 {
    x.ceil()
}

/// `torch.sign`: -1, 0 or 1; 0 for `-0.0` and, as in PyTorch, for NaN.
#[inline(always)]
pub fn sign(x: f32) -> f32 {
    let positive = if x > 0.0 { 1.0 } else { 0.0 };
    let negative = if x < 0.0 { 1.0 } else { 0.0 };
    positive - negative
}

/// `torch.maximum`: NaN if either is NaN. Of two zeros, the second.
#[inline(always)]
pub fn maximum(x: f32, y: f32) -> f32 {
    if (x > y) | x.is_nan() { x } else { y }
}

/// `torch.minimum`: NaN if either is NaN. Of two zeros, the second.
#[inline(always)]
pub fn minimum(x: f32, y: f32) -> f32 {
    if (x < y) | x.is_nan() { x } else { y }
}
