//! How nodes compute: what a plan lets them choose from.

use blocktensor::ops::Algorithm;
use blocktensor::{Candidate, ParamValue};
use serde::{Deserialize, Serialize};

use super::choice::Choice;
use super::forms::Form;
use super::pack;
use crate::network::{Network, Node};

/// How a convolution of packed weights computes, where a plan decides it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Computes {
    /// Directly, by the first implementation that does.
    Direct,
    /// As this candidate does.
    As(Candidate),
}

impl Computes {
    /// The name of the algorithm, or of the implementation.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Computes::Direct => "direct",
            Computes::As(candidate) => candidate.name,
        }
    }
}

/// What a planning keeps to, and what it leaves its nodes to choose from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Limits {
    /// Whether only the direct algorithm is open.
    pub(super) exact: bool,
    /// How large packed weights may become, as a multiple of the plain ones: at least 1.
    pub(super) weight_growth: f64,
    /// How many reorders a run may make.
    #[serde(default)]
    pub(super) most_reorders: Option<usize>,
    /// Whether each node is a step of its own.
    #[serde(default)]
    pub(super) node_by_node: bool,
    /// Whether nothing is measured.
    #[serde(default)]
    pub(super) estimated: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            exact: false,
            weight_growth: 1.25,
            most_reorders: None,
            node_by_node: false,
            estimated: false,
        }
    }
}

impl Limits {
    /// **Bytes** by which packed weights may grow.
    fn room(self, network: &Network) -> f64 {
        (self.weight_growth - 1.0) * packed_bytes(network)
    }
}

/// The node's own word for how it computes.
fn asked(node: &Node) -> &str {
    match node.op.param("algorithm") {
        Some(ParamValue::Str(word)) => word,
        _ => "direct",
    }
}

/// The same choice with each way to compute that the planner may take: the direct one first.
pub(super) fn variants(network: &Network, node: &Node, choice: Choice, limits: Limits) -> Vec<Choice> {
    let open = asked(node) == "measured";
    let direct = Choice { computes: open.then_some(Computes::Direct), ..choice };
    if !direct.unpacked || direct.form == Form::Stem || !(open || asked(node) == "direct") {
        return vec![direct];
    }
    let candidates = pack::candidates(network, node, &direct.inputs[0].1);
    // The first that computes directly is the usual one. What grows more would be above the limit for the whole network.
    let usual = candidates.iter().position(|c| c.algorithm == Algorithm::Direct);
    let may = |(k, c): &(usize, &Candidate)| {
        c.promising
            && Some(*k) != usual
            && !(limits.exact && c.algorithm != Algorithm::Direct)
            && c.extra_bytes as f64 <= limits.room(network)
    };
    let others: Vec<Choice> = candidates
        .iter()
        .enumerate()
        .filter(may)
        .map(|(_, c)| Choice { computes: Some(Computes::As(*c)), ..direct.clone() })
        .collect();
    std::iter::once(direct).chain(others).collect()
}

/// **Bytes** of all weights that are packed.
fn packed_bytes(network: &Network) -> f64 {
    let packed = network.nodes.iter().filter(|node| pack::packs(network, node));
    let elements = |id| network.tensor(id).dims().iter().product::<usize>();
    packed.filter_map(pack::weights_of).map(|id| 4.0 * elements(id) as f64).sum()
}

/// How many multiply-adds of a direct convolution take as long as this way to compute, for so many of them.
pub(super) fn multiply_adds(choice: &Choice, direct: f64) -> f64 {
    match choice.computes {
        Some(Computes::As(candidate)) => candidate.work,
        _ => direct,
    }
}

/// **Bytes** that packed weights take in addition to the plain ones.
pub(super) fn growth_bytes(choice: &Choice) -> f64 {
    match choice.computes {
        Some(Computes::As(candidate)) => candidate.extra_bytes as f64,
        _ => 0.0,
    }
}

/// Which candidates would make packed weights grow beyond the limit, as (node, candidate): those that save the
/// least time for their bytes. `seconds` are the costs of all candidates.
pub(super) fn beyond(
    network: &Network,
    candidates: &[Vec<Choice>],
    seconds: &[Vec<f64>],
    limits: Limits,
) -> Vec<(usize, usize)> {
    let mut wishes: Vec<(f64, f64, usize, usize)> = vec![];
    for (n, list) in candidates.iter().enumerate() {
        for (k, choice) in list.iter().enumerate() {
            let bytes = growth_bytes(choice);
            if bytes > 0.0 {
                let others = list
                    .iter()
                    .zip(&seconds[n])
                    .filter(|(other, _)| growth_bytes(other) == 0.0 && other.outputs == choice.outputs);
                let best = others.map(|(_, s)| *s).fold(f64::INFINITY, f64::min);
                wishes.push(((best - seconds[n][k]) / bytes, bytes, n, k));
            }
        }
    }
    wishes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut room = limits.room(network);
    let mut granted: Vec<usize> = vec![];
    let mut refused = vec![];
    for (_, bytes, n, k) in wishes {
        if bytes <= room && !granted.contains(&n) {
            room -= bytes;
            granted.push(n);
        } else {
            refused.push((n, k));
        }
    }
    refused
}
