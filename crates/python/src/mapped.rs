//! Packed files that are mapped into memory.
#![allow(unsafe_code)]

use std::path::Path;

use blocktensor::{PackedFile, Result};

/// A packed file whose pages processes share. With `repack`, weights that do not fit are packed again.
pub(crate) fn map(path: &Path, repack: bool) -> Result<PackedFile> {
    // SAFETY: `load_plan` says that nobody may change a file that it maps while the plan lives.
    unsafe {
        match repack {
            true => PackedFile::map_or_repack(path),
            false => PackedFile::map(path),
        }
    }
}
