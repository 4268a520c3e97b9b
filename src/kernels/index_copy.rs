//! Moves along axes: each index of an axis of the result comes from an index of the source, or is filled. Padding,
//! flipping and rolling are such moves, on any layout.
//!
//! The moves of the inner axes become one *program* of runs (copy so many elements from here, fill so many), which is
//! the same for every index of the outer axes. The team shares those; the innermost of them goes by stretches, so that
//! a long axis takes no table and is shared too.

use std::ops::Range;

use crate::dtype::DType;
use crate::elementwise::ChannelTail;
use crate::error::Result;
use crate::kernels::axis_indices::{Origin, Picks};
use crate::kernels::blocked_map;
use crate::kernels::channel_copy::{self, Channel};
use crate::kernels::lanes::{Lanes, for_each_chunk};
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::check_extent;
use crate::op::{Args, KernelResult, Results};
use crate::tensor::any::{TensorMut, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;

/// The longest program, in runs, and how many **elements** of result it may write before the team gets no share.
const MAX_RUNS: usize = 8192;
const MAX_ELEMENTS: usize = 64 << 10;

/// **Elements** of result that a thread writes at once, where programs are shorter.
const AT_ONCE: usize = 8 << 10;

/// Elements of the result that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    /// So many fill values.
    Fill(usize),
    /// Pieces of the source, of `len` elements each, that begin `step` apart: one long one, the pixels of a row
    /// backwards, ...
    Copy { from: usize, len: usize, count: usize, step: isize },
}

/// One axis of the result: its size, and where in the source its indices lie.
enum Axis<'a> {
    /// All of them, at this distance.
    Whole { size: usize, step: usize },
    /// Some of them, at multiples of this distance.
    Picked { picks: &'a Picks<'a>, step: usize },
}

impl<'a> Axis<'a> {
    fn new(picks: Option<&'a Picks<'a>>, size: usize, step: usize) -> Axis<'a> {
        match picks {
            Some(picks) => Axis::Picked { picks, step },
            None => Axis::Whole { size, step },
        }
    }

    fn size(&self) -> usize {
        match self {
            Axis::Whole { size, .. } => *size,
            Axis::Picked { picks, .. } => picks.size(),
        }
    }

    fn stretches(&self) -> usize {
        match self {
            Axis::Whole { .. } => 1,
            Axis::Picked { picks, .. } => picks.stretches(),
        }
    }

    /// Where the index lies; `None` is the fill.
    fn from(&self, i: usize) -> Option<usize> {
        match self {
            Axis::Whole { step, .. } => Some(i * step),
            Axis::Picked { picks, step } => picks.get(i).map(|from| from * step),
        }
    }

    /// Calls `f(len, from)` for stretches of the indices: where the first lies, and the distance to the next.
    fn for_each(&self, part: Range<usize>, mut f: impl FnMut(usize, Origin)) {
        match *self {
            Axis::Whole { step, .. } => f(part.len(), Some((part.start * step, step as isize))),
            Axis::Picked { picks, step } => picks.for_each(part, |len, from| {
                f(len, from.map(|(first, apart)| (first * step, apart * step as isize)));
            }),
        }
    }
}

/// What a number of consecutive elements of the result are made of.
struct Program {
    runs: Vec<Run>,
    elements: usize,
}

impl Program {
    /// The program of as many inner axes as it may hold; they are taken off `axes`, which come outermost first.
    fn take(axes: &mut Vec<Axis<'_>>) -> Program {
        let mut program = Program { runs: vec![Run::copies(0, 1, 1, 0)], elements: 1 };
        while let Some(axis) = axes.last() {
            let runs = if program.is_one_piece() {
                axis.stretches()
            } else {
                program.runs.len().saturating_mul(axis.size())
            };
            if runs > MAX_RUNS || program.elements.saturating_mul(axis.size()) > MAX_ELEMENTS {
                break;
            }
            program = program.repeated(axis);
            axes.pop();
        }
        program
    }

