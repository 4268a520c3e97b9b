//! Convolution of u8 or s8 by s8 weights, with exact sums of 32 bits: any layout, any channels, groups and padding.
//!
//! A vector holds the sums of 16 output channels. One instruction adds four products to each: of a quad of source channels, which
//! is broadcast, by `[16 outputs][4 channels]` of weights. Lanes that read channels of their own (depthwise) take four taps along W
//! instead. Source and result may be in blocks of channels, channels-last or NCHW: a tile that reads in another order than the
//! kernel's, or meets padding, gets a copy of its part of the source, in planes of 16 channels with the zero point around the image.
//!
//! On machines with AMX, tile registers have the sums of 16 pixels by 16 output channels, and add up to 64 products to each at once
//! (tiles.rs); planes of the source are as wide.
//!
//! s8 sources are made unsigned in that copy (plus 128). Sums begin with the bias minus the zero point times the sum of the weights.
//! Sums become f32 once, the post-ops run on them, and `quantize` rounds once: in registers (sink.rs), or on rows in memory where a
//! post-op is a function.

mod copy;
mod implementation;
mod kernel;
mod plan;
mod rows;
mod sink;
mod tiles;
mod weights;
mod window;

pub(crate) use self::implementation::Int8;

use std::ops::Range;
use std::sync::OnceLock;

use self::kernel::{Row, Run};
use self::plan::{BLOCK, Form, Int8Plan, PAIR, QUAD, ROW, Unit};
use self::rows::{Block, Place, Rows, Scratch};
use self::sink::{Sink, StepList};
use self::window::{Pixels, Position, Window};
use crate::error::{Error, Result};
use crate::kernels::conv::implementation::ConvOperands;
use crate::kernels::conv::phases::Phase;
use crate::kernels::conv::tiled::Out;
use crate::kernels::lanes::RowIndex;
use crate::machine::machine;
use crate::simd::matrix::{Factors, Steps};
use crate::threads::{current_threads, parallel_for, share};

/// Tasks for each thread of the team at least, so that a slow one costs little.
const TASKS_PER_THREAD: usize = 4;
/// The same where each task copies its source.
const TASKS_PER_COPIER: usize = 2;

impl Int8Plan {
    /// Writes every element of the result, its padding too.
    fn compute(&self, operands: &ConvOperands<'_>, dst: &mut [u8]) -> Result<()> {
        let (weights, sums) = operands.weights.split_at(self.weight_bytes);
        let sums: &[i32] = bytemuck::cast_slice(sums);
        let (out, threads) = (Out::new(dst), current_threads());
        let failed = OnceLock::new();
        for phase in self.phases() {
            Operation { plan: self, operands, weights, sums, threads }.phase(&phase, out, &failed);
        }
        failed.into_inner().map_or(Ok(()), Err)
    }
}

/// One run.
struct Operation<'a> {
    plan: &'a Int8Plan,
    operands: &'a ConvOperands<'a>,
    weights: &'a [u8],
    /// Of the weights of each output channel, tap by tap perhaps.
    sums: &'a [i32],
    /// Of the team.
    threads: usize,
}

