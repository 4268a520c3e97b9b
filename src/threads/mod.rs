//! Parallel sections on the caller's rayon pool.

use rayon::prelude::*;

/// Calls `f(i)` once for every `i < n`, on any thread and in any order.
pub(crate) fn parallel_for(n: usize, f: impl Fn(usize) + Sync) {
    (0..n).into_par_iter().for_each(|i| f(i));
}

/// How many threads a section may use.
pub(crate) fn current_threads() -> usize {
    rayon::current_num_threads()
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
