//! Reductions over any set of axes: sum, mean, product, largest and smallest element, and the index of the largest.

mod argmax;
mod gradient;

pub use argmax::argmax;

use half::bf16;

use crate::dtype::{DType, Element};
use crate::elementwise::{self, Amax, Amin, Fold, Mean, Prod, Sum, Widened};
use crate::error::Result;
use crate::int::Int;
use crate::kernels::lanes::Lanes;
use crate::kernels::reduce::{Axes, blocked};
use crate::kernels::timed;
use crate::layout::dims::ToDims;
use crate::layout::memory_format::MemoryFormat;
use crate::op::lookup::OF_ONE;
use crate::op::params::{AxisList, Params, params, with_params};
use crate::op::schema::{AxesOf, data, flag, ints};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::result_format::FormatRule;

params! {
    /// Parameters of a reduction. No axes means all of them.
    pub(crate) struct Reduction {
        axes: AxisList => ints("axes", &[]).axes_of(AxesOf::Operand),
        keepdim: bool => flag("keepdim", false),
    }
}

const ARGS: &[ArgSpec] = &with_params::<3>(&[data("x").f32()], Reduction::SPECS);
static SUM: Op = Op::new(&Schema::new("sum", ARGS).dst_like_x()).with(
    &Kernel::rust(&|args, results| run(args, results, &Sum)).with_dtypes(OF_ONE).on_both_with(&gradient::sum),
);
static MEAN: Op = Op::new(&Schema::new("mean", ARGS).dst_like_x()).with(
    &Kernel::rust(&|args, results| run(args, results, &Mean))
        .with_dtypes(OF_ONE)
        .on_both_with(&gradient::mean),
);
static PROD: Op = Op::new(&Schema::new("prod", ARGS).dst_like_x()).with(
    &Kernel::rust(&|args, results| run(args, results, &Prod))
        .with_dtypes(OF_ONE)
        .on_both_with(&gradient::prod),
);
static AMAX: Op = Op::new(&Schema::new("amax", ARGS).dst_like_x()).with(
    &Kernel::rust(&|args, results| run_extreme(args, results, &Amax))
        .with_dtypes(OF_ONE)
        .on_both_with(&gradient::extreme),
);
static AMIN: Op = Op::new(&Schema::new("amin", ARGS).dst_like_x()).with(
    &Kernel::rust(&|args, results| run_extreme(args, results, &Amin))
        .with_dtypes(OF_ONE)
        .on_both_with(&gradient::extreme),
);

pub(super) const OPS: &[&Op] = &[&SUM, &MEAN, &PROD, &AMAX, &AMIN, &argmax::ARGMAX];

/// The kernel of a reduction to which empty axes are no error, for both keys.
fn run<F: Fold<In = f32, Out = f32>>(args: &Args<'_>, results: &mut Results<'_>, fold: &F) -> KernelResult {
    let Reduction { axes, keepdim } = Reduction::read(args)?;
    run_over(args, results, fold, &Axes::new(args, "axes", &axes)?, keepdim)
}

/// The kernel of `amax` and `amin`, for both keys: no elements have no extreme.
fn run_extreme<F: Fold<In = f32, Out = f32>>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    fold: &F,
) -> KernelResult {
    let Reduction { axes, keepdim } = Reduction::read(args)?;
    let axes = Axes::new(args, "axes", &axes)?;
    axes.check_not_empty(args)?;
    run_over(args, results, fold, &axes, keepdim)
}

fn run_over<F: Fold<In = f32, Out = f32>>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    fold: &F,
    axes: &Axes,
    keepdim: bool,
) -> KernelResult {
    match args.tensor(0)?.dtype() {
        DType::BF16 => run_fold(args, results, &Widened::<F, bf16>::new(fold), axes, keepdim),
        _ => run_fold(args, results, fold, axes, keepdim),
    }
}

fn run_fold<E: Element, F: Fold<In = E, Out = E>>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    fold: &F,
    axes: &Axes,
    keepdim: bool,
) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    let layout = || x.layout_name();
    match x {
        TensorRef::Strided(x) => {
            let dims = elementwise::reduced_dims(op, x, &axes.list, keepdim)?;
            let dst = results.by_rule(FormatRule::Contiguous, &[x], &dims, x.dtype())?;
            let reduce = || elementwise::reduce_into(op, x, &axes.list, keepdim, fold, dst);
            timed(args, "blocktensor:reduce", layout, reduce)?;
        }
        TensorRef::Blocked(x) => {
            axes.check_keepdim(args, keepdim)?;
            Lanes::of_blocked(op, x)?;
            let dst = results.blocked(&axes.kept_sizes(x.dims()), x.layout(), x.dtype())?;
            timed(args, "blocktensor:reduce", layout, || blocked::reduce(op, x, axes, fold, dst))?;
        }
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
    }
    Ok(())
}

