//! Where the largest element is.

use crate::dtype::DType;
use crate::elementwise;
use crate::error::{Result, fail};
use crate::kernels::along_axis::{AxisLines, MAX_COLUMNS, SourceColumns, gather_channels, with_scratch};
use crate::kernels::lanes::{Lanes, for_each_chunk_by};
use crate::kernels::reduce::Axes;
use crate::kernels::reduce::blocked;
use crate::kernels::reduce::folds::{Amax, larger};
use crate::key::DispatchKey;
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::MemoryFormat;
use crate::op::schema::{data, flag, ints};
use crate::op::{Arg, Args, Kernel, KernelResult, Op, Results, Schema};

use crate::simd::{self, Loop};
use crate::tensor::any::Operand;
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;
use crate::threads::parallel_for;

static SCHEMA: Schema = Schema::new("argmax", &[data("x"), ints("axis", &[]), flag("keepdim", false)]);
pub(super) static OP: Op = Op::new(&SCHEMA).on_both(Kernel::rust(&kernel));

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
/// result is row-major, or with `keepdim` in the format that `x` is tagged with. Blocked: as [`crate::ops::reduce::sum`].
///
/// # Errors
/// `InvalidArgument` for an axis that is not there, for several axes, and for a largest of no elements; `Overflow` for
/// more elements than s32 counts; `OpaqueLayout` for a blocked `x` without `keepdim`; `UnsupportedDType`,
/// `LayoutMismatch`.
#[track_caller]
pub fn argmax<T: Operand>(x: &T, axis: Option<usize>, keepdim: bool) -> Result<T> {
    OP.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Sizes(axis.as_slice()), Arg::Bool(keepdim)])
}

fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
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
        let dims = elementwise::reduced_dims(op, x, &axes.list, keepdim)?;
        let dst = results.by_rule(FormatRule::Contiguous, &[x], &dims, DType::S32)?;
        let layouts = || x.format_name();
        return Ok(crate::kernels::timed(args, "blocktensor:argmax", layouts, || {
            strided(args, x, axis, keepdim, &axes, dst)
        })?);
    }
    axes.check_keepdim(args, keepdim)?;
    let x = args.blocked(0)?;
    Lanes::of_blocked(op, x)?;
    let dst = results.blocked(&axes.kept_sizes(x.dims()), x.layout(), DType::S32)?;
    let layouts = || x.layout().to_string();
    let work = || of_blocked(op, x, axis, &axes, dst);
    Ok(crate::kernels::timed(args, "blocktensor:argmax", layouts, work)?)
}

fn strided(
    args: &Args<'_>,
    x: &StridedTensor,
    axis: Option<usize>,
    keepdim: bool,
    axes: &Axes,
    dst: &mut StridedTensor,
) -> Result<()> {
    let op = args.op();
    let kept = axes.kept_sizes(x.dims());
    let format = match MemoryFormat::channels_last_of(x.rank()) {
        Some(last) if x.is_contiguous(last) && !x.is_contiguous(MemoryFormat::Contiguous) => last,
        _ => MemoryFormat::Contiguous,
    };
    let x = x.dense_at(op, format, args.location())?;
    let order: Dims = match format {
        MemoryFormat::Contiguous => (0..x.rank()).to_dims(),
        _ => std::iter::once(0).chain(2..x.rank()).chain([1]).to_dims(),
    };
    let sizes: Vec<usize> = order.iter().map(|&d| x.dims()[d]).collect();
    if dst.numel() == 0 {
        return Ok(());
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
        return Ok(());
    };
    let at = order.iter().position(|&d| d == axis).unwrap_or(0);
    let lines = AxisLines::new(&sizes, at);
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
    elementwise::copy_into(op, dst, &found)
}

fn of_blocked(
    op: &'static str,
    x: &BlockedTensor,
    axis: Option<usize>,
    axes: &Axes,
    dst: &mut BlockedTensor,
) -> Result<()> {
    let view = Lanes::of_blocked(op, x)?;
    let dims = axes.kept_sizes(x.dims());
    let to = Lanes::of_layout(op, &dims, x.layout())?;
    let out: &mut [i32] = bytemuck::cast_slice_mut(dst.storage_bytes_mut());
    if out.is_empty() {
        return Ok(());
    }
    let src = x.data::<f32>();
    match axis {
        None => {
            let mut largest = BlockedTensor::for_result(op, &dims, x.layout(), DType::F32)?;
            blocked::reduce(op, x, axes, &Amax, &mut largest)?;
            let largest = largest.data::<f32>()[0];
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
        Some(1) => over_channels(&view, &to, src, out),
        Some(axis) => along(&AxisLines::of_blocked(&view, x.rank(), axis), src, out),
    }
    Ok(())
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
        let Holds { piece, largest } = self;
        let count =
            |equal: fn(f32, f32) -> bool| piece.iter().map(|&x| u32::from(equal(x, largest))).sum::<u32>();
        let found = if largest.is_nan() { count(|x, _| x.is_nan()) } else { count(|x, y| x == y) };
        found > 0
    }
}

