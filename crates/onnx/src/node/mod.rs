//! `OnnxNode`: one node of a model, as a node of a graph.

mod subgraph;

use std::fmt;
use std::sync::Arc;

use blocktensor_graph::{Constant, Expansion, Result, Value};

pub(crate) use subgraph::Step;
pub use subgraph::Subgraph;

/// How a node of one op becomes operators: its inputs at known sizes (`None` where the node leaves one out) to its outputs.
///
/// ```
/// use blocktensor_graph::{Expansion, Result, Value};
/// use blocktensor_onnx::{Import, OnnxNode};
///
/// fn swish(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
///     let Some(Some(x)) = inputs.first() else {
///         return Err(cx.invalid("X", "nothing", "it is an input of every node", "pass a tensor"));
///     };
///     assert!(node.float("beta").is_none());
///     Ok(vec![cx.op("silu", &[("x", x)], &[])?])
/// }
/// let import: Import = swish;
/// ```
pub type Import = fn(&OnnxNode, &[Option<Value>], &mut Expansion<'_>) -> Result<Vec<Value>>;

/// The value of an attribute.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Attribute {
    /// An integer.
    Int(i64),
    /// A number.
    Float(f32),
    /// A string.
    Str(String),
    /// Integers.
    Ints(Vec<i64>),
    /// Numbers.
    Floats(Vec<f32>),
    /// Strings.
    Strs(Vec<String>),
    /// A string that is not UTF-8, or strings of which one is not: the bytes of each.
    Bytes(Vec<Vec<u8>>),
    /// A tensor.
    Tensor(Arc<Constant>),
    /// A graph, such as a branch of `If`.
    Graph(Arc<Subgraph>),
}

impl Attribute {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Attribute::Int(_) => Kind::Int,
            Attribute::Float(_) => Kind::Float,
            Attribute::Str(_) => Kind::Str,
            Attribute::Ints(_) => Kind::Ints,
            Attribute::Floats(_) => Kind::Floats,
            Attribute::Strs(_) => Kind::Strs,
            Attribute::Bytes(_) => Kind::Bytes,
            Attribute::Tensor(_) => Kind::Tensor,
            Attribute::Graph(_) => Kind::Graph,
        }
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Int(v) => write!(f, "{v}"),
            Attribute::Float(v) => write!(f, "{v:?}"),
            Attribute::Str(v) => write!(f, "{v:?}"),
            Attribute::Ints(v) => write!(f, "{v:?}"),
            Attribute::Floats(v) => write!(f, "{v:?}"),
            Attribute::Strs(v) => write!(f, "{v:?}"),
            Attribute::Bytes(_) => write!(f, "bytes that are not UTF-8"),
            Attribute::Tensor(v) => write!(f, "a {} tensor {:?}", v.element_type(), v.dims()),
            Attribute::Graph(_) => write!(f, "a graph"),
        }
    }
}

/// The type of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Float,
    Str,
    Ints,
    Floats,
    Strs,
    Bytes,
    Tensor,
    Graph,
}

/// One node of a model: its op, its attributes, the version of the operator set that defines it.
#[derive(Clone, Debug)]
pub struct OnnxNode {
    pub(crate) domain: String,
    pub(crate) op_type: String,
    pub(crate) version: i64,
    pub(crate) attributes: Vec<(String, Attribute)>,
    /// Whether each output has a name, so that something may use it.
    pub(crate) outputs: Vec<bool>,
    pub(crate) import: Result<Import, String>,
    /// Whether it is one of ONNX's own ops, whose definition is known.
    pub(crate) is_checked: bool,
}

impl OnnxNode {
    /// The domain of its operator set: empty for ONNX's own.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The op.
    pub fn op_type(&self) -> &str {
        &self.op_type
    }

    /// The version of the operator set that the model imports.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// An attribute of any type.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// An attribute that is an integer.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.attribute(name)? {
            Attribute::Int(v) => Some(*v),
            _ => None,
        }
    }

    /// An attribute that is a number.
    pub fn float(&self, name: &str) -> Option<f32> {
        match self.attribute(name)? {
            Attribute::Float(v) => Some(*v),
            _ => None,
        }
    }

    /// An attribute that is a string, in UTF-8.
    pub fn str(&self, name: &str) -> Option<&str> {
        match self.attribute(name)? {
            Attribute::Str(v) => Some(v),
            _ => None,
        }
    }

    /// An attribute that is a list of integers.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.attribute(name)? {
            Attribute::Ints(v) => Some(v),
            _ => None,
        }
    }

    /// An attribute that is a list of numbers.
    pub fn floats(&self, name: &str) -> Option<&[f32]> {
        match self.attribute(name)? {
            Attribute::Floats(v) => Some(v),
            _ => None,
        }
    }

    /// An attribute that is a tensor.
    pub fn tensor(&self, name: &str) -> Option<&Constant> {
        match self.attribute(name)? {
            Attribute::Tensor(v) => Some(v),
            _ => None,
        }
    }

    pub(crate) fn graph(&self, name: &str) -> Option<&Subgraph> {
        match self.attribute(name)? {
            Attribute::Graph(v) => Some(v),
            _ => None,
        }
    }

    /// Whether the node names output `i`: something may use it.
    pub fn has_output(&self, i: usize) -> bool {
        self.outputs.get(i).copied().unwrap_or(false)
    }

    /// How many outputs the node lists.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }
}
