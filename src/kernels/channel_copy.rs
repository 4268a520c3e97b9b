//! Copies that move channels between the lanes of blocks: what `cat`, `split` and the shuffles do to blocked tensors.
//!
//! Channels that are adjacent on both sides form a *segment* of lanes, which is copied pixel by pixel. A segment of a whole
//! block is a plain copy of rows. Other segments of 4-byte elements in blocks of 8 or 16 become a [`LanePermutation`].

use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::axis_copy::{by_size, fill_bits};
use crate::kernels::lane_permute::LanePermutation;
use crate::kernels::lanes::{Lanes, for_each_chunk};
use crate::memory::check_room;
use crate::simd::vectors::{VectorWidth, Width};
use crate::tensor::blocked::BlockedTensor;

/// Where a channel of the result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelSource {
    /// A channel of one of the operands.
    Channel { operand: usize, channel: usize },
    /// The fill value.
    Fill,
}

/// Pixels that are copied together, segment by segment: their lanes on both sides stay in the first-level cache.
const PIXELS: usize = 64;

/// Adjacent lanes of one block of the result with adjacent sources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneSegment {
    /// The operand, and the offset in its image of the first lane of the first pixel; `None` fills.
    pub from: Option<(usize, usize)>,
    /// The offset in the result's block of the first lane of the first pixel.
    pub to: usize,
    /// How many lanes.
    pub len: usize,
}

/// The pixels over which every segment is copied: rows of `columns` pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PixelGrid {
    pub rows: usize,
    pub columns: usize,
    /// The steps to the next row and to the next pixel, in **elements**.
    pub src_steps: (usize, usize),
    pub dst_steps: (usize, usize),
    /// Pixels in all: the last row may be shorter.
    pub pixels: usize,
}

/// A position in a cell, as an offset in **pixels** from the cell's first pixel. A cell is the square of pixels that a pixel
/// shuffle makes of the channels of one pixel. Other copies have one position, at 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellPosition {
    pub src_pixel: usize,
    pub dst_pixel: usize,
}

/// One lane of a block of the result, at one position of the cells.
struct MappedLane {
    position: usize,
    lane: usize,
    source: ChannelSource,
}

/// A new tensor of `count` channels, with the other sizes, layout and dtype of the operands. Channel `c` comes from `source(c)`.
pub(crate) fn mapped_channels(
    op: &'static str,
    operands: &[&BlockedTensor],
    count: usize,
    source: impl Fn(usize) -> ChannelSource,
    value: f64,
) -> Result<BlockedTensor> {
    let mut dims = operands[0].dims().to_vec();
    dims[1] = count;
    let mut dst = BlockedTensor::for_result(op, &dims, operands[0].layout(), operands[0].dtype())?;
    map_channels(op, operands, &mut dst, source, value)?;
    Ok(dst)
}

/// Writes `dst`, which no other tensor shares. Channel `c` comes from `source(c)`.
pub(crate) fn map_channels(
    op: &'static str,
    operands: &[&BlockedTensor],
    dst: &mut BlockedTensor,
    source: impl Fn(usize) -> ChannelSource,
    value: f64,
) -> Result<()> {
    let view = Lanes::of_blocked(op, dst)?;
    let pixels = view.spatial.iter().product::<usize>();
    let steps = (PIXELS * view.lanes, view.lanes);
    let rows = pixels.div_ceil(PIXELS);
    let grid = PixelGrid { rows, columns: PIXELS, src_steps: steps, dst_steps: steps, pixels };
    let only = CellPosition { src_pixel: 0, dst_pixel: 0 };
    map_cells(op, operands, dst, &[only], |c, fill| fill(0, source(c)), grid, value)
}

