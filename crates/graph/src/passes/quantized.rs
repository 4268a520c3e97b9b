//! `quantize` and `dequantize` after a convolution of integers become its post-ops.

use blocktensor::{DType, StridedTensor, memory};

use super::integers::{integers_of, pair_of};
use super::post_ops::{fusable, fuse_words, post_ops};
use crate::Param;
use crate::constant::CONSTANT;
use crate::error::Result;
use crate::network::{Links, Network, TensorId};

/// The convolution of integers that computes this tensor, if it takes this many more post-ops.
fn fusable_integers(network: &Network, x: TensorId, more: usize, links: &Links) -> Option<usize> {
    let conv = fusable(network, x, more, links)?;
    is_of_integers(network, conv).then_some(conv)
}

fn is_of_integers(network: &Network, conv: usize) -> bool {
    matches!(network.tensor(network.nodes[conv].inputs[0]).dtype, DType::U8 | DType::S8)
}

/// The post-op of an addition, and its operand: of a convolution of integers the integers themselves, where they were dequantised.
pub(super) fn residual(network: &Network, conv: usize, other: TensorId, links: &Links) -> (String, TensorId) {
    match integers_of(network, other, links).filter(|_| is_of_integers(network, conv)) {
        Some((integers, pair)) => {
            let dtype = network.tensor(integers).dtype;
            (format!("residual({dtype},{},{})", pair.scale, pair.zero_point), integers)
        }
        None => ("residual".to_string(), other),
    }
}

/// Makes `quantize` the last post-op of the convolution before it. Returns the node that is no longer needed.
pub(super) fn fuse_quantize(network: &mut Network, i: usize, links: &Links) -> Result<Option<usize>> {
    let node = &network.nodes[i];
    let Some(pair) = pair_of(network, node, "quantize") else { return Ok(None) };
    let (x, dtype) = (node.inputs[0], network.tensor(node.outputs[0]).dtype);
    let Some(conv) = fusable_integers(network, x, 1, links) else { return Ok(None) };
    let factor = 1.0 / f64::from(pair.scale);
    let word = format!("quantize({dtype},{})", pair.zero_point);
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
    let mut words = post_ops(&network.nodes[conv]);
    let Some(inside) = words.last().and_then(|word| word.strip_prefix("quantize(")) else { return Ok(None) };
    let own =
        inside.trim_end_matches(')').split_once(',').and_then(|(_, zero_point)| zero_point.parse().ok());
    if own != Some(pair.zero_point) {
        return Ok(None);
    }
    let word = format!("round({inside}");
    words.pop();
    words.push(word);
    network.nodes[conv].set_params(&[("post_ops", Param::Str(words.join(",")))])?;
    let numbers = every_channel(network, i, pair.scale.into())?;
    fuse_words(network, i, &["mul_channel"], vec![numbers], links)
}

/// A number for each channel of a node's result.
fn every_channel(network: &Network, i: usize, number: f64) -> Result<Vec<f32>> {
    let channels = network.tensor(network.nodes[i].outputs[0]).dims().get(1).copied().unwrap_or(1);
    Ok(memory::try_filled(CONSTANT, channels, number as f32)?)
}

/// Multiplies what a convolution's post-ops compute by a positive number, without another post-op. `false` if they cannot take it.
fn scale_by(network: &mut Network, conv: usize, factor: f64) -> Result<bool> {
    let mut words = post_ops(&network.nodes[conv]);
    let names = network.nodes[conv].op.inputs().to_vec();
    // The operands of the words, the last ones first.
    let mut operands =
        names.iter().enumerate().rev().filter(|(_, name)| **name == "channel").map(|(at, _)| at);
    let mut scaled = Vec::new();
    let mut takes = false;
    for word in words.iter_mut().rev() {
        let times = |number: &str| number.parse::<f32>().map(|v| (f64::from(v) * factor) as f32).ok();
        let name = word.split('(').next().unwrap_or_default();
        let inside: Vec<&str> = word[name.len()..].trim_matches(['(', ')']).split(',').collect();
        match (name, &inside[..]) {
            ("relu" | "leaky_relu", _) => {}
            ("prelu", _) => drop(operands.next()),
            ("clip", [low, high]) => match (times(low), times(high)) {
                (Some(low), Some(high)) => *word = format!("clip({low},{high})"),
                _ => return Ok(false),
            },
            ("residual", [dtype, scale, zero_point]) => match times(scale) {
                Some(scale) if scale > 0.0 && scale.is_finite() => {
                    *word = format!("residual({dtype},{scale},{zero_point})");
                }
                _ => return Ok(false),
            },
            ("mul_channel" | "add_channel", _) => {
                let Some(at) = operands.next() else { return Ok(false) };
                scaled.push(at);
                if name == "mul_channel" {
                    takes = true;
                    break;
                }
            }
            _ => return Ok(false),
        }
    }
    if !takes {
        return Ok(false);
    }
    let mut inputs = network.nodes[conv].inputs.clone();
    for at in scaled {
        let Some(numbers) = network.tensor(inputs[at]).constant() else { return Ok(false) };
        let numbers = numbers.to_vec::<f32>()?.into_iter().map(|v| (f64::from(v) * factor) as f32);
        let numbers = memory::try_collect(CONSTANT, numbers)?;
        if numbers.iter().any(|v| !v.is_finite()) {
            return Ok(false);
        }
        inputs[at] = network.add_constant(StridedTensor::from_slice(&numbers, &[numbers.len()])?);
    }
    network.nodes[conv].set_params(&[("post_ops", Param::Str(words.join(",")))])?;
    network.nodes[conv].inputs = inputs;
    Ok(true)
}
