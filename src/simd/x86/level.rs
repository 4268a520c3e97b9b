//! The vector instructions of x86-64, and proofs that the machine has them.
//!
//! A proof is a zero-sized value whose field is private to this module. Only [`detect`] makes one, after it has detected the
//! instructions. So a function that takes an [`Avx512`], or a vector made from one, cannot run on a machine without AVX-512.

use crate::simd::level::allowed;
use crate::simd::{Isa, VectorUnit};

/// The baseline: 16 registers of 128 bits.
pub(super) const SSE2: VectorUnit = VectorUnit { lanes: 4, registers: 16 };
/// 16 registers of 256 bits.
pub(super) const AVX2: VectorUnit = VectorUnit { lanes: 8, registers: 16 };
/// 32 registers of 512 bits, or of less.
pub(super) const AVX512: VectorUnit = VectorUnit { lanes: 16, registers: 32 };

/// Proof that the machine has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

/// Proof that the machine has products of bytes in vectors of 256 bits (AVX-VNNI), and everything that [`Avx2`] proves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AvxVnni(());

/// Proof that the machine has AVX-512 F, BW, DQ and VL, and everything that [`Avx2`] proves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

/// Proof that the machine has AVX-512's products of bytes, and everything that [`Avx512`] proves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512Vnni(());

/// Proof that the machine has AVX-512's permutations of bytes (VBMI), and everything that [`Avx512`] proves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512Vbmi(());

impl From<Avx512> for Avx2 {
    #[inline(always)]
    fn from(_: Avx512) -> Avx2 {
        Avx2(())
    }
}

/// The vectors that this process uses, with the proof that the machine has them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    /// What the compilation target guarantees.
    Baseline,
    /// 256 bits, with FMA.
    Avx2(Avx2),
    /// 512 bits.
    Avx512(Avx512),
}

impl Level {
    /// Whether it has these instructions.
    #[inline]
    pub(crate) fn has(self, isa: Isa) -> bool {
        match isa {
            Isa::Baseline => true,
            Isa::Avx2 => self.avx2().is_some(),
            Isa::AvxVnni => self.avx_vnni().is_some(),
            Isa::Avx512 => self.avx512().is_some(),
            Isa::Avx512Vnni => self.avx512_vnni().is_some(),
            Isa::Avx512Bf16 => {
                self.avx512().is_some() && is_x86_feature_detected!("avx512bf16") && allowed().avx512_bf16
            }
        }
    }

    /// Its name, for logs and files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2(_) => "avx2",
            Level::Avx512(_) => "avx512",
        }
    }

    /// The registers of its vectors.
    pub(in crate::simd) fn unit(self) -> VectorUnit {
        match self {
            Level::Baseline => SSE2,
            Level::Avx2(_) => AVX2,
            Level::Avx512(_) => AVX512,
        }
    }

    /// The proof of AVX2; machines with AVX-512 have AVX2 too.
    #[inline]
    pub(crate) fn avx2(self) -> Option<Avx2> {
        match self {
            Level::Baseline => None,
            Level::Avx2(proof) => Some(proof),
            Level::Avx512(proof) => Some(proof.into()),
        }
    }

    /// The proof of AVX-512.
    #[inline]
    pub(crate) fn avx512(self) -> Option<Avx512> {
        match self {
            Level::Avx512(proof) => Some(proof),
            Level::Baseline | Level::Avx2(_) => None,
        }
    }

    /// The proof of AVX-VNNI, if `ONEDNN_MAX_CPU_ISA` allows it.
    #[inline]
    pub(crate) fn avx_vnni(self) -> Option<AvxVnni> {
        let found = is_x86_feature_detected!("avxvnni") && allowed().avx_vnni;
        self.avx2().filter(|_| found).map(|_| AvxVnni(()))
    }

    /// The proof of AVX-512's products of bytes, if `ONEDNN_MAX_CPU_ISA` allows them.
    #[inline]
    pub(crate) fn avx512_vnni(self) -> Option<Avx512Vnni> {
        let found = is_x86_feature_detected!("avx512vnni") && allowed().avx512_vnni;
        self.avx512().filter(|_| found).map(|_| Avx512Vnni(()))
    }

    /// The proof of AVX-512's permutations of bytes. oneDNN has no name for them: they are allowed where the products are.
    #[inline]
    pub(crate) fn avx512_vbmi(self) -> Option<Avx512Vbmi> {
        let found = is_x86_feature_detected!("avx512vbmi");
        self.avx512_vnni().filter(|_| found).map(|_| Avx512Vbmi(()))
    }
}

/// The widest vectors of at most `bits` bits. It, [`Level::avx_vnni`], [`Level::avx512_vnni`] and
/// [`Level::avx512_vbmi`] alone make proofs.
pub(in crate::simd) fn detect(bits: usize) -> Level {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match () {
        () if avx2 && avx512 && bits >= 512 => Level::Avx512(Avx512(())),
        () if avx2 && bits >= 256 => Level::Avx2(Avx2(())),
        () => Level::Baseline,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_what_was_found_and_no_more_than_is_allowed() {
        assert_eq!(detect(128).name(), "baseline");
        assert!(detect(128).avx2().is_none() && detect(256).avx512().is_none());
        assert_eq!(
            detect(256).avx2().is_some(),
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
        );
        if detect(512).avx512().is_some() {
            assert!(is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"));
            assert!(is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl"));
        }
    }
}
