//! Blocked-layout CNN tensors and oneDNN kernels behind their own dispatch key.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod buffer;
pub mod dispatch;
mod dtype;
#[allow(unsafe_code)]
pub mod elementwise;
mod error;
mod layout;
pub mod ledger;
#[doc(hidden)]
pub mod math;
#[allow(unsafe_code)]
mod matmul;
#[cfg(feature = "onednn")]
#[allow(unsafe_code)]
pub mod onednn;
pub mod ops;
mod pack;
#[allow(unsafe_code)]
mod simd;
mod tensor;
#[allow(unsafe_code)]
mod threads;

pub use buffer::{ALIGN, DEFAULT_RECYCLE_LIMIT, recycled_bytes, set_recycle_limit};
pub use dtype::{DType, Element};
pub use error::{Complaint, Error, ReorderDenied, Result, Unsupported, UnsupportedOp};
pub use layout::blocked::{Layout, MAX_INNER_BLOCKS, Role};
pub use layout::dims::{Dims, MAX_RANK};
pub use layout::memory_format::MemoryFormat;
pub use layout::native::WeightsKind;
pub use pack::{
    ConvPacker, PackedConv, PackedConv1d, PackedConv2d, PackedConv3d, PackedLinear, PackedStem, Source,
};
pub use tensor::any::{OpaqueTensor, Operand, Tensor, TensorMut, TensorRef};
pub use tensor::blocked::BlockedTensor;
pub use tensor::result_format::FormatRule;
pub use tensor::strided::StridedTensor;
pub use threads::{current_threads, parallel_for, run};
