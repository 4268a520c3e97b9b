//! Errors, with candle's names for the calls that they advise.

use std::fmt;

use blocktensor::{Call, Door};
use candle_core::DType;

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between candle and blocktensor. `?` turns it into [`candle_core::Error`], with the same text.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A tensor whose memory is not the CPU's.
    Device {
        /// The call that was made.
        call: &'static str,
        /// Where the tensor is.
        got: &'static str,
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
        remedy: String,
    },
    /// The library refused a tensor, or ran out of memory.
    Engine(blocktensor::Error),
    /// A graph could not be planned, or a plan could not run.
    Graph(blocktensor_graph::Error),
    /// candle's own error, such as a name that a `VarBuilder` does not have.
    Candle(candle_core::Error),
}

impl Error {
    pub(crate) fn unreadable(call: &'static str, got: DType) -> Error {
        Error::DType {
            call,
            got: got.as_str().to_string(),
            rule: "blocktensor has f32, bf16, f16, u8 and i32",
            remedy: "convert it with `to_dtype(DType::F32)?`",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Device { call, got } => write!(
                f,
                "`{call}`: got a tensor {got}; only memory of the CPU can be read here; move it with `to_device(&Device::Cpu)?`"
            ),
            Error::DType { call, got, rule, remedy } => {
                write!(f, "`{call}`: got elements of type {got}; {rule}; {remedy}")
            }
            Error::Invalid { call, got, rule, remedy } => write!(f, "`{call}`: got {got}; {rule}; {remedy}"),
            Error::Engine(e) => f.write_str(&e.told(&Candle)),
            Error::Graph(e) => f.write_str(&e.told(&Candle)),
            Error::Candle(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Engine(e) => Some(e),
            Error::Graph(e) => Some(e),
            Error::Candle(e) => Some(e),
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

impl From<candle_core::Error> for Error {
    fn from(e: candle_core::Error) -> Error {
        Error::Candle(e)
    }
}

impl From<Error> for candle_core::Error {
    fn from(e: Error) -> candle_core::Error {
        match e {
            Error::Candle(e) => e,
            other => candle_core::Error::wrap(other),
        }
    }
}

/// candle's names for what errors advise.
#[derive(Clone, Copy, Debug)]
pub struct Candle;

impl Door for Candle {
    fn call(&self, call: &Call) -> String {
        match call {
            Call::ToStrided | Call::ToAnyStrided => "blocktensor_candle::to_candle(&x)?".to_string(),
            Call::ToBlocked(_) | Call::ToAnyBlocked => "blocktensor_candle::to_blocked(&x)?".to_string(),
            Call::Contiguous => "contiguous()?".to_string(),
            Call::Copy => "copy()?".to_string(),
            Call::ToDType("s32") => "to_dtype(DType::I32)?".to_string(),
            Call::ToDType(_) | Call::Reshape(_) | Call::Unsqueeze(_) | Call::Transpose(_, _) => {
                format!("{call}?")
            }
            other => other.to_string(),
        }
    }
}
