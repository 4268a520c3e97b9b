//! Ops that make constants or change the type of elements.

use std::sync::Arc;

use blocktensor::{MemoryFormat, StridedTensor};
use blocktensor_graph::{Constant, ElementType, Expansion, Integer, IntegerFunction, Result, Value};
use rten_onnx::onnx::DataType;

use super::args::{dims_of, input, int_list, number};
use super::{Op, build, op};
use crate::data::{Data, fitting};
use crate::declared;
use crate::lists::{self, collect, collect_results};
use crate::node::{Attribute, Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[
    op("Cast", cast, &[("round_mode", Kind::Str), ("saturate", Kind::Int), ("to", Kind::Int)]),
    op("CastLike", cast, &[("round_mode", Kind::Str), ("saturate", Kind::Int)]),
    op(
        "Constant",
        constant,
        &[
            ("value", Kind::Tensor),
            ("value_float", Kind::Float),
            ("value_floats", Kind::Floats),
            ("value_int", Kind::Int),
            ("value_ints", Kind::Ints),
        ],
    ),
    op("ConstantOfShape", constant_of_shape, &[("value", Kind::Tensor)]),
    op("EyeLike", eye_like, &[("dtype", Kind::Int), ("k", Kind::Int)]),
    op("Identity", identity, &[]),
    op("NonZero", non_zero, &[]),
    op("Range", range, &[]),
    op("Shape", shape, &[("end", Kind::Int), ("start", Kind::Int)]),
    op("Size", size, &[]),
];

/// The most elements of a constant that a few bytes of a file describe.
pub(crate) const MAX_GENERATED: usize = 1 << 24;

/// Limits a list of numbers that a few bytes of a file describe.
pub(crate) fn check_generated(count: Option<usize>, cx: &Expansion<'_>) -> Result<()> {
    if count.is_some_and(|count| count <= MAX_GENERATED) {
        return Ok(());
    }
    let rule = format!("constants that are computed have at most {MAX_GENERATED} elements");
    let count = count.map_or("more than 2^64".to_string(), |count| count.to_string());
    Err(cx.invalid("shape", format!("{count} elements"), &rule, "store the tensor in the file"))
}

/// Limits a constant that a few bytes of a file describe, and counts its bytes.
pub(crate) fn check_constant(dims: &[usize], of: ElementType, cx: &mut Expansion<'_>) -> Result<()> {
    check_generated(dims.iter().try_fold(1, |n: usize, &d| n.checked_mul(d)), cx)?;
    cx.computes(dims, of)
}

/// The element type of a number in ONNX's list of types.
fn element_type(to: i64, cx: &Expansion<'_>) -> Result<ElementType> {
    let listed = i32::try_from(to).map(DataType);
    listed.ok().and_then(declared::known).ok_or_else(|| {
        let name = listed.map(|of| of.to_string()).unwrap_or_default();
        cx.unsupported(format!("a cast to {name}"))
    })
}

/// Numbers become integers towards zero. Those that the type does not hold are errors: ONNX leaves them undefined, and what
/// other runtimes make of them depends on the machine. Integers wrap around, as ONNX says.
fn cast(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let to = match node.op_type() {
        "Cast" => element_type(node.int("to").unwrap_or(0), cx)?,
        _ => input(inputs, 1, cx)?.element_type(),
    };
    if x.element_type() == to {
        return Ok(vec![x.clone()]);
    }
    if matches!(to, ElementType::Byte | ElementType::SignedByte) {
        return Err(cx.unsupported("a cast to bytes"));
    }
    let Some(constant) = x.constant() else {
        return Ok(vec![match (x.element_type(), to) {
            (ElementType::Bool, ElementType::F32) => build::as_numbers(cx, x)?,
            (ElementType::F32, ElementType::Bool) => build::with_number(cx, "ne_scalar", x, 0.0)?,
            (ElementType::Byte | ElementType::SignedByte, ElementType::F32) => {
                cx.op("to_dtype", &[("x", x)], &[])?
            }
            (_, ElementType::F32) => cx.integers(IntegerFunction::ToFloat, &[x])?,
            (_, ElementType::Int(of)) => cx.integers(IntegerFunction::ToInt(of), &[x])?,
            _ => cx.integers(IntegerFunction::ToBool, &[x])?,
        }]);
    };
    let dims = x.dims().to_vec();
    if let (ElementType::Int(_), Some(values)) = (to, constant.as_ints()) {
        return Ok(vec![fitting(Data { dims, values: collect(values.iter().copied())?, of: to }, cx)?]);
    }
    let values = constant.to_f64()?;
    Ok(vec![match to {
        ElementType::F32 => build::constant(&collect(values.into_iter().map(|v| v as f32))?, &dims)?,
        ElementType::Int(of) => {
            let refused = |v: f64| {
                let (rule, remedy) = IntegerFunction::casts(of, v);
                cx.invalid("input", format!("{:?}", v as f32), rule, remedy)
            };
            let whole = values.into_iter().map(|v| of.truncate(v).ok_or_else(|| refused(v)));
            Constant::Int { of, dims, values: collect_results(whole)? }.into()
        }
        _ => Constant::Bool { dims, values: collect(values.into_iter().map(|v| v != 0.0))? }.into(),
    }])
}

fn constant(node: &OnnxNode, _: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let [(_, value)] = &node.attributes[..] else {
        let got = format!("{} attributes", node.attributes.len());
        return Err(cx.invalid("value", got, "it has exactly one", "export the model again"));
    };
    Ok(vec![match value {
        Attribute::Tensor(constant) => Arc::clone(constant).into(),
        Attribute::Float(v) => build::constant(&[*v], &[])?,
        Attribute::Floats(v) => build::constant(v, &[v.len()])?,
        Attribute::Int(v) => Constant::int(*v).into(),
        Attribute::Ints(v) => build::ints(collect(v.iter().copied())?, &[v.len()]),
        other => return Err(cx.unsupported(format!("the constant {other}"))),
    }])
}

fn constant_of_shape(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let shape = int_list(input(inputs, 0, cx)?, "sizes", cx)?;
    let dims = dims_of(&shape, cx)?;
    check_constant(&dims, node.tensor("value").map_or(ElementType::F32, Constant::element_type), cx)?;
    let count = dims.iter().product();
    Ok(vec![match node.tensor("value") {
        None => filled(0.0, &dims)?,
        Some(Constant::Int { of, values, .. }) if values.len() == 1 => {
            Constant::Int { of: *of, dims, values: lists::filled(count, values[0])? }.into()
        }
        Some(Constant::Bool { values, .. }) if values.len() == 1 => {
            Constant::Bool { dims, values: lists::filled(count, values[0])? }.into()
        }
        Some(Constant::F32(t)) if t.numel() == 1 => {
            filled(t.to_vec::<f32>()?.first().copied().unwrap_or(0.0), &dims)?
        }
        Some(other) => {
            let got = format!("{:?}", other.dims());
            return Err(cx.invalid("value", got, "it has one element", "export the model again"));
        }
    }])
}

fn eye_like(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let &[rows, columns] = x.dims() else {
        return Err(cx.invalid("input", format!("{:?}", x.dims()), "it has two axes", "reshape it"));
    };
    let of = match node.int("dtype") {
        Some(to) => element_type(to, cx)?,
        None => x.element_type(),
    };
    check_constant(x.dims(), of, cx)?;
    let k = node.int("k").unwrap_or(0);
    let is_one = |i: usize| (i % columns) as i64 - (i / columns) as i64 == k;
    let cells = 0..rows * columns;
    let dims = vec![rows, columns];
    Ok(vec![match of {
        ElementType::F32 => {
            build::constant(&collect(cells.map(|i| if is_one(i) { 1.0 } else { 0.0 }))?, &dims)?
        }
        ElementType::Int(of) => {
            Constant::Int { of, dims, values: collect(cells.map(|i| i64::from(is_one(i))))? }.into()
        }
        ElementType::Bool => Constant::Bool { dims, values: collect(cells.map(is_one))? }.into(),
        ElementType::Byte | ElementType::SignedByte => {
            return Err(cx.unsupported("bytes of a program's operator"));
        }
    }])
}

fn identity(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    Ok(vec![input(inputs, 0, cx)?.clone()])
}

/// Constants are computed by `fold`; how many elements of others are not zero is not known before a run.
fn non_zero(_: &OnnxNode, _: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    Err(cx.unsupported("a result whose size depends on the values of an input"))
}

fn range(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let start_value = input(inputs, 0, cx)?;
    let start = number(start_value, "start", cx)?;
    let limit = number(input(inputs, 1, cx)?, "limit", cx)?;
    let step = number(input(inputs, 2, cx)?, "delta", cx)?;
    for (name, value) in [("start", start), ("limit", limit), ("delta", step)] {
        if !value.is_finite() {
            return Err(cx.invalid(name, value, "it is a finite number", "correct the range"));
        }
    }
    if step == 0.0 {
        return Err(cx.invalid("delta", step, "it is not 0", "correct the range"));
    }
    let count = ((limit - start) / step).ceil().max(0.0);
    check_generated((count < u64::MAX as f64).then_some(count as usize), cx)?;
    let count = count as usize;
    check_constant(&[count], start_value.element_type(), cx)?;
    Ok(vec![match start_value.element_type() {
        ElementType::F32 => {
            let values = collect((0..count).map(|i| (start + i as f64 * step) as f32))?;
            build::constant(&values, &[count])?
        }
        of => {
            let value = |i: usize| (start as i64).wrapping_add((i as i64).wrapping_mul(step as i64));
            let of = if let ElementType::Int(of) = of { of } else { Integer::I64 };
            Constant::Int { of, dims: vec![count], values: collect((0..count).map(value))? }.into()
        }
    }])
}

fn shape(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let dims = input(inputs, 0, cx)?.dims();
    let rank = dims.len() as i64;
    let place = |v: i64| if v < 0 { v.saturating_add(rank).max(0) } else { v.min(rank) } as usize;
    let start = place(node.int("start").unwrap_or(0));
    let end = place(node.int("end").unwrap_or(rank)).max(start);
    let list: Vec<i64> = dims[start..end].iter().map(|&d| d as i64).collect();
    Ok(vec![Constant::ints(&list).into()])
}

fn size(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    Ok(vec![Constant::int(input(inputs, 0, cx)?.numel() as i64).into()])
}

/// An f32 constant of one value.
pub(super) fn filled(value: f32, dims: &[usize]) -> Result<Value> {
    Ok(Constant::F32(StridedTensor::full(dims, value, MemoryFormat::Contiguous)?).into())
}
