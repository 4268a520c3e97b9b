//! Calls of ops by name, with a flat list of arguments.

use std::ffi::c_char;

use blocktensor::dispatch::{self, Value};
use blocktensor::{BoundOp, Complaint, Error, Operand, Operator, Result, Scratchpad, Tensor};

use crate::handles::{bt_handle, tensor};
use crate::lent::write_into;
use crate::status::{array, bt_status, guard, place, string};
use crate::text::registered;
use crate::values::write_objects;

/// The kind of an argument: which field of `bt_arg` holds its value.
#[allow(non_camel_case_types)]
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum bt_arg_kind {
    /// One tensor: `tensors[0]`; if `tensors` is null, the handle is `number`.
    BT_ARG_TENSOR = 1,
    /// `count` tensors.
    BT_ARG_TENSORS = 2,
    /// `number`.
    BT_ARG_INT = 3,
    /// `count` integers.
    BT_ARG_INTS = 4,
    /// `real`.
    BT_ARG_FLOAT = 5,
    /// A Boolean: whether `number` is not 0.
    BT_ARG_BOOL = 6,
    /// `text`.
    BT_ARG_STRING = 7,
}

/// One argument of a call. Fields that its kind does not use are ignored.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bt_arg {
    /// The argument's name in the op's schema.
    pub name: *const c_char,
    /// A `bt_arg_kind`.
    pub kind: i32,
    /// An integer, a Boolean, or the handle of one tensor.
    pub number: i64,
    /// A floating-point number.
    pub real: f64,
    /// A string.
    pub text: *const c_char,
    /// Integers.
    pub integers: *const i64,
    /// Handles of tensors.
    pub tensors: *const bt_handle,
    /// The number of integers or tensors.
    pub count: usize,
}

/// # Safety
/// `args` holds `count` arguments, as `bt_call` asks.
pub(crate) unsafe fn values<'a>(
    op: &'static str,
    args: *const bt_arg,
    count: usize,
) -> Result<Vec<(&'a str, Value)>> {
    // SAFETY: the caller's promise.
    let args: &'a [bt_arg] = unsafe { array(op, "args", args, count)? };
    args.iter()
        .map(|a| {
            // SAFETY: as above.
            let name = unsafe { string(op, "name", a.name)? };
            // SAFETY: as above, for the fields that the kind uses.
            let value = unsafe {
                match a.kind {
                    1 if a.tensors.is_null() => Value::Tensor(tensor(op, name, a.number.cast_unsigned())?),
                    1 => {
                        let one = array(op, "tensors", a.tensors, 1)?;
                        Value::Tensor(tensor(op, name, one[0])?)
                    }
                    2 => {
                        let list = array(op, "tensors", a.tensors, a.count)?;
                        let list: Result<Vec<Tensor>> = list.iter().map(|&h| tensor(op, name, h)).collect();
                        Value::Tensors(list?)
                    }
                    3 => Value::Int(a.number),
                    4 => Value::Ints(array(op, "integers", a.integers, a.count)?.to_vec()),
                    5 => Value::Float(a.real),
                    6 => Value::Bool(a.number != 0),
                    7 => Value::Str(string(op, "text", a.text)?.to_string()),
                    other => {
                        let rule = "kinds must be BT_ARG_TENSOR to BT_ARG_STRING, 1 to 7";
                        let got = format!("kind {other} for `{name}`");
                        let c = Complaint::new(op, "kind", got, rule, "pass one of bt_arg_kind");
                        return Err(Error::InvalidArgument(c));
                    }
                }
            };
            Ok((name, value))
        })
        .collect()
}

/// Calls an op by name with named arguments; an argument that is left out takes its default. The results' handles are written
/// to `outs`, which has room for `room` handles, and their number to `count`. If there is too little room, it is an error and
/// no handle is written.
///
/// # Safety
/// `op` is a string; `args` holds `arg_count` arguments, whose names, texts and arrays are as their fields say; `outs` may be
/// written for `room` handles; `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_call(
    op: *const c_char,
    args: *const bt_arg,
    arg_count: usize,
    outs: *mut bt_handle,
    room: usize,
    count: *mut usize,
) -> bt_status {
    let here = "bt_call";
    guard(here, || {
        // SAFETY: the caller's promises.
        let (name, values) = unsafe { (string(here, "op", op)?, values(here, args, arg_count)?) };
        if room > 0 {
            // SAFETY: as above.
            unsafe { place(here, "outs", outs)? };
        }
        // SAFETY: as above.
        unsafe { write_objects(here, dispatch::call(name, &values)?, outs, room, count) }
    })
}

