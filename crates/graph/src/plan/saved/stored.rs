//! What a plan is in a file, and how it is checked when it is read.

use std::collections::HashSet;
use std::sync::Arc;

use blocktensor::fusion::Fusion;
use blocktensor::{
    BoundOp, Call, DType, Operator, PackedFile, PackedOp, StridedTensor, TensorDesc, Text, memory,
};
use serde::{Deserialize, Serialize};

use super::super::algorithms::Limits;
use super::super::build;
use super::super::choice::Choice;
use super::super::forms::Form;
use super::super::fuse::Group;
use super::super::pack;
use super::super::recipe::{Recipe, without_elements};
use super::super::{Layouts, Measurements, Plan, Reorder};
use super::PLAN;
use crate::constant::ElementType;
use crate::error::{Error, Result};
use crate::integers::Integers;
use crate::network::{Network, Node, Operation, Origin, Tensor, TensorId};
use crate::passes::PassReport;

/// The version of this module's format.
pub(super) const VERSION: u32 = 1;

/// A plan in a file.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    pub version: u32,
    pub layouts: Layouts,
    #[serde(default)]
    pub limits: Limits,
    pub threads: usize,
    pub input_types: Vec<ElementType>,
    /// A file of a build that did not write them has none.
    #[serde(default)]
    pub output_types: Option<Vec<ElementType>>,
    pub tensors: Vec<StoredTensor>,
    pub inputs: Vec<usize>,
    pub outputs: Vec<(String, usize)>,
    pub nodes: Vec<StoredNode>,
    #[serde(default)]
    pub groups: Vec<StoredGroup>,
    pub reorders: Vec<Reorder>,
    pub passes: Vec<PassReport>,
    pub measurements: Option<Measurements>,
}

/// A tensor of the network.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredTensor {
    pub name: String,
    pub dims: Vec<usize>,
    pub dtype: String,
    pub elements: Elements,
}

/// Where the elements of a tensor are.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Elements {
    /// A run computes them.
    Computed,
    /// A constant of the file.
    Constant,
    /// Packed weights.
    Packed,
}

/// A node, and how it runs.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredNode {
    pub name: String,
    /// The graph's node, where errors do not call it by this name and the operator's. Files of older builds never have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    #[serde(flatten)]
    pub op: StoredOp,
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
    /// The inputs of the kernel that runs, and what they are then.
    pub takes: Vec<(usize, TensorDesc)>,
    /// What its results are.
    pub makes: Vec<TensorDesc>,
    /// What runs, if the weights are packed.
    pub packed: Option<String>,
    pub stem: bool,
}

/// The operator of a node: its name and its parameters.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredOp {
    Op(BoundOp),
    Integers(Integers),
}

impl StoredOp {
    fn operation(&self) -> Operation {
        match self {
            StoredOp::Op(op) => Operation::Bound(op.clone()),
            StoredOp::Integers(op) => Operation::Integers(op.clone()),
        }
    }
}

/// Nodes that run as one step.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredGroup {
    pub nodes: Vec<usize>,
    /// What computes them.
    pub way: String,
    /// The orders of all tensors that they take and make.
    pub tensors: Vec<(usize, TensorDesc)>,
}

impl StoredGroup {
    pub(super) fn of_all(choices: &[Choice]) -> Vec<StoredGroup> {
        let groups = choices.iter().enumerate().filter_map(|(i, choice)| {
            let group = choice.group.as_ref()?;
            (group.last() == i).then(|| StoredGroup {
                nodes: group.nodes.clone(),
                way: group.fusion.name().to_string(),
                tensors: group.tensors.iter().map(|(id, desc)| (id.0, desc.clone())).collect(),
            })
        });
        groups.collect()
    }

