//! The gradients of a convolution, transposed or not, by its source, weights and bias.

use crate::error::{Error, Result, Unsupported};
use crate::kernels::conv::{Algorithm, ConvGeometry, ConvParams, kind_of};
use crate::kernels::gradient::conv_weights;
use crate::layout::blocked::Layout;
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::MemoryFormat;
use crate::layout::reorder;
use crate::ledger::{self, Cause, Move};
use crate::op::args::ArgList;
use crate::op::call::Outputs;
use crate::op::params::Params;
use crate::op::{Arg, Backward, Gradients};
use crate::ops::reduce;
use crate::ops::shape::flip::flip;
use crate::ops::shape::pad::{PadMode, pad};
use crate::post_ops::PostOps;
use crate::simd::vectors::{VectorWidth, Width};
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;
use crate::weights_kind::WeightsKind;

/// The gradients of source, weights and bias.
///
/// That of the source is the transposed convolution of the incoming gradient with the same weights; that of a transposed
/// convolution's source is the convolution. Blocked weights have their two channel axes exchanged for it, which the ledger has as one
/// packing. Of a convolution by Winograd's algorithm it is one by the same algorithm, with the taps in reverse order. That of the
/// weights is computed in [`conv_weights`], by the convolution's algorithm; that of the bias is a sum in f64.
pub(super) fn gradient(call: &Backward<'_>) -> Result<Gradients> {
    let args = &call.args;
    let params = ConvParams::read(args)?;
    let (spatial, transposed) = kind_of(args.op());
    let (x, w, diff) = (args.tensor(0)?, args.tensor(1)?, call.diff()?);
    let numbers = params.numbers(args.op(), spatial, transposed)?;
    let mut dims = w.dims().to_vec();
    if transposed && matches!(w, TensorRef::Strided(_)) && dims.len() == spatial + 2 {
        // Input channels first, of all groups.
        dims[0] /= params.groups.max(1);
        dims.swap(0, 1);
        dims.splice(0..0, (params.groups > 1).then_some(params.groups));
    }
    let g = ConvGeometry::new(args.op(), spatial, x.dims(), &dims, None, &numbers)?;
    call.each(|i| match i {
        0 => by_source(call, &g, &params, w, diff),
        1 => by_weights(call, &g, params.algorithm, x, w, diff),
        _ => by_bias(diff),
    })
}

fn by_source(
    call: &Backward<'_>,
    g: &ConvGeometry,
    params: &ConvParams,
    w: TensorRef<'_>,
    diff: TensorRef<'_>,
) -> Result<Tensor> {
    let spatial = g.input.len();
    let reach = |axis: usize| g.dilation[axis] * (g.kernel[axis] - 1) + 1;
    // Winograd's algorithm computes no transposed convolution.
    let is_turned = params.algorithm.rounds_otherwise() && !g.transposed;
    let mut params = ConvParams { post_ops: PostOps::default(), ..params.clone() };
    let mut diff = diff.to_tensor();
    if g.transposed || is_turned {
        // The padding with which a convolution reads each result pixel and gives the size of the source.
        let begin = |axis: usize| match is_turned {
            true => (reach(axis) - 1) as i64 - g.pad_begin[axis] as i64,
            false => g.pad_begin[axis] as i64,
        };
        let end = |axis: usize| {
            let read = (g.input[axis] as i64 - 1) * g.stride[axis] as i64 + reach(axis) as i64;
            read - g.output[axis] as i64 - begin(axis)
        };
        // It is less than none where the result was padded; what no pixel of the source reached is cut off.
        if (0..spatial).any(|axis| begin(axis).min(end(axis)) < 0) {
            let cut: Vec<i64> =
                (0..spatial).rev().flat_map(|axis| [begin(axis).min(0), end(axis).min(0)]).collect();
            diff = pad(&diff, &cut, PadMode::Constant(0.0))?;
        }
        let begins = (0..spatial).map(|axis| begin(axis).max(0) as usize);
        params.padding = begins.chain((0..spatial).map(|axis| end(axis).max(0) as usize)).to_dims();
        params.output_padding = Dims::filled(0, 1);
    } else {
        // What the stride left over of the padded source.
        let rest = |axis: usize| {
            let padded = g.input[axis] + g.pad_begin[axis] + g.pad_end[axis];
            (padded - reach(axis)) % g.stride[axis]
        };
        params.output_padding = (0..spatial).map(rest).to_dims();
    }
    let w = match w {
        TensorRef::Strided(w) if w.rank() == spatial + 3 => w.transpose(1, 2)?.into(),
        TensorRef::Blocked(w) => exchanged(call, g, w, is_turned)?.into(),
        _ => w.to_tensor(),
    };
    let tensors = [
        Arg::Tensor(diff.tensor_ref()),
        Arg::Tensor(w.tensor_ref()),
        Arg::Absent,
        Arg::Absent,
        Arg::Tensors(&[]),
    ];
    let other = super::op_of(spatial, !g.transposed && !is_turned);
    match other.call(&ArgList::of(&tensors, &params).as_slice()[..other.schema().args.len()])? {
        Outputs::One(made) => Ok(made),
        Outputs::Many(_) => Err(call.args.unsupported(Unsupported::NoImplementation, None)),
    }
}

