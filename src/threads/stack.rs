//! The stack that the calling thread has left.

use crate::error::{Call, Complaint, Error, Result, Text};

/// The stack, in **bytes**, that a thread needs to call ops if its own functions use up to 64 KiB: 256 KiB, or 1 MiB in
/// builds with debug assertions, which are usually not optimised. A call with less stack is a `StackTooSmall`. Threads of
/// Rust's standard library and of rayon have 2 MiB unless they are started with less.
pub const MIN_STACK: usize = if cfg!(debug_assertions) { 1 << 20 } else { OPTIMISED };

/// Measured use: 81 KiB in optimised code (a transposed convolution whose kernel oneDNN generates, on AVX-512); 469 KiB in
/// unoptimised code (pooling).
const OPTIMISED: usize = 256 << 10;

/// Stack for the caller's functions, and for an op that calls another, in **bytes**.
const OWN: usize = 64 << 10;

/// The stack, in **bytes**, that must be left at a call.
#[cfg(not(feature = "testing"))]
fn needed() -> usize {
    MIN_STACK - OWN
}

#[cfg(feature = "testing")]
static NEEDED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(MIN_STACK - OWN);

#[cfg(feature = "testing")]
fn needed() -> usize {
    NEEDED.load(std::sync::atomic::Ordering::Relaxed)
}

/// Makes calls of this process require only as much stack as an optimised build without debug assertions requires, and
/// returns the [`MIN_STACK`] of such a build: for tests of that figure in optimised builds with debug assertions.
#[cfg(feature = "testing")]
pub fn as_in_optimised_builds() -> usize {
    NEEDED.store(OPTIMISED - OWN, std::sync::atomic::Ordering::Relaxed);
    OPTIMISED
}

#[cfg(all(target_os = "linux", not(miri)))]
mod bounds {
    use std::cell::Cell;
    use std::ops::Range;

    thread_local! {
        static BOUNDS: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
    }

    /// Addresses of this thread's stack without its guard pages; empty if the system does not report them.
    pub(super) fn of_this_thread() -> Range<usize> {
        // A thread that runs its destructors cannot cache them.
        let known = BOUNDS.try_with(Cell::get).ok().flatten();
        let (low, high) = known.unwrap_or_else(|| {
            let asked = ask().unwrap_or((0, 0));
            let _ = BOUNDS.try_with(|b| b.set(Some(asked)));
            asked
        });
        low..high
    }

    fn ask() -> Option<(usize, usize)> {
        let mut attributes = std::mem::MaybeUninit::uninit();
        // SAFETY: `attributes` is a place for the result, which is initialised if the call succeeds.
        if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) } != 0 {
            return None;
        }
        let attributes = attributes.as_mut_ptr();
        let (mut low, mut size, mut guard) = (std::ptr::null_mut(), 0, 0);
        // SAFETY: the attributes were just initialised, are destroyed once, and the results are written to locals of the
        // right types.
        let known = unsafe {
            let known = libc::pthread_attr_getstack(attributes, &mut low, &mut size) == 0
                && libc::pthread_attr_getguardsize(attributes, &mut guard) == 0;
            libc::pthread_attr_destroy(attributes);
            known
        };
        let low = low as usize;
        // Some C libraries count the guard pages as stack.
        known.then(|| (low.saturating_add(guard), low.saturating_add(size)))
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod bounds {
    pub(super) fn of_this_thread() -> std::ops::Range<usize> {
        0..0
    }
}

/// **Bytes** of stack that this thread has left; `None` if that is unknown, as on a coroutine's own stack.
fn left() -> Option<usize> {
    let local = 0u8;
    let here = std::hint::black_box(&raw const local) as usize;
    let bounds = bounds::of_this_thread();
    bounds.contains(&here).then(|| here - bounds.start)
}

/// Whether this thread has enough stack to run kernels.
pub(super) fn is_enough() -> bool {
    left().is_none_or(|bytes| bytes >= needed())
}

/// Refuses a call on too little stack.
pub(super) fn check(op: &'static str) -> Result<()> {
    match left() {
        Some(bytes) if bytes < needed() => Err(refusal(op, bytes)),
        _ => Ok(()),
    }
}

#[cold]
fn refusal(op: &'static str, bytes: usize) -> Error {
    Error::StackTooSmall(Complaint::new(
        op,
        "stack",
        format!("{} KiB left on this thread", bytes >> 10),
        format!("a call needs {} KiB", needed() >> 10),
        Text::from("start the thread with a larger stack (") + Call::StackSize + ")",
    ))
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    /// The stack left inside a function whose frame holds 100 KiB.
    #[inline(never)]
    fn left_below_an_array() -> Option<usize> {
        let array = std::hint::black_box([0u8; 100 << 10]);
        let left = left();
        std::hint::black_box(&array);
        left
    }

    #[test]
    fn what_is_left_is_what_a_thread_was_started_with_less_what_it_uses() {
        for size in [512 << 10, 2 << 20] {
            let both = || (left().unwrap(), left_below_an_array().unwrap());
            let thread = std::thread::Builder::new().stack_size(size).spawn(both).unwrap();
            let (left, below) = thread.join().unwrap();
            // The C library may reuse the larger stack of a thread that has ended.
            assert!(left >= size - (32 << 10), "{left} of {size}");
            assert!((100 << 10..120 << 10).contains(&(left - below)), "{left} and {below}");
        }
    }
}
