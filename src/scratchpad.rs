//! `Scratchpad`: memory that a kernel needs while it runs.

use crate::buffer::Buffer;
use crate::error::Result;

/// Memory that kernels need while they run, kept from one run to the next. It grows to the largest that was asked for.
///
/// oneDNN's kernels and Winograd's convolution ask for some. Other kernels in Rust need a few kilobytes for each thread.
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
