//! The command `ops`.

use std::collections::{BTreeMap, BTreeSet};

use blocktensor_graph::Outcome as Became;
use serde::Serialize;

use crate::args::Ops as Args;
use crate::failure::{Failure, Result, one_line, word};
use crate::{Outcome, model, report};

/// The JSON object of `ops`.
#[derive(Serialize)]
struct Ops {
    version: u32,
    model: String,
    ops: Vec<Op>,
    missing: Vec<Missing>,
    /// Values that can be computed without the missing nodes.
    computable: Vec<String>,
}

/// The nodes of one op, and how many of them had each outcome.
#[derive(Default, Serialize)]
struct Op {
    op: String,
    count: usize,
    /// One operator each.
    runs: usize,
    /// Several operators each.
    composed: usize,
    /// Computed when the model is planned, or without effect.
    folded: usize,
    missing: usize,
    /// They need the results of missing nodes.
    unreached: usize,
    /// No output needs them.
    unused: usize,
    /// The operators that they became.
    operators: BTreeSet<String>,
}

#[derive(Serialize)]
struct Missing {
    node: String,
    op: String,
    attributes: String,
    reason: String,
}

/// Reads the model and tells what becomes of each node.
pub fn run(args: &Args) -> Result<Outcome> {
    let graph = model::read(&args.model)?;
    let sizes = model::sizes(&args.model, &graph.named_sizes())?;
    model::check_sizes(&model::inputs_of(&graph), &sizes)?;
    let (outcomes, computable) = graph.outcomes(&sizes)?;
    let mut ops: BTreeMap<&str, Op> = BTreeMap::new();
    let mut missing = Vec::new();
    for ((node, op, attributes), became) in graph.nodes().zip(outcomes) {
        let row = ops.entry(op).or_default();
        row.op = op.to_string();
        row.count += 1;
        match became {
            Became::Operators(operators) => {
                if operators.len() == 1 {
                    row.runs += 1;
                } else {
                    row.composed += 1;
                }
                row.operators.extend(operators);
            }
            Became::Folded => row.folded += 1,
            Became::Missing(reason) => {
                row.missing += 1;
                let (node, op) = (node.to_string(), op.to_string());
                missing.push(Missing { node, op, attributes, reason: one_line(&reason) });
            }
            Became::Unreached => row.unreached += 1,
            Became::Unused => row.unused += 1,
            _ => {}
        }
    }
    let model = args.model.model.display().to_string();
    let report =
        Ops { version: report::VERSION, model, ops: ops.into_values().collect(), missing, computable };
    let text = if args.model.json { report::json(&report)? } else { report.text() };
    let outcome = match report.missing.len() {
        0 => Ok(()),
        n => {
            let remedy = match report.computable.is_empty() {
                true => "export the model without them".to_string(),
                false => format!(
                    "export it without them, or run it up to there with --outputs {}",
                    word(&report.computable.join(","))
                ),
            };
            Err(Failure::Model(format!("{n} of the model's nodes cannot run; {remedy}")))
        }
    };
    Ok((text, outcome))
}

impl Ops {
    fn text(&self) -> String {
        let width = self.ops.iter().map(|op| op.op.len()).max().unwrap_or(0).max(2);
        let mut text = format!("{:<width$}  count   runs  composed  folded  missing  other  as\n", "op");
        for op in &self.ops {
            let number = |n: usize| if n == 0 { "-".to_string() } else { n.to_string() };
            let operators: Vec<&str> = op.operators.iter().map(String::as_str).collect();
            let line = format!(
                "{:<width$}  {:>5}  {:>5}  {:>8}  {:>6}  {:>7}  {:>5}  {}",
                op.op,
                op.count,
                number(op.runs),
                number(op.composed),
                number(op.folded),
                number(op.missing),
                number(op.unreached + op.unused),
                operators.join(", ")
            );
            text += line.trim_end();
            text.push('\n');
        }
        text += "\nruns: as one operator. composed: of several. folded: computed before the run. other: not needed, or after a \
                 missing node.\n";
        for m in &self.missing {
            let attributes =
                if m.attributes.is_empty() { String::new() } else { format!("({})", m.attributes) };
            text += &format!("missing: {}, {}{attributes}: {}\n", m.node, m.op, m.reason);
        }
        text
    }
}
