//! Quantised models: `QuantizeLinear`, `DequantizeLinear`, and the ops that are compositions of these and an f32 op.
//!
//! A convolution between the two becomes one of integers in a pass of blocktensor-graph, which keeps each rounding of the file.

use blocktensor::{StridedTensor, memory};
use blocktensor_graph::{Constant, ElementType, Expansion, Integer, Param, Result, Value};

use super::args::{axis_of, float_input, input, maybe};
use super::conv::{WINDOW, conv};
use super::linear::matmul;
use super::{Attributes, Op, build, op};
use crate::node::{Kind, OnnxNode};

const CONSTANT: &str = "a constant of the graph";

const QUANTIZE: Attributes = &[
    ("axis", Kind::Int),
    ("block_size", Kind::Int),
    ("output_dtype", Kind::Int),
    ("precision", Kind::Int),
    ("saturate", Kind::Int),
];
const DEQUANTIZE: Attributes = &[("axis", Kind::Int), ("block_size", Kind::Int), ("output_dtype", Kind::Int)];

pub(super) const OPS: &[Op] = &[
    op("QuantizeLinear", quantize_linear, QUANTIZE),
    op("DequantizeLinear", dequantize_linear, DEQUANTIZE),
    op("DynamicQuantizeLinear", dynamic_quantize_linear, &[]),
    op("QLinearConv", qlinear_conv, WINDOW),
    op("QLinearMatMul", qlinear_matmul, &[]),
];

/// The number of a type in the file: UINT8 and INT8.
const TYPES: [(i64, ElementType); 2] = [(2, ElementType::Byte), (3, ElementType::SignedByte)];

/// A scale as a vector.
fn scale(inputs: &[Option<Value>], i: usize, cx: &mut Expansion<'_>) -> Result<Value> {
    let scale = float_input(inputs, i, cx)?;
    vector(scale, "scale", cx)
}

fn vector(x: &Value, what: &str, cx: &mut Expansion<'_>) -> Result<Value> {
    if x.rank() > 1 {
        return Err(cx.unsupported(format!("{what}s of rank {}: blocks of an axis", x.rank())));
    }
    cx.reshape(x, &[x.numel()])
}

/// A zero point as a vector of s32, and the type of the integers that it is for.
fn zero_point(given: Option<&Value>, cx: &mut Expansion<'_>) -> Result<(Value, Option<ElementType>)> {
    let Some(given) = given else {
        return Ok((integers(vec![0], Integer::I32), None));
    };
    let given = vector(given, "zero point", cx)?;
    let of = match given.element_type() {
        ElementType::Byte | ElementType::Int(Integer::U8) => ElementType::Byte,
        ElementType::SignedByte | ElementType::Int(Integer::I8) => ElementType::SignedByte,
        other @ ElementType::Int(Integer::I32) => other,
        other => {
            return Err(
                cx.unsupported(format!("quantised numbers of {other}; blocktensor has those of 8 bits"))
            );
        }
    };
    let as_s32 = match (given.constant(), given.element_type()) {
        (Some(constant), _) => {
            let values = constant.to_f64()?.into_iter().map(|v| v as i64);
            integers(memory::try_collect(CONSTANT, values)?, Integer::I32)
        }
        (None, ElementType::Int(_)) => given,
        (None, _) => cx.op("to_dtype", &[("x", &given)], &[("dtype", "s32".into())])?,
    };
    Ok((as_s32, Some(of)))
}

fn integers(values: Vec<i64>, of: Integer) -> Value {
    Constant::Int { of, dims: vec![values.len()], values }.into()
}

/// The axis of a node's scales. Of a single one it says nothing.
fn axis(node: &OnnxNode, x: &Value, scale: &Value, cx: &Expansion<'_>) -> Result<Param> {
    if node.int("block_size").unwrap_or(0) != 0 {
        return Err(cx.unsupported("block_size: a scale for each block of an axis"));
    }
    match scale.numel() {
        1 => Ok(1i64.into()),
        _ => Ok(build::int(axis_of(node.int("axis").unwrap_or(1), x.rank(), cx)?)),
    }
}

fn quantize_linear(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let scale = scale(inputs, 1, cx)?;
    let axis = axis(node, x, &scale, cx)?;
    let (zero_point, of) = zero_point(maybe(inputs, 2), cx)?;
    let stated = match node.int("output_dtype").unwrap_or(0) {
        0 => None,
        number => match TYPES.iter().find(|(of, _)| *of == number) {
            Some((_, of)) => Some(*of),
            None => {
                return Err(
                    cx.unsupported(format!("output_dtype = {number}; blocktensor quantises to 8 bits"))
                );
            }
        },
    };
    let of = of.or(stated).unwrap_or(ElementType::Byte);
    Ok(vec![quantized(x, &scale, &zero_point, axis, of, cx)?])
}

fn quantized(
    x: &Value,
    scale: &Value,
    zero_point: &Value,
    axis: Param,
    of: ElementType,
    cx: &mut Expansion<'_>,
) -> Result<Value> {
    if !TYPES.iter().any(|(_, byte)| *byte == of) {
        return Err(cx.unsupported(format!("quantised numbers of {of}; blocktensor quantises to 8 bits")));
    }
    let operands = [("x", x), ("scale", scale), ("zero_point", zero_point)];
    cx.op("quantize", &operands, &[("axis", axis), ("dtype", of.dtype().name().into())])
}

