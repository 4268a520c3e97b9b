//! Selection of elements by indices: `gather` and `index_select`.

use crate::dtype::{DType, Element, with_elements};
use crate::error::{Result, fail};
use crate::int::{Int, Scalars};
use crate::kernels::axis_copy;
use crate::kernels::axis_map::AxisMap;
use crate::layout::memory_format::check_extent;
use crate::op::facts::Movement;
use crate::op::params::{Axis, Params, params, with_params};
use crate::op::schema::{Ranks, data, param, required_axis};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::EACH_DTYPE;
use crate::ops::index::axis_lines::{self, AxisLines, add_at_indices, axis_size, copy_lines};
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

params! {
    /// Parameters of `gather` and `index_select`.
    pub(crate) struct Gather {
        axis: Axis => required_axis("axis"),
    }
}

const INDICES: &[DType] = &[DType::S32];
const INDICES_RULE: &str = "indices are s32";
const ONE_AXIS: Ranks = Ranks::between(0, 1, "indices of one axis have one dimension", "flatten it");
const RANK_OF_X: Ranks = Ranks::SameAs { arg: "x", remedy: "pass indices of the rank of x" };

const GATHER_ARGS: &[ArgSpec] = &with_params::<3>(
    &[data("x").any_dtype(), data("index").with_fixed_dtypes(INDICES, INDICES_RULE).with_ranks(RANK_OF_X)],
    Gather::SPECS,
);
static GATHER: Op = Op::new(&Schema::new("gather", GATHER_ARGS).dst_like_x().moving(Movement::Elements))
    .with(&Kernel::rust(&run_gather).with_dtypes(EACH_DTYPE).on_strided_with(&gather_gradient));
const INDEX_SELECT_ARGS: &[ArgSpec] = &with_params::<3>(
    &[data("x").any_dtype(), param("index").with_fixed_dtypes(INDICES, INDICES_RULE).with_ranks(ONE_AXIS)],
    Gather::SPECS,
);
static INDEX_SELECT: Op = Op::new(
    &Schema::new("index_select", INDEX_SELECT_ARGS).dst_like_x().moving(Movement::Elements),
)
.with(&Kernel::rust(&run_index_select).with_dtypes(EACH_DTYPE).on_strided_with(&index_select_gradient));

pub(crate) const OPS: &[&Op] = &[&GATHER, &INDEX_SELECT];

/// Selects elements along an axis by a tensor of indices, as `torch.gather`: `x[i][index[i][j][k]][k]` for axis 1.
///
/// ```
/// use blocktensor::{StridedTensor, ops};
/// let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// let index = StridedTensor::from_slice(&[2i32, 0], &[2, 1])?;
/// let y = ops::gather(&x, 1, &index)?;
/// assert_eq!(y.dims(), [2, 1]);
/// assert_eq!(y.to_vec::<f32>()?, [3.0, 4.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `index` has the rank of `x`, and is no larger along the other axes. The result has the sizes of `index`, and is
/// contiguous.
///
/// # Dtypes
/// `x` any, `index` s32.
///
/// # Layouts
/// Strided only, any strides.
///
/// # Errors
/// `InvalidArgument`, `RankMismatch`, `ShapeMismatch`, `DTypeMismatch`; `OutOfBounds` for an index past the size;
/// `UnsupportedOp` on blocked tensors.
#[track_caller]
pub fn gather<T: Operand>(x: &T, axis: impl Int, index: &T) -> Result<T> {
    let params = Gather { axis: Axis::of(axis) };
    GATHER.call_with(&[Arg::Tensor(x.tensor_ref()), Arg::Tensor(index.tensor_ref())], &params)
}

/// Selects the given indices of an axis, in the order given, as `torch.index_select`.
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
pub fn index_select<T: Operand>(x: &T, axis: impl Int, index: &StridedTensor) -> Result<T> {
    let (index, params) = (TensorRef::Strided(index), Gather { axis: Axis::of(axis) });
    INDEX_SELECT.call_with(&[Arg::Tensor(x.tensor_ref()), Arg::Tensor(index)], &params)
}

/// `OutOfBounds` for an index that is negative or past the size.
pub(super) fn check_indices(op: &'static str, index: &StridedTensor, axis: usize, size: usize) -> Result<()> {
    if let Some(bad) = index.to_vec::<i32>()?.into_iter().find(|&i| i < 0 || i as usize >= size) {
        let rule = format!("axis {axis} of x has size {size}");
        let remedy = match size {
            0 => "pass no indices, or an x with elements".to_string(),
            _ => format!("pass indices from 0 to {}", size - 1),
        };
        fail!(OutOfBounds, op, "index", bad.to_string(), rule, remedy);
    }
    Ok(())
}

