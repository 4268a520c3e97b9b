//! `Graph`: a model as it was written.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use blocktensor::{BoundOp, Operator, memory};

use crate::Param;
use crate::constant::{Constant, ElementType};
use crate::error::{Error, Missing, Result};
use crate::expand::{Expand, Expansion, Given, Kind, Registered, Value};
use crate::network::{Budget, Network};
use crate::sizes::{Dim, Sizes};
use crate::stop::Stop;

/// A value of a graph: an input, a constant, or an output of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(usize);

/// A model as it was written: nodes in an order in which they can run, values with names, sizes that may be names.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    values: Vec<ValueInfo>,
    names: HashMap<String, ValueId>,
    nodes: Vec<GraphNode>,
    inputs: Vec<ValueId>,
    outputs: Vec<(String, ValueId)>,
}

#[derive(Clone, Debug)]
struct ValueInfo {
    name: String,
    source: Source,
    /// The type that the model says it has, as [`ElementType`] names it.
    declared: Option<String>,
}

#[derive(Clone, Debug)]
enum Source {
    Input { dims: Vec<Dim>, of: ElementType },
    Constant(Arc<Constant>),
    Node,
}

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

#[derive(Clone, Debug)]
struct GraphNode {
    name: String,
    expand: Arc<dyn Expand>,
    inputs: Vec<Option<ValueId>>,
    outputs: Vec<ValueId>,
}

impl Graph {
    /// A graph without nodes.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Adds an input of f32 numbers.
    ///
    /// # Errors
    /// `Invalid` for a name that another value has.
    pub fn input(&mut self, name: &str, dims: &[Dim]) -> Result<ValueId> {
        self.input_of(name, ElementType::F32, dims)
    }

    /// Adds an input of any type.
    ///
    /// # Errors
    /// `Invalid` for a name that another value has.
    pub fn input_of(&mut self, name: &str, of: ElementType, dims: &[Dim]) -> Result<ValueId> {
        let id = self.value(name, Source::Input { dims: dims.to_vec(), of })?;
        self.inputs.push(id);
        Ok(id)
    }

    /// Adds a constant.
    ///
    /// # Errors
    /// `Invalid` for a name that another value has.
    pub fn constant(&mut self, name: &str, constant: impl Into<Constant>) -> Result<ValueId> {
        self.value(name, Source::Constant(Arc::new(constant.into())))
    }

    /// Adds a registered op by name, with inputs by their names in its schema, and parameters. Its only result has the
    /// node's name.
    ///
    /// # Errors
    /// `Operator` for an op, an input or a parameter that is not there; `Invalid` for a name that another value has.
    pub fn op(
        &mut self,
        node: &str,
        op: &str,
        inputs: &[(&str, ValueId)],
        params: &[(&str, Param)],
    ) -> Result<ValueId> {
        Ok(self.ops(node, op, inputs, params, &[node])?[0])
    }

    /// As [`op`](Self::op), with as many results as `outputs` has names.
    ///
    /// # Errors
    /// As `op`. Another number of results is an error when the graph gets its sizes.
    pub fn ops(
        &mut self,
        node: &str,
        op: &str,
        inputs: &[(&str, ValueId)],
        params: &[(&str, Param)],
        outputs: &[&str],
    ) -> Result<Vec<ValueId>> {
        let names: Vec<&str> = inputs.iter().map(|(name, _)| *name).collect();
        let bound = BoundOp::new(op, &names, params).map_err(|source| Error::Operator {
            node: node.to_string(),
            op: op.to_string(),
            source,
        })?;
        let inputs: Vec<_> = inputs.iter().map(|(_, id)| Some(*id)).collect();
        self.node(node, Arc::new(Registered { op: bound }), &inputs, outputs)
    }

    /// Adds an operator of any kind, with as many results as `outputs` has names.
    ///
    /// # Errors
    /// `Invalid` for a name that another value has.
    pub fn operator(
        &mut self,
        node: &str,
        operator: Arc<dyn Operator>,
        inputs: &[ValueId],
        outputs: &[&str],
    ) -> Result<Vec<ValueId>> {
        let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
        self.node(node, Arc::new(Given(operator)), &inputs, outputs)
    }

