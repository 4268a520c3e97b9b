//! `Arg`, one borrowed argument on its way to a kernel, and `Value`, an owned one for calls by name.

use std::fmt;

use crate::op::params::Params;
use crate::post_ops::PostOps;
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::strided::StridedTensor;

/// One argument, borrowed. Arguments follow the schema's order.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// The argument was left out.
    Absent,
    /// A tensor: data or parameter.
    Tensor(TensorRef<'a>),
    /// A list of tensors.
    Tensors(&'a [TensorRef<'a>]),
    /// An integer.
    Int(i64),
    /// A list of integers.
    Ints(&'a [i64]),
    /// A list of sizes or axes, from a typed call.
    Sizes(&'a [usize]),
    /// A floating-point number.
    Float(f64),
    /// A Boolean.
    Bool(bool),
    /// A string.
    Str(&'a str),
    /// A list of post-ops, for a string argument that names them.
    PostOps(&'a PostOps),
}

impl<'a> Arg<'a> {
    /// The tensors of the argument; none for any other value.
    pub(crate) fn tensors(&self) -> &[TensorRef<'a>] {
        match self {
            Arg::Tensor(t) => std::slice::from_ref(t),
            Arg::Tensors(list) => list,
            _ => &[],
        }
    }
}

/// As errors show it: a number as it is written, a tensor by its sizes, dtype and layout.
impl fmt::Display for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Absent => f.write_str("nothing"),
            Arg::Tensor(t) => f.write_str(&t.describe()),
            Arg::Tensors(list) => write_list(f, list.iter().copied()),
            Arg::Int(v) => write!(f, "{v}"),
            Arg::Ints(v) => write!(f, "{v:?}"),
            Arg::Sizes(v) => write!(f, "{v:?}"),
            // With a point, which tells it from an integer.
            Arg::Float(v) => write!(f, "{v:?}"),
            Arg::Bool(v) => write!(f, "{v}"),
            Arg::Str(v) => write!(f, "{v:?}"),
            Arg::PostOps(v) => write!(f, "\"{v}\""),
        }
    }
}

fn write_list<'a>(f: &mut fmt::Formatter<'_>, list: impl Iterator<Item = TensorRef<'a>>) -> fmt::Result {
    let all: Vec<String> = list.map(TensorRef::describe).collect();
    write!(f, "a list of {} tensors: {}", all.len(), all.join("; "))
}

/// The largest number of arguments of any op of this crate.
const MAX_ARGS: usize = 16;

/// The arguments of a typed call, stored inline.
pub(crate) struct ArgList<'a> {
    list: [Arg<'a>; MAX_ARGS],
    len: usize,
}

impl<'a> ArgList<'a> {
    pub fn new() -> ArgList<'a> {
        ArgList { list: [Arg::Absent; MAX_ARGS], len: 0 }
    }

    /// Tensors, then parameters.
    pub fn of(tensors: &[Arg<'a>], params: &'a impl Params) -> ArgList<'a> {
        let mut args = ArgList::new();
        tensors.iter().for_each(|&t| args.push(t));
        params.push_args(&mut args);
        args
    }

    /// Appends one argument.
    ///
    /// # Panics
    /// If there are more than [`MAX_ARGS`].
    pub fn push(&mut self, arg: Arg<'a>) {
        self.list[self.len] = arg;
        self.len += 1;
    }

    /// All arguments.
    pub fn as_slice(&self) -> &[Arg<'a>] {
        &self.list[..self.len]
    }
}

/// An owned argument, for calls by name.
// A tensor is moved once on its way in; a box would cost more than that move.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Value {
    /// A tensor: data or parameter.
    Tensor(Tensor),
    /// A list of tensors.
    Tensors(Vec<Tensor>),
    /// An integer.
    Int(i64),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A floating-point number.
    Float(f64),
    /// A Boolean.
    Bool(bool),
    /// A string.
    Str(String),
}

/// As errors show it, like [`Arg`].
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Tensor(t) => Arg::Tensor(t.tensor_ref()).fmt(f),
            Value::Tensors(list) => write_list(f, list.iter().map(Operand::tensor_ref)),
            Value::Int(v) => Arg::Int(*v).fmt(f),
            Value::Ints(v) => Arg::Ints(v).fmt(f),
            Value::Float(v) => Arg::Float(*v).fmt(f),
            Value::Bool(v) => Arg::Bool(*v).fmt(f),
            Value::Str(v) => Arg::Str(v).fmt(f),
        }
    }
}

macro_rules! value_from {
    ($($t:ty => $v:ident),*) => {$(
        impl From<$t> for Value { fn from(v: $t) -> Value { Value::$v(v.into()) } }
    )*};
}
value_from!(Tensor => Tensor, StridedTensor => Tensor, BlockedTensor => Tensor, Vec<Tensor> => Tensors,
    i64 => Int, i32 => Int, Vec<i64> => Ints, &[i64] => Ints, f64 => Float, f32 => Float, bool => Bool, &str => Str,
    String => Str);
