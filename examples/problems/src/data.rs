//! The data of a problem: seeded integers.

/// SplitMix64. Its state depends only on the seed and the problem, so a problem can be repeated without its list.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, problem: &str) -> Random {
        let mix = |state: u64, byte: u8| Random(state ^ u64::from(byte)).next();
        Random(problem.bytes().fold(seed, mix))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// `n` integers from `-largest` to `largest`.
    pub fn integers(&mut self, n: usize, largest: u32) -> Vec<f32> {
        let choices = u64::from(2 * largest + 1);
        // The upper half of the product of 32 random bits and the number of choices: uniform enough, and without a
        // division.
        let one = |r: u64| (((r >> 32) * choices) >> 32) as f32 - largest as f32;
        (0..n).map(|_| one(self.next())).collect()
    }
}

/// Bias and statistics are integers up to this.
pub const LARGEST: u32 = 8;

/// The largest integer, up to `most`, for which sums of `terms` products, and a bias, are exact in f32 in any order;
/// `None` if that does not hold even for 1.
pub fn exact_range(terms: f64, most: u32) -> Option<u32> {
    let room = f64::from(1 << 24) - f64::from(LARGEST);
    (1..=most).rev().find(|&a| f64::from(a) * f64::from(a) * terms <= room)
}
