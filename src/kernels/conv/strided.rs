//! Convolutions on strided tensors: oneDNN's kernels, and patches with a matrix product where it has no fast one.

use crate::error::Result;
use crate::kernels::conv::finish::{Finish, channel_values};
use crate::kernels::conv::weights::output_first;
use crate::kernels::conv::{Call, ConvParams, GemmConv, gemm_conv, kind_of};
use crate::kernels::same_shape::format_of;
use crate::layout::memory_format::MemoryFormat;
use crate::op::params::Params;
use crate::op::{Args, KernelResult, Results};
use crate::tensor::any::TensorRef;
use crate::tensor::desc::TensorDesc;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

/// A call's operands, the weights with their output channels first, and what the result is.
struct Checked<'a> {
    call: Call<'a>,
    x: &'a StridedTensor,
    w: StridedTensor,
    dst: TensorDesc,
}

impl<'a> Checked<'a> {
    fn new(args: &Args<'a>) -> Result<Checked<'a>> {
        let (x, given) = (args.strided(0)?, args.strided(1)?);
        let params = ConvParams::read(args)?;
        let w = match kind_of(args.op()) {
            (_, false) => given.clone(),
            (spatial, true) => output_first(args.op(), given, spatial, params.groups)?,
        };
        let call = Call::new(args, &params, w.dims())?;
        super::winograd::check_strided(&call.g, call.algorithm)?;
        let dst = FormatRule::AnySuggests.desc(
            args.op(),
            &format_operands(x, given),
            &call.g.dst_dims(),
            x.dtype(),
        )?;
        Ok(Checked { call, x, w, dst })
    }
}

/// The operands that the result's format follows. Weights with their groups apart have another rank, and no format to suggest.
pub(crate) fn format_operands<'a>(x: &'a StridedTensor, w: &'a StridedTensor) -> Vec<&'a StridedTensor> {
    if w.rank() == x.rank() { vec![x, w] } else { vec![x] }
}

/// The kernel in Rust: patches and a matrix product.
pub(crate) fn gemm_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let c = Checked::new(args)?;
    let dst = results.strided_as(c.dst)?;
    if dst.numel() == 0 {
        return Ok(());
    }
    Ok(run_gemm(args, &c.call, c.x, &c.w, dst)?)
}

fn run_gemm(
    args: &Args<'_>,
    call: &Call<'_>,
    x: &StridedTensor,
    w: &StridedTensor,
    dst: &mut StridedTensor,
) -> Result<()> {
    let w = w.dense_at(call.g.op, MemoryFormat::Contiguous, args.location())?;
    let bias = call.bias.map(StridedTensor::values).transpose()?;
    let channel = channel_values(call.channel)?;
    let strides = crate::Dims::from_slice(dst.strides());
    let layouts = format!("{} -> {}", x.format_name(), format_of(dst));
    let conv = GemmConv {
        g: &call.g,
        src: x.data::<f32>(),
        src_strides: x.strides(),
        weights: w.data::<f32>(),
        dst_strides: &strides,
        finish: Finish { bias: bias.as_deref(), post_ops: &call.post_ops, channel: &channel },
        residual: call.residual.and_then(plain),
    };
    crate::kernels::timed(args, "blocktensor:gemm", || layouts, || gemm_conv(&conv, dst.result_data::<f32>()))
}

pub(crate) fn plain(t: TensorRef<'_>) -> Option<(&[f32], &[usize])> {
    match t {
        TensorRef::Strided(s) => Some((s.data::<f32>(), s.strides())),
        _ => None,
    }
}

#[cfg(feature = "onednn")]
pub(crate) mod engine {
    use super::*;
    use crate::kernels::conv::onednn::{self as conv, Operands};
    use crate::kernels::conv::weights::PlainWeights;
    use crate::key::DispatchKey;
    use crate::op::results::Stop;

    /// The kernel on oneDNN. It declines where the engine has nothing fast.
    pub(crate) fn onednn_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
        let Checked { call, x, w, dst } = Checked::new(args)?;
        results.describe(&dst)?;
        let (g, location) = (&call.g, args.location());
        let (dims, strides) = (g.dst_dims(), crate::Dims::from_slice(dst.strides().unwrap_or(&[])));
        if dims.contains(&0) {
            return Err(Stop::Declined);
        }
        let format = MemoryFormat::of_dense(&dims, &strides);
        let dst_spec = conv::Spec::Strided { dims: &dims, strides: &strides, dtype: dst.dtype() };
        let src_strides = format.strides(g.op, x.dims())?;
        let src_spec = conv::Spec::Strided { dims: x.dims(), strides: &src_strides, dtype: x.dtype() };
        let Some(executable) = conv::choose(
            g,
            src_spec,
            dst_spec,
            call.bias.is_some(),
            &call.post_ops,
            call.allow_reference,
            crate::threads::current_threads(),
        )?
        else {
            return Err(Stop::Declined);
        };
        let scratchpad = results.scratchpad(executable.scratchpad_bytes())?;
        let dst = results.strided_as(dst)?;
        let x = x.dense_at(g.op, format, location)?;
        let residual = match call.residual {
            Some(TensorRef::Strided(r)) => Some(r.dense_at(g.op, format, location)?),
            _ => None,
        };
        let weights = PlainWeights::new(g, &w);
        let packed = weights.pack(g, executable.desc(1), location)?;
        let bias = call.bias.map(StridedTensor::values).transpose()?;
        let operands = Operands {
            src: src_spec,
            src_bytes: bytemuck::cast_slice(x.data::<f32>()),
            weights_bytes: packed.as_bytes(),
            bias: bias.as_deref(),
            residual: residual.as_ref().map(|r| bytemuck::cast_slice(r.data::<f32>())),
            channel: call.channel,
            dst: dst_spec,
            post_ops: &call.post_ops,
            key: DispatchKey::STRIDED,
            location,
        };
        let bytes = bytemuck::cast_slice_mut(dst.result_data::<f32>());
        Ok(conv::execute(&executable, g, &operands, bytes, scratchpad)?)
    }
}