impl Operation<'_> {
    fn phase(&self, phase: &Phase, out: Out<'_, u8>, failed: &OnceLock<Error>) {
        let plan = self.plan;
        let [depth, height, all_width] = [0, 1, 2].map(|a| phase.axes[a].count);
        if depth * height * all_width == 0 {
            return;
        }
        let window = Window::new(plan, phase);
        let cut = self.cut(phase, &window);
        let Cut { rows, width, groups } = cut;
        let (heights, widths) = (height.div_ceil(rows), all_width.div_ceil(width));
        let prepared = Reading::new(plan, phase, &plan.units[0], &window, [rows, width]);
        // Ranges: the parts of the source that a thread reads are mostly those that it wrote in the op before.
        parallel_for(plan.dst.n * depth * heights * widths * groups, |task| {
            let (rest, group) = (task / groups, task % groups);
            let (rest, w) = (rest / widths, rest % widths * width);
            let (rest, h) = (rest / heights, rest % heights * rows);
            let position = Position {
                n: rest / depth,
                first: [rest % depth, h, w],
                rows: rows.min(height - h),
                width: width.min(all_width - w),
            };
            let part = Part { phase, window: &window, position, cut, prepared: &prepared };
            let units = share(0..plan.units.len(), group, groups);
            if let Err(e) = self.part(&part, units, out) {
                let _ = failed.set(e);
            }
        });
    }

    /// How large the tasks of a phase are.
    fn cut(&self, phase: &Phase, window: &Window) -> Cut {
        let plan = self.plan;
        let [depth, height, all_width] = [0, 1, 2].map(|a| phase.axes[a].count);
        let width = all_width.div_ceil(all_width.div_ceil(ROW));
        let units = plan.units.len();
        // As many rows as leave a copy in a core's second cache, beside the weights.
        let room = machine().caches.second / 4;
        let planes = plan.units.iter().map(|unit| plan.planes(unit).len()).max().unwrap_or(0);
        let (one, two) = (window.bytes(planes, 1, width), window.bytes(planes, 2, width));
        let most = if window.in_place { height } else { 1 + room.saturating_sub(one) / (two - one).max(1) };
        let most = most.min(height);
        let others = (plan.dst.n * depth * all_width.div_ceil(width)).max(1);
        let rows_of = |tasks: usize| most.min(height.div_ceil(tasks)).max(1);
        let read_alike = plan.units.iter().all(|unit| unit.form == plan.units[0].form);
        if window.in_place || plan.is_depthwise() || !read_alike {
            let wanted = (TASKS_PER_THREAD * self.threads).div_ceil(others);
            let groups = if plan.is_depthwise() { wanted.min(units) } else { units };
            return Cut { rows: rows_of(wanted.div_ceil(units)), width, groups };
        }
        // Units of a task share its copy. Tasks with other rows read the weights again, those with other units the source.
        let wanted = (TASKS_PER_COPIER * self.threads).div_ceil(others);
        let keeps_rows = plan.weight_bytes > window.bytes(planes, height, width);
        let rows = if keeps_rows { most } else { rows_of(wanted) };
        Cut { rows, width, groups: wanted.div_ceil(height.div_ceil(rows)).min(units) }
    }

    /// Computes these units of a part.
    fn part(&self, part: &Part<'_>, units: Range<usize>, out: Out<'_, u8>) -> Result<()> {
        let Part { phase, window, position, cut, prepared } = *part;
        let (plan, size) = (self.plan, [position.rows, position.width]);
        let reading_of = |unit: &Unit| {
            (size != [cut.rows, cut.width] || !unit.reads_as(&plan.units[0]))
                .then(|| Reading::new(plan, phase, unit, window, size))
        };
        let mut of = &plan.units[units.start];
        let mut other = reading_of(of);
        // A phase without taps reads nothing.
        let reads = !prepared.pixels.taps.is_empty();
        let in_place = match reads && window.in_place {
            true => &self.operands.src.bytes[window.origin(plan, &position)..],
            false => &[],
        };
        let planes = plan.units[units.clone()].iter().map(|unit| plan.planes(unit).len()).max();
        let bytes = planes.filter(|_| reads && !window.in_place);
        let bytes = bytes.map_or(0, |planes| window.bytes(planes, position.rows, position.width));
        let mut tools = Tools { steps: [const { StepList::NONE }; PAIR], rows: None };
        copy::with_copy(plan.g.op, bytes, |copy| {
            let mut copied = 0..0;
            for number in units {
                let unit = &plan.units[number];
                let next = plan.units.get(number + 1);
                if !unit.reads_as(of) {
                    (of, other) = (unit, reading_of(unit));
                }
                let planes = plan.planes(unit);
                if bytes > 0 && planes != copied {
                    let has_padding = planes.len() == copied.len();
                    window.fill(plan, self.operands.src.bytes, &position, planes.clone(), has_padding, copy);
                    copied = planes;
                }
                let src = if bytes > 0 { &*copy } else { in_place };
                self.unit(part, (unit, next), other.as_ref().unwrap_or(prepared), src, out, &mut tools);
            }
        })
    }

    /// What the sums of a block begin with: the bias, minus the zero point times the sum of the weights that it meets.
    fn start(&self, phase: &Phase, block: usize) -> [i32; BLOCK] {
        let plan = self.plan;
        let of_tap = |tap: usize| &self.sums[(tap * plan.blocks() + block) * BLOCK..][..BLOCK];
        let mut start = [0; BLOCK];
        let mut add = |sums: &[i32]| start.iter_mut().zip(sums).for_each(|(to, sum)| *to += sum);
        match plan.g.transposed {
            true => phase.taps(&plan.g).for_each(|tap| add(of_tap(tap))),
            false => add(of_tap(0)),
        }
        let zero_point = plan.unsigned_zero_point();
        let bias = self.operands.finish.bias.map_or(&[][..], |bias| &bias[plan.channels_of(block)]);
        // It wraps where the products do: the sum of both fits, as `ordered` checked.
        start.iter_mut().for_each(|start| *start = zero_point.wrapping_mul(*start).wrapping_neg());
        start.iter_mut().zip(bias).for_each(|(start, &bias)| *start = start.wrapping_add(bias as i32));
        start
    }

    /// Computes a unit of a part whose source is `src`.
    fn unit(
        &self,
        Part { phase, position, .. }: &Part<'_>,
        (unit, next): (&Unit, Option<&Unit>),
        Reading { pixels, runs, steps }: &Reading,
        src: &[u8],
        out: Out<'_, u8>,
        tools: &mut Tools,
    ) {
        let plan = self.plan;
        let Position { n, first, rows, width } = *position;
        let weights = &self.weights[unit.weights..];
        let (finish, shifts) = (&self.operands.finish, plan.shifts());
        let (first_block, is_pair) = (unit.block, unit.count == PAIR);
        let last_block = first_block + unit.count - 1;
        let mut start = [self.start(phase, first_block); PAIR];
        let [first_steps, last_steps] = &mut tools.steps;
        let first_steps = first_steps.set(plan, finish, first_block);
        let last_steps = if is_pair { last_steps.set(plan, finish, last_block) } else { None };
        if is_pair {
            start[1] = self.start(phase, last_block);
        }
        let start = &start[..unit.count];
        let blocks = [
            Block::new(plan, first_block, finish, first_steps),
            Block::new(plan, last_block, finish, last_steps),
        ];
        let residual = self.operands.residual.map(|r| r.bytes);
        let mut writer = Rows::new(plan, &blocks[..unit.count], residual, &mut tools.rows);
        let place_at = |y: usize| Place {
            row: RowIndex {
                n,
                block: unit.block,
                d: phase.axes[0].output(first[0]),
                h: phase.axes[1].output(first[1] + y),
            },
            first: phase.axes[2].output(first[2]),
            step: phase.axes[2].out_step,
        };
        let ahead = next.map_or(0, |next| next.weights - unit.weights);
        if let (Some(matrix), Some(steps)) = (plan.matrix, steps) {
            let of = Factors { src, pixel: pixels.pixel, weights, ahead, steps, blocks: unit.count };
            tiles::rows(matrix, of, pixels.row, [rows, width], |y, sums| {
                writer.write(place_at(y), width, out, |sinks| kernel::summed(sums, start, sinks));
            });
            return;
        }
        let weights = weights.as_chunks::<{ BLOCK * QUAD }>().0;
        let row_at = |y: usize| Row {
            src: if src.is_empty() { src } else { &src[y * pixels.row..] },
            pixel: pixels.pixel,
            taps: &pixels.taps,
            kernel: plan.taps(),
            weights,
            // Once is enough.
            ahead: if y == 0 { ahead } else { 0 },
            start,
        };
        if unit.form == Form::Own {
            let own = |sinks: &mut dyn Iterator<Item = Sink<'_>>| {
                kernel::own(row_at(0), pixels.row, shifts, sinks);
            };
            if writer.write_at_once((0..rows).map(place_at), width, out, own) {
                return;
            }
        }
        for y in 0..rows {
            let row = row_at(y);
            writer.write(place_at(y), width, out, |sinks| match &unit.form {
                Form::Shared(_) => kernel::shared(row, runs, sinks),
                Form::Own => {
                    let mut sinks = sinks.iter_mut().map(|sink| std::mem::replace(sink, Sink::Sums(&mut [])));
                    kernel::own(row, pixels.row, shifts, &mut sinks);
                }
            });
        }
    }
}

