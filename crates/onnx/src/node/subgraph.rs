//! Graphs in attributes: the branches of `If`.

use std::collections::{HashMap, HashSet};

use blocktensor_graph::{Expand, Expansion, Result, Value};

use super::OnnxNode;

/// A node of a subgraph. Values have names.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub node: OnnxNode,
    /// The node's inputs, then what its own subgraphs take from outside.
    pub inputs: Vec<Option<String>>,
    pub outputs: Vec<String>,
}

/// A graph in an attribute: nodes in an order in which they can run.
#[derive(Clone, Debug, Default)]
pub struct Subgraph {
    /// With their names.
    pub(crate) steps: Vec<(String, Step)>,
    pub(crate) constants: Vec<(String, Value)>,
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    /// The types that the outputs are said to have.
    pub(crate) declared: Vec<Option<String>>,
    /// Names that it takes from the graph around it.
    pub(crate) captured: Vec<String>,
}

impl Subgraph {
    /// Expands the nodes of the subgraph, and returns its outputs. `outer` has the values around it, by name.
    pub(crate) fn expand(
        &self,
        inputs: &[Value],
        outer: &HashMap<String, Value>,
        cx: &mut Expansion<'_>,
    ) -> Result<Vec<Value>> {
        let mut values = outer.clone();
        values.extend(self.constants.iter().cloned());
        values.extend(self.inputs.iter().cloned().zip(inputs.iter().cloned()));
        let lost = |name: &str, cx: &Expansion<'_>| {
            cx.invalid("a subgraph", format!("`{name}`"), "no value has this name", "export the model again")
        };
        let missing = self.steps.iter().filter_map(|(_, step)| Some((step.node.op(), step.node.lacks()?)));
        let missing: Vec<String> = missing.map(|(op, reason)| format!("{op}: {reason}")).collect();
        if !missing.is_empty() {
            return Err(cx.unsupported(format!("in its graph, {}", missing.join("; "))));
        }
        let used: HashSet<&str> = self
            .steps
            .iter()
            .flat_map(|(_, step)| step.inputs.iter().flatten())
            .chain(&self.outputs)
            .map(String::as_str)
            .collect();
        for (name, step) in &self.steps {
            let inputs = step.inputs.iter().map(|name| match name {
                None => Ok(None),
                Some(name) => values.get(name).cloned().map(Some).ok_or_else(|| lost(name, cx)),
            });
            let inputs = inputs.collect::<Result<Vec<_>>>()?;
            let needed = step.outputs.iter().map(|name| used.contains(name.as_str())).collect();
            let results = cx.expand_inner(name, &step.node, &inputs, needed)?;
            values.extend(step.outputs.iter().cloned().zip(results));
        }
        let mut results = Vec::with_capacity(self.outputs.len());
        for (name, declared) in self.outputs.iter().zip(&self.declared) {
            let value = values.get(name).cloned().ok_or_else(|| lost(name, cx))?;
            let of = value.element_type().as_stated().to_string();
            if declared.as_ref().is_some_and(|declared| *declared != of) {
                let rule = format!("the graph says that it is {}", declared.as_deref().unwrap_or_default());
                return Err(cx.invalid(&format!("output `{name}`"), of, &rule, "export the model again"));
            }
            results.push(value);
        }
        Ok(results)
    }
}
