//! The tile registers of x86-64: AMX, its products of bytes.
//!
//! The compiler has no stable functions for them: the instructions are written out.

use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, _xgetbv};
use std::sync::OnceLock;

use crate::simd::level::allowed;
use crate::simd::matrix::{AHEAD, Factors};

/// Proof that the machine has AMX's products of bytes, and that the system lets this process use the registers.
#[derive(Clone, Copy, Debug)]
pub(in crate::simd) struct MatrixUnit(());

/// The proof, if there is one.
pub(in crate::simd) fn matrix_unit() -> Option<MatrixUnit> {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let is_found =
        || crate::simd::level().avx512_vnni().is_some() && allowed().amx && has_amx() && is_permitted();
    FOUND.get_or_init(is_found).then_some(MatrixUnit(()))
}

/// Whether the machine has tiles and their products of bytes, and the system keeps the registers of each thread.
fn has_amx() -> bool {
    const TILES_AND_BYTES: u32 = 1 << 24 | 1 << 25;
    const STATES: u64 = 1 << 17 | 1 << 18;
    let features = __cpuid_count(7, 0).edx;
    // SAFETY: machines with AVX have the instruction, and AVX-512 was found before.
    let states = unsafe { states() };
    features & TILES_AND_BYTES == TILES_AND_BYTES && states & STATES == STATES
}

/// # Safety
/// The machine has the feature.
#[target_feature(enable = "xsave")]
unsafe fn states() -> u64 {
    // SAFETY: register 0 is always there.
    unsafe { _xgetbv(0) }
}

