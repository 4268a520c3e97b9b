//! The memory format or layout of the source of packed weights.

use super::blocked::Layout;
use super::dims::Dims;
use super::memory_format::MemoryFormat;
use crate::error::Result;

/// The format of a dense tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceLayout {
    Strided(MemoryFormat),
    Blocked(Layout),
}

impl SourceLayout {
    /// The strides of a strided tensor of these sizes; none of a blocked one.
    pub fn strides(&self, op: &'static str, dims: &Dims) -> Result<Dims> {
        match self {
            SourceLayout::Strided(format) => format.strides(op, dims),
            SourceLayout::Blocked(_) => Ok(Dims::EMPTY),
        }
    }
}

impl std::fmt::Display for SourceLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SourceLayout::Strided(format) => write!(f, "{format}"),
            SourceLayout::Blocked(layout) => write!(f, "{layout}"),
        }
    }
}
