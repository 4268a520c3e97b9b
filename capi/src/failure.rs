//! Statuses for the errors of graphs and of model files. The texts are those of the Rust library.

use blocktensor_graph::Error as GraphError;
use blocktensor_onnx::Error as OnnxError;

use crate::status::{Failure, bt_code};

impl From<GraphError> for Failure {
    fn from(e: GraphError) -> Failure {
        let text = e.to_string();
        match e {
            GraphError::Engine(e) => e.into(),
            // The operator's kind of error, with the node's name before its text.
            GraphError::Operator { source, .. } => Failure { text, ..source.into() },
            GraphError::Missing { .. } => Failure::new(bt_code::BT_UNSUPPORTED_OP, text),
            _ => Failure::new(bt_code::BT_INVALID_ARGUMENT, text),
        }
    }
}

impl From<OnnxError> for Failure {
    fn from(e: OnnxError) -> Failure {
        let text = e.to_string();
        match e {
            OnnxError::Io { .. } => Failure::new(bt_code::BT_FILE_ACCESS, text),
            OnnxError::Unsupported { .. } => Failure::new(bt_code::BT_UNSUPPORTED_OP, text),
            OnnxError::Engine(e) => e.into(),
            // The graph refuses what the file says, such as two values of one name.
            OnnxError::Graph(GraphError::Invalid { .. }) => Failure::new(bt_code::BT_CORRUPT_FILE, text),
            OnnxError::Graph(e) => e.into(),
            _ => Failure::new(bt_code::BT_CORRUPT_FILE, text),
        }
    }
}
