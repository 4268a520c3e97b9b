//! Mirrors src/fault: memory that cannot be had and an engine that fails, at every single place. Each test runs in a process
//! of its own with one thread, so that nothing else allocates or asks the engine.

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

/// Bytes that the C heap has given out: Rust's and C++'s.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn heap_bytes() -> usize {
    #[allow(unsafe_code)]
    // SAFETY: only reads the heap's own figures.
    let figures = unsafe { libc::mallinfo2() };
    figures.uordblks + figures.hblkhd
}

/// Fails if calling `f` again and again takes more and more memory, or leaves storages behind.
#[track_caller]
fn assert_no_leak(what: &str, f: impl Fn()) {
    let storages = live_storages();
    f();
    assert_eq!(live_storages(), storages, "{what}: storages that stay");
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // What the heap keeps at hand, and caches that fill up, end some time; a leak grows every time.
        let grows = || {
            let before = heap_bytes();
            (0..4).for_each(|_| f());
            heap_bytes() > before
        };
        assert!((0..20).any(|_| !grows()), "{what}: every 4 calls take more of the heap");
    }
}
