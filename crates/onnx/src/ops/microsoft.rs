//! Ops of `com.microsoft` that ONNX Runtime writes into networks for images when it saves a model that it has optimised, and those that
//! its quantiser writes in the place of ONNX's (`UseQDQContribOps`).

use blocktensor_graph::{Expansion, Result, Value};

use super::args::{float_input, floats, maybe};
use super::conv::{WINDOW, conv};
use super::elementwise::hard_sigmoid_of;
use super::linear::{GEMM, gemm, product, scaled};
use super::norm::layer_norm_of;
use super::quantize::{dequantize_linear, quantize_linear};
use super::{Attributes, Op, broadcast, build, joined, op};
use crate::node::{Kind, OnnxNode};

/// The domain of these ops.
pub(crate) const DOMAIN: &str = "com.microsoft";

const FUSED_CONV: Attributes =
    &joined::<8>(WINDOW, &[("activation", Kind::Str), ("activation_params", Kind::Floats)]);
const FUSED_GEMM: Attributes = &joined::<8>(
    GEMM,
    &[
        ("activation", Kind::Str),
        ("activation_alpha", Kind::Float),
        ("activation_beta", Kind::Float),
        ("activation_gamma", Kind::Float),
    ],
);

const FUSED_MATMUL: Attributes = &[
    ("alpha", Kind::Float),
    ("transA", Kind::Int),
    ("transB", Kind::Int),
    ("transBatchA", Kind::Int),
    ("transBatchB", Kind::Int),
];

pub(super) const OPS: &[Op] = &[
    op("DequantizeLinear", dequantize, &[("axis", Kind::Int)]),
    op("FusedConv", fused_conv, FUSED_CONV),
    op("FusedGemm", fused_gemm, FUSED_GEMM),
    op("FusedMatMul", fused_matmul, FUSED_MATMUL),
    op("Gelu", gelu, &[]),
    op("QuantizeLinear", quantize, &[("axis", Kind::Int)]),
    op("QuickGelu", quick_gelu, &[("alpha", Kind::Float)]),
    op("SkipLayerNormalization", skip_layer_norm, &[("epsilon", Kind::Float)]),
];

/// Refuses inputs that the op does not have: they would be ignored.
pub(super) fn check_count(inputs: &[Option<Value>], most: usize, cx: &Expansion<'_>) -> Result<()> {
    if inputs.len() <= most {
        return Ok(());
    }
    let rule = format!("this op has at most {most}");
    Err(cx.invalid("number of inputs", inputs.len(), rule, "save the model again"))
}

fn quantize(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_count(inputs, 3, cx)?;
    quantize_linear(node, inputs, cx)
}

fn dequantize(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_count(inputs, 3, cx)?;
    dequantize_linear(node, inputs, cx)
}

/// `Conv`, then a sum with a fourth input, then an activation.
fn fused_conv(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_count(inputs, 4, cx)?;
    let mut y = conv(node, inputs, cx)?.swap_remove(0);
    if let Some(z) = maybe(inputs, 3) {
        y = broadcast::arithmetic(cx, "add", &y, floats(z, cx)?)?;
    }
    let params = node.floats("activation_params").unwrap_or_default();
    activated(node, &y, params, cx)
}

fn fused_gemm(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_count(inputs, 3, cx)?;
    let y = gemm(node, inputs, cx)?.swap_remove(0);
    let params = ["activation_alpha", "activation_beta", "activation_gamma"].map(|name| node.float(name));
    let given: Vec<f32> = params.iter().map_while(|number| *number).collect();
    // A number without the one before it would be taken for that.
    if given.len() < params.iter().flatten().count() {
        let name = node.str("activation").unwrap_or_default();
        return Err(cx.unsupported(format!("activation = {name:?} with the numbers {params:?}")));
    }
    activated(node, &y, &given, cx)
}

