//! A look over the bytes of a model before they are parsed: lengths, depth of nesting, the fields that the parser skips, and where
//! strings stand that may be any bytes.
//!
//! The parser allocates as many bytes as a length says, calls itself for nested messages, and never comes back from a number of
//! more than ten bytes in a list. All three are checked first. Its lists grow as it reads them, and it ends the process where one
//! finds no memory: their sum is reserved ahead, for trial.

use std::io::{BufRead, Seek};

use blocktensor::memory;

use crate::error::{Error, Result};

/// How deep messages may be nested, as protobuf's own readers limit it: a graph in a graph takes three levels.
const MAX_DEPTH: usize = 100;

/// What errors about memory call the lists of a model.
const NODES: &str = "the nodes of a model";

/// The most **bytes** of a node's name that an error repeats.
const MAX_NAME: u64 = 120;

/// What to do about functions of a model's own. Their versions of ONNX's ops may be others than the model's.
pub(crate) const INLINE: &str = "export it with functions inlined, or inline them with `onnx.inliner.inline_local_functions` and `convert_version=True`";

/// What to do about tensors of other forms.
const DENSE: &str = "export it with dense numeric tensors";

/// The fields of a tensor that hold its elements. The parser does not read strings and the last one.
const VALUES: [(u64, &str); 7] = [
    (4, "float_data"),
    (5, "int32_data"),
    (6, "string_data"),
    (7, "int64_data"),
    (9, "raw_data"),
    (10, "double_data"),
    (11, "uint64_data"),
];
/// The field of a tensor that says where its elements are, and its number for another file.
const LOCATION: (u64, u64) = (14, 1);

/// The messages of `onnx.proto` whose fields are looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    ValueInfo,
    Type,
    TensorType,
    Shape,
    Sequence,
    /// Any message whose fields hold no other messages that matter.
    Leaf,
}

impl Message {
    fn name(self) -> String {
        match self {
            Message::Leaf => "an inner message".to_string(),
            Message::Attribute => "an Attribute".to_string(),
            other => format!("a {other:?}"),
        }
    }
}

/// What a field of a message holds.
enum FieldOf {
    Message(Message),
    /// Integers of variable length, one after another.
    Integers,
    Other,
    /// One that is not supported, with what to do about it.
    Refused(&'static str, &'static str),
    /// An attribute that takes the value of one of the function around it. Functions are not read.
    Reference,
}

fn field_of(message: Message, number: u64) -> FieldOf {
    use FieldOf::{Message as M, Refused};
    match (message, number) {
        (Message::Model, 7) => M(Message::Graph),
        (Message::Model, 8 | 14) => M(Message::Leaf),
        (Message::Model, 20) => Refused(
            "training information",
            "remove it (`del model.training_info[:]`), or export the model for inference",
        ),
        (Message::Model, 25) => Refused("a function of the model's own", INLINE),
        (Message::Graph, 1) => M(Message::Node),
        (Message::Graph, 5) => M(Message::Tensor),
        (Message::Graph, 11..=13) => M(Message::ValueInfo),
        (Message::Graph, 15) => Refused("a sparse initializer", DENSE),
        (Message::Node, 5) => M(Message::Attribute),
        (Message::Attribute, 5) => M(Message::Tensor),
        (Message::Attribute, 6) => M(Message::Graph),
        (Message::Attribute, 10) => Refused("an attribute that is a list of tensors", DENSE),
        (Message::Attribute, 11) => Refused("an attribute that is a list of graphs", DENSE),
        (Message::Attribute, 21) => FieldOf::Reference,
        (Message::Attribute, 22 | 23) => Refused("a sparse tensor", DENSE),
        (Message::Tensor, 3) => Refused("a tensor in segments", DENSE),
        (Message::Tensor, 5 | 7) => FieldOf::Integers,
        (Message::Tensor, 13) => M(Message::Leaf),
        (Message::ValueInfo, 2) => M(Message::Type),
        (Message::Type, 1) => M(Message::TensorType),
        (Message::Type, 4) => M(Message::Sequence),
        (Message::TensorType, 2) => M(Message::Shape),
        (Message::Shape, 1) => M(Message::Leaf),
        (Message::Sequence, 1) => M(Message::Type),
        _ => FieldOf::Other,
    }
}

/// The memory in **bytes** that a message takes: the parser's structure, in a list that doubles when it is full, and what the graph
/// keeps of it.
const MESSAGE: u64 = 4096;

/// The memory in **bytes** that a number takes in a list that doubles when it is full: the old list and the new one exist at once.
const NUMBER: u64 = 24;

