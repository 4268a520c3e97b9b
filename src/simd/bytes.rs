//! Products of bytes, four of which are added to each of 16 sums of 32 bits.
//!
//! No instruction that saturates at 16 bits takes part: the sums are exact on every machine.

use super::Loop;

/// 16 sums of 32 bits, or the 64 bytes of their operands. It can only be made from a proof, as a [`Vector`](super::vectors::Vector).
pub(crate) trait ByteVector: Copy {
    /// Proof of the instructions: `()` if the compilation target guarantees them.
    type Proof: Copy;
    /// How many vectors of sums stay in registers, beside what the products need.
    const SUMS: usize;
    /// Runs a loop in a function of its own, for these vectors: LLVM spends minutes on many loops in one function.
    fn apart<L: Loop<Out = ()>>(proof: Self::Proof, l: L);
    /// Sums of 32 bits.
    fn load(proof: Self::Proof, sums: &[i32; 16]) -> Self;
    fn store(self, to: &mut [i32; 16]);
    /// 64 bytes.
    fn bytes(proof: Self::Proof, x: &[u8; 64]) -> Self;
    /// The same four bytes in each lane.
    fn splat(proof: Self::Proof, x: [u8; 4]) -> Self;
    /// What [`pixels`](Self::pixels) orders by: made once for many.
    type Order: Copy;
    fn order(proof: Self::Proof) -> Self::Order;
    /// Four pixels of 16 channels each as 16 channels of four pixels each.
    fn pixels(proof: Self::Proof, order: Self::Order, x: &[u8; 64]) -> Self;
    /// Adds to each sum four products, of an unsigned byte of `src` and a signed byte of `weights`.
    fn add_products(self, src: Self, weights: Self) -> Self;
    /// 16 bytes as integers of 32 bits.
    fn widened(proof: Self::Proof, x: &[u8; 16], is_signed: bool) -> Self;
    /// The sums of integers of 32 bits; they wrap.
    fn add_integers(self, other: Self) -> Self;
    /// Integers of 32 bits as numbers of f32, the nearest.
    fn to_f32(self) -> Self;
    /// Numbers of f32.
    fn numbers(proof: Self::Proof, x: &[f32; 16]) -> Self;
    /// The sums of numbers.
    fn add(self, other: Self) -> Self;
    /// The products of numbers.
    fn mul(self, other: Self) -> Self;
    /// Numbers between two, with `low <= 0 <= high`. NaN is 0.
    fn within(self, low: f32, high: f32) -> Self;
    /// Numbers below 2^31 in magnitude as the nearest integers, ties to even, plus `zero_point`, as the nearest u8 or s8.
    fn rounded(four: [Self; 4], zero_point: i32, is_signed: bool) -> [u8; 64];
}

/// Work over byte vectors. `run`, and everything that it calls, is `#[inline(always)]`.
pub(crate) trait ByteLoop {
    /// Runs the loop.
    fn run<V: ByteVector>(self, proof: V::Proof);
}

/// Runs the loop with the byte vectors of this machine.
pub(crate) fn dispatch<L: ByteLoop>(l: L) {
    super::arch::dispatch_bytes(l);
}

/// `to[i] = table[x[i]]`, for as many as both have.
pub(crate) fn lookup(table: &[u8; 256], x: &[u8], to: &mut [u8]) {
    super::arch::lookup(table, x, to);
}

/// [`lookup`], one after another.
pub(super) fn lookup_each(table: &[u8; 256], x: &[u8], to: &mut [u8]) {
    to.iter_mut().zip(x).for_each(|(to, &x)| *to = table[usize::from(x)]);
}

/// 1.5 * 2^23. A sum of it and a small number has no bits for fractions: the addition rounds, ties to even, and the lowest bits of the
/// sum are the integer. Compilers make vectors of this, and not of a conversion that saturates.
pub(crate) const ROUNDER: f32 = 12_582_912.0;

/// Byte vectors without intrinsics, in as many registers as the compiler needs.
#[derive(Clone, Copy)]
pub(super) struct PlainBytes([[u8; 4]; 16]);

