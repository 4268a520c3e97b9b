//! `cat` and `stack`: joining tensors along an axis.
//!
//! Along the channels of blocked tensors, an operand that starts at a block boundary is a plain copy of blocks. Any other
//! operand moves its channels to other lanes.

use crate::elementwise::{StridedRegion, copy_part};
use crate::error::{Call, Result, Text, fail};
use crate::int::{Int, Scalars};
use crate::kernels::blocked_map;
use crate::kernels::channel_copy::{self, ChannelSource};
use crate::kernels::gradient::map::zeros_like;
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::memory_format::check_extent;
use crate::ledger;
use crate::op::facts::Movement;
use crate::op::params::{Axis, Params, params, with_params};
use crate::op::schema::{AxesOf, OutputSpec, axis, data_list, int, output_like};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::ops::EACH_DTYPE;
use crate::ops::pointwise::recorded;
use crate::ops::shape::timed_lanes;
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

params! {
    /// Parameters of `cat`.
    pub(crate) struct Cat {
        axis: Axis => axis("axis", 0),
    }
}

params! {
    /// Parameters of `stack`.
    pub(crate) struct Stack {
        axis: Axis => int("axis", 0).axes_of(AxesOf::Result),
    }
}

const DST: &[OutputSpec] = &[output_like("dst", "tensors")];
const ARGS: &[ArgSpec] = &with_params::<2>(&[data_list("tensors").any_dtype()], Cat::SPECS);
static CAT: Op =
    Op::new(&Schema::new("cat", ARGS).with_outputs(DST).concatenates("axis").moving(Movement::Elements))
        .with(&Kernel::rust(&run_cat).with_dtypes(EACH_DTYPE).on_both_reading(Reads::Nothing, &cat_gradient));
const STACK_ARGS: &[ArgSpec] = &with_params::<2>(&[data_list("tensors").any_dtype()], Stack::SPECS);
static STACK: Op = Op::new(&Schema::new("stack", STACK_ARGS).with_outputs(DST).moving(Movement::Elements))
    .with(&Kernel::rust(&run_stack).with_dtypes(EACH_DTYPE).on_both_reading(Reads::Nothing, &stack_gradient));

pub(crate) const OPS: &[&Op] = &[&CAT, &STACK];

/// Joins tensors along an existing axis, as `torch.cat`.
///
/// ```
/// use blocktensor::{StridedTensor, ops};
/// let a = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let b = StridedTensor::from_slice(&[5f32, 6.0], &[2, 1])?;
/// let y = ops::cat(&[&a, &b], 1)?;
/// assert_eq!(y.dims(), [2, 3]);
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 2.0, 5.0, 3.0, 4.0, 6.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// One or more tensors of the same sizes, except along `axis`. The result's size along `axis` is the sum of theirs.
///
/// # Dtypes
/// Any, the same for all.
///
/// # Layouts
/// Strided: any strides; the result is channels-last when every operand suggests it. Blocked: one layout for all, any
/// axis, any number of channels. Along the channels it is fastest when every operand but the last fills its blocks.
///
/// # Errors
/// `InvalidArgument` without tensors or for an axis out of range; `RankMismatch`, `ShapeMismatch`, `DTypeMismatch`,
/// `LayoutMismatch` for operands that do not agree; `Overflow`.
#[track_caller]
pub fn cat<T: Operand>(tensors: &[&T], axis: impl Int) -> Result<T> {
    let list: Vec<TensorRef<'_>> = tensors.iter().map(|t| t.tensor_ref()).collect();
    CAT.call_with(&[Arg::Tensors(&list)], &Cat { axis: Axis::of(axis) })
}

/// Joins tensors of one shape along a new axis, as `torch.stack`.
///
/// # Shapes
/// One or more tensors of the same sizes. `axis` is the new axis's number in the result.
///
/// # Dtypes
/// Any, the same for all.
///
/// # Layouts
/// Strided: any strides. Blocked: one layout for all; the new axis comes after the channels, and the result has rank 5
/// at most.
///
/// # Errors
/// As [`cat`]; on blocked `InvalidArgument` for an axis before the spatial ones, which would move the channels, and
/// `RankMismatch` for a result of rank 6.
#[track_caller]
pub fn stack<T: Operand>(tensors: &[&T], axis: impl Int) -> Result<T> {
    let list: Vec<TensorRef<'_>> = tensors.iter().map(|t| t.tensor_ref()).collect();
    STACK.call_with(&[Arg::Tensors(&list)], &Stack { axis: Axis::of(axis) })
}

