//! `Graph`: a model as it was written.

mod at_sizes;
mod sizes_of;

pub use at_sizes::Outcome;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use blocktensor::{BoundOp, Operand, Operator, Quantization, counted};

use crate::Param;
use crate::constant::{Constant, ElementType};
use crate::error::{Error, Result};
use crate::expand::{Expand, Given, Registered};
use crate::sizes::Dim;

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
    /// `Invalid` for a name that another value has, and for a tensor with scales and zero points.
    pub fn constant(&mut self, name: &str, constant: impl Into<Constant>) -> Result<ValueId> {
        let constant = constant.into();
        if let Constant::F32(t) | Constant::Byte(t) | Constant::SignedByte(t) = &constant
            && t.quantization().is_some()
        {
            return Err(Error::Invalid {
                what: format!("constant `{name}`"),
                got: t.tensor_ref().describe(),
                rule: "a graph does not read the scales and zero points of constants".into(),
                remedy: Quantization::way_out(),
            });
        }
        self.value(name, Source::Constant(Arc::new(constant)))
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
    /// As `op`. `Invalid` for another number of names than the op has results; where that number depends on the call, the error
    /// comes when the graph gets its sizes.
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
        let results = bound.registered().schema().outputs;
        if !results.is_empty() && !results[0].is_list && results.len() != outputs.len() {
            let rule = format!("`{op}` has {}", counted(results.len(), "result"));
            return Err(other_names(format!("node `{node}` ({op}), outputs"), outputs.len(), rule));
        }
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
        // Before the first is added.
        for (i, name) in outputs.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if self.names.contains_key(*name) || outputs[..i].contains(name) {
                return Err(taken("value", name));
            }
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

    /// Refuses a value that a caller has for a constant of the graph, such as an initializer of a model that is listed as an input
    /// as well: a run would ignore it.
    ///
    /// # Errors
    /// `Invalid` for the name of a constant.
    ///
    /// ```
    /// use blocktensor::{MemoryFormat, StridedTensor};
    /// use blocktensor_graph::Graph;
    ///
    /// let mut graph = Graph::new();
    /// graph.input("x", &[2.into()])?;
    /// graph.constant("w", StridedTensor::full(&[], 5f32, MemoryFormat::Contiguous)?)?;
    /// assert!(graph.check_given("x").is_ok() && graph.check_given("w").is_err());
    /// # Ok::<(), blocktensor_graph::Error>(())
    /// ```
    pub fn check_given(&self, name: &str) -> Result<()> {
        match self.find(name).and_then(|id| self.constant_of(id)) {
            None => Ok(()),
            Some(_) => Err(Error::Invalid {
                what: format!("input `{name}`"),
                got: "a value".to_string(),
                rule: "the model has a value for it (an initializer), which is a constant here".into(),
                remedy: "remove the initializer from the model and keep the input, or leave the value out"
                    .into(),
            }),
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
    /// `Invalid` for a name that no value has, and for one that is listed twice.
    pub fn with_outputs(&self, names: &[&str]) -> Result<Graph> {
        let mut cut = self.clone();
        cut.outputs.clear();
        for &name in names {
            let Some(id) = self.find(name) else {
                return Err(Error::Invalid {
                    what: "outputs".to_string(),
                    got: format!("`{name}`"),
                    rule: "no value of the graph has this name".into(),
                    remedy: self.names_like(name).into(),
                });
            };
            if cut.outputs.iter().any(|(other, _)| other == name) {
                return Err(Error::Invalid {
                    what: "outputs".to_string(),
                    got: format!("`{name}` twice"),
                    rule: "each is listed once".into(),
                    remedy: "leave one out".into(),
                });
            }
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

    fn value(&mut self, name: &str, source: Source) -> Result<ValueId> {
        let id = ValueId(self.values.len());
        if self.names.contains_key(name) {
            return Err(taken("value", name));
        }
        if !name.is_empty() {
            self.names.insert(name.to_string(), id);
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
            rule: format!("the graph has {} values", self.values.len()).into(),
            remedy: "pass values of the same graph".into(),
        })
    }
}

fn taken(what: &str, name: &str) -> Error {
    Error::Invalid {
        what: format!("{what} `{name}`"),
        got: "the name twice".to_string(),
        rule: "names are unique".into(),
        remedy: "choose another name".into(),
    }
}

/// The error for another number of names than a node has results.
pub(crate) fn other_names(what: String, names: usize, rule: String) -> Error {
    Error::Invalid {
        what,
        got: counted(names, "name"),
        rule: rule.into(),
        remedy: "pass one name for each result".into(),
    }
}

fn quoted(names: Vec<&str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_changes_nothing() {
        let mut graph = Graph::new();
        let x = graph.input("x", &[1.into()]).unwrap();
        let error = graph.input("x", &[2.into()]).unwrap_err().to_string();
        assert!(error.contains("value `x`") && error.contains("choose another name"), "{error}");
        assert_eq!((graph.find("x"), graph.inputs().count()), (Some(x), 1));
        graph.output("y", x).unwrap();
        assert!(graph.with_outputs(&["x"]).is_ok());
        let error = graph.with_outputs(&["x", "x"]).unwrap_err().to_string();
        assert_eq!(error, "outputs: got `x` twice; each is listed once; leave one out");
    }

    #[test]
    fn a_node_has_a_name_for_each_result() {
        let mut graph = Graph::new();
        let x = graph.input("x", &[4.into()]).unwrap();
        let axis = [("axis", crate::Param::Int(0))];
        let error = graph.ops("s", "sort", &[("x", x)], &axis, &["values"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "node `s` (sort), outputs: got 1 name; `sort` has 2 results; pass one name for each result"
        );
        let error = graph.ops("r", "relu", &[("x", x)], &[], &["a", "b"]).unwrap_err().to_string();
        assert!(error.contains("got 2 names; `relu` has 1 result;"), "{error}");
        // A name twice adds nothing.
        let error = graph.ops("s", "sort", &[("x", x)], &axis, &["a", "a"]).unwrap_err().to_string();
        assert!(error.contains("value `a`: got the name twice"), "{error}");
        assert_eq!((graph.find("a"), graph.nodes().count()), (None, 0));
        // How many pieces there are depends on the sizes.
        let (chunks, dim) = (("chunks", crate::Param::Int(2)), ("axis", crate::Param::Int(0)));
        graph.ops("c", "chunk", &[("x", x)], &[chunks, dim], &["first"]).unwrap();
        graph.output("first", graph.find("first").unwrap()).unwrap();
        let error = graph.with_sizes(&crate::Sizes::new()).unwrap_err().to_string();
        assert_eq!(
            error,
            "node `c` (chunk), outputs: got 1 name; it has 2 results; pass one name for each result"
        );
    }
}
