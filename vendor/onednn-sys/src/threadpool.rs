//! A thread pool for oneDNN, made of C callbacks.
//!
//! oneDNN needs an object of the C++ class `dnnl::threadpool_interop::threadpool_iface`. [`create`] makes one that
//! forwards to three functions; hand the result to `dnnl_threadpool_interop_stream_create`. The pool is synchronous:
//! `parallel_for` returns when every task has run.

use core::ffi::{c_int, c_void};

/// One task of a parallel section: `task(task_ctx, i, n)`.
pub type Task = unsafe extern "C" fn(task_ctx: *mut c_void, i: c_int, n: c_int);

/// The functions of a thread pool. Each gets the `ctx` that was passed to [`create`].
///
/// None may unwind, and each may be called from several threads at once if streams on several threads share the pool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Callbacks {
    /// The number of threads that run the tasks of a section, at least 1.
    pub num_threads: unsafe extern "C" fn(ctx: *mut c_void) -> c_int,
    /// Returns 1 on a thread that is inside a task, which includes the thread that submitted the section; 0 elsewhere.
    pub in_parallel: unsafe extern "C" fn(ctx: *mut c_void) -> c_int,
    /// Calls `task(task_ctx, i, n)` exactly once for every `i` in `0..n`, in any order and on any thread, with the
    /// original `n`, and returns after all calls have returned. `task` and `task_ctx` must not be used afterwards.
    pub parallel_for: unsafe extern "C" fn(ctx: *mut c_void, n: c_int, task: Task, task_ctx: *mut c_void),
}

unsafe extern "C" {
    fn onednn_sys_threadpool_create(cb: *const Callbacks, ctx: *mut c_void) -> *mut c_void;
    fn onednn_sys_threadpool_destroy(pool: *mut c_void);
}

/// Makes a thread pool for oneDNN. Returns null if memory runs out. The callbacks are copied.
///
/// # Safety
///
/// Until [`destroy`], and in every stream made with the pool, the callbacks must be callable with `ctx` from any
/// thread that uses such a stream, must do what [`Callbacks`] states for each, and must not unwind.
pub unsafe fn create(callbacks: &Callbacks, ctx: *mut c_void) -> *mut c_void {
    // SAFETY: `callbacks` is a live reference to a structure of the same layout; the rest is the caller's promise.
    unsafe { onednn_sys_threadpool_create(callbacks, ctx) }
}

/// Frees a pool that [`create`] made; null is allowed.
///
/// # Safety
///
/// `pool` must come from [`create`], must not have been destroyed, and no stream that was made with it may be used
/// afterwards.
pub unsafe fn destroy(pool: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { onednn_sys_threadpool_destroy(pool) }
}
