//! Pixel shuffle, pixel unshuffle and channel shuffle: permutations of channels and pixels.

use crate::elementwise::{StridedRegion, copy_part};
use crate::error::{Complaint, Error, Result};
use crate::kernels::channel_copy::{self, CellPosition, ChannelSource, PixelGrid};
use crate::kernels::lanes::Lanes;
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::check_extent;
use crate::ledger;
use crate::op::facts::Movement;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{Ranks, data, required_int};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::EACH_DTYPE;
use crate::ops::pointwise::recorded;
use crate::ops::shape::timed_lanes;
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

params! {
    /// Parameters of `pixel_shuffle` and `pixel_unshuffle`.
    pub(crate) struct PixelShuffle {
        factor: usize => required_int("factor").counted_from_one(),
    }
}

params! {
    /// Parameters of `channel_shuffle`.
    pub(crate) struct ChannelShuffle {
        groups: usize => required_int("groups").counted_from_one(),
    }
}

const PIXEL_RANKS: Ranks = Ranks::exactly(4, "it is [N, C, H, W]", "add or merge dimensions first");
/// Channel shuffle sees one dimension more: that of the groups.
const CHANNEL_RANKS: Ranks = Ranks::between(
    3,
    crate::MAX_RANK - 1,
    "it is [N, C, ...] of rank 3 to 11",
    "add or merge dimensions first",
);
const PIXEL_ARGS: &[ArgSpec] =
    &with_params::<2>(&[data("x").any_dtype().with_ranks(PIXEL_RANKS)], PixelShuffle::SPECS);
static PIXEL_SHUFFLE: Op =
    Op::new(&Schema::new("pixel_shuffle", PIXEL_ARGS).dst_like_x().moving(Movement::Elements)).with(
        &Kernel::rust(&run_pixel_shuffle)
            .with_dtypes(EACH_DTYPE)
            .needing_dense()
            .on_both_with(&|call| pixels_back(call, &PIXEL_UNSHUFFLE)),
    );
static PIXEL_UNSHUFFLE: Op =
    Op::new(&Schema::new("pixel_unshuffle", PIXEL_ARGS).dst_like_x().moving(Movement::Elements)).with(
        &Kernel::rust(&run_pixel_unshuffle)
            .with_dtypes(EACH_DTYPE)
            .needing_dense()
            .on_both_with(&|call| pixels_back(call, &PIXEL_SHUFFLE)),
    );
const CHANNEL_ARGS: &[ArgSpec] =
    &with_params::<2>(&[data("x").any_dtype().with_ranks(CHANNEL_RANKS)], ChannelShuffle::SPECS);
static CHANNEL_SHUFFLE: Op = Op::new(
    &Schema::new("channel_shuffle", CHANNEL_ARGS).dst_like_x().moving(Movement::Elements),
)
.with(
    &Kernel::rust(&run_channel_shuffle).with_dtypes(EACH_DTYPE).needing_dense().on_both_with(&channels_back),
);

pub(crate) const OPS: &[&Op] = &[&PIXEL_SHUFFLE, &PIXEL_UNSHUFFLE, &CHANNEL_SHUFFLE];

/// Spreads channels over pixels: `[N, C r^2, H, W]` becomes `[N, C, H r, W r]`, as `torch.nn.functional.pixel_shuffle`.
///
/// ```
/// use blocktensor::{StridedTensor, ops};
/// let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[1, 4, 1, 1])?;
/// let y = ops::pixel_shuffle(&x, 2)?;
/// assert_eq!(y.dims(), [1, 1, 2, 2]);
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [N, C, H, W], where `factor^2` divides C.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// Strided: any strides; the result has the format that `x` suggests. Blocked: the layout of `x`.
///
/// # Errors
/// `RankMismatch` for another rank, `InvalidArgument` for a factor of 0 or one that does not divide, `Overflow`.
#[track_caller]
pub fn pixel_shuffle<T: Operand>(x: &T, factor: usize) -> Result<T> {
    PIXEL_SHUFFLE.call_with(&[Arg::Tensor(x.tensor_ref())], &PixelShuffle { factor })
}

/// The inverse of [`pixel_shuffle`], as `torch.nn.functional.pixel_unshuffle`.
///
/// # Shapes
/// `x` [N, C, H, W], where `factor` divides H and W.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// As [`pixel_shuffle`].
///
/// # Errors
/// As [`pixel_shuffle`].
#[track_caller]
pub fn pixel_unshuffle<T: Operand>(x: &T, factor: usize) -> Result<T> {
    PIXEL_UNSHUFFLE.call_with(&[Arg::Tensor(x.tensor_ref())], &PixelShuffle { factor })
}

/// Interleaves groups of channels, as `torch.nn.functional.channel_shuffle`: channel `c` of the result is channel
/// `c % groups * (C / groups) + c / groups` of `x`.
///
/// # Shapes
/// `x` [N, C, ...] of rank 3 or more, where `groups` divides C.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// As [`pixel_shuffle`].
///
/// # Errors
/// `RankMismatch`; `InvalidArgument` for 0 groups or a number that does not divide C.
#[track_caller]
pub fn channel_shuffle<T: Operand>(x: &T, groups: usize) -> Result<T> {
    CHANNEL_SHUFFLE.call_with(&[Arg::Tensor(x.tensor_ref())], &ChannelShuffle { groups })
}

