//! `argmax`: the index of the largest element.

use crate::dtype::DType;
use crate::elementwise::{self, larger};
use crate::error::{Result, fail};
use crate::kernels::along_axis::{AxisLines, MAX_COLUMNS, SourceColumns, gather_channels, with_scratch};
use crate::kernels::lanes::{Lanes, for_each_chunk_by};
use crate::kernels::reduce::{Axes, blocked};
use crate::kernels::timed;
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::MemoryFormat;
use crate::op::params::{AxisList, Params, params, with_params};
use crate::op::schema::{AxesOf, data, flag, ints, output_of};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::simd::{self, Loop};
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

params! {
    /// Parameters of argmax. `axis` is a list because it may be empty, which means the whole tensor; it has one axis at most.
    struct Argmax {
        axis: AxisList => ints("axis", &[]).axes_of(AxesOf::Operand),
        keepdim: bool => flag("keepdim", false),
    }
}

const ARGS: &[ArgSpec] = &with_params::<3>(&[data("x").f32()], Argmax::SPECS);
pub(super) static ARGMAX: Op = Op::new(
    &Schema::new("argmax", ARGS)
        .with_outputs(&[output_of("dst", DType::S32)])
        .without_gradient("its results are indices"),
)
.with(&Kernel::rust(&run).needing_dense().on_both());

/// Index of the largest element along `axis`, as `torch.argmax`. Without an axis, the index in the whole tensor in row-major
/// order of its logical dimensions, whatever the layout. The first index if several elements are equal; NaN counts as the
/// largest.
///
/// ```
/// use blocktensor::{StridedTensor, ops};
/// let x = StridedTensor::from_slice(&[1f32, 7.0, 3.0, 9.0, 2.0, 4.0], &[2, 3])?;
/// assert_eq!(ops::argmax(&x, Some(1), false)?.to_vec::<i32>()?, [1, 0]);
/// assert_eq!(ops::argmax(&x, None, false)?.to_vec::<i32>()?, [3]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// Any `x` with elements; a negative `axis` counts from the last. With `keepdim` the axis (without an axis: every axis) stays
/// with size 1, else it is removed.
///
/// # Dtypes
/// f32; the result is s32.
///
/// # Layouts
/// Strided: row-major and channels-last tensors are read in place. Other views are copied first, which the ledger counts.
/// The result is row-major, or with `keepdim` in the format that `x` is tagged with. Blocked: as [`crate::ops::sum`].
///
/// # Errors
/// `InvalidArgument` for an axis that does not exist, for several axes, and for a largest of no elements; `Overflow` if an
/// index does not fit into s32; `OpaqueLayout` for a blocked `x` without `keepdim`; `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn argmax<T: Operand>(x: &T, axis: Option<i64>, keepdim: bool) -> Result<T> {
    let axis = AxisList::of(axis.as_slice());
    ARGMAX.call_with(&[Arg::Tensor(x.tensor_ref())], &Argmax { axis, keepdim })
}

fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    let Argmax { axis, keepdim } = Argmax::read(args)?;
    let axes = Axes::new(args, "axis", &axis)?;
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
    let candidates = axis.map_or(x.dims().iter().product(), |a| x.dims()[a]);
    if i32::try_from(candidates).is_err() {
        fail!(
            Overflow,
            op,
            "x",
            x.describe(),
            format!("an index up to {candidates} does not fit into s32"),
            "use a smaller tensor"
        );
    }
    let layout = || x.layout_name();
    match x {
        TensorRef::Strided(x) => {
            let dims = elementwise::reduced_dims(op, x, &axes.list, keepdim)?;
            let dst = results.by_rule(FormatRule::Contiguous, &[x], &dims, DType::S32)?;
            let work = || argmax_strided(args, x, axis, keepdim, &axes, dst);
            timed(args, "blocktensor:argmax", layout, work)?;
        }
        TensorRef::Blocked(x) => {
            axes.check_keepdim(args, keepdim)?;
            Lanes::of_blocked(op, x)?;
            let dst = results.blocked(&axes.kept_sizes(x.dims()), x.layout(), DType::S32)?;
            let work = || argmax_blocked(op, x, axis, &axes, dst);
            timed(args, "blocktensor:argmax", layout, work)?;
        }
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
    }
    Ok(())
}

fn argmax_strided(
    args: &Args<'_>,
    x: &StridedTensor,
    axis: Option<usize>,
    keepdim: bool,
    axes: &Axes,
    dst: &mut StridedTensor,
) -> Result<()> {
    let op = args.op();
    if dst.numel() == 0 {
        return Ok(());
    }
    let kept = axes.kept_sizes(x.dims());
    let format = match MemoryFormat::channels_last_of(x.rank()) {
        Some(last) if x.is_contiguous(last) && !x.is_contiguous(MemoryFormat::Contiguous) => last,
        _ => MemoryFormat::Contiguous,
    };
    let x = x.dense_at(op, format, args.location())?;
    let Some(axis) = axis else {
        dst.result_data::<i32>()[0] = elementwise::argmax_of(op, &x)? as i32;
        return Ok(());
    };
    let order: Dims = match format {
        MemoryFormat::Contiguous => (0..x.rank()).to_dims(),
        _ => std::iter::once(0).chain(2..x.rank()).chain([1]).to_dims(),
    };
    let sizes: Vec<usize> = order.iter().map(|&d| x.dims()[d]).collect();
    let at = order.iter().position(|&d| d == axis).unwrap_or(0);
    let lines = AxisLines::new(&sizes, at);
    // The result is computed in the order of the source's memory, and then copied into its own order.
    let in_order: Vec<usize> = order.iter().map(|&d| kept[d]).collect();
    let mut strides = Dims::filled(0, x.rank());
    let mut step = 1;
    for (&d, &size) in order.iter().zip(&in_order).rev() {
        strides[d] = step;
        step *= size;
    }
    let mut found = StridedTensor::for_result(op, kept, strides, DType::S32)?;
    along_lines(&lines, x.data(), found.result_data());
    if !keepdim {
        found.dims.remove(axis);
        found.strides.remove(axis);
    }
    elementwise::copy_into(op, dst, &found)
}

