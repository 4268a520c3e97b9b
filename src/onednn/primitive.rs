//! Primitives: made from a descriptor, checked for `ref`, and run after the size of every argument is checked.

use std::ffi::{CStr, c_char, c_int};
use std::sync::Mutex;

use onednn_sys as sys;

use super::attr::{Attr, Fused};
use super::engine::{engine, set_concurrency, with_stream};
use super::flush;
use super::memory::{Memory, MemoryDesc};
use super::status::{call, check, guarded_call, status_of};
use crate::buffer::has_room;
use crate::error::{Error, Result};
use crate::fault;
use crate::post_ops::MAX_POST_OPS;
use crate::scratchpad::Scratchpad;
use crate::threads;

/// Memory in **bytes** that a primitive's code takes, roughly.
const PRIMITIVE: usize = 1 << 20;

/// oneDNN's answer to a request for an implementation.
pub(crate) enum Answer {
    /// It has an implementation.
    Found(PrimitiveDesc),
    /// It has no implementation for this configuration.
    Unimplemented,
}

/// A primitive descriptor: one implementation of one configuration.
pub(crate) struct PrimitiveDesc(sys::dnnl_primitive_desc_t);

impl PrimitiveDesc {
    /// Asks for an implementation. `create` calls one of the `dnnl_*_primitive_desc_create` functions with all its arguments
    /// except the result, the engine and the attributes.
    ///
    /// # Safety
    /// `create` passes only live descriptors and arrays of the right length.
    pub(super) unsafe fn ask(
        call: &'static str,
        threads: usize,
        post_ops: &[Fused<'_>],
        create: impl FnOnce(
            *mut sys::dnnl_primitive_desc_t,
            sys::dnnl_engine_t,
            sys::const_dnnl_primitive_attr_t,
        ) -> sys::dnnl_status_t,
    ) -> Result<Answer> {
        // oneDNN's code and descriptors. What it does not find ends in a status; what we then do not find ends the process.
        if !has_room(PRIMITIVE) {
            return Err(Error::out_of_memory(PRIMITIVE, call));
        }
        let engine = engine()?;
        set_concurrency(threads)?;
        let attr = Attr::new(post_ops)?;
        let mut raw = std::ptr::null_mut();
        match status_of(|| create(&mut raw, engine, attr.raw())) {
            sys::dnnl_success => Ok(Answer::Found(PrimitiveDesc(raw))),
            sys::dnnl_unimplemented => Ok(Answer::Unimplemented),
            status => Err(check(call, status).expect_err("not success")),
        }
    }

    /// oneDNN's name of the implementation, such as `jit:avx512_core` or `ref:any`.
    pub(crate) fn implementation(&self) -> Result<String> {
        let mut text: *const c_char = c"".as_ptr();
        // SAFETY: this query writes one pointer to a string that the descriptor owns.
        call("dnnl_primitive_desc_query", || unsafe {
            sys::dnnl_primitive_desc_query(self.0, sys::dnnl_query_impl_info_str, 0, (&raw mut text).cast())
        })?;
        // SAFETY: NUL-terminated, alive as long as self.
        Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }

    /// Advances to oneDNN's next implementation of the same configuration; returns false if there is none.
    pub(super) fn advance(&mut self) -> Result<bool> {
        // SAFETY: the descriptor is alive, and nobody else uses it.
        match status_of(|| unsafe { sys::dnnl_primitive_desc_next_impl(self.0) }) {
            sys::dnnl_last_impl_reached => Ok(false),
            status => check("dnnl_primitive_desc_next_impl", status).map(|()| true),
        }
    }

    /// The descriptor of one execution argument (`DNNL_ARG_...`).
    pub(crate) fn argument(&self, arg: c_int) -> Result<MemoryDesc> {
        let mut found = std::ptr::null();
        // SAFETY: self is alive; the result is borrowed from it and copied at once.
        call("dnnl_primitive_desc_query_md", || unsafe {
            found = sys::dnnl_primitive_desc_query_md(self.0, sys::dnnl_query_exec_arg_md, arg);
            if found.is_null() { sys::dnnl_invalid_arguments } else { sys::dnnl_success }
        })?;
        // SAFETY: as above.
        unsafe { MemoryDesc::borrowed(found) }
    }
}

impl Drop for PrimitiveDesc {
    fn drop(&mut self) {
        // SAFETY: owned and destroyed once; a primitive keeps its own copy.
        unsafe { sys::dnnl_primitive_desc_destroy(self.0) };
    }
}

/// Whether an implementation is one of oneDNN's reference loops, hundreds of times slower than its others.
pub(crate) fn is_reference(implementation: &str) -> bool {
    implementation.starts_with("ref") || implementation.contains("+ref") || implementation.contains(":ref")
}

/// Whether an implementation changes the layout of its data internally.
pub(crate) fn reorders_inside(implementation: &str) -> bool {
    // A deconvolution's name includes the convolution that it is based on: `conv:any+jit_uni_ncsp:...`.
    implementation.contains("jit_uni_ncsp")
}

/// The largest number of arguments of a run: source, weights, bias, result, and an operand for each post-op.
pub(crate) const MAX_RUN_ARGS: usize = MAX_POST_OPS + 4;

/// One argument of a run.
pub(crate) enum RunArg<'a> {
    /// The run reads it.
    In(&'a [u8]),
    /// The run writes it.
    Out(&'a mut [u8]),
}

/// A primitive, ready to run. Threads share it; each run has its own scratchpad and set of memory objects.
pub(crate) struct Executable {
    primitive: sys::dnnl_primitive_t,
    implementation: String,
    slots: Vec<Slot>,
    scratchpad_bytes: usize,
    bare: bool,
    /// Memory objects of finished runs, for reuse.
    spare: Mutex<Vec<Vec<Memory>>>,
}

struct Slot {
    arg: c_int,
    desc: MemoryDesc,
    bytes: usize,
}

// SAFETY: with a user scratchpad a primitive is immutable and may run on several threads at once (oneDNN's
// threading rules); everything else here is Sync by itself.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

impl Executable {
    /// Generates the code. `args` are the `DNNL_ARG_...` of a run's arguments, in their order.
    pub(crate) fn new(desc: &PrimitiveDesc, args: &[c_int]) -> Result<Executable> {
        let mut primitive = std::ptr::null_mut();
        // SAFETY: the descriptor is alive.
        call("dnnl_primitive_create", || unsafe { sys::dnnl_primitive_create(&mut primitive, desc.0) })?;
        // From here on dropping `executable` frees the primitive.
        let mut executable = Executable {
            primitive,
            implementation: String::new(),
            slots: Vec::with_capacity(args.len() + 1),
            scratchpad_bytes: 0,
            bare: false,
            spare: Mutex::new(Vec::new()),
        };
        executable.implementation = desc.implementation()?;
        for arg in args.iter().copied().chain([sys::DNNL_ARG_SCRATCHPAD]) {
            let desc = desc.argument(arg)?;
            let bytes = desc.size_bytes();
            executable.slots.push(Slot { arg, desc, bytes });
        }
        executable.scratchpad_bytes = executable.slots.last().map_or(0, |s| s.bytes);
        Ok(executable)
    }

    pub(crate) fn implementation(&self) -> &str {
        &self.implementation
    }

    /// Marks the primitive as lacking the requested bias and post-ops.
    pub(crate) fn without_bias_and_post_ops(mut self) -> Executable {
        self.bare = true;
        self
    }

    /// Whether bias and post-ops are left to the caller, and are not arguments of a run.
    pub(crate) fn is_bare(&self) -> bool {
        self.bare
    }

    pub(crate) fn scratchpad_bytes(&self) -> usize {
        self.scratchpad_bytes
    }

    /// The descriptor of argument `i` of the `args` given at creation.
    pub(crate) fn desc(&self, i: usize) -> &MemoryDesc {
        &self.slots[i].desc
    }

    /// Runs on the caller's team. The arguments have the order given at creation. oneDNN checks neither layout nor length of
    /// its arguments: the layout was part of the key or object that selected this primitive, and the length is
    /// checked here.
    pub(crate) fn run(&self, args: &mut [RunArg<'_>]) -> Result<()> {
        self.run_in(args, None)
    }

    /// As [`run`](Self::run), in the caller's scratchpad if there is one.
    pub(crate) fn run_in(&self, args: &mut [RunArg<'_>], scratchpad: Option<&mut Scratchpad>) -> Result<()> {
        let mut own = Scratchpad::new();
        let scratchpad = scratchpad.unwrap_or(&mut own).reserve(self.scratchpad_bytes)?;
        let mut memories = self.take_memories()?;
        // One more argument is the scratchpad.
        let mut exec = [sys::dnnl_exec_arg_t { arg: 0, memory: std::ptr::null_mut() }; MAX_RUN_ARGS + 1];
        let count = self.slots.len();
        if args.len() + 1 != count || count > exec.len() {
            return Err(argument_error(args.len()));
        }
        for (i, (slot, memory)) in self.slots.iter().zip(&mut memories).enumerate() {
            let (data, bytes) = match args.get_mut(i) {
                Some(RunArg::In(data)) => (data.as_ptr().cast_mut(), data.len()),
                Some(RunArg::Out(data)) => (data.as_mut_ptr(), data.len()),
                None => (scratchpad.as_mut_ptr(), scratchpad.len()),
            };
            if bytes < slot.bytes {
                return Err(argument_error(bytes));
            }
            // SAFETY: valid for `bytes >= slot.bytes`, and borrowed for the whole of this function.
            unsafe { memory.set(data)? };
            exec[i] = sys::dnnl_exec_arg_t { arg: slot.arg, memory: memory.raw() };
        }
        fault::engine_runs();
        threads::run(|| {
            with_stream(|stream| {
                // SAFETY: every argument is set and long enough, and inputs are only read; the stream is this thread's. With
                // the THREADPOOL runtime a stream is synchronous; with other runtimes the wait below ends the run.
                guarded_call("dnnl_primitive_execute", || unsafe {
                    flush::execute(self.primitive, stream, &exec[..count])
                })?;
                if cfg!(onednn_threadpool) {
                    return Ok(());
                }
                // SAFETY: as above.
                call("dnnl_stream_wait", || unsafe { sys::dnnl_stream_wait(stream) })
            })
        })?;
        self.spare.lock().unwrap_or_else(|e| e.into_inner()).push(memories);
        Ok(())
    }

    fn take_memories(&self) -> Result<Vec<Memory>> {
        let spare = self.spare.lock().unwrap_or_else(|e| e.into_inner()).pop();
        match spare {
            Some(memories) => Ok(memories),
            None => self.slots.iter().map(|s| Memory::new(&s.desc)).collect(),
        }
    }
}

fn argument_error(_got: usize) -> Error {
    Error::Backend {
        call: "dnnl_primitive_execute",
        status: sys::dnnl_invalid_arguments as i32,
        name: "an argument is missing or too short",
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // Another thread of the parent may have held one of oneDNN's locks during the fork.
        if threads::forked() {
            return;
        }
        // SAFETY: owned and destroyed once; no run is in progress, because a run borrows self.
        unsafe { sys::dnnl_primitive_destroy(self.primitive) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_reference_loops_and_inner_reorders() {
        let names = [
            ("jit:avx512_core", false, false),
            ("ref:any", true, false),
            ("conv:any+jit:avx512_core", false, false),
            ("conv:any+ref:any", true, false),
            ("brg_deconv:avx512_core+brgconv_strided:avx512_core", false, false),
            ("jit_uni_ncsp:conv+brg_conv_fwd:avx512_core", false, true),
            ("conv:any+jit_uni_ncsp:conv+brgconv_strided:avx512_core", false, true),
        ];
        for (name, reference, reorders) in names {
            assert_eq!((is_reference(name), reorders_inside(name)), (reference, reorders), "{name}");
        }
    }
}
