//! Normalisations.

use blocktensor_graph::{Constant, ElementType, Expansion, Result, Value, broadcast_dims};
use rten_onnx::onnx::DataType;

use super::args::{axes_of, axis_of, float_input, floats, maybe};
use super::quantize::stated;
use super::{Op, broadcast, build, op};
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[
    op(
        "BatchNormalization",
        batch_norm,
        &[("epsilon", Kind::Float), ("momentum", Kind::Float), ("training_mode", Kind::Int)],
    ),
    op(
        "GroupNormalization",
        group_norm,
        &[("epsilon", Kind::Float), ("num_groups", Kind::Int), ("stash_type", Kind::Int)],
    ),
    op("InstanceNormalization", instance_norm, &[("epsilon", Kind::Float)]),
    op(
        "LRN",
        local_response_norm,
        &[("alpha", Kind::Float), ("beta", Kind::Float), ("bias", Kind::Float), ("size", Kind::Int)],
    ),
    op(
        "LayerNormalization",
        layer_norm,
        &[("axis", Kind::Int), ("epsilon", Kind::Float), ("stash_type", Kind::Int)],
    ),
    op("LpNormalization", lp_norm, &[("axis", Kind::Int), ("p", Kind::Int)]),
    op("MeanVarianceNormalization", mean_variance_norm, &[("axes", Kind::Ints)]),
    op(
        "RMSNormalization",
        rms_norm,
        &[("axis", Kind::Int), ("epsilon", Kind::Float), ("stash_type", Kind::Int)],
    ),
];

fn epsilon(node: &OnnxNode) -> f32 {
    node.float("epsilon").unwrap_or(1e-5)
}

/// Statistics are computed in f32 or f64 here, whatever the model asks for.
fn batch_norm(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    // Before version 14 there was no attribute: a node that has the results of training computes them.
    let is_training = match node.version() {
        ..14 => node.outputs.iter().skip(1).any(|has_name| *has_name),
        _ => node.int("training_mode").unwrap_or(0) != 0,
    };
    if is_training {
        return batch_norm_of_batch(node, inputs, cx);
    }
    let operands = [
        ("x", x),
        ("mean", float_input(inputs, 3, cx)?),
        ("var", float_input(inputs, 4, cx)?),
        ("weight", float_input(inputs, 1, cx)?),
        ("bias", float_input(inputs, 2, cx)?),
    ];
    Ok(vec![cx.op("batch_norm", &operands, &[("eps", epsilon(node).into())])?])
}

/// Training mode: normalises with the mean and the variance of the batch, and updates the running ones.
fn batch_norm_of_batch(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let axes: Vec<usize> = (0..x.rank()).filter(|&a| a != 1).collect();
    let mean = build::reduce(cx, "mean", x, &axes, true)?;
    let centred = build::binary(cx, "sub", x, &mean)?;
    let square = build::unary(cx, "square", &centred)?;
    let variance = build::reduce(cx, "mean", &square, &axes, false)?;
    let mean = cx.reshape(&mean, variance.dims())?;
    let operands = [
        ("x", x),
        ("mean", &mean),
        ("var", &variance),
        ("weight", float_input(inputs, 1, cx)?),
        ("bias", float_input(inputs, 2, cx)?),
    ];
    let y = cx.op("batch_norm", &operands, &[("eps", epsilon(node).into())])?;
    let momentum = node.float("momentum").unwrap_or(0.9);
    let mut results = vec![y];
    for (i, of_batch) in [(3, &mean), (4, &variance)] {
        let kept = build::with_number(cx, "mul_scalar", float_input(inputs, i, cx)?, momentum)?;
        let new = build::with_number(cx, "mul_scalar", of_batch, 1.0 - momentum)?;
        results.push(build::binary(cx, "add", &kept, &new)?);
    }
    Ok(results)
}

/// A group norm with one channel in each group: `instance_norm` gives row-major results as PyTorch's does, and reorders for
/// them.
fn instance_norm(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    if x.rank() < 3 {
        let rule = "it has 3 axes or more: batch, channels, and those that are normalized";
        return Err(cx.invalid(
            "input",
            format!("{:?}", x.dims()),
            rule,
            "add an axis with `Unsqueeze` before",
        ));
    }
    let groups = x.dims().get(1).copied().unwrap_or(0);
    let operands = [("x", x), ("weight", float_input(inputs, 1, cx)?), ("bias", float_input(inputs, 2, cx)?)];
    Ok(vec![cx.op(
        "group_norm",
        &operands,
        &[("eps", epsilon(node).into()), ("groups", build::int(groups))],
    )?])
}

