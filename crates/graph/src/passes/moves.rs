//! What moves elements, and computes nothing, runs on the integers, before `dequantize`.

use std::collections::{HashMap, HashSet};

use blocktensor::dispatch::facts::Movement;
use blocktensor::{DType, MemoryFormat, ParamValue, TensorDesc};

use super::integers::{Pair, is_byte, pair_of};
use crate::Param;
use crate::error::Result;
use crate::network::{Network, Node, TensorId, facts};

/// Views, ops that only move elements, and max pools of numbers that were dequantised run on the integers, before that; and integers that
/// are dequantised and quantised again alike stay as they are. Returns how many nodes changed.
pub(super) fn run(network: &mut Network) -> Result<usize> {
    // For each tensor that `dequantize` makes with one scale: that node, and the scale.
    let mut made: HashMap<TensorId, (Node, Pair)> = HashMap::new();
    let mut same: HashMap<TensorId, TensorId> = HashMap::new();
    let outputs: HashSet<TensorId> = network.outputs.iter().map(|(_, id)| *id).collect();
    let alike = quantized_alike(network, &outputs);
    let mut changes = 0;
    for mut node in std::mem::take(&mut network.nodes) {
        for id in &mut node.inputs {
            *id = same.get(id).copied().unwrap_or(*id);
        }
        if let Some(pair) = pair_of(network, &node, "dequantize")
            && is_byte(network.tensor(node.inputs[0]).dtype)
            && network.tensor(node.inputs[0]).constant().is_none()
        {
            made.insert(node.outputs[0], (node.clone(), pair));
        }
        let found = node.inputs.first().and_then(|x| made.get(x)).cloned();
        let Some((dequantize, pair)) = found else {
            network.nodes.push(node);
            continue;
        };
        let integers = dequantize.inputs[0];
        let dtype = network.tensor(integers).dtype;
        if pair_of(network, &node, "quantize") == Some(pair)
            && network.tensor(node.outputs[0]).dtype == dtype
            && !outputs.contains(&node.outputs[0])
        {
            same.insert(node.outputs[0], integers);
            changes += 1;
            continue;
        }
        let is_rounded = node.outputs.iter().all(|id| alike.get(id) == Some(&(pair, dtype)));
        let Some(mut moved) = of_integers(network, &node, integers, pair, is_rounded)? else {
            network.nodes.push(node);
            continue;
        };
        let mut conversions = Vec::with_capacity(node.outputs.len());
        for (i, &result) in node.outputs.iter().enumerate() {
            let dims = network.tensor(result).dims().to_vec();
            let name = format!("{} as integers", network.tensor(result).name());
            moved.outputs[i] = network.add_tensor(name, &dims, dtype, None);
            let mut after = dequantize.clone();
            (after.inputs[0], after.outputs[0]) = (moved.outputs[i], result);
            after.name = format!("{}/dequantize", node.name);
            if node.outputs.len() > 1 {
                after.name += &i.to_string();
            }
            after.origin = node.origin.clone();
            made.insert(result, (after.clone(), pair));
            conversions.push(after);
        }
        network.nodes.push(moved);
        network.nodes.extend(conversions);
        changes += 1;
    }
    Ok(changes)
}

/// Tensors that only `quantize` reads, always with one scale and to one dtype.
fn quantized_alike(network: &Network, outputs: &HashSet<TensorId>) -> HashMap<TensorId, (Pair, DType)> {
    let mut alike: HashMap<TensorId, Option<(Pair, DType)>> = HashMap::new();
    for node in &network.nodes {
        let to = pair_of(network, node, "quantize").map(|pair| (pair, network.tensor(node.outputs[0]).dtype));
        for id in &node.inputs {
            alike.entry(*id).and_modify(|known| *known = known.filter(|one| Some(*one) == to)).or_insert(to);
        }
    }
    let only = |(id, to): (TensorId, Option<(Pair, DType)>)| Some((id, to?));
    alike.into_iter().filter_map(only).filter(|(id, _)| !outputs.contains(id)).collect()
}

/// The node with these integers in place of its first operand, if its results are then the integers of what they were. `is_rounded` says
/// that its results become such integers anyway.
fn of_integers(
    network: &Network,
    node: &Node,
    integers: TensorId,
    pair: Pair,
    is_rounded: bool,
) -> Result<Option<Node>> {
    let dtype = network.tensor(integers).dtype;
    let mut moved = node.clone();
    moved.inputs[0] = integers;
    let facts = facts(&*node.op);
    match facts.movement {
        Movement::Elements => {}
        Movement::ElementsAndZeros if pair.zero_point == 0 => {}
        Movement::ElementsAnd(name) => {
            let Some(ParamValue::Float(value)) = node.op.param(name) else { return Ok(None) };
            let Some(integer) = integer_of(*value as f32, pair, dtype, is_rounded) else { return Ok(None) };
            moved.set_params(&[(name, Param::Float(integer.into()))])?;
        }
        _ if facts.sharing.is_view() || is_max_pool(node) => {}
        _ => return Ok(None),
    }
    // Other operands are indices, not numbers that have a scale, too.
    let is_alone = node.inputs[1..].iter().all(|id| network.tensor(*id).dtype == DType::S32);
    let plain = moved.inputs.iter().map(|id| {
        let tensor = network.tensor(*id);
        TensorDesc::strided(tensor.dims(), tensor.dtype, MemoryFormat::Contiguous)
    });
    let Ok(plain) = plain.collect::<blocktensor::Result<Vec<_>>>() else { return Ok(None) };
    // An op of another crate may have no kernel for integers.
    let takes = moved.op.results(&plain).is_ok_and(|all| all.iter().all(|result| result.dtype() == dtype));
    Ok((is_alone && takes).then_some(moved))
}

/// The integer that stands for a number: for the number itself, or if `is_rounded` for the nearest one.
pub(super) fn integer_of(number: f32, pair: Pair, dtype: DType, is_rounded: bool) -> Option<i32> {
    let (low, high) = dtype.byte_range()?.into_inner();
    let steps = (number / pair.scale).round_ties_even();
    let integer = (steps as i32).saturating_add(pair.zero_point).clamp(low, high);
    let stands_for = (integer - pair.zero_point) as f32 * pair.scale;
    (is_rounded || stands_for.to_bits() == number.to_bits()).then_some(integer)
}

/// Whether the node takes the largest of each window, and every window has an element: else it makes minus infinity, which no integer
/// stands for.
pub(super) fn is_max_pool(node: &Node) -> bool {
    let is_dense = match node.op.param("dilation") {
        Some(ParamValue::Ints(list)) => list.iter().all(|d| *d == 1),
        _ => true,
    };
    takes_largest(node) && is_dense
}

/// Whether the node takes the largest of each window.
pub(super) fn takes_largest(node: &Node) -> bool {
    node.op.op().contains("max_pool")
}
