//! What the f32 kernels of a plan lose against f64.

#[cfg(test)]
mod tests;
mod written;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use blocktensor::{Call, Operand, StridedTensor, Text};

pub use written::{AsWritten, ConstantError};

use super::run::{State, Watch, broken};
use super::steps::title;
use super::{Plan, StepKind};
use crate::error::{Error, Result};
use crate::network::{Network, Node, TensorId};
use crate::reference::{self, Values};

/// How far a plan's results are from f64: step by step, and at its outputs.
///
/// An error is a relative L2 error: the L2 norm of the difference, divided by that of the f64 result (not divided if that is
/// 0). It is NaN if one side has NaN or infinity where the other has not.
///
/// It prints as a table in the order of the steps, with the largest errors marked, and a summary.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Errors {
    /// Each step, in the order of [`Plan::steps`].
    pub steps: Vec<StepError>,
    /// Each output, in the order of [`Plan::outputs`], compared with the whole network in f64, as the passes made it. `None` if a
    /// node has no f64 version.
    pub outputs: Option<Vec<OutputError>>,
    /// The same outputs compared with the graph as it was before the passes: this shows what the passes themselves lost, such as a
    /// batch norm that was folded into weights. `None` for a plan from a file, which does not hold that graph.
    pub as_written: Option<AsWritten>,
}

/// The error of one step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepError {
    /// The name of the step.
    pub name: String,
    /// The names of the graph's nodes that it computes, in order. What is compared is the last one's result.
    pub nodes: Vec<String>,
    /// Its op; the first one of several.
    pub op: String,
    /// What kind of step it is.
    pub kind: StepKind,
    /// What is fused into it, which is part of what is compared.
    pub fused: String,
    /// The layout of its first result.
    pub layout: String,
    /// Whether it only moves elements: every error above 0 is a defect.
    pub only_moves: bool,
    /// The step's own error: its result against the same node in f64, computed from the inputs that the step had. The largest
    /// one if it has several results. `None` if the op has no f64 version.
    pub relative_l2: Option<f64>,
}

/// The error of one output.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OutputError {
    /// The name of the output.
    pub name: String,
    /// The accumulated error: the output of the plan against that of a network in f64, from the same inputs.
    pub relative_l2: f64,
}

impl Errors {
    /// The step with the largest error, of those that compute.
    pub fn largest(&self) -> Option<&StepError> {
        self.ranked().first().copied()
    }

    /// The steps that only move elements and have changed some.
    pub fn changed(&self) -> impl Iterator<Item = &StepError> {
        self.steps.iter().filter(|step| step.only_moves && step.relative_l2 != Some(0.0))
    }

    /// The steps whose op has no f64 version.
    pub fn without_reference(&self) -> impl Iterator<Item = &StepError> {
        self.steps.iter().filter(|step| step.relative_l2.is_none())
    }

    /// The compared steps that compute, the largest error first. NaN is the largest.
    fn ranked(&self) -> Vec<&StepError> {
        let compared = |step: &&StepError| !step.only_moves && step.relative_l2.is_some();
        let mut ranked: Vec<&StepError> = self.steps.iter().filter(compared).collect();
        let error = |step: &StepError| match step.relative_l2 {
            Some(error) if !error.is_nan() => error,
            _ => f64::INFINITY,
        };
        ranked.sort_by(|a, b| error(b).total_cmp(&error(a)));
        ranked
    }
}

