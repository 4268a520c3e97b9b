//! Moves of single lanes, a vector at a time: each vector of the result is put together from lanes of a few vectors of
//! the sources, the same lanes for every pixel.

use crate::kernels::channel_copy::Segment;
use crate::simd::vectors::{KEEP, Vector, VectorLoop, VectorWidth, Width};

/// How one block of the result is made.
pub(crate) struct Picks<const B: usize> {
    places: Vec<Place<B>>,
}

/// How the vectors from one pixel on are made.
struct Place<const B: usize> {
    /// The first vector's offset in the block's plane, in **elements**.
    to: usize,
    /// The lanes that come from nowhere: a fill value, or the zero of the tail.
    start: [f32; B],
    terms: Vec<Term<B>>,
}

/// Lanes of one vector of a source.
struct Term<const B: usize> {
    source: usize,
    /// Where in the source's image the vector of the first pixel lies.
    at: usize,
    /// For each lane of the result the source's, or [`KEEP`].
    index: [i32; B],
}

impl<const B: usize> Picks<B>
where
    Width<B>: VectorWidth<B>,
{
    /// Segments whose offsets count from blocks of `B` lanes, on both sides.
    pub(crate) fn new(segments: &[Segment], value: f32) -> Picks<B> {
        let mut places: Vec<Place<B>> = Vec::new();
        for s in segments {
            let (to, lane) = (s.to / B * B, s.to % B);
            let i = places.iter().position(|p| p.to == to).unwrap_or_else(|| {
                places.push(Place { to, start: [0.0; B], terms: Vec::new() });
                places.len() - 1
            });
            let place = &mut places[i];
            let Some((source, from)) = s.from else {
                place.start[lane..lane + s.len].fill(value);
                continue;
            };
            let at = from / B * B;
            let known = place.terms.iter().position(|t| (t.source, t.at) == (source, at));
            let k = known.unwrap_or_else(|| {
                place.terms.push(Term { source, at, index: [KEEP; B] });
                place.terms.len() - 1
            });
            let lanes = &mut place.terms[k].index[lane..lane + s.len];
            lanes.iter_mut().zip(from % B..).for_each(|(index, l)| *index = l as i32);
        }
        Picks { places }
    }

    /// Writes a row of `pixels` of every place: `source(s, at)` is what lies from there on in the sources, and
    /// `dst(to)` in the result; both go on by their step, in **elements**.
    pub(crate) fn run<'s>(
        &self,
        source: impl Fn(usize, usize) -> &'s [f32],
        src_step: usize,
        dst: &mut [f32],
        dst_step: usize,
        pixels: usize,
    ) {
        for place in &self.places {
            let dst = &mut dst[place.to..];
            let terms: Vec<_> = place.terms.iter().map(|t| (source(t.source, t.at), t.index)).collect();
            Width::<B>::dispatch(Row { start: &place.start, terms: &terms, src_step, dst, dst_step, pixels });
        }
    }
}

struct Row<'a, const B: usize> {
    start: &'a [f32; B],
    terms: &'a [(&'a [f32], [i32; B])],
    src_step: usize,
    dst: &'a mut [f32],
    dst_step: usize,
    pixels: usize,
}

impl<const B: usize> VectorLoop<B> for Row<'_, B> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        // The usual counts apart, so that their indices stay in registers.
        match self.terms.len() {
            1 => self.fixed::<V, 1>(proof),
            2 => self.fixed::<V, 2>(proof),
            3 => self.fixed::<V, 3>(proof),
            4 => self.fixed::<V, 4>(proof),
            _ => self.any::<V>(proof),
        }
    }
}

impl<const B: usize> Row<'_, B> {
    #[inline(always)]
    fn fixed<V: Vector<B>, const K: usize>(self, proof: V::Proof) {
        let start = V::load(proof, self.start);
        let terms: [(&[f32], [i32; B]); K] = std::array::from_fn(|k| self.terms[k]);
        for p in 0..self.pixels {
            let mut lanes = start;
            for (src, index) in &terms {
                lanes = lanes.pick(V::load(proof, vector(src, p * self.src_step)), index);
            }
            if let Some(to) = self.dst[p * self.dst_step..].first_chunk_mut::<B>() {
                lanes.store(to);
            }
        }
    }

    #[inline(always)]
    fn any<V: Vector<B>>(self, proof: V::Proof) {
        let start = V::load(proof, self.start);
        for p in 0..self.pixels {
            let mut lanes = start;
            for (src, index) in self.terms {
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
