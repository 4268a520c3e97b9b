//! Adaptive and global pooling: windows that divide the source into a result of a given size.

use crate::elementwise::Fold;
use crate::error::Result;
use crate::kernels::pool::geometry::Windows;
use crate::kernels::pool::kernel;
use crate::kernels::reduce::folds::{Amax, Mean};
use crate::kernels::spatial;
use crate::layout::dims::Dims;
use crate::op::schema::{data, required_ints};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelFn, KernelResult, Op, Results, Schema};
use crate::ops::reduce;

use crate::tensor::any::Operand;

const ADAPTIVE_ARGS: &[ArgSpec] = &[data("x"), required_ints("output")];
const GLOBAL_ARGS: &[ArgSpec] = &[data("x")];

static SCHEMAS: [Schema; 8] = [
    Schema::new("adaptive_avg_pool1d", ADAPTIVE_ARGS),
    Schema::new("adaptive_avg_pool2d", ADAPTIVE_ARGS),
    Schema::new("adaptive_avg_pool3d", ADAPTIVE_ARGS),
    Schema::new("adaptive_max_pool1d", ADAPTIVE_ARGS),
    Schema::new("adaptive_max_pool2d", ADAPTIVE_ARGS),
    Schema::new("adaptive_max_pool3d", ADAPTIVE_ARGS),
    Schema::new("global_avg_pool", GLOBAL_ARGS),
    Schema::new("global_max_pool", GLOBAL_ARGS),
];
static AVG: [Op; 3] = [
    entry(&SCHEMAS[0], &|args, results| adaptive(args, results, 1, kernel::mean)),
    entry(&SCHEMAS[1], &|args, results| adaptive(args, results, 2, kernel::mean)),
    entry(&SCHEMAS[2], &|args, results| adaptive(args, results, 3, kernel::mean)),
];
static MAX: [Op; 3] = [
    entry(&SCHEMAS[3], &|args, results| adaptive(args, results, 1, kernel::max)),
    entry(&SCHEMAS[4], &|args, results| adaptive(args, results, 2, kernel::max)),
    entry(&SCHEMAS[5], &|args, results| adaptive(args, results, 3, kernel::max)),
];
static GLOBAL_AVG: Op = entry(&SCHEMAS[6], &|args, results| global(args, results, kernel::mean, &Mean));
static GLOBAL_MAX: Op = entry(&SCHEMAS[7], &|args, results| global(args, results, kernel::max, &Amax));

/// One kernel serves both keys: it runs over lanes.
const fn entry(schema: &'static Schema, run: &'static KernelFn) -> Op {
    Op::new(schema).on_both(Kernel::rust(run))
}

pub(crate) const OPS: &[&Op] =
    &[&AVG[0], &AVG[1], &AVG[2], &MAX[0], &MAX[1], &MAX[2], &GLOBAL_AVG, &GLOBAL_MAX];

type OverWindows = fn(spatial::Work<'_>, &Windows) -> Result<()>;

fn adaptive(args: &Args<'_>, results: &mut Results<'_>, rank: usize, fold: OverWindows) -> KernelResult {
    let input = spatial::check_input(args, rank..=rank)?;
    let output = args.spatial(1, rank)?;
    spatial::check_output(args.op(), "output", &output)?;
    windows(args, results, &input, &output, fold)
}

fn global<F: Fold<In = f32, Out = f32>>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    over: OverWindows,
    fold: &F,
) -> KernelResult {
    let input = spatial::check_input(args, 1..=3)?;
    // Small images are summed in f32, which the reduction does not do: the same bits on every key.
    let large = input.iter().product::<usize>() > kernel::FEW;
    if large && reduce::over_pixels(args, results, fold)? {
        return Ok(());
    }
    windows(args, results, &input, &Dims::filled(1, input.len()), over)
}

