//! Batch norms and per-channel numbers go into the weights and the bias of the layer before them.

use blocktensor::{ParamValue, StridedTensor, memory};

use crate::constant::CONSTANT;
use crate::error::{Error, Result};
use crate::network::{Links, Network, Node, TensorId};

/// Returns how many nodes were folded.
pub(super) fn run(network: &mut Network) -> Result<usize> {
    let mut links = Links::of(network);
    let mut gone = Vec::new();
    for i in 0..network.nodes.len() {
        if let Some(layer) = fold(network, &links, i)? {
            links.moved(&network.nodes[layer].outputs, layer);
            gone.push(i);
        }
    }
    network.remove_nodes(&gone);
    Ok(gone.len())
}

/// Result = layer * scale + shift, for each output channel.
pub(super) struct Affine {
    pub(super) scale: Vec<f64>,
    pub(super) shift: Vec<f64>,
}

/// Folds a node into the layer before it. Returns the layer, which computes the node's result now.
fn fold(network: &mut Network, links: &Links, i: usize) -> Result<Option<usize>> {
    // The constant of an addition may come first.
    let computed = |id: &&TensorId| network.tensor(**id).constant.is_none();
    let Some(&x) = network.nodes[i].inputs.iter().find(computed) else { return Ok(None) };
    let Some(layer) = links.producer(x) else { return Ok(None) };
    let Some(weights_at) = layer_weights(network, &network.nodes[layer]) else { return Ok(None) };
    if !links.is_used_once(x) {
        return Ok(None);
    }
    let channels = channels(&network.nodes[layer], network);
    let last = network.nodes[layer].op.op() == "linear";
    let Some(affine) = affine(network, &network.nodes[i], channels, last)? else { return Ok(None) };
    let node = &network.nodes[layer];
    let Some(weights) = network.tensor(node.inputs[weights_at]).constant.clone() else { return Ok(None) };
    let Some(scaled) = scaled(node, &weights, &affine)? else { return Ok(None) };
    let old_bias = match node.op.inputs().iter().position(|n| *n == "bias") {
        Some(at) => match &network.tensor(node.inputs[at]).constant {
            Some(bias) => bias.to_vec::<f32>()?,
            None => return Ok(None),
        },
        None => memory::try_filled(CONSTANT, channels, 0.0)?,
    };
    let bias = old_bias
        .iter()
        .zip(affine.scale.iter().zip(&affine.shift))
        .map(|(&b, (scale, shift))| (f64::from(b) * scale + shift) as f32);
    let bias: Vec<f32> = memory::try_collect(CONSTANT, bias)?;
    if !bias.iter().all(|v| v.abs() <= LARGEST) {
        return Ok(None);
    }
    let weights = network.add_constant(scaled);
    let bias = network.add_constant(StridedTensor::from_slice(&bias, &[channels])?);
    let source = network.nodes[layer].inputs[0];
    network.nodes[layer].set_inputs(&[("x", source), ("weights", weights), ("bias", bias)])?;
    network.nodes[layer].outputs = network.nodes[i].outputs.clone();
    Ok(Some(layer))
}

/// Where a convolution or linear layer without post-ops has its constant weights.
fn layer_weights(network: &Network, node: &Node) -> Option<usize> {
    let op = node.op.op();
    let plain = match node.op.param("post_ops") {
        Some(ParamValue::Str(words)) => words.is_empty(),
        _ => false,
    };
    if !plain || !(op.starts_with("conv") || op == "linear") {
        return None;
    }
    let at = node.op.inputs().iter().position(|n| *n == "weights")?;
    network.tensor(node.inputs[at]).constant.as_ref().map(|_| at)
}

fn channels(layer: &Node, network: &Network) -> usize {
    let dims = network.tensor(layer.outputs[0]).dims();
    let axis = if layer.op.op() == "linear" { dims.len() - 1 } else { 1 };
    dims[axis]
}

