//! Nodes with the same op, parameters and inputs become one.

use std::collections::HashMap;

use blocktensor::BoundOp;

use crate::network::{Network, TensorId, facts};

/// Returns how many nodes were removed.
// What may change of a registered op is its list of kernels. Its name is what is hashed.
#[allow(clippy::mutable_key_type)]
pub(super) fn run(network: &mut Network) -> usize {
    let mut seen: HashMap<(BoundOp, Vec<TensorId>), Vec<TensorId>> = HashMap::new();
    let mut gone = Vec::new();
    let mut same: HashMap<TensorId, TensorId> = HashMap::new();
    for i in 0..network.nodes.len() {
        let rename = |id: &mut TensorId| *id = same.get(id).copied().unwrap_or(*id);
        network.nodes[i].inputs.iter_mut().for_each(rename);
        let node = &network.nodes[i];
        let Some(op) = node.op.bound() else { continue };
        // The program means two drawings.
        if facts(op).draws {
            continue;
        }
        let key = (op.clone(), node.inputs.clone());
        let outputs = node.outputs.clone();
        match seen.get(&key).cloned() {
            Some(first) => {
                same.extend(outputs.into_iter().zip(first));
                gone.push(i);
            }
            None => {
                seen.insert(key, outputs);
            }
        }
    }
    network.outputs.iter_mut().for_each(|(_, id)| *id = same.get(id).copied().unwrap_or(*id));
    network.remove_nodes(&gone);
    gone.len()
}
