//! Sorting, selection by indices, and running sums.

use std::cmp::Ordering;

use super::{Call, Evaluate, around, collect, filled};
use crate::error::Result;

pub(super) fn evaluator(op: &str) -> Option<Evaluate> {
    match op {
        "sort" => Some(|call| sort(call, call.flag("descending")?)),
        "topk" => Some(|call| sort(call, call.flag("largest")?)),
        "cumsum" => Some(cumsum),
        "gather" => Some(gather),
        _ => None,
    }
}

/// NaN counts as the largest.
fn compare(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The first elements of each line once it is sorted, and their indices. Equal elements stay in their order.
fn sort(call: &Call<'_>, descending: bool) -> Result<Vec<Vec<f64>>> {
    let x = call.input("x")?;
    let axis = call.count("axis")?;
    let (before, length, after) = around(&x.dims, axis);
    let (_, k, _) = around(call.result(), axis);
    let (mut values, mut indices) = (filled(before * k * after, 0.0)?, filled(before * k * after, 0.0)?);
    for line in 0..before * after {
        let (outer, inner) = (line / after, line % after);
        let value = |i: usize| x.data[(outer * length + i) * after + inner];
        let mut order = collect(0..length)?;
        // Unstable sorts take no memory; the indices keep equal elements in their order.
        order.sort_unstable_by(|&a, &b| {
            let order = compare(value(a), value(b));
            if descending { order.reverse() } else { order }.then(a.cmp(&b))
        });
        for (i, &from) in order.iter().take(k).enumerate() {
            let to = (outer * k + i) * after + inner;
            (values[to], indices[to]) = (value(from), from as f64);
        }
    }
    Ok(vec![values, indices])
}

/// Each element of the result is at its own place in the operand, but along the axis where its index says.
fn gather(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let (x, index) = (call.input("x")?, call.input("index")?);
    let axis = call.count("axis")?;
    let mut data = filled(index.data.len(), 0.0)?;
    for (i, (to, selected)) in data.iter_mut().zip(&index.data).enumerate() {
        let (mut rest, mut step, mut from) = (i, 1, 0);
        for (d, (&size, &of_x)) in index.dims.iter().zip(&x.dims).enumerate().rev() {
            from += step * if d == axis { *selected as usize } else { rest % size };
            rest /= size;
            step *= of_x;
        }
        *to = x.data.get(from).copied().unwrap_or(f64::NAN);
    }
    Ok(vec![data])
}

fn cumsum(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let x = call.input("x")?;
    let (_, length, after) = around(&x.dims, call.count("axis")?);
    let mut data = filled(x.data.len(), 0.0)?;
    for (i, v) in x.data.iter().enumerate() {
        let before = if i / after % length == 0 { 0.0 } else { data[i - after] };
        data[i] = before + v;
    }
    Ok(vec![data])
}
