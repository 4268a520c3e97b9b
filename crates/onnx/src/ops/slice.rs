//! `Concat`, `Slice` and `Split`.

use blocktensor_graph::{Expansion, Result, Value};

use super::args::{absent, axes_of, axis_of, input, int_list, ints_of};
use super::{Op, build, op};
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[
    op("Concat", concat, &[("axis", Kind::Int)]),
    op("Slice", slice, &[]),
    op("Split", split, &[("axis", Kind::Int), ("num_outputs", Kind::Int), ("split", Kind::Ints)]),
];

fn concat(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let rank = input(inputs, 0, cx)?.rank();
    let Some(axis) = node.int("axis") else {
        return Err(absent("axis", cx));
    };
    let axis = axis_of(axis, rank, cx)?;
    let all: Vec<&Value> = inputs.iter().flatten().collect();
    // An empty list of sizes, as exporters write it, has one axis.
    let used: Vec<&Value> =
        all.iter().copied().filter(|v| v.rank() != 1 || rank != 1 || v.numel() > 0).collect();
    Ok(vec![build::cat(cx, if used.is_empty() { &all } else { &used }, axis)?])
}

/// One axis of a slice: the first index, the number of indices, and the step between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub axis: usize,
    pub start: usize,
    pub count: usize,
    pub step: i64,
}

/// The ranges of a node, for a tensor of these sizes.
pub(crate) fn ranges(inputs: &[Option<Value>], dims: &[usize], cx: &Expansion<'_>) -> Result<Vec<Range>> {
    let starts = int_list(input(inputs, 1, cx)?, "starts", cx)?;
    let ends = int_list(input(inputs, 2, cx)?, "ends", cx)?;
    let axes = match ints_of(inputs, 3, None, "axes", cx)? {
        Some(axes) => axes_of(&axes, dims.len(), cx)?,
        None => (0..starts.len()).collect(),
    };
    let steps = ints_of(inputs, 4, None, "steps", cx)?.unwrap_or_else(|| vec![1; starts.len()]);
    let count = starts.len();
    if ends.len() != count
        || axes.len() != count
        || steps.len() != count
        || axes.iter().any(|&a| a >= dims.len())
    {
        let got = format!("{count} starts, {} ends, {} axes, {} steps", ends.len(), axes.len(), steps.len());
        let rule = format!("there is one of each for an axis, and the tensor has {} axes", dims.len());
        return Err(cx.invalid("starts", got, &rule, "export the model again"));
    }
    let mut ranges = Vec::with_capacity(count);
    for i in 0..count {
        let (size, step) = (dims[axes[i]] as i64, steps[i]);
        if step == 0 {
            return Err(cx.invalid("steps", 0, "a step is not 0", "export the model again"));
        }
        let from_end = |v: i64| if v < 0 { v.saturating_add(size) } else { v };
        // Backwards, the first index is one of the axis, and the end may lie in front of it.
        let (start, end) = match step > 0 {
            true => (from_end(starts[i]).clamp(0, size), from_end(ends[i]).clamp(0, size)),
            false if size == 0 => (0, 0),
            false => (from_end(starts[i]).clamp(0, size - 1), from_end(ends[i]).clamp(-1, size - 1)),
        };
        let distance = if step > 0 { end - start } else { start - end };
        let count = if distance <= 0 { 0 } else { (distance as u64).div_ceil(step.unsigned_abs()) as usize };
        ranges.push(Range { axis: axes[i], start: start.max(0) as usize, count, step });
    }
    Ok(ranges)
}

fn slice(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let mut y = x.clone();
    for Range { axis, start, count, step } in ranges(inputs, x.dims(), cx)? {
        if step == 1 || count <= 1 {
            y = build::narrow(cx, &y, axis, if count == 0 { 0 } else { start }, count)?;
            continue;
        }
        let distance = step.unsigned_abs() as usize;
        let reach = (count - 1) * distance + 1;
        let first = if step < 0 { start + 1 - reach } else { start };
        if step < 0 {
            y = build::narrow(cx, &y, axis, first, reach)?;
            y = build::flip(cx, &y, &[axis])?;
            if distance == 1 {
                continue;
            }
        }
        let begin = if step < 0 { 0 } else { first };
        let params = [
            ("axis", build::int(axis)),
            ("start", build::int(begin)),
            ("end", build::int(begin + reach)),
            ("step", build::int(distance)),
        ];
        y = cx.op("slice", &[("x", &y)], &params)?;
    }
    Ok(vec![y])
}

/// The sizes of the pieces along the axis.
pub(crate) fn pieces(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    size: usize,
    cx: &Expansion<'_>,
) -> Result<Vec<usize>> {
    let given = ints_of(inputs, 1, node.ints("split"), "sizes of the pieces", cx)?;
    if let Some(given) = given {
        let pieces: Option<Vec<usize>> = given.iter().map(|&s| usize::try_from(s).ok()).collect();
        let sum = |p: &Vec<usize>| p.iter().try_fold(0usize, |n, &s| n.checked_add(s));
        return pieces.filter(|p| sum(p) == Some(size) && p.len() == node.outputs()).ok_or_else(|| {
            let rule = format!("there are {}, one for each output, and their sum is {size}", node.outputs());
            cx.invalid("split", format!("{given:?}"), &rule, "export the model again")
        });
    }
    let outputs = node.outputs();
    let Some(count) = node.int("num_outputs") else {
        if outputs == 0 || !size.is_multiple_of(outputs) {
            let rule = format!("they are equal pieces of an axis of {size} elements");
            return Err(cx.invalid("outputs", outputs, &rule, "state the sizes of the pieces in `split`"));
        }
        return Ok(vec![size / outputs; outputs]);
    };
    let Some(count) = usize::try_from(count).ok().filter(|n| *n == outputs && *n > 0) else {
        let rule = format!("it is the number of outputs, {outputs}");
        return Err(cx.invalid("num_outputs", count, &rule, "export the model again"));
    };
    let piece = size.div_ceil(count);
    Ok((0..count).map(|i| size.saturating_sub(i * piece).min(piece)).collect())
}

fn split(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let axis = axis_of(node.int("axis").unwrap_or(0), x.rank(), cx)?;
    let pieces = pieces(node, inputs, x.dims()[axis], cx)?;
    if let [_] = pieces[..] {
        return Ok(vec![x.clone()]);
    }
    cx.ops("split", &[("x", x)], &[("sizes", build::list(&pieces)), ("axis", build::int(axis))])
}