/// The memory in **bytes** that a field of this length takes, without the messages in it. Bytes of tensors are reserved where they
/// are read.
fn memory_of(message: Message, number: u64, length: u64) -> u64 {
    match (message, number) {
        // Floats in lists, four bytes each, or doubles.
        (Message::Tensor, 4 | 10) | (Message::Attribute, 7) => length.saturating_mul(3),
        // Integers in lists, at least one byte each.
        (Message::Tensor, 1 | 5 | 7) | (Message::Attribute, 8) => length.saturating_mul(NUMBER),
        // Strings of tensors, which the parser skips.
        (Message::Tensor, 6) => 0,
        // Names, which several lists of the graph repeat, and strings.
        (Message::Node, 1..=4 | 7)
        | (Message::Tensor, 8)
        | (Message::ValueInfo, 1)
        | (Message::Attribute, 1 | 4 | 9)
        | (Message::Leaf, _) => length.saturating_mul(8).saturating_add(256),
        _ => NUMBER,
    }
}

/// Checks the bytes of a model, `length` of them. Returns the positions of the strings of its attributes, in order: those may be any
/// bytes, where all other strings are UTF-8.
pub(crate) fn check(source: &mut (impl BufRead + Seek), length: u64) -> Result<Vec<u64>> {
    if length == 0 {
        return Err(malformed("the file is empty"));
    }
    let (within, tensor) = (Within::default(), Elements::default());
    let mut scan = Scan { source, position: 0, memory: 0, within, tensor, strings: Vec::new() };
    scan.message(length, Message::Model, 0)?;
    let bytes = usize::try_from(scan.memory).unwrap_or(usize::MAX);
    memory::require(NODES, bytes)?;
    Ok(scan.strings)
}

fn malformed(reason: impl Into<String>) -> Error {
    Error::Malformed { reason: reason.into() }
}

/// The node that a message is in. Writers put its name and its op before its attributes, in which other graphs are.
#[derive(Default)]
struct Within {
    /// The number of nodes up to it in its graph; 0 outside of nodes.
    nodes: usize,
    name: String,
    op: String,
}

impl std::fmt::Display for Within {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Within { nodes, name, op } = self;
        match (nodes, &**name) {
            (0, _) => f.write_str("the model"),
            // As nodes without names are called in every error.
            (nodes, "") => write!(f, "node `{op}_{}` ({op})", nodes - 1),
            (_, name) => write!(f, "node `{name}` ({op})"),
        }
    }
}

/// What the fields of a tensor say about its elements.
#[derive(Default)]
struct Elements {
    name: String,
    /// Which of [`VALUES`] are there. Writers leave empty ones, which hold nothing.
    values: [bool; VALUES.len()],
    is_external: bool,
}

impl Elements {
    /// Takes in a field that is not empty; `value` is that of an integer.
    fn note(&mut self, number: u64, value: u64) {
        if number == LOCATION.0 {
            self.is_external = value == LOCATION.1;
        }
        if let Some(i) = VALUES.iter().position(|(field, _)| *field == number) {
            self.values[i] = true;
        }
    }
}

struct Scan<'a, R> {
    source: &'a mut R,
    position: u64,
    /// The memory in **bytes** that the parser's lists take.
    memory: u64,
    within: Within,
    tensor: Elements,
    /// Where the strings of attributes begin.
    strings: Vec<u64>,
}

