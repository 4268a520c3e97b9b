//! Arguments that several norms have: weight, bias and statistics with one value for each channel, and `eps`.

use std::borrow::Cow;

use crate::error::{Result, fail};
use crate::memory::try_filled;
use crate::op::Arg;
use crate::op::schema::Ranks;
use crate::tensor::any::TensorRef;
use crate::tensor::strided::StridedTensor;

/// An optional weight or bias, as an argument of a call.
pub(super) fn optional_param_arg(t: Option<&StridedTensor>) -> Arg<'_> {
    t.map_or(Arg::Absent, |t| Arg::Tensor(TensorRef::Strided(t)))
}

/// The `count` values of a parameter, usually one for each channel; `None` for a parameter that is left out.
pub(super) fn param_values<'a>(
    op: &'static str,
    name: &'static str,
    t: Option<&'a StridedTensor>,
    count: usize,
) -> Result<Option<Cow<'a, [f32]>>> {
    let Some(t) = t else { return Ok(None) };
    let got = || TensorRef::Strided(t).describe();
    if t.dims() != [count] {
        let rule = format!("it has one value for each of the {count} channels");
        fail!(ShapeMismatch, op, name, got(), rule, format!("pass {count} values"));
    }
    t.values().map(Some)
}

/// As [`param_values`], with `count` times `default` for a parameter that is left out.
pub(super) fn param_values_or<'a>(
    op: &'static str,
    name: &'static str,
    t: Option<&'a StridedTensor>,
    count: usize,
    default: f32,
) -> Result<Cow<'a, [f32]>> {
    or_filled(op, param_values(op, name, t, count)?, count, default)
}

/// Values that were given, or `count` times `default`.
pub(super) fn or_filled<'a>(
    op: &'static str,
    given: Option<Cow<'a, [f32]>>,
    count: usize,
    default: f32,
) -> Result<Cow<'a, [f32]>> {
    match given {
        Some(values) => Ok(values),
        None => Ok(try_filled(op, count, default)?.into()),
    }
}

/// The ranks of an activation with images and channels.
pub(super) const ACTIVATION_RANKS: Ranks = Ranks::between(
    2,
    5,
    "it has images and channels, and at most three spatial dimensions: rank 2 to 5",
    "reshape it",
);

/// The number of channels of an activation, which is not 0.
pub(super) fn channels_of(op: &'static str, x: TensorRef<'_>) -> Result<usize> {
    let dims = x.dims();
    if dims[1] == 0 {
        fail!(
            InvalidArgument,
            op,
            "x",
            x.describe(),
            "axis 1, the channels, is not empty",
            "pass at least one channel"
        );
    }
    Ok(dims[1])
}

/// Checks the `eps` of a norm that takes its variance from the data.
pub(super) fn check_eps(op: &'static str, eps: f64) -> Result<f64> {
    if eps >= 0.0 {
        return Ok(eps);
    }
    fail!(
        InvalidArgument,
        op,
        "eps",
        eps.to_string(),
        "it is a number that is not negative: variance + eps has a root",
        "pass 1e-5, for example"
    )
}
