//! Softmax and log-softmax over any axis.

use crate::error::Result;
use crate::int::{Int, Scalars};
use crate::kernels::along_axis::{
    AxisLines, MAX_COLUMNS, ResultColumns, SourceColumns, gather_channels, transpose, with_scratch,
};
use crate::kernels::lanes::Lanes;
use crate::kernels::same_shape::OperandAndResult;
use crate::math::{self, Arithmetic};
use crate::op::params::{Axis, Params, params, with_params};
use crate::op::schema::{data, required_axis};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::simd::{self, MathLoop};
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;

params! {
    /// The number among the arguments of softmax and log-softmax.
    pub(crate) struct SoftmaxOptions {
        axis: Axis => required_axis("axis"),
    }
}

const ARGS: &[ArgSpec] = &with_params::<2>(&[data("x").f32()], SoftmaxOptions::SPECS);
static SOFTMAX: Op = Op::new(&Schema::new("softmax", ARGS).dst_like_x())
    .with(&Kernel::rust(&run::<false>).needing_dense().on_both());
static LOG_SOFTMAX: Op = Op::new(&Schema::new("log_softmax", ARGS).dst_like_x())
    .with(&Kernel::rust(&run::<true>).needing_dense().on_both());

pub(super) const OPS: &[&Op] = &[&SOFTMAX, &LOG_SOFTMAX];

/// `exp(x) / sum(exp(x))` along `axis`, as `torch.nn.functional.softmax`.
///
/// The largest element is subtracted first, so that nothing overflows. A line of elements along `axis` becomes NaN if all its
/// elements are `-inf`, or if it contains a NaN or `inf`, as in PyTorch.
///
/// ```
/// use blocktensor::StridedTensor;
/// use blocktensor::ops::softmax;
/// let x = StridedTensor::from_slice(&[0f32, 0.0, 0.0, f32::NEG_INFINITY], &[2, 2])?;
/// let y = softmax(&x, 1)?;
/// assert_eq!(y.to_vec::<f32>()?, [0.5, 0.5, 1.0, 0.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// Any `x`; the result has its sizes. A negative `axis` counts from the last.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided: the result is row-major, or in the format that `x` is tagged with. An `x` that is not dense in this format is
/// copied; the ledger counts the copy. Blocked: any layout that blocks only the channels, and any axis; the result keeps the
/// layout.
///
/// # Errors
/// `InvalidArgument` for an axis that `x` does not have; `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn softmax<T: Operand>(x: &T, axis: impl Int) -> Result<T> {
    SOFTMAX.call_with(&[Arg::Tensor(x.tensor_ref())], &SoftmaxOptions { axis: Axis::of(axis) })
}

/// `x - log(sum(exp(x)))` along `axis`, as `torch.nn.functional.log_softmax`.
///
/// # Shapes
/// As [`softmax`].
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// As [`softmax`].
///
/// # Errors
/// As [`softmax`].
#[track_caller]
pub fn log_softmax<T: Operand>(x: &T, axis: impl Int) -> Result<T> {
    LOG_SOFTMAX.call_with(&[Arg::Tensor(x.tensor_ref())], &SoftmaxOptions { axis: Axis::of(axis) })
}

/// The kernel for both keys.
fn run<const LOG: bool>(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let op = args.op();
    let x = args.tensor(0)?;
    let axis = SoftmaxOptions::read(args)?.axis.among(op, x.dims().len(), Scalars::HaveOneAxis)?;
    let mut tensors = OperandAndResult::new(args, results, FormatRule::Contiguous)?;
    let name = tensors.layout_name();
    if tensors.layout().is_some() {
        let view = tensors.lanes(op)?;
        let (src, dst) = tensors.slices();
        crate::kernels::timed(
            args,
            "blocktensor:softmax",
            || name,
            || blocked(&view, x.dims().len(), axis, LOG, src, dst),
        );
    } else {
        let order = tensors.memory_order();
        let mut sizes: Vec<usize> = order.iter().map(|&d| x.dims()[d]).collect();
        if sizes.is_empty() {
            // A scalar is one line of one element.
            sizes.push(1);
        }
        let position = order.iter().position(|&d| d == axis).unwrap_or(0);
        let lines = AxisLines::new(&sizes, position);
        let (src, dst) = tensors.slices();
        crate::kernels::timed(args, "blocktensor:softmax", || name, || along_lines(&lines, LOG, src, dst));
    }
    Ok(())
}

fn blocked(view: &Lanes, rank: usize, axis: usize, log: bool, src: &[f32], dst: &mut [f32]) {
    if axis == 1 {
        return along_channels(view, log, src, dst);
    }
    along_lines(&AxisLines::of_blocked(view, rank, axis), log, src, dst);
    view.clear_padding(dst);
}

/// Softmax along lines of a dense tensor.
fn along_lines(lines: &AxisLines, log: bool, src: &[f32], dst: &mut [f32]) {
    let in_scratch = |rows: &mut [f32]| {
        let rows = ScratchRows(rows.as_chunks_mut().0);
        simd::dispatch_math(SoftmaxLoop { len: lines.len, rows, log });
    };
    lines.for_each_wide(src, dst, in_scratch, |from, to| {
        let width = from.width;
        let mut rows = TensorRows { from, to };
        if width == MAX_COLUMNS {
            simd::dispatch_math(SoftmaxLoop { len: lines.len, rows: &mut rows, log });
        } else {
            simd::dispatch_math(SoftmaxLoop { len: lines.len, rows: NarrowTensorRows(&mut rows), log });
        }
    });
}

