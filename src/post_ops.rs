//! Post-ops: what a convolution, or a linear layer that is fused with the ops after it, does to its own result before it writes it.
//!
//! A list is written as words: `"residual,relu"`, `"mul_channel,clip(0,6)"`. The order is the order of work.

use std::fmt;
use std::str::FromStr;

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
const NOT_A_DTYPE: &str = "a dtype in it cannot be read";
const NOT_A_BYTE: &str = "`quantize` and `round` take u8 or s8, and a zero point of that type";
const BAD_SCALE: &str =
    "a residual with a scale is u8 or s8, its scale positive and finite, its zero point of that type";
const WITHOUT_NUMBERS: [&str; 11] = [
    "mul_channel",
    "add_channel",
    "prelu",
    "relu",
    "relu6",
    "silu",
    "hardswish",
    "hardsigmoid",
    "gelu",
    "sigmoid",
    "tanh",
];

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
                "only a convolution of u8 or s8 has a quantised residual, or a quantised result",
                "pass x as u8 or s8, or call `quantize` on the result",
            ))),
        }
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

impl fmt::Display for PostOps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, op) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            match op {
                PostOp::Residual => f.write_str("residual")?,
                PostOp::MulChannel => f.write_str("mul_channel")?,
                PostOp::AddChannel => f.write_str("add_channel")?,
                PostOp::Prelu => f.write_str("prelu")?,
                PostOp::Activation(a) => write!(f, "{a}")?,
                PostOp::QuantizedResidual { dtype, scale, zero_point } => {
                    write!(f, "residual({dtype},{scale},{zero_point})")?
                }
                PostOp::Round { dtype, zero_point } => write!(f, "round({dtype},{zero_point})")?,
                PostOp::Quantize { dtype, zero_point } => write!(f, "quantize({dtype},{zero_point})")?,
            }
        }
        Ok(())
    }
}

impl FromStr for PostOps {
    type Err = Error;

    fn from_str(text: &str) -> Result<PostOps> {
        let mut ops = PostOps::default();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let word_end = rest.find([',', '(']).unwrap_or(rest.len());
            let word = rest[..word_end].trim();
            let mut numbers = [0f32; 2];
            let (mut count, mut quantized) = (0, None);
            rest = &rest[word_end..];
            if let Some(inner) = rest.strip_prefix('(') {
                let Some(end) = inner.find(')') else {
                    return Err(PostOps::bad(text, "a bracket is not closed"));
                };
                let mut inside = &inner[..end];
                if ["quantize", "residual", "round"].contains(&word) {
                    let (dtype, number) = inside.split_once(',').unwrap_or((inside, ""));
                    let Ok(dtype) = dtype.trim().parse::<DType>() else {
                        return Err(PostOps::bad(text, NOT_A_DTYPE));
                    };
                    quantized = Some(dtype);
                    inside = number;
                }
                for number in inside.split(',') {
                    match number.trim().parse::<f32>() {
                        Ok(v) if count < 2 && !v.is_nan() => {
                            numbers[count] = v;
                            count += 1;
                        }
                        _ => return Err(PostOps::bad(text, NOT_A_NUMBER)),
                    }
                }
                rest = inner[end + 1..].trim_start();
            }
            match rest.strip_prefix(',') {
                Some(more) if !more.trim().is_empty() => rest = more.trim_start(),
                Some(_) => return Err(PostOps::bad(text, "it ends with a comma")),
                None if rest.is_empty() => {}
                None => return Err(PostOps::bad(text, "a comma is missing")),
            }
            let op = match (word, count) {
                ("residual", 0) if !ops.takes_residual() => PostOp::Residual,
                ("residual", 2) if !ops.takes_residual() && is_whole(numbers[1]) => {
                    PostOp::QuantizedResidual {
                        dtype: quantized.unwrap_or(DType::F32),
                        scale: numbers[0],
                        zero_point: numbers[1] as i32,
                    }
                }
                ("residual", 0 | 2) if ops.takes_residual() => return Err(PostOps::bad(text, TWO_RESIDUALS)),
                ("residual", 2) => return Err(PostOps::bad(text, BAD_SCALE)),
                ("round", 1) if is_whole(numbers[0]) => {
                    PostOp::Round { dtype: quantized.unwrap_or(DType::F32), zero_point: numbers[0] as i32 }
                }
                ("quantize", 1) if is_whole(numbers[0]) => {
                    PostOp::Quantize { dtype: quantized.unwrap_or(DType::F32), zero_point: numbers[0] as i32 }
                }
                ("mul_channel", 0) => PostOp::MulChannel,
                ("add_channel", 0) => PostOp::AddChannel,
                ("prelu", 0) => PostOp::Prelu,
                ("relu", 0) => PostOp::Activation(Activation::Relu),
                ("relu6", 0) => PostOp::Activation(Activation::Clip(0.0, 6.0)),
                ("leaky_relu", 1) => PostOp::Activation(Activation::LeakyRelu(numbers[0])),
                ("clip", 2) if numbers[0] <= numbers[1] => {
                    PostOp::Activation(Activation::Clip(numbers[0], numbers[1]))
                }
                ("clip", 2) => return Err(PostOps::bad(text, BOUNDS)),
                ("silu", 0) => PostOp::Activation(Activation::Silu),
                ("hardswish", 0) => PostOp::Activation(Activation::HardSwish),
                ("hardsigmoid", 0) => PostOp::Activation(Activation::HardSigmoid),
                ("gelu", 0) => PostOp::Activation(Activation::Gelu),
                ("sigmoid", 0) => PostOp::Activation(Activation::Sigmoid),
                ("tanh", 0) => PostOp::Activation(Activation::Tanh),
                _ => {
                    let rule = match word {
                        "leaky_relu" => "takes one number",
                        "residual" => "takes nothing, or a dtype, a scale and a zero point",
                        "quantize" | "round" => "takes a dtype and a zero point",
                        "clip" => "takes two numbers",
                        word if WITHOUT_NUMBERS.contains(&word) => "takes no number",
                        _ => "is not a post-op",
                    };
                    return Err(PostOps::bad(text, &format!("`{}` {rule}", word.escape_debug())));
                }
            };
            if ops.len == MAX_POST_OPS {
                return Err(PostOps::bad(text, TOO_MANY));
            }
            ops.list[ops.len] = op;
            ops.len += 1;
        }
        ops.check()?;
        Ok(ops)
    }
}

