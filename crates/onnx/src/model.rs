//! From the parsed model to a graph.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blocktensor::{Call, PackedFile, Text, shown_path};
use blocktensor_graph::{Constant, Graph, ValueId};
use rten_onnx::onnx::{AttributeProto, AttributeType, GraphProto, ModelProto, NodeProto, ValueInfoProto};

use crate::adopt::Maps;
use crate::error::{Error, Result};
use crate::external::External;
use crate::host::{HostModel, HostNode, HostValue};
use crate::node::{Attribute, OnnxNode, Step, Subgraph};
use crate::reader::AnyBytes;
use crate::registry::{Importer, NEWEST_OPSET, OLDEST_OPSET, canonical};
use crate::{declared, ops, reader, scan, show, sort, tensor, text};

/// The newest version of ONNX's file format that is read.
const NEWEST_FORMAT: i64 = 14;

/// What nodes need to know about the model around them.
struct Model<'a> {
    importer: &'a Importer,
    external: &'a External,
    bytes: &'a AnyBytes,
    opsets: HashMap<String, i64>,
    /// Whether a host has parsed it: ops may be functions of the model's own, which a file with such functions never gets to.
    is_hosts: bool,
}

/// Reads a model from memory.
pub(crate) fn read_bytes(importer: &Importer, bytes: &[u8]) -> Result<Graph> {
    if PackedFile::begins(bytes) {
        return Err(packed("the bytes".to_string()));
    }
    let strings = scan::check(&mut Cursor::new(bytes), bytes.len() as u64)?;
    read(importer, reader::parse(Cursor::new(bytes), &strings)?, &External::default())
}

/// Reads a model from a file. The data of its tensors is read once, into the memory where it stays. Also returns the other files
/// that have data of it.
pub(crate) fn read_path(
    importer: &Importer,
    path: &Path,
    maps: Option<Maps>,
) -> Result<(Graph, Vec<PathBuf>)> {
    let io = |source: std::io::Error| Error::Io { path: path.to_path_buf(), source: Arc::new(source) };
    if path.as_os_str().is_empty() {
        return Err(io(std::io::Error::new(ErrorKind::NotFound, "an empty path, and a file has a name")));
    }
    // A pipe would wait for its other end, and is read twice here.
    let metadata = std::fs::metadata(path).map_err(io)?;
    if metadata.is_dir() {
        return Err(io(ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        let reason = "a pipe or a device, and models are read from files on a disk";
        return Err(io(std::io::Error::new(ErrorKind::Unsupported, reason)));
    }
    if PackedFile::is_at(path) {
        return Err(packed(shown_path(path)));
    }
    let mut file = File::open(path).map_err(io)?;
    let strings = scan::check(&mut BufReader::new(&mut file), metadata.len())?;
    file.rewind().map_err(io)?;
    let external = External::beside(path, maps);
    let graph = read(importer, reader::parse(BufReader::new(file), &strings)?, &external)?;
    Ok((graph, external.into_files()))
}

/// The error for a file of this library's own in place of a model.
fn packed(what: String) -> Error {
    let (got, rule) = ("a plan, or other packed weights", "models are ONNX files");
    Error::invalid(what, got, rule, Text::from("load a plan with ") + Call::LoadPlan)
}

fn read(importer: &Importer, (parsed, bytes): (ModelProto, AnyBytes), external: &External) -> Result<Graph> {
    show::refuse(&parsed)?;
    let Some(graph) = parsed.graph else {
        return Err(Error::Malformed { reason: "it has no graph".to_string() });
    };
    if let Some(version) = parsed.ir_version.filter(|v| *v > NEWEST_FORMAT) {
        let remedy = format!("export it with a version of at most {NEWEST_FORMAT}");
        return Err(Error::unsupported(
            "the model",
            format!("version {version} of ONNX's file format"),
            remedy,
        ));
    }
    let sets = parsed.opset_import.iter();
    let sets = sets.map(|set| (set.domain.as_deref().unwrap_or_default(), set.version.unwrap_or(1)));
    Model { importer, external, bytes: &bytes, opsets: opsets_of(sets)?, is_hosts: false }.graph(graph)
}

/// Reads a model that a host has parsed.
pub(crate) fn read_host(importer: &Importer, model: HostModel) -> Result<Graph> {
    let sets = model.opsets.iter().map(|(domain, version)| (domain.as_str(), *version));
    let opsets = opsets_of(sets)?;
    let (external, bytes) = (External::default(), AnyBytes::default());
    let reader = Model { importer, external: &external, bytes: &bytes, opsets, is_hosts: true };
    let (mut graph, mut known) = (Graph::new(), HashMap::new());
    for (name, constant) in model.constants {
        declared::check_name(&name)?;
        known.insert(name.clone(), graph.constant(&name, constant)?);
    }
    for input in &model.inputs {
        let (of, dims) = declared::input_type(&input.name, &input.proto())?;
        known.insert(input.name.clone(), graph.input_of(&input.name, of, &dims)?);
    }
    let mut steps = Vec::with_capacity(model.nodes.len());
    for node in model.nodes {
        let name = node.name.clone();
        for text in node.outputs.iter().chain([&name]) {
            declared::check_name(text)?;
        }
        steps.push((name.clone(), reader.step_of(&name, node)?));
    }
    let (steps, captured) = ordered(steps, &known.keys().map(String::as_str).collect())?;
    let outputs: Vec<ValueInfoProto> = model.outputs.iter().map(HostValue::proto).collect();
    assemble(graph, known, steps, captured, &outputs, outputs.iter())
}

/// The version of each operator set, by the set's canonical name.
fn opsets_of<'a>(sets: impl Iterator<Item = (&'a str, i64)>) -> Result<HashMap<String, i64>> {
    let mut opsets: HashMap<String, i64> = HashMap::new();
    for (domain, version) in sets {
        let domain = canonical(domain);
        if opsets.insert(domain.to_string(), version).is_some_and(|other| other != version) {
            let domain = if domain.is_empty() { "ai.onnx" } else { domain };
            let rule = format!("it imports one version of the operator set `{domain}`");
            return Err(Error::invalid("the model", "two versions", rule, "export the model again"));
        }
    }
    if let Some(version) = opsets.get("")
        && !(OLDEST_OPSET..=NEWEST_OPSET).contains(version)
    {
        return Err(Error::unsupported(
            "the model",
            format!("version {version} of ONNX's operator set"),
            format!(
                "convert it to a version from {OLDEST_OPSET} to {NEWEST_OPSET}, with `onnx.version_converter` or at the export"
            ),
        ));
    }
    Ok(opsets)
}

