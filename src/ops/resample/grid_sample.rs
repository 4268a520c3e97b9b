//! `grid_sample`: reads a source at the coordinates of a grid.

pub use crate::kernels::resample::grid_coordinates::{GridMode, GridPadding};

use half::bf16;

use crate::dtype::{DType, Float};
use crate::error::{Result, fail};
use crate::kernels::gradient::grid_sample as gradient;
use crate::kernels::gradient::planes::with_dense;
use crate::kernels::resample::grid_sample::{self, Grid, Sampling};
use crate::kernels::spatial::{self, SpatialOperands};
use crate::op::lookup::OF_ONE;
use crate::op::params::{Param, Params, params, with_params};
use crate::op::schema::{Ranks, data, flag, plain, word};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::strided::StridedTensor;

params! {
    /// Parameters of [`grid_sample`]. By default it interpolates linearly, reads zeros outside the source, and -1 and 1 are the
    /// outer edges of the corner pixels.
    #[derive(Default)]
    pub struct GridSample {
        mode: GridMode => word("mode", "bilinear"),
        padding: GridPadding => word("padding_mode", "zeros"),
        align_corners: bool => flag("align_corners", false),
    }
}

impl GridSample {
    /// Linear interpolation, zeros outside the source, corners not aligned.
    pub fn new() -> GridSample {
        GridSample::default()
    }

    /// How the source is read between pixels.
    pub fn mode(mut self, mode: GridMode) -> GridSample {
        self.mode = mode;
        self
    }

    /// What is read outside the source.
    pub fn padding(mut self, padding: GridPadding) -> GridSample {
        self.padding = padding;
        self
    }

    /// The coordinates -1 and 1 are the centres of the corner pixels, instead of their outer edges.
    pub fn align_corners(mut self) -> GridSample {
        self.align_corners = true;
        self
    }
}

impl Param for GridMode {
    fn read(args: &Args<'_>, i: usize) -> Result<GridMode> {
        match args.word(i)? {
            "bilinear" => Ok(GridMode::Bilinear),
            "nearest" => Ok(GridMode::Nearest),
            "bicubic" => Ok(GridMode::Bicubic),
            other => {
                let (got, rule) = (format!("`{other}`"), "it is `bilinear`, `nearest` or `bicubic`");
                fail!(InvalidArgument, args.op(), args.name(i), got, rule, "use one of these");
            }
        }
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Str(match self {
            GridMode::Bilinear => "bilinear",
            GridMode::Nearest => "nearest",
            GridMode::Bicubic => "bicubic",
        })
    }
}

impl Param for GridPadding {
    fn read(args: &Args<'_>, i: usize) -> Result<GridPadding> {
        match args.word(i)? {
            "zeros" => Ok(GridPadding::Zeros),
            "border" => Ok(GridPadding::Border),
            "reflection" => Ok(GridPadding::Reflection),
            other => {
                let (got, rule) = (format!("`{other}`"), "it is `zeros`, `border` or `reflection`");
                fail!(InvalidArgument, args.op(), args.name(i), got, rule, "use one of these");
            }
        }
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Str(match self {
            GridPadding::Zeros => "zeros",
            GridPadding::Border => "border",
            GridPadding::Reflection => "reflection",
        })
    }
}

const GRID_RANKS: Ranks =
    Ranks::SameAs { arg: "x", remedy: "pass [N, OH, OW, 2] for x of rank 4, [N, OD, OH, OW, 3] for rank 5" };
const ARGS: &[ArgSpec] = &with_params::<5>(
    &[data("x").f32().with_ranks(spatial::IMAGE_OR_VOLUME_RANKS), plain("grid").f32().with_ranks(GRID_RANKS)],
    GridSample::SPECS,
);
static GRID_SAMPLE: Op = Op::new(&Schema::new("grid_sample", ARGS).dst_like_x())
    .with(&Kernel::rust(&run).with_dtypes(OF_ONE).needing_dense().on_both_with(&gradient));

pub(crate) const OPS: &[&Op] = &[&GRID_SAMPLE];

/// The kernel for both keys: it runs over lanes.
fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let grid = args.strided(1)?;
    let (output, sampling) = checked(args, grid)?;
    match args.tensor(0)?.dtype() {
        DType::BF16 => sample::<bf16>(args, results, grid, output, sampling),
        _ => sample::<f32>(args, results, grid, output, sampling),
    }
}

/// The spatial sizes of the result, and how it is sampled.
fn checked<'a>(args: &Args<'_>, grid: &'a StridedTensor) -> Result<(&'a [usize], Sampling)> {
    let input = spatial::check_input(args)?;
    let GridSample { mode, padding, align_corners } = GridSample::read(args)?;
    let is_volume = input.len() == 3;
    if is_volume && mode == GridMode::Bicubic {
        fail!(
            InvalidArgument,
            args.op(),
            "mode",
            "`bicubic`",
            format!("it takes x of rank 4, and x is {}", args.tensor(0)?.describe()),
            "use `bilinear` or `nearest`"
        );
    }
    let output = check_grid(args, grid)?;
    Ok((output, Sampling { mode, padding, align_corners, is_volume }))
}

/// The elements of a grid. Where it has no D, that is 0.
fn elements(grid: &StridedTensor) -> Grid<'_> {
    let (strides, data) = (grid.strides(), grid.data::<f32>());
    let strides = match *strides {
        [n, h, w, coordinate] => [n, 0, h, w, coordinate],
        [n, d, h, w, coordinate] => [n, d, h, w, coordinate],
        _ => unreachable!("the grid has the rank of x"),
    };
    Grid { data, strides }
}

