//! Activations with parameters, and other functions of one element.

use blocktensor_graph::{ElementType, Expansion, IntegerFunction, Result, Value};

use super::args::{as_small, float_input, input, maybe, number, scalar, small_input};
use super::{Op, broadcast, build, op};
use crate::lists::filled;
use crate::node::{Kind, OnnxNode};

const ALPHA: &[(&str, Kind)] = &[("alpha", Kind::Float)];

pub(super) const OPS: &[Op] = &[
    op("Celu", with_alpha, ALPHA),
    op("Clip", clip, &[]),
    op("Dropout", dropout, &[("ratio", Kind::Float), ("seed", Kind::Int)]),
    op("Elu", with_alpha, ALPHA),
    op("Gelu", gelu, &[("approximate", Kind::Str)]),
    op("HardSigmoid", hard_sigmoid, &[("alpha", Kind::Float), ("beta", Kind::Float)]),
    op("IsInf", is_inf, &[("detect_negative", Kind::Int), ("detect_positive", Kind::Int)]),
    op("IsNaN", is_nan, &[]),
    op("LeakyRelu", with_alpha, ALPHA),
    op("PRelu", prelu, &[]),
    op("Selu", selu, &[("alpha", Kind::Float), ("gamma", Kind::Float)]),
    op("Shrink", shrink, &[("bias", Kind::Float), ("lambd", Kind::Float)]),
    op("Swish", swish, ALPHA),
    op("ThresholdedRelu", thresholded_relu, ALPHA),
];

fn with_alpha(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let (op, param, default) = match node.op_type() {
        "LeakyRelu" => ("leaky_relu", "slope", 0.01),
        "Elu" => ("elu", "alpha", 1.0),
        _ => ("celu", "alpha", 1.0),
    };
    let alpha = node.float("alpha").unwrap_or(default);
    Ok(vec![cx.op(op, &[("x", x)], &[(param, alpha.into())])?])
}

/// Refuses bounds of `Clip` that are not one number. ONNX Runtime also takes lists of one.
pub(crate) fn check_bounds(inputs: &[Option<Value>], cx: &Expansion<'_>) -> Result<()> {
    for (i, name, other) in [(1, "min", "Max"), (2, "max", "Min")] {
        if let Some(bound) = maybe(inputs, i).filter(|bound| !matches!(bound.dims(), [] | [1])) {
            let (got, remedy) =
                (format!("{:?}", bound.dims()), format!("use `{other}` in place of this bound"));
            return Err(cx.invalid(name, got, "a bound is one number", &remedy));
        }
    }
    Ok(())
}

fn clip(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_bounds(inputs, cx)?;
    let x = input(inputs, 0, cx)?;
    match x.element_type() {
        ElementType::Int(_) if x.constant().is_none() => {
            let mut y = x.clone();
            for (i, function) in [(1, IntegerFunction::Max), (2, IntegerFunction::Min)] {
                if let Some(bound) = maybe(inputs, i) {
                    y = cx.integers(function, &[&y, bound])?;
                }
            }
            return Ok(vec![y]);
        }
        ElementType::Byte | ElementType::SignedByte if x.constant().is_none() => {
            let (x, of) = small_input(inputs, 0, cx)?;
            let bound = |i: usize, none: f64| maybe(inputs, i).map_or(Ok(none), |v| number(v, "a bound", cx));
            let (min, max) = (bound(1, f64::from(i8::MIN))?, bound(2, f64::from(u8::MAX))?);
            let y = build::clamp(cx, &x, min as f32, max as f32)?;
            return Ok(vec![as_small(cx, &y, of)?]);
        }
        _ => {}
    }
    let x = float_input(inputs, 0, cx)?;
    let bound = |i: usize, none: f32| maybe(inputs, i).map_or(Some(none), scalar);
    let (min, max) = (bound(1, f32::NEG_INFINITY), bound(2, f32::INFINITY));
    if let (Some(min), Some(max)) = (min, max) {
        return Ok(vec![match (min, max) {
            (f32::NEG_INFINITY, f32::INFINITY) => x.clone(),
            (0.0, f32::INFINITY) => build::unary(cx, "relu", x)?,
            (0.0, 6.0) => build::unary(cx, "relu6", x)?,
            _ => build::clamp(cx, x, min, max)?,
        }]);
    }
    let mut y = x.clone();
    for (i, op) in [(1, "maximum"), (2, "minimum")] {
        if maybe(inputs, i).is_some() {
            y = build::binary(cx, op, &y, float_input(inputs, i, cx)?)?;
        }
    }
    Ok(vec![y])
}

