//! Sorting along an axis: strided only.

use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::kernels::check_axis;
use crate::op::schema::{data, flag, required_int};
use crate::op::{Arg, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::index::{LinesAlong, NAME, put_lines, write_lines};
use crate::try_vec::try_with_capacity;

use crate::tensor::any::{Operand, TensorMut};
use crate::tensor::result_format::FormatRule;

/// Lines of at most so many elements need no memory to be sorted.
const FEW: usize = 128;

static SORT_SCHEMA: Schema =
    Schema::new("sort", &[data("x"), required_int("axis"), flag("descending", false)]);
static SORT: Op = Op::new(&SORT_SCHEMA).on_strided(Kernel::rust(&sort_kernel));
static TOPK_SCHEMA: Schema =
    Schema::new("topk", &[data("x"), required_int("k"), required_int("axis"), flag("largest", true)]);
static TOPK: Op = Op::new(&TOPK_SCHEMA).on_strided(Kernel::rust(&topk_kernel));

pub(crate) const OPS: &[&Op] = &[&SORT, &TOPK];

/// Elements in order along an axis, and where each of them stood, as `torch.sort(stable=True)`. NaN counts as the
/// largest.
///
/// # Shapes
/// Any; both results have that of `x`.
///
/// # Dtypes
/// f32; the indices are s32.
///
/// # Layouts
/// Strided only, any strides; the results lie as `empty_like(x)` does.
///
/// # Errors
/// `InvalidArgument` for an axis out of range; `Overflow` for an axis that s32 cannot count; `UnsupportedOp` on blocked
/// tensors.
#[track_caller]
pub fn sort<T: Operand>(x: &T, axis: usize, descending: bool) -> Result<(T, T)> {
    pair(SORT.call_many(&[Arg::Tensor(x.tensor_ref()), crate::ops::axis_arg(axis), Arg::Bool(descending)])?)
}

/// The `k` largest (or smallest) elements along an axis, in order, and where they stood, as `torch.topk`. Of equal
/// elements the first come first. NaN counts as the largest.
///
/// # Shapes
/// Any; the results have size `k` along `axis`, and are contiguous.
///
/// # Dtypes
/// f32; the indices are s32.
///
/// # Layouts
/// Strided only, any strides.
///
/// # Errors
/// `InvalidArgument` for an axis out of range or a `k` past its size; `Overflow`; `UnsupportedOp` on blocked tensors.
#[track_caller]
pub fn topk<T: Operand>(x: &T, k: usize, axis: usize, largest: bool) -> Result<(T, T)> {
    pair(TOPK.call_many(&[
        Arg::Tensor(x.tensor_ref()),
        crate::ops::axis_arg(k),
        crate::ops::axis_arg(axis),
        Arg::Bool(largest),
    ])?)
}

fn pair<T>(list: Vec<T>) -> Result<(T, T)> {
    match <[T; 2]>::try_from(list) {
        Ok([values, indices]) => Ok((values, indices)),
        Err(list) => fail!(
            InvalidArgument,
            "sort",
            "result",
            format!("{} results", list.len()),
            "the kernel gives values and indices",
            "mend the kernel"
        ),
    }
}

/// A number whose order is that of the elements, NaN last, and of equal elements that of their indices; backwards for the
/// elements alone.
fn key(x: f32, index: usize, descending: bool) -> u64 {
    // Both zeros are equal, and so is every NaN.
    let bits = if x == 0.0 { 0 } else { x.to_bits() };
    let ordered = match (x.is_nan(), bits >> 31) {
        (true, _) => u32::MAX,
        (_, 0) => bits | 1 << 31,
        _ => !bits,
    };
    let first = if descending { !ordered } else { ordered };
    u64::from(first) << 32 | index as u64
}

fn sort_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let axis = args.count(1)?;
    check_axis(args.op(), args.tensor(0)?.dims(), axis)?;
    first(args, results, axis, args.tensor(0)?.dims()[axis], args.flag(2)?, FormatRule::Like)
}

fn topk_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, k, axis) = (args.op(), args.tensor(0)?, args.count(1)?, args.count(2)?);
    check_axis(op, x.dims(), axis)?;
    if k > x.dims()[axis] {
        let rule = format!("axis {axis} has size {} (x is {:?})", x.dims()[axis], x.dims());
        fail!(InvalidArgument, op, "k", k.to_string(), rule, "pass the size or less");
    }
    first(args, results, axis, k, args.flag(3)?, FormatRule::Contiguous)
}

/// The first `k` elements of each line in order.
fn first(
    args: &Args<'_>,
    results: &mut Results<'_>,
    axis: usize,
    k: usize,
    descending: bool,
    rule: FormatRule,
) -> KernelResult {
    let (op, x) = (args.op(), args.strided(0)?);
    let (lines, data) = (LinesAlong::new(x, axis), x.data::<f32>());
    if i32::try_from(lines.length).is_err() {
        let got = format!("axis {axis} of size {}", lines.length);
        fail!(Overflow, op, "x", got, "s32 indices count it", "cut it first");
    }
    let mut dims = x.dims;
    dims[axis] = k;
    let of = |dtype| rule.desc(op, &[x], &dims, dtype);
    let mut results = results.all(&[of(DType::F32)?, of(DType::S32)?])?;
    let [TensorMut::Strided(values), TensorMut::Strided(indices)] = &mut results[..] else {
        unreachable!("two were asked for, both strided")
    };
    // What sorting a line takes, which could not be refused later.
    drop(try_with_capacity::<u64>(op, lines.length)?);
    let value = |start: usize, i: usize| data[start + i * lines.step];
    let order = |i: usize, line: &mut [i32]| {
        let start = lines.start(i);
        let (mut few, mut many) = ([0; FEW], Vec::new());
        let keys = match few.get_mut(..lines.length) {
            Some(keys) => keys,
            None => {
                many.resize(lines.length, 0);
                &mut many[..]
            }
        };
        keys.iter_mut().enumerate().for_each(|(j, to)| *to = key(value(start, j), j, descending));
        if 0 < k && k < keys.len() {
            keys.select_nth_unstable(k - 1);
        }
        keys[..k].sort_unstable();
        line.iter_mut().zip(&*keys).for_each(|(to, &key)| *to = key as u32 as i32);
    };
    let layouts = || x.format_name();
    Ok(crate::kernels::timed(args, NAME, layouts, || {
        let places = write_lines(op, &lines, k, order)?;
        let of_line = places.data::<i32>();
        let sorted = write_lines(op, &lines, k, |i, line: &mut [f32]| {
            let start = lines.start(i);
            line.iter_mut().zip(&of_line[i * k..]).for_each(|(v, &j)| *v = value(start, j as usize));
        })?;
        put_lines(op, &sorted, axis, values)?;
        put_lines(op, &places, axis, indices)
    })?)
}
