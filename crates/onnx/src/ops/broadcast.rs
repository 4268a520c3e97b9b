//! Ops of several operands that broadcast.

use blocktensor_graph::{ElementType, Expansion, IntegerFunction, Result, Value, broadcast_dims};

use super::args::{float_input, floats, input, scalar};
use super::{Op, build, op};
use crate::lists::collect;
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[
    op("Add", two_operands, &[]),
    op("And", logic, &[]),
    op("Div", two_operands, &[]),
    op("Equal", comparison, &[]),
    op("Greater", comparison, &[]),
    op("GreaterOrEqual", comparison, &[]),
    op("Less", comparison, &[]),
    op("LessOrEqual", comparison, &[]),
    op("Max", many_operands, &[]),
    op("Mean", many_operands, &[]),
    op("Min", many_operands, &[]),
    op("Mod", modulo, &[("fmod", Kind::Int)]),
    op("Mul", two_operands, &[]),
    op("Not", not, &[]),
    op("Or", logic, &[]),
    op("Pow", power, &[]),
    op("Sub", two_operands, &[]),
    op("Sum", many_operands, &[]),
    op("Where", select, &[]),
    op("Xor", logic, &[]),
];

/// `add`, `sub`, `mul`, `div` or `pow`, in the form that suits the operands: with a number, with a number for each channel, or
/// of two tensors.
pub(super) fn arithmetic(cx: &mut Expansion<'_>, op: &str, a: &Value, b: &Value) -> Result<Value> {
    floats(a, cx)?;
    floats(b, cx)?;
    if a.constant().is_some() && b.constant().is_some() {
        return build::binary(cx, op, a, b);
    }
    if let Some(number) = scalar(b)
        && b.rank() <= a.rank()
    {
        let op = format!("{op}_scalar");
        return build::with_number(cx, &op, a, number);
    }
    if let Some(number) = scalar(a)
        && a.rank() <= b.rank()
    {
        match op {
            "add" => return build::with_number(cx, "add_scalar", b, number),
            "mul" => return build::with_number(cx, "mul_scalar", b, number),
            "sub" => {
                let negative = build::unary(cx, "neg", b)?;
                return build::with_number(cx, "add_scalar", &negative, number);
            }
            "div" if number == 1.0 => return build::unary(cx, "reciprocal", b),
            _ => {}
        }
    }
    for (x, values) in [(a, b), (b, a)] {
        let is_commutative = matches!(op, "add" | "mul");
        if is_commutative && values.constant().is_some() && is_channel(values.dims(), x.dims()) {
            let values = cx.reshape(values, &[values.numel()])?;
            return cx.op(&format!("{op}_channel"), &[("x", x), ("values", &values)], &[]);
        }
    }
    if op == "sub" && b.constant().is_some() && is_channel(b.dims(), a.dims()) {
        let values = build::unary(cx, "neg", b)?;
        let values = cx.reshape(&values, &[b.numel()])?;
        return cx.op("add_channel", &[("x", a), ("values", &values)], &[]);
    }
    let (a, b) = (same_rank(cx, a, b.rank())?, same_rank(cx, b, a.rank())?);
    build::binary(cx, op, &a, &b)
}

/// Whether sizes hold one number for each channel of `x`.
fn is_channel(values: &[usize], x: &[usize]) -> bool {
    let rank = x.len();
    (3..=5).contains(&rank)
        && values.len() <= rank
        && values.len() + 1 >= rank
        && x[1] > 1
        && values.iter().rev().enumerate().all(|(i, &d)| d == if i == rank - 2 { x[1] } else { 1 })
}

/// Constants get axes of size 1 in front, as kernels for blocked tensors take operands of one rank.
fn same_rank(cx: &mut Expansion<'_>, x: &Value, rank: usize) -> Result<Value> {
    if x.constant().is_none() || x.rank() >= rank {
        return Ok(x.clone());
    }
    let dims: Vec<usize> = std::iter::repeat_n(1, rank - x.rank()).chain(x.dims().iter().copied()).collect();
    cx.reshape(x, &dims)
}

