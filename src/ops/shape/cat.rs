//! Joining and cutting: `cat`, `stack`, `chunk`, `split`.
//!
//! Along the channels of blocked tensors, pieces that begin and end at blocks are plain copies; others shift lanes.

use crate::elementwise::{StridedRegion as Place, copy_part};
use crate::error::{Result, fail};
use crate::kernels::blocked_map;
use crate::kernels::channel_copy::{self, Channel};
use crate::kernels::check_axis;
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::memory_format::check_extent;
use crate::ledger;
use crate::op::schema::{data, data_list, int, required_int, required_ints};
use crate::op::{Arg, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::ALL_DTYPES;
use crate::ops::pointwise::recorded;
use crate::tensor::any::{Operand, Tensor, TensorMut, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::desc::TensorDesc;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

static CAT_SCHEMA: Schema = Schema::new("cat", &[data_list("tensors"), int("axis", 0)]);
static CAT: Op = moving(&CAT_SCHEMA, &cat_kernel);
static STACK_SCHEMA: Schema = Schema::new("stack", &[data_list("tensors"), int("axis", 0)]);
static STACK: Op = moving(&STACK_SCHEMA, &stack_kernel);
static CHUNK_SCHEMA: Schema = Schema::new("chunk", &[data("x"), required_int("chunks"), int("axis", 0)]);
static CHUNK: Op = moving(&CHUNK_SCHEMA, &chunk_kernel);
static SPLIT_SCHEMA: Schema = Schema::new("split", &[data("x"), required_ints("sizes"), int("axis", 0)]);
static SPLIT: Op = moving(&SPLIT_SCHEMA, &split_kernel);

pub(crate) const OPS: &[&Op] = &[&CAT, &STACK, &CHUNK, &SPLIT];

/// An op that moves elements of any dtype, with one kernel for both keys.
pub(crate) const fn moving(schema: &'static Schema, kernel: &'static crate::op::KernelFn) -> Op {
    let kernel = Kernel::rust(kernel).with_dtypes(ALL_DTYPES);
    Op::new(schema).on_both(kernel)
}

/// Tensors joined along an axis that is there, as `torch.cat`.
///
/// # Shapes
/// One or more tensors of the same sizes, except along `axis`; the result's size there is their sum.
///
/// # Dtypes
/// Any, the same for all.
///
/// # Layouts
/// Strided: any strides; the result is channels-last when every operand suggests it. Blocked: one layout for all, any
/// axis, any number of channels; along the channels it is fastest where every operand but the last fills its blocks.
///
/// # Errors
/// `InvalidArgument` without tensors or for an axis out of range; `RankMismatch`, `ShapeMismatch`, `DTypeMismatch`,
/// `LayoutMismatch` for operands that do not go together; `Overflow`.
#[track_caller]
pub fn cat<T: Operand>(tensors: &[&T], axis: usize) -> Result<T> {
    let list: Vec<TensorRef<'_>> = tensors.iter().map(|t| t.tensor_ref()).collect();
    CAT.call_one(&[Arg::Tensors(&list), crate::ops::axis_arg(axis)])
}

/// Tensors of one shape joined along a new axis, as `torch.stack`.
///
/// # Shapes
/// One or more tensors of the same sizes; `axis` is the new one's place in the result.
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
pub fn stack<T: Operand>(tensors: &[&T], axis: usize) -> Result<T> {
    let list: Vec<TensorRef<'_>> = tensors.iter().map(|t| t.tensor_ref()).collect();
    STACK.call_one(&[Arg::Tensors(&list), crate::ops::axis_arg(axis)])
}

/// At most `chunks` pieces along an axis, all but the last of the same size, as `torch.chunk`.
///
/// # Shapes
/// Any `x`; the pieces' size along `axis` is its size over `chunks`, rounded up, so that there may be fewer.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// Strided: the pieces are views that share the storage. Blocked: copies in the layout of `x`, at any channel.
///
/// # Errors
/// `InvalidArgument` for an axis out of range, 0 chunks, or more than 2^20 pieces.
#[track_caller]
pub fn chunk<T: Operand>(x: &T, chunks: usize, axis: usize) -> Result<Vec<T>> {
    CHUNK.call_many(&[Arg::Tensor(x.tensor_ref()), crate::ops::axis_arg(chunks), crate::ops::axis_arg(axis)])
}

/// Pieces of the given sizes along an axis, as `torch.split`.
///
/// # Shapes
/// Any `x`. `sizes` sum up to its size along `axis`; a single one stands for as many as there are, the last of which may
/// be smaller.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// As [`chunk`].
///
/// # Errors
/// `InvalidArgument` for an axis out of range, a single size of 0, or more than 2^20 pieces; `ShapeMismatch` for sizes
/// with another sum.
#[track_caller]
pub fn split<T: Operand>(x: &T, sizes: &[usize], axis: usize) -> Result<Vec<T>> {
    let sizes: Vec<i64> = sizes.iter().map(|&s| i64::try_from(s).unwrap_or(i64::MAX)).collect();
    SPLIT.call_many(&[Arg::Tensor(x.tensor_ref()), Arg::Ints(&sizes), crate::ops::axis_arg(axis)])
}

/// Checks operands against the first, `axis` aside.
fn check_alike(op: &'static str, list: &[TensorRef<'_>], axis: Option<usize>) -> Result<()> {
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
        if t.dtype() != first.dtype() {
            fail!(DTypeMismatch, op, "tensors", got(), rule(), "pass tensors of one dtype");
        }
        if let (TensorRef::Blocked(a), TensorRef::Blocked(b)) = (first, t)
            && a.layout() != b.layout()
        {
            let remedy = format!("reorder it with `reorder_to(\"{}\".parse()?)`", a.layout());
            fail!(LayoutMismatch, op, "tensors", got(), rule(), remedy);
        }
    }
    Ok(())
}

