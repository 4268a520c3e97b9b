//! Inputs and outputs of models and plans: what they are, and how a run takes and gives them.

use std::ffi::{CString, c_char, c_void};
use std::ptr::null;
use std::sync::Arc;

use blocktensor::{Complaint, Error, Foreign, ForeignInput, Result, StridedTensor, TensorDesc};
use blocktensor_graph::{Dim, ElementType};

use crate::handles::{Object, bt_handle, give, input};
use crate::status::{array, bt_status, c_string, guard, place};
use crate::tensor::{Owner, bt_release, dtype, number, numbers, strided};

/// An input or an output of a model or a plan. Its strings are valid until the handle of the model or plan is freed.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bt_value_info {
    /// Its name.
    pub name: *const c_char,
    /// The `bt_dtype` of its tensor in a run. Integers of any width are `BT_S32`, Booleans `BT_U8`, and what
    /// `QuantizeLinear` gives `BT_U8` or `BT_S8`.
    pub dtype: i32,
    /// Number of dimensions.
    pub rank: usize,
    /// Sizes; -1 for a size that has a name.
    pub dims: [i64; 12],
    /// Names of the sizes that the model leaves open; null for sizes that are numbers. Plans have no names.
    pub dim_names: [*const c_char; 12],
}

/// What a `bt_value_info` shows.
pub(crate) struct Port {
    name: CString,
    dtype: i32,
    dims: Vec<(i64, Option<CString>)>,
}

impl Port {
    /// An input of a model.
    pub(crate) fn of_model((name, of, dims): (&str, ElementType, &[Dim])) -> Port {
        let dims = dims.iter().map(|dim| match dim {
            Dim::Size(size) => (*size as i64, None),
            Dim::Named(name) => (-1, Some(c_string(name))),
        });
        Port { name: c_string(name), dtype: number(of.dtype()), dims: dims.collect() }
    }

    /// An input or an output of a plan.
    pub(crate) fn of_plan((name, desc): (&str, &TensorDesc)) -> Port {
        let dims = desc.dims().iter().map(|&size| (size as i64, None));
        Port { name: c_string(name), dtype: number(desc.dtype()), dims: dims.collect() }
    }

    pub(crate) fn info(&self) -> bt_value_info {
        let mut info = bt_value_info {
            name: self.name.as_ptr(),
            dtype: self.dtype,
            rank: self.dims.len(),
            dims: [0; 12],
            dim_names: [null(); 12],
        };
        for (i, (size, name)) in self.dims.iter().enumerate().take(info.dims.len()) {
            info.dims[i] = *size;
            info.dim_names[i] = name.as_ref().map_or(null(), |name| name.as_ptr());
        }
        info
    }
}

/// Writes the first `room` items to `list`, and the number of all items to `count`.
///
/// # Safety
/// `list` may be written for `room` items; `count` is null or may be written.
pub(crate) unsafe fn write_list<T>(
    op: &'static str,
    argument: &'static str,
    items: impl ExactSizeIterator<Item = T>,
    list: *mut T,
    room: usize,
    count: *mut usize,
) -> Result<()> {
    if room > 0 {
        // SAFETY: the caller's promise.
        unsafe { place(op, argument, list)? };
    }
    if !count.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place(op, "count", count)? }.write(items.len());
    }
    for (i, item) in items.take(room).enumerate() {
        // SAFETY: `i` is below `room`; the address is not null, and aligned.
        unsafe { list.add(i).write(item) };
    }
    Ok(())
}

/// The tensors of a run's inputs.
///
/// # Safety
/// `inputs` holds `count` handles.
pub(crate) unsafe fn read_inputs(
    op: &'static str,
    inputs: *const bt_handle,
    count: usize,
) -> Result<Vec<StridedTensor>> {
    // SAFETY: the caller's promise.
    let inputs = unsafe { array(op, "inputs", inputs, count)? };
    inputs.iter().map(|&handle| strided(op, "inputs", &input(op, "inputs", handle)?)).collect()
}

/// Makes an input of `bt_plan_run`, `bt_plan_run_into` and `bt_model_run` of the caller's memory, which has row-major elements at any
/// address. Each run reads them where they are, or copies them if the address is no multiple of their size: then `bt_record` shows the
/// copy, and `bt_deny_reorders` refuses it. No other call takes the handle; `bt_tensor_wrap` makes a tensor. `release` is as there.
///
/// # Safety
/// `dims` holds `rank` sizes; `out` may be written. The elements may be read until `release` is called, and nobody writes to them while a
/// run that reads them is in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_input_wrap(
    dtype: i32,
    rank: usize,
    dims: *const i64,
    data: *const c_void,
    context: *mut c_void,
    release: bt_release,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_input_wrap";
    let owner = Arc::new(Owner { context, release });
    guard(op, || {
        // SAFETY: the caller's promises.
        let (out, dims) = unsafe { (place(op, "out", out)?, numbers(op, "dims", dims, rank)?) };
        let (data, dtype) = (data.cast::<u8>().cast_mut(), self::dtype(op, dtype)?);
        let memory = Foreign { data, dtype, dims, strides: None, writable: false };
        // SAFETY: the caller's promise.
        out.write(give(Object::Input(unsafe { ForeignInput::new(memory, owner) }?)));
        Ok(())
    })
}

/// Refuses results that have no room. Writes their number to `count`.
///
/// # Safety
/// `outs` may be written for `room` handles; `count` is null or may be written.
pub(crate) unsafe fn check_room(
    op: &'static str,
    results: usize,
    outs: *mut bt_handle,
    room: usize,
    count: *mut usize,
) -> Result<()> {
    if room > 0 {
        // SAFETY: the caller's promise.
        unsafe { place(op, "outs", outs)? };
    }
    if !count.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place(op, "count", count)? }.write(results);
    }
    if results > room {
        let rule = match results {
            1 => "there is 1 output".to_string(),
            _ => format!("there are {results} outputs"),
        };
        let got = format!("room for {room}");
        let complaint = Complaint::new(op, "room", got, rule, "pass a longer array");
        return Err(Error::InvalidArgument(complaint));
    }
    Ok(())
}

/// Gives handles of the results, and writes their number to `count`. If there is too little room, it is an error and no
/// handle is given.
///
/// # Safety
/// As `check_room`.
pub(crate) unsafe fn write_objects(
    op: &'static str,
    results: Vec<impl Into<Object>>,
    outs: *mut bt_handle,
    room: usize,
    count: *mut usize,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { check_room(op, results.len(), outs, room, count)? };
    for (i, result) in results.into_iter().enumerate() {
        // SAFETY: `i` is below `room`.
        unsafe { outs.add(i).write(give(result.into())) };
    }
    Ok(())
}
