//! What can go wrong when a model is read.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blocktensor::{Door, Rust, Text, shown_path};

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a model file. The texts name the node, tensor or file, what was found, the rule and a remedy.
///
/// ```
/// let error = blocktensor_onnx::from_bytes(b"no model").unwrap_err();
/// assert!(matches!(error, blocktensor_onnx::Error::Malformed { .. }));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
    /// The bytes are not an ONNX model.
    Malformed {
        /// What is wrong with the bytes.
        reason: String,
    },
    /// Something in the model breaks a rule of ONNX.
    Invalid {
        /// The node, tensor or value.
        what: String,
        /// What was found.
        got: String,
        /// The rule that it breaks.
        rule: Text,
        /// What to do.
        remedy: Text,
    },
    /// The model uses something that this crate does not read.
    Unsupported {
        /// The node, tensor or value.
        what: String,
        /// What is not supported.
        feature: String,
        /// What to do.
        remedy: Text,
    },
    /// The graph refused a node or a value.
    Graph(blocktensor_graph::Error),
    /// A tensor could not be made.
    Engine(blocktensor::Error),
}

/// The remedy for the bytes of a model in place of its path.
const BYTES: &str =
    "pass the path of the model's file, not the bytes that are in it: write those to a file first";

fn remedy(path: &Path, why: &std::io::Error) -> &'static str {
    // ONNX files begin with this byte: the tag of the format's version.
    let is_content = path.as_os_str().as_encoded_bytes().first() == Some(&8);
    match why.kind() {
        std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidFilename => BYTES,
        std::io::ErrorKind::NotFound if is_content => BYTES,
        std::io::ErrorKind::NotFound => "pass the path of an existing file",
        std::io::ErrorKind::IsADirectory => "pass the path of the model's file in it",
        std::io::ErrorKind::Unsupported => "copy it into a file",
        std::io::ErrorKind::PermissionDenied => "ask for its permissions, or pass another path",
        _ => "check the path and the disk",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(&Rust))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::Graph(e) => e.source(),
            Error::Engine(e) => e.source(),
            _ => None,
        }
    }
}

impl From<blocktensor_graph::Error> for Error {
    fn from(e: blocktensor_graph::Error) -> Error {
        Error::Graph(e)
    }
}

impl From<blocktensor::Error> for Error {
    fn from(e: blocktensor::Error) -> Error {
        Error::Engine(e)
    }
}

impl Error {
    /// What to do about a file that could not be read. `None` for other errors.
    pub fn file_remedy(&self) -> Option<&'static str> {
        match self {
            Error::Io { path, source } => Some(remedy(path, source)),
            _ => None,
        }
    }

    /// The text of the error with the names of a door.
    pub fn told(&self, door: &dyn Door) -> String {
        match self {
            Error::Invalid { what, got, rule, remedy } => {
                format!("{what}: got {got}; {}; {}", rule.told(door), remedy.told(door))
            }
            Error::Unsupported { what, feature, remedy } => {
                format!("{what}: {feature} is not supported; {}", remedy.told(door))
            }
            Error::Graph(e) => e.told(door),
            Error::Engine(e) => e.told(door),
            Error::Io { path, source } if path.as_os_str().is_empty() => {
                format!("the model: {source}; {}", remedy(path, source))
            }
            Error::Io { path, source } => format!("{}: {source}; {}", shown_path(path), remedy(path, source)),
            Error::Malformed { reason } => {
                format!(
                    "not an ONNX model: {reason}; export the model again, or check that the file is complete"
                )
            }
        }
    }

    pub(crate) fn invalid(
        what: impl Into<String>,
        got: impl fmt::Display,
        rule: impl Into<Text>,
        remedy: impl Into<Text>,
    ) -> Error {
        Error::Invalid { what: what.into(), got: got.to_string(), rule: rule.into(), remedy: remedy.into() }
    }

    pub(crate) fn unsupported(
        what: impl Into<String>,
        feature: impl Into<String>,
        remedy: impl Into<Text>,
    ) -> Error {
        Error::Unsupported { what: what.into(), feature: feature.into(), remedy: remedy.into() }
    }
}
