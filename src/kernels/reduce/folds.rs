//! The arithmetic of the reductions: one definition for strided and blocked tensors.

use crate::elementwise::Fold;

macro_rules! fold {
    ($(#[$doc:meta])* $name:ident, $acc:ty, $identity:expr, $merge:expr, $finish:expr) => {
        $(#[$doc])*
        pub(crate) struct $name;

        impl Fold for $name {
            type In = f32;
            type Acc = $acc;
            type Out = f32;
            #[inline(always)]
            fn identity(&self) -> $acc {
                $identity
            }
            #[inline(always)]
            fn step(&self, acc: $acc, x: f32) -> $acc {
                self.merge(acc, <$acc>::from(x))
            }
            #[inline(always)]
            fn merge(&self, a: $acc, b: $acc) -> $acc {
                let f: fn($acc, $acc) -> $acc = $merge;
                f(a, b)
            }
            #[inline(always)]
            fn finish(&self, acc: $acc, count: usize) -> f32 {
                let f: fn($acc, usize) -> f32 = $finish;
                f(acc, count)
            }
        }
    };
}

#[inline(always)]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

#[inline(always)]
fn multiply(a: f64, b: f64) -> f64 {
    a * b
}

/// The larger of the two. NaN wins: nothing compares larger than it.
#[inline(always)]
pub(crate) fn larger(a: f32, b: f32) -> f32 {
    if (b > a) | b.is_nan() { b } else { a }
}

/// The smaller of the two. NaN wins.
#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if (b < a) | b.is_nan() { b } else { a }
}

#[inline(always)]
fn rounded(acc: f64, _: usize) -> f32 {
    acc as f32
}

#[inline(always)]
fn average(acc: f64, count: usize) -> f32 {
    (acc / count as f64) as f32
}

#[inline(always)]
fn as_is(acc: f32, _: usize) -> f32 {
    acc
}

fold!(
    /// Accumulated in f64 and rounded once at the end.
    Sum, f64, 0.0, add, rounded
);
fold!(Mean, f64, 0.0, add, average);
fold!(Prod, f64, 1.0, multiply, rounded);
fold!(Amax, f32, f32::NEG_INFINITY, larger, as_is);
fold!(Amin, f32, f32::INFINITY, smaller, as_is);
