//! Bare oneDNN: primitives made and executed only through the C API, as the baseline for this library's overhead.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use onednn_sys::*;

/// Which threads run oneDNN's parallel sections.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Adapter {
    /// The library's own team of rayon workers.
    Team,
    /// A tree of `rayon::join`.
    Join,
}

#[track_caller]
fn ok(status: dnnl_status_t) {
    assert_eq!(status, dnnl_success, "oneDNN status");
}

unsafe extern "C" fn num_threads(_: *mut c_void) -> c_int {
    blocktensor::current_threads() as c_int
}

thread_local!(static INSIDE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });

unsafe extern "C" fn in_parallel(_: *mut c_void) -> c_int {
    INSIDE.get().into()
}

#[derive(Clone, Copy)]
struct Ctx(*mut c_void);
// SAFETY: oneDNN made the context so that all tasks of a section may read it, on any thread.
unsafe impl Sync for Ctx {}
// SAFETY: as above.
unsafe impl Send for Ctx {}

fn inside(f: impl FnOnce()) {
    let before = INSIDE.replace(true);
    f();
    INSIDE.set(before);
}

unsafe extern "C" fn team_for(_: *mut c_void, n: c_int, task: threadpool::Task, ctx: *mut c_void) {
    let ctx = Ctx(ctx);
    blocktensor::parallel_for(n as usize, |i| {
        let ctx = { ctx };
        // SAFETY: each task runs once, with the original n, before the section ends.
        inside(|| unsafe { task(ctx.0, i as c_int, n) });
    });
}

unsafe extern "C" fn join_for(_: *mut c_void, n: c_int, task: threadpool::Task, ctx: *mut c_void) {
    fn split(from: c_int, to: c_int, n: c_int, task: threadpool::Task, ctx: Ctx) {
        match to - from {
            0 => {}
            // SAFETY: as in `team_for`.
            1 => inside(|| unsafe { task({ ctx }.0, from, n) }),
            len => {
                let middle = from + len / 2;
                rayon::join(|| split(from, middle, n, task, ctx), || split(middle, to, n, task, ctx));
            }
        }
    }
    split(0, n, n, task, Ctx(ctx));
}

// SAFETY: handles only; benches use them from one thread at a time.
unsafe impl Send for Bare {}
// SAFETY: as above.
unsafe impl Sync for Bare {}
// SAFETY: as above.
unsafe impl Send for Primitive {}
// SAFETY: as above.
unsafe impl Sync for Primitive {}

/// An engine and a stream on one adapter.
pub struct Bare {
    pub engine: dnnl_engine_t,
    pub stream: dnnl_stream_t,
}

/// One engine for all adapters: oneDNN compares engine pointers at execution.
fn engine() -> dnnl_engine_t {
    static ENGINE: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *ENGINE.get_or_init(|| {
        let mut engine = null_mut();
        // SAFETY: a valid place for the result.
        unsafe { ok(dnnl_engine_create(&mut engine, dnnl_cpu, 0)) };
        engine as usize
    }) as dnnl_engine_t
}

impl Bare {
    pub fn new(adapter: Adapter) -> Bare {
        let parallel_for = if adapter == Adapter::Team { team_for } else { join_for };
        let callbacks = threadpool::Callbacks { num_threads, in_parallel, parallel_for };
        let engine = engine();
        let mut stream = null_mut();
        // SAFETY: valid places, callbacks without state; everything lives as long as the process.
        unsafe {
            let pool = threadpool::create(&callbacks, null_mut());
            ok(dnnl_threadpool_interop_stream_create(&mut stream, engine, pool));
            ok(dnnl_threadpool_interop_set_max_concurrency(blocktensor::current_threads() as c_int));
        }
        Bare { engine, stream }
    }

