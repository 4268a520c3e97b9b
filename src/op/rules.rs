//! The rules that a schema states for its operands, dtypes and ranks, and what it states of the results.

use crate::dtype::DType;
use crate::error::{Call, Complaint, Error, Result, Text};
use crate::tensor::any::TensorRef;

/// The dtypes that a schema allows for an argument. A kernel may be registered for others as well: see
/// [`Kernel::with_dtypes`](crate::dispatch::Kernel::with_dtypes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DTypes {
    /// The schema states none. The kernels state those of data operands; other tensors may have any.
    Unstated,
    /// One of these, in which kernels compute. Another dtype is an `UnsupportedDType`, and its remedy is a conversion.
    OneOf(&'static [DType]),
    /// One of these, because of what the operand is: an index, a condition. Another dtype is a `DTypeMismatch`. The text is the
    /// rule in its error.
    Fixed(&'static [DType], &'static str),
}

impl DTypes {
    /// The dtypes, or `None` if the schema states none.
    pub const fn list(self) -> Option<&'static [DType]> {
        match self {
            DTypes::Unstated => None,
            DTypes::OneOf(list) | DTypes::Fixed(list, _) => Some(list),
        }
    }
}

/// The ranks that a schema allows for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// Any rank.
    Any,
    /// `min` to `max` dimensions. Another rank is a `RankMismatch` with this rule and this remedy.
    Between {
        /// The lowest rank.
        min: usize,
        /// The highest rank.
        max: usize,
        /// The rule, as the error states it.
        rule: &'static str,
        /// What to do instead.
        remedy: &'static str,
        /// The call that does it, if one does.
        by: Option<&'static Call>,
    },
    /// A batch of images with `min - 2` to `max - 2` spatial dimensions. Another rank is a `RankMismatch`.
    Images {
        /// The lowest rank.
        min: usize,
        /// The highest rank.
        max: usize,
    },
    /// The rank of another argument, which is a tensor of every call. Another rank is a `RankMismatch` with this remedy.
    SameAs {
        /// The other argument's name.
        arg: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
}

impl Ranks {
    /// `min` to `max` dimensions.
    pub const fn between(min: usize, max: usize, rule: &'static str, remedy: &'static str) -> Ranks {
        Ranks::Between { min, max, rule, remedy, by: None }
    }

    /// The same ranks, whose remedy ends with a call.
    pub const fn by(self, call: &'static Call) -> Ranks {
        match self {
            Ranks::Between { min, max, rule, remedy, .. } => {
                Ranks::Between { min, max, rule, remedy, by: Some(call) }
            }
            other => other,
        }
    }

    /// This number of dimensions.
    pub const fn exactly(rank: usize, rule: &'static str, remedy: &'static str) -> Ranks {
        Ranks::between(rank, rank, rule, remedy)
    }

    /// `min` dimensions or more.
    pub const fn at_least(min: usize, rule: &'static str, remedy: &'static str) -> Ranks {
        Ranks::between(min, usize::MAX, rule, remedy)
    }

    /// Checks a rank. `got` describes the tensor. The rank of another argument is checked where that argument is known.
    pub(crate) fn check(
        self,
        op: &'static str,
        name: &'static str,
        rank: usize,
        got: impl FnOnce() -> String,
    ) -> Result<()> {
        match self {
            Ranks::Between { min, max, rule, remedy, by } if rank < min || rank > max => {
                let remedy = match by {
                    Some(call) => Text::from(remedy) + " with " + call.clone(),
                    None => remedy.into(),
                };
                Err(wrong_rank(op, name, rank, got(), rule, remedy))
            }
            _ => Ok(()),
        }
    }
}

