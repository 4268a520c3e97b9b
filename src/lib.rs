//! Blocked-layout CNN tensors and oneDNN kernels behind their own dispatch key.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod buffer;
mod dtype;
mod error;
mod layout;
pub mod ledger;
#[doc(hidden)]
pub mod math;
mod tensor;
#[allow(unsafe_code)]
mod threads;

pub use buffer::{ALIGN, DEFAULT_RECYCLE_LIMIT, recycled_bytes, set_recycle_limit};
pub use dtype::{DType, Element};
pub use error::{Complaint, Error, ReorderDenied, Result, Unsupported, UnsupportedOp};
pub use layout::dims::{Dims, MAX_RANK};
pub use layout::memory_format::MemoryFormat;
pub use tensor::strided::StridedTensor;
pub use threads::run;
