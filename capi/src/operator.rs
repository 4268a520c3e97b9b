//! Operators: ops bound to their parameters. Packed weights are operators too.

use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use blocktensor::dispatch::DispatchKey;
use blocktensor::{BoundOp, Complaint, Error, Operand, Result, Scratchpad, Tensor, TensorDesc, TensorRef};

use crate::call::{bt_arg, values};
use crate::handles::{self, Object, bt_handle, description, give, tensor, with_operator};
use crate::lent::write_into;
use crate::status::{array, bt_status, guard, place, string};
use crate::values::write_objects;

/// Binds an op to its parameters, and to the tensors that it will get. `inputs` are the names of tensor arguments in the
/// order of the op's schema (`bt_schema`), a list's name once for each of its tensors. Parameters that are left out take
/// their defaults.
///
/// # Safety
/// `name` is a string; `inputs` holds `input_count` strings; `params` holds `param_count` arguments, as `bt_call` asks;
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_op_new(
    name: *const c_char,
    inputs: *const *const c_char,
    input_count: usize,
    params: *const bt_arg,
    param_count: usize,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_op_new";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (out, name, inputs, params) = unsafe {
            let inputs = array(op, "inputs", inputs, input_count)?.iter();
            let inputs = inputs.map(|&input| string(op, "inputs", input)).collect::<Result<Vec<_>>>()?;
            (place(op, "out", out)?, string(op, "name", name)?, inputs, values(op, params, param_count)?)
        };
        let bound = BoundOp::of(crate::text::registered(op, "name", name)?, &inputs, &params)?;
        out.write(give(Object::Operator(Box::new(bound))));
        Ok(())
    })
}

/// The descriptions of these inputs.
///
/// # Safety
/// `inputs` holds `count` handles.
unsafe fn descriptions(op: &'static str, inputs: *const bt_handle, count: usize) -> Result<Vec<TensorDesc>> {
    // SAFETY: the caller's promise.
    let inputs = unsafe { array(op, "inputs", inputs, count)? };
    inputs.iter().map(|&handle| description(op, "inputs", handle)).collect()
}

/// The tensors of these inputs.
///
/// # Safety
/// `inputs` holds `count` handles.
unsafe fn tensors(op: &'static str, inputs: *const bt_handle, count: usize) -> Result<Vec<Tensor>> {
    // SAFETY: the caller's promise.
    let inputs = unsafe { array(op, "inputs", inputs, count)? };
    inputs.iter().map(|&handle| tensor(op, "inputs", handle)).collect()
}

/// Describes the results of a run on such inputs, without running: `inputs` are tensors or descriptions. The handles of the
/// descriptions are written to `outs`, which has room for `room`, and their number to `count`. If there is too little room,
/// it is an error and no handle is written.
///
/// `handle` is an operator or packed weights. Packed weights take `x`, then the `residual` if their post-ops have one, then a
/// vector for each post-op that takes numbers for each channel.
///
/// # Safety
/// `inputs` holds `input_count` handles; `outs` may be written for `room` handles; `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_op_infer(
    handle: bt_handle,
    inputs: *const bt_handle,
    input_count: usize,
    outs: *mut bt_handle,
    room: usize,
    count: *mut usize,
) -> bt_status {
    let op = "bt_op_infer";
    guard(op, || {
        // SAFETY: the caller's promise.
        let inputs = unsafe { descriptions(op, inputs, input_count)? };
        let results = with_operator(op, "handle", handle, |operator| operator.infer(&inputs))?;
        // SAFETY: as above.
        unsafe { write_objects(op, results, outs, room, count) }
    })
}

/// Describes the same inputs in the layouts that the kernels of a dispatch key (`strided`, `blocked`) prefer: as
/// `bt_op_infer`, with a description for each input. `count` receives 0 if the op has no kernel for the key.
///
/// # Safety
/// As `bt_op_infer`; `key` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_op_preferred(
    handle: bt_handle,
    key: *const c_char,
    inputs: *const bt_handle,
    input_count: usize,
    outs: *mut bt_handle,
    room: usize,
    count: *mut usize,
) -> bt_status {
    let op = "bt_op_preferred";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (name, inputs) = unsafe { (string(op, "key", key)?, descriptions(op, inputs, input_count)?) };
        let Some(key) = DispatchKey::by_name(name) else {
            let names: Vec<&str> = DispatchKey::all().into_iter().map(DispatchKey::name).collect();
            let (got, rule) =
                (format!("`{}`", name.escape_debug()), format!("the keys are {}", names.join(", ")));
            return Err(Error::InvalidArgument(Complaint::new(op, "key", got, rule, "pass one of them")));
        };
        let wanted = with_operator(op, "handle", handle, |operator| operator.preferred(key, &inputs))?;
        // SAFETY: as above.
        unsafe { write_objects(op, wanted.unwrap_or_default(), outs, room, count) }
    })
}

