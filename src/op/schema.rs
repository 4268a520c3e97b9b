//! Schemas: what arguments an op takes, the rules for their dtypes and ranks, which of them choose the key, and what comes out.

use std::borrow::Cow;

use crate::dtype::DType;
use crate::op::args::Arg;
use crate::op::facts::{Facts, Movement, MultiplyAdds, Packing, PostOpWord, Sharing, WeightsRole};
pub use crate::op::rules::{
    DTypes, OutputDType, OutputSpec, Ranks, output_like, output_list, output_of, output_stated,
};

/// The kind of an argument, with its default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArgKind {
    /// A tensor whose key chooses the kernel; all of them must agree.
    Data,
    /// As `Data`, but may be left out.
    OptionalData,
    /// One or more data tensors.
    DataList,
    /// A plain 1-D strided tensor, whatever the key: bias, statistics, scales, per-channel vectors.
    Param,
    /// As `Param`, but may be left out.
    OptionalParam,
    /// Any number of parameters.
    ParamList,
    /// A plain strided tensor of any rank, whatever the key of the data: the grid of `grid_sample`.
    Plain,
    /// An integer.
    Int(Option<i64>),
    /// A list of integers: sizes, axes, strides. A default of one value applies to every dimension.
    Ints(Option<&'static [i64]>),
    /// A floating-point number.
    Float(Option<f64>),
    /// A Boolean.
    Bool(Option<bool>),
    /// A string.
    Str(Option<&'static str>),
}

impl ArgKind {
    /// Whether tensors of this argument choose the key.
    pub const fn is_data(self) -> bool {
        matches!(self, ArgKind::Data | ArgKind::OptionalData | ArgKind::DataList)
    }

    /// Whether the argument is a tensor or a list of tensors.
    pub const fn is_tensor(self) -> bool {
        self.is_data()
            || matches!(self, ArgKind::Param | ArgKind::OptionalParam | ArgKind::ParamList | ArgKind::Plain)
    }

    /// Whether a call must give the argument: it has no default and is not optional.
    #[cfg(feature = "testing")]
    pub(crate) const fn is_required(self) -> bool {
        !matches!(self, ArgKind::OptionalData | ArgKind::OptionalParam)
            && matches!(self.default(), Arg::Absent)
    }

    /// The value of an argument that a call leaves out: its default, or nothing.
    pub const fn default(self) -> Arg<'static> {
        match self {
            ArgKind::Int(Some(v)) => Arg::Int(v),
            ArgKind::Ints(Some(v)) => Arg::Ints(v),
            ArgKind::Float(Some(v)) => Arg::Float(v),
            ArgKind::Bool(Some(v)) => Arg::Bool(v),
            ArgKind::Str(Some(v)) => Arg::Str(v),
            _ => Arg::Absent,
        }
    }

    /// How error messages describe the kind.
    pub const fn describe(self) -> &'static str {
        match self {
            ArgKind::Data => "a data tensor",
            ArgKind::OptionalData => "a data tensor or nothing",
            ArgKind::DataList => "a list of data tensors",
            ArgKind::Param => "a 1-D strided tensor",
            ArgKind::OptionalParam => "a 1-D strided tensor or nothing",
            ArgKind::ParamList => "a list of 1-D strided tensors",
            ArgKind::Plain => "a strided tensor",
            ArgKind::Int(_) => "an integer",
            ArgKind::Ints(_) => "a list of integers",
            ArgKind::Float(_) => "a number",
            ArgKind::Bool(_) => "a flag",
            ArgKind::Str(_) => "a text",
        }
    }
}

/// The ranks of parameters. A scalar counts as one value.
pub(super) const ONE_DIMENSION: Ranks =
    Ranks::between(0, 1, "parameters must have one dimension", "flatten it, one value for each channel");

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArgSpec {
    /// Its name, as errors and calls by name use it.
    pub name: &'static str,
    /// What it is, with its default.
    pub kind: ArgKind,
    /// The dtypes that a tensor may have here.
    pub dtypes: DTypes,
    /// The ranks that a tensor may have here.
    pub ranks: Ranks,
    /// Which axes its integers name, if they do.
    pub axes: Option<AxesOf>,
    /// Whether these are weights with their input channels first, which must be transposed before they are blocked.
    pub(crate) is_input_first: bool,
    /// Whether its integers count from 1: a stride, the size of a window.
    pub(crate) is_from_one: bool,
    /// Whether it is weights, or their bias.
    pub role: Option<WeightsRole>,
}

/// The tensor whose axes an argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxesOf {
    /// The first operand.
    Operand,
    /// The result, which has one more: `stack`, `unsqueeze`.
    Result,
}

