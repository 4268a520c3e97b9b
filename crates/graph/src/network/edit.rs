//! What passes do to a network.

use blocktensor::StridedTensor;

use super::{Network, TensorId};

impl Network {
    /// Adds a constant that no value of the graph is.
    pub(crate) fn add_constant(&mut self, constant: StridedTensor) -> TensorId {
        let (dims, dtype) = (constant.dims().to_vec(), constant.dtype());
        self.add_tensor(String::new(), &dims, dtype, Some(constant))
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
        let mut keep = vec![true; self.nodes.len()];
        gone.iter().for_each(|&i| keep[i] = false);
        let mut keep = keep.into_iter();
        self.nodes.retain(|_| keep.next().unwrap_or(true));
    }
}
