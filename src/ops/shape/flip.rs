//! `flip` and `roll`: the indices of some axes in reverse, or turned round.

use crate::error::{Result, fail};
use crate::kernels::axis_indices::Picks;
use crate::kernels::check_axis;
use crate::kernels::index_copy;
use crate::op::schema::{data, required_ints};
use crate::op::{Arg, Args, KernelResult, Op, Results, Schema};
use crate::ops::shape::cat::moving;
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;

static FLIP_SCHEMA: Schema = Schema::new("flip", &[data("x"), required_ints("axes")]);
static FLIP: Op = moving(&FLIP_SCHEMA, &flip_kernel);
static ROLL_SCHEMA: Schema =
    Schema::new("roll", &[data("x"), required_ints("shifts"), required_ints("axes")]);
static ROLL: Op = moving(&ROLL_SCHEMA, &roll_kernel);

pub(crate) const OPS: &[&Op] = &[&FLIP, &ROLL];

/// The indices along some axes in reverse order, as `torch.flip`.
///
/// # Shapes
/// Any; the result has that of `x`.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// Strided: any strides; the result lies as `empty_like(x)` does. Blocked: the layout of `x`; any axis, though along the
/// channels lanes move one by one.
///
/// # Errors
/// `InvalidArgument` for an axis out of range or named twice.
#[track_caller]
pub fn flip<T: Operand>(x: &T, axes: &[usize]) -> Result<T> {
    FLIP.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Sizes(axes)])
}

/// The elements turned round along some axes: what falls off one end comes in at the other, as `torch.roll`.
///
/// # Shapes
/// Any; the result has that of `x`. `shifts` has one value for each of `axes`; they may be negative and exceed the size,
/// and add up where an axis is named twice.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// As [`flip`].
///
/// # Errors
/// `InvalidArgument` for an axis out of range, or another number of shifts than of axes.
#[track_caller]
pub fn roll<T: Operand>(x: &T, shifts: &[i64], axes: &[usize]) -> Result<T> {
    ROLL.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Ints(shifts), Arg::Sizes(axes)])
}

fn flip_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, axes) = (args.op(), args.tensor(0)?, args.sizes(1)?);
    let mut picks: Vec<Option<Picks<'_>>> = x.dims().iter().map(|_| None).collect();
    for &axis in &axes {
        check_axis(op, x.dims(), axis)?;
        if picks[axis].is_some() {
            let rule = format!("axis {axis} is there twice");
            fail!(InvalidArgument, op, "axes", axes.to_string(), rule, "name every axis once");
        }
        let size = x.dims()[axis];
        picks[axis] = Some(Picks::new().indices(size.saturating_sub(1), -1, size));
    }
    index_copy::recorded(args, results, &picks, 0.0, FormatRule::Like)
}

fn roll_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, axes) = (args.op(), args.tensor(0)?, args.sizes(2)?);
    let one;
    let shifts = match args.values()[1] {
        Arg::Ints(list) => list,
        Arg::Int(shift) => {
            one = [shift];
            &one
        }
        _ => &[],
    };
    if shifts.len() != axes.len() {
        let got = format!("{} shifts", shifts.len());
        fail!(
            InvalidArgument,
            op,
            "shifts",
            got,
            format!("there are {} axes", axes.len()),
            "pass one an axis"
        );
    }
    let mut turn = vec![0usize; x.dims().len()];
    for (&axis, &shift) in axes.iter().zip(shifts) {
        check_axis(op, x.dims(), axis)?;
        if let Ok(size @ 1..) = i64::try_from(x.dims()[axis]) {
            turn[axis] = (turn[axis] + shift.rem_euclid(size) as usize) % size as usize;
        }
    }
    let turned = |(&t, &size): (&usize, &usize)| -> Option<Picks<'_>> {
        (t != 0).then(|| Picks::new().indices(size - t, 1, t).indices(0, 1, size - t))
    };
    let picks: Vec<Option<Picks<'_>>> = turn.iter().zip(x.dims()).map(turned).collect();
    index_copy::recorded(args, results, &picks, 0.0, FormatRule::Like)
}
