//! Square blocks, transposed in registers.

use std::arch::x86_64::*;

use super::level::Level;
use crate::simd::level;

/// As [`simd::transpose_edge`](crate::simd::transpose_edge).
pub(in crate::simd) fn transpose_edge(element_bytes: usize) -> Option<usize> {
    match (element_bytes, level()) {
        (4, Level::Avx512(_)) => Some(16),
        (4, Level::Avx2(_)) => Some(8),
        (2, _) => Some(8),
        _ => None,
    }
}

/// As [`simd::transpose`](crate::simd::transpose).
///
/// # Safety
/// As there.
#[inline]
pub(in crate::simd) unsafe fn transpose<T: Copy>(
    src: *const T,
    src_stride: usize,
    dst: *mut T,
    dst_stride: usize,
    stream: bool,
) {
    // SAFETY: the caller's promise; `transpose_edge` is `Some` only for these sizes and levels.
    unsafe {
        match (size_of::<T>(), level()) {
            (4, Level::Avx512(_)) => t16x32(src.cast(), src_stride, dst.cast(), dst_stride, stream),
            (4, Level::Avx2(_)) => t8x32(src.cast(), src_stride, dst.cast(), dst_stride),
            (2, _) => t8x16(src.cast(), src_stride, dst.cast(), dst_stride),
            _ => unreachable!("transpose_edge is None"),
        }
    }
}

/// 16 x 16 elements of 4 bytes.
///
/// # Safety
/// As [`transpose`], with an edge of 16, and the machine has AVX-512.
#[target_feature(enable = "avx512f")]
unsafe fn t16x32(s: *const i32, ss: usize, d: *mut i32, ds: usize, stream: bool) {
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
/// As [`transpose`], with an edge of 8, and the machine has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn t8x32(s: *const i32, ss: usize, d: *mut i32, ds: usize) {
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
/// As [`transpose`], with an edge of 8.
unsafe fn t8x16(s: *const i16, ss: usize, d: *mut i16, ds: usize) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrower_transpose_agrees() {
        if level().avx2().is_none() {
            return;
        }
        let src: Vec<i32> = (0..64).collect();
        let mut dst = [0i32; 64];
        // SAFETY: 8 rows of 8 elements on both sides; AVX2 was detected.
        unsafe { t8x32(src.as_ptr(), 8, dst.as_mut_ptr(), 8) };
        assert!((0..64).all(|i| dst[i] == src[i % 8 * 8 + i / 8]));
    }
}