/// How many of the largest errors are marked.
const MARKED: usize = 5;

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranked = self.ranked();
        writeln!(f, "errors against f64 (relative L2), each step from its own inputs:")?;
        for step in &self.steps {
            let error = match step.relative_l2 {
                None => "no f64".to_string(),
                Some(0.0) => "exact".to_string(),
                Some(error) => format!("{error:.1e}"),
            };
            let place = ranked.iter().take(MARKED).position(|one| std::ptr::eq(*one, step));
            let mark = match (place, step.relative_l2) {
                (Some(place), Some(error)) if error != 0.0 => format!("#{}", place + 1),
                _ if step.only_moves && error != "exact" => "!".to_string(),
                _ => String::new(),
            };
            let fused = if step.fused.is_empty() { String::new() } else { format!(" + {}", step.fused) };
            let name = title(&step.name, &step.nodes);
            writeln!(f, "  {error:>8} {mark:<2}  {name}: {}{fused}  {}", step.op, step.layout)?;
        }
        let computing = self.steps.iter().filter(|step| !step.only_moves).count();
        write!(f, "compared {} of {computing} steps that compute", ranked.len())?;
        match ranked.first() {
            Some(StepError { name, op, relative_l2: Some(error), .. }) => {
                writeln!(f, "; the largest error is {error:.1e}, of {name}: {op}")?;
            }
            _ => writeln!(f)?,
        }
        let moving = self.steps.len() - computing;
        let moving =
            if moving == 1 { "1 step only moves".to_string() } else { format!("{moving} steps only move") };
        let changed: Vec<&str> = self.changed().map(|step| step.name.as_str()).collect();
        match changed.is_empty() {
            true => writeln!(f, "{moving} elements: exact")?,
            false => {
                writeln!(f, "{moving} elements, and {} changed some: {}", changed.len(), changed.join(", "))?
            }
        }
        let without: Vec<String> =
            self.without_reference().map(|step| format!("{} ({})", step.name, step.op)).collect();
        if !without.is_empty() {
            writeln!(f, "no f64 version: {}", without.join(", "))?;
        }
        match &self.outputs {
            None => writeln!(f, "outputs: not compared, as some steps have no f64 version")?,
            Some(outputs) => written::lines(f, outputs, "the network in f64, after the passes")?,
        }
        match &self.as_written {
            None => {
                writeln!(
                    f,
                    "the model as written: not compared, as a packed file does not hold it; plan the model itself"
                )
            }
            Some(written) => written.fmt(f),
        }
    }
}

impl Plan {
    /// Runs the plan, and compares what each step computes with the same node, or nodes, in f64, computed by the definition of each
    /// op from the inputs that the step had. So an error is the step's own, and not what earlier steps have added up to. Packed
    /// weights, post-ops, layouts and reorders are those of the plan; the constants are those of the network after the passes,
    /// with folded batch norms. If every node has an f64 version, the network also runs in f64 as a whole, which gives the
    /// accumulated errors of the outputs. So does the graph as it was written, before the passes
    /// ([`Errors::as_written`]), with the errors of the constants that were computed from other constants.
    ///
    /// The plan must have been made with [`PlanOptions::keep_constants`](super::PlanOptions::keep_constants), or loaded
    /// with [`load_with_constants`](Self::load_with_constants). This takes about a hundred times as long as a run. It reads
    /// tensors in all layouts, so a [`ReorderBudget`](blocktensor::ledger::ReorderBudget) of the plan's own reorders is too small
    /// for it.
    ///
    /// ```
    /// use blocktensor::{MemoryFormat, StridedTensor};
    /// use blocktensor_graph::{Constant, Graph, Layouts, PlanOptions};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("image", &[1.into(), 3.into(), 8.into(), 8.into()])?;
    /// let weights = StridedTensor::full(&[16, 3, 3, 3], 0.1f32, MemoryFormat::Contiguous)?;
    /// let weights = graph.constant("weights", Constant::F32(weights))?;
    /// let y = graph.op("conv", "conv2d", &[("x", x), ("weights", weights)], &[])?;
    /// let y = graph.op("activation", "silu", &[("x", y)], &[])?;
    /// graph.output("features", y)?;
    ///
    /// let plan = graph.plan(&PlanOptions::new(Layouts::Blocked).keep_constants())?;
    /// let image = StridedTensor::full(&[1, 3, 8, 8], 0.5f32, MemoryFormat::Contiguous)?;
    /// let errors = plan.errors(&[&image])?;
    /// assert!(errors.largest().and_then(|step| step.relative_l2) < Some(1e-6));
    /// println!("{errors}");
    /// # Ok::<(), blocktensor_graph::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run); [`Error::Invalid`] for a plan without plain weights, and where memory has no room for a tensor
    /// in f64.
    pub fn errors(&self, inputs: &[&StridedTensor]) -> Result<Errors> {
        if !self.recipe.has_constants {
            return Err(Error::Invalid {
                what: "plan".to_string(),
                got: "packed weights without the plain ones".to_string(),
                rule: "errors are those against plain weights".into(),
                remedy: Text::from("plan the graph with ")
                    + Call::KeepConstants
                    + ", or load a file that keeps plain weights with "
                    + Call::LoadPlanWithConstants,
            });
        }
        let mut comparison =
            Comparison { network: &self.recipe.network, inputs: HashMap::new(), steps: vec![] };
        let results = self.run_watched(inputs, &mut comparison)?;
        let steps = comparison.steps;
        let outputs = of_outputs(&self.recipe.network, inputs, &results)?;
        let written = self.recipe.written.as_ref();
        let as_written = written.map(|network| AsWritten::of(network, inputs, &results)).transpose()?;
        Ok(Errors { steps, outputs, as_written })
    }
}