/// `alpha * A B`, each of them transposed first if the node says so: `transBatchA` puts the first axis before the last one, and `transA`
/// exchanges the last two after that.
fn fused_matmul(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_count(inputs, 2, cx)?;
    let mut operands = [float_input(inputs, 0, cx)?.clone(), float_input(inputs, 1, cx)?.clone()];
    let is_set = |name: &str| node.int(name).unwrap_or(0) != 0;
    for (x, (batch, last)) in operands.iter_mut().zip([("transBatchA", "transA"), ("transBatchB", "transB")])
    {
        let rank = x.rank();
        if rank < 2 {
            continue;
        }
        let mut axes: Vec<usize> = (0..rank).collect();
        if is_set(batch) {
            axes[..rank - 1].rotate_left(1);
        }
        if is_set(last) {
            axes.swap(rank - 2, rank - 1);
        }
        if !axes.is_sorted() {
            *x = build::permute(cx, x, &axes)?;
        }
    }
    let [a, b] = operands;
    let alpha = node.float("alpha").unwrap_or(1.0);
    // The product of a query and keys is larger than the query. Constants are scaled once.
    let (a, b) = match b.constant() {
        Some(_) => (a, scaled(cx, &b, alpha)?),
        None => (scaled(cx, &a, alpha)?, b),
    };
    Ok(vec![product(&a, &b, cx)?])
}

/// `LayerNormalization` of the sum of an input, a second one and a bias. The fourth output is the sum.
fn skip_layer_norm(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_count(inputs, 5, cx)?;
    let mut sum = broadcast::arithmetic(cx, "add", float_input(inputs, 0, cx)?, float_input(inputs, 1, cx)?)?;
    if let Some(bias) = maybe(inputs, 4) {
        sum = broadcast::arithmetic(cx, "add", &sum, floats(bias, cx)?)?;
    }
    let epsilon = node.float("epsilon").unwrap_or(1e-12);
    let given = [Some(sum.clone()), maybe(inputs, 2).cloned(), maybe(inputs, 3).cloned()];
    let mut results = layer_norm_of(node, &given, epsilon, cx)?;
    // Places of outputs that the node does not name.
    results.resize(3, sum.clone());
    results.push(sum);
    Ok(results)
}

/// The activation that a node names, with the numbers that it has.
fn activated(node: &OnnxNode, x: &Value, params: &[f32], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let y = match (node.str("activation"), params) {
        (None | Some(""), []) => x.clone(),
        (Some("Relu"), []) => build::unary(cx, "relu", x)?,
        (Some("Sigmoid"), []) => build::unary(cx, "sigmoid", x)?,
        (Some("Tanh"), []) => build::unary(cx, "tanh", x)?,
        (Some("LeakyRelu"), &[slope]) => cx.op("leaky_relu", &[("x", x)], &[("slope", slope.into())])?,
        (Some("Clip"), &[min, max]) => build::clamp(cx, x, min, max)?,
        (Some("HardSigmoid"), &[alpha, beta]) => hard_sigmoid_of(cx, x, alpha, beta)?,
        (name, params) => {
            let name = name.unwrap_or_default();
            return Err(cx.unsupported(format!("activation = {name:?} with the numbers {params:?}")));
        }
    };
    Ok(vec![y])
}

fn gelu(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_count(inputs, 1, cx)?;
    Ok(vec![build::unary(cx, "gelu", float_input(inputs, 0, cx)?)?])
}

/// `x * sigmoid(alpha * x)`.
fn quick_gelu(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    check_count(inputs, 1, cx)?;
    let x = float_input(inputs, 0, cx)?;
    let alpha = node.float("alpha").unwrap_or(1.702);
    if alpha == 1.0 {
        return Ok(vec![build::unary(cx, "silu", x)?]);
    }
    let scaled = build::with_number(cx, "mul_scalar", x, alpha)?;
    let gate = build::unary(cx, "sigmoid", &scaled)?;
    Ok(vec![build::binary(cx, "mul", x, &gate)?])
}
