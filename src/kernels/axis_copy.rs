//! Copies along axes: each index of an axis of the result comes from an index of the source, or gets the fill value. Padding,
//! flipping, rolling and `index_select` are such copies, on any layout.
//!
//! The copies along the inner axes become one [`CopyProgram`]: steps that copy or fill a number of elements. The program is the
//! same for every index of the outer axes, over which the threads share the work. The innermost of the outer axes is not tabled
//! but walked by its ranges, so that a long axis needs no long program and can be shared too.

use std::ops::Range;

use crate::dtype::DType;
use crate::elementwise::ChannelTail;
use crate::error::Result;
use crate::kernels::axis_map::{AxisMap, Progression};
use crate::kernels::blocked_map;
use crate::kernels::channel_copy::{self, ChannelSource};
use crate::kernels::lanes::{Lanes, for_each_chunk};
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::check_extent;
use crate::op::{Args, KernelResult, Results};
use crate::tensor::any::{TensorMut, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

/// The most steps along one axis of a program.
const MAX_STEPS: usize = 8192;

/// The most steps of a program that repeats those of an inner axis. Making them costs as much as running them once, so a program
/// must be short compared with the whole copy.
const MAX_REPEATED_STEPS: usize = 64;

/// The most **elements** of the result that a program writes: more would leave too little to share among the threads.
const MAX_ELEMENTS: usize = 64 << 10;

/// **Elements** of the result in one unit of a thread's work, if the program writes fewer.
const UNIT_ELEMENTS: usize = 8 << 10;

/// One step of a program: consecutive elements of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CopyStep {
    /// That many fill values.
    Fill(usize),
    /// `count` pieces of the source, of `len` elements each, that start `stride` elements apart. Examples: one long piece; the
    /// pixels of a row in reverse order.
    Copy { from: usize, len: usize, count: usize, stride: isize },
}

/// One axis of a copy.
enum CopyAxis<'a> {
    /// All indices, in order. `stride` is that of the source.
    Whole { size: usize, stride: usize },
    /// The indices of a map.
    Mapped { map: &'a AxisMap<'a>, stride: usize },
}

impl<'a> CopyAxis<'a> {
    fn new(map: Option<&'a AxisMap<'a>>, size: usize, stride: usize) -> CopyAxis<'a> {
        match map {
            Some(map) => CopyAxis::Mapped { map, stride },
            None => CopyAxis::Whole { size, stride },
        }
    }

    /// The axis's size in the result.
    fn size(&self) -> usize {
        match self {
            CopyAxis::Whole { size, .. } => *size,
            CopyAxis::Mapped { map, .. } => map.size(),
        }
    }

    /// The most calls that [`for_each_range`](Self::for_each_range) makes for the whole axis.
    fn max_ranges(&self) -> usize {
        match self {
            CopyAxis::Whole { .. } => 1,
            CopyAxis::Mapped { map, .. } => map.max_ranges(),
        }
    }

    /// The source's offset for index `i` of the result; `None` is the fill value.
    fn offset(&self, i: usize) -> Option<usize> {
        match self {
            CopyAxis::Whole { stride, .. } => Some(i * stride),
            CopyAxis::Mapped { map, stride } => map.get(i).map(|index| index * stride),
        }
    }

    /// Calls `f(len, source offsets)` for the ranges that make up `part` of the axis, in order.
    fn for_each_range(&self, part: Range<usize>, mut f: impl FnMut(usize, Option<Progression>)) {
        match *self {
            CopyAxis::Whole { stride, .. } => {
                f(part.len(), Some(Progression { first: part.start * stride, step: stride as isize }));
            }
            CopyAxis::Mapped { map, stride } => map.for_each_range(part, |len, src| {
                let offsets = |src: Progression| Progression {
                    first: src.first * stride,
                    step: src.step * stride as isize,
                };
                f(len, src.map(offsets));
            }),
        }
    }
}

/// The steps that write a number of consecutive elements of the result.
struct CopyProgram {
    steps: Vec<CopyStep>,
    /// How many elements it writes.
    elements: usize,
}

impl CopyProgram {
    /// The program of as many inner axes as fit one. They are removed from `axes`, whose outermost axis comes first.
    fn of_inner_axes(axes: &mut Vec<CopyAxis<'_>>) -> CopyProgram {
        let mut program = CopyProgram { steps: vec![CopyStep::copies(0, 1, 1, 0)], elements: 1 };
        while let Some(axis) = axes.last() {
            let (steps, max_steps) = if program.is_one_piece() {
                (axis.max_ranges(), MAX_STEPS)
            } else {
                (program.steps.len().saturating_mul(axis.size()), MAX_REPEATED_STEPS)
            };
            if steps > max_steps || program.elements.saturating_mul(axis.size()) > MAX_ELEMENTS {
                break;
            }
            program = program.repeated_along(axis);
            axes.pop();
        }
        program
    }

