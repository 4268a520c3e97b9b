//! Ops of `com.microsoft` that ONNX Runtime's quantiser writes with `QuantFormat.QOperator`.
//!
//! Each becomes an f32 op between `dequantize` and `quantize`, as in the QDQ form of the same network. The passes of blocktensor-graph make
//! integers of both alike.

use blocktensor_graph::{ElementType, Expansion, Integer, Result, Value};

use super::args::{absent, axes_of, axis_of, input, maybe};
use super::linear::{gemm, scaled};
use super::microsoft::check_count;
use super::quantize::{byte_of, dequantized, not_of_8_bits, quantized, scale, zero_point};
use super::{Attributes, Op, broadcast, build, op, pool, reduce, softmax};
use crate::node::{Kind, OnnxNode};

const AVERAGE_POOL: Attributes = &[
    ("auto_pad", Kind::Str),
    ("ceil_mode", Kind::Int),
    ("channels_last", Kind::Int),
    ("count_include_pad", Kind::Int),
    ("kernel_shape", Kind::Ints),
    ("pads", Kind::Ints),
    ("strides", Kind::Ints),
];
const GEMM: Attributes = &[("alpha", Kind::Float), ("transA", Kind::Int), ("transB", Kind::Int)];
const REDUCE: Attributes = &[("axes", Kind::Ints), ("keepdims", Kind::Int)];
const SOFTMAX: Attributes = &[("axis", Kind::Int), ("opset", Kind::Int)];

pub(super) const OPS: &[Op] = &[
    op("QGemm", qgemm, GEMM),
    op("QLinearAdd", arithmetic, &[]),
    op("QLinearAveragePool", average_pool, AVERAGE_POOL),
    op("QLinearConcat", concat, &[("axis", Kind::Int)]),
    op("QLinearGlobalAveragePool", global_average_pool, &[("channels_last", Kind::Int)]),
    op("QLinearLeakyRelu", leaky_relu, &[("alpha", Kind::Float)]),
    op("QLinearMul", arithmetic, &[]),
    op("QLinearReduceMean", reduce_mean, REDUCE),
    op("QLinearSigmoid", sigmoid, &[]),
    op("QLinearSoftmax", softmax, SOFTMAX),
    op("QLinearWhere", select, &[]),
];

const EXPORT: &str = "export the model again";

/// Checks that inputs `i` and `i + 1` are one scale and one zero point of integers of this type.
fn check_pair(inputs: &[Option<Value>], i: usize, of: ElementType, cx: &Expansion<'_>) -> Result<()> {
    for (i, what) in [(i, "scale"), (i + 1, "zero point")] {
        if let Some(value) = maybe(inputs, i).filter(|value| value.numel() != 1) {
            let dims = value.dims();
            return Err(cx.unsupported(format!(
                "input {i}, a {what} of sizes {dims:?}: there is one for all elements"
            )));
        }
    }
    check_zero_point(inputs, i + 1, of, cx)
}

/// Checks that input `i` is a zero point of integers of this type, if the node has it.
fn check_zero_point(inputs: &[Option<Value>], i: usize, of: ElementType, cx: &Expansion<'_>) -> Result<()> {
    match maybe(inputs, i).map(Value::element_type) {
        Some(zero) if byte_of(zero) != byte_of(of) => {
            let rule = format!("the integers are of {}", of.as_stated());
            Err(cx.invalid(&format!("zero point, input {i}"), zero.as_stated(), rule, EXPORT))
        }
        _ => Ok(()),
    }
}

/// The type of integers of 8 bits.
fn type_of(x: &Value, cx: &Expansion<'_>) -> Result<ElementType> {
    let of = x.element_type();
    byte_of(of).ok_or_else(|| not_of_8_bits(of.as_stated(), cx))
}

/// What the integers stand for that inputs `i` to `i + 2` are: integers, scale, zero point. Also the type of the integers.
fn operand(inputs: &[Option<Value>], i: usize, cx: &mut Expansion<'_>) -> Result<(Value, ElementType)> {
    let x = input(inputs, i, cx)?;
    let of = type_of(x, cx)?;
    let steps = scale(inputs, i + 1, cx)?;
    check_pair(inputs, i + 1, of, cx)?;
    Ok((dequantized(x, &steps, maybe(inputs, i + 2), 1i64.into(), cx)?, of))
}

/// The result as integers with the scale and the zero point of inputs `i` and `i + 1`. Without a zero point they are of type `of`.
fn result(
    y: &Value,
    inputs: &[Option<Value>],
    i: usize,
    of: ElementType,
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let of = maybe(inputs, i + 1).map_or(of, Value::element_type);
    let steps = scale(inputs, i, cx)?;
    check_pair(inputs, i, of, cx)?;
    let (zero, _) = zero_point(maybe(inputs, i + 1), cx)?;
    Ok(vec![quantized(y, &steps, &zero, 1i64.into(), of, cx)?])
}

