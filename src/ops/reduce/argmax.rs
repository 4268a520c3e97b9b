//! Where the largest element is.

use super::blocked;
use super::folds::{Amax, larger};
use super::{Axes, Entry};
use crate::dispatch::schema::{data, flag, ints};
use crate::dispatch::{Arg, Args, DispatchKey, Kernel, Op, Outputs, Schema};
use crate::dtype::DType;
use crate::elementwise;
use crate::error::{Result, fail};
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::ops::lanes::Lanes;
use crate::ops::lines::{Columns, ColumnsMut, Lines, PaddingColumns, WIDTH};
use crate::simd::{self, Loop};
use crate::tensor::any::Operand;
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;
use crate::threads::parallel_for;

static SCHEMA: Schema = Schema::new("argmax", &[data("x"), ints("axis", &[]), flag("keepdim", false)]);
static OP: Op = Op::new(&SCHEMA);
const KERNEL: Kernel = Kernel::rust(&kernel);
pub(super) const ENTRY: Entry = Entry { op: &OP, strided: Some(KERNEL), blocked: Some(KERNEL) };

/// Index of the largest element along `axis`, or, without one, in the whole tensor in row-major order of its logical
/// dimensions, whatever the layout. The first of equal ones; NaN counts as largest. `torch.argmax`.
///
/// # Shapes
/// Any `x` with elements. With `keepdim` the axis (without one: every axis) stays with size 1, else it goes.
///
/// # Dtypes
/// f32; the result is s32.
///
/// # Layouts
/// Strided: row-major and channels-last tensors are read as they are, other views are copied, which the ledger counts; the
/// result is row-major, or with `keepdim` in the format that `x` is tagged with. Blocked: as [`super::sum`].
///
/// # Errors
/// `InvalidArgument` for an axis that is not there, for several axes, and for a largest of no elements; `Overflow` for
/// more elements than s32 counts; `OpaqueLayout` for a blocked `x` without `keepdim`; `UnsupportedDType`,
/// `LayoutMismatch`.
#[track_caller]
pub fn argmax<T: Operand>(x: &T, axis: Option<usize>, keepdim: bool) -> Result<T> {
    OP.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Sizes(axis.as_slice()), Arg::Bool(keepdim)])
}

fn kernel(args: &Args<'_>) -> Result<Outputs> {
    let (op, x, keepdim) = (args.op(), args.tensor(0)?, args.flag(2)?);
    let axes = Axes::new(args, 1)?;
    if axes.list.len() > 1 {
        fail!(
            InvalidArgument,
            op,
            "axis",
            axes.list.to_string(),
            "an index is along one axis, or in the whole tensor",
            "name one axis, or none"
        );
    }
    axes.check_not_empty(args)?;
    let axis = axes.list.first().copied();
    let along = axis.map_or(x.dims().iter().product(), |a| x.dims()[a]);
    if i32::try_from(along).is_err() {
        fail!(
            Overflow,
            op,
            "x",
            x.describe(),
            format!("an index up to {along} does not fit into s32"),
            "use a smaller tensor"
        );
    }
    if args.key() == DispatchKey::STRIDED {
        let x = args.strided(0)?;
        let layouts = || x.format_name();
        return super::super::timed(args, "blocktensor:argmax", layouts, || {
            strided(args, x, axis, keepdim, &axes)
        })
        .map(Outputs::from);
    }
    axes.check_keepdim(args, keepdim)?;
    let x = args.blocked(0)?;
    let layouts = || x.layout().to_string();
    super::super::timed(args, "blocktensor:argmax", layouts, || of_blocked(op, x, axis, &axes))
        .map(Outputs::from)
}

