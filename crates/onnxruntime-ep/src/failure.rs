//! What ends a call of ONNX Runtime's.

use blocktensor_door::{Failure as Known, panicked};
use blocktensor_graph::Error as GraphError;
use blocktensor_onnx::Error as OnnxError;
use ort_sys::OrtErrorCode;
use std::any::Any;

/// The result of a call.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error as ONNX Runtime gets it. Its code is never `ORT_EP_FAIL`: Python would silently retry on the CPU provider.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: OrtErrorCode,
    pub(crate) text: String,
}

impl Failure {
    /// An error of what the program passed.
    pub(crate) fn invalid(text: impl Into<String>) -> Failure {
        Failure { code: OrtErrorCode::ORT_INVALID_ARGUMENT, text: text.into() }
    }

    /// Any other error.
    pub(crate) fn other(text: impl Into<String>) -> Failure {
        Failure { code: OrtErrorCode::ORT_FAIL, text: text.into() }
    }

    pub(crate) fn of_panic(call: &'static str, panic: Box<dyn Any + Send>) -> Failure {
        Failure::other(panicked(call, panic).to_string())
    }

    /// The same error with a place in front.
    pub(crate) fn at(self, place: &str) -> Failure {
        Failure { text: format!("{place}: {}", self.text), ..self }
    }
}

impl From<Known> for Failure {
    fn from(e: Known) -> Failure {
        Failure::other(e.told(&blocktensor::Rust))
    }
}

impl From<GraphError> for Failure {
    fn from(e: GraphError) -> Failure {
        Known::from(e).into()
    }
}

impl From<OnnxError> for Failure {
    fn from(e: OnnxError) -> Failure {
        Known::from(e).into()
    }
}

impl From<blocktensor::Error> for Failure {
    fn from(e: blocktensor::Error) -> Failure {
        Known::from(e).into()
    }
}