fn strided_list<'a>(list: &[TensorRef<'a>]) -> Vec<&'a StridedTensor> {
    list.iter().filter_map(|t| if let TensorRef::Strided(s) = t { Some(*s) } else { None }).collect()
}

fn blocked_list<'a>(list: &[TensorRef<'a>]) -> Vec<&'a BlockedTensor> {
    list.iter().filter_map(|t| if let TensorRef::Blocked(b) = t { Some(*b) } else { None }).collect()
}

fn cat_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, list, axis) = (args.op(), args.tensors(0)?, args.count(1)?);
    check_axis(op, list[0].dims(), axis)?;
    check_alike(op, list, Some(axis))?;
    let mut dims = Dims::from_slice(list[0].dims());
    dims[axis] = list.iter().try_fold(0usize, |sum, t| sum.checked_add(t.dims()[axis])).unwrap_or(usize::MAX);
    check_extent(op, &dims)?;
    let strided = strided_list(list);
    if !strided.is_empty() {
        let dst = results.by_rule(FormatRule::AllSuggest, &strided, &dims, strided[0].dtype())?;
        let to = if ledger::is_recording() { dst.format_name() } else { String::new() };
        return Ok(recorded(args, || to, || join(op, dst, &strided, axis))?);
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
            let source = ends.partition_point(|&end| end <= c);
            Channel::Of { source, channel: c + blocked[source].dims()[1] - ends[source] }
        };
        return Ok(lanes_recorded(args, || channel_copy::channels_into(op, &blocked, dst, from, 0.0))?);
    }
    let layout = || blocked[0].layout().to_string();
    Ok(recorded(args, layout, || {
        let views = blocked.iter().map(|t| blocked_map::view(op, t)).collect::<Result<Vec<_>>>()?;
        join_blocked(op, dst, &views, axis)
    })?)
}

/// Moves of lanes, in the ledger.
pub(crate) fn lanes_recorded(args: &Args<'_>, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let layouts = || args.data_operands().map(|(_, t)| t.layout_name()).collect::<Vec<_>>().join(", ");
    crate::kernels::timed(args, "blocktensor:lanes", layouts, work)
}

fn join(op: &'static str, dst: &mut StridedTensor, list: &[&StridedTensor], axis: usize) -> Result<()> {
    let mut at = 0;
    for t in list {
        let mut place = Place::of(&dst.narrow(axis, at, t.dims()[axis])?);
        place.offset -= dst.offset();
        copy_part(op, dst.result_bytes(), place, t)?;
        at += t.dims()[axis];
    }
    Ok(())
}

fn join_blocked(
    op: &'static str,
    dst: &mut BlockedTensor,
    list: &[StridedTensor],
    axis: usize,
) -> Result<()> {
    let mut at = 0;
    for t in list {
        let place = Place::of(&blocked_map::view(op, dst)?.narrow(axis, at, t.dims()[axis])?);
        copy_part(op, dst.storage_bytes_mut(), place, t)?;
        at += t.dims()[axis];
    }
    Ok(())
}

fn stack_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, list, axis) = (args.op(), args.tensors(0)?, args.count(1)?);
    let rank = list[0].dims().len();
    if axis > rank {
        let got = format!("axis {axis}");
        fail!(
            InvalidArgument,
            op,
            "axis",
            got,
            format!("the result has rank {}", rank + 1),
            "name a place in it"
        );
    }
    check_alike(op, list, None)?;
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
        return Ok(recorded(args, || to, || join(op, dst, &refs, axis))?);
    }
    let blocked = blocked_list(list);
    if axis < 2 {
        fail!(
            InvalidArgument,
            op,
            "axis",
            format!("axis {axis}"),
            "on blocked tensors the channels stay axis 1, so that the new axis comes after them",
            "stack along axis 2 or later, or reorder with `to_strided(MemoryFormat::Contiguous)` and stack there"
        );
    }
    if rank == 5 {
        fail!(
            RankMismatch,
            op,
            "tensors",
            list[0].describe(),
            "the result would have rank 6, and blocked activations have rank 3 to 5",
            "reorder with `to_strided(MemoryFormat::Contiguous)` and stack there"
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
            let views = blocked.iter().map(|t| blocked_map::view(op, t)?.unsqueeze(axis));
            join_blocked(op, dst, &views.collect::<Result<Vec<_>>>()?, axis)
        },
    )?)
}

