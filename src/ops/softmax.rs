//! Softmax and log-softmax over any axis.

use super::Entry;
use super::lanes::{Lanes, Tile};
use super::lines::{Columns, ColumnsMut, Lines, PaddingColumns, WIDTH};
use super::same::Same;
use crate::dispatch::schema::{data, required_int};
use crate::dispatch::{Arg, Args, Kernel, Op, Outputs, Schema};
use crate::error::{Result, fail};
use crate::math;
use crate::simd::{self, Loop};
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;

const ARGS: &[crate::dispatch::ArgSpec] = &[data("x"), required_int("axis")];
static SOFTMAX_SCHEMA: Schema = Schema::new("softmax", ARGS);
static LOG_SOFTMAX_SCHEMA: Schema = Schema::new("log_softmax", ARGS);
static SOFTMAX: Op = Op::new(&SOFTMAX_SCHEMA);
static LOG_SOFTMAX: Op = Op::new(&LOG_SOFTMAX_SCHEMA);

const KERNEL: Kernel = Kernel::rust(&kernel);

pub(super) const ENTRIES: &[Entry] = &[
    Entry { op: &SOFTMAX, strided: Some(KERNEL), blocked: Some(KERNEL) },
    Entry { op: &LOG_SOFTMAX, strided: Some(KERNEL), blocked: Some(KERNEL) },
];

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

fn kernel(args: &Args<'_>) -> Result<Outputs> {
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
    let mut same = Same::new(args, FormatRule::Contiguous)?;
    let name = same.layout_name();
    if same.layout().is_some() {
        let view = same.lanes(op)?;
        let (src, dst) = same.slices();
        super::timed(
            args,
            "blocktensor:softmax",
            || name,
            || blocked(&view, x.dims().len(), axis, log, src, dst),
        );
    } else {
        let order = same.memory_order();
        let sizes: Vec<usize> = order.iter().map(|&d| x.dims()[d]).collect();
        let at = order.iter().position(|&d| d == axis).unwrap_or(0);
        let lines = Lines::new(&sizes, at);
        let (src, dst) = same.slices();
        super::timed(args, "blocktensor:softmax", || name, || along(&lines, log, src, dst, None));
    }
    Ok(same.into_result().into())
}

fn blocked(view: &Lanes, rank: usize, axis: usize, log: bool, src: &[f32], dst: &mut [f32]) {
    if axis == 1 {
        return across_blocks(view, log, src, dst);
    }
    let padding = PaddingColumns::new(view, rank, axis);
    along(&padding.lines, log, src, dst, Some(&padding));
}

/// Softmax along lines of a dense tensor.
fn along(lines: &Lines, log: bool, src: &[f32], dst: &mut [f32], padding: Option<&PaddingColumns>) {
    lines.for_each(src, dst, lines.len, |from, mut to| {
        if let (Some(src), Some(dst)) = (from.line(), to.line()) {
            return simd::dispatch(Line { src, dst, log });
        }
        if lines.inner < LANES / 2 {
            one_by_one(&from, &mut to, log);
        } else {
            simd::dispatch(SideBySide { from: &from, to: &mut to, log });
        }
        if let Some(padding) = padding {
            padding.clear(&from, &mut to);
        }
    });
}

/// Lines that are too few for a vector: each is gathered, and put back.
fn one_by_one(from: &Columns<'_>, to: &mut ColumnsMut<f32>, log: bool) {
    let mut line = vec![0f32; 2 * from.len];
    let (src, dst) = line.split_at_mut(from.len);
    for i in 0..from.width {
        src.iter_mut().enumerate().for_each(|(a, x)| *x = from.row(a)[i]);
        simd::dispatch(Line { src, dst, log });
        dst.iter().enumerate().for_each(|(a, &y)| to.row(a)[i] = y);
    }
}

/// Softmax over the channels of a blocked tensor: those of a pixel are gathered, so that padding takes no part.
fn across_blocks(view: &Lanes, log: bool, src: &[f32], dst: &mut [f32]) {
    view.for_each_tile(dst, TILE, |mut tile| {
        let mut line = vec![0f32; 2 * view.padded_channels()];
        simd::dispatch(Pixels { view, src, tile: &mut tile, line: &mut line, log });
    });
}

/// Elements that a line's loop takes at once, and partial sums that it has: the same for every layout.
const LANES: usize = 16;
/// Pixels of a tile whose channels are gathered.
const TILE: usize = 16;

/// Those of the differences from `max`, which are also added to `sum`.
#[inline(always)]
fn exponentials<const V: usize>(x: &[f32; V], max: &[f32; V], sum: &mut [f64; V]) -> [f32; V] {
    let x = *x;
    let mut e = [0f32; V];
    for l in 0..V {
        e[l] = math::exp(x[l] - max[l]);
    }
    for l in 0..V {
        sum[l] += f64::from(e[l]);
    }
    e
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// What follows the sum: `exp(x - max) * inverse`, or `x - max - log_sum`.
#[derive(Clone, Copy)]
struct Denominator {
    inverse: f32,
    log_sum: f32,
}

impl Denominator {
    #[inline(always)]
    fn new(sum: f64, log: bool) -> Denominator {
        let inverse = if log { 0.0 } else { (1.0 / sum) as f32 };
        Denominator { inverse, log_sum: if log { math::log(sum as f32) } else { 0.0 } }
    }
}

/// One line whose elements follow each other.
struct Line<'a> {
    src: &'a [f32],
    dst: &'a mut [f32],
    log: bool,
}

