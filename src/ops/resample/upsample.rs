//! Upsampling and downsampling: nearest neighbour and linear interpolation, to a size or by a scale.

use half::bf16;

use crate::dtype::{DType, Element, Float, with_elements};
use crate::error::Result;
use crate::kernels::gradient::resample as gradient;
use crate::kernels::resample::upsample;
use crate::kernels::resample::upsample_geometry::{Neighbours, ResampleGeometry, SizeOrScale};
use crate::kernels::spatial::{self, SpatialOperands};
use crate::layout::dims::Dims;
use crate::op::facts::Movement;
use crate::op::lookup::OF_ONE;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{data, flag, float, ints};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::EACH_DTYPE;
use crate::tensor::any::Operand;

params! {
    /// Parameters of resampling with `N` spatial dimensions: the size of the result or a scale, and how coordinates are counted.
    pub struct Resample<const N: usize> {
        output: Option<[usize; N]> => ints("output", &[]),
        scale_d: f64 => float("scale_d", 0.0),
        scale_h: f64 => float("scale_h", 0.0),
        scale_w: f64 => float("scale_w", 0.0),
        recompute_scale_factor: bool => flag("recompute_scale_factor", false),
        align_corners: bool => flag("align_corners", false),
    }
}

params! {
    /// The parameters that nearest neighbour has: all of [`Resample`] but `align_corners`.
    struct NearestResample<const N: usize> {
        output: Option<[usize; N]> => ints("output", &[]),
        scale_d: f64 => float("scale_d", 0.0),
        scale_h: f64 => float("scale_h", 0.0),
        scale_w: f64 => float("scale_w", 0.0),
        recompute_scale_factor: bool => flag("recompute_scale_factor", false),
    }
}

impl<const N: usize> Resample<N> {
    /// To these spatial sizes.
    pub fn to(output: [usize; N]) -> Self {
        Resample { output: Some(output), ..Self::by_each([0.0; N]) }
    }

    /// By the same scale along every axis.
    pub fn by(scale: f64) -> Self {
        Self::by_each([scale; N])
    }

    /// By a scale for each axis: sizes become `floor(size * scale)`. Coordinates are counted with the scale itself
    /// (see [`recompute_scale_factor`](Self::recompute_scale_factor)).
    pub fn by_each(scale: [f64; N]) -> Self {
        // W is the last axis; axes that `N` spatial dimensions do not have keep 0.
        let mut of_axes = [0.0; 3];
        of_axes.iter_mut().rev().zip(scale.iter().rev()).for_each(|(to, &scale)| *to = scale);
        let [scale_d, scale_h, scale_w] = of_axes;
        Resample {
            output: None,
            scale_d,
            scale_h,
            scale_w,
            recompute_scale_factor: false,
            align_corners: false,
        }
    }

    /// The centres of the corner pixels of source and result coincide, instead of the corners of the corner pixels.
    /// Nearest neighbour ignores this.
    pub fn align_corners(mut self) -> Self {
        self.align_corners = true;
        self
    }

    /// Counts coordinates with the quotient of the sizes, not with the scale that was given. The two differ if
    /// `size * scale` is not an integer.
    pub fn recompute_scale_factor(mut self) -> Self {
        self.recompute_scale_factor = true;
        self
    }

    fn without_align_corners(&self) -> NearestResample<N> {
        let &Resample { output, scale_d, scale_h, scale_w, recompute_scale_factor, align_corners: _ } = self;
        NearestResample { output, scale_d, scale_h, scale_w, recompute_scale_factor }
    }
}

const NEAREST_ARGS: &[ArgSpec] =
    &with_params::<6>(&[data("x").any_dtype().with_ranks(spatial::IMAGE_RANKS)], NearestResample::<2>::SPECS);

const fn linear_args(spatial: usize) -> [ArgSpec; 7] {
    with_params(&[data("x").f32().with_ranks(spatial::image_ranks(spatial))], Resample::<2>::SPECS)
}

static LINEAR_ARGS: [[ArgSpec; 7]; 3] = [linear_args(1), linear_args(2), linear_args(3)];

