//! Pixel shuffle and unshuffle, channel shuffle: permutations of channels and pixels.

use crate::elementwise::{StridedRegion as Place, copy_part};
use crate::error::{Complaint, Error, Result, fail};
use crate::kernels::channel_copy::{self, Channel, Grid, Layer};
use crate::kernels::lanes::Lanes;
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::check_extent;
use crate::ledger;
use crate::op::schema::{data, required_int};
use crate::op::{Arg, Args, KernelResult, Op, Results, Schema};
use crate::ops::pointwise::recorded;
use crate::ops::shape::cat::{lanes_recorded, moving};
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

static PIXEL_SHUFFLE_SCHEMA: Schema = Schema::new("pixel_shuffle", &[data("x"), required_int("factor")]);
static PIXEL_SHUFFLE: Op = moving(&PIXEL_SHUFFLE_SCHEMA, &pixel_shuffle_kernel);
static PIXEL_UNSHUFFLE_SCHEMA: Schema = Schema::new("pixel_unshuffle", &[data("x"), required_int("factor")]);
static PIXEL_UNSHUFFLE: Op = moving(&PIXEL_UNSHUFFLE_SCHEMA, &pixel_unshuffle_kernel);
static CHANNEL_SHUFFLE_SCHEMA: Schema = Schema::new("channel_shuffle", &[data("x"), required_int("groups")]);
static CHANNEL_SHUFFLE: Op = moving(&CHANNEL_SHUFFLE_SCHEMA, &channel_shuffle_kernel);

pub(crate) const OPS: &[&Op] = &[&PIXEL_SHUFFLE, &PIXEL_UNSHUFFLE, &CHANNEL_SHUFFLE];

/// Channels spread over pixels: `[N, C r^2, H, W]` to `[N, C, H r, W r]`, as `torch.nn.functional.pixel_shuffle`.
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
    PIXEL_SHUFFLE.call_one(&[Arg::Tensor(x.tensor_ref()), crate::ops::axis_arg(factor)])
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
    PIXEL_UNSHUFFLE.call_one(&[Arg::Tensor(x.tensor_ref()), crate::ops::axis_arg(factor)])
}

/// Channels in groups, dealt out in turns: channel `c` of the result is channel `c % groups * (C / groups) + c / groups`
/// of `x`, as `torch.nn.functional.channel_shuffle`.
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
    CHANNEL_SHUFFLE.call_one(&[Arg::Tensor(x.tensor_ref()), crate::ops::axis_arg(groups)])
}

