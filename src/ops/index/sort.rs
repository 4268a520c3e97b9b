//! `sort` and `topk`: strided only.

use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::int::{Int, Scalars};
use crate::kernels::gradient::map::zeros_like;
use crate::memory::try_with_capacity;
use crate::op::params::{Axis, Params, params, with_params};
use crate::op::schema::{OutputSpec, data, flag, output_like, output_of, required_axis, required_int};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::index::axis_lines::{self, AxisLines, add_at_indices, axis_size, copy_lines};
use crate::ops::index::gather::check_indices;
use crate::tensor::any::{Operand, TensorMut, TensorRef};
use crate::tensor::result_format::FormatRule;

/// The longest line, in elements, whose sort keys are kept on the stack.
const MAX_STACK_KEYS: usize = 128;

params! {
    /// Parameters of `sort`.
    pub(crate) struct Sort {
        axis: Axis => required_axis("axis"),
        descending: bool => flag("descending", false),
    }
}

params! {
    /// Parameters of `topk`.
    pub(crate) struct TopK {
        k: usize => required_int("k"),
        axis: Axis => required_axis("axis"),
        largest: bool => flag("largest", true),
    }
}

const OUTPUTS: &[OutputSpec] = &[output_like("values", "x"), output_of("indices", DType::S32)];
const SORT_ARGS: &[ArgSpec] = &with_params::<3>(&[data("x").f32()], Sort::SPECS);
static SORT: Op = Op::new(&Schema::new("sort", SORT_ARGS).with_outputs(OUTPUTS))
    .with(&Kernel::rust(&run_sort).on_strided_with(&|call| gradient(call, Sort::read(&call.args)?.axis)));
const TOPK_ARGS: &[ArgSpec] = &with_params::<4>(&[data("x").f32()], TopK::SPECS);
static TOPK: Op = Op::new(&Schema::new("topk", TOPK_ARGS).with_outputs(OUTPUTS))
    .with(&Kernel::rust(&run_topk).on_strided_with(&|call| gradient(call, TopK::read(&call.args)?.axis)));

pub(crate) const OPS: &[&Op] = &[&SORT, &TOPK];

/// Sorts the elements along an axis, as `torch.sort(stable=True)`: the sorted elements, and the index in `x` of each. NaN
/// counts as the largest.
///
/// # Shapes
/// Any; both results have the shape of `x`.
///
/// # Dtypes
/// f32; the indices are s32.
///
/// # Layouts
/// Strided only, any strides; the results have the strides of `empty_like(x)`.
///
/// # Errors
/// `InvalidArgument` for an axis out of range; `Overflow` for an axis longer than s32 can index; `UnsupportedOp` on blocked
/// tensors.
#[track_caller]
pub fn sort<T: Operand>(x: &T, axis: impl Int, descending: bool) -> Result<(T, T)> {
    let params = Sort { axis: Axis::of(axis), descending };
    pair(SORT.call_many_with(&[Arg::Tensor(x.tensor_ref())], &params)?)
}

/// The `k` largest (or smallest) elements along an axis, in order, and the index in `x` of each, as `torch.topk`. Equal
/// elements keep the order of `x`. NaN counts as the largest.
///
/// ```
/// use blocktensor::{StridedTensor, ops};
/// let x = StridedTensor::from_slice(&[3f32, 9.0, 1.0, 7.0], &[1, 4])?;
/// let (values, indices) = ops::topk(&x, 2, 1, true)?;
/// assert_eq!(values.to_vec::<f32>()?, [9.0, 7.0]);
/// assert_eq!(indices.to_vec::<i32>()?, [1, 3]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
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
pub fn topk<T: Operand>(x: &T, k: usize, axis: impl Int, largest: bool) -> Result<(T, T)> {
    let params = TopK { k, axis: Axis::of(axis), largest };
    pair(TOPK.call_many_with(&[Arg::Tensor(x.tensor_ref())], &params)?)
}

/// The two results of a kernel: values and indices.
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

/// A number that orders elements: by value, NaN last, and equal elements by their index. With `descending` the order of the
/// values is reversed, that of the indices is not.
fn sort_key(x: f32, index: usize, descending: bool) -> u64 {
    // Both zeros are equal, and so are all NaNs.
    let bits = if x == 0.0 { 0 } else { x.to_bits() };
    let ordered = match (x.is_nan(), bits >> 31) {
        (true, _) => u32::MAX,
        (_, 0) => bits | 1 << 31,
        _ => !bits,
    };
    let first = if descending { !ordered } else { ordered };
    u64::from(first) << 32 | index as u64
}

