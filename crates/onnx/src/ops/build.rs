//! Short forms for operators that many importers add.

use blocktensor::StridedTensor;
use blocktensor_graph::{Constant, ElementType, Expansion, Integer, Param, Result, Value};

use crate::data::Data;
use crate::lists::collect;

/// Sizes or axes as a parameter.
pub(super) fn list(values: &[usize]) -> Param {
    values.iter().map(|&v| v as i64).collect::<Vec<_>>().into()
}

/// A size or an axis as a parameter.
pub(super) fn int(value: usize) -> Param {
    (value as i64).into()
}

/// An f32 constant.
pub(super) fn constant(values: &[f32], dims: &[usize]) -> Result<Value> {
    Ok(Constant::F32(StridedTensor::from_slice(values, dims)?).into())
}

/// A constant of 64-bit integers.
pub(super) fn ints(values: Vec<i64>, dims: &[usize]) -> Value {
    Constant::Int { of: Integer::I64, dims: dims.to_vec(), values }.into()
}

pub(super) fn unary(cx: &mut Expansion<'_>, op: &str, x: &Value) -> Result<Value> {
    cx.op(op, &[("x", x)], &[])
}

pub(super) fn binary(cx: &mut Expansion<'_>, op: &str, a: &Value, b: &Value) -> Result<Value> {
    cx.op(op, &[("a", a), ("b", b)], &[])
}

/// An op of a tensor and a number: `add_scalar`, `mul_scalar` ...
pub(super) fn with_number(cx: &mut Expansion<'_>, op: &str, x: &Value, other: f32) -> Result<Value> {
    cx.op(op, &[("x", x)], &[("other", other.into())])
}

pub(super) fn clamp(cx: &mut Expansion<'_>, x: &Value, min: f32, max: f32) -> Result<Value> {
    cx.op("clamp", &[("x", x)], &[("min", min.into()), ("max", max.into())])
}

/// `sum`, `mean`, `prod`, `amax` or `amin`.
pub(super) fn reduce(
    cx: &mut Expansion<'_>,
    op: &str,
    x: &Value,
    axes: &[usize],
    keepdim: bool,
) -> Result<Value> {
    if axes.is_empty() {
        return Ok(x.clone());
    }
    cx.op(op, &[("x", x)], &[("axes", list(axes)), ("keepdim", keepdim.into())])
}

pub(super) fn permute(cx: &mut Expansion<'_>, x: &Value, axes: &[usize]) -> Result<Value> {
    if axes.iter().enumerate().all(|(i, &a)| i == a) {
        return Ok(x.clone());
    }
    match x.constant() {
        Some(c) if c.element_type() != ElementType::F32 => match Data::of(c)? {
            Some(data) => data.permute(axes)?.try_into(),
            None => Ok(x.clone()),
        },
        _ => cx.op("permute", &[("x", x)], &[("axes", list(axes))]),
    }
}

/// `length` indices of an axis.
pub(super) fn narrow(
    cx: &mut Expansion<'_>,
    x: &Value,
    axis: usize,
    start: usize,
    length: usize,
) -> Result<Value> {
    if start == 0 && length == x.dims()[axis] {
        return Ok(x.clone());
    }
    let params = [("axis", int(axis)), ("start", int(start)), ("length", int(length))];
    cx.op("narrow", &[("x", x)], &params)
}

pub(super) fn flip(cx: &mut Expansion<'_>, x: &Value, axes: &[usize]) -> Result<Value> {
    cx.op("flip", &[("x", x)], &[("axes", list(axes))])
}

pub(super) fn expand(cx: &mut Expansion<'_>, x: &Value, dims: &[usize]) -> Result<Value> {
    if x.dims() == dims {
        return Ok(x.clone());
    }
    cx.op("expand", &[("x", x)], &[("dims", list(dims))])
}

pub(super) fn cat(cx: &mut Expansion<'_>, tensors: &[&Value], axis: usize) -> Result<Value> {
    if let [one] = tensors {
        return Ok((*one).clone());
    }
    let inputs: Vec<(&str, &Value)> = tensors.iter().map(|t| ("tensors", *t)).collect();
    cx.op("cat", &inputs, &[("axis", int(axis))])
}

/// Elements before and after each axis, of one value.
pub(super) fn pad(
    cx: &mut Expansion<'_>,
    x: &Value,
    before: &[usize],
    after: &[usize],
    mode: &str,
    value: f32,
) -> Result<Value> {
    let sides: Vec<usize> = before.iter().zip(after).rev().flat_map(|(&b, &a)| [b, a]).collect();
    if sides.iter().all(|&s| s == 0) {
        return Ok(x.clone());
    }
    // Axes in front that keep their sizes are left out.
    let used = sides.chunks(2).rposition(|s| s != [0, 0]).map_or(0, |i| 2 * i + 2);
    let params = [("padding", list(&sides[..used])), ("mode", mode.into()), ("value", value.into())];
    cx.op("pad", &[("x", x)], &params)
}

/// The slices of `x` at constant indices of an axis.
pub(super) fn index_select(cx: &mut Expansion<'_>, x: &Value, axis: usize, index: &Value) -> Result<Value> {
    cx.op("index_select", &[("x", x), ("index", index)], &[("axis", int(axis))])
}

/// A Boolean tensor as f32: 0 and 1. Others stay as they are.
pub(super) fn as_numbers(cx: &mut Expansion<'_>, x: &Value) -> Result<Value> {
    if x.element_type() != ElementType::Bool {
        return super::args::floats(x, cx).cloned();
    }
    if let Some(c) = x.constant() {
        return constant(&collect(c.to_f64()?.into_iter().map(|v| v as f32))?, x.dims());
    }
    let dims = vec![1; x.rank()];
    let (one, zero) = (constant(&[1.0], &dims)?, constant(&[0.0], &dims)?);
    cx.op("where", &[("condition", x), ("a", &one), ("b", &zero)], &[])
}

/// A number as f32 constant with sizes of 1.
pub(super) fn filled(value: f32, rank: usize) -> Result<Value> {
    constant(&[value], &vec![1; rank])
}