    /// Adds a node of any kind: importers use it.
    ///
    /// # Errors
    /// `Invalid` for a name that another value has, and for an input that is not a value of this graph.
    pub fn node(
        &mut self,
        node: &str,
        expand: Arc<dyn Expand>,
        inputs: &[Option<ValueId>],
        outputs: &[&str],
    ) -> Result<Vec<ValueId>> {
        for id in inputs.iter().flatten() {
            self.check(*id)?;
        }
        let ids = outputs.iter().map(|name| self.value(name, Source::Node)).collect::<Result<Vec<_>>>()?;
        self.nodes.push(GraphNode {
            name: node.to_string(),
            expand,
            inputs: inputs.to_vec(),
            outputs: ids.clone(),
        });
        Ok(ids)
    }

    /// Makes a value an output of the graph.
    ///
    /// # Errors
    /// `Invalid` for a name that another output has.
    pub fn output(&mut self, name: &str, value: ValueId) -> Result<()> {
        self.check(value)?;
        if self.outputs.iter().any(|(other, _)| other == name) {
            return Err(taken("output", name));
        }
        self.outputs.push((name.to_string(), value));
        Ok(())
    }

    /// The constant that a value is, unless it is an input or a node's result.
    pub fn constant_of(&self, value: ValueId) -> Option<&Constant> {
        match &self.values.get(value.0)?.source {
            Source::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    /// Says which type a value has, as [`ElementType`] writes it. A node that computes another one is an error when the graph
    /// gets its sizes. The type may be one that no value can have, such as `f64`.
    ///
    /// # Errors
    /// `Invalid` for a value of another graph.
    pub fn declare(&mut self, value: ValueId, element_type: &str) -> Result<()> {
        self.check(value)?;
        self.values[value.0].declared = Some(element_type.to_string());
        Ok(())
    }

    /// The value of this name.
    pub fn find(&self, name: &str) -> Option<ValueId> {
        self.names.get(name).copied()
    }

    /// Inputs: name, type and sizes.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, ElementType, &[Dim])> {
        self.inputs.iter().filter_map(|id| match &self.values[id.0] {
            ValueInfo { name, source: Source::Input { dims, of }, .. } => {
                Some((name.as_str(), *of, &dims[..]))
            }
            _ => None,
        })
    }

    /// Names of the outputs.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|(name, _)| name.as_str())
    }

