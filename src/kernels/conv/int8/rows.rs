//! Rows of a result on their way to memory, and rows of a residual on their way from there: 16 channels a pixel.

use std::ops::Range;

use super::plan::BLOCK;
use crate::dtype::{DType, Element};
use crate::elementwise;
use crate::kernels::bytes::{ByteRange, number};
use crate::kernels::conv::epilogue::Finish;
use crate::kernels::conv::tiled::Out;
use crate::kernels::lanes::{Lanes, RowIndex};
use crate::simd::{self, Loop};

/// A row of a phase's outputs in one block.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub row: RowIndex,
    /// Where the first output is along W, and how far the next one.
    pub first: usize,
    pub step: usize,
}

/// Calls `f(pixel, first lane, elements)` for the pieces of a row that lie together: of a block of 16, that many channels and all
/// pixels; else some channels of a pixel. `elements` is a range of the tensor.
fn pieces(view: &Lanes, place: Place, pixels: usize, mut f: impl FnMut(usize, usize, Range<usize>)) {
    let c = place.row.block * BLOCK;
    if view.lanes == BLOCK && place.step == 1 {
        let at = view.offset(place.row) + place.first * BLOCK;
        return f(0, 0, at..at + pixels * BLOCK);
    }
    // Blocked: with the padding lanes.
    let end = (c + BLOCK).min(view.blocks * view.lanes);
    let mut channel = c;
    while channel < end {
        let (block, first) = (channel / view.lanes, channel % view.lanes);
        let count = (view.lanes - first).min(end - channel);
        let start = view.offset(RowIndex { block, ..place.row }) + first;
        for pixel in 0..pixels {
            let at = start + (place.first + pixel * place.step) * view.lanes;
            f(pixel, channel - c, at..at + count);
        }
        channel += count;
    }
}

/// What is done to the sums of a row before they are written.
pub(super) struct Epilogue<'a> {
    /// The bias is in the sums.
    pub finish: Finish<'a>,
    pub dst: DType,
    pub view: &'a Lanes,
    pub residual: Option<&'a [u8]>,
    pub channels: Range<usize>,
}

impl Epilogue<'_> {
    /// Finishes a row and writes it. `numbers` has room for the sums as f32, and `added` for the residual.
    pub fn write(
        &self,
        sums: &[[i32; BLOCK]],
        place: Place,
        numbers: &mut [[f32; BLOCK]],
        added: &mut [[f32; BLOCK]],
        out: Out<'_, u8>,
    ) {
        let pixels = sums.len();
        if self.dst == DType::S32 {
            return self.put(sums, place, out);
        }
        let (numbers, added) = (&mut numbers[..pixels], &mut added[..pixels]);
        simd::dispatch(ToF32 { sums: sums.as_flattened(), to: numbers.as_flattened_mut() });
        if let Some(bytes) = self.residual {
            self.read_residual(bytes, place, added);
        }
        let residual = self.residual.map(|_| added.as_flattened());
        self.finish.pixels(BLOCK, self.channels.clone(), residual, numbers.as_flattened_mut());
        let Some((dtype, zero_point)) = self.finish.post_ops.quantize() else {
            self.clear_tail(numbers);
            return self.put(numbers, place, out);
        };
        let mut bytes = [[0u8; BLOCK]; ROW];
        let bytes = &mut bytes[..pixels];
        let (range, to) = (ByteRange::new(dtype, zero_point), bytes.as_flattened_mut());
        simd::dispatch(ToBytes { numbers: numbers.as_flattened(), range, to });
        self.clear_tail(bytes);
        self.put(bytes, place, out);
    }

    fn clear_tail<E: Element>(&self, pixels: &mut [[E; BLOCK]]) {
        if self.channels.len() < BLOCK {
            elementwise::clear_tail(pixels.as_flattened_mut(), BLOCK, self.channels.len());
        }
    }

    fn put<E: bytemuck::Pod>(&self, row: &[[E; BLOCK]], place: Place, out: Out<'_, u8>) {
        let size = size_of::<E>();
        let from: &[u8] = bytemuck::cast_slice(row.as_flattened());
        pieces(self.view, place, row.len(), |pixel, lane, elements| {
            let first = (pixel * BLOCK + lane) * size;
            let from = &from[first..first + elements.len() * size];
            // SAFETY: pixels and channels of this row, which one task has; the reference ends here.
            unsafe { out.pixels(elements.start * size, from.len()) }.copy_from_slice(from);
        });
    }

    fn read_residual(&self, bytes: &[u8], place: Place, to: &mut [[f32; BLOCK]]) {
        let pixels = to.len();
        let to = to.as_flattened_mut();
        let (dtype, scale, zero_point) =
            self.finish.post_ops.quantized_residual().unwrap_or((DType::F32, 1.0, 0));
        pieces(self.view, place, pixels, |pixel, lane, elements| {
            let to = &mut to[pixel * BLOCK + lane..][..elements.len()];
            match dtype {
                DType::F32 => to.copy_from_slice(&bytemuck::cast_slice(bytes)[elements]),
                _ => simd::dispatch(FromBytes { bytes: &bytes[elements], dtype, zero_point, scale, to }),
            }
        });
    }
}

/// Pixels of a row at most.
pub(super) const ROW: usize = 64;

struct ToF32<'a> {
    sums: &'a [i32],
    to: &'a mut [f32],
}

impl Loop for ToF32<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        self.to.iter_mut().zip(self.sums).for_each(|(to, &sum)| *to = sum as f32);
    }
}

struct ToBytes<'a> {
    numbers: &'a [f32],
    range: ByteRange,
    to: &'a mut [u8],
}

impl Loop for ToBytes<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let ToBytes { numbers, range, to } = self;
        to.iter_mut().zip(numbers).for_each(|(to, &x)| *to = range.byte(x));
    }
}

/// The numbers that bytes stand for.
struct FromBytes<'a> {
    bytes: &'a [u8],
    dtype: DType,
    zero_point: i32,
    scale: f32,
    to: &'a mut [f32],
}

impl Loop for FromBytes<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let FromBytes { bytes, dtype, zero_point, scale, to } = self;
        let pairs = to.iter_mut().zip(bytes);
        match dtype {
            DType::U8 => pairs.for_each(|(to, &b)| *to = number(b.into(), zero_point, scale)),
            _ => pairs.for_each(|(to, &b)| *to = number(b.cast_signed().into(), zero_point, scale)),
        }
    }
}