/// Checks that every operand has the rank, layout and sizes of the first. Sizes along `axis` may differ.
fn check_operands_agree(op: &'static str, list: &[TensorRef<'_>], axis: Option<usize>) -> Result<()> {
    let first = list[0];
    for (i, t) in list.iter().enumerate().skip(1) {
        let got = || format!("number {i}, {}", t.describe());
        let rule = || format!("number 0 is {}", first.describe());
        if t.dims().len() != first.dims().len() {
            fail!(RankMismatch, op, "tensors", got(), rule(), "pass tensors of one rank");
        }
        if (0..first.dims().len()).any(|d| Some(d) != axis && t.dims()[d] != first.dims()[d]) {
            let remedy = match axis {
                Some(a) => format!("pass sizes that agree except along axis {a}"),
                None => "pass tensors of one shape".into(),
            };
            fail!(ShapeMismatch, op, "tensors", got(), rule(), remedy);
        }
        if let (TensorRef::Blocked(a), TensorRef::Blocked(b)) = (first, t)
            && a.layout() != b.layout()
        {
            let remedy = Text::from("reorder it with ") + Call::ReorderTo(a.layout().to_string());
            fail!(LayoutMismatch, op, "tensors", got(), rule(), remedy);
        }
    }
    Ok(())
}

/// The strided tensors of a list: all or none, since the operands have one key.
fn strided_list<'a>(list: &[TensorRef<'a>]) -> Vec<&'a StridedTensor> {
    list.iter().filter_map(|t| if let TensorRef::Strided(s) = t { Some(*s) } else { None }).collect()
}

/// The blocked tensors of a list: all or none.
fn blocked_list<'a>(list: &[TensorRef<'a>]) -> Vec<&'a BlockedTensor> {
    list.iter().filter_map(|t| if let TensorRef::Blocked(b) = t { Some(*b) } else { None }).collect()
}

fn run_cat(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, list, Cat { axis }) = (args.op(), args.tensors(0)?, Cat::read(args)?);
    let axis = axis.among(op, list[0].dims().len(), Scalars::HaveNone)?;
    check_operands_agree(op, list, Some(axis))?;
    let mut dims = Dims::from_slice(list[0].dims());
    dims[axis] = list.iter().try_fold(0usize, |sum, t| sum.checked_add(t.dims()[axis])).unwrap_or(usize::MAX);
    check_extent(op, &dims)?;
    let strided = strided_list(list);
    if !strided.is_empty() {
        let dst = results.by_rule(FormatRule::AllSuggest, &strided, &dims, strided[0].dtype())?;
        let to = if ledger::is_recording() { dst.format_name() } else { String::new() };
        return Ok(recorded(args, || to, || join_strided(op, dst, &strided, axis))?);
    }
    let blocked = blocked_list(list);
    let dst = results.blocked(&dims, blocked[0].layout(), blocked[0].dtype())?;
    if axis == 1 {
        // Where each operand's channels end in the result.
        let ends: Vec<usize> = blocked
            .iter()
            .scan(0, |end, t| {
                *end += t.dims()[1];
                Some(*end)
            })
            .collect();
        let from = |c| {
            let operand = ends.partition_point(|&end| end <= c);
            ChannelSource::Channel { operand, channel: c + blocked[operand].dims()[1] - ends[operand] }
        };
        return Ok(timed_lanes(args, || channel_copy::map_channels(op, &blocked, dst, from, 0.0))?);
    }
    let layout = || blocked[0].layout().to_string();
    Ok(recorded(args, layout, || {
        let views = blocked.iter().map(|t| blocked_map::dense_view(op, t)).collect::<Result<Vec<_>>>()?;
        join_blocked(op, dst, &views, axis)
    })?)
}

/// Copies each tensor into its part of `dst` along `axis`.
fn join_strided(
    op: &'static str,
    dst: &mut StridedTensor,
    list: &[&StridedTensor],
    axis: usize,
) -> Result<()> {
    let mut start = 0;
    for t in list {
        let mut place = StridedRegion::of(&dst.narrow(axis, start, t.dims()[axis])?);
        place.offset -= dst.offset();
        copy_part(op, dst.result_bytes(), place, t)?;
        start += t.dims()[axis];
    }
    Ok(())
}

/// As [`join_strided`]. The list holds dense views of blocked tensors.
fn join_blocked(
    op: &'static str,
    dst: &mut BlockedTensor,
    list: &[StridedTensor],
    axis: usize,
) -> Result<()> {
    let mut start = 0;
    for t in list {
        let place =
            StridedRegion::of(&blocked_map::dense_view(op, dst)?.narrow(axis, start, t.dims()[axis])?);
        copy_part(op, dst.storage_bytes_mut(), place, t)?;
        start += t.dims()[axis];
    }
    Ok(())
}

