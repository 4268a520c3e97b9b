//! bfloat16 as f32 and back.

use half::bf16;

/// The same number as f32. Exact.
#[inline(always)]
pub fn widen(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// The nearest bfloat16, ties to even, as `torch.Tensor.to(torch.bfloat16)`. What is above the largest one by half a step or more is
/// infinite; NaN stays NaN.
#[inline(always)]
pub fn to_bf16(x: f32) -> bf16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    // Rounding could make an infinity of a NaN whose upper bits are zero.
    let nan = (bits >> 16) | 0x40;
    bf16::from_bits(if x.is_nan() { nan } else { rounded } as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `half` is the oracle: every bfloat16, and f32 beside, between and halfway between them.
    #[test]
    fn all_numbers_widen_and_their_neighbours_round() {
        for bits in 0..=u16::MAX {
            let x = bf16::from_bits(bits);
            assert_eq!(
                widen(x).to_bits(),
                if x.is_nan() { u32::from(bits) << 16 } else { x.to_f32().to_bits() }
            );
            for below in [0u32, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let x = f32::from_bits(u32::from(bits) << 16 | below);
                assert_eq!(to_bf16(x).to_bits(), bf16::from_f32(x).to_bits(), "{x:e} {bits:x} {below:x}");
            }
        }
    }
}
