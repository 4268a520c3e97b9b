//! Post-ops: what a convolution, or a linear layer that is fused with the ops after it, does to its own result before it writes it.
//!
//! A list is written as words: `"residual,relu"`, `"mul_channel,clip(0,6)"`. The order is the order of work.

mod text;

use std::fmt;

use crate::dtype::DType;
use crate::error::{Complaint, Error, Result};
use crate::math::{self, Arithmetic};
use crate::simd::{self, MathLoop};

/// An element-wise function that a kernel can fuse.
///
/// oneDNN's `Relu` and `LeakyRelu(0.0)` make 0 of NaN (the latter of minus infinity, too), its `Clip` the lower bound, and its
/// `HardSigmoid` 1; its `Gelu` makes NaN of infinity. Our kernels keep NaN and infinities, as PyTorch does. Where that matters, call
/// `ops::relu`, `ops::leaky_relu` or `ops::clamp` on the result instead.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Activation {
    /// max(x, 0)
    Relu,
    /// x where x > 0, else `slope` times x.
    LeakyRelu(f32),
    /// min(max(x, low), high) with low <= high; relu6 is `Clip(0.0, 6.0)`.
    Clip(f32, f32),
    /// x / (1 + exp(-x)), also called swish.
    Silu,
    /// x * min(max(x + 3, 0), 6) / 6
    HardSwish,
    /// min(max(x + 3, 0), 6) / 6
    HardSigmoid,
    /// x times the normal distribution's share below x: `x * (1 + erf(x / sqrt(2))) / 2`.
    Gelu,
    /// 1 / (1 + exp(-x))
    Sigmoid,
    /// tanh(x)
    Tanh,
}

impl Activation {
    /// Applies the function to every value, in place.
    pub(crate) fn over(self, values: &mut [f32]) {
        simd::dispatch_math(Over { function: self, values });
    }
}

struct Over<'a> {
    function: Activation,
    values: &'a mut [f32],
}

impl MathLoop for Over<'_> {
    type Out = ();

    #[inline(always)]
    fn run<M: Arithmetic>(self) {
        let Over { function, values } = self;
        match function {
            Activation::Relu => each(values, math::relu),
            Activation::LeakyRelu(slope) => each(values, |x| math::leaky_relu(x, slope)),
            Activation::Clip(low, high) => each(values, |x| math::clamp(x, low, high)),
            Activation::Silu => each(values, math::silu::<M>),
            Activation::HardSwish => each(values, math::hardswish),
            Activation::HardSigmoid => each(values, math::hardsigmoid),
            Activation::Gelu => each(values, math::gelu::<M>),
            Activation::Sigmoid => each(values, math::sigmoid::<M>),
            Activation::Tanh => each(values, math::tanh::<M>),
        }
    }
}

#[inline(always)]
fn each(values: &mut [f32], f: impl Fn(f32) -> f32) {
    values.iter_mut().for_each(|v| *v = f(*v));
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Activation::Relu => f.write_str("relu"),
            Activation::LeakyRelu(slope) => write!(f, "leaky_relu({slope})"),
            Activation::Clip(low, high) => write!(f, "clip({low},{high})"),
            Activation::Silu => f.write_str("silu"),
            Activation::HardSwish => f.write_str("hardswish"),
            Activation::HardSigmoid => f.write_str("hardsigmoid"),
            Activation::Gelu => f.write_str("gelu"),
            Activation::Sigmoid => f.write_str("sigmoid"),
            Activation::Tanh => f.write_str("tanh"),
        }
    }
}

