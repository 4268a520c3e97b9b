//! What the kernel needs to know of a problem: where channels and pixels are, and which weights belong together.

use std::ops::Range;

use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::implementation::{ConvTypes, Problem, Refusal};
use crate::kernels::conv::phases::{Phase, cube, phases};
use crate::kernels::lanes::Lanes;
use crate::layout::dims::Dims;
use crate::layout::either::SourceLayout;
use crate::simd::matrix::{MatrixUnit, ROWS, matrix_unit};

/// Channels of a block: lanes of the sums, and bytes of a pixel in a plane of the source.
pub(super) const BLOCK: usize = 16;
/// Source channels whose products are added at once.
pub(super) const QUAD: usize = 4;
/// Blocks of the result that read the same source vectors.
pub(super) const PAIR: usize = 2;

/// Quads that a sum meets at least, and that a tile adds up at once at least: below, vectors are as fast, whose sums stay in registers.
const LEAST: usize = 16;
const LEAST_AT_ONCE: usize = 3;

/// Pixels of a row that is computed at once, at most.
pub(super) const ROW: usize = 64;

/// One problem, prepared.
pub(crate) struct Int8Plan {
    /// Of a convolution of single pixels: with all of them in long rows.
    pub g: ConvGeometry,
    pub types: ConvTypes,
    pub src: Lanes,
    pub dst: Lanes,
    pub units: Vec<Unit>,
    /// What multiplies tiles, if it computes this.
    pub matrix: Option<Matrix>,
    /// **Bytes** of all weights, without the sums behind them.
    pub weight_bytes: usize,
}

/// Sums of tiles of the source by tiles of weights.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub unit: MatrixUnit,
    /// Rows of a tile of weights: the quads of a plane, or the taps along W where a pixel is one quad.
    pub quads: usize,
}

/// Blocks of the result that are computed together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    /// The first block.
    pub block: usize,
    /// How many: 1 or [`PAIR`].
    pub count: usize,
    pub form: Form,
    /// Where its weights begin, in **bytes**.
    pub weights: usize,
}

impl Unit {
    /// Whether sums of both are computed in the same steps, of other weights.
    pub fn reads_as(&self, other: &Unit) -> bool {
        (self.count, &self.form) == (other.count, &other.form)
    }
}

/// How the lanes of a block read the source.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    /// Every lane reads the same channels, those of these quads; weights of channels that are not of a lane's group, or not there, are
    /// 0. Weights: plane by plane, tap by tap, quad by quad, block by block, `[16 outputs][4 channels]`.
    Shared(Range<usize>),
    /// Each lane reads its own channel, four pixels along W at once. Weights: `[taps of D and H][shifts][16 channels][4 taps]`, where
    /// [`Shifts`] says how many vectors there are for each shift.
    Own,
}

/// How the weights of a row of taps lie in vectors of four pixels that begin at a multiple of four: outputs whose first pixel is not
/// the first of its vector have weights that are shifted by as much, so that neighbours share vectors of the source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shifts {
    /// Taps along W.
    pub width: usize,
    /// Pixels of the source from one output to the next.
    pub step: usize,
}

impl Shifts {
    /// Whether an output may begin there.
    const fn has(self, shift: usize) -> bool {
        shift == 0 || self.is_unrolled() && shift.is_multiple_of(self.step)
    }

    /// Whether the kernel has this size unrolled. Of another one each output has vectors of its own, and no weights are shifted.
    const fn is_unrolled(self) -> bool {
        (self.width == 3 || self.width == 5) && (self.step == 1 || self.step == 2)
    }

    /// Vectors of the weights with this shift.
    pub const fn vectors(self, shift: usize) -> usize {
        if self.has(shift) { (shift + self.width).div_ceil(QUAD) } else { 0 }
    }

    /// Where the vectors of each shift begin, and their number.
    pub const fn begins(self) -> [usize; QUAD + 1] {
        let mut begins = [0; QUAD + 1];
        let mut shift = 0;
        while shift < QUAD {
            begins[shift + 1] = begins[shift] + self.vectors(shift);
            shift += 1;
        }
        begins
    }
}

