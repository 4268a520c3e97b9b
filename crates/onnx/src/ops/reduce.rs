//! Reductions.

use blocktensor_graph::{ElementType, Expansion, Result, Value};

use super::args::{axes_of, axis_of, float_input, input, ints_of};
use super::{Op, build, op};
use crate::lists::collect;
use crate::node::{Kind, OnnxNode};

const REDUCE: &[(&str, Kind)] =
    &[("axes", Kind::Ints), ("keepdims", Kind::Int), ("noop_with_empty_axes", Kind::Int)];
const ARG: &[(&str, Kind)] =
    &[("axis", Kind::Int), ("keepdims", Kind::Int), ("select_last_index", Kind::Int)];

pub(super) const OPS: &[Op] = &[
    op("ArgMax", arg_extreme, ARG),
    op("ArgMin", arg_extreme, ARG),
    op("ReduceL1", reduce, REDUCE),
    op("ReduceL2", reduce, REDUCE),
    op("ReduceLogSum", reduce, REDUCE),
    op("ReduceLogSumExp", reduce, REDUCE),
    op("ReduceMax", reduce, REDUCE),
    op("ReduceMean", reduce, REDUCE),
    op("ReduceMin", reduce, REDUCE),
    op("ReduceProd", reduce, REDUCE),
    op("ReduceSum", reduce, REDUCE),
    op("ReduceSumSquare", reduce, REDUCE),
];

/// The axes of a reduction, from an attribute or an input; `None` if it leaves its input unchanged.
pub(crate) fn reduced_axes(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    rank: usize,
    cx: &Expansion<'_>,
) -> Result<Option<Vec<usize>>> {
    let axes = ints_of(inputs, 1, node.ints("axes"), "axes", cx)?.unwrap_or_default();
    if axes.is_empty() {
        let is_noop = node.int("noop_with_empty_axes").unwrap_or(0) != 0;
        return Ok(if is_noop { None } else { Some((0..rank).collect()) });
    }
    axes_of(&axes, rank, cx).map(Some)
}

fn reduce(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let source = input(inputs, 0, cx)?;
    let is_bool = source.element_type() == ElementType::Bool;
    let x = &build::as_numbers(cx, source)?;
    let Some(mut axes) = reduced_axes(node, inputs, x.rank(), cx)? else {
        return Ok(vec![without_reduction(node, x, cx)?]);
    };
    axes.sort_unstable();
    let keep = node.int("keepdims").unwrap_or(1) != 0;
    if x.rank() == 0 {
        // A scalar is its own sum.
        let one = cx.reshape(x, &[1])?;
        let y = reduce_over(node, &one, &[0], false, cx)?;
        return Ok(vec![y]);
    }
    let y = reduce_over(node, x, &axes, keep, cx)?;
    Ok(vec![if is_bool { build::with_number(cx, "ne_scalar", &y, 0.0)? } else { y }])
}

/// A reduction over no axes: what it does to each element.
fn without_reduction(node: &OnnxNode, x: &Value, cx: &mut Expansion<'_>) -> Result<Value> {
    match node.op_type() {
        "ReduceL1" | "ReduceL2" => build::unary(cx, "abs", x),
        "ReduceSumSquare" => build::unary(cx, "square", x),
        "ReduceLogSum" => build::unary(cx, "log", x),
        _ => Ok(x.clone()),
    }
}

