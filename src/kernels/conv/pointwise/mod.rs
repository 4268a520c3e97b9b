//! Convolution of blocked activations by kernels of one tap, in Rust: a matrix product for each image.
//!
//! A tile of up to 14 neighbouring pixels by two output blocks keeps its sums in registers. Pixels are counted over all rows
//! of an image, so that narrow images fill their tiles too. The tiles of a step are as many as leave their source in the second
//! cache while the weights of unit after unit pass. With a stride, a step first copies its pixels side by side.
//!
//! The weights lie as for a direct convolution, and the sums have its order, so that the bits are the same: they depend on
//! shapes and on the machine's instructions, never on the number of threads.

mod gather;
mod implementation;
mod plan;
mod product;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use self::gather::Gather;
pub(crate) use self::implementation::Pointwise;
use self::plan::{PointwisePlan, TileRun};
use self::product::{Far, Product};
use super::epilogue::Finish;
use super::tiled::{F32Operands, Out};
use crate::elementwise;
use crate::error::Result;
use crate::memory::{try_filled, try_with_capacity};
use crate::scratchpad::Scratchpad;
use crate::simd::vectors::{VectorWidth, Width};
use crate::threads::{parallel_in_turns, share};

impl PointwisePlan {
    /// Writes every element of the result, its padding lanes too.
    fn compute(
        &self,
        operands: &F32Operands<'_>,
        dst: &mut [f32],
        scratchpad: Option<&mut Scratchpad>,
    ) -> Result<()> {
        let mut own = Scratchpad::new();
        let scratch = match self.scratch_bytes() {
            0 => &mut [],
            bytes => bytemuck::cast_slice_mut(scratchpad.unwrap_or(&mut own).reserve(bytes)?),
        };
        match self.tiled.block {
            16 => Run::<16>::new(self, operands)?.all(dst, scratch),
            _ => Run::<8>::new(self, operands)?.all(dst, scratch),
        }
    }
}

/// One run.
struct Run<'a, const B: usize> {
    plan: &'a PointwisePlan,
    operands: &'a F32Operands<'a>,
    src: &'a [[f32; B]],
    weights: &'a [[f32; B]],
    bias: Vec<[f32; B]>,
}

/// Tiles between a product and its post-ops at most: their sums are still in the first cache then.
const RUN_TILES: usize = 8;