/// The gradients of an op's tensors from those of its results, by the op's name. `args` are those of the `bt_call` that gave the
/// `result_count` tensors `results`. `diff_dst` has the gradient of each result, with its sizes, type and layout; 0 is a
/// gradient of zero. `wanted` names the tensors whose gradients are written to `outs`, in this order; the name of a list stands
/// for all its tensors. A gradient has the layout of its tensor. `outs` has room for `room` handles, and `count` receives their
/// number. If there is too little room, it is an error and no handle is written.
///
/// # Safety
/// `op`, `args` as `bt_call` asks; `results` and `diff_dst` hold `result_count` handles; `wanted` holds `wanted_count` strings;
/// `outs` may be written for `room` handles; `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_call_backward(
    op: *const c_char,
    args: *const bt_arg,
    arg_count: usize,
    results: *const bt_handle,
    diff_dst: *const bt_handle,
    result_count: usize,
    wanted: *const *const c_char,
    wanted_count: usize,
    outs: *mut bt_handle,
    room: usize,
    count: *mut usize,
) -> bt_status {
    let here = "bt_call_backward";
    guard(here, || {
        // SAFETY: the caller's promises.
        let (name, values, results, diffs, wanted) = unsafe {
            (
                string(here, "op", op)?,
                values(here, args, arg_count)?,
                array(here, "results", results, result_count)?,
                array(here, "diff_dst", diff_dst, result_count)?,
                array(here, "wanted", wanted, wanted_count)?,
            )
        };
        // SAFETY: as above.
        let wanted = wanted.iter().map(|&name| unsafe { string(here, "wanted", name) });
        let wanted = wanted.collect::<Result<Vec<&str>>>()?;
        if room > 0 {
            // SAFETY: as above.
            unsafe { place(here, "outs", outs)? };
        }
        let results = results.iter().map(|&h| tensor(here, "results", h)).collect::<Result<Vec<Tensor>>>()?;
        let diff = |&h: &bt_handle| (h != 0).then(|| tensor(here, "diff_dst", h)).transpose();
        let diffs = diffs.iter().map(diff).collect::<Result<Vec<Option<Tensor>>>>()?;
        let (bound, inputs) = BoundOp::of_call(registered(here, "op", name)?.schema().name, &values)?;
        let made = bound.backward_by(&inputs, &results, &diffs, &wanted)?;
        // SAFETY: as above.
        unsafe { write_objects(here, made, outs, room, count) }
    })
}

/// As `bt_call`, into the `out_count` tensors `outs`: as many as the op has results, with their sizes, types and layouts.
/// Make them with `bt_tensor_zeros`, or of your memory with `bt_tensor_wrap`. No other tensor may share their memory. On an
/// error they are unchanged, unless a kernel had begun to write.
///
/// # Safety
/// `op` is a string; `args` holds `arg_count` arguments, as `bt_call` asks; `outs` holds `out_count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_call_into(
    op: *const c_char,
    args: *const bt_arg,
    arg_count: usize,
    outs: *const bt_handle,
    out_count: usize,
) -> bt_status {
    let here = "bt_call_into";
    guard(here, || {
        // SAFETY: the caller's promises.
        let (name, values, outs) = unsafe {
            (string(here, "op", op)?, values(here, args, arg_count)?, array(here, "outs", outs, out_count)?)
        };
        let (bound, inputs) = BoundOp::of_call(registered(here, "op", name)?.schema().name, &values)?;
        // Only the inputs remain: a tensor among them that is a result too is then shared, and refused.
        drop(values);
        let inputs: Vec<_> = inputs.iter().map(Operand::tensor_ref).collect();
        write_into(here, "outs", outs, |outs| bound.run_into(&inputs, outs, &mut Scratchpad::new()))
    })
}