    /// Whether it copies consecutive elements.
    fn is_one_piece(&self) -> bool {
        matches!(self.runs[..], [Run::Copy { from: 0, count: 1, .. }])
    }

    fn repeated(&self, axis: &Axis<'_>) -> Program {
        let mut runs: Vec<Run> = Vec::new();
        axis.for_each(0..axis.size(), |len, from| match from {
            None => push(&mut runs, Run::Fill(len * self.elements)),
            Some((from, step)) if self.is_one_piece() => {
                push(&mut runs, Run::copies(from, self.elements, len, step));
            }
            Some((from, step)) => {
                for k in 0..len {
                    let base = from.wrapping_add_signed(step * k as isize);
                    self.runs.iter().for_each(|&r| push(&mut runs, r.at(base)));
                }
            }
        });
        Program { runs, elements: self.elements * axis.size() }
    }

    fn run<E: Copy>(&self, src: &[E], base: usize, mut dst: &mut [E], value: E) {
        for run in &self.runs {
            let (to, rest) = dst.split_at_mut(run.elements());
            dst = rest;
            run.at(base).write(src, to, value);
        }
    }

    /// The program for a part of an axis around it.
    fn run_along<E: Copy>(
        &self,
        axis: &Axis<'_>,
        part: Range<usize>,
        src: &[E],
        base: usize,
        mut dst: &mut [E],
        value: E,
    ) {
        axis.for_each(part, |len, from| {
            let (to, rest) = std::mem::take(&mut dst).split_at_mut(len * self.elements);
            dst = rest;
            match from {
                None => to.fill(value),
                Some((from, step)) if self.is_one_piece() => {
                    Run::copies(base + from, self.elements, len, step).write(src, to, value);
                }
                Some((from, step)) => {
                    for (k, to) in to.chunks_exact_mut(self.elements).enumerate() {
                        self.run(src, (base + from).wrapping_add_signed(step * k as isize), to, value);
                    }
                }
            }
        });
    }
}

/// Pieces whose length the compiler knows: single elements, or pixels of a blocked tensor.
#[inline(always)]
fn copy_pieces<E: Copy, const N: usize>(src: &[E], mut from: usize, step: isize, dst: &mut [E]) {
    for to in dst.as_chunks_mut::<N>().0 {
        if let Some(piece) = src.get(from..).and_then(|s| s.first_chunk::<N>()) {
            *to = *piece;
        }
        from = from.wrapping_add_signed(step);
    }
}

impl Run {
    /// Pieces of the source, as few as they are.
    fn copies(from: usize, len: usize, count: usize, step: isize) -> Run {
        if count == 1 || step == len as isize {
            Run::Copy { from, len: len * count, count: 1, step: 0 }
        } else {
            Run::Copy { from, len, count, step }
        }
    }

    /// The same, that much further on in the source.
    fn at(self, base: usize) -> Run {
        match self {
            Run::Copy { from, len, count, step } => Run::Copy { from: base + from, len, count, step },
            fill => fill,
        }
    }

    /// Elements that it writes.
    fn elements(&self) -> usize {
        match *self {
            Run::Fill(n) => n,
            Run::Copy { len, count, .. } => len * count,
        }
    }

    /// Writes its elements, which are those of `dst`.
    fn write<E: Copy>(self, src: &[E], dst: &mut [E], value: E) {
        match self {
            Run::Fill(_) => dst.fill(value),
            Run::Copy { from, len, count: 1, .. } => dst.copy_from_slice(&src[from..from + len]),
            Run::Copy { from, len: 1, step: 0, .. } => dst.fill(src[from]),
            Run::Copy { from, len: 1, count, step: -1 } => {
                dst.iter_mut().zip(src[from + 1 - count..=from].iter().rev()).for_each(|(d, s)| *d = *s);
            }
            Run::Copy { from, len: 16, step, .. } => copy_pieces::<E, 16>(src, from, step, dst),
            Run::Copy { from, len: 8, step, .. } => copy_pieces::<E, 8>(src, from, step, dst),
            Run::Copy { from, len: 1, step, .. } => copy_pieces::<E, 1>(src, from, step, dst),
            Run::Copy { from, len, step, .. } => {
                for (k, to) in dst.chunks_exact_mut(len).enumerate() {
                    let from = from.wrapping_add_signed(step * k as isize);
                    to.copy_from_slice(&src[from..from + len]);
                }
            }
        }
    }
}

