//! The steps of a plan, for those who show them.

use blocktensor::TensorDesc;
use blocktensor::ops::Algorithm;

use super::recipe::Recipe;
use super::{Plan, SlotId, Step, Work};
use crate::network::{Network, Node, TensorId};

/// What kind of step it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StepKind {
    /// A kernel that writes a new result.
    Operator,
    /// The result shares the operand's memory; nothing runs.
    View,
    /// A kernel that overwrites its first operand.
    InPlace,
    /// A concatenation whose operands were computed in their places; nothing runs.
    Joined,
    /// A change of layout.
    Reorder,
}

impl StepKind {
    /// `operator`, `view`, `in place`, `joined`, `reorder`.
    pub const fn name(self) -> &'static str {
        match self {
            StepKind::Operator => "operator",
            StepKind::View => "view",
            StepKind::InPlace => "in place",
            StepKind::Joined => "joined",
            StepKind::Reorder => "reorder",
        }
    }
}

/// A tensor that a step takes or makes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTensor<'a> {
    /// A number for this tensor in this layout: a step that makes it and those that take it have the same.
    pub id: usize,
    /// The name of the graph's value. Constants and parts of nodes may have none.
    pub name: &'a str,
    /// Sizes, dtype and layout.
    pub desc: &'a TensorDesc,
    /// Whether it is known before the run.
    pub is_constant: bool,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct StepInfo<'a> {
    /// The name of the graph's node; a number follows if that node became several operators.
    pub name: &'a str,
    /// The names of the graph's nodes that it computes, in order: several where they run as one. None for steps of the plan's own.
    pub nodes: Vec<&'a str>,
    /// The op; the first one of several.
    pub op: &'a str,
    /// What kind of step it is.
    pub kind: StepKind,
    /// What is fused into it: the words of its post-ops, or the names of ops.
    pub fused: &'a str,
    /// What runs, where the weights are packed for it.
    pub implementation: Option<&'a str>,
    /// The stated relative error of a convolution that rounds otherwise than a direct one
    /// ([`Algorithm::relative_error`](blocktensor::ops::Algorithm::relative_error)). `None` for all other steps.
    pub rounds_otherwise: Option<f64>,
    /// Its operands; packed weights are not among them.
    pub inputs: Vec<StepTensor<'a>>,
    /// Its results.
    pub outputs: Vec<StepTensor<'a>>,
    /// Multiplications of a convolution, a linear layer or a product of matrices, each with its addition; 0 for others.
    pub multiply_adds: u64,
    /// **Bytes** of weights that it reads.
    pub weight_bytes: usize,
}

/// The names of a step's nodes, where they are several; else its name.
pub(super) fn title<S: AsRef<str>>(name: &str, nodes: &[S]) -> String {
    let names: Vec<&str> = nodes.iter().map(AsRef::as_ref).collect();
    if names.len() > 1 { names.join(", ") } else { name.to_string() }
}

impl StepInfo<'_> {
    /// The names of its nodes, where they are several; else its name.
    pub fn title(&self) -> String {
        title(self.name, &self.nodes)
    }

    /// **Bytes** that it has to read and write at least: operands, results, weights. 0 for views.
    pub fn bytes(&self) -> usize {
        if matches!(self.kind, StepKind::View | StepKind::Joined) {
            return 0;
        }
        let tensors = self.inputs.iter().chain(&self.outputs);
        tensors.filter_map(|t| t.desc.bytes().ok()).sum::<usize>() + self.weight_bytes
    }
}

/// How much a node has to do: its multiply-adds, and the **bytes** of its weights.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effort {
    pub(super) multiply_adds: u64,
    pub(super) weight_bytes: usize,
}

