//! From the parsed model to a graph.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Cursor, Seek};
use std::path::Path;
use std::sync::Arc;

use blocktensor_graph::{Constant, Dim, ElementType, Graph, ValueId};
use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataType, GraphProto, ModelProto, NodeProto, ValueInfoProto,
};

use crate::adopt::Maps;
use crate::error::{Error, Result};
use crate::external::External;
use crate::importer::{Importer, NEWEST_OPSET, OLDEST_OPSET, canonical};
use crate::node::{Attribute, OnnxNode};
use crate::subgraph::{Step, Subgraph};
use crate::{ops, scan, sort, tensor};

/// What nodes need to know about the model around them.
struct Model<'a> {
    importer: &'a Importer,
    external: &'a External,
    opsets: HashMap<String, i64>,
}

/// Reads a model from memory.
pub(crate) fn read_bytes(importer: &Importer, bytes: &[u8]) -> Result<Graph> {
    scan::check(&mut Cursor::new(bytes), bytes.len() as u64)?;
    let parsed = ModelProto::parse_buf(bytes).map_err(malformed)?;
    read(importer, parsed, &External::default())
}

/// Reads a model from a file. The data of its tensors is read once, into the memory where it stays.
pub(crate) fn read_path(importer: &Importer, path: &Path, maps: Option<Maps>) -> Result<Graph> {
    let io = |source: std::io::Error| Error::Io { path: path.to_path_buf(), source: Arc::new(source) };
    let mut file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if metadata.is_dir() {
        return Err(io(std::io::ErrorKind::IsADirectory.into()));
    }
    scan::check(&mut BufReader::new(&mut file), metadata.len())?;
    file.rewind().map_err(io)?;
    let parsed = ModelProto::parse_file(file).map_err(malformed)?;
    read(importer, parsed, &External::beside(path, maps))
}

fn malformed(error: rten_onnx::protobuf::ProtobufError) -> Error {
    Error::Malformed { reason: error.to_string() }
}

