//! Runs oneDNN's code with subnormal numbers treated as zeros.
//!
//! The mode is two bits of MXCSR. Rust's compiler assumes its default value, so no Rust code may run while they are set. The
//! assembly here sets them, calls C or C++, and restores the old value before it returns. oneDNN calls our Rust functions
//! through [`callback`], which clears the bits while Rust runs.

use std::ffi::c_int;

use onednn_sys as sys;

use crate::threads;

/// Whether oneDNN's code must flush subnormal numbers on this thread.
pub(super) fn is_requested() -> bool {
    threads::flushes()
}

/// Calls `dnnl_primitive_execute`; subnormal numbers are treated as zeros if this thread requested it.
///
/// # Safety
/// As for `dnnl_primitive_execute`.
pub(super) unsafe fn execute(
    primitive: sys::dnnl_primitive_t,
    stream: sys::dnnl_stream_t,
    args: &[sys::dnnl_exec_arg_t],
) -> sys::dnnl_status_t {
    let count = args.len() as c_int;
    #[cfg(all(target_arch = "x86_64", unix))]
    if is_requested() {
        // SAFETY: the caller's promise.
        return unsafe { x86::execute(primitive, stream, count, args.as_ptr()) };
    }
    // SAFETY: the caller's promise.
    sys::guard(|| unsafe { sys::dnnl_primitive_execute(primitive, stream, count, args.as_ptr()) })
}

/// Runs task `i` of one of oneDNN's sections; subnormal numbers are treated as zeros if `flush`.
///
/// # Safety
/// `task` may be called with these arguments, and does not unwind.
#[cfg(onednn_threadpool)]
pub(super) unsafe fn run_task(
    flush: bool,
    task: sys::threadpool::Task,
    ctx: *mut std::ffi::c_void,
    i: c_int,
    n: c_int,
) {
    #[cfg(all(target_arch = "x86_64", unix))]
    if flush {
        // SAFETY: the caller's promise: a C function of three arguments, which does not unwind.
        unsafe { x86::call(task as *const (), ctx.expose_provenance(), i as usize, n as usize) };
        return;
    }
    let _ = flush;
    // SAFETY: the caller's promise.
    unsafe { task(ctx, i, n) }
}

/// Defines an `extern "C"` function `$name` that C++ may call in flush mode. It calls `$rust`, which has the same signature, in
/// the default mode, and restores flush mode afterwards. `$rust` has at most six arguments, all of which are integers or pointers.
#[cfg(onednn_threadpool)]
macro_rules! callback {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) $(-> $out:ty)? => $rust:path;)*) => {$(
        #[cfg(all(target_arch = "x86_64", unix))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name($($arg: $ty),*) $(-> $out)? {
            // Arguments and result stay in their registers: eax is free before the call.
            std::arch::naked_asm!(
                "sub rsp, 24",
                "stmxcsr [rsp]",
                "mov eax, [rsp]",
                "test eax, {flush}",
                "jnz 2f",
                "add rsp, 24",
                "jmp {rust}",
                "2:",
                "and eax, {keep}",
                "mov [rsp + 8], eax",
                "ldmxcsr [rsp + 8]",
                "call {rust}",
                "ldmxcsr [rsp]",
                "add rsp, 24",
                "ret",
                flush = const $crate::onednn::flush::FLUSH,
                keep = const !$crate::onednn::flush::FLUSH,
                rust = sym $rust,
            )
        }
        #[cfg(not(all(target_arch = "x86_64", unix)))]
        use $rust as $name;
    )*};
}
#[cfg(onednn_threadpool)]
pub(super) use callback;

/// Flush subnormal results to zero, and treat subnormal operands as zeros: bits 15 and 6 of MXCSR (Intel SDM, 10.2.3).
#[cfg(all(target_arch = "x86_64", unix))]
pub(super) const FLUSH: i32 = 1 << 15 | 1 << 6;

#[cfg(all(target_arch = "x86_64", unix))]
mod x86 {
    use std::ffi::{c_int, c_void};

    use onednn_sys as sys;

    use super::FLUSH;

    /// The arguments of `dnnl_primitive_execute`, in its order.
    #[repr(C)]
    struct Execution {
        primitive: sys::dnnl_primitive_t,
        stream: sys::dnnl_stream_t,
        count: usize,
        args: *const sys::dnnl_exec_arg_t,
    }

    /// Calls `dnnl_primitive_execute` with the bits set. No Rust code runs in between: the guard is
    /// C++, and what it calls is assembly.
    ///
    /// # Safety
    /// As for `dnnl_primitive_execute`.
    pub(super) unsafe fn execute(
        primitive: sys::dnnl_primitive_t,
        stream: sys::dnnl_stream_t,
        count: c_int,
        args: *const sys::dnnl_exec_arg_t,
    ) -> sys::dnnl_status_t {
        let execution = Execution { primitive, stream, count: count as usize, args };
        let ctx = (&raw const execution).expose_provenance();
        // SAFETY: the guard calls `execute_all` once, with a pointer to a live `Execution`, and lets no exception out.
        unsafe {
            call(sys::onednn_sys_guard as *const (), execute_all as *const () as usize, ctx, 0)
                as sys::dnnl_status_t
        }
    }

