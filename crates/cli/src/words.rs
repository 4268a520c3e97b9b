//! Errors in the words of the command line.

use std::borrow::Cow;

use blocktensor::{Call, Door};

/// Types of Rust whose functions read or write plans, and what does that here: the command, and the argument for the path.
const TYPES: [(&str, &str, &str); 3] = [
    ("PackedWriter::", "blocktensor pack", "--output"),
    ("PackedFile::", "blocktensor", "MODEL"),
    ("Plan::", "blocktensor", "MODEL"),
];

/// The row of the function's type.
fn row(op: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    TYPES.iter().find(|(of, ..)| op.starts_with(of))
}

/// The program `blocktensor`. What has no option here keeps its name in Rust.
pub struct CommandLine;

impl Door for CommandLine {
    fn call(&self, call: &Call) -> String {
        match call {
            Call::PlanSize(name) => format!("--size {name}=1"),
            Call::RunWithThreads(threads) => format!("--threads {threads}"),
            Call::KeepPlain | Call::KeepPlainOfPlan => "--keep-plain".to_string(),
            Call::ReadOrRepack => "--replan".to_string(),
            Call::SavePacked | Call::SavePlan => "blocktensor pack".to_string(),
            Call::ReadModel | Call::LoadPlan => "blocktensor run".to_string(),
            other => other.to_string(),
        }
    }

    fn op<'a>(&'a self, op: &'a str) -> Cow<'a, str> {
        row(op).map_or(op, |(_, program, _)| program).into()
    }

    fn argument<'a>(&'a self, op: &str, argument: &'a str) -> Cow<'a, str> {
        if argument == "keep_plain" {
            return "--keep-plain".into();
        }
        row(op).filter(|_| matches!(argument, "path" | "name")).map_or(argument, |(.., path)| path).into()
    }
}
