//! Reports of a ledger: a table, a Chrome trace, and redundant reorders.

use std::fmt::{Display, Formatter, Write};
use std::time::Duration;

use super::{Cause, Ledger, ReorderRecord};
use crate::error::counted;

/// Two reorders, one of which is redundant.
#[derive(Clone, Copy, Debug)]
pub struct Redundant<'a> {
    /// Why.
    pub kind: RedundantKind,
    /// The earlier one.
    pub first: &'a ReorderRecord,
    /// The later one.
    pub second: &'a ReorderRecord,
}

/// Why one of two reorders is redundant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedundantKind {
    /// The second reorders the first one's result back to the original layout.
    ThereAndBack,
    /// The second reorders the same tensor to the same layout again.
    Again,
}

impl Ledger {
    /// Pairs of reorders of which one is redundant: to a layout and straight back, or the same tensor to the same layout
    /// twice. Only tensors with a known storage id are compared, which leaves out reorders into a caller's tensor.
    pub fn redundant(&self) -> Vec<Redundant<'_>> {
        let mut pairs = Vec::new();
        for (i, second) in self.reorders.iter().enumerate() {
            for first in self.reorders[..i].iter().filter(|_| second.source != 0) {
                let again =
                    (first.source, &first.to, &first.dims) == (second.source, &second.to, &second.dims);
                let back = first.result == second.source && first.from == second.to;
                let kind = match (back, again) {
                    (true, _) => RedundantKind::ThereAndBack,
                    (_, true) => RedundantKind::Again,
                    _ => continue,
                };
                pairs.push(Redundant { kind, first, second });
            }
        }
        pairs
    }

    /// The records as a trace for chrome://tracing and Perfetto: a JSON list of complete events, in microseconds.
    pub fn chrome_trace(&self) -> String {
        let mut events: Vec<(Duration, String)> = Vec::new();
        for r in &self.reorders {
            let args = [
                ("cause", r.cause.to_string()),
                ("from", r.from.clone()),
                ("to", r.to.clone()),
                ("dims", r.dims.to_string()),
                ("bytes", r.bytes.to_string()),
                ("site", r.site.to_string()),
            ];
            events.push((r.start, event(&r.op, "reorder", r.start, r.time, &args)));
        }
        for r in &self.runs {
            let args = [
                ("key", r.key.to_string()),
                ("implementation", r.implementation.to_string()),
                ("layouts", r.layouts.clone()),
                ("scratchpad bytes", r.scratchpad_bytes.to_string()),
            ];
            events.push((r.start, event(&r.op, "kernel", r.start, r.time, &args)));
        }
        events.sort_by_key(|e| e.0);
        let events: Vec<String> = events.into_iter().map(|e| e.1).collect();
        format!("[\n{}\n]\n", events.join(",\n"))
    }
}

fn event(name: &str, category: &str, start: Duration, time: Duration, args: &[(&str, String)]) -> String {
    let us = |d: Duration| d.as_nanos() as f64 / 1e3;
    let args: Vec<String> = args.iter().map(|(k, v)| format!("{}:{}", json(k), json(v))).collect();
    format!(
        "{{\"name\":{},\"cat\":{},\"ph\":\"X\",\"ts\":{},\"dur\":{},\"pid\":1,\"tid\":1,\"args\":{{{}}}}}",
        json(name),
        json(category),
        us(start),
        us(time),
        args.join(",")
    )
}

fn json(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

impl Display for Ledger {
    /// Prints one line of counts, then a line for each reorder, kernel run and change of format. `{:#}` omits the kernel
    /// runs.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", counted(self.reorders.len(), "reorder"))?;
        let counts = Cause::ALL.map(|c| (c, self.reorders.iter().filter(|r| r.cause == c).count()));
        let counts: Vec<String> =
            counts.iter().filter(|(_, n)| *n > 0).map(|(c, n)| format!("{c} {n}")).collect();
        if !counts.is_empty() {
            write!(f, " ({})", counts.join(", "))?;
        }
        writeln!(f, ", {}", counted(self.runs.len(), "kernel run"))?;
        for r in &self.reorders {
            writeln!(
                f,
                "  reorder {:<14} {:<17} {} -> {} {} {} bytes {:.1?} at {}{}",
                r.op,
                r.cause,
                r.from,
                r.to,
                r.dims,
                r.bytes,
                r.time,
                r.site,
                if r.is_backward { ", backward" } else { "" }
            )?;
        }
        for r in self.redundant() {
            let why = match r.kind {
                RedundantKind::ThereAndBack => "straight back",
                RedundantKind::Again => "the same again",
            };
            writeln!(f, "  redundant: {} at {}, {why} at {}", r.first.op, r.first.site, r.second.site)?;
        }
        for c in &self.layout_changes {
            writeln!(f, "  format  {:<14} {} -> {} {} at {}", c.op, c.from, c.to, c.dims, c.site)?;
        }
        let runs = if f.alternate() { &[] } else { self.runs.as_slice() };
        for r in runs {
            writeln!(
                f,
                "  run     {:<14} {:<10} {:<28} {:<24} {:>9.1?} {} bytes of scratchpad",
                r.op, r.key, r.implementation, r.layouts, r.time, r.scratchpad_bytes
            )?;
        }
        Ok(())
    }
}