/// Reduces each channel of each image over its pixels, and keeps the axes: global pooling in the cases in which a reduction
/// is faster than a pooling kernel. Returns `false` and does nothing for strided tensors that are not row-major.
pub(super) fn over_pixels<F: Fold<In = f32, Out = f32>>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    fold: &F,
) -> KernelResult<bool> {
    let x = args.tensor(0)?;
    if let TensorRef::Strided(x) = x
        && (x.format_tag.is_some() || !x.is_contiguous(MemoryFormat::Contiguous))
    {
        return Ok(false);
    }
    let list = (2..x.dims().len()).to_dims();
    let is_reduced = std::array::from_fn(|d| d >= 2 && d < x.dims().len());
    run_over(args, results, fold, &Axes { argument: "axes", list, is_reduced }, true)?;
    Ok(true)
}

#[track_caller]
fn call<T: Operand>(op: &'static Op, x: &T, axes: &[impl Int], keepdim: bool) -> Result<T> {
    op.call_with(&[Arg::Tensor(x.tensor_ref())], &Reduction { axes: AxisList::of(axes), keepdim })
}

/// The sum over `axes`, or over all axes if none are named, as `torch.sum`. The sum of no elements is 0.
///
/// ```
/// use blocktensor::{ALL_AXES, StridedTensor, ops};
/// let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// assert_eq!(ops::sum(&x, &[0], false)?.to_vec::<f32>()?, [5.0, 7.0, 9.0]);
/// assert_eq!(ops::sum(&x, &[1], true)?.dims(), [2, 1]);
/// assert_eq!(ops::sum(&x, ALL_AXES, false)?.to_vec::<f32>()?, [21.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// Any `x`, any axes, each at most once; negative ones count from the last. With `keepdim` the reduced axes stay with size 1,
/// else they are removed.
///
/// # Dtypes
/// f32 and bf16; accumulated in f64, and rounded to f32 and from there to bf16.
///
/// # Layouts
/// Strided: any strides, without a copy. The result is row-major, or with `keepdim` in the format that `x` is tagged with.
/// Blocked: any layout that blocks only the channels, and any axes. The axes of a blocked tensor are part of its layout, so
/// `keepdim` must be true. The result keeps the layout (with C = 1 if the channels are reduced). Padding does not take part.
///
/// # Errors
/// `InvalidArgument` for an axis that does not exist or is named twice; `OpaqueLayout` for a blocked `x` without
/// `keepdim`; `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn sum<T: Operand>(x: &T, axes: &[impl Int], keepdim: bool) -> Result<T> {
    call(&SUM, x, axes, keepdim)
}

/// The mean over `axes`, or over all axes if none are named, as `torch.mean`. The mean of no elements is NaN.
///
/// ```
/// use blocktensor::{Layout, MemoryFormat, StridedTensor, ops};
/// let x = StridedTensor::full(&[1, 20, 4, 4], 3f32, MemoryFormat::Contiguous)?.to_blocked(&Layout::NCHW16C)?;
/// let pooled = ops::mean(&x, &[2, 3], true)?;
/// assert_eq!(pooled.dims(), [1, 20, 1, 1]);
/// assert_eq!(pooled.to_strided(MemoryFormat::Contiguous)?.to_vec::<f32>()?, [3.0; 20]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// As [`sum`].
///
/// # Dtypes
/// f32 and bf16; accumulated in f64, and rounded to f32 and from there to bf16.
///
/// # Layouts
/// As [`sum`].
///
/// # Errors
/// As [`sum`].
#[track_caller]
pub fn mean<T: Operand>(x: &T, axes: &[impl Int], keepdim: bool) -> Result<T> {
    call(&MEAN, x, axes, keepdim)
}

/// The product over `axes`, or over all axes if none are named, as `torch.prod`. The product of no elements is 1.
///
/// # Shapes
/// As [`sum`].
///
/// # Dtypes
/// f32 and bf16; accumulated in f64, and rounded to f32 and from there to bf16.
///
/// # Layouts
/// As [`sum`].
///
/// # Errors
/// As [`sum`].
#[track_caller]
pub fn prod<T: Operand>(x: &T, axes: &[impl Int], keepdim: bool) -> Result<T> {
    call(&PROD, x, axes, keepdim)
}

/// The largest element over `axes`, or over all axes if none are named, as `torch.amax`. NaN if one of them is NaN.
///
/// # Shapes
/// As [`sum`].
///
/// # Dtypes
/// f32 and bf16.
///
/// # Layouts
/// As [`sum`].
///
/// # Errors
/// As [`sum`], and `InvalidArgument` for a largest of no elements.
#[track_caller]
pub fn amax<T: Operand>(x: &T, axes: &[impl Int], keepdim: bool) -> Result<T> {
    call(&AMAX, x, axes, keepdim)
}

/// The smallest element over `axes`, or over all axes if none are named, as `torch.amin`. NaN if one of them is NaN.
///
/// # Shapes
/// As [`sum`].
///
/// # Dtypes
/// f32 and bf16.
///
/// # Layouts
/// As [`sum`].
///
/// # Errors
/// As [`sum`], and `InvalidArgument` for a smallest of no elements.
#[track_caller]
pub fn amin<T: Operand>(x: &T, axes: &[impl Int], keepdim: bool) -> Result<T> {
    call(&AMIN, x, axes, keepdim)
}
