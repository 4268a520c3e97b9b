//! Pooling: the largest or the mean element of windows, of a given size or adapted to the size of the result.
//!
//! The same kernels serve NCHW, NHWC (channels-last) and blocked tensors. `src/kernels/pool/mod.rs` says which function runs for
//! which layout.

pub(crate) mod adaptive;
pub(crate) mod avg_pool;
pub(crate) mod max_pool;

use half::bf16;

use crate::dtype::{DType, Element};
use crate::error::{Result, fail};
use crate::kernels::pool::geometry::Windows;
use crate::kernels::pool::{pool_max, pool_max_of_integers, pool_mean};
use crate::kernels::spatial::{self, SpatialOperands};
use crate::layout::dims::{Dims, ToDims};
use crate::op::params::Param;
use crate::op::{Arg, Args, KernelResult, Results, args};

/// Asks for a result of `R` with these spatial sizes, and writes what `pool` makes of the windows of an operand of `E`.
fn pool_windows<E: Element, R: Element>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    output: &[usize],
    windows: &dyn Fn() -> Result<Windows>,
    pool: impl FnOnce(SpatialOperands<'_, E, R>, &Windows),
) -> KernelResult {
    spatial::with_result(args, results, output, "blocktensor:pool", |operands: SpatialOperands<'_, E, R>| {
        pool(operands, &windows()?);
        Ok(())
    })
}

/// The largest element of each window, of any dtype that has a pool.
fn max_of_windows(
    args: &Args<'_>,
    results: &mut Results<'_>,
    output: &[usize],
    windows: &dyn Fn() -> Result<Windows>,
) -> KernelResult {
    match args.tensor(0)?.dtype() {
        DType::BF16 => pool_windows::<bf16, bf16>(args, results, output, windows, pool_max),
        DType::U8 => pool_windows(args, results, output, windows, |o, w| pool_max_of_integers(u8::MIN, o, w)),
        DType::S8 => pool_windows(args, results, output, windows, |o, w| pool_max_of_integers(i8::MIN, o, w)),
        _ => pool_windows::<f32, f32>(args, results, output, windows, pool_max),
    }
}

/// The mean of each window, of floating-point numbers.
fn mean_of_windows(
    args: &Args<'_>,
    results: &mut Results<'_>,
    output: &[usize],
    windows: &dyn Fn() -> Result<Windows>,
) -> KernelResult {
    match args.tensor(0)?.dtype() {
        DType::BF16 => pool_windows::<bf16, bf16>(args, results, output, windows, pool_mean),
        _ => pool_windows::<f32, f32>(args, results, output, windows, pool_mean),
    }
}

/// Padding before and after each axis. In the schema it is one value for all, one for each axis, or one for each side: all
/// begins, then all ends.
#[derive(Clone, Debug)]
pub(crate) struct SidePadding<const N: usize>(Dims);

impl<const N: usize> SidePadding<N> {
    fn of(begin: [usize; N], end: [usize; N]) -> Self {
        let both = if begin == end { &[][..] } else { &end };
        SidePadding(begin.iter().chain(both).copied().to_dims())
    }

    fn begin(&self) -> [usize; N] {
        std::array::from_fn(|axis| self.0[axis])
    }

    fn end(&self) -> [usize; N] {
        std::array::from_fn(|axis| self.0[self.0.len() - N + axis])
    }
}

impl<const N: usize> Param for SidePadding<N> {
    fn read(args: &Args<'_>, i: usize) -> Result<Self> {
        let given = args.sizes(i)?;
        match given.len() {
            1 => Ok(SidePadding(Dims::filled(given[0], N))),
            n if n == N || n == 2 * N => Ok(SidePadding(given)),
            _ => {
                let rule =
                    format!("it has one value for all sides, one for each of {N} axes, or one for each side");
                let remedy = format!("pass {} values", args::alternatives(&[1, N, 2 * N]));
                fail!(InvalidArgument, args.op(), args.name(i), given.to_string(), rule, remedy)
            }
        }
    }

    fn arg(&self) -> Arg<'_> {
        Arg::Sizes(&self.0)
    }
}

/// Parameters that max and average pooling share.
macro_rules! window_parameters {
    ($name:ident) => {
        impl<const N: usize> $name<N> {
            /// A window of the same size along every axis.
            pub fn new(kernel: usize) -> Self {
                Self::window([kernel; N])
            }

            /// The same stride along every axis. Left out, it is the size of the window.
            pub fn stride(self, stride: usize) -> Self {
                self.strides([stride; N])
            }

            /// A stride for each axis.
            pub fn strides(mut self, stride: [usize; N]) -> Self {
                self.stride = Some(stride);
                self
            }

            /// The same padding on every side, in elements: at most half of the window.
            pub fn padding(self, padding: usize) -> Self {
                self.paddings([padding; N], [padding; N])
            }

            /// Padding before and after each axis, in elements: at most half of the window. PyTorch has one number for both
            /// sides.
            pub fn paddings(mut self, begin: [usize; N], end: [usize; N]) -> Self {
                self.padding = SidePadding::of(begin, end);
                self
            }

            /// Rounds the size of the result up instead of down. The last window begins inside the source or the padding before
            /// it.
            pub fn ceil_mode(mut self) -> Self {
                self.ceil_mode = true;
                self
            }
        }
    };
}
use window_parameters;
