//! Which vector instructions this process uses.

use std::sync::OnceLock;

use super::arch::{Level, detect};

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
    /// What `Avx512` is, and AVX-512's products of bfloat16.
    Avx512Bf16,
}

impl Isa {
    /// Whether this process uses them: the machine has them, and `ONEDNN_MAX_CPU_ISA` allows them.
    #[inline]
    pub fn is_here(self) -> bool {
        match self {
            Isa::Avx512Bf16 => has_bf16(),
            other => level().has(other),
        }
    }
}

/// The widest vectors that the machine has and `ONEDNN_MAX_CPU_ISA` allows: the variable limits this crate's kernels as it
/// limits oneDNN.
#[inline]
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| detect(allowed_bits(std::env::var("ONEDNN_MAX_CPU_ISA").ok().as_deref())))
}

/// Whether the machine has products of bfloat16, and `ONEDNN_MAX_CPU_ISA` allows them.
fn has_bf16() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let allowed = allows_bf16(std::env::var("ONEDNN_MAX_CPU_ISA").ok().as_deref());
        allowed && level().has(Isa::Avx512Bf16)
    })
}

/// As [`allowed_bits`].
fn allows_bf16(name: Option<&str>) -> bool {
    let narrower = ["AVX512_CORE", "AVX512_CORE_VNNI"];
    allowed_bits(name) == 512
        && !name.is_some_and(|name| narrower.iter().any(|n| n.eq_ignore_ascii_case(name)))
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
    fn the_variable_has_the_names_of_the_engine() {
        let bits =
            [None, Some("sse41"), Some("AVX"), Some("avx2_vnni"), Some("AVX512_CORE"), Some("none such")];
        assert_eq!(bits.map(allowed_bits), [512, 128, 128, 256, 512, 512]);
        let bf16 = [
            None,
            Some("avx512_core"),
            Some("AVX512_CORE_VNNI"),
            Some("avx512_core_bf16"),
            Some("AVX2_VNNI_2"),
        ];
        assert_eq!(bf16.map(allows_bf16), [true, false, false, true, false]);
    }
}