/// Refuses a mean and a variance in another type than f32.
fn check_stash(node: &OnnxNode, cx: &Expansion<'_>) -> Result<()> {
    match stated(node, "stash_type").filter(|of| *of != DataType::FLOAT) {
        Some(of) => Err(cx.unsupported(format!("stash_type = {of}: a mean in another type than f32"))),
        None => Ok(()),
    }
}

fn group_norm(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_stash(node, cx)?;
    let x = float_input(inputs, 0, cx)?;
    let channels = x.dims().get(1).copied().unwrap_or(0);
    let groups = node.int("num_groups").unwrap_or(0);
    let Some(groups) = usize::try_from(groups).ok().filter(|g| *g > 0 && channels % g == 0) else {
        let rule = format!("it divides the {channels} channels");
        return Err(cx.invalid("num_groups", groups, &rule, "export the model again"));
    };
    // Before version 21 there was a scale and a bias for each group.
    let is_by_group = node.version() < 21;
    let (count, of) = if is_by_group { (groups, "groups") } else { (channels, "channels") };
    let mut params = Vec::with_capacity(2);
    for (i, name) in [(1, "scale"), (2, "bias")] {
        let values = float_input(inputs, i, cx)?;
        if values.dims() != [count] {
            let rule = format!(
                "in version {} of the operator set, it has one number for each of {count} {of}",
                node.version()
            );
            return Err(cx.invalid(name, format!("{:?}", values.dims()), &rule, "export the model again"));
        }
        params.push(if is_by_group && groups != channels {
            let column = cx.reshape(values, &[groups, 1])?;
            let spread = build::expand(cx, &column, &[groups, channels / groups])?;
            cx.reshape(&spread, &[channels])?
        } else {
            values.clone()
        });
    }
    let operands = [("x", x), ("weight", &params[0]), ("bias", &params[1])];
    let params = [("eps", epsilon(node).into()), ("groups", build::int(groups))];
    Ok(vec![cx.op("group_norm", &operands, &params)?])
}

fn local_response_norm(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let size = node.int("size").unwrap_or(0);
    let params = [
        ("size", size.into()),
        ("alpha", node.float("alpha").unwrap_or(1e-4).into()),
        ("beta", node.float("beta").unwrap_or(0.75).into()),
        ("k", node.float("bias").unwrap_or(1.0).into()),
    ];
    // For windows of an even size, ONNX takes the extra channel after the element's own, the op takes it before.
    let is_even = size % 2 == 0 && x.rank() > 1;
    let x = if is_even { build::flip(cx, x, &[1])? } else { x.clone() };
    let y = cx.op("local_response_norm", &[("x", &x)], &params)?;
    Ok(vec![if is_even { build::flip(cx, &y, &[1])? } else { y }])
}

/// The constant, or nothing if it has this value everywhere.
fn unless_all(x: Option<&Value>, value: f32) -> Option<&Value> {
    let is_neutral = |v: &&Value| match v.constant() {
        Some(c @ Constant::F32(_)) => {
            c.to_f64().is_ok_and(|list| list.iter().all(|&n| n == f64::from(value)))
        }
        _ => false,
    };
    x.filter(|v| !is_neutral(v))
}

fn layer_norm(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_stash(node, cx)?;
    layer_norm_of(node, inputs, epsilon(node), cx)
}

/// `LayerNormalization` with this epsilon.
pub(super) fn layer_norm_of(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    epsilon: f32,
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let axis = axis_of(node.int("axis").unwrap_or(-1), x.rank(), cx)?;
    let shape = &x.dims()[axis..];
    check_affine("Scale", maybe(inputs, 1), shape, cx)?;
    check_affine("B", maybe(inputs, 2), shape, cx)?;
    let scale = floats_of(unless_all(maybe(inputs, 1), 1.0), cx)?;
    let bias = floats_of(unless_all(maybe(inputs, 2), 0.0), cx)?;
    let is_whole = |v: Option<&Value>| v.is_none_or(|v| v.dims() == shape);
    let params = [("normalized_shape", build::list(shape)), ("eps", epsilon.into())];
    let mut operands = vec![("x", x.clone())];
    let is_affine = is_whole(scale) && is_whole(bias);
    if is_affine {
        for (name, value) in [("weight", scale), ("bias", bias)] {
            if let Some(value) = value {
                operands.push((name, cx.reshape(value, &[value.numel()])?));
            }
        }
    }
    let operands: Vec<(&str, &Value)> = operands.iter().map(|(name, value)| (*name, value)).collect();
    let mut y = cx.op("layer_norm", &operands, &params)?;
    if !is_affine {
        if let Some(scale) = scale {
            y = broadcast::arithmetic(cx, "mul", &y, scale)?;
        }
        if let Some(bias) = bias {
            y = broadcast::arithmetic(cx, "add", &y, bias)?;
        }
    }
    let mut results = vec![y];
    if node.has_output(1) || node.has_output(2) {
        let axes: Vec<usize> = (axis..x.rank()).collect();
        let mean = build::reduce(cx, "mean", x, &axes, true)?;
        let centred = build::binary(cx, "sub", x, &mean)?;
        let square = build::unary(cx, "square", &centred)?;
        let variance = build::reduce(cx, "mean", &square, &axes, true)?;
        let shifted = build::with_number(cx, "add_scalar", &variance, epsilon)?;
        let inverse = build::unary(cx, "rsqrt", &shifted)?;
        results.extend([mean, inverse]);
    }
    Ok(results)
}