/// Blocked weights with output and input channels exchanged, in the layout that they had; with their taps in reverse order if they are
/// turned.
fn exchanged(
    call: &Backward<'_>,
    g: &ConvGeometry,
    w: &BlockedTensor,
    is_turned: bool,
) -> Result<BlockedTensor> {
    if g.weights_kind() == WeightsKind::Depthwise && !is_turned {
        return Ok(w.clone());
    }
    let (op, axis) = (g.op, usize::from(g.groups > 1));
    let taps = if is_turned { ", taps in reverse order" } else { "" };
    let to = format!("{}, I and O exchanged{taps}", w.layout());
    let what = Move {
        op,
        cause: Cause::Packing,
        from: w.layout(),
        to: &to,
        dims: w.dims(),
        bytes: w.bytes(),
        source: 0,
        location: call.args.location(),
    };
    ledger::reorder(what, || {
        let mut turned = Dims::from_slice(w.dims());
        turned.swap(axis, axis + 1);
        if let Some(block) = tile_block(g, w) {
            let mut to = BlockedTensor::for_result(op, &turned, w.layout(), w.dtype())?;
            let (from, elements) = (w.data::<f32>(), bytemuck::cast_slice_mut(to.storage_bytes_mut()));
            match block {
                8 => conv_weights::exchange::<8>(g, from, elements, is_turned),
                _ => conv_weights::exchange::<16>(g, from, elements, is_turned),
            }
            return Ok(to);
        }
        let (dims, size) = (Dims::from_slice(w.dims()), w.dtype().size_bytes());
        let strides = MemoryFormat::Contiguous.strides(op, &dims)?;
        let mut plain = StridedTensor::for_result(op, dims, strides, w.dtype())?;
        reorder::blocked_to_strided(
            size,
            w.storage_bytes(),
            w.layout(),
            &dims,
            &strides,
            plain.result_bytes(),
        );
        let mut plain = plain.transpose(axis, axis + 1)?;
        if is_turned {
            let taps: Vec<usize> = (axis + 2..dims.len()).collect();
            plain = flip(&plain, &taps)?;
        }
        let mut to = BlockedTensor::for_result(op, plain.dims(), w.layout(), w.dtype())?;
        let bytes = to.storage_bytes_mut();
        reorder::strided_to_blocked(size, plain.bytes(), plain.dims(), plain.strides(), w.layout(), bytes);
        Ok(to)
    })
}

/// The block of weights whose memory is the tiles of [`conv_weights`], in their order.
fn tile_block(g: &ConvGeometry, w: &BlockedTensor) -> Option<usize> {
    let is_so = |block: &usize| {
        let layout = Layout::weights_for(g.input.len(), g.groups, g.c, g.o, *block);
        layout.is_ok_and(|layout| layout == *w.layout())
    };
    [8, 16].into_iter().find(is_so)
}

fn by_weights(
    call: &Backward<'_>,
    g: &ConvGeometry,
    algorithm: Algorithm,
    x: TensorRef<'_>,
    w: TensorRef<'_>,
    diff: TensorRef<'_>,
) -> Result<Tensor> {
    let block = if let TensorRef::Blocked(x) = x { x.layout().block_of(1) } else { 16 };
    match block {
        8 => weights_in_blocks::<8>(call.args.op(), g, algorithm, x, w, diff),
        _ => weights_in_blocks::<16>(call.args.op(), g, algorithm, x, w, diff),
    }
}