fn windows(
    args: &Args<'_>,
    results: &mut Results<'_>,
    input: &[usize],
    output: &[usize],
    fold: OverWindows,
) -> KernelResult {
    let op = args.op();
    spatial::run(args, results, output, "blocktensor:pool", |work| {
        fold(work, &Windows::adaptive(op, input, output)?)
    })
}

macro_rules! adaptive_pools {
    ($($n:literal $shape:literal $out:literal $avg:ident $max:ident;)*) => {$(
        #[doc = concat!($n, "-D adaptive average pooling, as `torch.nn.functional.", stringify!($avg), "`.")]
        ///
        /// Result index `i` of `output` is the mean of the source from `floor(i * size / output)` up to
        /// `ceil((i + 1) * size / output)` along each axis.
        ///
        /// # Shapes
        #[doc = concat!("`x` ", $shape, "; inputs without a batch are not taken. The result ", $out, ", any sizes; 0 makes \
            an empty result.")]
        ///
        /// # Dtypes
        /// f32; windows of more than 64 elements are summed in f64.
        ///
        /// # Layouts
        /// Strided: any; the result has the format that `x` suggests. Blocked: any block of channels; the result is
        /// in the layout of `x`.
        ///
        /// # Errors
        /// `RankMismatch`; `InvalidArgument` for an `x` without channels or pixels; `Overflow`, `OutOfMemory`,
        /// `LayoutMismatch`.
        #[track_caller]
        pub fn $avg<T: Operand>(x: &T, output: [usize; $n]) -> Result<T> {
            AVG[$n - 1].call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Sizes(&output)])
        }

        #[doc = concat!($n, "-D adaptive max pooling, as `torch.nn.functional.", stringify!($max), "`: NaN where a window has \
            one.")]
        ///
        /// # Shapes
        #[doc = concat!("As [`", stringify!($avg), "`].")]
        ///
        /// # Dtypes
        /// f32.
        ///
        /// # Layouts
        #[doc = concat!("As [`", stringify!($avg), "`].")]
        ///
        /// # Errors
        #[doc = concat!("As [`", stringify!($avg), "`].")]
        #[track_caller]
        pub fn $max<T: Operand>(x: &T, output: [usize; $n]) -> Result<T> {
            MAX[$n - 1].call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Sizes(&output)])
        }
    )*};
}
adaptive_pools! {
    1 "[N, C, W]" "[N, C, OW]" adaptive_avg_pool1d adaptive_max_pool1d;
    2 "[N, C, H, W]" "[N, C, OH, OW]" adaptive_avg_pool2d adaptive_max_pool2d;
    3 "[N, C, D, H, W]" "[N, C, OD, OH, OW]" adaptive_avg_pool3d adaptive_max_pool3d;
}

/// The mean of every channel over all pixels; the spatial dimensions stay, with size 1.
///
/// # Shapes
/// `x` [N, C, W], [N, C, H, W] or [N, C, D, H, W]; the result [N, C, 1, ...].
///
/// # Dtypes
/// f32; images of more than 64 pixels are summed in f64.
///
/// # Layouts
/// As [`adaptive_avg_pool2d`].
///
/// # Errors
/// As [`adaptive_avg_pool2d`].
#[track_caller]
pub fn global_avg_pool<T: Operand>(x: &T) -> Result<T> {
    GLOBAL_AVG.call_one(&[Arg::Tensor(x.tensor_ref())])
}

/// The maximum of every channel over all pixels, NaN where there is one; the spatial dimensions stay, with size 1.
///
/// # Shapes
/// `x` [N, C, W], [N, C, H, W] or [N, C, D, H, W]; the result [N, C, 1, ...].
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// As [`adaptive_avg_pool2d`].
///
/// # Errors
/// As [`adaptive_avg_pool2d`].
#[track_caller]
pub fn global_max_pool<T: Operand>(x: &T) -> Result<T> {
    GLOBAL_MAX.call_one(&[Arg::Tensor(x.tensor_ref())])
}
