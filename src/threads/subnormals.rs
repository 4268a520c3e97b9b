//! Whether oneDNN takes subnormal numbers for zeros: a wish of each thread's, which members of a team take over from their
//! leader for the length of a section.
//!
//! Only a value is kept here. The processor's mode changes around oneDNN's code alone (`onednn::flush`): Rust's compiler
//! assumes the default mode wherever it computes, so that Rust code under another mode has undefined behaviour.

use std::cell::Cell;

thread_local! {
    static WISHED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread wishes it.
pub(crate) fn flushes() -> bool {
    WISHED.get()
}

/// Sets this thread's wish until it is dropped, which brings the old one back.
pub(super) struct Scope(bool);

impl Scope {
    pub fn new(flush: bool) -> Scope {
        Scope(WISHED.replace(flush))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        WISHED.set(self.0);
    }
}

/// Runs `f`; where it calls oneDNN, oneDNN's kernels take subnormal numbers (below 1.18e-38) for zeros. That holds on this
/// thread and on those of its team. Results change by what was flushed, so it is for the caller to choose: where
/// activations fade into subnormal numbers, each operation on one can cost as much as a hundred.
///
/// Kernels written in Rust are not reached: they keep subnormal numbers, as all Rust code does, `f` itself included.
/// [`StridedTensor::flush_subnormals`](crate::StridedTensor::flush_subnormals) makes zeros of those in a tensor. Neither
/// are threads of another runtime, such as those of an OpenMP build of oneDNN. Without feature `onednn`, and on anything
/// but Unix on x86-64, nothing is flushed.
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

    /// What half of the smallest normal number is here.
    fn half() -> f32 {
        black_box(f32::MIN_POSITIVE) * black_box(0.5)
    }

    #[test]
    fn every_thread_of_a_team_has_its_leaders_wish_and_rust_code_flushes_nowhere() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(|| {
            run(|| {
                for flush in [false, true, false] {
                    let wished = AtomicUsize::new(0);
                    let section = || {
                        parallel_for(300, |_| {
                            std::thread::yield_now();
                            assert!(half() != 0.0);
                            wished.fetch_add(usize::from(flushes()), SeqCst);
                        });
                    };
                    if flush {
                        flush_engine_subnormals(section)
                    } else {
                        section()
                    }
                    assert_eq!(wished.into_inner(), if flush { 300 } else { 0 });
                }
            });
        });
        assert!(pool.broadcast(|_| flushes()).iter().all(|&f| !f));
        assert!(std::panic::catch_unwind(|| flush_engine_subnormals(|| panic!("a caller's own"))).is_err());
        assert!(!flushes());
    }
}