fn is_int(v: &Value) -> bool {
    matches!(v.element_type(), ElementType::Int(_))
}

/// The function of integers that an op of two operands is.
fn integer_function(op_type: &str) -> Option<IntegerFunction> {
    Some(match op_type {
        "Add" | "Sum" => IntegerFunction::Add,
        "Sub" => IntegerFunction::Sub,
        "Mul" => IntegerFunction::Mul,
        "Div" => IntegerFunction::Div,
        "Min" => IntegerFunction::Min,
        "Max" => IntegerFunction::Max,
        "Equal" => IntegerFunction::Equal,
        "Greater" => IntegerFunction::Greater,
        "GreaterOrEqual" => IntegerFunction::GreaterOrEqual,
        "Less" => IntegerFunction::Less,
        "LessOrEqual" => IntegerFunction::LessOrEqual,
        _ => return None,
    })
}

/// The result for integers that a run computes.
fn of_integers(node: &OnnxNode, a: &Value, b: &Value, cx: &mut Expansion<'_>) -> Result<Option<Value>> {
    match integer_function(node.op_type()) {
        Some(function) if is_int(a) && is_int(b) => cx.integers(function, &[a, b]).map(Some),
        _ => Ok(None),
    }
}

fn two_operands(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let op = node.op_type().to_ascii_lowercase();
    let (a, b) = (input(inputs, 0, cx)?, input(inputs, 1, cx)?);
    if let Some(y) = of_integers(node, a, b, cx)? {
        return Ok(vec![y]);
    }
    Ok(vec![arithmetic(cx, &op, a, b)?])
}

fn many_operands(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let op = match node.op_type() {
        "Max" => "maximum",
        "Min" => "minimum",
        _ => "add",
    };
    let mut result = input(inputs, 0, cx)?.clone();
    for i in 1..inputs.len() {
        let next = input(inputs, i, cx)?;
        result = match of_integers(node, &result, next, cx)? {
            Some(y) => y,
            None => extreme_or_sum(cx, op, floats(&result, cx)?, floats(next, cx)?)?,
        };
    }
    if node.op_type() == "Mean" {
        result = build::with_number(cx, "div_scalar", &result, inputs.len() as f32)?;
    }
    Ok(vec![result])
}

fn extreme_or_sum(cx: &mut Expansion<'_>, op: &str, a: &Value, b: &Value) -> Result<Value> {
    if op == "add" {
        return arithmetic(cx, op, a, b);
    }
    for (x, bound) in [(a, b), (b, a)] {
        if x.constant().is_none()
            && bound.rank() <= x.rank()
            && let Some(bound) = scalar(bound)
        {
            return match op {
                "maximum" => build::clamp(cx, x, bound, f32::INFINITY),
                _ => build::clamp(cx, x, f32::NEG_INFINITY, bound),
            };
        }
    }
    let (a, b) = (same_rank(cx, a, b.rank())?, same_rank(cx, b, a.rank())?);
    build::binary(cx, op, &a, &b)
}

fn power(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (x, exponent) = (float_input(inputs, 0, cx)?, input(inputs, 1, cx)?);
    let exponent = match exponent.constant() {
        Some(c) if c.element_type() != ElementType::F32 => {
            build::constant(&collect(c.to_f64()?.into_iter().map(|v| v as f32))?, c.dims())?
        }
        _ => exponent.clone(),
    };
    Ok(vec![match scalar(&exponent) {
        Some(2.0) if exponent.rank() <= x.rank() => build::unary(cx, "square", x)?,
        _ => arithmetic(cx, "pow", x, &exponent)?,
    }])
}

