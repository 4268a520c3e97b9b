//! The part of the source that a tile reads: in place, or as a copy with the padding around it.

use super::plan::{BLOCK, Int8Plan, QUAD};
use crate::kernels::conv::phases::{Phase, cube};
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
    /// Source positions of the lowest tap of output 0, and how many positions the taps span.
    low: [isize; 3],
    span: [usize; 3],
    step: [usize; 3],
    /// **Bytes** of a pixel in a plane of a copy: all its quads, or the only one.
    lanes: usize,
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
    /// Planes, depth, rows and columns of a copy.
    shape: [usize; 4],
}

impl Window {
    pub fn new(plan: &Int8Plan, phase: &Phase) -> Window {
        let reach = [0, 1, 2].map(|a| phase.axes[a].reach());
        let is_inside = (0..3).all(|a| phase.axes[a].is_inside(plan.src.spatial[a]));
        // Of the pixels' bytes as they lie: all planes, or one.
        let lane_bytes = if plan.matrix.is_some() { plan.quads() * QUAD } else { QUAD };
        let has_quads = plan.src.lanes == BLOCK && plan.quads() * QUAD == BLOCK
            || plan.src.lanes == plan.g.c && plan.g.c.is_multiple_of(lane_bytes);
        // Tiles read neighbouring pixels of one quad as one.
        let is_joined = plan.matrix.is_some() && plan.is_narrow();
        let in_place = is_inside && has_quads && !plan.is_depthwise() && !is_joined && plan.flip() == 0;
        let step = [0, 1, 2].map(|a| phase.axes[a].step);
        let lanes = if plan.is_narrow() { QUAD } else { plan.quads() * QUAD };
        Window { in_place, low: reach.map(|(low, _)| low), span: reach.map(|(_, span)| span), step, lanes }
    }

    /// **Bytes** of a copy of so many planes for a tile of this size.
    pub fn bytes(&self, planes: usize, rows: usize, width: usize) -> usize {
        let [planes, depth, rows, columns] = self.shape(planes, rows, width);
        let pixels = planes.saturating_mul(depth).saturating_mul(rows).saturating_mul(columns);
        // The vectors of four pixels reach beyond the last one.
        pixels.saturating_add(QUAD - 1).saturating_mul(self.lanes)
    }

    fn shape(&self, planes: usize, rows: usize, width: usize) -> [usize; 4] {
        let along = |a: usize, count: usize| {
            (count.max(1) - 1).saturating_mul(self.step[a]).saturating_add(self.span[a])
        };
        [planes, self.span[0], along(1, rows), along(2, width)]
    }

    pub fn pixels(&self, plan: &Int8Plan, phase: &Phase, planes: usize, rows: usize, width: usize) -> Pixels {
        let shape = self.shape(planes, rows, width);
        let [_, depth, height, columns] = shape;
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
        let mut taps = Vec::with_capacity(plan.taps());
        for z in &phase.axes[0].taps {
            for y in &phase.axes[1].taps {
                for x in &phase.axes[2].taps {
                    let distance = |at: isize, a: usize| (at - self.low[a]).unsigned_abs();
                    let at = distance(z.at, 0) * d + distance(y.at, 1) * h + distance(x.at, 2) * w;
                    taps.push((at, (z.k * kh + y.k) * kw + x.k));
                }
            }
        }
        Pixels { plane, row: h * self.step[1], pixel: w * self.step[2], taps, shape }
    }

    /// Where the source of a tile begins that is read in place.
    pub fn origin(&self, plan: &Int8Plan, position: &Position) -> usize {
        let at = |a: usize| position.first[a] * self.step[a] + self.low[a].unsigned_abs();
        let src = &plan.src;
        let row = RowIndex { n: position.n, block: 0, d: at(0), h: at(1) };
        src.offset(row) + at(2) * src.lanes
    }

    /// Copies what a tile reads: the planes of these channels, unsigned, with the zero point around the image.
    pub fn fill(
        &self,
        plan: &Int8Plan,
        src: &[u8],
        position: &Position,
        first_plane: usize,
        pixels: &Pixels,
        to: &mut [u8],
    ) {
        let [planes, depth, height, columns] = pixels.shape;
        let (flip, padding) = (plan.flip(), plan.unsigned_zero_point() as u8);
        let start = |a: usize| (position.first[a] * self.step[a]) as isize + self.low[a];
        let inside = |a: usize, i: usize| {
            let at = start(a) + i as isize;
            usize::try_from(at).ok().filter(|&at| at < plan.src.spatial[a])
        };
        let first = (-start(2)).clamp(0, columns as isize) as usize;
        let end = (plan.src.spatial[2] as isize - start(2)).clamp(first as isize, columns as isize) as usize;
        let lanes = self.lanes;
        let (rows, rest) = to.split_at_mut(planes * depth * height * columns * lanes);
        rest.fill(padding);
        let x = (start(2) + first as isize).max(0) as usize;
        let mut rows = rows.chunks_exact_mut(columns * lanes);
        for plane in first_plane..first_plane + planes {
            for z in 0..depth {
                let d = inside(0, z).filter(|_| first < end);
                for (y, row) in rows.by_ref().take(height).enumerate() {
                    let (Some(d), Some(h)) = (d, inside(1, y)) else {
                        row.fill(padding);
                        continue;
                    };
                    row[..first * lanes].fill(padding);
                    row[end * lanes..].fill(padding);
                    let inner = &mut row[first * lanes..end * lanes];
                    let at = RowIndex { n: position.n, block: plane, d, h };
                    match lanes {
                        BLOCK => copy_row::<BLOCK>(&plan.src, plan.g.c, src, at, x, inner),
                        QUAD => copy_row::<QUAD>(&plan.src, plan.g.c, src, at, x, inner),
                        _ => copy_lanes(&plan.src, plan.g.c, lanes, src, at, x, inner),
                    }
                    if flip != 0 {
                        inner.iter_mut().for_each(|byte| *byte ^= flip);
                    }
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
