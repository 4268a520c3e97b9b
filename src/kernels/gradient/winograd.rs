//! The gradient of a convolution's weights by Winograd's algorithm: 36 products for a tile of 4 by 4 outputs instead of 144.
//!
//! A result tile is `A^T [(G w G^T) . (B^T x B)] A`, so the gradient of the weights is the sum over all tiles of
//! `G^T [(A diff A^T) . (B^T x B)] G`. Source and incoming gradient are transformed tile by tile; at each point a matrix product over
//! the tiles adds up what each pair of channels gets, and the sums are transformed back once.
//!
//! A task has some blocks of output channels and of input channels. A pair's sums are computed by one task in one order, whatever
//! blocks the task has, so the bits are the same for any number of threads.

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use super::conv_weights::Tiling;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::winograd::{
    Four, InputTransform, MAX_POINTS, Points, SpreadTransform, TileRun, Tiles, Two,
};
use crate::kernels::lanes::Lanes;
use crate::memory::{try_filled, try_with_capacity};
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};
use crate::tensor::blocked::BlockedTensor;
use crate::threads::{current_threads, parallel_each};

/// Tiles that are transformed at once.
const CHUNK: usize = 128;
/// After so many such chunks the sums go to f64.
const CHUNKS_IN_F32: usize = 16;
/// Blocks of output channels and of input channels of a task. The first with a task for each thread is taken: the more blocks,
/// the more often a transformed tile is used.
const SIDES: [[usize; 2]; 4] = [[4, 4], [2, 4], [2, 2], [1, 2]];

/// Whether it computes this gradient: it reads whole blocks of channels of each group.
pub(super) fn takes<const B: usize>(g: &ConvGeometry, x: &BlockedTensor, diff: &BlockedTensor) -> bool {
    let is_whole = [g.c, g.o].iter().all(|channels| (channels / g.groups).is_multiple_of(B));
    let in_blocks = |t: &BlockedTensor| t.layout().channel_block() == Some(B);
    in_blocks(x) && in_blocks(diff) && (g.groups == 1 || is_whole)
}

/// Writes the gradient into `to`, as [`Tiling`] has it; beyond the channels there are zeros. Tiles have `outputs` by `outputs` pixels.
///
/// # Errors
/// `OutOfMemory`.
pub(super) fn weights<const B: usize>(
    g: &ConvGeometry,
    outputs: usize,
    x: &BlockedTensor,
    diff: &BlockedTensor,
    to: &mut [f32],
) -> Result<()>
where
    Width<B>: VectorWidth<B>,
{
    let of = |t| Lanes::of_blocked(g.op, t);
    let (x_view, diff_view) = (of(x)?, of(diff)?);
    let call = Call {
        g,
        tiles: Tiles::new(g, outputs),
        x: x.data().as_chunks::<B>().0,
        x_view,
        diff: diff.data().as_chunks::<B>().0,
        diff_view,
    };
    match outputs {
        2 => call.all::<Two>(to),
        _ => call.all::<Four>(to),
    }
}

struct Call<'a, const B: usize> {
    g: &'a ConvGeometry,
    tiles: Tiles,
    x: &'a [[f32; B]],
    x_view: Lanes,
    diff: &'a [[f32; B]],
    diff_view: Lanes,
}

/// Some blocks of output channels and of input channels of a group.
struct Task<'a> {
    /// The first block of each, counted over all groups, and how many.
    o: (usize, usize),
    c: (usize, usize),
    /// Of each pair, row by row.
    pairs: Vec<Pair<'a>>,
}

/// A block of output channels and one of input channels.
struct Pair<'a> {
    /// Channels that there are in them.
    lanes: usize,
    used: usize,
    to: &'a mut [f32],
}

/// Vectors of what a task keeps.
struct Room {
    zeros: usize,
    columns: usize,
    x: usize,
    diff: usize,
    sums: usize,
}

/// A thread's memory.
struct Memory {
    vectors: Buffer,
    /// Of sums in f64, if there are so many tiles.
    totals: Vec<f64>,
}

