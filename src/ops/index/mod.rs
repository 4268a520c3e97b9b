//! Running sums and selection by indices: strided only.

pub(crate) mod sort;

use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::kernels::axis_indices::Picks;
use crate::kernels::check_axis;
use crate::kernels::index_copy;
use crate::kernels::lanes::for_each_chunk;
use crate::layout::dims::Dims;
use crate::layout::memory_format::{MemoryFormat, check_extent};
use crate::op::schema::{data, param, required_int};
use crate::op::{Arg, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::ALL_DTYPES;
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

static CUMSUM_SCHEMA: Schema = Schema::new("cumsum", &[data("x"), required_int("axis")]);
static CUMSUM: Op = Op::new(&CUMSUM_SCHEMA).on_strided(Kernel::rust(&cumsum_kernel));
static GATHER_SCHEMA: Schema = Schema::new("gather", &[data("x"), required_int("axis"), data("index")]);
static GATHER: Op =
    Op::new(&GATHER_SCHEMA).on_strided(Kernel::rust(&gather_kernel).with_dtypes(&[DType::F32, DType::S32]));
static INDEX_SELECT_SCHEMA: Schema =
    Schema::new("index_select", &[data("x"), required_int("axis"), param("index")]);
static INDEX_SELECT: Op =
    Op::new(&INDEX_SELECT_SCHEMA).on_strided(Kernel::rust(&index_select_kernel).with_dtypes(ALL_DTYPES));

pub(crate) const OPS: &[&Op] = &[&CUMSUM, &GATHER, &INDEX_SELECT];

/// Running sums along an axis, as `torch.cumsum`; summed in f64.
///
/// # Shapes
/// Any; the result has that of `x`, and is contiguous.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided only, any strides.
///
/// # Errors
/// `InvalidArgument` for an axis out of range; `UnsupportedOp` on blocked tensors.
#[track_caller]
pub fn cumsum<T: Operand>(x: &T, axis: usize) -> Result<T> {
    CUMSUM.call_one(&[Arg::Tensor(x.tensor_ref()), crate::ops::axis_arg(axis)])
}

/// Elements picked along an axis: `x[i][index[i][j][k]][k]` for axis 1, as `torch.gather`.
///
/// # Shapes
/// `index` has the rank of `x`, and is no larger along the other axes; the result has its sizes, and is contiguous.
///
/// # Dtypes
/// `x` f32, `index` s32.
///
/// # Layouts
/// Strided only, any strides.
///
/// # Errors
/// `InvalidArgument`, `RankMismatch`, `ShapeMismatch`, `DTypeMismatch`; `OutOfBounds` for an index past the size;
/// `UnsupportedOp` on blocked tensors.
#[track_caller]
pub fn gather<T: Operand>(x: &T, axis: usize, index: &T) -> Result<T> {
    GATHER.call_one(&[
        Arg::Tensor(x.tensor_ref()),
        crate::ops::axis_arg(axis),
        Arg::Tensor(index.tensor_ref()),
    ])
}

/// The given indices of an axis, in their order, as `torch.index_select`.
///
/// # Shapes
/// `index` `[K]`; the result has size K along `axis`, and is contiguous.
///
/// # Dtypes
/// `x` any, `index` s32.
///
/// # Layouts
/// Strided only, any strides.
///
/// # Errors
/// `InvalidArgument` for an axis out of range; `DTypeMismatch`; `OutOfBounds` for an index past the size;
/// `UnsupportedOp` on blocked tensors.
#[track_caller]
pub fn index_select<T: Operand>(x: &T, axis: usize, index: &StridedTensor) -> Result<T> {
    INDEX_SELECT.call_one(&[
        Arg::Tensor(x.tensor_ref()),
        crate::ops::axis_arg(axis),
        Arg::Tensor(TensorRef::Strided(index)),
    ])
}

/// What a run over lines is called in the ledger.
pub(crate) const NAME: &str = "blocktensor:lines";

/// The lines of a tensor along one axis, in the logical order of the others.
pub(crate) struct LinesAlong {
    /// Sizes and strides of the other axes.
    dims: Dims,
    strides: Dims,
    pub length: usize,
    pub step: usize,
}

impl LinesAlong {
    pub fn new(x: &StridedTensor, axis: usize) -> LinesAlong {
        let (mut dims, mut strides) = (x.dims, x.strides);
        let (length, step) = (dims.remove(axis), strides.remove(axis));
        LinesAlong { dims, strides, length, step }
    }

    /// Where line `i` begins, in **elements**.
    pub fn start(&self, i: usize) -> usize {
        let mut rest = i;
        self.dims.iter().zip(&self.strides).rev().fold(0, |at, (&d, &s)| {
            let index = rest % d;
            rest /= d;
            at + index * s
        })
    }
}

/// Copies lines, one after the other, to where they lie along `axis` of the result.
pub(crate) fn put_lines(
    op: &'static str,
    lines: &StridedTensor,
    axis: usize,
    dst: &mut StridedTensor,
) -> Result<()> {
    let last = lines.rank() - 1;
    let order: Vec<usize> = (0..last).take(axis).chain([last]).chain(axis..last).collect();
    crate::elementwise::copy_into(op, dst, &lines.permute(&order)?)
}

/// A contiguous tensor of lines of `length` elements, each written by `f(i, line)`; the team shares them.
pub(crate) fn write_lines<E: crate::Element>(
    op: &'static str,
    lines: &LinesAlong,
    length: usize,
    f: impl Fn(usize, &mut [E]) + Sync,
) -> Result<StridedTensor> {
    let mut dims = lines.dims;
    dims.push(length);
    let strides = MemoryFormat::Contiguous.strides(op, &dims)?;
    let mut out = StridedTensor::for_result(op, dims, strides, E::DTYPE)?;
    let numel = out.numel();
    if numel > 0 {
        for_each_chunk(&mut out.result_data::<E>()[..numel], length, f);
    }
    Ok(out)
}

fn cumsum_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, axis) = (args.op(), args.strided(0)?, args.count(1)?);
    check_axis(op, x.dims(), axis)?;
    let (lines, data) = (LinesAlong::new(x, axis), x.data::<f32>());
    let add = |i: usize, line: &mut [f32]| {
        let start = lines.start(i);
        let mut sum = 0f64;
        for (j, v) in line.iter_mut().enumerate() {
            sum += f64::from(data[start + j * lines.step]);
            *v = sum as f32;
        }
    };
    let dst = results.by_rule(FormatRule::Contiguous, &[x], x.dims(), x.dtype())?;
    let layouts = || x.format_name();
    Ok(crate::kernels::timed(args, NAME, layouts, || {
        let sums = write_lines(op, &lines, lines.length, add)?;
        put_lines(op, &sums, axis, dst)
    })?)
}