/// Checks that a number, or its square, divides the sizes of all `axes`, and returns the divisor.
fn check_divisor(args: &Args<'_>, number: usize, squared: bool, axes: &[usize]) -> Result<usize> {
    let x = args.tensor(0)?;
    let divisor = if squared { number.checked_mul(number) } else { Some(number) };
    let divisor = divisor.filter(|&d| d != 0 && axes.iter().all(|&a| x.dims()[a].is_multiple_of(d)));
    divisor.ok_or_else(|| {
        let what = if squared { format!("the square of {number}") } else { number.to_string() };
        Error::InvalidArgument(Complaint::new(
            args.op(),
            args.name(1),
            number.to_string(),
            format!("x is {}, and {what} must divide its size along {axes:?}", x.describe()),
            "pass a divisor, 1 or more",
        ))
    })
}

/// Checks that the number of elements of a result with these sizes fits.
fn check_result_size(args: &Args<'_>, factor: usize, dims: &[usize]) -> Result<()> {
    check_extent(args.op(), dims).map_err(|_| {
        let rule = format!("the number of elements of a result {dims:?} does not fit");
        Error::Overflow(Complaint::new(
            args.op(),
            args.name(1),
            factor.to_string(),
            rule,
            "pass a smaller one",
        ))
    })
}

/// Splits axis `axis` in two: an outer axis of size `outer`, and an inner one.
fn split_axis(dims: &mut Vec<usize>, strides: &mut Vec<usize>, axis: usize, outer: usize) {
    let inner = dims[axis] / outer;
    dims[axis] = inner;
    dims.insert(axis, outer);
    strides.insert(axis, strides[axis] * inner);
}

/// How one side of a copy is viewed: some axes are split, then all are permuted.
struct SplitView<'a> {
    /// Axes to split, with the outer size of each. Later axes come first, since a split renumbers the axes after it.
    splits: &'a [(usize, usize)],
    /// The axes after the splits, in the order of the copy.
    order: &'a [usize],
}

/// Copies `x` to a result of sizes `dims`. Both are viewed with the same axes: `x` by `src`, the result by `dst`.
fn copy_split_views(
    args: &Args<'_>,
    results: &mut Results<'_>,
    x: &StridedTensor,
    dims: &[usize],
    src: SplitView<'_>,
    dst: SplitView<'_>,
) -> KernelResult {
    let op = args.op();
    let to = results.by_rule(FormatRule::Suggested, &[x], dims, x.dtype())?;
    if to.numel() == 0 {
        return Ok(());
    }
    let place = |t: &StridedTensor, view: SplitView<'_>| -> StridedRegion {
        let (mut dims, mut strides) = (t.dims().to_vec(), t.strides().to_vec());
        view.splits.iter().for_each(|&(axis, outer)| split_axis(&mut dims, &mut strides, axis, outer));
        StridedRegion {
            dims: view.order.iter().map(|&i| dims[i]).to_dims(),
            strides: view.order.iter().map(|&i| strides[i]).to_dims(),
            offset: t.offset(),
        }
    };
    let from = place(x, src);
    let view = x.as_strided(&from.dims, &from.strides, from.offset)?;
    let name = if ledger::is_recording() { to.format_name() } else { String::new() };
    let place = StridedRegion { offset: 0, ..place(to, dst) };
    Ok(recorded(args, || name, || copy_part(op, to.result_bytes(), place, &view))?)
}