/// A function of one operand: inputs are integers, scale, zero point, scale and zero point of the result.
fn of_one(
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
    function: impl FnOnce(&Value, &mut Expansion<'_>) -> Result<Value>,
) -> Result<Vec<Value>> {
    check_count(inputs, 5, cx)?;
    let (x, of) = operand(inputs, 0, cx)?;
    let y = function(&x, cx)?;
    result(&y, inputs, 3, of, cx)
}

fn arithmetic(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_count(inputs, 8, cx)?;
    let ((a, of), (b, _)) = (operand(inputs, 0, cx)?, operand(inputs, 3, cx)?);
    let y = broadcast::arithmetic(cx, if node.op_type() == "QLinearAdd" { "add" } else { "mul" }, &a, &b)?;
    result(&y, inputs, 6, of, cx)
}

/// Refuses images whose channels are the last axis.
fn check_channels(node: &OnnxNode, cx: &Expansion<'_>) -> Result<()> {
    match node.int("channels_last").unwrap_or(0) {
        0 => Ok(()),
        set => Err(cx.unsupported(format!(
            "channels_last = {set}; channels are the second axis, as the quantiser writes it"
        ))),
    }
}

fn average_pool(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_channels(node, cx)?;
    of_one(inputs, cx, |x, cx| Ok(pool::average_pool(node, &[Some(x.clone())], cx)?.swap_remove(0)))
}

fn global_average_pool(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    check_channels(node, cx)?;
    of_one(inputs, cx, |x, cx| pool::global_pool_of(x, true, cx))
}

fn leaky_relu(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let slope = node.float("alpha").unwrap_or(0.01);
    of_one(inputs, cx, |x, cx| cx.op("leaky_relu", &[("x", x)], &[("slope", slope.into())]))
}

fn sigmoid(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    of_one(inputs, cx, |x, cx| build::unary(cx, "sigmoid", x))
}

/// `opset` is the version of ONNX's operator set whose `Softmax` is meant.
fn softmax(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let version = node.int("opset").ok_or_else(|| absent("opset", cx))?;
    let axis = node.int("axis").unwrap_or(-1);
    of_one(inputs, cx, |x, cx| softmax::along("softmax", x, axis, version, cx))
}

fn reduce_mean(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let axes = node.ints("axes").ok_or_else(|| absent("axes", cx))?;
    let keep = node.int("keepdims").ok_or_else(|| absent("keepdims", cx))? != 0;
    of_one(inputs, cx, |x, cx| {
        let mut axes = axes_of(axes, x.rank(), cx)?;
        if axes.is_empty() {
            axes = (0..x.rank()).collect();
        }
        axes.sort_unstable();
        reduce::mean(x, &axes, keep, cx)
    })
}

/// The inputs are scale and zero point of the result, then three for each tensor.
fn concat(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let axis = node.int("axis").ok_or_else(|| absent("axis", cx))?;
    if inputs.len() < 5 || inputs.len() % 3 != 2 {
        let rule = "it has two for the result, and three for each tensor";
        return Err(cx.invalid("number of inputs", inputs.len(), rule, EXPORT));
    }
    let operands = (2..inputs.len()).step_by(3).map(|i| operand(inputs, i, cx));
    let operands = operands.collect::<Result<Vec<_>>>()?;
    let axis = axis_of(axis, operands[0].0.rank(), cx)?;
    let y = build::cat(cx, &operands.iter().map(|(x, _)| x).collect::<Vec<_>>(), axis)?;
    result(&y, inputs, 0, operands[0].1, cx)
}

fn select(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_count(inputs, 9, cx)?;
    let ((a, of), (b, _)) = (operand(inputs, 1, cx)?, operand(inputs, 4, cx)?);
    let y = broadcast::select(node, &[maybe(inputs, 0).cloned(), Some(a), Some(b)], cx)?.swap_remove(0);
    result(&y, inputs, 7, of, cx)
}

/// `alpha * A B`, and C in steps of the products. Without a scale, the result is a number.
fn qgemm(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_count(inputs, 9, cx)?;
    let (a, of) = operand(inputs, 0, cx)?;
    let b = input(inputs, 3, cx)?;
    let of_b = type_of(b, cx)?;
    let b_scale = scale(inputs, 4, cx)?;
    let columns = if node.int("transB").unwrap_or(0) != 0 { 0 } else { 1 };
    check_zero_point(inputs, 5, of_b, cx)?;
    let b = dequantized(b, &b_scale, maybe(inputs, 5), build::int(columns), cx)?;
    let mut operands = vec![Some(a), Some(b)];
    if let Some(c) = maybe(inputs, 6) {
        let a_scale = scale(inputs, 1, cx)?;
        let product = build::binary(cx, "mul", &a_scale, &b_scale)?;
        let product = scaled(cx, &product, node.float("alpha").unwrap_or(1.0))?;
        operands.push(Some(bias(c, &product, cx)?));
    }
    let y = gemm(node, &operands, cx)?;
    match (maybe(inputs, 7), maybe(inputs, 8)) {
        (Some(_), _) => result(&y[0], inputs, 7, of, cx),
        (None, None) => Ok(y),
        (None, Some(_)) => Err(cx.unsupported("a zero point of the result without a scale")),
    }
}

/// What C stands for: s32 in steps of one scale, or of one for each column.
fn bias(c: &Value, scale: &Value, cx: &mut Expansion<'_>) -> Result<Value> {
    if c.element_type() != ElementType::Int(Integer::I32) {
        return Err(cx.invalid("C", c.element_type().as_stated(), "it is of i32", "cast it before"));
    }
    if scale.numel() == 1 {
        return dequantized(c, scale, None, 1i64.into(), cx);
    }
    match c.dims() {
        [.., last] if *last == scale.numel() => dequantized(c, scale, None, build::int(c.rank() - 1), cx),
        dims => Err(cx.unsupported(format!(
            "C of sizes {dims:?} beside a scale for each of {} columns",
            scale.numel()
        ))),
    }
}
