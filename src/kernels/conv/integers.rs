//! Convolutions of integers: what their calls and packed weights have in common.
//!
//! Source u8 or s8, weights s8, sums of 32 bits. The result is the sums (s32), what the post-ops make of them (f32), or what
//! `quantize` makes of that (u8, s8).

use super::implementation::ConvTypes;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::op::facts::LARGEST_BIAS;
use crate::op::lookup::convert;
use crate::post_ops::PostOps;
use crate::tensor::any::TensorRef;
use crate::tensor::strided::StridedTensor;

impl ConvTypes {
    /// Those of a convolution of this source with these post-ops.
    pub fn of(src: DType, post_ops: &PostOps) -> ConvTypes {
        if src.byte_range().is_none() {
            return ConvTypes::all_of(src);
        }
        let dst = match post_ops.quantize() {
            Some((dtype, _)) => dtype,
            None if post_ops.is_empty() => DType::S32,
            None => DType::F32,
        };
        ConvTypes { src, weights: DType::S8, dst }
    }

    /// The dtype of a residual whose post-op does not state one: post-ops of integer convolutions compute in f32.
    pub fn residual(self) -> DType {
        if self.is_integer() { DType::F32 } else { self.dst }
    }

    /// Whether the source is of integers.
    pub fn is_integer(self) -> bool {
        self.src.byte_range().is_some()
    }

    /// Plain weights as a program gives them, of f32 weights as kernels give them back: those of integer convolutions are s8.
    pub fn plain_weights(self, weights: StridedTensor) -> Result<StridedTensor> {
        if self.is_integer() { weights.to_dtype(DType::S8) } else { Ok(weights) }
    }
}

/// A zero point of a source of 8 bits.
pub(crate) fn zero_point(op: &'static str, given: i64) -> Result<i32> {
    match i32::try_from(given) {
        Ok(value) if (-128..256).contains(&value) => Ok(value),
        _ => fail!(
            InvalidArgument,
            op,
            "x_zero_point",
            given.to_string(),
            "it is an integer of the source's dtype",
            "pass 0 to 255 for u8, -128 to 127 for s8"
        ),
    }
}

/// Checks that post-ops and zero point go with the source.
///
/// # Errors
/// `InvalidArgument`.
pub(crate) fn check(op: &'static str, types: ConvTypes, post_ops: &PostOps, zero_point: i32) -> Result<()> {
    if !types.is_integer() {
        post_ops.check_without_integers(op)?;
    }
    let range = types.src.byte_range();
    if !range.as_ref().map_or(zero_point == 0, |range| range.contains(&zero_point)) {
        let remedy = match range {
            Some(range) => format!("pass {} to {}", range.start(), range.end()),
            None => "leave it out".into(),
        };
        let rule = format!("it is the integer of a source of {} that stands for 0", types.src);
        fail!(InvalidArgument, op, "x_zero_point", zero_point.to_string(), rule, remedy);
    }
    Ok(())
}

/// Checks that the bias of an integer convolution can be added to its sums.
///
/// # Errors
/// `InvalidArgument`.
pub(crate) fn check_bias(op: &'static str, types: ConvTypes, bias: Option<&[f32]>) -> Result<()> {
    let is_whole = |b: &f32| b.fract() == 0.0 && b.abs() <= LARGEST_BIAS;
    match bias.unwrap_or_default().iter().find(|b| !is_whole(b)).filter(|_| types.is_integer()) {
        None => Ok(()),
        Some(value) => fail!(
            InvalidArgument,
            op,
            "bias",
            value.to_string(),
            "the bias is added to sums of integers: whole numbers up to 2^24",
            "divide it by the scales of x and weights and round it, or add it with the post-op `add_channel`"
        ),
    }
}

/// Checks that the weights are of integers where the source is, and only there.
///
/// # Errors
/// `UnsupportedDType`.
pub(crate) fn check_weights(op: &'static str, types: ConvTypes, weights: TensorRef<'_>) -> Result<()> {
    match (types.is_integer(), weights.dtype()) {
        (true, DType::S8) => Ok(()),
        (true, dtype) => {
            // A plain conversion would wrap, or cut fractions off.
            let remedy = if dtype == DType::U8 {
                "subtract 128 from each, in f32, and convert that to s8; for weights with a zero point subtract the zero point"
            } else {
                "divide them by the scale of their output channel, round them, and convert that to s8; the post-op `mul_channel` multiplies by scales"
            };
            let rule = format!("a source of {} takes s8 weights", types.src);
            fail!(UnsupportedDType, op, "weights", weights.describe(), rule, remedy)
        }
        (false, DType::S8) => {
            let rule = format!("a source of {} takes weights of f32 or bf16", types.src);
            fail!(UnsupportedDType, op, "weights", weights.describe(), rule, convert(DType::F32))
        }
        (false, _) => Ok(()),
    }
}
