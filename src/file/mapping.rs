//! Mapping a file into memory. This module holds all unsafe code for files.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};

use super::access;
use super::container::{Container, StoredTensor, open};
use super::header::Header;
use super::packed::PackedFile;
use super::state_dict::StateDict;
use crate::buffer::Buffer;
use crate::error::Result;

/// A private mapping of a whole file: pages are read when they are first accessed, and shared with every process that maps
/// the same file. Writing to it copies the page that is written; the file never changes.
pub(super) struct Mapping(MmapRaw);

impl Mapping {
    /// Maps a regular file.
    ///
    /// # Safety
    /// Until the mapping, and every buffer made from it, is dropped, nobody changes the file: neither this process nor
    /// another writes to it or truncates it. Otherwise its bytes would change under shared references, and accessing
    /// truncated pages ends the process (`SIGBUS`). Renaming another file over it, as this crate's writers do, is allowed.
    pub unsafe fn new(op: &'static str, path: &Path, file: &File) -> Result<Mapping> {
        // SAFETY: the mapping is private, so nothing that this process writes to it reaches the file; the caller promises
        // that nobody else changes the file.
        let map = unsafe { MmapOptions::new().map_copy(file) }.map_err(|e| access(op, path, "mapped", &e))?;
        Ok(Mapping(MmapRaw::from(map)))
    }

    /// Buffers for these parts, each with the alignment in **bytes** that its elements need. A part that is not aligned is
    /// copied.
    ///
    /// # Panics
    /// Unless each part begins at or after the end of the previous one, inside the file. The header was checked for this.
    pub fn split(self: &Arc<Mapping>, parts: &[(Range<usize>, usize)]) -> Result<Vec<Buffer>> {
        let mut free = 0;
        let mut buffers = Vec::with_capacity(parts.len());
        for (range, align) in parts {
            assert!(range.start >= free && range.end >= range.start && range.end <= self.len());
            free = range.end;
            // SAFETY: inside the mapping, by the assertion.
            let start = unsafe { self.start().add(range.start) };
            buffers.push(if start.as_ptr().addr().is_multiple_of(*align) {
                let owner: Arc<Mapping> = Arc::clone(self);
                // SAFETY: no part overlaps another; the mapping is split once, by its only reader, and lives as long as the
                // buffer; it may be written, because it is private.
                unsafe { Buffer::foreign(start, range.len(), owner, true) }
            } else {
                let mut copy = Buffer::zeroed(range.len())?;
                copy.as_bytes_mut().copy_from_slice(&self.bytes()[range.clone()]);
                copy
            });
        }
        Ok(buffers)
    }

    /// Length in **bytes**.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The start of the mapping. Every byte may be read and written as long as self lives.
    fn start(&self) -> NonNull<u8> {
        // SAFETY: no mapping is at address 0.
        unsafe { NonNull::new_unchecked(self.0.as_mut_ptr()) }
    }

    /// The bytes, for the reader of the header, before any buffer is made from them.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for its whole length; it is written only through buffers made by `split`, and there are none yet.
        unsafe { std::slice::from_raw_parts(self.start().as_ptr(), self.len()) }
    }
}

impl Container {
    /// Maps a file: pages are read when they are first accessed.
    ///
    /// # Safety
    /// As for [`Mapping::new`], for as long as a part lives.
    pub unsafe fn map(op: &'static str, path: &Path) -> Result<Container> {
        let (file, bytes) = open(op, path, "it is mapped into memory")?;
        if bytes == 0 {
            // An empty file cannot be mapped: return the same error as for reading it.
            return Container::read_from(op, path, &mut std::io::empty(), 0);
        }
        // SAFETY: the caller's promise.
        let map = Arc::new(unsafe { Mapping::new(op, path, &file) }?);
        let mut header = Header::read(op, path, &mut map.bytes(), map.len())?;
        let first = header.bytes.len();
        let tensors = std::mem::take(&mut header.tensors);
        let ranges: Vec<(Range<usize>, usize)> = tensors
            .iter()
            .map(|(_, info)| {
                let (start, end) = info.data_offsets;
                // After a header of odd length, all tensors are misaligned for their elements.
                (first + start..first + end, info.dtype.bitsize().div_ceil(8).max(1))
            })
            .collect();
        let buffers = map.split(&ranges)?;
        let parts =
            tensors.into_iter().zip(buffers).map(|((name, info), data)| StoredTensor::new(name, info, data));
        Ok(Container { metadata: header.metadata, parts: parts.collect(), header: header.bytes })
    }
}

impl StateDict {
    /// As [`read`](Self::read), without the copy: the file is mapped, and its pages are read when they are first accessed.
    /// The mapping is dropped with its last tensor.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Safety
    /// While the dict, or a tensor taken from it, lives, nobody changes the file: neither this process nor another writes to
    /// it or truncates it. Another file may be renamed over it, as [`save`](Self::save) does, and it may be deleted.
    #[track_caller]
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<StateDict> {
        let (op, path) = ("StateDict::map", path.as_ref());
        // SAFETY: the caller's promise.
        StateDict::of(op, path, unsafe { Container::map(op, path) }?)
    }
}

impl PackedFile {
    /// As [`read`](Self::read), without the copy: the file is mapped, and processes that map the same file share its pages.
    /// The mapping is dropped with its last weights.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Safety
    /// While the `PackedFile`, or packed weights taken from it, live, nobody changes the file: neither this process nor
    /// another writes to it or truncates it. Another file may be renamed over it, as
    /// [`PackedWriter::save`](crate::PackedWriter::save) does, and it may be deleted.
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<PackedFile> {
        // SAFETY: the caller's promise.
        unsafe { PackedFile::map_any(path.as_ref(), false, true) }?.fitting()
    }

    /// As [`map`](Self::map), without reading the weights to compare their checksums: pages are loaded when the weights are
    /// first used. Damage on the disk is then not detected, and affects the results.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Safety
    /// As for [`map`](Self::map).
    pub unsafe fn map_unchecked(path: impl AsRef<Path>) -> Result<PackedFile> {
        // SAFETY: the caller's promise.
        unsafe { PackedFile::map_any(path.as_ref(), false, false) }?.fitting()
    }

    /// As [`map`](Self::map), but weights that do not fit are packed again as by [`read_or_repack`](Self::read_or_repack).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Safety
    /// As for [`map`](Self::map).
    pub unsafe fn map_or_repack(path: impl AsRef<Path>) -> Result<PackedFile> {
        // SAFETY: the caller's promise.
        unsafe { PackedFile::map_any(path.as_ref(), true, true) }
    }

    /// # Safety
    /// As for [`map`](Self::map).
    unsafe fn map_any(path: &Path, repack: bool, check_data: bool) -> Result<PackedFile> {
        let op = "PackedFile::map";
        // SAFETY: the caller's promise.
        PackedFile::of(op, path, unsafe { Container::map(op, path) }?, repack, check_data)
    }
}