    /// Jumps to `dnnl_primitive_execute` with the arguments that `ctx` (rdi) points to. It has no stack frame, so an exception
    /// unwinds from there straight to the guard.
    ///
    /// # Safety
    /// `ctx` points to an [`Execution`]; otherwise as for `dnnl_primitive_execute`.
    #[unsafe(naked)]
    unsafe extern "C" fn execute_all(ctx: *mut c_void) -> c_int {
        std::arch::naked_asm!(
            "mov rsi, [rdi + {stream}]",
            "mov rdx, [rdi + {count}]",
            "mov rcx, [rdi + {args}]",
            "mov rdi, [rdi + {primitive}]",
            "jmp {execute}",
            primitive = const std::mem::offset_of!(Execution, primitive),
            stream = const std::mem::offset_of!(Execution, stream),
            count = const std::mem::offset_of!(Execution, count),
            args = const std::mem::offset_of!(Execution, args),
            execute = sym sys::dnnl_primitive_execute,
        )
    }

    /// Calls `f(a, b, c)` with the bits set, and restores MXCSR. Returns the result of `f`, if it has one.
    ///
    /// # Safety
    /// `f` is a C function that takes these arguments and does not unwind. It calls Rust code only through `callback`.
    pub(super) unsafe fn call(f: *const (), a: usize, b: usize, c: usize) -> i32 {
        // The old and the new value of MXCSR.
        let mut modes = [0u32; 2];
        let result: i32;
        // SAFETY: the caller's promise for the call. The stack is aligned for it, because the assembly block may use the stack.
        // The call preserves r12 and r13, and all other registers that it may change are declared. MXCSR has its old value at
        // the end.
        unsafe {
            std::arch::asm!(
                "stmxcsr [r12]",
                "mov eax, [r12]",
                "or eax, {flush}",
                "mov [r12 + 4], eax",
                "ldmxcsr [r12 + 4]",
                "call r13",
                "ldmxcsr [r12]",
                flush = const FLUSH,
                in("r12") &raw mut modes,
                in("r13") f,
                in("rdi") a,
                in("rsi") b,
                in("rdx") c,
                out("rax") result,
                clobber_abi("C"),
            );
        }
        result
    }

    #[cfg(all(test, onednn_threadpool))]
    mod tests {
        use super::*;
        use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

        static IN_RUST: AtomicU32 = AtomicU32::new(0);

        fn mxcsr() -> u32 {
            let mut value = 0u32;
            // SAFETY: stores the register into a local of its size.
            unsafe {
                std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags))
            };
            value
        }

        fn flushes(mxcsr: u32) -> bool {
            mxcsr & FLUSH as u32 != 0
        }

        unsafe extern "C" fn in_rust(a: usize, b: usize, c: usize) -> c_int {
            IN_RUST.store(mxcsr(), SeqCst);
            (a * 100 + b * 10 + c) as c_int
        }

        callback! {
            fn seen_from_c(a: usize, b: usize, c: usize) -> c_int => in_rust;
        }

        /// Takes the place of C code: calls the callback, and stores MXCSR before the call into `seen[0]` and after it into
        /// `seen[1]`.
        #[unsafe(naked)]
        unsafe extern "C" fn in_c(seen: *mut [u32; 2], b: usize, c: usize) -> c_int {
            std::arch::naked_asm!(
                "push rbx",
                "mov rbx, rdi",
                "stmxcsr [rbx]",
                "mov rdi, 4",
                "call {callback}",
                "stmxcsr [rbx + 4]",
                "pop rbx",
                "ret",
                callback = sym seen_from_c,
            )
        }

        #[test]
        fn c_code_flushes_and_what_it_calls_of_ours_does_not() {
            let before = mxcsr();
            assert!(!flushes(before));
            let mut seen = [0u32; 2];
            // SAFETY: a function that takes these arguments and calls Rust through a callback.
            let result = unsafe { call(in_c as *const (), (&raw mut seen).expose_provenance(), 5, 6) };
            assert_eq!(result, 456);
            assert!(flushes(seen[0]) && flushes(seen[1]), "{seen:x?}");
            assert!(!flushes(IN_RUST.load(SeqCst)));
            assert!(!flushes(mxcsr()));
            // Without the bits, the callback only calls the function.
            // SAFETY: three integers.
            assert_eq!(unsafe { seen_from_c(1, 2, 3) }, 123);
            assert!(!flushes(IN_RUST.load(SeqCst)));
        }
    }
}
