//! The vector instructions that this process uses, and proofs that the machine has them.
//!
//! A proof is a zero-sized value whose field is private to this module. Only [`level`] makes one, after it has detected the
//! instructions. So a function that takes an [`Avx512`], or a vector made from one, cannot run on a machine without AVX-512.

use std::sync::OnceLock;

/// Proof that the machine has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

/// Proof that the machine has AVX-512 F, BW, DQ and VL, and everything that [`Avx2`] proves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

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
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2(_) => "avx2",
            Level::Avx512(_) => "avx512",
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
}

/// The vector instructions that a kernel cannot run without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isa {
    /// None beyond the compilation target: it runs on every machine.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Isa {
    /// Whether this process uses them: the machine has them, and `ONEDNN_MAX_CPU_ISA` allows them.
    #[inline]
    pub fn is_here(self) -> bool {
        match self {
            Isa::Baseline => true,
            Isa::Avx2 => level().avx2().is_some(),
            Isa::Avx512 => level().avx512().is_some(),
        }
    }
}

/// The widest vectors that the machine has and `ONEDNN_MAX_CPU_ISA` allows: the variable limits this crate's kernels as it
/// limits oneDNN.
#[inline]
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| machine(allowed_bits(std::env::var("ONEDNN_MAX_CPU_ISA").ok().as_deref())))
}

/// The widest vectors of at most `bits` bits. The only function that makes proofs.
#[cfg(target_arch = "x86_64")]
fn machine(bits: usize) -> Level {
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

#[cfg(not(target_arch = "x86_64"))]
fn machine(_: usize) -> Level {
    Level::Baseline
}

/// The names are oneDNN's. A name that oneDNN does not know limits neither oneDNN nor this crate.
fn allowed_bits(name: Option<&str>) -> usize {
    match name.map(str::to_ascii_uppercase).as_deref() {
        Some("SSE41" | "AVX") => 128,
        Some("AVX2" | "AVX2_VNNI" | "AVX2_VNNI_2") => 256,
        _ => 512,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_what_was_found_and_no_more_than_is_allowed() {
        assert_eq!(machine(128).name(), "baseline");
        assert!(machine(128).avx2().is_none() && machine(256).avx512().is_none());
        #[cfg(target_arch = "x86_64")]
        {
            assert_eq!(
                machine(256).avx2().is_some(),
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
            );
            if machine(512).avx512().is_some() {
                assert!(is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"));
                assert!(is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl"));
            }
        }
        let bits =
            [None, Some("sse41"), Some("AVX"), Some("avx2_vnni"), Some("AVX512_CORE"), Some("none such")];
        assert_eq!(bits.map(allowed_bits), [512, 128, 128, 256, 512, 512]);
    }
}
