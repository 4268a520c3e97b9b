//! Which ops are known: those of ONNX's own operator set, and those that a program adds.

use std::collections::HashMap;

use crate::host::HostNode;
use crate::node::{Attribute, Import};
use crate::ops::{self, microsoft};
use crate::scan;

/// The oldest version of ONNX's operator set that is read.
pub const OLDEST_OPSET: i64 = 11;
/// The newest version of ONNX's operator set that is read.
pub const NEWEST_OPSET: i64 = 25;

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

    /// Why a host's node cannot be read, if its op and attributes alone tell that. `opsets` are those of the host's model.
    ///
    /// ```
    /// use blocktensor_onnx::{HostNode, Importer};
    ///
    /// let node = |op: &str| HostNode { op_type: op.into(), ..HostNode::default() };
    /// let (importer, opsets) = (Importer::new(), [(String::new(), 17)]);
    /// assert!(importer.refusal(&node("Relu"), &opsets).is_none());
    /// assert_eq!(importer.refusal(&node("Det"), &opsets).unwrap(), "there is no importer for this op");
    /// ```
    pub fn refusal(&self, node: &HostNode, opsets: &[(String, i64)]) -> Option<String> {
        let domain = canonical(&node.domain);
        let version = opsets.iter().find(|(known, _)| canonical(known) == domain).map_or(1, |known| known.1);
        self.find_for_host(domain, &node.op_type, version, &node.attributes).err()
    }

    /// Whether a program brought its own importer for this op.
    pub(crate) fn is_registered(&self, domain: &str, op_type: &str) -> bool {
        self.registered.contains_key(&(domain.to_string(), op_type.to_string()))
    }

    /// As `find`, for a node of a host's.
    pub(crate) fn find_for_host(
        &self,
        domain: &str,
        op_type: &str,
        version: i64,
        attributes: &[(String, Attribute)],
    ) -> Result<Import, String> {
        let found = self.find(domain, op_type, version, attributes);
        found.map_err(|reason| match !domain.is_empty() && !domain.starts_with(microsoft::DOMAIN) {
            // A host leaves functions out, and calls of them are nodes of other domains.
            true => format!(
                "the domain `{domain}` has no importer; if this is a function of the model, {}",
                scan::INLINE
            ),
            false => reason,
        })
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
        // `com.microsoft.nchwc` and others of its domains hold what only its own kernels read.
        if domain.starts_with(microsoft::DOMAIN) {
            let known = ops::find_microsoft(op_type).filter(|_| domain == microsoft::DOMAIN);
            let Some(op) = known else {
                return Err(format!(
                    "there is no importer for this op of `{domain}`; if ONNX Runtime wrote it while it optimised the model, pass the \
                     model as it was before; if its quantiser wrote it, use `QuantFormat.QDQ`"
                ));
            };
            let is_known = |name: &str, value: &Attribute| {
                op.attributes.iter().any(|(known, kind)| *known == name && *kind == value.kind())
            };
            return match attributes.iter().find(|(name, value)| !is_known(name, value)) {
                Some((name, value)) => Err(format!("the attribute `{name}` = {value} is not understood")),
                None => ops::schema::no_switch(attributes).map_or(Ok(op.import), Err),
            };
        }
        if !domain.is_empty() {
            return Err(format!(
                "there is no importer for the domain `{domain}`, and only a program in Rust can add one"
            ));
        }
        // A host's graph may be older; a file of such a version is refused as a whole.
        if version < OLDEST_OPSET {
            return Err(format!(
                "version {version} of ONNX's operator set is not supported, and `onnx.version_converter` makes {OLDEST_OPSET} of it"
            ));
        }
        if let Some(reason) = ops::schema::lacks(op_type, version, attributes) {
            return Err(reason);
        }
        let Some(op) = ops::find(op_type) else {
            return Err("there is no importer for this op".into());
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
