//! Sums of a row of pixels, in registers.

use super::plan::{BLOCK, PAIR, QUAD, Shifts};
use super::sink::Sink;
use crate::simd::bytes::{self, ByteLoop, ByteVector};
use crate::simd::{Loop, prefetch};

/// Four quads are a pixel's bytes in a plane.
const QUADS: usize = BLOCK / QUAD;

/// **Bytes** of two pixels.
const TWO_BLOCKS: usize = 2 * BLOCK;

/// The channels of a plane that a row reads: where they begin, and which quads of the four.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub at: usize,
    pub first: usize,
    pub end: usize,
}

/// One row of pixels of a unit's blocks.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    /// The source from the pixels of this row on.
    pub src: &'a [u8],
    /// **Bytes** from one pixel to the next.
    pub pixel: usize,
    /// Where each tap is, with its number in the kernel.
    pub taps: &'a [(usize, usize)],
    /// Taps of the kernel, of which `taps` may be a part.
    pub kernel: usize,
    /// The unit's weights, in vectors.
    pub weights: &'a [[u8; 64]],
    /// How many **bytes** behind them those lie that this thread reads next, and that are fetched with the first pixels. 0: nowhere.
    pub ahead: usize,
    /// What the sums begin with, a list of 16 for each block.
    pub start: &'a [[i32; BLOCK]],
}

/// Adds up a row of a unit whose lanes all read the same channels. Each block has a sink.
pub(super) fn shared(row: Row<'_>, runs: &[Run], sinks: &mut [Sink<'_>]) {
    match sinks {
        [first, second] => bytes::dispatch(Shared::<PAIR> { row, runs, sinks: [first, second] }),
        [first] => bytes::dispatch(Shared::<1> { row, runs, sinks: [first] }),
        _ => unreachable!("a unit has one or two blocks"),
    }
}

struct Shared<'a, 's, 'k, const O: usize> {
    row: Row<'a>,
    runs: &'a [Run],
    sinks: [&'s mut Sink<'k>; O],
}

impl<const O: usize> ByteLoop for Shared<'_, '_, '_, O> {
    #[inline(always)]
    fn run<V: ByteVector>(self, proof: V::Proof) {
        let width = self.sinks[0].len();
        run_tiles::<V, _>(self, proof, width);
    }
}

/// Some pixels of a row.
trait Tile {
    /// Adds up `P` pixels from `x` on.
    fn tile<V: ByteVector, const P: usize>(&mut self, proof: V::Proof, x: usize);
}

/// A row in tiles of as many pixels as keep their sums in registers, and divide the width with little rest.
#[inline(always)]
fn run_tiles<V: ByteVector, T: Tile>(tile: T, proof: V::Proof, width: usize) {
    if V::SUMS >= 14 * PAIR {
        return match width {
            14.. if width.div_ceil(14) * 14 <= width.div_ceil(8) * 8 + 2 => {
                tiles::<V, T, 14>(tile, proof, width)
            }
            8.. => tiles::<V, T, 8>(tile, proof, width),
            7 => tiles::<V, T, 7>(tile, proof, width),
            4.. => tiles::<V, T, 4>(tile, proof, width),
            _ => tiles::<V, T, 1>(tile, proof, width),
        };
    }
    match width {
        3 | 5.. if V::SUMS >= 3 * PAIR => tiles::<V, T, 3>(tile, proof, width),
        2 | 4 if V::SUMS >= 2 * PAIR => tiles::<V, T, 2>(tile, proof, width),
        _ => tiles::<V, T, 1>(tile, proof, width),
    }
}

#[inline(always)]
fn tiles<V: ByteVector, T: Tile, const P: usize>(tile: T, proof: V::Proof, width: usize) {
    V::apart(proof, Tiles::<V, T, P> { tile, proof, width });
}

/// A row in tiles of `P` pixels.
struct Tiles<V: ByteVector, T, const P: usize> {
    tile: T,
    proof: V::Proof,
    width: usize,
}

