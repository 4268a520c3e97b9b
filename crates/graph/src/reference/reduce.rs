//! Reductions over any axes, and `argmax`.

use super::{Call, Evaluate, Values, filled, functions as f};
use crate::error::Result;

pub(super) fn evaluator(op: &str) -> Option<Evaluate> {
    Some(match op {
        "sum" => |call| fold(call, 0.0, |a, b| a + b),
        "mean" => mean,
        "prod" => |call| fold(call, 1.0, |a, b| a * b),
        "amax" => |call| fold(call, f64::NEG_INFINITY, f::maximum),
        "amin" => |call| fold(call, f64::INFINITY, f::minimum),
        "argmax" => argmax,
        _ => return None,
    })
}

/// For each axis how far apart results are whose sources are neighbours along it: 0 along axes that are reduced. No axes mean
/// all of them.
fn strides(x: &Values, axes: &[usize]) -> Vec<usize> {
    let mut strides = vec![0; x.dims.len()];
    let mut stride = 1;
    for axis in (0..x.dims.len()).rev() {
        if !axes.is_empty() && !axes.contains(&axis) {
            strides[axis] = stride;
            stride *= x.dims[axis];
        }
    }
    strides
}

/// Calls `visit` with each element of the source, in order: its number, and the number of its result.
fn visit(x: &Values, axes: &[usize], mut visit: impl FnMut(usize, usize)) {
    let strides = strides(x, axes);
    let mut index = vec![0; x.dims.len()];
    let mut to = 0;
    for i in 0..x.data.len() {
        visit(i, to);
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            to += strides[axis];
            if index[axis] < x.dims[axis] {
                break;
            }
            to -= strides[axis] * index[axis];
            index[axis] = 0;
        }
    }
}

fn fold(call: &Call<'_>, first: f64, function: impl Fn(f64, f64) -> f64) -> Result<Vec<Vec<f64>>> {
    let x = call.input("x")?;
    let mut data = filled(call.result().iter().product(), first)?;
    visit(x, &call.counts("axes")?, |i, to| data[to] = function(data[to], x.data[i]));
    Ok(vec![data])
}

fn mean(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let mut results = fold(call, 0.0, |a, b| a + b)?;
    for data in &mut results {
        let count = call.input("x")?.data.len() as f64 / data.len() as f64;
        data.iter_mut().for_each(|v| *v /= count);
    }
    Ok(results)
}

/// The first index of the largest element; NaN is the largest.
fn argmax(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let x = call.input("x")?;
    let axes = call.counts("axis")?;
    let (_, length, after) = match axes[..] {
        [axis] => super::around(&x.dims, axis),
        _ => (1, x.data.len(), 1),
    };
    let count = call.result().iter().product();
    let mut best: Vec<Option<f64>> = vec![None; count];
    let mut data = filled(count, 0.0)?;
    visit(x, &axes, |i, to| {
        let v = x.data[i];
        if best[to].is_none_or(|b| v > b || (v.is_nan() && !b.is_nan())) {
            best[to] = Some(v);
            data[to] = (i / after % length) as f64;
        }
    });
    Ok(vec![data])
}