/// The gradients of source and grid.
fn gradient(call: &Backward<'_>) -> Result<Gradients> {
    let (op, points) = (call.args.op(), call.args.strided(1)?);
    let (_, sampling) = checked(&call.args, points)?;
    let (grid, coordinates) = (elements(points), points.dims()[points.rank() - 1]);
    let mut by_grid = None;
    let by_source = with_dense(call, |dense, dst| {
        if call.wants(0) {
            gradient::by_source(op, dense, grid, sampling, dst)?;
        }
        if call.wants(1) {
            by_grid = Some(gradient::by_grid(op, dense, grid, sampling, coordinates)?);
        }
        Ok(())
    })?;
    let by_grid = by_grid
        .map(|values| Ok::<_, crate::Error>(StridedTensor::from_slice(&values, points.dims())?.into()));
    Ok(vec![call.wants(0).then_some(by_source), by_grid.transpose()?])
}

fn sample<E: Float>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    grid: &StridedTensor,
    output: &[usize],
    sampling: Sampling,
) -> KernelResult {
    spatial::with_result(
        args,
        results,
        output,
        "blocktensor:grid_sample",
        |operands: SpatialOperands<'_, E>| {
            grid_sample::grid_sample(operands, elements(grid), sampling);
            Ok(())
        },
    )
}

/// Checks the grid, and returns the spatial sizes of the result.
fn check_grid<'a>(args: &Args<'_>, grid: &'a StridedTensor) -> Result<&'a [usize]> {
    let (op, x) = (args.op(), args.tensor(0)?);
    let (got, spatial_rank) = (TensorRef::Strided(grid).describe(), x.dims().len() - 2);
    let (batch, coordinates) = (grid.dims()[0], grid.dims()[spatial_rank + 1]);
    if batch != x.dims()[0] {
        let rule = format!("it has the batch of x, which is {}", x.describe());
        fail!(
            ShapeMismatch,
            op,
            "grid",
            got,
            rule,
            "pass a grid for each image, or `expand` one to all of them"
        );
    }
    if coordinates != spatial_rank {
        let rule = format!("its last size is {spatial_rank}, a coordinate for each spatial dimension of x");
        fail!(
            ShapeMismatch,
            op,
            "grid",
            got,
            rule,
            "pass the coordinates of a point side by side, that of W first"
        );
    }
    let output = &grid.dims()[1..=spatial_rank];
    spatial::check_output(op, "grid", output)?;
    Ok(output)
}

/// The source at the points of a grid, as `torch.nn.functional.grid_sample`.
///
/// The last dimension of the grid holds the coordinates of a point: that of W, that of H, and of a volume that of D. The source
/// reaches from -1 to 1 along each axis. -1 and 1 are the outer edges of the corner pixels, or with
/// [`align_corners`](GridSample::align_corners) their centres. [`mode`](GridSample::mode) says what is read between pixels, and
/// the mode of padding what is read outside the source.
///
/// Coordinates that are NaN or infinite give what PyTorch's CPU kernels give. Mode `bicubic` gives NaN. The other modes:
///
/// | padding | image (4-D) | volume (5-D) |
/// |---|---|---|
/// | zeros | `bilinear` NaN, `nearest` 0 | 0 |
/// | border | NaN: the first pixel of the axis; infinity: the nearest pixel | NaN: the last pixel; infinity: the nearest pixel |
/// | reflection | the first pixel of the axis | the last pixel |
///
/// ```
/// use blocktensor::StridedTensor;
/// use blocktensor::ops::{GridMode, GridPadding, GridSample, grid_sample};
/// let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[1, 1, 2, 2])?;
/// // The middle of the image, then a point on its left edge.
/// let grid = StridedTensor::from_slice(&[0f32, 0.0, -1.0, -0.5], &[1, 1, 2, 2])?;
/// let y = grid_sample(&x, &grid, &GridSample::new().padding(GridPadding::Border))?;
/// assert_eq!(y.dims(), [1, 1, 1, 2]);
/// assert_eq!(y.to_vec::<f32>()?, [2.5, 1.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [N, C, H, W] and `grid` [N, OH, OW, 2]: the result is [N, C, OH, OW]. Or `x` [N, C, D, H, W] and `grid`
/// [N, OD, OH, OW, 3]: the result is [N, C, OD, OH, OW]. A size of 0 in the grid makes an empty result.
///
/// # Dtypes
/// `x` f32 or bf16, the grid f32. Interpolation counts coordinates in f64, `nearest` in f32 as PyTorch does, so that it takes the same pixel.
///
/// # Layouts
/// `x` strided: any; the result has the format that `x` suggests. `x` blocked: any block of channels; the result is in the
/// layout of `x`. The grid is a plain strided tensor beside both, of any strides.
///
/// # Errors
/// `RankMismatch`; `ShapeMismatch` for a grid of another batch, or whose last size is not the number of spatial dimensions;
/// `InvalidArgument` for an `x` without channels or pixels, and for `bicubic` with an `x` of rank 5; `UnsupportedDType`,
/// `Overflow`, `OutOfMemory`, `LayoutMismatch`.
#[track_caller]
pub fn grid_sample<T: Operand>(x: &T, grid: &StridedTensor, params: &GridSample) -> Result<T> {
    GRID_SAMPLE.call_with(&[Arg::Tensor(x.tensor_ref()), Arg::Tensor(TensorRef::Strided(grid))], params)
}
