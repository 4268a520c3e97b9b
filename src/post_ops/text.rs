//! Lists of post-ops as words, and back.

use std::fmt;
use std::str::FromStr;

use super::{
    Activation, BAD_SCALE, BOUNDS, MAX_POST_OPS, NOT_A_NUMBER, PostOp, PostOps, TOO_MANY, TWO_RESIDUALS,
};
use crate::dtype::DType;
use crate::error::{Error, Result};

const NOT_A_DTYPE: &str = "a dtype in it cannot be read";

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
