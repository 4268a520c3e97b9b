//! The command `plan`.

use std::path::PathBuf;

use blocktensor::TensorDesc;
use blocktensor_graph::{ElementType, Measurements, StepInfo};
use serde::Serialize;

use crate::args::Plan as Args;
use crate::failure::{Failure, Result};
use crate::files::Target;
use crate::{Outcome, bench, errors, files, model, report};

/// The JSON object of `plan`.
#[derive(Serialize)]
struct Plan {
    version: u32,
    model: String,
    layout: &'static str,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
    passes: Vec<Pass>,
    steps: Vec<Step>,
    reorders: Vec<Reorder>,
    arena_bytes: usize,
    live_bytes: usize,
    /// With `--errors`.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<errors::Errors>,
    /// What the command prints without `--json`.
    text: String,
}

#[derive(Serialize)]
struct Tensor {
    name: String,
    dims: Vec<usize>,
    /// The element type: Booleans are `bool`, which the steps hold as u8.
    #[serde(rename = "type")]
    of: String,
}

#[derive(Serialize)]
struct Step {
    name: String,
    /// The nodes that it computes.
    nodes: Vec<String>,
    op: String,
    kind: &'static str,
    /// What is fused into it.
    fused: String,
    implementation: Option<String>,
    /// The stated relative error, where it rounds otherwise than a direct convolution.
    rounds_otherwise: Option<f64>,
    inputs: Vec<StepTensor>,
    outputs: Vec<StepTensor>,
    multiply_adds: u64,
    /// Operands, results and weights.
    bytes: usize,
}

/// A tensor in one layout: steps that make and take it have the same `id`.
#[derive(Serialize)]
struct StepTensor {
    id: usize,
    name: String,
    dims: Vec<usize>,
    #[serde(rename = "type")]
    of: String,
    layout: String,
    constant: bool,
}

#[derive(Serialize)]
struct Pass {
    name: &'static str,
    changes: usize,
}

#[derive(Serialize)]
struct Reorder {
    node: String,
    from: String,
    to: String,
    dims: Vec<usize>,
    bytes: usize,
    in_kernel: bool,
}

/// Reads the model, plans it, prints the plan.
pub fn run(args: &Args) -> Result<Outcome> {
    let target = |option, path, writes| Target { option, path, writes };
    let targets = [
        target("--svg", args.svg.as_ref(), |content| files::begins(content, b"<svg")),
        target("--dot", args.dot.as_ref(), |content| files::begins(content, b"digraph")),
        target("--onnx", args.onnx.as_ref(), |content| blocktensor_onnx::is_shown(content)),
    ];
    let others = [Some(&args.model.model), args.inputs.pictures.preprocess.as_ref()];
    let reads = files::named_files(&args.inputs.files);
    files::check_targets(reads.chain(others.into_iter().flatten().map(PathBuf::as_path)), &targets)?;
    let mut planning = args.planning.clone();
    planning.keep_constants = args.errors;
    if args.errors && args.planning.replan {
        let text =
            "--errors compares the packed weights of the file, which --replan replaces; pass the ONNX file";
        return Err(Failure::usage("--replan", text));
    }
    let source = model::source(&args.model, &planning, &targets)?;
    let sizes = model::sizes(&args.model, &source.named_sizes())?;
    let (inputs, sizes) = errors::inputs(args, &source, sizes)?;
    model::check_sizes(&source.inputs(), &sizes)?;
    let plan = source.plan(&planning, sizes)?;
    if args.dot.is_some() || args.svg.is_some() || args.onnx.is_some() {
        plan.check_drawing()?;
    }
    if let Some(path) = &args.dot {
        files::write("--dot", path, plan.to_dot().as_bytes())?;
    }
    if args.svg.is_some() || args.onnx.is_some() {
        let times = bench::step_times(&plan)?;
        if let Some(path) = &args.svg {
            files::write("--svg", path, plan.to_svg(Some(&times)).as_bytes())?;
        }
        if let Some(path) = &args.onnx {
            files::write("--onnx", path, &blocktensor_onnx::show(&plan, Some(&times))?)?;
        }
    }
    let explanation = plan.measurements().filter(|_| args.explain).map(Measurements::to_string);
    let errors = inputs.map(|inputs| errors::of(&plan, &inputs)).transpose()?;
    let parts = [Some(plan.to_string()), explanation, errors.as_ref().map(errors::Errors::text)];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("");
    if !args.model.json {
        return Ok((text, Ok(())));
    }
    let tensor = |((name, desc), of): ((&str, &TensorDesc), &ElementType)| Tensor {
        name: name.to_string(),
        dims: desc.dims().to_vec(),
        of: of.to_string(),
    };
    let reorders = plan.reorders().iter().map(|r| Reorder {
        node: r.node.clone(),
        from: r.from.clone(),
        to: r.to.clone(),
        dims: r.dims.clone(),
        bytes: r.bytes,
        in_kernel: r.in_kernel,
    });
    let object = Plan {
        version: report::VERSION,
        model: args.model.model.display().to_string(),
        layout: plan.layouts().name(),
        inputs: plan.inputs().zip(plan.input_types()).map(tensor).collect(),
        outputs: plan.outputs().zip(plan.output_types()).map(tensor).collect(),
        passes: plan.passes().iter().map(|r| Pass { name: r.pass.name(), changes: r.changes }).collect(),
        steps: plan.steps().map(Step::of).collect(),
        reorders: reorders.collect(),
        arena_bytes: plan.arena_bytes(),
        live_bytes: plan.live_bytes(),
        errors,
        text,
    };
    Ok((report::json(&object)?, Ok(())))
}

impl Step {
    fn of(step: StepInfo<'_>) -> Step {
        let tensor = |t: &blocktensor_graph::StepTensor<'_>| StepTensor {
            id: t.id,
            name: t.name.to_string(),
            dims: t.desc.dims().to_vec(),
            of: t.desc.dtype().to_string(),
            layout: t.desc.layout_name(),
            constant: t.is_constant,
        };
        Step {
            name: step.name.to_string(),
            nodes: step.nodes.iter().map(|name| name.to_string()).collect(),
            op: step.op.to_string(),
            kind: step.kind.name(),
            fused: step.fused.to_string(),
            implementation: step.implementation.map(str::to_string),
            rounds_otherwise: step.rounds_otherwise,
            inputs: step.inputs.iter().map(tensor).collect(),
            outputs: step.outputs.iter().map(tensor).collect(),
            multiply_adds: step.multiply_adds,
            bytes: step.bytes(),
        }
    }
}
