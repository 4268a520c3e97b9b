//! The option `--errors` of `plan`.

use blocktensor::{StridedTensor, shown_path};
use blocktensor_graph::{ConstantError, OutputError, Plan, Sizes, StepError};
use serde::Serialize;

use crate::args::{Inputs, Plan as Args};
use crate::failure::{Failure, Result};
use crate::inputs::{self, Input};
use crate::model::Source;
use crate::progress::Progress;
use crate::report;

/// The errors in the JSON object of `plan`.
#[derive(Serialize)]
pub struct Errors {
    inputs: Vec<report::Input>,
    /// As many as the plan's `steps`, in their order.
    steps: Vec<Step>,
    /// How many of the steps that compute were compared, and how many there are.
    compared: usize,
    computing: usize,
    /// The step with the largest error, of those that compute: its place in `steps`.
    largest: Option<usize>,
    /// `null` if a step has no f64 version.
    outputs: Option<Vec<Output>>,
    /// `null` for a plan from a file.
    as_written: Option<AsWritten>,
    #[serde(skip)]
    text: String,
}

/// `relative_l2` is `null` without an f64 version, and where one side has NaN or infinity and the other has not.
#[derive(Serialize)]
struct Step {
    name: String,
    nodes: Vec<String>,
    op: String,
    layout: String,
    only_moves: bool,
    has_f64: bool,
    relative_l2: Option<f64>,
}

/// Against the model as it was before the passes.
#[derive(Serialize)]
struct AsWritten {
    constants: Vec<Constant>,
    /// `null` if a node has no f64 version.
    outputs: Option<Vec<Output>>,
}

#[derive(Serialize)]
struct Constant {
    node: String,
    op: String,
    relative_l2: Option<f64>,
}

#[derive(Serialize)]
struct Output {
    name: String,
    relative_l2: f64,
}

/// The inputs for `--errors`: random ones, unless options say otherwise. Also all sizes that they show.
pub fn inputs(args: &Args, source: &Source, sizes: Sizes) -> Result<(Option<Vec<Input>>, Sizes)> {
    if !args.errors {
        return match args.inputs.first_used() {
            Some(option) => Err(Failure::usage(option, "it is for --errors; pass that too, or leave it out")),
            None => Ok((None, sizes)),
        };
    }
    let given = Inputs { random: Some(args.inputs.random.unwrap_or(0)), ..args.inputs.clone() };
    let (inputs, sizes) = inputs::gather(&given, "--errors", source, sizes)?;
    Ok((Some(inputs), sizes))
}

/// Runs the plan once, and compares.
pub fn of(plan: &Plan, inputs: &[Input]) -> Result<Errors> {
    let _line = Progress::start("comparing with f64");
    let tensors = inputs::tensors(inputs)?;
    let errors = plan.errors(&tensors.iter().collect::<Vec<&StridedTensor>>())?;
    let step = |step: &StepError| Step {
        name: step.name.clone(),
        nodes: step.nodes.clone(),
        op: step.op.clone(),
        layout: step.layout.clone(),
        only_moves: step.only_moves,
        has_f64: step.relative_l2.is_some(),
        relative_l2: step.relative_l2,
    };
    let output = |output: &OutputError| Output { name: output.name.clone(), relative_l2: output.relative_l2 };
    let outputs =
        |list: &Option<Vec<OutputError>>| list.as_ref().map(|list| list.iter().map(output).collect());
    let constant = |one: &ConstantError| Constant {
        node: one.node.clone(),
        op: one.op.clone(),
        relative_l2: one.relative_l2,
    };
    let as_written = errors.as_written.as_ref().map(|written| AsWritten {
        constants: written.constants.iter().map(constant).collect(),
        outputs: outputs(&written.outputs),
    });
    let computing = || errors.steps.iter().filter(|step| !step.only_moves);
    let largest = errors.largest();
    let input =
        |i: &Input| report::Input { name: i.name.clone(), dims: i.dims.clone(), from: i.from.clone() };
    let lines =
        inputs.iter().map(|i| format!("input {} {:?}: {}\n", i.name, i.dims, shown_path(i.from.as_ref())));
    Ok(Errors {
        inputs: inputs.iter().map(input).collect(),
        steps: errors.steps.iter().map(step).collect(),
        compared: computing().filter(|step| step.relative_l2.is_some()).count(),
        computing: computing().count(),
        largest: largest.and_then(|one| errors.steps.iter().position(|step| std::ptr::eq(step, one))),
        outputs: outputs(&errors.outputs),
        as_written,
        text: lines.collect::<String>() + &errors.to_string(),
    })
}

impl Errors {
    /// The lines for people.
    pub fn text(&self) -> String {
        self.text.clone()
    }
}