impl<const B: usize> Call<'_, B>
where
    Width<B>: VectorWidth<B>,
{
    fn all<T: Points>(&self, to: &mut [f32]) -> Result<()> {
        let op = self.g.op;
        let Tiling { groups, o, c, o_blocks, c_blocks, .. } = Tiling::new::<B>(self.g);
        let sets = |[o, c]: &[usize; 2]| groups * o_blocks.div_ceil(*o) * c_blocks.div_ceil(*c);
        let [o_side, c_side] =
            SIDES.into_iter().find(|sides| sets(sides) >= current_threads()).unwrap_or([1, 1]);
        let (down, across) = (o_blocks.div_ceil(o_side), c_blocks.div_ceil(c_side));
        let mut tasks = try_with_capacity(op, groups * down * across)?;
        for i in 0..groups * down * across {
            let (group, row, column) = (i / across / down, i / across % down * o_side, i % across * c_side);
            tasks.push(Task {
                o: (group * o_blocks + row, o_side.min(o_blocks - row)),
                c: (group * c_blocks + column, c_side.min(c_blocks - column)),
                pairs: Vec::new(),
            });
        }
        for (i, to) in to.chunks_mut(9 * B * B).enumerate() {
            let (group, row, column) = (i / c_blocks / o_blocks, i / c_blocks % o_blocks, i % c_blocks);
            let task = &mut tasks[(group * down + row / o_side) * across + column / c_side];
            task.pairs.push(Pair { lanes: B.min(o - row * B), used: B.min(c - column * B), to });
        }
        let points = T::POINTS * T::POINTS;
        let chunk = CHUNK.min(self.tiles.count);
        // An odd number of vectors, so that the points do not meet in the same sets of a cache.
        let room = Room {
            zeros: self.x_view.spatial[2],
            columns: (chunk.min(self.tiles.grid[1]) * T::OUTPUTS + 2) * MAX_POINTS,
            x: (c_side * chunk) | 1,
            diff: (o_side * chunk) | 1,
            sums: points * o_side * c_side * B,
        };
        let vectors = room.zeros + room.columns + points * (room.x + room.diff) + room.sums;
        let has_totals = self.tiles.count > CHUNKS_IN_F32 * CHUNK;
        let count = current_threads().min(tasks.len());
        let mut threads = try_with_capacity(op, count)?;
        for _ in 0..count {
            threads.push(Memory {
                vectors: Buffer::for_result(vectors * B * size_of::<f32>())?,
                totals: try_filled(op, if has_totals { room.sums * B } else { 0 }, 0.0)?,
            });
        }
        let rest = Mutex::new(tasks.iter_mut());
        parallel_each(&mut threads, |_, memory| {
            let next = || rest.lock().unwrap_or_else(PoisonError::into_inner).next();
            let mut runs = Vec::new();
            while let Some(task) = next() {
                let vectors = memory.vectors.as_mut_slice::<f32>().as_chunks_mut::<B>().0;
                let (vectors, sums) = vectors.split_at_mut(vectors.len() - room.sums);
                self.add::<T>(task, &room, vectors, sums, &mut memory.totals, &mut runs);
                let pairs = task.pairs.len();
                for (pair, of) in task.pairs.iter_mut().enumerate() {
                    Width::<B>::dispatch(Finish { points: PhantomData::<T>, sums, pair, pairs, of });
                }
            }
        });
        Ok(())
    }

    /// The sums over all tiles, `[point][pair][input channel]`.
    fn add<T: Points>(
        &self,
        task: &Task<'_>,
        room: &Room,
        vectors: &mut [[f32; B]],
        sums: &mut [[f32; B]],
        totals: &mut [f64],
        runs: &mut Vec<TileRun>,
    ) {
        let points = T::POINTS * T::POINTS;
        let pairs = task.pairs.len();
        let sums = &mut sums[..points * pairs * B];
        totals.fill(0.0);
        let (zeros, rest) = vectors.split_at_mut(room.zeros);
        zeros.fill([0.0; B]);
        let (columns, rest) = rest.split_at_mut(room.columns);
        let (x, diff) = rest.split_at_mut(points * room.x);
        let chunks = self.tiles.count.div_ceil(CHUNK);
        for chunk in 0..chunks {
            let first = chunk * CHUNK;
            let count = CHUNK.min(self.tiles.count - first);
            self.tiles.runs(first..first + count, runs);
            Width::<B>::dispatch(InputTransform {
                points: PhantomData::<T>,
                tiles: &self.tiles,
                runs,
                src: self.x,
                view: &self.x_view,
                blocks: task.c,
                zeros,
                columns,
                to: x,
                point: room.x,
                block: count,
            });
            Width::<B>::dispatch(SpreadTransform {
                points: PhantomData::<T>,
                runs,
                diff: self.diff,
                view: &self.diff_view,
                blocks: task.o,
                to: diff,
                point: room.diff,
                block: count,
            });
            for (i, sums) in sums.chunks_mut(B).enumerate() {
                let (point, o, c) = (i / pairs, i % pairs / task.c.1, i % pairs % task.c.1);
                Width::<B>::dispatch(Product {
                    x: &x[point * room.x + c * count..][..count],
                    diff: &diff[point * room.diff + o * count..][..count],
                    sums,
                    goes_on: !chunk.is_multiple_of(CHUNKS_IN_F32),
                });
            }
            let is_last = chunk + 1 == chunks;
            if !totals.is_empty() && (is_last || (chunk + 1).is_multiple_of(CHUNKS_IN_F32)) {
                for (total, sum) in totals.iter_mut().zip(sums.as_flattened_mut()) {
                    *total += f64::from(*sum);
                    *sum = *total as f32;
                }
            }
        }
    }
}

