//! Convolutions on strided tensors: oneDNN where it has a fast kernel, else patches and a matrix product.

use super::finish::{Finish, channel_values};
use super::weights::output_first;
use super::{Call, GemmConv, STRIDE, gemm_conv, kind_of};
use crate::dispatch::{Args, Outputs};
use crate::error::Result;
use crate::layout::memory_format::MemoryFormat;
use crate::ops::same::format_of;
use crate::tensor::any::TensorRef;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

pub(super) fn kernel(args: &Args<'_>) -> Result<Outputs> {
    let (x, given) = (args.strided(0)?, args.strided(1)?);
    let w = &match kind_of(args.op()) {
        (_, false) => given.clone(),
        (spatial, true) => output_first(args.op(), given, spatial, args.count(STRIDE + 3)?)?,
    };
    let call = Call::new(args, w.dims())?;
    let mut dst = result(&call.g.dst_dims(), call.g.op, x, given)?;
    if dst.numel() == 0 {
        return Ok(dst.into());
    }
    #[cfg(feature = "onednn")]
    if engine::run(args, &call, x, w, &mut dst)? {
        return Ok(dst.into());
    }
    run_gemm(args, &call, x, w, &mut dst)?;
    Ok(dst.into())
}

/// An empty result in the format that source and weights ask for.
pub(crate) fn result(
    dims: &[usize],
    op: &'static str,
    x: &StridedTensor,
    w: &StridedTensor,
) -> Result<StridedTensor> {
    // Weights with their groups apart have another rank, and no format to suggest.
    let both = [x, w];
    let operands = if w.rank() == x.rank() { &both[..] } else { &both[..1] };
    FormatRule::AnySuggests.empty_result(op, operands, dims, x.dtype())
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
    crate::ops::timed(args, "blocktensor:gemm", || layouts, || gemm_conv(&conv, dst.result_data::<f32>()))
}

pub(crate) fn plain(t: TensorRef<'_>) -> Option<(&[f32], &[usize])> {
    match t {
        TensorRef::Strided(s) => Some((s.data::<f32>(), s.strides())),
        _ => None,
    }
}

#[cfg(feature = "onednn")]
mod engine {
    use super::*;
    use crate::dispatch::DispatchKey;
    use crate::ops::conv::onednn::{self as conv, Operands};
    use crate::ops::conv::weights::PlainWeights;

    /// `false` where oneDNN has nothing fast, and the matrix product takes over.
    pub(super) fn run(
        args: &Args<'_>,
        call: &Call<'_>,
        x: &StridedTensor,
        w: &StridedTensor,
        dst: &mut StridedTensor,
    ) -> Result<bool> {
        let (g, location) = (&call.g, args.location());
        let format = format_of(dst);
        let (dims, strides) = (g.dst_dims(), crate::Dims::from_slice(dst.strides()));
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
            return Ok(false);
        };
        let x = x.dense_at(g.op, format, location)?;
        let residual = match call.residual {
            Some(TensorRef::Strided(r)) => Some(r.dense_at(g.op, format, location)?),
            _ => None,
        };
        let weights = PlainWeights::new(g, w);
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
        conv::execute(&executable, g, &operands, bytemuck::cast_slice_mut(dst.result_data::<f32>()))?;
        Ok(true)
    }
}
