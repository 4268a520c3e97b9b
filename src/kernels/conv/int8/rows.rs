//! Rows of a result on their way to memory, and rows of a residual on their way from there: 16 channels a pixel.

use std::ops::Range;

use super::plan::{BLOCK, Int8Plan, PAIR, ROW};
use super::sink::{Finished, Sink, Steps, To};
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
    if let Some(at) = together(view, place) {
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

/// Where the pixels of a row begin, if they lie together with all channels of the block and no others.
fn together(view: &Lanes, place: Place) -> Option<usize> {
    let is = view.lanes == BLOCK && place.step == 1;
    is.then(|| view.offset(place.row) + place.first * BLOCK)
}

/// Where the 16 channels of a row's pixels begin and how far the next ones are, if those of each pixel lie together, among others
/// perhaps.
fn among_others(view: &Lanes, place: Place) -> Option<(usize, usize)> {
    let (block, lane) = (place.row.block * BLOCK / view.lanes, place.row.block * BLOCK % view.lanes);
    (lane + BLOCK <= view.lanes).then(|| {
        let start = view.offset(RowIndex { block, ..place.row }) + lane;
        (start + place.first * view.lanes, place.step * view.lanes)
    })
}

/// What becomes of the sums of one block.
pub(super) struct Block<'a> {
    /// The bias is in the sums.
    finish: Finish<'a>,
    channels: Range<usize>,
    /// What happens to them in registers. Nothing: the post-ops run on rows in memory.
    steps: Option<Steps<'a>>,
}

impl<'a> Block<'a> {
    pub fn new(plan: &Int8Plan, block: usize, finish: &Finish<'a>, steps: Option<Steps<'a>>) -> Block<'a> {
        let finish = Finish { bias: None, ..*finish };
        Block { finish, channels: plan.channels_of(block), steps }
    }
}

/// The rows of a unit's blocks on their way to memory.
pub(super) struct Rows<'a> {
    blocks: &'a [Block<'a>],
    dst: DType,
    view: &'a Lanes,
    residual: Option<&'a [u8]>,
    quantize: Option<ByteRange>,
    /// For rows that are not written where they belong at once.
    scratch: &'a mut Option<Box<Scratch>>,
}

/// Rows of each block.
pub(super) struct Scratch {
    /// Sums, or numbers or bytes made of them.
    rows: [[[i32; BLOCK]; ROW]; PAIR],
    /// Of residuals of bytes.
    added: [[[u8; BLOCK]; ROW]; PAIR],
}

impl Scratch {
    fn new() -> Box<Scratch> {
        Box::new(Scratch { rows: [[[0; BLOCK]; ROW]; PAIR], added: [[[0; BLOCK]; ROW]; PAIR] })
    }
}

