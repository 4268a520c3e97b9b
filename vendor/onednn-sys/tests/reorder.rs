//! The library links, is the version its headers say, and computes.

use onednn_sys::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// Panics with oneDNN's own word for the status.
fn ok(status: dnnl_status_t) {
    // SAFETY: the function returns a static string for every value.
    let name = unsafe { std::ffi::CStr::from_ptr(dnnl_status2str(status)) };
    assert_eq!(status, dnnl_success, "oneDNN: {name:?}");
}

#[test]
fn version_and_runtime_are_those_of_the_headers() {
    // SAFETY: the function returns a pointer to a static structure.
    let version = unsafe { &*dnnl_version() };
    assert_eq!(version.major, 3);
    let runtime = match CPU_RUNTIME {
        "seq" => DNNL_RUNTIME_SEQ,
        "omp" => DNNL_RUNTIME_OMP,
        "tbb" => DNNL_RUNTIME_TBB,
        "threadpool" => DNNL_RUNTIME_THREADPOOL,
        other => panic!("unexpected runtime {other}"),
    };
    assert_eq!(version.cpu_runtime, runtime);
    assert_eq!(HAS_THREADPOOL, version.cpu_runtime == DNNL_RUNTIME_THREADPOOL);
}

#[test]
#[cfg(feature = "bundled")]
fn bundled_version() {
    // SAFETY: as above.
    let version = unsafe { &*dnnl_version() };
    assert_eq!((version.major, version.minor), (3, 14));
}

/// A pool of one: runs the tasks in order, and counts sections.
#[cfg(onednn_cpu_runtime = "threadpool")]
mod sequential {
    use onednn_sys::threadpool::{Callbacks, Task};
    use std::ffi::{c_int, c_void};
    use std::sync::atomic::{AtomicUsize, Ordering};

    pub static SECTIONS: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn num_threads(_: *mut c_void) -> c_int {
        2 // so that a section is made at all
    }
    unsafe extern "C" fn in_parallel(_: *mut c_void) -> c_int {
        0
    }
    unsafe extern "C" fn parallel_for(_: *mut c_void, n: c_int, task: Task, task_ctx: *mut c_void) {
        SECTIONS.fetch_add(1, Ordering::Relaxed);
        for i in 0..n {
            // SAFETY: oneDNN hands over a task and its context, valid for the length of this call.
            unsafe { task(task_ctx, i, n) };
        }
    }

    pub const POOL: Callbacks = Callbacks { num_threads, in_parallel, parallel_for };
}

#[cfg(onednn_cpu_runtime = "threadpool")]
fn with_stream(engine: dnnl_engine_t, run: impl FnOnce(dnnl_stream_t)) {
    use onednn_sys::threadpool;
    let mut stream = null_mut();
    // SAFETY: the callbacks need no context and do not unwind; the stream goes before the pool.
    unsafe {
        let pool = threadpool::create(&sequential::POOL, null_mut());
        assert!(!pool.is_null());
        ok(dnnl_threadpool_interop_set_max_concurrency(2));
        let mut concurrency = 0;
        ok(dnnl_threadpool_interop_get_max_concurrency(&mut concurrency));
        assert_eq!(concurrency, 2);
        ok(dnnl_threadpool_interop_stream_create(&mut stream, engine, pool));
        let mut held = null_mut();
        ok(dnnl_threadpool_interop_stream_get_threadpool(stream, &mut held));
        assert_eq!(held, pool);
        run(stream);
        ok(dnnl_stream_destroy(stream));
        threadpool::destroy(pool);
        threadpool::destroy(null_mut());
    }
    assert!(sequential::SECTIONS.load(std::sync::atomic::Ordering::Relaxed) > 0, "the pool was not used");
}

#[cfg(not(onednn_cpu_runtime = "threadpool"))]
fn with_stream(engine: dnnl_engine_t, run: impl FnOnce(dnnl_stream_t)) {
    let mut stream = null_mut();
    // SAFETY: the engine is live.
    unsafe {
        ok(dnnl_stream_create(&mut stream, engine, dnnl_stream_default_flags));
        run(stream);
        ok(dnnl_stream_destroy(stream));
    }
}