    /// The group, checked against the network.
    fn group(&self, network: &Network) -> Result<Group> {
        let wrong = |what: &str| damaged(format!("nodes {:?} as one, {what}", self.nodes));
        let fusion = Fusion::named(&self.way).ok_or_else(|| wrong("computed in an unknown way"))?;
        let mut tensors = Vec::with_capacity(self.tensors.len());
        for (id, desc) in &self.tensors {
            let tensor = network.tensors.get(*id).ok_or_else(|| wrong("with a tensor that is not there"))?;
            if desc.dims() != tensor.dims || desc.dtype() != tensor.dtype {
                return Err(wrong("with a tensor of other sizes"));
            }
            tensors.push((TensorId(*id), desc.clone()));
        }
        let group = Group { nodes: self.nodes.clone(), fusion, tensors };
        if group.is_valid(network) { Ok(group) } else { Err(wrong("which they are not")) }
    }
}

pub(super) fn packed_name(node: usize) -> String {
    format!("node {node}")
}

pub(super) fn constant_name(tensor: usize) -> String {
    format!("tensor {tensor}")
}

pub(super) fn bad(got: impl Into<String>, remedy: impl Into<Text>) -> Error {
    Error::Invalid {
        what: "saved plan".to_string(),
        got: got.into(),
        rule: Text::from(Call::SavePlan) + " writes it whole",
        remedy: remedy.into(),
    }
}

/// What is wrong in a file that was written by something else, or by another version.
fn damaged(got: impl Into<String>) -> Error {
    bad(got, "pack the model again")
}

/// A network that no graph becomes is a damaged file.
pub(super) fn inconsistent(error: Error) -> Error {
    match error {
        Error::Invalid { what, got, .. } => damaged(format!("{what}: {got}")),
        error => error,
    }
}

impl StoredNode {
    pub(super) fn of(node: &Node, choice: &Choice) -> Result<StoredNode> {
        let op = match &node.op {
            Operation::Bound(op) => StoredOp::Op(op.clone()),
            Operation::Integers(op) => StoredOp::Integers(op.clone()),
            Operation::Other(op) => {
                return Err(Error::Invalid {
                    what: format!("node `{}`", node.name),
                    got: format!("the operator {}", op.op()),
                    rule: "a file holds registered ops and functions of integers, by their names".into(),
                    remedy: "run the model itself, which plans it at each start".into(),
                });
            }
        };
        let ids = |list: &[TensorId]| list.iter().map(|id| id.0).collect();
        let is_its_own = node.origin.node == node.name && node.origin.op == node.op.told();
        Ok(StoredNode {
            name: node.name.clone(),
            origin: (!is_its_own).then(|| node.origin.clone()),
            op,
            inputs: ids(&node.inputs),
            outputs: ids(&node.outputs),
            takes: choice.inputs.iter().map(|(id, desc)| (id.0, desc.clone())).collect(),
            makes: choice.outputs.clone(),
            packed: choice.weights.as_ref().and(choice.implementation.clone()),
            stem: choice.form == Form::Stem,
        })
    }

    /// How the node runs together with others. `alone` has the packed weights of each of them.
    fn together(
        &self,
        i: usize,
        group: &Arc<Group>,
        network: &Network,
        alone: &[Option<Choice>],
    ) -> Result<Choice> {
        let wrong = |what: String| damaged(format!("node `{}`, {what}", self.name));
        let choice =
            group.bound(network, i, &group.choice(network, i)?, alone).map_err(|e| wrong(e.to_string()))?;
        let takes = choice.inputs.iter().map(|(id, desc)| (id.0, desc));
        if !takes.eq(self.takes.iter().map(|(id, desc)| (*id, desc))) || choice.outputs != self.makes {
            return Err(wrong("other operands or results than it has as one with others".to_string()));
        }
        Ok(choice)
    }

    /// The packed weights of a node that runs together with others, if it has some.
    fn alone(&self, i: usize, group: &Group, network: &Network, file: &PackedFile) -> Result<Option<Choice>> {
        let node = &network.nodes[i];
        let has_weights = self.packed.is_some();
        if i != group.last() && has_weights != group.takes_weights(network, i) {
            return Err(damaged(format!("node `{}`, packed otherwise than as one with others", node.name)));
        }
        if !group.takes_weights(network, i) {
            return Ok(None);
        }
        let weights = self.weights(i, node, file)?;
        let implementation = Some(weights.implementation());
        Ok(Some(Choice { weights: Some(weights), implementation, ..group.alone(network, i)? }))
    }

