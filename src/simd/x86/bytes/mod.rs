//! The byte vectors of x86-64: AVX-512 with VNNI, or AVX2 with AVX-VNNI and without. The baseline runs plain loops.

mod narrow;
mod wide;

use std::arch::x86_64::*;

use self::narrow::Bytes256;
use self::wide::Vnni;
use super::level::Avx512Vbmi;
use crate::simd::Loop;
use crate::simd::bytes::{ByteLoop, ByteVector, PlainBytes, lookup_each};

/// The vectors of a loop, by their proof.
struct Over<V: ByteVector>(V::Proof);

impl<L: ByteLoop, V: ByteVector> Loop for (L, Over<V>) {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        self.0.run::<V>(self.1.0);
    }
}

/// Runs the loop with the byte vectors of this machine.
pub(in crate::simd) fn dispatch_bytes<L: ByteLoop>(l: L) {
    let level = crate::simd::level();
    if let Some(proof) = level.avx512_vnni() {
        return proof.run((l, Over::<Vnni>(proof)));
    }
    if let Some(proof) = level.avx_vnni() {
        return proof.run((l, Over::<Bytes256<_>>(proof)));
    }
    match level.avx2() {
        Some(proof) => proof.run((l, Over::<Bytes256<_>>(proof))),
        None => l.run::<PlainBytes>(()),
    }
}

/// `to[i] = table[x[i]]`, for as many as both have.
pub(in crate::simd) fn lookup(table: &[u8; 256], x: &[u8], to: &mut [u8]) {
    match crate::simd::level().avx512_vbmi() {
        // SAFETY: the proof.
        Some(proof) => unsafe { lookup_vbmi(proof, table, x, to) },
        None => lookup_each(table, x, to),
    }
}

/// # Safety
/// The machine has the features, which the proof says.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn lookup_vbmi(_: Avx512Vbmi, table: &[u8; 256], x: &[u8], to: &mut [u8]) {
    let (parts, _) = table.as_chunks::<64>();
    // SAFETY: 64 bytes each.
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| unsafe { _mm512_loadu_si512(parts[i].as_ptr().cast()) });
    let ((x, x_rest), (to, to_rest)) = (x.as_chunks::<64>(), to.as_chunks_mut::<64>());
    for (x, to) in x.iter().zip(to) {
        // SAFETY: 64 bytes.
        let index = unsafe { _mm512_loadu_si512(x.as_ptr().cast()) };
        // Seven bits of the index choose among two parts, the eighth among the pairs.
        let low = _mm512_permutex2var_epi8(a, index, b);
        let high = _mm512_permutex2var_epi8(c, index, d);
        let found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high);
        // SAFETY: 64 bytes.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), found) };
    }
    lookup_each(table, x_rest, to_rest);
}