fn chunk_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, chunks, axis) = (args.op(), args.tensor(0)?, args.count(1)?, args.count(2)?);
    if let TensorRef::Strided(x) = x {
        return results.views(many(x.chunk(chunks, axis)?));
    }
    check_axis(op, x.dims(), axis)?;
    if chunks == 0 {
        fail!(InvalidArgument, op, "chunks", "0", "there is at least one piece", "pass 1 or more");
    }
    let whole = x.dims()[axis];
    let size = whole.div_ceil(chunks);
    cut(
        args,
        results,
        axis,
        &pieces_of(op, whole, size, if size == 0 { chunks } else { whole.div_ceil(size) })?,
    )
}

fn split_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, axis) = (args.op(), args.tensor(0)?, args.count(2)?);
    check_axis(op, x.dims(), axis)?;
    let sizes = match args.values()[1] {
        Arg::Ints(list) if list.len() > 1 => crate::ops::counts(args, 1, list)?,
        _ => {
            let size = args.sizes(1)?.first().copied().unwrap_or(0);
            if let TensorRef::Strided(x) = x {
                return results.views(many(x.split(size, axis)?));
            }
            let whole = x.dims()[axis];
            if size == 0 && whole != 0 {
                let got = "0";
                let rule = format!("axis {axis} has size {whole}, which no number of empty pieces makes up");
                fail!(InvalidArgument, op, "sizes", got, rule, "pass 1 or more");
            }
            pieces_of(op, whole, size, if size == 0 { 1 } else { whole.div_ceil(size).max(1) })?
        }
    };
    let sum = sizes.iter().try_fold(0usize, |sum, &s| sum.checked_add(s));
    if sum != Some(x.dims()[axis]) {
        fail!(
            ShapeMismatch,
            op,
            "sizes",
            format!("{sizes:?}"),
            format!("axis {axis} of x has size {} (sizes {:?})", x.dims()[axis], x.dims()),
            "pass sizes with that sum"
        );
    }
    cut(args, results, axis, &sizes)
}

/// Sizes of `count` pieces of `whole`.
fn pieces_of(op: &'static str, whole: usize, size: usize, count: usize) -> Result<Vec<usize>> {
    const MAX_PIECES: usize = 1 << 20;
    if count > MAX_PIECES {
        let got = format!("{count} pieces");
        fail!(
            InvalidArgument,
            op,
            "axis",
            got,
            format!("at most {MAX_PIECES} are given"),
            "take larger pieces"
        );
    }
    Ok((0..count).map(|i| size.min(whole - (i * size).min(whole))).collect())
}

fn many(list: Vec<StridedTensor>) -> Vec<Tensor> {
    list.into_iter().map(Into::into).collect()
}

/// Pieces of the given sizes, which sum up to the whole: views of a strided tensor, copies of a blocked one.
fn cut(args: &Args<'_>, results: &mut Results<'_>, axis: usize, sizes: &[usize]) -> KernelResult {
    match args.tensor(0)? {
        TensorRef::Strided(x) => {
            let mut start = 0;
            let piece = |&size: &usize| {
                start += size;
                x.narrow(axis, start - size, size)
            };
            results.views(many(sizes.iter().map(piece).collect::<Result<_>>()?))
        }
        TensorRef::Blocked(x) => {
            let desc = |&size: &usize| {
                let mut dims = Dims::from_slice(x.dims());
                dims[axis] = size;
                TensorDesc::of_layout(dims, x.layout(), x.dtype())
            };
            let mut pieces = results.all(&sizes.iter().map(desc).collect::<Vec<_>>())?;
            let layouts = || format!("{0} -> {0}", x.layout());
            let work = || cut_blocked(args.op(), x, axis, &mut pieces);
            Ok(crate::kernels::timed(args, "blocktensor:lanes", layouts, work)?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel stands under our two keys"),
    }
}

fn cut_blocked(op: &'static str, x: &BlockedTensor, axis: usize, pieces: &mut [TensorMut<'_>]) -> Result<()> {
    let mut start = 0;
    for piece in pieces {
        let TensorMut::Blocked(dst) = piece else { unreachable!("pieces of a blocked tensor are blocked") };
        let size = dst.dims()[axis];
        if axis == 1 {
            let from = |c| Channel::Of { source: 0, channel: start + c };
            channel_copy::channels_into(op, &[x], dst, from, 0.0)?;
        } else {
            let place = Place::of(&blocked_map::view(op, dst)?);
            let part = blocked_map::view(op, x)?.narrow(axis, start, size)?;
            copy_part(op, dst.storage_bytes_mut(), place, &part)?;
        }
        start += size;
    }
    Ok(())
}