fn read(importer: &Importer, parsed: ModelProto, external: &External) -> Result<Graph> {
    let Some(graph) = parsed.graph else {
        return Err(Error::Malformed { reason: "it has no graph".to_string() });
    };
    let opsets = parsed.opset_import.iter().map(|set| {
        let domain = canonical(set.domain.as_deref().unwrap_or_default());
        (domain.to_string(), set.version.unwrap_or(1))
    });
    let opsets: HashMap<String, i64> = opsets.collect();
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
    Model { importer, external, opsets }.graph(graph)
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
            // Before version 4 of the format, initializers were inputs as well.
            if known.contains_key(name) && !graph.inputs().any(|(other, ..)| other == name) {
                continue;
            }
            let (of, dims) = input_type(name, input)?;
            known.insert(name.to_string(), graph.input_of(name, of, &dims)?);
        }
        let outer: HashSet<&str> = known.keys().map(String::as_str).collect();
        let (steps, captured) = self.steps(std::mem::take(&mut proto.node), &outer)?;
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
        for output in &proto.output {
            let name = output.name.as_deref().unwrap_or_default();
            let Some(id) = known.get(name) else {
                let rule = "no input, initializer or node has this name";
                return Err(Error::invalid("an output", format!("`{name}`"), rule, "export the model again"));
            };
            graph.output(name, *id)?;
        }
        if proto.output.is_empty() {
            return Err(Error::Malformed { reason: "the graph has no outputs".to_string() });
        }
        Ok(graph)
    }

    fn initializers(&self, proto: &mut GraphProto) -> Result<Vec<(String, Constant)>> {
        let mut list = Vec::with_capacity(proto.initializer.len());
        for mut tensor in std::mem::take(&mut proto.initializer) {
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
            list.push((name, tensor::constant(&what, &mut tensor, self.external)?));
        }
        Ok(list)
    }

    /// The nodes in an order in which they can run, with their names; and names that nothing in the graph makes, each with the
    /// node that uses it.
    fn steps(
        &self,
        nodes: Vec<NodeProto>,
        outer: &HashSet<&str>,
    ) -> Result<(Vec<(String, Step)>, OuterNames)> {
        let mut steps = Vec::with_capacity(nodes.len());
        for (i, node) in nodes.into_iter().enumerate() {
            let op = node.op_type.as_deref().unwrap_or_default();
            let name = match node.name.as_deref() {
                Some(name) if !name.is_empty() => name.to_string(),
                _ => format!("{op}_{i}"),
            };
            let step = self.step(&name, node)?;
            steps.push((name, step));
        }
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

    fn step(&self, name: &str, proto: NodeProto) -> Result<Step> {
        let domain = canonical(proto.domain.as_deref().unwrap_or_default()).to_string();
        let op_type = proto.op_type.unwrap_or_default();
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
        let mut attributes: Vec<(String, Attribute)> = Vec::with_capacity(proto.attribute.len());
        for attribute in proto.attribute {
            let key = attribute.name.clone().unwrap_or_default();
            let what = format!("node `{name}` ({op_type}), attribute `{key}`");
            if attributes.iter().any(|(other, _)| *other == key) {
                return Err(Error::invalid(what, "two values", "names are unique", "export the model again"));
            }
            attributes.push((key, self.attribute(&what, attribute)?));
        }
        if domain.is_empty() {
            let (inputs, outputs) = ops::most(&op_type);
            for (what, list, most) in [("inputs", &proto.input, inputs), ("outputs", &proto.output, outputs)]
            {
                let count = list.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1);
                if count > most {
                    let rule = format!("{op_type} has at most {most}");
                    let node = format!("node `{name}` ({op_type})");
                    return Err(Error::invalid(
                        node,
                        format!("{count} {what}"),
                        rule,
                        "export the model again",
                    ));
                }
            }
        }
        let mut inputs: Vec<Option<String>> =
            proto.input.into_iter().map(|n| Some(n).filter(|n| !n.is_empty())).collect();
        for (_, attribute) in &attributes {
            if let Attribute::Graph(graph) = attribute {
                inputs.extend(graph.captured.iter().cloned().map(Some));
            }
        }
        let import = self.importer.find(&domain, &op_type, &attributes);
        let outputs: Vec<bool> = proto.output.iter().map(|n| !n.is_empty()).collect();
        let node = OnnxNode { domain, op_type, version, attributes, outputs, import };
        Ok(Step { node, inputs, outputs: proto.output })
    }

    fn attribute(&self, what: &str, mut proto: AttributeProto) -> Result<Attribute> {
        let lacking = || Error::invalid(what, "no value", "an attribute has one", "export the model again");
        let of = proto.r#type.unwrap_or(AttributeType::UNDEFINED);
        Ok(match of {
            AttributeType::FLOAT => Attribute::Float(proto.f.unwrap_or(0.0)),
            AttributeType::INT => Attribute::Int(proto.i.unwrap_or(0)),
            AttributeType::STRING => Attribute::Str(proto.s.take().unwrap_or_default()),
            AttributeType::FLOATS => Attribute::Floats(proto.floats),
            AttributeType::INTS => Attribute::Ints(proto.ints),
            AttributeType::STRINGS => Attribute::Strs(proto.strings),
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
        let (steps, captured) = self.steps(proto.node, &known)?;
        let mut captured: Vec<String> = captured.into_iter().map(|(_, name)| name).collect();
        let made: HashSet<&str> =
            steps.iter().flat_map(|(_, s)| s.outputs.iter().map(String::as_str)).collect();
        // An output may be a value of the graph around it.
        let passed = outputs.iter().filter(|o| !known.contains(o.as_str()) && !made.contains(o.as_str()));
        captured.extend(passed.cloned());
        captured.sort_unstable();
        captured.dedup();
        Ok(Subgraph {
            constants: constants.into_iter().map(|(name, c)| (name, c.into())).collect(),
            steps: steps.into_iter().map(|(_, step)| step).collect(),
            inputs,
            outputs,
            captured,
        })
    }
}

/// The type and the sizes of a graph's input.
fn input_type(name: &str, input: &ValueInfoProto) -> Result<(ElementType, Vec<Dim>)> {
    let what = format!("input `{name}`");
    let Some(tensor) = input.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()) else {
        return Err(Error::unsupported(
            what,
            "an input that is not a tensor",
            "export the model with tensors",
        ));
    };
    let of = match tensor.elem_type.unwrap_or(DataType(0)) {
        DataType::FLOAT => ElementType::F32,
        DataType::INT64 | DataType::INT32 | DataType::INT16 | DataType::INT8 | DataType::UINT8 => {
            ElementType::I64
        }
        DataType::BOOL => ElementType::Bool,
        other => {
            let remedy = "export the model with f32 numbers";
            return Err(Error::unsupported(what, format!("the data type {other}"), remedy));
        }
    };
    let Some(shape) = &tensor.shape else {
        return Err(Error::unsupported(
            what,
            "an input of unknown rank",
            "export the model with a shape for it",
        ));
    };
    if shape.dim.len() > blocktensor::MAX_RANK {
        let rule = format!("tensors have at most {} axes", blocktensor::MAX_RANK);
        return Err(Error::invalid(
            what,
            format!("{} axes", shape.dim.len()),
            rule,
            "reshape it before the model",
        ));
    }
    let dims =
        shape.dim.iter().enumerate().map(|(axis, dim)| match (dim.dim_value, dim.dim_param.as_deref()) {
            (Some(size), _) if size >= 0 => Dim::Size(size as usize),
            (_, Some(name)) if !name.is_empty() => Dim::Named(name.to_string()),
            _ => Dim::Named(format!("{name}_{axis}")),
        });
    Ok((of, dims.collect()))
}
