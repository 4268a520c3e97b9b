//! Byte vectors of AVX2, two registers each, with AVX-VNNI and without.

use std::arch::x86_64::*;

use crate::simd::Loop;
use crate::simd::bytes::ByteVector;
use crate::simd::x86::level::{Avx2, AvxVnni};

/// How four products are added to each sum.
///
/// # Safety
/// There are values only where the machine has AVX2.
pub(super) unsafe trait Products: Copy {
    /// Adds to each sum four products, of an unsigned byte of `src` and a signed byte of `weights`.
    fn add(self, sums: __m256i, src: __m256i, weights: __m256i) -> __m256i;
    /// Runs a loop in a function of its own, with these instructions.
    fn apart<L: Loop<Out = ()>>(self, l: L);
}

// SAFETY: a proof of AVX2, and of more.
unsafe impl Products for AvxVnni {
    #[inline(always)]
    fn add(self, sums: __m256i, src: __m256i, weights: __m256i) -> __m256i {
        // SAFETY: the proof.
        unsafe { _mm256_dpbusd_avx_epi32(sums, src, weights) }
    }
    #[inline(always)]
    fn apart<L: Loop<Out = ()>>(self, l: L) {
        self.run(l);
    }
}

// SAFETY: a proof of AVX2.
unsafe impl Products for Avx2 {
    /// Bytes become words, whose products are added in pairs, with 32 bits: nothing saturates.
    #[inline(always)]
    fn add(self, sums: __m256i, src: __m256i, weights: __m256i) -> __m256i {
        // SAFETY: the proof.
        unsafe {
            let even = _mm256_and_si256(src, _mm256_set1_epi16(0xff));
            let even = _mm256_madd_epi16(even, _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(weights)));
            let odd = _mm256_madd_epi16(_mm256_srli_epi16::<8>(src), _mm256_srai_epi16::<8>(weights));
            _mm256_add_epi32(_mm256_add_epi32(sums, even), odd)
        }
    }
    #[inline(always)]
    fn apart<L: Loop<Out = ()>>(self, l: L) {
        self.run(l);
    }
}

/// Lanes 0 to 7, and 8 to 15. Only made from a proof of AVX2, which it keeps.
#[derive(Clone, Copy)]
pub(super) struct Bytes256<P>(__m256i, __m256i, P);

