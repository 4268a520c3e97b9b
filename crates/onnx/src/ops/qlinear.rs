//! `QLinearConv` and `QLinearMatMul`: compositions of an f32 op and those of `quantize`.

use blocktensor_graph::{ElementType, Expansion, IntegerFunction, Param, Result, Value};

use super::args::{input, maybe};
use super::conv::{WINDOW, conv};
use super::linear::matmul;
use super::lines::Lines;
use super::quantize::{dequantized, integers, quantized, scale, zero_point};
use super::{Op, broadcast, build, integer, op};
use crate::node::OnnxNode;

pub(super) const OPS: &[Op] =
    &[op("QLinearConv", conv_of_integers, WINDOW), op("QLinearMatMul", matmul_of_integers, &[])];

/// What the integers stand for that inputs `i` to `i + 2` are: integers, scale, zero point. Also the scale.
fn operand(inputs: &[Option<Value>], i: usize, axis: i64, cx: &mut Expansion<'_>) -> Result<(Value, Value)> {
    let scale = scale(inputs, i + 1, cx)?;
    Ok((dequantized(input(inputs, i, cx)?, &scale, maybe(inputs, i + 2), axis.into(), cx)?, scale))
}

/// The result as integers with the scale and the zero point of inputs 6 and 7.
fn result(y: &Value, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let scale = scale(inputs, 6, cx)?;
    let (zero_point, of) = zero_point(maybe(inputs, 7), cx)?;
    Ok(vec![quantized(y, &scale, &zero_point, 1i64.into(), of.unwrap_or(ElementType::Byte), cx)?])
}

fn conv_of_integers(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (x, x_scale) = operand(inputs, 0, 1, cx)?;
    let (w, w_scale) = operand(inputs, 3, 0, cx)?;
    let mut operands = vec![Some(x), Some(w)];
    if let Some(bias) = maybe(inputs, 8) {
        // Its scale is the product of the others.
        let product = build::binary(cx, "mul", &x_scale, &w_scale)?;
        operands.push(Some(dequantized(bias, &product, None, 0i64.into(), cx)?));
    }
    let y = conv(node, &operands, cx)?.swap_remove(0);
    result(&y, inputs, cx)
}

fn matmul_of_integers(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let (a, b) = (input(inputs, 0, cx)?, input(inputs, 3, cx)?);
    let ([a, b], dims) = integer::matrices(a, b, cx)?;
    let (rows, columns) = (Lines::rows("a", a.dims()), Lines::columns("b", b.dims()));
    let (a_scale, a_zero) = (rows.scale(inputs, 1, cx)?, rows.zero(inputs, 2, cx)?);
    let (b_scale, b_zero) = (columns.scale(inputs, 4, cx)?, columns.zero(inputs, 5, cx)?);
    let count = |x: &Value| x.numel();
    let is_one = count(&a_scale) == 1 && a_zero.as_ref().is_none_or(|zero| count(zero) == 1);
    // Those of each matrix have axes before the columns.
    let of_columns = b_scale.rank() <= 2 && b_zero.as_ref().is_none_or(|zero| zero.rank() <= 2);
    let y = if let Some(dims) = integer::of_nothing(&a, &b) {
        build::expand(cx, &build::filled(0.0, dims.len())?, &dims)?
    } else if is_one && of_columns {
        let axis = build::int(b.rank() - 1);
        let a = along(&a, &a_scale, a_zero.as_ref(), 1i64.into(), cx)?;
        let b = along(&b, &b_scale, b_zero.as_ref(), axis, cx)?;
        matmul(node, &[Some(a), Some(b)], cx)?.swap_remove(0)
    } else {
        // No op has these scales: the sums are of integers.
        let sums = integer::sums_of_matrices((&a, a_zero), (&b, b_zero), cx)?;
        let sums = cx.integers(IntegerFunction::ToFloat, &[&sums])?;
        let step = broadcast::arithmetic(cx, "mul", &a_scale, &b_scale)?;
        broadcast::arithmetic(cx, "mul", &sums, &step)?
    };
    let lines = Lines::rows("y", y.dims());
    let (scale, zero) = (lines.scale(inputs, 6, cx)?, lines.zero(inputs, 7, cx)?);
    let zero = zero.unwrap_or_else(|| integers(vec![0]));
    let of = maybe(inputs, 7).map_or(ElementType::Byte, Value::element_type);
    let y = if scale.numel() == 1 && zero.numel() == 1 {
        let y = cx.reshape(&y, &dims)?;
        quantized(&y, &scale, &zero, 1i64.into(), of, cx)?
    } else {
        let (scale, zero) = (lines.each_row(&scale, cx)?, lines.each_row(&zero, cx)?);
        let last = y.dims()[y.rank() - 1];
        let all = cx.reshape(&y, &[scale.numel(), last])?;
        quantized(&all, &scale, &zero, 0i64.into(), of, cx)?
    };
    Ok(vec![cx.reshape(&y, &dims)?])
}

/// The numbers that integers stand for, with scales and zero points along an axis, of any rank.
fn along(
    x: &Value,
    scale: &Value,
    zero: Option<&Value>,
    axis: Param,
    cx: &mut Expansion<'_>,
) -> Result<Value> {
    let scale = cx.reshape(scale, &[scale.numel()])?;
    let zero = zero.map(|zero| cx.reshape(zero, &[zero.numel()])).transpose()?;
    dequantized(x, &scale, zero.as_ref(), axis, cx)
}
