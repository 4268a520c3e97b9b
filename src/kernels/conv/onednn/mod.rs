//! The way from a checked convolution to a oneDNN primitive, for both keys and for packed weights.

mod implementation;

use std::sync::Arc;

use half::bf16;
use onednn_sys as sys;

pub(crate) use self::implementation::OneDnn;
use super::ConvGeometry;
use super::implementation::{ConvOperands, Problem};
use crate::buffer::Buffer;
use crate::error::{Result, Unsupported};
use crate::kernels::lanes::Lanes;
use crate::layout::either::SourceLayout;
use crate::ledger::{self, Cause, Move};
use crate::onednn::{self, ConvSpec, Executable, MAX_RUN_ARGS, PostSpec, Refused, RunArg, Spec};
use crate::post_ops::{Activation, MAX_POST_OPS, PostOp};
use crate::scratchpad::Scratchpad;
use crate::{DType, Dims};

/// A tensor of these sizes in this format; `strides` are those of a strided one.
fn spec<'a>(layout: &'a SourceLayout, dtype: DType, dims: &'a Dims, strides: &'a Dims) -> Spec<'a> {
    match layout {
        SourceLayout::Strided(_) => Spec::Strided { dims, strides, dtype },
        SourceLayout::Blocked(layout) => Spec::Layout { dims, layout, dtype },
    }
}

/// The layout as the engine is told. Where each image is one pixel, NCHW is NHWC too, and only that one has kernels of bf16; by strides
/// the engine takes it for NCHW.
fn told(layout: &SourceLayout, dtype: DType, dims: &Dims) -> SourceLayout {
    let is_pixel = dims[2..].iter().all(|&d| d == 1);
    let last = ["nwc", "nhwc", "ndhwc"].get(dims.len() - 3).and_then(|name| name.parse().ok());
    match (layout, last) {
        (SourceLayout::Strided(_), Some(last)) if dtype == DType::BF16 && is_pixel => {
            SourceLayout::Blocked(last)
        }
        _ => *layout,
    }
}

/// The primitive for a problem; `weights` is a stated layout, or `Any` for oneDNN to choose.
fn primitive(p: &Problem<'_>, weights: Spec<'_>) -> Result<Arc<Executable>, Refused> {
    let (g, post_ops) = (p.g, p.post_ops);
    let (src_dims, dst_dims) = (g.src_dims(), g.dst_dims());
    let (from, to) = (told(&p.src, p.types.src, &src_dims), told(&p.dst, p.types.dst, &dst_dims));
    let (src_strides, dst_strides) = (from.strides(g.op, &src_dims)?, to.strides(g.op, &dst_dims)?);
    let src = spec(&from, p.types.src, &src_dims, &src_strides);
    let dst = spec(&to, p.types.dst, &dst_dims, &dst_strides);
    let mut channel_dims = Dims::filled(1, g.input.len() + 2);
    channel_dims[1] = g.o;
    let ones = Dims::filled(1, channel_dims.len());
    // A vector of O values beside the result: stride 1 along C, and whatever along dimensions of size 1.
    let channel = Spec::Strided { dims: &channel_dims, strides: &ones, dtype: DType::F32 };
    let unused = PostSpec::Binary { alg: sys::dnnl_binary_add, other: dst };
    let mut posts = [unused; MAX_POST_OPS];
    for (slot, op) in posts.iter_mut().zip(post_ops.iter()) {
        *slot = match *op {
            PostOp::Residual => PostSpec::Binary { alg: sys::dnnl_binary_add, other: dst },
            PostOp::MulChannel => PostSpec::Binary { alg: sys::dnnl_binary_mul, other: channel },
            PostOp::AddChannel => PostSpec::Binary { alg: sys::dnnl_binary_add, other: channel },
            PostOp::Activation(a) => eltwise(a),
            // Nothing is asked of the engine then.
            // Those of integers are refused before.
            PostOp::Prelu
            | PostOp::QuantizedResidual { .. }
            | PostOp::Round { .. }
            | PostOp::Quantize { .. } => continue,
        };
    }
    let spec = ConvSpec {
        transposed: g.transposed,
        src,
        weights,
        bias: p.bias.then_some(g.o),
        dst,
        strides: &g.stride,
        dilation: &g.dilation,
        pad_begin: &g.pad_begin,
        pad_end: &g.pad_end,
        output_padding: &g.output_padding,
        post_ops: &posts[..post_ops.len()],
        finished_apart: post_ops.contains(&PostOp::Prelu),
        allow_reference: p.allow_reference,
        threads: p.threads,
    };
    let executable = match weights {
        Spec::Chosen(_) => spec.create().map(Arc::new),
        _ => spec.executable(),
    }?;
    if executable.is_bare() && p.types.dst != DType::F32 {
        // Our pass over the result is for f32, and rounding twice would be another result.
        return Err(Unsupported::NoImplementation.into());
    }
    Ok(executable)
}

fn eltwise(a: Activation) -> PostSpec<'static> {
    let (alg, alpha, beta) = match a {
        Activation::Relu => (sys::dnnl_eltwise_relu, 0.0, 0.0),
        Activation::LeakyRelu(slope) => (sys::dnnl_eltwise_relu, slope, 0.0),
        Activation::Clip(low, high) => (sys::dnnl_eltwise_clip, low, high),
        Activation::Silu => (sys::dnnl_eltwise_swish, 1.0, 0.0),
        Activation::HardSwish => (sys::dnnl_eltwise_hardswish, 1.0 / 6.0, 0.5),
        Activation::HardSigmoid => (sys::dnnl_eltwise_hardsigmoid, 1.0 / 6.0, 0.5),
        Activation::Gelu => (sys::dnnl_eltwise_gelu_erf, 0.0, 0.0),
        Activation::Sigmoid => (sys::dnnl_eltwise_logistic, 0.0, 0.0),
        Activation::Tanh => (sys::dnnl_eltwise_tanh, 0.0, 0.0),
    };
    PostSpec::Eltwise { alg, alpha, beta }
}

