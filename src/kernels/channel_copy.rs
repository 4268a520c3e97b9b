//! Moves of channels between blocks: what `cat`, `split` and the shuffles do to a blocked tensor.
//!
//! Channels that lie together on both sides make a *segment* of lanes, which moves pixel by pixel. A segment of a whole
//! block is a plain copy of rows; for 4-byte elements in blocks of 8 or 16, the others become [`Picks`].

use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::index_copy::{bits, by_size};
use crate::kernels::lane_shuffle::Picks;
use crate::kernels::lanes::{Lanes, for_each_chunk};
use crate::simd::vectors::{VectorWidth, Width};
use crate::tensor::blocked::BlockedTensor;

/// Where a channel of the result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// A channel of one of the sources.
    Of { source: usize, channel: usize },
    /// The fill value.
    Fill,
}

/// Pixels that move together when segments are short: source and result of so many stay in the first-level cache.
const PIXELS: usize = 64;

/// Lanes of one block of the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// The source, and where in its image the first lane of the first pixel lies; `None` fills.
    pub from: Option<(usize, usize)>,
    /// Where in the block of the result it goes: lane plus pixels.
    pub to: usize,
    pub len: usize,
}

/// The pixels that a segment moves: rows of them, and the steps on both sides, in **elements**.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub rows: usize,
    pub columns: usize,
    pub src: (usize, usize),
    pub dst: (usize, usize),
    /// Pixels in all: the last row may be shorter.
    pub pixels: usize,
}

/// A pixel offset on each side, in **pixels**, from which a layer of the grid begins: where pixels become channels, or
/// channels pixels, there is one for each place of a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    pub src_pixel: usize,
    pub dst_pixel: usize,
}

/// A lane of a block of the result: the layer that fills it, the lane, and with what.
type Lane = (usize, usize, Channel);

/// A tensor of so many channels, its other sizes those of the sources, which share layout and dtype.
pub(crate) fn channels(
    op: &'static str,
    sources: &[&BlockedTensor],
    count: usize,
    from: impl Fn(usize) -> Channel,
    value: f64,
) -> Result<BlockedTensor> {
    let mut dims = sources[0].dims().to_vec();
    dims[1] = count;
    let mut dst = BlockedTensor::for_result(op, &dims, sources[0].layout(), sources[0].dtype())?;
    channels_into(op, sources, &mut dst, from, value)?;
    Ok(dst)
}

/// The same, into a result that nobody else uses.
pub(crate) fn channels_into(
    op: &'static str,
    sources: &[&BlockedTensor],
    dst: &mut BlockedTensor,
    from: impl Fn(usize) -> Channel,
    value: f64,
) -> Result<()> {
    let view = Lanes::of_blocked(op, dst)?;
    let pixels = view.spatial.iter().product::<usize>();
    let step = view.lanes;
    let rows = pixels.div_ceil(PIXELS);
    let side = (PIXELS * step, step);
    let grid = Grid { rows, columns: PIXELS, src: side, dst: side, pixels };
    let here = Layer { src_pixel: 0, dst_pixel: 0 };
    layers(op, sources, dst, &[here], |c, fill| fill(0, from(c)), grid, value)
}

/// Fills `dst`: `of(c, fill)` calls `fill(layer, from)` for every layer that fills channel `c`. Lanes that none fills
/// become zero.
pub(crate) fn layers(
    op: &'static str,
    sources: &[&BlockedTensor],
    dst: &mut BlockedTensor,
    layers: &[Layer],
    of: impl Fn(usize, &mut dyn FnMut(usize, Channel)),
    grid: Grid,
    value: f64,
) -> Result<()> {
    let to = Lanes::of_blocked(op, dst)?;
    let views = sources.iter().map(|s| Lanes::of_blocked(op, s)).collect::<Result<Vec<_>>>()?;
    if dst.dims().contains(&0) {
        return Ok(());
    }
    let mut own: Vec<Lane> = Vec::new();
    let blocks: Vec<Vec<Segment>> = (0..to.blocks)
        .map(|b| {
            own.clear();
            for lane in 0..to.lanes_in(b) {
                of(b * to.lanes + lane, &mut |layer, channel| own.push((layer, lane, channel)));
            }
            own.sort_by_key(|&(layer, lane, _)| (layer, lane));
            segments(&own, &views, layers)
        })
        .collect();
    let (dtype, data) = (dst.dtype(), dst.storage_bytes_mut());
    let bytes: Vec<&[u8]> = sources.iter().map(|s| s.storage_bytes()).collect();
    let call = Moving { to, views: &views, blocks: &blocks, grid, value, dtype };
    match (dtype.size_bytes(), to.lanes) {
        (4, 16) => by_vectors::<16>(&call, &bytes, data),
        (4, 8) => by_vectors::<8>(&call, &bytes, data),
        _ => by_size!(dtype, typed(&call, &bytes, data)),
    }
    Ok(())
}

/// The lanes of one block, in the order of layers, as few segments.
fn segments(own: &[Lane], views: &[Lanes], layers: &[Layer]) -> Vec<Segment> {
    let lanes = views.first().map_or(0, |v| v.lanes);
    let mut segments: Vec<Segment> = Vec::new();
    for &(layer, lane, channel) in own {
        let layer = layers[layer];
        let from = match channel {
            Channel::Fill => None,
            Channel::Of { source, channel } => {
                let v = &views[source];
                let at = channel / v.lanes * v.stride_block + channel % v.lanes;
                Some((source, at + layer.src_pixel * v.lanes))
            }
        };
        let to = lane + layer.dst_pixel * lanes;
        if let Some(last) = segments.last_mut()
            && to == last.to + last.len
            && lane != 0
        {
            let goes_on = match (last.from, from) {
                (None, None) => true,
                // The next lane of the same block: never the first of another.
                (Some((s, at)), Some((source, here))) => {
                    s == source && here == at + last.len && !here.is_multiple_of(lanes)
                }
                _ => false,
            };
            if goes_on {
                last.len += 1;
                continue;
            }
        }
        segments.push(Segment { from, to, len: 1 });
    }
    segments
}