    /// Whether it copies consecutive elements.
    fn is_one_piece(&self) -> bool {
        matches!(self.steps[..], [CopyStep::Copy { from: 0, count: 1, .. }])
    }

    /// The program of one more axis: this one for each of its indices.
    fn repeated_along(&self, axis: &CopyAxis<'_>) -> CopyProgram {
        let mut steps: Vec<CopyStep> = Vec::new();
        axis.for_each_range(0..axis.size(), |len, src| match src {
            None => push(&mut steps, CopyStep::Fill(len * self.elements)),
            Some(src) if self.is_one_piece() => {
                push(&mut steps, CopyStep::copies(src.first, self.elements, len, src.step));
            }
            Some(src) => {
                for k in 0..len {
                    self.steps.iter().for_each(|&step| push(&mut steps, step.at(src.at(k))));
                }
            }
        });
        CopyProgram { steps, elements: self.elements * axis.size() }
    }

    /// Writes `dst` from the elements of `src` that follow `base`.
    fn run<E: Copy>(&self, src: &[E], base: usize, mut dst: &mut [E], value: E) {
        for step in &self.steps {
            let (to, rest) = dst.split_at_mut(step.elements());
            dst = rest;
            step.at(base).write(src, to, value);
        }
    }

    /// Runs the program for each index in `part` of `axis`, the axis just outside of it.
    fn run_along<E: Copy>(
        &self,
        axis: &CopyAxis<'_>,
        part: Range<usize>,
        src: &[E],
        base: usize,
        mut dst: &mut [E],
        value: E,
    ) {
        axis.for_each_range(part, |len, offsets| {
            let (to, rest) = std::mem::take(&mut dst).split_at_mut(len * self.elements);
            dst = rest;
            match offsets {
                None => to.fill(value),
                Some(Progression { first, step }) if self.is_one_piece() => {
                    CopyStep::copies(base + first, self.elements, len, step).write(src, to, value);
                }
                Some(Progression { first, step }) => {
                    for (k, to) in to.chunks_exact_mut(self.elements).enumerate() {
                        self.run(src, (base + first).wrapping_add_signed(step * k as isize), to, value);
                    }
                }
            }
        });
    }
}

/// Copies pieces of a length that the compiler knows: single elements, or the pixels of a blocked tensor.
#[inline(always)]
fn copy_pieces<E: Copy, const N: usize>(src: &[E], mut from: usize, stride: isize, dst: &mut [E]) {
    for to in dst.as_chunks_mut::<N>().0 {
        if let Some(piece) = src.get(from..).and_then(|s| s.first_chunk::<N>()) {
            *to = *piece;
        }
        from = from.wrapping_add_signed(stride);
    }
}

impl CopyStep {
    /// A copy of pieces. Pieces that follow each other directly become one.
    fn copies(from: usize, len: usize, count: usize, stride: isize) -> CopyStep {
        if count == 1 || stride == len as isize {
            CopyStep::Copy { from, len: len * count, count: 1, stride: 0 }
        } else {
            CopyStep::Copy { from, len, count, stride }
        }
    }

    /// The same step, `base` elements further on in the source.
    fn at(self, base: usize) -> CopyStep {
        match self {
            CopyStep::Copy { from, len, count, stride } => {
                CopyStep::Copy { from: base + from, len, count, stride }
            }
            fill => fill,
        }
    }

    /// How many elements it writes.
    fn elements(&self) -> usize {
        match *self {
            CopyStep::Fill(n) => n,
            CopyStep::Copy { len, count, .. } => len * count,
        }
    }

    /// Writes all of `dst`. Inlined: steps are often as short as a row of an image.
    #[inline(always)]
    fn write<E: Copy>(self, src: &[E], dst: &mut [E], value: E) {
        match self {
            CopyStep::Fill(_) => dst.fill(value),
            CopyStep::Copy { from, len, count: 1, .. } => dst.copy_from_slice(&src[from..from + len]),
            CopyStep::Copy { from, len: 1, stride: 0, .. } => dst.fill(src[from]),
            CopyStep::Copy { from, len: 1, count, stride: -1 } => {
                dst.iter_mut().zip(src[from + 1 - count..=from].iter().rev()).for_each(|(d, s)| *d = *s);
            }
            CopyStep::Copy { from, len: 16, stride, .. } => copy_pieces::<E, 16>(src, from, stride, dst),
            CopyStep::Copy { from, len: 8, stride, .. } => copy_pieces::<E, 8>(src, from, stride, dst),
            CopyStep::Copy { from, len: 1, stride, .. } => copy_pieces::<E, 1>(src, from, stride, dst),
            CopyStep::Copy { from, len, stride, .. } => {
                for (k, to) in dst.chunks_exact_mut(len).enumerate() {
                    let from = from.wrapping_add_signed(stride * k as isize);
                    to.copy_from_slice(&src[from..from + len]);
                }
            }
        }
    }
}