fn reduce_over(
    node: &OnnxNode,
    x: &Value,
    axes: &[usize],
    keep: bool,
    cx: &mut Expansion<'_>,
) -> Result<Value> {
    Ok(match node.op_type() {
        "ReduceSum" => build::reduce(cx, "sum", x, axes, keep)?,
        "ReduceProd" => build::reduce(cx, "prod", x, axes, keep)?,
        "ReduceMax" | "ReduceMin" => {
            let (op, none) = if node.op_type() == "ReduceMax" {
                ("amax", f32::NEG_INFINITY)
            } else {
                ("amin", f32::INFINITY)
            };
            if axes.iter().any(|&a| x.dims()[a] == 0) {
                let kept = kept_dims(x.dims(), axes, keep);
                return super::constant::filled(none, &kept);
            }
            build::reduce(cx, op, x, axes, keep)?
        }
        "ReduceMean" => mean(x, axes, keep, cx)?,
        "ReduceL1" => {
            let size = build::unary(cx, "abs", x)?;
            build::reduce(cx, "sum", &size, axes, keep)?
        }
        "ReduceL2" => {
            let square = build::unary(cx, "square", x)?;
            let sum = build::reduce(cx, "sum", &square, axes, keep)?;
            build::unary(cx, "sqrt", &sum)?
        }
        "ReduceSumSquare" => {
            let square = build::unary(cx, "square", x)?;
            build::reduce(cx, "sum", &square, axes, keep)?
        }
        "ReduceLogSum" => {
            let sum = build::reduce(cx, "sum", x, axes, keep)?;
            build::unary(cx, "log", &sum)?
        }
        _ => {
            if axes.iter().any(|&a| x.dims()[a] == 0) {
                return super::constant::filled(f32::NEG_INFINITY, &kept_dims(x.dims(), axes, keep));
            }
            // The largest element is subtracted first, so that no exponential overflows.
            let largest = build::reduce(cx, "amax", x, axes, true)?;
            let largest = build::clamp(cx, &largest, f32::MIN, f32::MAX)?;
            let shifted = build::binary(cx, "sub", x, &largest)?;
            let exponential = build::unary(cx, "exp", &shifted)?;
            let sum = build::reduce(cx, "sum", &exponential, axes, keep)?;
            let log = build::unary(cx, "log", &sum)?;
            let largest = cx.reshape(&largest, &kept_dims(x.dims(), axes, keep))?;
            build::binary(cx, "add", &log, &largest)?
        }
    })
}

/// The mean over axes in ascending order.
pub(super) fn mean(x: &Value, axes: &[usize], keep: bool, cx: &mut Expansion<'_>) -> Result<Value> {
    let spatial: Vec<usize> = (2..x.rank()).collect();
    if (3..=5).contains(&x.rank()) && axes == spatial && x.dims().iter().all(|&d| d > 0) {
        let y = build::unary(cx, "global_avg_pool", x)?;
        return cx.reshape(&y, &kept_dims(x.dims(), axes, keep));
    }
    build::reduce(cx, "mean", x, axes, keep)
}

/// The sizes of a reduction's result.
pub(crate) fn kept_dims(dims: &[usize], axes: &[usize], keep: bool) -> Vec<usize> {
    let sizes = dims.iter().enumerate().filter(|(i, _)| keep || !axes.contains(i));
    sizes.map(|(i, &d)| if axes.contains(&i) { 1 } else { d }).collect()
}

fn arg_extreme(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let axis = axis_of(node.int("axis").unwrap_or(0), x.rank(), cx)?;
    let keep = node.int("keepdims").unwrap_or(1) != 0;
    let takes_last = node.int("select_last_index").unwrap_or(0) != 0;
    let mut operand = if node.op_type() == "ArgMin" { build::unary(cx, "neg", x)? } else { x.clone() };
    if takes_last {
        operand = build::flip(cx, &operand, &[axis])?;
    }
    let params = [("axis", build::list(&[axis])), ("keepdim", keep.into())];
    let index = cx.op("argmax", &[("x", &operand)], &params)?;
    if !takes_last {
        return Ok(vec![index]);
    }
    // Index i of the flipped axis is index size - 1 - i.
    let size = x.dims()[axis];
    let mirrored = build::ints(collect((0..size as i64).rev())?, &[size]);
    let flat = cx.reshape(&index, &[index.numel()])?;
    let flat = build::index_select(cx, &mirrored, 0, &flat)?;
    Ok(vec![cx.reshape(&flat, index.dims())?])
}
