//! Reads graphs of ONNX Runtime's. The pointers that private functions take come from ONNX Runtime, and live while the graph does.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::c_char;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use blocktensor::memory;
use blocktensor_graph::{Constant, Dim};
use blocktensor_onnx::{Attribute, HostNode, HostValue, LOCATION, NEWEST_OPSET, constant_of, file_beside};
use ort_sys::{OrtApi, OrtGraph, OrtNode, OrtOpAttr, OrtOpAttrType, OrtTypeInfo, OrtValue, OrtValueInfo};

use crate::claim::{Model, Node};
use crate::context;
use crate::failure::{Failure, Result};
use crate::ffi::API_BYTES;
use crate::ort::{Ort, call, text};

impl Ort {
    /// Whether a graph is inside a node, such as a branch of `If`.
    ///
    /// # Safety
    /// The graph is one of ONNX Runtime's.
    pub(crate) unsafe fn is_body(&self, graph: *const OrtGraph) -> Result<bool> {
        let mut parent = null();
        call!(self, Graph_GetParentNode(graph, &mut parent))?;
        Ok(!parent.is_null())
    }

    /// The path of the graph's model, if it has one.
    ///
    /// # Safety
    /// As for `is_body`.
    unsafe fn model_path(&self, graph: *const OrtGraph) -> Result<Option<PathBuf>> {
        let mut path: *const c_char = null();
        call!(self, Graph_GetModelPath(graph, &mut path))?;
        // SAFETY: it is a string of the graph.
        let path = unsafe { text(path) };
        Ok((!path.is_empty()).then(|| path.into()))
    }

    /// The nodes of a graph, in an order in which they can run.
    ///
    /// # Safety
    /// As for `is_body`.
    pub(crate) unsafe fn nodes(&self, graph: *const OrtGraph) -> Result<Vec<*const OrtNode>> {
        let mut count = 0;
        call!(self, Graph_GetNumNodes(graph, &mut count))?;
        let mut nodes = vec![null(); count];
        call!(self, Graph_GetNodes(graph, nodes.as_mut_ptr(), count))?;
        Ok(nodes)
    }

    /// A graph with its constants. Those that are known already are not read again.
    ///
    /// # Safety
    /// The graph is one of ONNX Runtime's, and the nodes are its.
    pub(crate) unsafe fn model(
        &self,
        graph: *const OrtGraph,
        nodes: &[*const OrtNode],
        known: HashMap<String, Result<Constant, String>>,
    ) -> Result<Model> {
        // SAFETY: the caller's promise.
        let path = unsafe { self.model_path(graph) }?;
        let mut model = Model { opsets: self.opsets(graph)?, path, constants: known, ..Model::default() };
        let mut count = 0;
        call!(self, Graph_GetNumOutputs(graph, &mut count))?;
        let mut outputs = vec![null(); count];
        call!(self, Graph_GetOutputs(graph, outputs.as_mut_ptr(), count))?;
        for output in outputs {
            model.outputs.insert(self.name(output)?);
        }
        for &node in nodes {
            let read = self.node(node, &mut model)?;
            model.nodes.push(read);
        }
        model.name_nodes();
        // Nodes whose definition is newer have a reason.
        for (domain, version) in &mut model.opsets {
            if domain.is_empty() || domain == "ai.onnx" {
                *version = NEWEST_OPSET.min(*version);
            }
        }
        Ok(model)
    }

    fn opsets(&self, graph: *const OrtGraph) -> Result<Vec<(String, i64)>> {
        let mut count = 0;
        call!(self, Graph_GetNumOperatorSets(graph, &mut count))?;
        let (mut domains, mut versions) = (vec![null(); count], vec![0; count]);
        call!(self, Graph_GetOperatorSets(graph, domains.as_mut_ptr(), versions.as_mut_ptr(), count))?;
        // SAFETY: they are strings of the graph.
        Ok(domains.into_iter().map(|domain| unsafe { text(domain) }).zip(versions).collect())
    }