/// `OutOfBounds` for an index that is negative or past the size.
fn check_indices(op: &'static str, index: &StridedTensor, axis: usize, size: usize) -> Result<()> {
    if let Some(bad) = index.to_vec::<i32>()?.into_iter().find(|&i| i < 0 || i as usize >= size) {
        let rule = format!("axis {axis} of x has size {size}");
        fail!(OutOfBounds, op, "index", bad.to_string(), rule, "pass indices from 0 up to the size");
    }
    Ok(())
}

fn check_index_dtype(op: &'static str, index: &StridedTensor) -> Result<()> {
    if index.dtype() != DType::S32 {
        let got = TensorRef::Strided(index).describe();
        fail!(DTypeMismatch, op, "index", got, "indices are s32", "pass a tensor of that dtype");
    }
    Ok(())
}

fn gather_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, axis, index) = (args.op(), args.strided(0)?, args.count(1)?, args.strided(2)?);
    check_axis(op, x.dims(), axis)?;
    check_index_dtype(op, index)?;
    crate::tensor::any::check_f32(op, "x", TensorRef::Strided(x), "it is f32")?;
    let got = || TensorRef::Strided(index).describe();
    let rule = || format!("x is {:?}", x.dims());
    if index.rank() != x.rank() {
        fail!(RankMismatch, op, "index", got(), rule(), "pass indices of the rank of x");
    }
    if (0..x.rank()).any(|d| d != axis && index.dims()[d] > x.dims()[d]) {
        let remedy = format!("pass indices that are no larger except along axis {axis}");
        fail!(ShapeMismatch, op, "index", got(), rule(), remedy);
    }
    check_indices(op, index, axis, x.dims()[axis])?;
    let of_index = LinesAlong::new(index, axis);
    // The lines of x that stand where those of the index do.
    let mut of_x = LinesAlong::new(x, axis);
    of_x.dims = of_index.dims;
    let dst = results.by_rule(FormatRule::Contiguous, &[x], index.dims(), x.dtype())?;
    let (data, indices) = (x.data::<f32>(), index.data::<i32>());
    let pick = |i: usize, line: &mut [f32]| {
        let (from, at) = (of_x.start(i), of_index.start(i));
        for (j, v) in line.iter_mut().enumerate() {
            *v = data[from + indices[at + j * of_index.step] as usize * of_x.step];
        }
    };
    let layouts = || x.format_name();
    Ok(crate::kernels::timed(args, NAME, layouts, || {
        let picked = write_lines(op, &of_index, of_index.length, pick)?;
        put_lines(op, &picked, axis, dst)
    })?)
}

fn index_select_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, axis, index) = (args.op(), args.strided(0)?, args.count(1)?, args.strided(2)?);
    check_axis(op, x.dims(), axis)?;
    check_index_dtype(op, index)?;
    check_indices(op, index, axis, x.dims()[axis])?;
    let mut dims = x.dims;
    dims[axis] = index.numel();
    check_extent(op, &dims)?;
    results.describe(&FormatRule::Contiguous.desc(op, &[x], &dims, x.dtype())?)?;
    let list = index.to_vec::<i32>()?;
    let mut picks: Vec<Option<Picks<'_>>> = x.dims().iter().map(|_| None).collect();
    picks[axis] = Some(Picks::List(&list));
    index_copy::recorded(args, results, &picks, 0.0, FormatRule::Contiguous)
}
