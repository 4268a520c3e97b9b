//! Adaptive and global pooling: windows that divide the source into a result of a given size.

use super::max_pool::DTYPES as MAX_DTYPES;
use super::{max_of_windows, mean_of_windows};
use crate::elementwise::{Amax, Fold, Mean};
use crate::error::Result;
use crate::kernels::gradient::windows;
use crate::kernels::pool::MAX_TAPS_IN_F32;
use crate::kernels::pool::geometry::Windows;
use crate::kernels::spatial;
use crate::layout::dims::Dims;
use crate::op::lookup::OF_ONE;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{data, required_ints};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::reduce;
use crate::tensor::any::Operand;

params! {
    /// Parameters of adaptive pooling with `N` spatial dimensions.
    struct AdaptivePool<const N: usize> {
        output: [usize; N] => required_ints("output"),
    }
}

const fn adaptive_args(spatial: usize) -> [ArgSpec; 2] {
    with_params(&[data("x").f32().with_ranks(spatial::image_ranks(spatial))], AdaptivePool::<2>::SPECS)
}

static ADAPTIVE_ARGS: [[ArgSpec; 2]; 3] = [adaptive_args(1), adaptive_args(2), adaptive_args(3)];
const GLOBAL_ARGS: &[ArgSpec] = &[data("x").f32().with_ranks(spatial::IMAGE_RANKS)];

static ADAPTIVE_AVG_POOL1D: Op = Op::new(&Schema::new("adaptive_avg_pool1d", &ADAPTIVE_ARGS[0]).dst_like_x())
    .with(
        &Kernel::rust(&|args, results| run_adaptive::<1>(args, results, mean_of_windows))
            .with_dtypes(OF_ONE)
            .needing_dense()
            .on_both_with(&|call| gradient::<1>(call, windows::avg_pool)),
    );
static ADAPTIVE_AVG_POOL2D: Op = Op::new(&Schema::new("adaptive_avg_pool2d", &ADAPTIVE_ARGS[1]).dst_like_x())
    .with(
        &Kernel::rust(&|args, results| run_adaptive::<2>(args, results, mean_of_windows))
            .with_dtypes(OF_ONE)
            .needing_dense()
            .on_both_with(&|call| gradient::<2>(call, windows::avg_pool)),
    );
static ADAPTIVE_AVG_POOL3D: Op = Op::new(&Schema::new("adaptive_avg_pool3d", &ADAPTIVE_ARGS[2]).dst_like_x())
    .with(
        &Kernel::rust(&|args, results| run_adaptive::<3>(args, results, mean_of_windows))
            .with_dtypes(OF_ONE)
            .needing_dense()
            .on_both_with(&|call| gradient::<3>(call, windows::avg_pool)),
    );
static ADAPTIVE_MAX_POOL1D: Op = Op::new(&Schema::new("adaptive_max_pool1d", &ADAPTIVE_ARGS[0]).dst_like_x())
    .with(
        &Kernel::rust(&|args, results| run_adaptive::<1>(args, results, max_of_windows))
            .with_dtypes(MAX_DTYPES)
            .needing_dense()
            .on_both_with(&|call| gradient::<1>(call, windows::max_pool)),
    );
static ADAPTIVE_MAX_POOL2D: Op = Op::new(&Schema::new("adaptive_max_pool2d", &ADAPTIVE_ARGS[1]).dst_like_x())
    .with(
        &Kernel::rust(&|args, results| run_adaptive::<2>(args, results, max_of_windows))
            .with_dtypes(MAX_DTYPES)
            .needing_dense()
            .on_both_with(&|call| gradient::<2>(call, windows::max_pool)),
    );
static ADAPTIVE_MAX_POOL3D: Op = Op::new(&Schema::new("adaptive_max_pool3d", &ADAPTIVE_ARGS[2]).dst_like_x())
    .with(
        &Kernel::rust(&|args, results| run_adaptive::<3>(args, results, max_of_windows))
            .with_dtypes(MAX_DTYPES)
            .needing_dense()
            .on_both_with(&|call| gradient::<3>(call, windows::max_pool)),
    );
static GLOBAL_AVG_POOL: Op = Op::new(&Schema::new("global_avg_pool", GLOBAL_ARGS).dst_like_x()).with(
    &Kernel::rust(&|args, results| run_global(args, results, mean_of_windows, &Mean))
        .with_dtypes(OF_ONE)
        .needing_dense()
        .on_both_with(&|call| global_gradient(call, windows::avg_pool)),
);
static GLOBAL_MAX_POOL: Op = Op::new(&Schema::new("global_max_pool", GLOBAL_ARGS).dst_like_x()).with(
    &Kernel::rust(&|args, results| run_global(args, results, max_of_windows, &Amax))
        .with_dtypes(MAX_DTYPES)
        .needing_dense()
        .on_both_with(&|call| global_gradient(call, windows::max_pool)),
);