/// The error of a tensor that is no batch of images of this rank.
pub(crate) fn no_images(op: &'static str, name: &'static str, t: TensorRef<'_>, ranks: Ranks) -> Error {
    let rank = t.dims().len();
    let remedy = match (ranks, t) {
        (Ranks::Images { min, .. }, TensorRef::Strided(_)) if rank + 1 == min => {
            Text::from("add a batch dimension with ") + Call::Unsqueeze(0)
        }
        _ if (3..=5).contains(&rank) => "use the op for that number of spatial dimensions".into(),
        _ => "pass [N, C, ...] with its spatial dimensions".into(),
    };
    let rule = format!("it has {ranks}: N, C and the spatial dimensions");
    wrong_rank(op, name, rank, t.describe(), rule, remedy)
}

/// The error of a tensor of another rank than the rule says.
pub(crate) fn wrong_rank(
    op: &'static str,
    name: &'static str,
    rank: usize,
    got: String,
    rule: impl Into<Text>,
    remedy: impl Into<Text>,
) -> Error {
    Error::RankMismatch(Complaint::new(op, name, format!("{got} of rank {rank}"), rule, remedy))
}

/// The dtype of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputDType {
    /// That of the argument of this name.
    Like(&'static str),
    /// Always this one.
    Fixed(DType),
    /// The one that the parameter of this name says.
    Stated(&'static str),
}

/// One result of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputSpec {
    /// Its name, as errors about a caller's tensor use it.
    pub name: &'static str,
    /// Its dtype.
    pub dtype: OutputDType,
    /// Whether it stands for any number of results, such as the pieces of `split`.
    pub is_list: bool,
}

/// A result with the dtype of the argument `arg`.
pub const fn output_like(name: &'static str, arg: &'static str) -> OutputSpec {
    OutputSpec { name, dtype: OutputDType::Like(arg), is_list: false }
}

/// A result that always has this dtype.
pub const fn output_of(name: &'static str, dtype: DType) -> OutputSpec {
    OutputSpec { name, dtype: OutputDType::Fixed(dtype), is_list: false }
}

/// A result with the dtype that the parameter `param` names.
pub const fn output_stated(name: &'static str, param: &'static str) -> OutputSpec {
    OutputSpec { name, dtype: OutputDType::Stated(param), is_list: false }
}

/// Any number of results with the dtype of the argument `arg`.
pub const fn output_list(name: &'static str, arg: &'static str) -> OutputSpec {
    OutputSpec { name, dtype: OutputDType::Like(arg), is_list: true }
}

/// A list of dtypes in a sentence: `f32 or s32`.
pub(crate) fn any_of(dtypes: &[DType]) -> String {
    dtypes.iter().map(|d| d.name()).collect::<Vec<_>>().join(" or ")
}

impl std::fmt::Display for DTypes {
    /// `f32`, `f32 or s32`, `any dtype`; nothing if the schema states none.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.list() {
            None => Ok(()),
            Some(list) if list.len() == DType::ALL.len() => f.write_str("any dtype"),
            Some(list) => f.write_str(&any_of(list)),
        }
    }
}

impl std::fmt::Display for Ranks {
    /// `rank 4`, `rank 2 or more`, `rank 3 to 5`, `the rank of x`; nothing for any rank.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ranks::Any => Ok(()),
            Ranks::Between { min, max, .. } | Ranks::Images { min, max } if min == max => {
                write!(f, "rank {min}")
            }
            Ranks::Between { min, max: usize::MAX, .. } => write!(f, "rank {min} or more"),
            Ranks::Between { min, max, .. } | Ranks::Images { min, max } => {
                write!(f, "rank {min} to {max}")
            }
            Ranks::SameAs { arg, .. } => write!(f, "the rank of {arg}"),
        }
    }
}

impl std::fmt::Display for OutputSpec {
    /// `dst [as x]`, `indices [s32]`, `list of dst [as x]`, `dst [the dtype]`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = if self.is_list { "list of " } else { "" };
        match self.dtype {
            OutputDType::Like(arg) => write!(f, "{list}{} [as {arg}]", self.name),
            OutputDType::Fixed(dtype) => write!(f, "{list}{} [{dtype}]", self.name),
            OutputDType::Stated(param) => write!(f, "{list}{} [the {param}]", self.name),
        }
    }
}