impl ByteVector for PlainBytes {
    type Proof = ();
    const SUMS: usize = 1;
    #[inline(never)]
    fn apart<L: Loop<Out = ()>>((): (), l: L) {
        l.run();
    }
    #[inline(always)]
    fn load((): (), sums: &[i32; 16]) -> Self {
        PlainBytes(sums.map(i32::to_ne_bytes))
    }
    #[inline(always)]
    fn store(self, to: &mut [i32; 16]) {
        *to = self.0.map(i32::from_ne_bytes);
    }
    #[inline(always)]
    fn bytes((): (), x: &[u8; 64]) -> Self {
        PlainBytes(std::array::from_fn(|l| std::array::from_fn(|k| x[4 * l + k])))
    }
    #[inline(always)]
    fn splat((): (), x: [u8; 4]) -> Self {
        PlainBytes([x; 16])
    }
    type Order = ();
    #[inline(always)]
    fn order((): ()) {}
    #[inline(always)]
    fn pixels((): (), (): (), x: &[u8; 64]) -> Self {
        PlainBytes(std::array::from_fn(|l| std::array::from_fn(|k| x[16 * k + l])))
    }
    #[inline(always)]
    fn add_products(self, src: Self, weights: Self) -> Self {
        let product = |s: u8, w: u8| i32::from(s) * i32::from(w.cast_signed());
        PlainBytes(std::array::from_fn(|l| {
            let (s, w) = (src.0[l], weights.0[l]);
            let more: i32 = (0..4).map(|k| product(s[k], w[k])).sum();
            i32::from_ne_bytes(self.0[l]).wrapping_add(more).to_ne_bytes()
        }))
    }
    #[inline(always)]
    fn widened((): (), x: &[u8; 16], is_signed: bool) -> Self {
        let of = |b: u8| if is_signed { b.cast_signed().into() } else { i32::from(b) };
        PlainBytes(x.map(|b| of(b).to_ne_bytes()))
    }
    #[inline(always)]
    fn add_integers(self, other: Self) -> Self {
        let sum = |l: usize| i32::from_ne_bytes(self.0[l]).wrapping_add(i32::from_ne_bytes(other.0[l]));
        PlainBytes(std::array::from_fn(|l| sum(l).to_ne_bytes()))
    }
    #[inline(always)]
    fn to_f32(self) -> Self {
        PlainBytes(self.0.map(|x| (i32::from_ne_bytes(x) as f32).to_ne_bytes()))
    }
    #[inline(always)]
    fn numbers((): (), x: &[f32; 16]) -> Self {
        PlainBytes(x.map(f32::to_ne_bytes))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        PlainBytes(std::array::from_fn(|l| (self.number(l) + other.number(l)).to_ne_bytes()))
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        PlainBytes(std::array::from_fn(|l| (self.number(l) * other.number(l)).to_ne_bytes()))
    }
    #[inline(always)]
    fn within(self, low: f32, high: f32) -> Self {
        PlainBytes(std::array::from_fn(|l| within(self.number(l), low, high).to_ne_bytes()))
    }
    #[inline(always)]
    fn rounded(four: [Self; 4], zero_point: i32, is_signed: bool) -> [u8; 64] {
        let (low, high) = if is_signed { (-128, 127) } else { (0, 255) };
        let mut to = [0; 64];
        for (to, x) in to.as_chunks_mut::<16>().0.iter_mut().zip(four) {
            for (lane, to) in to.iter_mut().enumerate() {
                // No byte is as far from a zero point.
                let sum = within(x.number(lane), -512.0, 512.0) + ROUNDER;
                let integer = sum.to_bits().wrapping_sub(ROUNDER.to_bits()).cast_signed();
                *to = (integer + zero_point).clamp(low, high) as u8;
            }
        }
        to
    }
}

impl PlainBytes {
    #[inline(always)]
    fn number(self, lane: usize) -> f32 {
        f32::from_ne_bytes(self.0[lane])
    }
}

