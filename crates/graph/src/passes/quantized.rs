//! `quantize` and `dequantize` after a convolution of integers become its post-ops; those around a sum or a product become one node with
//! it.

use blocktensor::ops::{Activation, PostOp, PostOps};
use blocktensor::{ParamValue, StridedTensor, memory};

use super::integers::{Pair, integers_of, is_byte, pair_of};
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
    if is_residual(network, i, links) || is_combined(network, i, links) {
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

/// Whether only products and average pools use what the node computes, all of which [`combine`] makes nodes over the integers.
fn is_combined(network: &Network, i: usize, links: &Links) -> bool {
    let result = network.nodes[i].outputs[0];
    let mut readers = network.nodes[i + 1..].iter().filter(|node| node.inputs.contains(&result)).peekable();
    let is_quantized = |id: TensorId| {
        let reader = network.nodes[i + 1..].iter().find(|node| node.inputs.contains(&id));
        links.is_used_once(id) && reader.is_some_and(|node| pair_of(network, node, "quantize").is_some())
    };
    readers.peek().is_some()
        && network.outputs.iter().all(|(_, id)| *id != result)
        && readers.all(|node| {
            (node.op.op() == "mul" || windows(network, node).is_some()) && is_quantized(node.outputs[0])
        })
}

/// Sums, products and means of windows of numbers that were dequantised, and that are quantised again, become one node over the integers.
/// Returns how many.
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
        "add" | "add_channel" => "quantized_add",
        "mul" | "mul_channel" => "quantized_mul",
        _ => return Ok(pooled(network, i, at, dst, links)?.then_some(at)),
    };
    let Some([a, b]) = operands(network, at)? else { return Ok(None) };
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

/// The operands of a sum or a product. Constant numbers for the channels become a tensor that is broadcast.
fn operands(network: &mut Network, at: usize) -> Result<Option<[TensorId; 2]>> {
    let node = &network.nodes[at];
    let [a, b] = node.inputs[..] else { return Ok(None) };
    if !node.op.op().ends_with("_channel") {
        return Ok(Some([a, b]));
    }
    let Some(numbers) = network.tensor(b).constant() else { return Ok(None) };
    let mut dims = vec![1; network.tensor(a).dims().len()];
    let Some(channels) = dims.get_mut(1) else { return Ok(None) };
    *channels = numbers.numel();
    let numbers = numbers.reshape(&dims)?;
    Ok(Some([a, network.add_constant(numbers)]))
}

/// Makes a `quantize` node what it and the average pool before it compute, where all windows are of one size. Returns whether it did.
fn pooled(network: &mut Network, i: usize, at: usize, dst: Pair, links: &Links) -> Result<bool> {
    let node = &network.nodes[at];
    let Some(mut params) = windows(network, node) else { return Ok(false) };
    let Some((x, pair)) = integers_of(network, node.inputs[0], links) else { return Ok(false) };
    params.extend([
        ("dtype", network.tensor(network.nodes[i].outputs[0]).dtype.name().into()),
        ("x_scale", f64::from(pair.scale).into()),
        ("x_zero_point", i64::from(pair.zero_point).into()),
        ("dst_scale", f64::from(dst.scale).into()),
        ("dst_zero_point", i64::from(dst.zero_point).into()),
    ]);
    network.nodes[i].rewrite("quantized_avg_pool", &[("x", x)], &params)?;
    Ok(true)
}

/// The windows of an average pool, as `avg_pool2d` states them; `None` for other nodes, and where their sizes differ.
fn windows(network: &Network, node: &Node) -> Option<Vec<(&'static str, Param)>> {
    let bound = node.op.bound()?;
    let sizes = |id: TensorId| network.tensor(id).dims().get(2..);
    match node.op.op() {
        "avg_pool1d" | "avg_pool2d" | "avg_pool3d" => {
            Some(bound.params().map(|(name, value)| (name, value.into())).collect())
        }
        op if op == "global_avg_pool" || op.starts_with("adaptive_avg_pool") => {
            let (from, to) = (sizes(node.inputs[0])?, sizes(node.outputs[0])?);
            let divides =
                |(from, to): (&usize, &usize)| (*to > 0 && from % to == 0).then(|| (from / to) as i64);
            let kernel: Vec<i64> = from.iter().zip(to).map(divides).collect::<Option<_>>()?;
            Some(vec![("kernel", kernel.into())])
        }
        _ => None,
    }
}

/// Whether the node is an average pool that [`combine`] takes, once its result is quantised.
pub(super) fn averages_integers(network: &Network, node: &Node, links: &Links) -> bool {
    windows(network, node).is_some() && integers_of(network, node.inputs[0], links).is_some()
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