/// Names of values that nothing in a graph makes, each with the node that uses it.
type OuterNames = Vec<(String, String)>;

impl Model<'_> {
    fn graph(&self, mut proto: GraphProto) -> Result<Graph> {
        let mut graph = Graph::new();
        let mut known: HashMap<String, ValueId> = HashMap::new();
        for (name, constant) in self.initializers(&mut proto)? {
            known.insert(name.clone(), graph.constant(&name, constant)?);
        }
        for input in &proto.input {
            let name = input.name.as_deref().unwrap_or_default();
            let (of, dims) = declared::input_type(name, input)?;
            // Before version 4 of the format, initializers were inputs as well.
            if let Some(constant) = known.get(name).and_then(|id| graph.constant_of(*id)) {
                declared::check_initializer(name, constant, of, &dims)?;
                continue;
            }
            known.insert(name.to_string(), graph.input_of(name, of, &dims)?);
        }
        let outer: HashSet<&str> = known.keys().map(String::as_str).collect();
        let (steps, captured) = self.steps(std::mem::take(&mut proto.node), &proto.output, &outer)?;
        let declared = proto.value_info.iter().chain(&proto.output);
        assemble(graph, known, steps, captured, &proto.output, declared)
    }

    fn initializers(&self, proto: &mut GraphProto) -> Result<Vec<(String, Constant)>> {
        let mut list = Vec::with_capacity(proto.initializer.len());
        let tensors = std::mem::take(&mut proto.initializer);
        let read = LazyCell::new(|| text::names_read(&proto.node, &proto.output));
        for mut tensor in tensors {
            let name = tensor.name.take().unwrap_or_default();
            let what = format!("initializer `{name}`");
            if name.is_empty() {
                return Err(Error::invalid(
                    what,
                    "no name",
                    "initializers have names",
                    "export the model again",
                ));
            }
            declared::check_name(&name)?;
            // Labels of classes, say, that only the program reads.
            if text::is_text(&tensor) && !read.contains(name.as_str()) {
                continue;
            }
            list.push((name, tensor::constant(&what, &mut tensor, self.external)?));
        }
        Ok(list)
    }

    /// The nodes in an order in which they can run, with their names; and names that nothing in the graph makes, each with the
    /// node that uses it.
    fn steps(
        &self,
        nodes: Vec<NodeProto>,
        outputs: &[ValueInfoProto],
        outer: &HashSet<&str>,
    ) -> Result<(Vec<(String, Step)>, OuterNames)> {
        let mut steps = Vec::with_capacity(nodes.len());
        let is_skipped = text::unread(&nodes, outputs);
        for (i, node) in nodes.into_iter().enumerate().filter(|(i, _)| !is_skipped[*i]) {
            let op = node.op_type.as_deref().unwrap_or_default();
            let name = match node.name.as_deref() {
                Some(name) if !name.is_empty() => name.to_string(),
                _ => format!("{op}_{i}"),
            };
            let attributes = node.attribute.iter().filter_map(|attribute| attribute.name.as_ref());
            for text in node.output.iter().chain([&name]).chain(&node.domain).chain(attributes) {
                declared::check_name(text)?;
            }
            let step = self.step(&name, node)?;
            steps.push((name, step));
        }
        ordered(steps, outer)
    }

    fn step(&self, name: &str, proto: NodeProto) -> Result<Step> {
        let op_type = proto.op_type.unwrap_or_default();
        let mut attributes: Vec<(String, Attribute)> = Vec::with_capacity(proto.attribute.len());
        for attribute in proto.attribute {
            let key = attribute.name.clone().unwrap_or_default();
            let what = format!("node `{name}` ({op_type}), attribute `{key}`");
            if attributes.iter().any(|(other, _)| *other == key) {
                return Err(Error::invalid(what, "two values", "names are unique", "export the model again"));
            }
            attributes.push((key, self.attribute(&what, attribute)?));
        }
        let domain = proto.domain.unwrap_or_default();
        self.step_of(
            name,
            HostNode {
                domain,
                op_type,
                attributes,
                inputs: proto.input,
                outputs: proto.output,
                ..HostNode::default()
            },
        )
    }

    /// As `step`, for a node whose attributes are known.
    fn step_of(&self, name: &str, node: HostNode) -> Result<Step> {
        let HostNode { op_type, attributes, .. } = node;
        let domain = canonical(&node.domain).to_string();
        let version = match self.opsets.get(&domain) {
            Some(version) => *version,
            None if domain.is_empty() => {
                return Err(Error::invalid(
                    format!("node `{name}` ({op_type})"),
                    "no version of ONNX's operator set",
                    "a model imports the operator sets that it uses",
                    "export the model again",
                ));
            }
            None => 1,
        };
        let is_checked = domain.is_empty() && !self.importer.is_registered(&domain, &op_type);
        if is_checked {
            let what = format!("node `{name}` ({op_type})");
            ops::schema::check(&what, &op_type, version, &node.inputs, &node.outputs, &attributes)?;
        }
        let mut inputs: Vec<Option<String>> =
            node.inputs.into_iter().map(|n| Some(n).filter(|n| !n.is_empty())).collect();
        for (_, attribute) in &attributes {
            if let Attribute::Graph(graph) = attribute {
                inputs.extend(graph.captured.iter().cloned().map(Some));
            }
        }
        let find = if self.is_hosts { Importer::find_for_host } else { Importer::find };
        let import = find(self.importer, &domain, &op_type, version, &attributes);
        let is_named: Vec<bool> = node.outputs.iter().map(|n| !n.is_empty()).collect();
        let outputs = node.outputs;
        let node = OnnxNode { domain, op_type, version, attributes, outputs: is_named, import, is_checked };
        Ok(Step { node, inputs, outputs })
    }

    fn attribute(&self, what: &str, mut proto: AttributeProto) -> Result<Attribute> {
        let lacking = || Error::invalid(what, "no value", "an attribute has one", "export the model again");
        let of = proto.r#type.unwrap_or(AttributeType::UNDEFINED);
        if let Some(other) = other_value(&proto, of) {
            let rule = format!("it is said to be of the type {}", name_of(of));
            return Err(Error::invalid(
                what,
                format!("a value of the type {}", name_of(other)),
                rule,
                "export the model again",
            ));
        }
        Ok(match of {
            AttributeType::FLOAT => Attribute::Float(proto.f.unwrap_or(0.0)),
            AttributeType::INT => Attribute::Int(proto.i.unwrap_or(0)),
            AttributeType::STRING => match self.bytes.take(proto.s.take().unwrap_or_default()) {
                Ok(text) => Attribute::Str(text),
                Err(bytes) => Attribute::Bytes(vec![bytes]),
            },
            AttributeType::FLOATS => Attribute::Floats(proto.floats),
            AttributeType::INTS => Attribute::Ints(proto.ints),
            AttributeType::STRINGS => self.strings(proto.strings),
            AttributeType::TENSOR => {
                let mut tensor = proto.t.ok_or_else(lacking)?;
                Attribute::Tensor(Arc::new(tensor::constant(what, &mut tensor, self.external)?))
            }
            AttributeType::GRAPH => Attribute::Graph(Arc::new(self.subgraph(proto.g.ok_or_else(lacking)?)?)),
            AttributeType(other) => {
                let remedy = "export the model with a type for each attribute";
                return Err(Error::unsupported(what, format!("an attribute of type {other}"), remedy));
            }
        })
    }

    fn strings(&self, list: Vec<String>) -> Attribute {
        let list: Vec<_> = list.into_iter().map(|one| self.bytes.take(one)).collect();
        if list.iter().all(std::result::Result::is_ok) {
            return Attribute::Strs(list.into_iter().flatten().collect());
        }
        Attribute::Bytes(
            list.into_iter().map(|one| one.map_or_else(|bytes| bytes, String::into_bytes)).collect(),
        )
    }

    fn subgraph(&self, mut proto: GraphProto) -> Result<Subgraph> {
        let constants = self.initializers(&mut proto)?;
        let names = |list: &[ValueInfoProto]| -> Vec<String> {
            list.iter().map(|v| v.name.clone().unwrap_or_default()).collect()
        };
        let (inputs, outputs) = (names(&proto.input), names(&proto.output));
        let known: HashSet<&str> = constants
            .iter()
            .map(|(name, _)| name.as_str())
            .chain(inputs.iter().map(String::as_str))
            .collect();
        let (steps, captured) = self.steps(proto.node, &proto.output, &known)?;
        let mut captured: Vec<String> = captured.into_iter().map(|(_, name)| name).collect();
        let made: HashSet<&str> =
            steps.iter().flat_map(|(_, s)| s.outputs.iter().map(String::as_str)).collect();
        // An output may be a value of the graph around it.
        let passed = outputs.iter().filter(|o| !known.contains(o.as_str()) && !made.contains(o.as_str()));
        captured.extend(passed.cloned());
        captured.sort_unstable();
        captured.dedup();
        Ok(Subgraph {
            declared: proto.output.iter().map(declared::element_type).collect(),
            constants: constants.into_iter().map(|(name, c)| (name, c.into())).collect(),
            steps,
            inputs,
            outputs,
            captured,
        })
    }
}