    /// How the node runs, checked against what its operator says.
    fn choice(&self, i: usize, node: &Node, network: &Network, file: &PackedFile) -> Result<Choice> {
        let wrong = |what: String| damaged(format!("node `{}`, {what}", node.name));
        let kept = match &self.packed {
            Some(_) => pack::kept(node),
            None => (0..node.inputs.len()).collect(),
        };
        let wanted: Vec<usize> = kept.iter().map(|&k| node.inputs[k].0).collect();
        if !self.takes.iter().map(|(id, _)| *id).eq(wanted) {
            return Err(wrong("operands that are not its own".to_string()));
        }
        for (id, desc) in &self.takes {
            let tensor = network.tensor(TensorId(*id));
            if desc.dims() != tensor.dims || desc.dtype() != tensor.dtype {
                return Err(wrong(format!("{desc} as tensor `{}`", tensor.name)));
            }
        }
        let weights = self.packed.as_ref().map(|_| self.weights(i, node, file)).transpose()?;
        let op: Arc<dyn Operator> = match &weights {
            Some(weights) => Arc::<PackedOp>::clone(weights),
            None => build::shared(&node.op),
        };
        let descs: Vec<TensorDesc> = self.takes.iter().map(|(_, desc)| desc.clone()).collect();
        let makes = op.infer(&descs).map_err(|e| wrong(e.to_string()))?;
        let fits = |(desc, id): (&TensorDesc, &TensorId)| {
            let tensor = network.tensor(*id);
            desc.dims() == tensor.dims && desc.dtype() == tensor.dtype
        };
        if makes != self.makes
            || makes.len() != node.outputs.len()
            || !makes.iter().zip(&node.outputs).all(fits)
        {
            return Err(wrong("other results than its operator has".to_string()));
        }
        Ok(Choice {
            weights,
            implementation: self.packed.clone(),
            inputs: self.takes.iter().map(|(id, desc)| (TensorId(*id), desc.clone())).collect(),
            outputs: makes,
            unpacked: false,
            ..Choice::unpacked(if self.stem { Form::Stem } else { Form::Target }, op)
        })
    }

    /// The packed weights of node `i`.
    fn weights(&self, i: usize, node: &Node, file: &PackedFile) -> Result<Arc<PackedOp>> {
        let packed: PackedOp = file.get(&packed_name(i))?;
        let asked = node.op.bound().and_then(|op| op.packed_op()).unwrap_or(node.op.op());
        let is_stem = matches!(&packed, PackedOp::Conv(conv) if conv.is_stem());
        if packed.op() != asked || is_stem != self.stem {
            return Err(damaged(format!("packed weights of {packed:?} for a node of the op {asked}")));
        }
        Ok(Arc::new(packed))
    }
}

impl Stored {
    pub(super) fn of(file: &PackedFile) -> Result<Stored> {
        let Some(text) = file.text(PLAN) else {
            return Err(bad(PackedFile::NO_PLAN, Text::from("write one with ") + Call::SavePlan));
        };
        // The version first: another one may have other fields.
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        // What the parser makes of a byte, at most.
        memory::require("a plan in a file", text.len().saturating_mul(32))?;
        let head: Head = serde_json::from_str(text).map_err(|e| damaged(e.to_string()))?;
        if head.version != VERSION {
            return Err(damaged(format!("version {}, and this build reads {VERSION}", head.version)));
        }
        let stored: Stored = serde_json::from_str(text).map_err(|e| damaged(e.to_string()))?;
        stored.check_names()?;
        Ok(stored)
    }

