//! Convolution of blocked activations in Rust: any channels, any groups, any padding.
//!
//! Vectors run over the lanes of an output block. A tile of up to 14 pixels by two blocks keeps its sums in
//! registers while source values are broadcast to them; lanes that read channels of their own (depthwise, narrow
//! groups) take whole vectors instead. No tap is ever tested for the border: a tile that meets padding reads a copy
//! of its part of the source with zeros around it, a window, which is small next to its use.
//!
//! The bits of a result depend on shapes and on the machine's instructions, never on the number of threads or on the caches:
//! each pixel's sum has one order.
//!
//! A transposed convolution is the same work, phase by phase (`phases.rs`).

mod implementation;
mod kernel;
mod plan;
mod weights;
mod window;

pub(crate) use self::implementation::{Tiled, check_layout, fills_vectors};
pub(crate) use self::kernel::Out;
pub(crate) use plan::TiledPlan;
pub(crate) use weights::Plain;

use std::sync::OnceLock;

use self::kernel::{Target, Tile, TileGrid};
use self::plan::BlockForm;
use self::window::{Fill, TilePosition, WindowShape, WindowSizes};
use crate::buffer::Buffer;
use crate::elementwise;
use crate::error::{Error, Result};
use crate::kernels::conv::epilogue::Finish;
use crate::kernels::conv::phases::Phase;
use crate::kernels::lanes::RowIndex;
use crate::machine::{Caches, machine};
use crate::memory::try_filled;
use crate::simd::vectors::{VectorWidth, Width};
use crate::threads::{current_threads, parallel_in_turns};

/// What one run reads.
pub(crate) struct F32Operands<'a> {
    pub src: &'a [f32],
    /// As [`TiledPlan::pack`] lays them.
    pub weights: &'a [f32],
    pub finish: Finish<'a>,
    /// In the result's layout.
    pub residual: Option<&'a [f32]>,
}

/// Outputs that a tile has along W at most: a few times what the registers hold.
const WIDTH: usize = 64;
/// **Bytes** of a window, which should stay in a core's second cache beside the weights.
fn window_bytes(caches: &Caches) -> usize {
    caches.second / 16 * 3
}

/// **Bytes** of result that a tile has at most.
fn tile_bytes(caches: &Caches) -> usize {
    caches.second / 16
}

/// Tasks for each thread of the team at least, so that a slow one costs little.
const TASKS_PER_THREAD: usize = 4;

impl TiledPlan {
    /// Writes every element of the result, its padding lanes too.
    pub(super) fn compute(&self, operands: &F32Operands<'_>, dst: &mut [f32]) -> Result<()> {
        let caches = &machine().caches;
        match self.block {
            16 => run::<16>(self, operands, dst, caches),
            _ => run::<8>(self, operands, dst, caches),
        }
    }
}

/// One phase, cut into tasks: output blocks fastest, so that tasks that follow each other read the same source.
struct Cut<'a> {
    phase: &'a Phase,
    /// For windows of shared and own blocks, and for gathered ones.
    shapes: [WindowShape; 2],
    rows: usize,
    width: usize,
    rows_count: usize,
    width_count: usize,
}

fn run<const B: usize>(
    plan: &TiledPlan,
    operands: &F32Operands<'_>,
    dst: &mut [f32],
    caches: &Caches,
) -> Result<()>
where
    Width<B>: VectorWidth<B>,
{
    let mut bias = try_filled(plan.op(), plan.dst.blocks, [0.0; B])?;
    if let Some(values) = operands.finish.bias {
        bias.as_flattened_mut()[..values.len()].copy_from_slice(values);
    }
    let units = plan.units(kernel::blocks_at_once(Width::<B>::registers()))?;
    let len = plan.dst.len();
    let out = Out::new(&mut dst[..len]);
    let failed = OnceLock::new();
    for phase in plan.phases() {
        let cut = Cut::new(plan, &phase, units.len(), caches);
        let depth = phase.axes[0].count;
        let tasks = plan.dst.n * depth * cut.rows_count * cut.width_count * units.len();
        parallel_in_turns(tasks, |task| {
            let (rest, unit) = (task / units.len(), units[task % units.len()]);
            let (rest, w) = (rest / cut.width_count, rest % cut.width_count * cut.width);
            let (rest, h) = (rest / cut.rows_count, rest % cut.rows_count * cut.rows);
            let position = TilePosition {
                n: rest / depth,
                first: [rest % depth, h, w],
                rows: cut.rows.min(phase.axes[1].count - h),
                width: cut.width.min(phase.axes[2].count - w),
            };
            if let Err(e) = cut.tile::<B>(plan, operands, &bias, unit, position, out) {
                let _ = failed.set(e);
            }
        });
    }
    failed.into_inner().map_or(Ok(()), Err)
}

