//! Scopes that free the handles that are made in them.

use std::cell::RefCell;
use std::ffi::c_void;

use crate::handles::{self, bt_handle};
use crate::scopes::{bt_body, call};
use crate::status::{bt_status, guard};

thread_local! {
    /// The handles of this thread's open scopes, innermost last, each in the order in which they were made.
    static OPEN: RefCell<Vec<Vec<bt_handle>>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with the open scopes; a thread that runs its destructors has none.
fn open<R>(f: impl FnOnce(&mut Vec<Vec<bt_handle>>) -> R) -> Option<R> {
    OPEN.try_with(|open| f(&mut open.borrow_mut())).ok()
}

/// Notes a new handle in the innermost scope.
pub(crate) fn made(handle: bt_handle) {
    open(|scopes| {
        if let Some(scope) = scopes.last_mut() {
            scope.push(handle);
        }
    });
}

/// Forgets a handle that the caller freed.
pub(crate) fn freed(handle: bt_handle) {
    open(|scopes| scopes.iter_mut().rev().any(|scope| remove(scope, handle)));
}

/// Whether the scope had the handle. The search begins at the end: most handles are freed soon after they are made.
fn remove(scope: &mut Vec<bt_handle>, handle: bt_handle) -> bool {
    let found = scope.iter().rposition(|&h| h == handle);
    found.map(|at| scope.remove(at)).is_some()
}

/// An open scope. Dropping it frees its handles.
struct Scope;

impl Scope {
    fn new() -> Scope {
        open(|scopes| scopes.push(Vec::new()));
        Scope
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // Taken first: dropping an object may call a release function of the caller, which may make and free handles.
        let handles = open(Vec::pop).flatten().unwrap_or_default();
        for handle in handles.into_iter().rev() {
            // An error is no concern: another thread freed the handle.
            let _ = handles::free("bt_scope", handle);
        }
    }
}

/// Frees the handles that this thread makes while `body` runs, in the reverse order, except those that `bt_keep` keeps. They
/// are freed whatever status `body` returns. Scopes nest.
///
/// # Safety
/// As `bt_run`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_scope(body: bt_body, context: *mut c_void) -> bt_status {
    call("bt_scope", body, context, |body| {
        let _scope = Scope::new();
        body();
        Ok(())
    })
}

/// Keeps a handle that was made in this thread's innermost `bt_scope`: the scope does not free it. It then belongs to the scope
/// around that one, if there is one. A handle that the scope did not make stays as it is.
#[unsafe(no_mangle)]
pub extern "C" fn bt_keep(handle: bt_handle) -> bt_status {
    let op = "bt_keep";
    guard(op, || {
        handles::object(op, "handle", handle)?;
        open(|scopes| {
            if let [around @ .., scope] = &mut scopes[..]
                && remove(scope, handle)
                && let Some(outer) = around.last_mut()
            {
                outer.push(handle);
            }
        });
        Ok(())
    })
}
