//! The only CPU engine, the stream of each thread, and the thread pool that oneDNN uses.

use once_cell::sync::OnceCell;
use onednn_sys as sys;

use super::status::call;
use crate::error::Result;

pub(super) struct Engine(sys::dnnl_engine_t);

// SAFETY: an engine is immutable after creation; oneDNN's documentation allows use from any thread.
unsafe impl Send for Engine {}
// SAFETY: as above.
unsafe impl Sync for Engine {}

/// The engine. There is one per process: oneDNN compares engine pointers at execution.
pub(super) fn engine() -> Result<sys::dnnl_engine_t> {
    static ENGINE: OnceCell<Engine> = OnceCell::new();
    let engine = ENGINE.get_or_try_init(|| {
        // By default oneDNN prints errors to stdout; this crate returns them.
        // SAFETY: takes an integer by value.
        call("dnnl_set_verbose", || unsafe { sys::dnnl_set_verbose(0) })?;
        // `cache` keeps primitives, and lets go of those that planning did not choose; oneDNN's own cache would hold them. An installed
        // oneDNN may have other users in the process.
        if cfg!(feature = "bundled") {
            // SAFETY: takes an integer by value.
            let unset = || unsafe { sys::dnnl_set_primitive_cache_capacity(0) };
            call("dnnl_set_primitive_cache_capacity", unset)?;
        }
        let mut engine = std::ptr::null_mut();
        // SAFETY: `engine` is a valid place for the result; CPU engine 0 always exists.
        call("dnnl_engine_create", || unsafe { sys::dnnl_engine_create(&mut engine, sys::dnnl_cpu, 0) })?;
        Ok(Engine(engine))
    })?;
    Ok(engine.0)
}

pub(super) struct Stream(sys::dnnl_stream_t);

impl Drop for Stream {
    fn drop(&mut self) {
        // Another thread of the parent may have held one of oneDNN's locks during the fork.
        if crate::threads::forked() {
            return;
        }
        // SAFETY: created by `stream_new`, destroyed once, and only its own thread used it.
        unsafe { sys::dnnl_stream_destroy(self.0) };
    }
}

/// Calls `f` with this thread's stream.
pub(super) fn with_stream<R>(f: impl FnOnce(sys::dnnl_stream_t) -> Result<R>) -> Result<R> {
    thread_local! {
        static STREAM: once_cell::unsync::OnceCell<Stream> = const { once_cell::unsync::OnceCell::new() };
    }
    match STREAM.try_with(|s| s.get_or_try_init(stream_new).map(|s| s.0)) {
        // The stream stays alive until this thread ends, so beyond this call.
        Ok(stream) => f(stream?),
        // A thread that runs its destructors has no stream of its own any more.
        Err(_) => {
            let stream = stream_new()?;
            f(stream.0)
        }
    }
}

#[cfg(onednn_threadpool)]
fn stream_new() -> Result<Stream> {
    let mut stream = std::ptr::null_mut();
    let (engine, pool) = (engine()?, pool::adapter()?);
    // SAFETY: the pool lives as long as the process, and so does the engine.
    call("dnnl_threadpool_interop_stream_create", || unsafe {
        sys::dnnl_threadpool_interop_stream_create(&mut stream, engine, pool)
    })?;
    Ok(Stream(stream))
}

#[cfg(not(onednn_threadpool))]
fn stream_new() -> Result<Stream> {
    let mut stream = std::ptr::null_mut();
    let engine = engine()?;
    // SAFETY: `stream` is a valid place for the result, and the engine lives as long as the process.
    call("dnnl_stream_create", || unsafe {
        sys::dnnl_stream_create(&mut stream, engine, sys::dnnl_stream_default_flags as _)
    })?;
    Ok(Stream(stream))
}

/// Sets the number of threads that a primitive is made for. oneDNN reads a thread-local value when it makes a descriptor, so
/// every thread that makes one calls this first.
pub(super) fn set_concurrency(threads: usize) -> Result<()> {
    #[cfg(onednn_threadpool)]
    {
        let n = i32::try_from(threads).unwrap_or(i32::MAX);
        // SAFETY: takes an integer by value.
        call("dnnl_threadpool_interop_set_max_concurrency", || unsafe {
            sys::dnnl_threadpool_interop_set_max_concurrency(n)
        })?;
    }
    let _ = threads;
    Ok(())
}

