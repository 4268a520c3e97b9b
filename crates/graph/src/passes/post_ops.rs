//! What follows a convolution becomes its post-ops.

use blocktensor::{BoundOp, ParamValue, StridedTensor, memory};

use super::quantized;
use super::scales::{Affine, affine};
use crate::Param;
use crate::constant::CONSTANT;
use crate::error::{Error, Result};
use crate::network::{Links, Network, Node, Operation, TensorId, is_convolution};

/// The most post-ops that one kernel fuses.
const MOST: usize = 8;

/// Returns how many nodes became post-ops.
pub(super) fn run(network: &mut Network) -> Result<usize> {
    // A convolution moves to the place of what follows it, and computes that node's result there.
    let links = Links::of(network);
    let mut gone = Vec::new();
    for i in 0..network.nodes.len() {
        let word = network.nodes[i].op.bound().and_then(BoundOp::post_op);
        let fused = match network.nodes[i].op.op() {
            "quantize" => quantized::fuse_quantize(network, i, &links)?,
            "dequantize" => quantized::fuse_dequantize(network, i, &links)?,
            _ => None,
        };
        if fused.is_some() {
            gone.extend(fused);
            continue;
        }
        let fused = match word.as_deref() {
            Some("residual") => fuse_residual(network, i, &links)?,
            Some("prelu") => fuse_prelu(network, i, &links)?,
            Some("mul_channel" | "add_channel") | None => fuse_affine(network, i, &links)?,
            Some(activation) => fuse_words(network, i, &[activation], vec![], &links)?,
        };
        gone.extend(fused);
    }
    network.remove_nodes(&gone);
    Ok(gone.len())
}

/// Whether the node is a convolution whose parameters are known.
pub(super) fn convolution(node: &Node) -> bool {
    node.op.bound().is_some_and(|op| is_convolution(op))
}

/// Makes a node the last post-ops of the convolution before it; `channel` has their numbers, one for each channel. Returns
/// the node that is no longer needed.
pub(super) fn fuse_words(
    network: &mut Network,
    i: usize,
    words: &[&str],
    channel: Vec<Vec<f32>>,
    links: &Links,
) -> Result<Option<usize>> {
    let Some(conv) = fusable(network, network.nodes[i].inputs[0], words.len(), links) else {
        return Ok(None);
    };
    let mut all = post_ops(&network.nodes[conv]);
    all.extend(words.iter().map(|word| word.to_string()));
    let mut names = network.nodes[conv].op.inputs().to_vec();
    let mut inputs = network.nodes[conv].inputs.clone();
    for numbers in channel {
        names.push("channel");
        inputs.push(network.add_constant(StridedTensor::from_slice(&numbers, &[numbers.len()])?));
    }
    network.nodes[conv].op =
        rebound(&network.nodes[conv], &names, &[("post_ops", Param::Str(all.join(",")))])?;
    network.nodes[conv].inputs = inputs;
    move_to(network, conv, i);
    Ok(Some(conv))
}

/// `prelu` with constant slopes.
fn fuse_prelu(network: &mut Network, i: usize, links: &Links) -> Result<Option<usize>> {
    let node = &network.nodes[i];
    let Some(&channels) = network.tensor(node.outputs[0]).dims().get(1) else { return Ok(None) };
    let Some(slopes) = network.tensor(node.inputs[1]).constant() else { return Ok(None) };
    let slopes = slopes.to_vec::<f32>()?;
    let slopes = match slopes[..] {
        [slope] => memory::try_filled(CONSTANT, channels, slope)?,
        _ if slopes.len() == channels => slopes,
        _ => return Ok(None),
    };
    fuse_words(network, i, &["prelu"], vec![slopes], links)
}

/// Batch norms and per-channel numbers after a convolution that has other post-ops before them: without these, they are in
/// its weights already.
fn fuse_affine(network: &mut Network, i: usize, links: &Links) -> Result<Option<usize>> {
    let node = &network.nodes[i];
    let (Some(&x), Some(&result)) = (node.inputs.first(), node.outputs.first()) else { return Ok(None) };
    if fusable(network, x, 1, links).is_none_or(|conv| post_ops(&network.nodes[conv]).is_empty()) {
        return Ok(None);
    }
    let Some(&channels) = network.tensor(result).dims().get(1) else { return Ok(None) };
    let Some(Affine { scale, shift }) = affine(network, node, channels, false)? else { return Ok(None) };
    let numbers = |all: Vec<f64>| memory::try_collect(CONSTANT, all.into_iter().map(|v| v as f32));
    let (mut words, mut channel) = (vec![], vec![]);
    if scale.iter().any(|v| *v != 1.0) {
        words.push("mul_channel");
        channel.push(numbers(scale)?);
    }
    if words.is_empty() || shift.iter().any(|v| *v != 0.0) {
        words.push("add_channel");
        channel.push(numbers(shift)?);
    }
    fuse_words(network, i, &words, channel, links)
}

