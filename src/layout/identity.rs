//! What tells a layout that oneDNN chose from others.

use serde::{Deserialize, Serialize};

/// The parts of oneDNN's memory descriptor, in elements. Compensation flags are not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub dims: Vec<usize>,
    pub padded_dims: Vec<usize>,
    /// Strides of the outer dimensions.
    pub strides: Vec<usize>,
    pub inner_sizes: Vec<usize>,
    pub inner_dims: Vec<usize>,
}
