//! Blocked-layout CNN tensors and oneDNN kernels behind their own dispatch key.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod buffer;
mod dtype;
#[allow(unsafe_code)]
pub mod elementwise;
mod error;
mod layout;
pub mod ledger;
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
pub use tensor::blocked::BlockedTensor;
pub use tensor::result_format::FormatRule;
pub use tensor::strided::StridedTensor;
pub use threads::run;
