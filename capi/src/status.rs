//! Statuses, and the last error of each thread.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use blocktensor::ledger::{self, Site};
use blocktensor::{Complaint, Error, Result, check_process};

/// 0 is success; others are a `bt_code`.
#[allow(non_camel_case_types)]
pub type bt_status = i32;

/// Kinds of errors. They keep their numbers.
#[allow(non_camel_case_types)]
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum bt_code {
    /// No kernel for the op on tensors of this key, or none that is fast.
    BT_UNSUPPORTED_OP = 1,
    /// Data operands of different keys: strided and blocked.
    BT_KEY_MISMATCH = 2,
    /// A layout that does not fit the other operands or the kernel.
    BT_LAYOUT_MISMATCH = 3,
    /// A type that no kernel takes here.
    BT_UNSUPPORTED_DTYPE = 4,
    /// Types that must agree and do not.
    BT_DTYPE_MISMATCH = 5,
    /// The wrong number of dimensions.
    BT_RANK_MISMATCH = 6,
    /// Sizes that do not fit each other.
    BT_SHAPE_MISMATCH = 7,
    /// A parameter outside its range, or an unknown name.
    BT_INVALID_ARGUMENT = 8,
    /// Sizes that the machine's integers do not hold.
    BT_OVERFLOW = 9,
    /// Strides that reach past the data.
    BT_OUT_OF_BOUNDS = 10,
    /// Negative strides, or a view that strides cannot express.
    BT_UNSUPPORTED_STRIDE = 11,
    /// A result whose elements share memory with each other.
    BT_OVERLAPPING_OUTPUT = 12,
    /// A result whose memory another tensor shares, or that may not be written.
    BT_ALIASING = 13,
    /// A question about strides or data to a blocked tensor.
    BT_OPAQUE_LAYOUT = 14,
    /// Packed weights with another source, machine or number of threads.
    BT_PACK_MISMATCH = 15,
    /// A reorder inside `bt_deny_reorders`.
    BT_REORDER_DENIED = 16,
    /// Not met in C.
    BT_REGISTRATION = 17,
    /// A file that does not hold together.
    BT_CORRUPT_FILE = 18,
    /// A file that cannot be opened or written.
    BT_FILE_ACCESS = 19,
    /// Memory could not be had.
    BT_OUT_OF_MEMORY = 20,
    /// The engine failed in a way that no check foresaw.
    BT_BACKEND = 21,
    /// An address that is not a multiple of its element's size.
    BT_MISALIGNED = 22,
    /// A DLPack tensor of another device or type.
    BT_DLPACK_UNSUPPORTED = 23,
    /// A DLPack tensor of another major version.
    BT_DLPACK_VERSION = 24,
    /// Null, or the handle 0, where something is needed.
    BT_NULL_POINTER = 25,
    /// A handle that was freed, is of another kind, or was never given.
    BT_INVALID_HANDLE = 26,
    /// A header of another version than the library.
    BT_ABI_MISMATCH = 27,
    /// A mistake of the library, stopped at its border.
    BT_PANICKED = 28,
    /// A call in a child that was forked after the library was used. Start children with exec, or fork before the first call.
    BT_FORKED_PROCESS = 29,
    /// Too little stack left on this thread.
    BT_STACK_TOO_SMALL = 30,
}

struct Last {
    code: bt_status,
    text: CString,
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

fn keep(e: &Error) -> bt_status {
    let text = e.to_string().replace('\0', "\\0");
    let code = e.code();
    let last = Last { code, text: CString::new(text).unwrap_or_default() };
    // A thread that is ending, in a destructor, keeps no text.
    let _ = LAST.try_with(|place| place.replace(Some(last)));
    code
}

/// Runs the body of a function: its error becomes the thread's last, and no panic gets out.
pub(crate) fn guard(op: &'static str, body: impl FnOnce() -> Result<()>) -> bt_status {
    // Before the body, which may take a lock.
    match catch_unwind(AssertUnwindSafe(|| {
        check_process(op).and_then(|()| ledger::at(Site::Foreign(op), body))
    })) {
        Ok(Ok(())) => 0,
        Ok(Err(e)) => keep(&e),
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().map(ToString::to_string);
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            let remedy = "please report this with the call that led to it";
            keep(&Error::Panicked(Complaint::new(op, "call", said, "no call panics", remedy)))
        }
    }
}

/// Code of the last error of this thread; 0 where there was none. A success does not clear it.
#[unsafe(no_mangle)]
pub extern "C" fn bt_last_error_code() -> bt_status {
    LAST.try_with(|last| last.borrow().as_ref().map_or(0, |l| l.code)).unwrap_or(0)
}

/// Text of the last error of this thread; empty where there was none. Valid until the next call of this thread that fails.
#[unsafe(no_mangle)]
pub extern "C" fn bt_last_error_message() -> *const c_char {
    let text = LAST.try_with(|last| last.borrow().as_ref().map_or(c"".as_ptr(), |l| l.text.as_ptr()));
    text.unwrap_or(c"".as_ptr())
}

pub(crate) fn null(op: &'static str, argument: &'static str) -> Error {
    Error::NullPointer(Complaint::new(op, argument, "null", "it must point somewhere", "pass an address"))
}

/// A string of the caller's.
///
/// # Safety
/// `text` is null or ends with NUL, and lives as long as the result is used.
pub(crate) unsafe fn string<'a>(
    op: &'static str,
    argument: &'static str,
    text: *const c_char,
) -> Result<&'a str> {
    if text.is_null() {
        return Err(null(op, argument));
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|e| {
        Error::InvalidArgument(Complaint::new(
            op,
            argument,
            e.to_string(),
            "strings are UTF-8",
            "convert it first",
        ))
    })
}

/// An array of the caller's; null is an array of no elements.
///
/// # Safety
/// `data` is null or holds `count` elements, and lives as long as the result is used.
pub(crate) unsafe fn array<'a, T>(
    op: &'static str,
    argument: &'static str,
    data: *const T,
    count: usize,
) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(null(op, argument));
    }
    let fits = count.checked_mul(size_of::<T>()).is_some_and(|b| isize::try_from(b).is_ok());
    if !fits || !data.is_aligned() {
        let got = format!("{count} elements at {data:p}");
        let rule = format!("it holds elements of {} bytes, aligned to {}", size_of::<T>(), align_of::<T>());
        return Err(Error::Misaligned(Complaint::new(op, argument, got, rule, "pass an array of that type")));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(data, count) })
}

/// A place for a result.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn place<'a, T>(
    op: &'static str,
    argument: &'static str,
    out: *mut T,
) -> Result<&'a mut T> {
    if !out.is_aligned() {
        let rule = format!("it is aligned to {} bytes", align_of::<T>());
        let got = format!("address {out:p}");
        return Err(Error::Misaligned(Complaint::new(op, argument, got, rule, "pass a place of that type")));
    }
    // SAFETY: the caller's promise.
    unsafe { out.as_mut() }.ok_or_else(|| null(op, argument))
}