/// How large tasks are: rows and pixels of a row, and into how many groups of units they are divided.
#[derive(Clone, Copy)]
struct Cut {
    rows: usize,
    width: usize,
    groups: usize,
}

/// What a task uses for one of its units after the other.
struct Tools {
    steps: [StepList; PAIR],
    rows: Option<Box<Scratch>>,
}

/// A part of a phase, with what its tasks have in common.
#[derive(Clone, Copy)]
struct Part<'a> {
    phase: &'a Phase,
    window: &'a Window,
    position: Position,
    cut: Cut,
    /// How the first unit reads parts of that size.
    prepared: &'a Reading,
}

/// How a unit reads the source of a part.
struct Reading {
    pixels: Pixels,
    /// Of [`Form::Shared`].
    runs: Vec<Run>,
    /// If tiles compute it.
    steps: Option<Steps>,
}

impl Reading {
    /// Of a part of so many rows and so wide.
    fn new(
        plan: &Int8Plan,
        phase: &Phase,
        unit: &Unit,
        window: &Window,
        [rows, width]: [usize; 2],
    ) -> Reading {
        let planes = plan.planes(unit);
        let pixels = window.pixels(plan, phase, planes.len(), rows, width);
        let first = if window.in_place { 0 } else { planes.start };
        let run = |plane: usize, quads: &Range<usize>| {
            let of_plane = plane * plan.quads();
            Run {
                at: (plane - first) * pixels.plane,
                first: quads.start.saturating_sub(of_plane),
                end: (quads.end - of_plane).min(plan.quads()),
            }
        };
        let runs: Vec<Run> = match &unit.form {
            Form::Shared(quads) => planes.map(|plane| run(plane, quads)).collect(),
            Form::Own => Vec::new(),
        };
        let steps = plan.matrix.map(|matrix| tiles::steps(plan, matrix, unit, &pixels, &runs));
        Reading { pixels, runs, steps }
    }
}
