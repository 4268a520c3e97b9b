//! The engine runs out of memory: each C++ `new` and each aligned allocation on the calling thread fails in turn. The functions
//! below replace those of the C and C++ libraries in this binary. Pages for generated code do not fail: oneDNN's strided
//! transposed convolution does not notice that it has none, and computes nothing.

use std::cell::Cell;
use std::ffi::c_void;

use blocktensor::testing::inside_engine;
use blocktensor::{Error, Result, onednn};

use super::alone_with;
use super::jobs::JOBS;

thread_local! {
    /// The allocation that fails, and the number of allocations so far; `None` where they are not counted.
    static FAILING: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

fn fails() -> bool {
    let Some((nth, seen)) = FAILING.get().filter(|_| inside_engine()) else { return false };
    FAILING.set(Some((nth, seen + 1)));
    nth == seen
}

/// Replacements for functions of the C and C++ libraries.
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

/// Runs a job with empty caches, as in engine.rs. Returns also the number of allocations.
fn fresh(job: fn() -> Result<Vec<f32>>, nth: usize) -> (Result<Vec<f32>>, usize) {
    let work = move || {
        // Makes the stream of the thread. If an exception is thrown while oneDNN makes it, oneDNN deletes an object twice.
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
        // The cache of an installed oneDNN holds one primitive, so each run creates its primitives again, and still goes through the
        // cache. The bundled one has no cache.
        ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "1"),
        // `make sanitize` lists small leaks of oneDNN.
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
                    // A smaller implementation ran.
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
