//! `quantize` and `dequantize` after a convolution of integers become its post-ops; those around a sum or a product become one node with
//! it.

use blocktensor::ops::{Activation, PostOp, PostOps};
use blocktensor::{ParamValue, StridedTensor, memory};

use super::integers::{integers_of, is_byte, pair_of};
use super::post_ops::{fusable, fuse_words};
use crate::Param;
use crate::constant::CONSTANT;
use crate::error::Result;
use crate::network::{Links, Network, Node, TensorId};

/// The convolution of integers that computes this tensor, if it takes this many more post-ops.
fn fusable_integers(network: &Network, x: TensorId, more: usize, links: &Links) -> Option<usize> {
    let conv = fusable(network, x, more, links)?;
    is_of_integers(network, conv).then_some(conv)
}

fn is_of_integers(network: &Network, conv: usize) -> bool {
    is_byte(network.tensor(network.nodes[conv].inputs[0]).dtype)
}

/// A convolution's post-ops.
fn list_of(node: &Node) -> Result<Vec<PostOp>> {
    match node.op.param("post_ops") {
        Some(ParamValue::Str(text)) => Ok(text.parse::<PostOps>()?.to_vec()),
        _ => Ok(vec![]),
    }
}

fn text(list: &[PostOp]) -> String {
    list.iter().fold(PostOps::new(), |all, &op| all.then(op)).to_string()
}

/// The post-op of an addition, and its operand: of a convolution of integers the integers themselves, where they were dequantised.
pub(super) fn residual(network: &Network, conv: usize, other: TensorId, links: &Links) -> (String, TensorId) {
    match integers_of(network, other, links).filter(|_| is_of_integers(network, conv)) {
        Some((integers, pair)) => {
            let (dtype, scale, zero_point) = (network.tensor(integers).dtype, pair.scale, pair.zero_point);
            (text(&[PostOp::QuantizedResidual { dtype, scale, zero_point }]), integers)
        }
        None => (text(&[PostOp::Residual]), other),
    }
}

/// Makes `quantize` the last post-op of the convolution before it. Returns the node that is no longer needed.
pub(super) fn fuse_quantize(network: &mut Network, i: usize, links: &Links) -> Result<Option<usize>> {
    let node = &network.nodes[i];
    let Some(pair) = pair_of(network, node, "quantize") else { return Ok(None) };
    let (x, dtype) = (node.inputs[0], network.tensor(node.outputs[0]).dtype);
    let Some(conv) = fusable_integers(network, x, 1, links) else { return Ok(None) };
    let factor = 1.0 / f64::from(pair.scale);
    let word = text(&[PostOp::Quantize { dtype, zero_point: pair.zero_point }]);
    if scale_by(network, conv, factor)? {
        return fuse_words(network, i, &[&word], vec![], links);
    }
    if fusable_integers(network, x, 2, links).is_none() {
        return Ok(None);
    }
    let numbers = every_channel(network, i, factor)?;
    fuse_words(network, i, &["mul_channel", &word], vec![numbers], links)
}

/// A convolution that is quantised and dequantised again rounds in between, and goes on with numbers.
pub(super) fn fuse_dequantize(network: &mut Network, i: usize, links: &Links) -> Result<Option<usize>> {
    let Some(pair) = pair_of(network, &network.nodes[i], "dequantize") else { return Ok(None) };
    let Some(conv) = fusable_integers(network, network.nodes[i].inputs[0], 1, links) else { return Ok(None) };
    if is_residual(network, i, links) {
        return Ok(None);
    }
    let mut list = list_of(&network.nodes[conv])?;
    let Some(last) = list.last_mut() else { return Ok(None) };
    match *last {
        PostOp::Quantize { dtype, zero_point } if zero_point == pair.zero_point => {
            *last = PostOp::Round { dtype, zero_point };
        }
        _ => return Ok(None),
    }
    network.nodes[conv].set_params(&[("post_ops", Param::Str(text(&list)))])?;
    let numbers = every_channel(network, i, pair.scale.into())?;
    fuse_words(network, i, &["mul_channel"], vec![numbers], links)
}

/// Whether only an addition uses what the node computes, to a convolution of integers that takes it as a residual: better as integers.
fn is_residual(network: &Network, i: usize, links: &Links) -> bool {
    let result = network.nodes[i].outputs[0];
    let user = network.nodes[i + 1..].iter().find(|node| node.inputs.contains(&result));
    let Some(&[a, b]) = user.filter(|node| node.op.op() == "add").map(|node| &node.inputs[..]) else {
        return false;
    };
    let other = if a == result { b } else { a };
    links.is_used_once(result)
        && a != b
        && network.tensor(a).dims() == network.tensor(b).dims()
        && fusable_integers(network, other, 1, links)
            .is_some_and(|conv| !network.nodes[conv].op.inputs().contains(&"residual"))
}

