//! Memory for copies of the source.

use std::cell::Cell;

use crate::buffer::{ALIGN, Buffer};
use crate::error::{Error, Result};
use crate::machine::machine;
use crate::memory::try_filled;

thread_local! {
    /// This thread's, for its next call.
    static KEPT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Calls `f` with so many **bytes** of unspecified content, aligned as storage. What fits into a core's second cache the thread keeps: it
/// is still there, and nobody else asks for it under a lock.
pub(super) fn with_copy(op: &'static str, bytes: usize, f: impl FnOnce(&mut [u8])) -> Result<()> {
    if bytes > isize::MAX as usize {
        return Err(Error::out_of_memory(bytes, op));
    }
    if bytes > machine().caches.second / 2 {
        f(Buffer::for_result(bytes)?.as_bytes_mut());
        return Ok(());
    }
    // While the thread ends there is no kept memory.
    let mut kept = KEPT.try_with(Cell::take).unwrap_or_default();
    let length = if bytes > 0 { bytes + ALIGN - 1 } else { 0 };
    if kept.len() < length {
        kept = try_filled(op, length, 0)?;
    }
    let start = if bytes > 0 { kept.as_ptr().align_offset(ALIGN) } else { 0 };
    f(&mut kept[start..start + bytes]);
    let _ = KEPT.try_with(|to| to.set(kept));
    Ok(())
}
