//! What passes do to a network.

use blocktensor::StridedTensor;

use super::{Network, Node, TensorId};

impl Network {
    /// How often each tensor is used: by nodes, and as an output.
    pub(crate) fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.tensors.len()];
        let inputs = self.nodes.iter().flat_map(|n| &n.inputs);
        inputs.chain(self.outputs.iter().map(|(_, id)| id)).for_each(|id| uses[id.0] += 1);
        uses
    }

    /// Adds a constant that no value of the graph is.
    pub(crate) fn add_constant(&mut self, constant: StridedTensor) -> TensorId {
        let (dims, dtype) = (constant.dims().to_vec(), constant.dtype());
        self.add_tensor(String::new(), &dims, dtype, Some(constant))
    }

    /// Whoever used `old` uses `new`.
    pub(crate) fn replace(&mut self, old: TensorId, new: TensorId) {
        let inputs = self.nodes.iter_mut().flat_map(|n| &mut n.inputs);
        inputs
            .chain(self.outputs.iter_mut().map(|(_, id)| id))
            .filter(|id| **id == old)
            .for_each(|id| *id = new);
    }

    /// Removes nodes whose results nobody uses. Returns how many.
    pub(crate) fn remove_unused(&mut self) -> usize {
        let mut needed = vec![false; self.tensors.len()];
        self.outputs.iter().for_each(|(_, id)| needed[id.0] = true);
        let mut keep = vec![false; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate().rev() {
            keep[i] = node.outputs.iter().any(|id| needed[id.0]);
            if keep[i] {
                node.inputs.iter().for_each(|id| needed[id.0] = true);
            }
        }
        let before = self.nodes.len();
        let mut keep = keep.into_iter();
        self.nodes.retain(|_| keep.next().unwrap_or(true));
        for (tensor, needed) in self.tensors.iter_mut().zip(&needed) {
            if !needed {
                tensor.constant = None;
            }
        }
        before - self.nodes.len()
    }

    /// Removes the nodes at these places.
    pub(crate) fn remove_nodes(&mut self, gone: &[usize]) {
        let mut i = 0;
        self.nodes.retain(|_: &Node| {
            i += 1;
            !gone.contains(&(i - 1))
        });
    }
}