    /// Names are printed, and outputs are found by theirs.
    pub(super) fn check_names(&self) -> Result<()> {
        let outputs = self.outputs.iter().map(|(name, _)| name);
        let nodes = self.nodes.iter().flat_map(|n| {
            let origin = n.origin.iter().flat_map(|origin| [&origin.node, &origin.op]);
            origin.chain([&n.name])
        });
        let inner = nodes.chain(self.tensors.iter().map(|t| &t.name));
        if let Some(name) = outputs.clone().chain(inner).find(|name| name.contains(char::is_control)) {
            let start: String = name.chars().take(80).collect();
            return Err(Error::Invalid {
                what: "saved plan".to_string(),
                got: format!("the name {start:?}"),
                rule: "names in a file have no control characters".into(),
                remedy: "rename it in the model, and plan that".into(),
            });
        }
        let mut known = HashSet::new();
        match outputs.clone().find(|name| !known.insert(*name)) {
            Some(name) => Err(bad(format!("two outputs called `{name}`"), "give each output its own name")),
            None if known.is_empty() => Err(damaged("no outputs")),
            None => Ok(()),
        }
    }

    /// Whether constants were rounded to bf16: the file does not hold the model's own.
    pub(super) fn rounds_constants(&self) -> bool {
        let is_rounded = |t: &StoredTensor| t.dtype == DType::BF16.name() && t.elements != Elements::Computed;
        self.tensors.iter().any(is_rounded)
    }

    /// Whether the file has the plain weights of all nodes that are packed.
    pub(super) fn keeps_plain(&self, file: &PackedFile) -> bool {
        if self.rounds_constants() {
            return false;
        }
        let mut packed = (0..self.nodes.len()).filter(|&i| self.nodes[i].packed.is_some());
        packed.all(|i| file.plain(&packed_name(i)).is_ok())
    }

    /// The plan, with its packed weights.
    pub(super) fn plan(self, file: &PackedFile) -> Result<Plan> {
        let network = self.network(file, false)?;
        let choices = self.choices(&network, file).map_err(|e| self.of_plan(e, file))?;
        let output_types = self.output_types(&network)?;
        let Stored { layouts, limits, input_types, reorders, passes, measurements, .. } = self;
        let plan = build::again(&network, choices, layouts, passes, reorders).map_err(inconsistent)?;
        let recipe = Recipe { limits, ..plan.recipe };
        Ok(Plan { input_types, output_types, measurements, recipe, ..plan })
    }

    /// The types of the outputs. Where the file does not tell them, every u8 is a Boolean, as it was then.
    pub(super) fn output_types(&self, network: &Network) -> Result<Vec<ElementType>> {
        let dtypes = || network.outputs.iter().map(|(_, id)| network.tensor(*id).dtype);
        let Some(types) = &self.output_types else {
            let known = [ElementType::F32, ElementType::I64, ElementType::Bool];
            let of = |dtype| known.into_iter().find(|of| of.dtype() == dtype).unwrap_or(ElementType::F32);
            return Ok(dtypes().map(of).collect());
        };
        match types.iter().map(|of| of.dtype()).eq(dtypes()) {
            true => Ok(types.clone()),
            false => Err(damaged("outputs of another type than they say")),
        }
    }

    /// How each node runs.
    fn choices(&self, network: &Network, file: &PackedFile) -> Result<Vec<Choice>> {
        let mut choices: Vec<Option<Choice>> = vec![None; network.nodes.len()];
        for stored in &self.groups {
            let group = Arc::new(stored.group(network)?);
            let alone = group.nodes.iter().map(|&n| self.nodes[n].alone(n, &group, network, file));
            let alone = alone.collect::<Result<Vec<_>>>()?;
            for &n in &group.nodes {
                if choices[n].is_some() {
                    return Err(damaged(format!("node `{}` in two groups", network.nodes[n].name)));
                }
                choices[n] = Some(self.nodes[n].together(n, &group, network, &alone)?);
            }
        }
        let nodes = network.nodes.iter().zip(&self.nodes).zip(choices).enumerate();
        nodes
            .map(|(i, ((node, stored), choice))| match choice {
                Some(choice) => Ok(choice),
                None => stored.choice(i, node, network, file),
            })
            .collect()
    }

