//! Plans in Graphviz's language.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::{colour, result, title};
use crate::plan::{Plan, StepKind};

impl Plan {
    /// The plan in Graphviz's language: a node for each step, coloured by the layout of its result, an edge for each tensor
    /// that a step takes from another one or from the caller. `dot -Tpdf` draws it.
    pub fn to_dot(&self) -> String {
        let mut text = String::from(
            "digraph plan {\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=8];\n",
        );
        let mut makers: HashMap<usize, String> = HashMap::new();
        for (i, (name, desc)) in self.inputs().enumerate() {
            let label = quoted(&format!("{name}\n{desc}"));
            // Writing to a string does not fail.
            let _ = writeln!(text, "  i{i} [label={label}, shape=ellipse, fillcolor=\"#ffffff\"];");
        }
        let inputs: Vec<&str> = self.inputs().map(|(name, _)| name).collect();
        for (i, step) in self.steps().enumerate() {
            let (fill, border, _) = colour(&step).of();
            let label = quoted(&format!("{}\n{}\n{}", step.title(), title(&step), result(&step)));
            let dashed = if step.kind == StepKind::View { ", style=\"rounded,dashed\"" } else { "" };
            let _ =
                writeln!(text, "  s{i} [label={label}, fillcolor=\"{fill}\", color=\"{border}\"{dashed}];");
            for input in step.inputs.iter().filter(|t| !t.is_constant) {
                let source = match makers.get(&input.id) {
                    Some(maker) => maker.clone(),
                    None => match inputs.iter().position(|name| *name == input.name) {
                        Some(k) => format!("i{k}"),
                        None => continue,
                    },
                };
                let _ = writeln!(text, "  {source} -> s{i} [label={}];", quoted(&input.desc.layout_name()));
            }
            makers.extend(step.outputs.iter().map(|output| (output.id, format!("s{i}"))));
        }
        text + "}\n"
    }
}

/// A string of the language.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