    /// A descriptor by tag.
    pub fn md(&self, dims: &[usize], tag: dnnl_format_tag_t) -> dnnl_memory_desc_t {
        let d: Vec<i64> = dims.iter().map(|&v| v as i64).collect();
        let mut md = null_mut();
        // SAFETY: `d` has one value per dimension.
        unsafe { ok(dnnl_memory_desc_create_with_tag(&mut md, d.len() as c_int, d.as_ptr(), dnnl_f32, tag)) };
        md
    }

    /// Memory with small values: no subnormals, no overflow.
    pub fn memory(&self, md: const_dnnl_memory_desc_t) -> dnnl_memory_t {
        let (mut memory, mut data) = (null_mut(), null_mut());
        // SAFETY: the caller's descriptor is alive; the memory owns its buffer, of as many bytes as the descriptor says.
        unsafe {
            ok(dnnl_memory_create(&mut memory, md, self.engine, DNNL_MEMORY_ALLOCATE));
            ok(dnnl_memory_get_data_handle(memory, &mut data));
            let bytes = dnnl_memory_desc_get_size(md);
            if bytes > 0 {
                let values = std::slice::from_raw_parts_mut(data.cast::<f32>(), bytes / 4);
                values.iter_mut().enumerate().for_each(|(i, v)| *v = (i % 7) as f32 * 0.01);
            }
        }
        memory
    }
}

/// A primitive with its own memory for each argument.
pub struct Primitive {
    primitive: dnnl_primitive_t,
    pub args: Vec<dnnl_exec_arg_t>,
    pub implementation: String,
}

impl Primitive {
    /// Makes the primitive. Arguments in `shared` use that memory and its data; others get zeroed memory.
    pub fn new(
        bare: &Bare,
        pd: dnnl_primitive_desc_t,
        args: &[c_int],
        shared: &[(c_int, dnnl_memory_t)],
    ) -> Primitive {
        let mut primitive = null_mut();
        let mut text: *const std::ffi::c_char = std::ptr::null();
        // SAFETY: `pd` is alive; queries write what oneDNN documents.
        unsafe {
            ok(dnnl_primitive_create(&mut primitive, pd));
            ok(dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (&raw mut text).cast()));
        }
        let list = args.iter().copied().chain([DNNL_ARG_SCRATCHPAD]);
        let args = list
            .map(|arg| {
                let given = shared.iter().find(|(a, _)| *a == arg).map(|(_, m)| *m);
                let memory = given.unwrap_or_else(|| {
                    // SAFETY: the descriptor is borrowed from `pd`, which is alive.
                    let md = unsafe { dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg) };
                    bare.memory(md)
                });
                dnnl_exec_arg_t { arg, memory }
            })
            .collect();
        // SAFETY: the string belongs to `pd`, which is alive.
        let implementation = unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned();
        Primitive { primitive, args, implementation }
    }

    pub fn execute(&self, bare: &Bare) {
        // SAFETY: every argument has memory of the size that its descriptor requires.
        unsafe {
            ok(dnnl_primitive_execute(
                self.primitive,
                bare.stream,
                self.args.len() as c_int,
                self.args.as_ptr(),
            ))
        }
    }
}

/// User scratchpad, and post-ops: a binary add of `residual`, then an element-wise function.
pub fn attributes(
    residual: Option<dnnl_memory_desc_t>,
    eltwise: Option<(u32, f32, f32)>,
) -> dnnl_primitive_attr_t {
    let (mut attr, mut ops) = (null_mut(), null_mut());
    // SAFETY: valid places and live descriptors.
    unsafe {
        ok(dnnl_primitive_attr_create(&mut attr));
        ok(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
        ok(dnnl_post_ops_create(&mut ops));
        if let Some(md) = residual {
            ok(dnnl_post_ops_append_binary(ops, dnnl_binary_add, md));
        }
        if let Some((alg, alpha, beta)) = eltwise {
            ok(dnnl_post_ops_append_eltwise(ops, alg, alpha, beta));
        }
        ok(dnnl_primitive_attr_set_post_ops(attr, ops));
    }
    attr
}
