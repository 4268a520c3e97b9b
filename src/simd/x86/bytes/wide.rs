//! Byte vectors of AVX-512 with VNNI.

use std::arch::x86_64::*;

use crate::simd::Loop;
use crate::simd::bytes::ByteVector;
use crate::simd::x86::level::Avx512Vnni;

/// Made like [`V512`](crate::simd::x86::vectors): only from the proof.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Vnni(__m512i);

impl ByteVector for Vnni {
    type Proof = Avx512Vnni;
    const SUMS: usize = 28;
    #[inline(always)]
    fn apart<L: Loop<Out = ()>>(proof: Avx512Vnni, l: L) {
        proof.run(l);
    }
    #[inline(always)]
    fn load(_: Avx512Vnni, sums: &[i32; 16]) -> Self {
        // SAFETY: the proof; 16 elements.
        Vnni(unsafe { _mm512_loadu_si512(sums.as_ptr().cast()) })
    }
    #[inline(always)]
    fn store(self, to: &mut [i32; 16]) {
        // SAFETY: `self` was made from the proof; 16 elements.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), self.0) }
    }
    #[inline(always)]
    fn bytes(_: Avx512Vnni, x: &[u8; 64]) -> Self {
        // SAFETY: the proof; 64 bytes.
        Vnni(unsafe { _mm512_loadu_si512(x.as_ptr().cast()) })
    }
    #[inline(always)]
    fn splat(_: Avx512Vnni, x: [u8; 4]) -> Self {
        // SAFETY: the proof.
        Vnni(unsafe { _mm512_set1_epi32(i32::from_ne_bytes(x)) })
    }
    type Order = Vnni;
    #[inline(always)]
    fn order(proof: Avx512Vnni) -> Vnni {
        static TOGETHER: [i32; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];
        // If LLVM knows both permutations it makes one of bytes of them, and, without an instruction for it, nine of it.
        Self::load(proof, std::hint::black_box(&TOGETHER))
    }
    #[inline(always)]
    fn pixels(proof: Avx512Vnni, together: Vnni, x: &[u8; 64]) -> Self {
        let quads = Self::bytes(proof, x);
        // SAFETY: the proof. Four channels of the four pixels come into each quarter, and are transposed there.
        Vnni(unsafe {
            let across = _mm512_set4_epi32(0x0f0b_0703, 0x0e0a_0602, 0x0d09_0501, 0x0c08_0400);
            _mm512_shuffle_epi8(_mm512_permutexvar_epi32(together.0, quads.0), across)
        })
    }
    #[inline(always)]
    fn add_products(self, src: Self, weights: Self) -> Self {
        // SAFETY: `self` was made from the proof.
        Vnni(unsafe { _mm512_dpbusd_epi32(self.0, src.0, weights.0) })
    }
    #[inline(always)]
    fn widened(_: Avx512Vnni, x: &[u8; 16], is_signed: bool) -> Self {
        // SAFETY: the proof; 16 bytes.
        Vnni(unsafe {
            let x = _mm_loadu_si128(x.as_ptr().cast());
            if is_signed { _mm512_cvtepi8_epi32(x) } else { _mm512_cvtepu8_epi32(x) }
        })
    }
    #[inline(always)]
    fn add_integers(self, other: Self) -> Self {
        // SAFETY: `self` was made from the proof.
        Vnni(unsafe { _mm512_add_epi32(self.0, other.0) })
    }
    #[inline(always)]
    fn to_f32(self) -> Self {
        // SAFETY: `self` was made from the proof.
        Vnni::of_numbers(unsafe { _mm512_cvtepi32_ps(self.0) })
    }
    #[inline(always)]
    fn numbers(_: Avx512Vnni, x: &[f32; 16]) -> Self {
        // SAFETY: the proof; 16 elements.
        Vnni::of_numbers(unsafe { _mm512_loadu_ps(x.as_ptr()) })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: `self` was made from the proof.
        Vnni::of_numbers(unsafe { _mm512_add_ps(self.as_numbers(), other.as_numbers()) })
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        // SAFETY: `self` was made from the proof.
        Vnni::of_numbers(unsafe { _mm512_mul_ps(self.as_numbers(), other.as_numbers()) })
    }
    #[inline(always)]
    fn within(self, low: f32, high: f32) -> Self {
        let x = self.as_numbers();
        // SAFETY: `self` was made from the proof. Of equal numbers both instructions take the second.
        Vnni::of_numbers(unsafe {
            let is_number = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(x, x);
            _mm512_min_ps(_mm512_maskz_max_ps(is_number, x, _mm512_set1_ps(low)), _mm512_set1_ps(high))
        })
    }
    #[inline(always)]
    fn rounded(four: [Self; 4], zero_point: i32, is_signed: bool) -> [u8; 64] {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        let mut to = [0; 64];
        // SAFETY: the vectors were made from the proof; 64 bytes.
        unsafe {
            // No `map`: its closure would be a call, without the instructions.
            let [a, b, c, d] = [
                _mm512_cvt_roundps_epi32::<NEAREST>(four[0].as_numbers()),
                _mm512_cvt_roundps_epi32::<NEAREST>(four[1].as_numbers()),
                _mm512_cvt_roundps_epi32::<NEAREST>(four[2].as_numbers()),
                _mm512_cvt_roundps_epi32::<NEAREST>(four[3].as_numbers()),
            ];
            // Zero points are small: words hold the sums of all that bytes do, and saturate beyond.
            let zero_point = _mm512_set1_epi16(zero_point as i16);
            let low = _mm512_adds_epi16(_mm512_packs_epi32(a, b), zero_point);
            let high = _mm512_adds_epi16(_mm512_packs_epi32(c, d), zero_point);
            let bytes =
                if is_signed { _mm512_packs_epi16(low, high) } else { _mm512_packus_epi16(low, high) };
            // Each quarter has four channels of all pixels.
            let of_pixels = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_permutexvar_epi32(of_pixels, bytes));
        }
        to
    }
}

impl Vnni {
    #[inline(always)]
    fn of_numbers(x: __m512) -> Vnni {
        // SAFETY: only those who have the proof have such a vector.
        Vnni(unsafe { _mm512_castps_si512(x) })
    }
    #[inline(always)]
    fn as_numbers(self) -> __m512 {
        // SAFETY: `self` was made from the proof.
        unsafe { _mm512_castsi512_ps(self.0) }
    }
}