impl ArgSpec {
    pub(crate) const fn new(name: &'static str, kind: ArgKind) -> ArgSpec {
        let ranks = match kind {
            ArgKind::Param | ArgKind::OptionalParam | ArgKind::ParamList => ONE_DIMENSION,
            _ => Ranks::Any,
        };
        ArgSpec {
            name,
            kind,
            dtypes: DTypes::Unstated,
            ranks,
            axes: None,
            role: None,
            is_input_first: false,
            is_from_one: false,
        }
    }

    /// The same argument, for tensors of one of these dtypes. Another dtype is an `UnsupportedDType`.
    pub const fn with_dtypes(self, dtypes: &'static [DType]) -> ArgSpec {
        ArgSpec { dtypes: DTypes::OneOf(dtypes), ..self }
    }

    /// The same argument, for f32 tensors.
    pub const fn f32(self) -> ArgSpec {
        self.with_dtypes(&[DType::F32])
    }

    /// The same argument, for tensors of every dtype.
    pub const fn any_dtype(self) -> ArgSpec {
        self.with_dtypes(&DType::ALL)
    }

    /// The same argument, for tensors that are of one of these dtypes because of what they mean, such as indices. Another dtype
    /// is a `DTypeMismatch` with this rule.
    pub const fn with_fixed_dtypes(self, dtypes: &'static [DType], rule: &'static str) -> ArgSpec {
        ArgSpec { dtypes: DTypes::Fixed(dtypes, rule), ..self }
    }

    /// The same argument, for tensors of these ranks. Another rank is a `RankMismatch`.
    pub const fn with_ranks(self, ranks: Ranks) -> ArgSpec {
        ArgSpec { ranks, ..self }
    }

    /// The same argument, whose integers count from 1.
    pub(crate) const fn counted_from_one(self) -> ArgSpec {
        ArgSpec { is_from_one: true, ..self }
    }

    /// The same argument, whose integers name axes: negative ones count from the last.
    pub const fn axes_of(self, axes: AxesOf) -> ArgSpec {
        ArgSpec { axes: Some(axes), ..self }
    }

    /// The same argument, which is the op's weights.
    pub const fn weights(self) -> ArgSpec {
        ArgSpec { role: Some(WeightsRole::Weights), ..self }
    }

    /// The same argument, which is the bias that goes with the op's weights.
    pub const fn bias(self) -> ArgSpec {
        ArgSpec { role: Some(WeightsRole::Bias), ..self }
    }
}

/// An op's signature, and what else is known of it. Two schemas are equal if their signatures are: functions cannot be compared.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The op's name.
    pub name: &'static str,
    /// The op's arguments, in order.
    pub args: &'static [ArgSpec],
    /// The op's results, in order. Empty if the schema does not state them.
    pub outputs: &'static [OutputSpec],
    /// What planners may know of the op.
    pub facts: Facts,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        (self.name, self.args, self.outputs) == (other.name, other.args, other.outputs)
    }
}

impl Schema {
    /// A schema with this name and these arguments, which does not state the results.
    pub const fn new(name: &'static str, args: &'static [ArgSpec]) -> Schema {
        Schema { name, args, outputs: &[], facts: Facts::UNKNOWN }
    }

    /// The same schema with these results.
    pub const fn with_outputs(self, outputs: &'static [OutputSpec]) -> Schema {
        Schema { outputs, ..self }
    }

    /// The same schema with one result `dst`, which has the dtype of the argument `x`.
    pub(crate) const fn dst_like_x(self) -> Schema {
        const DST: &[OutputSpec] = &[output_like("dst", "x")];
        self.with_outputs(DST)
    }

    /// The same schema of a view ([`Facts::sharing`]).
    pub const fn sharing(mut self, sharing: Sharing) -> Schema {
        self.facts.sharing = sharing;
        self
    }

    /// The same schema of an op that is element-wise ([`Facts::elementwise`]).
    pub const fn elementwise(mut self) -> Schema {
        self.facts.elementwise = true;
        self
    }

    /// The same schema of an op that only moves elements ([`Facts::movement`]).
    pub const fn moving(mut self, movement: Movement) -> Schema {
        self.facts.movement = movement;
        self
    }

    /// The same schema of an op that draws numbers ([`Facts::draws`]).
    pub const fn drawing(mut self) -> Schema {
        self.facts.draws = true;
        self
    }

    /// The same schema of an op whose result takes more memory ([`Facts::inflates`]).
    pub const fn inflating(mut self) -> Schema {
        self.facts.inflates = true;
        self
    }

    /// The same schema of an op that puts its operands one after another along the axis that this parameter names.
    pub const fn concatenates(mut self, axis: &'static str) -> Schema {
        self.facts.concatenates = Some(axis);
        self
    }

    /// The same schema of an op whose constant weights are packed in this way. Only this crate's ops have packed weights.
    pub(crate) const fn packs(mut self, packing: Packing) -> Schema {
        self.facts.packing = Some(packing);
        self
    }