fn dequantize_linear(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let scale = scale(inputs, 1, cx)?;
    let axis = axis(node, x, &scale, cx)?;
    Ok(vec![dequantized(x, &scale, maybe(inputs, 2), axis, cx)?])
}

/// The numbers that integers stand for.
fn dequantized(
    x: &Value,
    scale: &Value,
    given: Option<&Value>,
    axis: Param,
    cx: &mut Expansion<'_>,
) -> Result<Value> {
    let (zero_point, _) = zero_point(given, cx)?;
    let x = match x.element_type() {
        ElementType::Int(of @ (Integer::U8 | Integer::I8 | Integer::I32)) => match x.constant() {
            Some(Constant::Int { dims, values, .. }) if of != Integer::I32 => bytes(dims, values, of)?,
            _ => x.clone(),
        },
        ElementType::Byte | ElementType::SignedByte => x.clone(),
        other => return Err(cx.unsupported(format!("quantised numbers of {other}"))),
    };
    let operands = [("x", &x), ("scale", scale), ("zero_point", &zero_point)];
    let params = [("axis", axis)];
    cx.op("dequantize", &operands, &params)
}

/// Constant integers of 8 bits, a byte each.
fn bytes(dims: &[usize], values: &[i64], of: Integer) -> Result<Value> {
    Ok(match of {
        Integer::U8 => {
            let bytes = memory::try_collect(CONSTANT, values.iter().map(|&v| v as u8))?;
            Constant::Byte(StridedTensor::from_slice(&bytes, dims)?)
        }
        _ => {
            let bytes = memory::try_collect(CONSTANT, values.iter().map(|&v| v as i8))?;
            Constant::SignedByte(StridedTensor::from_slice(&bytes, dims)?)
        }
    }
    .into())
}

/// The least range that has 0 and all values, as 256 steps: ONNX's definition.
fn dynamic_quantize_linear(
    _: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let axes: Vec<usize> = (0..x.rank()).collect();
    let largest = build::reduce(cx, "amax", x, &axes, false)?;
    let largest = build::clamp(cx, &largest, 0.0, f32::INFINITY)?;
    let least = build::reduce(cx, "amin", x, &axes, false)?;
    let least = build::clamp(cx, &least, f32::NEG_INFINITY, 0.0)?;
    let range = build::binary(cx, "sub", &largest, &least)?;
    let scale = build::with_number(cx, "div_scalar", &range, 255.0)?;
    let first = build::binary(cx, "div", &least, &scale)?;
    let first = build::unary(cx, "neg", &first)?;
    let first = build::unary(cx, "round", &first)?;
    let first = build::clamp(cx, &first, 0.0, 255.0)?;
    let zero_point = cx.op("to_dtype", &[("x", &first)], &[("dtype", "s32".into())])?;
    let (steps, at) = (cx.reshape(&scale, &[1])?, cx.reshape(&zero_point, &[1])?);
    let y = quantized(x, &steps, &at, 1i64.into(), ElementType::Byte, cx)?;
    let as_byte = cx.op("to_dtype", &[("x", &first)], &[("dtype", "u8".into())])?;
    Ok(vec![y, scale, as_byte])
}

fn qlinear_conv(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (x_scale, w_scale, y_scale) = (scale(inputs, 1, cx)?, scale(inputs, 4, cx)?, scale(inputs, 6, cx)?);
    let x = dequantized(input(inputs, 0, cx)?, &x_scale, maybe(inputs, 2), 1i64.into(), cx)?;
    let w = dequantized(input(inputs, 3, cx)?, &w_scale, maybe(inputs, 5), 0i64.into(), cx)?;
    let mut operands = vec![Some(x), Some(w)];
    if let Some(bias) = maybe(inputs, 8) {
        // Its scale is the product of the others.
        let product = build::binary(cx, "mul", &x_scale, &w_scale)?;
        operands.push(Some(dequantized(bias, &product, None, 0i64.into(), cx)?));
    }
    let y = conv(node, &operands, cx)?.swap_remove(0);
    let (zero_point, of) = zero_point(maybe(inputs, 7), cx)?;
    let of = of.unwrap_or(ElementType::Byte);
    Ok(vec![quantized(&y, &y_scale, &zero_point, 1i64.into(), of, cx)?])
}

fn qlinear_matmul(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let scales = [1, 4, 6].map(|i| float_input(inputs, i, cx).cloned());
    let [a_scale, b_scale, y_scale] = scales;
    let of_tensor = |scale: Result<Value>, cx: &mut Expansion<'_>| {
        let scale = scale?;
        match scale.numel() {
            1 => cx.reshape(&scale, &[1]),
            _ => Err(cx.unsupported("scales for rows or columns")),
        }
    };
    let (a_scale, b_scale) = (of_tensor(a_scale, cx)?, of_tensor(b_scale, cx)?);
    let y_scale = of_tensor(y_scale, cx)?;
    let a = dequantized(input(inputs, 0, cx)?, &a_scale, maybe(inputs, 2), 1i64.into(), cx)?;
    let b = dequantized(input(inputs, 3, cx)?, &b_scale, maybe(inputs, 5), 1i64.into(), cx)?;
    let y = matmul(node, &[Some(a), Some(b)], cx)?.swap_remove(0);
    let (zero_point, of) = zero_point(maybe(inputs, 7), cx)?;
    let of = of.unwrap_or(ElementType::Byte);
    Ok(vec![quantized(&y, &y_scale, &zero_point, 1i64.into(), of, cx)?])
}
