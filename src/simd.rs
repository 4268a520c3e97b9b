//! One loop, compiled for AVX-512, AVX2 and the baseline; the machine's instruction set selects.
//!
//! A [`Loop`] holds the loop's data; [`dispatch`] runs it with the widest vectors that this machine has. Its `run`, and
//! everything that it calls, must be `#[inline(always)]` (or small enough that the compiler inlines it): code that is not
//! inlined is compiled for the baseline. A closure cannot have that attribute; a function can. Loops are plain Rust over
//! slices; only the block transpose below and [`vectors`] use intrinsics.

mod level;
pub(crate) mod vectors;

pub use level::Isa;
pub(crate) use level::{Avx2, Avx512, Level, level};

/// Work whose inner loop the compiler vectorises. `run` is `#[inline(always)]`.
pub(crate) trait Loop {
    /// The loop's result.
    type Out;
    /// Runs the loop.
    fn run(self) -> Self::Out;
}

/// Stops LLVM from vectorising the enclosing loop with gathers, which would run several of its iterations at once. Emits no
/// code.
#[inline(always)]
pub(crate) fn barrier() {
    std::hint::black_box(());
}

/// Runs the loop with the widest vectors of this machine.
#[inline]
pub(crate) fn dispatch<L: Loop>(l: L) -> L::Out {
    #[cfg(target_arch = "x86_64")]
    match level() {
        Level::Avx512(proof) => return proof.run(l),
        Level::Avx2(proof) => return proof.run(l),
        Level::Baseline => {}
    }
    l.run()
}

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// Runs the loop compiled for AVX-512.
    #[inline]
    fn run<L: Loop>(self, l: L) -> L::Out {
        // SAFETY: a proof exists only if every feature that the function enables was detected.
        unsafe { x86::avx512(l) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// Runs the loop compiled for AVX2.
    #[inline]
    fn run<L: Loop>(self, l: L) -> L::Out {
        // SAFETY: as above.
        unsafe { x86::avx2(l) }
    }
}

/// Asks for the memory `bytes` behind the start of a slice, whoever has it: a hint, which accesses nothing.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let mut at = slice.as_ptr().cast::<i8>().wrapping_add(bytes);
        for _ in 0..size_of_val(slice).div_ceil(64) {
            // SAFETY: every x86-64 machine has it, and it faults at no address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
            at = at.wrapping_add(64);
        }
    }
    let _ = (slice, bytes);
}

/// Marks the end of the body of a loop over short arrays (the lanes of a block) whose inner loops must become vectors. The
/// compiler unrolls the inner loops first, and would otherwise vectorise the outer loop with gathers and scatters. Emits no
/// code.
#[inline(always)]
pub(crate) fn end_of_chunk() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

/// The edge of the square block that [`transpose`] transposes at once for elements of this size, or `None` if this machine
/// has no such kernel.
pub(crate) fn transpose_edge(element_bytes: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    match (element_bytes, level()) {
        (4, Level::Avx512(_)) => return Some(16),
        (4, Level::Avx2(_)) => return Some(8),
        (2, _) => return Some(8),
        _ => {}
    }
    let _ = element_bytes;
    None
}

/// Transposes one square block: `dst[i * dst_stride + j] = src[j * src_stride + i]` for `i`, `j` below [`transpose_edge`].
/// With `stream`, stores of whole cache lines bypass the cache if the machine supports it; the caller then calls
/// [`stream_fence`] at the end.
///
/// # Safety
/// `transpose_edge(size_of::<T>())` is `Some(edge)`; `src` is valid for reading and `dst` for writing at the
/// elements above, and the two do not overlap.
#[inline]
pub(crate) unsafe fn transpose<T: Copy>(
    src: *const T,
    src_stride: usize,
    dst: *mut T,
    dst_stride: usize,
    stream: bool,
) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise; `transpose_edge` is `Some` only for these sizes and levels.
    unsafe {
        match (size_of::<T>(), level()) {
            (4, Level::Avx512(_)) => x86::t16x32(src.cast(), src_stride, dst.cast(), dst_stride, stream),
            (4, Level::Avx2(_)) => x86::t8x32(src.cast(), src_stride, dst.cast(), dst_stride),
            (2, _) => x86::t8x16(src.cast(), src_stride, dst.cast(), dst_stride),
            _ => unreachable!("transpose_edge is None"),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (src, src_stride, dst, dst_stride, stream);
        unreachable!("transpose_edge is None")
    }
}

