//! The operators, one file an op or family: docs, parameters, shape rules, public function, kernels, table entry.
//!
//! A new op is one file here and its line in `ALL`.
//!
//! Operands of one typed call are of one type, so that a mix of backends does not compile; with
//! [`Tensor`](crate::Tensor), which decides at run time, it is a `KeyMismatch`.
//!
//! ```
//! # use blocktensor::{Layout, MemoryFormat, StridedTensor, ops};
//! # let strided = StridedTensor::full(&[1, 16, 2, 2], 1f32, MemoryFormat::Contiguous).unwrap();
//! # let blocked = strided.to_blocked(&Layout::native().0).unwrap();
//! ops::add(&blocked, &blocked).unwrap();
//! ```
//! ```compile_fail,E0308
//! # use blocktensor::{Layout, MemoryFormat, StridedTensor, ops};
//! # let strided = StridedTensor::full(&[1, 16, 2, 2], 1f32, MemoryFormat::Contiguous).unwrap();
//! # let blocked = strided.to_blocked(&Layout::native().0).unwrap();
//! ops::add(&blocked, &strided).unwrap();
//! ```

pub(crate) mod adaptive;
pub(crate) mod batch_norm;
mod batch_norm_train;
mod binary;
pub(crate) mod blocks;
mod cat;
#[allow(unsafe_code)]
pub(crate) mod conv;
mod dropout;
mod flip;
mod group_norm;
mod index;
mod lane_moves;
mod lane_picks;
#[allow(unsafe_code)]
pub(crate) mod lanes;
mod layer_norm;
/// Views of a result that are lent to closures.
#[allow(unsafe_code)]
mod lent;
pub(crate) mod linear;
#[allow(unsafe_code)]
mod lines;
mod local_response_norm;
mod moments;
mod moves;
mod pad;
mod picks;
mod pointwise;
pub(crate) mod pool;
pub(crate) mod post_ops;
#[allow(unsafe_code)]
mod reduce;
pub(crate) mod resample;
mod same;
mod scale;
mod shuffle;
mod softmax;
mod sort;
pub(crate) mod spatial;
mod unary;
mod views;

pub use adaptive::{
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
    adaptive_max_pool3d, global_avg_pool, global_max_pool,
};
pub use batch_norm::{BatchNorm, batch_norm};
pub use batch_norm_train::{BatchNormTrain, BatchNormTrained, batch_norm_train};
pub use binary::*;
pub use cat::{cat, chunk, split, stack};
pub use conv::{
    Conv, Conv1d, Conv2d, Conv3d, ConvTranspose, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d,
    Direction, Forward, Fusion, Transposed, conv_transpose1d, conv_transpose1d_fused, conv_transpose2d,
    conv_transpose2d_fused, conv_transpose3d, conv_transpose3d_fused, conv1d, conv1d_fused, conv2d,
    conv2d_fused, conv3d, conv3d_fused,
};
pub use dropout::{dropout, feature_dropout};
pub use flip::{flip, roll};
pub use group_norm::{NormParams, group_norm, instance_norm};
pub use index::{cumsum, gather, index_select};
pub use layer_norm::layer_norm;
pub use linear::{linear, matmul};
pub use local_response_norm::{LocalResponseNorm, local_response_norm};
pub use pad::{PadMode, pad};
pub use pool::{AvgPool, MaxPool, avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d};
pub use post_ops::{Activation, MAX_POST_OPS, PostOp, PostOps};
pub use reduce::{amax, amin, argmax, mean, prod, sum};
pub use resample::{Resample, upsample_bilinear, upsample_linear, upsample_nearest, upsample_trilinear};
pub use shuffle::{channel_shuffle, pixel_shuffle, pixel_unshuffle};
pub use softmax::{log_softmax, softmax};
pub use sort::{sort, topk};
pub use unary::*;

use crate::dispatch::{Arg, Args, DispatchKey, Kernel, Op, Registrar};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::ledger;
use crate::tensor::any::TensorRef;
use crate::tensor::strided::StridedTensor;

/// `UnsupportedDType` for an argument that is not f32.
pub(crate) fn check_f32(
    op: &'static str,
    name: &'static str,
    t: TensorRef<'_>,
    rule: &'static str,
) -> Result<()> {
    if t.dtype() != DType::F32 {
        fail!(UnsupportedDType, op, name, t.describe(), rule, "convert it with `to_dtype(DType::F32)`");
    }
    Ok(())
}