static UPSAMPLE_NEAREST: Op = Op::new(
    &Schema::new("upsample_nearest", NEAREST_ARGS).dst_like_x().moving(Movement::Elements),
)
.with(&Kernel::rust(&run_nearest).with_dtypes(EACH_DTYPE).needing_dense().on_both_with(&nearest_gradient));
static UPSAMPLE_LINEAR: Op = Op::new(&Schema::new("upsample_linear", &LINEAR_ARGS[0]).dst_like_x()).with(
    &Kernel::rust(&run_linear::<1>).with_dtypes(OF_ONE).needing_dense().on_both_with(&linear_gradient::<1>),
);
static UPSAMPLE_BILINEAR: Op = Op::new(&Schema::new("upsample_bilinear", &LINEAR_ARGS[1]).dst_like_x()).with(
    &Kernel::rust(&run_linear::<2>).with_dtypes(OF_ONE).needing_dense().on_both_with(&linear_gradient::<2>),
);
static UPSAMPLE_TRILINEAR: Op = Op::new(&Schema::new("upsample_trilinear", &LINEAR_ARGS[2]).dst_like_x())
    .with(
        &Kernel::rust(&run_linear::<3>)
            .with_dtypes(OF_ONE)
            .needing_dense()
            .on_both_with(&linear_gradient::<3>),
    );

pub(crate) const OPS: &[&Op] =
    &[&UPSAMPLE_NEAREST, &UPSAMPLE_LINEAR, &UPSAMPLE_BILINEAR, &UPSAMPLE_TRILINEAR];

const IMPLEMENTATION: &str = "blocktensor:resample";

/// Nearest neighbour for both keys: the kernel runs over lanes. One op serves 1 to 3 spatial dimensions.
fn run_nearest(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let g = nearest_geometry(args)?;
    with_elements!(args.tensor(0)?.dtype(), E => nearest_of::<E>(args, results, &g))
}

fn nearest_geometry(args: &Args<'_>) -> Result<ResampleGeometry> {
    let input = spatial::check_input(args)?;
    match input.len() {
        1 => nearest_geometry_of_rank::<1>(args, input),
        2 => nearest_geometry_of_rank::<2>(args, input),
        _ => nearest_geometry_of_rank::<3>(args, input),
    }
}

fn nearest_geometry_of_rank<const N: usize>(args: &Args<'_>, input: Dims) -> Result<ResampleGeometry> {
    let NearestResample { output, scale_d, scale_h, scale_w, recompute_scale_factor } =
        &NearestResample::<N>::read(args)?;
    let to = SizeOrScale {
        output: output.as_ref().map(|sizes| &sizes[..]),
        scale: [*scale_d, *scale_h, *scale_w],
        recompute_scale_factor: *recompute_scale_factor,
    };
    ResampleGeometry::new(args.op(), input, to)
}

/// A result pixel is a copy of one source pixel.
fn nearest_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let axes = nearest_geometry(&call.args)?.nearest()?;
    gradient::separable(call, &axes.map(|axis| axis.iter().map(|&i| [(i as usize, 1.0)]).collect()))
}

fn nearest_of<E: Element>(args: &Args<'_>, results: &mut Results<'_>, g: &ResampleGeometry) -> KernelResult {
    spatial::with_result(args, results, &g.output, IMPLEMENTATION, |operands: SpatialOperands<'_, E>| {
        upsample::nearest(operands, &g.nearest()?);
        Ok(())
    })
}

/// Linear interpolation for both keys: the kernel runs over lanes.
fn run_linear<const N: usize>(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (g, align_corners) = linear_geometry::<N>(args)?;
    match args.tensor(0)?.dtype() {
        DType::BF16 => linear_of::<bf16>(args, results, &g, align_corners),
        _ => linear_of::<f32>(args, results, &g, align_corners),
    }
}

/// The geometry, and whether corners are aligned.
fn linear_geometry<const N: usize>(args: &Args<'_>) -> Result<(ResampleGeometry, bool)> {
    let input = spatial::check_input(args)?;
    let p = &Resample::<N>::read(args)?;
    let to = SizeOrScale {
        output: p.output.as_ref().map(|sizes| &sizes[..]),
        scale: [p.scale_d, p.scale_h, p.scale_w],
        recompute_scale_factor: p.recompute_scale_factor,
    };
    Ok((ResampleGeometry::new(args.op(), input, to)?, p.align_corners))
}

/// A result pixel is a mean of two source pixels along each axis, with weights.
fn linear_gradient<const N: usize>(call: &Backward<'_>) -> Result<Gradients> {
    let (g, align_corners) = linear_geometry::<N>(&call.args)?;
    let (axes, skipped) = (g.linear(align_corners)?, 3 - g.output.len());
    let size = |axis: usize| axis.checked_sub(skipped).map_or(1, |axis| g.output[axis]);
    let of = |i: usize| {
        let taps = |at| {
            let Neighbours { low, high, weights: [of_low, of_high] } = axes[i].neighbours(at);
            [(low as usize, of_low), (high as usize, of_high)]
        };
        (0..size(i)).map(taps).collect()
    };
    gradient::separable(call, &std::array::from_fn(of))
}

