//! The way from a checked convolution to a oneDNN primitive, for both keys and for packed weights.

use std::panic::Location;
use std::sync::Arc;

use onednn_sys as sys;

use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::finish::{Finish, channel_values};
use crate::kernels::conv::weights::PlainWeights;
use crate::kernels::lanes::Lanes;
use crate::key::DispatchKey;
use crate::layout::memory_format::MemoryFormat;
use crate::ledger::{self, Cause, Move};
pub(crate) use crate::onednn::Spec;
use crate::onednn::{self, ConvSpec, Executable, MAX_RUN_ARGS, MemoryDesc, PostSpec, Refused, RunArg};
use crate::post_ops::{Activation, MAX_POST_OPS, PostOp, PostOps};
use crate::scratchpad::Scratchpad;
use crate::tensor::any::TensorRef;
use crate::{DType, Dims};

/// What one run of a convolution reads, and how it lies.
pub(crate) struct Operands<'a> {
    pub src: Spec<'a>,
    pub src_bytes: &'a [u8],
    pub weights_bytes: &'a [u8],
    pub bias: Option<&'a [f32]>,
    pub residual: Option<&'a [u8]>,
    pub channel: &'a [TensorRef<'a>],
    pub dst: Spec<'a>,
    pub post_ops: &'a PostOps,
    pub key: DispatchKey,
    pub location: &'static Location<'static>,
}

#[allow(clippy::too_many_arguments)]
/// The primitive for these layouts; `weights` is a stated layout, or `Any` for oneDNN to choose.
pub(crate) fn primitive(
    g: &ConvGeometry,
    src: Spec<'_>,
    weights: Spec<'_>,
    dst: Spec<'_>,
    bias: bool,
    post_ops: &PostOps,
    allow_reference: bool,
    threads: usize,
) -> Result<Arc<Executable>, Refused> {
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
            PostOp::Prelu => continue,
        };
    }
    let spec = ConvSpec {
        transposed: g.transposed,
        src,
        weights,
        bias: bias.then_some(g.o),
        dst,
        strides: &g.stride,
        dilation: &g.dilation,
        pad_begin: &g.pad_begin,
        pad_end: &g.pad_end,
        output_padding: &g.output_padding,
        post_ops: &posts[..post_ops.len()],
        finished_apart: post_ops.contains(&PostOp::Prelu),
        allow_reference,
        threads,
    };
    match weights {
        Spec::Chosen(_) => spec.create().map(Arc::new),
        _ => spec.executable(),
    }
}

/// The primitive for plain or stated source and destination, with weights as oneDNN likes them; `None` where it
/// has nothing fast.
pub(crate) fn choose(
    g: &ConvGeometry,
    src: Spec<'_>,
    dst: Spec<'_>,
    bias: bool,
    post_ops: &PostOps,
    allow_reference: bool,
    threads: usize,
) -> Result<Option<Arc<Executable>>> {
    let dims = g.weight_dims();
    let weights = Spec::Any { dims: &dims, dtype: DType::F32 };
    match primitive(g, src, weights, dst, bias, post_ops, allow_reference, threads) {
        Ok(executable) => Ok(Some(executable)),
        Err(Refused::Unsupported(_)) => Ok(None),
        Err(Refused::Failed(e)) => Err(e),
    }
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

impl PlainWeights<'_> {
    /// A copy in the layout that a primitive chose; in the ledger as packing.
    pub(crate) fn pack(
        &self,
        g: &ConvGeometry,
        to: &MemoryDesc,
        location: &'static Location<'static>,
    ) -> Result<Buffer> {
        let tag = to.blocking()?;
        let from = self.tensor.format_name();
        let bytes = to.size_bytes();
        let what = Move {
            op: g.op,
            cause: Cause::Packing,
            from: &from,
            to: &tag,
            dims: &self.dims,
            bytes,
            source: self.tensor.storage.id(),
            location,
        };
        ledger::reorder(what, || {
            let view = self.tensor.as_strided(&self.dims, &self.strides, self.tensor.offset())?;
            onednn::pack(&view, to)
                .map_err(|refused| without_implementation(refused, "dnnl_reorder_primitive_desc_create"))
        })
    }
}