/// The steps in an order in which they can run, and names that nothing in the graph makes, each with the node that uses it.
fn ordered(steps: Vec<(String, Step)>, outer: &HashSet<&str>) -> Result<(Vec<(String, Step)>, OuterNames)> {
    let mut made: HashSet<&str> = HashSet::new();
    for (name, step) in &steps {
        for output in step.outputs.iter().filter(|o| !o.is_empty()) {
            if outer.contains(output.as_str()) || !made.insert(output) {
                let rule = "another value has this name, and names are unique";
                let what = format!("node `{name}`");
                return Err(Error::invalid(
                    what,
                    format!("the output `{output}`"),
                    rule,
                    "export the model again",
                ));
            }
        }
    }
    let captured = steps.iter().flat_map(|(name, step)| {
        let unknown = step
            .inputs
            .iter()
            .flatten()
            .filter(|n| !made.contains(n.as_str()) && !outer.contains(n.as_str()));
        unknown.map(move |n| (format!("node `{name}`"), n.clone()))
    });
    let captured = captured.collect();
    let uses: Vec<Vec<&str>> =
        steps.iter().map(|(_, s)| s.inputs.iter().flatten().map(String::as_str).collect()).collect();
    let makes: Vec<Vec<&str>> = steps
        .iter()
        .map(|(_, s)| s.outputs.iter().filter(|o| !o.is_empty()).map(String::as_str).collect())
        .collect();
    let order = sort::topological(&uses, &makes).map_err(|i| {
        let rule = "its inputs depend on its outputs";
        Error::invalid(format!("node `{}`", steps[i].0), "a cycle", rule, "export the model again")
    })?;
    let mut steps: Vec<Option<(String, Step)>> = steps.into_iter().map(Some).collect();
    Ok((order.into_iter().filter_map(|i| steps[i].take()).collect(), captured))
}