fn strided(
    args: &Args<'_>,
    x: &StridedTensor,
    axis: Option<usize>,
    keepdim: bool,
    axes: &Axes,
) -> Result<StridedTensor> {
    let op = args.op();
    let kept = axes.kept_sizes(x.dims());
    let dims: Dims = if keepdim {
        kept
    } else {
        (0..x.rank()).filter(|&d| !axes.is_reduced[d]).map(|d| x.dims()[d]).collect()
    };
    let mut dst = FormatRule::Contiguous.empty_result(op, &[x], &dims, DType::S32)?;
    let format = match MemoryFormat::channels_last_of(x.rank()) {
        Some(last) if x.is_contiguous(last) && !x.is_contiguous(MemoryFormat::Contiguous) => last,
        _ => MemoryFormat::Contiguous,
    };
    let x = x.dense_at(op, format, args.location())?;
    let order: Dims = match format {
        MemoryFormat::Contiguous => (0..x.rank()).collect(),
        _ => std::iter::once(0).chain(2..x.rank()).chain([1]).collect(),
    };
    let sizes: Vec<usize> = order.iter().map(|&d| x.dims()[d]).collect();
    if dst.numel() == 0 {
        return Ok(dst);
    }
    let Some(axis) = axis else {
        let largest = elementwise::reduce(op, &x, &[], false, &Amax)?.data::<f32>()[0];
        let logical = Dims::from_slice(x.dims());
        let place = |at: usize| {
            let (mut rest, mut index) = (at, [0; crate::MAX_RANK]);
            for (&d, &size) in order.iter().zip(&sizes).rev() {
                index[d] = rest % size;
                rest /= size;
            }
            logical.iter().zip(index).fold(0, |place, (&size, i)| place * size + i)
        };
        dst.result_data::<i32>()[0] = first_of(x.data(), largest, |at| Some(place(at))) as i32;
        return Ok(dst);
    };
    let at = order.iter().position(|&d| d == axis).unwrap_or(0);
    let lines = Lines::new(&sizes, at);
    // The result in the order of the source's memory; it is then put in its own, if that is another.
    let in_order: Vec<usize> = order.iter().map(|&d| kept[d]).collect();
    let mut strides = Dims::filled(0, x.rank());
    let mut step = 1;
    for (&d, &size) in order.iter().zip(&in_order).rev() {
        strides[d] = step;
        step *= size;
    }
    let mut found = StridedTensor::for_result(op, kept, strides, DType::S32)?;
    along(&lines, x.data(), found.result_data());
    if !keepdim {
        found.dims.remove(axis);
        found.strides.remove(axis);
    }
    elementwise::copy_into(op, &mut dst, &found)?;
    Ok(dst)
}

fn of_blocked(
    op: &'static str,
    x: &BlockedTensor,
    axis: Option<usize>,
    axes: &Axes,
) -> Result<BlockedTensor> {
    let view = Lanes::of_blocked(op, x)?;
    let dims = axes.kept_sizes(x.dims());
    let mut dst = BlockedTensor::for_result(op, &dims, x.layout(), DType::S32)?;
    let to = Lanes::of_layout(op, &dims, x.layout())?;
    let out: &mut [i32] = bytemuck::cast_slice_mut(dst.storage_bytes_mut());
    if out.is_empty() {
        return Ok(dst);
    }
    let src = x.data::<f32>();
    match axis {
        None => {
            let largest = blocked::reduce(op, x, axes, &Amax)?.data::<f32>()[0];
            let plane = view.plane_len();
            let place = |at: usize| {
                let (block, inside) = (at / plane, at % plane);
                let channel = block % view.blocks * view.lanes + inside % view.lanes;
                let image = block / view.blocks * view.c + channel;
                (channel < view.c).then_some(image * view.pixels() + inside / view.lanes)
            };
            out.fill(0);
            out[0] = first_of(src, largest, place) as i32;
        }
        Some(1) => to.for_each_piece(out, |p, out| {
            simd::dispatch(Channels { view: &view, src, image: p.n, first: p.first, out });
        }),
        Some(axis) => along(&PaddingColumns::new(&view, x.rank(), axis).lines, src, out),
    }
    Ok(dst)
}

