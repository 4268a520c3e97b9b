//! Nodes with the same op, parameters and inputs become one.

use std::collections::HashMap;

use blocktensor::{BoundOp, Operator};

use crate::network::{Network, TensorId};

/// Returns how many nodes were removed.
// What may change of a registered op is its list of kernels. Its name is what is hashed.
#[allow(clippy::mutable_key_type)]
pub(super) fn run(network: &mut Network) -> usize {
    let mut seen: HashMap<(BoundOp, Vec<TensorId>), Vec<TensorId>> = HashMap::new();
    let mut gone = Vec::new();
    for i in 0..network.nodes.len() {
        let node = &network.nodes[i];
        let Some(op) = node.op.bound() else { continue };
        // Each run of a training-mode dropout draws other numbers.
        if op.op().contains("dropout") {
            continue;
        }
        let key = (op.clone(), node.inputs.clone());
        let outputs = node.outputs.clone();
        match seen.get(&key).cloned() {
            Some(first) => {
                outputs.iter().zip(first).for_each(|(old, new)| network.replace(*old, new));
                gone.push(i);
            }
            None => {
                seen.insert(key, outputs);
            }
        }
    }
    network.remove_nodes(&gone);
    gone.len()
}
