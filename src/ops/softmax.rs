//! Softmax and log-softmax over any axis.

use half::bf16;

use crate::dtype::{DType, Float};
use crate::error::Result;
use crate::int::{Int, Scalars};
use crate::kernels::along_axis::{
    AxisLines, MAX_COLUMNS, ResultColumns, SourceColumns, gather_channels, transpose, with_scratch,
};
use crate::kernels::gradient::map::{map2, map3};
use crate::kernels::lanes::Lanes;
use crate::kernels::lent::PixelTileGeometry;
use crate::kernels::same_shape::OperandAndResult;
use crate::kernels::wide;
use crate::math::{self, Arithmetic};
use crate::op::lookup::OF_ONE;
use crate::op::params::{Axis, Params, params, with_params};
use crate::op::schema::{data, required_axis};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::ops::reduce;
use crate::simd::{self, MathLoop};
use crate::tensor::any::{Operand, Tensor};
use crate::tensor::result_format::FormatRule;

params! {
    /// The number among the arguments of softmax and log-softmax.
    pub(crate) struct SoftmaxOptions {
        axis: Axis => required_axis("axis"),
    }
}

const ARGS: &[ArgSpec] = &with_params::<2>(&[data("x").f32()], SoftmaxOptions::SPECS);
static SOFTMAX: Op = Op::new(&Schema::new("softmax", ARGS).dst_like_x()).with(
    &Kernel::rust(&run::<false>)
        .with_dtypes(OF_ONE)
        .needing_dense()
        .on_both_reading(Reads::Results, &gradient),
);
static LOG_SOFTMAX: Op = Op::new(&Schema::new("log_softmax", ARGS).dst_like_x()).with(
    &Kernel::rust(&run::<true>)
        .with_dtypes(OF_ONE)
        .needing_dense()
        .on_both_reading(Reads::Results, &log_gradient),
);

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
/// f32 and bf16; a sum of exponentials is accumulated in f64.
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
/// f32 and bf16; a sum of exponentials is accumulated in f64.
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
    let tensors = OperandAndResult::new(args, results, FormatRule::Contiguous)?;
    match x.dtype() {
        DType::BF16 => run_elements::<bf16, LOG>(args, tensors, axis),
        _ => run_elements::<f32, LOG>(args, tensors, axis),
    }
}

fn run_elements<E: Float, const LOG: bool>(
    args: &Args<'_>,
    mut tensors: OperandAndResult<'_>,
    axis: usize,
) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    let name = tensors.layout_name();
    if tensors.layout().is_some() {
        let view = tensors.lanes(op)?;
        let (src, dst) = tensors.slices::<E>();
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
        let (src, dst) = tensors.slices::<E>();
        crate::kernels::timed(args, "blocktensor:softmax", || name, || along_lines(&lines, LOG, src, dst));
    }
    Ok(())
}

fn blocked<E: Float>(view: &Lanes, rank: usize, axis: usize, log: bool, src: &[E], dst: &mut [E]) {
    if axis == 1 {
        return along_channels(view, log, src, dst);
    }
    along_lines(&AxisLines::of_blocked(view, rank, axis), log, src, dst);
    view.clear_padding(dst);
}

/// Softmax along lines of a dense tensor.
fn along_lines<E: Float>(lines: &AxisLines, log: bool, src: &[E], dst: &mut [E]) {
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
fn along_channels<E: Float>(view: &Lanes, log: bool, src: &[E], dst: &mut [E]) {
    view.for_each_tile(dst, MAX_COLUMNS, |mut tile| {
        let PixelTileGeometry { n, first, pixels, .. } = tile.geometry();
        let copied = wide::scratch_len::<E>(view.lanes * MAX_COLUMNS);
        with_scratch(view.c * MAX_COLUMNS + copied, |scratch| {
            let (rows, copy) = scratch.split_at_mut(view.c * MAX_COLUMNS);
            gather_channels(view, src, n, first, pixels, rows, copy);
            let in_scratch = ScratchRows(rows.as_chunks_mut().0);
            simd::dispatch_math(SoftmaxLoop { len: view.c, rows: in_scratch, log });
            for block in 0..view.blocks {
                let used = view.lanes_in(block);
                let rows = &rows[block * view.lanes * MAX_COLUMNS..];
                wide::write_rounded(tile.block(block), copy, |dst| {
                    transpose((&mut *dst, view.lanes), (rows, MAX_COLUMNS), pixels, used);
                    if used < view.lanes {
                        dst.chunks_exact_mut(view.lanes).for_each(|lanes| lanes[used..].fill(0.0));
                    }
                });
            }
        });
    });
}

/// The rows that [`SoftmaxLoop`] reads and writes: row `i` has element `i` of each of [`MAX_COLUMNS`] lines.
trait LineRows {
    /// Whether rows that were stored are what was computed, not rounded.
    const KEEPS_F32: bool;
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
    const KEEPS_F32: bool = true;
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
struct TensorRows<'a, E> {
    from: SourceColumns<'a, E>,
    to: ResultColumns<'a, E>,
}

/// [`MAX_COLUMNS`] elements in f32.
#[inline(always)]
fn whole<E: Float>(row: &[E]) -> [f32; MAX_COLUMNS] {
    let row: &[E; MAX_COLUMNS] = row.first_chunk().expect("a row has all columns");
    let mut x = [0f32; MAX_COLUMNS];
    for l in 0..MAX_COLUMNS {
        x[l] = row[l].widen();
    }
    x
}

impl<E: Float> LineRows for &mut TensorRows<'_, E> {
    const KEEPS_F32: bool = matches!(E::DTYPE, DType::F32);
    #[inline(always)]
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS] {
        whole(self.from.row(row))
    }
    #[inline(always)]
    fn store(&mut self, row: usize, y: &[f32; MAX_COLUMNS]) {
        let mut rounded = [E::default(); MAX_COLUMNS];
        for l in 0..MAX_COLUMNS {
            rounded[l] = E::rounded(y[l]);
        }
        self.to.row(row).copy_from_slice(&rounded);
    }
    #[inline(always)]
    fn stored(&self, row: usize) -> [f32; MAX_COLUMNS] {
        whole(self.to.get(row))
    }
}

