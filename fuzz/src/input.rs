//! Choices from the fuzzer's bytes. When the bytes are used up, every choice is the first option.

use arbitrary::Unstructured;

/// The bytes that are left.
pub struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input(Unstructured::new(bytes))
    }

    /// Whether all bytes are used.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number below `n`, which must not be 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.int_in_range(0..=n - 1).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    pub fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or(0)
    }

    pub fn word(&mut self) -> u64 {
        self.0.arbitrary().unwrap_or(0)
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// A permutation of the numbers below `n`.
    pub fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        (1..n).rev().for_each(|i| order.swap(i, self.below(i + 1)));
        order
    }

    /// An integer argument that is wrong: extreme, or slightly out of range.
    pub fn hostile(&mut self) -> i64 {
        const LIST: [i64; 16] = [
            i64::MIN,
            i64::MIN + 1,
            i64::MAX,
            i64::MAX - 1,
            -1,
            0,
            1 << 62,
            1 << 61,
            1 << 32,
            (1 << 32) + 1,
            1 << 31,
            (1 << 31) - 1,
            i32::MIN as i64,
            65_535,
            1 << 24,
            -2,
        ];
        if self.one_in(4) { self.word() as i64 } else { self.pick(&LIST) }
    }

    /// A float that is hard for arithmetic, such as NaN, an infinity, a subnormal or a huge number.
    pub fn hostile_float(&mut self) -> f64 {
        const LIST: [f64; 10] = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            f64::MAX,
            f64::MIN_POSITIVE,
            1e-45,
            3.4e38,
            -1e300,
            1e-300,
        ];
        if self.one_in(4) { f64::from_bits(self.word()) } else { self.pick(&LIST) }
    }

    /// Takes at most `most` of the bytes that are left.
    pub fn bytes(&mut self, most: usize) -> &'a [u8] {
        let n = most.min(self.0.len());
        self.0.bytes(n).unwrap_or(&[])
    }

    /// Takes all bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        self.bytes(usize::MAX)
    }
}
