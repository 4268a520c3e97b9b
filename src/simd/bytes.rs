//! Products of bytes, four of which are added to each of 16 sums of 32 bits.
//!
//! No instruction that saturates at 16 bits takes part: the sums are exact on every machine.

/// 16 sums of 32 bits, or the 64 bytes of their operands. It can only be made from a proof, as a [`Vector`](super::vectors::Vector).
pub(crate) trait ByteVector: Copy {
    /// Proof of the instructions: `()` if the compilation target guarantees them.
    type Proof: Copy;
    /// Whether the machine adds such products in one instruction, so that kernels keep many sums in registers.
    const IS_FAST: bool;
    /// Sums of 32 bits.
    fn load(proof: Self::Proof, sums: &[i32; 16]) -> Self;
    fn store(self, to: &mut [i32; 16]);
    /// 64 bytes.
    fn bytes(proof: Self::Proof, x: &[u8; 64]) -> Self;
    /// The same four bytes in each lane.
    fn splat(proof: Self::Proof, x: [u8; 4]) -> Self;
    /// Four pixels of 16 channels each as 16 channels of four pixels each.
    fn pixels(proof: Self::Proof, x: &[u8; 64]) -> Self;
    /// Adds to each sum four products, of an unsigned byte of `src` and a signed byte of `weights`.
    fn add_products(self, src: Self, weights: Self) -> Self;
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

/// Byte vectors without intrinsics, in as many registers as the compiler needs.
#[derive(Clone, Copy)]
pub(super) struct PlainBytes([[u8; 4]; 16]);

impl ByteVector for PlainBytes {
    type Proof = ();
    const IS_FAST: bool = false;
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
    #[inline(always)]
    fn pixels((): (), x: &[u8; 64]) -> Self {
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
            sums.add_products(V::pixels(proof, &src), V::bytes(proof, &weights)).store(&mut got);
            let want = |l: usize| (0..4).map(|k| product(src[16 * k + l], weights[4 * l + k])).sum::<i32>();
            assert_eq!(got, std::array::from_fn(|l| start[l] + want(l)));
        }
    }

    #[test]
    fn every_byte_vector_agrees_with_its_definition() {
        dispatch(Check);
        Check.run::<PlainBytes>(());
    }
}
