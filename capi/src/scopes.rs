//! Scopes, which hold while a function of the caller runs: the team, the number of threads, and the ledger's.

use std::cell::Cell;
use std::ffi::c_void;

use blocktensor::ledger::Site;
use blocktensor::{Complaint, Door, Error, Result, ledger};

use crate::handles::{Object, bt_handle, give};
use crate::status::{bt_status, guard, null, place};
use crate::words::C;

/// A function of the caller. It gets the context, and returns a status, which the scope's function returns in turn. If it
/// returns a status that did not come from this library, there is no text for it.
#[allow(non_camel_case_types)]
pub type bt_body = Option<unsafe extern "C" fn(*mut c_void) -> bt_status>;

/// Calls the body inside `scope`. A nonzero status of the body is returned unchanged.
pub(crate) fn call(
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

/// As `bt_run`, on a number of threads, the caller's included. Weights that are packed in `body` are packed for this
/// number, and run only with it. A process with fewer threads (`bt_thread_count`) uses those that it has, with the same
/// results.
///
/// # Safety
/// As `bt_run`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_run_with_threads(
    threads: usize,
    body: bt_body,
    context: *mut c_void,
) -> bt_status {
    let op = "bt_run_with_threads";
    call(op, body, context, |body| {
        let most = blocktensor::max_threads();
        if threads == 0 || threads > most {
            let rule = format!("a run here has 1 to {most} threads");
            let c = Complaint::new(op, "threads", threads.to_string(), rule, "pass one of these numbers");
            return Err(Error::InvalidArgument(c));
        }
        blocktensor::run_with_threads(threads, body);
        Ok(())
    })
}

/// The number of threads that a call here uses: that of the scope around it, otherwise the process's. The environment
/// variable `RAYON_NUM_THREADS` sets the process's, before its first call.
///
/// # Safety
/// `count` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_thread_count(count: *mut usize) -> bt_status {
    let op = "bt_thread_count";
    guard(op, || {
        // SAFETY: the caller's promise.
        unsafe { place(op, "count", count)? }.write(blocktensor::current_threads());
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
        let (status, mut book) = ledger::record(body);
        if status == 0 {
            for reorder in &mut book.reorders {
                // Methods of Rust are named by the function of C that called them.
                if let Site::Foreign(function) = reorder.site {
                    reorder.op = C(function).op(&reorder.op).into_owned().into();
                }
            }
            out.write(give(Object::Text(book.to_string())));
        }
        Ok(())
    })
}