/// The **bytes** of scratchpad that a run on such inputs takes: `inputs` are tensors or descriptions.
///
/// # Safety
/// `inputs` holds `input_count` handles; `bytes` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_op_scratchpad_bytes(
    handle: bt_handle,
    inputs: *const bt_handle,
    input_count: usize,
    bytes: *mut usize,
) -> bt_status {
    let op = "bt_op_scratchpad_bytes";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (bytes, inputs) = unsafe { (place(op, "bytes", bytes)?, descriptions(op, inputs, input_count)?) };
        bytes.write(with_operator(op, "handle", handle, |operator| operator.scratchpad_bytes(&inputs))?);
        Ok(())
    })
}

/// Makes a scratchpad of so many **bytes**, for `bt_op_run_into`. It grows when a run takes more.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_scratchpad_new(bytes: usize, out: *mut bt_handle) -> bt_status {
    let op = "bt_scratchpad_new";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        out.write(give(Object::Scratchpad(Mutex::new(Scratchpad::with_bytes(bytes)?))));
        Ok(())
    })
}

/// Runs an operator or packed weights. Inputs are those that `bt_op_infer` names; the handles of the results are written to
/// `outs`, which has room for `room` handles, and their number to `count`. If there is too little room, it is an error and
/// no handle is written.
///
/// # Safety
/// As `bt_op_infer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_op_run(
    handle: bt_handle,
    inputs: *const bt_handle,
    input_count: usize,
    outs: *mut bt_handle,
    room: usize,
    count: *mut usize,
) -> bt_status {
    let op = "bt_op_run";
    guard(op, || {
        // SAFETY: the caller's promise.
        let inputs = unsafe { tensors(op, inputs, input_count)? };
        let inputs: Vec<TensorRef<'_>> = inputs.iter().map(Operand::tensor_ref).collect();
        let results = with_operator(op, "handle", handle, |operator| operator.run(&inputs))?;
        // SAFETY: as above.
        unsafe { write_objects(op, results, outs, room, count) }
    })
}

/// As `bt_op_run`, into the `out_count` tensors `outs`, which are as `bt_op_infer` describes the results. No other tensor
/// may share their memory. `scratchpad` is memory for the run (`bt_scratchpad_new`) which one run uses at a time, so that
/// others wait; 0 takes some for this run.
///
/// # Safety
/// `inputs` holds `input_count` handles, `outs` holds `out_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_op_run_into(
    handle: bt_handle,
    inputs: *const bt_handle,
    input_count: usize,
    outs: *const bt_handle,
    out_count: usize,
    scratchpad: bt_handle,
) -> bt_status {
    let op = "bt_op_run_into";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (inputs, outs) =
            unsafe { (tensors(op, inputs, input_count)?, array(op, "outs", outs, out_count)?) };
        let inputs: Vec<TensorRef<'_>> = inputs.iter().map(Operand::tensor_ref).collect();
        with_operator(op, "handle", handle, |operator| {
            with_scratchpad(op, scratchpad, |scratchpad| {
                write_into(op, "outs", outs, |outs| operator.run_into(&inputs, outs, scratchpad))
            })
        })
    })
}

/// Calls `f` with the scratchpad of a handle, or with a new one for handle 0. A thread that finds it in use waits.
fn with_scratchpad<R>(
    op: &'static str,
    scratchpad: bt_handle,
    f: impl FnOnce(&mut Scratchpad) -> Result<R>,
) -> Result<R> {
    if scratchpad == 0 {
        return f(&mut Scratchpad::new());
    }
    handles::with(op, "scratchpad", scratchpad, "a scratchpad", |object| match object {
        Object::Scratchpad(pad) => Some(f(&mut pad.lock().unwrap_or_else(PoisonError::into_inner))),
        _ => None,
    })
}
