//! How one node of a plan runs.

use std::sync::Arc;

use blocktensor::ops::Algorithm;
use blocktensor::{Operator, PackedOp, ParamValue, TensorDesc};

use super::algorithms::Computes;
use super::forms::Form;
use super::fuse::Group;
use crate::network::{Node, TensorId};

/// How a node will run.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) form: Form,
    pub(super) op: Arc<dyn Operator>,
    /// The packed weights, for files.
    pub(super) weights: Option<Arc<PackedOp>>,
    /// What runs, if the weights are packed for it.
    pub(super) implementation: Option<String>,
    pub(super) inputs: Vec<(TensorId, TensorDesc)>,
    pub(super) outputs: Vec<TensorDesc>,
    /// How it computes, where the plan decides that.
    pub(super) computes: Option<Computes>,
    /// Whether weights are still to be packed.
    pub(super) unpacked: bool,
    /// The nodes that run as one step, if this is one of them.
    pub(super) group: Option<Arc<Group>>,
}

impl Choice {
    /// A choice without tensors whose weights are still to be packed.
    pub(super) fn unpacked(form: Form, op: Arc<dyn Operator>) -> Choice {
        Choice {
            form,
            op,
            weights: None,
            implementation: None,
            inputs: vec![],
            outputs: vec![],
            computes: None,
            unpacked: true,
            group: None,
        }
    }

    /// How the node is computed, where it is a convolution.
    pub(super) fn algorithm(&self, node: &Node) -> Option<Algorithm> {
        let packed = self.weights.as_ref().and_then(|weights| weights.algorithm());
        packed.or_else(|| match node.op.param("algorithm") {
            Some(ParamValue::Str(word)) => word.parse().ok(),
            _ => None,
        })
    }

    /// Whether node `i` runs in the place of another, together with it.
    pub(super) fn is_inner(&self, i: usize) -> bool {
        self.group.as_ref().is_some_and(|group| group.last() != i)
    }
}
