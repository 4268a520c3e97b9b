//! A plan as text.

use std::fmt;

use super::{Plan, Work};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "layouts: {}", self.layouts.name())?;
        for report in self.reports.iter().filter(|r| r.changes > 0) {
            writeln!(f, "pass {}: {}", report.pass.name(), report.changes)?;
        }
        for step in &self.steps {
            let (op, note) = match &step.work {
                Work::Operator { op, implementation, .. } => {
                    (op.op(), implementation.as_deref().unwrap_or(""))
                }
                Work::View(op) => (op.op(), "view"),
                Work::Restride => ("restride", "view"),
                Work::Reorder => ("reorder", ""),
                Work::InPlace { op, .. } => (*op, "in place"),
                Work::Join => ("cat", "in place"),
            };
            let results: Vec<String> = step
                .outputs
                .iter()
                .map(|s| &self.slots[s.0])
                .map(|slot| match &*slot.name {
                    // A node of a program has one result with its own name.
                    name if name.is_empty() || *name == *step.name => slot.desc.to_string(),
                    name => format!("{name} {}", slot.desc),
                })
                .collect();
            let sources: Vec<&str> =
                step.inputs.iter().map(|s| &*self.slots[s.0].name).filter(|name| !name.is_empty()).collect();
            let fused = match &step.work {
                Work::Operator { fused, .. } if !fused.is_empty() => format!(" + {fused}"),
                _ => String::new(),
            };
            write!(f, "  {}: {op}{fused} ({}) -> {}", step.name, sources.join(", "), results.join(", "))?;
            match note {
                "" => writeln!(f)?,
                note => writeln!(f, "  ({note})")?,
            }
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
