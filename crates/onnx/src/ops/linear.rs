//! `Gemm` and `MatMul`.

use blocktensor_graph::{Expansion, Result, Value};

use super::args::{float_input, floats, maybe};
use super::{Attributes, Op, broadcast, build, op};
use crate::node::{Kind, OnnxNode};

pub(super) const GEMM: Attributes =
    &[("alpha", Kind::Float), ("beta", Kind::Float), ("transA", Kind::Int), ("transB", Kind::Int)];

pub(super) const OPS: &[Op] = &[op("Gemm", gemm, GEMM), op("MatMul", matmul, &[])];

pub(super) fn gemm(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (a, b) = (float_input(inputs, 0, cx)?, float_input(inputs, 1, cx)?);
    for (name, value) in [("A", a), ("B", b)] {
        if value.rank() != 2 {
            return Err(cx.invalid(
                name,
                format!("{:?}", value.dims()),
                "it has two axes",
                "flatten it before",
            ));
        }
    }
    let is_set = |name: &str| node.int(name).unwrap_or(0) != 0;
    let (alpha, beta) = (node.float("alpha").unwrap_or(1.0), node.float("beta").unwrap_or(1.0));
    let a = if is_set("transA") { build::permute(cx, a, &[1, 0])? } else { a.clone() };
    let c = match maybe(inputs, 2) {
        Some(c) if beta != 0.0 => Some(scaled(cx, floats(c, cx)?, beta)?),
        _ => None,
    };
    if cx.is_constant(b) {
        let weights = if is_set("transB") { b.clone() } else { build::permute(cx, b, &[1, 0])? };
        let weights = scaled(cx, &weights, alpha)?;
        let outputs = weights.dims()[0];
        // C as a bias: a constant with one value for each column.
        let bias = match &c {
            Some(c) if c.constant().is_some() && is_row(c.dims(), outputs) => {
                let row = without_leading_axes(cx, c)?;
                let row = build::expand(cx, &row, &[outputs])?;
                Some(row)
            }
            _ => None,
        };
        let mut operands = vec![("x", &a), ("weights", &weights)];
        operands.extend(bias.as_ref().map(|bias| ("bias", bias)));
        let y = cx.op("linear", &operands, &[])?;
        return Ok(vec![match c {
            Some(c) if bias.is_none() => broadcast::arithmetic(cx, "add", &y, &c)?,
            _ => y,
        }]);
    }
    let b = if is_set("transB") { build::permute(cx, b, &[1, 0])? } else { b.clone() };
    let y = build::binary(cx, "matmul", &a, &b)?;
    let y = scaled(cx, &y, alpha)?;
    Ok(vec![match c {
        Some(c) => broadcast::arithmetic(cx, "add", &y, &c)?,
        None => y,
    }])
}

/// Whether sizes broadcast to rows of `n` without an axis for the rows.
fn is_row(dims: &[usize], n: usize) -> bool {
    let (last, leading) = dims.split_last().map_or((1, &[][..]), |(last, leading)| (*last, leading));
    leading.iter().all(|&d| d == 1) && (last == n || last == 1)
}

/// A row without leading axes of size 1.
fn without_leading_axes(cx: &mut Expansion<'_>, c: &Value) -> Result<Value> {
    cx.reshape(c, &[c.dims().last().copied().unwrap_or(1)])
}

pub(super) fn scaled(cx: &mut Expansion<'_>, x: &Value, factor: f32) -> Result<Value> {
    if factor == 1.0 { Ok(x.clone()) } else { build::with_number(cx, "mul_scalar", x, factor) }
}

pub(super) fn matmul(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (a, b) = (float_input(inputs, 0, cx)?, float_input(inputs, 1, cx)?);
    Ok(vec![product(a, b, cx)?])
}

/// The product of two tensors by the rules of `MatMul`.
pub(super) fn product(a: &Value, b: &Value, cx: &mut Expansion<'_>) -> Result<Value> {
    if a.rank() == 0 || b.rank() == 0 {
        return Err(cx.invalid("operands", "a scalar", "they have at least one axis", "multiply with `Mul`"));
    }
    let (vector_a, vector_b) = (a.rank() == 1, b.rank() == 1);
    let left = if vector_a { cx.reshape(a, &[1, a.numel()])? } else { a.clone() };
    let right = if vector_b { cx.reshape(b, &[b.numel(), 1])? } else { b.clone() };
    let y = build::binary(cx, "matmul", &left, &right)?;
    let mut dims = y.dims().to_vec();
    if vector_b {
        dims.pop();
    }
    if vector_a {
        dims.remove(dims.len() - if vector_b { 1 } else { 2 });
    }
    cx.reshape(&y, &dims)
}
