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
use crate::kernels::lanes::RowVectors;
use crate::memory::try_filled;
use crate::simd::vectors::{VectorWidth, Width};
use crate::tensor::any::TensorRef;
use crate::threads::current_threads;

/// Channels of a source that has few.
const MOST_CHANNELS: usize = 4;
/// Numbers that an output meets at once: sums that stay in registers.
const AT_ONCE: usize = 8;
/// The same at most, with registers enough.
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
    let numbers = kw * g.c;
    // All at once, if there are registers for the sums and two more; images have three channels.
    let ways: [(usize, Add<'_, B>); 6] = [
        (AT_ONCE, Few::add::<B, AT_ONCE>),
        (9, Few::add::<B, 9>),
        (12, Few::add::<B, 12>),
        (15, Few::add::<B, 15>),
        (21, Few::add::<B, 21>),
        (MOST_AT_ONCE, Few::add::<B, MOST_AT_ONCE>),
    ];
    let fits = |(most, _): &&(usize, Add<'_, B>)| numbers <= *most && most + 2 <= Width::<B>::registers();
    let &(at_once, add) = ways.iter().find(fits).unwrap_or(&ways[0]);
    let width = numbers.next_multiple_of(at_once);
    let few = Few { g, phase, diff, source: Source::new(g, &x, width)? };
    let (o_blocks, rows) = (g.o / B, kd * kh);
    let parts = if o_blocks < TASKS_PER_THREAD * current_threads() { rows } else { 1 };
    let of_task = rows / parts;
    for_each_chunk(tiles, of_task * kw * B * B, |i, to| {
        let (block, first) = (i / parts, i % parts * of_task);
        let mut sums = vec![[0f64; B]; of_task * width];
        add(&few, block, first, width, &mut sums);
        for (sums, to) in sums.chunks(width).zip(to.chunks_mut(kw * B * B)) {
            // Beyond the channels there are zeros.
            to.fill(0.0);
            for (i, sums) in sums[..numbers].iter().enumerate() {
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
            match g.c {
                1 => copy_row::<1>(x, from, pad, w, to),
                2 => copy_row::<2>(x, from, pad, w, to),
                3 => copy_row::<3>(x, from, pad, w, to),
                MOST_CHANNELS => copy_row::<MOST_CHANNELS>(x, from, pad, w, to),
                c => unreachable!("{c} channels are not few"),
            }
        });
        Ok(Source { data, image: d * h * row, spatial: [h * row, row, g.c] })
    }
}

/// Copies the `w` pixels of a row that begins at `from`, so that their `C` channels are neighbours, behind `pad` pixels. What the copy has
/// no room for, no output meets.
fn copy_row<const C: usize>(x: &Elements<'_>, from: usize, pad: usize, w: usize, to: &mut [f32]) {
    let to = to.as_chunks_mut::<C>().0.iter_mut().skip(pad).take(w).enumerate();
    if (0..C).all(|c| x.channel(c) == c) {
        let pixels = RowVectors::<f32, C, 1>::new(x.data, &[from], 0, x.spatial[2], w);
        to.for_each(|(i, to)| *to = *pixels.get(i)[0]);
    } else {
        let starts: [usize; C] = std::array::from_fn(|c| from + x.channel(c));
        let pixels = RowVectors::<f32, 1, C>::new(x.data, &starts, 0, x.spatial[2], w);
        to.for_each(|(i, to)| *to = pixels.get(i).map(|lane| lane[0]));
    }
}

/// [`Few::add`], for some numbers at once.
type Add<'a, const B: usize> = fn(&Few<'a>, usize, usize, usize, &mut [[f64; B]]);

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
