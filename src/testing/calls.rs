//! How a case becomes a call: by the op's schema if the names are the same, else by one function per family.

use super::case::{Call, Case};
use crate::op::Value;
use crate::op::schema::ArgKind;
use crate::registry;

/// The call for a case, or `None` for an unknown op.
pub fn call_of(c: &Case<'_>) -> Option<Call> {
    [by_schema, binary, convolutions, upsample_nearest, norms, prelu, shapes, products]
        .into_iter()
        .find_map(|family| family(c))
}

/// The call for a case whose tensors and parameters have the names that they have in the op's schema.
fn by_schema(c: &Case<'_>) -> Option<Call> {
    let schema = registry::op(&c.op)?.schema();
    let is_known = |name: &String| schema.args.iter().any(|spec| spec.name == name.as_str());
    if !c.operands().all(is_known) || !c.params.as_object()?.keys().all(is_known) {
        return None;
    }
    let mut args = Vec::new();
    for spec in schema.args {
        let name = spec.name;
        let value = match spec.kind {
            kind if kind.is_tensor() && !c.has(name) => None,
            kind if !kind.is_tensor() && c.params.get(name).is_none() => None,
            ArgKind::Data | ArgKind::OptionalData => Some(c.data(name)),
            ArgKind::Param | ArgKind::OptionalParam => Some(c.param(name)),
            ArgKind::Plain => Some(c.strided(name)),
            ArgKind::Int(_) => Some(c.int(name)),
            ArgKind::Ints(_) => Some(c.ints(name)),
            ArgKind::Float(_) => Some(c.float(name)),
            ArgKind::Bool(_) => Some(c.flag(name)),
            ArgKind::Str(_) => Some(c.word(name)),
            ArgKind::DataList | ArgKind::ParamList => return None,
        };
        match value {
            Some(value) => args.push((name, value)),
            // An argument that the case leaves out has its default. If it must be given, the call is another one.
            None if spec.kind.is_required() => return None,
            None => {}
        }
    }
    Some((schema.name, args))
}

/// Ops of two data tensors: `a` is the case's `x`, `b` is its `z`.
fn binary(c: &Case<'_>) -> Option<Call> {
    let schema = registry::op(&c.op)?.schema();
    let is_data = |i: usize, name| schema.args[i].name == name && schema.args[i].kind == ArgKind::Data;
    let has_defaults = schema.args.iter().skip(2).all(|arg| !arg.kind.is_required());
    let is_binary = schema.args.len() >= 2 && is_data(0, "a") && is_data(1, "b") && has_defaults;
    (is_binary && c.has("x") && c.has("z"))
        .then(|| (schema.name, vec![("a", c.data("x")), ("b", c.data("z"))]))
}

fn convolutions(c: &Case<'_>) -> Option<Call> {
    let name = match (c.op.as_str(), c.shapes.get("x")?.len()) {
        ("conv1d", 3) => "conv1d",
        ("conv2d", 4) => "conv2d",
        ("conv3d", 5) => "conv3d",
        _ => return None,
    };
    let mut args = vec![
        ("x", c.data("x")),
        ("weights", c.weights()),
        ("stride", c.ints("stride")),
        ("padding", c.ints("padding")),
        ("dilation", c.ints("dilation")),
        ("groups", c.int("groups")),
    ];
    if c.has("b") {
        args.push(("bias", c.param("b")));
    }
    Some((name, args))
}

/// Cases of this op name a parameter that it does not have.
fn upsample_nearest(c: &Case<'_>) -> Option<Call> {
    (c.op == "upsample_nearest")
        .then(|| ("upsample_nearest", vec![("x", c.data("x")), ("output", c.ints("output"))]))
}

/// Norms, softmax, reductions.
fn norms(c: &Case<'_>) -> Option<Call> {
    Some(match c.op.as_str() {
        "batch_norm_infer" => (
            "batch_norm",
            vec![
                ("x", c.data("x")),
                ("mean", c.param("mean")),
                ("var", c.param("var")),
                ("weight", c.param("w")),
                ("bias", c.param("b")),
                ("eps", c.float("eps")),
            ],
        ),
        "batch_norm_train" => (
            "batch_norm_train",
            vec![
                ("x", c.data("x")),
                ("running_mean", c.param("running_mean")),
                ("running_var", c.param("running_var")),
                ("weight", c.param("w")),
                ("bias", c.param("b")),
                ("momentum", c.float("momentum")),
                ("eps", c.float("eps")),
            ],
        ),
        "group_norm" | "layer_norm" => {
            let (op, arg) = match c.op.as_str() {
                "group_norm" => ("group_norm", ("groups", c.int("groups"))),
                _ => ("layer_norm", ("normalized_shape", c.ints("normalized_shape"))),
            };
            let params = [("weight", c.param("w")), ("bias", c.param("b")), ("eps", c.float("eps"))];
            (op, [("x", c.data("x")), arg].into_iter().chain(params).collect())
        }
        "softmax" => ("softmax", vec![("x", c.data("x")), ("axis", c.int("dim"))]),
        "mean" | "sum" | "amax" => {
            let op = ["mean", "sum", "amax"].into_iter().find(|&op| op == c.op)?;
            (op, vec![("x", c.data("x")), ("axes", c.ints("dims")), ("keepdim", c.flag("keepdim"))])
        }
        "log_softmax" => ("log_softmax", vec![("x", c.data("x")), ("axis", c.int("dim"))]),
        _ => return None,
    })
}

fn prelu(c: &Case<'_>) -> Option<Call> {
    (c.op == "prelu").then(|| ("prelu", vec![("x", c.data("x")), ("weights", c.param("w"))]))
}

/// Cat, chunk, pad.
fn shapes(c: &Case<'_>) -> Option<Call> {
    Some(match c.op.as_str() {
        "cat" | "stack" => {
            let names = c.shapes.keys().filter(|n| n.starts_with('x'));
            let tensors = names.map(|n| c.tensor(n)).collect();
            let name = registry::op(&c.op)?.schema().name;
            (name, vec![("tensors", Value::Tensors(tensors)), ("axis", c.int("dim"))])
        }
        "chunk" => ("chunk", vec![("x", c.data("x")), ("chunks", c.int("chunks")), ("axis", c.int("dim"))]),
        "pad" => (
            "pad",
            vec![
                ("x", c.data("x")),
                ("padding", c.ints("left_right_top_bottom")),
                ("mode", c.word("mode")),
                ("value", c.float("value")),
            ],
        ),
        _ => return None,
    })
}

/// Linear, transposed convolution.
fn products(c: &Case<'_>) -> Option<Call> {
    Some(match c.op.as_str() {
        "linear" => ("linear", vec![("x", c.data("x")), ("weights", c.data("w")), ("bias", c.param("b"))]),
        "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d" => {
            let mut args = vec![
                ("x", c.data("x")),
                ("weights", c.weights()),
                ("stride", c.ints("stride")),
                ("padding", c.ints("padding")),
                ("dilation", c.ints("dilation")),
                ("groups", c.int("groups")),
                ("output_padding", c.ints("output_padding")),
            ];
            if c.has("b") {
                args.push(("bias", c.param("b")));
            }
            (registry::op(&c.op)?.schema().name, args)
        }
        _ => return None,
    })
}