fn run_gather(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    with_elements!(args.tensor(0)?.dtype(), E => gather_of::<E>(args, results))
}

fn gather_of<E: Element>(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, index, Gather { axis }) =
        (args.op(), args.strided(0)?, args.strided(1)?, Gather::read(args)?);
    let axis = axis.among(op, x.rank(), Scalars::HaveOneAxis)?;
    if (0..x.rank()).any(|d| d != axis && index.dims()[d] > x.dims()[d]) {
        let (got, rule) = (TensorRef::Strided(index).describe(), format!("x is {:?}", x.dims()));
        let remedy = format!("pass indices that are no larger except along axis {axis}");
        fail!(ShapeMismatch, op, "index", got, rule, remedy);
    }
    check_indices(op, index, axis, axis_size(x.dims(), axis))?;
    let index_lines = AxisLines::new(index, axis);
    // Each line of the index selects from the line of x at the same position.
    let x_lines = AxisLines::new(x, axis).at_positions_of(&index_lines);
    let dst = results.by_rule(FormatRule::Contiguous, &[x], index.dims(), x.dtype())?;
    let (data, indices) = (x.data::<E>(), index.data::<i32>());
    let select = |i: usize, line: &mut [E]| {
        let (from, at) = (x_lines.offset(i), index_lines.offset(i));
        for (j, v) in line.iter_mut().enumerate() {
            *v = data[from + indices[at + j * index_lines.stride] as usize * x_lines.stride];
        }
    };
    Ok(axis_lines::timed(args, x, || {
        let selected = index_lines.map(op, index_lines.length, select)?;
        copy_lines(op, &selected, axis, dst)
    })?)
}

fn run_index_select(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, index, Gather { axis }) =
        (args.op(), args.strided(0)?, args.strided(1)?, Gather::read(args)?);
    let axis = axis.among(op, x.rank(), Scalars::HaveOneAxis)?;
    check_indices(op, index, axis, axis_size(x.dims(), axis))?;
    let mut dims = x.dims;
    if let Some(size) = dims.get_mut(axis) {
        *size = index.numel();
    } else if index.numel() != 1 {
        let rule = "x is a scalar, which stays one";
        fail!(ShapeMismatch, op, "index", TensorRef::Strided(index).describe(), rule, "pass one index");
    }
    check_extent(op, &dims)?;
    results.describe_with(|| FormatRule::Contiguous.desc(op, &[x], &dims, x.dtype()))?;
    let list = index.to_vec::<i32>()?;
    let mut maps: Vec<Option<AxisMap<'_>>> = x.dims().iter().map(|_| None).collect();
    if let Some(map) = maps.get_mut(axis) {
        *map = Some(AxisMap::List(&list));
    }
    axis_copy::run(args, results, &maps, 0.0, FormatRule::Contiguous)
}

/// The gradient of a selection; that of the indices is none. `index_of` gives them in the sizes of the result.
fn gradient(
    call: &Backward<'_>,
    index_of: impl Fn(usize, &StridedTensor) -> Result<StridedTensor>,
) -> Result<Gradients> {
    let (op, x, index) = (call.args.op(), call.args.strided(0)?, call.args.strided(1)?);
    let TensorRef::Strided(diff) = call.diff()? else { unreachable!("it has the key of the operand") };
    let axis = Gather::read(&call.args)?.axis.among(op, x.rank(), Scalars::HaveOneAxis)?;
    check_indices(op, index, axis, axis_size(x.dims(), axis))?;
    let made = call.wants(0).then(|| add_at_indices(op, x, axis, &index_of(axis, diff)?, diff));
    Ok(vec![made.transpose()?.map(Into::into)])
}

fn gather_gradient(call: &Backward<'_>) -> Result<Gradients> {
    gradient(call, |_, _| Ok(call.args.strided(1)?.clone()))
}

fn index_select_gradient(call: &Backward<'_>) -> Result<Gradients> {
    gradient(call, |axis, diff| {
        let mut dims = vec![1; diff.rank()];
        if let Some(size) = dims.get_mut(axis) {
            *size = diff.dims()[axis];
        }
        call.args.strided(1)?.reshape(&dims)?.expand(diff.dims())
    })
}