    /// The name of a value; none for one that is left out.
    fn name(&self, value: *const OrtValueInfo) -> Result<String> {
        if value.is_null() {
            return Ok(String::new());
        }
        let mut name = null();
        call!(self, GetValueInfoName(value, &mut name))?;
        // SAFETY: it is a string of the graph.
        Ok(unsafe { text(name) })
    }

    fn node(&self, node: *const OrtNode, model: &mut Model) -> Result<Node> {
        let mut read = HostNode::default();
        let (mut name, mut op, mut domain, mut provider) = (null(), null(), null(), null());
        call!(self, Node_GetName(node, &mut name))?;
        call!(self, Node_GetOperatorType(node, &mut op))?;
        call!(self, Node_GetDomain(node, &mut domain))?;
        call!(self, Node_GetEpName(node, &mut provider))?;
        // SAFETY: they are strings of the node.
        unsafe {
            (read.name, read.op_type, read.domain) = (text(name), text(op), text(domain));
        }
        // SAFETY: as above.
        let is_taken = unsafe { !text(provider).is_empty() };
        let (inputs, outputs, implicit) = (self.inputs(node)?, self.outputs(node)?, self.implicit(node)?);
        let mut taken_in = Vec::new();
        for value in implicit {
            taken_in.push(self.name(value)?);
        }
        for value in inputs {
            read.inputs.push(self.known_value(value, model)?);
        }
        for value in outputs {
            read.outputs.push(self.known_value(value, model)?);
        }
        let mut subgraphs = 0;
        call!(self, Node_GetNumSubgraphs(node, &mut subgraphs))?;
        let has_graphs = subgraphs > 0;
        let mut reason = has_graphs.then(|| "nodes with graphs inside run only elsewhere".to_string());
        let mut since = 0;
        call!(self, Node_GetSinceVersion(node, &mut since))?;
        if read.domain.is_empty() && i64::from(since) > NEWEST_OPSET {
            let text =
                format!("version {since} of the op; those of operator sets up to {NEWEST_OPSET} are known");
            reason = reason.or(Some(text));
        }
        let is_context = context::is_context(&read);
        if reason.is_none() {
            // A plan may have hundreds of megabytes.
            let left_out = if is_context { context::DATA } else { "" };
            match self.attributes(node, left_out) {
                Ok(attributes) => read.attributes = attributes,
                Err(e) => reason = Some(e.text),
            }
        }
        if is_context && reason.is_none() {
            reason = context::foreign(&read);
        }
        let is_compiled = is_context && reason.is_none();
        Ok(Node { read, implicit: taken_in, is_taken, is_compiled, has_graphs, reason })
    }

    fn inputs(&self, node: *const OrtNode) -> Result<Vec<*const OrtValueInfo>> {
        let mut count = 0;
        call!(self, Node_GetNumInputs(node, &mut count))?;
        let mut values = vec![null(); count];
        call!(self, Node_GetInputs(node, values.as_mut_ptr(), count))?;
        Ok(values)
    }

    fn outputs(&self, node: *const OrtNode) -> Result<Vec<*const OrtValueInfo>> {
        let mut count = 0;
        call!(self, Node_GetNumOutputs(node, &mut count))?;
        let mut values = vec![null(); count];
        call!(self, Node_GetOutputs(node, values.as_mut_ptr(), count))?;
        Ok(values)
    }

    fn implicit(&self, node: *const OrtNode) -> Result<Vec<*const OrtValueInfo>> {
        let mut count = 0;
        call!(self, Node_GetNumImplicitInputs(node, &mut count))?;
        let mut values = vec![null(); count];
        call!(self, Node_GetImplicitInputs(node, values.as_mut_ptr(), count))?;
        Ok(values)
    }

