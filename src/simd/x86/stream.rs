//! Prefetches, and stores that bypass the caches. Miri has neither.

use std::arch::x86_64::*;

/// Asks for the cache line at an address.
#[inline(always)]
pub(in crate::simd) fn prefetch_line(at: *const i8) {
    let _ = at;
    #[cfg(not(miri))]
    // SAFETY: every x86-64 machine has it, and it faults at no address.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(at);
    }
}

/// Copies the whole vectors of 16 bytes that `src` begins with, bypassing the cache, and returns how many **bytes** that were.
///
/// # Safety
/// `dst` is valid for writing `src.len()` bytes, does not overlap `src`, and is at a multiple of 16.
pub(in crate::simd) unsafe fn stream_vectors(src: &[u8], dst: *mut u8) -> usize {
    let whole = if cfg!(miri) { 0 } else { src.len() / 16 * 16 };
    for at in (0..whole).step_by(16) {
        // SAFETY: 16 bytes within both, by the caller's promise; SSE2 is in the baseline.
        unsafe {
            let piece = _mm_loadu_si128(src.as_ptr().add(at).cast());
            _mm_stream_si128(dst.add(at).cast(), piece);
        }
    }
    whole
}

/// As [`simd::stream_fence`](crate::simd::stream_fence).
pub(in crate::simd) fn stream_fence() {
    #[cfg(not(miri))]
    // SAFETY: a fence accesses no memory, and every x86-64 machine has it.
    unsafe {
        _mm_sfence();
    }
}
