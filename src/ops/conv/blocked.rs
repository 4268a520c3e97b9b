//! Convolution on blocked tensors: oneDNN's kernels for the layouts as they come.

use crate::dispatch::Kernel;

#[cfg(not(feature = "onednn"))]
pub(super) const KERNEL: Kernel = Kernel::NOT_BUILT;

#[cfg(feature = "onednn")]
pub(super) const KERNEL: Kernel = Kernel::rust(&engine::kernel).with_engine(crate::dispatch::Engine::OneDnn);

#[cfg(feature = "onednn")]
mod engine {
    use super::super::{Call, op_of};
    use crate::dispatch::{Args, DispatchKey, Outputs};
    use crate::error::{Error, Result, Unsupported, fail};
    use crate::layout::blocked::Layout;
    use crate::onednn::{Refused, Spec};
    use crate::ops::conv::onednn::{Operands, bias_values, execute, primitive};
    use crate::tensor::any::TensorRef;
    use crate::tensor::blocked::BlockedTensor;
    use crate::threads::current_threads;

    pub(super) fn kernel(args: &Args<'_>) -> Result<Outputs> {
        let call = Call::new(args)?;
        let g = &call.g;
        let (x, w) = (args.blocked(0)?, args.blocked(1)?);
        if w.rank() != g.weight_dims().len() {
            fail!(
                RankMismatch,
                g.op,
                "weights",
                TensorRef::Blocked(w).describe(),
                format!("blocked weights of {} groups are {}", g.groups, g.weight_dims()),
                "view them with their groups apart before `to_blocked`"
            );
        }
        if let Some(TensorRef::Blocked(r)) = call.residual
            && r.layout() != x.layout()
        {
            fail!(
                LayoutMismatch,
                g.op,
                "residual",
                TensorRef::Blocked(r).describe(),
                format!("the result is in {}", x.layout()),
                format!("reorder it with `reorder_to(&Layout)` to {}", x.layout())
            );
        }
        let dst_dims = g.dst_dims();
        let mut dst = BlockedTensor::for_result(g.op, &dst_dims, x.layout(), x.dtype())?;
        if dst.numel() == 0 {
            return Ok(dst.into());
        }
        let dst_spec = Spec::Layout { dims: &dst_dims, layout: x.layout(), dtype: x.dtype() };
        let src = Spec::Layout { dims: x.dims(), layout: x.layout(), dtype: x.dtype() };
        let weights = Spec::Layout { dims: w.dims(), layout: w.layout(), dtype: w.dtype() };
        let has_bias = call.bias.is_some();
        let executable = match primitive(
            g,
            src,
            weights,
            dst_spec,
            has_bias,
            &call.post_ops,
            call.allow_reference,
            current_threads(),
        ) {
            Ok(executable) => executable,
            Err(Refused::Failed(e)) => return Err(e),
            Err(Refused::Unsupported(reason)) => return Err(refusal(args, &call, x, w, reason)),
        };
        let bias = call.bias.map(bias_values).transpose()?;
        let operands = Operands {
            src,
            src_bytes: x.storage_bytes(),
            weights_bytes: w.storage_bytes(),
            bias: bias.as_deref(),
            residual: call.residual.map(|r| match r {
                TensorRef::Blocked(t) => t.storage_bytes(),
                _ => &[],
            }),
            channel: call.channel,
            dst: dst_spec,
            post_ops: &call.post_ops,
            key: DispatchKey::BLOCKED,
            location: args.location(),
        };
        execute(&executable, g, &operands, dst.storage_bytes_mut())?;
        Ok(dst.into())
    }

    /// The error that names the way out of a configuration that oneDNN has nothing fast for.
    fn refusal(
        args: &Args<'_>,
        call: &Call<'_>,
        x: &BlockedTensor,
        w: &BlockedTensor,
        reason: Unsupported,
    ) -> Error {
        let g = &call.g;
        let block = x.layout().block_of(1);
        let fitting = Layout::weights_for(g.input.len(), g.groups, g.c, g.o, block);
        let remedy = if fitting.as_ref().is_ok_and(|l| l != w.layout()) && g.c / g.groups >= block {
            format!("reorder the weights to {}", fitting.map(|l| l.to_string()).unwrap_or_default())
        } else if g.groups == 1 && g.c < block {
            "pack it with `PackedConv2d::new(..)?.pack_stem(..)`, which reads the plain source and writes blocked, or \
             reorder with `to_strided(MemoryFormat::ChannelsLast)` and call it there"
                .to_string()
        } else {
            "reorder with `to_strided(MemoryFormat::ChannelsLast)` and call it there, or allow the reference \
             implementation with `allow_reference`"
                .to_string()
        };
        op_of(g.input.len()).unsupported(DispatchKey::BLOCKED, reason, args.values(), Some(remedy))
    }
}
