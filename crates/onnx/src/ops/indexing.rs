//! Selection of elements by indices.

use blocktensor::memory;
use blocktensor_graph::{Constant, ElementType, Expansion, IntegerFunction, Result, Value};

use super::args::{axis_of, float_input, input};
use super::{Op, build, op};
use crate::lists::{CONSTANT, collect_results};
use crate::node::{Kind, OnnxNode};

const AXIS: &[(&str, Kind)] = &[("axis", Kind::Int)];

pub(super) const OPS: &[Op] = &[
    op("Gather", gather, AXIS),
    op("GatherElements", gather_elements, AXIS),
    op("GatherND", gather_nd, &[("batch_dims", Kind::Int)]),
];

/// Indices counted from 0: negative ones count from the end.
pub(crate) fn indices(x: &Value, size: usize, cx: &mut Expansion<'_>) -> Result<Value> {
    if !matches!(x.element_type(), ElementType::Int(_)) {
        return Err(cx.invalid("indices", x.element_type(), "they are integers", "export the model again"));
    }
    let Some(list) = x.ints() else {
        let size = Constant::int(size as i64).into();
        return cx.integers(IntegerFunction::FromStart, &[x, &size]);
    };
    let from_start = list.iter().map(|&i| from_start(i, size, cx));
    Ok(build::ints(collect_results(from_start)?, x.dims()))
}

/// A constant index of an axis of this size, counted from its start.
pub(crate) fn from_start(index: i64, size: usize, cx: &Expansion<'_>) -> Result<i64> {
    let n = size as i64;
    if (-n..n).contains(&index) {
        return Ok(if index < 0 { index + n } else { index });
    }
    let (rule, _) = IntegerFunction::indices_of(size);
    Err(cx.invalid("indices", index, rule, "plan it for another input size, or export the model again"))
}

fn gather(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let axis = axis_of(node.int("axis").unwrap_or(0), x.rank(), cx)?;
    let index = indices(input(inputs, 1, cx)?, x.dims()[axis], cx)?;
    let dims: Vec<usize> =
        x.dims()[..axis].iter().chain(index.dims()).chain(&x.dims()[axis + 1..]).copied().collect();
    // Indices that follow each other are a range.
    if let Some(list) = index.ints()
        && let Some(&first) = list.first()
        && list.iter().zip(first..).all(|(&i, k)| i == k)
    {
        let y = build::narrow(cx, x, axis, first as usize, list.len())?;
        return Ok(vec![cx.reshape(&y, &dims)?]);
    }
    let flat = cx.reshape(&index, &[index.numel()])?;
    let y = build::index_select(cx, x, axis, &flat)?;
    Ok(vec![cx.reshape(&y, &dims)?])
}

fn gather_elements(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let axis = axis_of(node.int("axis").unwrap_or(0), x.rank(), cx)?;
    let index = indices(input(inputs, 1, cx)?, x.dims()[axis], cx)?;
    Ok(vec![cx.op("gather", &[("x", x), ("index", &index)], &[("axis", build::int(axis))])?])
}

/// Constant indices into several axes at once: those axes become one, with one index for each.
fn gather_nd(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (x, index) = (input(inputs, 0, cx)?, input(inputs, 1, cx)?);
    let batch = usize::try_from(node.int("batch_dims").unwrap_or(0)).unwrap_or(usize::MAX);
    let Some(places) = flat_places(x.dims(), index, batch, cx)? else {
        return Err(cx.unsupported("indices that a run computes"));
    };
    let depth = index.dims().last().copied().unwrap_or(0);
    let (lead, tail) = x.dims().split_at(batch + depth);
    let flat: Vec<usize> = [lead.iter().product()].iter().chain(tail).copied().collect();
    let flat = cx.reshape(x, &flat)?;
    let count = places.len();
    let y = build::index_select(cx, &flat, 0, &build::ints(places, &[count]))?;
    let dims: Vec<usize> = index.dims()[..index.rank() - 1].iter().chain(tail).copied().collect();
    Ok(vec![cx.reshape(&y, &dims)?])
}

/// For each index of `GatherND` and `ScatterND`, its place among the leading axes of a tensor; `None` if a run computes them.
pub(super) fn flat_places(
    dims: &[usize],
    index: &Value,
    batch: usize,
    cx: &Expansion<'_>,
) -> Result<Option<Vec<i64>>> {
    let Some(list) = index.ints() else {
        return Ok(None);
    };
    let wrong = |rule: &str| {
        let got = format!("{:?} for {dims:?}", index.dims());
        cx.invalid("indices", got, rule, "export the model again")
    };
    let Some((&depth, outer)) = index.dims().split_last() else {
        return Err(wrong("they have an axis"));
    };
    if batch > outer.len() || batch + depth > dims.len() || outer[..batch] != dims[..batch] {
        return Err(wrong("an index names at most as many axes as the tensor has"));
    }
    let batches: usize = dims[..batch].iter().product();
    let indexed = &dims[batch..batch + depth];
    let cells: usize = indexed.iter().product();
    let rows = outer.iter().product::<usize>();
    let each = rows.checked_div(batches).unwrap_or(0);
    let mut places = memory::try_with_capacity(CONSTANT, rows)?;
    for row in 0..rows {
        let mut place = 0;
        for (k, &size) in indexed.iter().enumerate() {
            place = place * size as i64 + from_start(list[row * depth + k], size, cx)?;
        }
        places.push((row / each.max(1) * cells) as i64 + place);
    }
    Ok(Some(places))
}
