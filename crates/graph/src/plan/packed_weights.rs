//! The packed weights of one planning.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use blocktensor::{Operator, TensorDesc};

use super::choice::Choice;
use super::forms::Form;
use super::pack::{self, Packed};
use crate::error::{Error, Result};
use crate::network::{Network, Node};
use crate::stop::Stop;

/// A node, the descriptors of its operands and of its results, and how it computes.
type PackKey = (usize, Vec<TensorDesc>, Vec<TensorDesc>, Option<&'static str>);

fn pack_key(i: usize, choice: &Choice) -> PackKey {
    let inputs = choice.inputs.iter().map(|(_, desc)| desc.clone()).collect();
    (i, inputs, choice.outputs.clone(), choice.computes.map(|c| c.name()))
}

/// Packed weights, by node and by the orders that they are packed for: packed once, whichever plan wants them first.
#[derive(Default)]
pub(super) struct PackedWeights {
    kept: Mutex<HashMap<PackKey, Packed>>,
    /// Dry run: nothing is packed; results are assumed in the requested layout.
    pub(super) is_dry: bool,
    pub(super) stop: Stop,
}

impl PackedWeights {
    pub(super) fn new(stop: &Stop) -> PackedWeights {
        PackedWeights { stop: stop.clone(), ..PackedWeights::default() }
    }

    /// For looking at what could be packed.
    pub(super) fn dry(stop: &Stop) -> PackedWeights {
        PackedWeights { is_dry: true, ..PackedWeights::new(stop) }
    }

    /// The choice with its weights packed. What comes out is as it was taken to be, or the choice is refused.
    pub(super) fn packed(&self, network: &Network, i: usize, choice: &Choice) -> Result<Choice> {
        self.stop.check()?;
        if !choice.unpacked {
            return Ok(choice.clone());
        }
        if let Some(group) = &choice.group {
            let alone = |&n: &usize| {
                let packs = group.takes_weights(network, n) && (n == i || i == group.last());
                packs.then(|| self.packed(network, n, &group.alone(network, n)?)).transpose()
            };
            let alone = group.nodes.iter().map(alone).collect::<Result<Vec<_>>>()?;
            return group.bound(network, i, choice, &alone);
        }
        let node = &network.nodes[i];
        let of_operator = |source: blocktensor::Error| node.origin.error(source);
        let key = pack_key(i, choice);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let packed = match kept {
            Some(packed) => packed,
            None => {
                let stem = match choice.form {
                    Form::Stem => choice.outputs[0].layout().copied(),
                    _ => None,
                };
                let packed =
                    pack::pack(network, node, &choice.inputs, stem, choice.computes).map_err(of_operator)?;
                let packed = packed.ok_or_else(|| not_a_stem(node))?;
                self.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(key, packed.clone());
                packed
            }
        };
        let Packed { op, implementation, inputs } = packed;
        let inputs: Vec<_> = inputs.into_iter().map(|i| choice.inputs[i].clone()).collect();
        let descs: Vec<TensorDesc> = inputs.iter().map(|(_, desc)| desc.clone()).collect();
        let outputs = op.infer(&descs).map_err(of_operator)?;
        let implementation = Some(implementation);
        let weights = Some(Arc::clone(&op));
        let op: Arc<dyn Operator> = op;
        Ok(Choice { op, weights, implementation, inputs, outputs, unpacked: false, ..choice.clone() })
    }
}

pub(super) fn not_a_stem(node: &Node) -> Error {
    Error::Invalid {
        what: format!("node `{}`", node.name),
        got: "a convolution that is no stem".to_string(),
        rule: "a stem has constant weights".into(),
        remedy: "it runs in another form".into(),
    }
}