impl Loop for Line<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Line { src, dst, log } = self;
        let (whole, rest) = src.as_chunks::<LANES>();
        // Lanes beyond the end are -inf: they are no maximum, and their exponential is 0.
        let mut last = [f32::NEG_INFINITY; LANES];
        last[..rest.len()].copy_from_slice(rest);
        let mut max = last;
        for x in whole {
            for l in 0..LANES {
                max[l] = larger(max[l], x[l]);
            }
        }
        let mut half = LANES / 2;
        while half > 0 {
            for l in 0..half {
                max[l] = larger(max[l], max[l + half]);
            }
            half /= 2;
        }
        let max = max[0];
        let (whole_dst, rest_dst) = dst.as_chunks_mut::<LANES>();
        let mut sum = [0f64; LANES];
        for (y, x) in whole_dst.iter_mut().zip(whole) {
            let e = exponentials(x, &[max; LANES], &mut sum);
            if !log {
                *y = e;
            }
        }
        let mut last_e = [0f32; LANES];
        if !rest.is_empty() {
            last_e = exponentials(&last, &[max; LANES], &mut sum);
        }
        let mut half = LANES / 2;
        while half > 0 {
            for l in 0..half {
                sum[l] += sum[l + half];
            }
            half /= 2;
        }
        let d = Denominator::new(sum[0], log);
        if log {
            whole_dst.as_flattened_mut().iter_mut().zip(src).for_each(|(y, x)| *y = x - max - d.log_sum);
            rest_dst.iter_mut().zip(rest).for_each(|(y, x)| *y = x - max - d.log_sum);
        } else {
            whole_dst.as_flattened_mut().iter_mut().for_each(|y| *y *= d.inverse);
            rest_dst.iter_mut().zip(&last_e).for_each(|(y, e)| *y = e * d.inverse);
        }
    }
}

/// The channels of some pixels.
struct Pixels<'a> {
    view: &'a Lanes,
    src: &'a [f32],
    tile: &'a mut Tile,
    line: &'a mut [f32],
    log: bool,
}

impl Loop for Pixels<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Pixels { view, src, tile, line, log } = self;
        let start = tile.n * view.stride_n + tile.first * view.lanes;
        let (from, to) = line.split_at_mut(view.padded_channels());
        for pixel in 0..tile.pixels {
            let at = pixel * view.lanes;
            for (block, lanes) in from.chunks_exact_mut(view.lanes).enumerate() {
                lanes.copy_from_slice(&src[start + block * view.stride_block + at..][..view.lanes]);
            }
            Line { src: &from[..view.c], dst: &mut to[..view.c], log }.run();
            for (block, lanes) in to.chunks_exact(view.lanes).enumerate() {
                tile.block(block)[at..][..view.lanes].copy_from_slice(lanes);
            }
        }
    }
}

/// Lines side by side: vectors run across them.
struct SideBySide<'a, 'b> {
    from: &'a Columns<'b>,
    to: &'a mut ColumnsMut<f32>,
    log: bool,
}

impl Loop for SideBySide<'_, '_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let SideBySide { from, to, log } = self;
        if from.width == WIDTH {
            return columns::<WIDTH>(from, to, 0, WIDTH, log);
        }
        if from.width == LANES / 2 {
            return columns::<{ LANES / 2 }>(from, to, 0, LANES / 2, log);
        }
        for at in (0..from.width).step_by(LANES) {
            columns::<LANES>(from, to, at, LANES.min(from.width - at), log);
        }
    }
}

/// Columns `at..at + width`, of at most `V`.
#[inline(always)]
fn columns<const V: usize>(from: &Columns<'_>, to: &mut ColumnsMut<f32>, at: usize, width: usize, log: bool) {
    let mut max = [f32::NEG_INFINITY; V];
    for a in 0..from.len {
        let x = load::<V>(&from.row(a)[at..at + width]);
        for l in 0..V {
            max[l] = larger(max[l], x[l]);
        }
    }
    let mut sum = [0f64; V];
    for a in 0..from.len {
        let e = exponentials(&load::<V>(&from.row(a)[at..at + width]), &max, &mut sum);
        if !log {
            store(&mut to.row(a)[at..at + width], &e);
        }
    }
    let (mut inverse, mut log_sum) = ([0f32; V], [0f32; V]);
    for l in 0..V {
        let d = Denominator::new(sum[l], log);
        (inverse[l], log_sum[l]) = (d.inverse, d.log_sum);
    }
    for a in 0..from.len {
        let to = &mut to.row(a)[at..at + width];
        let mut y = if log { load::<V>(&from.row(a)[at..at + width]) } else { load::<V>(to) };
        for l in 0..V {
            y[l] = if log { y[l] - max[l] - log_sum[l] } else { y[l] * inverse[l] };
        }
        store(to, &y);
    }
}

/// A row of at most `V`, filled up with zeros.
#[inline(always)]
fn load<const V: usize>(row: &[f32]) -> [f32; V] {
    match row.first_chunk::<V>() {
        Some(row) => *row,
        None => {
            let mut x = [0f32; V];
            x[..row.len()].copy_from_slice(row);
            x
        }
    }
}

#[inline(always)]
fn store<const V: usize>(row: &mut [f32], y: &[f32; V]) {
    match row.first_chunk_mut::<V>() {
        Some(row) => *row = *y,
        None => row.copy_from_slice(&y[..row.len()]),
    }
}