    /// The network. With `plain`, its weights have their elements.
    pub(super) fn network(&self, file: &PackedFile, plain: bool) -> Result<Network> {
        let id = |i: usize| match i < self.tensors.len() {
            true => Ok(TensorId(i)),
            false => Err(damaged(format!("tensor {i} of {}", self.tensors.len()))),
        };
        let ids = |list: &[usize]| list.iter().map(|&i| id(i)).collect::<Result<Vec<_>>>();
        let node = |s: &StoredNode| -> Result<Node> {
            let (inputs, outputs) = (ids(&s.inputs)?, ids(&s.outputs)?);
            let op = s.op.operation();
            if inputs.len() != op.inputs().len() {
                return Err(damaged(format!("{} operands of node `{}`", inputs.len(), s.name)));
            }
            if outputs.is_empty() || outputs.len() != s.makes.len() {
                return Err(damaged(format!("{} results of node `{}`", outputs.len(), s.name)));
            }
            let own = || Origin { node: s.name.clone(), op: op.told().to_string(), number: 0 };
            let origin = s.origin.clone().unwrap_or_else(own);
            Ok(Node { name: s.name.clone(), origin, op, inputs, outputs })
        };
        let nodes = self.nodes.iter().map(node).collect::<Result<Vec<_>>>()?;
        let outputs = self.outputs.iter().map(|(name, i)| Ok((name.clone(), id(*i)?)));
        let (inputs, outputs) = (ids(&self.inputs)?, outputs.collect::<Result<Vec<_>>>()?);
        let mut tensors: Vec<Tensor> = Vec::with_capacity(self.tensors.len());
        for (i, stored) in self.tensors.iter().enumerate() {
            let dtype: DType =
                stored.dtype.parse().map_err(|e: blocktensor::Error| damaged(e.to_string()))?;
            let mut tensor =
                Tensor { name: stored.name.clone(), dims: stored.dims.clone(), dtype, constant: None };
            tensor.constant = match stored.elements {
                Elements::Computed => None,
                Elements::Constant => Some(file.tensor(&constant_name(i))?),
                Elements::Packed if plain => Some(self.plain(TensorId(i), &stored.dims, &nodes, file)?),
                Elements::Packed => Some(without_elements(&tensor)?),
            };
            if let Some(c) = &tensor.constant
                && (c.dims() != tensor.dims || c.dtype() != dtype)
            {
                let (is, of) = (format!("{} {:?}", c.dtype(), c.dims()), &tensor);
                return Err(damaged(format!("tensor {i} ({}) of {dtype} {:?} as {is}", of.name, of.dims)));
            }
            tensors.push(tensor);
        }
        let distinct: HashSet<&TensorId> = inputs.iter().collect();
        let fits = |(id, of): (&TensorId, &ElementType)| {
            tensors[id.0].constant.is_none() && tensors[id.0].dtype == of.dtype()
        };
        if self.input_types.len() != inputs.len()
            || distinct.len() != inputs.len()
            || !inputs.iter().zip(&self.input_types).all(fits)
        {
            return Err(damaged(
                "inputs that are constants, are listed twice, or have another type than they say",
            ));
        }
        Ok(Network::of(tensors, nodes, inputs, outputs))
    }

    /// Weights as the node's op takes them.
    fn plain(
        &self,
        id: TensorId,
        dims: &[usize],
        nodes: &[Node],
        file: &PackedFile,
    ) -> Result<StridedTensor> {
        let is_it = |(i, node): &(usize, &Node)| {
            self.nodes[*i].packed.is_some() && pack::weights_of(node) == Some(id)
        };
        let found = nodes.iter().enumerate().find(is_it);
        let (i, node) = found.ok_or_else(|| damaged(format!("weights of no node, tensor {}", id.0)))?;
        let plain = file.plain(&packed_name(i))?;
        let op = node.op.bound().ok_or_else(|| damaged(format!("weights of node `{}`", node.name)))?;
        op.weights_of_plain(&plain, dims)
            .map_err(|e| damaged(format!("weights of node `{}`: {e}", node.name)))
    }
}
