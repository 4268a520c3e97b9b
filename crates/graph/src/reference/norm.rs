//! Batch, group, instance and layer norm, and local response norm.

use super::{Call, Evaluate, Values, around, each, filled, in_parts};
use crate::error::Result;

pub(super) fn evaluator(op: &str) -> Option<Evaluate> {
    match op {
        "batch_norm" => Some(batch_norm),
        "group_norm" => Some(|call| group_norm(call, call.count("groups")?)),
        "instance_norm" => Some(|call| group_norm(call, around(&call.input("x")?.dims, 1).1)),
        "layer_norm" => Some(layer_norm),
        "local_response_norm" => Some(local_response_norm),
        _ => None,
    }
}

/// Element `i` of an optional parameter.
fn or(values: Option<&Values>, i: usize, default: f64) -> f64 {
    values.map_or(default, |values| values.data[i])
}

fn batch_norm(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let (x, mean, var) = (call.input("x")?, call.input("mean")?, call.input("var")?);
    let (weight, bias, eps) = (call.optional("weight"), call.optional("bias"), call.double("eps")?);
    let (_, channels, pixels) = around(&x.dims, 1);
    let normalised = |i: usize| {
        let c = i / pixels % channels;
        (x.data[i] - mean.data[c]) / (var.data[c] + eps).sqrt() * or(weight, c, 1.0) + or(bias, c, 0.0)
    };
    Ok(vec![each(x.data.len(), normalised)?])
}

/// Makes of each part of `size` elements the same with mean 0 and variance 1. Element `i` of all is then multiplied by
/// `scale(i)`, and `shift(i)` added.
fn normalised(
    x: &[f64],
    size: usize,
    eps: f64,
    scale: impl Fn(usize) -> f64 + Sync,
    shift: impl Fn(usize) -> f64 + Sync,
) -> Result<Vec<Vec<f64>>> {
    let mut data = filled(x.len(), 0.0)?;
    in_parts(&mut data, size, |part, to| {
        let (first, count) = (part * size, size as f64);
        let from = &x[first..][..to.len()];
        let mean = from.iter().sum::<f64>() / count;
        let variance = from.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
        let deviation = (variance + eps).sqrt();
        for (i, (v, x)) in to.iter_mut().zip(from).enumerate() {
            *v = (x - mean) / deviation * scale(first + i) + shift(first + i);
        }
    });
    Ok(vec![data])
}

/// Group norm; instance norm has as many groups as channels.
fn group_norm(call: &Call<'_>, groups: usize) -> Result<Vec<Vec<f64>>> {
    let (x, weight, bias) = (call.input("x")?, call.optional("weight"), call.optional("bias"));
    let (_, channels, pixels) = around(&x.dims, 1);
    let channel = |i: usize| i / pixels % channels;
    let size = channels / groups.max(1) * pixels;
    let eps = call.double("eps")?;
    normalised(&x.data, size, eps, |i| or(weight, channel(i), 1.0), |i| or(bias, channel(i), 0.0))
}

fn layer_norm(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let (x, weight, bias) = (call.input("x")?, call.optional("weight"), call.optional("bias"));
    let size: usize = call.counts("normalized_shape")?.iter().product();
    let eps = call.double("eps")?;
    normalised(&x.data, size, eps, |i| or(weight, i % size, 1.0), |i| or(bias, i % size, 0.0))
}

/// `x / (k + alpha * mean of the squares of size channels)^beta`; `size / 2` of the channels are before the element's own.
fn local_response_norm(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let (x, size) = (call.input("x")?, call.count("size")?);
    let (alpha, beta, k) = (call.double("alpha")?, call.double("beta")?, call.double("k")?);
    let (_, channels, pixels) = around(&x.dims, 1);
    let divided = |i: usize| {
        let (c, at) = (i / pixels % channels, i - i / pixels % channels * pixels);
        let first = c.saturating_sub(size / 2);
        let end = (c + size.saturating_sub(1) / 2 + 1).min(channels);
        let squares: f64 = (first..end).map(|c| x.data[at + c * pixels].powi(2)).sum();
        x.data[i] / (k + alpha * squares / size as f64).powf(beta)
    };
    Ok(vec![each(x.data.len(), divided)?])
}
