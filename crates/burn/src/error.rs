//! Errors, with burn's names for the calls that they advise.

use std::fmt;

use blocktensor::{Call, Door};

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between burn and blocktensor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A tensor of another backend than `Flex`.
    Backend {
        /// The call that was made.
        call: &'static str,
        /// Where the tensor is.
        got: String,
    },
    /// An element type that the other side does not have.
    DType {
        /// The call that was made.
        call: &'static str,
        /// The type.
        got: String,
        /// Why it cannot be taken.
        rule: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// An argument that breaks a rule.
    Invalid {
        /// The call that was made.
        call: &'static str,
        /// What came.
        got: String,
        /// The rule that it breaks.
        rule: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The library refused a tensor, or ran out of memory.
    Engine(blocktensor::Error),
    /// A graph could not be planned, or a plan could not run.
    Graph(blocktensor_graph::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Backend { call, got } => write!(
                f,
                "`{call}`: got a tensor on {got}; only tensors of `Flex` without autodiff can be read here; call `inner()` on one with \
                 autodiff, and move others with `to_device(&Device::flex())`"
            ),
            Error::DType { call, got, rule, remedy } => {
                write!(f, "`{call}`: got elements of type {got}; {rule}; {remedy}")
            }
            Error::Invalid { call, got, rule, remedy } => write!(f, "`{call}`: got {got}; {rule}; {remedy}"),
            Error::Engine(e) => f.write_str(&e.told(&Burn)),
            Error::Graph(e) => f.write_str(&e.told(&Burn)),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Engine(e) => Some(e),
            Error::Graph(e) => Some(e),
            _ => None,
        }
    }
}

impl From<blocktensor::Error> for Error {
    fn from(e: blocktensor::Error) -> Error {
        Error::Engine(e)
    }
}

impl From<blocktensor_graph::Error> for Error {
    fn from(e: blocktensor_graph::Error) -> Error {
        Error::Graph(e)
    }
}

/// burn's names for what errors advise.
#[derive(Clone, Copy, Debug)]
pub struct Burn;

impl Door for Burn {
    fn call(&self, call: &Call) -> String {
        match call {
            Call::ToStrided | Call::ToAnyStrided => "blocktensor_burn::to_burn(&x)?".to_string(),
            Call::ToBlocked(_) | Call::ToAnyBlocked => "blocktensor_burn::to_blocked(&x)?".to_string(),
            Call::Contiguous => "blocktensor_burn::contiguous(x)?".to_string(),
            Call::ToDType(dtype) => format!("cast(DType::{})", dtype.to_uppercase()),
            Call::Transpose(a, b) => format!("swap_dims({a}, {b})"),
            Call::Reshape(dims) => format!("reshape({dims:?})"),
            other => other.to_string(),
        }
    }
}
