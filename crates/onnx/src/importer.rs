//! `Importer`: which ops are known, and the functions that read models.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use blocktensor_graph::Graph;

use crate::adopt::Maps;
use crate::error::Result;
use crate::host::HostModel;
use crate::model;
use crate::node::{Attribute, Import};
use crate::ops;

/// The oldest version of ONNX's operator set that is read.
pub const OLDEST_OPSET: i64 = 11;
/// The newest version of ONNX's operator set that is read.
pub const NEWEST_OPSET: i64 = 25;

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

/// Reads models, with importers for further ops.
///
/// ```
/// use blocktensor_graph::{Expansion, Result, Value};
/// use blocktensor_onnx::{Importer, OnnxNode};
///
/// fn square(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
///     match inputs {
///         [Some(x)] => Ok(vec![cx.op("square", &[("x", x)], &[])?]),
///         _ => Err(cx.unsupported("inputs other than one tensor")),
///     }
/// }
/// let importer = Importer::new().register("org.example", "Square", square);
/// assert!(importer.from_bytes(b"").is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Importer {
    registered: HashMap<(String, String), Import>,
}

impl Importer {
    /// The ops of ONNX's own operator set.
    pub fn new() -> Importer {
        Importer::default()
    }

    /// Adds an importer for the op of this name in this domain. The empty domain is ONNX's own, whose importers it replaces.
    pub fn register(mut self, domain: &str, op_type: &str, import: Import) -> Importer {
        self.registered.insert((canonical(domain).to_string(), op_type.to_string()), import);
        self
    }

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

    /// Whether a program brought its own importer for this op.
    pub(crate) fn is_registered(&self, domain: &str, op_type: &str) -> bool {
        self.registered.contains_key(&(domain.to_string(), op_type.to_string()))
    }

    /// The importer of an op, or why there is none.
    pub(crate) fn find(
        &self,
        domain: &str,
        op_type: &str,
        version: i64,
        attributes: &[(String, Attribute)],
    ) -> Result<Import, String> {
        if let Some(import) = self.registered.get(&(domain.to_string(), op_type.to_string())) {
            return Ok(*import);
        }
        if !domain.is_empty() {
            return Err(format!(
                "there is no importer for the domain `{domain}`, and only a program in Rust can add one"
            ));
        }
        if let Some(reason) = ops::schema::lacks(op_type, version, attributes) {
            return Err(reason);
        }
        let Some(op) = ops::find(op_type) else {
            return Err("there is no importer for this op".to_string());
        };
        let is_known = |name: &str| op.attributes.iter().any(|(known, _)| *known == name);
        match attributes.iter().find(|(name, _)| !is_known(name)) {
            Some((name, value)) => Err(format!("the attribute `{name}` = {value} is not understood")),
            None => Ok(op.import),
        }
    }
}

/// ONNX's own domain has two names.
pub(crate) fn canonical(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}
