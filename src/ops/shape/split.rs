//! `chunk` and `split`: a tensor in pieces along an axis.
//!
//! Along the channels of blocked tensors, a piece that starts at a block boundary is a plain copy of blocks. Any other piece
//! moves its channels to other lanes.

use crate::elementwise::{StridedRegion, copy_part};
use crate::error::{Result, fail};
use crate::int::{Int, Scalars};
use crate::kernels::blocked_map;
use crate::kernels::channel_copy::{self, ChannelSource};
use crate::kernels::gradient::map::zeros_like;
use crate::layout::dims::Dims;
use crate::memory::check_room;
use crate::op::facts::{Movement, Sharing};
use crate::op::params::{Axis, Params, params, with_params};
use crate::op::schema::{OutputSpec, axis, data, output_list, required_int, required_ints};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::EACH_DTYPE;
use crate::ops::shape::LANES;
use crate::tensor::any::{Operand, Tensor, TensorMut, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::desc::TensorDesc;
use crate::tensor::quantization::sliced;
use crate::tensor::strided::StridedTensor;

params! {
    /// Parameters of `chunk`.
    pub(crate) struct Chunk {
        chunks: usize => required_int("chunks").counted_from_one(),
        axis: Axis => axis("axis", 0),
    }
}

params! {
    /// Parameters of `split`.
    pub(crate) struct Split {
        sizes: Vec<usize> => required_ints("sizes"),
        axis: Axis => axis("axis", 0),
    }
}

const PIECES: &[OutputSpec] = &[output_list("dst", "x")];
const CHUNK_ARGS: &[ArgSpec] = &with_params::<3>(&[data("x").any_dtype()], Chunk::SPECS);
static CHUNK: Op = Op::new(
    &Schema::new("chunk", CHUNK_ARGS)
        .with_outputs(PIECES)
        .sharing(Sharing::Always)
        .moving(Movement::Elements),
)
.with(
    &Kernel::rust(&run_chunk)
        .with_dtypes(EACH_DTYPE)
        .reading_quantization()
        .on_both_with(&|call| gradient(call, Chunk::read(&call.args)?.axis)),
);
const SPLIT_ARGS: &[ArgSpec] = &with_params::<3>(&[data("x").any_dtype()], Split::SPECS);
static SPLIT: Op = Op::new(
    &Schema::new("split", SPLIT_ARGS)
        .with_outputs(PIECES)
        .sharing(Sharing::Always)
        .moving(Movement::Elements),
)
.with(
    &Kernel::rust(&run_split)
        .with_dtypes(EACH_DTYPE)
        .reading_quantization()
        .on_both_with(&|call| gradient(call, Split::read(&call.args)?.axis)),
);

pub(crate) const OPS: &[&Op] = &[&CHUNK, &SPLIT];

/// At most `chunks` pieces along an axis, all but the last of the same size, as `torch.chunk`.
///
/// # Shapes
/// Any `x`. The pieces' size along `axis` is the size of `x` divided by `chunks`, rounded up, so that there may be fewer
/// pieces.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// Strided: the pieces are views that share the storage. Blocked: copies in the layout of `x`, at any channel. The pieces keep scales
/// and zero points.
///
/// # Errors
/// `InvalidArgument` for an axis out of range, 0 chunks, or more than 2^20 pieces.
#[track_caller]
pub fn chunk<T: Operand>(x: &T, chunks: usize, axis: impl Int) -> Result<Vec<T>> {
    CHUNK.call_many_with(&[Arg::Tensor(x.tensor_ref())], &Chunk { chunks, axis: Axis::of(axis) })
}

/// Pieces of the given sizes along an axis, as `torch.split`.
///
/// ```
/// use blocktensor::{StridedTensor, ops};
/// let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0], &[5])?;
/// let pieces = ops::split(&x, &[2, 3], 0)?;
/// assert_eq!(pieces[1].to_vec::<f32>()?, [3.0, 4.0, 5.0]);
/// // A single size stands for all pieces; the last one may be smaller.
/// let pieces = ops::split(&x, &[2], 0)?;
/// assert_eq!(pieces.len(), 3);
/// assert_eq!(pieces[2].to_vec::<f32>()?, [5.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// Any `x`. The sum of `sizes` is the size of `x` along `axis`. A single size stands for as many pieces as there are; the
/// last of them may be smaller.
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
pub fn split<T: Operand>(x: &T, sizes: &[usize], axis: impl Int) -> Result<Vec<T>> {
    let params = Split { sizes: sizes.to_vec(), axis: Axis::of(axis) };
    SPLIT.call_many_with(&[Arg::Tensor(x.tensor_ref())], &params)
}

fn run_chunk(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, Chunk { chunks, axis }) = (args.op(), args.tensor(0)?, Chunk::read(args)?);
    let axis = axis.among(op, x.dims().len(), Scalars::HaveNone)?;
    if let TensorRef::Strided(x) = x {
        return results.views(to_tensors(x.chunk(chunks, axis)?));
    }
    if chunks == 0 {
        fail!(InvalidArgument, op, "chunks", "0", "there is at least one piece", "pass 1 or more");
    }
    let whole = x.dims()[axis];
    let size = whole.div_ceil(chunks);
    let count = if size == 0 { chunks } else { whole.div_ceil(size) };
    split_by(args, results, axis, &equal_sizes(op, whole, size, count)?)
}

