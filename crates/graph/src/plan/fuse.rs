//! Nodes that run as one step.
//!
//! A group is a connected set of nodes of which only the last one's result is used outside. It runs in the last one's place. Each of
//! its nodes has a choice of its own: that of an inner node says what it takes from outside, and has its packed weights.

use std::sync::Arc;

use blocktensor::fusion::{Fusion, Region, RegionInput, RegionLayouts, RegionNode, RegionTensor};
use blocktensor::{MemoryFormat, TensorDesc};

use super::algorithms::Limits;
use super::build::shared;
use super::choice::Choice;
use super::forms::{Form, Order, Target};
use super::packed_weights::PackedWeights;
use crate::error::{Error, Result};
use crate::network::{Network, Node, TensorId};

/// Nodes that one step computes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    /// The nodes of the network, in order.
    pub(super) nodes: Vec<usize>,
    /// What computes them.
    pub(super) fusion: Fusion,
    /// The orders of all tensors that they take and make.
    pub(super) tensors: Vec<(TensorId, TensorDesc)>,
}

/// The nodes as a region, and the tensors that it takes from outside. `None` unless the nodes are registered ops of one result.
pub(super) fn region<'a>(network: &'a Network, nodes: &[usize]) -> Option<(Region<'a>, Vec<TensorId>)> {
    if nodes.iter().any(|&n| n >= network.nodes.len()) {
        return None;
    }
    let (mut region, mut outside) = (Region::default(), Vec::<TensorId>::new());
    for &n in nodes {
        let node = &network.nodes[n];
        let (op, [result]) = (node.op.bound()?, &node.outputs[..]) else { return None };
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for id in &node.inputs {
            let inside = nodes.iter().position(|&m| network.nodes[m].outputs.contains(id));
            inputs.push(match (inside, outside.iter().position(|o| o == id)) {
                (Some(m), _) => RegionInput::Node(m),
                (None, Some(at)) => RegionInput::Outside(at),
                (None, None) => {
                    outside.push(*id);
                    RegionInput::Outside(outside.len() - 1)
                }
            });
        }
        let result = network.tensor(*result);
        region.nodes.push(RegionNode { op, inputs, dims: result.dims(), dtype: result.dtype() });
    }
    region.outside = outside
        .iter()
        .map(|id| {
            let tensor = network.tensor(*id);
            RegionTensor { dims: tensor.dims(), dtype: tensor.dtype(), constant: tensor.constant() }
        })
        .collect();
    Some((region, outside))
}

/// Who uses what.
struct Uses {
    /// For each tensor the nodes that take it.
    consumers: Vec<Vec<usize>>,
    /// For each tensor whether it is an output.
    is_output: Vec<bool>,
}

impl Uses {
    fn of(network: &Network) -> Uses {
        let mut consumers = vec![Vec::new(); network.tensors.len()];
        for (n, node) in network.nodes.iter().enumerate() {
            node.inputs.iter().for_each(|id| consumers[id.0].push(n));
        }
        let mut is_output = vec![false; network.tensors.len()];
        network.outputs.iter().for_each(|(_, id)| is_output[id.0] = true);
        Uses { consumers, is_output }
    }

    /// Whether only the last node's result is used outside.
    fn is_closed(&self, network: &Network, nodes: &[usize]) -> bool {
        let Some((_, inner)) = nodes.split_last() else { return false };
        inner.iter().flat_map(|&n| &network.nodes[n].outputs).all(|id| {
            let users = &self.consumers[id.0];
            !self.is_output[id.0] && !users.is_empty() && users.iter().all(|user| nodes.contains(user))
        })
    }

    /// The first node outside that takes a result of these.
    fn next(&self, network: &Network, nodes: &[usize]) -> Option<usize> {
        let results = nodes.iter().flat_map(|&n| &network.nodes[n].outputs);
        results.flat_map(|id| &self.consumers[id.0]).copied().filter(|n| !nodes.contains(n)).min()
    }
}

