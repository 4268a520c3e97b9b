//! The source as a tile's loop reads it: the source itself where every tap meets it, else a copy with its padding
//! zero, its columns sorted by the stride, and each lane's channels gathered.

use std::ops::Range;

use crate::kernels::conv::phases::Phase;
use crate::kernels::conv::tiled::kernel::{Run, Tap};
use crate::kernels::conv::tiled::plan::{BlockForm, Part, TiledPlan, source_blocks};
use crate::kernels::lanes::RowIndex;
use crate::simd::vectors::{KEEP, Vector, VectorLoop, VectorWidth, Width};

/// Where a tile of output pixels lies, as numbers within its phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TilePosition {
    pub n: usize,
    /// First output along D, H, W.
    pub first: [usize; 3],
    /// Outputs along H and W.
    pub rows: usize,
    pub width: usize,
}

/// How the window of a phase lies.
pub(crate) struct WindowShape {
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
pub(crate) struct WindowSizes {
    columns: usize,
    rows: usize,
    /// Elements of a row, all remainders, and of a plane.
    row: usize,
    plane: usize,
}

impl WindowShape {
    pub fn new(plan: &TiledPlan, phase: &Phase, form: BlockForm) -> WindowShape {
        let reach = [0, 1, 2].map(|a| phase.axes[a].reach());
        let step = phase.axes[2].step;
        let (low, span) = (reach.map(|r| r.0), reach.map(|r| r.1));
        let mut remainders: Vec<usize> =
            phase.axes[2].taps.iter().map(|t| (t.at - low[2]) as usize % step).collect();
        remainders.sort_unstable();
        remainders.dedup();
        let inside = (0..3).all(|a| phase.axes[a].is_inside(plan.src.spatial[a]));
        let in_place = inside && step == 1 && form != BlockForm::Gathered;
        WindowShape { in_place, low, span, step, remainders }
    }

    pub fn sizes(&self, plan: &TiledPlan, phase: &Phase, rows: usize, width: usize) -> WindowSizes {
        // Saturating: a dilation may reach over more than can be held, and then the window cannot be had.
        let columns = width + (self.span[2] - 1) / self.step;
        let rows = (rows - 1).saturating_mul(phase.axes[1].step).saturating_add(self.span[1]);
        let row = self.remainders.len().saturating_mul(columns).saturating_mul(plan.block);
        WindowSizes { columns, rows, row, plane: self.span[0].saturating_mul(rows).saturating_mul(row) }
    }

    /// **Elements** of a window of this many planes.
    pub fn elements(&self, sizes: &WindowSizes, planes: usize) -> usize {
        if self.in_place { 0 } else { sizes.plane.saturating_mul(planes) }
    }

    /// What every tile of these sizes has in common: the taps, the elements between two planes, and those between
    /// the rows of two neighbouring output rows.
    pub fn layout(&self, plan: &TiledPlan, phase: &Phase, sizes: &WindowSizes) -> (Vec<Tap>, usize, usize) {
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
        (taps, plane, row.saturating_mul(along_h.step))
    }