/// Adds the nodes and the outputs to a graph that has its inputs and constants.
fn assemble<'a>(
    mut graph: Graph,
    mut known: HashMap<String, ValueId>,
    steps: Vec<(String, Step)>,
    captured: OuterNames,
    outputs: &[ValueInfoProto],
    declared: impl Iterator<Item = &'a ValueInfoProto>,
) -> Result<Graph> {
    if let Some((node, name)) = captured.first() {
        let rule = "no input, initializer or node has this name";
        return Err(Error::invalid(node, format!("the input `{name}`"), rule, "export the model again"));
    }
    for (name, step) in steps {
        let inputs: Vec<_> =
            step.inputs.iter().map(|n| n.as_ref().and_then(|n| known.get(n).copied())).collect();
        let outputs: Vec<&str> = step.outputs.iter().map(String::as_str).collect();
        let ids = graph.node(&name, Arc::new(step.node), &inputs, &outputs)?;
        known.extend(step.outputs.into_iter().zip(ids).filter(|(name, _)| !name.is_empty()));
    }
    for output in outputs {
        let name = output.name.as_deref().unwrap_or_default();
        let Some(id) = known.get(name) else {
            let rule = "no input, initializer or node has this name";
            return Err(Error::invalid("an output", format!("`{name}`"), rule, "export the model again"));
        };
        graph.output(name, *id)?;
    }
    for value in declared {
        if let Some(id) = value.name.as_deref().and_then(|name| known.get(name))
            && let Some(of) = declared::element_type(value)
        {
            graph.declare(*id, &of)?;
        }
    }
    if outputs.is_empty() {
        return Err(Error::Malformed { reason: "the graph has no outputs".to_string() });
    }
    Ok(graph)
}