fn run_stack(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, list, Stack { axis }) = (args.op(), args.tensors(0)?, Stack::read(args)?);
    let rank = list[0].dims().len();
    let axis = axis.among(op, rank + 1, Scalars::HaveNone)?;
    check_operands_agree(op, list, None)?;
    let strided = strided_list(list);
    if !strided.is_empty() {
        let insert = |t: &&StridedTensor| t.unsqueeze(axis).map_err(|e| e.in_call(op, "tensors"));
        let list = strided.iter().map(insert).collect::<Result<Vec<_>>>()?;
        let refs: Vec<&StridedTensor> = list.iter().collect();
        let mut dims = list[0].dims;
        dims[axis] = list.len();
        check_extent(op, &dims)?;
        let dst = results.by_rule(FormatRule::AllSuggest, &refs, &dims, list[0].dtype())?;
        let to = if ledger::is_recording() { dst.format_name() } else { String::new() };
        return Ok(recorded(args, || to, || join_strided(op, dst, &refs, axis))?);
    }
    let blocked = blocked_list(list);
    if rank == 5 {
        fail!(
            RankMismatch,
            op,
            "tensors",
            list[0].describe(),
            "the result would have rank 6, and blocked activations have rank 3 to 5",
            Text::from("reorder with ") + Call::ToStrided + " and stack there"
        );
    }
    if axis < 2 {
        fail!(
            InvalidArgument,
            op,
            "axis",
            format!("axis {axis}"),
            "on blocked tensors the channels stay axis 1, so that the new axis comes after them",
            Text::from("stack along axis 2 or later, or reorder with ")
                + Call::ToStrided
                + " and stack there"
        );
    }
    let mut dims = Dims::from_slice(list[0].dims());
    dims.insert(axis, list.len());
    let layout = Layout::blocked_activation(rank + 1, blocked[0].layout().block_of(1))?;
    let dst = results.blocked(&dims, &layout, blocked[0].dtype())?;
    Ok(recorded(
        args,
        || layout.to_string(),
        || {
            let views = blocked.iter().map(|t| blocked_map::dense_view(op, t)?.unsqueeze(axis));
            join_blocked(op, dst, &views.collect::<Result<Vec<_>>>()?, axis)
        },
    )?)
}

/// The gradient of a tensor of a list: its part of the incoming gradient, `[start, start + size)` along `axis` of it. A part of a
/// blocked one is in the layout of `like`.
fn part_of(
    op: &'static str,
    like: TensorRef<'_>,
    diff: TensorRef<'_>,
    axis: usize,
    (start, size): (usize, usize),
) -> Result<Tensor> {
    let mut part = zeros_like(op, like)?;
    match (&mut part, diff) {
        (Tensor::Strided(part), TensorRef::Strided(diff)) => {
            let from = diff.narrow(axis, start, size)?;
            let from = if from.rank() == part.rank() { from } else { from.squeeze_axis(axis)? };
            crate::elementwise::copy_into(op, part, &from)?;
        }
        (Tensor::Blocked(part), TensorRef::Blocked(diff)) if axis == 1 => {
            let from = |c| ChannelSource::Channel { operand: 0, channel: start + c };
            channel_copy::map_channels(op, &[diff], part, from, 0.0)?;
        }
        (Tensor::Blocked(part), TensorRef::Blocked(diff)) => {
            let from = blocked_map::dense_view(op, diff)?.narrow(axis, start, size)?;
            let from = if diff.rank() == part.rank() { from } else { from.squeeze_axis(axis)? };
            let place = StridedRegion::of(&blocked_map::dense_view(op, part)?);
            copy_part(op, part.storage_bytes_mut(), place, &from)?;
        }
        _ => unreachable!("operands and gradients of a call have one key"),
    }
    Ok(part)
}

fn cat_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let (op, list, Cat { axis }) = (call.args.op(), call.args.tensors(0)?, Cat::read(&call.args)?);
    let axis = axis.among(op, list[0].dims().len(), Scalars::HaveNone)?;
    let start = |i: usize| list[..i].iter().map(|t| t.dims()[axis]).sum::<usize>();
    call.each(|i| part_of(op, list[i], call.diff()?, axis, (start(i), list[i].dims()[axis])))
}

fn stack_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let (op, list, Stack { axis }) = (call.args.op(), call.args.tensors(0)?, Stack::read(&call.args)?);
    let axis = axis.among(op, list[0].dims().len() + 1, Scalars::HaveNone)?;
    call.each(|i| part_of(op, list[i], call.diff()?, axis, (i, 1)))
}