/// Writes `dst`. `sources_of(c, fill)` calls `fill(position, source)` for each position at which the cells of channel `c` get
/// elements. Lanes that no channel has become zero.
pub(crate) fn map_cells(
    op: &'static str,
    operands: &[&BlockedTensor],
    dst: &mut BlockedTensor,
    positions: &[CellPosition],
    sources_of: impl Fn(usize, &mut dyn FnMut(usize, ChannelSource)),
    grid: PixelGrid,
    value: f64,
) -> Result<()> {
    let to = Lanes::of_blocked(op, dst)?;
    let views = operands.iter().map(|t| Lanes::of_blocked(op, t)).collect::<Result<Vec<_>>>()?;
    if dst.dims().contains(&0) {
        return Ok(());
    }
    // What the segments of all channels take.
    check_room(op, to.c.saturating_mul(4 * (size_of::<MappedLane>() + size_of::<LaneSegment>())))?;
    let mut mapped: Vec<MappedLane> = Vec::new();
    let blocks: Vec<Vec<LaneSegment>> = (0..to.blocks)
        .map(|b| {
            mapped.clear();
            for lane in 0..to.lanes_in(b) {
                sources_of(b * to.lanes + lane, &mut |position, source| {
                    mapped.push(MappedLane { position, lane, source });
                });
            }
            mapped.sort_by_key(|m| (m.position, m.lane));
            segments(&mapped, &views, positions)
        })
        .collect();
    let (dtype, data) = (dst.dtype(), dst.storage_bytes_mut());
    let bytes: Vec<&[u8]> = operands.iter().map(|t| t.storage_bytes()).collect();
    let copy = ChannelCopy { to, views: &views, blocks: &blocks, grid, value, dtype };
    match (dtype.size_bytes(), to.lanes) {
        (4, 16) => permute_vectors::<16>(&copy, &bytes, data),
        (4, 8) => permute_vectors::<8>(&copy, &bytes, data),
        _ => by_size!(dtype, copy_segments(&copy, &bytes, data)),
    }
    Ok(())
}

/// Joins the lanes of one block, sorted by position and lane, to as few segments as possible.
fn segments(mapped: &[MappedLane], views: &[Lanes], positions: &[CellPosition]) -> Vec<LaneSegment> {
    let lanes = views.first().map_or(0, |v| v.lanes);
    let mut segments: Vec<LaneSegment> = Vec::new();
    for &MappedLane { position, lane, source } in mapped {
        let position = positions[position];
        let from = match source {
            ChannelSource::Fill => None,
            ChannelSource::Channel { operand, channel } => {
                let v = &views[operand];
                let at = channel / v.lanes * v.stride_block + channel % v.lanes;
                Some((operand, at + position.src_pixel * v.lanes))
            }
        };
        let to = lane + position.dst_pixel * lanes;
        if let Some(last) = segments.last_mut()
            && to == last.to + last.len
            && lane != 0
        {
            let continues = match (last.from, from) {
                (None, None) => true,
                // The source's next lane continues the segment, unless it is the first lane of another block.
                (Some((operand, at)), Some((next_operand, next))) => {
                    next_operand == operand && next == at + last.len && !next.is_multiple_of(lanes)
                }
                _ => false,
            };
            if continues {
                last.len += 1;
                continue;
            }
        }
        segments.push(LaneSegment { from, to, len: 1 });
    }
    segments
}

/// A copy that is ready to run.
struct ChannelCopy<'a> {
    /// The view of the result, and those of the operands.
    to: Lanes,
    views: &'a [Lanes],
    /// The segments of each block of the result.
    blocks: &'a [Vec<LaneSegment>],
    grid: PixelGrid,
    value: f64,
    dtype: DType,
}

impl ChannelCopy<'_> {
    /// If block `b` of image `n` is a copy of one whole block: its operand, and its offset there.
    fn whole_block(&self, n: usize, b: usize) -> Option<(usize, usize)> {
        let ([only], true) = (self.blocks[b].as_slice(), self.grid.src_steps == self.grid.dst_steps) else {
            return None;
        };
        let (operand, at) = only.from?;
        let all_pixels = self.grid.pixels * self.to.lanes == self.to.plane_len();
        (all_pixels && only.len == self.to.lanes).then(|| (operand, at + n * self.views[operand].stride_n))
    }

    /// How many pixels a row of the grid has.
    fn pixels_in(&self, row: usize) -> usize {
        self.grid.columns.min(self.grid.pixels - row * self.grid.columns)
    }
}

