//! The functions that read models.

use std::path::{Path, PathBuf};

use blocktensor_graph::Graph;

use crate::adopt::Maps;
use crate::error::Result;
use crate::host::HostModel;
use crate::model;
use crate::registry::Importer;

/// Reads the model in these bytes.
///
/// # Errors
/// `Malformed` for bytes that are no model; `Invalid` and `Unsupported` name the node, tensor or value.
///
/// ```
/// assert!(blocktensor_onnx::from_bytes(&[]).is_err());
/// ```
pub fn from_bytes(bytes: &[u8]) -> Result<Graph> {
    Importer::new().from_bytes(bytes)
}

/// Reads the model in this file, with the data that it keeps in other files of its folder.
///
/// # Errors
/// As [`from_bytes`]; `Io` for a file that cannot be read; `Invalid` for data outside the model's folder.
///
/// ```no_run
/// let graph = blocktensor_onnx::from_path("model.onnx".as_ref())?;
/// # Ok::<(), blocktensor_onnx::Error>(())
/// ```
pub fn from_path(path: &Path) -> Result<Graph> {
    Importer::new().from_path(path)
}

impl Importer {
    /// Reads the model in these bytes.
    ///
    /// # Errors
    /// As the function [`from_bytes`].
    pub fn from_bytes(&self, bytes: &[u8]) -> Result<Graph> {
        model::read_bytes(self, bytes)
    }

    /// Reads the model in this file.
    ///
    /// # Errors
    /// As the function [`from_path`].
    pub fn from_path(&self, path: &Path) -> Result<Graph> {
        Ok(self.from_path_with_files(path)?.0)
    }

    /// As [`from_path`](Self::from_path); also returns the other files that have data of the model, for programs that must not
    /// overwrite them.
    ///
    /// # Errors
    /// As the function [`from_path`].
    pub fn from_path_with_files(&self, path: &Path) -> Result<(Graph, Vec<PathBuf>)> {
        model::read_path(self, path, None)
    }

    /// Reads the model in this file, and maps the files of its data into memory: weights are loaded when they are first used,
    /// and several processes share them. Data inside the model's own file is read.
    ///
    /// # Errors
    /// As the function [`from_path`].
    ///
    /// # Safety
    /// Nobody changes or shortens the model's data files while the graph, or anything that was made of it, lives.
    ///
    /// ```no_run
    /// let importer = blocktensor_onnx::Importer::new();
    /// // SAFETY: the files of this program are not changed.
    /// let graph = unsafe { importer.map_path("model.onnx".as_ref()) }?;
    /// # Ok::<(), blocktensor_onnx::Error>(())
    /// ```
    #[allow(unsafe_code)]
    pub unsafe fn map_path(&self, path: &Path) -> Result<Graph> {
        // SAFETY: the caller's promise.
        let maps = unsafe { Maps::new() };
        Ok(model::read_path(self, path, Some(maps))?.0)
    }

    /// Reads a model that a host has parsed: its nodes, types and constants, from memory.
    ///
    /// # Errors
    /// As the function [`from_bytes`].
    pub fn from_host(&self, host: HostModel) -> Result<Graph> {
        model::read_host(self, host)
    }
}
