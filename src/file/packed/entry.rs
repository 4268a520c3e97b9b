//! A packed file's description of each set of weights: JSON in its metadata.

use serde::{Deserialize, Serialize};

use crate::kernels::conv::{ConvParams, WeightTransform};

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
    /// Name of its layout or memory format.
    pub layout: String,
    pub threads: usize,
}

/// The layout of the weights.
#[derive(Debug, Serialize, Deserialize)]
pub struct WeightsEntry {
    /// Logical sizes: `[groups, O/groups, C/groups, k...]`, `[O, C, k...]`, `[outputs, inputs]`. All f32.
    pub dims: Vec<usize>,
    pub form: WeightsForm,
    /// The layout's name.
    pub layout: String,
    /// Name of the implementation that chose it.
    pub implementation: String,
    /// If the engine chose the layout: everything that identifies it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// How many values are subnormal numbers.
    pub subnormals: usize,
}

/// Who chose the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightsForm {
    /// A oneDNN primitive chose it.
    Engine,
    /// This crate's blocked convolution kernel uses it.
    Direct,
    /// Row-major.
    Dense,
    /// Transformed ahead for Winograd's algorithm, and behind that as `Direct`.
    Winograd,
    /// As `Direct`, for Winograd's algorithm.
    WinogradEachRun,
}

impl WeightsForm {
    pub fn of_transform(transform: WeightTransform) -> WeightsForm {
        match transform {
            WeightTransform::Ahead => WeightsForm::Winograd,
            WeightTransform::EachRun => WeightsForm::WinogradEachRun,
        }
    }

    /// When Winograd's algorithm transforms them.
    pub fn transform(self) -> Option<WeightTransform> {
        match self {
            WeightsForm::Winograd => Some(WeightTransform::Ahead),
            WeightsForm::WinogradEachRun => Some(WeightTransform::EachRun),
            WeightsForm::Engine | WeightsForm::Direct | WeightsForm::Dense => None,
        }
    }
}

/// The parts of oneDNN's memory descriptor, in elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub dims: Vec<usize>,
    pub padded_dims: Vec<usize>,
    pub strides: Vec<usize>,
    pub inner_sizes: Vec<usize>,
    pub inner_dims: Vec<usize>,
}

#[cfg(feature = "onednn")]
impl From<crate::onednn::Blocking> for Identity {
    fn from(b: crate::onednn::Blocking) -> Identity {
        let crate::onednn::Blocking { dims, padded_dims, strides, inner_sizes, inner_dims } = b;
        Identity { dims, padded_dims, strides, inner_sizes, inner_dims }
    }
}
