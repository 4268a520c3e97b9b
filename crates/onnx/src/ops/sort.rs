//! `TopK` and `CumSum`.

use blocktensor_graph::{Expansion, Result, Value};

use super::args::{axis_of, float_input, input, number};
use super::{Op, build, op};
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[
    op("CumSum", cumsum, &[("exclusive", Kind::Int), ("reverse", Kind::Int)]),
    op("TopK", top_k, &[("axis", Kind::Int), ("largest", Kind::Int), ("sorted", Kind::Int)]),
];

/// The results are sorted whether or not the model needs it.
fn top_k(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let axis = axis_of(node.int("axis").unwrap_or(-1), x.rank(), cx)?;
    let k = number(input(inputs, 1, cx)?, "k", cx)?;
    if k < 0.0 {
        return Err(cx.invalid("k", k, "it is 0 or more", "export the model with another k"));
    }
    if !(0.0..=x.dims()[axis] as f64).contains(&k) {
        let rule = format!("the axis has {} elements", x.dims()[axis]);
        return Err(cx.invalid("k", k, &rule, "use a larger input"));
    }
    let params = [
        ("k", build::int(k as usize)),
        ("axis", build::int(axis)),
        ("largest", (node.int("largest").unwrap_or(1) != 0).into()),
    ];
    cx.ops("topk", &[("x", x)], &params)
}

fn cumsum(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let axis = axis_of(number(input(inputs, 1, cx)?, "the axis", cx)? as i64, x.rank(), cx)?;
    let is_set = |name: &str| node.int(name).unwrap_or(0) != 0;
    let mut y = x.clone();
    if is_set("reverse") {
        y = build::flip(cx, &y, &[axis])?;
    }
    if is_set("exclusive") && y.dims()[axis] > 0 {
        // Each sum leaves its own element out: a zero comes first, and the last element is dropped.
        y = build::narrow(cx, &y, axis, 0, x.dims()[axis] - 1)?;
        let (mut before, after) = (vec![0; x.rank()], vec![0; x.rank()]);
        before[axis] = 1;
        y = build::pad(cx, &y, &before, &after, "constant", 0.0)?;
    }
    y = cx.op("cumsum", &[("x", &y)], &[("axis", build::int(axis))])?;
    if is_set("reverse") {
        y = build::flip(cx, &y, &[axis])?;
    }
    Ok(vec![y])
}