impl<V: ByteVector, T: Tile, const P: usize> Loop for Tiles<V, T, P> {
    type Out = ();
    #[inline(always)]
    fn run(mut self) {
        let mut x = 0;
        while x < self.width {
            // The last tile reaches back over pixels that are done: the same sums once more.
            self.tile.tile::<V, P>(self.proof, x.min(self.width - P));
            x += P;
        }
    }
}

impl<const O: usize> Tile for Shared<'_, '_, '_, O> {
    #[inline(always)]
    fn tile<V: ByteVector, const P: usize>(&mut self, proof: V::Proof, x: usize) {
        match self.row.pixel {
            BLOCK => self.sums::<V, P, BLOCK>(proof, x),
            // Every second pixel.
            TWO_BLOCKS => self.sums::<V, P, TWO_BLOCKS>(proof, x),
            _ => self.sums::<V, P, 0>(proof, x),
        }
    }
}

impl<const O: usize> Shared<'_, '_, '_, O> {
    /// `D` is the distance of pixels, if it is known when this is compiled, else 0: then LLVM checks and loads all pixels first, and has
    /// no registers for them.
    #[inline(always)]
    fn sums<V: ByteVector, const P: usize, const D: usize>(&mut self, proof: V::Proof, x: usize) {
        let Row { src, pixel, taps, kernel, weights, ahead, start } = self.row;
        let pixel = if D == 0 { pixel } else { D };
        let ahead = if x == 0 { ahead } else { 0 };
        let mut sums: [[V; O]; P] = [std::array::from_fn(|o| V::load(proof, &start[o])); P];
        let mut before = 0;
        for run in self.runs {
            let quads = run.end - run.first;
            for &(at, tap) in taps {
                let from = &src[run.at + at + x * pixel..][..(P - 1) * pixel + run.end * QUAD];
                let w = &weights[(before * kernel + tap * quads) * O..][..quads * O];
                if quads == QUADS {
                    let (from, w) = (&from[..(P - 1) * pixel + BLOCK], w.as_chunks::<O>().0);
                    if ahead != 0 {
                        prefetch(w, ahead);
                    }
                    for q in 0..QUADS {
                        let w: [V; O] = std::array::from_fn(|o| V::bytes(proof, &w[q][o]));
                        for_each_below!(p < P => {
                            add::<V, O>(proof, &mut sums[p], quad(from, p * pixel + q * QUAD), w);
                        });
                    }
                } else {
                    for (q, w) in w.as_chunks::<O>().0.iter().enumerate() {
                        let w: [V; O] = std::array::from_fn(|o| V::bytes(proof, &w[o]));
                        let q = (run.first + q) * QUAD;
                        for_each_below!(p < P => {
                            add::<V, O>(proof, &mut sums[p], quad(from, p * pixel + q), w);
                        });
                    }
                }
            }
            before += quads;
        }
        // No loop: an index that is known when this is compiled leaves the sums in registers.
        self.sinks[0].take::<V, P, O>(proof, x, &sums, 0);
        if O > 1 {
            self.sinks[1].take::<V, P, O>(proof, x, &sums, 1);
        }
    }
}

#[inline(always)]
fn quad(src: &[u8], at: usize) -> [u8; QUAD] {
    let mut quad = [0; QUAD];
    quad.copy_from_slice(&src[at..at + QUAD]);
    quad
}

#[inline(always)]
fn add<V: ByteVector, const O: usize>(proof: V::Proof, sums: &mut [V; O], quad: [u8; QUAD], w: [V; O]) {
    let src = V::splat(proof, quad);
    sums[0] = sums[0].add_products(src, w[0]);
    if O > 1 {
        sums[1] = sums[1].add_products(src, w[1]);
    }
}

