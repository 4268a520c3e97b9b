//! Packs constant weights for the kernels that will read them.

use std::sync::Arc;

use blocktensor::{Candidate, Layout, PackedOp, Result, StridedTensor, TensorDesc, WeightsPacker};

use super::algorithms::Computes;
use crate::network::{Network, Node, TensorId};

/// A node whose weights are packed.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub(super) op: Arc<PackedOp>,
    pub(super) implementation: String,
    /// Which of the node's inputs a run still takes.
    pub(super) inputs: Vec<usize>,
}

/// Which of the node's inputs a run still takes once the weights are packed.
pub(super) fn kept(node: &Node) -> Vec<usize> {
    node.op.bound().map_or_else(Vec::new, |op| op.inputs_beside_weights())
}

/// The input that becomes packed weights.
pub(super) fn weights_of(node: &Node) -> Option<TensorId> {
    node.inputs.get(node.op.bound()?.weights()?).copied()
}

/// Whether the node has weights that are packed.
pub(super) fn packs(network: &Network, node: &Node) -> bool {
    packer(network, node).is_some()
}

/// What packs the node's weights. `None` if they, or the bias, are not constant. An operator of the caller's own runs as it is:
/// its parameters are not known.
fn packer<'a>(network: &'a Network, node: &'a Node) -> Option<WeightsPacker<'a>> {
    let x = network.tensor(*node.inputs.first()?).dims();
    let constants: Vec<Option<&StridedTensor>> =
        node.inputs.iter().map(|id| network.tensor(*id).constant()).collect();
    WeightsPacker::new(node.op.bound()?, x, &constants)
}

/// Whether a kernel takes the weights of the node for such a source, and a result in its layout or that of a stem. Nothing is packed.
pub(super) fn can_pack(network: &Network, node: &Node, x: &TensorDesc, stem: Option<&Layout>) -> bool {
    packer(network, node).is_some_and(|packer| packer.implementation_for(x, stem).is_ok())
}

/// Packs the weights for a source. `None` for nodes whose weights are not packed. With `stem`, packs for a result in that layout.
/// Without `computes`, it computes as the node says.
pub(super) fn pack(
    network: &Network,
    node: &Node,
    inputs: &[(TensorId, TensorDesc)],
    stem: Option<Layout>,
    computes: Option<Computes>,
) -> Result<Option<Packed>> {
    let Some(packer) = packer(network, node) else { return Ok(None) };
    let packer = match &computes {
        None => packer,
        Some(Computes::Direct) => packer.directly(),
        Some(Computes::As(candidate)) => packer.candidate(candidate),
    };
    let x = &inputs[0].1;
    let op = match &stem {
        Some(layout) => packer.pack_stem(x, layout)?,
        None => packer.pack_for(x)?,
    };
    let implementation = op.implementation();
    Ok(Some(Packed { op: Arc::new(op), implementation, inputs: kept(node) }))
}

/// The ways to compute a node with packed weights, for a source like this; none if there is no choice.
pub(super) fn candidates(network: &Network, node: &Node, x: &TensorDesc) -> Vec<Candidate> {
    // What cannot be packed has no ways: packing says why.
    packer(network, node).and_then(|packer| packer.candidates(x).ok()).unwrap_or_default()
}
