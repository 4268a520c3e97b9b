//! Nodes that a graph quantises and that no kernel computes on integers.

use std::collections::{BTreeSet, HashMap};

use blocktensor::dispatch::facts::Movement;
use blocktensor::{MemoryFormat, Operand, ParamValue, StridedTensor};

use super::Pass;
use super::integers::{computes, int_param, integers_of, is_byte, weights_problem};
use super::moves::{integer_of, is_max_pool, takes_largest};
use crate::error::{Error, Missing, Result};
use crate::network::{Links, Network, Node, TensorId, facts};

const OF_OUTPUT: &str = "its operand is also an output of the model, and so a number of f32";

/// The results of nodes that compute in f32 between `dequantize` and `quantize`: all that they are computed of was dequantised, or computed of
/// integers, and all that is computed of them is quantised. With each what keeps its node from integers, if more is known.
pub(super) fn between(network: &Network) -> Result<HashMap<TensorId, Option<&'static str>>> {
    let (links, users) = (Links::of(network), users(network));
    // A convolution may have become one of integers already.
    let leaves_integers =
        |node: &Node| reads_integers(network, node) && !converts(node) || node.op.op() == "dequantize";
    let count = network.nodes.len();
    let mut from = vec![false; count];
    for (i, node) in network.nodes.iter().enumerate() {
        let sources = node.inputs.iter().filter(|id| network.tensor(**id).constant().is_none());
        let mut producers = sources.map(|id| links.producer(*id)).peekable();
        from[i] = !converts(node)
            && producers.peek().is_some()
            && producers.all(|at| at.is_some_and(|at| leaves_integers(&network.nodes[at]) || from[at]));
    }
    let mut found = vec![false; count];
    for (i, node) in network.nodes.iter().enumerate().rev().filter(|(i, _)| from[*i]) {
        let mut readers = node.outputs.iter().flat_map(|id| users.get(id).into_iter().flatten()).peekable();
        found[i] = readers.peek().is_some()
            && readers.all(|at| at.is_some_and(|at| network.nodes[at].op.op() == "quantize" || found[at]));
    }
    let mut results = HashMap::new();
    let is_output = |id: &TensorId| network.outputs.iter().any(|(_, of)| of == id);
    for node in (0..count).filter(|i| found[*i]).map(|i| &network.nodes[i]) {
        let why = weights_problem(network, node, &links)?.or_else(|| number_problem(network, node, &links));
        // Alone it might run on the integers of its operand, or become a post-op of what computes that.
        let facts = facts(&*node.op);
        let joins = facts.elementwise || facts.movement.moves() || is_max_pool(node);
        let is_number = |id: &&TensorId| {
            is_output(id) && links.node(network, **id).is_some_and(|node| node.op.op() != "dequantize")
        };
        let why = why.or_else(|| (joins && node.inputs.iter().any(|id| is_number(&id))).then_some(OF_OUTPUT));
        results.extend(node.outputs.iter().map(|id| (*id, why)));
    }
    Ok(results)
}

/// Whether a node makes integers of numbers, or numbers of integers.
fn converts(node: &Node) -> bool {
    matches!(node.op.op(), "quantize" | "dequantize")
}

/// Why what a node moves or compares is not all among the integers of its source.
fn number_problem(network: &Network, node: &Node, links: &Links) -> Option<&'static str> {
    let (integers, pair) = integers_of(network, *node.inputs.first()?, links)?;
    let dtype = network.tensor(integers).dtype;
    match facts(&*node.op).movement {
        Movement::ElementsAnd(name) => {
            let Some(ParamValue::Float(value)) = node.op.param(name) else { return None };
            let is_known = integer_of(*value as f32, pair, dtype, false).is_some();
            (!is_known)
                .then_some("it puts in a number that no integer stands for with the scale of its source")
        }
        _ if takes_largest(node) && !is_max_pool(node) => {
            Some("its windows have gaps (dilation), and one of padding alone has no integer")
        }
        _ => None,
    }
}

/// Runs each conversion with constant scales on a few zeros: a scale that it refuses is why nodes beside it are not on integers.
fn check_scales(network: &Network) -> Result<()> {
    for node in network.nodes.iter().filter(|node| converts(node)) {
        let &[x, scale, zero_point] = &node.inputs[..] else { continue };
        let [Some(scale), Some(zero_point)] = [scale, zero_point].map(|id| network.tensor(id).constant())
        else {
            continue;
        };
        let x = network.tensor(x);
        let mut dims = vec![1; x.dims().len()];
        let axis = int_param(node, "axis").and_then(|axis| usize::try_from(axis).ok());
        if let Some(size) = axis.and_then(|axis| dims.get_mut(axis)) {
            *size = scale.numel().max(zero_point.numel());
        }
        let zeros = StridedTensor::zeros(&dims, x.dtype, MemoryFormat::Contiguous)?;
        let operands = [&zeros, scale, zero_point].map(|t| t.tensor_ref());
        node.op.run(&operands).map_err(|source| node.origin.error(source))?;
    }
    Ok(())
}

/// Refuses a network that still computes one of these results in f32, after the passes. `off` are passes that are switched off.
pub(super) fn check(
    network: &Network,
    between: &HashMap<TensorId, Option<&str>>,
    off: &BTreeSet<Pass>,
) -> Result<()> {
    let mut nodes: Vec<Missing> = Vec::new();
    // A convolution of integers may have taken it as a post-op. Views compute nothing.
    let is_left = |node: &&Node| {
        node.outputs.iter().any(|id| between.contains_key(id))
            && !reads_integers(network, node)
            && !facts(&*node.op).sharing.is_view()
    };
    // A node of the graph may be several here, and others may have its name.
    let mut places = HashMap::new();
    for Node { origin, outputs, .. } in network.nodes.iter().filter(is_left) {
        let why = outputs.iter().find_map(|id| between.get(id).copied().flatten());
        let reason = match (off.contains(&Pass::UseIntegers), computes()) {
            (true, _) => format!("the pass `{}` is switched off", Pass::UseIntegers.name()),
            (_, true) => why.unwrap_or("no kernel computes it on integers, as the model quantises it").into(),
            (_, false) => "plans compute with integers only on machines with VNNI, of AVX-512 or AVX".into(),
        };
        let place = *places.entry((origin.number, &origin.node)).or_insert(nodes.len());
        if place < nodes.len() {
            // What is wrong with one part says more than that its other parts are left with it.
            if why.is_some() {
                nodes[place].reason = reason;
            }
            continue;
        }
        nodes.push(Missing {
            node: origin.node.clone(),
            op: origin.op.clone(),
            attributes: String::new(),
            reason,
        });
    }
    match nodes.is_empty() {
        true => Ok(()),
        false => {
            check_scales(network)?;
            let remedy = "leave `strict` out, or keep such nodes out of what is quantised".into();
            Err(Error::InFloat { nodes, remedy })
        }
    }
}

fn reads_integers(network: &Network, node: &Node) -> bool {
    node.inputs.iter().any(|id| is_byte(network.tensor(*id).dtype))
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
