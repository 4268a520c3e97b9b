//! Blocked calls that may run on strided kernels.

use std::ffi::{c_char, c_void};

use blocktensor::dispatch;

use crate::handles::{Object, bt_handle, give};
use crate::status::{bt_status, c_string, guard, place, string};
use crate::text::registered;

/// Called with the context after the first fallback of each op, on the thread of the call. The text says which op it was,
/// how many **bytes** were reordered, and how long that took; it is valid during the call.
#[allow(non_camel_case_types)]
pub type bt_fallback_note = Option<unsafe extern "C" fn(context: *mut c_void, text: *const c_char)>;

/// A function of the caller with its context.
struct Listener {
    tell: bt_fallback_note,
    context: *mut c_void,
}

// SAFETY: the context is only passed back, and the caller of `bt_allow_fallback` promises that any thread may do so.
unsafe impl Send for Listener {}
// SAFETY: as above.
unsafe impl Sync for Listener {}

impl Listener {
    fn hear(&self, text: &str) {
        if let Some(tell) = self.tell {
            let text = c_string(text);
            // SAFETY: the caller's function with the caller's context, and a string that lives during the call.
            unsafe { tell(self.context, text.as_ptr()) }
        }
    }
}

/// Lets blocked calls of an op that has no blocked kernel run on its strided kernel: operands are reordered, and results are
/// reordered back, at every call. `name` is an op, null for all. This holds for the whole process until the handle that `out`
/// receives is freed. Without it, such a call is an error that names the reorder. `tell` may be null. Ledgers (`bt_record`)
/// show these reorders, and `bt_deny_reorders` forbids them. Calls that write into a tensor of the caller never fall back.
///
/// Several handles may be live at once, also for the same op, and may be freed in any order: an op falls back while one of
/// them allows it, and each handle's `tell` hears of each op once.
///
/// # Safety
/// `name` is null or a string; `tell` may be called with `context`, on any thread, until the handle is freed and calls that
/// began before have returned, and returns normally; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_allow_fallback(
    name: *const c_char,
    tell: bt_fallback_note,
    context: *mut c_void,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_allow_fallback";
    guard(op, || {
        // SAFETY: the caller's promises.
        let out = unsafe { place(op, "out", out)? };
        let name = match name.is_null() {
            true => None,
            // SAFETY: as above.
            false => Some(registered(op, "name", unsafe { string(op, "name", name)? })?.schema().name),
        };
        let listener = Listener { tell, context };
        let fallback = dispatch::allow_fallback(name, move |note| listener.hear(&note.to_string()));
        out.write(give(Object::Fallback(fallback)));
        Ok(())
    })
}