/// Appends a step, or lengthens the last one.
fn push(steps: &mut Vec<CopyStep>, next: CopyStep) {
    let Some(last) = steps.last_mut() else { return steps.push(next) };
    match (last, next) {
        (CopyStep::Fill(n), CopyStep::Fill(more)) => *n += more,
        (
            CopyStep::Copy { from, len, count, stride },
            CopyStep::Copy { from: next_from, len: next_len, count: 1, .. },
        ) if *count == 1 && next_from == *from + *len || next_len == *len => {
            let apart = next_from as isize - *from as isize;
            match *count {
                1 if next_from == *from + *len => *len += next_len,
                1 => (*count, *stride) = (2, apart),
                n if apart == *stride * n as isize => *count += 1,
                _ => steps.push(next),
            }
        }
        _ => steps.push(next),
    }
}

/// Writes all of `dst`, which is dense in the order of `axes`. `finish(start, part)` is called for each part that is written,
/// on the thread that wrote it.
fn copy_mapped<E: Copy + Send + Sync>(
    mut axes: Vec<CopyAxis<'_>>,
    src: &[E],
    dst: &mut [E],
    value: E,
    finish: impl Fn(usize, &mut [E]) + Sync,
) {
    let program = CopyProgram::of_inner_axes(&mut axes);
    let along = axes.pop().unwrap_or(CopyAxis::Whole { size: 1, stride: 0 });
    let length = program.elements;
    let unit = length * (UNIT_ELEMENTS / length).max(1);
    for_each_chunk(dst, unit, |i, chunk| {
        // Which run of the program comes next, counted over all outer axes.
        let (mut at, mut rest) = (i * unit / length, &mut *chunk);
        while !rest.is_empty() {
            let first = at % along.size();
            let end = along.size().min(first + rest.len() / length);
            let (here, more) = std::mem::take(&mut rest).split_at_mut((end - first) * length);
            let mut outer = at / along.size();
            let base = axes.iter().rev().try_fold(0, |sum, axis| {
                let index = outer % axis.size();
                outer /= axis.size();
                axis.offset(index).map(|offset| sum + offset)
            });
            match base {
                Some(base) => program.run_along(&along, first..end, src, base, here, value),
                None => here.fill(value),
            }
            (at, rest) = (at + end - first, more);
        }
        finish(i * unit, chunk);
    });
}

/// The sizes of the result.
fn mapped_dims(op: &'static str, dims: &[usize], maps: &[Option<AxisMap<'_>>]) -> Result<Dims> {
    let dims: Dims = dims.iter().zip(maps).map(|(&d, map)| map.as_ref().map_or(d, AxisMap::size)).to_dims();
    check_extent(op, &dims)?;
    Ok(dims)
}

/// Calls `$f::<E>` with the unsigned integer of the dtype's size: copies do not depend on what elements mean.
macro_rules! by_size {
    ($dtype:expr, $f:ident($($arg:expr),*)) => {
        match $dtype.size_bytes() {
            1 => $f::<u8>($($arg),*),
            2 => $f::<u16>($($arg),*),
            _ => $f::<u32>($($arg),*),
        }
    };
}
pub(crate) use by_size;

/// The bits of a fill value as an element of the dtype: the nearest number, or for integers the number without its fraction.
pub(crate) fn fill_bits<E: bytemuck::Pod>(value: f64, dtype: DType) -> E {
    let mut out = E::zeroed();
    let bytes: Vec<u8> = match dtype {
        DType::F32 => (value as f32).to_ne_bytes().to_vec(),
        DType::BF16 => half::bf16::from_f64(value).to_ne_bytes().to_vec(),
        DType::F16 => half::f16::from_f64(value).to_ne_bytes().to_vec(),
        DType::U8 => vec![value as u8],
        DType::S8 => vec![value as i8 as u8],
        DType::S32 => (value as i32).to_ne_bytes().to_vec(),
    };
    bytemuck::bytes_of_mut(&mut out).copy_from_slice(&bytes);
    out
}

/// Runs a copy of operand 0 along the axes that have a map, and records it in the ledger. The other axes are copied whole.
/// `rule` gives the format of a strided result.
pub(crate) fn run(
    args: &Args<'_>,
    results: &mut Results<'_>,
    maps: &[Option<AxisMap<'_>>],
    value: f64,
    rule: FormatRule,
) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    let dims = mapped_dims(op, x.dims(), maps)?;
    let dst = match x {
        TensorRef::Strided(x) => TensorMut::Strided(results.by_rule(rule, &[x], &dims, x.dtype())?),
        TensorRef::Blocked(x) => TensorMut::Blocked(results.blocked(&dims, x.layout(), x.dtype())?),
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked only"),
    };
    let work = || copy(op, x, maps, value, dst);
    Ok(crate::kernels::timed(args, "blocktensor:moves", || x.layout_name(), work)?)
}