/// Appends a run, or lengthens the last one.
fn push(runs: &mut Vec<Run>, next: Run) {
    let Some(last) = runs.last_mut() else { return runs.push(next) };
    match (last, next) {
        (Run::Fill(n), Run::Fill(more)) => *n += more,
        (
            Run::Copy { from, len, count, step },
            Run::Copy { from: next_from, len: next_len, count: 1, .. },
        ) if *count == 1 && next_from == *from + *len || next_len == *len => {
            let apart = next_from as isize - *from as isize;
            match *count {
                1 if next_from == *from + *len => *len += next_len,
                1 => (*count, *step) = (2, apart),
                n if apart == *step * n as isize => *count += 1,
                _ => runs.push(next),
            }
        }
        _ => runs.push(next),
    }
}

/// Writes all of `dst`, which lies densely in the order of `axes`.
fn write<E: Copy + Send + Sync>(
    mut axes: Vec<Axis<'_>>,
    src: &[E],
    dst: &mut [E],
    value: E,
    done: impl Fn(usize, &mut [E]) + Sync,
) {
    let program = Program::take(&mut axes);
    let along = axes.pop().unwrap_or(Axis::Whole { size: 1, step: 0 });
    let unit = program.elements;
    let at_once = unit * (AT_ONCE / unit).max(1);
    for_each_chunk(dst, at_once, |i, chunk| {
        let (mut at, mut rest) = (i * at_once / unit, &mut *chunk);
        while !rest.is_empty() {
            let first = at % along.size();
            let end = along.size().min(first + rest.len() / unit);
            let (here, more) = std::mem::take(&mut rest).split_at_mut((end - first) * unit);
            let mut outer = at / along.size();
            let base = axes.iter().rev().try_fold(0, |sum, axis| {
                let index = outer % axis.size();
                outer /= axis.size();
                axis.from(index).map(|from| sum + from)
            });
            match base {
                Some(base) => program.run_along(&along, first..end, src, base, here, value),
                None => here.fill(value),
            }
            (at, rest) = (at + end - first, more);
        }
        done(i * at_once, chunk);
    });
}

/// The sizes of the result.
fn picked_dims(op: &'static str, dims: &[usize], picks: &[Option<Picks<'_>>]) -> Result<Dims> {
    let dims: Dims = dims.iter().zip(picks).map(|(&d, p)| p.as_ref().map_or(d, Picks::size)).to_dims();
    check_extent(op, &dims)?;
    Ok(dims)
}

/// Calls `$f::<E>` with the unsigned type of the dtype's size: moves do not look into elements.
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

