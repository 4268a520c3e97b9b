//! What kind of packed op a file holds under a name.

use super::{PackedFile, entry::Entry};
use crate::error::Result;

/// The kind of a packed op in a file: which type [`PackedFile::get`] returns it as. Numbers are spatial dimensions, 1 to 3 in a
/// file that was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PackedKind {
    /// A [`PackedConv`](crate::PackedConv).
    Conv(usize),
    /// A [`PackedConvTranspose`](crate::PackedConvTranspose).
    ConvTranspose(usize),
    /// A [`PackedStem`](crate::PackedStem).
    Stem(usize),
    /// A [`PackedLinear`](crate::PackedLinear).
    Linear,
}

impl PackedFile {
    /// The kind of the packed op of this name, for programs that learn it from the file.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none of this name.
    pub fn kind(&self, name: &str) -> Result<PackedKind> {
        Ok(match self.entry("PackedFile::kind", name)? {
            Entry::Linear(_) => PackedKind::Linear,
            Entry::Conv(e) if e.transposed => PackedKind::ConvTranspose(e.spatial),
            // Only a stem's result has another layout than its source.
            Entry::Conv(e) if e.source.layout != e.result => PackedKind::Stem(e.spatial),
            Entry::Conv(e) => PackedKind::Conv(e.spatial),
        })
    }
}