/// Checks that a number, or its square, divides the size of every one of `axes`, and returns it.
fn divisor(args: &Args<'_>, number: usize, squared: bool, axes: &[usize]) -> Result<usize> {
    let x = args.tensor(0)?;
    let of = if squared { number.checked_mul(number) } else { Some(number) };
    let of = of.filter(|&of| of != 0 && axes.iter().all(|&a| x.dims()[a].is_multiple_of(of)));
    of.ok_or_else(|| {
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

/// Checks that there can be a result of these sizes.
fn check_result(args: &Args<'_>, factor: usize, dims: &[usize]) -> Result<()> {
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

fn check_rank(args: &Args<'_>, fits: bool, rule: &str) -> Result<()> {
    if !fits {
        let got = args.tensor(0)?.describe();
        fail!(RankMismatch, args.op(), "x", got, rule, "add or merge dimensions first");
    }
    Ok(())
}

/// A place or a view with axis `axis` split in two, the outer of size `outer`.
fn split_axis(dims: &mut Vec<usize>, strides: &mut Vec<usize>, axis: usize, outer: usize) {
    let inner = dims[axis] / outer;
    dims[axis] = inner;
    dims.insert(axis, outer);
    strides.insert(axis, strides[axis] * inner);
}

/// Copies `x` to a new result of sizes `dims`, each side seen as `src` and `dst` say: axes to split with the outer
/// size, from the last to the first, and the order in which the parts then stand.
fn permuted(
    args: &Args<'_>,
    results: &mut Results<'_>,
    x: &StridedTensor,
    dims: &[usize],
    src: (&[(usize, usize)], &[usize]),
    dst: (&[(usize, usize)], &[usize]),
) -> KernelResult {
    let op = args.op();
    let to = results.by_rule(FormatRule::Suggested, &[x], dims, x.dtype())?;
    if to.numel() == 0 {
        return Ok(());
    }
    let seen = |t: &StridedTensor, (splits, order): (&[(usize, usize)], &[usize])| -> Place {
        let (mut d, mut s) = (t.dims().to_vec(), t.strides().to_vec());
        splits.iter().for_each(|&(axis, outer)| split_axis(&mut d, &mut s, axis, outer));
        Place {
            dims: order.iter().map(|&i| d[i]).to_dims(),
            strides: order.iter().map(|&i| s[i]).to_dims(),
            offset: t.offset(),
        }
    };
    let from = seen(x, src);
    let view = x.as_strided(&from.dims, &from.strides, from.offset)?;
    let name = if ledger::is_recording() { to.format_name() } else { String::new() };
    let place = Place { offset: 0, ..seen(to, dst) };
    Ok(recorded(args, || name, || copy_part(op, to.result_bytes(), place, &view))?)
}

fn pixel_shuffle_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, r) = (args.op(), args.tensor(0)?, args.count(1)?);
    check_rank(args, x.dims().len() == 4, "it is [N, C, H, W]")?;
    let square = divisor(args, r, true, &[1])?;
    let d = x.dims();
    let dims = [d[0], d[1] / square, d[2].saturating_mul(r), d[3].saturating_mul(r)];
    check_result(args, r, &dims)?;
    match x {
        TensorRef::Strided(x) => {
            // C = (C', i, j); H = (h, i), W = (w, j).
            let src = ([(1, d[1] / r), (1, d[1] / square)], [0, 1, 4, 2, 5, 3]);
            let dst = ([(3, d[3]), (2, d[2])], [0, 1, 2, 3, 4, 5]);
            permuted(args, results, x, &dims, (&src.0, &src.1), (&dst.0, &dst.1))
        }
        TensorRef::Blocked(x) => {
            let dst = results.blocked(&dims, x.layout(), x.dtype())?;
            Ok(lanes_recorded(args, || pixels(op, x, dst, r, true))?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel stands under our two keys"),
    }
}

fn pixel_unshuffle_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, r) = (args.op(), args.tensor(0)?, args.count(1)?);
    check_rank(args, x.dims().len() == 4, "it is [N, C, H, W]")?;
    divisor(args, r, false, &[2, 3])?;
    let d = x.dims();
    let dims = [d[0], d[1].saturating_mul(r.saturating_mul(r)), d[2] / r, d[3] / r];
    check_result(args, r, &dims)?;
    match x {
        TensorRef::Strided(x) => {
            let src = ([(3, d[3] / r), (2, d[2] / r)], [0, 1, 3, 5, 2, 4]);
            let dst = ([(1, dims[1] / r), (1, d[1])], [0, 1, 2, 3, 4, 5]);
            permuted(args, results, x, &dims, (&src.0, &src.1), (&dst.0, &dst.1))
        }
        TensorRef::Blocked(x) => {
            let dst = results.blocked(&dims, x.layout(), x.dtype())?;
            Ok(lanes_recorded(args, || pixels(op, x, dst, r, false))?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel stands under our two keys"),
    }
}

/// Both pixel shuffles on blocked: for each place (i, j) of a cell of `r` by `r` pixels, a layer of channels.
fn pixels(
    op: &'static str,
    x: &BlockedTensor,
    dst: &mut BlockedTensor,
    r: usize,
    spread: bool,
) -> Result<()> {
    if dst.numel() == 0 {
        return Ok(());
    }
    let (from, to) = (Lanes::of_blocked(op, x)?, Lanes::of_blocked(op, dst)?);
    let (fine, coarse) = if spread { (&to, &from) } else { (&from, &to) };
    let [_, h, w] = coarse.spatial;
    let in_cells = (fine.stride_h * r, fine.lanes * r);
    let whole = (coarse.stride_h, coarse.lanes);
    let (src, dst_steps) = if spread { (whole, in_cells) } else { (in_cells, whole) };
    let grid = Grid { rows: h, columns: w, src, dst: dst_steps, pixels: h * w };
    let cells: Vec<(usize, usize)> = (0..r).flat_map(|i| (0..r).map(move |j| (i, j))).collect();
    let layers: Vec<Layer> = cells
        .iter()
        .map(|&(i, j)| {
            let pixel = i * fine.spatial[2] + j;
            let (src_pixel, dst_pixel) = if spread { (0, pixel) } else { (pixel, 0) };
            Layer { src_pixel, dst_pixel }
        })
        .collect();
    let square = r * r;
    let of = |c: usize, fill: &mut dyn FnMut(usize, Channel)| match spread {
        true => (0..square).for_each(|k| fill(k, Channel::Of { source: 0, channel: c * square + k })),
        false => fill(c % square, Channel::Of { source: 0, channel: c / square }),
    };
    channel_copy::layers(op, &[x], dst, &layers, of, grid, 0.0)
}

fn channel_shuffle_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, groups) = (args.op(), args.tensor(0)?, args.count(1)?);
    check_rank(args, x.dims().len() >= 3, "it is [N, C, ...]")?;
    divisor(args, groups, false, &[1])?;
    let c = x.dims()[1];
    match x {
        TensorRef::Strided(x) if x.rank() < crate::MAX_RANK => {
            let order: Dims = (0..=x.rank()).to_dims();
            let mut turned = order;
            turned.swap(1, 2);
            let each = (c / groups).max(1);
            permuted(args, results, x, x.dims(), (&[(1, groups)], &turned), (&[(1, each)], &order))
        }
        TensorRef::Strided(x) => {
            fail!(
                RankMismatch,
                op,
                "x",
                TensorRef::Strided(x).describe(),
                format!("it is of rank {} at most", crate::MAX_RANK - 1),
                "merge dimensions first"
            )
        }
        TensorRef::Blocked(x) => {
            let each = c / groups;
            let from = |c| Channel::Of { source: 0, channel: c % groups * each + c / groups };
            let dst = results.blocked(x.dims(), x.layout(), x.dtype())?;
            Ok(lanes_recorded(args, || channel_copy::channels_into(op, &[x], dst, from, 0.0))?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel stands under our two keys"),
    }
}