/// Adds up, over tiles, the outer products of a block of input channels and one of output channels, at one point.
struct Product<'a, const B: usize> {
    x: &'a [[f32; B]],
    diff: &'a [[f32; B]],
    /// A vector for each input channel.
    sums: &'a mut [[f32; B]],
    /// Whether they are added to what is there.
    goes_on: bool,
}

impl<const B: usize> VectorLoop<B> for Product<'_, B> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        let Product { x, diff, sums, goes_on } = self;
        let mut all = [V::splat(proof, 0.0); B];
        for (x, diff) in x.iter().zip(diff) {
            let diff = V::load(proof, diff);
            for i in 0..B {
                all[i] = all[i].add_product(V::splat(proof, x[i]), diff);
            }
        }
        // Added afterwards: a sum of sums has less error than a long sum.
        for i in 0..B {
            let sum = if goes_on { all[i].add(V::load(proof, &sums[i])) } else { all[i] };
            sum.store(&mut sums[i]);
        }
    }
}

/// Transforms the sums of a pair back.
struct Finish<'a, 'b, T, const B: usize> {
    points: PhantomData<T>,
    sums: &'a [[f32; B]],
    pair: usize,
    pairs: usize,
    of: &'a mut Pair<'b>,
}

impl<T: Points, const B: usize> VectorLoop<B> for Finish<'_, '_, T, B> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        let Finish { sums, pair, pairs, of, .. } = self;
        let to = of.to.as_chunks_mut::<B>().0;
        let zero = V::splat(proof, 0.0);
        for c in 0..B {
            // The columns of points, transformed along H.
            let mut columns = [[zero; MAX_POINTS]; 3];
            for j in 0..T::POINTS {
                let mut column = [zero; MAX_POINTS];
                for i in 0..T::POINTS {
                    column[i] = V::load(proof, &sums[((i * T::POINTS + j) * pairs + pair) * B + c]);
                }
                let taps = T::gathered::<V, B>(proof, &column);
                for i in 0..3 {
                    columns[i][j] = taps[i];
                }
            }
            for i in 0..3 {
                let taps = T::gathered::<V, B>(proof, &columns[i]);
                for j in 0..3 {
                    let to = &mut to[(i * 3 + j) * B + c];
                    taps[j].store(to);
                    // Beyond the channels an infinity times zero would be NaN.
                    to[if c < of.used { of.lanes } else { 0 }..].fill(0.0);
                }
            }
        }
    }
}