    /// Nodes: name, op, attributes as text.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &str, String)> {
        self.nodes.iter().map(|n| (n.name.as_str(), n.expand.op(), n.expand.attributes()))
    }

    /// Names of the sizes that need a number, each once, in alphabetical order.
    pub fn named_sizes(&self) -> Vec<&str> {
        let dims = self.inputs().flat_map(|(_, _, dims)| dims);
        let names: BTreeSet<&str> = dims
            .filter_map(|d| match d {
                Dim::Named(name) => Some(name.as_str()),
                Dim::Size(_) => None,
            })
            .collect();
        names.into_iter().collect()
    }

    /// The same graph with other outputs: any values, by name. What only other outputs need does not run.
    ///
    /// # Errors
    /// `Invalid` for a name that no value has.
    pub fn with_outputs(&self, names: &[&str]) -> Result<Graph> {
        let mut cut = self.clone();
        cut.outputs.clear();
        for &name in names {
            let Some(id) = self.find(name) else {
                return Err(Error::Invalid {
                    what: "outputs".to_string(),
                    got: format!("`{name}`"),
                    rule: "no value of the graph has this name".to_string(),
                    remedy: self.names_like(name),
                });
            };
            cut.output(name, id)?;
        }
        Ok(cut)
    }

    /// What to write in place of a name that no value has.
    fn names_like(&self, name: &str) -> String {
        if let Some(node) = self.nodes.iter().find(|n| n.name == name) {
            let outputs = node.outputs.iter().map(|id| self.values[id.0].name.as_str());
            return format!("it is a node: its outputs are {}", quoted(outputs.collect()));
        }
        let wanted = name.to_lowercase();
        let is_near = |other: &str| {
            let other = other.to_lowercase();
            !wanted.is_empty() && (other.contains(&wanted) || (!other.is_empty() && wanted.contains(&other)))
        };
        let names = self.nodes.iter().flat_map(|n| &n.outputs).map(|id| self.values[id.0].name.as_str());
        let near: Vec<&str> = names.filter(|n| is_near(n)).take(5).collect();
        match near[..] {
            [] => "take the name of a node's output: a plan's text has them after the arrows".to_string(),
            _ => format!("did you mean {}?", quoted(near)),
        }
    }

    /// The graph at these sizes: every size a number, what depends on constants alone computed, every node an operator.
    ///
    /// # Errors
    /// `Missing` lists all nodes that the outputs need and that cannot run. `Invalid` for a size without a number, or a
    /// number for a name that is not there; `Operator` for operands that do not go together.
    pub fn with_sizes(&self, sizes: &Sizes) -> Result<Network> {
        self.expanded(sizes, &Stop::default())
    }

    /// As `with_sizes`, for a planning that the caller may end.
    pub(crate) fn expanded(&self, sizes: &Sizes, stop: &Stop) -> Result<Network> {
        let needed = self.needed();
        let (mut network, mut values) = self.begin(sizes)?;
        let mut missing = Vec::new();
        for node in self.nodes.iter().filter(|n| n.outputs.iter().any(|id| needed[id.0])) {
            stop.check()?;
            self.expand_node(node, &mut network, &mut values, &mut missing)?;
        }
        if !missing.is_empty() {
            return Err(Error::Missing { nodes: missing, computable: self.computable(&values, &needed) });
        }
        for (name, id) in &self.outputs {
            let Some(value) = &values[id.0] else {
                return Err(Error::Invalid {
                    what: format!("output `{name}`"),
                    got: "nothing".to_string(),
                    rule: "its node did not give it a value".to_string(),
                    remedy: "choose another output".to_string(),
                });
            };
            let tensor = network.tensor_of(value).map_err(|e| e.in_output(name))?;
            network.outputs.push((name.clone(), tensor));
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
        for node in &self.nodes {
            if !node.outputs.iter().any(|id| needed[id.0]) {
                outcomes.push(Outcome::Unused);
                continue;
            }
            let (before, mut missing) = (network.nodes.len(), Vec::new());
            let expanded = self.expand_node(node, &mut network, &mut values, &mut missing);
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
                true => ("this graph has no size that is a name".to_string(), "pass no sizes".to_string()),
                false => (
                    "no size of this graph has this name".to_string(),
                    format!("the names are {}", open.join(", ")),
                ),
            };
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

    /// Expands a node whose inputs are known. What cannot run is added to the list, and its outputs stay unknown.
    fn expand_node(
        &self,
        node: &GraphNode,
        network: &mut Network,
        values: &mut [Option<Value>],
        missing: &mut Vec<Missing>,
    ) -> Result<()> {
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
        let mut cx = Expansion { network, node: &node.name, op: node.expand.op(), operators: 0 };
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
        let (info, of) = (&self.values[id.0], value.element_type().to_string());
        match &info.declared {
            Some(declared) if *declared != of => Err(Error::Invalid {
                what: format!("node `{}` ({}), output `{}`", node.name, node.expand.op(), info.name),
                got: of,
                rule: format!("the model says that it is {declared}"),
                remedy: "export the model again".to_string(),
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

    fn value(&mut self, name: &str, source: Source) -> Result<ValueId> {
        let id = ValueId(self.values.len());
        if !name.is_empty() && self.names.insert(name.to_string(), id).is_some() {
            return Err(taken("value", name));
        }
        self.values.push(ValueInfo { name: name.to_string(), source, declared: None });
        Ok(id)
    }

    fn check(&self, id: ValueId) -> Result<()> {
        if id.0 < self.values.len() {
            return Ok(());
        }
        Err(Error::Invalid {
            what: "a value".to_string(),
            got: format!("number {}", id.0),
            rule: format!("the graph has {} values", self.values.len()),
            remedy: "pass values of the same graph".to_string(),
        })
    }
}

fn taken(what: &str, name: &str) -> Error {
    Error::Invalid {
        what: format!("{what} `{name}`"),
        got: "the name twice".to_string(),
        rule: "names are unique".to_string(),
        remedy: "choose another name".to_string(),
    }
}

fn quoted(names: Vec<&str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
