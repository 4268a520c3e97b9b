//! The ways in which each node could run.

use blocktensor::TensorDesc;

use super::super::algorithms::{self, Limits};
use super::super::build;
use super::super::choice::Choice;
use super::super::forms::{Target, same_order};
use super::super::fuse;
use crate::error::Result;
use crate::network::{Network, TensorId};
use crate::stop::Stop;

/// For each node the ways in which it could run: as the plans for each target order could run it, and with each algorithm that
/// the limits leave open.
pub(super) fn candidates(
    network: &Network,
    targets: &[Target],
    limits: Limits,
    stop: &Stop,
) -> Result<Vec<Vec<Choice>>> {
    let mut all: Vec<Vec<Choice>> = vec![Vec::new(); network.nodes.len()];
    for &target in targets {
        let nodes = all.iter_mut().zip(&network.nodes);
        for ((list, node), choices) in nodes.zip(build::choices(network, target, stop)?) {
            let variants = |choice| algorithms::variants(network, node, choice, limits);
            for choice in choices.into_iter().flat_map(variants) {
                if !list.iter().any(|other| is_same(network, other, &choice)) {
                    list.push(choice);
                }
            }
        }
    }
    // Each node of a group has a candidate that says so; the choice takes all of them or none.
    let mut groups = Vec::new();
    for &target in targets {
        for group in fuse::groups(network, target, limits) {
            if !groups.contains(&group) {
                for &n in &group.nodes {
                    all[n].push(group.choice(network, n)?);
                }
                groups.push(group);
            }
        }
    }
    Ok(all)
}

/// The inputs that a run computes.
pub(super) fn data<'a>(
    network: &'a Network,
    choice: &'a Choice,
) -> impl Iterator<Item = (TensorId, &'a TensorDesc)> {
    let inputs = choice.inputs.iter().map(|(id, desc)| (*id, desc));
    inputs.filter(|(id, _)| network.tensor(*id).constant.is_none())
}

fn is_same(network: &Network, a: &Choice, b: &Choice) -> bool {
    a.outputs == b.outputs
        && a.computes == b.computes
        && a.group == b.group
        && data(network, a).map(|(_, desc)| desc).eq(data(network, b).map(|(_, desc)| desc))
}

/// Which of the candidates this choice of a plan in one layout is.
pub(super) fn position(network: &Network, candidates: &[Choice], choice: &Choice) -> Option<usize> {
    // Such a plan leaves it to the node how it computes.
    let runs = |other: &Choice| Choice { computes: choice.computes, ..other.clone() };
    let direct = |other: &Choice| other.computes.is_none_or(|c| c == algorithms::Computes::Direct);
    candidates.iter().position(|other| direct(other) && is_same(network, &runs(other), choice))
}

/// Whether one is the other without a reorder.
pub(super) fn is_free(from: &TensorDesc, to: &TensorDesc) -> bool {
    from == to || same_order(from, to)
}
