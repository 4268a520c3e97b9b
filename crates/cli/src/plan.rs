//! The command `plan`.

use blocktensor_graph::{Layouts, Measurements};
use serde::Serialize;

use crate::args::Plan as Args;
use crate::failure::Result;
use crate::{Outcome, model, report};

/// The JSON object of `plan`.
#[derive(Serialize)]
struct Plan {
    version: u32,
    model: String,
    layout: &'static str,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
    passes: Vec<Pass>,
    steps: usize,
    reorders: Vec<Reorder>,
    arena_bytes: usize,
    live_bytes: usize,
    /// What the command prints without `--json`.
    text: String,
}

#[derive(Serialize)]
struct Tensor {
    name: String,
    dims: Vec<usize>,
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
    let graph = model::read(&args.model)?;
    let sizes = model::sizes(&args.model, &graph)?;
    model::check_sizes(&graph, &sizes)?;
    let mut planning = args.planning.clone();
    if args.explain {
        planning.layout.get_or_insert(Layouts::Measured);
    }
    let plan = model::plan(&graph, &planning, sizes)?;
    let explanation = plan.measurements().filter(|_| args.explain).map(Measurements::to_string);
    let text = [Some(plan.to_string()), explanation].into_iter().flatten().collect::<Vec<_>>().join("");
    if !args.model.json {
        return Ok((text, Ok(())));
    }
    let tensor = |(name, desc): (&str, &blocktensor::TensorDesc)| Tensor {
        name: name.to_string(),
        dims: desc.dims().to_vec(),
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
        inputs: plan.inputs().map(tensor).collect(),
        outputs: plan.outputs().map(tensor).collect(),
        passes: plan.passes().iter().map(|r| Pass { name: r.pass.name(), changes: r.changes }).collect(),
        steps: plan.len(),
        reorders: reorders.collect(),
        arena_bytes: plan.arena_bytes(),
        live_bytes: plan.live_bytes(),
        text,
    };
    Ok((report::json(&object)?, Ok(())))
}
