//! The operators, one file an op or family: docs, parameters, shape rules, public function, kernels, table entry.
//!
//! A new element-wise op is an entry of a table in `pointwise`. Any other op is a file here and a line in `ALL`. ARCHITECTURE.md
//! names the other files that a new op needs.
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

pub(crate) mod conv;
mod index;
pub(crate) mod linear;
mod matmul;
mod norm;
mod pointwise;
mod pool;
mod reduce;
mod resample;
mod shape;
mod softmax;

pub use crate::post_ops::{Activation, MAX_POST_OPS, PostOp, PostOps};
pub use conv::{
    Algorithm, Conv, Conv1d, Conv2d, Conv3d, ConvTranspose, ConvTranspose1d, ConvTranspose2d,
    ConvTranspose3d, Direction, Forward, Fusion, Transposed, conv_transpose1d, conv_transpose1d_fused,
    conv_transpose2d, conv_transpose2d_fused, conv_transpose3d, conv_transpose3d_fused, conv1d, conv1d_fused,
    conv2d, conv2d_fused, conv3d, conv3d_fused,
};
pub use index::cumsum::cumsum;
pub use index::gather::{gather, index_select};
pub use index::sort::{sort, topk};
pub use linear::{Linear, linear, linear_fused};
pub use matmul::{matmul, matmul_integers};
pub use norm::batch_norm::{BatchNorm, batch_norm};
pub use norm::batch_norm_train::{BatchNormTrain, BatchNormTrained, batch_norm_train};
pub use norm::group_norm::{NormParams, group_norm, instance_norm};
pub use norm::layer_norm::layer_norm;
pub use norm::local_response_norm::{LocalResponseNorm, local_response_norm};
pub use pointwise::binary::*;
pub use pointwise::dropout::{dropout, feature_dropout};
pub use pointwise::lookup::lookup;
pub use pointwise::quantize::{dequantize, quantize};
pub use pointwise::quantized::{Quantization, quantized_add, quantized_mul};
pub use pointwise::requantize::requantize;
pub(crate) use pointwise::to_dtype::TO_DTYPE;
pub use pointwise::to_dtype::to_dtype;
pub use pointwise::unary::*;
pub use pool::adaptive::{
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
    adaptive_max_pool3d, global_avg_pool, global_max_pool,
};
pub use pool::avg_pool::quantized::quantized_avg_pool;
pub use pool::avg_pool::{AvgPool, avg_pool1d, avg_pool2d, avg_pool3d};
pub use pool::max_pool::{MaxPool, max_pool1d, max_pool2d, max_pool3d};
pub use reduce::{amax, amin, argmax, mean, prod, sum};
pub use resample::grid_sample::{GridMode, GridPadding, GridSample, grid_sample};
pub use resample::upsample::{
    Resample, upsample_bilinear, upsample_linear, upsample_nearest, upsample_trilinear,
};
pub use shape::cat::{cat, stack};
pub use shape::flip::{flip, roll};
pub use shape::pad::{PadMode, pad};
pub use shape::shuffle::{channel_shuffle, pixel_shuffle, pixel_unshuffle};
pub use shape::split::{chunk, split};
pub use shape::triangle::{tril, triu};
pub(crate) use shape::views::VIEW;
pub use softmax::{log_softmax, softmax};

use crate::dtype::DType;
use crate::op::{DTypeTuple, Op};

/// Every op of ours.
#[rustfmt::skip]
const ALL: &[&[&Op]] = &[
    pool::adaptive::OPS,
    norm::batch_norm::OPS,
    norm::batch_norm_train::OPS,
    pointwise::binary::BINARY,
    pointwise::binary::OTHERS,
    pointwise::binary::SCALARS,
    shape::cat::OPS,
    shape::split::OPS,
    conv::OPS,
    pointwise::dropout::OPS,
    pointwise::quantize::OPS,
    pointwise::quantized::OPS,
    pointwise::requantize::OPS,
    pointwise::lookup::OPS,
    pointwise::to_dtype::OPS,
    shape::flip::OPS,
    norm::group_norm::OPS,
    index::cumsum::OPS,
    index::gather::OPS,
    norm::layer_norm::OPS,
    linear::OPS,
    matmul::OPS,
    norm::local_response_norm::OPS,
    shape::pad::OPS,
    pool::avg_pool::OPS,
    pool::avg_pool::quantized::OPS,
    pool::max_pool::OPS,
    reduce::OPS,
    resample::grid_sample::OPS,
    resample::upsample::OPS,
    shape::shuffle::OPS,
    shape::triangle::OPS,
    softmax::OPS,
    index::sort::OPS,
    pointwise::unary::PRELU_OPS,
    pointwise::unary::UNARY,
    shape::views::OPS,
];

/// Every op of ours, in the order of the list.
pub(crate) fn all() -> impl Iterator<Item = &'static Op> {
    ALL.iter().copied().flatten().copied()
}

/// For ops that only move the elements of one operand: each dtype.
const EACH_DTYPE: &[DTypeTuple] = &{
    let mut each = [DTypeTuple { operands: &[], results: &[] }; DType::ALL.len()];
    let mut i = 0;
    while i < each.len() {
        each[i].operands = std::slice::from_ref(&const { &DType::ALL }[i]);
        i += 1;
    }
    each
};
