//! Whether arithmetic takes subnormal numbers for zeros: a mode of each thread's processor state.
//!
//! Members of a team take their leader's mode for the length of a section. Rust assumes the default mode where it
//! computes constants at compile time and nowhere else that shows: with the mode on, results differ by what was flushed.

#[cfg(target_arch = "x86_64")]
mod register {
    /// Flush results to zero, and take subnormal operands for zeros: bits 15 and 6 of MXCSR (Intel SDM, 10.2.3).
    const FLUSH: u32 = 1 << 15 | 1 << 6;

    pub fn get() -> u32 {
        let mut value = 0u32;
        // SAFETY: stores the register into a local of its size.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
        value
    }

    pub fn set(value: u32) {
        // SAFETY: the value was read from the register, but for the two bits; no reserved bit is set.
        unsafe {
            std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags))
        };
    }

    pub fn with(value: u32, flush: bool) -> u32 {
        if flush { value | FLUSH } else { value & !FLUSH }
    }

    pub fn flushes(value: u32) -> bool {
        value & FLUSH == FLUSH
    }
}

#[cfg(target_arch = "aarch64")]
mod register {
    /// Flush-to-zero: bit 24 of FPCR (Arm ARM, C5.2.8), for operands and results.
    const FLUSH: u64 = 1 << 24;

    pub fn get() -> u64 {
        let value: u64;
        // SAFETY: reads a register.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    pub fn set(value: u64) {
        // SAFETY: the value was read from the register, but for the one bit.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) value, options(nostack, preserves_flags)) };
    }

    pub fn with(value: u64, flush: bool) -> u64 {
        if flush { value | FLUSH } else { value & !FLUSH }
    }

    pub fn flushes(value: u64) -> bool {
        value & FLUSH == FLUSH
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod register {
    pub fn get() {}
    pub fn set((): ()) {}
    pub fn with((): (), _: bool) {}
    pub fn flushes((): ()) -> bool {
        false
    }
}

/// Whether this thread flushes.
pub(super) fn flushes() -> bool {
    register::flushes(register::get())
}

/// Sets this thread's mode until it is dropped, which brings the old one back.
pub(super) struct Scope {
    #[cfg(target_arch = "x86_64")]
    before: Option<u32>,
    #[cfg(target_arch = "aarch64")]
    before: Option<u64>,
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    before: Option<()>,
}

impl Scope {
    pub fn new(flush: bool) -> Scope {
        let before = register::get();
        if register::flushes(before) == flush {
            return Scope { before: None };
        }
        register::set(register::with(before, flush));
        Scope { before: Some(before) }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            register::set(before);
        }
    }
}

/// Runs `f` with subnormal numbers (below 1.18e-38) taken for zeros, on this thread and on those that work for it; restored
/// afterwards, also when `f` panics. Results change by what was flushed, so it is for the caller to choose: where
/// activations fade into subnormal numbers, each operation on one can cost as much as a hundred.
///
/// Threads of another runtime are not reached: those of an OpenMP build of oneDNN, or that `f` starts itself. On machines
/// other than x86-64 and AArch64 nothing is flushed.
pub fn flush_subnormals<R>(f: impl FnOnce() -> R) -> R {
    let _scope = Scope::new(true);
    f()
}

#[cfg(test)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
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
    fn every_thread_of_a_team_flushes_and_none_does_afterwards() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(|| {
            run(|| {
                for flush in [false, true, false] {
                    let kept = AtomicUsize::new(0);
                    let section = || {
                        parallel_for(300, |_| {
                            std::thread::yield_now();
                            kept.fetch_add(usize::from(half() != 0.0), SeqCst);
                        });
                    };
                    if flush {
                        flush_subnormals(section)
                    } else {
                        section()
                    }
                    assert_eq!(kept.into_inner(), if flush { 0 } else { 300 });
                }
            });
        });
        assert!(half() != 0.0);
        let seen = pool.broadcast(|_| half());
        assert!(seen.iter().all(|&h| h != 0.0));
        assert!(std::panic::catch_unwind(|| flush_subnormals(|| panic!("a caller's own"))).is_err());
        assert!(!flushes() && half() != 0.0);
    }
}
