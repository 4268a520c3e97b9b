//! The two loops: tiles of output pixels whose sums stay in registers.

use std::marker::PhantomData;
use std::ops::Range;

use crate::simd::vectors::{KEEP, Vector, VectorLoop, VectorWidth, Width};
use crate::threads::SyncPtr;

/// One tap: its distance from an output pixel's place in the window, in elements, and its number in the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tap {
    pub at: usize,
    pub k: usize,
}

/// Source lanes of one plane that a shared block reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Where the plane begins in the window.
    pub at: usize,
    pub from: usize,
    pub to: usize,
}

/// The result, for tasks that each write their own elements.
#[derive(Clone, Copy)]
pub(crate) struct Out<'a, E = f32> {
    data: SyncPtr<E>,
    len: usize,
    lifetime: PhantomData<&'a mut [E]>,
}

impl<'a, E> Out<'a, E> {
    pub fn new(dst: &'a mut [E]) -> Out<'a, E> {
        Out { len: dst.len(), data: SyncPtr::new(dst), lifetime: PhantomData }
    }

    /// # Safety
    /// No other thread reads or writes these elements, and the caller holds no other reference to them.
    #[inline(always)]
    pub unsafe fn pixel<const B: usize>(&self, at: usize) -> &'a mut [E; B] {
        assert!(at < self.len && B <= self.len - at);
        // SAFETY: inside the slice that `data` was made from, by the assert; alone, by the caller's promise.
        unsafe { &mut *self.data.get().add(at).cast::<[E; B]>() }
    }

    /// Elements that follow each other.
    ///
    /// # Safety
    /// As of [`pixel`](Self::pixel).
    pub unsafe fn pixels(&self, at: usize, len: usize) -> &'a mut [E] {
        assert!(at <= self.len && len <= self.len - at);
        // SAFETY: inside the slice that `data` was made from, by the assert; alone, by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.data.get().add(at), len) }
    }
}

/// Where a tile's pixels lie: row r, pixel x at `at + r * row + x * pixel`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileGrid {
    pub at: usize,
    pub row: usize,
    pub pixel: usize,
}

impl TileGrid {
    #[inline(always)]
    pub fn offset(&self, row: usize, x: usize) -> usize {
        self.at + row * self.row + x * self.pixel
    }
}

/// What both loops have in common.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a> {
    /// Planes of source pixels, neighbours along W one block apart, so that pixel x of the tile meets a tap `x`
    /// pixels after pixel 0 does.
    pub window: &'a [f32],
    /// Elements between the window's rows of two neighbouring output rows.
    pub window_row: usize,
    pub taps: &'a [Tap],
    /// Taps of the kernel, of which `taps` may be a part.
    pub kernel: usize,
    pub rows: usize,
    pub width: usize,
    pub out: Out<'a>,
}

/// Every lane reads the same channels: `dst[o] += source lane * weights[o]`.
struct Shared<'a, const B: usize, const P: usize, const O: usize> {
    tile: Tile<'a>,
    runs: &'a [Run],
    weights: [&'a [[f32; B]]; O],
    bias: [&'a [f32; B]; O],
    dst: [TileGrid; O],
    /// Where this is not the first group of the block's lanes: the lanes that it writes, into what is there.
    into: Option<[i32; B]>,
}

impl<const B: usize, const P: usize, const O: usize> VectorLoop<B> for Shared<'_, B, P, O> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        if !fits(P, O, V::REGISTERS) {
            unreachable!("`pixels_at_once` chose more accumulators than registers");
        }
        let t = &self.tile;
        let bias: [V; O] = self.bias.map(|b| V::load(proof, b));
        for row in 0..t.rows {
            let mut x = 0;
            loop {
                let origin = row * t.window_row + x * B;
                let mut sums = bias.map(|b| [b; P]);
                for (plane, run) in self.runs.iter().enumerate() {
                    for tap in t.taps {
                        let pixels = pixels::<B, P>(t.window, origin + run.at + tap.at);
                        let weights = self.weights.map(|w| square(w, plane * t.kernel + tap.k));
                        for lane in run.from..run.to.min(B) {
                            let w = weights.map(|w| V::load(proof, &w[lane]));
                            for_each_below!(p < P => {
                                let source = V::splat(proof, pixels[p][lane]);
                                sums[0][p] = sums[0][p].add_product(source, w[0]);
                                if O > 1 {
                                    sums[1][p] = sums[1][p].add_product(source, w[1]);
                                }
                            });
                        }
                    }
                }
                let mut at = self.dst.map(|d| d.offset(row, x));
                for_each_below!(p < P => {
                    // SAFETY: pixels of this tile, which one task has.
                    let to = unsafe { t.out.pixel(at[0]) };
                    match &self.into {
                        None => sums[0][p].store(to),
                        Some(lanes) => V::load(proof, to).pick(sums[0][p], lanes).store(to),
                    }
                    at[0] += self.dst[0].pixel;
                    if O > 1 {
                        // SAFETY: as above.
                        sums[1][p].store(unsafe { t.out.pixel(at[1]) });
                        at[1] += self.dst[1].pixel;
                    }
                });
                if x + P >= t.width {
                    break;
                }
                // The last tile reaches back over pixels that are done: the same sums once more.
                x = (x + P).min(t.width - P);
            }
        }
    }
}