    /// The inputs and the outputs of a fused node.
    ///
    /// # Safety
    /// The node is one of ONNX Runtime's.
    pub(crate) unsafe fn ends(&self, node: *const OrtNode) -> Result<(Vec<HostValue>, Vec<HostValue>)> {
        let inputs = self.inputs(node)?.into_iter().map(|value| self.value(value));
        let outputs = self.outputs(node)?.into_iter().map(|value| self.value(value));
        Ok((inputs.collect::<Result<_>>()?, outputs.collect::<Result<_>>()?))
    }

    /// The name of a node.
    ///
    /// # Safety
    /// As for `ends`.
    pub(crate) unsafe fn node_name(&self, node: *const OrtNode) -> Result<String> {
        let mut name = null();
        call!(self, Node_GetName(node, &mut name))?;
        // SAFETY: it is a string of the node.
        Ok(unsafe { text(name) })
    }

    /// The name of a value, whose type or data the model has from now on.
    fn known_value(&self, value: *const OrtValueInfo, model: &mut Model) -> Result<String> {
        let name = self.name(value)?;
        if name.is_empty() || model.values.contains_key(&name) || model.constants.contains_key(&name) {
            return Ok(name);
        }
        let (mut is_constant, mut is_outer) = (false, false);
        call!(self, ValueInfo_IsFromOuterScope(value, &mut is_outer))?;
        model.is_body |= is_outer;
        call!(self, ValueInfo_IsConstantInitializer(value, &mut is_constant))?;
        if is_constant {
            let constant = self.initializer(&name, value, model.path.as_deref()).map_err(|e| e.text);
            model.constants.insert(name.clone(), constant);
        } else {
            let mut of = self.value(value)?;
            // Before version `TELLS_RANKS` a tensor of unknown rank looks like one of rank 0. Inputs of a model have a rank nearly always.
            if !self.tells_ranks && of.dims.as_deref() == Some(&[]) && !self.is_graph_input(value)? {
                of.dims = None;
            }
            model.values.insert(name.clone(), of);
        }
        Ok(name)
    }

    /// Whether a value is an input of the graph that it is in.
    fn is_graph_input(&self, value: *const OrtValueInfo) -> Result<bool> {
        let (mut is_required, mut is_optional) = (false, false);
        call!(self, ValueInfo_IsRequiredGraphInput(value, &mut is_required))?;
        call!(self, ValueInfo_IsOptionalGraphInput(value, &mut is_optional))?;
        Ok(is_required || is_optional)
    }

    fn initializer(&self, name: &str, value: *const OrtValueInfo, model: Option<&Path>) -> Result<Constant> {
        let what = format!("initializer `{name}`");
        if let (Some(model), Some(file)) = (model, self.file(value)?) {
            // ONNX Runtime reads the file. Its versions before 1.24 take any.
            file_beside(&what, model, LOCATION, &file)?;
        }
        let mut data = null();
        call!(self, ValueInfo_GetInitializerValue(value, &mut data))?;
        self.constant(&what, data)
    }

    /// The file that has the data of an initializer, as the model names it, if it is in one.
    fn file(&self, value: *const OrtValueInfo) -> Result<Option<String>> {
        let mut info = null_mut();
        call!(self, ValueInfo_GetExternalInitializerInfo(value, &mut info))?;
        if info.is_null() {
            return Ok(None);
        }
        const {
            assert!(offset_of!(OrtApi, ExternalInitializerInfo_GetFilePath) < API_BYTES);
            assert!(offset_of!(OrtApi, ReleaseExternalInitializerInfo) < API_BYTES);
        }
        // SAFETY: the oldest table has both functions. The path is a string of the info, which nobody else releases.
        unsafe {
            let path = text(((*self.api).ExternalInitializerInfo_GetFilePath)(info));
            ((*self.api).ReleaseExternalInitializerInfo)(info);
            Ok(Some(path))
        }
    }

