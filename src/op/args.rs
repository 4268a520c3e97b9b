//! Arguments on their way to a kernel, and boxed values for calls by name.

use std::panic::Location;

use crate::error::{Complaint, Error, Result, Unsupported, fail};
use crate::key::DispatchKey;
use crate::layout::dims::{Dims, MAX_RANK};
use crate::op::kernel::Op;
use crate::op::schema::{ArgKind, ArgSpec, Schema};
use crate::post_ops::PostOps;
use crate::tensor::any::{Tensor, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::strided::StridedTensor;

/// One argument, borrowed. The order is the schema's.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// Left out.
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
    /// A number.
    Float(f64),
    /// A flag.
    Bool(bool),
    /// A word.
    Str(&'a str),
    /// A list of post-ops, where the schema has a word that names them.
    PostOps(&'a PostOps),
}

/// The most arguments that an op of this crate has.
const MAX_ARGS: usize = 16;

/// The arguments of a typed call, inline.
pub(crate) struct ArgList<'a> {
    list: [Arg<'a>; MAX_ARGS],
    len: usize,
}

impl<'a> ArgList<'a> {
    pub fn new() -> ArgList<'a> {
        ArgList { list: [Arg::Absent; MAX_ARGS], len: 0 }
    }

    /// Appends one.
    ///
    /// # Panics
    /// Beyond [`MAX_ARGS`].
    pub fn push(&mut self, arg: Arg<'a>) {
        self.list[self.len] = arg;
        self.len += 1;
    }

    /// All of them.
    pub fn as_slice(&self) -> &[Arg<'a>] {
        &self.list[..self.len]
    }
}

/// An owned argument, for calls by name.
// A tensor is moved once on its way in; a box would cost more than the copy.
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
    /// A number.
    Float(f64),
    /// A flag.
    Bool(bool),
    /// A word.
    Str(String),
}

macro_rules! value_from {
    ($($t:ty => $v:ident),*) => {$(
        impl From<$t> for Value { fn from(v: $t) -> Value { Value::$v(v.into()) } }
    )*};
}
value_from!(Tensor => Tensor, StridedTensor => Tensor, BlockedTensor => Tensor, Vec<Tensor> => Tensors,
    i64 => Int, i32 => Int, Vec<i64> => Ints, &[i64] => Ints, f64 => Float, f32 => Float, bool => Bool, &str => Str,
    String => Str);

/// The arguments of one call, as a kernel sees them: complete, of the schema's kinds, data operands of one key.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    op: &'static Op,
    pub(crate) schema: &'static Schema,
    pub(crate) key: DispatchKey,
    pub(crate) values: &'a [Arg<'a>],
    pub(crate) location: &'static Location<'static>,
}