/// Whether it is an integer of a quantised dtype.
fn is_byte(dtype: DType, integer: i32) -> bool {
    dtype.byte_range().is_some_and(|range| range.contains(&integer))
}

fn is_whole(x: f32) -> bool {
    x.fract() == 0.0 && x.abs() < 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_back() {
        for text in [
            "",
            "relu",
            "residual,relu",
            "mul_channel,add_channel,clip(0,6)",
            "leaky_relu(0.1),tanh",
            "mul_channel,round(u8,7),residual(s8,0.5,-3),relu,quantize(u8,128)",
        ] {
            assert_eq!(text.parse::<PostOps>().unwrap().to_string(), text);
        }
        assert_eq!(" relu6 , silu ".parse::<PostOps>().unwrap().to_string(), "clip(0,6),silu");
    }

    #[test]
    fn the_word_at_fault_is_quoted() {
        for (text, part) in [
            ("relu,gleu", "`gleu` is not a post-op"),
            ("re\nlu", "`re\\nlu` is not a post-op"),
            ("clip(1)", "`clip` takes two numbers"),
            ("relu(1)", "`relu` takes no number"),
            ("leaky_relu", "`leaky_relu` takes one number"),
        ] {
            let e = text.parse::<PostOps>().unwrap_err().to_string();
            assert!(e.contains(part) && !e.contains('\n'), "{e}");
        }
    }

    /// The text of the error is the one that was given.
    #[test]
    fn an_unknown_dtype_is_told() {
        for text in ["quantize(u4,3)", "round(int8,0)", "residual(,1,0)"] {
            let e = text.parse::<PostOps>().unwrap_err().to_string();
            assert!(e.contains(&format!("got `{text}`, but a dtype in it cannot be read")), "{e}");
        }
    }

    #[test]
    fn bad_words_are_errors_with_the_list_of_good_ones() {
        for text in [
            "gelu!",
            "relu,",
            ",relu",
            "clip(1)",
            "clip(6,0)",
            "clip(0,6",
            "clip(a,b)",
            "relu relu",
            "relu(1)",
            "residual,residual",
            "residual,residual(u8,1,0)",
            "residual(u8,0,1)",
            "residual(u8,1,0.5)",
            "residual(1,0)",
            "residual(f32,1,0)",
            "quantize",
            "quantize(u8)",
            "quantize(f32,0)",
            "quantize(u8,256)",
            "quantize(s8,128)",
            "quantize(u8,0),relu",
            "clip(nan,1)",
            "relu,relu,relu,relu,relu,relu,relu,relu,relu",
        ] {
            let e = text.parse::<PostOps>().unwrap_err();
            assert!(
                matches!(e, Error::InvalidArgument(_)) && e.to_string().contains("hardswish"),
                "{text}: {e}"
            );
        }
    }
}