fn weights_in_blocks<'a, const B: usize>(
    op: &'static str,
    g: &ConvGeometry,
    algorithm: Algorithm,
    mut x: TensorRef<'a>,
    w: TensorRef<'_>,
    mut diff: TensorRef<'a>,
) -> Result<Tensor>
where
    Width<B>: VectorWidth<B>,
{
    if let TensorRef::Blocked(w) = w
        && !g.transposed
        && tile_block(g, w) == Some(B)
    {
        let mut made = BlockedTensor::for_result(op, w.dims(), w.layout(), w.dtype())?;
        conv_weights::weights::<B>(
            g,
            algorithm,
            x,
            diff,
            bytemuck::cast_slice_mut(made.storage_bytes_mut()),
        )?;
        return Ok(made.into());
    }
    // A transposed convolution reads as the convolution that goes from its result to its source.
    let back = ConvGeometry {
        transposed: false,
        c: g.o,
        o: g.c,
        input: g.output,
        output: g.input,
        output_padding: Dims::filled(0, g.input.len()),
        ..*g
    };
    let is_back = g.transposed;
    let g = if is_back { &back } else { g };
    if is_back {
        std::mem::swap(&mut x, &mut diff);
    }
    let mut plain = match w {
        TensorRef::Strided(w) => FormatRule::Like.empty_result(op, &[w], w.dims(), w.dtype())?,
        _ => {
            let dims = Dims::from_slice(w.dims());
            StridedTensor::for_result(op, dims, MemoryFormat::Contiguous.strides(op, &dims)?, w.dtype())?
        }
    };
    // Where the channels of the tiles' convolution are in it.
    let (mut dims, mut strides) = (plain.dims().to_vec(), plain.strides().to_vec());
    let axis = usize::from(dims.len() == g.input.len() + 3);
    if is_back && (axis == 1 || matches!(w, TensorRef::Blocked(_))) {
        dims.swap(axis, axis + 1);
        strides.swap(axis, axis + 1);
    }
    let layout = Layout::weights_for(g.input.len(), g.groups, g.c, g.o, B)?;
    if layout.rank() > dims.len() {
        let of_group = dims[0] / g.groups;
        strides.insert(0, of_group * strides[0]);
        dims.splice(..1, [g.groups, of_group]);
    }
    let mut tiles = BlockedTensor::for_result(op, &dims, &layout, w.dtype())?;
    let sums = bytemuck::cast_slice_mut(tiles.storage_bytes_mut());
    conv_weights::weights::<B>(g, algorithm, x, diff, sums)?;
    let to = plain.result_bytes();
    reorder::blocked_to_strided(size_of::<f32>(), tiles.storage_bytes(), &layout, &dims, &strides, to);
    let TensorRef::Blocked(w) = w else { return Ok(plain.into()) };
    let mut made = BlockedTensor::for_result(op, w.dims(), w.layout(), w.dtype())?;
    let (dims, strides) = (plain.dims(), plain.strides());
    let to = made.storage_bytes_mut();
    reorder::strided_to_blocked(size_of::<f32>(), plain.bytes(), dims, strides, w.layout(), to);
    Ok(made.into())
}

/// The sum over images and pixels.
fn by_bias(diff: TensorRef<'_>) -> Result<Tensor> {
    let diff = diff.to_tensor();
    let dims = diff.tensor_ref().dims().to_vec();
    let axes: Vec<usize> = (0..dims.len()).filter(|axis| *axis != 1).collect();
    match reduce::sum(&diff, &axes, true)? {
        Tensor::Strided(sums) => Ok(sums.reshape(&[dims[1]])?.into()),
        // The channels of one pixel lie side by side, whatever the block.
        Tensor::Blocked(sums) => {
            Ok(StridedTensor::from_slice(&sums.data::<f32>()[..dims[1]], &[dims[1]])?.into())
        }
        Tensor::Opaque(t) => Err(Error::KeyMismatch(crate::error::Complaint::new(
            "sum",
            "result",
            format!("{t:?}"),
            "it has the key of its operand",
            "fix the kernel",
        ))),
    }
}
