//! Softmax and log-softmax over any axis.

use crate::error::{Result, fail};
use crate::kernels::along_axis::{
    AxisLines, MAX_COLUMNS, ResultColumns, SourceColumns, gather_channels, transpose, with_scratch,
};
use crate::kernels::lanes::Lanes;
use crate::kernels::same_shape::OperandAndResult;
use crate::math;
use crate::op::schema::{data, required_int};
use crate::op::{Arg, Args, Kernel, KernelResult, Op, Results, Schema};

use crate::simd::{self, Loop};
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;

const ARGS: &[crate::op::ArgSpec] = &[data("x"), required_int("axis")];
static SOFTMAX_SCHEMA: Schema = Schema::new("softmax", ARGS);
static LOG_SOFTMAX_SCHEMA: Schema = Schema::new("log_softmax", ARGS);
static SOFTMAX: Op = Op::new(&SOFTMAX_SCHEMA).on_both(KERNEL);
static LOG_SOFTMAX: Op = Op::new(&LOG_SOFTMAX_SCHEMA).on_both(KERNEL);

const KERNEL: Kernel = Kernel::rust(&kernel);

pub(super) const OPS: &[&Op] = &[&SOFTMAX, &LOG_SOFTMAX];

/// `exp(x) / sum(exp(x))` along `axis`. `torch.nn.functional.softmax`.
///
/// The largest element is subtracted first, so nothing overflows. A line that is `-inf` throughout, or holds a NaN
/// or `inf`, becomes NaN, as in PyTorch.
///
/// # Shapes
/// Any `x` with at least one axis; the result has its sizes.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided: the result is row-major, or in the format that `x` is tagged with; an `x` that lies otherwise is copied,
/// which the ledger counts. Blocked: any layout that blocks the channels alone, and any axis; the result keeps the
/// layout.
///
/// # Errors
/// `InvalidArgument` for an axis that is not there; `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn softmax<T: Operand>(x: &T, axis: usize) -> Result<T> {
    call(&SOFTMAX, x, axis)
}

/// `x - log(sum(exp(x)))` along `axis`. `torch.nn.functional.log_softmax`.
///
/// # Shapes
/// Any `x` with at least one axis; the result has its sizes.
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
pub fn log_softmax<T: Operand>(x: &T, axis: usize) -> Result<T> {
    call(&LOG_SOFTMAX, x, axis)
}

#[track_caller]
fn call<T: Operand>(op: &'static Op, x: &T, axis: usize) -> Result<T> {
    op.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Int(i64::try_from(axis).unwrap_or(i64::MAX))])
}

fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let op = args.op();
    let (x, axis) = (args.tensor(0)?, args.count(1)?);
    if axis >= x.dims().len() {
        fail!(
            InvalidArgument,
            op,
            "axis",
            axis.to_string(),
            format!("the tensor has rank {}", x.dims().len()),
            "name an axis that is there, counted from 0"
        );
    }
    let log = op == LOG_SOFTMAX_SCHEMA.name;
    let mut same = OperandAndResult::new(args, results, FormatRule::Contiguous)?;
    let name = same.layout_name();
    if same.layout().is_some() {
        let view = same.lanes(op)?;
        let (src, dst) = same.slices();
        crate::kernels::timed(
            args,
            "blocktensor:softmax",
            || name,
            || blocked(&view, x.dims().len(), axis, log, src, dst),
        );
    } else {
        let order = same.memory_order();
        let sizes: Vec<usize> = order.iter().map(|&d| x.dims()[d]).collect();
        let at = order.iter().position(|&d| d == axis).unwrap_or(0);
        let lines = AxisLines::new(&sizes, at);
        let (src, dst) = same.slices();
        crate::kernels::timed(args, "blocktensor:softmax", || name, || along(&lines, log, src, dst));
    }
    Ok(())
}

fn blocked(view: &Lanes, rank: usize, axis: usize, log: bool, src: &[f32], dst: &mut [f32]) {
    if axis == 1 {
        return across_blocks(view, log, src, dst);
    }
    along(&AxisLines::of_blocked(view, rank, axis), log, src, dst);
    view.clear_padding(dst);
}

/// Softmax along lines of a dense tensor.
fn along(lines: &AxisLines, log: bool, src: &[f32], dst: &mut [f32]) {
    let beside = |rows: &mut [f32]| {
        let rows = InPlace(rows.as_chunks_mut().0);
        simd::dispatch(SideBySide { len: lines.len, rows, log });
    };
    lines.for_each_wide(src, dst, beside, |from, to| {
        let width = from.width;
        let mut rows = Direct { from, to };
        if width == MAX_COLUMNS {
            simd::dispatch(SideBySide { len: lines.len, rows: &mut rows, log });
        } else {
            simd::dispatch(SideBySide { len: lines.len, rows: Narrow(&mut rows), log });
        }
    });
}

/// Softmax over the channels of a blocked tensor: those of a tile of pixels are put side by side, so that padding takes no part.
fn across_blocks(view: &Lanes, log: bool, src: &[f32], dst: &mut [f32]) {
    view.for_each_tile(dst, MAX_COLUMNS, |mut tile| {
        with_scratch(view.c * MAX_COLUMNS, |rows| {
            gather_channels(view, src, tile.place.n, tile.place.first, tile.place.pixels, rows);
            let place = InPlace(rows.as_chunks_mut().0);
            simd::dispatch(SideBySide { len: view.c, rows: place, log });
            for block in 0..view.blocks {
                let (used, pixels) = (view.lanes_in(block), tile.place.pixels);
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

/// Where rows of lines side by side come from, and go to.
trait Rows {
    fn load(&self, row: usize) -> [f32; MAX_COLUMNS];
    fn store(&mut self, row: usize, y: &[f32; MAX_COLUMNS]);
    /// A row that was stored.
    fn stored(&self, row: usize) -> [f32; MAX_COLUMNS];
}

/// Rows of scratch, which the results replace.
struct InPlace<'a>(&'a mut [[f32; MAX_COLUMNS]]);

impl Rows for InPlace<'_> {
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

/// SourceColumns of the tensors themselves.
struct Direct<'a> {
    from: SourceColumns<'a>,
    to: ResultColumns<'a, f32>,
}

impl Rows for &mut Direct<'_> {
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

/// Fewer columns than a vector loop takes.
struct Narrow<'a, 'b>(&'a mut Direct<'b>);

#[inline(always)]
fn widened(row: &[f32]) -> [f32; MAX_COLUMNS] {
    let mut x = [0f32; MAX_COLUMNS];
    x[..row.len()].copy_from_slice(row);
    x
}

impl Rows for Narrow<'_, '_> {
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

/// [`MAX_COLUMNS`] lines side by side: vectors run across them. A line's result does not depend on its neighbours, nor on the layout.
struct SideBySide<R> {
    rows: R,
    len: usize,
    log: bool,
}

impl<R: Rows> Loop for SideBySide<R> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let SideBySide { mut rows, len, log } = self;
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
                e[l] = math::exp(x[l] - max[l]);
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
            last[l] = if log { math::log(sum[l] as f32) } else { (1.0 / sum[l]) as f32 };
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