/// Lane l reads lane l: `dst += source * weights`, plane by plane. Taps are taken `K` at a time: 3 where they are
/// neighbours along W, so that each source vector is read once for all three.
struct Own<'a, const B: usize, const P: usize, const K: usize> {
    tile: Tile<'a>,
    planes: usize,
    /// Elements between two planes of the window.
    plane: usize,
    block: Target<'a, B>,
}

impl<const B: usize, const P: usize, const K: usize> VectorLoop<B> for Own<'_, B, P, K> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        if !fits(P, 1, V::REGISTERS) {
            unreachable!("`pixels_at_once` chose more accumulators than registers");
        }
        let t = &self.tile;
        let bias = V::load(proof, self.block.bias);
        for row in 0..t.rows {
            let mut x = 0;
            loop {
                let origin = row * t.window_row + x * B;
                let mut sums = [bias; P];
                for plane in 0..self.planes {
                    for tap in t.taps.as_chunks::<K>().0 {
                        let at = origin + plane * self.plane + tap[0].at;
                        let w = &self.block.weights[plane * t.kernel + tap[0].k..][..K];
                        if K == 3 {
                            let pixels = t.window[at..at + (P + 2) * B].as_chunks::<B>().0;
                            let w = [V::load(proof, &w[0]), V::load(proof, &w[1]), V::load(proof, &w[2])];
                            for_each_below!(p < P => {
                                sums[p] = sums[p].add_product(V::load(proof, &pixels[p]), w[0]);
                                sums[p] = sums[p].add_product(V::load(proof, &pixels[p + 1]), w[1]);
                                sums[p] = sums[p].add_product(V::load(proof, &pixels[p + 2]), w[2]);
                            });
                        } else {
                            let pixels = pixels::<B, P>(t.window, at);
                            let w = V::load(proof, &w[0]);
                            for_each_below!(p < P => {
                                sums[p] = sums[p].add_product(V::load(proof, &pixels[p]), w);
                            });
                        }
                    }
                }
                let mut at = self.block.dst.offset(row, x);
                for_each_below!(p < P => {
                    // SAFETY: a pixel of this tile, which one task has.
                    sums[p].store(unsafe { t.out.pixel(at) });
                    at += self.block.dst.pixel;
                });
                if x + P >= t.width {
                    break;
                }
                x = (x + P).min(t.width - P);
            }
        }
    }
}

/// One block of output lanes.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a, const B: usize> {
    pub weights: &'a [[f32; B]],
    pub bias: &'a [f32; B],
    pub dst: TileGrid,
}

/// Whether the taps come in threes, neighbours along W in window and kernel.
fn in_threes(taps: &[Tap], block: usize) -> bool {
    let (threes, rest) = taps.as_chunks::<3>();
    let next = |a: &Tap, b: &Tap| b.at == a.at + block && b.k == a.k + 1;
    rest.is_empty() && threes.iter().all(|[a, b, c]| next(a, b) && next(b, c))
}

/// `P` neighbouring pixels.
#[inline(always)]
fn pixels<const B: usize, const P: usize>(window: &[f32], at: usize) -> &[[f32; B]; P] {
    let Some(pixels) = window[at..at + P * B].as_chunks::<B>().0.first_chunk() else { unreachable!() };
    pixels
}

