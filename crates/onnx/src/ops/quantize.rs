//! Quantised models: `QuantizeLinear`, `DequantizeLinear`, `DynamicQuantizeLinear`.
//!
//! A convolution between the two becomes one of integers in a pass of blocktensor-graph, which keeps each rounding of the file.

use blocktensor::StridedTensor;
use blocktensor_graph::{Constant, ElementType, Error, Expansion, Integer, Param, Result, Value};
use rten_onnx::onnx::DataType;

use super::args::{axis_of, float_input, input, maybe};
use super::{Attributes, Op, build, op};
use crate::declared;
use crate::lists::collect;
use crate::node::{Kind, OnnxNode};

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
];

/// The type of bytes as which a run holds these integers, if they have 8 bits.
pub(super) fn byte_of(of: ElementType) -> Option<ElementType> {
    match of {
        ElementType::Byte | ElementType::Int(Integer::U8) => Some(ElementType::Byte),
        ElementType::SignedByte | ElementType::Int(Integer::I8) => Some(ElementType::SignedByte),
        _ => None,
    }
}

pub(super) fn not_of_8_bits(of: impl std::fmt::Display, cx: &Expansion<'_>) -> Error {
    cx.unsupported(format!("quantised numbers of {of}; blocktensor has those of 8 bits"))
}

/// A scale as a vector.
pub(super) fn scale(inputs: &[Option<Value>], i: usize, cx: &mut Expansion<'_>) -> Result<Value> {
    let scale = float_input(inputs, i, cx)?;
    vector(scale, "scale", cx)
}

fn vector(x: &Value, what: &str, cx: &mut Expansion<'_>) -> Result<Value> {
    if x.rank() > 1 {
        return Err(cx.unsupported(format!(
            "{what}s of sizes {:?}: they are one, or a vector along an axis",
            x.dims()
        )));
    }
    cx.reshape(x, &[x.numel()])
}

/// A zero point as a vector of s32, and the type of the integers that it is for.
pub(super) fn zero_point(
    given: Option<&Value>,
    cx: &mut Expansion<'_>,
) -> Result<(Value, Option<ElementType>)> {
    let Some(given) = given else {
        return Ok((integers(vec![0]), None));
    };
    let given = vector(given, "zero point", cx)?;
    let of = given.element_type();
    let as_s32 = match (given.constant(), of) {
        (Some(constant), _) => integers(collect(constant.to_f64()?.into_iter().map(|v| v as i64))?),
        (None, ElementType::Int(_)) => given,
        (None, _) => cx.op("to_dtype", &[("x", &given)], &[("dtype", "s32".into())])?,
    };
    Ok((as_s32, Some(of)))
}

pub(super) fn integers(values: Vec<i64>) -> Value {
    Constant::Int { of: Integer::I32, dims: vec![values.len()], values }.into()
}

/// A node's scale, and its axis. Of a single scale that says nothing.
fn scale_and_axis(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    x: &Value,
    cx: &mut Expansion<'_>,
) -> Result<(Value, Param)> {
    if node.int("block_size").unwrap_or(0) != 0 {
        return Err(cx.unsupported("block_size: a scale for each block of an axis"));
    }
    let scale = scale(inputs, 1, cx)?;
    let axis = match scale.numel() {
        1 => 1i64.into(),
        _ => build::int(axis_of(node.int("axis").unwrap_or(1), x.rank(), cx)?),
    };
    Ok((scale, axis))
}

pub(super) fn quantize_linear(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let (scale, axis) = scale_and_axis(node, inputs, x, cx)?;
    let (zero_point, of) = zero_point(maybe(inputs, 2), cx)?;
    if let Some(precision) = stated(node, "precision").filter(|of| *of != DataType::FLOAT) {
        return Err(cx.unsupported(format!("a division in {precision}; blocktensor has f32")));
    }
    let stated = match stated(node, "output_dtype") {
        None => None,
        Some(listed) => Some(declared::known(listed).ok_or_else(|| not_of_8_bits(listed, cx))?),
    };
    if let (Some(of), Some(stated)) = (of, stated)
        && of.as_stated() != stated
    {
        let rule = format!("the zero point is of {}", of.as_stated());
        return Err(cx.invalid("output_dtype", stated, &rule, "export the model again"));
    }
    Ok(vec![quantized(x, &scale, &zero_point, axis, of.or(stated).unwrap_or(ElementType::Byte), cx)?])
}