/// All groups that the limits leave open, in a plan for this order. A group begins with one node, and grows by the first node that
/// takes one of its results.
pub(super) fn groups(network: &Network, target: Target, limits: Limits) -> Vec<Arc<Group>> {
    let mut found = Vec::new();
    if limits.node_by_node {
        return found;
    }
    let uses = Uses::of(network);
    for start in 0..network.nodes.len() {
        let mut nodes = vec![start];
        while let Some((region, outside)) = region(network, &nodes) {
            let mut goes_on = false;
            for fusion in Fusion::all().filter(|f| !(limits.exact && f.rounds_otherwise())) {
                let fit = fusion.fit(&region);
                goes_on |= fit.more;
                if fit.whole && nodes.len() > 1 && uses.is_closed(network, &nodes) {
                    let orders = orders(network, &nodes, fusion, (&region, &outside), target);
                    found.extend(
                        orders.map(|tensors| Arc::new(Group { nodes: nodes.clone(), fusion, tensors })),
                    );
                }
            }
            match uses.next(network, &nodes) {
                Some(next) if goes_on => nodes.push(next),
                _ => break,
            }
            nodes.sort_unstable();
        }
    }
    found
}

/// The orders in which a fusion takes and makes tensors. `None` if it cannot.
fn orders(
    network: &Network,
    nodes: &[usize],
    fusion: Fusion,
    (region, outside): (&Region<'_>, &[TensorId]),
    target: Target,
) -> Option<Vec<(TensorId, TensorDesc)>> {
    let desc = |id: TensorId| {
        let tensor = network.tensor(id);
        let order = target.order(tensor.dims.len()).filter(|_| tensor.constant.is_none());
        order.unwrap_or(Order::Strided(MemoryFormat::Contiguous)).desc(&tensor.dims, tensor.dtype).ok()
    };
    let results: Vec<TensorId> = nodes.iter().map(|&n| network.nodes[n].outputs[0]).collect();
    let wanted = RegionLayouts {
        outside: outside.iter().map(|id| desc(*id)).collect::<Option<_>>()?,
        nodes: results.iter().map(|id| desc(*id)).collect::<Option<_>>()?,
    };
    let own = fusion.layouts(region, &wanted).ok()?;
    let outside = outside.iter().copied().zip(own.outside);
    Some(outside.chain(results.into_iter().zip(own.nodes)).collect())
}

/// The groups of a plan that chooses by no costs: from each node on the largest one that is free and runs, of those that give the
/// bits of the nodes one by one. For each node its group.
pub(super) fn largest(
    network: &Network,
    target: Target,
    weights: &PackedWeights,
    limits: Limits,
) -> Result<Vec<Option<Arc<Group>>>> {
    let mut taken: Vec<Option<Arc<Group>>> = vec![None; network.nodes.len()];
    let mut all = groups(network, target, Limits { exact: true, ..limits });
    // From the same node on, the largest first.
    all.sort_by_key(|group| (group.nodes[0], usize::MAX - group.nodes.len()));
    for group in all {
        if group.nodes.iter().any(|&n| taken[n].is_some()) {
            continue;
        }
        match weights.packed(network, group.last(), &group.choice(network, group.last())?) {
            Ok(_) => group.nodes.iter().for_each(|&n| taken[n] = Some(Arc::clone(&group))),
            Err(Error::Stopped) => return Err(Error::Stopped),
            // One by one, the nodes say what is wrong.
            Err(_) => {}
        }
    }
    Ok(taken)
}

impl Group {
    /// The node whose result is the group's, and in whose place it runs.
    pub(super) fn last(&self) -> usize {
        self.nodes.last().copied().unwrap_or(0)
    }

    /// The order of one of its tensors.
    fn desc(&self, id: TensorId) -> Result<TensorDesc> {
        let found = self.tensors.iter().find(|(own, _)| *own == id).map(|(_, desc)| desc.clone());
        found.ok_or_else(|| broken(self, "a tensor without an order"))
    }

    fn region<'a>(&self, network: &'a Network) -> Result<(Region<'a>, Vec<TensorId>)> {
        region(network, &self.nodes).ok_or_else(|| broken(self, "nodes that are no region"))
    }

    /// Whether the fusion computes these nodes, and nobody else uses what is inside.
    pub(super) fn is_valid(&self, network: &Network) -> bool {
        let Some((region, outside)) = region(network, &self.nodes) else { return false };
        let results = self.nodes.iter().map(|&n| network.nodes[n].outputs[0]);
        self.nodes.is_sorted_by(|a, b| a < b)
            && self.fusion.fit(&region).whole
            && Uses::of(network).is_closed(network, &self.nodes)
            && outside.into_iter().chain(results).all(|id| self.desc(id).is_ok())
    }

    /// The choice of one of its nodes. Weights are still to be packed.
    pub(super) fn choice(self: &Arc<Self>, network: &Network, i: usize) -> Result<Choice> {
        let (region, outside) = self.region(network)?;
        let node = &network.nodes[i];
        let takes: Vec<TensorId> = if i == self.last() {
            self.fusion.operands(&region).into_iter().map(|at| outside[at]).collect()
        } else {
            self.kept(&region, i, node).into_iter().filter(|id| outside.contains(id)).collect()
        };
        Ok(Choice {
            inputs: takes.into_iter().map(|id| Ok((id, self.desc(id)?))).collect::<Result<_>>()?,
            outputs: vec![self.desc(node.outputs[0])?],
            group: Some(Arc::clone(self)),
            ..Choice::unpacked(Form::Contiguous, shared(&node.op))
        })
    }

    /// The inputs of a node that are not in packed weights.
    fn kept(&self, region: &Region<'_>, i: usize, node: &Node) -> Vec<TensorId> {
        match (self.packs(region, i), node.op.bound()) {
            (true, Some(op)) => op.inputs_beside_weights().into_iter().map(|k| node.inputs[k]).collect(),
            _ => node.inputs.clone(),
        }
    }

    /// Whether the fusion takes packed weights of the node.
    fn packs(&self, region: &Region<'_>, i: usize) -> bool {
        self.fusion.weights(region).iter().any(|&at| self.nodes.get(at) == Some(&i))
    }

    /// Whether the fusion takes packed weights of the node.
    pub(super) fn takes_weights(&self, network: &Network, i: usize) -> bool {
        self.region(network).is_ok_and(|(region, _)| self.packs(&region, i))
    }

    /// How a node would run alone on the same tensors, for its packed weights.
    pub(super) fn alone(&self, network: &Network, i: usize) -> Result<Choice> {
        let node = &network.nodes[i];
        let inputs = node.inputs.iter().map(|id| Ok((*id, self.desc(*id)?)));
        Ok(Choice {
            inputs: inputs.collect::<Result<_>>()?,
            outputs: vec![self.desc(node.outputs[0])?],
            ..Choice::unpacked(Form::Contiguous, shared(&node.op))
        })
    }

    /// The choice of one of its nodes, packed. `alone` has for each of the group's nodes how it would run alone, if the fusion takes
    /// its packed weights.
    pub(super) fn bound(
        &self,
        network: &Network,
        i: usize,
        choice: &Choice,
        alone: &[Option<Choice>],
    ) -> Result<Choice> {
        let own = self.nodes.iter().position(|&n| n == i).and_then(|at| alone[at].as_ref());
        let weights = own.and_then(|own| own.weights.clone());
        let choice = Choice { unpacked: false, weights, ..choice.clone() };
        if i != self.last() {
            let implementation = own.and_then(|own| own.implementation.clone());
            return Ok(Choice { implementation, ..choice });
        }
        let (region, _) = self.region(network)?;
        let of_operator = |source| network.nodes[self.nodes[0]].origin.error(source);
        let packed: Vec<_> = alone.iter().map(|c| c.as_ref().and_then(|c| c.weights.clone())).collect();
        let op = self.fusion.bind(&region, &packed).map_err(of_operator)?;
        let descs: Vec<TensorDesc> = choice.inputs.iter().map(|(_, desc)| desc.clone()).collect();
        let outputs = op.infer(&descs).map_err(of_operator)?;
        let mut names: Vec<&str> = Vec::new();
        for name in alone.iter().flatten().filter_map(|c| c.implementation.as_deref()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let implementation = Some(format!("{}: {}", self.fusion.name(), names.join(", ")));
        Ok(Choice { op, outputs, implementation, ..choice })
    }

    /// What follows the first node's op: the words of post-ops, or the names of ops.
    pub(super) fn words(&self, network: &Network) -> String {
        let mut words: Vec<String> = Vec::new();
        for (at, &n) in self.nodes.iter().enumerate() {
            let node = &network.nodes[n];
            if at > 0 {
                let word = node.op.bound().and_then(|op| op.post_op());
                words.push(word.unwrap_or_else(|| node.op.op().to_string()));
            }
            words.extend(super::build::post_ops(node).filter(|words| !words.is_empty()));
        }
        words.join(",")
    }
}

fn broken(group: &Group, got: &str) -> Error {
    Error::Invalid {
        what: format!("group {:?}", group.nodes),
        got: got.to_string(),
        rule: "a group is made of the network's nodes".into(),
        remedy: "report this".into(),
    }
}
