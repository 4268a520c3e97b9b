//! Reading a node's inputs.

use blocktensor_graph::{Constant, ElementType, Error, Expansion, Integer, IntegerFunction, Result, Value};

use crate::lists::collect;

/// The error of a node without something that it must have: an input or an attribute.
pub(super) fn absent(what: &str, cx: &Expansion<'_>) -> Error {
    cx.invalid(what, "nothing", "every node of this op has it", "export the model again")
}

/// Input `i`, which every node has.
pub(super) fn input<'a>(inputs: &'a [Option<Value>], i: usize, cx: &Expansion<'_>) -> Result<&'a Value> {
    maybe(inputs, i).ok_or_else(|| absent(&format!("input {i}"), cx))
}

/// Input `i`, if the node has it.
pub(super) fn maybe(inputs: &[Option<Value>], i: usize) -> Option<&Value> {
    inputs.get(i).and_then(Option::as_ref)
}

/// Input `i`, which holds f32 numbers.
pub(super) fn float_input<'a>(
    inputs: &'a [Option<Value>],
    i: usize,
    cx: &Expansion<'_>,
) -> Result<&'a Value> {
    floats(input(inputs, i, cx)?, cx)
}

/// The value, if it holds f32 numbers.
pub(super) fn floats<'a>(x: &'a Value, cx: &Expansion<'_>) -> Result<&'a Value> {
    match x.element_type() {
        ElementType::F32 => Ok(x),
        other if x.constant().is_some() => {
            let op = cx.op_type();
            let text = "cast them to f32 before it, and the result back";
            Err(cx.unsupported(format!(
                "constants of {} are not folded through `{op}`; {text}",
                other.as_stated()
            )))
        }
        other => Err(cx.unsupported(format!(
            "the type {} is not supported for tensors that a run computes; cast them to f32 before it, and the result back",
            other.as_stated()
        ))),
    }
}

/// An input of f32, or one of integers of 8 or 16 bits as f32, which holds all of them, and the type that results go back to.
pub(super) fn small_input(
    inputs: &[Option<Value>],
    i: usize,
    cx: &mut Expansion<'_>,
) -> Result<(Value, ElementType)> {
    use Integer::{I8, I16, U8, U16};
    let (x, of) = (input(inputs, i, cx)?, input(inputs, i, cx)?.element_type());
    let x = match of {
        _ if x.constant().is_some() => floats(x, cx)?.clone(),
        ElementType::Byte | ElementType::SignedByte => cx.op("to_dtype", &[("x", x)], &[])?,
        ElementType::Int(I8 | I16 | U8 | U16) => cx.integers(IntegerFunction::ToFloat, &[x])?,
        _ => floats(x, cx)?.clone(),
    };
    Ok((x, of))
}

/// A result of `small_input` in its type. Its numbers are some of those of the input.
pub(super) fn as_small(cx: &mut Expansion<'_>, x: &Value, of: ElementType) -> Result<Value> {
    match of {
        ElementType::Byte => cx.op("to_dtype", &[("x", x)], &[("dtype", "u8".into())]),
        ElementType::SignedByte => cx.op("to_dtype", &[("x", x)], &[("dtype", "s8".into())]),
        ElementType::Int(of) => cx.integers(IntegerFunction::ToInt(of), &[x]),
        _ => Ok(x.clone()),
    }
}

/// The integers of a value, which must be constant.
pub(crate) fn int_list(x: &Value, what: &str, cx: &Expansion<'_>) -> Result<Vec<i64>> {
    match x.ints() {
        Some(list) => Ok(collect(list.iter().copied())?),
        None => Err(cx.unsupported(format!("{what} that depend on the values of an input"))),
    }
}

/// Integers from an input, or from an attribute of older versions; `None` if the node has neither.
pub(super) fn ints_of(
    inputs: &[Option<Value>],
    i: usize,
    attribute: Option<&[i64]>,
    what: &str,
    cx: &Expansion<'_>,
) -> Result<Option<Vec<i64>>> {
    match maybe(inputs, i) {
        Some(x) => int_list(x, what, cx).map(Some),
        None => Ok(attribute.map(|list| collect(list.iter().copied())).transpose()?),
    }
}

/// The only number of a constant, of any type.
pub(super) fn number(x: &Value, what: &str, cx: &Expansion<'_>) -> Result<f64> {
    let Some(constant) = x.constant() else {
        return Err(cx.unsupported(format!("{what} that depends on the values of an input")));
    };
    match constant.to_f64()?[..] {
        [one] => Ok(one),
        ref list => Err(cx.invalid(what, format!("{} values", list.len()), "it is one", "pass a scalar")),
    }
}

/// The only number of an f32 constant.
pub(super) fn scalar(x: &Value) -> Option<f32> {
    match x.constant()? {
        Constant::F32(t) if t.numel() == 1 => t.to_vec::<f32>().ok()?.first().copied(),
        _ => None,
    }
}

/// An axis counted from 0; ONNX counts negative ones from the end.
pub(crate) fn axis_of(axis: i64, rank: usize, cx: &Expansion<'_>) -> Result<usize> {
    let n = rank as i64;
    if (-n..n).contains(&axis) {
        return Ok(if axis < 0 { axis + n } else { axis } as usize);
    }
    Err(cx.invalid("axis", axis, format!("the tensor has {rank} axes"), "correct the axis"))
}

/// Axes counted from 0, each once.
pub(super) fn axes_of(axes: &[i64], rank: usize, cx: &Expansion<'_>) -> Result<Vec<usize>> {
    let list = axes.iter().map(|&a| axis_of(a, rank, cx)).collect::<Result<Vec<_>>>()?;
    for (i, axis) in list.iter().enumerate() {
        if list[..i].contains(axis) {
            return Err(cx.invalid(
                "axes",
                format!("{axes:?}"),
                "each axis is named once",
                "correct the axes",
            ));
        }
    }
    Ok(list)
}

/// Sizes that are not negative and whose product is a number of elements that a tensor may have.
pub(crate) fn dims_of(sizes: &[i64], cx: &Expansion<'_>) -> Result<Vec<usize>> {
    let dims: Option<Vec<usize>> = sizes.iter().map(|&s| usize::try_from(s).ok()).collect();
    let dims = dims.filter(|d| {
        let bytes = d.iter().try_fold(8usize, |n, &s| n.checked_mul(s.max(1)));
        d.len() <= blocktensor::MAX_RANK && bytes.is_some_and(|n| n <= isize::MAX as usize)
    });
    dims.ok_or_else(|| {
        let rule = "sizes are not negative, and their product is below 2^60";
        cx.invalid("shape", format!("{sizes:?}"), rule, "correct the shape")
    })
}