/// In inference, dropout does nothing.
fn dropout(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    if let Some(training) = maybe(inputs, 2) {
        let ratio = maybe(inputs, 1).map_or(Some(0.5), scalar);
        let is_off = training.constant().and_then(|c| c.as_bools()).is_some_and(|b| b == [false]);
        if !is_off && ratio != Some(0.0) {
            return Err(cx.unsupported("training mode: masks are random"));
        }
    }
    if !node.has_output(1) {
        return Ok(vec![x.clone()]);
    }
    super::check_constant(x.dims(), ElementType::Bool, cx)?;
    // Before version 12 the mask is that of training, and without training nothing is in it.
    let mask = filled(x.numel(), node.version() >= 12)?;
    let mask = blocktensor_graph::Constant::Bool { dims: x.dims().to_vec(), values: mask };
    Ok(vec![x.clone(), mask.into()])
}

fn gelu(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let op = match node.str("approximate") {
        None | Some("none") => "gelu",
        Some("tanh") => "gelu_tanh",
        Some(other) => return Err(cx.unsupported(format!("approximate = {other:?}"))),
    };
    Ok(vec![build::unary(cx, op, float_input(inputs, 0, cx)?)?])
}

fn hard_sigmoid(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let (alpha, beta) = (node.float("alpha").unwrap_or(0.2), node.float("beta").unwrap_or(0.5));
    Ok(vec![hard_sigmoid_of(cx, x, alpha, beta)?])
}

/// `alpha * x + beta`, limited to 0 to 1.
pub(super) fn hard_sigmoid_of(cx: &mut Expansion<'_>, x: &Value, alpha: f32, beta: f32) -> Result<Value> {
    // Exporters write 1/6 with six digits.
    if (alpha - 1.0 / 6.0).abs() < 1e-6 && beta == 0.5 {
        return build::unary(cx, "hardsigmoid", x);
    }
    let y = build::with_number(cx, "mul_scalar", x, alpha)?;
    let y = build::with_number(cx, "add_scalar", &y, beta)?;
    build::clamp(cx, &y, 0.0, 1.0)
}

fn is_inf(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let detects = |name: &str| node.int(name).unwrap_or(1) != 0;
    let y = match (detects("detect_negative"), detects("detect_positive")) {
        (true, true) => {
            let size = build::unary(cx, "abs", x)?;
            build::with_number(cx, "eq_scalar", &size, f32::INFINITY)?
        }
        (true, false) => build::with_number(cx, "eq_scalar", x, f32::NEG_INFINITY)?,
        (false, true) => build::with_number(cx, "eq_scalar", x, f32::INFINITY)?,
        // No number equals NaN.
        (false, false) => build::with_number(cx, "eq_scalar", x, f32::NAN)?,
    };
    Ok(vec![y])
}

fn is_nan(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    Ok(vec![build::binary(cx, "ne", x, x)?])
}