/// Sums and products of numbers that were dequantised, and that are quantised again, become one node over the integers. Returns how many.
pub(super) fn combine(network: &mut Network) -> Result<usize> {
    let links = Links::of(network);
    let mut gone = Vec::new();
    for i in 0..network.nodes.len() {
        gone.extend(combined(network, i, &links)?);
    }
    network.remove_nodes(&gone);
    Ok(gone.len())
}

/// Makes a `quantize` node what it and the node before it compute. Returns the node that is no longer needed.
fn combined(network: &mut Network, i: usize, links: &Links) -> Result<Option<usize>> {
    let node = &network.nodes[i];
    let Some(dst) = pair_of(network, node, "quantize") else { return Ok(None) };
    let (x, dtype) = (node.inputs[0], network.tensor(node.outputs[0]).dtype);
    let Some(at) = links.producer(x).filter(|_| links.is_used_once(x)) else { return Ok(None) };
    let op = match network.nodes[at].op.op() {
        "add" => "quantized_add",
        "mul" => "quantized_mul",
        _ => return Ok(None),
    };
    let [a, b] = network.nodes[at].inputs[..] else { return Ok(None) };
    let of = |id: TensorId| integers_of(network, id, links);
    let (a, b) = match (of(a), of(b)) {
        (Some(a), Some(b)) => (a, (b.0, Some(b.1))),
        (Some(a), None) => (a, (b, None)),
        (None, Some(b)) => (b, (a, None)),
        (None, None) => return Ok(None),
    };
    let (b, b_pair) = b;
    let pairs = [("a", Some(a.1)), ("b", b_pair), ("dst", Some(dst))];
    let mut params: Vec<(String, Param)> = vec![("dtype".into(), dtype.name().into())];
    for (name, pair) in pairs.into_iter().filter_map(|(name, pair)| Some((name, pair?))) {
        params.push((format!("{name}_scale"), f64::from(pair.scale).into()));
        params.push((format!("{name}_zero_point"), i64::from(pair.zero_point).into()));
    }
    let params: Vec<(&str, Param)> = params.iter().map(|(name, value)| (&name[..], value.clone())).collect();
    network.nodes[i].rewrite(op, &[("a", a.0), ("b", b)], &params)?;
    Ok(Some(at))
}

/// A number for each channel of a node's result.
fn every_channel(network: &Network, i: usize, number: f64) -> Result<Vec<f32>> {
    let channels = network.tensor(network.nodes[i].outputs[0]).dims().get(1).copied().unwrap_or(1);
    Ok(memory::try_filled(CONSTANT, channels, number as f32)?)
}

/// Multiplies what a convolution's post-ops compute by a positive number, without another post-op. `false` if they cannot take it.
fn scale_by(network: &mut Network, conv: usize, factor: f64) -> Result<bool> {
    let mut list = list_of(&network.nodes[conv])?;
    let names = network.nodes[conv].op.inputs().to_vec();
    // The operands of the post-ops, the last ones first.
    let mut operands =
        names.iter().enumerate().rev().filter(|(_, name)| **name == "channel").map(|(at, _)| at);
    let times = |number: f32| (f64::from(number) * factor) as f32;
    let (mut scaled, mut takes) = (Vec::new(), false);
    for op in list.iter_mut().rev() {
        match op {
            PostOp::Activation(Activation::Relu | Activation::LeakyRelu(_)) => {}
            PostOp::Prelu => drop(operands.next()),
            PostOp::Activation(Activation::Clip(low, high)) => (*low, *high) = (times(*low), times(*high)),
            PostOp::QuantizedResidual { scale, .. } => *scale = times(*scale),
            PostOp::AddChannel => scaled.extend(operands.next()),
            PostOp::MulChannel => {
                scaled.extend(operands.next());
                takes = true;
                break;
            }
            _ => return Ok(false),
        }
    }
    let is_possible = |op: &PostOp| match *op {
        PostOp::QuantizedResidual { scale, .. } => scale > 0.0 && scale.is_finite(),
        _ => true,
    };
    if !takes || !list.iter().all(is_possible) {
        return Ok(false);
    }
    let mut inputs = network.nodes[conv].inputs.clone();
    for at in scaled {
        let Some(numbers) = network.tensor(inputs[at]).constant() else { return Ok(false) };
        let numbers = memory::try_collect(CONSTANT, numbers.to_vec::<f32>()?.into_iter().map(times))?;
        if numbers.iter().any(|v| !v.is_finite()) {
            return Ok(false);
        }
        inputs[at] = network.add_constant(StridedTensor::from_slice(&numbers, &[numbers.len()])?);
    }
    network.nodes[conv].set_params(&[("post_ops", Param::Str(text(&list)))])?;
    network.nodes[conv].inputs = inputs;
    Ok(true)
}
