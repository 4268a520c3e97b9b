//! Threads: the caller's rayon pool, led as a team for the length of a run.

mod subnormals;
mod team;

pub use subnormals::flush_engine_subnormals;
#[cfg(feature = "onednn")]
pub(crate) use subnormals::flushes;
#[cfg(onednn_threadpool)]
pub(crate) use team::in_task;
pub use team::{current_threads, parallel_for, run};

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