/// The name of the instruction set that oneDNN uses, from `dnnl_cpu_isa2str`.
pub fn effective_isa() -> &'static str {
    // SAFETY: the function returns a static NUL-terminated string for every value.
    let text = unsafe { std::ffi::CStr::from_ptr(sys::dnnl_cpu_isa2str(sys::dnnl_get_effective_cpu_isa())) };
    text.to_str().unwrap_or("unknown")
}

fn linked() -> &'static sys::dnnl_version_t {
    // SAFETY: `dnnl_version` returns a pointer to a static.
    unsafe { &*sys::dnnl_version() }
}

/// The version of the linked oneDNN: major, minor, patch.
pub fn version() -> (u32, u32, u32) {
    let v = linked();
    (v.major as u32, v.minor as u32, v.patch as u32)
}

/// The threading runtime of the linked oneDNN: `threadpool` (this crate's team), `omp`, `tbb` or `sequential`.
pub fn cpu_runtime() -> &'static str {
    match linked().cpu_runtime {
        sys::DNNL_RUNTIME_THREADPOOL => "threadpool",
        sys::DNNL_RUNTIME_OMP => "omp",
        sys::DNNL_RUNTIME_TBB => "tbb",
        sys::DNNL_RUNTIME_SEQ => "sequential",
        _ => "unknown",
    }
}

#[cfg(onednn_threadpool)]
mod pool {
    use std::ffi::{c_int, c_void};

    use once_cell::sync::OnceCell;
    use onednn_sys::threadpool;

    use crate::error::{Error, Result};
    use crate::onednn::flush;
    use crate::threads;

    struct Adapter(*mut c_void);
    // SAFETY: the object has no state: every call uses the calling thread's own team.
    unsafe impl Send for Adapter {}
    // SAFETY: as above.
    unsafe impl Sync for Adapter {}

    /// The adapter. There is one per process; the thread that submits a section decides which threads run it.
    pub(super) fn adapter() -> Result<*mut c_void> {
        static ADAPTER: OnceCell<Adapter> = OnceCell::new();
        let adapter = ADAPTER.get_or_try_init(|| {
            let callbacks = threadpool::Callbacks {
                num_threads: num_threads_callback,
                in_parallel: in_parallel_callback,
                parallel_for: parallel_for_callback,
            };
            // SAFETY: the callbacks ignore `ctx`, may be called from any thread, and do not unwind: a panic in an `extern
            // "C"` function aborts, and the functions that they call do not panic.
            let pool = unsafe { threadpool::create(&callbacks, std::ptr::null_mut()) };
            if pool.is_null() {
                return Err(Error::out_of_memory(0, "onednn_sys_threadpool_create"));
            }
            Ok(Adapter(pool))
        })?;
        Ok(adapter.0)
    }

    flush::callback! {
        fn num_threads_callback(ctx: *mut c_void) -> c_int => num_threads;
        fn in_parallel_callback(ctx: *mut c_void) -> c_int => in_parallel;
        fn parallel_for_callback(ctx: *mut c_void, n: c_int, task: threadpool::Task, task_ctx: *mut c_void) => parallel_for;
    }

    unsafe extern "C" fn num_threads(_: *mut c_void) -> c_int {
        c_int::try_from(threads::current_threads()).unwrap_or(c_int::MAX)
    }

    unsafe extern "C" fn in_parallel(_: *mut c_void) -> c_int {
        threads::in_task().into()
    }

    unsafe extern "C" fn parallel_for(_: *mut c_void, n: c_int, task: threadpool::Task, ctx: *mut c_void) {
        struct Ctx(*mut c_void);
        // SAFETY: oneDNN made the context so that all tasks of the section may read it, on any thread.
        unsafe impl Sync for Ctx {}
        impl Ctx {
            fn get(&self) -> *mut c_void {
                self.0
            }
        }
        let ctx = Ctx(ctx);
        let flush = flush::is_requested();
        threads::parallel_for(usize::try_from(n).unwrap_or(0), |i| {
            // SAFETY: `i` is below the original `n`, each `i` is called once, and the section's context is alive until
            // `parallel_for` returns. A task of the adapter catches exceptions.
            unsafe { flush::run_task(flush, task, ctx.get(), i as c_int, n) }
        });
    }
}
