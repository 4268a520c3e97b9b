//! Nodes that a graph quantises and that no kernel computes on integers.

use std::collections::HashMap;

use blocktensor::dispatch::Isa;

use crate::error::{Error, Missing, Result};
use crate::network::{Links, Network, Node, TensorId};

/// Refuses a network in which nodes compute in f32 between `dequantize` and `quantize`: all that such a node reads was dequantised, and all
/// that reads its results quantises them. A node of the graph that became several operators is looked at as a whole.
pub(crate) fn check(network: &Network) -> Result<()> {
    let (links, users) = (Links::of(network), users(network));
    let between = |node: &Node| matches!(node.op.op(), "quantize" | "dequantize");
    let count = network.nodes.len();
    let mut from = vec![false; count];
    for (i, node) in network.nodes.iter().enumerate() {
        let sources = node.inputs.iter().filter(|id| network.tensor(**id).constant().is_none());
        let mut producers = sources.map(|id| links.producer(*id)).peekable();
        from[i] = !between(node)
            && producers.peek().is_some()
            && producers.all(|at| {
                at.is_some_and(|at| {
                    let before = &network.nodes[at];
                    before.op.op() == "dequantize" || from[at] && before.origin == node.origin
                })
            });
    }
    let mut refused = vec![false; count];
    for (i, node) in network.nodes.iter().enumerate().rev().filter(|(i, _)| from[*i]) {
        let mut readers = node.outputs.iter().flat_map(|id| users.get(id).into_iter().flatten()).peekable();
        refused[i] = readers.peek().is_some()
            && readers.all(|at| {
                at.is_some_and(|at| {
                    let after = &network.nodes[at];
                    after.op.op() == "quantize" || refused[at] && after.origin == node.origin
                })
            });
    }
    let refused = (0..count).filter(|i| refused[*i]).map(|i| &network.nodes[i]);
    let mut nodes: Vec<Missing> = Vec::new();
    for Node { origin, .. } in refused {
        if nodes.iter().all(|known| known.node != origin.node) {
            let reason = match Isa::Avx512Vnni.is_here() {
                true => "no kernel computes it on integers",
                false => "this machine computes with integers only where it has AVX-512 and VNNI",
            };
            nodes.push(Missing {
                node: origin.node.clone(),
                op: origin.op.clone(),
                attributes: String::new(),
                reason: reason.into(),
            });
        }
    }
    match nodes.is_empty() {
        true => Ok(()),
        false => {
            let remedy = "leave `strict` out, or keep such nodes out of what is quantised".into();
            Err(Error::InFloat { nodes, remedy })
        }
    }
}

/// Who reads each tensor; `None` is an output of the network.
fn users(network: &Network) -> HashMap<TensorId, Vec<Option<usize>>> {
    let mut users: HashMap<TensorId, Vec<Option<usize>>> = HashMap::new();
    for (i, node) in network.nodes.iter().enumerate() {
        node.inputs.iter().for_each(|id| users.entry(*id).or_default().push(Some(i)));
    }
    network.outputs.iter().for_each(|(_, id)| users.entry(*id).or_default().push(None));
    users
}
