//! Winograd's convolution of blocked activations in Rust: 3x3 kernels, stride 1, with fewer multiplications.
//!
//! A tile of 4 by 4 outputs takes 36 multiplications for each pair of channels instead of 144, one of 2 by 2 takes 16 instead
//! of 36 (`points.rs`). A task takes some tiles through all three steps while they are in its caches: the source of the tiles is
//! transformed; at each point a matrix product gives the sums of two output blocks; these are transformed back, and bias and
//! post-ops are applied.
//!
//! Rounding differs from a direct convolution's: see [`Algorithm`](crate::ops::Algorithm). The bits of a result do not depend on
//! the number of threads: each sum has one order.

#[cfg(test)]
mod exact;
mod implementation;
mod input;
mod output;
mod plan;
mod points;
mod product;
mod spread;
mod tiles;
mod weights;

use std::marker::PhantomData;

pub(crate) use self::implementation::Winograd;
pub(crate) use self::input::InputTransform;
use self::output::OutputTransform;
use self::plan::WinogradPlan;
use self::plan::{Part, Unit};
pub(crate) use self::points::{Four, MAX_POINTS, Points, Two};
use self::product::Product;
pub(crate) use self::spread::SpreadTransform;
pub(crate) use self::tiles::{TileRun, Tiles};
use self::weights::{WeightTransform, transformed};
use super::epilogue::Finish;
use super::tiled::{F32Operands, Out, Plain};
use crate::buffer::Buffer;
use crate::elementwise;
use crate::error::Result;
use crate::memory::{try_filled, try_with_capacity};
use crate::scratchpad::Scratchpad;
use crate::simd::vectors::{VectorWidth, Width};
use crate::threads::{SyncPtr, parallel_each, parallel_in_turns, share};

impl WinogradPlan {
    /// Plain weights as a run reads them. Those that are transformed ahead have the plain ones behind them.
    fn transformed(&self, w: &Plain<'_>) -> Result<Buffer> {
        let plain = self.tiled.ordered(w)?;
        if !self.ahead {
            return Ok(plain);
        }
        let block = self.tiled.block;
        let mut all = Buffer::for_result(self.weight_vectors() * block * size_of::<f32>())?;
        let (to, rest) = all.as_mut_slice::<f32>().split_at_mut(self.transformed * block);
        rest.copy_from_slice(plain.as_slice());
        // The parts of all units follow each other. Each task takes the elements of one unit.
        let mut rest = to;
        let mut of_units = try_with_capacity(self.tiled.op(), self.units.len())?;
        for unit in &self.units {
            let lengths = unit.parts.iter().map(|part| self.transformed_vectors(unit, part) * block);
            let (own, others) = rest.split_at_mut(lengths.sum());
            of_units.push(own);
            rest = others;
        }
        parallel_each(&mut of_units, |i, own| {
            let mut at = 0;
            for part in &self.units[i].parts {
                let end = at + self.transformed_vectors(&self.units[i], part) * block;
                self.transform_part(&self.units[i], part, plain.as_slice(), &mut own[at..end]);
                at = end;
            }
        });
        Ok(all)
    }

    /// Vectors of a part's transformed weights.
    fn transformed_vectors(&self, unit: &Unit, part: &Part) -> usize {
        self.points() * part.source.len() * self.tiled.block * unit.count
    }

    fn transform_part(&self, unit: &Unit, part: &Part, plain: &[f32], to: &mut [f32]) {
        let block = self.tiled.block;
        let channels = part.source.len() * block;
        for output in 0..unit.count * block {
            let (o, lane) = (output / block, output % block);
            for c in 0..channels {
                let first = part.plain[o] + c / block * 9 * block + c % block;
                let taps = std::array::from_fn(|tap| plain[(first + tap * block) * block + lane]);
                let values = match self.outputs {
                    2 => transformed::<Two>(&taps),
                    _ => transformed::<Four>(&taps),
                };
                for (point, value) in values[..self.points()].iter().enumerate() {
                    to[((point * channels + c) * unit.count + o) * block + lane] = *value;
                }
            }
        }
    }

