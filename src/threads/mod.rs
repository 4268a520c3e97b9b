//! Threads: one caller leads its rayon pool as a team during a run.
//!
//! **Which pool.** The pool that the caller runs in (`ThreadPool::install`), otherwise rayon's global pool. If the program
//! has configured the global pool (`ThreadPoolBuilder::build_global`), it is used as it is. If not, the first call that needs
//! threads builds it, with the size that `RAYON_NUM_THREADS` says, otherwise one thread for each processor that this process may
//! use: what its affinity names, as far as the quota of its control group goes (`cpu.max`; 1.5 processors are two threads).
//!
//! **How many threads.** A team has at most four threads for each processor that the process may use, and at most 16 on
//! machines with up to four processors. The same bound holds for the global pool if the library builds it:
//! `RAYON_NUM_THREADS=5000` starts 16 threads on two processors. A larger pool of the caller works, but the rest of its
//! threads stay idle. [`current_threads`] returns the number.
//!
//! **If threads cannot be started** (`RLIMIT_NPROC`, a cgroup's limit), calls run on their caller's thread alone and print
//! nothing. [`current_threads`] still returns the intended number, so packed weights run. Later calls try again, with pauses
//! that grow to about a thousand calls. Until then the library cannot find out whether the program has configured a global
//! pool; a pool that the caller runs in is used in any case.
//!
//! **A busy pool.** A call asks for workers and never waits for them. At most [`current_threads`] - 1 requests wait in a
//! pool's queue for each of its workers that makes calls, and the same number for all callers outside of it together.
//!
//! **`fork`.** In the child of a process that had used the library, every call that computes, reorders, packs, loads or makes
//! a tensor returns `ForkedProcess`: the worker threads do not exist there, and locks that other threads held stay locked.
//! Every function of the C interface that returns a status does the same. Dropping tensors and packed weights is safe there,
//! but the engine's memory is not freed until the process ends; [`run`] and [`parallel_for`] use only the calling thread.
//! Start children with exec, or fork before the first call: such a child works like any process. Children that are made
//! without the C library's `fork` (a bare `clone` system call) are not detected.
//!
//! **Stack.** A thread that calls ops needs [`MIN_STACK`] bytes of stack, which is more in builds with debug assertions; with
//! less, the call returns `StackTooSmall`. Workers with less stack do not take part. This is checked on Linux, for stacks
//! that the C library knows, not for stacks of coroutines.

mod pool;
mod process;
mod processors;
mod section;
mod stack;
mod subnormals;
mod team;

pub use pool::max_threads;
pub use process::check_process;
pub(crate) use process::forked;
#[cfg(onednn_threadpool)]
pub(crate) use section::in_task;
pub(crate) use section::share;
pub use stack::MIN_STACK;
#[cfg(feature = "testing")]
pub use stack::as_in_optimised_builds;
pub use subnormals::flush_engine_subnormals;
#[cfg(feature = "onednn")]
pub(crate) use subnormals::flushes;
pub use team::{current_threads, parallel_for, run, run_with_threads};
pub(crate) use team::{parallel_each, parallel_in_turns, parallel_ranges};

use crate::error::Result;

/// Checks that every call that computes or moves data makes first, before the first lock.
///
/// # Errors
/// `ForkedProcess`, `StackTooSmall`.
pub(crate) fn enter(op: &'static str) -> Result<()> {
    process::check_process(op)?;
    stack::check(op)
}

/// A pointer through which the tasks of one section write, each to its own elements.
///
/// The section's author guarantees that no two tasks access the same element, and that the storage outlives the section.
pub(crate) struct SyncPtr<T>(*mut T);

impl<T> Clone for SyncPtr<T> {
    fn clone(&self) -> SyncPtr<T> {
        *self
    }
}

impl<T> Copy for SyncPtr<T> {}

// SAFETY: only an address; every use is unsafe and states why its elements are disjoint.
unsafe impl<T: Send> Send for SyncPtr<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SyncPtr<T> {}

impl<T> SyncPtr<T> {
    pub(crate) fn new(slice: &mut [T]) -> SyncPtr<T> {
        SyncPtr(slice.as_mut_ptr())
    }

    pub(crate) fn get(&self) -> *mut T {
        self.0
    }
}
