//! Running sums.

use crate::error::Result;
use crate::int::{Int, Scalars};
use crate::op::params::{Axis, Params, params, with_params};
use crate::op::schema::{data, required_axis};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::index::axis_lines::{self, AxisLines, copy_lines};
use crate::ops::shape::flip::flip;
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;

params! {
    /// Parameters of `cumsum`.
    pub(crate) struct Cumsum {
        axis: Axis => required_axis("axis"),
    }
}

const ARGS: &[ArgSpec] = &with_params::<2>(&[data("x").f32()], Cumsum::SPECS);
static CUMSUM: Op = Op::new(&Schema::new("cumsum", ARGS).dst_like_x())
    .with(&Kernel::rust(&run).needing_dense().on_strided_with(&gradient));

pub(crate) const OPS: &[&Op] = &[&CUMSUM];

/// Running sums along an axis, as `torch.cumsum`; summed in f64.
///
/// # Shapes
/// Any; the result has the shape of `x`, and is contiguous.
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
pub fn cumsum<T: Operand>(x: &T, axis: impl Int) -> Result<T> {
    CUMSUM.call_with(&[Arg::Tensor(x.tensor_ref())], &Cumsum { axis: Axis::of(axis) })
}

fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, Cumsum { axis }) = (args.op(), args.strided(0)?, Cumsum::read(args)?);
    let axis = axis.among(op, x.rank(), Scalars::HaveOneAxis)?;
    let (lines, data) = (AxisLines::new(x, axis), x.data::<f32>());
    let running_sums = |i: usize, line: &mut [f32]| {
        let offset = lines.offset(i);
        let mut sum = 0f64;
        for (j, v) in line.iter_mut().enumerate() {
            sum += f64::from(data[offset + j * lines.stride]);
            *v = sum as f32;
        }
    };
    let dst = results.by_rule(FormatRule::Contiguous, &[x], x.dims(), x.dtype())?;
    Ok(axis_lines::timed(args, x, || {
        let sums = lines.map(op, lines.length, running_sums)?;
        copy_lines(op, &sums, axis, dst)
    })?)
}

/// The running sum of the incoming gradient from the end.
fn gradient(call: &Backward<'_>) -> Result<Gradients> {
    let axis = Cumsum::read(&call.args)?.axis;
    let axis = axis.among(call.args.op(), call.args.tensor(0)?.dims().len(), Scalars::HaveOneAxis)?;
    let diff = call.diff()?.to_tensor();
    call.each(|_| flip(&cumsum(&flip(&diff, &[axis])?, axis)?, &[axis]))
}
