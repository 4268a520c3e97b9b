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
    /// What `Avx2` is, and products of bytes in vectors of 256 bits (AVX-VNNI).
    AvxVnni,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
    /// What `Avx512` is, and AVX-512's products of bytes.
    Avx512Vnni,
    /// What `Avx512` is, and AVX-512's products of bfloat16.
    Avx512Bf16,
}

impl Isa {
    /// Whether this process uses them: the machine has them, and `ONEDNN_MAX_CPU_ISA` allows them.
    #[inline]
    pub fn is_here(self) -> bool {
        level().has(self)
    }

    /// Whether this process adds products of bytes with one instruction (VNNI), in vectors of 512 bits or 256.
    #[inline]
    pub fn has_byte_products() -> bool {
        Isa::Avx512Vnni.is_here() || Isa::AvxVnni.is_here()
    }
}

/// The widest vectors that the machine has and `ONEDNN_MAX_CPU_ISA` allows: the variable limits this crate's kernels as it
/// limits oneDNN.
#[inline]
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| detect(allowed().bits))
}

/// What `ONEDNN_MAX_CPU_ISA` allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Allowed {
    /// The widest vectors.
    pub bits: usize,
    pub avx_vnni: bool,
    pub avx512_vnni: bool,
    pub avx512_bf16: bool,
    pub amx: bool,
}

pub(super) fn allowed() -> Allowed {
    static ALLOWED: OnceLock<Allowed> = OnceLock::new();
    // As oneDNN asks: also by its former name.
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    *ALLOWED
        .get_or_init(|| Allowed::by(set("ONEDNN_MAX_CPU_ISA").or_else(|| set("DNNL_MAX_CPU_ISA")).as_deref()))
}

impl Allowed {
    /// The names are oneDNN's (its `cpu_isa_traits.hpp`). A name that it does not know limits neither it nor this crate.
    fn by(name: Option<&str>) -> Allowed {
        // Each of a family allows what those before it do.
        const NARROW: [&str; 3] = ["AVX2", "AVX2_VNNI", "AVX2_VNNI_2"];
        const WIDE: [&str; 6] = [
            "AVX512_CORE",
            "AVX512_CORE_VNNI",
            "AVX512_CORE_BF16",
            "AVX512_CORE_FP16",
            "AVX10_1_512",
            "AVX10_2",
        ];
        let name = name.map(str::to_ascii_uppercase).unwrap_or_default();
        let place = |list: &[&str]| list.iter().position(|known| *known == name);
        let (bits, avx_vnni, [avx512_vnni, avx512_bf16, amx]) = match (&*name, place(&NARROW), place(&WIDE)) {
            ("SSE41" | "AVX", ..) => (128, false, [false; 3]),
            (_, Some(at), _) => (256, at > 0, [false; 3]),
            (_, _, Some(at)) => (512, at > 0, [at > 0, at > 1, false]),
            ("AVX10_2_512", ..) => (512, true, [true, true, false]),
            // Those with AMX, and those that are unknown.
            _ => (512, true, [true; 3]),
        };
        Allowed { bits, avx_vnni, avx512_vnni, avx512_bf16, amx }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_has_the_names_of_the_engine() {
        // Bits; AVX-VNNI, AVX-512 VNNI, AVX-512 BF16, AMX.
        let names = [
            (None, 512, [true, true, true, true]),
            (Some("sse41"), 128, [false, false, false, false]),
            (Some("AVX"), 128, [false, false, false, false]),
            (Some("avx2"), 256, [false, false, false, false]),
            (Some("avx2_vnni"), 256, [true, false, false, false]),
            (Some("AVX2_VNNI_2"), 256, [true, false, false, false]),
            (Some("AVX512_CORE"), 512, [false, false, false, false]),
            (Some("AVX512_CORE_VNNI"), 512, [true, true, false, false]),
            (Some("avx512_core_bf16"), 512, [true, true, true, false]),
            (Some("avx512_core_fp16"), 512, [true, true, true, false]),
            (Some("avx10_1_512"), 512, [true, true, true, false]),
            (Some("avx512_core_amx"), 512, [true, true, true, true]),
            (Some("avx10_1_512_amx_fp16"), 512, [true, true, true, true]),
            // oneDNN has no such names.
            (Some("AVX512"), 512, [true, true, true, true]),
            (Some("AVX512_MIC"), 512, [true, true, true, true]),
            (Some("none such"), 512, [true, true, true, true]),
        ];
        for (name, bits, [avx_vnni, avx512_vnni, avx512_bf16, amx]) in names {
            assert_eq!(
                Allowed::by(name),
                Allowed { bits, avx_vnni, avx512_vnni, avx512_bf16, amx },
                "{name:?}"
            );
        }
    }
}
