//! Sine and cosine, for every f32.
//!
//! The argument is reduced by Payne and Hanek's method: a float is an integer of 24 bits times a power of two, so only some
//! 96 bits of `2/pi` determine its position within a turn. This is integer arithmetic without a branch, and as accurate at
//! 1e38 as at 1.

/// `2/pi` after 26 zero bits, from the top.
const TWO_OVER_PI: [u32; 8] =
    [0x0000_0028, 0xbe60_db93, 0x9105_4a7f, 0x09d5_f47d, 0x4d37_7036, 0xd8a5_664f, 0x10e4_107f, 0x9458_eaf7];

/// Below this the argument is its own remainder: the bits of `pi / 4`.
const QUARTER_PI: u32 = 0x3f49_0fdb;

/// Word `start + skip` of [`TWO_OVER_PI`] for `start` from 0 to 4, whose three bits are given as masks `m`. A table would
/// need a gather, and LLVM scalarises selects between constants for AVX2.
#[inline(always)]
fn word(m: [u32; 3], skip: usize) -> u32 {
    let w = |i: usize| TWO_OVER_PI[i + skip];
    let second = (w(0) ^ w(1)) & m[0];
    let third = (w(0) ^ w(2)) & m[1];
    let fourth = (w(0) ^ w(1) ^ w(2) ^ w(3)) & (m[0] & m[1]);
    let fifth = (w(0) ^ w(4)) & m[2];
    w(0) ^ second ^ third ^ fourth ^ fifth
}

/// `|x| = quadrant * pi/2 + r` with `|r| <= pi/4`: returns `(r, quadrant mod 4)`. Meaningless for inf and NaN.
#[inline(always)]
fn reduce(x: f32) -> (f32, u32) {
    let bits = x.to_bits() & 0x7fff_ffff;
    let mantissa = bits & 0x007f_ffff | 0x0080_0000;
    // 2/pi * 2^(shift + 38), modulo 2^64 and with 32 more bits below: a window that begins at bit `shift`.
    let shift = (bits >> 23).wrapping_sub(126);
    let mask = |bit: u32| 0u32.wrapping_sub(shift >> bit & 1);
    let masks = [mask(5), mask(6), mask(7)];
    let shift = shift & 31;
    let words = [word(masks, 0), word(masks, 1), word(masks, 2), word(masks, 3)];
    let window = |i: usize| words[i] << shift | words[i + 1] >> 1 >> (31 - shift);
    let (top, middle, low) = (window(0), window(1), window(2));
    // |x| * 2/pi * 2^62 modulo 2^64.
    let product = ((mantissa.wrapping_mul(top) as u64) << 32)
        .wrapping_add(mantissa as u64 * middle as u64)
        .wrapping_add((mantissa as u64 * low as u64) >> 32);
    let quadrant = ((product >> 61) as u32).wrapping_add(1) >> 1;
    // The signed fraction of a quadrant, scaled by 2^64, in two halves that convert exactly.
    let fraction = product << 2;
    let upper = (fraction >> 32) as u32 as i32;
    let lower = (fraction as u32 >> 1) as i32;
    const HALF_PI: f64 = std::f64::consts::FRAC_PI_2;
    const UNIT: f64 = HALF_PI / 4_294_967_296.0;
    let r = ((upper as f64 + lower as f64 * (1.0 / 2_147_483_648.0)) * UNIT) as f32;
    let small = bits <= QUARTER_PI;
    (if small { f32::from_bits(bits) } else { r }, if small { 0 } else { quadrant })
}

/// Sine of `quadrant * pi/2 + r`.
#[inline(always)]
fn sin_parts(r: f32, quadrant: u32) -> f32 {
    let z = r * r;
    // Minimax on |r| <= pi/4; errors 2^-28 and 2^-33.
    let p = -1.951_807_2e-4 * z + 8.332_188e-3;
    let p = p * z - 0.166_666_55;
    let sin = r + r * z * p;
    let p = 2.443_233_8e-5 * z - 1.388_731e-3;
    let p = p * z + 4.166_664_6e-2;
    let cos = 1.0 - (0.5 * z - z * z * p);
    let value = if quadrant & 1 == 0 { sin } else { cos };
    f32::from_bits(value.to_bits() ^ (quadrant & 2) << 30)
}

/// `torch.sin`. Error at most 1.5e-7 for every finite `x`, NaN at ±inf.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    let (r, quadrant) = reduce(x);
    let value = sin_parts(r, quadrant);
    let value = f32::from_bits(value.to_bits() ^ x.to_bits() & 0x8000_0000);
    if x.abs() < f32::INFINITY { value } else { f32::NAN }
}

/// `torch.cos`. Error at most 1.5e-7 for every finite `x`, NaN at ±inf.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    let (r, quadrant) = reduce(x);
    let value = sin_parts(r, quadrant.wrapping_add(1));
    if x.abs() < f32::INFINITY { value } else { f32::NAN }
}