    /// The same schema with the number of multiply-adds of a call.
    pub const fn multiply_adds(mut self, count: MultiplyAdds) -> Schema {
        self.facts.multiply_adds = Some(count);
        self
    }

    /// The same schema of an op that a post-op computes. A plan may then fuse the op into a convolution, and let it overwrite
    /// its operand.
    pub(crate) const fn post_op(mut self, word: PostOpWord) -> Schema {
        self.facts.post_op = Some(word);
        self
    }

    /// The same schema of an op that can have no gradient, with the reason, which the error of a backward call states:
    /// "its results are indices".
    pub const fn without_gradient(mut self, reason: &'static str) -> Schema {
        self.facts.without_gradient = Some(reason);
        self
    }

    /// The same schema of an op by whose operands and results of these names nothing is differentiated ([`Facts::constants`]).
    pub const fn with_constants(mut self, names: &'static [&'static str]) -> Schema {
        self.facts.constants = names;
        self
    }

    /// Whether an operand or a result of this name and dtype can have a gradient: integers have none.
    pub(crate) fn differentiates(&self, name: &str, dtype: DType) -> bool {
        dtype.is_float() && !self.facts.constants.contains(&name)
    }

    /// The arguments that are tensors or lists of tensors, in order.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = &'static ArgSpec> + use<> {
        self.args.iter().filter(|arg| arg.kind.is_tensor())
    }

    /// The name of result `i` of `count`: that of its declaration, numbered if there may be several; else `dst`.
    pub fn output_name(&self, i: usize, count: usize) -> Cow<'static, str> {
        match self.outputs {
            [one] if one.is_list && count > 1 => format!("{} {i}", one.name).into(),
            outputs => match outputs.get(i) {
                Some(output) => output.name.into(),
                None if count == 1 => "dst".into(),
                None => format!("dst {i}").into(),
            },
        }
    }
}

/// A data argument.
pub const fn data(name: &'static str) -> ArgSpec {
    ArgSpec::new(name, ArgKind::Data)
}

/// A data argument that may be left out.
pub const fn optional_data(name: &'static str) -> ArgSpec {
    ArgSpec::new(name, ArgKind::OptionalData)
}

/// A list of data arguments.
pub const fn data_list(name: &'static str) -> ArgSpec {
    ArgSpec::new(name, ArgKind::DataList)
}

/// A parameter.
pub const fn param(name: &'static str) -> ArgSpec {
    ArgSpec::new(name, ArgKind::Param)
}

/// A parameter that may be left out.
pub const fn optional_param(name: &'static str) -> ArgSpec {
    ArgSpec::new(name, ArgKind::OptionalParam)
}

/// Any number of parameters.
pub const fn param_list(name: &'static str) -> ArgSpec {
    ArgSpec::new(name, ArgKind::ParamList)
}

/// A plain strided tensor of any rank, whatever the key of the data.
pub const fn plain(name: &'static str) -> ArgSpec {
    ArgSpec::new(name, ArgKind::Plain)
}

/// An integer with a default.
pub const fn int(name: &'static str, default: i64) -> ArgSpec {
    ArgSpec::new(name, ArgKind::Int(Some(default)))
}

/// An axis of the first operand, with a default.
pub const fn axis(name: &'static str, default: i64) -> ArgSpec {
    int(name, default).axes_of(AxesOf::Operand)
}

/// An axis of the first operand that must be given.
pub const fn required_axis(name: &'static str) -> ArgSpec {
    required_int(name).axes_of(AxesOf::Operand)
}

/// Axes of the first operand that must be given.
pub const fn required_axes(name: &'static str) -> ArgSpec {
    required_ints(name).axes_of(AxesOf::Operand)
}

/// An integer that must be given.
pub const fn required_int(name: &'static str) -> ArgSpec {
    ArgSpec::new(name, ArgKind::Int(None))
}

/// A list of integers. A default of one value applies to every dimension.
pub const fn ints(name: &'static str, default: &'static [i64]) -> ArgSpec {
    ArgSpec::new(name, ArgKind::Ints(Some(default)))
}

/// A list of integers that must be given.
pub const fn required_ints(name: &'static str) -> ArgSpec {
    ArgSpec::new(name, ArgKind::Ints(None))
}

/// A floating-point number with a default.
pub const fn float(name: &'static str, default: f64) -> ArgSpec {
    ArgSpec::new(name, ArgKind::Float(Some(default)))
}

/// A floating-point number that must be given.
pub const fn required_float(name: &'static str) -> ArgSpec {
    ArgSpec::new(name, ArgKind::Float(None))
}

/// A Boolean with a default.
pub const fn flag(name: &'static str, default: bool) -> ArgSpec {
    ArgSpec::new(name, ArgKind::Bool(Some(default)))
}

/// A string with a default.
pub const fn word(name: &'static str, default: &'static str) -> ArgSpec {
    ArgSpec::new(name, ArgKind::Str(Some(default)))
}
