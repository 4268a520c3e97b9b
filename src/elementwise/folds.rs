//! The reductions that PyTorch calls `sum`, `mean`, `prod`, `amax` and `amin`, for f32 and bf16: one definition for tensors of
//! any layout.

use std::marker::PhantomData;

use super::reduce::{Fold, reduce};
use crate::dtype::Float;
use crate::error::{Result, fail};
use crate::tensor::strided::StridedTensor;

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
    /// Accumulated in f64 and rounded once at the end, as the other two that round.
    Sum, f64, 0.0, add, rounded
);
fold!(Mean, f64, 0.0, add, average);
fold!(Prod, f64, 1.0, multiply, rounded);
fold!(Amax, f32, f32::NEG_INFINITY, larger, as_is);
fold!(Amin, f32, f32::INFINITY, smaller, as_is);

/// A fold of f32 for elements of another type: they are widened, and the result is rounded.
pub(crate) struct Widened<'a, F, E>(&'a F, PhantomData<E>);

impl<'a, F, E> Widened<'a, F, E> {
    pub fn new(fold: &'a F) -> Self {
        Widened(fold, PhantomData)
    }
}

impl<F: Fold<In = f32, Out = f32>, E: Float> Fold for Widened<'_, F, E> {
    type In = E;
    type Acc = F::Acc;
    type Out = E;
    #[inline(always)]
    fn identity(&self) -> F::Acc {
        self.0.identity()
    }
    #[inline(always)]
    fn step(&self, acc: F::Acc, x: E) -> F::Acc {
        self.0.step(acc, x.widen())
    }
    #[inline(always)]
    fn merge(&self, a: F::Acc, b: F::Acc) -> F::Acc {
        self.0.merge(a, b)
    }
    #[inline(always)]
    fn finish(&self, acc: F::Acc, count: usize) -> E {
        E::rounded(self.0.finish(acc, count))
    }
}

/// The sum of f32 elements over `axes` (none means all axes), as PyTorch's `sum`. The sum of no elements is 0. It is
/// accumulated in f64 and rounded once.
///
/// # Errors
/// As [`reduce`].
pub fn sum(x: &StridedTensor, axes: &[usize], keep_dims: bool) -> Result<StridedTensor> {
    reduce("sum", x, axes, keep_dims, &Sum)
}

/// The mean of f32 elements over `axes` (none means all axes), as PyTorch's `mean`. The mean of no elements is NaN. It is
/// accumulated in f64 and rounded once.
///
/// # Errors
/// As [`reduce`].
pub fn mean(x: &StridedTensor, axes: &[usize], keep_dims: bool) -> Result<StridedTensor> {
    reduce("mean", x, axes, keep_dims, &Mean)
}

/// The product of f32 elements over `axes` (none means all axes), as PyTorch's `prod`. The product of no elements is 1. It
/// is accumulated in f64 and rounded once.
///
/// # Errors
/// As [`reduce`].
pub fn prod(x: &StridedTensor, axes: &[usize], keep_dims: bool) -> Result<StridedTensor> {
    reduce("prod", x, axes, keep_dims, &Prod)
}

/// The largest of f32 elements over `axes` (none means all axes), as PyTorch's `amax`. NaN if one of them is NaN.
///
/// # Errors
/// As [`reduce`], and `InvalidArgument` for a reduced axis of size 0.
pub fn amax(x: &StridedTensor, axes: &[usize], keep_dims: bool) -> Result<StridedTensor> {
    check_not_empty("amax", x, axes)?;
    reduce("amax", x, axes, keep_dims, &Amax)
}

/// The smallest of f32 elements over `axes` (none means all axes), as PyTorch's `amin`. NaN if one of them is NaN.
///
/// # Errors
/// As [`amax`].
pub fn amin(x: &StridedTensor, axes: &[usize], keep_dims: bool) -> Result<StridedTensor> {
    check_not_empty("amin", x, axes)?;
    reduce("amin", x, axes, keep_dims, &Amin)
}

fn check_not_empty(op: &'static str, x: &StridedTensor, axes: &[usize]) -> Result<()> {
    let empty = |d: &usize| x.dims().get(*d) == Some(&0);
    let axis = if axes.is_empty() { (0..x.rank()).find(empty) } else { axes.iter().copied().find(empty) };
    match axis {
        None => Ok(()),
        Some(axis) => fail!(
            InvalidArgument,
            op,
            "axes",
            format!("axis {axis} of sizes {:?}", x.dims()),
            "it is empty, and no elements have no extreme",
            "reduce axes that are not empty"
        ),
    }
}