impl Effort {
    pub(super) fn of(network: &Network, node: &Node) -> Effort {
        let Some(op) = node.op.bound() else { return Effort::default() };
        let dims = |ids: &[TensorId]| ids.iter().map(|id| network.tensor(*id).dims()).collect::<Vec<_>>();
        let multiply_adds = op.multiply_adds(&dims(&node.inputs), &dims(&node.outputs)).unwrap_or(0);
        let weights = op.weights().and_then(|at| network.tensor(node.inputs[at]).constant());
        Effort { multiply_adds, weight_bytes: weights.map_or(0, |w| w.numel() * w.dtype().size_bytes()) }
    }
}

impl Effort {
    /// That of nodes that run as one.
    pub(super) fn of_all(network: &Network, nodes: &[usize]) -> Effort {
        let efforts = nodes.iter().map(|&n| Effort::of(network, &network.nodes[n]));
        efforts.fold(Effort::default(), |all, own| Effort {
            multiply_adds: all.multiply_adds.saturating_add(own.multiply_adds),
            weight_bytes: all.weight_bytes.saturating_add(own.weight_bytes),
        })
    }
}

impl Work {
    /// What a step is called in errors and reports.
    pub(super) fn op(&self) -> &str {
        match self {
            Work::Operator { op, .. } | Work::View(op) => op.op(),
            Work::InPlace { op, .. } | Work::Join { op } => op,
            Work::Restride => "restride",
            Work::Reorder => "reorder",
        }
    }
}

impl Plan {
    /// The steps of a run, in order.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = StepInfo<'_>> {
        self.steps.iter().map(|step| self.step_info(step))
    }

    /// How many steps round otherwise than a direct convolution, and the largest of their stated relative errors. `None` if no
    /// step does.
    pub fn rounds_otherwise(&self) -> Option<(usize, f64)> {
        let errors: Vec<f64> = self.steps().filter_map(|step| step.rounds_otherwise).collect();
        Some((errors.len(), errors.iter().copied().reduce(f64::max)?))
    }

    /// The numbers ([`StepTensor::id`]) of the inputs, in their order.
    pub fn input_ids(&self) -> impl Iterator<Item = usize> {
        self.inputs.iter().map(|(_, id)| id.0)
    }

    /// The numbers of the outputs, in their order. Two outputs may be one tensor.
    pub fn output_ids(&self) -> impl Iterator<Item = usize> {
        self.outputs.iter().map(|(_, id)| id.0)
    }

    pub(super) fn step_info<'a>(&'a self, step: &'a Step) -> StepInfo<'a> {
        let (kind, fused, implementation): (_, &str, _) = match &step.work {
            Work::Operator { implementation, fused, .. } => {
                (StepKind::Operator, fused, implementation.as_deref())
            }
            Work::View(_) | Work::Restride => (StepKind::View, "", None),
            Work::Reorder => (StepKind::Reorder, "", None),
            Work::InPlace { .. } => (StepKind::InPlace, "", None),
            Work::Join { .. } => (StepKind::Joined, "", None),
        };
        let tensors = |ids: &[SlotId]| ids.iter().map(|id| self.step_tensor(*id)).collect();
        let Recipe { network, choices, .. } = &self.recipe;
        let algorithms = step.nodes.iter().filter_map(|&n| choices.get(n)?.algorithm(&network.nodes[n]));
        let errors = algorithms.filter(|a| a.rounds_otherwise()).map(Algorithm::relative_error);
        StepInfo {
            name: &step.name,
            nodes: step.nodes.iter().map(|&n| self.recipe.network.nodes[n].name.as_str()).collect(),
            op: step.work.op(),
            kind,
            fused,
            implementation,
            rounds_otherwise: errors.reduce(f64::max),
            inputs: tensors(&step.inputs),
            outputs: tensors(&step.outputs),
            multiply_adds: step.effort.multiply_adds,
            weight_bytes: step.effort.weight_bytes,
        }
    }

    fn step_tensor(&self, id: SlotId) -> StepTensor<'_> {
        let slot = &self.slots[id.0];
        let is_constant = matches!(slot.place, super::Place::Constant(_));
        StepTensor { id: id.0, name: &slot.name, desc: &slot.desc, is_constant }
    }
}