fn argmax_blocked(
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
            out.fill(0);
            out[0] = blocked::argmax_of(op, x, axes)? as i32;
        }
        Some(1) => over_channels(&view, &to, src, out),
        Some(axis) => along_lines(&AxisLines::of_blocked(&view, x.rank(), axis), src, out),
    }
    Ok(())
}

/// The argmax of every line of a dense tensor.
///
/// It is no fold of reductions, which would be slower. With pairs of value and index their loops did not become vectors, and took 2 to
/// 10 times as long. Values first and indices after them cost more, too: `amax` alone took up to 1.6 times as long for short lines.
fn along_lines(lines: &AxisLines, src: &[f32], dst: &mut [i32]) {
    let AxisLines { len, inner, .. } = *lines;
    match lines.groups_at_once() {
        Some(together) => {
            let bytes = together * inner * len * size_of::<f32>();
            for_each_chunk_by(dst, together * inner, bytes, |i, dst| {
                with_scratch(len * MAX_COLUMNS, |rows| {
                    lines.gather(&src[i * together * inner * len..][..dst.len() * len], rows);
                    dst.copy_from_slice(
                        &simd::dispatch(ArgmaxOfLines { rows: ScratchRows(rows) })[..dst.len()],
                    );
                });
            });
        }
        None if inner == 1 => {
            let line =
                |i: usize, dst: &mut [i32]| dst[0] = simd::dispatch(ArgmaxOfLine(&src[i * len..][..len]));
            for_each_chunk_by(dst, 1, len * size_of::<f32>(), line);
        }
        None => lines.for_each(src, dst, 1, |from, mut to| {
            let dst = to.row(0);
            let indices = match dst.len() {
                MAX_COLUMNS => simd::dispatch(ArgmaxOfLines { rows: TensorRows(&from) }),
                _ => simd::dispatch(ArgmaxOfLines { rows: NarrowTensorRows(&from) }),
            };
            dst.copy_from_slice(&indices[..dst.len()]);
        }),
    }
}

/// The argmax over the channels of a blocked tensor. The channels of some pixels are gathered in scratch, side by side.
fn over_channels(view: &Lanes, to: &Lanes, src: &[f32], dst: &mut [i32]) {
    to.for_each_pixel_run(dst, |p, dst| {
        for (tile, dst) in dst.chunks_mut(MAX_COLUMNS * to.lanes).enumerate() {
            let (first, pixels) = (p.first + tile * MAX_COLUMNS, dst.len() / to.lanes);
            with_scratch(view.c * MAX_COLUMNS, |rows| {
                gather_channels(view, src, p.n, first, pixels, rows, &mut []);
                let indices = simd::dispatch(ArgmaxOfLines { rows: ScratchRows(rows) });
                dst.fill(0);
                dst.iter_mut().step_by(to.lanes).zip(indices).for_each(|(y, index)| *y = index);
            });
        }
    });
}

/// The argmax of one long line: first its largest element, then the index of the first element that equals it.
struct ArgmaxOfLine<'a>(&'a [f32]);

impl Loop for ArgmaxOfLine<'_> {
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
        let largest = lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, &b| larger(a, b));
        let equal = |x: &f32| *x == largest || x.is_nan() && largest.is_nan();
        self.0.iter().position(equal).unwrap_or(0) as i32
    }
}

/// AxisLines side by side: row `i` holds element `i` of each of [`MAX_COLUMNS`] lines.
trait LineRows {
    fn len(&self) -> usize;
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS];
}

/// Rows in scratch.
struct ScratchRows<'a>(&'a [f32]);

impl LineRows for ScratchRows<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len() / MAX_COLUMNS
    }
    #[inline(always)]
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS] {
        *self.0[row * MAX_COLUMNS..].first_chunk().unwrap_or(&[0.0; MAX_COLUMNS])
    }
}

/// Full rows, read from the tensor.
struct TensorRows<'a, 'b>(&'a SourceColumns<'b, f32>);

impl LineRows for TensorRows<'_, '_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len
    }
    #[inline(always)]
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS] {
        *self.0.row(row).first_chunk().unwrap_or(&[0.0; MAX_COLUMNS])
    }
}

/// Rows of fewer than [`MAX_COLUMNS`] lines, read from the tensor and filled up with zeros.
struct NarrowTensorRows<'a, 'b>(&'a SourceColumns<'b, f32>);

impl LineRows for NarrowTensorRows<'_, '_> {
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

/// The argmax of [`MAX_COLUMNS`] lines side by side. Each vector lane belongs to a line.
struct ArgmaxOfLines<R> {
    rows: R,
}

impl<R: LineRows> Loop for ArgmaxOfLines<R> {
    type Out = [i32; MAX_COLUMNS];
    #[inline(always)]
    fn run(self) -> [i32; MAX_COLUMNS] {
        let (mut best, mut index) = (self.rows.load(0), [0i32; MAX_COLUMNS]);
        for row in 1..self.rows.len() {
            let x = self.rows.load(row);
            for l in 0..MAX_COLUMNS {
                // Larger than all earlier elements, or the first NaN.
                let better = (x[l] > best[l]) | (x[l].is_nan() & !best[l].is_nan());
                best[l] = if better { x[l] } else { best[l] };
                index[l] = if better { row as i32 } else { index[l] };
            }
            simd::end_of_chunk();
        }
        index
    }
}
