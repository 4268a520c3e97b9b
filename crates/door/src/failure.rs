//! Errors of the library, of graphs and of model files, as one type.

use std::any::Any;

use blocktensor::{Complaint, Door, Error};
use blocktensor_graph::Error as GraphError;
use blocktensor_onnx::Error as OnnxError;

/// What ends a call.
#[derive(Debug)]
pub enum Failure {
    /// An error of the library.
    Core(Error),
    /// An error of a graph or a plan.
    Graph(GraphError),
    /// An error of a model file.
    Onnx(OnnxError),
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Core(e)
    }
}

impl From<GraphError> for Failure {
    fn from(e: GraphError) -> Failure {
        match e {
            GraphError::Engine(e) => Failure::Core(e),
            e => Failure::Graph(e),
        }
    }
}

impl From<OnnxError> for Failure {
    fn from(e: OnnxError) -> Failure {
        match e {
            OnnxError::Engine(e) => Failure::Core(e),
            OnnxError::Graph(e) if !matches!(e, GraphError::Invalid { .. }) => e.into(),
            e => Failure::Onnx(e),
        }
    }
}

impl Failure {
    /// The text with the names of a door.
    pub fn told(&self, door: &dyn Door) -> String {
        match self {
            Failure::Core(e) => e.told(door),
            Failure::Graph(e) => e.told(door),
            Failure::Onnx(e) => e.told(door),
        }
    }

    /// The error of the library that it is, or that a node of the graph has.
    pub fn core(&self) -> Option<&Error> {
        match self {
            Failure::Core(e) | Failure::Graph(GraphError::Operator { source: e, .. }) => Some(e),
            _ => None,
        }
    }

    /// The kind of error, as [`Error::code`].
    pub fn code(&self) -> i32 {
        match self {
            Failure::Core(e) | Failure::Graph(GraphError::Operator { source: e, .. }) => e.code(),
            Failure::Graph(GraphError::Missing { .. } | GraphError::InFloat { .. })
            | Failure::Onnx(OnnxError::Unsupported { .. }) => 1,
            Failure::Graph(_) => 8,
            Failure::Onnx(OnnxError::Io { .. }) => 19,
            // Also where the graph refuses what the file says, such as two values of one name.
            Failure::Onnx(_) => 18,
        }
    }
}

/// The error for a panic that was caught in a call.
pub fn panicked(op: &'static str, panic: Box<dyn Any + Send>) -> Error {
    let said = panic.downcast_ref::<&str>().map(ToString::to_string);
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    let remedy = "please report this with the call that led to it";
    Error::Panicked(Complaint::new(op, "call", said, "no call may panic", remedy))
}