impl<R: BufRead + Seek> Scan<'_, R> {
    /// Checks a message that ends at this position.
    fn message(&mut self, end: u64, of: Message, depth: usize) -> Result<()> {
        self.memory = self.memory.saturating_add(MESSAGE);
        let (mut has_graph, mut nodes) = (false, 0);
        while self.position < end {
            let tag = self.varint(end)?;
            let (number, wire) = (tag >> 3, tag & 7);
            // The parser would skip it as a field that it does not know, and its value with it.
            if number == 0 {
                return Err(malformed(format!("{} has a field with the number 0", of.name())));
            }
            let length = match wire {
                0 => {
                    let value = self.varint(end)?;
                    if of == Message::Tensor {
                        self.tensor.note(number, value);
                    }
                    self.memory = self.memory.saturating_add(NUMBER);
                    continue;
                }
                1 => 8,
                2 => self.varint(end)?,
                5 => 4,
                _ => {
                    let reason = format!("field {number} of {} has the wire type {wire}", of.name());
                    return Err(malformed(reason));
                }
            };
            let left = end - self.position;
            if length > left {
                let reason =
                    format!("field {number} of {} is longer than the {left} bytes that are left", of.name());
                return Err(malformed(reason));
            }
            self.memory = self.memory.saturating_add(memory_of(of, number, length));
            if of == Message::Tensor && length > 0 {
                self.tensor.note(number, 0);
            }
            match field_of(of, number) {
                FieldOf::Message(Message::Graph) if has_graph => {
                    return Err(malformed(format!("{} has two graphs in one field", of.name())));
                }
                FieldOf::Message(inner) if wire == 2 => {
                    has_graph |= inner == Message::Graph;
                    let (end, depth) = (self.position + length, depth + 1);
                    if depth > MAX_DEPTH {
                        return Err(Error::unsupported(
                            self.within.to_string(),
                            format!(
                                "more than {MAX_DEPTH} messages inside each other, three for each `If` or `Loop`,"
                            ),
                            "export it with fewer `If` and `Loop` nodes inside each other",
                        ));
                    }
                    if inner == Message::Node {
                        nodes += 1;
                        let node = Within { nodes, ..Within::default() };
                        let outer = std::mem::replace(&mut self.within, node);
                        self.message(end, inner, depth)?;
                        self.within = outer;
                    } else {
                        if inner == Message::Tensor {
                            self.tensor = Elements::default();
                        }
                        self.message(end, inner, depth)?;
                        if inner == Message::Tensor {
                            self.check_elements(of)?;
                        }
                    }
                }
                FieldOf::Integers if wire == 2 => {
                    let end = self.position + length;
                    while self.position < end {
                        self.varint(end)?;
                    }
                }
                FieldOf::Refused(feature, remedy) => {
                    return Err(Error::unsupported("the model", feature, remedy));
                }
                FieldOf::Reference => {
                    let (got, rule) =
                        ("an attribute that refers to a function's", "only nodes of functions have those");
                    let remedy = "give the attribute a value";
                    return Err(Error::invalid(self.within.to_string(), got, rule, remedy));
                }
                _ => match (of, number) {
                    (Message::Node, 3) => self.within.name = self.text(length)?,
                    (Message::Node, 4) => self.within.op = self.text(length)?,
                    (Message::Tensor, 8) => self.tensor.name = self.text(length)?,
                    (Message::Attribute, 4 | 9) if length > 0 => self.string(length)?,
                    _ => self.skip(length)?,
                },
            }
        }
        Ok(())
    }

    /// Refuses a tensor with two fields of elements: readers differ in which they take. `holder` is what holds the tensor.
    fn check_elements(&self, holder: Message) -> Result<()> {
        let Elements { name, values, is_external } = &self.tensor;
        let external = is_external.then(|| "external data".to_string());
        let there = VALUES.iter().zip(values).filter(|(_, there)| **there);
        let mut fields = external.into_iter().chain(there.map(|((_, name), _)| format!("`{name}`")));
        let (Some(first), Some(second)) = (fields.next(), fields.next()) else { return Ok(()) };
        let what = match holder {
            Message::Graph => format!("initializer `{name}`"),
            _ => self.within.to_string(),
        };
        let got = format!("both {first} and {second}");
        let rule = "one field of a tensor holds its elements";
        Err(Error::invalid(what, got, rule, "the file is damaged: export the model again"))
    }

    /// The beginning of a text of this length, for an error.
    fn text(&mut self, length: u64) -> Result<String> {
        let mut bytes = vec![0; length.min(MAX_NAME) as usize];
        self.source.read_exact(&mut bytes).map_err(|e| malformed(e.to_string()))?;
        self.position += bytes.len() as u64;
        self.skip(length - bytes.len() as u64)?;
        Ok(String::from_utf8_lossy(&bytes).escape_debug().to_string())
    }

    /// Notes where a string of an attribute is.
    fn string(&mut self, length: u64) -> Result<()> {
        if self.strings.len() == self.strings.capacity() {
            // The list doubles, and would end the process where it finds no memory.
            memory::require(NODES, 2 * size_of_val(&*self.strings) + 64)?;
        }
        self.strings.push(self.position);
        self.skip(length)
    }

    fn skip(&mut self, length: u64) -> Result<()> {
        let offset = i64::try_from(length).map_err(|_| malformed("a length of 2^63 bytes or more"))?;
        self.source.seek_relative(offset).map_err(|e| malformed(e.to_string()))?;
        self.position += length;
        Ok(())
    }

    /// A variable-length integer.
    fn varint(&mut self, end: u64) -> Result<u64> {
        let mut value = 0u64;
        for i in 0..10 {
            let byte = self.source.fill_buf().map_err(|e| malformed(e.to_string()))?.first().copied();
            let Some(byte) = byte.filter(|_| self.position < end) else {
                return Err(malformed("it ends inside a number"));
            };
            self.source.consume(1);
            self.position += 1;
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 && (i < 9 || byte < 2) {
                return Ok(value);
            }
        }
        Err(malformed("a number has more than 64 bits"))
    }
}
