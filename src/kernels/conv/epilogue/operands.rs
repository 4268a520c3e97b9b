//! What post-ops read besides the result: its rules, stated once for calls, packed weights and lists that run alone.

use std::borrow::Cow;

use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::post_ops::PostOps;
use crate::tensor::any::{TensorRef, check_dtype, check_f32};

/// Checks the operands of a list for a result of these sizes, with this axis of channels, and a residual of this dtype unless the list
/// states another. Whether the residual is in the layout of the result is another rule.
///
/// # Errors
/// `InvalidArgument` for another number of operands than the list takes; `ShapeMismatch`; `UnsupportedDType` for a residual of another
/// dtype, and for numbers that are not f32.
pub(crate) fn check_operands(
    op: &'static str,
    list: &PostOps,
    (dst, axis, dtype): (&[usize], usize, DType),
    residual: Option<TensorRef<'_>>,
    channel: &[TensorRef<'_>],
) -> Result<()> {
    if residual.is_some() != list.takes_residual() {
        let (got, remedy) = match residual {
            Some(given) => (given.describe(), "add `residual` to the post-ops, or leave it out"),
            None => ("nothing".into(), "pass one, or leave `residual` out of the post-ops"),
        };
        fail!(InvalidArgument, op, "residual", got, format!("the post-ops are `{list}`"), remedy);
    }
    if let Some(given) = residual {
        match list.quantized_residual() {
            Some((stated, scale, zero_point)) if stated != given.dtype() => {
                let rule = format!("the post-ops are `{list}`, which state its dtype");
                let remedy = format!(
                    "call `quantize` with scale {scale}, zero point {zero_point} and dtype {stated}, or state what it is"
                );
                fail!(UnsupportedDType, op, "residual", given.describe(), rule, remedy);
            }
            Some(_) => {}
            None => {
                let rule = "it has the dtype of the result, or f32 where x is of integers";
                check_dtype(op, "residual", given, dtype, rule)?;
            }
        }
        if given.dims() != dst {
            let rule = format!("it has the sizes of the result, {dst:?}");
            fail!(ShapeMismatch, op, "residual", given.describe(), rule, "pass a residual of these sizes");
        }
    }
    if channel.len() != list.channel_operands() {
        let got = format!("{} vectors", channel.len());
        let rule = format!("the list of post-ops `{list}` takes {}", list.channel_operands());
        let remedy = "pass one for each mul_channel, add_channel and prelu";
        fail!(InvalidArgument, op, "channel", got, rule, remedy);
    }
    for given in channel {
        check_f32(op, "channel", *given, "kernels take f32")?;
        let channels = dst.get(axis).copied().unwrap_or(0);
        if given.dims() != [channels] {
            let rule = format!("it has one value for each of the {channels} channels");
            fail!(ShapeMismatch, op, "channel", given.describe(), rule, format!("pass {channels} values"));
        }
    }
    Ok(())
}

/// The values of the operands of post-ops with a number a channel.
pub(crate) fn channel_values<'a>(list: &[TensorRef<'a>]) -> Result<Vec<Cow<'a, [f32]>>> {
    list.iter()
        .map(|t| match t {
            TensorRef::Strided(t) => t.values(),
            _ => Ok(Cow::Borrowed(&[][..])),
        })
        .collect()
}
