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
    *LEVEL.get_or_init(|| detect(allowed_bits(max_cpu_isa().as_deref())))
}

fn max_cpu_isa() -> Option<String> {
    std::env::var("ONEDNN_MAX_CPU_ISA").ok()
}

/// Whether `ONEDNN_MAX_CPU_ISA` allows an extension of AVX-512.
#[cfg(target_arch = "x86_64")]
pub(super) fn allows(extension: Isa) -> bool {
    static ALLOWED: OnceLock<usize> = OnceLock::new();
    let names = *ALLOWED.get_or_init(|| extensions_of(max_cpu_isa().as_deref()));
    EXTENSIONS[..names].contains(&extension)
}

/// Whether `ONEDNN_MAX_CPU_ISA` allows AVX-VNNI.
#[cfg(target_arch = "x86_64")]
pub(super) fn allows_avx_vnni() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| has_avx_vnni(max_cpu_isa().as_deref()))
}

/// Whether what has this name has AVX-VNNI, or may have it.
#[cfg(target_arch = "x86_64")]
fn has_avx_vnni(name: Option<&str>) -> bool {
    let without = ["AVX2", "AVX512_CORE"];
    allowed_bits(name) > 128 && !without.iter().any(|n| name.is_some_and(|name| n.eq_ignore_ascii_case(name)))
}

/// Whether `ONEDNN_MAX_CPU_ISA` allows AMX: without it, with a name of AMX, or with one that oneDNN does not know.
#[cfg(target_arch = "x86_64")]
pub(super) fn allows_amx() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| has_amx(max_cpu_isa().as_deref()))
}

#[cfg(target_arch = "x86_64")]
fn has_amx(name: Option<&str>) -> bool {
    let is_known = |name: &str| ["AVX512", "AVX10"].iter().any(|start| name.starts_with(start));
    let name = name.map(str::to_ascii_uppercase).unwrap_or_default();
    allowed_bits(Some(&name)) == 512 && (!is_known(&name) || name.contains("AMX"))
}

/// The extensions of AVX-512, each of which comes with those before it.
#[cfg(target_arch = "x86_64")]
const EXTENSIONS: [Isa; 2] = [Isa::Avx512Vnni, Isa::Avx512Bf16];

/// How many of them the variable allows.
#[cfg(target_arch = "x86_64")]
fn extensions_of(name: Option<&str>) -> usize {
    let narrower = ["AVX512_CORE", "AVX512_CORE_VNNI"];
    match narrower.iter().position(|n| name.is_some_and(|name| n.eq_ignore_ascii_case(name))) {
        Some(extensions) => extensions,
        None if allowed_bits(name) == 512 => EXTENSIONS.len(),
        None => 0,
    }
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
        let extensions = [
            None,
            Some("avx512_core"),
            Some("AVX512_CORE_VNNI"),
            Some("avx512_core_bf16"),
            Some("AVX2_VNNI_2"),
        ];
        #[cfg(target_arch = "x86_64")]
        assert_eq!(extensions.map(extensions_of), [2, 0, 1, 2, 0]);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(
            [None, Some("sse41"), Some("avx2"), Some("AVX2_VNNI"), Some("AVX512_CORE")].map(has_avx_vnni),
            [true, false, false, true, false]
        );
        #[cfg(target_arch = "x86_64")]
        assert_eq!(
            [None, Some("avx2"), Some("avx512_core_bf16"), Some("avx512_core_amx"), Some("none such")]
                .map(has_amx),
            [true, false, false, true, true]
        );
        #[cfg(not(target_arch = "x86_64"))]
        let _ = extensions;
    }
}