/// One step after the kernel's own result.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PostOp {
    /// Add the `residual` operand: a data tensor of the result's shape and layout.
    Residual,
    /// Multiply channel c by value c of the next `channel` parameter.
    MulChannel,
    /// Add value c of the next `channel` parameter to channel c.
    AddChannel,
    /// Multiply what is not above 0 in channel c by value c of the next `channel` parameter. oneDNN's kernels do not fuse it:
    /// the bias and the whole list follow in a pass of our own over the result, in place.
    Prelu,
    /// Apply a function.
    Activation(Activation),
    /// Of an integer convolution: add the `residual` operand, of u8 or s8, as the numbers that it stands for:
    /// `scale * (residual - zero_point)`.
    QuantizedResidual {
        /// u8 or s8.
        dtype: DType,
        /// What a step of the residual's integers is worth, in units of the value that it is added to.
        scale: f32,
        /// The integer that stands for 0.
        zero_point: i32,
    },
    /// Of an integer convolution: round to the nearest distance that an integer of this type has from the zero point, ties to even,
    /// and saturate: what [`Quantize`](PostOp::Quantize) and the way back do together.
    Round {
        /// u8 or s8.
        dtype: DType,
        /// The integer that stands for 0.
        zero_point: i32,
    },
    /// Of an integer convolution, as its last post-op: make integers of the result. Round to the nearest, ties to even, add the
    /// zero point, and saturate. The scale is 1: multiply before.
    Quantize {
        /// u8 or s8.
        dtype: DType,
        /// The integer that stands for 0.
        zero_point: i32,
    },
}

impl PostOp {
    /// Whether it takes the next `channel` parameter.
    pub(crate) fn takes_channel(self) -> bool {
        matches!(self, PostOp::MulChannel | PostOp::AddChannel | PostOp::Prelu)
    }

    /// Whether it takes the `residual` operand.
    pub(crate) fn takes_residual(self) -> bool {
        matches!(self, PostOp::Residual | PostOp::QuantizedResidual { .. })
    }

    /// Whether only integer convolutions have it.
    pub(crate) fn is_of_integers(self) -> bool {
        matches!(self, PostOp::QuantizedResidual { .. } | PostOp::Round { .. } | PostOp::Quantize { .. })
    }
}

/// The most post-ops that one kernel fuses.
pub const MAX_POST_OPS: usize = 8;

const TWO_RESIDUALS: &str = "there is one residual operand";
const BOUNDS: &str = "the lower bound of a clip comes first";
const TOO_MANY: &str = "a kernel fuses at most 8 post-ops";
const NOT_A_NUMBER: &str = "a number in it cannot be read";
const NOT_LAST: &str = "`quantize` is the last post-op";
const NOT_A_BYTE: &str =
    "`quantize` and `round` take u8 with a zero point of 0 to 255, or s8 with one of -128 to 127";
const BAD_SCALE: &str =
    "a residual with a scale is u8 or s8, its scale positive and finite, its zero point of that type";

/// A list of post-ops, inline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PostOps {
    list: [PostOp; MAX_POST_OPS],
    len: usize,
}

impl Default for PostOps {
    fn default() -> PostOps {
        PostOps::new()
    }
}

impl std::ops::Deref for PostOps {
    type Target = [PostOp];
    fn deref(&self) -> &[PostOp] {
        &self.list[..self.len.min(MAX_POST_OPS)]
    }
}

impl PostOps {
    /// No post-ops.
    pub const fn new() -> PostOps {
        PostOps { list: [PostOp::Residual; MAX_POST_OPS], len: 0 }
    }

    /// The list with one more. A list that no kernel can run is an error of the call that gets it.
    pub fn then(mut self, op: PostOp) -> PostOps {
        if let Some(place) = self.list.get_mut(self.len) {
            *place = op;
        }
        self.len += 1;
        self
    }

