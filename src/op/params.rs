//! Typed parameters: one struct per op. The struct makes the parameter arguments of the op's schema, is read from a call, and
//! can be printed, compared, hashed and serialised.
//!
//! The [`params!`](crate::op::params::params) macro declares such a struct. Each field names its argument in the schema:
//!
//! ```ignore
//! params! {
//!     /// Parameters of softmax.
//!     pub struct Softmax {
//!         axis: usize => required_int("axis"),
//!     }
//! }
//! const ARGS: [ArgSpec; 2] = with_params(&[data("x")], Softmax::SPECS);
//! ```
//!
//! Arguments have no value that means "none", so an optional number needs a number for it. Prefer a default without effect, as
//! the infinite bounds of `clamp`. If negative numbers have no meaning of their own, use [`NegativeIsNone`] with the default -1,
//! as `logit` does. An optional list is empty: `Option<[usize; N]>`.

use crate::error::{Result, fail};
use crate::int::{self, Int, Scalars};
use crate::layout::dims::Dims;
use crate::op::args::{Arg, ArgList, Args, Value};
use crate::op::param_value::ParamValue;
use crate::op::schema::{ArgSpec, Schema};
use crate::post_ops::PostOps;

/// The parameters of an op. In the op's schema they follow the tensors.
pub(crate) trait Params: Sized {
    /// Their arguments in the schema, in order.
    const SPECS: &'static [ArgSpec];

    /// A schema that has only these parameters, for reading them from a file.
    const STORED: &'static Schema = &Schema::new("parameters", Self::SPECS);