    /// The packed weights as they lie for a direct convolution.
    fn plain<'a>(&self, packed: &'a [f32]) -> &'a [f32] {
        &packed[(self.weight_vectors() - self.tiled.weight_vectors) * self.tiled.block..]
    }

    /// Writes every element of the result, its padding lanes too.
    fn compute(
        &self,
        operands: &F32Operands<'_>,
        dst: &mut [f32],
        scratchpad: Option<&mut Scratchpad>,
    ) -> Result<()> {
        let mut own = Scratchpad::new();
        let scratch = scratchpad.unwrap_or(&mut own).reserve(self.scratch_bytes())?;
        let scratch = bytemuck::cast_slice_mut(scratch);
        match (self.tiled.block, self.outputs) {
            (16, 2) => Run::<Two, 16>::new(self, operands, dst.len())?.all(dst, scratch),
            (16, _) => Run::<Four, 16>::new(self, operands, dst.len())?.all(dst, scratch),
            (_, 2) => Run::<Two, 8>::new(self, operands, dst.len())?.all(dst, scratch),
            (_, _) => Run::<Four, 8>::new(self, operands, dst.len())?.all(dst, scratch),
        }
        Ok(())
    }
}

/// One run.
struct Run<'a, T, const B: usize> {
    plan: &'a WinogradPlan,
    operands: &'a F32Operands<'a>,
    points: PhantomData<T>,
    bias: Vec<[f32; B]>,
    len: usize,
}

/// One task's memory.
struct Memory<'a, const B: usize> {
    zeros: &'a [[f32; B]],
    columns: &'a mut [[f32; B]],
    values: &'a mut [[f32; B]],
    sums: &'a mut [[f32; B]],
    weights: &'a mut [[f32; B]],
}