/// A refusal where the configuration is one that oneDNN always has.
pub(crate) fn without_implementation(refused: Refused, call: &'static str) -> Error {
    match refused {
        Refused::Failed(e) => e,
        Refused::Unsupported(_) => {
            Error::Backend { call, status: sys::dnnl_unimplemented as i32, name: "unimplemented" }
        }
    }
}

/// Runs a primitive that was made for these operands, and writes the run into the ledger.
pub(crate) fn execute(
    executable: &Executable,
    g: &ConvGeometry,
    o: &Operands<'_>,
    dst: &mut [u8],
    scratchpad: Option<&mut Scratchpad>,
) -> Result<()> {
    let channel = channel_values(o.channel)?;
    let (bias, fused) = match executable.is_bare() {
        true => (None, &[][..]),
        false => (o.bias, &o.post_ops[..]),
    };
    let mut operands: [&[u8]; MAX_POST_OPS] = [&[]; MAX_POST_OPS];
    let mut copies: [Option<Buffer>; MAX_POST_OPS] = Default::default();
    let mut next_vector = channel.iter();
    for (i, op) in fused.iter().enumerate() {
        operands[i] = match op {
            PostOp::Residual => o.residual.unwrap_or(&[]),
            PostOp::MulChannel | PostOp::AddChannel | PostOp::Prelu => {
                next_vector.next().map_or(&[][..], |v| bytemuck::cast_slice(v))
            }
            PostOp::Activation(_) => continue,
        };
        let room = reads_past(*op, executable.implementation(), g, o.dst);
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
    push(RunArg::In(o.src_bytes));
    push(RunArg::In(o.weights_bytes));
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
    let start = ledger::is_recording().then(std::time::Instant::now);
    if onednn::reorders_inside(executable.implementation()) {
        let (dims, to) = (g.src_dims(), "nhwc and back");
        let what = Move {
            op: g.op,
            cause: Cause::Internal,
            from: &o.src,
            to: &to,
            dims: &dims,
            bytes: o.src_bytes.len() + bytes,
            source: 0,
            location: o.location,
        };
        ledger::reorder(what, run)?;
    } else {
        run()?;
    }
    let result = bytemuck::cast_slice_mut(dst);
    if executable.is_bare() {
        let residual = o.residual.map(bytemuck::cast_slice);
        let finish = Finish { bias: o.bias, post_ops: o.post_ops, channel: &channel };
        finish.all(&view_of(g, o.dst)?, residual, result);
    }
    if let Spec::Layout { dims, layout, .. } = o.dst {
        // The engine computes the padding from weights of zero: of an infinity or NaN that makes NaN, and some post-ops
        // make -0 of 0.
        Lanes::of_layout(g.op, dims, layout)?.clear_padding(result);
    }
    if let Some(start) = start {
        let layouts = format!("{} -> {}", o.src, o.dst);
        let implementation = executable.implementation().to_string();
        ledger::ran(g.op, o.key, implementation, layouts, start, executable.scratchpad_bytes());
    }
    Ok(())
}

/// How a result lies.
fn view_of(g: &ConvGeometry, dst: Spec<'_>) -> Result<Lanes> {
    if let Spec::Layout { dims, layout, .. } = dst {
        return Lanes::of_layout(g.op, dims, layout);
    }
    let dims = g.dst_dims();
    let format = match dst {
        Spec::Strided { strides, .. } => MemoryFormat::of_dense(&dims, strides),
        _ => MemoryFormat::Contiguous,
    };
    Ok(Lanes::of_format(&dims, format).expect("a rank that was checked"))
}

/// How many **bytes** past the end of a post-op's operand the kernel reads. What it finds there does not count, but may be
/// nobody's memory.
fn reads_past(op: PostOp, implementation: &str, g: &ConvGeometry, dst: Spec<'_>) -> usize {
    match (op, dst) {
        // Blocks of 8 numbers, of a residual or a number a channel, are read as vectors of 16.
        (PostOp::Residual | PostOp::MulChannel | PostOp::AddChannel, Spec::Layout { layout, .. })
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