/// Runs the copy with vectors of `B` lanes.
fn permute_vectors<const B: usize>(copy: &ChannelCopy<'_>, operands: &[&[u8]], dst: &mut [u8])
where
    Width<B>: VectorWidth<B>,
{
    let ChannelCopy { to, views, grid, .. } = copy;
    // f32 stands for any 4-byte dtype: the bits are only copied.
    let operands: Vec<&[f32]> = operands.iter().map(|bytes| bytemuck::cast_slice(bytes)).collect();
    let dst: &mut [f32] = bytemuck::cast_slice_mut(dst);
    let value = f32::from_bits(fill_bits(copy.value, copy.dtype));
    let permutations: Vec<LanePermutation<B>> =
        copy.blocks.iter().map(|segments| LanePermutation::new(segments, value)).collect();
    for_each_chunk(dst, to.plane_len(), |i, plane| {
        let (n, block) = (i / to.blocks, i % to.blocks);
        if let Some((operand, at)) = copy.whole_block(n, block) {
            plane.copy_from_slice(&operands[operand][at..at + plane.len()]);
            return;
        }
        for row in 0..grid.rows {
            let source = |operand: usize, at: usize| {
                &operands[operand][at + n * views[operand].stride_n + row * grid.src_steps.0..]
            };
            let dst = &mut plane[row * grid.dst_steps.0..];
            permutations[block].run(source, grid.src_steps.1, dst, grid.dst_steps.1, copy.pixels_in(row));
        }
    });
}

/// Runs the copy segment by segment.
fn copy_segments<E: bytemuck::Pod + Send + Sync>(copy: &ChannelCopy<'_>, operands: &[&[u8]], dst: &mut [u8]) {
    let ChannelCopy { to, views, blocks, grid, .. } = copy;
    let operands: Vec<&[E]> = operands.iter().map(|bytes| bytemuck::cast_slice(bytes)).collect();
    let dst: &mut [E] = bytemuck::cast_slice_mut(dst);
    let value: E = fill_bits(copy.value, copy.dtype);
    for_each_chunk(dst, to.plane_len(), |i, plane| {
        let (n, block) = (i / to.blocks, i % to.blocks);
        if to.lanes_in(block) < to.lanes {
            plane.fill(E::zeroed());
        }
        if let Some((operand, at)) = copy.whole_block(n, block) {
            plane.copy_from_slice(&operands[operand][at..at + plane.len()]);
            return;
        }
        for row in 0..grid.rows {
            let pixels = copy.pixels_in(row);
            for s in &blocks[block] {
                let dst = &mut plane[s.to + row * grid.dst_steps.0..];
                match s.from {
                    None => {
                        dst.chunks_mut(grid.dst_steps.1).take(pixels).for_each(|p| p[..s.len].fill(value));
                    }
                    Some((operand, at)) => {
                        let image = n * views[operand].stride_n;
                        let src = &operands[operand][at + image + row * grid.src_steps.0..];
                        copy_lanes(src, grid.src_steps.1, dst, grid.dst_steps.1, pixels, s.len);
                    }
                }
            }
        }
    });
}

/// Copies `len` lanes of each of `pixels` pixels. Both slices start at the first lane of the first pixel.
fn copy_lanes<E: Copy>(
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
                $($n => copy_fixed_lanes::<E, $n>(src, src_step, dst, dst_step, pixels),)*
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

/// As [`copy_lanes`], for a length that the compiler knows.
fn copy_fixed_lanes<E: Copy, const N: usize>(
    src: &[E],
    src_step: usize,
    dst: &mut [E],
    dst_step: usize,
    pixels: usize,
) {
    let (Some(last), true) = (pixels.checked_sub(1), src_step >= N && dst_step >= N) else { return };
    // The slices end at the last pixel's lanes, so that every chunk but the last is a whole step.
    let (src, dst) = (&src[..last * src_step + N], &mut dst[..last * dst_step + N]);
    for (s, d) in src.chunks(src_step).zip(dst.chunks_mut(dst_step)) {
        if let (Some(s), Some(d)) = (s.first_chunk::<N>(), d.first_chunk_mut::<N>()) {
            *d = *s;
        }
    }
}
