//! `Arg`: the borrowed arguments of a call; `Value`: owned ones, for calls by name.

pub(crate) use crate::op::arg::ArgList;
pub use crate::op::arg::{Arg, Value};

use std::panic::Location;

use crate::error::{Complaint, Error, Result, Text, Unsupported, fail};
use crate::key::DispatchKey;
use crate::layout::dims::{Dims, MAX_RANK};
use crate::op::call::Op;
use crate::op::rules::{Ranks, no_images, wrong_rank};
use crate::op::schema::{ArgKind, ArgSpec, Schema};
use crate::tensor::any::TensorRef;
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::desc::TensorDesc;
use crate::tensor::strided::StridedTensor;

/// The checked arguments of one call, as a kernel sees them: all are there, their kinds match the schema, and the data
/// operands have one key.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    op: &'static Op,
    pub(crate) schema: &'static Schema,
    pub(crate) key: DispatchKey,
    pub(crate) values: &'a [Arg<'a>],
    pub(crate) location: &'static Location<'static>,
}

impl<'a> Args<'a> {
    /// Checks the arguments of one call: their number and kinds match the schema, data operands have one key, parameters and
    /// plain tensors are strided. A host framework makes this before it runs a kernel. The rules for dtypes and ranks are checked
    /// there: a kernel may be registered for other dtypes than the schema states.
    ///
    /// # Errors
    /// `InvalidArgument`, `KeyMismatch`.
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
        let mut first: Option<(Place, TensorRef<'_>)> = None;
        for (spec, value) in schema.args.iter().zip(values) {
            if !fits(spec.kind, value) {
                let got = value.to_string();
                let rule = format!("it is {}", spec.kind.describe());
                fail!(InvalidArgument, schema.name, spec.name, got, rule, "pass what the schema asks for");
            }
            match (spec.kind, value) {
                (kind, Arg::Tensor(t)) if kind.is_data() => {
                    same_key(op, values, &mut first, (spec, None), *t)?
                }
                (kind, Arg::Tensors(list)) if kind.is_data() => {
                    list.iter()
                        .enumerate()
                        .try_for_each(|(i, &t)| same_key(op, values, &mut first, (spec, Some(i)), t))?;
                }
                (_, Arg::Tensor(t)) => check_strided(schema, spec.name, *t)?,
                (_, Arg::Tensors(list)) => {
                    list.iter().try_for_each(|&t| check_strided(schema, spec.name, t))?;
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

    /// Parameters alone, checked against a schema that has only parameters.
    pub(crate) fn of_params(schema: &'static Schema, values: &'a [Arg<'a>]) -> Result<Args<'a>> {
        let args = Args::unchecked(schema, values);
        match schema.args.iter().zip(values).position(|(spec, value)| !fits(spec.kind, value)) {
            Some(i) => Err(args.wrong_kind(i)),
            None => Ok(args),
        }
    }

    /// Arguments that nobody checked: for reading parameters alone.
    pub(crate) fn unchecked(schema: &'static Schema, values: &'a [Arg<'a>]) -> Args<'a> {
        static NO_OP: Op = Op::new(&Schema::new("parameters", &[]));
        Args { op: &NO_OP, schema, key: DispatchKey::STRIDED, values, location: Location::caller() }
    }

    /// The op's name.
    pub fn op(&self) -> &'static str {
        self.schema.name
    }

    /// The data operands' key.
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

    /// How many arguments are tensors or lists of tensors. They stand before the parameters.
    pub(crate) fn tensor_count(&self) -> usize {
        let specs = self.schema.args;
        specs.iter().position(|spec| !spec.kind.is_tensor()).unwrap_or(specs.len())
    }

    /// The name of argument `i`.
    pub fn name(&self, i: usize) -> &'static str {
        self.schema.args[i].name
    }

    /// Every data operand with its argument's name, in order.
    pub fn data_operands(&self) -> impl Iterator<Item = (&'static str, TensorRef<'a>)> {
        data_operands(self.schema, self.values)
    }

    /// Every tensor with its argument's declaration, in order.
    pub(crate) fn tensors_with_specs(&self) -> impl Iterator<Item = (&'static ArgSpec, TensorRef<'a>)> {
        tensors_with_specs(self.schema, self.values)
    }

    /// Checks the schema's rules for the ranks of tensors.
    pub(crate) fn check_ranks(&self) -> Result<()> {
        // A plain loop, as every call runs it.
        for (spec, value) in self.schema.args.iter().zip(self.values) {
            for &t in value.tensors() {
                self.check_rank(spec, t)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn check_rank(&self, spec: &'static ArgSpec, t: TensorRef<'_>) -> Result<()> {
        let rank = t.dims().len();
        let (arg, remedy) = match spec.ranks {
            Ranks::Any => return Ok(()),
            Ranks::SameAs { arg, remedy } => (arg, remedy),
            Ranks::Images { min, max } if rank < min || rank > max => {
                return Err(no_images(self.op(), spec.name, t, spec.ranks));
            }
            ranks => return ranks.check(self.op(), spec.name, rank, || t.describe()),
        };
        match self.tensors_with_specs().find(|(other, _)| other.name == arg) {
            Some((_, other)) if other.dims().len() != rank => {
                let rule = format!("it has the rank of {arg}, which is {}", other.describe());
                Err(wrong_rank(self.op(), spec.name, rank, t.describe(), rule, remedy))
            }
            _ => Ok(()),
        }
    }

    /// The error of a kernel that cannot run this call.
    pub(crate) fn unsupported(&self, reason: Unsupported, remedy: Option<Text>) -> Error {
        self.op.unsupported(self.key, reason, self.values, remedy)
    }

    fn wrong_kind(&self, i: usize) -> Error {
        let got = self.values.get(i).unwrap_or(&Arg::Absent).to_string();
        let rule = format!("it is {}", self.schema.args[i].kind.describe());
        Error::InvalidArgument(Complaint::new(
            self.op(),
            self.name(i),
            got,
            rule,
            "pass what the schema asks for",
        ))
    }

    /// Argument `i`, a tensor.
    pub fn tensor(&self, i: usize) -> Result<TensorRef<'a>> {
        match self.values[i] {
            Arg::Tensor(t) => Ok(t),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Argument `i`, a tensor, or `None` if it was left out.
    pub fn optional_tensor(&self, i: usize) -> Result<Option<TensorRef<'a>>> {
        match self.values[i] {
            Arg::Absent => Ok(None),
            _ => self.tensor(i).map(Some),
        }
    }

    /// Argument `i`, a strided tensor.
    pub fn strided(&self, i: usize) -> Result<&'a StridedTensor> {
        match self.values[i] {
            Arg::Tensor(TensorRef::Strided(t)) => Ok(t),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Argument `i`, a strided tensor, or `None` if it was left out.
    pub fn optional_strided(&self, i: usize) -> Result<Option<&'a StridedTensor>> {
        match self.values[i] {
            Arg::Absent => Ok(None),
            _ => self.strided(i).map(Some),
        }
    }

    /// Argument `i`, a blocked tensor.
    pub fn blocked(&self, i: usize) -> Result<&'a BlockedTensor> {
        match self.values[i] {
            Arg::Tensor(TensorRef::Blocked(t)) => Ok(t),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Argument `i`, a blocked tensor, or `None` if it was left out.
    pub fn optional_blocked(&self, i: usize) -> Result<Option<&'a BlockedTensor>> {
        match self.values[i] {
            Arg::Absent => Ok(None),
            _ => self.blocked(i).map(Some),
        }
    }

    /// Argument `i`, a list of tensors; empty if it was left out.
    pub fn tensors(&self, i: usize) -> Result<&'a [TensorRef<'a>]> {
        match self.values[i] {
            Arg::Tensors(list) => Ok(list),
            Arg::Absent => Ok(&[]),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Argument `i`, an integer.
    pub fn int(&self, i: usize) -> Result<i64> {
        match self.values[i] {
            Arg::Int(v) => Ok(v),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Argument `i`, a count: an integer that is not negative.
    pub fn count(&self, i: usize) -> Result<usize> {
        let v = self.int(i)?;
        usize::try_from(v).map_err(|_| self.negative(i, v.to_string(), "it cannot be negative"))
    }

    /// Argument `i`, a list of sizes, none negative; empty if it was left out.
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
            *place = usize::try_from(v).map_err(|_| self.negative_among(i, values))?;
        }
        if values.len() > MAX_RANK {
            return Dims::new(self.op(), self.name(i), &vec![0; values.len()]);
        }
        Dims::new(self.op(), self.name(i), &sizes[..values.len()])
    }

    /// The error for a list of counts with a negative one.
    pub(crate) fn negative_among(&self, i: usize, values: &[i64]) -> Error {
        self.negative(i, format!("{values:?}"), "no value may be negative")
    }

    fn negative(&self, i: usize, got: String, rule: &str) -> Error {
        let (rule, remedy) = match self.schema.args[i].is_from_one {
            true => ("it counts from 1", "pass 1 or more"),
            false => (rule, "pass 0 or more"),
        };
        Error::InvalidArgument(Complaint::new(self.op(), self.name(i), got, rule, remedy))
    }

    /// Argument `i`, with one value for each of `rank` spatial dimensions. A single value applies to all of them.
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
            format!("pass {} values", alternatives(&[1, rank]))
        )
    }

    /// Argument `i`, a list of integers of any sign; empty if it was left out.
    pub fn ints(&self, i: usize) -> Result<Vec<i64>> {
        match self.values[i] {
            Arg::Int(v) => Ok(vec![v]),
            Arg::Ints(v) => Ok(v.to_vec()),
            Arg::Sizes(v) => Ok(v.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect()),
            Arg::Absent => Ok(Vec::new()),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Argument `i`, a floating-point number.
    pub fn float(&self, i: usize) -> Result<f64> {
        match self.values[i] {
            Arg::Float(v) => Ok(v),
            Arg::Int(v) => Ok(v as f64),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Argument `i`, a Boolean.
    pub fn flag(&self, i: usize) -> Result<bool> {
        match self.values[i] {
            Arg::Bool(v) => Ok(v),
            _ => Err(self.wrong_kind(i)),
        }
    }

    /// Argument `i`, a string.
    pub fn word(&self, i: usize) -> Result<&'a str> {
        match self.values[i] {
            Arg::Str(v) => Ok(v),
            _ => Err(self.wrong_kind(i)),
        }
    }
}

/// Numbers to choose from, each once: `1`, `1 or 2`, `1, 2 or 4`.
pub(crate) fn alternatives(numbers: &[usize]) -> String {
    let mut different = numbers.to_vec();
    different.dedup();
    let texts: Vec<String> = different.iter().map(usize::to_string).collect();
    match texts.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Every tensor among `values`, with its argument's declaration.
fn tensors_with_specs<'a>(
    schema: &'static Schema,
    values: &'a [Arg<'a>],
) -> impl Iterator<Item = (&'static ArgSpec, TensorRef<'a>)> {
    schema.args.iter().zip(values).flat_map(|(spec, value)| value.tensors().iter().map(move |&t| (spec, t)))
}

/// Every data operand among `values`, with its argument's name.
pub(crate) fn data_operands<'a>(
    schema: &'static Schema,
    values: &'a [Arg<'a>],
) -> impl Iterator<Item = (&'static str, TensorRef<'a>)> {
    tensors_with_specs(schema, values).filter(|(spec, _)| spec.kind.is_data()).map(|(spec, t)| (spec.name, t))
}

/// Whether a value may be passed for an argument of this kind.
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

/// An argument, and the number of a tensor in it if it is a list.
type Place = (&'static ArgSpec, Option<usize>);

fn same_key<'a>(
    op: &'static Op,
    values: &[Arg<'_>],
    first: &mut Option<(Place, TensorRef<'a>)>,
    (arg, number): Place,
    t: TensorRef<'a>,
) -> Result<()> {
    let (schema, name) = (op.schema(), arg.name);
    check_opaque(schema.name, name, t)?;
    let Some(((first_arg, first_number), one)) = first else {
        *first = Some(((arg, number), t));
        return Ok(());
    };
    if one.key() == t.key() {
        return Ok(());
    }
    let (a, b) = (one.key(), t.key());
    // Where one of the keys has no kernel, that is what is wrong: a reorder to it would only lead there.
    if let Some(key) = [a, b].into_iter().find(|key| op.kernel(*key).is_none()) {
        return Err(op.unsupported(key, Unsupported::NoKernel, values, None));
    }
    let called = |arg: &ArgSpec, number: Option<usize>| match number {
        None => format!("`{}`", arg.name),
        Some(i) => format!("number {i} of `{}`", arg.name),
    };
    let own = called(arg, number);
    let remedy = if b == DispatchKey::STRIDED {
        arg.way_to(&own, t, *one, preferred(op, a, values, name).as_ref())
    } else {
        Text::from(format!("reorder {own} with ")) + b.way_out().0
    };
    let of_list = number.map_or(String::new(), |i| format!("number {i}, "));
    let other = called(first_arg, *first_number);
    fail!(
        KeyMismatch,
        schema.name,
        name,
        format!("{of_list}{} of key `{b}`", t.describe()),
        format!("{other} is {} of key `{a}`, and data operands must agree", one.describe()),
        remedy
    )
}

/// The form in which the kernel of a key wants the first tensor of an argument beside the others.
fn preferred(op: &'static Op, key: DispatchKey, values: &[Arg<'_>], name: &str) -> Option<TensorDesc> {
    let tensors = || tensors_with_specs(op.schema(), values);
    let inputs: Vec<_> = tensors().map(|(_, t)| TensorDesc::of(t)).collect();
    let at = tensors().position(|(spec, _)| spec.name == name)?;
    op.preferred(key, values, &inputs).ok()??.into_iter().nth(at)
}

/// Refuses another backend's tensor that claims one of our keys: kernels of our keys know their tensors by Rust type.
pub(crate) fn check_opaque(op: &'static str, name: &'static str, t: TensorRef<'_>) -> Result<()> {
    if let TensorRef::Opaque(_) = t
        && [DispatchKey::STRIDED, DispatchKey::BLOCKED].contains(&t.key())
    {
        fail!(
            KeyMismatch,
            op,
            name,
            format!("an opaque tensor that claims key `{}`", t.key()),
            "only this crate's own tensors have that key",
            "give the backend a key of its own with `register_backend`"
        );
    }
    Ok(())
}

/// `KeyMismatch` for an argument that is strided whatever the key of the data, and is not.
fn check_strided(schema: &'static Schema, name: &'static str, t: TensorRef<'_>) -> Result<()> {
    let TensorRef::Strided(_) = t else {
        fail!(
            KeyMismatch,
            schema.name,
            name,
            format!("{} of key `{}`", t.describe(), t.key()),
            "parameters are plain strided tensors, whatever the key of the data",
            Text::from("pass it strided: ") + t.key().way_out().0
        );
    };
    Ok(())
}
