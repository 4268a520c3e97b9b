//! Softmax and its relatives.

use blocktensor_graph::{Expansion, Result, Value};

use super::args::{axis_of, float_input};
use super::{Op, build, op};
use crate::lists::collect;
use crate::node::{Kind, OnnxNode};

const AXIS: &[(&str, Kind)] = &[("axis", Kind::Int)];

pub(super) const OPS: &[Op] =
    &[op("Hardmax", hardmax, AXIS), op("LogSoftmax", softmax, AXIS), op("Softmax", softmax, AXIS)];

/// The axis that a node states, or the one that its version takes without.
fn stated_axis(node: &OnnxNode) -> i64 {
    node.int("axis").unwrap_or(if node.version() >= 13 { -1 } else { 1 })
}

/// The operand and the axis of a node. Before version 13, the operand was a matrix: axes from `axis` on were its columns.
fn operand(x: &Value, axis: i64, version: i64, cx: &mut Expansion<'_>) -> Result<(Value, usize)> {
    let axis = axis_of(axis, x.rank(), cx)?;
    if version >= 13 {
        return Ok((x.clone(), axis));
    }
    let (rows, columns) = x.dims().split_at(axis);
    if columns[1..].iter().all(|&d| d == 1) {
        return Ok((x.clone(), axis));
    }
    Ok((cx.reshape(x, &[rows.iter().product(), columns.iter().product()])?, 1))
}

fn softmax(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let op = if node.op_type() == "Softmax" { "softmax" } else { "log_softmax" };
    Ok(vec![along(op, x, stated_axis(node), node.version(), cx)?])
}

/// `softmax` or `log_softmax` as ONNX defines them in a version of its operator set.
pub(super) fn along(op: &str, x: &Value, axis: i64, version: i64, cx: &mut Expansion<'_>) -> Result<Value> {
    let (matrix, axis) = operand(x, axis, version, cx)?;
    let y = cx.op(op, &[("x", &matrix)], &[("axis", build::int(axis))])?;
    cx.reshape(&y, x.dims())
}

/// 1 at the first largest element along the axis, 0 elsewhere: the index of the largest is compared with all indices.
fn hardmax(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let (matrix, axis) = operand(x, stated_axis(node), node.version(), cx)?;
    let size = matrix.dims()[axis];
    let winner =
        cx.op("argmax", &[("x", &matrix)], &[("axis", build::list(&[axis])), ("keepdim", false.into())])?;
    let dims = winner.dims().to_vec();
    // A row of the identity matrix for each index.
    let flat = cx.reshape(&winner, &[winner.numel()])?;
    super::check_generated(size.checked_mul(size), cx)?;
    let identity = collect((0..size * size).map(|i| if i / size == i % size { 1.0 } else { 0.0 }))?;
    let identity = build::constant(&identity, &[size, size])?;
    let rows = build::index_select(cx, &identity, 0, &flat)?;
    let spread: Vec<usize> = dims.iter().copied().chain([size]).collect();
    let rows = cx.reshape(&rows, &spread)?;
    let last = spread.len() - 1;
    let order: Vec<usize> = (0..=last)
        .map(|i| {
            if i < axis {
                i
            } else if i == axis {
                last
            } else {
                i - 1
            }
        })
        .collect();
    let y = build::permute(cx, &rows, &order)?;
    Ok(vec![cx.reshape(&y, x.dims())?])
}