/// The same for a bias, where there is one.
pub(crate) fn check_bias(op: &'static str, bias: Option<&StridedTensor>) -> Result<()> {
    bias.map_or(Ok(()), |b| check_f32(op, "bias", TensorRef::Strided(b), "it is f32"))
}

/// An op and its kernels for our two keys, in the order in which they are asked.
pub(crate) struct Entry {
    pub op: &'static Op,
    pub strided: Kernels,
    pub blocked: Kernels,
}

/// The kernels of an op for one key.
pub(crate) type Kernels = [Option<Kernel>; 2];

/// No kernel.
pub(crate) const NONE: Kernels = [None, None];

/// The only kernel.
pub(crate) const fn only(kernel: Kernel) -> Kernels {
    [Some(kernel), None]
}

/// Every op of ours.
#[rustfmt::skip]
const ALL: &[&[Entry]] = &[
    adaptive::ENTRIES,
    batch_norm::ENTRIES,
    batch_norm_train::ENTRIES,
    binary::BINARY,
    binary::OTHERS,
    binary::SCALARS,
    cat::ENTRIES,
    conv::ENTRIES,
    dropout::ENTRIES,
    flip::ENTRIES,
    group_norm::ENTRIES,
    index::ENTRIES,
    layer_norm::ENTRIES,
    linear::ENTRIES,
    local_response_norm::ENTRIES,
    pad::ENTRIES,
    pool::ENTRIES,
    reduce::ENTRIES,
    resample::ENTRIES,
    shuffle::ENTRIES,
    softmax::ENTRIES,
    sort::ENTRIES,
    unary::PRELU_ENTRIES,
    unary::UNARY,
    views::ENTRIES,
    views::FLATTEN_ENTRIES,
];

/// Hands our two keys' ops and kernels to a dispatcher: a host framework's, or the one of this process, which
/// takes them through the same door as those of any other crate.
///
/// # Errors
/// What the registrar returns.
pub(crate) fn register(registrar: &mut dyn Registrar) -> Result<()> {
    for entry in ALL.iter().copied().flatten() {
        registrar.op(entry.op)?;
        let name = entry.op.schema().name;
        for (key, kernels) in [(DispatchKey::STRIDED, &entry.strided), (DispatchKey::BLOCKED, &entry.blocked)]
        {
            kernels.iter().flatten().try_for_each(|&kernel| registrar.kernel(name, key, kernel))?;
        }
    }
    Ok(())
}

/// Runs a kernel of our own, and writes the run into the ledger when somebody records.
pub(crate) fn timed<R>(
    args: &Args<'_>,
    implementation: &'static str,
    layouts: impl FnOnce() -> String,
    work: impl FnOnce() -> R,
) -> R {
    timed_as(args.op(), args.key(), implementation, layouts, work)
}

/// As [`timed`], for a packed operator, which has no arguments of a call.
pub(crate) fn timed_as<R>(
    op: &'static str,
    key: DispatchKey,
    implementation: &'static str,
    layouts: impl FnOnce() -> String,
    work: impl FnOnce() -> R,
) -> R {
    if !ledger::is_recording() {
        return work();
    }
    let layouts = layouts();
    let start = std::time::Instant::now();
    let result = work();
    ledger::ran(op, key, implementation, layouts, start, 0);
    result
}

/// The dtypes of ops that only move elements.
const ALL_DTYPES: &[DType] = &DType::ALL;

/// A count or an axis of a typed call.
fn axis_arg(n: usize) -> Arg<'static> {
    Arg::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Checks that the sizes have an axis of this number.
fn check_axis(op: &'static str, dims: &[usize], axis: usize) -> Result<()> {
    if axis >= dims.len() {
        let rule = format!("the sizes {dims:?} have {} axes", dims.len());
        fail!(InvalidArgument, op, "axis", format!("axis {axis}"), rule, "name an axis that is there");
    }
    Ok(())
}

/// A list of any length whose values are not negative.
fn counts(args: &Args<'_>, i: usize, list: &[i64]) -> Result<Vec<usize>> {
    list.iter()
        .map(|&v| match usize::try_from(v) {
            Ok(v) => Ok(v),
            Err(_) => fail!(
                InvalidArgument,
                args.op(),
                args.name(i),
                format!("{list:?}"),
                "no value may be negative",
                "pass 0 or more"
            ),
        })
        .collect()
}