/// Softmax over the channels of a blocked tensor. The channels of a tile of pixels are copied to rows of scratch, without the
/// padding.
fn along_channels(view: &Lanes, log: bool, src: &[f32], dst: &mut [f32]) {
    view.for_each_tile(dst, MAX_COLUMNS, |mut tile| {
        with_scratch(view.c * MAX_COLUMNS, |rows| {
            gather_channels(
                view,
                src,
                tile.geometry().n,
                tile.geometry().first,
                tile.geometry().pixels,
                rows,
            );
            let in_scratch = ScratchRows(rows.as_chunks_mut().0);
            simd::dispatch_math(SoftmaxLoop { len: view.c, rows: in_scratch, log });
            for block in 0..view.blocks {
                let (used, pixels) = (view.lanes_in(block), tile.geometry().pixels);
                let dst = tile.block(block);
                transpose(
                    (&mut *dst, view.lanes),
                    (&rows[block * view.lanes * MAX_COLUMNS..], MAX_COLUMNS),
                    pixels,
                    used,
                );
                if used < view.lanes {
                    dst.chunks_exact_mut(view.lanes).for_each(|lanes| lanes[used..].fill(0.0));
                }
            }
        });
    });
}

/// The rows that [`SoftmaxLoop`] reads and writes: row `i` has element `i` of each of [`MAX_COLUMNS`] lines.
trait LineRows {
    /// A row of the source.
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS];
    /// Writes a row of the result.
    fn store(&mut self, row: usize, y: &[f32; MAX_COLUMNS]);
    /// A row of the result that was stored before.
    fn stored(&self, row: usize) -> [f32; MAX_COLUMNS];
}

/// Rows in scratch memory: the result replaces the source.
struct ScratchRows<'a>(&'a mut [[f32; MAX_COLUMNS]]);

impl LineRows for ScratchRows<'_> {
    #[inline(always)]
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS] {
        self.0[row]
    }
    #[inline(always)]
    fn store(&mut self, row: usize, y: &[f32; MAX_COLUMNS]) {
        self.0[row] = *y;
    }
    #[inline(always)]
    fn stored(&self, row: usize) -> [f32; MAX_COLUMNS] {
        self.0[row]
    }
}

/// Rows in the tensors themselves, [`MAX_COLUMNS`] elements wide.
struct TensorRows<'a> {
    from: SourceColumns<'a>,
    to: ResultColumns<'a, f32>,
}

impl LineRows for &mut TensorRows<'_> {
    #[inline(always)]
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS] {
        *self.from.row(row).first_chunk().unwrap_or(&[0.0; MAX_COLUMNS])
    }
    #[inline(always)]
    fn store(&mut self, row: usize, y: &[f32; MAX_COLUMNS]) {
        self.to.row(row).copy_from_slice(y);
    }
    #[inline(always)]
    fn stored(&self, row: usize) -> [f32; MAX_COLUMNS] {
        *self.to.get(row).first_chunk().unwrap_or(&[0.0; MAX_COLUMNS])
    }
}

/// Rows in the tensors themselves that are narrower than [`MAX_COLUMNS`]: the loop computes with zeros in the missing columns.
struct NarrowTensorRows<'a, 'b>(&'a mut TensorRows<'b>);

#[inline(always)]
fn widened(row: &[f32]) -> [f32; MAX_COLUMNS] {
    let mut x = [0f32; MAX_COLUMNS];
    x[..row.len()].copy_from_slice(row);
    x
}

impl LineRows for NarrowTensorRows<'_, '_> {
    #[inline(always)]
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS] {
        widened(self.0.from.row(row))
    }
    #[inline(always)]
    fn store(&mut self, row: usize, y: &[f32; MAX_COLUMNS]) {
        let to = self.0.to.row(row);
        to.copy_from_slice(&y[..to.len()]);
    }
    #[inline(always)]
    fn stored(&self, row: usize) -> [f32; MAX_COLUMNS] {
        widened(self.0.to.get(row))
    }
}

/// Softmax of [`MAX_COLUMNS`] lines side by side: each vector has one element of each line. The result of a line depends
/// neither on the lines beside it nor on the layout.
struct SoftmaxLoop<R> {
    rows: R,
    len: usize,
    log: bool,
}

impl<R: LineRows> MathLoop for SoftmaxLoop<R> {
    type Out = ();
    #[inline(always)]
    fn run<M: Arithmetic>(self) {
        let SoftmaxLoop { mut rows, len, log } = self;
        let mut max = [f32::NEG_INFINITY; MAX_COLUMNS];
        for row in 0..len {
            let x = rows.load(row);
            for l in 0..MAX_COLUMNS {
                max[l] = if x[l] > max[l] { x[l] } else { max[l] };
            }
            simd::end_of_chunk();
        }
        let mut sum = [0f64; MAX_COLUMNS];
        for row in 0..len {
            let x = rows.load(row);
            let mut e = [0f32; MAX_COLUMNS];
            for l in 0..MAX_COLUMNS {
                e[l] = math::exp::<M>(x[l] - max[l]);
            }
            for l in 0..MAX_COLUMNS {
                sum[l] += f64::from(e[l]);
            }
            if !log {
                rows.store(row, &e);
            }
            simd::end_of_chunk();
        }
        let mut last = [0f32; MAX_COLUMNS];
        for l in 0..MAX_COLUMNS {
            last[l] = if log { math::log::<M>(sum[l] as f32) } else { (1.0 / sum[l]) as f32 };
        }
        for row in 0..len {
            let mut y = if log { rows.load(row) } else { rows.stored(row) };
            for l in 0..MAX_COLUMNS {
                y[l] = if log { y[l] - max[l] - last[l] } else { y[l] * last[l] };
            }
            rows.store(row, &y);
            simd::end_of_chunk();
        }
    }
}
