//! `Pad`.

use blocktensor_graph::{ElementType, Expansion, Result, Value};

use super::args::{axes_of, float_input, input, ints_of, maybe, number};
use super::{Op, build, op};
use crate::lists::collect;
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[op("Pad", pad, &[("mode", Kind::Str)])];

fn pad(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    // The kernel copies elements of any type.
    let is_copied = x.constant().is_none() && x.element_type() != ElementType::Bool;
    let x = if is_copied { x } else { float_input(inputs, 0, cx)? };
    let pads = ints_of(inputs, 1, None, "pads", cx)?.unwrap_or_default();
    let axes = match ints_of(inputs, 3, None, "axes", cx)? {
        Some(axes) => axes_of(&axes, x.rank(), cx)?,
        None => (0..x.rank()).collect(),
    };
    if let Some(pad) = pads.iter().find(|p| p.unsigned_abs() > 1 << 31) {
        let rule = "a tensor grows or shrinks by at most 2^31 elements at each end of an axis";
        return Err(cx.invalid("pads", pad, rule, "pad by fewer"));
    }
    if pads.len() != 2 * axes.len() {
        let rule = format!("there are {} values for the begins, then as many for the ends", axes.len());
        return Err(cx.invalid("pads", format!("{pads:?}"), &rule, "export the model again"));
    }
    let value = match maybe(inputs, 2) {
        Some(v) => number(v, "the value of the padding", cx)?,
        None => 0.0,
    };
    if x.element_type() != ElementType::F32 && f64::from(value as f32) != value {
        return Err(cx.unsupported(format!("padding of integers with {value}, which f32 does not hold")));
    }
    let value = value as f32;
    // Negative pads cut elements off.
    let mut y = x.clone();
    let (mut before, mut after) = (vec![0; x.rank()], vec![0; x.rank()]);
    for (i, &axis) in axes.iter().enumerate() {
        let (begin, end) = (pads[i], pads[axes.len() + i]);
        let cut = |p: i64| usize::try_from(-p).unwrap_or(0);
        let size = y.dims()[axis];
        let Some(length) = size.checked_sub(cut(begin) + cut(end)) else {
            let rule = format!("axis {axis} has {size} elements");
            return Err(cx.invalid("pads", format!("{pads:?}"), &rule, "cut off fewer"));
        };
        y = build::narrow(cx, &y, axis, cut(begin), length)?;
        (before[axis], after[axis]) = (begin.max(0) as usize, end.max(0) as usize);
    }
    let mode = match node.str("mode").unwrap_or("constant") {
        "constant" => "constant",
        "reflect" => "reflect",
        "edge" => "replicate",
        "wrap" => return Ok(vec![wrap(cx, &y, &before, &after)?]),
        other => return Err(cx.unsupported(format!("mode = {other:?}"))),
    };
    Ok(vec![build::pad(cx, &y, &before, &after, mode, value)?])
}

/// Elements from the other end of each axis, as often as it takes.
fn wrap(cx: &mut Expansion<'_>, x: &Value, before: &[usize], after: &[usize]) -> Result<Value> {
    let mut y = x.clone();
    for axis in 0..x.rank() {
        let size = y.dims()[axis];
        if before[axis] + after[axis] == 0 {
            continue;
        }
        if size == 0 {
            return Err(cx.invalid(
                "pads",
                format!("axis {axis}"),
                "an empty axis has no elements to repeat",
                "pad with a constant",
            ));
        }
        let first = size - before[axis] % size;
        let index = collect((0..before[axis] + size + after[axis]).map(|i| ((first + i) % size) as i64))?;
        let count = index.len();
        y = build::index_select(cx, &y, axis, &build::ints(index, &[count]))?;
    }
    Ok(y)
}
