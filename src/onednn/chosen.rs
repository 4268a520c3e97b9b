//! The weight layout that a primitive chose, against the one that a file holds.

use crate::error::Result;
use crate::layout::identity::Identity;
use crate::onednn::Executable;

/// What tells the layout of a primitive's weights from others.
pub(crate) fn identity(primitive: &Executable) -> Result<Identity> {
    primitive.desc(1).blocking()
}

/// Its name, in oneDNN's letters.
pub(crate) fn layout_name(primitive: &Executable) -> Result<String> {
    primitive.desc(1).blocking().map(|b| b.to_string())
}

/// What the primitive wants instead, unless weights of so many **bytes** in a file's layout are what it chose.
pub(crate) fn instead(primitive: &Executable, held: &Identity, bytes: usize) -> Result<Option<String>> {
    let wanted = primitive.desc(1).size_bytes();
    if identity(primitive)? == *held && wanted == bytes {
        return Ok(None);
    }
    Ok(Some(format!("the engine wants them as {}, {wanted} bytes", layout_name(primitive)?)))
}
