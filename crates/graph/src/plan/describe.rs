//! A plan as text.

use std::fmt;

use blocktensor::counted;

use super::{Plan, Precision, StepKind};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.measurements.as_ref().map(|m| m.kept) {
            Some(kept) if kept != self.layouts => {
                writeln!(f, "layouts: {} (kept: {}, the fastest)", self.layouts.name(), kept.name())?;
            }
            _ => writeln!(f, "layouts: {}", self.layouts.name())?,
        }
        if self.asked_precision() != Precision::F32 {
            writeln!(f, "precision: {}", self.asked_precision().name())?;
            let in_f32 = self.in_f32();
            if !in_f32.is_empty() {
                let named = in_f32.iter().map(|(name, op)| format!("{name} ({op})")).collect::<Vec<_>>();
                writeln!(f, "in f32: {}", named.join(", "))?;
            }
        }
        if let Some(note) = self.measurements.as_ref().and_then(|m| m.cache_note.as_ref()) {
            writeln!(f, "{note}")?;
        }
        if let Some(note) = self.measurements.as_ref().and_then(|m| m.busy_note()) {
            writeln!(f, "{note}")?;
        }
        for report in self.reports.iter().filter(|r| r.changes > 0) {
            writeln!(f, "pass {}: {}", report.pass.name(), report.changes)?;
        }
        for step in self.steps() {
            let results: Vec<String> = step
                .outputs
                .iter()
                .map(|t| match t.name {
                    // A node of a program has one result with its own name.
                    name if name.is_empty() || name == step.name => t.desc.to_string(),
                    name => format!("{name} {}", t.desc),
                })
                .collect();
            let sources: Vec<&str> =
                step.inputs.iter().map(|t| t.name).filter(|name| !name.is_empty()).collect();
            let fused = if step.fused.is_empty() { String::new() } else { format!(" + {}", step.fused) };
            let (name, op) = (step.title(), step.op);
            write!(f, "  {name}: {op}{fused} ({}) -> {}", sources.join(", "), results.join(", "))?;
            let note = match step.kind {
                StepKind::View => StepKind::View.name(),
                StepKind::InPlace | StepKind::Joined => StepKind::InPlace.name(),
                StepKind::Operator | StepKind::Reorder => step.implementation.unwrap_or(""),
            };
            match (note, step.rounds_otherwise) {
                ("", None) => writeln!(f)?,
                (note, None) => writeln!(f, "  ({note})")?,
                (note, Some(error)) => {
                    let comma = if note.is_empty() { "" } else { ", " };
                    writeln!(f, "  ({note}{comma}rounds otherwise: {error:.0e})")?;
                }
            }
        }
        if let Some((count, error)) = self.rounds_otherwise() {
            let s = if count == 1 { "s" } else { "" };
            write!(f, "{} round{s} otherwise than a direct convolution: ", counted(count, "step"))?;
            writeln!(f, "relative error at most {error:.0e}, for normally distributed data")?;
        }
        if let Some(compared) = self.measurements.as_ref().and_then(|m| m.compared_with_f32.as_ref()) {
            write!(f, "{compared}")?;
        }
        let in_kernels = self.reorders.iter().filter(|r| r.in_kernel).count();
        let bytes: usize = self.reorders.iter().map(|r| r.bytes).sum();
        writeln!(f, "reorders: {} ({} inside kernels), {bytes} bytes", self.reorders.len(), in_kernels)?;
        for r in &self.reorders {
            let inside = if r.in_kernel { ", inside the kernel" } else { "" };
            writeln!(f, "  {}: {} -> {}, {:?}, {} bytes{inside}", r.node, r.from, r.to, r.dims, r.bytes)?;
        }
        writeln!(f, "arena: {} bytes; largest live set: {} bytes", self.arena_bytes, self.live_bytes)
    }
}