/// The smallest place of an element that equals `largest`; `place` says where an element of the memory is.
fn first_of(src: &[f32], largest: f32, place: impl Fn(usize) -> Option<usize> + Sync) -> usize {
    const PIECE: usize = 16 << 10;
    let first = std::sync::atomic::AtomicUsize::new(usize::MAX);
    parallel_for(src.len().div_ceil(PIECE), |i| {
        let piece = &src[i * PIECE..((i + 1) * PIECE).min(src.len())];
        if !simd::dispatch(Holds { piece, largest }) {
            return;
        }
        let equal = |&(_, &x): &(usize, &f32)| x == largest || x.is_nan() && largest.is_nan();
        let places = piece.iter().enumerate().filter(equal).filter_map(|(at, _)| place(i * PIECE + at));
        if let Some(p) = places.min() {
            first.fetch_min(p, std::sync::atomic::Ordering::Relaxed);
        }
    });
    first.into_inner()
}

/// Whether a piece holds an element that equals `largest`.
struct Holds<'a> {
    piece: &'a [f32],
    largest: f32,
}

impl Loop for Holds<'_> {
    type Out = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let nan = u32::from(self.largest.is_nan());
        let equal = |x: f32| u32::from(x == self.largest) | (nan & u32::from(x.is_nan()));
        let (whole, rest) = self.piece.as_chunks::<16>();
        let mut found = [0u32; 16];
        for x in whole {
            for l in 0..16 {
                found[l] |= equal(x[l]);
            }
        }
        found.iter().any(|&f| f != 0) || rest.iter().any(|&x| equal(x) != 0)
    }
}

/// Whether `x` goes before `best`, which was found earlier.
#[inline(always)]
fn beats(x: f32, best: f32) -> bool {
    (x > best) | (x.is_nan() & !best.is_nan())
}

fn along(lines: &Lines, src: &[f32], dst: &mut [i32]) {
    lines.for_each(src, dst, 1, |from, mut to| match from.line() {
        Some(line) => to.row(0)[0] = simd::dispatch(Line(line)),
        None => simd::dispatch(SideBySide { from: &from, to: &mut to }),
    });
}

/// The largest so far of each of 16 lanes, and the chunk that it was in.
struct Best {
    value: [f32; 16],
    chunk: [i32; 16],
}

impl Best {
    #[inline(always)]
    fn new() -> Best {
        Best { value: [f32::NEG_INFINITY; 16], chunk: [0; 16] }
    }

    #[inline(always)]
    fn take(&mut self, chunk: usize, x: [f32; 16]) {
        for l in 0..16 {
            let better = beats(x[l], self.value[l]);
            self.value[l] = if better { x[l] } else { self.value[l] };
            self.chunk[l] = if better { chunk as i32 } else { self.chunk[l] };
        }
    }

    /// The first place of the largest, where a chunk has so many elements. Lanes that had none are beyond the places of
    /// all that had.
    #[inline(always)]
    fn place(&self, chunk: usize) -> i32 {
        let mut most = self.value;
        let mut half = 8;
        while half > 0 {
            for l in 0..half {
                most[l] = larger(most[l], most[l + half]);
            }
            half /= 2;
        }
        let (most, nan) = (most[0], most[0].is_nan());
        let mut place = [i32::MAX; 16];
        for l in 0..16 {
            let is_most = (self.value[l] == most) | (nan & self.value[l].is_nan());
            let at = self.chunk[l] * chunk as i32 + l as i32;
            place[l] = if is_most { at } else { i32::MAX };
        }
        let mut half = 8;
        while half > 0 {
            for l in 0..half {
                place[l] = place[l].min(place[l + half]);
            }
            half /= 2;
        }
        place[0]
    }
}

/// One line whose elements follow each other.
struct Line<'a>(&'a [f32]);

