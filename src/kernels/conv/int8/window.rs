//! The part of the source that a tile reads: in place, or as a copy with the padding around it.

use std::ops::Range;

use super::plan::{BLOCK, Int8Plan, QUAD};
use crate::kernels::conv::phases::{Axis, Phase, cube};
use crate::kernels::lanes::{Lanes, RowIndex};

/// Where a tile of the result begins, and how large it is. Positions are those of a phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub n: usize,
    pub first: [usize; 3],
    pub rows: usize,
    pub width: usize,
}

/// How the pixels that a phase reads lie. Distances are in **bytes**.
pub(super) struct Window {
    /// Whether it is the source itself.
    pub in_place: bool,
    axes: [Positions; 3],
    /// **Bytes** of a pixel in a plane of a copy: all its quads, or the only one.
    lanes: usize,
}

/// The source positions along an axis that some outputs read, as a copy has them: all from the first to the last, or, where this is
/// fewer, those of each tap apart.
struct Positions {
    /// The position of each tap for output 0.
    taps: Vec<isize>,
    /// The lowest of them, and how many positions they span.
    low: isize,
    span: usize,
    /// From one output to the next.
    step: usize,
    /// By how much they must be fewer to lie apart; nothing where they never do.
    gain: Option<usize>,
}

impl Positions {
    fn of(axis: &Axis, gain: Option<usize>) -> Positions {
        let (low, span) = axis.reach();
        Positions { taps: axis.taps.iter().map(|tap| tap.at).collect(), low, span, step: axis.step, gain }
    }

    /// All from the first to the last of so many outputs.
    fn reach(&self, count: usize) -> usize {
        (count.max(1) - 1).saturating_mul(self.step).saturating_add(self.span)
    }

    fn are_apart(&self, count: usize) -> bool {
        let parted = self.taps.len().saturating_mul(count);
        self.gain.is_some_and(|gain| parted.saturating_mul(gain) < self.reach(count))
    }

    /// The positions in a copy.
    fn len(&self, count: usize) -> usize {
        if self.are_apart(count) { self.taps.len() * count } else { self.reach(count) }
    }

    /// From one output to the next, in a copy.
    fn step(&self, count: usize) -> usize {
        if self.are_apart(count) { 1 } else { self.step }
    }

    /// Where output 0 meets a tap of the list, in a copy.
    fn place(&self, tap: usize, count: usize) -> usize {
        if self.are_apart(count) { tap * count } else { (self.taps[tap] - self.low).unsigned_abs() }
    }

    /// The pieces of a copy that lie together in the source: how many, and how long each is.
    fn pieces(&self, count: usize) -> [usize; 2] {
        match (self.are_apart(count), self.step) {
            (false, _) => [1, self.len(count)],
            (true, 1) => [self.taps.len(), count],
            (true, _) => [self.len(count), 1],
        }
    }

    /// The source position of a place of a copy for the outputs from `first` on, outside of the source perhaps.
    fn source(&self, first: usize, count: usize, place: usize) -> isize {
        let (output, at) = match self.are_apart(count) {
            true => (first + place % count, self.taps[place / count]),
            false => (first, self.low + place as isize),
        };
        (output * self.step) as isize + at
    }
}

/// The same for tiles of one size.
pub(super) struct Pixels {
    /// From one plane of channels to the next.
    pub plane: usize,
    /// From one output row's pixels to the next one's.
    pub row: usize,
    /// From one output pixel to the next.
    pub pixel: usize,
    /// Where each tap of the phase is, with its number in the kernel.
    pub taps: Vec<(usize, usize)>,
}

impl Window {
    pub fn new(plan: &Int8Plan, phase: &Phase) -> Window {
        let is_inside = (0..3).all(|a| phase.axes[a].is_inside(plan.src.spatial[a]));
        // Of the pixels' bytes as they lie: all planes, or one.
        let lane_bytes = if plan.matrix.is_some() { plan.quads() * QUAD } else { QUAD };
        let has_quads = plan.src.lanes == BLOCK && plan.quads() * QUAD == BLOCK
            || plan.src.lanes == plan.g.c && plan.g.c.is_multiple_of(lane_bytes);
        // Tiles read neighbouring pixels of one quad as one.
        let is_joined = plan.matrix.is_some() && plan.is_narrow();
        let in_place = is_inside && has_quads && !plan.is_depthwise() && !is_joined && plan.flip() == 0;
        // A row is copied as a whole. Pixel by pixel it takes longer, so there must be far fewer of them; and where neighbours along W
        // are read at once, they stay together.
        let along_w = match phase.axes[2].step {
            _ if is_joined || plan.is_depthwise() => None,
            1 => Some(1),
            _ => Some(8),
        };
        let gain = |a: usize| if a < 2 { Some(1) } else { along_w }.filter(|_| !in_place);
        let axes = [0, 1, 2].map(|a| Positions::of(&phase.axes[a], gain(a)));
        let lanes = if plan.is_narrow() { QUAD } else { plan.quads() * QUAD };
        Window { in_place, axes, lanes }
    }

