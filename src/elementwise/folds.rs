//! The reductions that PyTorch calls `sum`, `mean`, `prod`, `amax` and `amin`, for f32.

use super::reduce::{Fold, reduce};
use crate::error::{Result, fail};
use crate::tensor::strided::StridedTensor;

macro_rules! fold {
    ($(#[$doc:meta])* $name:ident, $identity:expr, $step:expr, $finish:expr) => {
        $(#[$doc])*
        struct $name;

        impl Fold for $name {
            type In = f32;
            type Acc = f32;
            type Out = f32;
            #[inline(always)]
            fn identity(&self) -> f32 {
                $identity
            }
            #[inline(always)]
            fn step(&self, acc: f32, x: f32) -> f32 {
                let f: fn(f32, f32) -> f32 = $step;
                f(acc, x)
            }
            #[inline(always)]
            fn merge(&self, a: f32, b: f32) -> f32 {
                self.step(a, b)
            }
            #[inline(always)]
            fn finish(&self, acc: f32, count: usize) -> f32 {
                let f: fn(f32, usize) -> f32 = $finish;
                f(acc, count)
            }
        }
    };
}

#[inline(always)]
fn add(a: f32, b: f32) -> f32 {
    a + b
}

#[inline(always)]
fn multiply(a: f32, b: f32) -> f32 {
    a * b
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if b > a || b.is_nan() { b } else { a }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if b < a || b.is_nan() { b } else { a }
}

#[inline(always)]
fn as_is(acc: f32, _: usize) -> f32 {
    acc
}

#[inline(always)]
fn average(acc: f32, count: usize) -> f32 {
    acc / count as f32
}

fold!(Sum, 0.0, add, as_is);
fold!(Mean, 0.0, add, average);
fold!(Prod, 1.0, multiply, as_is);
fold!(
    /// NaN wins, as in PyTorch: nothing compares larger than it.
    Amax,
    f32::NEG_INFINITY,
    larger,
    as_is
);
fold!(
    /// NaN wins, as in PyTorch.
    Amin,
    f32::INFINITY,
    smaller,
    as_is
);

/// The sum of f32 elements over `axes` (none means all axes), as PyTorch's `sum`. The sum of no elements is 0.
///
/// # Errors
/// As [`reduce`].
pub fn sum(x: &StridedTensor, axes: &[usize], keep_dims: bool) -> Result<StridedTensor> {
    reduce("sum", x, axes, keep_dims, &Sum)
}

/// The mean of f32 elements over `axes` (none means all axes), as PyTorch's `mean`. The mean of no elements is NaN.
///
/// # Errors
/// As [`reduce`].
pub fn mean(x: &StridedTensor, axes: &[usize], keep_dims: bool) -> Result<StridedTensor> {
    reduce("mean", x, axes, keep_dims, &Mean)
}

/// The product of f32 elements over `axes` (none means all axes), as PyTorch's `prod`. The product of no elements is 1.
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
