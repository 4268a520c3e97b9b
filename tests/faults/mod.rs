//! Mirrors src/fault: failing allocations and failing engine calls, at every place. Each test runs in a process of its own with
//! one thread, so that nothing else allocates or calls the engine.

mod allocations;
#[cfg(feature = "onednn")]
mod engine;
#[cfg(all(feature = "onednn", target_os = "linux", target_env = "gnu"))]
mod exhaustion;
mod jobs;

use blocktensor::testing::live_storages;

use crate::support;

/// Runs `body` in a process of its own, on one thread.
fn alone(test: &str, body: impl FnOnce()) {
    alone_with(test, &[], body);
}

/// `alone`, with variables set.
fn alone_with(test: &str, set: &[(&str, &str)], body: impl FnOnce()) {
    let printed = support::alone(test, &[set, &[("RAYON_NUM_THREADS", "1")]].concat(), body);
    println!("{}", printed.unwrap_or_default());
}

/// **Bytes** allocated from the C heap, by Rust and by C++.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn heap_bytes() -> usize {
    #[allow(unsafe_code)]
    // SAFETY: only reads statistics of the heap.
    let figures = unsafe { libc::mallinfo2() };
    figures.uordblks + figures.hblkhd
}

/// Fails if repeated calls of `f` take more and more memory, or leave storages behind.
#[track_caller]
fn assert_no_leak(what: &str, f: impl Fn()) {
    let storages = live_storages();
    f();
    assert_eq!(live_storages(), storages, "{what}: storages that stay");
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // Free lists of the heap and caches stop growing at some time; a leak grows with every call.
        let grows = || {
            let before = heap_bytes();
            (0..4).for_each(|_| f());
            heap_bytes() > before
        };
        assert!((0..20).any(|_| !grows()), "{what}: every 4 calls take more of the heap");
    }
}