struct Moving<'a> {
    to: Lanes,
    views: &'a [Lanes],
    blocks: &'a [Vec<Segment>],
    grid: Grid,
    value: f64,
    dtype: DType,
}

impl Moving<'_> {
    /// Where in which source the whole block `b` of image `n` lies, if it is one.
    fn whole(&self, n: usize, b: usize) -> Option<(usize, usize)> {
        let ([one], true) = (self.blocks[b].as_slice(), self.grid.src == self.grid.dst) else { return None };
        let (source, at) = one.from?;
        let (all, step) = (self.grid.pixels * self.to.lanes == self.to.plane_len(), self.to.lanes);
        (all && one.len == step).then(|| (source, at + n * self.views[source].stride_n))
    }

    /// Pixels of a row of the grid.
    fn columns(&self, row: usize) -> usize {
        self.grid.columns.min(self.grid.pixels - row * self.grid.columns)
    }
}

fn by_vectors<const B: usize>(call: &Moving<'_>, sources: &[&[u8]], dst: &mut [u8])
where
    Width<B>: VectorWidth<B>,
{
    let Moving { to, views, grid, .. } = call;
    // Bits, whatever the dtype: nothing computes with them.
    let sources: Vec<&[f32]> = sources.iter().map(|s| bytemuck::cast_slice(s)).collect();
    let dst: &mut [f32] = bytemuck::cast_slice_mut(dst);
    let value = f32::from_bits(bits(call.value, call.dtype));
    let picks: Vec<Picks<B>> = call.blocks.iter().map(|segments| Picks::new(segments, value)).collect();
    for_each_chunk(dst, to.plane_len(), |i, plane| {
        let (n, block) = (i / to.blocks, i % to.blocks);
        if let Some((source, at)) = call.whole(n, block) {
            plane.copy_from_slice(&sources[source][at..at + plane.len()]);
            return;
        }
        for row in 0..grid.rows {
            let from = |s: usize, at: usize| &sources[s][at + n * views[s].stride_n + row * grid.src.0..];
            let dst = &mut plane[row * grid.dst.0..];
            picks[block].run(from, grid.src.1, dst, grid.dst.1, call.columns(row));
        }
    });
}

fn typed<E: bytemuck::Pod + Send + Sync>(call: &Moving<'_>, sources: &[&[u8]], dst: &mut [u8]) {
    let Moving { to, views, blocks, grid, .. } = call;
    let sources: Vec<&[E]> = sources.iter().map(|s| bytemuck::cast_slice(s)).collect();
    let dst: &mut [E] = bytemuck::cast_slice_mut(dst);
    let value: E = bits(call.value, call.dtype);
    for_each_chunk(dst, to.plane_len(), |i, plane| {
        let (n, block) = (i / to.blocks, i % to.blocks);
        if to.lanes_in(block) < to.lanes {
            plane.fill(E::zeroed());
        }
        if let Some((source, at)) = call.whole(n, block) {
            plane.copy_from_slice(&sources[source][at..at + plane.len()]);
            return;
        }
        for row in 0..grid.rows {
            let pixels = call.columns(row);
            for s in &blocks[block] {
                let dst = &mut plane[s.to + row * grid.dst.0..];
                match s.from {
                    None => dst.chunks_mut(grid.dst.1).take(pixels).for_each(|p| p[..s.len].fill(value)),
                    Some((source, at)) => {
                        let src = &sources[source][at + n * views[source].stride_n + row * grid.src.0..];
                        move_lanes(src, grid.src.1, dst, grid.dst.1, pixels, s.len);
                    }
                }
            }
        }
    });
}

/// Moves `len` lanes of each of `pixels` pixels. Both sides begin at the first of the lanes.
fn move_lanes<E: Copy>(
    src: &[E],
    src_step: usize,
    dst: &mut [E],
    dst_step: usize,
    pixels: usize,
    len: usize,
) {
    macro_rules! of_length {
        ($($n:literal)*) => {
            match len {
                $($n => move_fixed::<E, $n>(src, src_step, dst, dst_step, pixels),)*
                _ => {
                    for p in 0..pixels {
                        dst[p * dst_step..][..len].copy_from_slice(&src[p * src_step..][..len]);
                    }
                }
            }
        };
    }
    of_length!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
}

/// The same for a length that the compiler knows.
fn move_fixed<E: Copy, const N: usize>(
    src: &[E],
    src_step: usize,
    dst: &mut [E],
    dst_step: usize,
    pixels: usize,
) {
    let (Some(last), true) = (pixels.checked_sub(1), src_step >= N && dst_step >= N) else { return };
    // Exactly as far as the last pixel's lanes, so that every chunk but the last is a whole step.
    let (src, dst) = (&src[..last * src_step + N], &mut dst[..last * dst_step + N]);
    for (s, d) in src.chunks(src_step).zip(dst.chunks_mut(dst_step)) {
        if let (Some(s), Some(d)) = (s.first_chunk::<N>(), d.first_chunk_mut::<N>()) {
            *d = *s;
        }
    }
}