fn prelu(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (x, slope) = (float_input(inputs, 0, cx)?, float_input(inputs, 1, cx)?);
    // One slope, or one for each channel, counted from the end: [C, 1, 1] or [1, C, 1, 1].
    let spatial = x.rank().saturating_sub(2);
    let dims = slope.dims();
    // From the right, as broadcasting pairs axes.
    let fits = dims.iter().rev().zip(x.dims().iter().rev()).all(|(&s, &d)| s == 1 || s == d);
    if dims.len() > x.rank() || !fits {
        let rule = format!("it is broadcast to x, {:?}, whose axes are paired from the last", x.dims());
        let remedy = match (x.dims(), dims) {
            // Of PyTorch a slope for each channel is a vector.
            ([_, channels, ..], [count]) if channels == count => {
                let all = [&[*count][..], &vec![1; spatial]].concat();
                format!("for a slope of each channel reshape it to {all:?}")
            }
            _ => "expand x before, or correct the shapes".to_string(),
        };
        return Err(cx.invalid("slope", format!("{dims:?}"), &rule, remedy));
    }
    let is_channel = x.rank() >= 2
        && dims.len() > spatial
        && dims[dims.len() - spatial..].iter().all(|&d| d == 1)
        && dims[dims.len() - spatial - 1] == x.dims()[1]
        && dims[..dims.len() - spatial - 1].iter().all(|&d| d == 1);
    if x.rank() >= 2 && (slope.numel() == 1 || is_channel) {
        let slope = cx.reshape(slope, &[slope.numel()])?;
        return Ok(vec![cx.op("prelu", &[("x", x), ("weights", &slope)], &[])?]);
    }
    let scaled = broadcast::arithmetic(cx, "mul", x, slope)?;
    let is_negative = build::with_number(cx, "lt_scalar", x, 0.0)?;
    Ok(vec![cx.op("where", &[("condition", &is_negative), ("a", &scaled), ("b", x)], &[])?])
}

fn selu(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    const ALPHA: f32 = 1.673_263_2;
    const GAMMA: f32 = 1.050_701;
    let x = float_input(inputs, 0, cx)?;
    let (alpha, gamma) = (node.float("alpha").unwrap_or(ALPHA), node.float("gamma").unwrap_or(GAMMA));
    if (alpha, gamma) == (ALPHA, GAMMA) {
        return Ok(vec![build::unary(cx, "selu", x)?]);
    }
    let y = cx.op("elu", &[("x", x)], &[("alpha", alpha.into())])?;
    Ok(vec![build::with_number(cx, "mul_scalar", &y, gamma)?])
}

/// `x + bias` below `-lambd`, `x - bias` above `lambd`, else 0.
fn shrink(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let (bias, lambd) = (node.float("bias").unwrap_or(0.0), node.float("lambd").unwrap_or(0.5));
    let zero = build::filled(0.0, x.rank())?;
    let raised = build::with_number(cx, "add_scalar", x, bias)?;
    let lowered = build::with_number(cx, "sub_scalar", x, bias)?;
    let is_low = build::with_number(cx, "lt_scalar", x, -lambd)?;
    let is_high = build::with_number(cx, "gt_scalar", x, lambd)?;
    let y = cx.op("where", &[("condition", &is_high), ("a", &lowered), ("b", &zero)], &[])?;
    Ok(vec![cx.op("where", &[("condition", &is_low), ("a", &raised), ("b", &y)], &[])?])
}

fn swish(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let alpha = node.float("alpha").unwrap_or(1.0);
    if alpha == 1.0 {
        return Ok(vec![build::unary(cx, "silu", x)?]);
    }
    let gate = build::with_number(cx, "mul_scalar", x, alpha)?;
    let gate = build::unary(cx, "sigmoid", &gate)?;
    Ok(vec![build::binary(cx, "mul", x, &gate)?])
}

fn thresholded_relu(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let is_above = build::with_number(cx, "gt_scalar", x, node.float("alpha").unwrap_or(1.0))?;
    let zero = build::filled(0.0, x.rank())?;
    Ok(vec![cx.op("where", &[("condition", &is_above), ("a", x), ("b", &zero)], &[])?])
}