fn run_pixel_shuffle(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, PixelShuffle { factor: r }) = (args.op(), args.tensor(0)?, PixelShuffle::read(args)?);
    let square = check_divisor(args, r, true, &[1])?;
    let d = x.dims();
    let dims = [d[0], d[1] / square, d[2].saturating_mul(r), d[3].saturating_mul(r)];
    check_result_size(args, r, &dims)?;
    match x {
        TensorRef::Strided(x) => {
            // Both sides become [N, C', h, i, w, j]: C splits into (C', i, j), H into (h, i), W into (w, j).
            let src = SplitView { splits: &[(1, d[1] / r), (1, d[1] / square)], order: &[0, 1, 4, 2, 5, 3] };
            let dst = SplitView { splits: &[(3, d[3]), (2, d[2])], order: &[0, 1, 2, 3, 4, 5] };
            copy_split_views(args, results, x, &dims, src, dst)
        }
        TensorRef::Blocked(x) => {
            let dst = results.blocked(&dims, x.layout(), x.dtype())?;
            Ok(timed_lanes(args, || shuffle_blocked(op, x, dst, r, Direction::Shuffle))?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked only"),
    }
}

fn run_pixel_unshuffle(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, PixelShuffle { factor: r }) = (args.op(), args.tensor(0)?, PixelShuffle::read(args)?);
    check_divisor(args, r, false, &[2, 3])?;
    let d = x.dims();
    let dims = [d[0], d[1].saturating_mul(r.saturating_mul(r)), d[2] / r, d[3] / r];
    check_result_size(args, r, &dims)?;
    match x {
        TensorRef::Strided(x) => {
            // Both sides become [N, C, i, j, h, w].
            let src = SplitView { splits: &[(3, d[3] / r), (2, d[2] / r)], order: &[0, 1, 3, 5, 2, 4] };
            let dst = SplitView { splits: &[(1, dims[1] / r), (1, d[1])], order: &[0, 1, 2, 3, 4, 5] };
            copy_split_views(args, results, x, &dims, src, dst)
        }
        TensorRef::Blocked(x) => {
            let dst = results.blocked(&dims, x.layout(), x.dtype())?;
            Ok(timed_lanes(args, || shuffle_blocked(op, x, dst, r, Direction::Unshuffle))?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked only"),
    }
}

/// Which way elements move between channels and pixels.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// From channels to pixels: `pixel_shuffle`.
    Shuffle,
    /// From pixels to channels: `pixel_unshuffle`.
    Unshuffle,
}

/// Both pixel shuffles on blocked tensors. The finer side consists of cells of `r` by `r` pixels. Each position (i, j) in a
/// cell has a map of channels of its own, which all cells share.
fn shuffle_blocked(
    op: &'static str,
    x: &BlockedTensor,
    dst: &mut BlockedTensor,
    r: usize,
    direction: Direction,
) -> Result<()> {
    if dst.numel() == 0 {
        return Ok(());
    }
    let (from, to) = (Lanes::of_blocked(op, x)?, Lanes::of_blocked(op, dst)?);
    let is_shuffle = direction == Direction::Shuffle;
    let (fine, coarse) = if is_shuffle { (&to, &from) } else { (&from, &to) };
    let [_, h, w] = coarse.spatial;
    // Steps from cell to cell on the fine side, from pixel to pixel on the coarse side.
    let fine_steps = (fine.stride_h * r, fine.lanes * r);
    let coarse_steps = (coarse.stride_h, coarse.lanes);
    let (src_steps, dst_steps) =
        if is_shuffle { (coarse_steps, fine_steps) } else { (fine_steps, coarse_steps) };
    let grid = PixelGrid { rows: h, columns: w, src_steps, dst_steps, pixels: h * w };
    let positions: Vec<CellPosition> = (0..r)
        .flat_map(|i| (0..r).map(move |j| i * fine.spatial[2] + j))
        .map(|pixel| {
            let (src_pixel, dst_pixel) = if is_shuffle { (0, pixel) } else { (pixel, 0) };
            CellPosition { src_pixel, dst_pixel }
        })
        .collect();
    let square = r * r;
    let source = |channel| ChannelSource::Channel { operand: 0, channel };
    let sources_of = |c: usize, fill: &mut dyn FnMut(usize, ChannelSource)| match direction {
        Direction::Shuffle => (0..square).for_each(|k| fill(k, source(c * square + k))),
        Direction::Unshuffle => fill(c % square, source(c / square)),
    };
    channel_copy::map_cells(op, &[x], dst, &positions, sources_of, grid, 0.0)
}

fn run_channel_shuffle(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, ChannelShuffle { groups }) = (args.op(), args.tensor(0)?, ChannelShuffle::read(args)?);
    check_divisor(args, groups, false, &[1])?;
    let c = x.dims()[1];
    match x {
        TensorRef::Strided(x) => {
            let order: Dims = (0..=x.rank()).to_dims();
            let mut swapped = order;
            swapped.swap(1, 2);
            let group_size = (c / groups).max(1);
            let src = SplitView { splits: &[(1, groups)], order: &swapped };
            let dst = SplitView { splits: &[(1, group_size)], order: &order };
            copy_split_views(args, results, x, x.dims(), src, dst)
        }
        TensorRef::Blocked(x) => {
            let group_size = c / groups;
            let from =
                |c| ChannelSource::Channel { operand: 0, channel: c % groups * group_size + c / groups };
            let dst = results.blocked(x.dims(), x.layout(), x.dtype())?;
            Ok(timed_lanes(args, || channel_copy::map_channels(op, &[x], dst, from, 0.0))?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked only"),
    }
}

/// The gradient of a pixel shuffle or unshuffle: the other one.
fn pixels_back(call: &Backward<'_>, inverse: &'static Op) -> Result<Gradients> {
    let params = PixelShuffle::read(&call.args)?;
    call.each(|_| inverse.call_with(&[Arg::Tensor(call.diff()?)], &params))
}

/// The gradient of a channel shuffle: the one with as many groups as a group had channels.
fn channels_back(call: &Backward<'_>) -> Result<Gradients> {
    let ChannelShuffle { groups } = ChannelShuffle::read(&call.args)?;
    let params = ChannelShuffle { groups: (call.args.tensor(0)?.dims()[1] / groups).max(1) };
    call.each(|_| CHANNEL_SHUFFLE.call_with(&[Arg::Tensor(call.diff()?)], &params))
}