impl Int8Plan {
    pub fn new(p: &Problem<'_>) -> Result<Int8Plan, Refusal> {
        let view = |layout: &SourceLayout, dims: &Dims| match layout {
            SourceLayout::Strided(format) => Lanes::of_format(dims, *format).ok_or(Refusal::Layout),
            SourceLayout::Blocked(layout) => {
                Lanes::of_layout(p.g.op, dims, layout).map_err(|_| Refusal::Layout)
            }
        };
        let mut g = *p.g;
        let (mut src, mut dst) = (view(&p.src, &g.src_dims())?, view(&p.dst, &g.dst_dims())?);
        if g.is_pointwise() {
            let joined = [&src, &dst].iter().all(|of| has_pixels_together(of));
            let (n, pixels) = if joined { (1, src.n * src.pixels()) } else { (src.n, src.pixels()) };
            let [height, width] = rows_of(pixels);
            let rows = |of: &Lanes| {
                // Of single pixels, channels lie together in every layout.
                let is_row = has_pixels_together(of) && of.blocks > 1;
                let (lanes, blocks) = if is_row { (of.c, 1) } else { (of.lanes, of.blocks) };
                Lanes::dense(&[n, of.c, height, width], lanes, blocks).ok_or(Refusal::Layout)
            };
            (src, dst) = (rows(&src)?, rows(&dst)?);
            g = g.on_images(n, &[height, width]);
        }
        let blocks = g.o.div_ceil(BLOCK);
        let (units, types) = (Vec::new(), p.types);
        let mut plan = Int8Plan { g, types, src, dst, units, matrix: None, weight_bytes: 0 };
        plan.matrix = plan.tiles();
        let mut block = 0;
        while block < blocks {
            let form = plan.form(block);
            let shares = |next: usize| next < blocks && form != Form::Own && plan.form(next) == form;
            let count = if shares(block + 1) { PAIR } else { 1 };
            let vectors = match &form {
                Form::Shared(quads) => quads.len() * plan.taps(),
                Form::Own => plan.own_vectors(),
            };
            plan.units.push(Unit { block, count, form, weights: plan.weight_bytes });
            plan.weight_bytes += vectors * count * BLOCK * QUAD;
            block += count;
        }
        Ok(plan)
    }

    fn form(&self, block: usize) -> Form {
        if self.is_depthwise() {
            return Form::Own;
        }
        let quads = self.quads_of(block);
        match self.matrix {
            // Whole tiles. Where there are no channels, weights are 0.
            Some(_) if !self.is_narrow() => {
                Form::Shared(quads.start..quads.end.next_multiple_of(self.quads()))
            }
            _ => Form::Shared(quads),
        }
    }

    /// The quads of channels that a block's outputs read.
    fn quads_of(&self, block: usize) -> Range<usize> {
        let g = &self.g;
        let outputs = self.channels_of(block);
        let (og, cg) = (g.o / g.groups, g.c / g.groups);
        let channels = outputs.start / og * cg..((outputs.end - 1) / og + 1) * cg;
        channels.start / QUAD..channels.end.div_ceil(QUAD)
    }

    /// The tiles that compute this, if there are such registers and the sums have enough products for them.
    fn tiles(&self) -> Option<Matrix> {
        let is_long =
            !self.is_depthwise() && self.blocks() > 0 && self.quads_of(0).len() * self.taps() >= LEAST;
        let unit = matrix_unit().filter(|_| is_long)?;
        let quads = match self.is_narrow() {
            true => {
                let along_w = cube(&self.g.kernel, 1)[2];
                let are_together = self.g.dilation.last() == Some(&1) && !self.g.transposed;
                Some(along_w).filter(|taps| are_together && *taps <= ROWS)
            }
            false => self.quads_of_tile(),
        };
        quads.filter(|quads| *quads >= LEAST_AT_ONCE).map(|quads| Matrix { unit, quads })
    }

    /// Quads of a plane of source channels: those of a block, or of a tile.
    pub fn quads(&self) -> usize {
        match self.matrix {
            Some(Matrix { quads, .. }) if !self.is_narrow() => quads,
            _ => BLOCK / QUAD,
        }
    }