    /// Where the window of a tile begins in the source, which is read in place.
    pub fn origin(&self, plan: &TiledPlan, phase: &Phase, tile: &TilePosition, block: usize) -> usize {
        let at = |a: usize| tile.first[a] * phase.axes[a].step + self.low[a] as usize;
        plan.src.offset(RowIndex { n: tile.n, block, d: at(0), h: at(1) }) + at(2) * plan.block
    }
}

/// The planes of a block's window: source blocks, or one for each channel of a group.
pub(crate) fn planes(plan: &TiledPlan, block: usize) -> usize {
    match plan.blocks[block].form {
        BlockForm::Shared => source_blocks(&plan.channels_of(block), plan.block).len(),
        BlockForm::Own => 1,
        BlockForm::Gathered => plan.cg,
    }
}

/// The source block of a block's first plane; not for gathered ones.
pub(crate) fn first_block(plan: &TiledPlan, block: usize) -> usize {
    match plan.blocks[block].form {
        BlockForm::Shared => plan.channels_of(block).start / plan.block,
        BlockForm::Own | BlockForm::Gathered => block,
    }
}

/// The lanes that a part reads of each source block; block `first` is the window's first plane.
pub(crate) fn runs(plan: &TiledPlan, part: &Part, first: usize, plane: usize) -> Vec<Run> {
    let (b, channels) = (plan.block, &part.channels);
    let run = |source: usize| Run {
        at: (source - first) * plane,
        from: channels.start.saturating_sub(source * b),
        to: (channels.end - source * b).min(b),
    };
    source_blocks(channels, b).map(run).collect()
}

/// Copies a window.
pub(crate) struct Fill<'a> {
    pub plan: &'a TiledPlan,
    pub phase: &'a Phase,
    pub shape: &'a WindowShape,
    pub sizes: WindowSizes,
    pub tile: TilePosition,
    /// Number of the output block.
    pub block: usize,
    pub src: &'a [f32],
    pub to: &'a mut [f32],
}

/// A row of a plane that some tap meets.
struct FillRow {
    /// Where it begins in the plane, in vectors.
    at: usize,
    /// Where its source begins in a source block, in elements; `None` in the padding.
    from: Option<usize>,
}

/// The columns of one remainder: zeros to `before`, then pixels of the row from `first` on, zeros from `end`.
struct FillColumns {
    before: usize,
    end: usize,
    first: usize,
}

/// How the lanes of a plane come about.
#[derive(Clone, Copy)]
enum Take<'a, const B: usize> {
    /// Whole vectors.
    All,
    /// The lanes of an index, over zeros.
    Some(&'a [i32; B]),
    /// The lanes of an index, over what is there.
    More(&'a [i32; B]),
}

impl<const B: usize> VectorLoop<B> for Fill<'_> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, proof: V::Proof) {
        let plan = self.plan;
        let (rows, columns) = (self.rows(), self.columns());
        let count = (self.sizes.columns, self.shape.step);
        let planes = self.to.as_chunks_mut::<B>().0.chunks_exact_mut(self.sizes.plane / B);
        let of_block = |block: usize| &self.src[block * plan.src.stride_block..];
        if plan.blocks[self.block].form != BlockForm::Gathered {
            let first = first_block(plan, self.block);
            for (i, to) in planes.enumerate() {
                fill_plane::<V, B>(proof, &rows, &columns, count, of_block(first + i), Take::All, to);
            }
            return;
        }
        for (channel, to) in planes.enumerate() {
            let mut index = [KEEP; B];
            for (i, block) in gathered_blocks(plan, self.block, channel).enumerate() {
                gathered_lanes(plan, self.block, channel, block, &mut index);
                let take = if i == 0 { Take::Some(&index) } else { Take::More(&index) };
                fill_plane::<V, B>(proof, &rows, &columns, count, of_block(block), take, to);
            }
        }
    }
}

/// The source blocks that hold channel number `channel` of the groups of an output block's lanes.
fn gathered_blocks(plan: &TiledPlan, block: usize, channel: usize) -> Range<usize> {
    let (b, groups) = (plan.block, plan.groups_of(block));
    (groups.start * plan.cg + channel) / b..((groups.end - 1) * plan.cg + channel) / b + 1
}

/// The lane of block `source` that each lane of an output block reads.
fn gathered_lanes(plan: &TiledPlan, block: usize, channel: usize, source: usize, index: &mut [i32]) {
    for (lane, index) in index.iter_mut().enumerate() {
        let o = block * plan.block + lane;
        let c = o / plan.og * plan.cg + channel;
        *index = if o < plan.o && c / plan.block == source { (c % plan.block) as i32 } else { KEEP };
    }
}