impl<P: Products> ByteVector for Bytes256<P> {
    type Proof = P;
    const SUMS: usize = 6;
    #[inline(always)]
    fn apart<L: Loop<Out = ()>>(proof: P, l: L) {
        proof.apart(l);
    }
    #[inline(always)]
    fn load(proof: P, sums: &[i32; 16]) -> Self {
        let at: *const __m256i = sums.as_ptr().cast();
        // SAFETY: the proof; 8 elements twice.
        unsafe { Bytes256(_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1)), proof) }
    }
    #[inline(always)]
    fn store(self, to: &mut [i32; 16]) {
        let at: *mut __m256i = to.as_mut_ptr().cast();
        // SAFETY: the proof; 8 elements twice.
        unsafe {
            _mm256_storeu_si256(at, self.0);
            _mm256_storeu_si256(at.add(1), self.1);
        }
    }
    #[inline(always)]
    fn bytes(proof: P, x: &[u8; 64]) -> Self {
        let at: *const __m256i = x.as_ptr().cast();
        // SAFETY: the proof; 32 bytes twice.
        unsafe { Bytes256(_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1)), proof) }
    }
    #[inline(always)]
    fn splat(proof: P, x: [u8; 4]) -> Self {
        // SAFETY: the proof.
        let all = unsafe { _mm256_set1_epi32(i32::from_ne_bytes(x)) };
        Bytes256(all, all, proof)
    }
    type Order = ();
    #[inline(always)]
    fn order(_: P) {}
    #[inline(always)]
    fn pixels(proof: P, (): (), x: &[u8; 64]) -> Self {
        let Bytes256(first, second, _) = Self::bytes(proof, x);
        // SAFETY: the proof. Each half has two pixels of four quads of channels. Pairs of pixels of a quad come together, then
        // all four pixels, quads 0 and 1 in one vector, 2 and 3 in the other; and each quad is transposed.
        unsafe {
            let together = _mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7);
            let first = _mm256_permutevar8x32_epi32(first, together);
            let second = _mm256_permutevar8x32_epi32(second, together);
            let across = _mm256_broadcastsi128_si256(_mm_setr_epi32(
                0x0c08_0400,
                0x0d09_0501,
                0x0e0a_0602,
                0x0f0b_0703,
            ));
            let low = _mm256_shuffle_epi8(_mm256_unpacklo_epi64(first, second), across);
            let high = _mm256_shuffle_epi8(_mm256_unpackhi_epi64(first, second), across);
            Bytes256(low, high, proof)
        }
    }
    #[inline(always)]
    fn add_products(self, src: Self, weights: Self) -> Self {
        let Bytes256(low, high, proof) = self;
        Bytes256(proof.add(low, src.0, weights.0), proof.add(high, src.1, weights.1), proof)
    }
    #[inline(always)]
    fn widened(proof: P, x: &[u8; 16], is_signed: bool) -> Self {
        // SAFETY: the proof; 16 bytes.
        unsafe {
            let low = _mm_loadu_si128(x.as_ptr().cast());
            let high = _mm_unpackhi_epi64(low, low);
            match is_signed {
                true => Bytes256(_mm256_cvtepi8_epi32(low), _mm256_cvtepi8_epi32(high), proof),
                false => Bytes256(_mm256_cvtepu8_epi32(low), _mm256_cvtepu8_epi32(high), proof),
            }
        }
    }
    #[inline(always)]
    fn add_integers(self, other: Self) -> Self {
        // SAFETY: the proof.
        unsafe { Bytes256(_mm256_add_epi32(self.0, other.0), _mm256_add_epi32(self.1, other.1), self.2) }
    }
    #[inline(always)]
    fn to_f32(self) -> Self {
        // SAFETY: the proof.
        unsafe { self.with(_mm256_cvtepi32_ps(self.0), _mm256_cvtepi32_ps(self.1)) }
    }
    #[inline(always)]
    fn numbers(proof: P, x: &[f32; 16]) -> Self {
        let at: *const __m256i = x.as_ptr().cast();
        // SAFETY: the proof; 8 elements twice.
        unsafe { Bytes256(_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1)), proof) }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.as_numbers(), other.as_numbers());
        // SAFETY: the proof.
        unsafe { self.with(_mm256_add_ps(a, c), _mm256_add_ps(b, d)) }
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.as_numbers(), other.as_numbers());
        // SAFETY: the proof.
        unsafe { self.with(_mm256_mul_ps(a, c), _mm256_mul_ps(b, d)) }
    }
    #[inline(always)]
    fn within(self, low: f32, high: f32) -> Self {
        let [a, b] = self.as_numbers();
        self.with(within(self.2, a, low, high), within(self.2, b, low, high))
    }
    #[inline(always)]
    fn rounded(four: [Self; 4], zero_point: i32, is_signed: bool) -> [u8; 64] {
        let [a, b, c, d] = four;
        let mut to = [0; 64];
        let at: *mut __m256i = to.as_mut_ptr().cast();
        // SAFETY: the proof; 32 bytes twice.
        unsafe {
            let zero_point = _mm256_set1_epi16(zero_point as i16);
            let first = pair(a, b, zero_point, is_signed);
            let second = pair(c, d, zero_point, is_signed);
            _mm256_storeu_si256(at, first);
            _mm256_storeu_si256(at.add(1), second);
        }
        to
    }
}

impl<P: Products> Bytes256<P> {
    #[inline(always)]
    fn with(self, low: __m256, high: __m256) -> Self {
        // SAFETY: the proof.
        unsafe { Bytes256(_mm256_castps_si256(low), _mm256_castps_si256(high), self.2) }
    }
    #[inline(always)]
    fn as_numbers(self) -> [__m256; 2] {
        // SAFETY: the proof.
        unsafe { [_mm256_castsi256_ps(self.0), _mm256_castsi256_ps(self.1)] }
    }
}

#[inline(always)]
fn within<P: Products>(_: P, x: __m256, low: f32, high: f32) -> __m256 {
    // SAFETY: the proof. Of equal numbers both instructions take the second.
    unsafe {
        let is_number = _mm256_cmp_ps::<_CMP_ORD_Q>(x, x);
        let x = _mm256_and_ps(is_number, _mm256_max_ps(x, _mm256_set1_ps(low)));
        _mm256_min_ps(x, _mm256_set1_ps(high))
    }
}

/// The bytes of two pixels.
#[inline(always)]
fn pair<P: Products>(a: Bytes256<P>, b: Bytes256<P>, zero_point: __m256i, is_signed: bool) -> __m256i {
    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    let ([a, b], [c, d]) = (a.as_numbers(), b.as_numbers());
    // SAFETY: the proof.
    unsafe {
        let [a, b, c, d] = [
            _mm256_cvtps_epi32(_mm256_round_ps::<NEAREST>(a)),
            _mm256_cvtps_epi32(_mm256_round_ps::<NEAREST>(b)),
            _mm256_cvtps_epi32(_mm256_round_ps::<NEAREST>(c)),
            _mm256_cvtps_epi32(_mm256_round_ps::<NEAREST>(d)),
        ];
        // Zero points are small: words hold the sums of all that bytes do, and saturate beyond.
        let first = _mm256_adds_epi16(_mm256_packs_epi32(a, b), zero_point);
        let second = _mm256_adds_epi16(_mm256_packs_epi32(c, d), zero_point);
        let bytes =
            if is_signed { _mm256_packs_epi16(first, second) } else { _mm256_packus_epi16(first, second) };
        // Each half has quads 0 and 2, or 1 and 3, of both pixels.
        _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
    }
}