impl<'a> Args<'a> {
    /// The arguments of one call, checked: as many as the schema has, of its kinds, data operands of one key,
    /// parameters 1-D and strided, plain tensors strided. What a host framework makes before it runs a kernel.
    ///
    /// # Errors
    /// `InvalidArgument`, `KeyMismatch`, `RankMismatch`.
    #[track_caller]
    pub fn new(op: &'static Op, values: &'a [Arg<'a>]) -> Result<Args<'a>> {
        let schema = op.schema();
        if values.len() != schema.args.len() {
            fail!(
                InvalidArgument,
                schema.name,
                "arguments",
                format!("{} values", values.len()),
                format!("the schema has {}", schema.args.len()),
                "pass one value for each"
            );
        }
        let mut first: Option<(&'static str, TensorRef<'_>)> = None;
        for (spec, value) in schema.args.iter().zip(values) {
            if !fits(spec.kind, value) {
                let got = match value {
                    Arg::Absent => "nothing".to_string(),
                    Arg::Tensor(t) => t.describe(),
                    other => format!("{other:?}"),
                };
                let rule = format!("it is {}", spec.kind.describe());
                fail!(InvalidArgument, schema.name, spec.name, got, rule, "pass what the schema asks for");
            }
            match (spec.kind, value) {
                (ArgKind::Param | ArgKind::OptionalParam, Arg::Tensor(t)) => {
                    check_param(schema, spec.name, *t)?
                }
                (ArgKind::ParamList, Arg::Tensors(list)) => {
                    list.iter().try_for_each(|&t| check_param(schema, spec.name, t))?;
                }
                (ArgKind::Plain, Arg::Tensor(t)) => check_strided(schema, spec.name, *t).map(|_| ())?,
                (kind, Arg::Tensor(t)) if kind.is_data() => same_key(schema, &mut first, spec, *t)?,
                (kind, Arg::Tensors(list)) if kind.is_data() => {
                    list.iter().try_for_each(|&t| same_key(schema, &mut first, spec, t))?;
                }
                _ => {}
            }
        }
        let Some((_, operand)) = first else {
            fail!(
                InvalidArgument,
                schema.name,
                schema.args.first().map_or("data", |a| a.name),
                "no tensors",
                "the data operands choose the kernel",
                "pass at least one tensor"
            );
        };
        Ok(Args { op, schema, key: operand.key(), values, location: Location::caller() })
    }

    /// Parameters alone, by a schema of them.
    pub(crate) fn of_params(schema: &'static Schema, values: &'a [Arg<'a>]) -> Result<Args<'a>> {
        static NO_OP: Op = Op::new(&Schema::new("parameters", &[]));
        let args =
            Args { op: &NO_OP, schema, key: DispatchKey::STRIDED, values, location: Location::caller() };
        match schema.args.iter().zip(values).position(|(spec, value)| !fits(spec.kind, value)) {
            Some(i) => Err(args.wrong_kind(i)),
            None => Ok(args),
        }
    }

    /// The op's name.
    pub fn op(&self) -> &'static str {
        self.schema.name
    }

    /// The key of the data operands.
    pub fn key(&self) -> DispatchKey {
        self.key
    }

    /// Where the user's code made the call.
    pub fn location(&self) -> &'static Location<'static> {
        self.location
    }

    /// All values, in the schema's order.
    pub fn values(&self) -> &'a [Arg<'a>] {
        self.values
    }

    /// Name of argument `i`.
    pub fn name(&self, i: usize) -> &'static str {
        self.schema.args[i].name
    }

    /// Every data operand, in order.
    pub fn data_operands(&self) -> impl Iterator<Item = (&'static str, TensorRef<'a>)> {
        data_operands(self.schema, self.values)
    }

    /// The error of a kernel that does not run as it was called.
    pub(crate) fn unsupported(&self, reason: Unsupported, remedy: Option<String>) -> Error {
        self.op.unsupported(self.key, reason, self.values, remedy)
    }

    fn wrong_kind(&self, i: usize) -> Error {
        let got = match self.values.get(i) {
            Some(Arg::Tensor(t)) => t.describe(),
            Some(Arg::Absent) | None => "nothing".into(),
            Some(other) => format!("{other:?}"),
        };
        let rule = format!("it is {}", self.schema.args[i].kind.describe());
        Error::InvalidArgument(Complaint::new(
            self.op(),
            self.name(i),
            got,
            rule,
            "pass what the schema asks for",
        ))
    }

    /// Tensor number `i`.
    pub fn tensor(&self, i: usize) -> Result<TensorRef<'a>> {
        match self.values[i] {
            Arg::Tensor(t) => Ok(t),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Tensor number `i`, where there is one.
    pub fn optional_tensor(&self, i: usize) -> Result<Option<TensorRef<'a>>> {
        match self.values[i] {
            Arg::Absent => Ok(None),
            _ => self.tensor(i).map(Some),
        }
    }

    /// Strided tensor number `i`.
    pub fn strided(&self, i: usize) -> Result<&'a StridedTensor> {
        match self.values[i] {
            Arg::Tensor(TensorRef::Strided(t)) => Ok(t),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Strided tensor number `i`, where there is one.
    pub fn optional_strided(&self, i: usize) -> Result<Option<&'a StridedTensor>> {
        match self.values[i] {
            Arg::Absent => Ok(None),
            _ => self.strided(i).map(Some),
        }
    }

    /// Blocked tensor number `i`.
    pub fn blocked(&self, i: usize) -> Result<&'a BlockedTensor> {
        match self.values[i] {
            Arg::Tensor(TensorRef::Blocked(t)) => Ok(t),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Blocked tensor number `i`, where there is one.
    pub fn optional_blocked(&self, i: usize) -> Result<Option<&'a BlockedTensor>> {
        match self.values[i] {
            Arg::Absent => Ok(None),
            _ => self.blocked(i).map(Some),
        }
    }

    /// The list of tensors number `i`; empty where it was left out.
    pub fn tensors(&self, i: usize) -> Result<&'a [TensorRef<'a>]> {
        match self.values[i] {
            Arg::Tensors(list) => Ok(list),
            Arg::Absent => Ok(&[]),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Integer number `i`.
    pub fn int(&self, i: usize) -> Result<i64> {
        match self.values[i] {
            Arg::Int(v) => Ok(v),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Integer number `i`, which counts something: never negative.
    pub fn count(&self, i: usize) -> Result<usize> {
        let v = self.int(i)?;
        match usize::try_from(v) {
            Ok(n) => Ok(n),
            Err(_) => fail!(
                InvalidArgument,
                self.op(),
                self.name(i),
                v.to_string(),
                "it cannot be negative",
                "pass 0 or more"
            ),
        }
    }

    /// The list of sizes number `i`: never negative. Empty where it was left out.
    pub fn sizes(&self, i: usize) -> Result<Dims> {
        match self.values[i] {
            Arg::Sizes(v) => Dims::new(self.op(), self.name(i), v),
            Arg::Int(v) => self.to_sizes(i, &[v]),
            Arg::Ints(v) => self.to_sizes(i, v),
            Arg::Absent => Ok(Dims::EMPTY),
            _ => Err(self.wrong_kind(i)),
        }
    }

    fn to_sizes(self, i: usize, values: &[i64]) -> Result<Dims> {
        let mut sizes = [0; MAX_RANK];
        for (place, &v) in sizes.iter_mut().zip(values) {
            match usize::try_from(v) {
                Ok(n) => *place = n,
                Err(_) => fail!(
                    InvalidArgument,
                    self.op(),
                    self.name(i),
                    format!("{values:?}"),
                    "no value may be negative",
                    "pass 0 or more"
                ),
            }
        }
        if values.len() > MAX_RANK {
            return Dims::new(self.op(), self.name(i), &vec![0; values.len()]);
        }
        Dims::new(self.op(), self.name(i), &sizes[..values.len()])
    }

    /// One value for each of `rank` spatial dimensions: a single value stands for all of them.
    pub fn spatial(&self, i: usize, rank: usize) -> Result<Dims> {
        let given = self.sizes(i)?;
        if given.len() == rank {
            return Ok(given);
        }
        if given.len() == 1 {
            return Ok(Dims::filled(given[0], rank));
        }
        fail!(
            InvalidArgument,
            self.op(),
            self.name(i),
            format!("{given}"),
            format!("it has one value for each of the {rank} spatial dimensions, or one for all"),
            format!("pass 1 or {rank} values")
        )
    }

    /// The list of integers number `i`, of any sign. Empty where it was left out.
    pub fn ints(&self, i: usize) -> Result<Vec<i64>> {
        match self.values[i] {
            Arg::Int(v) => Ok(vec![v]),
            Arg::Ints(v) => Ok(v.to_vec()),
            Arg::Sizes(v) => Ok(v.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect()),
            Arg::Absent => Ok(Vec::new()),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Number `i`.
    pub fn float(&self, i: usize) -> Result<f64> {
        match self.values[i] {
            Arg::Float(v) => Ok(v),
            Arg::Int(v) => Ok(v as f64),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Flag number `i`.
    pub fn flag(&self, i: usize) -> Result<bool> {
        match self.values[i] {
            Arg::Bool(v) => Ok(v),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Word number `i`.
    pub fn word(&self, i: usize) -> Result<&'a str> {
        match self.values[i] {
            Arg::Str(v) => Ok(v),
            _ => Err(self.wrong_kind(i)),
        }
    }
}

/// Every data operand among `values`, with its name.
pub(crate) fn data_operands<'a>(
    schema: &'static Schema,
    values: &'a [Arg<'a>],
) -> impl Iterator<Item = (&'static str, TensorRef<'a>)> {
    schema.args.iter().zip(values).filter(|(spec, _)| spec.kind.is_data()).flat_map(|(spec, value)| {
        let list: &[TensorRef<'a>] = match value {
            Arg::Tensor(t) => std::slice::from_ref(t),
            Arg::Tensors(list) => list,
            _ => &[],
        };
        list.iter().map(|&t| (spec.name, t))
    })
}

/// Whether a value may stand for an argument of this kind.
pub(crate) fn fits(kind: ArgKind, value: &Arg<'_>) -> bool {
    matches!(
        (kind, value),
        (
            ArgKind::Data | ArgKind::Param | ArgKind::Plain | ArgKind::OptionalData | ArgKind::OptionalParam,
            Arg::Tensor(_)
        ) | (ArgKind::DataList | ArgKind::ParamList, Arg::Tensors(_))
            | (ArgKind::OptionalData | ArgKind::OptionalParam | ArgKind::ParamList, Arg::Absent)
            | (ArgKind::Int(_), Arg::Int(_))
            | (ArgKind::Ints(_), Arg::Int(_) | Arg::Ints(_) | Arg::Sizes(_))
            | (ArgKind::Float(_), Arg::Float(_) | Arg::Int(_))
            | (ArgKind::Bool(_), Arg::Bool(_))
            | (ArgKind::Str(_), Arg::Str(_) | Arg::PostOps(_))
    )
}

fn same_key<'a>(
    schema: &'static Schema,
    first: &mut Option<(&'static str, TensorRef<'a>)>,
    arg: &'static ArgSpec,
    t: TensorRef<'a>,
) -> Result<()> {
    let name = arg.name;
    check_opaque(schema.name, name, t)?;
    let Some((first_name, one)) = first else {
        *first = Some((name, t));
        return Ok(());
    };
    if one.key() == t.key() {
        return Ok(());
    }
    let (a, b) = (one.key(), t.key());
    let remedy = if b == DispatchKey::STRIDED {
        arg.way_to(a, t.dims().len())
    } else {
        format!("reorder `{name}` with `{}`", b.spec().to_strided)
    };
    fail!(
        KeyMismatch,
        schema.name,
        name,
        format!("{} of key `{b}`", t.describe()),
        format!("`{first_name}` is {} of key `{a}`, and data operands must agree", one.describe()),
        remedy
    )
}

/// A tensor of another backend does not pass for one of ours: kernels of our keys know their tensors by type.
pub(crate) fn check_opaque(op: &'static str, name: &'static str, t: TensorRef<'_>) -> Result<()> {
    if let TensorRef::Opaque(_) = t
        && [DispatchKey::STRIDED, DispatchKey::BLOCKED].contains(&t.key())
    {
        fail!(
            KeyMismatch,
            op,
            name,
            format!("an opaque tensor that says it is of key `{}`", t.key()),
            "that key's tensors are this crate's own",
            "give the backend a key of its own with `register_backend`"
        );
    }
    Ok(())
}

fn check_param(schema: &'static Schema, name: &'static str, t: TensorRef<'_>) -> Result<()> {
    let s = check_strided(schema, name, t)?;
    if s.rank() > 1 {
        fail!(
            RankMismatch,
            schema.name,
            name,
            t.describe(),
            "parameters have one dimension",
            "flatten it, one value for each channel"
        );
    }
    Ok(())
}

/// The strided tensor behind an argument that is strided whatever the key of the data; `KeyMismatch` for any other.
fn check_strided<'a>(
    schema: &'static Schema,
    name: &'static str,
    t: TensorRef<'a>,
) -> Result<&'a StridedTensor> {
    let TensorRef::Strided(s) = t else {
        fail!(
            KeyMismatch,
            schema.name,
            name,
            format!("{} of key `{}`", t.describe(), t.key()),
            "parameters are plain strided tensors, whatever the key of the data",
            format!("pass it strided: `{}`", t.key().spec().to_strided)
        );
    };
    Ok(s)
}