/// A type that an attribute states. 0 is none.
pub(super) fn stated(node: &OnnxNode, attribute: &str) -> Option<DataType> {
    let number = node.int(attribute).filter(|number| *number != 0)?;
    Some(DataType(i32::try_from(number).unwrap_or(i32::MAX)))
}

pub(super) fn quantized(
    x: &Value,
    scale: &Value,
    zero_point: &Value,
    axis: Param,
    of: ElementType,
    cx: &mut Expansion<'_>,
) -> Result<Value> {
    let of = byte_of(of).ok_or_else(|| not_of_8_bits(of, cx))?;
    let operands = [("x", x), ("scale", scale), ("zero_point", zero_point)];
    cx.op("quantize", &operands, &[("axis", axis), ("dtype", of.dtype().name().into())])
}

pub(super) fn dequantize_linear(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let (scale, axis) = scale_and_axis(node, inputs, x, cx)?;
    if let Some(other) = stated(node, "output_dtype").filter(|of| *of != DataType::FLOAT) {
        return Err(cx.unsupported(format!("a result of {other}; blocktensor has f32")));
    }
    Ok(vec![dequantized(x, &scale, maybe(inputs, 2), axis, cx)?])
}

/// The numbers that integers stand for.
pub(super) fn dequantized(
    x: &Value,
    scale: &Value,
    given: Option<&Value>,
    axis: Param,
    cx: &mut Expansion<'_>,
) -> Result<Value> {
    let (zero_point, _) = zero_point(given, cx)?;
    let x = match x.element_type() {
        ElementType::Int(Integer::I32) => x.clone(),
        _ => as_bytes(x, cx)?,
    };
    let operands = [("x", &x), ("scale", scale), ("zero_point", &zero_point)];
    cx.op("dequantize", &operands, &[("axis", axis)])
}

/// Integers of 8 bits, a byte each: a run holds those that a caller gives, or that arithmetic makes, as s32.
pub(super) fn as_bytes(x: &Value, cx: &mut Expansion<'_>) -> Result<Value> {
    let of = x.element_type();
    let byte = byte_of(of).ok_or_else(|| not_of_8_bits(of, cx))?;
    match (x.constant(), of) {
        (Some(Constant::Int { dims, values, .. }), _) => bytes(dims, values, of, cx),
        (None, ElementType::Int(_)) => {
            cx.op("to_dtype", &[("x", x)], &[("dtype", byte.dtype().name().into())])
        }
        _ => Ok(x.clone()),
    }
}

/// Constant integers of 8 bits, a byte each.
pub(super) fn bytes(dims: &[usize], values: &[i64], of: ElementType, cx: &Expansion<'_>) -> Result<Value> {
    Ok(match byte_of(of) {
        Some(ElementType::Byte) => {
            Constant::Byte(StridedTensor::from_slice(&collect(values.iter().map(|&v| v as u8))?, dims)?)
        }
        Some(_) => {
            Constant::SignedByte(StridedTensor::from_slice(&collect(values.iter().map(|&v| v as i8))?, dims)?)
        }
        None => return Err(not_of_8_bits(of, cx)),
    }
    .into())
}

/// The least range that has 0 and all values, as 256 steps: ONNX's definition. A range of 0 counts as 1.
fn dynamic_quantize_linear(
    _: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    if x.numel() == 0 {
        // Of no elements ONNX says nothing. ONNX Runtime's scale and zero point.
        let bytes = |values: &[u8], dims: &[usize]| -> Result<Value> {
            Ok(Constant::Byte(StridedTensor::from_slice(values, dims)?).into())
        };
        return Ok(vec![bytes(&[], x.dims())?, build::filled(1.0, 0)?, bytes(&[0], &[])?]);
    }
    let axes: Vec<usize> = (0..x.rank()).collect();
    let largest = build::reduce(cx, "amax", x, &axes, false)?;
    let largest = build::clamp(cx, &largest, 0.0, f32::INFINITY)?;
    let least = build::reduce(cx, "amin", x, &axes, false)?;
    let least = build::clamp(cx, &least, f32::NEG_INFINITY, 0.0)?;
    let range = build::binary(cx, "sub", &largest, &least)?;
    let is_range = build::with_number(cx, "ne_scalar", &range, 0.0)?;
    let one = build::filled(1.0, 0)?;
    let range = cx.op("where", &[("condition", &is_range), ("a", &range), ("b", &one)], &[])?;
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
