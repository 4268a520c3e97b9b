//! Element-wise ops of one operand and numbers.

use super::binary::truth;
use super::{Call, Evaluate, each, functions as f};
use crate::error::Result;

pub(super) fn evaluator(op: &str) -> Option<Evaluate> {
    of_one(op).or_else(|| with_numbers(op)).or_else(|| with_other(op))
}

fn of_one(op: &str) -> Option<Evaluate> {
    Some(match op {
        "relu" => |call| map(call, f::relu),
        "relu6" => |call| map(call, |x| f::clamp(x, 0.0, 6.0)),
        "selu" => |call| map(call, |x| 1.0507009873554805 * f::elu(x, 1.6732632423543772)),
        "gelu" => |call| map(call, f::gelu),
        "gelu_tanh" => |call| map(call, f::gelu_tanh),
        "silu" => |call| map(call, f::silu),
        "mish" => |call| map(call, f::mish),
        "sigmoid" => |call| map(call, f::sigmoid),
        "hardsigmoid" => |call| map(call, f::hardsigmoid),
        "hardswish" => |call| map(call, f::hardswish),
        "tanh" => |call| map(call, f64::tanh),
        "softsign" => |call| map(call, |x| x / (1.0 + x.abs())),
        "exp" => |call| map(call, f64::exp),
        "log" => |call| map(call, f64::ln),
        "sqrt" => |call| map(call, f64::sqrt),
        "rsqrt" => |call| map(call, |x| 1.0 / x.sqrt()),
        "abs" => |call| map(call, f64::abs),
        "neg" => |call| map(call, |x| -x),
        "square" => |call| map(call, |x| x * x),
        "reciprocal" => |call| map(call, |x| 1.0 / x),
        "round" => |call| map(call, f64::round_ties_even),
        "floor" => |call| map(call, f64::floor),
        "ceil" => |call| map(call, f64::ceil),
        "sign" => |call| map(call, |x| truth(x > 0.0) - truth(x < 0.0)),
        "sin" => |call| map(call, f64::sin),
        "cos" => |call| map(call, f64::cos),
        "erf" => |call| map(call, f::erf),
        _ => return None,
    })
}

fn with_numbers(op: &str) -> Option<Evaluate> {
    Some(match op {
        "leaky_relu" => |call| {
            let slope = call.number("slope")?;
            map(call, |x| f::leaky_relu(x, slope))
        },
        "elu" => |call| {
            let alpha = call.number("alpha")?;
            map(call, |x| f::elu(x, alpha))
        },
        "to_dtype" => |call| {
            let range = match call.word("dtype")? {
                "u8" => Some((0.0, 255.0)),
                "s8" => Some((-128.0, 127.0)),
                "s32" => Some((-2147483648.0, 2147483647.0)),
                _ => None,
            };
            map(call, |x| match range {
                Some((least, largest)) if !x.is_nan() => x.trunc().clamp(least, largest),
                Some(_) => 0.0,
                None => x,
            })
        },
        "celu" => |call| {
            let alpha = call.number("alpha")?;
            map(call, |x| f::relu(x) + f::minimum(0.0, alpha * (x / alpha).exp_m1()))
        },
        "softplus" => |call| {
            let (beta, threshold) = (call.number("beta")?, call.number("threshold")?);
            map(call, |x| f::softplus(x, beta, threshold))
        },
        "clamp" | "hardtanh" => |call| {
            let (min, max) = (call.number("min")?, call.number("max")?);
            map(call, |x| f::clamp(x, min, max))
        },
        "logit" => |call| {
            let eps = call.number("eps")?;
            // 1 - eps in f32, as the op has it.
            let high = f64::from(1.0 - eps as f32);
            let limited = |x: f64| match x {
                _ if eps < 0.0 => x,
                x if x < eps => eps,
                x if x > high => high,
                x => x,
            };
            map(call, |x| (limited(x) / (1.0 - limited(x))).ln())
        },
        _ => return None,
    })
}

fn with_other(op: &str) -> Option<Evaluate> {
    Some(match op {
        "add_scalar" => |call| with(call, |x, other| x + other),
        "sub_scalar" => |call| with(call, |x, other| x - other),
        "mul_scalar" => |call| with(call, |x, other| x * other),
        "div_scalar" => |call| with(call, |x, other| x / other),
        "pow_scalar" => |call| with(call, f64::powf),
        "eq_scalar" => |call| with(call, |x, other| truth(x == other)),
        "ne_scalar" => |call| with(call, |x, other| truth(x != other)),
        "lt_scalar" => |call| with(call, |x, other| truth(x < other)),
        "le_scalar" => |call| with(call, |x, other| truth(x <= other)),
        "gt_scalar" => |call| with(call, |x, other| truth(x > other)),
        "ge_scalar" => |call| with(call, |x, other| truth(x >= other)),
        _ => return None,
    })
}

fn map(call: &Call<'_>, function: impl Fn(f64) -> f64 + Sync) -> Result<Vec<Vec<f64>>> {
    let x = &call.input("x")?.data;
    Ok(vec![each(x.len(), |i| function(x[i]))?])
}

fn with(call: &Call<'_>, function: impl Fn(f64, f64) -> f64 + Sync) -> Result<Vec<Vec<f64>>> {
    let other = call.number("other")?;
    map(call, |x| function(x, other))
}
