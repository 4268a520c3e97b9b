//! Who computes a tensor, and how often it is used.

use super::{Network, Node, TensorId};

/// An index of a network, as it was when a pass began. The pass says what it changes.
#[derive(Debug)]
pub(crate) struct Links {
    /// For each tensor the node that computes it.
    producers: Vec<Option<usize>>,
    /// How often each tensor is used: by nodes, and as an output.
    uses: Vec<usize>,
}

impl Links {
    pub(crate) fn of(network: &Network) -> Links {
        let mut producers = vec![None; network.tensors.len()];
        for (i, node) in network.nodes.iter().enumerate() {
            node.outputs.iter().for_each(|id| producers[id.0] = Some(i));
        }
        let mut uses = vec![0; network.tensors.len()];
        let inputs = network.nodes.iter().flat_map(|n| &n.inputs);
        inputs.chain(network.outputs.iter().map(|(_, id)| id)).for_each(|id| uses[id.0] += 1);
        Links { producers, uses }
    }

    /// The place of the node that computes a tensor. Tensors that the pass added are constants.
    pub(crate) fn producer(&self, id: TensorId) -> Option<usize> {
        self.producers.get(id.0).copied().flatten()
    }

    /// The node that computes a tensor.
    pub(crate) fn node<'a>(&self, network: &'a Network, id: TensorId) -> Option<&'a Node> {
        self.producer(id).map(|i| &network.nodes[i])
    }

    /// Whether one node, or one output, uses the tensor.
    pub(crate) fn is_used_once(&self, id: TensorId) -> bool {
        self.uses.get(id.0) == Some(&1)
    }

    /// A node now computes these tensors.
    pub(crate) fn moved(&mut self, outputs: &[TensorId], node: usize) {
        outputs.iter().for_each(|id| self.producers[id.0] = Some(node));
    }
}