/// Square number `i`: the weights of one source block and one tap.
#[inline(always)]
fn square<const B: usize>(weights: &[[f32; B]], i: usize) -> &[[f32; B]; B] {
    let Some(square) = weights[i * B..].first_chunk() else { panic!("weights end early") };
    square
}

/// Whether the sums of a tile, its weights and one source vector fit the registers.
const fn fits(pixels: usize, blocks: usize, registers: usize) -> bool {
    pixels * blocks + blocks < registers
}

/// How many blocks of output lanes share a broadcast.
pub(crate) fn blocks_at_once(registers: usize) -> usize {
    if registers < 16 { 1 } else { 2 }
}

/// How many neighbouring pixels a tile of this width has its sums for at once: what wastes least, by the
/// multiply-adds of a step and its loads. Fewer than 8 sums leave the multipliers waiting.
fn pixels_at_once(width: usize, blocks: usize, registers: usize) -> usize {
    let cost = |p: usize| width.div_ceil(p) * ((p * blocks).max(8) + 3);
    let choices = [14, 8, 7, 6, 5, 4, 3, 2, 1];
    let fitting = choices.into_iter().filter(|&p| p <= width && fits(p, blocks, registers));
    fitting.min_by_key(|&p| cost(p)).unwrap_or(1)
}

/// Calls `$call::<P>` for the number of pixels.
macro_rules! with_pixels {
    ($pixels:expr, $p:ident => $call:expr) => {
        with_pixels!(@ $pixels, $p => $call; 14 8 7 6 5 4 3 2)
    };
    (@ $pixels:expr, $p:ident => $call:expr; $($n:literal)*) => {
        match $pixels {
            $($n => { const $p: usize = $n; $call })*
            _ => { const $p: usize = 1; $call }
        }
    };
}

/// Runs a tile of one or two blocks that share their input channels, or of the lanes of one group in a block.
pub(crate) fn shared<const B: usize>(
    tile: Tile<'_>,
    runs: &[Run],
    blocks: &[Target<'_, B>],
    lanes: Range<usize>,
) where
    Width<B>: VectorWidth<B>,
{
    let pixels = pixels_at_once(tile.width, blocks.len(), Width::<B>::registers());
    let into =
        (lanes.start > 0).then(|| std::array::from_fn(|l| if lanes.contains(&l) { l as i32 } else { KEEP }));
    match *blocks {
        [one] => with_pixels!(pixels, P => Width::<B>::dispatch(Shared::<B, P, 1> {
            tile, runs, weights: [one.weights], bias: [one.bias], dst: [one.dst], into,
        })),
        [a, b] => with_pixels!(pixels, P => Width::<B>::dispatch(Shared::<B, P, 2> {
            tile,
            runs,
            weights: [a.weights, b.weights],
            bias: [a.bias, b.bias],
            dst: [a.dst, b.dst],
            into: None,
        })),
        _ => unreachable!("`blocks_at_once` is 1 or 2"),
    }
}

/// Runs a tile of one block whose lanes each read their own.
pub(crate) fn own<const B: usize>(tile: Tile<'_>, (planes, plane): (usize, usize), block: Target<'_, B>)
where
    Width<B>: VectorWidth<B>,
{
    let pixels = pixels_at_once(tile.width, 1, Width::<B>::registers());
    if in_threes(tile.taps, B) {
        with_pixels!(pixels, P => Width::<B>::dispatch(Own::<B, P, 3> { tile, planes, plane, block }));
    } else {
        with_pixels!(pixels, P => Width::<B>::dispatch(Own::<B, P, 1> { tile, planes, plane, block }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_of_pixels_fits_the_registers_and_the_tile() {
        for registers in [4, 8, 16, 32] {
            for width in 1..80 {
                for blocks in 1..=blocks_at_once(registers) {
                    let pixels = pixels_at_once(width, blocks, registers);
                    assert!(
                        pixels <= width && fits(pixels, blocks, registers),
                        "{registers} {width} {blocks}"
                    );
                }
            }
        }
        assert_eq!(pixels_at_once(56, 2, 32), 14);
        assert_eq!(pixels_at_once(7, 2, 32), 7);
    }
}