/// Copies `src` to `dst`, bypassing the cache if the machine supports it; the caller then calls [`stream_fence`] at the end.
///
/// # Safety
/// `dst` is valid for writing `src.len()` bytes and does not overlap `src`.
pub(crate) unsafe fn stream_copy(src: &[u8], dst: *mut u8) {
    // Plain stores up to the first whole line; then 16 bytes at a time, bypassing the cache; then plain stores for the rest.
    let head = dst.align_offset(64).min(src.len());
    let streams = cfg!(all(target_arch = "x86_64", not(miri)));
    let whole = if streams { (src.len() - head) / 16 * 16 } else { 0 };
    let (first, rest) = src.split_at(head);
    let (streamed, last) = rest.split_at(whole);
    // SAFETY: the three parts of `src` are copied to the same offsets of `dst`; the second starts at a multiple of 16.
    unsafe {
        std::ptr::copy_nonoverlapping(first.as_ptr(), dst, head);
        #[cfg(target_arch = "x86_64")]
        for at in (0..whole).step_by(16) {
            use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
            let piece = _mm_loadu_si128(streamed.as_ptr().add(at).cast());
            _mm_stream_si128(dst.add(head + at).cast(), piece);
        }
        let _ = streamed;
        std::ptr::copy_nonoverlapping(last.as_ptr(), dst.add(head + whole), last.len());
    }
}

