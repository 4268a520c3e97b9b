//! `Network`: a graph at known sizes, made of operators.

mod edit;
mod links;
mod value;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use blocktensor::dispatch::{DispatchKey, Facts, Packing};
use blocktensor::{BoundOp, DType, Operator, ParamValue, StridedTensor, TensorDesc};

pub(crate) use links::Links;
use serde::{Deserialize, Serialize};
pub(crate) use value::Kind;
pub use value::Value;

use crate::constant::{Constant, ElementType};
use crate::error::{Error, Result};
use crate::integers::Integers;
use blocktensor::ops::Algorithm;

/// A tensor of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub(crate) usize);

/// A tensor of a network: sizes, dtype, and its elements if they are constant.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub(crate) name: String,
    pub(crate) dims: Vec<usize>,
    pub(crate) dtype: DType,
    pub(crate) constant: Option<StridedTensor>,
}

impl Tensor {
    /// Its name: that of the graph's value, or the node's name with a number.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sizes.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The type of its elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its elements, if they are constant.
    pub fn constant(&self) -> Option<&StridedTensor> {
        self.constant.as_ref()
    }
}

/// A node of the graph as errors name it: the graph's name for it, and what it calls its op.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub node: String,
    pub op: String,
    /// Which of the graph's nodes it is: names may be alike. Files do not hold it.
    #[serde(skip)]
    pub number: usize,
}

impl Origin {
    /// An operator's error, with the node that it came from.
    pub(crate) fn error(&self, source: blocktensor::Error) -> Error {
        Error::Engine(source).within(&self.node, &self.op)
    }
}

/// An operator of a network, with its inputs and outputs.
#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) op: Operation,
    pub(crate) inputs: Vec<TensorId>,
    pub(crate) outputs: Vec<TensorId>,
}

impl Node {
    /// The name of the graph's node, with a number if that node became several operators.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operator.
    pub fn operator(&self) -> &dyn Operator {
        &*self.op
    }

    /// Its inputs, in the operator's order.
    pub fn inputs(&self) -> &[TensorId] {
        &self.inputs
    }

    /// Its outputs.
    pub fn outputs(&self) -> &[TensorId] {
        &self.outputs
    }
}

/// A registered op, whose parameters passes can read, a function of integers, or an operator of the program.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Bound(BoundOp),
    Integers(Integers),
    Other(Arc<dyn Operator>),
}

impl std::ops::Deref for Operation {
    type Target = dyn Operator;

    fn deref(&self) -> &(dyn Operator + 'static) {
        match self {
            Operation::Bound(op) => op,
            Operation::Integers(op) => op,
            Operation::Other(op) => &**op,
        }
    }
}

impl Operation {
    /// What errors call the operator where nobody knows its node.
    pub(crate) fn told(&self) -> &str {
        match self {
            Operation::Integers(op) => op.told(),
            other => other.op(),
        }
    }

    /// The registered op.
    pub(crate) fn bound(&self) -> Option<&BoundOp> {
        match self {
            Operation::Bound(op) => Some(op),
            Operation::Integers(_) | Operation::Other(_) => None,
        }
    }

    /// The keys of other crates that have a kernel for the op, and reorders that lead to it.
    pub(crate) fn foreign_keys(&self) -> Vec<DispatchKey> {
        let Some(bound) = self.bound() else { return vec![] };
        let all = DispatchKey::all().into_iter();
        all.filter(|key| key.reorders().is_some() && bound.registered().kernel(*key).is_some()).collect()
    }

    /// What the results are for row-major operands. An op that only backends of other crates have is asked there; a convolution
    /// whose algorithm needs a layout of its own, or a planner, as a direct one.
    pub(crate) fn results(&self, plain: &[TensorDesc]) -> blocktensor::Result<Vec<TensorDesc>> {
        if let (Some(op), Some(ParamValue::Str(word))) = (self.bound(), self.param("algorithm"))
            && word != "direct"
        {
            word.parse::<Algorithm>()?;
            let others = op.params().filter(|(name, _)| *name != "algorithm");
            let params: Vec<_> = others.map(|(name, value)| (name, value.into())).collect();
            return BoundOp::of(op.registered(), op.inputs(), &params)?.infer(plain);
        }
        self.infer(plain).or_else(|error| {
            let Some(key) = self.foreign_keys().first().copied() else { return Err(error) };
            if !matches!(error, blocktensor::Error::UnsupportedOp(_)) {
                return Err(error);
            }
            let preferred = self.preferred(key, plain)?.unwrap_or_else(|| plain.to_vec());
            self.infer(&preferred)
        })
    }

