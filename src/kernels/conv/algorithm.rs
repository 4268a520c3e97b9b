//! How a convolution is computed.

use std::fmt;
use std::str::FromStr;

use crate::error::{Complaint, Error, Result, fail};
use crate::op::params::Param;
use crate::op::{Arg, Args};

/// How a convolution is computed. The default is `Direct`.
///
/// Winograd's algorithm takes fewer multiplications, and rounds otherwise than a direct convolution. It is for 2-D convolutions
/// of 3x3 kernels, with stride 1 and dilation 1, on blocked tensors. Judged by the norm of all errors, the relative error of
/// `Winograd(4)` is at most 3e-6 for normally distributed data of up to 512 input channels (a direct convolution: 1e-6); that of
/// `Winograd(2)` is as a direct one's. An error is relative to the largest values of its tile of 6x6 source pixels, in all
/// channels: beside values 1e6 times as large, small ones lose all their digits. An infinity or NaN in the source reaches the
/// whole tile, as NaN: up to 3 pixels more on each side than in a direct convolution. The gradients by source and weights of such a
/// convolution are computed by the same algorithm, with the same errors; an infinity or NaN reaches all nine taps of its channels. Direct
/// sums are the gradient by the bias, and that of weights of a few input channels, or of groups that are no whole blocks of channels.
///
/// As a word: `direct`, `winograd2`, `winograd4`, `measured`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// As the definition: a multiplication for each tap.
    #[default]
    Direct,
    /// Winograd's, with tiles of so many outputs along each axis: 2 or 4.
    Winograd(usize),
    /// The fastest on this machine, which a plan with measured layouts finds out. Anywhere else this is an error.
    Measured,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Algorithm::Direct => f.write_str("direct"),
            Algorithm::Winograd(outputs) => write!(f, "winograd{outputs}"),
            Algorithm::Measured => f.write_str("measured"),
        }
    }
}

impl Param for Algorithm {
    fn read(args: &Args<'_>, i: usize) -> Result<Algorithm> {
        args.word(i)?.parse::<Algorithm>().map_err(|e| e.in_call(args.op(), args.name(i)))
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Str(match self {
            Algorithm::Direct => "direct",
            Algorithm::Winograd(2) => "winograd2",
            Algorithm::Winograd(4) => "winograd4",
            Algorithm::Winograd(_) => "winograd with tiles of another size",
            Algorithm::Measured => "measured",
        })
    }
}

impl Algorithm {
    /// Whether it rounds otherwise than a direct convolution.
    pub const fn rounds_otherwise(self) -> bool {
        matches!(self, Algorithm::Winograd(_))
    }

    /// The largest relative error that is stated [above](Algorithm), by the norm of all errors, for normally distributed data of up
    /// to 512 input channels.
    pub const fn relative_error(self) -> f64 {
        match self {
            Algorithm::Winograd(4) => 3e-6,
            _ => 1e-6,
        }
    }

    /// The same where the planner's choice is no longer open.
    ///
    /// # Errors
    /// `InvalidArgument` for `Measured`, and for tiles of another size than 2 and 4.
    pub(crate) fn chosen(self, op: &'static str) -> Result<Algorithm> {
        match self {
            Algorithm::Measured => fail!(
                InvalidArgument,
                op,
                "algorithm",
                "`measured`",
                "only a plan with measured layouts measures",
                "pass `direct`, `winograd2` or `winograd4`, or plan the network with measured layouts"
            ),
            Algorithm::Winograd(outputs) if ![2, 4].contains(&outputs) => fail!(
                InvalidArgument,
                op,
                "algorithm",
                format!("`{self}`"),
                "Winograd's algorithm has tiles of 2 or 4 outputs",
                "pass `winograd2` or `winograd4`"
            ),
            other => Ok(other),
        }
    }
}

impl FromStr for Algorithm {
    type Err = Error;

    fn from_str(word: &str) -> Result<Algorithm> {
        Ok(match word {
            "direct" => Algorithm::Direct,
            "winograd2" => Algorithm::Winograd(2),
            "winograd4" => Algorithm::Winograd(4),
            "measured" => Algorithm::Measured,
            _ => {
                return Err(Error::InvalidArgument(Complaint::new(
                    "algorithm",
                    "algorithm",
                    format!("`{word}`"),
                    "it is the name of an algorithm",
                    "write one of direct, winograd2, winograd4, measured",
                )));
            }
        })
    }
}
