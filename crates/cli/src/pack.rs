//! The command `pack`.

use std::fs::Metadata;
use std::time::Instant;

use blocktensor::shown_path;
use blocktensor_graph::{Plan, Precision};
use serde::Serialize;

use crate::args::Pack as Args;
use crate::bench::milliseconds;
use crate::failure::{Failure, Result};
use crate::files::Target;
use crate::{Outcome, files, model, report};

/// The JSON object of `pack`.
#[derive(Serialize)]
struct Pack {
    version: u32,
    model: String,
    output: String,
    layout: &'static str,
    threads: usize,
    /// Of the file. `None` for a pipe or a device.
    bytes: Option<u64>,
    plan_ms: f64,
    write_ms: f64,
}

/// Plans the model, writes the plan.
pub fn run(args: &Args) -> Result<Outcome> {
    let output =
        Target { option: "--output", path: Some(&args.output), writes: |content| Plan::recognises(content) };
    let targets = [output];
    files::check_targets([args.model.model.as_path()], &targets)?;
    let start = Instant::now();
    let planning = &args.planning;
    if args.keep_plain && planning.precision == Some(Precision::Bf16) {
        let text = "the weights of a plan in bf16 are rounded, and plain ones are the model's own; leave it out, or leave --precision out";
        return Err(Failure::usage("--keep-plain", text));
    }
    let source = model::source(&args.model, planning, &targets)?;
    let sizes = model::sizes(&args.model, &source.named_sizes())?;
    model::check_sizes(&source.inputs(), &sizes)?;
    let plan = source.plan(planning, sizes)?;
    model::note_cache(&plan);
    let plan_ms = milliseconds(start.elapsed());
    let start = Instant::now();
    plan.save(&args.output, args.keep_plain).map_err(|error| match error {
        // Its op and its argument are the command and the option.
        blocktensor_graph::Error::Engine(blocktensor::Error::FileAccess(why)) => {
            Failure::refused("--output", &why)
        }
        blocktensor_graph::Error::Engine(blocktensor::Error::InvalidArgument(mut why))
            if why.argument == "keep_plain" =>
        {
            why.remedy = "leave it out, or pack the ONNX file without --precision".into();
            Failure::refused("--keep-plain", &why)
        }
        error => error.into(),
    })?;
    let report = Pack {
        version: report::VERSION,
        model: args.model.model.display().to_string(),
        output: args.output.display().to_string(),
        layout: plan.layouts().name(),
        threads: blocktensor::current_threads(),
        bytes: std::fs::metadata(&args.output).ok().filter(Metadata::is_file).map(|m| m.len()),
        plan_ms,
        write_ms: milliseconds(start.elapsed()),
    };
    let text = match args.model.json {
        true => report::json(&report)?,
        false => format!(
            "{}: {}{} layouts, for {} {}\nplanned in {:.1} ms, written in {:.1} ms\n",
            shown_path(&args.output),
            report.bytes.map_or(String::new(), |bytes| format!("{:.1} MB, ", bytes as f64 / 1e6)),
            report.layout,
            report.threads,
            if report.threads == 1 { "thread" } else { "threads" },
            report.plan_ms,
            report.write_ms
        ),
    };
    Ok((text, Ok(())))
}
