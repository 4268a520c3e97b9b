//! The figures of this machine that kernels and planners reckon with: blocks, registers, caches and costs.
//!
//! **The bits of a result never depend on the caches.** Kernels cut work by them only if each element is computed the same in any
//! cut: copies, direct and Winograd's convolutions. Where a cut changes the order of sums, its size is a constant beside the
//! kernel: `COLUMNS` of `kernels/conv/gemm`, the tiles of `matmul`, the chunks of reductions.

use std::path::Path;
use std::sync::OnceLock;

use crate::simd;

/// What kernels and planners reckon with. [`machine`] returns it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Machine {
    /// Channels in a block of the native layouts: 16 or 8.
    pub block: usize,
    /// f32 lanes of a vector register.
    pub lanes: usize,
    /// Vector registers.
    pub registers: usize,
    /// Its caches.
    pub caches: Caches,
    /// What its kernels cost.
    pub costs: Costs,
}

/// Sizes of caches, in **bytes**.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caches {
    /// The first level's, for data.
    pub first: usize,
    /// The second level's. Of one that many cores share, at most [`MOST_OF_A_CORE`](Caches::MOST_OF_A_CORE).
    pub second: usize,
    /// The last level's, which cores share.
    pub last: usize,
}

/// What kernels cost. Only ratios decide.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// Multiply-adds of one thread in a **second**.
    pub multiply_adds: f64,
    /// **Bytes** that all threads together read or write in a **second**.
    pub bytes: f64,
    /// How many times longer a convolution of row-major images takes than one of blocked images.
    pub row_major: f64,
    /// Winograd's: cycles to transform one tile of one block of the source.
    pub winograd_source: usize,
    /// Winograd's: cycles to transform one tile back, for one or two blocks of the result.
    pub winograd_result: usize,
    /// Winograd's: cycles to transform the weights of one input channel and one block of output channels. A block has as many
    /// pairs of channels as a cycle has multiply-adds, so it is also multiply-adds for each pair.
    pub winograd_weights: usize,
    /// Winograd's: the time of products and transforms, divided by that of the products.
    pub winograd_steps: f64,
}

impl Caches {
    /// What is expected of a machine that does not tell.
    const EXPECTED: Caches = Caches { first: 32 << 10, second: 1 << 20, last: 32 << 20 };
    /// The most that kernels reckon with for one core's second level, in **bytes**.
    pub const MOST_OF_A_CORE: usize = 2 << 20;

    /// As Linux tells them below `root`, of the first processor.
    fn of_system(root: &Path) -> Caches {
        let folder = root.join("sys/devices/system/cpu/cpu0/cache");
        let mut found = [0; 5];
        // Indices follow each other. Four are usual: two of the first level, for data and for instructions.
        for index in 0..8 {
            let read = |name: &str| std::fs::read_to_string(folder.join(format!("index{index}/{name}"))).ok();
            let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size")) else {
                continue;
            };
            let level = level.trim().parse().unwrap_or(0);
            if let (Some(to), Some(bytes)) = (found.get_mut(level), bytes(size.trim()))
                && kind.trim() != "Instruction"
            {
                *to = bytes;
            }
        }
        let or = |bytes: usize, expected: usize| if bytes == 0 { expected } else { bytes };
        let last = found[2..].iter().rev().copied().find(|&bytes| bytes > 0);
        let second = or(found[2], Self::EXPECTED.second).min(Self::MOST_OF_A_CORE);
        Caches {
            first: or(found[1], Self::EXPECTED.first),
            second,
            last: last.unwrap_or(Self::EXPECTED.last).max(second),
        }
    }
}

/// A size as Linux writes it: `32K`.
fn bytes(text: &str) -> Option<usize> {
    let (digits, unit) = match text.strip_suffix('K') {
        Some(digits) => (digits, 1 << 10),
        None => (text.strip_suffix('M')?, 1 << 20),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit).filter(|&bytes| bytes > 0)
}

impl Costs {
    /// Measured on Zen 4 with AVX-512.
    const ZEN_4: Costs = Costs {
        multiply_adds: 40e9,
        bytes: 15e9,
        // In all networks that were measured.
        row_major: 2.0,
        winograd_source: 250,
        winograd_result: 300,
        winograd_weights: 112,
        winograd_steps: 1.3,
    };
}

/// This machine, as far as this process uses it: `ONEDNN_MAX_CPU_ISA` limits its vectors. Costs are those of one machine, Zen 4:
/// nobody has measured another.
///
/// ```
/// let machine = blocktensor::machine();
/// assert_eq!(blocktensor::Layout::native().0.block_of(1), machine.block);
/// assert!(machine.caches.second <= machine.caches.last);
/// ```
pub fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let unit = simd::unit();
        // Miri has no such files.
        let caches = if cfg!(miri) { Caches::EXPECTED } else { Caches::of_system(Path::new("/")) };
        Machine {
            block: if unit.lanes >= 16 { 16 } else { 8 },
            lanes: unit.lanes,
            registers: unit.registers,
            caches,
            costs: Costs::ZEN_4,
        }
    })
}

#[cfg(test)]
impl Caches {
    /// Caches that cut work more finely, as expected, and more coarsely.
    pub(crate) fn several() -> [Caches; 3] {
        let of = |second| Caches { second, ..Self::EXPECTED };
        [of(16 << 10), of(1 << 20), of(64 << 20)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What these caches are found to be: (level, type, size).
    fn of(caches: &[(&str, &str, &str)]) -> [usize; 3] {
        let root = tempfile::tempdir().unwrap();
        for (i, (level, kind, size)) in caches.iter().enumerate() {
            let folder = root.path().join(format!("sys/devices/system/cpu/cpu0/cache/index{i}"));
            std::fs::create_dir_all(&folder).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                std::fs::write(folder.join(name), format!("{text}\n")).unwrap();
            }
        }
        let Caches { first, second, last } = Caches::of_system(root.path());
        [first, second, last]
    }

    #[test]
    fn caches_are_what_the_system_tells_and_else_what_is_expected() {
        let (data, code, both) = ("Data", "Instruction", "Unified");
        let usual = [("1", data, "48K"), ("1", code, "64K"), ("2", both, "512K"), ("3", both, "96M")];
        assert_eq!(of(&usual), [48 << 10, 512 << 10, 96 << 20]);
        // Without a third level the second is the last. Of one that a cluster shares a core has a part.
        assert_eq!(of(&[("1", data, "128K"), ("2", both, "16384K")]), [128 << 10, 2 << 20, 16 << 20]);
        let expected = [32 << 10, 1 << 20, 32 << 20];
        assert_eq!(of(&[]), expected);
        for size in ["", "0K", "K", "-1K", "12", "99999999999999999999K", "18014398509481984K"] {
            assert_eq!(of(&[("1", data, size), ("2", both, size), ("9", both, size)]), expected, "{size}");
        }
        // A last level that is smaller than the second would stream what stays in the caches.
        assert_eq!(of(&[("2", both, "1024K"), ("3", both, "256K")]), [32 << 10, 1 << 20, 1 << 20]);
    }

    #[test]
    fn registers_are_those_of_the_vectors() {
        use crate::simd::vectors::{VectorWidth, Width};
        let machine = machine();
        for (lanes, registers) in [(16usize, Width::<16>::registers()), (8, Width::<8>::registers())] {
            assert_eq!(registers, machine.registers / lanes.div_ceil(machine.lanes), "{lanes} lanes");
        }
    }
}