impl<'a> Cut<'a> {
    fn new(plan: &TiledPlan, phase: &'a Phase, units: usize, caches: &Caches) -> Cut<'a> {
        let shapes = [BlockForm::Own, BlockForm::Gathered].map(|f| WindowShape::new(plan, phase, f));
        let [depth, height, all_width] = [0, 1, 2].map(|a| phase.axes[a].count.max(1));
        let width = all_width.div_ceil(all_width.div_ceil(WIDTH));
        let width_count = all_width.div_ceil(width);
        // As many rows as the window has room for, by the two sizes that show what a row costs.
        let planes = (0..plan.blocks.len()).map(|b| {
            let shape = &shapes[usize::from(plan.blocks[b].form == BlockForm::Gathered)];
            let bytes = |rows| {
                let sizes = shape.sizes(plan, phase, rows, width);
                shape.elements(&sizes, window::planes(plan, b)).saturating_mul(size_of::<f32>())
            };
            let (one, two) = (bytes(1), bytes(2));
            if two == one { height } else { 1 + window_bytes(caches).saturating_sub(one) / (two - one) }
        });
        let by_window = planes.min().unwrap_or(height);
        let by_result = (tile_bytes(caches) / (width * plan.block * size_of::<f32>())).max(1);
        let others = plan.dst.n * depth * width_count * units;
        let wanted = (TASKS_PER_THREAD * current_threads()).div_ceil(others.max(1));
        let rows = by_window.min(by_result).min(height.div_ceil(wanted)).max(1);
        let rows = height.div_ceil(height.div_ceil(rows));
        Cut { phase, shapes, rows, width, rows_count: height.div_ceil(rows), width_count }
    }

    #[allow(clippy::too_many_arguments)]
    fn tile<const B: usize>(
        &self,
        plan: &TiledPlan,
        operands: &F32Operands<'_>,
        bias: &[[f32; B]],
        (block, count): (usize, usize),
        position: TilePosition,
        out: Out<'_>,
    ) -> Result<()>
    where
        Width<B>: VectorWidth<B>,
    {
        let form = plan.blocks[block].form;
        let shape = &self.shapes[usize::from(form == BlockForm::Gathered)];
        let sizes = shape.sizes(plan, self.phase, position.rows, position.width);
        let bytes = shape.elements(&sizes, window::planes(plan, block)).saturating_mul(size_of::<f32>());
        if bytes > isize::MAX as usize {
            // Nor would the places in it be numbers.
            return Err(Error::out_of_memory(bytes, plan.op()));
        }
        let (taps, plane, window_row) = shape.layout(plan, self.phase, &sizes);
        let copy;
        // A phase without taps reads nothing.
        let window = if taps.is_empty() {
            &[][..]
        } else if shape.in_place {
            let origin = shape.origin(plan, self.phase, &position, window::first_block(plan, block));
            &operands.src[origin..]
        } else {
            copy = self.filled::<B>(plan, operands.src, shape, sizes, position, block)?;
            copy.as_slice::<f32>()
        };
        let tile = Tile {
            window,
            window_row,
            taps: &taps,
            kernel: plan.taps(),
            rows: position.rows,
            width: position.width,
            out,
        };
        let target = |block: usize, at: usize| Target {
            weights: &operands.weights.as_chunks::<B>().0[at..],
            bias: &bias[block],
            dst: self.grid(plan, &position, block),
        };
        if form == BlockForm::Shared {
            let first = window::first_block(plan, block);
            for part in plan.parts(block) {
                let runs = window::runs(plan, &part, first, plane);
                let last = block + count - 1;
                let both = [target(block, part.weights), target(last, plan.blocks[last].weights)];
                kernel::shared(tile, &runs, &both[..count], part.lanes);
            }
        } else {
            let planes = window::planes(plan, block);
            kernel::own(tile, (planes, plane), target(block, plan.blocks[block].weights));
        }
        for block in block..block + count {
            self.finish::<B>(plan, operands, position, block, out);
        }
        Ok(())
    }

    /// What is done to the sums of a block of a tile.
    fn finish<const B: usize>(
        &self,
        plan: &TiledPlan,
        operands: &F32Operands<'_>,
        position: TilePosition,
        block: usize,
        out: Out<'_>,
    ) {
        // The sums began with the bias.
        let finish = Finish { bias: None, ..operands.finish };
        let lanes = plan.dst.lanes_in(block);
        if lanes == B && finish.post_ops.is_empty() {
            return;
        }
        let grid = self.grid(plan, &position, block);
        let channels = block * B..block * B + lanes;
        let finish = |values: &mut [f32], residual: Option<&[f32]>| {
            finish.pixels(B, channels.clone(), residual, values);
            if lanes < B {
                elementwise::clear_tail(values, B, lanes);
            }
        };
        let apart = if grid.pixel == B { 0 } else { position.width };
        let (mut values, mut added) = (vec![[0f32; B]; apart], vec![[0f32; B]; apart]);
        for row in 0..position.rows {
            let at = grid.offset(row, 0);
            if apart == 0 {
                // SAFETY: pixels of this tile, which one task has; the reference ends with this round.
                let values = unsafe { out.pixels(at, position.width * B) };
                finish(values, operands.residual.map(|r| &r[at..at + position.width * B]));
                continue;
            }
            // Pixels of a phase lie apart: side by side in copies, which cost less than a call for each.
            // SAFETY: pixels of this tile, which one task has; each reference ends before the next begins.
            let pixel = |x: usize| unsafe { out.pixel::<B>(grid.offset(row, x)) };
            for x in 0..apart {
                values[x] = *pixel(x);
                if let Some(r) = operands.residual {
                    added[x].copy_from_slice(&r[grid.offset(row, x)..][..B]);
                }
            }
            finish(values.as_flattened_mut(), operands.residual.map(|_| added.as_flattened()));
            (0..apart).for_each(|x| *pixel(x) = values[x]);
        }
    }

    fn filled<const B: usize>(
        &self,
        plan: &TiledPlan,
        src: &[f32],
        shape: &WindowShape,
        sizes: WindowSizes,
        position: TilePosition,
        block: usize,
    ) -> Result<Buffer>
    where
        Width<B>: VectorWidth<B>,
    {
        let elements = shape.elements(&sizes, window::planes(plan, block));
        let mut copy = Buffer::for_result(elements * size_of::<f32>())?;
        let to = copy.as_mut_slice::<f32>();
        window::fill::<B>(Fill { plan, phase: self.phase, shape, sizes, tile: position, block, src, to });
        Ok(copy)
    }

    /// Where the tile lies in the result.
    fn grid(&self, plan: &TiledPlan, position: &TilePosition, block: usize) -> TileGrid {
        let at = |a: usize| self.phase.axes[a].output(position.first[a]);
        let dst = &plan.dst;
        TileGrid {
            at: dst.offset(RowIndex { n: position.n, block, d: at(0), h: at(1) }) + at(2) * plan.block,
            row: self.phase.axes[1].out_step * dst.stride_h,
            pixel: self.phase.axes[2].out_step * plan.block,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::conv::ConvGeometry;
    use crate::layout::blocked::Layout;
    use crate::layout::dims::Dims;
    use crate::post_ops::{Activation, PostOp, PostOps};

    /// Tiles are cut by the caches, and every pixel has the same sum in any tile.
    #[test]
    fn the_bits_do_not_depend_on_the_caches() {
        let two = |size| Dims::from_slice(&[size, size]);
        // Dense, depthwise, and gathered groups of 2 channels.
        for groups in [1, 20, 10] {
            let g = ConvGeometry {
                op: "conv2d",
                transposed: false,
                n: 2,
                c: 20,
                o: 20,
                groups,
                input: two(70),
                kernel: two(3),
                output: two(70),
                stride: two(1),
                dilation: two(1),
                pad_begin: two(1),
                pad_end: two(1),
                output_padding: two(0),
                zero_point: 0,
            };
            let plan = TiledPlan::new(&g, &Layout::NCHW16C).unwrap().unwrap();
            let numbers =
                |count: usize| (0..count).map(|i| (i * 37 % 101) as f32 / 7.0 - 7.0).collect::<Vec<_>>();
            let (src, weights) = (numbers(plan.src.len()), numbers(plan.weight_vectors * 16));
            let post_ops = PostOps::new().then(PostOp::Activation(Activation::Relu));
            let finish = Finish { bias: None, post_ops: &post_ops, channel: &[] };
            let operands = F32Operands { src: &src, weights: &weights, finish, residual: None };
            let phase = plan.phases().next().unwrap();
            let several = Caches::several();
            let rows = several.map(|caches| Cut::new(&plan, &phase, 2, &caches).rows);
            assert!(rows[0] < rows[2], "{rows:?}");
            let bits = several.map(|caches| {
                let mut dst = vec![f32::NAN; plan.dst.len()];
                run::<16>(&plan, &operands, &mut dst, &caches).unwrap();
                dst.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
            });
            assert!(bits[0] == bits[1] && bits[1] == bits[2], "{groups} groups");
        }
    }
}