    /// **Bytes** of a copy of so many planes for a tile of this size.
    pub fn bytes(&self, planes: usize, rows: usize, width: usize) -> usize {
        let [planes, depth, rows, columns] = self.shape(planes, rows, width);
        let pixels = planes.saturating_mul(depth).saturating_mul(rows).saturating_mul(columns);
        // The vectors of four pixels reach beyond the last one.
        pixels.saturating_add(QUAD - 1).saturating_mul(self.lanes)
    }

    fn shape(&self, planes: usize, rows: usize, width: usize) -> [usize; 4] {
        let [d, h, w] = &self.axes;
        [planes, d.len(1), h.len(rows), w.len(width)]
    }

    pub fn pixels(&self, plan: &Int8Plan, phase: &Phase, planes: usize, rows: usize, width: usize) -> Pixels {
        let [_, depth, height, columns] = self.shape(planes, rows, width);
        let (plane, d, h, w) = match self.in_place {
            true if plan.src.lanes == BLOCK && plan.quads() * QUAD == BLOCK => {
                (plan.src.stride_block, plan.src.stride_d, plan.src.stride_h, BLOCK)
            }
            true => (plan.quads() * QUAD, plan.src.stride_d, plan.src.stride_h, plan.src.lanes),
            false => {
                let row = columns * self.lanes;
                (depth * height * row, height * row, row, self.lanes)
            }
        };
        let [_, kh, kw] = cube(&plan.g.kernel, 1);
        let [of_d, of_h, of_w] = &self.axes;
        let mut taps = Vec::with_capacity(plan.taps());
        for (i, z) in phase.axes[0].taps.iter().enumerate() {
            for (j, y) in phase.axes[1].taps.iter().enumerate() {
                for (k, x) in phase.axes[2].taps.iter().enumerate() {
                    let at = of_d.place(i, 1) * d + of_h.place(j, rows) * h + of_w.place(k, width) * w;
                    taps.push((at, (z.k * kh + y.k) * kw + x.k));
                }
            }
        }
        Pixels { plane, row: h * of_h.step(rows), pixel: w * of_w.step(width), taps }
    }

    /// Where the source of a tile begins that is read in place.
    pub fn origin(&self, plan: &Int8Plan, position: &Position) -> usize {
        let at = |a: usize| position.first[a] * self.axes[a].step + self.axes[a].low.unsigned_abs();
        let src = &plan.src;
        let row = RowIndex { n: position.n, block: 0, d: at(0), h: at(1) };
        src.offset(row) + at(2) * src.lanes
    }