/// The errors of a run's results against the network in f64, if every node that they need has an f64 version.
fn of_outputs(
    network: &Network,
    inputs: &[&StridedTensor],
    results: &[StridedTensor],
) -> Result<Option<Vec<OutputError>>> {
    let Some(wanted) = in_f64(network, inputs)? else { return Ok(None) };
    let names = network.outputs.iter().map(|(name, _)| name.clone());
    let output = |((name, got), want): ((String, &StridedTensor), &Arc<Values>)| {
        let got = Values::of(got.tensor_ref())?;
        Ok(OutputError { name, relative_l2: difference(&got, want) })
    };
    names.zip(results).zip(&wanted).map(output).collect::<Result<Vec<_>>>().map(Some)
}

/// Compares each step of a run.
struct Comparison<'a> {
    network: &'a Network,
    /// The inputs of the step that is about to run, before anything overwrites them: those of its nodes, by tensor.
    inputs: HashMap<TensorId, Arc<Values>>,
    steps: Vec<StepError>,
}

/// Whether the node has an f64 version.
fn has_reference(node: &Node) -> bool {
    node.op.bound().is_some_and(reference::has)
}

impl<'a> Comparison<'a> {
    /// The network's nodes of a step; none of a step of the plan's own.
    fn nodes(&self, state: &State<'_>, step: usize) -> Vec<&'a Node> {
        state.plan.steps[step].nodes.iter().filter_map(|&i| self.network.nodes.get(i)).collect()
    }
}

impl Watch for Comparison<'_> {
    fn before(&mut self, i: usize, state: &State<'_>) -> Result<()> {
        let step = &state.plan.steps[i];
        let values = |slot| -> Result<_> { Ok(Arc::new(Values::of(state.tensor(slot)?.tensor_ref())?)) };
        let nodes = self.nodes(state, i);
        if nodes.iter().all(|node| has_reference(node)) {
            for slot in &step.inputs {
                self.inputs.insert(state.plan.slots[slot.0].tensor, values(*slot)?);
            }
            for id in nodes.iter().flat_map(|node| &node.inputs) {
                if let Some(constant) = &self.network.tensor(*id).constant {
                    self.inputs.insert(*id, Arc::new(Values::of(constant.tensor_ref())?));
                }
            }
        }
        Ok(())
    }

    fn after(&mut self, i: usize, state: &State<'_>) -> Result<()> {
        let step = &state.plan.steps[i];
        let nodes = self.nodes(state, i);
        let known = std::mem::take(&mut self.inputs);
        let wanted = match nodes.is_empty() {
            true => {
                let same =
                    step.inputs.iter().map(|slot| known.get(&state.plan.slots[slot.0].tensor).cloned());
                Some(same.map(|values| values.ok_or_else(|| broken(&step.name))).collect::<Result<_>>()?)
            }
            false => results(self.network, &nodes, known)?,
        };
        let relative_l2 = match wanted {
            None => None,
            Some(wanted) => {
                let mut largest = 0.0;
                for (slot, want) in step.outputs.iter().zip(&wanted) {
                    let error = difference(&Values::of(state.tensor(*slot)?.tensor_ref())?, want);
                    largest = if error.is_nan() || error > largest { error } else { largest };
                }
                Some(largest)
            }
        };
        let info = state.plan.step_info(step);
        self.steps.push(StepError {
            name: info.name.to_string(),
            nodes: info.nodes.iter().map(|name| name.to_string()).collect(),
            op: info.op.to_string(),
            kind: info.kind,
            fused: info.fused.to_string(),
            layout: info.outputs.first().map(|t| t.desc.layout_name()).unwrap_or_default(),
            only_moves: nodes.iter().all(|node| reference::only_moves(node.op.op())),
            relative_l2,
        });
        Ok(())
    }
}

