//! Concatenations of numbers that were dequantised join the integers.

use std::collections::HashMap;

use blocktensor::DType;

use super::integers::{Pair, integers_of, pair_of};
use crate::error::Result;
use crate::network::{Links, Network, Node, TensorId};

/// A concatenation, and what it becomes.
struct Join {
    /// Integers of each operand, their pair, and the operand itself.
    operands: Vec<(TensorId, Pair, TensorId)>,
    /// The `quantize` that alone reads the result.
    quantize: Option<usize>,
}

/// A concatenation that is quantised is one of integers, each operand quantised before: those that have the scale already stay as they are.
/// One that is not, of integers with one scale, is dequantised afterwards. Returns how many there were.
pub(super) fn run(network: &mut Network) -> Result<usize> {
    let links = Links::of(network);
    let mut readers: HashMap<TensorId, usize> = HashMap::new();
    for (i, node) in network.nodes.iter().enumerate() {
        readers.extend(node.inputs.iter().map(|id| (*id, i)));
    }
    let joins: HashMap<usize, Join> =
        (0..network.nodes.len()).filter_map(|i| Some((i, join_of(network, i, &links, &readers)?))).collect();
    let gone: Vec<usize> = joins.values().filter_map(|join| join.quantize).collect();
    let nodes = std::mem::take(&mut network.nodes);
    let mut kept = Vec::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        match joins.get(&i) {
            Some(join) => kept.extend(joined(network, node, join, &nodes, &links)?),
            None if gone.contains(&i) => {}
            None => kept.push(node.clone()),
        }
    }
    network.nodes = kept;
    Ok(joins.len())
}

fn join_of(network: &Network, i: usize, links: &Links, readers: &HashMap<TensorId, usize>) -> Option<Join> {
    let node = &network.nodes[i];
    let &[result] = &node.outputs[..] else { return None };
    if node.op.op() != "cat" {
        return None;
    }
    let of = |id: &TensorId| integers_of(network, *id, links).map(|(integers, pair)| (integers, pair, *id));
    let operands: Vec<_> = node.inputs.iter().map(of).collect::<Option<_>>()?;
    let reader = readers.get(&result).copied().filter(|_| links.is_used_once(result));
    let quantize = reader.filter(|at| pair_of(network, &network.nodes[*at], "quantize").is_some());
    let dtype = |(integers, ..): &(TensorId, Pair, TensorId)| -> DType { network.tensor(*integers).dtype };
    let first = operands.first()?;
    let is_one = operands.iter().all(|operand| operand.1 == first.1 && dtype(operand) == dtype(first));
    (quantize.is_some() || is_one).then_some(Join { operands, quantize })
}

/// The nodes that take the place of a concatenation.
fn joined(
    network: &mut Network,
    node: &Node,
    join: &Join,
    nodes: &[Node],
    links: &Links,
) -> Result<Vec<Node>> {
    let (mut made, mut cat) = (Vec::new(), node.clone());
    let Some(quantize) = join.quantize.map(|at| &nodes[at]) else {
        let (integers, _, operand) = join.operands[0];
        let result = node.outputs[0];
        let dims = network.tensor(result).dims().to_vec();
        let name = format!("{} as integers", network.tensor(result).name());
        let moved = network.add_tensor(name, &dims, network.tensor(integers).dtype, None);
        cat.inputs = join.operands.iter().map(|(integers, ..)| *integers).collect();
        cat.outputs = vec![moved];
        let mut after = nodes[links.producer(operand).expect("a node dequantises it")].clone();
        (after.inputs[0], after.outputs[0]) = (moved, result);
        (after.name, after.origin) = (format!("{}/dequantize", node.name), node.origin.clone());
        return Ok(vec![cat, after]);
    };
    let (pair, dtype) = (pair_of(network, quantize, "quantize"), network.tensor(quantize.outputs[0]).dtype);
    for (at, &(integers, of, operand)) in join.operands.iter().enumerate() {
        if Some(of) == pair && network.tensor(integers).dtype == dtype {
            cat.inputs[at] = integers;
            continue;
        }
        let dims = network.tensor(operand).dims().to_vec();
        let name = format!("{} for {}", network.tensor(operand).name(), node.name);
        let mut before = quantize.clone();
        before.inputs[0] = operand;
        before.outputs = vec![network.add_tensor(name, &dims, dtype, None)];
        (before.name, before.origin) = (format!("{}/quantize", node.name), node.origin.clone());
        cat.inputs[at] = before.outputs[0];
        made.push(before);
    }
    cat.outputs = quantize.outputs.clone();
    made.push(cat);
    Ok(made)
}
