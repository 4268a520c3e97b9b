//! `ScatterND` and `ScatterElements` at constant indices.

use blocktensor::memory;
use blocktensor_graph::{Constant, Expansion, Result, Value};

use super::args::{axis_of, float_input, input};
use super::indexing::{flat_places, indices};
use super::{Op, build, op};
use crate::lists::{CONSTANT, collect, filled};
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[
    op("ScatterElements", scatter_elements, &[("axis", Kind::Int), ("reduction", Kind::Str)]),
    op("ScatterND", scatter_nd, &[("reduction", Kind::Str)]),
];

fn scatter_elements(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (x, updates) = (float_input(inputs, 0, cx)?, float_input(inputs, 2, cx)?);
    let axis = axis_of(node.int("axis").unwrap_or(0), x.rank(), cx)?;
    let index = indices(input(inputs, 1, cx)?, x.dims()[axis], cx)?;
    let Some(list) = index.ints() else {
        return Err(cx.unsupported("indices that a run computes"));
    };
    if index.rank() != x.rank() || index.dims() != updates.dims() {
        let got = format!("{:?}, and updates {:?}", index.dims(), updates.dims());
        return Err(cx.invalid(
            "indices",
            got,
            "they have the sizes of the updates",
            "export the model again",
        ));
    }
    // The place in x of each update.
    let mut places = memory::try_with_capacity(CONSTANT, list.len())?;
    for (at, &i) in list.iter().enumerate() {
        let (mut rest, mut place, mut stride) = (at, 0, 1);
        for d in (0..x.rank()).rev() {
            let own = rest % index.dims()[d];
            rest /= index.dims()[d];
            let k = if d == axis { i as usize } else { own };
            if k >= x.dims()[d] {
                let got = format!("{:?} for {:?}", index.dims(), x.dims());
                return Err(cx.invalid(
                    "indices",
                    got,
                    "they are inside the tensor",
                    "export the model again",
                ));
            }
            place += k * stride;
            stride *= x.dims()[d];
        }
        places.push(place as i64);
    }
    let flat = cx.reshape(x, &[x.numel(), 1])?;
    let updates = cx.reshape(updates, &[updates.numel(), 1])?;
    let y = scatter(node, cx, &flat, &places, &updates)?;
    Ok(vec![cx.reshape(&y, x.dims())?])
}

fn scatter_nd(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (x, updates) = (float_input(inputs, 0, cx)?, float_input(inputs, 2, cx)?);
    let index = input(inputs, 1, cx)?;
    let Some(places) = flat_places(x.dims(), index, 0, cx)? else {
        return Err(cx.unsupported("indices that a run computes"));
    };
    let depth = index.dims().last().copied().unwrap_or(0);
    let (lead, tail) = x.dims().split_at(depth);
    let inner: usize = tail.iter().product();
    let wanted = [&index.dims()[..index.rank() - 1], tail].concat();
    if updates.dims() != wanted {
        let rule = format!("for these indices they are {wanted:?}");
        return Err(cx.invalid("updates", format!("{:?}", updates.dims()), &rule, "export the model again"));
    }
    let flat = cx.reshape(x, &[lead.iter().product(), inner])?;
    let updates = cx.reshape(updates, &[places.len(), inner])?;
    let y = scatter(node, cx, &flat, &places, &updates)?;
    Ok(vec![cx.reshape(&y, x.dims())?])
}

/// Rows of `x` replaced by, or combined with, rows of updates. Each round takes one update for each row.
fn scatter(
    node: &OnnxNode,
    cx: &mut Expansion<'_>,
    x: &Value,
    places: &[i64],
    updates: &Value,
) -> Result<Value> {
    let reduction = node.str("reduction").unwrap_or("none");
    let op = match reduction {
        "none" => None,
        "add" => Some("add"),
        "mul" => Some("mul"),
        "max" => Some("maximum"),
        "min" => Some("minimum"),
        other => return Err(cx.unsupported(format!("reduction = {other:?}"))),
    };
    let rows = x.dims()[0];
    super::check_generated(Some(rows), cx)?;
    let mut rounds: Vec<Vec<Option<usize>>> = Vec::new();
    let mut used = filled(rows, 0usize)?;
    for (update, &place) in places.iter().enumerate() {
        let place = place as usize;
        // Without a reduction, the last update of a row stays.
        let round = if op.is_some() { used[place] } else { 0 };
        used[place] += 1;
        if round == rounds.len() {
            super::check_generated(rows.checked_mul(rounds.len() + 1), cx)?;
            rounds.push(filled(rows, None)?);
        }
        rounds[round][place] = Some(update);
    }
    if rounds.len() > 64 {
        return Err(cx.unsupported("more than 64 updates of one element"));
    }
    let mut y = x.clone();
    for round in rounds {
        let index = collect(round.iter().map(|u| u.unwrap_or(0) as i64))?;
        let values = build::index_select(cx, updates, 0, &build::ints(index, &[rows]))?;
        let combined = match op {
            Some(op) => build::binary(cx, op, &y, &values)?,
            None => values,
        };
        let mask = collect(round.iter().map(Option::is_some))?;
        let mask = Constant::Bool { dims: vec![rows, 1], values: mask }.into();
        y = cx.op("where", &[("condition", &mask), ("a", &combined), ("b", &y)], &[])?;
    }
    Ok(y)
}