    /// Checks what [`then`](Self::then) does not.
    pub(crate) fn check(&self) -> Result<()> {
        let text = || self.to_string();
        if self.len > MAX_POST_OPS {
            return Err(PostOps::bad(&text(), TOO_MANY));
        }
        if self.iter().filter(|op| op.takes_residual()).count() > 1 {
            return Err(PostOps::bad(&text(), TWO_RESIDUALS));
        }
        for (i, op) in self.iter().enumerate() {
            let function = match op {
                PostOp::Activation(function) => function,
                PostOp::Quantize { .. } if i + 1 < self.len => return Err(PostOps::bad(&text(), NOT_LAST)),
                PostOp::Quantize { dtype, zero_point } | PostOp::Round { dtype, zero_point }
                    if !is_byte(*dtype, *zero_point) =>
                {
                    return Err(PostOps::bad(&text(), NOT_A_BYTE));
                }
                PostOp::QuantizedResidual { dtype, scale, zero_point }
                    if !(*scale > 0.0 && scale.is_finite() && is_byte(*dtype, *zero_point)) =>
                {
                    return Err(PostOps::bad(&text(), BAD_SCALE));
                }
                _ => continue,
            };
            match *function {
                Activation::LeakyRelu(slope) if slope.is_nan() => {
                    return Err(PostOps::bad(&text(), NOT_A_NUMBER));
                }
                Activation::Clip(low, high) if low.is_nan() || high.is_nan() => {
                    return Err(PostOps::bad(&text(), NOT_A_NUMBER));
                }
                Activation::Clip(low, high) if low > high => return Err(PostOps::bad(&text(), BOUNDS)),
                _ => {}
            }
        }
        Ok(())
    }

    /// How many `channel` parameters the list takes.
    pub fn channel_operands(&self) -> usize {
        self.iter().filter(|op| op.takes_channel()).count()
    }

    /// Whether the list takes a `residual` operand.
    pub fn takes_residual(&self) -> bool {
        self.iter().any(|op| op.takes_residual())
    }

    /// What `quantize` makes of the result, if the list ends with it.
    pub fn quantize(&self) -> Option<(DType, i32)> {
        match self.last() {
            Some(&PostOp::Quantize { dtype, zero_point }) => Some((dtype, zero_point)),
            _ => None,
        }
    }

    /// The dtype, the scale and the zero point of a quantised residual, if the list has one.
    pub(crate) fn quantized_residual(&self) -> Option<(DType, f32, i32)> {
        self.iter().find_map(|op| match *op {
            PostOp::QuantizedResidual { dtype, scale, zero_point } => Some((dtype, scale, zero_point)),
            _ => None,
        })
    }

    /// Refuses post-ops of integer convolutions, for every other op.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub(crate) fn check_without_integers(&self, op: &'static str) -> Result<()> {
        match self.iter().find(|post_op| post_op.is_of_integers()) {
            None => Ok(()),
            Some(_) => Err(Error::InvalidArgument(Complaint::new(
                op,
                "post_ops",
                format!("`{self}`"),
                "only a convolution or linear layer of u8 or s8 has a quantised residual, or a quantised result",
                "pass x as u8 or s8, or call `quantize` on the result",
            ))),
        }
    }

    /// Checks that a gradient has all that it needs.
    ///
    /// # Errors
    /// `InvalidArgument` unless the list is empty.
    pub(crate) fn check_gradient(&self, op: &'static str) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let rule = "a gradient needs the values before each post-op, which a fused call does not keep";
        let remedy = "call the post-ops as ops of their own";
        Err(Error::InvalidArgument(Complaint::new(op, "post_ops", self.to_string(), rule, remedy)))
    }

    fn bad(got: &str, rule: &str) -> Error {
        Error::InvalidArgument(Complaint::new(
            "post_ops",
            "post_ops",
            format!("`{}`", got.escape_debug()),
            rule,
            "write words of residual, mul_channel, add_channel, relu, relu6, leaky_relu(slope), clip(low,high), silu, \
             hardswish, hardsigmoid, gelu, prelu, sigmoid, tanh, residual(dtype,scale,zero_point), round(dtype,zero_point), quantize(dtype,zero_point), with \
             commas between",
        ))
    }
}

/// Whether it is an integer of a quantised dtype.
fn is_byte(dtype: DType, integer: i32) -> bool {
    dtype.byte_range().is_some_and(|range| range.contains(&integer))
}