/// What the node does to each channel, if it is a batch norm or arithmetic with constants. Channels are axis 1, or the `last`.
pub(super) fn affine(network: &Network, node: &Node, channels: usize, last: bool) -> Result<Option<Affine>> {
    let filled = |value: f64| memory::try_filled(CONSTANT, channels, value);
    let vector = |id: TensorId| -> Result<Option<Vec<f64>>> {
        let Some(t) = &network.tensor(id).constant else { return Ok(None) };
        let values = memory::try_collect(CONSTANT, t.to_vec::<f32>()?.into_iter().map(f64::from))?;
        Ok(match values.len() {
            n if n == channels => Some(values),
            1 => Some(filled(values[0])?),
            _ => None,
        })
    };
    let number = || match node.op.param("other") {
        Some(ParamValue::Float(v)) => Some(*v),
        Some(ParamValue::Int(v)) => Some(*v as f64),
        _ => None,
    };
    let (ones, zeros) = (|| filled(1.0), || filled(0.0));
    let scaled = |scale| Ok::<_, Error>(Some(Affine { scale, shift: zeros()? }));
    let shifted = |shift| Ok::<_, Error>(Some(Affine { scale: ones()?, shift }));
    let input = |name: &str| node.op.inputs().iter().position(|n| *n == name).map(|i| node.inputs[i]);
    let dims = network.tensor(node.outputs[0]).dims();
    // These ops' channels are axis 1.
    let by_channel = dims.get(1) == Some(&channels) && (!last || dims.len() == 2);
    // A constant with a number for each channel along the last axis, and the other operand of the same sizes as the result.
    let along_last = || {
        let (a, b) = (*node.inputs.first()?, *node.inputs.get(1)?);
        let is_list = |id: TensorId| {
            let list = network.tensor(id).dims();
            let ones = list.iter().rev().skip(1).all(|d| *d == 1);
            network.tensor(id).constant().is_some() && ones && list.last() == Some(&channels)
        };
        let commutes = matches!(node.op.op(), "add" | "mul");
        let pairs = [(a, b), (b, a)];
        let mut pairs = pairs.into_iter().take(if commutes { 2 } else { 1 });
        let (_, list) = pairs.find(|(x, list)| is_list(*list) && network.tensor(*x).dims() == dims)?;
        last.then_some(list)
    };
    Ok(match node.op.op() {
        "batch_norm" if by_channel => {
            let (Some(mean), Some(var)) = (input("mean"), input("var")) else { return Ok(None) };
            let (Some(mean), Some(var)) = (vector(mean)?, vector(var)?) else { return Ok(None) };
            let gamma = input("weight").map_or_else(|| Ok(Some(ones()?)), vector)?;
            let beta = input("bias").map_or_else(|| Ok(Some(zeros()?)), vector)?;
            let (Some(gamma), Some(beta)) = (gamma, beta) else { return Ok(None) };
            let eps = match node.op.param("eps") {
                Some(ParamValue::Float(eps)) => *eps,
                _ => return Ok(None),
            };
            let scale = gamma.iter().zip(&var).map(|(g, v)| g / (v + eps).sqrt());
            let scale = memory::try_collect(CONSTANT, scale)?;
            let shift = (0..channels).map(|c| beta[c] - mean[c] * scale[c]);
            let shift = memory::try_collect(CONSTANT, shift)?;
            Some(Affine { scale, shift })
        }
        "mul_channel" if by_channel => vector(node.inputs[1])?.map_or(Ok(None), scaled)?,
        "add_channel" if by_channel => vector(node.inputs[1])?.map_or(Ok(None), shifted)?,
        "mul" => along_last().map_or(Ok(None), vector)?.map_or(Ok(None), scaled)?,
        op @ ("add" | "sub") => {
            let mut shift = along_last().map_or(Ok(None), vector)?;
            if op == "sub" {
                shift.iter_mut().flatten().for_each(|v| *v = -*v);
            }
            shift.map_or(Ok(None), shifted)?
        }
        "mul_scalar" => number().map_or(Ok(None), |n| scaled(filled(n)?))?,
        "div_scalar" => number().map_or(Ok(None), |n| scaled(filled(1.0 / n)?))?,
        "add_scalar" => number().map_or(Ok(None), |n| shifted(filled(n)?))?,
        "sub_scalar" => number().map_or(Ok(None), |n| shifted(filled(-n)?))?,
        _ => None,
    })
    // As f32, which post-ops hold them in: 1 / 2e-39 is infinite there.
    .map(|affine: Option<Affine>| {
        affine.filter(|a| a.scale.iter().chain(&a.shift).all(|v| (*v as f32).is_finite()))
    })
}

/// The largest weight or bias that a scale may make: there is room for sums of products in f32. Sums of infinite products are no numbers,
/// where the scaled sum is infinite.
const LARGEST: f32 = 1e30;

/// A shift beside which what a channel's weights lose does not count.
const SHIFT: f64 = 1e-30;

/// Weights times a scale. Returns whether they keep what they are: not where most of them become subnormal numbers, which have few
/// significant bits, and no shift hides that.
fn multiply(values: &mut [f32], scale: f64, shift: f64) -> bool {
    let mut lost = 0;
    for v in values.iter_mut() {
        let product = (f64::from(*v) * scale) as f32;
        let was = v.abs() >= f32::MIN_POSITIVE && scale != 0.0;
        lost += usize::from(was && product.abs() < f32::MIN_POSITIVE);
        *v = product;
    }
    2 * lost <= values.len() || shift.abs() >= SHIFT
}

/// The weights with each output channel multiplied by its scale. `None` where one is too large, or too many are too small.
fn scaled(layer: &Node, weights: &StridedTensor, affine: &Affine) -> Result<Option<StridedTensor>> {
    let Affine { scale, shift } = affine;
    let mut keeps = true;
    let dims = weights.dims();
    let mut values = weights.to_vec::<f32>()?;
    let kernel: usize = dims[2.min(dims.len())..].iter().product();
    if layer.op.op().starts_with("conv_transpose") {
        // [C, O/groups, k...]: the rows of one group hold its output channels.
        let groups = match layer.op.param("groups") {
            Some(ParamValue::Int(groups)) => (*groups).max(1) as usize,
            _ => 1,
        };
        let (c, per_group) = (dims[0], dims[1]);
        for (row, values) in values.chunks_mut(kernel.max(1)).enumerate() {
            let (channel, o) = (row / per_group, row % per_group);
            let group = channel / (c / groups).max(1);
            let o = group * per_group + o;
            keeps &= multiply(values, scale[o], shift[o]);
        }
    } else {
        let row = values.len() / scale.len().max(1);
        for (values, (scale, shift)) in values.chunks_mut(row.max(1)).zip(scale.iter().zip(shift)) {
            keeps &= multiply(values, *scale, *shift);
        }
    }
    let fits = keeps && values.iter().all(|v| v.abs() <= LARGEST);
    Ok(fits.then(|| StridedTensor::from_slice(&values, dims)).transpose()?)
}
