//! Statuses, and the last error of each thread.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use blocktensor::ledger::{self, Site};
use blocktensor::{Complaint, Error, Result, check_process};
pub(crate) use blocktensor_door::Failure;
use blocktensor_door::panicked;

use crate::words::C;

/// 0 is success; any other value is a `bt_code`.
#[allow(non_camel_case_types)]
pub type bt_status = i32;

/// Kinds of errors. Their numbers never change.
#[allow(non_camel_case_types)]
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum bt_code {
    /// The op has no kernel for tensors of this key, or no fast one. A model has something that this library does not support:
    /// the text lists all nodes that cannot run.
    BT_UNSUPPORTED_OP = 1,
    /// Data operands of different keys: strided and blocked.
    BT_KEY_MISMATCH = 2,
    /// A layout that does not fit the other operands or the kernel.
    BT_LAYOUT_MISMATCH = 3,
    /// The kernel does not take this element type.
    BT_UNSUPPORTED_DTYPE = 4,
    /// Element types that must agree and do not.
    BT_DTYPE_MISMATCH = 5,
    /// The wrong number of dimensions.
    BT_RANK_MISMATCH = 6,
    /// Sizes that do not match.
    BT_SHAPE_MISMATCH = 7,
    /// A parameter outside its range, or an unknown name. Inputs of a run that its plan was not made for.
    BT_INVALID_ARGUMENT = 8,
    /// Sizes that overflow the machine's integers.
    BT_OVERFLOW = 9,
    /// Strides that reach past the data.
    BT_OUT_OF_BOUNDS = 10,
    /// Negative strides, or a view that strides cannot express.
    BT_UNSUPPORTED_STRIDE = 11,
    /// A result whose elements share memory with each other.
    BT_OVERLAPPING_OUTPUT = 12,
    /// A result whose memory another tensor shares, or that may not be written.
    BT_ALIASING = 13,
    /// Strides or data were asked of a blocked tensor.
    BT_OPAQUE_LAYOUT = 14,
    /// Packed weights used with a source, machine or number of threads that they were not packed for.
    BT_PACK_MISMATCH = 15,
    /// A reorder inside `bt_deny_reorders`.
    BT_REORDER_DENIED = 16,
    /// Does not occur in C.
    BT_REGISTRATION = 17,
    /// A file whose content is inconsistent.
    BT_CORRUPT_FILE = 18,
    /// A file that cannot be opened or written.
    BT_FILE_ACCESS = 19,
    /// Memory could not be allocated.
    BT_OUT_OF_MEMORY = 20,
    /// The engine failed in a way that no check foresaw.
    BT_BACKEND = 21,
    /// An address that is not a multiple of its element's size.
    BT_MISALIGNED = 22,
    /// A DLPack tensor of another device or type.
    BT_DLPACK_UNSUPPORTED = 23,
    /// A DLPack tensor of another major version.
    BT_DLPACK_VERSION = 24,
    /// A null pointer or the handle 0, where it is not allowed.
    BT_NULL_POINTER = 25,
    /// A handle that was freed, has another kind, or never existed.
    BT_INVALID_HANDLE = 26,
    /// The caller's header is of another version than the library.
    BT_ABI_MISMATCH = 27,
    /// A panic inside the library, caught at the C interface: a bug of the library.
    BT_PANICKED = 28,
    /// A call in a child that was forked after the library was used. Start children with exec, or fork before the first call.
    BT_FORKED_PROCESS = 29,
    /// Too little stack is left on this thread.
    BT_STACK_TOO_SMALL = 30,
}

struct Last {
    code: bt_status,
    text: CString,
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// The text as a C string, with each NUL written as `\0`.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\\0")).unwrap_or_default()
}

/// Keeps the failure of a function as the thread's last error, in the words of C.
fn keep(function: &str, failure: &Failure) -> bt_status {
    let code = failure.code();
    let last = Last { code, text: c_string(&failure.told(&C(function))) };
    // A thread that runs its destructors keeps no text.
    let _ = LAST.try_with(|place| place.replace(Some(last)));
    code
}

/// Runs the body of a function: its error becomes the thread's last error, and its panics are caught.
pub(crate) fn guard(op: &'static str, body: impl FnOnce() -> Result<()>) -> bt_status {
    guard_model(op, || Ok(body()?))
}

/// As `guard`, for functions of models and plans, which have errors of their own.
pub(crate) fn guard_model(op: &'static str, body: impl FnOnce() -> Result<(), Failure>) -> bt_status {
    match catch_unwind(AssertUnwindSafe(|| {
        // Before the body, which may take a lock.
        check_process(op)?;
        ledger::at(Site::Foreign(op), body)
    })) {
        Ok(Ok(())) => 0,
        Ok(Err(e)) => keep(op, &e),
        Err(panic) => keep(op, &panicked(op, panic).into()),
    }
}

/// Code of the last error of this thread; 0 if there was none. A successful call does not clear it.
#[unsafe(no_mangle)]
pub extern "C" fn bt_last_error_code() -> bt_status {
    LAST.try_with(|last| last.borrow().as_ref().map_or(0, |l| l.code)).unwrap_or(0)
}

/// Text of the last error of this thread; empty if there was none. Valid until this thread's next call that fails.
#[unsafe(no_mangle)]
pub extern "C" fn bt_last_error_message() -> *const c_char {
    let text = LAST.try_with(|last| last.borrow().as_ref().map_or(c"".as_ptr(), |l| l.text.as_ptr()));
    text.unwrap_or(c"".as_ptr())
}

pub(crate) fn null(op: &'static str, argument: &'static str) -> Error {
    Error::NullPointer(Complaint::new(op, argument, "null", "it must not be null", "pass an address"))
}

/// A string passed by the caller.
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
            "strings must be UTF-8",
            "convert it first",
        ))
    })
}

/// An array passed by the caller; null is an empty array.
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
    if !fits {
        let got = format!("{count} elements of {} bytes", size_of::<T>());
        let rule = format!("no array is longer than {} bytes", isize::MAX);
        return Err(Error::Overflow(Complaint::new(
            op,
            argument,
            got,
            rule,
            "pass the number of elements of the array",
        )));
    }
    if !data.is_aligned() {
        let got = format!("{count} elements at {data:p}");
        let rule =
            format!("its elements have {} bytes and must be aligned to {}", size_of::<T>(), align_of::<T>());
        return Err(Error::Misaligned(Complaint::new(op, argument, got, rule, "pass an array of that type")));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(data, count) })
}

/// Where a result is written. C need not have written anything there before.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn place<'a, T>(
    op: &'static str,
    argument: &'static str,
    out: *mut T,
) -> Result<&'a mut MaybeUninit<T>> {
    if !out.is_aligned() {
        let rule = format!("it must be aligned to {} bytes", align_of::<T>());
        let got = format!("address {out:p}");
        return Err(Error::Misaligned(Complaint::new(
            op,
            argument,
            got,
            rule,
            "pass the address of a value of that type",
        )));
    }
    // SAFETY: the caller's promise.
    unsafe { out.cast::<MaybeUninit<T>>().as_mut() }.ok_or_else(|| null(op, argument))
}
