//! Permutations of lanes, a vector at a time: each vector of the result is put together from lanes of a few vectors of the
//! operands, the same lanes for every pixel.

use crate::kernels::channel_copy::LaneSegment;
use crate::simd::vectors::{KEEP, Vector, VectorLoop, VectorWidth, Width};

/// How one block of the result is put together.
pub(crate) struct LanePermutation<const B: usize> {
    vectors: Vec<PermutedVector<B>>,
}

/// How the vector at one position is put together, for every pixel.
struct PermutedVector<const B: usize> {
    /// The offset in the result's block of the first pixel's vector, in **elements**.
    to: usize,
    /// The lanes that no operand gives: the fill value, or the zero of the tail.
    fill: [f32; B],
    sources: Vec<VectorSource<B>>,
}

/// A vector of an operand, and the lanes that are taken from it.
struct VectorSource<const B: usize> {
    operand: usize,
    /// The offset in the operand's image of the first pixel's vector.
    at: usize,
    /// For each lane of the result the lane of this vector, or [`KEEP`].
    index: [i32; B],
}

impl<const B: usize> LanePermutation<B>
where
    Width<B>: VectorWidth<B>,
{
    /// The permutation for the segments of one block. Blocks have `B` lanes on both sides, and offsets count from a block's
    /// start.
    pub(crate) fn new(segments: &[LaneSegment], value: f32) -> LanePermutation<B> {
        let mut vectors: Vec<PermutedVector<B>> = Vec::new();
        for s in segments {
            let (to, lane) = (s.to / B * B, s.to % B);
            let i = vectors.iter().position(|v| v.to == to).unwrap_or_else(|| {
                vectors.push(PermutedVector { to, fill: [0.0; B], sources: Vec::new() });
                vectors.len() - 1
            });
            let vector = &mut vectors[i];
            let Some((operand, from)) = s.from else {
                vector.fill[lane..lane + s.len].fill(value);
                continue;
            };
            let at = from / B * B;
            let known = vector.sources.iter().position(|v| (v.operand, v.at) == (operand, at));
            let k = known.unwrap_or_else(|| {
                vector.sources.push(VectorSource { operand, at, index: [KEEP; B] });
                vector.sources.len() - 1
            });
            let lanes = &mut vector.sources[k].index[lane..lane + s.len];
            lanes.iter_mut().zip(from % B..).for_each(|(index, l)| *index = l as i32);
        }
        LanePermutation { vectors }
    }

    /// Writes a row of `pixels`, for the vectors of all positions. `source(operand, at)` is the operand's memory from the row's
    /// first pixel on, at offset `at`. The steps from pixel to pixel are in **elements**.
    pub(crate) fn run<'s>(
        &self,
        source: impl Fn(usize, usize) -> &'s [f32],
        src_step: usize,
        dst: &mut [f32],
        dst_step: usize,
        pixels: usize,
    ) {
        for vector in &self.vectors {
            let dst = &mut dst[vector.to..];
            let sources: Vec<_> = vector.sources.iter().map(|v| (source(v.operand, v.at), v.index)).collect();
            let fill = &vector.fill;
            let row = RowPermutation { fill, sources: &sources, src_step, dst, dst_step, pixels };
            Width::<B>::dispatch(row);
        }
    }
}

/// One row of pixels, for the vectors of one position.
struct RowPermutation<'a, const B: usize> {
    fill: &'a [f32; B],
    sources: &'a [(&'a [f32], [i32; B])],
    src_step: usize,
    dst: &'a mut [f32],
    dst_step: usize,
    pixels: usize,
}

impl<const B: usize> VectorLoop<B> for RowPermutation<'_, B> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        // With the usual counts known to the compiler, the indices stay in registers.
        match self.sources.len() {
            1 => self.run_fixed::<V, 1>(proof),
            2 => self.run_fixed::<V, 2>(proof),
            3 => self.run_fixed::<V, 3>(proof),
            4 => self.run_fixed::<V, 4>(proof),
            _ => self.run_any::<V>(proof),
        }
    }
}

impl<const B: usize> RowPermutation<'_, B> {
    /// The loop for `K` sources.
    #[inline(always)]
    fn run_fixed<V: Vector<B>, const K: usize>(self, proof: V::Proof) {
        let fill = V::load(proof, self.fill);
        let sources: [(&[f32], [i32; B]); K] = std::array::from_fn(|k| self.sources[k]);
        for p in 0..self.pixels {
            let mut lanes = fill;
            for (src, index) in &sources {
                lanes = lanes.pick(V::load(proof, vector(src, p * self.src_step)), index);
            }
            if let Some(to) = self.dst[p * self.dst_step..].first_chunk_mut::<B>() {
                lanes.store(to);
            }
        }
    }

    /// The loop for any number of sources.
    #[inline(always)]
    fn run_any<V: Vector<B>>(self, proof: V::Proof) {
        let fill = V::load(proof, self.fill);
        for p in 0..self.pixels {
            let mut lanes = fill;
            for (src, index) in self.sources {
                lanes = lanes.pick(V::load(proof, vector(src, p * self.src_step)), index);
            }
            if let Some(to) = self.dst[p * self.dst_step..].first_chunk_mut::<B>() {
                lanes.store(to);
            }
        }
    }
}

#[inline(always)]
fn vector<const B: usize>(src: &[f32], at: usize) -> &[f32; B] {
    src[at..].first_chunk::<B>().expect("sources hold whole blocks")
}