    /// A copy of a tensor of ONNX Runtime's, which frees its own.
    fn constant(&self, what: &str, value: *const OrtValue) -> Result<Constant> {
        if value.is_null() {
            return Err(Failure::other(format!("{what}: ONNX Runtime has no data for it")));
        }
        let held = self.held_shape(value)?;
        let (mut size, mut data) = (0, null());
        call!(self, GetTensorSizeInBytes(value, &mut size))?;
        call!(self, GetTensorData(value, &mut data))?;
        let mut bytes: Vec<u8> = Vec::new();
        bytes
            .try_reserve_exact(size)
            .map_err(|_| Failure::other(format!("{what}: no memory for {size} bytes; free some")))?;
        if size > 0 && !data.is_null() {
            // SAFETY: a tensor of ONNX Runtime's has as many bytes as it says, and nothing else writes into it.
            bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) });
        }
        Ok(constant_of(what, held.0, &held.1, bytes)?)
    }

    fn value(&self, value: *const OrtValueInfo) -> Result<HostValue> {
        let mut read = HostValue { name: self.name(value)?, ..HostValue::default() };
        let mut of: *const OrtTypeInfo = null();
        call!(self, GetValueInfoTypeInfo(value, &mut of))?;
        if of.is_null() {
            return Ok(read);
        }
        let mut info = null();
        call!(self, CastTypeInfoToTensorInfo(of, &mut info))?;
        if info.is_null() {
            return Ok(read);
        }
        let (data_type, dims) = self.shape(info)?;
        read.data_type = data_type;
        let mut names = vec![null(); dims.len()];
        call!(self, GetSymbolicDimensions(info, names.as_mut_ptr(), dims.len()))?;
        // SAFETY: the version has this function.
        if self.tells_ranks && !unsafe { ((*self.api).TensorTypeAndShape_HasShape)(info) } {
            return Ok(read);
        }
        let dims = dims.iter().zip(names).map(|(&size, name)| match usize::try_from(size) {
            Ok(size) => Dim::Size(size),
            // SAFETY: it is a string of the value's type.
            Err(_) => Dim::Named(unsafe { text(name) }),
        });
        read.dims = Some(dims.collect());
        Ok(read)
    }

    /// All attributes but one.
    fn attributes(&self, node: *const OrtNode, left_out: &str) -> Result<Vec<(String, Attribute)>> {
        let mut read = Vec::new();
        for (name, attribute) in self.named_attributes(node)? {
            if name != left_out {
                let value = self.attribute(&name, attribute)?;
                read.push((name, value));
            }
        }
        Ok(read)
    }

    fn named_attributes(&self, node: *const OrtNode) -> Result<Vec<(String, *const OrtOpAttr)>> {
        let mut count = 0;
        call!(self, Node_GetNumAttributes(node, &mut count))?;
        let mut attributes = vec![null(); count];
        call!(self, Node_GetAttributes(node, attributes.as_mut_ptr(), count))?;
        let mut named = Vec::with_capacity(count);
        for attribute in attributes.into_iter().filter(|attribute| !attribute.is_null()) {
            let mut name = null();
            call!(self, OpAttr_GetName(attribute, &mut name))?;
            // SAFETY: it is a string of the attribute.
            named.push((unsafe { text(name) }, attribute));
        }
        Ok(named)
    }

    /// The bytes of a text among a node's attributes, with whatever is in it.
    ///
    /// # Safety
    /// The node is one of ONNX Runtime's.
    pub(crate) unsafe fn text_attribute(&self, node: *const OrtNode, name: &str) -> Result<Option<Vec<u8>>> {
        let attributes = self.named_attributes(node)?;
        let Some((_, attribute)) = attributes.into_iter().find(|(known, _)| known == name) else {
            return Ok(None);
        };
        let (kind, mut size) = (OrtOpAttrType::ORT_OP_ATTR_STRING, 0);
        // Without room it is an error that says how much there must be, with a NUL at the end.
        let first = call!(self, ReadOpAttr(attribute, kind, null_mut(), 0, &mut size));
        if size == 0 {
            return first.map(|()| None);
        }
        let mut bytes = memory::try_filled("a text of a model", size, 0u8)?;
        let mut written = 0;
        call!(self, ReadOpAttr(attribute, kind, bytes.as_mut_ptr().cast(), size, &mut written))?;
        bytes.truncate(written.min(size));
        bytes.pop_if(|last| *last == 0);
        Ok(Some(bytes))
    }

    fn attribute(&self, name: &str, attribute: *const OrtOpAttr) -> Result<Attribute> {
        let mut of = 0i32;
        call!(self, OpAttr_GetType(attribute, (&raw mut of).cast()))?;
        let kinds = [
            OrtOpAttrType::ORT_OP_ATTR_INT,
            OrtOpAttrType::ORT_OP_ATTR_INTS,
            OrtOpAttrType::ORT_OP_ATTR_FLOAT,
            OrtOpAttrType::ORT_OP_ATTR_FLOATS,
            OrtOpAttrType::ORT_OP_ATTR_STRING,
            OrtOpAttrType::ORT_OP_ATTR_STRINGS,
            OrtOpAttrType::ORT_OP_ATTR_TENSOR,
        ];
        let Some(kind) = kinds.into_iter().find(|kind| *kind as i32 == of) else {
            return Err(Failure::other(format!(
                "the attribute `{name}` has the type {of}, which is not read"
            )));
        };
        if kind == OrtOpAttrType::ORT_OP_ATTR_TENSOR {
            let mut value = null_mut();
            call!(self, OpAttr_GetTensorAttributeAsOrtValue(attribute, &mut value))?;
            let constant = self.constant(&format!("attribute `{name}`"), value);
            // SAFETY: nobody else releases it.
            unsafe { ((*self.api).ReleaseValue)(value) };
            return Ok(Attribute::Tensor(constant?.into()));
        }
        let bytes = self.attribute_bytes(attribute, kind)?;
        let ints = || bytes.as_chunks().0.iter().map(|bytes| i64::from_ne_bytes(*bytes));
        let floats = || bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes));
        // Each string ends with NUL.
        let strings = || {
            let ends = bytes.strip_suffix(&[0]).unwrap_or(&bytes).split(|byte| *byte == 0);
            ends.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let lacking = || Failure::other(format!("the attribute `{name}` has no value"));
        Ok(match kind {
            OrtOpAttrType::ORT_OP_ATTR_INT => Attribute::Int(ints().next().ok_or_else(lacking)?),
            OrtOpAttrType::ORT_OP_ATTR_INTS => Attribute::Ints(ints().collect()),
            OrtOpAttrType::ORT_OP_ATTR_FLOAT => Attribute::Float(floats().next().ok_or_else(lacking)?),
            OrtOpAttrType::ORT_OP_ATTR_FLOATS => Attribute::Floats(floats().collect()),
            OrtOpAttrType::ORT_OP_ATTR_STRING => Attribute::Str(strings().next().ok_or_else(lacking)?),
            _ if bytes.is_empty() => Attribute::Strs(Vec::new()),
            _ => Attribute::Strs(strings().collect()),
        })
    }

    fn attribute_bytes(&self, attribute: *const OrtOpAttr, kind: OrtOpAttrType) -> Result<Vec<u8>> {
        let mut size = 0;
        // Without room it is an error that says how much there must be.
        let first = call!(self, ReadOpAttr(attribute, kind, null_mut(), 0, &mut size));
        if size == 0 {
            return first.map(|()| Vec::new());
        }
        // Numbers are written at once: the place must be aligned for the largest.
        let mut words = vec![0u64; size.div_ceil(8)];
        let mut written = 0;
        call!(self, ReadOpAttr(attribute, kind, words.as_mut_ptr().cast(), size, &mut written))?;
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
        Ok(bytes.take(written.min(size)).collect())
    }
}