    /// Whether it is a registered op whose kernels take strided operands as they are, whatever the strides.
    pub(crate) fn takes_any_strides(&self) -> bool {
        self.bound()
            .is_some_and(|op| !op.registered().kernels(DispatchKey::STRIDED).any(|kernel| kernel.needs_dense))
    }

    /// A parameter of a registered op.
    pub(crate) fn param(&self, name: &str) -> Option<&ParamValue> {
        self.bound()?.param(name)
    }
}

/// What is known of an operator.
pub(crate) fn facts(op: &dyn Operator) -> Facts {
    op.schema().map_or(Facts::UNKNOWN, |schema| schema.facts)
}

/// Whether the operator is a convolution: it has kernels for blocks, and may read another layout than it writes.
pub(crate) fn is_convolution(op: &dyn Operator) -> bool {
    facts(op).packing == Some(Packing::Conv)
}

/// A graph at known sizes: operators in an order in which they can run.
#[derive(Clone, Debug, Default)]
pub struct Network {
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: Vec<TensorId>,
    pub(crate) outputs: Vec<(String, TensorId)>,
    /// The types of the outputs, which name integers and Booleans more narrowly than dtypes do.
    pub(crate) output_types: Vec<ElementType>,
    /// The tensors that constants of the graph became, by the constant's address: one constant is one tensor.
    made: HashMap<usize, (Arc<Constant>, TensorId)>,
    pub(crate) budget: Budget,
    /// The operators that ran during the expansion, if the caller asked to keep them.
    pub(crate) folds: Option<Vec<Fold>>,
}

/// An operator whose operands were all constant, so that it ran while the graph was expanded.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    /// The name of the graph's node.
    pub(crate) node: String,
    pub(crate) op: Operation,
    pub(crate) inputs: Vec<StridedTensor>,
    pub(crate) results: Vec<StridedTensor>,
}

/// What the expansion of a graph may still take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Memory for constants that are computed, in **bytes**.
    pub(crate) bytes: usize,
    /// Nodes that loops write out.
    pub(crate) nodes: usize,
}

impl Budget {
    pub(crate) const NODES: usize = 100_000;

    /// For a graph whose constants have so many bytes.
    pub(crate) fn of(constants: usize) -> Budget {
        Budget { bytes: (1usize << 30).saturating_add(constants.saturating_mul(4)), nodes: Budget::NODES }
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::of(0)
    }
}

impl Network {
    /// A network of these parts.
    pub(crate) fn of(
        tensors: Vec<Tensor>,
        nodes: Vec<Node>,
        inputs: Vec<TensorId>,
        outputs: Vec<(String, TensorId)>,
    ) -> Network {
        Network { tensors, nodes, inputs, outputs, ..Network::default() }
    }

    /// The nodes, in an order in which they can run.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A tensor.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.0]
    }

    /// The inputs.
    pub fn inputs(&self) -> impl Iterator<Item = &Tensor> {
        self.inputs.iter().map(|id| self.tensor(*id))
    }

    /// The outputs and their names.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.outputs.iter().map(|(name, id)| (name.as_str(), self.tensor(*id)))
    }

    pub(crate) fn add_tensor(
        &mut self,
        name: String,
        dims: &[usize],
        dtype: DType,
        constant: Option<StridedTensor>,
    ) -> TensorId {
        self.tensors.push(Tensor { name, dims: dims.to_vec(), dtype, constant });
        TensorId(self.tensors.len() - 1)
    }

    /// The tensor of a value; a constant becomes one when it is first used.
    pub(crate) fn tensor_of(&mut self, value: &Value) -> Result<TensorId> {
        let constant = match &value.0 {
            Kind::Tensor { id, .. } => return Ok(*id),
            Kind::Constant(constant) => constant,
        };
        let address = Arc::as_ptr(constant) as usize;
        if let Some((_, id)) = self.made.get(&address) {
            return Ok(*id);
        }
        let tensor = constant.to_tensor()?;
        let id = self.add_tensor(String::new(), constant.dims(), tensor.dtype(), Some(tensor));
        self.made.insert(address, (Arc::clone(constant), id));
        Ok(id)
    }

    /// Gives the tensor the name of the graph's value, if a node from `first` on made it.
    pub(crate) fn name_result(&mut self, id: TensorId, first: usize, name: &str) {
        if self.nodes[first..].iter().any(|n| n.outputs.contains(&id)) && !name.is_empty() {
            self.tensors[id.0].name = name.to_string();
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for node in &self.nodes {
            let dims = node.outputs.iter().map(|id| format!("{:?}", self.tensor(*id).dims));
            writeln!(f, "{}: {} -> {}", node.name, node.op.op(), dims.collect::<Vec<_>>().join(", "))?;
        }
        Ok(())
    }
}