    /// As many quads as divide what every block reads into tiles. What ungrouped blocks read may be made longer.
    fn quads_of_tile(&self) -> Option<usize> {
        let ranges = || (0..self.blocks()).map(|block| self.quads_of(block));
        let is_divided =
            |by: usize| ranges().all(|quads| quads.start.is_multiple_of(by) && quads.end.is_multiple_of(by));
        let most = (1..=ROWS).rev().find(|by| is_divided(*by))?;
        if self.g.groups > 1 || most >= ROWS / 2 {
            return Some(most);
        }
        let all = self.g.c.div_ceil(QUAD);
        Some(all.div_ceil(all.div_ceil(ROWS)))
    }

    /// Whether a pixel of the source is one quad.
    pub fn is_narrow(&self) -> bool {
        self.g.c <= QUAD && !self.is_depthwise()
    }

    /// Whether all blocks are of [`Form::Own`]: each channel reads its own, at taps that follow each other along W.
    pub fn is_depthwise(&self) -> bool {
        let g = &self.g;
        g.groups == g.c && g.c == g.o && g.dilation.last() == Some(&1) && !g.transposed
    }

    /// The planes of source channels that a unit reads.
    pub fn planes(&self, unit: &Unit) -> Range<usize> {
        match &unit.form {
            Form::Shared(quads) => quads.start / self.quads()..quads.end.div_ceil(self.quads()),
            Form::Own => unit.block..unit.block + 1,
        }
    }

    /// Taps of the kernel.
    pub fn taps(&self) -> usize {
        self.g.kernel.iter().product()
    }

    /// Vectors of weights of a block of [`Form::Own`].
    fn own_vectors(&self) -> usize {
        let [kd, kh, _] = cube(&self.g.kernel, 1);
        kd * kh * self.shifts().begins()[QUAD]
    }

    /// The rows of taps of blocks of [`Form::Own`].
    pub fn shifts(&self) -> Shifts {
        Shifts { width: cube(&self.g.kernel, 1)[2], step: cube(&self.g.stride, 1)[2] }
    }

    /// Blocks of the result, whatever its layout.
    pub fn blocks(&self) -> usize {
        self.g.o.div_ceil(BLOCK)
    }

    /// The output channels of a block that there are.
    pub fn channels_of(&self, block: usize) -> Range<usize> {
        block * BLOCK..(block * BLOCK + BLOCK).min(self.g.o)
    }

    /// How many sums of weights an output channel has: one, or one for each tap.
    pub fn sum_lists(&self) -> usize {
        if self.g.transposed { self.taps() } else { 1 }
    }

    /// **Bytes** of ordered weights, with the sums of each output channel's weights behind them, as s32.
    pub fn ordered_bytes(&self) -> usize {
        self.weight_bytes + self.sum_lists() * self.blocks() * BLOCK * size_of::<i32>()
    }

    /// The convolution's phases.
    pub fn phases(&self) -> impl Iterator<Item = Phase> {
        phases(&self.g)
    }

    /// The zero point of the source once its bytes are unsigned.
    pub fn unsigned_zero_point(&self) -> i32 {
        self.g.zero_point + i32::from(self.flip())
    }

    /// What the bytes of the source are combined with, by exclusive or, to make them unsigned: s8 plus 128 is u8.
    pub fn flip(&self) -> u8 {
        if self.types.src == crate::dtype::DType::S8 { 0x80 } else { 0 }
    }
}

/// Whether the pixels of all images lie one after another, each with all its channels.
fn has_pixels_together(of: &Lanes) -> bool {
    of.blocks == 1 || of.pixels() == 1 && of.padded_channels() == of.c
}

/// Height and width of an image of as many pixels, in rows that a task keeps at once, if there are such; else in one row.
fn rows_of(pixels: usize) -> [usize; 2] {
    let width = (ROW / 4..=ROW).rev().find(|width| pixels.is_multiple_of(*width)).unwrap_or(pixels);
    [pixels.checked_div(width).unwrap_or(0), width]
}
