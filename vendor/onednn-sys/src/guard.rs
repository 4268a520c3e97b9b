//! Exceptions of C++ as status codes.

use core::ffi::{c_int, c_void};

use crate::{dnnl_runtime_error, dnnl_status_t};

unsafe extern "C-unwind" {
    fn onednn_sys_guard(make: unsafe extern "C-unwind" fn(*mut c_void) -> c_int, ctx: *mut c_void) -> c_int;
}

/// Calls `make`, which calls functions of oneDNN. Where one throws, the result is `dnnl_out_of_memory` for
/// `std::bad_alloc`, and `dnnl_runtime_error` for any other `std::exception`.
///
/// oneDNN reports the memory that it takes for tensors and code by status, and throws where its own small objects find
/// none. Without this call the exception ends the process.
pub fn guard<F: FnOnce() -> dnnl_status_t>(make: F) -> dnnl_status_t {
    unsafe extern "C-unwind" fn run<F: FnOnce() -> dnnl_status_t>(ctx: *mut c_void) -> c_int {
        // SAFETY: `ctx` is the `make` below, which outlives this call and which nobody else uses meanwhile.
        let make = unsafe { &mut *ctx.cast::<Option<F>>() };
        make.take().map_or(dnnl_runtime_error as c_int, |make| make() as c_int)
    }
    let mut make = Some(make);
    // SAFETY: `run::<F>` is called at most once, before this returns, with the pointer to a live `Option<F>` that it
    // expects. It may unwind: both sides are declared so.
    let status = unsafe { onednn_sys_guard(run::<F>, (&raw mut make).cast()) };
    status as dnnl_status_t
}