/// The bits of a number as an element: the nearest, of integer types without what follows the point.
pub(crate) fn bits<E: bytemuck::Pod>(value: f64, dtype: DType) -> E {
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

/// Moves along every axis that has picks.
fn along_axes(
    op: &'static str,
    x: TensorRef<'_>,
    picks: &[Option<Picks<'_>>],
    value: f64,
    dst: TensorMut<'_>,
) -> Result<()> {
    let dims = Dims::from_slice(dst.as_ref().dims());
    if dims.contains(&0) {
        return Ok(());
    }
    match (x, dst) {
        (TensorRef::Strided(x), TensorMut::Strided(dst)) => {
            let mut order: Vec<usize> =
                (0..x.rank()).filter(|&d| dims[d] != 1 || picks[d].is_some()).collect();
            order.sort_by_key(|&d| (std::cmp::Reverse(dst.strides()[d]), d));
            // Among equal strides, what is of size 1 has no say.
            let axes = order.iter().map(|&d| Axis::new(picks[d].as_ref(), dims[d], x.strides()[d])).collect();
            fn typed<E: bytemuck::Pod + Send + Sync>(
                axes: Vec<Axis<'_>>,
                src: &[u8],
                dst: &mut [u8],
                value: f64,
                dtype: DType,
            ) {
                let dst: &mut [E] = bytemuck::cast_slice_mut(dst);
                let elements: usize = axes.iter().map(Axis::size).product();
                write(axes, bytemuck::cast_slice(src), &mut dst[..elements], bits(value, dtype), |_, _| {});
            }
            by_size!(x.dtype(), typed(axes, x.bytes(), dst.result_bytes(), value, x.dtype()));
            Ok(())
        }
        (TensorRef::Blocked(x), TensorMut::Blocked(dst)) => {
            let Some(own) = picks.get(1).and_then(Option::as_ref) else {
                return blocked(op, x, picks, dst, value);
            };
            let pick = |i| own.get(i).map_or(Channel::Fill, |channel| Channel::Of { source: 0, channel });
            if picks.iter().enumerate().all(|(d, p)| d == 1 || p.is_none()) {
                return channel_copy::channels_into(op, &[x], dst, pick, value);
            }
            let x = channel_copy::channels(op, &[x], own.size(), pick, value)?;
            blocked(op, &x, picks, dst, value)
        }
        _ => unreachable!("the kernel stands under our two keys, and the result has the operand's"),
    }
}

/// The same for an op's call, in the ledger.
pub(crate) fn recorded(
    args: &Args<'_>,
    results: &mut Results<'_>,
    picks: &[Option<Picks<'_>>],
    value: f64,
    rule: FormatRule,
) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    let dims = picked_dims(op, x.dims(), picks)?;
    let dst = match x {
        TensorRef::Strided(x) => TensorMut::Strided(results.by_rule(rule, &[x], &dims, x.dtype())?),
        TensorRef::Blocked(x) => TensorMut::Blocked(results.blocked(&dims, x.layout(), x.dtype())?),
        TensorRef::Opaque(_) => unreachable!("the kernel stands under our two keys"),
    };
    let work = || along_axes(op, x, picks, value, dst);
    Ok(crate::kernels::timed(args, "blocktensor:moves", || x.layout_name(), work)?)
}

/// Along other axes than the channels.
fn blocked(
    op: &'static str,
    x: &BlockedTensor,
    picks: &[Option<Picks<'_>>],
    dst: &mut BlockedTensor,
    value: f64,
) -> Result<()> {
    let lanes = Lanes::of_blocked(op, dst)?;
    let dense = blocked_map::view(op, x)?;
    let mut axes: Vec<Axis<'_>> = (0..dense.rank())
        .map(|d| {
            let picks = picks.get(d).and_then(Option::as_ref).filter(|_| d != 1);
            Axis::new(picks, dense.dims()[d], dense.strides()[d])
        })
        .collect();
    axes.retain(|a| !matches!(a, Axis::Whole { size: 1, .. }));
    let tail = ChannelTail {
        lanes: lanes.lanes,
        used: lanes.c % lanes.lanes,
        plane: lanes.plane_len(),
        blocks: lanes.blocks,
    };
    let tail = Some(tail).filter(|t| t.used != 0 && value.to_bits() != 0);
    fn typed<E: bytemuck::Pod + Send + Sync>(
        axes: Vec<Axis<'_>>,
        src: &[u8],
        dst: &mut [u8],
        value: f64,
        dtype: DType,
        tail: Option<ChannelTail>,
    ) {
        let dst: &mut [E] = bytemuck::cast_slice_mut(dst);
        write(axes, bytemuck::cast_slice(src), dst, bits(value, dtype), |at, chunk| {
            if let Some(tail) = &tail {
                tail.zero(at, bytemuck::cast_slice_mut(chunk), size_of::<E>());
            }
        });
    }
    let src = x.storage_bytes();
    by_size!(x.dtype(), typed(axes, src, dst.storage_bytes_mut(), value, x.dtype(), tail));
    Ok(())
}
