//! A file's bytes in memory, without reading them.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};

use super::{access, irregular};
use crate::buffer::Buffer;
use crate::error::Result;

/// A private mapping of a whole file: pages are read when they are touched, and shared with every process that maps the
/// same file. Writing to it copies the page that is written; the file never changes.
///
/// The file must not shrink while it is mapped: touching what is gone then ends the process (`SIGBUS`), as with every
/// mapping. Our writers replace files whole and never change one in place.
pub(super) struct Mapping(MmapRaw);

impl Mapping {
    /// Maps a regular file.
    pub fn open(op: &'static str, path: &Path) -> Result<Mapping> {
        let fail = |e: std::io::Error| access(op, path, "opened", &e);
        // Asked before opening: opening a pipe waits for its writer.
        if !std::fs::metadata(path).map_err(fail)?.is_file() {
            return Err(irregular(op, path, "it is mapped into memory"));
        }
        let file = File::open(path).map_err(fail)?;
        // SAFETY: the mapping is private, so nothing that this process writes reaches the file. That others leave the
        // file alone is asked of the user, as with every mapping; the bytes are only ever read as plain numbers.
        let map =
            unsafe { MmapOptions::new().map_copy(&file) }.map_err(|e| access(op, path, "mapped", &e))?;
        Ok(Mapping(MmapRaw::from(map)))
    }

    /// Buffers of these parts, given in order, each with the alignment that its elements need in **bytes**. A part that
    /// does not lie so is copied. `None` unless each part begins where or after the one before ends, inside the file.
    pub fn split(self: &Arc<Mapping>, parts: &[(Range<usize>, usize)]) -> Option<Result<Vec<Buffer>>> {
        let mut free = 0;
        let mut buffers = Vec::with_capacity(parts.len());
        for (range, align) in parts {
            if range.start < free || range.end < range.start || range.end > self.len() {
                return None;
            }
            free = range.end;
            // SAFETY: inside the mapping.
            let start = NonNull::new(unsafe { self.start().add(range.start) })?;
            let buffer = if (start.as_ptr() as usize).is_multiple_of(*align) {
                let owner: Arc<Mapping> = Arc::clone(self);
                // SAFETY: no part overlaps another, the mapping is split once, by its one reader, and it lives as long as
                // the buffer; it may be written, being private.
                Ok(unsafe { Buffer::foreign(start, range.len(), owner, true) })
            } else {
                Buffer::zeroed(range.len()).map(|mut copy| {
                    copy.as_bytes_mut().copy_from_slice(&self.bytes()[range.clone()]);
                    copy
                })
            };
            match buffer {
                Ok(buffer) => buffers.push(buffer),
                Err(e) => return Some(Err(e)),
            }
        }
        Some(Ok(buffers))
    }

    /// Length in **bytes**.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Where it begins. Every byte may be read and written for as long as self lives.
    pub fn start(&self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    /// The bytes, for a reader of the header and the checksums: before any buffer is made of them.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for its whole length, and writable only through the buffers that `split` makes, after
        // the header was read.
        unsafe { std::slice::from_raw_parts(self.start(), self.len()) }
    }
}