/// Takes the products of a row that are summed up: of each pixel those of each block. `start` is what the sums of each block begin with.
/// Each block has a sink.
pub(super) fn summed(sums: &[[i32; BLOCK]], start: &[[i32; BLOCK]], sinks: &mut [Sink<'_>]) {
    bytes::dispatch(Summed { sums, start, sinks });
}

struct Summed<'a, 's, 'k> {
    sums: &'a [[i32; BLOCK]],
    start: &'a [[i32; BLOCK]],
    sinks: &'s mut [Sink<'k>],
}

impl ByteLoop for Summed<'_, '_, '_> {
    #[inline(always)]
    fn run<V: ByteVector>(self, proof: V::Proof) {
        let Summed { sums, start, sinks } = self;
        let blocks = sinks.len();
        for (block, (sink, start)) in sinks.iter_mut().zip(start).enumerate() {
            let width = sink.len();
            let one = SummedBlock { sums: &sums[block..], blocks, start, sink };
            match width {
                8.. => tiles::<V, _, 8>(one, proof, width),
                4.. => tiles::<V, _, 4>(one, proof, width),
                _ => tiles::<V, _, 1>(one, proof, width),
            }
        }
    }
}

struct SummedBlock<'a, 's, 'k> {
    sums: &'a [[i32; BLOCK]],
    blocks: usize,
    start: &'a [i32; BLOCK],
    sink: &'s mut Sink<'k>,
}

impl Tile for SummedBlock<'_, '_, '_> {
    #[inline(always)]
    fn tile<V: ByteVector, const P: usize>(&mut self, proof: V::Proof, x: usize) {
        let sums = &self.sums[x * self.blocks..][..(P - 1) * self.blocks + 1];
        let start = V::load(proof, self.start);
        let mut taken = [[start]; P];
        for_each_below!(p < P => {
            taken[p] = [V::load(proof, &sums[p * self.blocks]).add_integers(start)];
        });
        self.sink.take::<V, P, 1>(proof, x, &taken, 0);
    }
}

/// Adds up rows of a block whose lanes each read their own channel, each row into the next sink. `row` is the first. The source of the
/// next begins `step` **bytes** further on. Taps of the kernel's rows are those of `taps` that begin one.
pub(super) fn own(row: Row<'_>, step: usize, shifts: Shifts, sinks: &mut dyn Iterator<Item = Sink<'_>>) {
    bytes::dispatch(Own { row, step, shifts, sinks });
}

struct Own<'a, 's, 'k> {
    row: Row<'a>,
    step: usize,
    shifts: Shifts,
    sinks: &'s mut dyn Iterator<Item = Sink<'k>>,
}

impl ByteLoop for Own<'_, '_, '_> {
    #[inline(always)]
    fn run<V: ByteVector>(self, proof: V::Proof) {
        let Own { row, step, shifts, sinks } = self;
        let vectors = shifts.begins()[QUAD];
        for (y, mut sink) in sinks.enumerate() {
            let (width, sink) = (sink.len(), &mut sink);
            let one = OwnRow { row: Row { src: &row.src[y * step..], ..row }, shifts, vectors, sink };
            match shifts {
                Shifts { width: 3, step: 1 } => run_few::<V, _>(Unrolled::<3, 1>(one), proof, width),
                Shifts { width: 3, step: 2 } => run_few::<V, _>(Unrolled::<3, 2>(one), proof, width),
                Shifts { width: 5, step: 1 } => run_few::<V, _>(Unrolled::<5, 1>(one), proof, width),
                Shifts { width: 5, step: 2 } => run_few::<V, _>(Unrolled::<5, 2>(one), proof, width),
                _ => run_few::<V, _>(one, proof, width),
            }
        }
    }
}

struct OwnRow<'a, 's, 'k> {
    row: Row<'a>,
    shifts: Shifts,
    /// Of weights, of a row of taps.
    vectors: usize,
    sink: &'s mut Sink<'k>,
}

