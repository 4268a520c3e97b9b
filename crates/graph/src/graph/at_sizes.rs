//! A graph at sizes that are numbers: a network, and what became of each node.

use std::sync::Arc;

use blocktensor::memory;

use super::{Graph, GraphNode, Source, ValueId};
use crate::error::{Error, Missing, Result};
use crate::expand::Expansion;
use crate::network::{Budget, Kind, Network, Value};
use crate::sizes::Sizes;
use crate::stop::Stop;

/// What becomes of a node when the graph gets its sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// These operators, by name.
    Operators(Vec<String>),
    /// No operator: its results are known before a run, or are its inputs.
    Folded,
    /// It cannot run, for this reason.
    Missing(String),
    /// It needs the result of a node that cannot run.
    Unreached,
    /// No output needs it.
    Unused,
}

/// Memory in **bytes** for what becomes of a node or a value of a graph: operators, tensors, steps, names.
const EACH: usize = 8 << 10;

impl Graph {
    /// The graph at these sizes: every size a number, what depends on constants alone computed, every node an operator.
    ///
    /// # Errors
    /// `Missing` lists all nodes that the outputs need and that cannot run. `Invalid` for a size without a number, or a
    /// number for a name that is not there; `Operator` for operands that do not go together.
    pub fn with_sizes(&self, sizes: &Sizes) -> Result<Network> {
        self.expanded(sizes, &Stop::default(), false)
    }

    /// As `with_sizes`, for a planning that the caller may end. The network keeps the operators that ran meanwhile, if they are asked for.
    pub(crate) fn expanded(&self, sizes: &Sizes, stop: &Stop, keep_folds: bool) -> Result<Network> {
        let needed = self.needed();
        let (mut network, mut values) = self.begin(sizes)?;
        network.folds = keep_folds.then(Vec::new);
        let mut missing = Vec::new();
        let is_needed = |node: &GraphNode| node.outputs.iter().any(|id| needed[id.0]);
        for number in (0..self.nodes.len()).filter(|&i| is_needed(&self.nodes[i])) {
            stop.check()?;
            self.expand_node(number, &needed, &mut network, &mut values, &mut missing)?;
        }
        if !missing.is_empty() {
            return Err(Error::Missing { nodes: missing, computable: self.computable(&values, &needed) });
        }
        for (name, id) in &self.outputs {
            let Some(value) = &values[id.0] else {
                return Err(Error::Invalid {
                    what: format!("output `{name}`"),
                    got: "nothing".to_string(),
                    rule: "its node did not give it a value".into(),
                    remedy: "choose another output".into(),
                });
            };
            let tensor = network.tensor_of(value).map_err(|e| e.in_output(name))?;
            network.outputs.push((name.clone(), tensor));
            network.output_types.push(value.element_type());
        }
        Ok(network)
    }

    /// What becomes of each node at these sizes, in the order of [`nodes`](Self::nodes), and the values that can be computed
    /// without the nodes that cannot run, as in [`Error::Missing`]. Nodes whose operators refuse their operands count as
    /// missing.
    ///
    /// # Errors
    /// `Invalid` for a size without a number, or a number for a name that is not there.
    pub fn outcomes(&self, sizes: &Sizes) -> Result<(Vec<Outcome>, Vec<String>)> {
        let needed = self.needed();
        let (mut network, mut values) = self.begin(sizes)?;
        let mut outcomes = Vec::with_capacity(self.nodes.len());
        for (number, node) in self.nodes.iter().enumerate() {
            if !node.outputs.iter().any(|id| needed[id.0]) {
                outcomes.push(Outcome::Unused);
                continue;
            }
            let (before, mut missing) = (network.nodes.len(), Vec::new());
            let expanded = self.expand_node(number, &needed, &mut network, &mut values, &mut missing);
            let operators = network.nodes[before..].iter().map(|n| n.operator().op().to_string());
            outcomes.push(match (expanded, missing.first()) {
                (Err(error), _) => Outcome::Missing(error.to_string()),
                (Ok(()), Some(missing)) => Outcome::Missing(missing.reason.clone()),
                (Ok(()), None) if node.outputs.iter().all(|id| values[id.0].is_none()) => Outcome::Unreached,
                (Ok(()), None) if network.nodes.len() == before => Outcome::Folded,
                (Ok(()), None) => Outcome::Operators(operators.collect()),
            });
        }
        let is_missing = |outcome: &Outcome| matches!(outcome, Outcome::Missing(_));
        let computable = match outcomes.iter().any(is_missing) {
            true => self.computable(&values, &needed),
            false => Vec::new(),
        };
        Ok((outcomes, computable))
    }

