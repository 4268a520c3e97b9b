//! Element-wise ops of several operands, which broadcast, and of numbers for each channel.

use blocktensor::DType;

use super::{Call, Evaluate, Values, each, functions as f};
use crate::error::Result;

pub(super) fn evaluator(op: &str) -> Option<Evaluate> {
    Some(match op {
        "add" => |call| binary(call, |a, b| a + b),
        "sub" => |call| binary(call, |a, b| a - b),
        "mul" => |call| binary(call, |a, b| a * b),
        "div" => |call| binary(call, |a, b| a / b),
        "pow" => |call| binary(call, f64::powf),
        "axpby" => |call| {
            let (alpha, beta) = (call.number("alpha")?, call.number("beta")?);
            binary(call, |a, b| alpha * a + beta * b)
        },
        "maximum" => |call| binary(call, f::maximum),
        "minimum" => |call| binary(call, f::minimum),
        "eq" => |call| binary(call, |a, b| truth(a == b)),
        "ne" => |call| binary(call, |a, b| truth(a != b)),
        "lt" => |call| binary(call, |a, b| truth(a < b)),
        "le" => |call| binary(call, |a, b| truth(a <= b)),
        "gt" => |call| binary(call, |a, b| truth(a > b)),
        "ge" => |call| binary(call, |a, b| truth(a >= b)),
        "where" => choice,
        "add_channel" => |call| of_channels(call, "values", |x, v| x + v),
        "mul_channel" => |call| of_channels(call, "values", |x, v| x * v),
        "quantize" => quantize,
        "dequantize" => dequantize,
        "requantize" => requantize,
        "lookup" => lookup,
        "quantized_add" => |call| quantized(call, |a, b| a + b),
        "quantized_mul" => |call| quantized(call, |a, b| a * b),
        "prelu" => |call| of_channels(call, "weights", f::leaky_relu),
        _ => return None,
    })
}

/// 1 or 0, as comparisons give it.
pub(super) fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

/// The element of an operand with the sizes `own` that is broadcast to element `i` of `dims`.
pub(super) fn source(i: usize, dims: &[usize], own: &[usize]) -> usize {
    let (mut rest, mut at, mut stride) = (i, 0, 1);
    for (axis, &size) in dims.iter().enumerate().rev() {
        let index = rest % size.max(1);
        rest /= size.max(1);
        let own_axis = (axis + own.len()).checked_sub(dims.len());
        if let Some(&own_size) = own_axis.and_then(|axis| own.get(axis)) {
            at += if own_size == 1 { 0 } else { index * stride };
            stride *= own_size;
        }
    }
    at
}

/// Element `i` of the result reads this element of an operand.
fn broadcast<'a>(values: &'a Values, dims: &'a [usize]) -> impl Fn(usize) -> f64 + Sync + 'a {
    move |i| match &values.data[..] {
        data if values.dims == dims => data[i],
        [one] => *one,
        data => data[source(i, dims, &values.dims)],
    }
}

/// The scale and the zero point of each element, which are operands of these names: those of its index along `axis`, or the only ones.
fn of_axis<'a>(
    call: &Call<'a>,
    [scale, zero_point]: [&str; 2],
) -> Result<impl Fn(usize) -> (f64, f64) + Sync + use<'a>> {
    let (x, scale, zero_point) = (call.input("x")?, call.input(scale)?, call.input(zero_point)?);
    let rank = x.dims.len() as i64;
    let axis = call.number("axis")? as i64;
    let axis = if axis < 0 { axis + rank } else { axis };
    let (_, count, after) = match axis {
        _ if scale.data.len() == 1 && zero_point.data.len() == 1 => (1, 1, 1),
        axis => super::around(&x.dims, axis as usize),
    };
    let pick =
        move |list: &'a Values, at: usize| if list.data.len() == 1 { list.data[0] } else { list.data[at] };
    Ok(move |i: usize| {
        let at = i / after.max(1) % count.max(1);
        (pick(scale, at), pick(zero_point, at))
    })
}

