//! C++ exceptions as status codes.

use core::ffi::{c_int, c_void};

use crate::{dnnl_runtime_error, dnnl_status_t};

unsafe extern "C-unwind" {
    /// The C++ part of [`guard`], for callers that must call it from assembly: returns `make(ctx)`, or the status of an
    /// exception that `make` throws, as described there.
    ///
    /// # Safety
    ///
    /// `make` may be called once with `ctx`. It throws nothing but C++ exceptions derived from `std::exception`.
    pub fn onednn_sys_guard(
        make: unsafe extern "C-unwind" fn(*mut c_void) -> c_int,
        ctx: *mut c_void,
    ) -> c_int;
}

/// Calls `make`, which calls functions of oneDNN. If one of them throws, the result is `dnnl_out_of_memory` for
/// `std::bad_alloc`, and `dnnl_runtime_error` for any other `std::exception`.
///
/// If memory for tensors or code runs out, oneDNN returns a status; if memory for its own small objects runs out, it throws.
/// Without this guard, the exception ends the process.
pub fn guard<F: FnOnce() -> dnnl_status_t>(make: F) -> dnnl_status_t {
    unsafe extern "C-unwind" fn run<F: FnOnce() -> dnnl_status_t>(ctx: *mut c_void) -> c_int {
        // SAFETY: `ctx` is the `make` below, which outlives this call and which nothing else uses during it.
        let make = unsafe { &mut *ctx.cast::<Option<F>>() };
        make.take().map_or(dnnl_runtime_error as c_int, |make| make() as c_int)
    }
    let mut make = Some(make);
    // SAFETY: `run::<F>` is called at most once, before this returns, with the pointer to a live `Option<F>` that it
    // expects. Unwinding is allowed: both sides are declared `C-unwind`.
    let status = unsafe { onednn_sys_guard(run::<F>, (&raw mut make).cast()) };
    status as dnnl_status_t
}
