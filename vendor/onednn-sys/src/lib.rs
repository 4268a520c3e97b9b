//! Raw bindings to the C API of [oneDNN](https://github.com/uxlfoundation/oneDNN) 3, and a thread-pool shim.
//!
//! Names, types and contracts are oneDNN's own; its
//! [developer guide](https://uxlfoundation.github.io/oneDNN/) documents them. Enumerations are plain integer
//! constants with a type alias ([`dnnl_status_t`], [`dnnl_success`]), so any value the library may return is valid
//! in Rust too. Handles are pointers to opaque structures.
//!
//! The functions may throw C++ exceptions if memory runs out; [`guard`] turns them into status codes.
//!
//! # Where the library comes from
//!
//! - Feature `bundled` (default): compiled from the sources in `onednn/`, once per machine. `BUILD.md` describes how, where
//!   the library is kept, and how long it takes.
//! - Feature `system` (with `default-features = false`): an installed library, found through `ONEDNN_DIR` or probed.
//!
//! # CPU runtimes
//!
//! The runtime is read from the installed headers: see [`CPU_RUNTIME`]. With `threadpool`, the module
//! [`threadpool`] and the `dnnl_threadpool_interop_*` functions exist; with any other runtime they do not. A dependent's
//! build script finds the runtime's name in `DEP_BLOCKTENSOR_ONEDNN_CPU_RUNTIME`, next to `_ROOT`, `_INCLUDE`, `_LIB`,
//! `_LINKAGE` (`static` or `shared`) and `_VERSION`.

#![no_std]
#![allow(non_camel_case_types, non_upper_case_globals, non_snake_case)]

use core::ffi::{c_int, c_void};

/// The generated part.
#[allow(missing_docs, clippy::all)]
mod bindings {
    #[cfg(onednn_generated_bindings)]
    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
    #[cfg(not(onednn_generated_bindings))]
    include!("bindings.rs");
}
pub use bindings::*;

/// The generated part that exists only for a oneDNN with the THREADPOOL runtime.
#[cfg(onednn_cpu_runtime = "threadpool")]
#[allow(missing_docs, clippy::all)]
mod bindings_threadpool {
    use crate::bindings::*;
    #[cfg(onednn_generated_bindings)]
    include!(concat!(env!("OUT_DIR"), "/bindings_threadpool.rs"));
    #[cfg(not(onednn_generated_bindings))]
    include!("bindings_threadpool.rs");
}
#[cfg(onednn_cpu_runtime = "threadpool")]
pub use bindings_threadpool::*;

#[cfg(onednn_cpu_runtime = "threadpool")]
pub mod threadpool;

mod guard;
pub use guard::{guard, onednn_sys_guard};

/// The CPU runtime of the oneDNN that is linked: `seq`, `omp`, `tbb` or `threadpool`.
pub const CPU_RUNTIME: &str = env!("ONEDNN_SYS_CPU_RUNTIME");

/// Whether [`threadpool`] and the `dnnl_threadpool_interop_*` functions exist.
pub const HAS_THREADPOOL: bool = cfg!(onednn_cpu_runtime = "threadpool");

// Definitions that bindgen cannot translate from the headers: casts, function-like macros and `static const` unions.

/// A memory object without a buffer.
pub const DNNL_MEMORY_NONE: *mut c_void = core::ptr::null_mut();

/// A memory object whose buffer the library allocates and owns.
///
/// It is not an address: never read through it.
pub const DNNL_MEMORY_ALLOCATE: *mut c_void = core::ptr::without_provenance_mut(usize::MAX);

/// A dimension that is known only at execution.
pub const DNNL_RUNTIME_DIM_VAL: dnnl_dim_t = i64::MIN;

/// [`DNNL_RUNTIME_DIM_VAL`] as a `size_t`: `dnnl_memory_desc_get_size` returns it if a dimension is known only at
/// execution.
pub const DNNL_RUNTIME_SIZE_VAL: usize = DNNL_RUNTIME_DIM_VAL as usize;

/// A floating-point value that is known only at execution: one particular quiet NaN, so compare bits, not values.
pub const DNNL_RUNTIME_F32_VAL: f32 = f32::from_bits(0x7fc0_00d0);

/// An `int32_t` value that is known only at execution.
pub const DNNL_RUNTIME_S32_VAL: i32 = i32::MIN;

/// The argument index of post-op number `idx` (0 to 30). Combine it by `|` with [`DNNL_ARG_SRC_1`] for a binary post-op or
/// with [`DNNL_ARG_WEIGHTS`] for a prelu post-op.
///
/// ```
/// # use onednn_sys::*;
/// assert_eq!(DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1, 0x1_0002);
/// ```
pub const fn DNNL_ARG_ATTR_MULTIPLE_POST_OP(idx: c_int) -> c_int {
    DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE * (idx + 1)
}
