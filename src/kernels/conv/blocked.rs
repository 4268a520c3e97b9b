//! Convolution on blocked tensors: oneDNN's kernels where it has fast ones, else our own.

use crate::error::{Error, Result, Unsupported, fail};
use crate::kernels::conv::direct::{self, DirectPlan};
use crate::kernels::conv::finish::{Finish, channel_values};
use crate::kernels::conv::winograd::{self, WinogradPlan};
use crate::kernels::conv::{Algorithm, Call, ConvGeometry, ConvParams, WeightTransform, weights};
use crate::layout::blocked::Layout;
use crate::op::params::Params;
use crate::op::{Args, KernelResult, Results};
use crate::tensor::any::TensorRef;
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::desc::TensorDesc;
use crate::tensor::strided::StridedTensor;
use crate::threads::current_threads;

/// The way out for layouts that no kernel takes.
pub(crate) fn other_layout(rank: usize) -> String {
    format!(
        "channels come in blocks of 8 or 16: reorder with `reorder_to(&Layout::native_activation({rank})?)`"
    )
}

/// A call's operands, checked.
fn checked<'a>(args: &Args<'a>) -> Result<(Call<'a>, &'a BlockedTensor, &'a BlockedTensor)> {
    let (x, w) = (args.blocked(0)?, args.blocked(1)?);
    let call = Call::new(args, &ConvParams::read(args)?, w.dims())?;
    let g = &call.g;
    if w.rank() != g.weight_dims().len() {
        let mut apart = g.weight_dims();
        let mut turn = "";
        if g.transposed && g.groups > 1 {
            apart.swap(1, 2);
            turn = ", `transpose(1, 2)`,";
        }
        fail!(
            RankMismatch,
            g.op,
            "weights",
            TensorRef::Blocked(w).describe(),
            format!("blocked weights of {} groups are {}", g.groups, g.weight_dims()),
            format!(
                "view the plain ones as {apart}{turn} and reorder with \
                 `to_blocked(&Layout::native_weights({}, WeightsKind::{:?})?)`",
                apart.len(),
                g.weights_kind()
            )
        );
    }
    // Weights in another layout would be packed on every call, and nobody would see it.
    let block = x.layout().block_of(1);
    if let Ok(wanted) = Layout::weights_for(g.input.len(), g.groups, g.c, g.o, block)
        && wanted != *w.layout()
        && [8, 16].contains(&block)
    {
        fail!(
            LayoutMismatch,
            g.op,
            "weights",
            TensorRef::Blocked(w).describe(),
            format!("x is in {}, with which {wanted} goes", x.layout()),
            format!(
                "reorder them with `reorder_to(&\"{wanted}\".parse()?)`, or once and for all with a packed form"
            )
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
    Ok((call, x, w))
}

/// The kernels in Rust, for blocks of 8 or 16 channels: direct, and by Winograd's algorithm where that is asked for.
pub(crate) fn rust_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (call, x, w) = checked(args)?;
    let g = &call.g;
    if let Algorithm::Winograd(outputs) = call.algorithm {
        return winograd(args, results, &call, x, w, outputs);
    }
    let dims = g.dst_dims();
    let plan = if dims.contains(&0) { None } else { Some(plan_of(args, g, x)?) };
    let dst = results.blocked(&dims, x.layout(), x.dtype())?;
    let Some(plan) = plan else { return Ok(()) };
    Ok(with_operands(args, &call, (x, w), &plan, direct::NAME, |operands| {
        plan.run(operands, bytemuck::cast_slice_mut(dst.storage_bytes_mut()))
    })?)
}

/// Runs a kernel in Rust on its operands, with weights as they lie or packed in this call.
fn with_operands(
    args: &Args<'_>,
    call: &Call<'_>,
    (x, w): (&BlockedTensor, &BlockedTensor),
    plan: &DirectPlan,
    name: &'static str,
    run: impl FnOnce(&direct::Operands<'_>) -> Result<()>,
) -> Result<()> {
    let packed = match plan.takes(&call.g, w.layout()) {
        true => None,
        false => Some(weights::pack_blocked(&call.g, plan, w, args.location())?),
    };
    let bias = call.bias.map(StridedTensor::values).transpose()?;
    let operands = direct::Operands {
        src: x.data(),
        weights: packed.as_ref().map_or(w.data(), |p| p.as_slice()),
        finish: Finish {
            bias: bias.as_deref(),
            post_ops: &call.post_ops,
            channel: &channel_values(call.channel)?,
        },
        residual: call.residual.and_then(elements),
    };
    let layouts = || format!("{} -> {}", x.layout(), x.layout());
    crate::kernels::timed(args, name, layouts, || run(&operands))
}

/// Winograd's algorithm, with weights that are transformed in this call.
fn winograd(
    args: &Args<'_>,
    results: &mut Results<'_>,
    call: &Call<'_>,
    x: &BlockedTensor,
    w: &BlockedTensor,
    outputs: usize,
) -> KernelResult {
    let g = &call.g;
    winograd::check(g, outputs, x.layout().block_of(1))?;
    let (transform, threads) = (WeightTransform::EachRun, current_threads());
    let plan = WinogradPlan::new(g, x.layout(), outputs, transform, threads)?;
    let plan = plan.ok_or_else(|| no_kernel(args, x))?;
    let dims = g.dst_dims();
    results.describe(&TensorDesc::of_layout(dims, x.layout(), x.dtype()))?;
    let scratchpad = results.scratchpad(plan.scratch_bytes())?;
    let dst = results.blocked(&dims, x.layout(), x.dtype())?;
    if dims.contains(&0) {
        return Ok(());
    }
    Ok(with_operands(args, call, (x, w), &plan.direct, plan.name(), |operands| {
        plan.run(operands, bytemuck::cast_slice_mut(dst.storage_bytes_mut()), scratchpad)
    })?)
}

/// How the kernel in Rust goes over these sizes.
fn plan_of(args: &Args<'_>, g: &ConvGeometry, x: &BlockedTensor) -> Result<DirectPlan> {
    DirectPlan::new(g, x.layout())?.ok_or_else(|| no_kernel(args, x))
}

fn no_kernel(args: &Args<'_>, x: &BlockedTensor) -> Error {
    let reason = Unsupported::Layout { layout: x.layout().to_string() };
    args.unsupported(reason, Some(other_layout(x.rank())))
}

/// Every element of a blocked tensor, its padding too.
pub(crate) fn elements(t: TensorRef<'_>) -> Option<&[f32]> {
    match t {
        TensorRef::Blocked(t) => Some(t.data()),
        _ => None,
    }
}

#[cfg(feature = "onednn")]
pub(crate) mod engine {
    use super::*;
    use crate::kernels::conv::onednn::{Operands, execute, primitive};
    use crate::key::DispatchKey;
    use crate::onednn::{Refused, Spec};
    use crate::op::results::Stop;

    /// The kernel on oneDNN. It declines where the engine has nothing fast.
    pub(crate) fn onednn_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
        let (call, x, w) = checked(args)?;
        let g = &call.g;
        let dst_dims = g.dst_dims();
        if dst_dims.contains(&0) || call.algorithm != Algorithm::Direct {
            return Err(Stop::Declined);
        }
        results.describe(&TensorDesc::of_layout(dst_dims, x.layout(), x.dtype()))?;
        let dst_spec = Spec::Layout { dims: &dst_dims, layout: x.layout(), dtype: x.dtype() };
        let src = Spec::Layout { dims: x.dims(), layout: x.layout(), dtype: x.dtype() };
        let weights = Spec::Layout { dims: w.dims(), layout: w.layout(), dtype: w.dtype() };
        let (has_bias, threads) = (call.bias.is_some(), current_threads());
        let made =
            primitive(g, src, weights, dst_spec, has_bias, &call.post_ops, call.allow_reference, threads);
        let executable = match made {
            Ok(executable) => executable,
            Err(Refused::Failed(e)) => return Err(e.into()),
            Err(Refused::Unsupported(_)) => return Err(Stop::Declined),
        };
        let scratchpad = results.scratchpad(executable.scratchpad_bytes())?;
        let dst = results.blocked(&dst_dims, x.layout(), x.dtype())?;
        let bias = call.bias.map(StridedTensor::values).transpose()?;
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
        Ok(execute(&executable, g, &operands, dst.storage_bytes_mut(), scratchpad)?)
    }
}
