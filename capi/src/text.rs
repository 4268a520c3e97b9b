//! Functions that write text: descriptions of objects, and schemas of ops.

use std::ffi::c_char;
use std::sync::PoisonError;

use blocktensor::dispatch::{self, Op};
use blocktensor::{Complaint, Error, Operand, Result};

use crate::handles::{Object, bt_handle, description, object};
use crate::status::{bt_status, guard, null, place, string};

/// Writes a description of an object, or a text object's text, into `room` bytes. The text ends with NUL and is truncated if
/// necessary; `needed` receives the number of bytes of the full text.
///
/// # Safety
/// `text` may be written for `room` bytes; `needed` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_describe(
    handle: bt_handle,
    text: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> bt_status {
    let op = "bt_describe";
    guard(op, || {
        let said = match &*object(op, "handle", handle)? {
            Object::Text(t) => t.clone(),
            Object::Tensor(t) => t.tensor_ref().describe(),
            input @ Object::Input(_) => input.kind().to_string(),
            Object::Description(desc) => desc.to_string(),
            Object::Packed(packed) => format!("{packed:?}"),
            Object::Operator(bound) => bound.to_string(),
            Object::Scratchpad(scratchpad) => {
                let bytes = scratchpad.lock().unwrap_or_else(PoisonError::into_inner).bytes();
                format!("a scratchpad of {bytes} bytes")
            }
            Object::Writer(writer) => writer.lock().unwrap_or_else(PoisonError::into_inner).to_string(),
            Object::File(file) => file.to_string(),
            Object::Dict(dict) => dict.to_string(),
            Object::Model(model) => model.to_string(),
            Object::Plan(plan) => plan.to_string(),
            Object::Fallback(_) => "a fallback that is on".to_string(),
            Object::Lent => "a tensor that a call is writing".to_string(),
        };
        // SAFETY: the caller's promises.
        unsafe { write_out(op, &said, text, room, needed) }
    })
}

/// Writes the name of the layout of a tensor or a description into `room` bytes, as `bt_describe` does: a layout (`nChw16c`), a
/// memory format (`contiguous`), or the strides of a tensor that has none. `bt_to_blocked` and `bt_desc_new` take the names of
/// layouts.
///
/// # Safety
/// `text` may be written for `room` bytes; `needed` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_layout_name(
    t: bt_handle,
    text: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> bt_status {
    let op = "bt_layout_name";
    guard(op, || {
        let name = description(op, "t", t)?.layout_name();
        // SAFETY: the caller's promises.
        unsafe { write_out(op, &name, text, room, needed) }
    })
}

/// Writes the signature of an op into `room` bytes, as `bt_describe` does: the names, kinds and defaults of its arguments, in
/// brackets the dtypes that kernels take here and the ranks of tensors, and the results. If `op` is null, it writes the names of all ops, one per line.
///
/// # Safety
/// `op` is null or a string; `text` may be written for `room` bytes; `needed` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_schema(
    op: *const c_char,
    text: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> bt_status {
    let here = "bt_schema";
    guard(here, || {
        let said = if op.is_null() {
            dispatch::ops().iter().map(|op| op.schema().name).collect::<Vec<_>>().join("\n")
        } else {
            // SAFETY: the caller's promise.
            registered(here, "op", unsafe { string(here, "op", op)? })?.to_string()
        };
        // SAFETY: the caller's promises.
        unsafe { write_out(here, &said, text, room, needed) }
    })
}

/// The op of a name, which was passed as `argument`.
pub(crate) fn registered(here: &'static str, argument: &'static str, name: &str) -> Result<&'static Op> {
    dispatch::op(name).ok_or_else(|| {
        let (rule, remedy) = ("no op has this name", "`bt_schema` without a name lists all");
        let got = format!("`{}`", name.escape_debug());
        Error::InvalidArgument(Complaint::new(here, argument, got, rule, remedy))
    })
}

/// # Safety
/// `text` may be written for `room` bytes; `needed` is null or may be written.
pub(crate) unsafe fn write_out(
    op: &'static str,
    said: &str,
    text: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Result<()> {
    if !needed.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place(op, "needed", needed)? }.write(said.len() + 1);
    }
    if room == 0 {
        return Ok(());
    }
    if text.is_null() {
        return Err(null(op, "text"));
    }
    if isize::try_from(room).is_err() {
        let c = Complaint::new(
            op,
            "room",
            room.to_string(),
            "it must fit in the address space",
            "pass the true size",
        );
        return Err(Error::InvalidArgument(c));
    }
    let shown = said.floor_char_boundary(room - 1);
    // SAFETY: the caller's promise: `room` bytes, of which `shown + 1` are written.
    unsafe {
        std::ptr::copy_nonoverlapping(said.as_ptr().cast(), text, shown);
        text.add(shown).write(0);
    }
    Ok(())
}
