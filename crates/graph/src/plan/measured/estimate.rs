//! Costs without measuring: from bytes and multiply-adds.
//!
//! A kernel takes as long as its multiplications or its memory traffic, whichever takes longer. The figures are
//! [`blocktensor::machine`]'s; only their ratios decide.

use std::collections::HashMap;

use blocktensor::dispatch::DispatchKey;
use blocktensor::{MemoryFormat, TensorDesc, machine};

use super::super::algorithms;
use super::super::choice::Choice;
use super::super::packed_weights::PackedWeights;
use super::super::steps::Effort;
use super::candidates::data;
use super::choose::{Costs, Edge};
use super::costs::{NodeProfiles, is_lasting, takes_no_time};
use super::profile::Profile;
use crate::error::Result;
use crate::minimise::IMPOSSIBLE;
use crate::network::{Network, is_convolution};

/// Costs of all candidates and reorders. Candidates whose weights cannot be packed cost what is impossible.
pub(super) fn estimated(
    network: &Network,
    candidates: &[Vec<Choice>],
    edges: &[Edge],
    weights: &PackedWeights,
) -> Result<(Costs, NodeProfiles)> {
    let mut nodes = Vec::with_capacity(candidates.len());
    for (node, list) in candidates.iter().enumerate() {
        let mut own = Vec::with_capacity(list.len());
        for choice in list {
            own.push(match weights.packed(network, node, choice) {
                Ok(_) => Some(seconds(network, node, choice)),
                Err(error) if is_lasting(&error) => None,
                Err(error) => return Err(error),
            });
        }
        nodes.push(own);
    }
    let moved = |(from, to): &(TensorDesc, TensorDesc)| (bytes(from) + bytes(to)) / machine().costs.bytes;
    let reorders: HashMap<_, _> =
        edges.iter().flat_map(Edge::pairs).map(|pair| (pair.clone(), moved(&pair))).collect();
    let costs = nodes.iter().map(|list| list.iter().map(|s| s.unwrap_or(IMPOSSIBLE)).collect()).collect();
    let profiles =
        nodes.iter().map(|list| list.iter().map(|s| s.map(|s| Profile::once(s, false))).collect()).collect();
    Ok((Costs { nodes: costs, reorders, price_of_reorder: 0.0 }, profiles))
}

fn bytes(desc: &TensorDesc) -> f64 {
    desc.bytes().unwrap_or(0) as f64
}

fn seconds(network: &Network, node: usize, choice: &Choice) -> f64 {
    if takes_no_time(network, node, choice) {
        return 0.0;
    }
    let nodes = choice.group.as_ref().map_or(vec![node], |group| group.nodes.clone());
    let (effort, costs) = (Effort::of_all(network, &nodes), &machine().costs);
    let moved: f64 = data(network, choice).map(|(_, desc)| desc).chain(&choice.outputs).map(bytes).sum();
    let grown = algorithms::growth_bytes(choice);
    let memory = (moved + (effort.weight_bytes as f64).max(grown)) / costs.bytes;
    let threads = blocktensor::current_threads() as f64;
    let multiply_adds = algorithms::multiply_adds(choice, effort.multiply_adds as f64);
    let computing = multiply_adds / (costs.multiply_adds * threads) * slowdown(network, node, choice);
    memory.max(computing)
}

/// How many times longer a convolution computes than in the best layout.
fn slowdown(network: &Network, node: usize, choice: &Choice) -> f64 {
    if !is_convolution(&*network.nodes[node].op) {
        return 1.0;
    }
    let of = |desc: &TensorDesc| match (desc.layout(), desc.key()) {
        // Blocks of half a vector's length fill half of a vector.
        (Some(layout), _) => machine().block as f64 / layout.block_of(1).max(1) as f64,
        (None, DispatchKey::STRIDED) if is_row_major(desc) => machine().costs.row_major,
        _ => 1.0,
    };
    // A stem reads few channels: what it writes decides.
    choice.outputs.iter().map(of).fold(1.0, f64::max)
}

fn is_row_major(desc: &TensorDesc) -> bool {
    let dense = TensorDesc::strided(desc.dims(), desc.dtype(), MemoryFormat::Contiguous);
    desc.dims().len() > 3 && dense.is_ok_and(|dense| super::candidates::is_free(&dense, desc))
}