impl Loop for Line<'_> {
    type Out = i32;
    #[inline(always)]
    fn run(self) -> i32 {
        let (whole, rest) = self.0.as_chunks::<16>();
        let mut best = Best::new();
        for (chunk, x) in whole.iter().enumerate() {
            best.take(chunk, *x);
        }
        let mut last = [f32::NEG_INFINITY; 16];
        last[..rest.len()].copy_from_slice(rest);
        best.take(whole.len(), last);
        best.place(16)
    }
}

/// Lines side by side: vectors run across them.
struct SideBySide<'a, 'b> {
    from: &'a Columns<'b>,
    to: &'a mut ColumnsMut<i32>,
}

impl SideBySide<'_, '_> {
    #[inline(always)]
    fn columns<const V: usize>(from: &Columns<'_>, to: &mut [i32], at: usize) {
        let width = to.len();
        let (mut best, mut place) = ([0f32; V], [0i32; V]);
        best[..width].copy_from_slice(&from.row(0)[at..at + width]);
        for a in 1..from.len {
            let row = &from.row(a)[at..at + width];
            if let Some(&row) = row.first_chunk::<V>() {
                for l in 0..V {
                    let better = beats(row[l], best[l]);
                    best[l] = if better { row[l] } else { best[l] };
                    place[l] = if better { a as i32 } else { place[l] };
                }
            } else {
                for ((&x, best), place) in row.iter().zip(&mut best).zip(&mut place) {
                    if beats(x, *best) {
                        (*best, *place) = (x, a as i32);
                    }
                }
            }
        }
        to.copy_from_slice(&place[..width]);
    }
}

impl Loop for SideBySide<'_, '_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let SideBySide { from, to } = self;
        let row = to.row(0);
        if row.len() == WIDTH {
            return Self::columns::<WIDTH>(from, row, 0);
        }
        for (i, to) in row.chunks_mut(16).enumerate() {
            Self::columns::<16>(from, to, i * 16);
        }
    }
}

/// Over the channels of some pixels of one image: blocks of lanes, of which the last may have padding.
struct Channels<'a> {
    view: &'a Lanes,
    src: &'a [f32],
    image: usize,
    first: usize,
    out: &'a mut [i32],
}

impl Loop for Channels<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Channels { view, src, image, first, out } = self;
        let lanes = view.lanes;
        for (pixel, out) in out.chunks_exact_mut(lanes).enumerate() {
            let start = image * view.stride_n + (first + pixel) * lanes;
            let mut found: Option<(f32, i32)> = None;
            for group in (0..lanes).step_by(16) {
                let mut best = Best::new();
                for block in 0..view.blocks {
                    let at = start + block * view.stride_block + group;
                    let used = view.lanes_in(block).saturating_sub(group);
                    best.take(block, lanes_of(&src[at..], 16.min(lanes - group), used));
                }
                let place = best.place(lanes) + group as i32;
                if lanes <= 16 {
                    found = Some((0.0, place));
                    break;
                }
                // Wide blocks: the groups' places interleave, and the first of equal ones wins.
                let channel = place as usize;
                let at = start + channel / lanes * view.stride_block + channel % lanes;
                let Some(&value) = src.get(at).filter(|_| channel < view.c) else { continue };
                found = match found {
                    Some((v, p)) if !(beats(value, v) || !beats(v, value) && place < p) => Some((v, p)),
                    _ => Some((value, place)),
                };
            }
            out.fill(0);
            out[0] = found.map_or(0, |(_, place)| place);
        }
    }
}

/// The first `used` of `width` lanes, filled up with -inf.
#[inline(always)]
fn lanes_of(src: &[f32], width: usize, used: usize) -> [f32; 16] {
    let mut x = [f32::NEG_INFINITY; 16];
    match src.first_chunk::<16>() {
        Some(row) if width == 16 => x = *row,
        _ => x[..width].copy_from_slice(&src[..width]),
    }
    if used < 16 {
        for l in 0..16 {
            x[l] = if l < used { x[l] } else { f32::NEG_INFINITY };
        }
    }
    x
}