fn run_split(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, Split { sizes, axis }) = (args.op(), args.tensor(0)?, Split::read(args)?);
    let axis = axis.among(op, x.dims().len(), Scalars::HaveNone)?;
    let whole = x.dims()[axis];
    let sizes = if sizes.len() > 1 {
        sizes
    } else {
        let Some(&size) = sizes.first() else {
            fail!(
                InvalidArgument,
                op,
                "sizes",
                "[]",
                "it has a size at least",
                "pass the sizes of the pieces"
            )
        };
        if size == 0 && whole != 0 {
            let rule = format!("axis {axis} has size {whole}, which no number of empty pieces makes up");
            fail!(InvalidArgument, op, "sizes", "[0]", rule, "pass 1 or more");
        }
        if let TensorRef::Strided(x) = x {
            return results.views(to_tensors(x.split(size, axis)?));
        }
        equal_sizes(op, whole, size, if size == 0 { 1 } else { whole.div_ceil(size).max(1) })?
    };
    let sum = sizes.iter().try_fold(0usize, |sum, &s| sum.checked_add(s));
    if sum != Some(whole) {
        fail!(
            ShapeMismatch,
            op,
            "sizes",
            format!("{sizes:?}"),
            format!("axis {axis} of x has size {whole} (sizes {:?})", x.dims()),
            "pass sizes with that sum"
        );
    }
    split_by(args, results, axis, &sizes)
}

/// The sizes of `count` pieces of an axis of size `whole`: each is `size`, or what remains.
fn equal_sizes(op: &'static str, whole: usize, size: usize, count: usize) -> Result<Vec<usize>> {
    const MAX_PIECES: usize = 1 << 20;
    if count > MAX_PIECES {
        fail!(
            InvalidArgument,
            op,
            "axis",
            format!("{count} pieces"),
            format!("at most {MAX_PIECES} are given"),
            "take larger pieces"
        );
    }
    // What the pieces take, which are tensors.
    check_room(op, count * 1024)?;
    Ok((0..count).map(|i| size.min(whole - (i * size).min(whole))).collect())
}

fn to_tensors(list: Vec<StridedTensor>) -> Vec<Tensor> {
    list.into_iter().map(Into::into).collect()
}

/// Pieces of the given sizes, whose sum is the size of the axis: views of a strided tensor, copies of a blocked one.
fn split_by(args: &Args<'_>, results: &mut Results<'_>, axis: usize, sizes: &[usize]) -> KernelResult {
    match args.tensor(0)? {
        TensorRef::Strided(x) => {
            let mut start = 0;
            let piece = |&size: &usize| {
                start += size;
                x.narrow(axis, start - size, size)
            };
            results.views(to_tensors(sizes.iter().map(piece).collect::<Result<_>>()?))
        }
        TensorRef::Blocked(x) => {
            let mut start = 0;
            let desc = |&size: &usize| {
                let mut dims = Dims::from_slice(x.dims());
                dims[axis] = size;
                start += size;
                let quantization = sliced(&x.quantization, axis, start - size, size, 1);
                TensorDesc::of_layout(dims, x.layout(), x.dtype()).with_shared(quantization)
            };
            let mut pieces = results.all(&sizes.iter().map(desc).collect::<Vec<_>>())?;
            let layouts = || format!("{0} -> {0}", x.layout());
            let work = || copy_pieces(args.op(), x, axis, &mut pieces);
            Ok(crate::kernels::timed(args, LANES, layouts, work)?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked only"),
    }
}

/// Copies the pieces of a blocked tensor.
fn copy_pieces(op: &'static str, x: &BlockedTensor, axis: usize, pieces: &mut [TensorMut<'_>]) -> Result<()> {
    let mut start = 0;
    for piece in pieces {
        let TensorMut::Blocked(dst) = piece else { unreachable!("pieces of a blocked tensor are blocked") };
        let size = dst.dims()[axis];
        if axis == 1 {
            let from = |c| ChannelSource::Channel { operand: 0, channel: start + c };
            channel_copy::map_channels(op, &[x], dst, from, 0.0)?;
        } else {
            let place = StridedRegion::of(&blocked_map::dense_view(op, dst)?);
            let part = blocked_map::dense_view(op, x)?.narrow(axis, start, size)?;
            copy_part(op, dst.storage_bytes_mut(), place, &part)?;
        }
        start += size;
    }
    Ok(())
}

/// The gradients of the pieces, one after another; zeros for a piece that has none.
fn gradient(call: &Backward<'_>, axis: Axis) -> Result<Gradients> {
    let op = call.args.op();
    let axis = axis.among(op, call.args.tensor(0)?.dims().len(), Scalars::HaveNone)?;
    call.each(|_| {
        let piece = |(result, diff): (&TensorRef<'_>, &Option<TensorRef<'_>>)| match diff {
            Some(diff) => Ok(diff.to_tensor()),
            None => zeros_like(op, *result),
        };
        let pieces = call.results.iter().zip(call.diffs).map(piece).collect::<Result<Vec<Tensor>>>()?;
        super::cat::cat(&pieces.iter().collect::<Vec<_>>(), axis)
    })
}
