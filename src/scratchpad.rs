//! `Scratchpad`: memory that a kernel needs while it runs.

use crate::buffer::Buffer;
use crate::error::Result;

/// Memory that kernels need while they run, kept from one run to the next. It grows to the largest that was asked for.
///
/// oneDNN's kernels and the kernels `pointwise` and `winograd` of convolutions ask for some. Other kernels in Rust allocate what
/// each thread needs, from a few kilobytes to part of the second cache (a window, columns), in each run.
#[derive(Debug, Default)]
pub struct Scratchpad {
    buffer: Option<Buffer>,
}

impl Scratchpad {
    /// An empty one, which grows when it is used.
    pub const fn new() -> Scratchpad {
        Scratchpad { buffer: None }
    }

    /// One of so many **bytes**.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn with_bytes(bytes: usize) -> Result<Scratchpad> {
        let mut scratchpad = Scratchpad::new();
        scratchpad.reserve(bytes)?;
        Ok(scratchpad)
    }

    pub(crate) fn of_buffer(buffer: Buffer) -> Scratchpad {
        Scratchpad { buffer: Some(buffer) }
    }

    /// **Bytes** that it holds.
    pub fn bytes(&self) -> usize {
        self.buffer.as_ref().map_or(0, Buffer::len)
    }

    /// So many bytes of any content.
    ///
    /// # Errors
    /// `OutOfMemory` where it had to grow.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<&mut [u8]> {
        if self.bytes() < bytes {
            // The old one goes first.
            self.buffer = None;
            self.buffer = Some(Buffer::for_result(bytes)?);
        }
        Ok(self.buffer.as_mut().map_or(&mut [], |b| &mut b.as_bytes_mut()[..bytes]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::ALIGN;
    use crate::error::Error;

    #[test]
    fn it_grows_to_the_largest_and_lends_what_was_asked_for() {
        let mut scratchpad = Scratchpad::new();
        assert!(scratchpad.bytes() == 0 && scratchpad.reserve(0).unwrap().is_empty());
        let mut largest = 0;
        for bytes in [100, 4096, 64, 4097, 0, 5000] {
            let lent = scratchpad.reserve(bytes).unwrap();
            assert!(lent.len() == bytes && lent.as_ptr().addr().is_multiple_of(ALIGN));
            lent.fill(0xff);
            largest = largest.max(bytes);
            assert!(scratchpad.bytes() >= largest, "{bytes}");
        }
    }

    #[test]
    fn what_suffices_is_kept_with_its_content() {
        let mut scratchpad = Scratchpad::with_bytes(1000).unwrap();
        let first = scratchpad.reserve(1000).unwrap();
        first.fill(7);
        let start = first.as_ptr();
        let again = scratchpad.reserve(10).unwrap();
        assert!(again.as_ptr() == start && again == [7; 10]);
    }

    #[test]
    fn without_memory_it_is_empty_and_usable() {
        let mut scratchpad = Scratchpad::with_bytes(64).unwrap();
        assert!(matches!(scratchpad.reserve(isize::MAX as usize), Err(Error::OutOfMemory { .. })));
        assert_eq!(scratchpad.bytes(), 0);
        assert_eq!(scratchpad.reserve(64).unwrap().len(), 64);
    }
}