    /// Copies what a tile reads: the planes of these channels, unsigned, with the zero point around the image. `has_padding`: `to` has
    /// as many planes of the same tile, and so the zero points.
    pub fn fill(
        &self,
        plan: &Int8Plan,
        src: &[u8],
        position: &Position,
        planes: Range<usize>,
        has_padding: bool,
        to: &mut [u8],
    ) {
        let Position { n, first, rows, width } = *position;
        let [_, depth, height, columns] = self.shape(planes.len(), rows, width);
        let (flip, padding) = (plan.flip(), plan.unsigned_zero_point() as u8);
        let [of_d, of_h, of_w] = &self.axes;
        let inside = |a: usize, at: isize| usize::try_from(at).ok().filter(|&at| at < plan.src.spatial[a]);
        let [pieces, each] = of_w.pieces(width);
        // The part of a piece of a row that is inside of the source, and where it begins there.
        let part = |i: usize| {
            let at = of_w.source(first[2], width, i * each);
            let begin = (-at).clamp(0, each as isize) as usize;
            let end = (plan.src.spatial[2] as isize - at).clamp(begin as isize, each as isize) as usize;
            (i * each + begin..i * each + end, (at + begin as isize).max(0) as usize)
        };
        let only = (pieces == 1).then(|| part(0));
        let pad = |to: &mut [u8]| {
            if !has_padding && !to.is_empty() {
                to.fill(padding);
            }
        };
        let lanes = self.lanes;
        let (all_rows, rest) = to.split_at_mut(planes.len() * depth * height * columns * lanes);
        pad(rest);
        let mut all_rows = all_rows.chunks_exact_mut(columns * lanes);
        for plane in planes {
            for d in 0..depth {
                let d = inside(0, of_d.source(first[0], 1, d));
                for (h, row) in all_rows.by_ref().take(height).enumerate() {
                    let (Some(d), Some(h)) = (d, inside(1, of_h.source(first[1], rows, h))) else {
                        pad(row);
                        continue;
                    };
                    let at = RowIndex { n, block: plane, d, h };
                    let mut done = 0;
                    for i in 0..pieces {
                        let (inside, x) = only.clone().unwrap_or_else(|| part(i));
                        pad(&mut row[done * lanes..inside.start * lanes]);
                        done = inside.end;
                        if inside.is_empty() {
                            continue;
                        }
                        let inner = &mut row[inside.start * lanes..inside.end * lanes];
                        match lanes {
                            BLOCK => copy_row::<BLOCK>(&plan.src, plan.g.c, src, at, x, inner),
                            QUAD => copy_row::<QUAD>(&plan.src, plan.g.c, src, at, x, inner),
                            _ => copy_lanes(&plan.src, plan.g.c, lanes, src, at, x, inner),
                        }
                        if flip != 0 {
                            inner.iter_mut().for_each(|byte| *byte ^= flip);
                        }
                    }
                    pad(&mut row[done * lanes..]);
                }
            }
        }
    }
}

/// Copies the channels of a plane of 16 of neighbouring pixels, `L` bytes a pixel, from a tensor of `c` channels; the row names the plane
/// as its block. What follows the channels is unspecified.
fn copy_row<const L: usize>(from: &Lanes, c: usize, src: &[u8], row: RowIndex, x: usize, to: &mut [u8]) {
    if from.lanes == L {
        let at = from.offset(row) + x * L;
        to.copy_from_slice(&src[at..at + to.len()]);
        return;
    }
    let channels = row.block * BLOCK..((row.block + 1) * BLOCK).min(c);
    let pixels = to.as_chunks_mut::<L>().0;
    if from.lanes == 1 && L == QUAD {
        let last = channels.end - 1;
        let [a, b, c, d] = std::array::from_fn(|i| {
            let at = from.offset(RowIndex { block: (channels.start + i).min(last), ..row }) + x;
            &src[at..at + pixels.len()]
        });
        for (((to, a), (b, c)), d) in pixels.iter_mut().zip(a).zip(b.iter().zip(c)).zip(d) {
            to.copy_from_slice(&[*a, *b, *c, *d][..L]);
        }
        return;
    }
    copy_lanes(from, c, L, src, row, x, to);
}

/// The same for any number of channels in a plane, piece by piece.
#[inline(always)]
fn copy_lanes(from: &Lanes, c: usize, lanes: usize, src: &[u8], row: RowIndex, x: usize, to: &mut [u8]) {
    let first = row.block * lanes;
    let end = (first + lanes).min(c);
    let mut channel = first;
    while channel < end {
        let (block, lane) = (channel / from.lanes, channel % from.lanes);
        let count = (from.lanes - lane).min(end - channel);
        let at = from.offset(RowIndex { block, ..row }) + x * from.lanes + lane;
        let pairs = to[channel - first..].chunks_mut(lanes).zip(src[at..].chunks(from.lanes));
        match count {
            // A size that is known is no call.
            BLOCK => pairs.for_each(|(to, from)| to[..BLOCK].copy_from_slice(&from[..BLOCK])),
            QUAD => pairs.for_each(|(to, from)| to[..QUAD].copy_from_slice(&from[..QUAD])),
            1 => pairs.for_each(|(to, from)| to[0] = from[0]),
            // A few bytes: a call would cost more.
            2..BLOCK => pairs.for_each(|(to, from)| {
                to[..count].iter_mut().zip(&from[..count]).for_each(|(to, &from)| *to = from);
            }),
            _ => pairs.for_each(|(to, from)| to[..count].copy_from_slice(&from[..count])),
        }
        channel += count;
    }
}
