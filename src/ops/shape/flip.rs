//! `flip` and `roll`: the indices of some axes in reverse order, or rotated.

use crate::error::{Result, fail};
use crate::int::{Int, Scalars};
use crate::kernels::axis_copy;
use crate::kernels::axis_map::AxisMap;
use crate::layout::dims::MAX_RANK;
use crate::op::facts::Movement;
use crate::op::params::{AxisList, Params, params, with_params};
use crate::op::schema::{data, required_axes, required_ints};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::EACH_DTYPE;
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;

params! {
    /// Parameters of `flip`.
    pub(crate) struct Flip {
        axes: AxisList => required_axes("axes"),
    }
}

params! {
    /// Parameters of `roll`: one shift for each axis.
    pub(crate) struct Roll {
        shifts: Vec<i64> => required_ints("shifts"),
        axes: AxisList => required_axes("axes"),
    }
}

const FLIP_ARGS: &[ArgSpec] = &with_params::<2>(&[data("x").any_dtype()], Flip::SPECS);
static FLIP: Op = Op::new(&Schema::new("flip", FLIP_ARGS).dst_like_x().moving(Movement::Elements))
    .with(&Kernel::rust(&run_flip).with_dtypes(EACH_DTYPE).on_both_with(&flip_gradient));
const ROLL_ARGS: &[ArgSpec] = &with_params::<3>(&[data("x").any_dtype()], Roll::SPECS);
static ROLL: Op = Op::new(&Schema::new("roll", ROLL_ARGS).dst_like_x().moving(Movement::Elements))
    .with(&Kernel::rust(&run_roll).with_dtypes(EACH_DTYPE).on_both_with(&roll_gradient));

pub(crate) const OPS: &[&Op] = &[&FLIP, &ROLL];

/// Reverses the order of the indices along some axes, as `torch.flip`.
///
/// # Shapes
/// Any; the result has the shape of `x`.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// Strided: any strides; the result has the strides of `empty_like(x)`. Blocked: the layout of `x`, any axis. Along the
/// channels lanes move one by one.
///
/// # Errors
/// `InvalidArgument` for an axis out of range or named twice.
#[track_caller]
pub fn flip<T: Operand>(x: &T, axes: &[impl Int]) -> Result<T> {
    FLIP.call_with(&[Arg::Tensor(x.tensor_ref())], &Flip { axes: AxisList::of(axes) })
}

/// Shifts the elements along some axes, as `torch.roll`. Elements that leave at one end enter at the other.
///
/// # Shapes
/// Any; the result has the shape of `x`. `shifts` has one value for each of `axes`. A shift may be negative or exceed the
/// size. The shifts of an axis that is named twice add up.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// As [`flip`].
///
/// # Errors
/// `InvalidArgument` for an axis out of range (a scalar has none), or another number of shifts than of axes.
#[track_caller]
pub fn roll<T: Operand>(x: &T, shifts: &[i64], axes: &[impl Int]) -> Result<T> {
    let params = Roll { shifts: shifts.to_vec(), axes: AxisList::of(axes) };
    ROLL.call_with(&[Arg::Tensor(x.tensor_ref())], &params)
}

fn run_flip(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, Flip { axes }) = (args.op(), args.tensor(0)?, Flip::read(args)?);
    let axes = axes.among(op, "axes", x.dims().len(), Scalars::HaveOneAxis)?;
    let mut maps: Vec<Option<AxisMap<'_>>> = x.dims().iter().map(|_| None).collect();
    let mut named = [false; MAX_RANK];
    for &axis in &axes {
        if std::mem::replace(&mut named[axis], true) {
            let rule = format!("axis {axis} is there twice");
            fail!(InvalidArgument, op, "axes", axes.to_string(), rule, "name every axis once");
        }
        // The one axis of a scalar has one index.
        let Some(&size) = x.dims().get(axis) else { continue };
        maps[axis] = Some(AxisMap::new().indices(size.saturating_sub(1), -1, size));
    }
    axis_copy::run(args, results, &maps, 0.0, FormatRule::Like)
}

fn run_roll(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, Roll { shifts, axes }) = (args.op(), args.tensor(0)?, Roll::read(args)?);
    if shifts.len() != axes.len() {
        let got = format!("{} shifts", shifts.len());
        let rule = format!("there are {} axes", axes.len());
        fail!(InvalidArgument, op, "shifts", got, rule, "pass one for each axis");
    }
    let axes = axes.among(op, "axes", x.dims().len(), Scalars::HaveNone)?;
    // The shift along each axis, from 0 up to the size.
    let mut total = vec![0usize; x.dims().len()];
    for (&axis, &shift) in axes.iter().zip(&shifts) {
        if let Some(Ok(size @ 1..)) = x.dims().get(axis).map(|&d| i64::try_from(d)) {
            total[axis] = (total[axis] + shift.rem_euclid(size) as usize) % size as usize;
        }
    }
    let rotated = |(&shift, &size): (&usize, &usize)| -> Option<AxisMap<'_>> {
        (shift != 0).then(|| AxisMap::new().indices(size - shift, 1, shift).indices(0, 1, size - shift))
    };
    let maps: Vec<Option<AxisMap<'_>>> = total.iter().zip(x.dims()).map(rotated).collect();
    axis_copy::run(args, results, &maps, 0.0, FormatRule::Like)
}

fn flip_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let params = Flip::read(&call.args)?;
    call.each(|_| FLIP.call_with(&[Arg::Tensor(call.diff()?)], &params))
}

fn roll_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let Roll { shifts, axes } = Roll::read(&call.args)?;
    // The least number has no negative; a rotation by it is one by its remainder.
    let back = |(&shift, &size): (&i64, &i64)| -(shift % size.max(1));
    let dims = call.args.tensor(0)?.dims();
    let of_axes = axes.among(call.args.op(), "axes", dims.len(), Scalars::HaveNone)?;
    let sizes: Vec<i64> = of_axes.iter().map(|&axis| dims[axis] as i64).collect();
    let params = Roll { shifts: shifts.iter().zip(&sizes).map(back).collect(), axes };
    call.each(|_| ROLL.call_with(&[Arg::Tensor(call.diff()?)], &params))
}
