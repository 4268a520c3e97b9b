//! The ways in which each node could run.

use blocktensor::TensorDesc;

use super::super::build::{self, Choice};
use super::super::forms::{Target, same_order};
use crate::error::Result;
use crate::network::{Network, TensorId};

/// For each node the ways in which it could run: as the plans for each target order could run it.
pub(super) fn candidates(network: &Network, targets: &[Target]) -> Result<Vec<Vec<Choice>>> {
    let mut all: Vec<Vec<Choice>> = vec![Vec::new(); network.nodes.len()];
    for &target in targets {
        for (list, choices) in all.iter_mut().zip(build::choices(network, target)?) {
            for choice in choices {
                if !list.iter().any(|other| is_same(network, other, &choice)) {
                    list.push(choice);
                }
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
        && data(network, a).map(|(_, desc)| desc).eq(data(network, b).map(|(_, desc)| desc))
}

/// Whether one is the other without a reorder.
pub(super) fn is_free(from: &TensorDesc, to: &TensorDesc) -> bool {
    from == to || same_order(from, to)
}
