//! A packed file's description of each set of weights: JSON in its metadata.

use serde::{Deserialize, Serialize};

use crate::kernels::conv::ConvParams;
use crate::layout::identity::Identity;

/// One packed op.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    Conv(Box<ConvEntry>),
    Linear(Box<LinearEntry>),
}

/// A convolution, transposed or not.
#[derive(Debug, Serialize, Deserialize)]
pub struct ConvEntry {
    pub spatial: usize,
    pub transposed: bool,
    pub source: SourceEntry,
    /// Name of the result's layout or memory format.
    pub result: String,
    pub result_dtype: String,
    pub params: ConvParams,
    pub weights: WeightsEntry,
}

/// A linear layer.
#[derive(Debug, Serialize, Deserialize)]
pub struct LinearEntry {
    pub rows: usize,
    pub threads: usize,
    pub weights: WeightsEntry,
}

/// The source that it was packed for.
#[derive(Debug, Serialize, Deserialize)]
pub struct SourceEntry {
    pub dims: Vec<usize>,
    pub dtype: String,
    /// Name of its layout or memory format.
    pub layout: String,
    pub threads: usize,
}

/// The layout of the weights.
#[derive(Debug, Serialize, Deserialize)]
pub struct WeightsEntry {
    /// Logical sizes: `[groups, O/groups, C/groups, k...]`, `[O, C, k...]`, `[outputs, inputs]`.
    pub dims: Vec<usize>,
    pub dtype: String,
    /// The name of the implementation in its list: who chose the layout.
    pub way: String,
    /// The layout's name.
    pub layout: String,
    /// Name of its kernel.
    pub implementation: String,
    /// If the engine chose the layout: everything that identifies it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// How many values are subnormal numbers.
    pub subnormals: usize,
}