/// Checks the sizes of a scale or a bias, also of one that changes nothing.
fn check_affine(name: &str, v: Option<&Value>, shape: &[usize], cx: &Expansion<'_>) -> Result<()> {
    match v {
        Some(v) if broadcast_dims(shape, v.dims()).is_none_or(|dims| dims != shape) => {
            let rule = format!("it broadcasts to {shape:?}, the normalized axes");
            Err(cx.invalid(name, format!("{:?}", v.dims()), &rule, "export the model again"))
        }
        _ => Ok(()),
    }
}

fn floats_of<'a>(x: Option<&'a Value>, cx: &Expansion<'_>) -> Result<Option<&'a Value>> {
    x.map(|v| floats(v, cx)).transpose()
}

fn lp_norm(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let axis = axis_of(node.int("axis").unwrap_or(-1), x.rank(), cx)?;
    let norm = match node.int("p").unwrap_or(2) {
        1 => {
            let size = build::unary(cx, "abs", x)?;
            build::reduce(cx, "sum", &size, &[axis], true)?
        }
        2 => {
            let square = build::unary(cx, "square", x)?;
            let sum = build::reduce(cx, "sum", &square, &[axis], true)?;
            build::unary(cx, "sqrt", &sum)?
        }
        p => return Err(cx.invalid("p", p, "it is 1 or 2", "export the model again")),
    };
    // Where the norm is 0 the result is 0: there every element is 0, and so is its quotient by 1.
    let is_zero = build::with_number(cx, "eq_scalar", &norm, 0.0)?;
    let one = build::filled(1.0, x.rank())?;
    let norm = cx.op("where", &[("condition", &is_zero), ("a", &one), ("b", &norm)], &[])?;
    Ok(vec![build::binary(cx, "div", x, &norm)?])
}

fn mean_variance_norm(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    cx: &mut Expansion<'_>,
) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let axes = axes_of(node.ints("axes").unwrap_or(&[0, 2, 3]), x.rank(), cx)?;
    let mean = build::reduce(cx, "mean", x, &axes, true)?;
    let centred = build::binary(cx, "sub", x, &mean)?;
    let square = build::unary(cx, "square", &centred)?;
    let variance = build::reduce(cx, "mean", &square, &axes, true)?;
    let deviation = build::unary(cx, "sqrt", &variance)?;
    let deviation = build::with_number(cx, "add_scalar", &deviation, 1e-9)?;
    Ok(vec![build::binary(cx, "div", &centred, &deviation)?])
}

fn rms_norm(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_stash(node, cx)?;
    let x = float_input(inputs, 0, cx)?;
    let axis = axis_of(node.int("axis").unwrap_or(-1), x.rank(), cx)?;
    let axes: Vec<usize> = (axis..x.rank()).collect();
    check_affine("scale", maybe(inputs, 1), &x.dims()[axis..], cx)?;
    let square = build::unary(cx, "square", x)?;
    let mean = build::reduce(cx, "mean", &square, &axes, true)?;
    let shifted = build::with_number(cx, "add_scalar", &mean, epsilon(node))?;
    let inverse = build::unary(cx, "rsqrt", &shifted)?;
    let y = build::binary(cx, "mul", x, &inverse)?;
    match unless_all(maybe(inputs, 1), 1.0) {
        Some(scale) if scale.element_type() == ElementType::F32 => {
            Ok(vec![broadcast::arithmetic(cx, "mul", &y, scale)?])
        }
        Some(_) => Err(cx.unsupported("a scale that is not f32")),
        None => Ok(vec![y]),
    }
}
