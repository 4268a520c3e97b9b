//! Resampling: nearest neighbour and linear interpolation, to a size or by a scale.

use crate::error::Result;
use crate::kernels::resample::geometry::Target;
use crate::kernels::resample::kernel;
use crate::kernels::spatial;
use crate::op::schema::{data, flag, float, ints};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelFn, KernelResult, Op, Results, Schema};

use crate::tensor::any::Operand;

/// Where resampling with `N` spatial dimensions leads, and how coordinates are counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Resample<const N: usize> {
    output: Option<[usize; N]>,
    scale: [f64; N],
    align_corners: bool,
    recompute_scale: bool,
}

impl<const N: usize> Resample<N> {
    /// To these spatial sizes.
    pub fn to(output: [usize; N]) -> Self {
        Resample { output: Some(output), scale: [0.0; N], align_corners: false, recompute_scale: false }
    }

    /// By the same factor along every axis.
    pub fn by(scale: f64) -> Self {
        Self::by_each([scale; N])
    }

    /// By a factor for each axis: sizes become `floor(size * scale)`. Coordinates are counted with the factor itself
    /// (see [`recompute_scale_factor`](Self::recompute_scale_factor)).
    pub fn by_each(scale: [f64; N]) -> Self {
        Resample { output: None, scale, align_corners: false, recompute_scale: false }
    }

    /// The centres of the corner pixels of source and result coincide, instead of the corners of the corner pixels.
    /// Nearest neighbour takes no notice.
    pub fn align_corners(mut self) -> Self {
        self.align_corners = true;
        self
    }

    /// Counts coordinates with the quotient of the sizes, not with the factor that was given; they differ where
    /// `size * scale` is no integer.
    pub fn recompute_scale_factor(mut self) -> Self {
        self.recompute_scale = true;
        self
    }
}

const NEAREST_ARGS: &[ArgSpec] = &[
    data("x"),
    ints("output", &[]),
    float("scale_d", 0.0),
    float("scale_h", 0.0),
    float("scale_w", 0.0),
    flag("recompute_scale_factor", false),
];
const LINEAR_ARGS: &[ArgSpec] = &[
    data("x"),
    ints("output", &[]),
    float("scale_d", 0.0),
    float("scale_h", 0.0),
    float("scale_w", 0.0),
    flag("recompute_scale_factor", false),
    flag("align_corners", false),
];

static SCHEMAS: [Schema; 4] = [
    Schema::new("upsample_nearest", NEAREST_ARGS),
    Schema::new("upsample_linear", LINEAR_ARGS),
    Schema::new("upsample_bilinear", LINEAR_ARGS),
    Schema::new("upsample_trilinear", LINEAR_ARGS),
];
static NEAREST: Op = entry(&SCHEMAS[0], &nearest);
static LINEAR: [Op; 3] = [
    entry(&SCHEMAS[1], &|args, results| linear(args, results, 1)),
    entry(&SCHEMAS[2], &|args, results| linear(args, results, 2)),
    entry(&SCHEMAS[3], &|args, results| linear(args, results, 3)),
];

/// One kernel serves both keys: it runs over lanes.
const fn entry(schema: &'static Schema, run: &'static KernelFn) -> Op {
    Op::new(schema).on_both(Kernel::rust(run))
}

pub(super) const OPS: &[&Op] = &[&NEAREST, &LINEAR[0], &LINEAR[1], &LINEAR[2]];

fn nearest(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let input = spatial::check_input(args, 1..=3)?;
    let target = Target::new(args, &input)?;
    spatial::run(args, results, &target.output, "blocktensor:resample", |work| {
        kernel::nearest(work, &target.nearest(args.op(), &input)?);
        Ok(())
    })
}

fn linear(args: &Args<'_>, results: &mut Results<'_>, rank: usize) -> KernelResult {
    let input = spatial::check_input(args, rank..=rank)?;
    let target = Target::new(args, &input)?;
    let align_corners = args.flag(6)?;
    spatial::run(args, results, &target.output, "blocktensor:resample", |work| {
        kernel::linear(work, &target.linear(args.op(), &input, align_corners)?);
        Ok(())
    })
}

#[track_caller]
fn call<const N: usize, T: Operand>(op: &'static Op, x: &T, p: &Resample<N>, linear: bool) -> Result<T> {
    let mut scale = [0.0; 3];
    scale[3 - N..].copy_from_slice(&p.scale);
    let args = [
        Arg::Tensor(x.tensor_ref()),
        Arg::Sizes(p.output.as_ref().map_or(&[], |o| o)),
        Arg::Float(scale[0]),
        Arg::Float(scale[1]),
        Arg::Float(scale[2]),
        Arg::Bool(p.recompute_scale),
        Arg::Bool(p.align_corners),
    ];
    op.call_one(if linear { &args } else { &args[..6] })
}

/// Nearest-neighbour resampling of 1, 2 or 3 spatial dimensions, as `torch.nn.functional.interpolate` with mode
/// `nearest`: result index `i` is source index `floor(i * size / output)`, or `floor(i / scale)`, counted in f32. In two
/// dimensions, an axis that keeps its size or doubles it takes index `i` or `i / 2`, whatever the scale was, as PyTorch does.
///
/// # Shapes
/// `x` [N, C, W], [N, C, H, W] or [N, C, D, H, W] with `N` spatial dimensions; inputs without a batch are not taken.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided: any; the result has the format that `x` suggests. Blocked: any block of channels; the result is in the
/// layout of `x`.
///
/// # Errors
/// `RankMismatch`; `InvalidArgument` for an `x` without channels or pixels, a scale that is not a positive number, or
/// a result without pixels; `Overflow`, `OutOfMemory`, `LayoutMismatch`.
#[track_caller]
pub fn upsample_nearest<const N: usize, T: Operand>(x: &T, params: &Resample<N>) -> Result<T> {
    const { assert!(N >= 1 && N <= 3, "1 to 3 spatial dimensions") };
    call(&NEAREST, x, params, false)
}

macro_rules! linears {
    ($($n:literal $name:ident $mode:literal $shape:literal;)*) => {$(
        #[doc = concat!("Linear interpolation along ", $n, " spatial dimensions, as `torch.nn.functional.interpolate` with \
            mode `", $mode, "`.")]
        ///
        /// Along each axis, result index `i` lies at source coordinate `max((i + 0.5) * size / output - 0.5, 0)`, with
        /// `1 / scale` in place of the quotient where a scale is given; with `align_corners` at
        /// `i * (size - 1) / (output - 1)`. It is the mean of the neighbours on both sides, weighted by their closeness.
        ///
        /// # Shapes
        #[doc = concat!("`x` ", $shape, "; inputs without a batch are not taken.")]
        ///
        /// # Dtypes
        /// f32; coordinates are counted in f64.
        ///
        /// # Layouts
        /// As [`upsample_nearest`].
        ///
        /// # Errors
        /// As [`upsample_nearest`].
        #[track_caller]
        pub fn $name<T: Operand>(x: &T, params: &Resample<$n>) -> Result<T> {
            call(&LINEAR[$n - 1], x, params, true)
        }
    )*};
}
linears! {
    1 upsample_linear "linear" "[N, C, W]";
    2 upsample_bilinear "bilinear" "[N, C, H, W]";
    3 upsample_trilinear "trilinear" "[N, C, D, H, W]";
}