impl<'a> Rows<'a> {
    /// `scratch` is for the rows of one task after the other.
    pub fn new(
        plan: &'a Int8Plan,
        blocks: &'a [Block<'a>],
        residual: Option<&'a [u8]>,
        scratch: &'a mut Option<Box<Scratch>>,
    ) -> Rows<'a> {
        let quantize = blocks[0].finish.post_ops.quantize();
        Rows {
            blocks,
            dst: plan.types.dst,
            view: &plan.dst,
            residual,
            quantize: quantize.map(|(dtype, zero_point)| ByteRange::new(dtype, zero_point)),
            scratch,
        }
    }

    /// Lets `fill` write `pixels` pixels of each block, finishes them, and writes them.
    pub fn write(
        &mut self,
        place: Place,
        pixels: usize,
        out: Out<'_, u8>,
        fill: impl FnOnce(&mut [Sink<'_>]),
    ) {
        let second = Place { row: RowIndex { block: place.row.block + 1, ..place.row }, ..place };
        let places = [place, second];
        let [first, second] = places.map(|place| together(self.view, place));
        let (Some(range), Some((first, second))) = (self.quantize, first.zip(second)) else {
            return self.write_rows(places, pixels, out, fill);
        };
        match self.blocks {
            [Block { steps: Some(a), .. }] => fill(&mut [self.in_place(*a, range, first, pixels, out)]),
            [Block { steps: Some(a), .. }, Block { steps: Some(b), .. }] => fill(&mut [
                self.in_place(*a, range, first, pixels, out),
                self.in_place(*b, range, second, pixels, out),
            ]),
            _ => return self.write_rows(places, pixels, out, fill),
        }
        for (block, at) in self.blocks.iter().zip([first, second]) {
            // SAFETY: as in `in_place`; the sinks have ended.
            block.clear_tail(unsafe { out.pixels(at, pixels * BLOCK) }.as_chunks_mut().0);
        }
    }

    /// As [`Rows::write`] for all these rows of one block at once, if they are written where they belong, and only then. Returns
    /// whether they were.
    pub fn write_at_once(
        &self,
        places: impl Iterator<Item = Place> + Clone,
        pixels: usize,
        out: Out<'_, u8>,
        fill: impl FnOnce(&mut dyn Iterator<Item = Sink<'_>>),
    ) -> bool {
        let ([block @ Block { steps: Some(steps), .. }], Some(range)) = (self.blocks, self.quantize) else {
            return false;
        };
        // Of the places of a tile, all are such or none.
        if places.clone().next().is_none_or(|place| together(self.view, place).is_none()) {
            return false;
        }
        let starts = || places.clone().filter_map(|place| together(self.view, place));
        fill(&mut starts().map(|at| self.in_place(*steps, range, at, pixels, out)));
        if block.channels.len() < BLOCK {
            starts().for_each(|at| {
                // SAFETY: as in `in_place`; the sinks have ended.
                block.clear_tail(unsafe { out.pixels(at, pixels * BLOCK) }.as_chunks_mut().0);
            });
        }
        true
    }

    /// Bytes that are written where they belong, from `at` on.
    fn in_place<'s>(
        &self,
        steps: Steps<'s>,
        range: ByteRange,
        at: usize,
        pixels: usize,
        out: Out<'s, u8>,
    ) -> Sink<'s>
    where
        'a: 's,
    {
        let residual = self.residual.map_or(&[][..], |bytes| bytes[at..at + pixels * BLOCK].as_chunks().0);
        // SAFETY: pixels and channels of this row, which one task has; the reference ends with the sink.
        let bytes = unsafe { out.pixels(at, pixels * BLOCK) };
        Sink::Finished(Finished { steps, residual }, To::Bytes(range, bytes.as_chunks_mut().0))
    }

    fn write_rows(
        &mut self,
        places: [Place; PAIR],
        pixels: usize,
        out: Out<'_, u8>,
        fill: impl FnOnce(&mut [Sink<'_>]),
    ) {
        let Rows { blocks, dst, view, residual, quantize, scratch } = self;
        let Scratch { rows, added } = &mut **scratch.get_or_insert_with(Scratch::new);
        let mut sinks = rows.each_mut().map(|row| Sink::Sums(&mut row[..pixels]));
        let of_blocks = blocks.iter().zip(places);
        for ((sink, added), (block, place)) in sinks.iter_mut().zip(added).zip(of_blocks.clone()) {
            let (Some(steps), Sink::Sums(row)) = (&block.steps, &mut *sink) else { continue };
            let residual = residual.map_or(&[][..], |bytes| read(view, bytes, place, &mut added[..pixels]));
            let (row, finished) = (std::mem::take(row), Finished { steps: *steps, residual });
            let to = match quantize {
                None => To::Numbers(bytemuck::cast_slice_mut(row)),
                Some(range) => To::Bytes(*range, &mut bytemuck::cast_slice_mut(row)[..pixels]),
            };
            *sink = Sink::Finished(finished, to);
        }
        fill(&mut sinks[..blocks.len()]);
        for ((block, place), row) in of_blocks.zip(rows) {
            let row = &mut row[..pixels];
            match (&block.steps, &quantize) {
                (None, _) if *dst != DType::S32 => {
                    Memory { block, view, residual: *residual, place }.write(row, out)
                }
                (Some(_), Some(_)) => {
                    let bytes: &mut [[u8; BLOCK]] = &mut bytemuck::cast_slice_mut(row)[..pixels];
                    block.clear_tail(bytes);
                    put(view, bytes, place, out);
                }
                _ => {
                    block.clear_tail(row);
                    put(view, row, place, out);
                }
            }
            clear_beyond(view, place, pixels, dst.size_bytes(), out);
        }
    }
}

/// The bytes of a row: where they are, or in `to`.
fn read<'a>(view: &Lanes, bytes: &'a [u8], place: Place, to: &'a mut [[u8; BLOCK]]) -> &'a [[u8; BLOCK]] {
    if let Some(at) = together(view, place) {
        return bytes[at..at + to.len() * BLOCK].as_chunks().0;
    }
    if let Some((at, step)) = among_others(view, place) {
        let pixels = bytes[at..].chunks(step);
        to.iter_mut().zip(pixels).for_each(|(to, from)| to.copy_from_slice(&from[..BLOCK]));
        return to;
    }
    pieces(view, place, to.len(), |pixel, lane, elements| {
        let at = pixel * BLOCK + lane;
        to.as_flattened_mut()[at..at + elements.len()].copy_from_slice(&bytes[elements]);
    });
    to
}

impl Block<'_> {
    fn clear_tail<E: Element>(&self, pixels: &mut [[E; BLOCK]]) {
        if self.channels.len() < BLOCK {
            elementwise::clear_tail(pixels.as_flattened_mut(), BLOCK, self.channels.len());
        }
    }
}

fn put<E: bytemuck::Pod>(view: &Lanes, row: &[[E; BLOCK]], place: Place, out: Out<'_, u8>) {
    let size = size_of::<E>();
    if let Some((at, step)) = among_others(view, place) {
        for (i, pixel) in row.iter().enumerate() {
            // SAFETY: a pixel's channels in this row, which one task has; the reference ends here.
            let to = unsafe { out.pixels((at + i * step) * size, BLOCK * size) };
            to.copy_from_slice(bytemuck::bytes_of(pixel));
        }
        return;
    }
    let from: &[u8] = bytemuck::cast_slice(row.as_flattened());
    pieces(view, place, row.len(), |pixel, lane, elements| {
        let first = (pixel * BLOCK + lane) * size;
        let from = &from[first..first + elements.len() * size];
        // SAFETY: pixels and channels of this row, which one task has; the reference ends here.
        unsafe { out.pixels(elements.start * size, from.len()) }.copy_from_slice(from);
    });
}

/// Writes zeros behind the last block of 16, where blocks of the layout are wider: `size` **bytes** an element.
fn clear_beyond(view: &Lanes, place: Place, pixels: usize, size: usize, out: Out<'_, u8>) {
    let end = (place.row.block + 1) * BLOCK;
    if end < view.c || end >= view.blocks * view.lanes {
        return;
    }
    let (block, lane) = (end / view.lanes, end % view.lanes);
    let first = view.offset(RowIndex { block, ..place.row }) + lane;
    for pixel in 0..pixels {
        let at = first + (place.first + pixel * place.step) * view.lanes;
        // SAFETY: padding of this row, which the task of its last channels has; the reference ends here.
        unsafe { out.pixels(at * size, (view.lanes - lane) * size) }.fill(0);
    }
}

/// A row whose post-ops run in memory.
struct Memory<'a> {
    block: &'a Block<'a>,
    view: &'a Lanes,
    residual: Option<&'a [u8]>,
    place: Place,
}

impl Memory<'_> {
    fn write(&self, sums: &[[i32; BLOCK]], out: Out<'_, u8>) {
        let Block { finish, channels, .. } = self.block;
        let pixels = sums.len();
        let (mut numbers, mut added) = ([[0f32; BLOCK]; ROW], [[0f32; BLOCK]; ROW]);
        let (numbers, added) = (&mut numbers[..pixels], &mut added[..pixels]);
        simd::dispatch(ToF32 { sums: sums.as_flattened(), to: numbers.as_flattened_mut() });
        if let Some(bytes) = self.residual {
            self.read_residual(bytes, added);
        }
        let residual = self.residual.map(|_| added.as_flattened());
        finish.pixels(BLOCK, channels.clone(), residual, numbers.as_flattened_mut());
        let Some((dtype, zero_point)) = finish.post_ops.quantize() else {
            self.block.clear_tail(numbers);
            return put(self.view, numbers, self.place, out);
        };
        let mut bytes = [[0u8; BLOCK]; ROW];
        let bytes = &mut bytes[..pixels];
        let (range, to) = (ByteRange::new(dtype, zero_point), bytes.as_flattened_mut());
        simd::dispatch(ToBytes { numbers: numbers.as_flattened(), range, to });
        self.block.clear_tail(bytes);
        put(self.view, bytes, self.place, out);
    }

    fn read_residual(&self, bytes: &[u8], to: &mut [[f32; BLOCK]]) {
        let pixels = to.len();
        let to = to.as_flattened_mut();
        let (dtype, scale, zero_point) =
            self.block.finish.post_ops.quantized_residual().unwrap_or((DType::F32, 1.0, 0));
        pieces(self.view, self.place, pixels, |pixel, lane, elements| {
            let to = &mut to[pixel * BLOCK + lane..][..elements.len()];
            match dtype {
                DType::F32 => to.copy_from_slice(&bytemuck::cast_slice(bytes)[elements]),
                _ => simd::dispatch(FromBytes { bytes: &bytes[elements], dtype, zero_point, scale, to }),
            }
        });
    }
}

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