fn run_sort(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (x, Sort { axis, descending }) = (args.tensor(0)?, Sort::read(args)?);
    let axis = axis.among(args.op(), x.dims().len(), Scalars::HaveOneAxis)?;
    let length = axis_size(x.dims(), axis);
    sort_lines(args, results, axis, length, descending, FormatRule::Like)
}

fn run_topk(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, TopK { k, axis, largest }) = (args.op(), args.tensor(0)?, TopK::read(args)?);
    let axis = axis.among(op, x.dims().len(), Scalars::HaveOneAxis)?;
    let size = axis_size(x.dims(), axis);
    if k > size {
        let rule = format!("axis {axis} has size {size} (x is {:?})", x.dims());
        fail!(InvalidArgument, op, "k", k.to_string(), rule, "pass the size or less");
    }
    if k == 0 && x.dims().is_empty() {
        fail!(InvalidArgument, op, "k", "0", "x is a scalar, which stays one", "pass 1");
    }
    sort_lines(args, results, axis, k, largest, FormatRule::Contiguous)
}

/// The first `k` elements of each line once it is sorted, and their indices.
fn sort_lines(
    args: &Args<'_>,
    results: &mut Results<'_>,
    axis: usize,
    k: usize,
    descending: bool,
    rule: FormatRule,
) -> KernelResult {
    let (op, x) = (args.op(), args.strided(0)?);
    let (lines, data) = (AxisLines::new(x, axis), x.data::<f32>());
    if i32::try_from(lines.length).is_err() {
        let got = format!("axis {axis} of size {}", lines.length);
        fail!(Overflow, op, "x", got, "s32 indices cannot count that many elements", "split it first");
    }
    let mut dims = x.dims;
    if let Some(size) = dims.get_mut(axis) {
        *size = k;
    }
    let of = |dtype| rule.desc(op, &[x], &dims, dtype);
    let mut results = results.all(&[of(DType::F32)?, of(DType::S32)?])?;
    let [TensorMut::Strided(values), TensorMut::Strided(indices)] = &mut results[..] else {
        unreachable!("two strided results were asked for")
    };
    // Fails here when there is no memory for the keys of a line: inside a task that could not be reported.
    drop(try_with_capacity::<u64>(op, lines.length)?);
    let value = |offset: usize, i: usize| data[offset + i * lines.stride];
    let sorted_indices = |i: usize, line: &mut [i32]| {
        let offset = lines.offset(i);
        let (mut on_stack, mut on_heap) = ([0; MAX_STACK_KEYS], Vec::new());
        let keys = match on_stack.get_mut(..lines.length) {
            Some(keys) => keys,
            None => {
                on_heap.resize(lines.length, 0);
                &mut on_heap[..]
            }
        };
        keys.iter_mut().enumerate().for_each(|(j, to)| *to = sort_key(value(offset, j), j, descending));
        if 0 < k && k < keys.len() {
            keys.select_nth_unstable(k - 1);
        }
        keys[..k].sort_unstable();
        line.iter_mut().zip(&*keys).for_each(|(to, &key)| *to = key as u32 as i32);
    };
    Ok(axis_lines::timed(args, x, || {
        let index_lines = lines.map(op, k, sorted_indices)?;
        let index_data = index_lines.data::<i32>();
        let value_lines = lines.map(op, k, |i, line: &mut [f32]| {
            let offset = lines.offset(i);
            line.iter_mut().zip(&index_data[i * k..]).for_each(|(v, &j)| *v = value(offset, j as usize));
        })?;
        copy_lines(op, &value_lines, axis, values)?;
        copy_lines(op, &index_lines, axis, indices)
    })?)
}

/// The gradients of the values, where their indices say. Those of indices count for nothing.
fn gradient(call: &Backward<'_>, axis: Axis) -> Result<Gradients> {
    let (op, x) = (call.args.op(), call.args.strided(0)?);
    let axis = axis.among(op, x.rank(), Scalars::HaveOneAxis)?;
    let TensorRef::Strided(index) = call.results[1] else { unreachable!("it has the key of the operand") };
    check_indices(op, index, axis, axis_size(x.dims(), axis))?;
    call.each(|_| match call.diffs[0] {
        Some(TensorRef::Strided(diff)) => Ok(add_at_indices(op, x, axis, index, diff)?.into()),
        _ => zeros_like(op, x.tensor_ref()),
    })
}
