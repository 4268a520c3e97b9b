//! Measurements as text.

use std::fmt;

use blocktensor::counted;

use super::super::steps::title;
use super::{ComparedWithF32, FasterInF32, Measurements};
use crate::plan::Layouts;

/// **Seconds** as microseconds.
fn micro(seconds: f64) -> String {
    // A sum of nothing is -0.
    format!("{:.1} us", seconds * 1e6 + 0.0)
}

impl Measurements {
    /// That other work ran beside the measuring, as text. `None` if it did not disturb.
    pub(in crate::plan) fn busy_note(&self) -> Option<&'static str> {
        let note = "measured on a busy machine: least times count, and the next planning measures again what is not sure";
        self.busy.then_some(note)
    }
}

impl fmt::Display for ComparedWithF32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ComparedWithF32 { faster, operators, unknown } = self;
        if faster.is_empty() && unknown < operators {
            writeln!(f, "faster in f32: none of the quantised nodes that were compared")?;
        }
        if !faster.is_empty() {
            writeln!(f, "faster in f32:")?;
        }
        for FasterInF32 { name, seconds, f32_seconds } in faster {
            writeln!(f, "  {name}: {} in 8 bits, {} in f32", micro(*seconds), micro(*f32_seconds))?;
        }
        if !faster.is_empty() {
            let how = "`nodes_to_exclude` of ONNX Runtime's quantiser";
            writeln!(
                f,
                "leave these nodes out when quantising ({how}); conversions beside them are not counted"
            )?;
        }
        if *unknown > 0 {
            let of = counted(*operators, "quantised operator");
            let why = "there was no time left, or other work disturbed";
            writeln!(f, "not compared with f32: {unknown} of {of} ({why}); the next planning goes on")?;
        }
        Ok(())
    }
}

impl fmt::Display for Measurements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(like) = &self.like {
            writeln!(f, "chosen as in {like}")?;
        }
        if self.estimated {
            writeln!(f, "times are computed from bytes and multiply-adds; nothing was measured")?;
        }
        if let Some(note) = self.busy_note() {
            writeln!(f, "{note}")?;
        }
        for node in &self.nodes {
            let Some((first, others)) = node.candidates.split_first() else { continue };
            if first.nodes.last().is_some_and(|last| *last != node.name) {
                writeln!(f, "  {}: {} as one with {}", node.name, node.op, first.nodes.join(", "))?;
                continue;
            }
            write!(f, "  {}: {} {}", title(&node.name, &first.nodes), node.op, first.layouts)?;
            if let Some(implementation) = &first.implementation {
                write!(f, " ({implementation})")?;
            }
            let Some(seconds) = first.seconds else {
                writeln!(f)?;
                continue;
            };
            write!(f, ", {}", micro(seconds))?;
            // Other nodes are no alternative.
            match others.iter().find(|c| c.seconds.is_some() && c.nodes == first.nodes) {
                Some(second) => {
                    let other = second.seconds.unwrap_or(seconds);
                    let algorithm = second.algorithm.as_ref().map_or(String::new(), |a| format!(", {a}"));
                    write!(f, "; {}{algorithm}: {}", second.layouts, micro(other))?;
                    // Nothing is a multiple of 0, which estimates of views and empty tensors are.
                    match seconds > 0.0 {
                        true => writeln!(f, " ({:+.0} %)", (other / seconds - 1.0) * 100.0)?,
                        false => writeln!(f)?,
                    }
                }
                None if !first.nodes.is_empty() => writeln!(f)?,
                None => writeln!(f, "; nothing else runs")?,
            }
        }
        let proven = match self.proven {
            true => "no choice costs less".to_string(),
            false => format!("not proven: no choice costs less than {}", micro(self.lower_bound)),
        };
        let cost = micro(self.cost);
        match self.kept {
            Layouts::Measured => writeln!(f, "sum of nodes and reorders: {cost}, {proven}")?,
            _ => {
                let is_timed = self.plans.iter().any(|(layouts, _)| *layouts == Layouts::Measured);
                let why = if is_timed { "as a whole it takes longer" } else { "it does not run as a whole" };
                write!(f, "the mixture with the least sum of nodes and reorders: {cost}, {proven}; ")?;
                writeln!(f, "it is not kept, because {why}")?;
            }
        }
        for (layouts, seconds) in &self.plans {
            let kept = if *layouts == self.kept { ", the fastest: kept" } else { "" };
            writeln!(f, "a run with {} layouts: {}{kept}", layouts.name(), micro(*seconds))?;
        }
        Ok(())
    }
}
