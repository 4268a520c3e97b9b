//! The source as a tile's loop reads it: the source itself where every tap meets it, else a copy with its padding
//! zero, its columns sorted by the stride, and each lane's channels gathered.

use super::kernel::{Run, Tap};
use super::plan::{Form, Phase, Plan, source_blocks};
use crate::ops::lanes::Row;
use crate::simd::vectors::{KEEP, Vector, VectorLoop, VectorWidth, Width};

/// Where a tile of output pixels lies, as numbers within its phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub n: usize,
    /// First output along D, H, W.
    pub first: [usize; 3],
    /// Outputs along H and W.
    pub rows: usize,
    pub width: usize,
}

/// How the window of a phase lies.
pub(super) struct Shape {
    /// Whether tiles read the source where it is.
    pub in_place: bool,
    /// Lowest source position of output 0 along each axis, and how many positions the taps span.
    low: [isize; 3],
    span: [usize; 3],
    /// Steps along W: columns whose numbers differ by this lie side by side.
    step: usize,
    /// The remainders of column numbers by `step` that a tap meets.
    remainders: Vec<usize>,
}

/// A window of certain sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    columns: usize,
    rows: usize,
    /// Elements of a row, all remainders, and of a plane.
    row: usize,
    plane: usize,
}

impl Shape {
    pub fn new(plan: &Plan, phase: &Phase, form: &Form) -> Shape {
        let reach = [0, 1, 2].map(|a| phase.axes[a].reach());
        let step = phase.axes[2].step;
        let (low, span) = (reach.map(|r| r.0), reach.map(|r| r.1));
        let mut remainders: Vec<usize> =
            phase.axes[2].taps.iter().map(|t| (t.at - low[2]) as usize % step).collect();
        remainders.sort_unstable();
        remainders.dedup();
        let inside = (0..3).all(|a| phase.axes[a].is_inside(plan.src.spatial[a]));
        let in_place = inside && step == 1 && *form != Form::Gathered;
        Shape { in_place, low, span, step, remainders }
    }

    pub fn sizes(&self, plan: &Plan, phase: &Phase, rows: usize, width: usize) -> Sizes {
        let columns = width + (self.span[2] - 1) / self.step;
        let rows = (rows - 1) * phase.axes[1].step + self.span[1];
        let row = self.remainders.len() * columns * plan.block;
        Sizes { columns, rows, row, plane: self.span[0] * rows * row }
    }

    /// **Elements** of a window of this many planes.
    pub fn elements(&self, sizes: &Sizes, planes: usize) -> usize {
        if self.in_place { 0 } else { sizes.plane * planes }
    }

    /// What every tile of these sizes has in common: the taps, the elements between two planes, and those between
    /// the rows of two neighbouring output rows.
    pub fn layout(&self, plan: &Plan, phase: &Phase, sizes: &Sizes) -> (Vec<Tap>, usize, usize) {
        let (src, [_, kh, kw]) = (&plan.src, plan.kernel);
        let (depth, row, plane) = if self.in_place {
            (src.stride_d, src.stride_h, src.stride_block)
        } else {
            (sizes.rows * sizes.row, sizes.row, sizes.plane)
        };
        let mut taps = Vec::with_capacity(plan.taps());
        let [along_d, along_h, along_w] = &phase.axes;
        for d in &along_d.taps {
            for h in &along_h.taps {
                for w in &along_w.taps {
                    let [d_at, h_at, w_at] =
                        [(d, 0), (h, 1), (w, 2)].map(|(t, a)| (t.at - self.low[a]) as usize);
                    let set = self.remainders.partition_point(|&r| r < w_at % self.step);
                    let column = set * sizes.columns + w_at / self.step;
                    let at = d_at * depth + h_at * row + column * plan.block;
                    taps.push(Tap { at, k: (d.k * kh + h.k) * kw + w.k });
                }
            }
        }
        (taps, plane, row * along_h.step)
    }

    /// Where the window of a tile begins in the source, which is read in place.
    pub fn origin(&self, plan: &Plan, phase: &Phase, place: &Place, block: usize) -> usize {
        let at = |a: usize| place.first[a] * phase.axes[a].step + self.low[a] as usize;
        plan.src.offset(Row { n: place.n, block, d: at(0), h: at(1) }) + at(2) * plan.block
    }
}

/// The planes of a block's window: source blocks, or one for each channel of a group.
pub(super) fn planes(plan: &Plan, block: usize) -> usize {
    match &plan.blocks[block].form {
        Form::Shared { channels } => source_blocks(channels, plan.block).len(),
        Form::Own => 1,
        Form::Gathered => plan.cg,
    }
}

/// The source block of a block's first plane; not for gathered ones.
pub(super) fn first_block(plan: &Plan, block: usize) -> usize {
    match &plan.blocks[block].form {
        Form::Shared { channels } => channels.start / plan.block,
        Form::Own | Form::Gathered => block,
    }
}

/// The lanes that a shared block reads of each plane.
pub(super) fn runs(plan: &Plan, block: usize, plane: usize) -> Vec<Run> {
    let Form::Shared { channels } = &plan.blocks[block].form else { return Vec::new() };
    let b = plan.block;
    source_blocks(channels, b)
        .enumerate()
        .map(|(i, source)| Run {
            at: i * plane,
            from: channels.start.saturating_sub(source * b),
            to: (channels.end - source * b).min(b),
        })
        .collect()
}

/// Copies a window.
pub(super) struct Fill<'a> {
    pub plan: &'a Plan,
    pub phase: &'a Phase,
    pub shape: &'a Shape,
    pub sizes: Sizes,
    pub place: Place,
    /// Number of the output block.
    pub block: usize,
    pub src: &'a [f32],
    pub to: &'a mut [f32],
}