impl<'a, T: Points, const B: usize> Run<'a, T, B>
where
    Width<B>: VectorWidth<B>,
{
    fn new(plan: &'a WinogradPlan, operands: &'a F32Operands<'a>, len: usize) -> Result<Self> {
        let mut bias = try_filled(plan.tiled.op(), plan.tiled.dst.blocks, [0.0; B])?;
        if let Some(values) = operands.finish.bias {
            bias.as_flattened_mut()[..values.len()].copy_from_slice(values);
        }
        let len = plan.tiled.dst.len().min(len);
        Ok(Run { plan, operands, points: PhantomData, bias, len })
    }

    fn all(&self, dst: &mut [f32], scratch: &mut [f32]) {
        let plan = self.plan;
        let vectors = plan.task_vectors();
        let out = Out::new(&mut dst[..self.len]);
        let unit_parts = plan.scheme.unit_parts;
        let room = plan.tasks().saturating_mul(vectors).saturating_mul(B);
        assert!(scratch.len() >= room, "{} elements for {room}", scratch.len());
        let scratch = SyncPtr::new(scratch);
        parallel_in_turns(plan.tasks(), |task| {
            // SAFETY: each task has its own part of the memory, which has room for all of them, as was just checked.
            let memory = unsafe {
                let start = scratch.get().add(task * vectors * B).cast::<[f32; B]>();
                std::slice::from_raw_parts_mut(start, vectors)
            };
            self.task(task / unit_parts, task % unit_parts, self.memory(memory), out);
        });
    }

    fn memory<'m>(&self, all: &'m mut [[f32; B]]) -> Memory<'m, B> {
        let room = self.plan.room();
        let (zeros, rest) = all.split_at_mut(self.plan.tiled.src.spatial[2]);
        zeros.fill([0.0; B]);
        let (columns, rest) = rest.split_at_mut(room.columns);
        let (values, rest) = rest.split_at_mut(room.values);
        let (sums, weights) = rest.split_at_mut(room.sums);
        Memory { zeros, columns, values, sums, weights }
    }

    /// Some tiles, for some units.
    fn task(&self, tile_part: usize, unit_part: usize, mut memory: Memory<'_, B>, out: Out<'_>) {
        let (plan, scheme) = (self.plan, &self.plan.scheme);
        let tiles = share(0..plan.tiles.count, tile_part, scheme.tile_parts);
        let units = &plan.units[share(0..plan.units.len(), unit_part, scheme.unit_parts)];
        let parts = || units.iter().flat_map(|u| &u.parts);
        let source = parts().map(|p| p.source.start).min().unwrap_or(0)
            ..parts().map(|p| p.source.end).max().unwrap_or(0);
        let room = plan.room();
        let mut runs = Vec::new();
        let steps = tiles.len().div_ceil(scheme.tiles);
        for step in 0..steps {
            let own = share(tiles.clone(), step, steps);
            plan.tiles.runs(own.clone(), &mut runs);
            Width::<B>::dispatch(InputTransform {
                points: PhantomData::<T>,
                tiles: &plan.tiles,
                runs: &runs,
                src: self.operands.src.as_chunks::<B>().0,
                view: &plan.tiled.src,
                blocks: (source.start, source.len()),
                zeros: memory.zeros,
                columns: memory.columns,
                to: memory.values,
                point: room.value_point,
                block: own.len(),
            });
            for unit in units {
                for (i, part) in unit.parts.iter().enumerate() {
                    let at = (part.source.start - source.start) * own.len();
                    self.products(unit, part, own.len(), at, i > 0, &mut memory);
                }
                for block in 0..unit.count {
                    for run in &runs {
                        let sums = &memory.sums[block * own.len() + run.at..];
                        self.output(unit.first + block, *run, sums, out);
                    }
                }
            }
        }
    }

    /// The sums of a unit at each point, over the source blocks of a part. `at`: offset of the first source block within each
    /// point, in vectors.
    fn products(
        &self,
        unit: &Unit,
        part: &Part,
        tiles: usize,
        at: usize,
        accumulate: bool,
        memory: &mut Memory<'_, B>,
    ) {
        let (plan, room) = (self.plan, self.plan.room());
        let all_weights = self.operands.weights.as_chunks::<B>().0;
        let blocks = part.source.len();
        let chunk = match plan.ahead {
            true => blocks,
            false => plan.scheme.chunk,
        };
        for first in (0..blocks).step_by(chunk.max(1)) {
            let source_blocks = chunk.min(blocks - first);
            let (weights, point) = match plan.ahead {
                true => (&all_weights[part.transformed..], blocks * B * unit.count),
                false => {
                    Width::<B>::dispatch(WeightTransform {
                        points: PhantomData::<T>,
                        from: part.plain.map(|plain| &all_weights[plain + first * 9 * B..]),
                        output_blocks: unit.count,
                        source_blocks,
                        to: memory.weights,
                        point: room.weight_point,
                    });
                    (&*memory.weights, room.weight_point)
                }
            };
            for i in 0..plan.points() {
                let product = Product {
                    tiles: &memory.values[i * room.value_point + at + first * tiles..],
                    block: tiles,
                    source_blocks,
                    weights: &weights[i * point..],
                    sum_block: tiles,
                    accumulate: accumulate || first > 0,
                };
                product.run(tiles, unit.count, &mut memory.sums[i * room.sum_point..]);
            }
        }
    }

    /// The pixels of one output block and one run of tiles.
    fn output(&self, block: usize, run: TileRun, sums: &[[f32; B]], out: Out<'_>) {
        let (plan, view) = (self.plan, &self.plan.tiled.dst);
        let at = run.image * view.stride_n + block * view.stride_block;
        Width::<B>::dispatch(OutputTransform {
            points: PhantomData::<T>,
            run,
            sums,
            point: plan.room().sum_point,
            bias: &self.bias[block],
            view,
            at,
            out,
        });
        // The sums have the bias already.
        let finish = Finish { bias: None, ..self.operands.finish };
        let lanes = view.lanes_in(block);
        if lanes == B && finish.post_ops.is_empty() {
            return;
        }
        let (top, left) = (run.row * T::OUTPUTS, run.column * T::OUTPUTS);
        let width = (run.count * T::OUTPUTS).min(view.spatial[2] - left);
        for row in top..(top + T::OUTPUTS).min(view.spatial[1]) {
            let at = at + row * view.stride_h + left * B;
            // SAFETY: pixels of these tiles, which one task has; the reference ends with this round.
            let values = unsafe { out.pixels(at, width * B) };
            let residual = self.operands.residual.map(|r| &r[at..at + width * B]);
            finish.pixels(B, block * B..block * B + lanes, residual, values);
            if lanes < B {
                elementwise::clear_tail(values, B, lanes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::conv::ConvGeometry;
    use crate::layout::blocked::Layout;
    use crate::layout::dims::Dims;
    use crate::post_ops::PostOps;

    use crate::machine::{Caches, Machine, machine};

    /// A 3x3 convolution of an image of this many channels and rows, 6 columns.
    pub(super) fn geometry(channels: usize, rows: usize, padding: usize) -> ConvGeometry {
        let two = |size| Dims::from_slice(&[size, size]);
        ConvGeometry {
            op: "conv2d",
            transposed: false,
            n: 1,
            c: channels,
            o: 16,
            groups: 1,
            input: Dims::from_slice(&[rows, 6]),
            kernel: two(3),
            output: Dims::from_slice(&[rows - 2 + 2 * padding, 4 + 2 * padding]),
            stride: two(1),
            dilation: two(1),
            pad_begin: two(padding),
            pad_end: two(padding),
            output_padding: two(0),
            zero_point: 0,
        }
    }

    /// One convolution of 16 channels on an image of 6 by 6, with one task's memory and one result, of these lengths.
    fn run(scratch: impl Fn(usize) -> usize, dst: impl Fn(usize) -> usize) {
        let g = geometry(16, 6, 0);
        let plan = WinogradPlan::new(&g, &Layout::NCHW16C, 4, true, 1).unwrap().unwrap();
        let (src, weights) = (vec![1.0; 16 * 36], vec![0.5; plan.weight_vectors() * 16]);
        let (post_ops, mut memory) = (PostOps::new(), vec![0.0; scratch(plan.scratch_bytes() / 4)]);
        let mut result = vec![f32::NAN; dst(16 * 16)];
        let finish = Finish { bias: None, post_ops: &post_ops, channel: &[] };
        let operands = F32Operands { src: &src, weights: &weights, finish, residual: None };
        Run::<Four, 16>::new(&plan, &operands, result.len()).unwrap().all(&mut result, &mut memory);
        assert!(result.iter().all(|v| v.is_finite()));
    }

    /// Steps are cut by the caches, and every tile has the same sums in any step.
    #[test]
    fn the_bits_do_not_depend_on_the_caches() {
        let g = geometry(160, 90, 1);
        let numbers =
            |count: usize| (0..count).map(|i| (i * 37 % 101) as f32 / 7.0 - 7.0).collect::<Vec<_>>();
        let (mut seen, mut steps) = (Vec::new(), Vec::new());
        for caches in Caches::several() {
            let mut plan = WinogradPlan::new(&g, &Layout::NCHW16C, 4, false, 1).unwrap().unwrap();
            let machine = Machine { caches, ..*machine() };
            plan.scheme =
                plan::Scheme::new(&plan.tiled, &plan.units, plan.tiles.count, 4, false, 1, &machine);
            steps.push(plan.tiles.count.div_ceil(plan.scheme.tiles));
            let (src, weights) = (numbers(160 * 90 * 6), numbers(plan.weight_vectors() * 16));
            let (post_ops, mut dst) = (PostOps::new(), vec![f32::NAN; 16 * 90 * 6]);
            let finish = Finish { bias: None, post_ops: &post_ops, channel: &[] };
            let operands = F32Operands { src: &src, weights: &weights, finish, residual: None };
            plan.compute(&operands, &mut dst, None).unwrap();
            seen.push(dst.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
        }
        assert!(steps[0] > steps[2], "{steps:?}");
        assert!(seen[0] == seen[1] && seen[1] == seen[2]);
    }

    #[test]
    fn enough_memory_is_enough() {
        run(|room| room, |len| len);
    }

    #[test]
    #[should_panic(expected = "elements for")]
    fn a_short_scratchpad_is_refused() {
        run(|room| room - 1, |len| len);
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn a_short_result_is_refused() {
        run(|room| room, |len| len - 1);
    }
}