fn copy(
    op: &'static str,
    x: TensorRef<'_>,
    maps: &[Option<AxisMap<'_>>],
    value: f64,
    dst: TensorMut<'_>,
) -> Result<()> {
    if dst.as_ref().dims().contains(&0) {
        return Ok(());
    }
    match (x, dst) {
        (TensorRef::Strided(x), TensorMut::Strided(dst)) => {
            copy_strided(x, maps, dst, value);
            Ok(())
        }
        (TensorRef::Blocked(x), TensorMut::Blocked(dst)) => {
            let Some(channel_map) = maps.get(1).and_then(Option::as_ref) else {
                return copy_blocked(op, x, maps, dst, value);
            };
            let source = |i| {
                let channel = channel_map.get(i);
                channel.map_or(ChannelSource::Fill, |channel| ChannelSource::Channel { operand: 0, channel })
            };
            if maps.iter().enumerate().all(|(d, map)| d == 1 || map.is_none()) {
                return channel_copy::map_channels(op, &[x], dst, source, value);
            }
            let x = channel_copy::mapped_channels(op, &[x], channel_map.size(), source, value)?;
            copy_blocked(op, &x, maps, dst, value)
        }
        _ => unreachable!("operand and result are both strided or both blocked"),
    }
}

fn copy_strided(x: &StridedTensor, maps: &[Option<AxisMap<'_>>], dst: &mut StridedTensor, value: f64) {
    // The axes in the order of the result's memory. Axes of size 1 without a map do not matter.
    let dims = dst.dims;
    let mut order: Vec<usize> = (0..x.rank()).filter(|&d| dims[d] != 1 || maps[d].is_some()).collect();
    order.sort_by_key(|&d| (std::cmp::Reverse(dst.strides()[d]), d));
    let axes = order.iter().map(|&d| CopyAxis::new(maps[d].as_ref(), dims[d], x.strides()[d])).collect();
    fn typed<E: bytemuck::Pod + Send + Sync>(
        axes: Vec<CopyAxis<'_>>,
        src: &[u8],
        dst: &mut [u8],
        value: f64,
        dtype: DType,
    ) {
        let dst: &mut [E] = bytemuck::cast_slice_mut(dst);
        let elements: usize = axes.iter().map(CopyAxis::size).product();
        let (src, dst, value) = (bytemuck::cast_slice(src), &mut dst[..elements], fill_bits(value, dtype));
        copy_mapped(axes, src, dst, value, |_, _| {});
    }
    by_size!(x.dtype(), typed(axes, x.bytes(), dst.result_bytes(), value, x.dtype()));
}

/// Copies a blocked tensor along all axes but the channels, which are copied whole.
fn copy_blocked(
    op: &'static str,
    x: &BlockedTensor,
    maps: &[Option<AxisMap<'_>>],
    dst: &mut BlockedTensor,
    value: f64,
) -> Result<()> {
    let lanes = Lanes::of_blocked(op, dst)?;
    let dense = blocked_map::dense_view(op, x)?;
    let mut axes: Vec<CopyAxis<'_>> = (0..dense.rank())
        .map(|d| {
            let map = maps.get(d).and_then(Option::as_ref).filter(|_| d != 1);
            CopyAxis::new(map, dense.dims()[d], dense.strides()[d])
        })
        .collect();
    axes.retain(|a| !matches!(a, CopyAxis::Whole { size: 1, .. }));
    let tail = ChannelTail {
        lanes: lanes.lanes,
        used: lanes.c % lanes.lanes,
        plane: lanes.plane_len(),
        blocks: lanes.blocks,
    };
    // A fill value other than zero also lands in the tail lanes, which must be zero.
    let tail = Some(tail).filter(|t| t.used != 0 && value.to_bits() != 0);
    fn typed<E: bytemuck::Pod + Send + Sync>(
        axes: Vec<CopyAxis<'_>>,
        src: &[u8],
        dst: &mut [u8],
        value: f64,
        dtype: DType,
        tail: Option<ChannelTail>,
    ) {
        let (src, dst): (&[E], &mut [E]) = (bytemuck::cast_slice(src), bytemuck::cast_slice_mut(dst));
        copy_mapped(axes, src, dst, fill_bits(value, dtype), |start, part| {
            if let Some(tail) = &tail {
                tail.zero(start, bytemuck::cast_slice_mut(part), size_of::<E>());
            }
        });
    }
    let src = x.storage_bytes();
    by_size!(x.dtype(), typed(axes, src, dst.storage_bytes_mut(), value, x.dtype(), tail));
    Ok(())
}
