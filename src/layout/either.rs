//! The memory format or layout of the source of packed weights.

use super::blocked::Layout;
use super::memory_format::MemoryFormat;

/// The format of a dense tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceLayout {
    Strided(MemoryFormat),
    Blocked(Layout),
}

impl std::fmt::Display for SourceLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SourceLayout::Strided(format) => write!(f, "{format}"),
            SourceLayout::Blocked(layout) => write!(f, "{layout}"),
        }
    }
}
