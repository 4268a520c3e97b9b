//! Injected faults for tests (feature `testing`): an engine call or an allocation of this thread that fails, counts of both,
//! and storage that ends at a guard page. Without the feature all of it compiles to nothing.

#[cfg(all(feature = "testing", unix))]
pub(crate) mod guard;

#[cfg(feature = "testing")]
mod heap;

#[cfg(feature = "testing")]
pub use heap::{LARGE, TestAllocator};
#[cfg(feature = "testing")]
pub use on::{Fault, Seen, inject, inside_engine, live_storages};
#[cfg(feature = "testing")]
pub(crate) use on::{allocation_fails, in_other_crate, storage_dropped, storage_made};
#[cfg(all(feature = "testing", feature = "onednn"))]
pub(crate) use on::{engine_runs, engine_status, inside};

#[cfg(not(feature = "testing"))]
mod off {
    pub(crate) fn allocation_fails() -> bool {
        false
    }

    #[cfg(feature = "onednn")]
    pub(crate) fn engine_status() -> Option<u32> {
        None
    }

    #[cfg(feature = "onednn")]
    pub(crate) fn engine_runs() {}

    #[cfg(feature = "onednn")]
    pub(crate) fn inside<R>(call: impl FnOnce() -> R) -> R {
        call()
    }

    pub(crate) fn in_other_crate<R>(call: impl FnOnce() -> R) -> R {
        call()
    }

    pub(crate) fn storage_made() {}

    pub(crate) fn storage_dropped() {}
}
#[cfg(not(feature = "testing"))]
pub(crate) use off::*;

#[cfg(feature = "testing")]
mod on {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Which call fails; `nth` counts from 0 within [`inject`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fault {
        /// A call of oneDNN's C interface is skipped, and treated as having returned `status` (`dnnl_status_t`).
        Engine {
            /// Which call.
            nth: usize,
            /// The status: 1 is out of memory, 3 unimplemented; see `dnnl_status_t`.
            status: u32,
        },
        /// An allocation of a tensor's storage, or of a scratchpad, fails.
        Allocation {
            /// Which allocation.
            nth: usize,
        },
        /// An allocation of at least [`LARGE`](super::LARGE) bytes from Rust's heap fails, where the program has a
        /// [`TestAllocator`](super::TestAllocator).
        Heap {
            /// Which allocation.
            nth: usize,
        },
    }

    /// What [`inject`] counted on its thread.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Seen {
        /// Calls of the engine that return a status.
        pub engine_calls: usize,
        /// Runs of the engine's primitives: kernels, and reorders that pack weights.
        pub engine_runs: usize,
        /// Allocations of storage, recycled storage included.
        pub allocations: usize,
        /// Large allocations from Rust's heap.
        pub heap_allocations: usize,
    }

    const NOTHING: Seen = Seen { engine_calls: 0, engine_runs: 0, allocations: 0, heap_allocations: 0 };

    thread_local! {
        static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
        static SEEN: Cell<Seen> = const { Cell::new(NOTHING) };
        static INSIDE: Cell<bool> = const { Cell::new(false) };
        static ELSEWHERE: Cell<bool> = const { Cell::new(false) };
    }
    static LIVE: AtomicUsize = AtomicUsize::new(0);

    /// Calls `f`, counts this thread's engine calls and allocations, and makes `fault` happen. Other threads are not
    /// affected; in a pool of one thread everything runs on this thread. Calls must not nest.
    pub fn inject<R>(fault: Option<Fault>, f: impl FnOnce() -> R) -> (R, Seen) {
        struct Disarm;
        impl Drop for Disarm {
            fn drop(&mut self) {
                FAULT.set(None);
            }
        }
        FAULT.set(fault);
        SEEN.set(Seen::default());
        let _disarm = Disarm;
        (f(), SEEN.get())
    }

    /// Tensor storages, packed weights and scratchpads that are alive now in this process. Free storage that is kept for
    /// reuse is not counted.
    pub fn live_storages() -> usize {
        LIVE.load(Relaxed)
    }

    pub(crate) fn allocation_fails() -> bool {
        let mut seen = SEEN.get();
        let nth = seen.allocations;
        seen.allocations += 1;
        SEEN.set(seen);
        FAULT.get() == Some(Fault::Allocation { nth })
    }

    /// Calls a function of another crate that ends the process where it finds no memory: here it finds some. The caller has looked
    /// whether there is enough.
    pub(crate) fn in_other_crate<R>(call: impl FnOnce() -> R) -> R {
        let before = ELSEWHERE.replace(true);
        let result = call();
        ELSEWHERE.set(before);
        result
    }

    /// Whether a large allocation from the heap fails. An allocator calls it, so it does not allocate.
    pub(crate) fn heap_fails() -> bool {
        if ELSEWHERE.get() {
            return false;
        }
        let mut seen = SEEN.get();
        let nth = seen.heap_allocations;
        seen.heap_allocations += 1;
        SEEN.set(seen);
        FAULT.get() == Some(Fault::Heap { nth })
    }

    #[cfg(feature = "onednn")]
    pub(crate) fn engine_status() -> Option<u32> {
        let mut seen = SEEN.get();
        let n = seen.engine_calls;
        seen.engine_calls += 1;
        SEEN.set(seen);
        match FAULT.get() {
            Some(Fault::Engine { nth, status }) if nth == n => Some(status),
            _ => None,
        }
    }

    #[cfg(feature = "onednn")]
    pub(crate) fn engine_runs() {
        let mut seen = SEEN.get();
        seen.engine_runs += 1;
        SEEN.set(seen);
    }

    /// Whether this thread is inside a call of the engine: for tests that replace functions that the engine calls.
    pub fn inside_engine() -> bool {
        INSIDE.get()
    }

    #[cfg(feature = "onednn")]
    pub(crate) fn inside<R>(call: impl FnOnce() -> R) -> R {
        let before = INSIDE.replace(true);
        let result = call();
        INSIDE.set(before);
        result
    }

    pub(crate) fn storage_made() {
        LIVE.fetch_add(1, Relaxed);
    }

    pub(crate) fn storage_dropped() {
        LIVE.fetch_sub(1, Relaxed);
    }
}
