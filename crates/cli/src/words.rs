//! Errors in the words of the command line.

use blocktensor::{Call, Door};

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
}