impl Fill<'_> {
    /// The source position of window position 0.
    fn start(&self, axis: usize) -> isize {
        (self.tile.first[axis] * self.phase.axes[axis].step) as isize + self.shape.low[axis]
    }

    /// Whether any tap of any of `count` outputs meets window position `i`.
    fn is_met(&self, axis: usize, i: usize, count: usize) -> bool {
        let (axis, low) = (&self.phase.axes[axis], self.shape.low[axis]);
        axis.taps.iter().any(|t| {
            let t = (t.at - low) as usize;
            i >= t && (i - t).is_multiple_of(axis.step) && (i - t) / axis.step < count
        })
    }

    fn rows(&self) -> Vec<FillRow> {
        let (src, sizes) = (&self.plan.src, &self.sizes);
        let mut rows = Vec::new();
        let inside = |axis: usize, i: usize| {
            let position = self.start(axis) + i as isize;
            usize::try_from(position).ok().filter(|&p| p < src.spatial[axis])
        };
        for d in (0..self.shape.span[0]).filter(|&d| self.is_met(0, d, 1)) {
            for h in (0..sizes.rows).filter(|&h| self.is_met(1, h, self.tile.rows)) {
                let from = inside(0, d).zip(inside(1, h));
                rows.push(FillRow {
                    at: (d * sizes.rows + h) * sizes.row / self.plan.block,
                    from: from.map(|(d, h)| src.offset(RowIndex { n: self.tile.n, block: 0, d, h })),
                });
            }
        }
        rows
    }

    fn columns(&self) -> Vec<FillColumns> {
        let (step, columns) = (self.shape.step, self.sizes.columns);
        let of = |&remainder: &usize| {
            let start = self.start(2) + remainder as isize;
            let before = (-start).max(0).unsigned_abs().div_ceil(step).min(columns);
            let room = (self.plan.src.spatial[2] as isize - start).max(0).unsigned_abs().div_ceil(step);
            let end = room.clamp(before, columns);
            FillColumns { before, end, first: (start + (before * step) as isize).max(0).unsigned_abs() }
        };
        self.shape.remainders.iter().map(of).collect()
    }
}

/// Fills one plane from one block of the source. Each remainder has `count` columns, `step` pixels apart.
#[inline(always)]
fn fill_plane<V: Vector<B>, const B: usize>(
    proof: V::Proof,
    rows: &[FillRow],
    columns: &[FillColumns],
    (count, step): (usize, usize),
    source: &[f32],
    take: Take<'_, B>,
    plane: &mut [[f32; B]],
) {
    let zero = V::splat(proof, 0.0);
    for row in rows {
        let sets = plane[row.at..][..columns.len() * count].chunks_exact_mut(count);
        for (c, to) in columns.iter().zip(sets) {
            let (before, end) = if row.from.is_some() { (c.before, c.end) } else { (count, count) };
            if !matches!(take, Take::More(_)) {
                to[..before].iter_mut().for_each(|to| zero.store(to));
                to[end..].iter_mut().for_each(|to| zero.store(to));
            }
            let Some(from) = row.from.filter(|_| before < end) else { continue };
            let (to, pixels) = (&mut to[before..end], &source.as_chunks::<B>().0[from / B + c.first..]);
            match take {
                Take::All if step == 1 => {
                    to.iter_mut().zip(pixels).for_each(|(to, p)| V::load(proof, p).store(to))
                }
                Take::All => {
                    let pixels = pixels.iter().step_by(step);
                    to.iter_mut().zip(pixels).for_each(|(to, p)| V::load(proof, p).store(to));
                }
                Take::Some(index) => {
                    let pixels = pixels.iter().step_by(step);
                    to.iter_mut()
                        .zip(pixels)
                        .for_each(|(to, p)| zero.pick(V::load(proof, p), index).store(to));
                }
                Take::More(index) => {
                    let pixels = pixels.iter().step_by(step);
                    to.iter_mut()
                        .zip(pixels)
                        .for_each(|(to, p)| V::load(proof, to).pick(V::load(proof, p), index).store(to));
                }
            }
        }
    }
}

/// Fills the window.
pub(crate) fn fill<const B: usize>(fill: Fill<'_>)
where
    Width<B>: VectorWidth<B>,
{
    Width::<B>::dispatch(fill);
}
