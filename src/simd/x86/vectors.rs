//! The vectors of x86-64: AVX-512, AVX2, and the SSE2 of the baseline.

use std::arch::x86_64::*;

use super::level::{AVX2, AVX512, Avx2, Avx512, Level, SSE2};
use crate::simd::Loop;
use crate::simd::vectors::{KEEP, Vector, VectorLoop, VectorWidth, Width};

/// The vectors of a loop, by the proof that the machine has them.
struct Over<V: Vector<B>, const B: usize>(V::Proof);

impl<L: VectorLoop<B>, V: Vector<B>, const B: usize> Loop for (L, Over<V, B>) {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        self.0.run::<V>(self.1.0);
    }
}

macro_rules! width {
    ($b:literal: $avx512:ty, $avx2:ty, $baseline:ty) => {
        impl VectorWidth<$b> for Width<$b> {
            #[inline]
            fn dispatch<L: VectorLoop<$b>>(l: L) {
                match crate::simd::level() {
                    Level::Avx512(proof) => proof.run((l, Over::<$avx512, $b>(proof))),
                    Level::Avx2(proof) => proof.run((l, Over::<$avx2, $b>(proof))),
                    Level::Baseline => l.run::<$baseline>(()),
                }
            }
        }
    };
}
width!(16: V512, Two, Four);
width!(8: Wide, V256, TwoOfFour);

/// 16 lanes of AVX-512. Only `splat` and `load` make one from other data, and they need the proof.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct V512(__m512);

/// 8 lanes of AVX2, made like [`V512`].
#[derive(Clone, Copy)]
#[repr(transparent)]
struct V256(__m256);

