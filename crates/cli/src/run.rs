//! The command `run`.

use std::path::PathBuf;
use std::time::Instant;

use blocktensor::{PackedFile, StridedTensor};
use blocktensor_graph::{Plan, Precision};

use crate::args::Run;
use crate::array::Array;
use crate::bench::milliseconds;
use crate::check::{self, Expected};
use crate::failure::{Failure, Result};
use crate::files::Target;
use crate::inputs::{self, Input};
use crate::progress::Progress;
use crate::report::{self, Reorders, Statistics, Times};
use crate::{Outcome, files, model, top};

/// Reads the model and its inputs, plans, runs, compares, writes.
pub fn run(args: &Run) -> Result<Outcome> {
    let start = Instant::now();
    let pictures = &args.inputs.pictures;
    let others = [Some(&args.model.model), args.labels.as_ref(), pictures.preprocess.as_ref()];
    let reads = files::named_files(&args.inputs.files).chain(files::named_files(&args.checks));
    let reads = reads.chain(others.into_iter().flatten().map(PathBuf::as_path));
    let save = Target { option: "--save", path: args.save.as_ref(), writes: files::is_tensors };
    let targets = [save];
    files::check_targets(reads, &targets)?;
    let source = model::source(&args.model, &args.planning, &targets)?;
    let replan_ms = source.replan_ms();
    let read_ms = milliseconds(start.elapsed()) - replan_ms;
    let sizes = model::sizes(&args.model, &source.named_sizes())?;
    let names = source.outputs();
    if let Some(path) = &args.save {
        files::check_save(path, &names)?;
    }
    let expected = check::read(&args.checks, &names)?;
    let (inputs, sizes) = inputs::gather(&args.inputs, "--random", &source, sizes)?;

    let start = Instant::now();
    let plan = source.plan(&args.planning, sizes)?;
    model::note_cache(&plan);
    let plan_ms = milliseconds(start.elapsed()) + replan_ms;
    let labels = labels(args, &plan)?;
    // After the plan: a model that cannot run needs no gigabytes of random numbers.
    let tensors = inputs::tensors(&inputs)?;

    let start = Instant::now();
    let outputs = first_run(&plan, &tensors)?;
    let mut times = Times {
        read_ms,
        plan_ms,
        first_run_ms: milliseconds(start.elapsed()),
        runs: args.repeat.unwrap_or(0),
        least_ms: None,
        median_ms: None,
    };
    (times.least_ms, times.median_ms) = repeat(&plan, &tensors, times.runs)?;
    if let Some(path) = &args.save {
        files::save(path, &outputs)?;
    }
    finish(args, &plan, &inputs, &outputs, &expected, times, labels.as_deref())
}

/// The labels, if every output that `--top-k` concerns has that many classes.
fn labels(args: &Run, plan: &Plan) -> Result<Option<Vec<String>>> {
    if args.top_k.is_none() {
        return Ok(None);
    }
    let classes: Vec<usize> = plan.outputs().filter_map(|(_, desc)| top::classes(desc.dims())).collect();
    if classes.is_empty() {
        let all: Vec<String> =
            plan.outputs().map(|(name, desc)| format!("`{name}` {:?}", desc.dims())).collect();
        let text =
            format!("no output has the sizes [C], [N, C] or [N, C, 1, 1]: {}; leave it out", all.join(", "));
        return Err(Failure::usage("--top-k", text));
    }
    args.labels.as_ref().map(|path| top::read_labels(path, &classes)).transpose()
}

fn first_run(plan: &Plan, tensors: &[StridedTensor]) -> Result<Vec<(String, Array)>> {
    let _line = Progress::start("running");
    let results = plan.run(&tensors.iter().collect::<Vec<_>>())?;
    let names = plan.outputs().map(|(name, _)| name.to_string());
    let outputs = names.zip(&results).zip(plan.output_types());
    outputs.map(|((name, t), of)| Ok((name, Array::of_tensor(t, *of)?))).collect()
}

/// The least and the median time of further runs, in milliseconds.
fn repeat(plan: &Plan, tensors: &[StridedTensor], runs: u32) -> Result<(Option<f64>, Option<f64>)> {
    let inputs: Vec<&StridedTensor> = tensors.iter().collect();
    let line = Progress::of_steps("running", u64::from(runs));
    let mut times = Vec::new();
    for _ in 0..runs {
        let start = Instant::now();
        plan.run(&inputs)?;
        times.push(milliseconds(start.elapsed()));
        line.step();
    }
    times.sort_by(f64::total_cmp);
    Ok((times.first().copied(), times.get(times.len() / 2).copied()))
}

fn finish(
    args: &Run,
    plan: &Plan,
    inputs: &[Input],
    outputs: &[(String, Array)],
    expected: &[Expected],
    times: Times,
    labels: Option<&[String]>,
) -> Result<Outcome> {
    let got = |name: &str| outputs.iter().find(|(output, _)| output == name).map(|(_, array)| array);
    let tolerance = args.tolerance.unwrap_or(check::tolerance(plan));
    let checks: Vec<_> =
        expected.iter().filter_map(|e| Some(e.compare(got(&e.output)?, tolerance))).collect();
    let build = blocktensor::build_info();
    let report = report::Run {
        version: report::VERSION,
        model: args.model.model.display().to_string(),
        layout: plan.layouts().name(),
        kept: plan.measurements().map(|m| m.kept.name()),
        layout_is_default: args.planning.layout.is_none() && !PackedFile::is_at(&args.model.model),
        threads: build.threads,
        build: build.to_string(),
        inputs: inputs
            .iter()
            .map(|i| report::Input { name: i.name.clone(), dims: i.dims.clone(), from: i.from.clone() })
            .collect(),
        outputs: outputs
            .iter()
            .map(|(name, array)| report::Output {
                name: name.clone(),
                of: array.values.name(),
                dims: array.dims.clone(),
                statistics: Statistics::of(array),
                relative_l2: checks.iter().find(|c| c.name == *name).and_then(|c| c.relative_l2),
                top: args.top_k.and_then(|k| top::rows(array, k as usize, labels)),
            })
            .collect(),
        reorders: Reorders::of(plan),
        arena_bytes: plan.arena_bytes(),
        live_bytes: plan.live_bytes(),
        times,
        plan: args.plan.then(|| plan.to_string()),
        checks,
    };
    let text = if args.model.json { report::json(&report)? } else { report.text() };
    let failed: Vec<String> =
        report.checks.iter().filter(|c| !c.passed).map(|c| format!("`{}` {}", c.name, c.text())).collect();
    let outcome = match failed.is_empty() {
        true => Ok(()),
        false => {
            let others = report.checks.iter().any(|c| c.reason.is_some());
            let remedy = match others {
                true => "pass the file that was saved of this output for these inputs",
                false if plan.precision() == Precision::Bf16 => {
                    "the plan computes in bf16, which rounds each step by up to 0.4 %: pass a larger --tolerance, such as 2e-2, or compare a plan in f32"
                }
                false => "compare values up to a node with --outputs, or raise --tolerance",
            };
            Err(Failure::Check(format!(
                "{} of {} outputs differ from their files: {}; {remedy}",
                failed.len(),
                report.checks.len(),
                failed.join(", ")
            )))
        }
    };
    Ok((text, outcome))
}