fn along(lines: &AxisLines, src: &[f32], dst: &mut [i32]) {
    let AxisLines { len, inner, .. } = *lines;
    match lines.groups_at_once() {
        Some(together) => {
            let bytes = together * inner * len * size_of::<f32>();
            for_each_chunk_by(dst, together * inner, bytes, |i, dst| {
                with_scratch(len * MAX_COLUMNS, |rows| {
                    lines.gather(&src[i * together * inner * len..][..dst.len() * len], rows);
                    dst.copy_from_slice(&simd::dispatch(SideBySide { rows: InPlace(rows) })[..dst.len()]);
                });
            });
        }
        None if inner == 1 => {
            let line = |i: usize, dst: &mut [i32]| dst[0] = simd::dispatch(Line(&src[i * len..][..len]));
            for_each_chunk_by(dst, 1, len * size_of::<f32>(), line);
        }
        None => lines.for_each(src, dst, 1, |from, mut to| {
            let dst = to.row(0);
            let places = match dst.len() {
                MAX_COLUMNS => simd::dispatch(SideBySide { rows: Direct(&from) }),
                _ => simd::dispatch(SideBySide { rows: Narrow(&from) }),
            };
            dst.copy_from_slice(&places[..dst.len()]);
        }),
    }
}

/// Over the channels of a blocked tensor: those of some pixels are put side by side.
fn over_channels(view: &Lanes, to: &Lanes, src: &[f32], dst: &mut [i32]) {
    to.for_each_pixel_run(dst, |p, dst| {
        for (tile, dst) in dst.chunks_mut(MAX_COLUMNS * to.lanes).enumerate() {
            let (first, pixels) = (p.first + tile * MAX_COLUMNS, dst.len() / to.lanes);
            with_scratch(view.c * MAX_COLUMNS, |rows| {
                gather_channels(view, src, p.n, first, pixels, rows);
                let places = simd::dispatch(SideBySide { rows: InPlace(rows) });
                dst.fill(0);
                dst.iter_mut().step_by(to.lanes).zip(places).for_each(|(y, place)| *y = place);
            });
        }
    });
}

/// One long line: its largest first, then the place of the first that equals it.
struct Line<'a>(&'a [f32]);

impl Loop for Line<'_> {
    type Out = i32;
    #[inline(always)]
    fn run(self) -> i32 {
        let (whole, rest) = self.0.as_chunks::<16>();
        let mut lanes = [f32::NEG_INFINITY; 16];
        for x in whole {
            for l in 0..16 {
                lanes[l] = larger(lanes[l], x[l]);
            }
        }
        let most = lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, &b| larger(a, b));
        let is_most = |x: &f32| *x == most || x.is_nan() && most.is_nan();
        self.0.iter().position(is_most).unwrap_or(0) as i32
    }
}

/// Where rows of lines side by side are.
trait Rows {
    fn len(&self) -> usize;
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS];
}

/// In scratch.
struct InPlace<'a>(&'a [f32]);

impl Rows for InPlace<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len() / MAX_COLUMNS
    }
    #[inline(always)]
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS] {
        *self.0[row * MAX_COLUMNS..].first_chunk().unwrap_or(&[0.0; MAX_COLUMNS])
    }
}

/// In the tensor.
struct Direct<'a, 'b>(&'a SourceColumns<'b>);

impl Rows for Direct<'_, '_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len
    }
    #[inline(always)]
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS] {
        *self.0.row(row).first_chunk().unwrap_or(&[0.0; MAX_COLUMNS])
    }
}

/// In the tensor, and fewer than a vector loop takes.
struct Narrow<'a, 'b>(&'a SourceColumns<'b>);

impl Rows for Narrow<'_, '_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len
    }
    #[inline(always)]
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS] {
        let (mut x, row) = ([0f32; MAX_COLUMNS], self.0.row(row));
        x[..row.len()].copy_from_slice(row);
        x
    }
}

/// [`MAX_COLUMNS`] lines side by side: vectors run across them.
struct SideBySide<R> {
    rows: R,
}

impl<R: Rows> Loop for SideBySide<R> {
    type Out = [i32; MAX_COLUMNS];
    #[inline(always)]
    fn run(self) -> [i32; MAX_COLUMNS] {
        let (mut best, mut place) = (self.rows.load(0), [0i32; MAX_COLUMNS]);
        for row in 1..self.rows.len() {
            let x = self.rows.load(row);
            for l in 0..MAX_COLUMNS {
                // Better than what was found earlier: larger, or the first NaN.
                let better = (x[l] > best[l]) | (x[l].is_nan() & !best[l].is_nan());
                best[l] = if better { x[l] } else { best[l] };
                place[l] = if better { row as i32 } else { place[l] };
            }
            simd::end_of_chunk();
        }
        place
    }
}
