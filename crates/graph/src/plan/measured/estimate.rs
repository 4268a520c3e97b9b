//! Costs without measuring: from bytes and multiply-adds.
//!
//! A kernel takes as long as its multiplications or its memory traffic, whichever takes longer. The figures are
//! [`blocktensor::machine`]'s; only their ratios decide. What is measured is held against them too ([`Prior`]).

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
    let reorders: HashMap<_, _> =
        edges.iter().flat_map(Edge::pairs).map(|pair| (pair.clone(), moving(&pair))).collect();
    let costs = nodes.iter().map(|list| list.iter().map(|s| s.unwrap_or(IMPOSSIBLE)).collect()).collect();
    let profiles =
        nodes.iter().map(|list| list.iter().map(|s| s.map(|s| Profile::once(s, false))).collect()).collect();
    Ok((Costs { nodes: costs, reorders, price_of_reorder: 0.0 }, profiles))
}

fn bytes(desc: &TensorDesc) -> f64 {
    desc.bytes().unwrap_or(0) as f64
}

/// What a reorder takes, in **seconds**.
fn moving((from, to): &(TensorDesc, TensorDesc)) -> f64 {
    (bytes(from) + bytes(to)) / machine().costs.bytes
}

fn effort(network: &Network, node: usize, choice: &Choice) -> Effort {
    let nodes = choice.group.as_ref().map_or(vec![node], |group| group.nodes.clone());
    Effort::of_all(network, &nodes)
}

fn seconds(network: &Network, node: usize, choice: &Choice) -> f64 {
    if takes_no_time(network, node, choice) {
        return 0.0;
    }
    let (effort, costs) = (effort(network, node, choice), &machine().costs);
    let moved: f64 = data(network, choice).map(|(_, desc)| desc).chain(&choice.outputs).map(bytes).sum();
    let grown = algorithms::growth_bytes(choice);
    let memory = (moved + (effort.weight_bytes as f64).max(grown)) / costs.bytes;
    let threads = blocktensor::current_threads() as f64;
    let multiply_adds = algorithms::multiply_adds(choice, effort.multiply_adds as f64);
    let computing = multiply_adds / (costs.multiply_adds * threads) * slowdown(network, node, choice);
    memory.max(computing)
}

/// More than any known machine does, for one thread: multiply-adds in a **second**, as AMX makes of integers, and **bytes** in a
/// **second** that are written to the nearest cache.
const PEAK: (f64, f64) = (4e12, 2e12);

/// So many times what is expected, and so many **seconds**, is slower than kernels are.
const ABSURD: (f64, f64) = (10.0, 1e-4);

/// What times something can have at all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prior {
    /// No machine is faster, in **seconds**.
    least: f64,
    /// No kernel is slower where nothing disturbs it, in **seconds**.
    most: f64,
}

impl Prior {
    /// Of something that is expected to take so long, that makes so many multiply-adds and writes so many **bytes**.
    fn of(expected: f64, multiply_adds: f64, written: f64) -> Prior {
        let threads = blocktensor::current_threads() as f64;
        let least = (multiply_adds / PEAK.0).max(written / PEAK.1) / threads;
        Prior { least, most: ABSURD.0 * expected + ABSURD.1 }
    }

    pub(super) fn of_choice(network: &Network, node: usize, choice: &Choice) -> Prior {
        let effort = effort(network, node, choice);
        let multiply_adds = algorithms::multiply_adds(choice, effort.multiply_adds as f64);
        // Some ops read a part of their operands. All write their results.
        Prior::of(seconds(network, node, choice), multiply_adds, choice.outputs.iter().map(bytes).sum())
    }

    pub(super) fn of_reorder(pair: &(TensorDesc, TensorDesc)) -> Prior {
        Prior::of(moving(pair), 0.0, bytes(&pair.1))
    }

    /// Whether a machine can take so few **seconds**.
    pub(super) fn can_be(&self, seconds: f64) -> bool {
        seconds >= self.least
    }

    /// Whether only other work explains so many **seconds**.
    pub(super) fn is_absurd(&self, seconds: f64) -> bool {
        seconds > self.most
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prior_throws_out_what_no_machine_and_no_kernel_does() {
        let threads = blocktensor::current_threads() as f64;
        // An AVX-512 core of 5 GHz makes 160e9 multiply-adds in a second and writes 320e9 bytes.
        let computing = Prior::of(1e-3, 160e9 * 1e-3 * threads, 0.0);
        let writing = Prior::of(1e-3, 0.0, 320e9 * 1e-3 * threads);
        for prior in [computing, writing] {
            assert!(prior.can_be(1e-3) && prior.can_be(2.5e-4) && !prior.can_be(1e-5), "{prior:?}");
            assert!(!prior.is_absurd(8e-3) && prior.is_absurd(11e-3), "{prior:?}");
        }
        // What is small takes as long as waking threads.
        assert!(!Prior::of(1e-9, 0.0, 4.0).is_absurd(5e-5));
    }
}