const PAIR: [&str; 2] = ["scale", "zero_point"];

/// The dtype of integers that the op makes.
pub(super) fn byte_of(call: &Call<'_>) -> Result<DType> {
    Ok(if call.word("dtype")? == "u8" { DType::U8 } else { DType::S8 })
}

fn quantize(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let (x, of) = (call.input("x")?, of_axis(call, PAIR)?);
    let dtype = byte_of(call)?;
    let integer = |i: usize| {
        let (scale, zero_point) = of(i);
        f::quantize(x.data[i] / scale, dtype, zero_point as i32)
    };
    Ok(vec![each(x.data.len(), integer)?])
}

fn dequantize(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let (x, of) = (call.input("x")?, of_axis(call, PAIR)?);
    let number = |i: usize| {
        let (scale, zero_point) = of(i);
        (x.data[i] - zero_point) * scale
    };
    Ok(vec![each(x.data.len(), number)?])
}

fn requantize(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let (from, to) = (of_axis(call, PAIR)?, of_axis(call, ["dst_scale", "dst_zero_point"])?);
    let (x, dtype) = (call.input("x")?, byte_of(call)?);
    let integer = |i: usize| {
        let ((scale, zero_point), (dst_scale, dst_zero_point)) = (from(i), to(i));
        f::quantize((x.data[i] - zero_point) * scale / dst_scale, dtype, dst_zero_point as i32)
    };
    Ok(vec![each(x.data.len(), integer)?])
}

fn lookup(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let (x, values) = (call.input("x")?, call.input("values")?);
    // Negative integers count from the end.
    Ok(vec![each(x.data.len(), |i| values.data[(x.data[i] as i64).rem_euclid(256) as usize])?])
}

fn quantized(call: &Call<'_>, function: impl Fn(f64, f64) -> f64 + Sync) -> Result<Vec<Vec<f64>>> {
    let dims = call.result();
    let (a, b) = (broadcast(call.input("a")?, dims), broadcast(call.input("b")?, dims));
    let pair = |scale: &str, zero_point: &str| -> Result<(f64, f64)> {
        Ok((call.number(scale)?, call.number(zero_point)?))
    };
    let (a_scale, a_zero) = pair("a_scale", "a_zero_point")?;
    let (b_scale, b_zero) = pair("b_scale", "b_zero_point")?;
    let (scale, zero) = pair("dst_scale", "dst_zero_point")?;
    let dtype = byte_of(call)?;
    let integer = |i| {
        let made = function((a(i) - a_zero) * a_scale, (b(i) - b_zero) * b_scale);
        f::quantize(made / scale, dtype, zero as i32)
    };
    Ok(vec![each(dims.iter().product(), integer)?])
}

fn binary(call: &Call<'_>, function: impl Fn(f64, f64) -> f64 + Sync) -> Result<Vec<Vec<f64>>> {
    let dims = call.result();
    let (a, b) = (broadcast(call.input("a")?, dims), broadcast(call.input("b")?, dims));
    Ok(vec![each(dims.iter().product(), |i| function(a(i), b(i)))?])
}

fn choice(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let dims = call.result();
    let condition = broadcast(call.input("condition")?, dims);
    let (a, b) = (broadcast(call.input("a")?, dims), broadcast(call.input("b")?, dims));
    let chosen = |i| if condition(i) != 0.0 { a(i) } else { b(i) };
    Ok(vec![each(dims.iter().product(), chosen)?])
}

/// Axis 1 holds the channels. There is a number for each, or one for all.
fn of_channels(
    call: &Call<'_>,
    name: &str,
    function: impl Fn(f64, f64) -> f64 + Sync,
) -> Result<Vec<Vec<f64>>> {
    let (x, numbers) = (call.input("x")?, call.input(name)?);
    let (_, channels, pixels) = super::around(&x.dims, 1);
    let number = |i: usize| match &numbers.data[..] {
        [one] => *one,
        list => list[i / pixels % channels],
    };
    Ok(vec![each(x.data.len(), |i| function(x.data[i], number(i)))?])
}