pub(crate) const OPS: &[&Op] = &[
    &ADAPTIVE_AVG_POOL1D,
    &ADAPTIVE_AVG_POOL2D,
    &ADAPTIVE_AVG_POOL3D,
    &ADAPTIVE_MAX_POOL1D,
    &ADAPTIVE_MAX_POOL2D,
    &ADAPTIVE_MAX_POOL3D,
    &GLOBAL_AVG_POOL,
    &GLOBAL_MAX_POOL,
];

/// [`max_of_windows`] or [`mean_of_windows`].
type PoolWindows = fn(&Args<'_>, &mut Results<'_>, &[usize], &dyn Fn() -> Result<Windows>) -> KernelResult;

/// Adaptive pooling for both keys and all layouts (NCHW, NHWC, blocked): see [`crate::kernels::pool`].
fn run_adaptive<const N: usize>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    pool: PoolWindows,
) -> KernelResult {
    let input = spatial::check_input(args)?;
    let AdaptivePool { output } = AdaptivePool::<N>::read(args)?;
    spatial::check_output(args.op(), "output", &output)?;
    run_windows(args, results, &input, &output, pool)
}

/// Global pooling: large images are reduced by `fold`, small ones pooled with one window.
fn run_global<F: Fold<In = f32, Out = f32>>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    pool: PoolWindows,
    fold: &F,
) -> KernelResult {
    let input = spatial::check_input(args)?;
    // Pooling sums small images in f32, the reduction in f64. The choice depends on the size alone, so that both keys give the
    // same bits. The largest of integers is exact either way.
    let is_large = args.tensor(0)?.dtype().is_float() && input.iter().product::<usize>() > MAX_TAPS_IN_F32;
    if is_large && reduce::over_pixels(args, results, fold)? {
        return Ok(());
    }
    run_windows(args, results, &input, &Dims::filled(1, input.len()), pool)
}

fn run_windows(
    args: &Args<'_>,
    results: &mut Results<'_>,
    input: &[usize],
    output: &[usize],
    pool: PoolWindows,
) -> KernelResult {
    let op = args.op();
    pool(args, results, output, &|| Windows::adaptive(op, input, output))
}