impl Vector<16> for V512 {
    type Proof = Avx512;
    const REGISTERS: usize = AVX512.vectors_of(16);
    #[inline(always)]
    fn splat(_: Avx512, x: f32) -> Self {
        // SAFETY: the proof.
        V512(unsafe { _mm512_set1_ps(x) })
    }
    #[inline(always)]
    fn load(_: Avx512, x: &[f32; 16]) -> Self {
        // SAFETY: the proof; 16 elements.
        V512(unsafe { _mm512_loadu_ps(x.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; 16]) {
        // SAFETY: `self` was made from the proof; 16 elements.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn add_product(self, a: Self, b: Self) -> Self {
        // SAFETY: `self` was made from the proof.
        V512(unsafe { _mm512_fmadd_ps(a.0, b.0, self.0) })
    }
    #[inline(always)]
    fn sub_product(self, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        V512(unsafe { _mm512_fnmadd_ps(a.0, b.0, self.0) })
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: as above.
        V512(unsafe { _mm512_add_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: as above.
        V512(unsafe { _mm512_sub_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: as above.
        V512(unsafe { _mm512_mul_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn larger_or(self, b: Self) -> Self {
        // SAFETY: as above.
        V512(unsafe { _mm512_max_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn if_equal(self, b: Self, yes: Self, no: Self) -> Self {
        // SAFETY: as above.
        V512(unsafe { _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self.0, b.0), no.0, yes.0) })
    }
    #[inline(always)]
    fn pick(self, src: Self, index: &[i32; 16]) -> Self {
        // SAFETY: `self` was made from the proof; 16 indices.
        V512(unsafe {
            let index = _mm512_loadu_si512(index.as_ptr().cast());
            _mm512_mask_permutexvar_ps(self.0, !_mm512_movepi32_mask(index), index, src.0)
        })
    }
}

impl Vector<8> for V256 {
    type Proof = Avx2;
    const REGISTERS: usize = AVX2.vectors_of(8);
    #[inline(always)]
    fn splat(_: Avx2, x: f32) -> Self {
        // SAFETY: the proof.
        V256(unsafe { _mm256_set1_ps(x) })
    }
    #[inline(always)]
    fn load(_: Avx2, x: &[f32; 8]) -> Self {
        // SAFETY: the proof; 8 elements.
        V256(unsafe { _mm256_loadu_ps(x.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; 8]) {
        // SAFETY: `self` was made from the proof; 8 elements.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn add_product(self, a: Self, b: Self) -> Self {
        // SAFETY: `self` was made from the proof, which includes FMA.
        V256(unsafe { _mm256_fmadd_ps(a.0, b.0, self.0) })
    }
    #[inline(always)]
    fn sub_product(self, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        V256(unsafe { _mm256_fnmadd_ps(a.0, b.0, self.0) })
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: as above.
        V256(unsafe { _mm256_add_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: as above.
        V256(unsafe { _mm256_sub_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: as above.
        V256(unsafe { _mm256_mul_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn larger_or(self, b: Self) -> Self {
        // SAFETY: as above.
        V256(unsafe { _mm256_max_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn if_equal(self, b: Self, yes: Self, no: Self) -> Self {
        // SAFETY: as above.
        V256(unsafe { _mm256_blendv_ps(no.0, yes.0, _mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, b.0)) })
    }
    #[inline(always)]
    fn pick(self, src: Self, index: &[i32; 8]) -> Self {
        // SAFETY: `self` was made from the proof; 8 indices. The sign bit of an index marks `KEEP`.
        V256(unsafe {
            let index = _mm256_loadu_si256(index.as_ptr().cast());
            let picked = _mm256_permutevar8x32_ps(src.0, index);
            _mm256_blendv_ps(picked, self.0, _mm256_castsi256_ps(index))
        })
    }
}

/// A vector made of `$n` vectors of another width.
macro_rules! parts {
    ($(#[$doc:meta])* $name:ident: $b:literal lanes, $n:literal x $part:ty, $proof:ty, $unit:ident, $pick:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        struct $name([$part; $n]);

        impl Vector<$b> for $name {
            type Proof = $proof;
            const REGISTERS: usize = $unit.vectors_of($b);
            #[inline(always)]
            fn splat(proof: $proof, x: f32) -> Self {
                $name([<$part as Vector<{ $b / $n }>>::splat(proof.into(), x); $n])
            }
            #[inline(always)]
            fn load(proof: $proof, x: &[f32; $b]) -> Self {
                let parts = x.as_chunks::<{ $b / $n }>().0;
                $name(std::array::from_fn(|i| <$part>::load(proof.into(), &parts[i])))
            }
            #[inline(always)]
            fn store(self, to: &mut [f32; $b]) {
                for (part, to) in self.0.into_iter().zip(to.as_chunks_mut::<{ $b / $n }>().0) {
                    part.store(to);
                }
            }
            #[inline(always)]
            fn add_product(self, a: Self, b: Self) -> Self {
                $name(std::array::from_fn(|i| self.0[i].add_product(a.0[i], b.0[i])))
            }
            #[inline(always)]
            fn sub_product(self, a: Self, b: Self) -> Self {
                $name(std::array::from_fn(|i| self.0[i].sub_product(a.0[i], b.0[i])))
            }
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                $name(std::array::from_fn(|i| self.0[i].add(b.0[i])))
            }
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                $name(std::array::from_fn(|i| self.0[i].sub(b.0[i])))
            }
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                $name(std::array::from_fn(|i| self.0[i].mul(b.0[i])))
            }
            #[inline(always)]
            fn larger_or(self, b: Self) -> Self {
                $name(std::array::from_fn(|i| self.0[i].larger_or(b.0[i])))
            }
            #[inline(always)]
            fn if_equal(self, b: Self, yes: Self, no: Self) -> Self {
                $name(std::array::from_fn(|i| self.0[i].if_equal(b.0[i], yes.0[i], no.0[i])))
            }
            #[inline(always)]
            fn pick(self, src: Self, index: &[i32; $b]) -> Self {
                $pick(self, src, index)
            }
        }
    };
}
parts!(
    /// 8 lanes on a machine with AVX-512, which has 32 registers.
    Wide: 8 lanes, 1 x V256, Avx512, AVX512, |this: Wide, src: Wide, index: &[i32; 8]| {
        Wide([this.0[0].pick(src.0[0], index)])
    }
);
parts!(
    /// 16 lanes of AVX2.
    Two: 16 lanes, 2 x V256, Avx2, AVX2, pick_of_two
);
parts!(
    /// 16 lanes of the baseline's SSE2.
    Four: 16 lanes, 4 x __m128, (), SSE2, pick_by_loop::<Four, 16>
);
parts!(
    /// 8 lanes of the baseline's SSE2.
    TwoOfFour: 8 lanes, 2 x __m128, (), SSE2, pick_by_loop::<TwoOfFour, 8>
);

impl Vector<4> for __m128 {
    type Proof = ();
    const REGISTERS: usize = SSE2.vectors_of(4);
    #[inline(always)]
    fn splat((): (), x: f32) -> Self {
        // SAFETY: SSE2 is in the baseline of x86-64.
        unsafe { _mm_set1_ps(x) }
    }
    #[inline(always)]
    fn load((): (), x: &[f32; 4]) -> Self {
        // SAFETY: as above; 4 elements.
        unsafe { _mm_loadu_ps(x.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; 4]) {
        // SAFETY: as above; 4 elements.
        unsafe { _mm_storeu_ps(to.as_mut_ptr(), self) }
    }
    #[inline(always)]
    fn add_product(self, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_add_ps(self, _mm_mul_ps(a, b)) }
    }
    #[inline(always)]
    fn sub_product(self, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_sub_ps(self, _mm_mul_ps(a, b)) }
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_add_ps(self, b) }
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_sub_ps(self, b) }
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_mul_ps(self, b) }
    }
    #[inline(always)]
    fn larger_or(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_max_ps(self, b) }
    }
    #[inline(always)]
    fn if_equal(self, b: Self, yes: Self, no: Self) -> Self {
        // SAFETY: as above. SSE2 has no blend.
        unsafe {
            let equal = _mm_cmpeq_ps(self, b);
            _mm_or_ps(_mm_and_ps(equal, yes), _mm_andnot_ps(equal, no))
        }
    }
    #[inline(always)]
    fn pick(self, src: Self, index: &[i32; 4]) -> Self {
        pick_by_loop(self, src, index)
    }
}

#[inline(always)]
fn pick_by_loop<V: Vector<B, Proof = ()>, const B: usize>(this: V, src: V, index: &[i32; B]) -> V {
    let (mut to, mut from) = ([0.0; B], [0.0; B]);
    this.store(&mut to);
    src.store(&mut from);
    for (to, &i) in to.iter_mut().zip(index) {
        if i != KEEP {
            *to = from[i as usize];
        }
    }
    V::load((), &to)
}

#[inline(always)]
fn pick_of_two(this: Two, src: Two, index: &[i32; 16]) -> Two {
    let halves = index.as_chunks::<8>().0;
    let mut picked = this;
    for i in 0..2 {
        // SAFETY: both were made from the proof of AVX2; 8 indices. Bit 3 of an index chooses the half of the source; its
        // sign bit marks `KEEP`.
        picked.0[i] = V256(unsafe {
            let index = _mm256_loadu_si256(halves[i].as_ptr().cast());
            let low = _mm256_permutevar8x32_ps(src.0[0].0, index);
            let high = _mm256_permutevar8x32_ps(src.0[1].0, index);
            let half = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(index));
            let of_src = _mm256_blendv_ps(low, high, half);
            _mm256_blendv_ps(of_src, this.0[i].0, _mm256_castsi256_ps(index))
        });
    }
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Check<const B: usize>;

    impl<const B: usize> VectorLoop<B> for Check<B> {
        #[inline(always)]
        fn run<V: Vector<B>>(self, proof: V::Proof) {
            let numbers = |from: f32| std::array::from_fn(|l| from + l as f32);
            let (a, b): ([f32; B], [f32; B]) = (numbers(1.0), numbers(100.0));
            let mut index: [i32; B] = std::array::from_fn(|l| (l * 7 % B) as i32);
            index[3] = KEEP;
            let mut got = [0.0; B];
            V::load(proof, &a).pick(V::load(proof, &b), &index).store(&mut got);
            let want: [f32; B] = std::array::from_fn(|l| if l == 3 { a[l] } else { b[index[l] as usize] });
            assert_eq!(got, want);
            V::load(proof, &a).add_product(V::splat(proof, 2.0), V::load(proof, &b)).store(&mut got);
            assert_eq!(got, std::array::from_fn(|l| a[l] + 2.0 * b[l]));
            let mut check = |vector: V, want: [f32; B]| {
                vector.store(&mut got);
                assert_eq!(got, want);
            };
            let (x, y, two) = (V::load(proof, &a), V::load(proof, &b), V::splat(proof, 2.0));
            check(x.sub_product(two, y), std::array::from_fn(|l| a[l] - 2.0 * b[l]));
            check(x.add(y), std::array::from_fn(|l| a[l] + b[l]));
            check(x.sub(y), std::array::from_fn(|l| a[l] - b[l]));
            check(x.mul(y), std::array::from_fn(|l| a[l] * b[l]));
            let mut odd = a;
            (odd[0], odd[1]) = (f32::NAN, 1000.0);
            let odd = V::load(proof, &odd);
            check(odd.larger_or(y), std::array::from_fn(|l| if l == 1 { 1000.0 } else { b[l] }));
            check(odd.if_equal(x, y, two), std::array::from_fn(|l| if l < 2 { 2.0 } else { b[l] }));
            check(odd.if_equal(odd, y, two), std::array::from_fn(|l| if l == 0 { 2.0 } else { b[l] }));
        }
    }

    #[test]
    fn every_vector_agrees_with_its_definition() {
        Width::<16>::dispatch(Check::<16>);
        Width::<8>::dispatch(Check::<8>);
        Check::<16>.run::<Four>(());
        Check::<8>.run::<TwoOfFour>(());
        if let Some(proof) = crate::simd::level().avx2() {
            proof.run((Check::<16>, Over::<Two, 16>(proof)));
            proof.run((Check::<8>, Over::<V256, 8>(proof)));
        }
    }
}
