//! What can go wrong when a model is read.

use std::path::PathBuf;
use std::sync::Arc;

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a model file. The texts name the node, tensor or file, what was found, the rule and a remedy.
///
/// ```
/// let error = blocktensor_onnx::from_bytes(b"no model").unwrap_err();
/// assert!(matches!(error, blocktensor_onnx::Error::Malformed { .. }));
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    #[error("{}: {source}; {}", path.display(), remedy(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
    /// The bytes are not an ONNX model.
    #[error("not an ONNX model: {reason}; export the model again, or check that the file is complete")]
    Malformed {
        /// What is wrong with the bytes.
        reason: String,
    },
    /// Something in the model breaks a rule of ONNX.
    #[error("{what}: got {got}; {rule}; {remedy}")]
    Invalid {
        /// The node, tensor or value.
        what: String,
        /// What was found.
        got: String,
        /// The rule that it breaks.
        rule: String,
        /// What to do.
        remedy: String,
    },
    /// The model uses something that this crate does not read.
    #[error("{what}: {feature} is not supported; {remedy}")]
    Unsupported {
        /// The node, tensor or value.
        what: String,
        /// What is not supported.
        feature: String,
        /// What to do.
        remedy: String,
    },
    /// The graph refused a node or a value.
    #[error(transparent)]
    Graph(#[from] blocktensor_graph::Error),
    /// A tensor could not be made.
    #[error(transparent)]
    Engine(#[from] blocktensor::Error),
}

fn remedy(why: &std::io::Error) -> &'static str {
    match why.kind() {
        std::io::ErrorKind::NotFound => "pass the path of an existing file",
        std::io::ErrorKind::IsADirectory => "pass the path of the model's file in it",
        std::io::ErrorKind::PermissionDenied => "ask for its permissions, or pass another path",
        _ => "check the path and the disk",
    }
}

impl Error {
    pub(crate) fn invalid(
        what: impl Into<String>,
        got: impl std::fmt::Display,
        rule: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Error {
        Error::Invalid { what: what.into(), got: got.to_string(), rule: rule.into(), remedy: remedy.into() }
    }

    pub(crate) fn unsupported(
        what: impl Into<String>,
        feature: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Error {
        Error::Unsupported { what: what.into(), feature: feature.into(), remedy: remedy.into() }
    }
}
