//! Bytes that were read or mapped become a tensor's memory, without a copy where their address allows it.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blocktensor::{DType, Foreign, StridedTensor};
use memmap2::Mmap;

use crate::error::{Error, Result};
use crate::lists::words;

/// The f32 tensor of these sizes whose elements are the bytes, in little-endian order.
pub(crate) fn tensor(mut bytes: Vec<u8>, dims: &[usize]) -> Result<StridedTensor> {
    let sizes: Option<Vec<i64>> = dims.iter().map(|&d| i64::try_from(d).ok()).collect();
    let count = crate::lists::numel(dims).and_then(|n| n.checked_mul(size_of::<f32>()));
    let data = bytes.as_mut_ptr();
    let is_aligned = data.cast::<f32>().is_aligned();
    match sizes {
        Some(sizes) if cfg!(target_endian = "little") && is_aligned && count == Some(bytes.len()) => {
            let memory = Foreign { data, dtype: DType::F32, dims: &sizes, strides: None, writable: false };
            // SAFETY: the sizes have exactly as many elements as there are bytes for, which are initialised and aligned.
            // The owner keeps them where they are and hands them to nobody.
            Ok(unsafe { StridedTensor::from_foreign(memory, Arc::new(bytes)) }?)
        }
        _ => Ok(StridedTensor::from_slice(&words(&bytes, f32::from_le_bytes)?, dims)?),
    }
}

/// Files that are mapped into memory, each once.
#[derive(Debug)]
pub(crate) struct Maps {
    files: RefCell<HashMap<PathBuf, Arc<Mmap>>>,
}

impl Maps {
    /// No files yet.
    ///
    /// # Safety
    /// Nobody changes or shortens the files that tensors are made of while one of these tensors lives.
    pub(crate) unsafe fn new() -> Maps {
        Maps { files: RefCell::default() }
    }

    /// The tensor of these sizes at an offset of a file; `None` where the offset is no address of f32 numbers.
    pub(crate) fn tensor(&self, path: &Path, offset: u64, dims: &[usize]) -> Result<Option<StridedTensor>> {
        let known = self.files.borrow().get(path).cloned();
        let map = match known {
            Some(map) => map,
            None => {
                let io =
                    |source: std::io::Error| Error::Io { path: path.to_path_buf(), source: Arc::new(source) };
                let file = File::open(path).map_err(io)?;
                // SAFETY: the caller of `new` promised that nobody changes the file.
                let map = Arc::new(unsafe { Mmap::map(&file) }.map_err(io)?);
                self.files.borrow_mut().insert(path.to_path_buf(), Arc::clone(&map));
                map
            }
        };
        let bytes = crate::lists::numel(dims).and_then(|n| n.checked_mul(size_of::<f32>()));
        let sizes: Option<Vec<i64>> = dims.iter().map(|&d| i64::try_from(d).ok()).collect();
        let start = usize::try_from(offset).ok();
        let part = start.zip(bytes).and_then(|(start, bytes)| map.get(start..start.checked_add(bytes)?));
        let (Some(part), Some(sizes)) = (part, sizes) else {
            return Ok(None);
        };
        let data = part.as_ptr().cast_mut();
        if !data.cast::<f32>().is_aligned() || cfg!(target_endian = "big") {
            return Ok(None);
        }
        let memory = Foreign { data, dtype: DType::F32, dims: &sizes, strides: None, writable: false };
        let owner: Arc<Mmap> = Arc::clone(&map);
        // SAFETY: the part has exactly as many bytes as the sizes, and is aligned. The owner keeps the map. Nobody writes to it:
        // the map is read-only, the tensor is not writable, and the caller of `new` promised that nobody changes the file.
        Ok(Some(unsafe { StridedTensor::from_foreign(memory, owner) }?))
    }
}
