//! Shape arithmetic: nodes whose inputs are all known and hold integers or Booleans are computed when the graph gets its sizes.
//!
//! Kernels of blocktensor compute with f32 and 32-bit integers; shapes need 64 bits.

use blocktensor_graph::{ElementType, Expansion, IntegerFunction, Result, Value, broadcast_dims};

use crate::data::{Data, fitting};
use crate::lists::{collect, collect_results};
use crate::node::OnnxNode;
use crate::ops;

/// The outputs of the node, if its inputs are known and it is one of the ops of shape arithmetic.
pub(crate) fn evaluate(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Option<Vec<Value>>> {
    if !node.domain().is_empty() || inputs.iter().flatten().any(|v| v.constant().is_none()) {
        return Ok(None);
    }
    if node.op_type() == "NonZero" {
        return inputs.first().and_then(Option::as_ref).map(non_zero).transpose();
    }
    let constants = inputs.iter().flatten().filter_map(Value::constant);
    // An input that is there and holds f32 numbers is not for integers.
    let Some(all) = constants.map(Data::of).collect::<Result<Option<Vec<Data>>>>()? else {
        return Ok(None);
    };
    if all.is_empty() {
        return Ok(None);
    }
    let (first, second) = (&all[0], all.get(1));
    let one = |data: Data| Ok(Some(vec![fitting(data, cx)?]));
    match (node.op_type(), second) {
        ("Where", Some(a)) if all.len() == 3 => {
            let both = zip(a, &all[2], cx, |x, _| x)?;
            let dims = zip(first, &both, cx, |x, _| x)?.dims;
            let (c, a, b) = (first.expand(&dims)?, a.expand(&dims)?, all[2].expand(&dims)?);
            let values =
                (0..c.values.len()).map(|i| if c.values[i] != 0 { a.values[i] } else { b.values[i] });
            one(a.with(dims, collect(values)?))
        }
        ("Gather", Some(index)) => {
            let axis = ops::axis_of(node.int("axis").unwrap_or(0), first.dims.len(), cx)?;
            let from_start = |&i: &i64| ops::indexing::from_start(i, first.dims[axis], cx);
            let index_values = collect_results(index.values.iter().map(from_start))?;
            let others = first.dims[..axis].iter().chain(&first.dims[axis + 1..]);
            check_count(&others.chain(&index.dims).copied().collect::<Vec<_>>(), cx)?;
            one(first.select(axis, &index_values, &index.dims)?)
        }
        ("Slice", Some(_)) => {
            let mut y = first.copy()?;
            for r in ops::slice::ranges(inputs, &first.dims, cx)? {
                y = y.range(r.axis, r.start, r.count, r.step)?;
            }
            one(y)
        }
        ("Concat", _) => {
            let axis = ops::axis_of(node.int("axis").unwrap_or(0), first.dims.len(), cx)?;
            check_count(&[all.iter().map(|data| data.values.len()).sum()], cx)?;
            match Data::concat(&all, axis)? {
                Some(y) => one(y),
                None => Err(cx.invalid(
                    "inputs",
                    "sizes that differ",
                    "other axes agree",
                    "export the model again",
                )),
            }
        }
        ("Split", _) => {
            let axis = ops::axis_of(node.int("axis").unwrap_or(0), first.dims.len(), cx)?;
            let mut start = 0;
            let pieces = ops::slice::pieces(node, inputs, first.dims[axis], cx)?.into_iter().map(|count| {
                start += count;
                first.range(axis, start - count, count, 1)?.try_into()
            });
            Ok(Some(pieces.collect::<Result<_>>()?))
        }
        ("Transpose", _) => one(first.permute(&ops::shape::order(node, first.dims.len(), cx)?)?),
        ("Expand", Some(shape)) => {
            let shape = ops::dims_of(&shape.values, cx)?;
            let Some(dims) = broadcast_dims(&first.dims, &shape) else {
                let got = format!("{:?} to {shape:?}", first.dims);
                return Err(cx.invalid("shape", got, "the sizes broadcast", "correct the shape"));
            };
            check_count(&dims, cx)?;
            one(first.expand(&dims)?)
        }
        ("Tile", Some(repeats)) if repeats.values.len() == first.dims.len() => {
            let repeats = ops::dims_of(&repeats.values, cx)?;
            let mut y = first.copy()?;
            for (axis, &count) in repeats.iter().enumerate() {
                let mut dims = y.dims.clone();
                dims[axis] = dims[axis].saturating_mul(count);
                check_count(&dims, cx)?;
                let index = collect((0..dims[axis]).map(|i| (i % y.dims[axis].max(1)) as i64))?;
                y = y.select(axis, &index, &[index.len()])?;
            }
            one(y)
        }
        ("ReduceSum" | "ReduceProd" | "ReduceMax" | "ReduceMin", _) => {
            let Some(axes) = ops::reduce::reduced_axes(node, inputs, first.dims.len(), cx)? else {
                return one(first.copy()?);
            };
            let y = match node.op_type() {
                "ReduceSum" => first.reduce(&axes, 0, i64::wrapping_add),
                "ReduceProd" => first.reduce(&axes, 1, i64::wrapping_mul),
                "ReduceMax" => first.reduce(&axes, i64::MIN, i64::max),
                _ => first.reduce(&axes, i64::MAX, i64::min),
            }?;
            let dims = ops::reduce::kept_dims(&first.dims, &axes, node.int("keepdims").unwrap_or(1) != 0);
            one(Data { dims, ..y })
        }
        ("CumSum", Some(axis)) if axis.values.len() == 1 => {
            let axis = ops::axis_of(axis.values[0], first.dims.len(), cx)?;
            let is_set = |name: &str| node.int(name).unwrap_or(0) != 0;
            one(cumsum(first, axis, is_set("exclusive"), is_set("reverse"))?)
        }
        ("Clip", _) => {
            ops::elementwise::check_bounds(inputs, cx)?;
            let bound = |i: usize, none: i64| {
                let given = inputs.get(i).and_then(Option::as_ref).and_then(|v| v.ints()?.first().copied());
                given.unwrap_or(none)
            };
            let (min, max) = (bound(1, i64::MIN), bound(2, i64::MAX));
            one(map(first, |v| v.max(min).min(max))?)
        }
        ("Neg", None) => one(map(first, i64::wrapping_neg)?),
        ("Abs", None) => one(map(first, i64::wrapping_abs)?),
        ("Sign", None) => one(map(first, i64::signum)?),
        ("Not", None) => one(map(first, |v| i64::from(v == 0))?),
        ("Min" | "Max" | "Sum", _) => {
            let combine = match node.op_type() {
                "Min" => i64::min,
                "Max" => i64::max,
                _ => i64::wrapping_add,
            };
            let mut y = first.copy()?;
            for next in &all[1..] {
                y = zip(&y, next, cx, combine)?;
            }
            one(y)
        }
        (_, Some(second)) if all.len() == 2 => pair(node, first, second, cx),
        _ => Ok(None),
    }
}

/// The ops of two operands that broadcast.
fn pair(node: &OnnxNode, a: &Data, b: &Data, cx: &mut Expansion<'_>) -> Result<Option<Vec<Value>>> {
    let op = node.op_type();
    if matches!(op, "Div" | "Mod") && b.values.contains(&0) {
        let (got, rule, remedy) = IntegerFunction::BY_ZERO;
        return Err(cx.invalid("divisor", got, rule, remedy));
    }
    if op == "Pow" {
        check_power(a, b, cx)?;
    }
    let by_sign = node.int("fmod").unwrap_or(0) == 0;
    let function: fn(i64, i64) -> i64 = match op {
        "Add" => i64::wrapping_add,
        "Sub" => i64::wrapping_sub,
        "Mul" => i64::wrapping_mul,
        "Div" => i64::wrapping_div,
        // The remainder has the sign of the divisor, or with `fmod` that of the dividend.
        "Mod" if by_sign => |x, y| x.wrapping_rem(y).wrapping_add(y).wrapping_rem(y),
        "Mod" => i64::wrapping_rem,
        "Pow" => power,
        "Equal" => |x, y| i64::from(x == y),
        "Greater" => |x, y| i64::from(x > y),
        "GreaterOrEqual" => |x, y| i64::from(x >= y),
        "Less" => |x, y| i64::from(x < y),
        "LessOrEqual" => |x, y| i64::from(x <= y),
        "And" => |x, y| x & y,
        "Or" => |x, y| x | y,
        "Xor" => |x, y| x ^ y,
        _ => return Ok(None),
    };
    let mut y = zip(a, b, cx, function)?;
    if !matches!(op, "Add" | "Sub" | "Mul" | "Div" | "Mod" | "Pow") {
        y.of = ElementType::Bool;
    }
    Ok(Some(vec![fitting(y, cx)?]))
}

/// Refuses 0 to a negative power: it divides by 0.
fn check_power(base: &Data, exponent: &Data, cx: &Expansion<'_>) -> Result<()> {
    let divides = |x: i64, e: i64| if x == 0 { e.min(0) } else { 0 };
    match zip(base, exponent, cx, divides)?.values.iter().find(|e| **e != 0) {
        Some(exponent) => {
            let (base, rule, remedy) = IntegerFunction::BY_ZERO;
            Err(cx.invalid("exponent", format!("{exponent} for the base {base}"), rule, remedy))
        }
        None => Ok(()),
    }
}

/// A power that wraps around. That of a negative exponent is a fraction, of which the whole part is left.
fn power(x: i64, exponent: i64) -> i64 {
    match x {
        _ if exponent >= 0 => {
            let (mut result, mut square, mut bits) = (1i64, x, exponent);
            while bits > 0 {
                if bits & 1 == 1 {
                    result = result.wrapping_mul(square);
                }
                square = square.wrapping_mul(square);
                bits >>= 1;
            }
            result
        }
        1 => 1,
        -1 if exponent % 2 == 0 => 1,
        -1 => -1,
        _ => 0,
    }
}

fn map(x: &Data, function: impl Fn(i64) -> i64) -> Result<Data> {
    Ok(x.with(x.dims.clone(), collect(x.values.iter().map(|&v| function(v)))?))
}

fn zip(a: &Data, b: &Data, cx: &Expansion<'_>, function: impl Fn(i64, i64) -> i64) -> Result<Data> {
    let Some(dims) = broadcast_dims(&a.dims, &b.dims) else {
        let got = format!("{:?} and {:?}", a.dims, b.dims);
        return Err(cx.invalid("operands", got, "they broadcast", "correct the shapes"));
    };
    check_count(&dims, cx)?;
    let (left, right) = (a.expand(&dims)?, b.expand(&dims)?);
    let values = left.values.iter().zip(&right.values).map(|(&x, &y)| function(x, y));
    Ok(a.with(dims, collect(values)?))
}

/// Limits the memory of constants that a few bytes of a file describe.
fn check_count(dims: &[usize], cx: &Expansion<'_>) -> Result<()> {
    let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    if count.is_some_and(|n| n <= ops::MAX_GENERATED) {
        return Ok(());
    }
    let rule = format!("constants that are computed have at most {} elements", ops::MAX_GENERATED);
    Err(cx.invalid("shape", format!("{dims:?}"), &rule, "store the tensor in the file"))
}

fn cumsum(x: &Data, axis: usize, exclusive: bool, reverse: bool) -> Result<Data> {
    let (inner, size) = (x.dims[axis + 1..].iter().product::<usize>(), x.dims[axis]);
    let mut y = x.copy()?;
    for line in 0..x.values.len().checked_div(size).unwrap_or(0) {
        let start = line / inner * inner * size + line % inner;
        let mut sum = 0i64;
        for k in 0..size {
            let at = start + inner * if reverse { size - 1 - k } else { k };
            let value = x.values[at];
            y.values[at] = if exclusive { sum } else { sum.wrapping_add(value) };
            sum = sum.wrapping_add(value);
        }
    }
    Ok(y)
}

/// The indices of the elements that are not zero: a row for each axis.
fn non_zero(x: &Value) -> Result<Vec<Value>> {
    let Some(constant) = x.constant() else {
        return Ok(vec![]);
    };
    let dims = constant.dims().to_vec();
    let numbers = constant.to_f64()?;
    let places = collect(numbers.iter().enumerate().filter(|(_, v)| **v != 0.0).map(|(i, _)| i))?;
    let values = (0..dims.len()).flat_map(|axis| {
        let (stride, size) = (dims[axis + 1..].iter().product::<usize>(), dims[axis]);
        places.iter().map(move |p| (p / stride % size) as i64)
    });
    let values = collect(values)?;
    Ok(vec![Data::of_sizes(vec![dims.len(), places.len()], values).try_into()?])
}
