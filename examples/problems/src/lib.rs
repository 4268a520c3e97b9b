//! Lists of convolution, pooling and batch norm problems in benchdnn's notation, run in every layout and checked by loops
//! in f64.
//!
//! Shared by `examples/conv_problems` and the tests.

mod check;
mod conv;
mod data;
mod files;
mod norm;
mod notation;
pub mod oracle;
mod pool;
mod types;

pub use check::{LAYOUTS, Outcome, Refusal, Want};
pub use files::{Entry, List};
pub use notation::{Kind, Problem};
pub use types::Types;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

/// Options for running a list.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of the data, together with the problem.
    pub seed: u64,
    /// The implementation that computes convolutions, by its name; else each call and packing takes the first that can.
    pub alg: Option<String>,
    /// The dtypes of convolutions.
    pub types: Types,
    /// Larger problems are skipped.
    pub max_macs: Option<u64>,
    /// The batch of every problem, instead of its own.
    pub mb: Option<usize>,
    /// Problems that need more memory are skipped.
    pub max_bytes: u64,
    /// Whether passing runs are also printed, each before it begins.
    pub verbose: bool,
    /// The beginning of the command that repeats one problem.
    pub command: String,
}

/// The outcome of a list. A run is one problem in one layout; a pooling problem counts once for each of its three
/// algorithms, a batch norm once for inference and once for training.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub passed: usize,
    pub failed: usize,
    pub unsupported: usize,
    /// Number of unsupported runs by reason.
    pub reasons: BTreeMap<String, usize>,
    /// Runs that passed, by kind and layout.
    pub passed_in: BTreeMap<(&'static str, &'static str), usize>,
    /// Problems that differ from an earlier one only in the name.
    pub repeated: usize,
    /// Problems that were skipped, by reason.
    pub left_out: BTreeMap<String, usize>,
    pub unreadable: usize,
}

impl Totals {
    /// Whether nothing is wrong.
    pub fn good(&self) -> bool {
        self.failed == 0 && self.unreadable == 0
    }

    fn count(&mut self, kind: Kind, layout: &'static str, outcome: &Outcome) {
        match outcome {
            Outcome::Passed => {
                self.passed += 1;
                *self.passed_in.entry((kind.name(), layout)).or_default() += 1;
            }
            Outcome::Unsupported(reason) => {
                self.unsupported += 1;
                *self.reasons.entry(reason.clone()).or_default() += 1;
            }
            Outcome::Failed(_) => self.failed += 1,
        }
    }
}

/// Runs every problem of a list, one after another, on the threads of the current rayon pool. Writes differences, and the
/// totals.
///
/// # Errors
/// Those of `out`.
pub fn run(list: &List, options: &Options, out: &mut dyn Write) -> io::Result<Totals> {
    let mut totals = Totals { unreadable: list.unreadable.len(), ..Totals::default() };
    let mut seen = HashSet::new();
    for entry in &list.entries {
        let mut problem = entry.problem.clone();
        problem.n = options.mb.unwrap_or(problem.n);
        if !seen.insert((problem.kind, problem.to_string())) {
            totals.repeated += 1;
            continue;
        }
        if let Some(why) = too_large(&problem, options) {
            *totals.left_out.entry(why).or_default() += 1;
            continue;
        }
        let name = match problem.name.as_str() {
            "" => problem.to_string(),
            name => format!("{name} {problem}"),
        };
        if options.verbose {
            writeln!(out, "{}: {} {name}", entry.at, problem.kind.name())?;
            out.flush()?;
        }
        for (variant, outcomes) in runs(&problem, options) {
            for (layout, outcome) in LAYOUTS.into_iter().zip(&outcomes) {
                totals.count(problem.kind, layout, outcome);
                let what = [problem.kind.name(), variant, layout].map(|w| format!("{w} ")).concat();
                let what = what.replace("  ", " ");
                match outcome {
                    Outcome::Failed(why) => {
                        writeln!(out, "FAILED {what}{name}\n  {why}")?;
                        let kind = problem.kind.name();
                        writeln!(
                            out,
                            "  again: {} --kind {kind} --seed {} --problem {problem}",
                            options.command, options.seed
                        )?;
                    }
                    Outcome::Passed if options.verbose => writeln!(out, "  {what}passed")?,
                    Outcome::Unsupported(why) if options.verbose => {
                        writeln!(out, "  {what}unsupported: {why}")?;
                    }
                    _ => {}
                }
            }
        }
    }
    write_totals(&totals, out)?;
    Ok(totals)
}

fn write_totals(totals: &Totals, out: &mut dyn Write) -> io::Result<()> {
    let problems = |n: usize| if n == 1 { "1 problem".to_string() } else { format!("{n} problems") };
    if totals.repeated > 0 {
        writeln!(out, "{} named otherwise before, run once", problems(totals.repeated))?;
    }
    for (why, &count) in &totals.left_out {
        writeln!(out, "{} left out: {why}", problems(count))?;
    }
    if totals.unreadable > 0 {
        writeln!(out, "{} could not be read", problems(totals.unreadable))?;
    }
    let Totals { passed, failed, unsupported, .. } = totals;
    writeln!(out, "{passed} passed, {failed} failed, {unsupported} unsupported")?;
    totals.reasons.iter().try_for_each(|(why, count)| writeln!(out, "{count:>7} {why}"))
}

/// Why a problem is skipped.
fn too_large(p: &Problem, options: &Options) -> Option<String> {
    if let Some(max) = options.max_macs.filter(|&max| p.macs() > max as f64) {
        return Some(format!("more than {max} multiply-adds"));
    }
    if p.bytes() > options.max_bytes as f64 {
        return Some(format!("more than {} MB of memory", options.max_bytes >> 20));
    }
    let sizes = [p.input, p.output, p.kernel, p.stride, p.dilation];
    let paddings = p.pad_begin.iter().chain(&p.pad_end).map(|v| v.unsigned_abs());
    if sizes.iter().flatten().map(|&v| v as u64).chain(paddings).any(|v| v > i32::MAX as u64) {
        return Some("a size of more than 31 bits".into());
    }
    let inexact = p.kind.has_weights() && data::exact_range(p.terms(), 1).is_none();
    inexact.then(|| "sums of so many terms are not exact in f32".to_string())
}

/// Runs a problem in all layouts, once for each algorithm or mode.
fn runs(p: &Problem, options: &Options) -> Vec<(&'static str, [Outcome; 3])> {
    let seed = options.seed;
    let how = conv::How { seed, alg: options.alg.as_deref(), types: options.types };
    let result = match p.kind {
        Kind::Conv | Kind::Deconv => conv::run(p, how).map(|outcomes| vec![("", outcomes)]),
        Kind::Pool => pool::run(p, seed),
        Kind::BatchNorm => norm::run(p, seed),
    };
    // Outside of the runs, only making their operands can fail.
    result.unwrap_or_else(|e| vec![("", LAYOUTS.map(|_| Outcome::Failed(e.to_string())))])
}
