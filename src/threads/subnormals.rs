//! Whether oneDNN treats subnormal numbers as zeros. Each thread has its own setting; members of a team use their leader's
//! during a section.
//!
//! Only the setting is kept here. The processor's mode changes only around oneDNN's code (`onednn::flush`): Rust's compiler
//! assumes the default mode, so Rust code under another mode has undefined behaviour.

use std::cell::Cell;

thread_local! {
    static FLUSH: Cell<bool> = const { Cell::new(false) };
}

/// Whether oneDNN's code must flush subnormal numbers on this thread.
pub(crate) fn flushes() -> bool {
    FLUSH.get()
}

/// Changes this thread's setting until it is dropped, which restores the old one.
pub(super) struct Scope(bool);

impl Scope {
    pub fn new(flush: bool) -> Scope {
        Scope(FLUSH.replace(flush))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        FLUSH.set(self.0);
    }
}

/// Runs `f`. If `f` calls oneDNN, oneDNN's kernels treat subnormal numbers (below 1.18e-38) as zeros, on this thread and
/// those of its team. This changes results, so the caller has to choose it. It helps if activations become subnormal: an
/// operation on a subnormal number can cost as much as a hundred others.
///
/// Kernels written in Rust are not affected: they keep subnormal numbers, like all Rust code, `f` itself included.
/// [`StridedTensor::flush_subnormals`](crate::StridedTensor::flush_subnormals) replaces those in a tensor by zeros. Threads
/// of another runtime, such as those of an OpenMP build of oneDNN, are not affected either. Without feature `onednn`, and on
/// platforms other than Unix on x86-64, nothing is flushed.
pub fn flush_engine_subnormals<R>(f: impl FnOnce() -> R) -> R {
    let _scope = Scope::new(true);
    f()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::{parallel_for, run};
    use std::hint::black_box;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// Half of the smallest normal number, computed at run time: 0 if this code flushes.
    fn half() -> f32 {
        black_box(f32::MIN_POSITIVE) * black_box(0.5)
    }

    #[test]
    fn every_thread_of_a_team_has_its_leaders_setting_and_rust_code_never_flushes() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(|| {
            run(|| {
                for flush in [false, true, false] {
                    let flushing = AtomicUsize::new(0);
                    let section = || {
                        parallel_for(300, |_| {
                            std::thread::yield_now();
                            assert!(half() != 0.0);
                            flushing.fetch_add(usize::from(flushes()), SeqCst);
                        });
                    };
                    if flush {
                        flush_engine_subnormals(section)
                    } else {
                        section()
                    }
                    assert_eq!(flushing.into_inner(), if flush { 300 } else { 0 });
                }
            });
        });
        assert!(pool.broadcast(|_| flushes()).iter().all(|&f| !f));
        assert!(std::panic::catch_unwind(|| flush_engine_subnormals(|| panic!("a caller's own"))).is_err());
        assert!(!flushes());
    }
}
