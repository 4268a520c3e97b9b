//! What a plan was made of: enough to make it again.

use std::collections::HashSet;

use blocktensor::{MemoryFormat, StridedTensor};

use super::algorithms::Limits;
use super::choice::Choice;
use super::pack;
use crate::error::Result;
use crate::network::{Network, Tensor, TensorId};

/// The network of a plan, and how each node runs. Weights that are packed stand there without their elements, unless
/// [`PlanOptions::keep_constants`](super::PlanOptions::keep_constants) asks for them.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) network: Network,
    pub(super) choices: Vec<Choice>,
    /// The network before the passes, for [`errors`](super::Plan::errors): with
    /// [`PlanOptions::keep_constants`](super::PlanOptions::keep_constants). Files do not hold it.
    pub(super) written: Option<Network>,
    /// Whether all constants have their elements.
    pub(super) has_constants: bool,
    pub(super) limits: Limits,
    /// The number of threads that the weights are packed for.
    pub(super) threads: usize,
}

impl Recipe {
    pub(super) fn new(network: &Network, choices: Vec<Choice>) -> Result<Recipe> {
        let packed = packed_only(network, &choices);
        let tensor = |(i, tensor): (usize, &Tensor)| -> Result<Tensor> {
            let constant = match &tensor.constant {
                Some(_) if packed.contains(&TensorId(i)) => Some(without_elements(tensor)?),
                constant => constant.clone(),
            };
            let Tensor { name, dims, dtype, .. } = tensor;
            Ok(Tensor { name: name.clone(), dims: dims.clone(), dtype: *dtype, constant })
        };
        let tensors = network.tensors.iter().enumerate().map(tensor).collect::<Result<Vec<_>>>()?;
        let Network { nodes, inputs, outputs, .. } = network;
        let network = Network::of(tensors, nodes.clone(), inputs.clone(), outputs.clone());
        let has_constants = packed.is_empty();
        let (limits, threads) = (Limits::default(), blocktensor::current_threads());
        Ok(Recipe { network, choices, written: None, has_constants, limits, threads })
    }
}

/// The tensors that are weights of nodes that packed them, and nothing else.
pub(super) fn packed_only(network: &Network, choices: &[Choice]) -> HashSet<TensorId> {
    let nodes = || network.nodes.iter().zip(choices);
    let packed = |choice: &Choice| choice.weights.is_some();
    let mut all: HashSet<TensorId> =
        nodes().filter(|(_, c)| packed(c)).filter_map(|(node, _)| pack::weights_of(node)).collect();
    for (node, choice) in nodes() {
        let weights = pack::weights_of(node).filter(|_| packed(choice));
        for id in node.inputs.iter().filter(|id| Some(**id) != weights) {
            all.remove(id);
        }
    }
    for (_, id) in &network.outputs {
        all.remove(id);
    }
    all
}

/// A constant of the tensor's sizes that holds one element, which stands for all: nothing reads it.
pub(super) fn without_elements(tensor: &Tensor) -> Result<StridedTensor> {
    let one = StridedTensor::zeros(&vec![1; tensor.dims.len()], tensor.dtype, MemoryFormat::Contiguous)?;
    Ok(one.expand(&tensor.dims)?)
}
