//! Scopes, which hold while a function of the caller runs; and functions that write text.

use std::cell::Cell;
use std::ffi::{c_char, c_void};

use blocktensor::{Complaint, Error, Operand, Result, dispatch, ledger};

use crate::handles::{Object, Packed, bt_handle, give, object};
use crate::status::{bt_status, guard, null, place, string};

/// A function of the caller. It gets the context, and returns a status, which the scope's function returns in turn. If it
/// returns a status that did not come from this library, there is no text for it.
#[allow(non_camel_case_types)]
pub type bt_body = Option<unsafe extern "C" fn(*mut c_void) -> bt_status>;

/// Calls the body inside `scope`. A nonzero status of the body is returned unchanged.
fn call(
    op: &'static str,
    body: bt_body,
    context: *mut c_void,
    scope: impl FnOnce(&dyn Fn() -> bt_status) -> Result<()>,
) -> bt_status {
    let said = Cell::new(0);
    let status = guard(op, || {
        let Some(body) = body else { return Err(null(op, "body")) };
        scope(&|| {
            // SAFETY: the caller's function with the caller's context, on the caller's thread.
            said.set(unsafe { body(context) });
            said.get()
        })
    });
    if said.get() != 0 { said.get() } else { status }
}

/// Keeps the threads together as a team while `body` runs: parallel sections of its ops then need not wake threads.
///
/// # Safety
/// `body` may be called with `context`, and returns normally.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_run(body: bt_body, context: *mut c_void) -> bt_status {
    call("bt_run", body, context, |body| {
        blocktensor::run(body);
        Ok(())
    })
}

/// Makes every reorder an error while `body` runs.
///
/// # Safety
/// As `bt_run`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_deny_reorders(body: bt_body, context: *mut c_void) -> bt_status {
    call("bt_deny_reorders", body, context, |body| {
        ledger::deny_reorders(body);
        Ok(())
    })
}

/// Records every reorder and kernel run of this thread while `body` runs. `out` receives a text object with a table of them,
/// for `bt_describe`; nothing if the body fails.
///
/// # Safety
/// As `bt_run`; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_record(body: bt_body, context: *mut c_void, out: *mut bt_handle) -> bt_status {
    let op = "bt_record";
    call(op, body, context, |body| {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        let (status, book) = ledger::record(body);
        if status == 0 {
            *out = give(Object::Text(book.to_string()));
        }
        Ok(())
    })
}

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
            Object::Packed(packed) => match &**packed {
                Packed::Conv1(c) => format!("{c:?}"),
                Packed::Conv2(c) => format!("{c:?}"),
                Packed::Conv3(c) => format!("{c:?}"),
                Packed::Linear(l) => format!("{l:?}"),
            },
            Object::Dict(d) => {
                let d = d.lock().unwrap_or_else(|e| e.into_inner());
                d.names().collect::<Vec<_>>().join("\n")
            }
            Object::Model(model) => model.to_string(),
            Object::Plan(plan) => plan.to_string(),
        };
        // SAFETY: the caller's promises.
        unsafe { write_out(op, &said, text, room, needed) }
    })
}

/// Writes the signature of an op into `room` bytes, as `bt_describe` does: the names, kinds and defaults of its arguments, in
/// brackets the dtypes and ranks of tensors, and the results. If `op` is null, it writes the names of all ops, one per line.
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
            let name = unsafe { string(here, "op", op)? };
            let Some(op) = dispatch::op(name) else {
                let rule = "no op has this name";
                let remedy = "pass null for a list of all names";
                let got = format!("`{}`", name.escape_debug());
                return Err(Error::InvalidArgument(Complaint::new(here, "op", got, rule, remedy)));
            };
            op.schema().to_string()
        };
        // SAFETY: the caller's promises.
        unsafe { write_out(here, &said, text, room, needed) }
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
        *unsafe { place(op, "needed", needed)? } = said.len() + 1;
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
