//! How a product and a sum are rounded.

/// A product and a sum of f32, as a machine computes them in one instruction or in two.
///
/// Functions take it as a parameter: a loop that is compiled for several instruction sets computes with the arithmetic of each
/// (`MathLoop` in `simd`).
pub trait Arithmetic {
    /// `a * b + c`.
    fn mul_add(a: f32, b: f32, c: f32) -> f32;
}

/// Fused multiply-add: rounded once. Only for loops that are compiled for machines that have it: elsewhere each is a slow call.
#[derive(Clone, Copy, Debug)]
pub struct Fused;

/// Two instructions: the product is rounded, and then the sum.
#[derive(Clone, Copy, Debug)]
pub struct Separate;

impl Arithmetic for Fused {
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

impl Arithmetic for Separate {
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}
