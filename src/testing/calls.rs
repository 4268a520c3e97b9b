//! How the cases' ops are called: one function per family.

use super::case::{Call, Case};
use crate::op::Value;

/// The call for a case, or `None` for an unknown op.
pub fn call_of(c: &Case<'_>) -> Option<Call> {
    [convolutions(c), pools(c), grid_sample(c), norms(c), elementwise(c), shapes(c), products(c)]
        .into_iter()
        .flatten()
        .next()
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
        ("weights", c.weights(false)),
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

/// Pooling and resampling.
fn pools(c: &Case<'_>) -> Option<Call> {
    let (name, ints, flags): (_, &[&'static str], &[&'static str]) = match c.op.as_str() {
        "max_pool1d" => ("max_pool1d", &["kernel", "stride", "padding", "dilation"], &["ceil_mode"]),
        "max_pool2d" => ("max_pool2d", &["kernel", "stride", "padding", "dilation"], &["ceil_mode"]),
        "max_pool3d" => ("max_pool3d", &["kernel", "stride", "padding", "dilation"], &["ceil_mode"]),
        "avg_pool1d" => ("avg_pool1d", &["kernel", "stride", "padding"], &["ceil_mode", "count_include_pad"]),
        "avg_pool2d" => ("avg_pool2d", &["kernel", "stride", "padding"], &["ceil_mode", "count_include_pad"]),
        "avg_pool3d" => ("avg_pool3d", &["kernel", "stride", "padding"], &["ceil_mode", "count_include_pad"]),
        "adaptive_avg_pool2d" => ("adaptive_avg_pool2d", &["output"], &[]),
        "upsample_nearest" => ("upsample_nearest", &["output"], &[]),
        "upsample_bilinear" => ("upsample_bilinear", &["output"], &["align_corners"]),
        _ => return None,
    };
    let mut args = vec![("x", c.data("x"))];
    args.extend(ints.iter().map(|&n| (n, c.ints(n))));
    args.extend(flags.iter().map(|&n| (n, c.flag(n))));
    Some((name, args))
}

fn grid_sample(c: &Case<'_>) -> Option<Call> {
    let args = || {
        vec![
            ("x", c.data("x")),
            ("grid", c.strided("grid")),
            ("mode", c.word("mode")),
            ("padding_mode", c.word("padding_mode")),
            ("align_corners", c.flag("align_corners")),
        ]
    };
    (c.op == "grid_sample").then(|| ("grid_sample", args()))
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
        "instance_norm" => ("instance_norm", vec![("x", c.data("x")), ("eps", c.float("eps"))]),
        "local_response_norm" => (
            "local_response_norm",
            vec![
                ("x", c.data("x")),
                ("size", c.int("size")),
                ("alpha", c.float("alpha")),
                ("beta", c.float("beta")),
                ("k", c.float("k")),
            ],
        ),
        "softmax" => ("softmax", vec![("x", c.data("x")), ("axis", c.int("dim"))]),
        "mean" | "sum" | "amax" => {
            let op = ["mean", "sum", "amax"].into_iter().find(|&op| op == c.op)?;
            (op, vec![("x", c.data("x")), ("axes", c.ints("dims")), ("keepdim", c.flag("keepdim"))])
        }
        "log_softmax" => ("log_softmax", vec![("x", c.data("x")), ("axis", c.int("dim"))]),
        _ => return None,
    })
}

/// Unary and binary.
fn elementwise(c: &Case<'_>) -> Option<Call> {
    const UNARY: &[&str] = &[
        "relu",
        "relu6",
        "leaky_relu",
        "elu",
        "gelu",
        "gelu_tanh",
        "silu",
        "mish",
        "sigmoid",
        "hardsigmoid",
        "hardswish",
        "tanh",
        "hardtanh",
        "softplus",
        "exp",
        "log",
        "sqrt",
        "abs",
        "neg",
        "square",
        "reciprocal",
        "round",
    ];
    const BINARY: &[&str] = &["add", "sub", "mul", "div", "maximum", "minimum", "pow", "eq", "ge"];
    let op = c.op.as_str();
    if let Some(&name) = UNARY.iter().find(|&&n| n == op) {
        return Some((name, vec![("x", c.data("x"))]));
    }
    if let Some(&name) = BINARY.iter().find(|&&n| n == op) {
        return Some((name, vec![("a", c.data("x")), ("b", c.data("z"))]));
    }
    Some(match op {
        "clamp" => ("clamp", vec![("x", c.data("x")), ("min", c.float("min")), ("max", c.float("max"))]),
        "prelu" => ("prelu", vec![("x", c.data("x")), ("weights", c.param("w"))]),
        _ => return None,
    })
}

/// Cat, chunk, pad, shuffles.
fn shapes(c: &Case<'_>) -> Option<Call> {
    Some(match c.op.as_str() {
        "cat" => {
            let names = c.shapes.keys().filter(|n| n.starts_with('x'));
            let tensors = names.map(|n| c.tensor(n)).collect();
            ("cat", vec![("tensors", Value::Tensors(tensors)), ("axis", c.int("dim"))])
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
        "pixel_shuffle" => ("pixel_shuffle", vec![("x", c.data("x")), ("factor", c.int("factor"))]),
        "channel_shuffle" => ("channel_shuffle", vec![("x", c.data("x")), ("groups", c.int("groups"))]),
        _ => return None,
    })
}

/// Linear, matmul, transposed convolution.
fn products(c: &Case<'_>) -> Option<Call> {
    Some(match c.op.as_str() {
        "linear" => ("linear", vec![("x", c.data("x")), ("weights", c.data("w")), ("bias", c.param("b"))]),
        "matmul" => ("matmul", vec![("a", c.data("x")), ("b", c.data("z"))]),
        "conv_transpose2d" => {
            let mut args = vec![
                ("x", c.data("x")),
                ("weights", c.weights(true)),
                ("stride", c.ints("stride")),
                ("padding", c.ints("padding")),
                ("dilation", c.ints("dilation")),
                ("groups", c.int("groups")),
                ("output_padding", c.ints("output_padding")),
            ];
            if c.has("b") {
                args.push(("bias", c.param("b")));
            }
            ("conv_transpose2d", args)
        }
        _ => return None,
    })
}