    /// Reads the parameters from a call whose schema ends with [`SPECS`](Self::SPECS).
    fn read(args: &Args<'_>) -> Result<Self>;

    /// Appends the values, in order.
    fn push_args<'a>(&'a self, to: &mut ArgList<'a>);

    /// The index of the first parameter among a call's arguments.
    fn first(args: &Args<'_>) -> usize {
        args.tensor_count()
    }

    /// Names and values, in order.
    fn values(&self) -> Vec<(&'static str, ParamValue)> {
        let args = ArgList::of(&[], self);
        let named = |(spec, &arg): (&ArgSpec, &Arg<'_>)| Some((spec.name, ParamValue::of(arg)?));
        Self::SPECS.iter().zip(args.as_slice()).filter_map(named).collect()
    }
}

/// The arguments of a schema: tensors, then parameters.
pub(crate) const fn with_params<const N: usize>(tensors: &[ArgSpec], params: &[ArgSpec]) -> [ArgSpec; N] {
    assert!(tensors.len() + params.len() == N, "the number of arguments");
    let mut all = [tensors[0]; N];
    let mut i = 1;
    while i < N {
        all[i] = if i < tensors.len() { tensors[i] } else { params[i - tensors.len()] };
        i += 1;
    }
    all
}

/// A type that a parameter can have.
pub(crate) trait Param: Sized {
    /// Reads argument `i`.
    fn read(args: &Args<'_>, i: usize) -> Result<Self>;
    /// Makes an argument of the value.
    fn arg(&self) -> Arg<'_>;
}

impl Param for bool {
    fn read(args: &Args<'_>, i: usize) -> Result<bool> {
        args.flag(i)
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Bool(*self)
    }
}

impl Param for i64 {
    fn read(args: &Args<'_>, i: usize) -> Result<i64> {
        args.int(i)
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Int(*self)
    }
}

/// The number of an axis; negative ones count from the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis(i64);

impl Axis {
    pub(crate) fn of(axis: impl Int) -> Axis {
        Axis(axis.to_i64())
    }

    /// Which one it is of `rank` axes.
    pub(crate) fn among(self, op: &'static str, rank: usize, scalars: Scalars) -> Result<usize> {
        int::axis(op, "axis", self.0, rank, scalars)
    }
}

impl Param for Axis {
    fn read(args: &Args<'_>, i: usize) -> Result<Axis> {
        args.int(i).map(Axis)
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Int(self.0)
    }
}

/// Numbers of axes; negative ones count from the last.
#[derive(Clone, Debug)]
pub(crate) struct AxisList(Vec<i64>);

impl AxisList {
    pub(crate) fn of(axes: &[impl Int]) -> AxisList {
        AxisList(int::to_i64s(axes))
    }

    /// Which ones they are of `rank` axes, in the order given.
    pub(crate) fn among(
        &self,
        op: &'static str,
        argument: &'static str,
        rank: usize,
        scalars: Scalars,
    ) -> Result<Dims> {
        let axes = self.0.iter().map(|&axis| int::axis(op, argument, axis, rank, scalars));
        Dims::new(op, argument, &axes.collect::<Result<Vec<usize>>>()?)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Param for AxisList {
    fn read(args: &Args<'_>, i: usize) -> Result<AxisList> {
        args.ints(i).map(AxisList)
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Ints(&self.0)
    }
}

/// A count; not negative.
impl Param for usize {
    fn read(args: &Args<'_>, i: usize) -> Result<usize> {
        args.count(i)
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Int(i64::try_from(*self).unwrap_or(i64::MAX))
    }
}

impl Param for f64 {
    fn read(args: &Args<'_>, i: usize) -> Result<f64> {
        args.float(i)
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Float(*self)
    }
}

/// An optional number of an op for which negative numbers have no meaning of their own: any negative number is read as `None`,
/// and `None` is passed on as -1. NaN is a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NegativeIsNone(pub Option<f64>);

impl From<Option<f64>> for NegativeIsNone {
    fn from(value: Option<f64>) -> NegativeIsNone {
        NegativeIsNone(value)
    }
}

impl Param for NegativeIsNone {
    fn read(args: &Args<'_>, i: usize) -> Result<NegativeIsNone> {
        let value = args.float(i)?;
        Ok(NegativeIsNone(if value < 0.0 { None } else { Some(value) }))
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Float(self.0.unwrap_or(-1.0))
    }
}

/// Any number of sizes.
impl Param for Dims {
    fn read(args: &Args<'_>, i: usize) -> Result<Dims> {
        args.sizes(i)
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Sizes(self)
    }
}

/// One value for each spatial dimension. A single value applies to all of them.
impl<const N: usize> Param for [usize; N] {
    fn read(args: &Args<'_>, i: usize) -> Result<[usize; N]> {
        let values = args.spatial(i, N)?;
        Ok(std::array::from_fn(|axis| values[axis]))
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Sizes(self)
    }
}

/// One value for each spatial dimension, or none. `None` is an empty list; the op then uses its own default.
impl<const N: usize> Param for Option<[usize; N]> {
    fn read(args: &Args<'_>, i: usize) -> Result<Option<[usize; N]>> {
        if args.sizes(i)?.is_empty() { Ok(None) } else { <[usize; N]>::read(args, i).map(Some) }
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Sizes(self.as_ref().map_or(&[], |values| values))
    }
}

/// Any number of integers of any sign.
impl Param for Vec<i64> {
    fn read(args: &Args<'_>, i: usize) -> Result<Vec<i64>> {
        args.ints(i)
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Ints(self)
    }
}

/// Sizes or counts, as many as are given: unlike [`Dims`], more than a tensor has axes.
impl Param for Vec<usize> {
    fn read(args: &Args<'_>, i: usize) -> Result<Vec<usize>> {
        if let Arg::Sizes(values) = args.values()[i] {
            return Ok(values.to_vec());
        }
        let values = args.ints(i)?;
        let count = |&v: &i64| usize::try_from(v).map_err(|_| args.negative_among(i, &values));
        values.iter().map(count).collect()
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Sizes(self)
    }
}

impl Param for PostOps {
    fn read(args: &Args<'_>, i: usize) -> Result<PostOps> {
        match args.values()[i] {
            Arg::PostOps(list) => {
                list.check().map_err(|e| e.in_call(args.op(), args.name(i)))?;
                Ok(*list)
            }
            _ => args.word(i)?.parse::<PostOps>().map_err(|e| e.in_call(args.op(), args.name(i))),
        }
    }
    fn arg(&self) -> Arg<'_> {
        Arg::PostOps(self)
    }
}

/// Declares the parameters of an op: see [the module](self).
macro_rules! params {
    (
        $(#[$doc:meta])*
        $vis:vis struct $name:ident $(<const $n:ident : usize>)? {
            $($(#[$field_doc:meta])* $field_vis:vis $field:ident : $type:ty => $spec:expr),* $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        $vis struct $name $(<const $n: usize>)? {
            $($(#[$field_doc])* $field_vis $field: $type,)*
        }

        impl $(<const $n: usize>)? $crate::op::params::Params for $name $(<$n>)? {
            const SPECS: &'static [$crate::op::ArgSpec] = &[$($spec),*];

            fn read(args: &$crate::op::Args<'_>) -> $crate::error::Result<Self> {
                let mut i = Self::first(args);
                $(
                    let $field = <$type as $crate::op::params::Param>::read(args, i)?;
                    i += 1;
                )*
                let _ = i;
                Ok($name { $($field),* })
            }

            fn push_args<'a>(&'a self, to: &mut $crate::op::args::ArgList<'a>) {
                $(to.push($crate::op::params::Param::arg(&self.$field));)*
            }
        }

        $crate::op::params::common! { $name $(<const $n>)? }
    };
}
pub(crate) use params;

/// What all parameter structs have: they compare, hash and serialise by their values.
macro_rules! common {
    ($name:ident $(<const $n:ident>)?) => {
        impl $(<const $n: usize>)? PartialEq for $name $(<$n>)? {
            fn eq(&self, other: &Self) -> bool {
                $crate::op::params::Params::values(self) == $crate::op::params::Params::values(other)
            }
        }

        impl $(<const $n: usize>)? Eq for $name $(<$n>)? {}

        impl $(<const $n: usize>)? std::hash::Hash for $name $(<$n>)? {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                $crate::op::params::Params::values(self).hash(state);
            }
        }

        impl $(<const $n: usize>)? std::fmt::Display for $name $(<$n>)? {
            /// `kernel = [2, 2], stride = []`.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let values = $crate::op::params::Params::values(self);
                let words: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                f.write_str(&words.join(", "))
            }
        }

        impl $(<const $n: usize>)? serde::Serialize for $name $(<$n>)? {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map($crate::op::params::Params::values(self))
            }
        }

        impl<'de $(, const $n: usize)?> serde::Deserialize<'de> for $name $(<$n>)? {
            fn deserialize<De: serde::Deserializer<'de>>(deserializer: De) -> Result<Self, De::Error> {
                let given = <std::collections::BTreeMap<String, $crate::op::param_value::ParamValue>>::deserialize(deserializer)?;
                $crate::op::params::read_stored::<Self>(&given).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use common;

/// Parameters of these values, by name; what is left out has its default. Errors name `op`.
pub(crate) fn read_values<P: Params>(op: &'static str, values: &[(&str, Value)]) -> Result<P> {
    let mut given = std::collections::BTreeMap::new();
    for (name, value) in values {
        let Some(param) = ParamValue::of_value(value) else {
            fail!(
                InvalidArgument,
                op,
                name.to_string(),
                value.to_string(),
                "it is no tensor",
                "pass a number"
            )
        };
        if given.insert(name.to_string(), param).is_some() {
            fail!(InvalidArgument, op, name.to_string(), "two values", "it takes one", "pass it once");
        }
    }
    read_stored(&given).map_err(|e| e.of_op(op))
}

/// Parameters with these values, by name. A parameter that is left out has its default.
pub(crate) fn read_stored<P: Params>(given: &std::collections::BTreeMap<String, ParamValue>) -> Result<P> {
    if let Some(name) = given.keys().find(|name| !P::SPECS.iter().any(|spec| spec.name == **name)) {
        let known: Vec<&str> = P::SPECS.iter().map(|spec| spec.name).collect();
        let rule = format!("there are {}", known.join(", "));
        fail!(InvalidArgument, "parameters", name.clone(), "a value", rule, "use one of these");
    }
    let values: Vec<Arg<'_>> = P::SPECS
        .iter()
        .map(|spec| given.get(spec.name).map_or(spec.kind.default(), ParamValue::arg))
        .collect();
    P::read(&Args::of_params(P::STORED, &values)?)
}