/// Asks Linux for the registers, for all threads of this process. Others have not been tried.
fn is_permitted() -> bool {
    #[cfg(target_os = "linux")]
    {
        const REQUEST: libc::c_int = 0x1023;
        const TILE_DATA: libc::c_ulong = 18;
        // SAFETY: a request that changes no memory. Asking twice is allowed.
        unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST, TILE_DATA) == 0 }
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// The sizes of all tiles, as the instruction reads them.
#[repr(C, align(64))]
struct Sizes {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

const NONE: Sizes = Sizes { palette: 0, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };

impl MatrixUnit {
    /// Tiles 0 to 3 are sums, 4 and 5 of the source, 6 and 7 weights. At most 16 pixels and 16 quads.
    pub(in crate::simd) fn configure(self, pixels: usize, quads: usize) -> TileRegisters {
        let mut sizes = Sizes { palette: 1, ..NONE };
        let (pixels, quads) = (pixels.min(16) as u8, quads.min(16) as u8);
        for tile in 0..8 {
            (sizes.rows[tile], sizes.row_bytes[tile]) = match tile {
                0..4 => (pixels, 64),
                4..6 => (pixels, u16::from(quads) * 4),
                _ => (quads, 64),
            };
        }
        let mut before = NONE;
        // SAFETY: the proof; 64 bytes each, and the sizes are within what the registers have.
        unsafe {
            asm!("sttilecfg [{}]", in(reg) &raw mut before, options(nostack, preserves_flags));
            asm!("ldtilecfg [{}]", in(reg) &raw const sizes, options(nostack, preserves_flags));
        }
        TileRegisters { before }
    }
}

/// The registers of this thread with sizes of ours. They get those that they had when this is dropped: oneDNN may count on them.
pub(in crate::simd) struct TileRegisters {
    before: Sizes,
}

impl Drop for TileRegisters {
    fn drop(&mut self) {
        // SAFETY: there is a value only with the proof; the sizes were the registers'.
        unsafe {
            match self.before.palette {
                0 => asm!("tilerelease", options(nostack, preserves_flags)),
                _ => {
                    asm!("ldtilecfg [{}]", in(reg) &raw const self.before, options(nostack, preserves_flags));
                }
            }
        }
    }
}

// As many lines are written out below.
const _: () = assert!(AHEAD == 8 * 64);

/// Sums of one tile or two of the source by one tile or two of weights: the instructions that all have, and those of the second of each.
/// They begin with zero: to load what they begin with takes longer than to add it where they are read.
macro_rules! multiply {
    ($of:ident, $first:expr, $second:expr, $to:ident, [$($zero:literal),*], [$($weights:literal),*], [$($source:literal),*],
        [$($add:literal),*], [$($store:literal),*]) => {
        asm!(
            "tilezero tmm0",
            $($zero,)*
            "test {count}, {count}",
            "jz 3f",
            "2:",
            "mov {at}, [{steps} + 8]",
            "add {at}, {weights}",
            "tileloadd tmm6, [{at} + 1*{across}]",
            $($weights,)*
            // A hint, which accesses nothing.
            "add {at}, {ahead}",
            "prefetcht1 [{at}]",
            "prefetcht1 [{at} + 64]",
            "prefetcht1 [{at} + 128]",
            "prefetcht1 [{at} + 192]",
            "prefetcht1 [{at} + 256]",
            "prefetcht1 [{at} + 320]",
            "prefetcht1 [{at} + 384]",
            "prefetcht1 [{at} + 448]",
            "mov {at}, [{steps}]",
            "add {at}, {src}",
            "tileloadd tmm4, [{at} + 1*{pixel}]",
            $($source,)*
            "tdpbusd tmm0, tmm4, tmm6",
            $($add,)*
            "add {steps}, 16",
            "dec {count}",
            "jnz 2b",
            "3:",
            "tilestored [{to} + 1*{across}], tmm0",
            $($store,)*
            "/* {apart} {second} */",
            at = out(reg) _,
            count = inout(reg) $of.steps.list.len() => _,
            steps = inout(reg) $of.steps.list.as_ptr() => _,
            weights = in(reg) $of.weights.as_ptr(),
            ahead = in(reg) $of.ahead,
            across = in(reg) $of.blocks * 64,
            src = in(reg) $of.src.as_ptr().wrapping_add($first[0]),
            pixel = in(reg) $of.pixel,
            apart = in(reg) $second[0].wrapping_sub($first[0]),
            to = in(reg) $to.wrapping_add($first[1]),
            second = in(reg) $to.wrapping_add($second[1]),
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    };
}

impl TileRegisters {
    /// # Safety
    /// Of the sizes that the registers have, every tile of a step lies inside `src` and `weights`, and the sums inside `to`.
    pub(in crate::simd) unsafe fn multiply(
        &self,
        of: Factors<'_>,
        places: &[[usize; 2]],
        to: &mut [[i32; 16]],
    ) {
        let to = to.as_mut_ptr();
        // SAFETY: the caller's promise; the proof; nothing but the sums is written.
        unsafe {
            match (places, of.blocks) {
                ([a], 1) => multiply!(of, a, a, to, [], [], [], [], []),
                ([a], _) => multiply!(
                    of,
                    a,
                    a,
                    to,
                    ["tilezero tmm1"],
                    ["tileloadd tmm7, [{at} + 1*{across} + 64]"],
                    [],
                    ["tdpbusd tmm1, tmm4, tmm7"],
                    ["tilestored [{to} + 1*{across} + 64], tmm1"]
                ),
                ([a, b, ..], 1) => multiply!(
                    of,
                    a,
                    b,
                    to,
                    ["tilezero tmm2"],
                    [],
                    ["add {at}, {apart}", "tileloadd tmm5, [{at} + 1*{pixel}]"],
                    ["tdpbusd tmm2, tmm5, tmm6"],
                    ["tilestored [{second} + 1*{across}], tmm2"]
                ),
                ([a, b, ..], _) => multiply!(
                    of,
                    a,
                    b,
                    to,
                    ["tilezero tmm1", "tilezero tmm2", "tilezero tmm3"],
                    ["tileloadd tmm7, [{at} + 1*{across} + 64]"],
                    ["add {at}, {apart}", "tileloadd tmm5, [{at} + 1*{pixel}]"],
                    ["tdpbusd tmm1, tmm4, tmm7", "tdpbusd tmm2, tmm5, tmm6", "tdpbusd tmm3, tmm5, tmm7"],
                    [
                        "tilestored [{to} + 1*{across} + 64], tmm1",
                        "tilestored [{second} + 1*{across}], tmm2",
                        "tilestored [{second} + 1*{across} + 64], tmm3"
                    ]
                ),
                ([], _) => {}
            }
        }
    }
}
