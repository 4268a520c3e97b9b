//! Threads: the caller's rayon pool, led as a team for the length of a run.
//!
//! **Which pool.** The one that the caller stands in (`ThreadPool::install`), else rayon's global pool. If the program
//! has configured that one (`ThreadPoolBuilder::build_global`), it is used. If not, the first call that needs threads
//! builds it, with the size that rayon would give it (`RAYON_NUM_THREADS`, else the number of processors).
//!
//! **How many threads.** A team has at most four threads for each processor that the process may use, and at most 16 on
//! machines of up to four. The same bound holds for the global pool when the library builds it: `RAYON_NUM_THREADS=5000`
//! starts 16 threads on two processors. A larger pool of the caller's works, and the rest of its threads stay free.
//! [`current_threads`] tells the number.
//!
//! **When threads cannot be started** (`RLIMIT_NPROC`, a cgroup's limit), calls run on their caller's thread alone and print
//! nothing. [`current_threads`] still tells the number that was wanted, so packed weights run. The next calls try again, with
//! pauses that grow to about a thousand calls. Until then the library cannot ask whether the program has configured a
//! global pool; a pool that the caller stands in is used in any case.
//!
//! **A busy pool.** A call asks for workers and never waits for them. At most [`current_threads`] - 1 requests wait in a
//! pool's queue for each of its workers that makes calls, and as many for all callers outside of it together.
//!
//! **`fork`.** In the child of a process that had used the library, every call that computes, reorders, packs, loads or makes
//! a tensor returns `ForkedProcess`: the workers are not there, and locks that other threads held stay locked. So does every
//! function of the C interface that returns a status. Dropping tensors and packed weights is safe there, and leaves memory of
//! the engine's to the end of the process; [`run`] and [`parallel_for`] use the one thread. Start children with exec, or fork
//! before the first call: such a child works as any process. Children that are made without the C library's `fork` (a bare
//! `clone` system call) are not noticed.
//!
//! **Stack.** A thread that calls ops needs [`MIN_STACK`] bytes of stack, which is more in builds with debug assertions;
//! with less the call returns `StackTooSmall`. Workers with less do not help. Checked on Linux, on the stacks that the C
//! library knows: not on those of coroutines.

mod pool;
mod process;
mod stack;
mod subnormals;
mod team;

pub use process::check_process;
pub(crate) use process::forked;
pub use stack::MIN_STACK;
#[cfg(feature = "testing")]
pub use stack::as_in_optimised_builds;
pub use subnormals::flush_engine_subnormals;
#[cfg(feature = "onednn")]
pub(crate) use subnormals::flushes;
#[cfg(onednn_threadpool)]
pub(crate) use team::in_task;
pub use team::{current_threads, parallel_for, run};

use crate::error::Result;

/// The check at the door of every call that computes or moves data: it comes before the first lock.
///
/// # Errors
/// `ForkedProcess`, `StackTooSmall`.
pub(crate) fn enter(op: &'static str) -> Result<()> {
    process::check_process(op)?;
    stack::check(op)
}

/// A pointer that the tasks of one section write through, each its own elements.
///
/// The section's author promises that no two tasks touch the same element, and that the storage outlives it.
pub(crate) struct SyncPtr<T>(*mut T);

// SAFETY: only an address; every use is unsafe and says itself why it is disjoint.
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