#[test]
fn a_reorder_transposes_a_matrix() {
    const ROWS: usize = 300;
    const COLUMNS: usize = 500;
    let mut src: Vec<f32> = (0..ROWS * COLUMNS).map(|i| i as f32).collect();
    let mut dst = vec![f32::NAN; ROWS * COLUMNS];
    let dims = [ROWS as dnnl_dim_t, COLUMNS as dnnl_dim_t];

    // SAFETY: every handle is made by the call before its use and destroyed once; the buffers outlive the execution
    // and hold as many floats as the descriptors say.
    unsafe {
        let mut engine = null_mut();
        ok(dnnl_engine_create(&mut engine, dnnl_cpu, 0));
        let desc = |tag| {
            let mut md = null_mut();
            ok(dnnl_memory_desc_create_with_tag(&mut md, 2, dims.as_ptr(), dnnl_f32, tag));
            assert_eq!(dnnl_memory_desc_get_size(md), ROWS * COLUMNS * 4);
            md
        };
        let (rows, columns) = (desc(dnnl_ab), desc(dnnl_ba));
        with_stream(engine, |stream| {
            let mut pd = null_mut();
            ok(dnnl_reorder_primitive_desc_create(&mut pd, rows, engine, columns, engine, null()));
            let mut primitive = null_mut();
            ok(dnnl_primitive_create(&mut primitive, pd));
            let memory = |md, data: *mut f32| {
                let mut memory = null_mut();
                ok(dnnl_memory_create(&mut memory, md, engine, data.cast::<c_void>()));
                memory
            };
            let (from, to) = (memory(rows, src.as_mut_ptr()), memory(columns, dst.as_mut_ptr()));
            let args = [
                dnnl_exec_arg_t { arg: DNNL_ARG_SRC, memory: from },
                dnnl_exec_arg_t { arg: DNNL_ARG_DST, memory: to },
            ];
            ok(dnnl_primitive_execute(primitive, stream, args.len() as i32, args.as_ptr()));
            ok(dnnl_stream_wait(stream));
            ok(dnnl_memory_destroy(from));
            ok(dnnl_memory_destroy(to));
            ok(dnnl_primitive_destroy(primitive));
            ok(dnnl_primitive_desc_destroy(pd));
        });
        ok(dnnl_memory_desc_destroy(rows));
        ok(dnnl_memory_desc_destroy(columns));
        ok(dnnl_engine_destroy(engine));
    }

    for (i, &value) in dst.iter().enumerate() {
        let (column, row) = (i / ROWS, i % ROWS);
        assert_eq!(value, (row * COLUMNS + column) as f32, "at {i}");
    }
}

/// The bundled library has the primitives that blocktensor creates, and says so of others.
#[test]
#[cfg(feature = "bundled")]
fn primitives_that_are_left_out_are_unimplemented() {
    let dims: [dnnl_dim_t; 1] = [16];
    // SAFETY: as above.
    unsafe {
        let (mut engine, mut md, mut pd) = (null_mut(), null_mut(), null_mut());
        ok(dnnl_engine_create(&mut engine, dnnl_cpu, 0));
        ok(dnnl_memory_desc_create_with_tag(&mut md, 1, dims.as_ptr(), dnnl_f32, dnnl_a));
        let (forward, relu) = (dnnl_forward_inference, dnnl_eltwise_relu);
        let status = dnnl_eltwise_forward_primitive_desc_create(
            &mut pd,
            engine,
            forward,
            relu,
            md,
            md,
            0.0,
            0.0,
            null(),
        );
        assert_eq!(status, dnnl_unimplemented);
        ok(dnnl_memory_desc_destroy(md));
        ok(dnnl_engine_destroy(engine));
    }
}

#[test]
fn restated_macros() {
    assert_eq!(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0), DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE);
    assert_eq!(DNNL_ARG_DST, DNNL_ARG_DST_0);
    assert_eq!(DNNL_MEMORY_ALLOCATE.addr(), usize::MAX);
    assert!(DNNL_RUNTIME_F32_VAL.is_nan());
    assert_eq!(DNNL_MAX_NDIMS, 12);
}
