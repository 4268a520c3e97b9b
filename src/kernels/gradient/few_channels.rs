//! The gradient of the weights of a first convolution, whose source has few channels.
//!
//! Pixels with all their channels lie together in a copy of the source, so that what an output meets in a row of taps is one piece of
//! memory: outer products of that with the output's channels are the sums of all these taps and channels at once. Around the copy's rows
//! there are zeros. Where these meet an infinity the sums are wrong, and the caller computes them in the other way.

use super::blocks::Elements;
use super::conv_weights::{PIXELS_IN_F32, Products, Rows, TASKS_PER_THREAD, row_at, rows_inside};
use super::for_each_chunk;
use crate::error::Result;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::phases::{Phase, cube, phases};
use crate::memory::try_filled;
use crate::simd::vectors::{VectorWidth, Width};
use crate::tensor::any::TensorRef;
use crate::threads::current_threads;

/// Channels of a source that has few.
const MOST_CHANNELS: usize = 4;
/// Numbers that an output meets at once: sums that stay in registers.
const AT_ONCE: usize = 8;
/// The same with registers enough, and at most.
const MOST_AT_ONCE: usize = 24;

/// Writes the gradient into `tiles`, as [`Tiling`](super::conv_weights::Tiling) has them, if the convolution is such a one; returns
/// whether it did.
pub(super) fn weights<const B: usize>(
    g: &ConvGeometry,
    x: TensorRef<'_>,
    diff: TensorRef<'_>,
    tiles: &mut [f32],
) -> Result<bool>
where
    Width<B>: VectorWidth<B>,
{
    let [kd, kh, kw] = cube(&g.kernel, 1);
    let is_one = g.groups == 1 && !g.transposed && g.c <= MOST_CHANNELS && kw > 1 && kw * g.c <= MOST_AT_ONCE;
    let Some(phase) = phases(g).next().filter(|_| is_one && g.dilation.last() == Some(&1)) else {
        return Ok(false);
    };
    let (x, diff) = (Elements::of(g.op, x)?, Elements::of(g.op, diff)?);
    if !diff.has_neighbours::<B>() || !g.o.is_multiple_of(B) {
        return Ok(false);
    }
    let width = |lanes: usize| (kw * g.c).next_multiple_of(lanes);
    let few = Few { g, phase, diff, source: Source::new(g, &x, width(MOST_AT_ONCE))? };
    let (o_blocks, rows) = (g.o / B, kd * kh);
    let parts = if o_blocks < TASKS_PER_THREAD * current_threads() { rows } else { 1 };
    let of_task = rows / parts;
    for_each_chunk(tiles, of_task * kw * B * B, |i, to| {
        let (block, first) = (i / parts, i % parts * of_task);
        let at_once = width(AT_ONCE);
        let mut sums = vec![[0f64; B]; of_task * at_once];
        if B == 16 && at_once == MOST_AT_ONCE {
            few.add::<B, MOST_AT_ONCE>(block, first, at_once, &mut sums);
        } else {
            few.add::<B, AT_ONCE>(block, first, at_once, &mut sums);
        }
        for (sums, to) in sums.chunks(at_once).zip(to.chunks_mut(kw * B * B)) {
            // Beyond the channels there are zeros.
            to.fill(0.0);
            for (i, sums) in sums[..kw * g.c].iter().enumerate() {
                let to = &mut to[(i / g.c * B + i % g.c) * B..][..B];
                to.iter_mut().zip(sums).for_each(|(to, sum)| *to = *sum as f32);
            }
        }
    });
    Ok(tiles.iter().all(|sum| sum.is_finite()))
}

/// The source with zeros around its rows.
struct Source {
    data: Vec<f32>,
    /// As those of [`Elements`].
    image: usize,
    spatial: [usize; 3],
}

impl Source {
    /// `width` is how many elements are read at a pixel.
    fn new(g: &ConvGeometry, x: &Elements<'_>, width: usize) -> Result<Source> {
        let ([d, h, w], [_, _, step], ow) = (cube(&g.input, 1), cube(&g.stride, 1), cube(&g.output, 1)[2]);
        let pad = cube(&g.pad_begin, 0)[2];
        let row = (ow - 1) * step * g.c + width;
        let mut data = try_filled(g.op, g.n * d * h * row, 0f32)?;
        for_each_chunk(&mut data, row, |i, to| {
            let from = i / h / d * x.image + i / h % d * x.spatial[0] + i % h * x.spatial[1];
            for c in 0..g.c {
                let from = &x.data[from + x.channel(c)..];
                let pixels = to.chunks_mut(g.c).skip(pad).take(w).enumerate();
                for (i, to) in pixels.filter(|(_, to)| c < to.len()) {
                    to[c] = from[i * x.spatial[2]];
                }
            }
        });
        Ok(Source { data, image: d * h * row, spatial: [h * row, row, g.c] })
    }
}

/// One convolution.
struct Few<'a> {
    g: &'a ConvGeometry,
    phase: Phase,
    diff: Elements<'a>,
    source: Source,
}

impl Few<'_> {
    /// Adds up the products of a block of output channels with what they meet in rows of taps from the `first` on, `R` numbers of the
    /// `width` of each at a time. All rows of taps read some pixels before the next ones come.
    fn add<const B: usize, const R: usize>(
        &self,
        block: usize,
        first: usize,
        width: usize,
        sums: &mut [[f64; B]],
    ) where
        Width<B>: VectorWidth<B>,
    {
        let Few { g, phase: Phase { axes }, diff, source } = self;
        let [_, kh, _] = cube(&g.kernel, 1);
        let [od, oh, ow] = cube(&g.output, 1);
        let diff_at = diff.channel(block * B);
        let (all, at_once) = (g.n * od * oh, PIXELS_IN_F32.div_ceil(ow));
        let mut starts = Vec::with_capacity(at_once);
        for pixels in (0..all).step_by(at_once) {
            for (row_of_taps, sums) in (first..).zip(sums.chunks_mut(width)) {
                starts.clear();
                let k = [row_of_taps / kh, row_of_taps % kh];
                let inside = rows_inside(g, axes, k, pixels..(pixels + at_once).min(all));
                starts.extend(inside.map(|[from, to]| {
                    let x_at = row_at(source.image, &source.spatial, from);
                    [x_at, diff_at + row_at(diff.image, &diff.spatial, to)]
                }));
                for (i, sums) in sums.chunks_mut(R).enumerate() {
                    let rows = Rows {
                        x: &source.data[i * R..],
                        x_step: axes[2].step * source.spatial[2],
                        diff: diff.data,
                        diff_step: diff.spatial[2],
                        starts: &starts,
                        count: ow,
                    };
                    Width::<B>::dispatch(Products::<B, R> { rows, sums });
                }
            }
        }
    }
}