    /// A network with the inputs at these sizes, and the values that are known before any node is expanded.
    fn begin(&self, sizes: &Sizes) -> Result<(Network, Vec<Option<Value>>)> {
        let named = self.named_sizes();
        if let Some((name, _)) = sizes.iter().find(|(name, _)| !named.contains(name)) {
            let open: Vec<String> = named.iter().map(|name| format!("`{name}`")).collect();
            let (rule, remedy) = match open.is_empty() {
                true => ("this graph has no size that is a name", "pass no sizes".to_string()),
                false => {
                    ("no size of this graph has this name", format!("the names are {}", open.join(", ")))
                }
            };
            let (rule, remedy) = (rule.into(), remedy.into());
            return Err(Error::Invalid { what: "sizes".to_string(), got: format!("`{name}`"), rule, remedy });
        }
        let bytes = self.values.iter().map(|info| match &info.source {
            Source::Constant(c) => c.dims().iter().product::<usize>().saturating_mul(4),
            _ => 0,
        });
        let mut network = Network::default();
        network.budget = Budget::of(bytes.sum());
        memory::require("the operators of a graph", EACH * (self.nodes.len() + self.values.len()))?;
        let mut values: Vec<Option<Value>> = vec![None; self.values.len()];
        for (i, info) in self.values.iter().enumerate() {
            values[i] = match &info.source {
                Source::Input { dims, of } => {
                    let dims = sizes.resolve(&info.name, dims)?;
                    let id = network.add_tensor(info.name.clone(), &dims, of.dtype(), None);
                    network.inputs.push(id);
                    Some(Value(Kind::Tensor { id, dims, of: *of }))
                }
                Source::Constant(constant) => Some(Value(Kind::Constant(Arc::clone(constant)))),
                Source::Node => None,
            };
        }
        Ok((network, values))
    }

    /// Expands a node whose inputs are known. What cannot run is added to the list, and its outputs stay unknown. So does an output
    /// that nothing uses and that the node did not compute.
    fn expand_node(
        &self,
        number: usize,
        needed: &[bool],
        network: &mut Network,
        values: &mut [Option<Value>],
        missing: &mut Vec<Missing>,
    ) -> Result<()> {
        let node = &self.nodes[number];
        let entry = |reason: String| Missing {
            node: node.name.clone(),
            op: node.expand.op().to_string(),
            attributes: node.expand.attributes(),
            reason,
        };
        if let Some(reason) = node.expand.lacks() {
            missing.push(entry(reason));
            return Ok(());
        }
        let known = node.inputs.iter().all(|id| id.is_none_or(|id| values[id.0].is_some()));
        if !known {
            return Ok(());
        }
        let inputs: Vec<Option<Value>> =
            node.inputs.iter().map(|id| id.and_then(|id| values[id.0].clone())).collect();
        let nodes = network.nodes.len();
        let needed = node.outputs.iter().map(|id| needed[id.0]).collect();
        let mut cx = Expansion {
            network,
            node: &node.name,
            number,
            op: node.expand.op(),
            inner: None,
            operators: 0,
            needed,
        };
        match node.expand.expand(&inputs, &mut cx) {
            Ok(results) => {
                for (id, value) in node.outputs.iter().zip(results) {
                    self.check_type(node, *id, &value)?;
                    if let Kind::Tensor { id: tensor, .. } = &value.0 {
                        network.name_result(*tensor, nodes, &self.values[id.0].name);
                    }
                    values[id.0] = Some(value);
                }
                Ok(())
            }
            Err(Error::Missing { nodes, .. }) => {
                missing.extend(nodes.into_iter().map(|n| entry(n.reason)));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Compares the type of a node's result with the one that the model says it has.
    fn check_type(&self, node: &GraphNode, id: ValueId, value: &Value) -> Result<()> {
        let (info, of) = (&self.values[id.0], value.element_type().as_stated().to_string());
        match &info.declared {
            Some(declared) if *declared != of => Err(Error::Invalid {
                what: format!("node `{}` ({}), output `{}`", node.name, node.expand.op(), info.name),
                got: of,
                rule: format!("the model says that it is {declared}").into(),
                remedy: "export the model again".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Which values the outputs need.
    fn needed(&self) -> Vec<bool> {
        let mut needed = vec![false; self.values.len()];
        for (_, id) in &self.outputs {
            needed[id.0] = true;
        }
        for node in self.nodes.iter().rev() {
            if node.outputs.iter().any(|id| needed[id.0]) {
                node.inputs.iter().flatten().for_each(|id| needed[id.0] = true);
            }
        }
        needed
    }

    /// Values that could be computed and that a node which cannot run takes, or that are outputs.
    fn computable(&self, values: &[Option<Value>], needed: &[bool]) -> Vec<String> {
        let is_computed = |id: ValueId| {
            values[id.0].as_ref().is_some_and(|v| v.constant().is_none())
                && matches!(self.values[id.0].source, Source::Node)
        };
        let stuck =
            self.nodes.iter().filter(|n| n.outputs.iter().any(|id| needed[id.0] && values[id.0].is_none()));
        let ends = stuck.flat_map(|n| n.inputs.iter().flatten()).chain(self.outputs.iter().map(|(_, id)| id));
        let mut ids: Vec<ValueId> = ends.copied().filter(|id| is_computed(*id)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().map(|id| self.values[id.0].name.clone()).collect()
    }
}