impl<'a, const B: usize> Run<'a, B>
where
    Width<B>: VectorWidth<B>,
{
    fn new(plan: &'a PointwisePlan, operands: &'a F32Operands<'a>) -> Result<Self> {
        let tiled = &plan.tiled;
        let mut bias = try_filled(tiled.op(), tiled.dst.blocks, [0.0; B])?;
        if let Some(values) = operands.finish.bias {
            bias.as_flattened_mut()[..values.len()].copy_from_slice(values);
        }
        let src = operands.src[..tiled.src.len()].as_chunks().0;
        let weights = operands.weights[..tiled.weight_vectors * B].as_chunks().0;
        Ok(Run { plan, operands, src, weights, bias })
    }

    fn all(&self, dst: &mut [f32], scratch: &mut [f32]) -> Result<()> {
        let plan = self.plan;
        let out = Out::new(&mut dst[..plan.tiled.dst.len()]);
        let (tasks, vectors, unit_parts) = (plan.tasks(), plan.task_vectors(), plan.scheme.unit_parts);
        if vectors == 0 {
            parallel_in_turns(tasks, |task| self.task(task / unit_parts, task % unit_parts, &mut [], out));
            return Ok(());
        }
        let scratch = scratch.as_chunks_mut::<B>().0;
        assert!(scratch.len() >= tasks * vectors, "{} vectors for {tasks} tasks", scratch.len());
        let mut rooms = try_with_capacity(plan.tiled.op(), tasks)?;
        rooms.extend(scratch.chunks_exact_mut(vectors).take(tasks).map(Mutex::new));
        parallel_in_turns(tasks, |task| {
            let mut room = rooms[task].lock().unwrap_or_else(PoisonError::into_inner);
            self.task(task / unit_parts, task % unit_parts, &mut room, out);
        });
        Ok(())
    }

    /// Some tiles, for some units.
    fn task(&self, tile_part: usize, unit_part: usize, room: &mut [[f32; B]], out: Out<'_>) {
        let (plan, scheme) = (self.plan, &self.plan.scheme);
        let tiles = share(0..plan.tiles.count, tile_part, scheme.tile_parts);
        let units = share(0..plan.units(), unit_part, scheme.unit_parts);
        let groups = units.len().div_ceil(scheme.step_units);
        let steps = tiles.len().div_ceil(scheme.step_tiles);
        for group in 0..groups {
            let units = share(units.clone(), group, groups);
            for step in 0..steps {
                self.step(share(tiles.clone(), step, steps), units.clone(), room, out);
            }
        }
    }

    fn step(&self, tiles: Range<usize>, units: Range<usize>, room: &mut [[f32; B]], out: Out<'_>) {
        let plan = self.plan;
        let src = &plan.tiled.src;
        let runs = || plan.tiles.runs(tiles.clone(), RUN_TILES);
        let all: usize = runs().map(|r| r.tiles * r.pixels).sum();
        if let Some(steps) = plan.steps {
            let mut at = 0;
            for run in runs() {
                let count = run.tiles * run.pixels;
                let gather = Gather { src: self.src, view: src, spatial: plan.tiled.dst.spatial, steps };
                gather.run(run.n, run.first..run.first + count, &mut room[at..], all);
                at += count;
            }
        }
        for (i, unit) in units.enumerate() {
            let mut at = 0;
            for run in runs() {
                let (source, block) = match plan.steps {
                    None => (&self.src[run.n * src.stride_n / B + run.first..], src.stride_block / B),
                    Some(_) => (&room[at..], all),
                };
                let first = unit * plan.unit;
                let far = Far { source: i == 0 && plan.steps.is_none(), weights: at == 0 };
                match plan.unit.min(plan.tiled.dst.blocks - first) {
                    1 => self.product::<1>(first, run, (source, block), far, out),
                    _ => self.product::<2>(first, run, (source, block), far, out),
                }
                at += run.tiles * run.pixels;
            }
        }
    }

    /// The results of some tiles in `O` output blocks from `first` on.
    fn product<const O: usize>(
        &self,
        first: usize,
        run: TileRun,
        (source, block): (&[[f32; B]], usize),
        far: Far,
        out: Out<'_>,
    ) {
        let tiled = &self.plan.tiled;
        let blocks: [usize; O] = std::array::from_fn(|o| first + o);
        let at = blocks.map(|b| run.n * tiled.dst.stride_n + b * tiled.dst.stride_block + run.first * B);
        let len = run.tiles * run.pixels * B;
        // SAFETY: the pixels of these tiles in these blocks, which one task has; the blocks differ, and the references end
        // with this function.
        let mut to = at.map(|at| unsafe { out.pixels(at, len) });
        let product = Product {
            source,
            block,
            channels: tiled.src.c,
            weights: blocks.map(|b| &self.weights[tiled.blocks[b].weights..]),
            bias: blocks.map(|b| &self.bias[b]),
            to: to.each_mut().map(|to| to.as_chunks_mut().0),
            far,
        };
        product::run(product, run.pixels);
        // The sums have the bias already.
        let finish = Finish { bias: None, ..self.operands.finish };
        for o in 0..O {
            let lanes = tiled.dst.lanes_in(blocks[o]);
            if !finish.post_ops.is_empty() {
                let residual = self.operands.residual.map(|r| &r[at[o]..at[o] + len]);
                finish.pixels(B, blocks[o] * B..blocks[o] * B + lanes, residual, to[o]);
            }
            if lanes < B {
                elementwise::clear_tail(to[o], B, lanes);
            }
        }
    }
}