/// Makes an addition a post-op of the convolution that computes one of its operands.
fn fuse_residual(network: &mut Network, i: usize, links: &Links) -> Result<Option<usize>> {
    let (a, b) = (network.nodes[i].inputs[0], network.nodes[i].inputs[1]);
    if network.tensor(a).dims != network.tensor(b).dims || a == b {
        return Ok(None);
    }
    let candidates = [(a, b), (b, a)].into_iter().filter_map(|(x, other)| {
        let conv = fusable(network, x, 1, links)?;
        let words = post_ops(&network.nodes[conv]);
        let free =
            !words.iter().any(|w| w.starts_with("residual")) && network.tensor(other).constant.is_none();
        free.then_some((conv, other, words))
    });
    // The later one: less time passes between it and the addition.
    let Some((conv, other, mut words)) = candidates.max_by_key(|(conv, ..)| *conv) else { return Ok(None) };
    let (word, other) = quantized::residual(network, conv, other, links);
    words.push(word);
    let node = &network.nodes[conv];
    let mut names: Vec<&str> = node.op.inputs().to_vec();
    let place = names.iter().position(|n| *n == "channel").unwrap_or(names.len());
    names.insert(place, "residual");
    let inputs: Vec<TensorId> = {
        let mut inputs = node.inputs.clone();
        inputs.insert(place, other);
        inputs
    };
    let op = rebound(node, &names, &[("post_ops", Param::Str(words.join(",")))])?;
    network.nodes[conv].op = op;
    network.nodes[conv].inputs = inputs;
    move_to(network, conv, i);
    Ok(Some(conv))
}

/// The convolution that computes this tensor, if nobody else uses it and it takes this many more post-ops.
pub(super) fn fusable(network: &Network, x: TensorId, more: usize, links: &Links) -> Option<usize> {
    let conv = links.producer(x)?;
    let node = &network.nodes[conv];
    let constant = |name: &str| {
        let place = node.op.inputs().iter().position(|n| *n == name);
        place.is_none_or(|i| network.tensor(node.inputs[i]).constant.is_some())
    };
    let free = convolution(node) && constant("weights") && constant("bias");
    (free && links.is_used_once(x) && post_ops(node).len() + more <= MOST).then_some(conv)
}

/// The words of a convolution's post-ops. Commas inside parentheses separate numbers.
fn post_ops(node: &Node) -> Vec<String> {
    let Some(ParamValue::Str(text)) = node.op.param("post_ops") else { return vec![] };
    let mut words: Vec<String> = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        match words.last_mut() {
            Some(word) if word.contains('(') && !word.ends_with(')') => *word += &format!(",{part}"),
            _ => words.push(part.to_string()),
        }
    }
    words
}

/// Puts the convolution in the place of a later node, whose result it now computes.
pub(super) fn move_to(network: &mut Network, conv: usize, place: usize) {
    let mut node = network.nodes[conv].clone();
    node.outputs = network.nodes[place].outputs.clone();
    network.nodes[place] = node;
    // What is left in the old place has a result that nobody uses.
}

/// The node's op with other inputs and some other parameters.
fn rebound(node: &Node, inputs: &[&str], changed: &[(&str, Param)]) -> Result<Operation> {
    let params = node.op.bound().into_iter().flat_map(BoundOp::params);
    let mut params: Vec<(&str, Param)> = params.map(|(name, value)| (name, value.into())).collect();
    for (name, value) in changed {
        match params.iter_mut().find(|(n, _)| n == name) {
            Some(param) => param.1 = value.clone(),
            None => params.push((name, value.clone())),
        }
    }
    let op = node.op.op();
    let bound = BoundOp::new(op, inputs, &params).map_err(|source| Error::Operator {
        node: node.name.clone(),
        op: op.to_string(),
        source,
    })?;
    Ok(Operation::Bound(bound))
}

impl Node {
    /// Changes some parameters of a registered op.
    pub(crate) fn set_params(&mut self, changed: &[(&str, Param)]) -> Result<()> {
        let inputs = self.op.inputs().to_vec();
        self.op = rebound(self, &inputs, changed)?;
        Ok(())
    }

    /// Changes the inputs and some parameters of a registered op.
    pub(crate) fn set_inputs_and_params(
        &mut self,
        inputs: &[(&str, TensorId)],
        changed: &[(&str, Param)],
    ) -> Result<()> {
        let names: Vec<&str> = inputs.iter().map(|(name, _)| *name).collect();
        self.op = rebound(self, &names, changed)?;
        self.inputs = inputs.iter().map(|(_, id)| *id).collect();
        Ok(())
    }

    /// Changes the inputs of a registered op.
    pub(crate) fn set_inputs(&mut self, inputs: &[(&str, TensorId)]) -> Result<()> {
        let names: Vec<&str> = inputs.iter().map(|(name, _)| *name).collect();
        self.op = rebound(self, &names, &[])?;
        self.inputs = inputs.iter().map(|(_, id)| *id).collect();
        Ok(())
    }
}