/// [`windows::avg_pool`] or [`windows::max_pool`].
type PoolGradient = fn(&Backward<'_>, &Windows) -> Result<Gradients>;

fn gradient<const N: usize>(call: &Backward<'_>, of: PoolGradient) -> Result<Gradients> {
    let input = spatial::check_input(&call.args)?;
    let AdaptivePool { output } = AdaptivePool::<N>::read(&call.args)?;
    of(call, &Windows::adaptive(call.args.op(), &input, &output)?)
}

fn global_gradient(call: &Backward<'_>, of: PoolGradient) -> Result<Gradients> {
    let input = spatial::check_input(&call.args)?;
    of(call, &Windows::adaptive(call.args.op(), &input, &Dims::filled(1, input.len()))?)
}

/// 1-D adaptive average pooling, as `torch.nn.functional.adaptive_avg_pool1d`.
///
/// # Shapes
/// `x` [N, C, W]; the result is [N, C, OW]. All else is as [`adaptive_avg_pool2d`] has it.
///
/// # Errors
/// As [`adaptive_avg_pool2d`].
#[track_caller]
pub fn adaptive_avg_pool1d<T: Operand>(x: &T, output: [usize; 1]) -> Result<T> {
    ADAPTIVE_AVG_POOL1D.call_with(&[Arg::Tensor(x.tensor_ref())], &AdaptivePool { output })
}

/// 2-D adaptive average pooling, as `torch.nn.functional.adaptive_avg_pool2d`.
///
/// Index `i` of the result is the mean of the source from `floor(i * size / output)` up to
/// `ceil((i + 1) * size / output)` along each axis.
///
/// ```
/// use blocktensor::StridedTensor;
/// use blocktensor::ops::adaptive_avg_pool2d;
/// let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 1, 2, 3])?;
/// assert_eq!(adaptive_avg_pool2d(&x, [1, 2])?.to_vec::<f32>()?, [3.0, 4.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [N, C, H, W]; inputs without a batch are not taken. The result is [N, C, OH, OW], of any sizes; a size of 0 makes an
/// empty result.
///
/// # Dtypes
/// f32 and bf16; windows of more than 64 elements are summed in f64, others in f32.
///
/// # Layouts
/// Strided: any; the result has the format that `x` suggests. Blocked: any block of channels; the result is in the layout of
/// `x`.
///
/// # Errors
/// `RankMismatch`; `InvalidArgument` for an `x` without channels or pixels; `Overflow`, `OutOfMemory`, `LayoutMismatch`.
#[track_caller]
pub fn adaptive_avg_pool2d<T: Operand>(x: &T, output: [usize; 2]) -> Result<T> {
    ADAPTIVE_AVG_POOL2D.call_with(&[Arg::Tensor(x.tensor_ref())], &AdaptivePool { output })
}

/// 3-D adaptive average pooling, as `torch.nn.functional.adaptive_avg_pool3d`.
///
/// # Shapes
/// `x` [N, C, D, H, W]; the result is [N, C, OD, OH, OW]. All else is as [`adaptive_avg_pool2d`] has it.
///
/// # Errors
/// As [`adaptive_avg_pool2d`].
#[track_caller]
pub fn adaptive_avg_pool3d<T: Operand>(x: &T, output: [usize; 3]) -> Result<T> {
    ADAPTIVE_AVG_POOL3D.call_with(&[Arg::Tensor(x.tensor_ref())], &AdaptivePool { output })
}

/// 1-D adaptive max pooling, as `torch.nn.functional.adaptive_max_pool1d`: the largest element of each window, NaN where a
/// window has one.
///
/// # Shapes
/// As [`adaptive_avg_pool1d`], whose windows it has.
///
/// # Dtypes
/// f32, bf16, u8 and s8.
///
/// # Layouts
/// As [`adaptive_avg_pool2d`].
///
/// # Errors
/// As [`adaptive_avg_pool2d`].
#[track_caller]
pub fn adaptive_max_pool1d<T: Operand>(x: &T, output: [usize; 1]) -> Result<T> {
    ADAPTIVE_MAX_POOL1D.call_with(&[Arg::Tensor(x.tensor_ref())], &AdaptivePool { output })
}

/// 2-D adaptive max pooling, as `torch.nn.functional.adaptive_max_pool2d`: the largest element of each window, NaN where a
/// window has one.
///
/// # Shapes
/// As [`adaptive_avg_pool2d`], whose windows it has.
///
/// # Dtypes
/// f32, bf16, u8 and s8.
///
/// # Layouts
/// As [`adaptive_avg_pool2d`].
///
/// # Errors
/// As [`adaptive_avg_pool2d`].
#[track_caller]
pub fn adaptive_max_pool2d<T: Operand>(x: &T, output: [usize; 2]) -> Result<T> {
    ADAPTIVE_MAX_POOL2D.call_with(&[Arg::Tensor(x.tensor_ref())], &AdaptivePool { output })
}

/// 3-D adaptive max pooling, as `torch.nn.functional.adaptive_max_pool3d`: the largest element of each window, NaN where a
/// window has one.
///
/// # Shapes
/// As [`adaptive_avg_pool3d`], whose windows it has.
///
/// # Dtypes
/// f32, bf16, u8 and s8.
///
/// # Layouts
/// As [`adaptive_avg_pool2d`].
///
/// # Errors
/// As [`adaptive_avg_pool2d`].
#[track_caller]
pub fn adaptive_max_pool3d<T: Operand>(x: &T, output: [usize; 3]) -> Result<T> {
    ADAPTIVE_MAX_POOL3D.call_with(&[Arg::Tensor(x.tensor_ref())], &AdaptivePool { output })
}

/// The mean of every channel over all pixels; the spatial dimensions stay, with size 1.
///
/// # Shapes
/// `x` [N, C, W], [N, C, H, W] or [N, C, D, H, W]; the result [N, C, 1, ...].
///
/// # Dtypes
/// f32 and bf16; images of more than 64 pixels are summed in f64, others in f32.
///
/// # Layouts
/// As [`adaptive_avg_pool2d`].
///
/// # Errors
/// As [`adaptive_avg_pool2d`].
#[track_caller]
pub fn global_avg_pool<T: Operand>(x: &T) -> Result<T> {
    GLOBAL_AVG_POOL.call_one(&[Arg::Tensor(x.tensor_ref())])
}

/// The maximum of every channel over all pixels, NaN where there is one; the spatial dimensions stay, with size 1.
///
/// # Shapes
/// `x` [N, C, W], [N, C, H, W] or [N, C, D, H, W]; the result [N, C, 1, ...].
///
/// # Dtypes
/// f32, bf16, u8 and s8.
///
/// # Layouts
/// As [`adaptive_avg_pool2d`].
///
/// # Errors
/// As [`adaptive_avg_pool2d`].
#[track_caller]
pub fn global_max_pool<T: Operand>(x: &T) -> Result<T> {
    GLOBAL_MAX_POOL.call_one(&[Arg::Tensor(x.tensor_ref())])
}
