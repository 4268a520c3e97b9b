//! Which files are packed weights, plans, or neither.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::PackedFile;
use crate::file::container::FileKind;
use crate::file::header::{START, header_length};

impl PackedFile {
    /// Whether a file begins as one of packed weights does, from its first bytes alone: no model in ONNX does.
    pub fn is_at(path: impl AsRef<Path>) -> bool {
        let (path, mut start) = (path.as_ref(), [0; START]);
        // Opening a pipe would wait for its other end.
        path.is_file()
            && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
            && PackedFile::begins(&start)
    }

    /// Whether these are the first bytes of a file as [`is_at`](Self::is_at) asks for: the length of a header, and JSON.
    pub fn begins(bytes: &[u8]) -> bool {
        header_length(bytes).is_some()
    }

    /// Whether the content is that of a packed file, whole or damaged: of packed weights, or of a plan.
    ///
    /// # Errors
    /// Those of reading.
    pub fn recognises(content: &mut dyn Read) -> std::io::Result<bool> {
        Ok(FileKind::of(content)?.iter().any(|kind| *kind != FileKind::Plain))
    }

    /// As [`recognises`](Self::recognises), of plans alone.
    #[doc(hidden)]
    pub fn recognises_plan(content: &mut dyn Read) -> std::io::Result<bool> {
        Ok(FileKind::of(content)?.contains(&FileKind::Plan))
    }

    /// What errors say of a file of tensors that is no plan; `None` for a plan, whole or damaged.
    ///
    /// # Errors
    /// Those of reading.
    #[doc(hidden)]
    pub fn without_plan(content: &mut dyn Read) -> std::io::Result<Option<&'static str>> {
        let kinds = FileKind::of(content)?;
        Ok(match kinds.iter().any(|kind| *kind != FileKind::Plain) {
            _ if kinds.contains(&FileKind::Plan) => None,
            true => Some(PackedFile::NO_PLAN),
            false => Some(PackedFile::ONLY_PLAIN),
        })
    }

    /// What errors say of a file of plain weights.
    pub(super) const ONLY_PLAIN: &str = "a safetensors file without packed weights";

    /// What errors say of a file of packed weights where a plan is needed.
    #[doc(hidden)]
    pub const NO_PLAN: &str = "a file of packed weights without a plan";
}