/// `x` between two numbers, with `low <= 0 <= high`. NaN is 0.
#[inline(always)]
pub(crate) fn within(x: f32, low: f32, high: f32) -> f32 {
    let x = if x.is_nan() { 0.0 } else { x };
    let x = if x > low { x } else { low };
    if x < high { x } else { high }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Check;

    impl ByteLoop for Check {
        #[inline(always)]
        fn run<V: ByteVector>(self, proof: V::Proof) {
            // The largest products, whose pairs would saturate at 16 bits, and all others.
            let src: [u8; 64] = std::array::from_fn(|i| if i < 16 { 255 } else { (i * 37) as u8 });
            let weights: [u8; 64] = std::array::from_fn(|i| if i < 16 { 127 } else { (i * 91) as u8 });
            let start: [i32; 16] = std::array::from_fn(|l| l as i32 * 1_000_003 - 7);
            let mut got = [0; 16];
            let sums = V::load(proof, &start);
            let product = |s: u8, w: u8| i32::from(s) * i32::from(w as i8);
            sums.add_products(V::bytes(proof, &src), V::bytes(proof, &weights)).store(&mut got);
            let want = |l: usize| (0..4).map(|k| product(src[4 * l + k], weights[4 * l + k])).sum::<i32>();
            assert_eq!(got, std::array::from_fn(|l| start[l] + want(l)));
            sums.add_products(V::splat(proof, [255, 1, 2, 3]), V::bytes(proof, &weights)).store(&mut got);
            let want = |l: usize| (0..4).map(|k| product([255, 1, 2, 3][k], weights[4 * l + k])).sum::<i32>();
            assert_eq!(got, std::array::from_fn(|l| start[l] + want(l)));
            sums.add_products(V::pixels(proof, V::order(proof), &src), V::bytes(proof, &weights))
                .store(&mut got);
            let want = |l: usize| (0..4).map(|k| product(src[16 * k + l], weights[4 * l + k])).sum::<i32>();
            assert_eq!(got, std::array::from_fn(|l| start[l] + want(l)));
            check_numbers::<V>(proof);
        }
    }

    #[inline(always)]
    fn check_numbers<V: ByteVector>(proof: V::Proof) {
        let mut bytes: [u8; 16] = std::array::from_fn(|l| (l * 17) as u8);
        let mut got = [0; 16];
        V::widened(proof, &bytes, false).add_integers(V::load(proof, &[-3; 16])).store(&mut got);
        assert_eq!(got, bytes.map(|b| i32::from(b) - 3));
        V::widened(proof, &bytes, true).add_integers(V::load(proof, &[i32::MAX; 16])).store(&mut got);
        assert_eq!(got, bytes.map(|b| i32::from(b as i8).wrapping_add(i32::MAX)));
        bytes.reverse();
        V::widened(proof, &bytes, true).store(&mut got);
        assert_eq!(got, bytes.map(|b| i32::from(b as i8)));
        // 2^24 + 1 is no f32: the even one beside it is the nearest.
        let sums: [i32; 16] = std::array::from_fn(|l| (1 << 24) + l as i32);
        V::load(proof, &sums).to_f32().store(&mut got);
        assert_eq!(got, sums.map(|x| (x as f32).to_bits() as i32));
        let mut a: [f32; 16] = std::array::from_fn(|l| l as f32 * 1.1 - 7.0);
        let b: [f32; 16] = std::array::from_fn(|l| 1.0 / (l as f32 + 1.7));
        (a[3], a[4], a[5], a[6]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0);
        let (x, y) = (V::numbers(proof, &a), V::numbers(proof, &b));
        for (made, want) in [
            (x.add(y), std::array::from_fn(|l| a[l] + b[l])),
            (x.mul(y), std::array::from_fn(|l| a[l] * b[l])),
            (x.within(0.0, 3.5), a.map(|x| within(x, 0.0, 3.5))),
            (x.within(-2.5, 0.0), a.map(|x| within(x, -2.5, 0.0))),
        ] {
            made.store(&mut got);
            let is_same = |(got, want): (&i32, &f32)| {
                *got == want.to_bits() as i32 || want.is_nan() && f32::from_bits(*got as u32).is_nan()
            };
            assert!(got.iter().zip(&want).all(is_same), "{got:?} {want:?}");
        }
        check_rounded::<V>(proof);
    }

    #[inline(always)]
    fn check_rounded<V: ByteVector>(proof: V::Proof) {
        // Ties of both kinds, beside them, and numbers beyond all ranges.
        let numbers: [f32; 64] = std::array::from_fn(|i| match i {
            0..40 => i as f32 * 0.5 - 10.0,
            40..56 => (i as f32 - 48.0) * 37.75,
            _ => [2e9, -2e9, 40000.0, -40000.0, 0.499_999_97, -0.0, 126.5, 255.5][i - 56],
        });
        let four = std::array::from_fn(|p| V::numbers(proof, numbers[16 * p..].first_chunk().unwrap()));
        for (zero_point, is_signed) in [(0, false), (255, false), (7, true), (-128, true)] {
            let (low, high) = if is_signed { (-128, 127) } else { (0, 255) };
            let want = numbers.map(|x| {
                (f64::from(x).round_ties_even() + f64::from(zero_point)).clamp(low.into(), high.into())
            });
            let got = V::rounded(four, zero_point, is_signed);
            assert_eq!(got, want.map(|x| x as i32 as u8), "{zero_point} {is_signed}");
        }
    }

    #[test]
    fn each_byte_has_its_value_in_a_table() {
        let table: [u8; 256] = std::array::from_fn(|i| (i * 167 + 13) as u8);
        for count in [0, 1, 63, 64, 65, 300] {
            let x: Vec<u8> = (0..count).map(|i| (i * 89 + 5) as u8).collect();
            let mut got = vec![0; count];
            lookup(&table, &x, &mut got);
            assert_eq!(got, x.iter().map(|&x| table[x as usize]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_byte_vector_agrees_with_its_definition() {
        dispatch(Check);
        Check.run::<PlainBytes>(());
    }
}