/// Runs a primitive that was made for these operands.
fn run(
    executable: &Executable,
    (g, dtype): (&ConvGeometry, DType),
    (src, to): (&SourceLayout, &SourceLayout),
    o: &ConvOperands<'_>,
    dst: &mut [u8],
    scratchpad: Option<&mut Scratchpad>,
) -> Result<()> {
    let (bias, fused) = match executable.is_bare() {
        true => (None, &[][..]),
        false => (o.finish.bias, &o.finish.post_ops[..]),
    };
    let mut operands: [&[u8]; MAX_POST_OPS] = [&[]; MAX_POST_OPS];
    let mut copies: [Option<Buffer>; MAX_POST_OPS] = Default::default();
    let mut next_vector = o.finish.channel.iter();
    for (i, op) in fused.iter().enumerate() {
        operands[i] = match op {
            PostOp::Residual => o.residual.map_or(&[], |r| r.bytes),
            PostOp::MulChannel | PostOp::AddChannel | PostOp::Prelu => {
                next_vector.next().map_or(&[][..], |v| bytemuck::cast_slice(v))
            }
            PostOp::Activation(_)
            | PostOp::QuantizedResidual { .. }
            | PostOp::Round { .. }
            | PostOp::Quantize { .. } => continue,
        };
        let room = reads_past(*op, executable.implementation(), g, to);
        if room > 0 {
            copies[i] = Some(with_room(operands[i], room)?);
        }
    }
    let mut args: [RunArg<'_>; MAX_RUN_ARGS] = std::array::from_fn(|_| RunArg::In(&[]));
    let mut count = 0;
    let bytes = dst.len();
    let mut push = |arg| {
        args[count] = arg;
        count += 1;
    };
    push(RunArg::In(o.src.bytes));
    push(RunArg::In(o.weights));
    if let Some(b) = bias {
        push(RunArg::In(bytemuck::cast_slice(b)));
    }
    push(RunArg::Out(&mut *dst));
    for (i, op) in fused.iter().enumerate() {
        if !matches!(op, PostOp::Activation(_)) {
            push(RunArg::In(copies[i].as_ref().map_or(operands[i], Buffer::as_bytes)));
        }
    }
    let run = || executable.run_in(&mut args[..count], scratchpad);
    if onednn::reorders_inside(executable.implementation()) {
        let what = Move {
            op: g.op,
            cause: Cause::Internal,
            from: src,
            to: &"nhwc and back",
            dims: &g.src_dims(),
            bytes: o.src.bytes.len() + bytes,
            source: 0,
            location: o.location,
        };
        ledger::reorder(what, run)?;
    } else {
        run()?;
    }
    let lanes = || match to {
        SourceLayout::Blocked(layout) => Lanes::of_layout(g.op, &g.dst_dims(), layout),
        SourceLayout::Strided(format) => {
            Ok(Lanes::of_format(&g.dst_dims(), *format).expect("a rank that was checked"))
        }
    };
    if executable.is_bare() {
        o.finish.all(&lanes()?, o.residual.map(|r| r.f32()), bytemuck::cast_slice_mut(dst));
    }
    if let SourceLayout::Blocked(_) = to {
        // The engine computes the padding from weights of zero: of an infinity or NaN that makes NaN, and some post-ops
        // make -0 of 0.
        match dtype {
            DType::BF16 => lanes()?.clear_padding::<bf16>(bytemuck::cast_slice_mut(dst)),
            _ => lanes()?.clear_padding::<f32>(bytemuck::cast_slice_mut(dst)),
        }
    }
    Ok(())
}

/// How many **bytes** past the end of a post-op's operand the kernel reads. What it finds there does not count, but may be
/// nobody's memory.
fn reads_past(op: PostOp, implementation: &str, g: &ConvGeometry, dst: &SourceLayout) -> usize {
    match (op, dst) {
        // Blocks of 8 numbers, of a residual or a number a channel, are read as vectors of 16.
        (PostOp::Residual | PostOp::MulChannel | PostOp::AddChannel, SourceLayout::Blocked(layout))
            if layout.block_of(1) == 8 && implementation.contains("avx512") =>
        {
            8 * size_of::<f32>()
        }
        // Where the last block of a row is shorter than the stride, it is read as if it were whole.
        (PostOp::Residual, _) if g.transposed && implementation.contains("brgconv_strided") => {
            let (width, stride) = (g.output[g.output.len() - 1], g.stride[g.stride.len() - 1]);
            if width.is_multiple_of(stride) {
                0
            } else {
                width.next_multiple_of(stride) * g.o * size_of::<f32>()
            }
        }
        _ => 0,
    }
}

/// A copy with zeros behind it.
fn with_room(data: &[u8], room: usize) -> Result<Buffer> {
    let mut copy = Buffer::for_result(data.len() + room)?;
    let (to, rest) = copy.as_bytes_mut().split_at_mut(data.len());
    to.copy_from_slice(data);
    rest.fill(0);
    Ok(copy)
}
