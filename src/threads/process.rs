//! Detects that this process is a forked child of one that had used the library.
//!
//! `fork` copies only the thread that calls it. In the child the rayon workers do not exist, and a lock that another thread
//! held stays locked for ever: ours, rayon's or oneDNN's. So calls in the child return an error before they touch a lock.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::error::{Call, Complaint, Error, Result, Text};

static FORKED: AtomicBool = AtomicBool::new(false);

/// Whether this process was forked from one that had used the library.
pub(crate) fn forked() -> bool {
    FORKED.load(Relaxed)
}

#[cfg(all(unix, not(miri)))]
mod handler {
    use super::*;
    use std::sync::atomic::Ordering::{Acquire, Release};

    static WATCHED: AtomicBool = AtomicBool::new(false);

    extern "C" fn in_child() {
        FORKED.store(true, Relaxed);
    }

    /// Makes `fork` call `in_child` from now on. Several threads may do this at once: a fork could leave a `Once` locked.
    pub(super) fn watch() -> Result<()> {
        if WATCHED.load(Acquire) {
            return Ok(());
        }
        // SAFETY: the handler exists as long as this library is loaded, and only stores to an atomic, which a handler may do.
        if unsafe { libc::pthread_atfork(None, None, Some(in_child)) } != 0 {
            return Err(Error::out_of_memory(0, "pthread_atfork"));
        }
        WATCHED.store(true, Release);
        Ok(())
    }
}

#[cfg(not(all(unix, not(miri))))]
mod handler {
    pub(super) fn watch() -> crate::error::Result<()> {
        Ok(())
    }
}

/// Refuses a call in a forked child; in any other process, notes that the library is in use. For the C interface: it must
/// come before every lock.
///
/// # Errors
/// `ForkedProcess`; `OutOfMemory` if the system has no memory to register the handler.
#[doc(hidden)]
pub fn check_process(op: &'static str) -> Result<()> {
    if forked() {
        return Err(refusal(op));
    }
    handler::watch()
}

/// Notes that the library is in use, for functions that cannot fail.
pub(super) fn note_use() {
    // Without memory to register the handler, forked children are not detected.
    let _ = handler::watch();
}

#[cold]
fn refusal(op: &'static str) -> Error {
    Error::ForkedProcess(Complaint::new(
        op,
        "process",
        "a call in a child made by `fork`",
        "its parent had used this library, whose threads and locks do not work in the child",
        Text::from("start the child with exec (") + Call::NewProcess + "), or fork before the first call",
    ))
}
