//! What ends the program early, and its exit code.

use std::fmt;
use std::path::Path;

use blocktensor::{Complaint, counted, shown_path};
use blocktensor_graph::{Error as GraphError, Missing};
use blocktensor_onnx::Error as OnnxError;

use crate::words::CommandLine;

/// The result of a step of the program.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why the program ends. Each text names a remedy.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A mistake on the command line, or in a file that it names.
    #[error("{0}")]
    Usage(String),
    /// The model cannot be read, planned or run.
    #[error("{0}")]
    Model(String),
    /// The results were printed, and a check of them failed.
    #[error("{0}")]
    Check(String),
}

impl Failure {
    /// A mistake in what the option says.
    pub fn usage(option: &str, text: impl fmt::Display) -> Failure {
        Failure::Usage(format!("{option}: {text}"))
    }

    /// A mistake in a file that the option names.
    pub fn file(option: &str, path: &Path, text: impl fmt::Display) -> Failure {
        Failure::Usage(format!("{option}: {}: {text}", shown_path(path)))
    }

    /// A mistake in what the option says, which the library found.
    pub fn refused(option: &str, why: &Complaint) -> Failure {
        let (rule, remedy) = (why.rule.told(&CommandLine), why.remedy.told(&CommandLine));
        Failure::usage(option, one_line(&format!("got {}, but {rule}; {remedy}", why.got)))
    }

    /// The exit code: 2 for wrong usage, 1 for the model and for checks.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Model(_) | Failure::Check(_) => 1,
        }
    }
}

impl From<GraphError> for Failure {
    fn from(error: GraphError) -> Failure {
        let named = |nodes: &[Missing]| {
            let shown = nodes.iter().take(SHOWN);
            let shown: Vec<_> =
                shown.map(|n| format!("`{}` ({}): {}", n.node, n.op, one_line(&n.reason))).collect();
            shown.join("; ")
        };
        Failure::Model(match &error {
            GraphError::Missing { nodes, computable } => {
                let others = if nodes.len() > SHOWN { "; `blocktensor ops` lists the others" } else { "" };
                let remedy = match computable.is_empty() {
                    true => "export the model without them".to_string(),
                    false => format!("without them `--outputs {}` runs", word(&computable.join(","))),
                };
                format!("{} of the model's nodes cannot run: {}{others}; {remedy}", nodes.len(), named(nodes))
            }
            GraphError::InFloat { nodes, .. } => {
                // All of them: no other command lists these.
                let mut by_reason: Vec<(String, Vec<String>)> = Vec::new();
                for node in nodes {
                    let (reason, name) = (one_line(&node.reason), format!("`{}` ({})", node.node, node.op));
                    match by_reason.iter_mut().find(|(known, _)| *known == reason) {
                        Some((_, names)) => names.push(name),
                        None => by_reason.push((reason, vec![name])),
                    }
                }
                let listed =
                    by_reason.iter().map(|(reason, names)| format!("{}: {reason}", names.join(", ")));
                let listed: Vec<String> = listed.collect();
                format!(
                    "--strict: {} would compute in f32: {}; leave it out, or quantise less",
                    counted(nodes.len(), "quantised node"),
                    listed.join("; ")
                )
            }
            other => one_line(&other.told(&CommandLine)),
        })
    }
}

impl From<blocktensor::Error> for Failure {
    fn from(error: blocktensor::Error) -> Failure {
        Failure::Model(one_line(&error.told(&CommandLine)))
    }
}

impl From<OnnxError> for Failure {
    fn from(error: OnnxError) -> Failure {
        match error {
            OnnxError::Graph(error) => error.into(),
            OnnxError::Io { .. } => Failure::Usage(one_line(&error.told(&CommandLine))),
            error => Failure::Model(one_line(&error.told(&CommandLine))),
        }
    }
}

/// How many of the nodes that cannot run an error names.
const SHOWN: usize = 3;

/// A word as a shell takes it: in quotes, if it has characters that mean something there.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:,=+@%".contains(c);
    match text.chars().all(is_plain) && !text.is_empty() {
        true => text.to_string(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// The text without line breaks.
pub fn one_line(text: &dyn fmt::Display) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
