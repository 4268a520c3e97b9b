//! `cat(a, b, c)` after `cat(a, b)` becomes `cat(cat(a, b), c)`: then neither needs a copy of what they share.

use blocktensor::ParamValue;

use crate::Param;
use crate::error::Result;
use crate::network::{Network, TensorId};

/// Returns how many concatenations take the result of another now.
pub(super) fn run(network: &mut Network) -> Result<usize> {
    let mut seen: Vec<(i64, Vec<TensorId>, TensorId)> = Vec::new();
    let mut changes = 0;
    for i in 0..network.nodes.len() {
        let node = &network.nodes[i];
        let Some(ParamValue::Int(axis)) = node.op.param("axis").filter(|_| node.op.op() == "cat") else {
            continue;
        };
        let (axis, inputs, output) = (*axis, node.inputs.clone(), node.outputs[0]);
        let shared = seen
            .iter()
            .filter(|(other, start, _)| *other == axis && start.len() > 1 && inputs.starts_with(start))
            .max_by_key(|(_, start, _)| start.len());
        if let Some((_, start, result)) = shared
            && start.len() < inputs.len()
        {
            let rest = &inputs[start.len()..];
            let new: Vec<(&str, TensorId)> =
                std::iter::once(*result).chain(rest.iter().copied()).map(|id| ("tensors", id)).collect();
            network.nodes[i].rewrite("cat", &new, &[("axis", Param::Int(axis))])?;
            changes += 1;
        }
        seen.push((axis, inputs, output));
    }
    Ok(changes)
}
