//! The engine finds no memory: each `new` of C++ and each aligned block that it takes on the calling thread cannot be had, in
//! turn. The functions below take the place of the C and C++ library's in this binary. Pages for generated code are left out:
//! oneDNN's strided transposed convolution overlooks that it has none, and computes nothing.

use std::cell::Cell;
use std::ffi::c_void;

use blocktensor::testing::inside_engine;
use blocktensor::{Error, Result, onednn};

use super::alone_with;
use super::jobs::JOBS;

thread_local! {
    /// Which one fails, and how many there were since; `None` where nothing is counted.
    static FAILING: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

fn fails() -> bool {
    let Some((nth, seen)) = FAILING.get().filter(|_| inside_engine()) else { return false };
    FAILING.set(Some((nth, seen + 1)));
    nth == seen
}

/// What takes the place of the libraries' functions.
#[allow(unsafe_code)]
mod instead {
    use super::*;

    unsafe extern "C-unwind" {
        /// `std::__throw_bad_alloc()`.
        #[link_name = "_ZSt17__throw_bad_allocv"]
        fn throw_bad_alloc() -> !;
    }

    /// `operator new(size_t)`; the other forms call it.
    #[unsafe(export_name = "_Znwm")]
    unsafe extern "C-unwind" fn new(bytes: usize) -> *mut c_void {
        if !fails() {
            // SAFETY: any size will do.
            let block = unsafe { libc::malloc(bytes.max(1)) };
            if !block.is_null() {
                return block;
            }
        }
        // SAFETY: a function without arguments; what it throws may pass through here.
        unsafe { throw_bad_alloc() }
    }

    /// `operator delete(void *)`; the other forms call it.
    #[unsafe(export_name = "_ZdlPv")]
    unsafe extern "C" fn delete(block: *mut c_void) {
        // SAFETY: null, or from `new` above.
        unsafe { libc::free(block) };
    }

    /// `operator delete(void *, size_t)`, which a sanitizer would bring itself.
    #[unsafe(export_name = "_ZdlPvm")]
    unsafe extern "C" fn delete_sized(block: *mut c_void, _bytes: usize) {
        // SAFETY: as above.
        unsafe { delete(block) };
    }

    /// Aligned blocks.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn posix_memalign(to: *mut *mut c_void, align: usize, bytes: usize) -> i32 {
        if fails() {
            return libc::ENOMEM;
        }
        // SAFETY: the caller's promise is that of `memalign`: `align` is a power of two.
        let block = unsafe { libc::memalign(align, bytes) };
        if block.is_null() {
            return libc::ENOMEM;
        }
        // SAFETY: the caller's promise.
        unsafe { to.write(block) };
        0
    }
}

/// The job from nothing, as in engine.rs; and how often it asked for memory.
fn fresh(job: fn() -> Result<Vec<f32>>, nth: usize) -> (Result<Vec<f32>>, usize) {
    let work = move || {
        // The thread's stream. An exception while oneDNN makes one has it delete an object twice, which nobody can catch.
        JOBS[1].1().expect("a stream");
        onednn::clear_cache();
        FAILING.set(Some((nth, 0)));
        let result = job();
        let (_, seen) = FAILING.take().expect("set above");
        (result, seen)
    };
    std::thread::spawn(work).join().expect("an error, not a panic")
}

fn told(e: &Error) -> bool {
    match e {
        Error::OutOfMemory { call, .. } | Error::Backend { call, .. } => call.starts_with("dnnl_"),
        Error::UnsupportedOp(_) => e.to_string().contains("possibly an allocation failure"),
        Error::PackMismatch(c) => c.rule.contains("or its memory could not be had"),
        _ => false,
    }
}

#[test]
fn the_engine_may_find_no_memory() {
    let set = [
        // oneDNN keeps one primitive, so that each run makes its own anew, in a cache.
        ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "1"),
        // For `make sanitize`: its own small leaks, which are listed there.
        (
            "LSAN_OPTIONS",
            concat!(
                "print_suppressions=0:suppressions=",
                env!("CARGO_MANIFEST_DIR"),
                "/tests/faults/exhaustion.supp"
            ),
        ),
    ];
    alone_with("faults::exhaustion::the_engine_may_find_no_memory", &set, || {
        let (mut places, mut errors) = (0, 0);
        for &(name, job) in JOBS {
            let (right, seen) = fresh(job, usize::MAX);
            let right = right.unwrap();
            for nth in 0..seen {
                let what = format!("{name}: memory {nth} of {seen}");
                match fresh(job, nth).0 {
                    // Something smaller did.
                    Ok(numbers) => assert_eq!(numbers, right, "{what}"),
                    Err(e) => {
                        assert!(told(&e), "{what}: {e}");
                        errors += 1;
                    }
                }
                places += 1;
                assert_eq!(fresh(job, usize::MAX).0.as_ref(), Ok(&right), "{what}: the next call");
            }
        }
        println!("{places} failures, {errors} errors");
        assert!(errors > 5_000, "{errors}");
    });
}