fn linear_of<E: Float>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    g: &ResampleGeometry,
    align_corners: bool,
) -> KernelResult {
    spatial::with_result(args, results, &g.output, IMPLEMENTATION, |operands: SpatialOperands<'_, E>| {
        upsample::linear(operands, &g.linear(align_corners)?);
        Ok(())
    })
}

/// Nearest-neighbour resampling of 1, 2 or 3 spatial dimensions, as `torch.nn.functional.interpolate` with mode `nearest`.
///
/// Index `i` of the result is source index `floor(i * size / output)`, or `floor(i / scale)`, counted in f32. In two dimensions,
/// an axis that keeps its size or doubles it takes index `i` or `i / 2`, whatever the scale is, as PyTorch does.
///
/// ```
/// use blocktensor::StridedTensor;
/// use blocktensor::ops::{Resample, upsample_nearest};
/// let x = StridedTensor::from_slice(&[1f32, 2.0], &[1, 1, 1, 2])?;
/// let y = upsample_nearest(&x, &Resample::to([1, 4]))?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 1.0, 2.0, 2.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [N, C, W], [N, C, H, W] or [N, C, D, H, W] with `N` spatial dimensions; inputs without a batch are not taken.
///
/// # Dtypes
/// Any: elements are copied.
///
/// # Layouts
/// Strided: any; the result has the format that `x` suggests. Blocked: any block of channels; the result is in the layout of
/// `x`.
///
/// # Errors
/// `RankMismatch`; `InvalidArgument` for an `x` without channels or pixels, a scale that is not a positive number, or a result
/// without pixels; `Overflow`, `OutOfMemory`, `LayoutMismatch`.
#[track_caller]
pub fn upsample_nearest<const N: usize, T: Operand>(x: &T, params: &Resample<N>) -> Result<T> {
    const { assert!(N >= 1 && N <= 3, "1 to 3 spatial dimensions") };
    UPSAMPLE_NEAREST.call_with(&[Arg::Tensor(x.tensor_ref())], &params.without_align_corners())
}

/// Linear interpolation along one spatial dimension, as `torch.nn.functional.interpolate` with mode `linear`.
///
/// # Shapes
/// `x` [N, C, W]. All else is as [`upsample_bilinear`] has it.
///
/// # Errors
/// As [`upsample_nearest`].
#[track_caller]
pub fn upsample_linear<T: Operand>(x: &T, params: &Resample<1>) -> Result<T> {
    UPSAMPLE_LINEAR.call_with(&[Arg::Tensor(x.tensor_ref())], params)
}

/// Linear interpolation along two spatial dimensions, as `torch.nn.functional.interpolate` with mode `bilinear`.
///
/// Along each axis, index `i` of the result is at source coordinate `max((i + 0.5) * size / output - 0.5, 0)`, with `1 / scale`
/// in place of the quotient if a scale is given; with `align_corners` it is at `i * (size - 1) / (output - 1)`. The result is
/// the mean of the neighbours on both sides, weighted by their closeness.
///
/// ```
/// use blocktensor::StridedTensor;
/// use blocktensor::ops::{Resample, upsample_bilinear};
/// let x = StridedTensor::from_slice(&[1f32, 3.0], &[1, 1, 1, 2])?;
/// let y = upsample_bilinear(&x, &Resample::to([1, 4]))?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 1.5, 2.5, 3.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [N, C, H, W]; inputs without a batch are not taken.
///
/// # Dtypes
/// f32 and bf16; coordinates are counted in f64.
///
/// # Layouts
/// As [`upsample_nearest`].
///
/// # Errors
/// As [`upsample_nearest`].
#[track_caller]
pub fn upsample_bilinear<T: Operand>(x: &T, params: &Resample<2>) -> Result<T> {
    UPSAMPLE_BILINEAR.call_with(&[Arg::Tensor(x.tensor_ref())], params)
}

/// Linear interpolation along three spatial dimensions, as `torch.nn.functional.interpolate` with mode `trilinear`.
///
/// # Shapes
/// `x` [N, C, D, H, W]. All else is as [`upsample_bilinear`] has it.
///
/// # Errors
/// As [`upsample_nearest`].
#[track_caller]
pub fn upsample_trilinear<T: Operand>(x: &T, params: &Resample<3>) -> Result<T> {
    UPSAMPLE_TRILINEAR.call_with(&[Arg::Tensor(x.tensor_ref())], params)
}