/// A row in tiles of few sizes: each is code for each kernel.
#[inline(always)]
fn run_few<V: ByteVector, T: Tile>(tile: T, proof: V::Proof, width: usize) {
    match width {
        14.. if V::SUMS >= 14 => tiles::<V, T, 14>(tile, proof, width),
        7.. if V::SUMS >= 14 => tiles::<V, T, 7>(tile, proof, width),
        4.. if (4..14).contains(&V::SUMS) => tiles::<V, T, 4>(tile, proof, width),
        _ => tiles::<V, T, 1>(tile, proof, width),
    }
}

impl Tile for OwnRow<'_, '_, '_> {
    #[inline(always)]
    fn tile<V: ByteVector, const P: usize>(&mut self, proof: V::Proof, x: usize) {
        let Row { src, pixel, taps, weights, start, .. } = self.row;
        let mut sums = [[V::load(proof, &start[0])]; P];
        let (weights, order) = (weights.chunks_exact(self.vectors), V::order(proof));
        for (row, weights) in taps.chunks_exact(self.shifts.width).zip(weights) {
            let (at, _) = row[0];
            for (q, w) in weights[..self.shifts.vectors(0)].iter().enumerate() {
                let w = V::bytes(proof, w);
                let from = &src[at + q * QUAD * BLOCK + x * pixel..][..(P - 1) * pixel + QUAD * BLOCK];
                for_each_below!(p < P => {
                    let pixels = V::pixels(proof, order, four_pixels(&from[p * pixel..], 0));
                    sums[p][0] = sums[p][0].add_products(pixels, w);
                });
            }
        }
        self.sink.take::<V, P, 1>(proof, x, &sums, 0);
    }
}

#[inline(always)]
fn four_pixels(from: &[u8], k: usize) -> &[u8; QUAD * BLOCK] {
    from[k * QUAD * BLOCK..].first_chunk().expect("four pixels")
}

/// The same for kernels of `K` taps along W whose outputs are `S` pixels apart: outputs share the vectors of the source.
struct Unrolled<'a, 's, 'k, const K: usize, const S: usize>(OwnRow<'a, 's, 'k>);

impl<const K: usize, const S: usize> Unrolled<'_, '_, '_, K, S> {
    const SHIFTS: Shifts = Shifts { width: K, step: S };
    const BEGINS: [usize; QUAD + 1] = Self::SHIFTS.begins();
}

impl<const K: usize, const S: usize> Tile for Unrolled<'_, '_, '_, K, S> {
    #[inline(always)]
    fn tile<V: ByteVector, const P: usize>(&mut self, proof: V::Proof, x: usize) {
        let Row { src, taps, weights, start, .. } = self.0.row;
        let mut sums = [[V::load(proof, &start[0])]; P];
        let fours = ((P - 1) * S + K).div_ceil(QUAD);
        let order = V::order(proof);
        for (row, weights) in taps.chunks_exact(K).zip(weights.chunks_exact(Self::BEGINS[QUAD])) {
            let (at, _) = row[0];
            let from = &src[at + x * S * BLOCK..][..fours * QUAD * BLOCK];
            // At most 8, where 14 outputs are 2 pixels apart; the macro counts to 14.
            let mut pixels = [V::pixels(proof, order, four_pixels(from, 0)); 14];
            for_each_below!(k < fours => {
                pixels[k] = V::pixels(proof, order, four_pixels(from, k));
            });
            for_each_below!(p < P => {
                let (first, shift) = (p * S / QUAD, p * S % QUAD);
                let w = &weights[Self::BEGINS[shift]..Self::BEGINS[shift + 1]];
                sums[p][0] = sums[p][0].add_products(pixels[first], V::bytes(proof, &w[0]));
                if Self::SHIFTS.vectors(shift) > 1 {
                    sums[p][0] = sums[p][0].add_products(pixels[first + 1], V::bytes(proof, &w[1]));
                }
            });
        }
        self.0.sink.take::<V, P, 1>(proof, x, &sums, 0);
    }
}