/// The results of the last of some nodes in f64, if all have an f64 version. What is between them is in f64, too.
fn results(
    network: &Network,
    nodes: &[&Node],
    mut known: HashMap<TensorId, Arc<Values>>,
) -> Result<Option<Vec<Arc<Values>>>> {
    let mut last = None;
    for node in nodes {
        let input = |id: &TensorId| known.get(id).cloned().ok_or_else(|| broken(&node.name));
        let inputs = match has_reference(node) {
            true => node.inputs.iter().map(input).collect::<Result<Vec<_>>>()?,
            false => return Ok(None),
        };
        let Some(results) = evaluated(network, node, &inputs)? else { return Ok(None) };
        known.extend(node.outputs.iter().copied().zip(results.iter().cloned()));
        last = Some(results);
    }
    Ok(last)
}

/// The results of a node in f64, if it has an f64 version.
fn evaluated(network: &Network, node: &Node, inputs: &[Arc<Values>]) -> Result<Option<Vec<Arc<Values>>>> {
    let Some(op) = node.op.bound().filter(|op| reference::has(op)) else { return Ok(None) };
    let outputs: Vec<&[usize]> = node.outputs.iter().map(|id| network.tensor(*id).dims()).collect();
    let results = reference::evaluate(op, inputs, &outputs)
        .map_err(|e| e.within(&node.origin.node, &node.origin.op))?;
    Ok(results.map(|list| list.into_iter().map(Arc::new).collect()))
}

/// The outputs of the network in f64, if every node that they need has an f64 version.
fn in_f64(network: &Network, inputs: &[&StridedTensor]) -> Result<Option<Vec<Arc<Values>>>> {
    let mut uses = vec![0usize; network.tensors.len()];
    network.outputs.iter().for_each(|(_, id)| uses[id.0] += 1);
    let mut needed = Vec::with_capacity(network.nodes.len());
    for node in network.nodes.iter().rev() {
        if node.outputs.iter().all(|id| uses[id.0] == 0) {
            continue;
        }
        if !has_reference(node) {
            return Ok(None);
        }
        node.inputs.iter().for_each(|id| uses[id.0] += 1);
        needed.push(node);
    }
    let mut known: HashMap<TensorId, Arc<Values>> = HashMap::new();
    for (id, x) in network.inputs.iter().zip(inputs) {
        known.insert(*id, Arc::new(Values::of(x.tensor_ref())?));
    }
    let value = |id: &TensorId, known: &HashMap<TensorId, Arc<Values>>| {
        let tensor = network.tensor(*id);
        match &tensor.constant {
            Some(constant) => Ok(Arc::new(Values::of(constant.tensor_ref())?)),
            None => known.get(id).map(Arc::clone).ok_or_else(|| broken(&tensor.name)),
        }
    };
    for node in needed.into_iter().rev() {
        let inputs = node.inputs.iter().map(|id| value(id, &known)).collect::<Result<Vec<_>>>()?;
        let results = evaluated(network, node, &inputs)?.ok_or_else(|| broken(&node.name))?;
        known.extend(node.outputs.iter().copied().zip(results));
        for id in &node.inputs {
            uses[id.0] -= 1;
        }
        node.inputs.iter().chain(&node.outputs).filter(|id| uses[id.0] == 0).for_each(|id| {
            known.remove(id);
        });
    }
    network.outputs.iter().map(|(_, id)| value(id, &known)).collect::<Result<Vec<_>>>().map(Some)
}

/// The relative L2 error: see [`Errors`]. A number that f32 cannot hold is infinite there.
fn difference(got: &Values, want: &Values) -> f64 {
    if got.dims != want.dims {
        return f64::NAN;
    }
    let (mut squares, mut norm) = (0.0, 0.0);
    for (&g, &w) in got.data.iter().zip(&want.data) {
        if g == w || (g.is_nan() && w.is_nan()) {
            norm += if w.is_finite() { w * w } else { 0.0 };
            continue;
        }
        let d = g - w;
        if !d.is_finite() {
            if g == f64::from(w as f32) {
                continue;
            }
            return f64::NAN;
        }
        squares += d * d;
        norm += w * w;
    }
    if norm > 0.0 { (squares / norm).sqrt() } else { squares.sqrt() }
}
