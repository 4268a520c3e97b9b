//! What ends the program early, and its exit code.

use std::fmt;
use std::path::Path;

use blocktensor_graph::Error as GraphError;
use blocktensor_onnx::Error as OnnxError;

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
        Failure::Usage(format!("{option}: {}: {text}", path.display()))
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
        let GraphError::Missing { nodes, computable } = &error else {
            return Failure::Model(one_line(&error));
        };
        let mut ops: Vec<(&str, usize)> = Vec::new();
        for node in nodes {
            match ops.iter_mut().find(|(op, _)| *op == node.op) {
                Some((_, count)) => *count += 1,
                None => ops.push((&node.op, 1)),
            }
        }
        let ops: Vec<String> = ops.iter().map(|(op, count)| format!("{count} x {op}")).collect();
        let mut text = format!(
            "{} of the model's nodes cannot run ({}); `blocktensor ops` lists them with the reasons",
            nodes.len(),
            ops.join(", ")
        );
        if !computable.is_empty() {
            text += &format!("; without them `--outputs {}` runs", computable.join(","));
        }
        Failure::Model(text)
    }
}

impl From<blocktensor::Error> for Failure {
    fn from(error: blocktensor::Error) -> Failure {
        Failure::Model(one_line(&error))
    }
}

impl From<OnnxError> for Failure {
    fn from(error: OnnxError) -> Failure {
        match error {
            OnnxError::Graph(error) => error.into(),
            OnnxError::Io { .. } => Failure::Usage(format!("{}; check the path", one_line(&error))),
            error => Failure::Model(one_line(&error)),
        }
    }
}

/// The text without line breaks.
pub fn one_line(text: &dyn fmt::Display) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