/// A type, as ONNX numbers it, of which the attribute has a value though it is said to be of another one.
fn other_value(proto: &AttributeProto, of: AttributeType) -> Option<AttributeType> {
    let values = [
        (AttributeType::FLOAT, proto.f.is_some()),
        (AttributeType::INT, proto.i.is_some()),
        (AttributeType::STRING, proto.s.is_some()),
        (AttributeType::TENSOR, proto.t.is_some()),
        (AttributeType::GRAPH, proto.g.is_some()),
        (AttributeType::FLOATS, !proto.floats.is_empty()),
        (AttributeType::INTS, !proto.ints.is_empty()),
        (AttributeType::STRINGS, !proto.strings.is_empty()),
    ];
    values.into_iter().find(|(other, is_there)| *is_there && *other != of).map(|(other, _)| other)
}

/// The type's name in ONNX's file format.
fn name_of(of: AttributeType) -> String {
    let names = [
        (AttributeType::UNDEFINED, "UNDEFINED"),
        (AttributeType::FLOAT, "FLOAT"),
        (AttributeType::INT, "INT"),
        (AttributeType::STRING, "STRING"),
        (AttributeType::TENSOR, "TENSOR"),
        (AttributeType::GRAPH, "GRAPH"),
        (AttributeType::FLOATS, "FLOATS"),
        (AttributeType::INTS, "INTS"),
        (AttributeType::STRINGS, "STRINGS"),
    ];
    names
        .iter()
        .find(|(known, _)| *known == of)
        .map_or_else(|| of.0.to_string(), |(_, name)| name.to_string())
}