/// Rows in the tensors themselves that are narrower than [`MAX_COLUMNS`]: the loop computes with zeros in the missing columns.
struct NarrowTensorRows<'a, 'b, E>(&'a mut TensorRows<'b, E>);

/// Fewer elements in f32, and zeros.
#[inline(always)]
fn filled_up<E: Float>(row: &[E]) -> [f32; MAX_COLUMNS] {
    let mut x = [0f32; MAX_COLUMNS];
    x.iter_mut().zip(row).for_each(|(x, v)| *x = v.widen());
    x
}

impl<E: Float> LineRows for NarrowTensorRows<'_, '_, E> {
    const KEEPS_F32: bool = matches!(E::DTYPE, DType::F32);
    #[inline(always)]
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS] {
        filled_up(self.0.from.row(row))
    }
    #[inline(always)]
    fn store(&mut self, row: usize, y: &[f32; MAX_COLUMNS]) {
        self.0.to.row(row).iter_mut().zip(y).for_each(|(to, &y)| *to = E::rounded(y));
    }
    #[inline(always)]
    fn stored(&self, row: usize) -> [f32; MAX_COLUMNS] {
        filled_up(self.0.to.get(row))
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
            if !log && R::KEEPS_F32 {
                rows.store(row, &e);
            }
            simd::end_of_chunk();
        }
        let mut last = [0f32; MAX_COLUMNS];
        for l in 0..MAX_COLUMNS {
            last[l] = if log { math::log::<M>(sum[l] as f32) } else { (1.0 / sum[l]) as f32 };
        }
        for row in 0..len {
            let mut y = if log || !R::KEEPS_F32 { rows.load(row) } else { rows.stored(row) };
            if !log && !R::KEEPS_F32 {
                for l in 0..MAX_COLUMNS {
                    y[l] = math::exp::<M>(y[l] - max[l]);
                }
            }
            for l in 0..MAX_COLUMNS {
                y[l] = if log { y[l] - max[l] - last[l] } else { y[l] * last[l] };
            }
            rows.store(row, &y);
            simd::end_of_chunk();
        }
    }
}

/// The sum along the axis of the call, which is kept.
fn along_axis(call: &Backward<'_>, t: &Tensor) -> Result<Tensor> {
    let rank = call.args.tensor(0)?.dims().len();
    let axis = SoftmaxOptions::read(&call.args)?.axis.among(call.args.op(), rank, Scalars::HaveOneAxis)?;
    // A scalar is a line of one element.
    if rank == 0 { Ok(t.clone()) } else { reduce::sum(t, &[axis], true) }
}

/// `y * (diff - sum(diff * y))`.
fn gradient(call: &Backward<'_>) -> Result<Gradients> {
    let (op, x, y, diff) = (call.args.op(), call.args.tensor(0)?, call.results[0], call.diff()?);
    call.each(|_| {
        let sum = along_axis(call, &map2(op, y, (y, diff), |y, g| y * g)?)?;
        map3(op, x, (y, diff, sum.tensor_ref()), |y, g, sum| y * (g - sum))
    })
}

/// `diff - exp(y) * sum(diff)`.
fn log_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let (op, x, y, diff) = (call.args.op(), call.args.tensor(0)?, call.results[0], call.diff()?);
    call.each(|_| {
        let sum = along_axis(call, &diff.to_tensor())?;
        map3(op, x, (y, diff, sum.tensor_ref()), |y, g, sum| g - math::exp::<math::Separate>(y) * sum)
    })
}