fn comparison(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (op, mirrored) = match node.op_type() {
        "Equal" => ("eq", "eq"),
        "Greater" => ("gt", "lt"),
        "GreaterOrEqual" => ("ge", "le"),
        "Less" => ("lt", "gt"),
        _ => ("le", "ge"),
    };
    if let Some(y) = of_integers(node, input(inputs, 0, cx)?, input(inputs, 1, cx)?, cx)? {
        return Ok(vec![y]);
    }
    let a = build::as_numbers(cx, input(inputs, 0, cx)?)?;
    let b = build::as_numbers(cx, input(inputs, 1, cx)?)?;
    for (op, x, other) in [(op, &a, &b), (mirrored, &b, &a)] {
        if x.constant().is_none()
            && other.rank() <= x.rank()
            && let Some(number) = scalar(other)
        {
            return Ok(vec![build::with_number(cx, &format!("{op}_scalar"), x, number)?]);
        }
    }
    let (a, b) = (same_rank(cx, &a, b.rank())?, same_rank(cx, &b, a.rank())?);
    Ok(vec![build::binary(cx, op, &a, &b)?])
}

/// Booleans that a run computes: the operands become f32, and a comparison makes the result Boolean again.
fn logic(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let a = build::as_numbers(cx, input(inputs, 0, cx)?)?;
    let b = build::as_numbers(cx, input(inputs, 1, cx)?)?;
    let (a, b) = (same_rank(cx, &a, b.rank())?, same_rank(cx, &b, a.rank())?);
    let combined = match node.op_type() {
        "And" => build::binary(cx, "mul", &a, &b)?,
        "Or" => build::binary(cx, "maximum", &a, &b)?,
        _ => return Ok(vec![build::binary(cx, "ne", &a, &b)?]),
    };
    Ok(vec![build::with_number(cx, "ne_scalar", &combined, 0.0)?])
}

fn not(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = build::as_numbers(cx, input(inputs, 0, cx)?)?;
    Ok(vec![build::with_number(cx, "eq_scalar", &x, 0.0)?])
}

/// The remainder with the sign of the dividend; ONNX has no other for f32.
fn modulo(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (a, b) = (input(inputs, 0, cx)?, input(inputs, 1, cx)?);
    if is_int(a) && is_int(b) {
        let is_fmod = node.int("fmod") == Some(1);
        return Ok(vec![
            cx.integers(if is_fmod { IntegerFunction::Fmod } else { IntegerFunction::Mod }, &[a, b])?,
        ]);
    }
    let (a, b) = (float_input(inputs, 0, cx)?, float_input(inputs, 1, cx)?);
    if node.int("fmod") != Some(1) {
        return Err(cx.invalid("fmod", 0, "it is 1 for f32 numbers", "export the model again"));
    }
    Ok(vec![cx.integers(IntegerFunction::FloatFmod, &[a, b])?])
}

pub(super) fn select(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let condition = input(inputs, 0, cx)?;
    if condition.element_type() != ElementType::Bool {
        let got = condition.element_type();
        return Err(cx.invalid("condition", got, "it is Boolean", "compare before"));
    }
    let (a, b) = (input(inputs, 1, cx)?, input(inputs, 2, cx)?);
    if a.element_type() == ElementType::Bool && b.element_type() == ElementType::Bool {
        let (a, b) = (build::as_numbers(cx, a)?, build::as_numbers(cx, b)?);
        let y = cx.op("where", &[("condition", condition), ("a", &a), ("b", &b)], &[])?;
        return Ok(vec![build::with_number(cx, "ne_scalar", &y, 0.0)?]);
    }
    if is_int(a) && is_int(b) {
        return Ok(vec![cx.integers(IntegerFunction::Where, &[condition, a, b])?]);
    }
    let (a, b) = (floats(a, cx)?, floats(b, cx)?);
    let dims = broadcast_dims(a.dims(), b.dims()).and_then(|d| broadcast_dims(&d, condition.dims()));
    let Some(dims) = dims else {
        let got = format!("{:?}, {:?} and {:?}", condition.dims(), a.dims(), b.dims());
        return Err(cx.invalid("operands", got, "they broadcast", "correct the shapes"));
    };
    let (c, a, b) =
        (same_rank(cx, condition, dims.len())?, same_rank(cx, a, dims.len())?, same_rank(cx, b, dims.len())?);
    Ok(vec![cx.op("where", &[("condition", &c), ("a", &a), ("b", &b)], &[])?])
}