impl<const B: usize> VectorLoop<B> for Fill<'_> {
    #[inline(always)]
    fn run<V: Vector<B>>(mut self) {
        let plan = self.plan;
        if plan.blocks[self.block].form == Form::Gathered {
            for channel in 0..plan.cg {
                let (mut index, mut fresh) = ([KEEP; B], true);
                for source in self.sources(channel) {
                    self.lanes_from(source, channel, &mut index);
                    self.plane::<V, B>(channel, source, Some((&index, fresh)));
                    fresh = false;
                }
            }
        } else {
            let first = first_block(plan, self.block);
            for plane in 0..planes(plan, self.block) {
                self.plane::<V, B>(plane, first + plane, None);
            }
        }
    }
}

impl Fill<'_> {
    /// The source blocks that hold channel number `channel` of the groups of this block's lanes.
    fn sources(&self, channel: usize) -> std::ops::Range<usize> {
        let plan = self.plan;
        let first = self.block * plan.block / plan.og;
        let last = (((self.block + 1) * plan.block).min(plan.o) - 1) / plan.og;
        (first * plan.cg + channel) / plan.block..(last * plan.cg + channel) / plan.block + 1
    }

    /// The lane of block `source` that each output lane reads.
    fn lanes_from(&self, source: usize, channel: usize, index: &mut [i32]) {
        let plan = self.plan;
        for (lane, index) in index.iter_mut().enumerate() {
            let o = self.block * plan.block + lane;
            let c = o / plan.og * plan.cg + channel;
            *index = if o < plan.o && c / plan.block == source { (c % plan.block) as i32 } else { KEEP };
        }
    }

    /// Fills plane number `plane` from a source block: whole vectors, or the lanes that `gather` picks, into zeros
    /// where it says `true` and else into what is there.
    #[inline(always)]
    fn plane<V: Vector<B>, const B: usize>(
        &mut self,
        plane: usize,
        source: usize,
        gather: Option<(&[i32; B], bool)>,
    ) {
        let (shape, sizes, src) = (self.shape, self.sizes, &self.plan.src);
        let axes = &self.phase.axes;
        let start = |a: usize| (self.place.first[a] * axes[a].step) as isize + shape.low[a];
        let (d0, h0, w0) = (start(0), start(1), start(2));
        let met = |i: usize, step: usize, count: usize, taps: &[super::plan::AxisTap], low: isize| {
            taps.iter().any(|t| {
                let t = (t.at - low) as usize;
                i >= t && (i - t).is_multiple_of(step) && (i - t) / step < count
            })
        };
        for d in 0..shape.span[0] {
            if !met(d, axes[0].step, 1, &axes[0].taps, shape.low[0]) {
                continue;
            }
            for h in 0..sizes.rows {
                if !met(h, axes[1].step, self.place.rows, &axes[1].taps, shape.low[1]) {
                    continue;
                }
                let at = plane * sizes.plane + (d * sizes.rows + h) * sizes.row;
                let row = self.to[at..at + sizes.row].as_chunks_mut::<B>().0;
                let (d, h) = (d0 + d as isize, h0 + h as isize);
                let outside = d < 0 || h < 0 || d as usize >= src.spatial[0] || h as usize >= src.spatial[1];
                if outside {
                    if !matches!(gather, Some((_, false))) {
                        row.as_flattened_mut().fill(0.0);
                    }
                    continue;
                }
                let from = src.offset(Row { n: self.place.n, block: source, d: d as usize, h: h as usize });
                let line = self.src[from..from + src.row_len()].as_chunks::<B>().0;
                for (&remainder, to) in shape.remainders.iter().zip(row.chunks_exact_mut(sizes.columns)) {
                    columns::<V, B>(line, w0 + remainder as isize, shape.step, gather, to);
                }
            }
        }
    }
}

/// `to[i]` from pixel `start + i * step` of a row, 0 outside it.
#[inline(always)]
fn columns<V: Vector<B>, const B: usize>(
    line: &[[f32; B]],
    start: isize,
    step: usize,
    gather: Option<(&[i32; B], bool)>,
    to: &mut [[f32; B]],
) {
    // The columns inside the row are `before..end`.
    let before = (-start).max(0).unsigned_abs().div_ceil(step).min(to.len());
    let room = (line.len() as isize - start).max(0).unsigned_abs().div_ceil(step);
    let end = room.clamp(before, to.len());
    if !matches!(gather, Some((_, false))) {
        to[..before].as_flattened_mut().fill(0.0);
        to[end..].as_flattened_mut().fill(0.0);
    }
    if before == end {
        return;
    }
    let first = (start + (before * step) as isize) as usize;
    let pixels = line[first..].iter().step_by(step);
    match gather {
        None => to[before..end].iter_mut().zip(pixels).for_each(|(to, from)| V::load(from).store(to)),
        Some((index, true)) => {
            let zero = V::splat(0.0);
            to[before..end].iter_mut().zip(pixels).for_each(|(to, p)| zero.pick(V::load(p), index).store(to));
        }
        Some((index, false)) => {
            to[before..end]
                .iter_mut()
                .zip(pixels)
                .for_each(|(to, p)| V::load(to).pick(V::load(p), index).store(to));
        }
    }
}

/// Fills the window.
pub(super) fn fill<const B: usize>(fill: Fill<'_>)
where
    Width<B>: VectorWidth<B>,
{
    Width::<B>::dispatch(fill);
}