/// Makes streamed stores of this thread visible before anything that follows.
pub(crate) fn stream_fence() {
    // Miri supports neither these stores nor the fence.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a fence accesses no memory, and every x86-64 machine has it.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Loop;
    use std::arch::x86_64::*;

    /// # Safety
    /// The machine has the features.
    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) unsafe fn avx512<L: Loop>(l: L) -> L::Out {
        l.run()
    }

    /// # Safety
    /// The machine has the features.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn avx2<L: Loop>(l: L) -> L::Out {
        l.run()
    }

    /// 16 x 16 elements of 4 bytes.
    ///
    /// # Safety
    /// As [`super::transpose`], with an edge of 16, and the machine has AVX-512.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn t16x32(s: *const i32, ss: usize, d: *mut i32, ds: usize, stream: bool) {
        let mut r = [_mm512_setzero_si512(); 16];
        for (j, row) in r.iter_mut().enumerate() {
            // SAFETY: 16 rows of 16 elements at `s`, by the caller's promise.
            *row = unsafe { _mm512_loadu_si512(s.add(j * ss).cast()) };
        }
        let mut t = r;
        for i in 0..8 {
            t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        // q[4g + k], 128-bit lane l: column 4l + k of rows 4g to 4g + 3.
        let mut q = t;
        for g in 0..4 {
            q[4 * g] = _mm512_unpacklo_epi64(t[4 * g], t[4 * g + 2]);
            q[4 * g + 1] = _mm512_unpackhi_epi64(t[4 * g], t[4 * g + 2]);
            q[4 * g + 2] = _mm512_unpacklo_epi64(t[4 * g + 1], t[4 * g + 3]);
            q[4 * g + 3] = _mm512_unpackhi_epi64(t[4 * g + 1], t[4 * g + 3]);
        }
        let mut o = q;
        for k in 0..4 {
            let ab_even = _mm512_shuffle_i32x4::<0x88>(q[k], q[4 + k]);
            let ab_odd = _mm512_shuffle_i32x4::<0xdd>(q[k], q[4 + k]);
            let cd_even = _mm512_shuffle_i32x4::<0x88>(q[8 + k], q[12 + k]);
            let cd_odd = _mm512_shuffle_i32x4::<0xdd>(q[8 + k], q[12 + k]);
            o[k] = _mm512_shuffle_i32x4::<0x88>(ab_even, cd_even);
            o[4 + k] = _mm512_shuffle_i32x4::<0x88>(ab_odd, cd_odd);
            o[8 + k] = _mm512_shuffle_i32x4::<0xdd>(ab_even, cd_even);
            o[12 + k] = _mm512_shuffle_i32x4::<0xdd>(ab_odd, cd_odd);
        }
        let aligned = (d as usize).is_multiple_of(64) && ds.is_multiple_of(16);
        for (i, &row) in o.iter().enumerate() {
            // SAFETY: 16 rows of 16 elements at `d`, by the caller's promise; aligned if streamed.
            unsafe {
                let to = d.add(i * ds);
                if stream && aligned {
                    _mm512_stream_si512(to.cast(), row);
                } else {
                    _mm512_storeu_si512(to.cast(), row);
                }
            }
        }
    }

    /// 8 x 8 elements of 4 bytes.
    ///
    /// # Safety
    /// As [`super::transpose`], with an edge of 8, and the machine has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn t8x32(s: *const i32, ss: usize, d: *mut i32, ds: usize) {
        let mut r = [_mm256_setzero_si256(); 8];
        for (j, row) in r.iter_mut().enumerate() {
            // SAFETY: 8 rows of 8 elements at `s`, by the caller's promise.
            *row = unsafe { _mm256_loadu_si256(s.add(j * ss).cast()) };
        }
        let mut t = r;
        for i in 0..4 {
            t[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        // q[4g + k], 128-bit lane l: column 4l + k of rows 4g to 4g + 3.
        let mut q = t;
        for g in 0..2 {
            q[4 * g] = _mm256_unpacklo_epi64(t[4 * g], t[4 * g + 2]);
            q[4 * g + 1] = _mm256_unpackhi_epi64(t[4 * g], t[4 * g + 2]);
            q[4 * g + 2] = _mm256_unpacklo_epi64(t[4 * g + 1], t[4 * g + 3]);
            q[4 * g + 3] = _mm256_unpackhi_epi64(t[4 * g + 1], t[4 * g + 3]);
        }
        for k in 0..4 {
            // SAFETY: 8 rows of 8 elements at `d`, by the caller's promise.
            unsafe {
                let low = _mm256_permute2x128_si256::<0x20>(q[k], q[4 + k]);
                let high = _mm256_permute2x128_si256::<0x31>(q[k], q[4 + k]);
                _mm256_storeu_si256(d.add(k * ds).cast(), low);
                _mm256_storeu_si256(d.add((4 + k) * ds).cast(), high);
            }
        }
    }

    /// 8 x 8 elements of 2 bytes, with the baseline's SSE2.
    ///
    /// # Safety
    /// As [`super::transpose`], with an edge of 8.
    pub(super) unsafe fn t8x16(s: *const i16, ss: usize, d: *mut i16, ds: usize) {
        // SAFETY: 8 rows of 8 elements at `s` and at `d`, by the caller's promise; SSE2 is in the baseline.
        unsafe {
            let r: [__m128i; 8] = std::array::from_fn(|j| _mm_loadu_si128(s.add(j * ss).cast()));
            let mut t = r;
            for i in 0..4 {
                t[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
                t[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
            }
            // q[4g + k]: columns 2k and 2k + 1 of rows 4g to 4g + 3.
            let mut q = t;
            for g in 0..2 {
                q[4 * g] = _mm_unpacklo_epi32(t[4 * g], t[4 * g + 2]);
                q[4 * g + 1] = _mm_unpackhi_epi32(t[4 * g], t[4 * g + 2]);
                q[4 * g + 2] = _mm_unpacklo_epi32(t[4 * g + 1], t[4 * g + 3]);
                q[4 * g + 3] = _mm_unpackhi_epi32(t[4 * g + 1], t[4 * g + 3]);
            }
            for k in 0..4 {
                _mm_storeu_si128(d.add(2 * k * ds).cast(), _mm_unpacklo_epi64(q[k], q[4 + k]));
                _mm_storeu_si128(d.add((2 * k + 1) * ds).cast(), _mm_unpackhi_epi64(q[k], q[4 + k]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Copy + PartialEq + std::fmt::Debug>(make: impl Fn(usize) -> T, stream: bool) {
        let Some(edge) = transpose_edge(size_of::<T>()) else { return };
        let (ss, ds) = (edge + 3, edge * 2);
        let src: Vec<T> = (0..ss * edge).map(&make).collect();
        let mut dst = vec![make(0); ds * edge];
        // SAFETY: both hold `edge` rows of their stride.
        unsafe { transpose(src.as_ptr(), ss, dst.as_mut_ptr(), ds, stream) };
        stream_fence();
        for i in 0..edge {
            for j in 0..edge {
                assert_eq!(dst[i * ds + j], src[j * ss + i], "{i} {j}");
            }
        }
    }

    #[test]
    fn blocks_are_transposed() {
        for stream in [false, true] {
            check(|i| i as u32, stream);
            check(|i| i as u16, stream);
        }
    }

    #[test]
    fn streamed_copies_are_whole_at_every_alignment() {
        let src: Vec<u8> = (0..=255).collect();
        for start in 0..70 {
            for length in [0, 1, 15, 16, 63, 64, 100, 186] {
                let mut dst = vec![7u8; 256];
                // SAFETY: start + length is at most 255.
                unsafe { stream_copy(&src[..length], dst.as_mut_ptr().add(start)) };
                stream_fence();
                assert_eq!(dst[start..start + length], src[..length]);
                assert!(dst[..start].iter().chain(&dst[start + length..]).all(|&b| b == 7));
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_narrower_transpose_agrees() {
        if level().avx2().is_none() {
            return;
        }
        let src: Vec<i32> = (0..64).collect();
        let mut dst = [0i32; 64];
        // SAFETY: 8 rows of 8 elements on both sides; AVX2 was detected.
        unsafe { x86::t8x32(src.as_ptr(), 8, dst.as_mut_ptr(), 8) };
        assert!((0..64).all(|i| dst[i] == src[i % 8 * 8 + i / 8]));
    }

    #[test]
    fn a_loop_runs_and_gives_its_result_back() {
        struct Sum<'a>(&'a [i32]);
        impl Loop for Sum<'_> {
            type Out = i32;
            #[inline(always)]
            fn run(self) -> i32 {
                self.0.iter().sum()
            }
        }
        assert_eq!(dispatch(Sum(&[1, 2, 3])), 6);
    }
}
