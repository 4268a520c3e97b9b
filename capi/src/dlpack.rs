//! DLPack: `dlpack.h`'s structures by address.

use std::ffi::c_void;
use std::ptr::NonNull;

use blocktensor::dlpack::{DLManagedTensor, DLManagedTensorVersioned};
use blocktensor::{BlockedTensor, Complaint, Error, Operand, StridedTensor, Tensor};

use crate::handles::{Object, bt_handle, give, tensor};
use crate::status::{bt_status, guard, null, place};

/// Address of a `DLManagedTensorVersioned` or `DLManagedTensor` of `dlpack.h`.
#[allow(non_camel_case_types)]
pub type bt_dlpack = *mut c_void;

/// Another library's tensor (`DLManagedTensorVersioned`), without a copy. Its deleter is called once: when it is no longer
/// used, or at once on an error.
///
/// # Safety
/// A live tensor that nobody else consumes, whose memory nobody else writes to; any thread may call its deleter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_from_dlpack(managed: bt_dlpack, out: *mut bt_handle) -> bt_status {
    let op = "bt_tensor_from_dlpack";
    guard(op, || {
        let managed =
            NonNull::new(managed.cast::<DLManagedTensorVersioned>()).ok_or_else(|| null(op, "managed"))?;
        // SAFETY: the caller's promise; taken first, so that it is given back whatever happens.
        let t = unsafe { StridedTensor::from_dlpack(managed) }?;
        // SAFETY: the caller's promise. Before the handle is made: on an error the tensor is given back.
        let out = unsafe { place(op, "out", out)? };
        *out = give(Object::Tensor(t.into()));
        Ok(())
    })
}

/// As `bt_tensor_from_dlpack`, of the form before version 1 (`DLManagedTensor`).
///
/// # Safety
/// As `bt_tensor_from_dlpack`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_from_dlpack_unversioned(
    managed: bt_dlpack,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_tensor_from_dlpack_unversioned";
    guard(op, || {
        let managed = NonNull::new(managed.cast::<DLManagedTensor>()).ok_or_else(|| null(op, "managed"))?;
        // SAFETY: as above.
        let t = unsafe { StridedTensor::from_dlpack_unversioned(managed) }?;
        // SAFETY: the caller's promise. Before the handle is made: on an error the tensor is given back.
        let out = unsafe { place(op, "out", out)? };
        *out = give(Object::Tensor(t.into()));
        Ok(())
    })
}

/// A strided tensor for another library (`DLManagedTensorVersioned`), read-only, without a copy. A blocked one is refused with
/// the reorder to call.
///
/// # Safety
/// `out` may be written. The receiver calls the deleter once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_to_dlpack(t: bt_handle, out: *mut bt_dlpack) -> bt_status {
    let op = "bt_tensor_to_dlpack";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        *out = match tensor(op, "t", t)? {
            Tensor::Strided(t) => t.to_dlpack(),
            Tensor::Blocked(t) => t.to_dlpack()?,
            other => return Err(foreign(op, &other)),
        }
        .as_ptr()
        .cast();
        Ok(())
    })
}

/// A strided tensor for another library that knows only the form before version 1 (`DLManagedTensor`), which has no flag for
/// read-only: so the receiver gets a copy of its own.
///
/// # Safety
/// `out` may be written. The receiver calls the deleter once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_into_dlpack_unversioned(t: bt_handle, out: *mut bt_dlpack) -> bt_status {
    let op = "bt_tensor_into_dlpack_unversioned";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        *out = match tensor(op, "t", t)? {
            Tensor::Strided(t) => {
                t.copy(blocktensor::MemoryFormat::Preserve)?.into_dlpack_unversioned()?.as_ptr().cast()
            }
            Tensor::Blocked(t) => t.to_dlpack()?.as_ptr().cast(),
            other => return Err(foreign(op, &other)),
        };
        Ok(())
    })
}

/// A blocked tensor's memory as it lies, for another library, read-only: N, ceil(C / block), spatial sizes, block.
///
/// # Safety
/// `out` may be written. The receiver calls the deleter once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_blocked_to_dlpack(t: bt_handle, out: *mut bt_dlpack) -> bt_status {
    let op = "bt_blocked_to_dlpack";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        let t = BlockedTensor::from_tensor(tensor(op, "t", t)?).map_err(|t| {
            let rule = "a blocked tensor's blocks are exported";
            let remedy = "export it with `bt_tensor_to_dlpack`";
            Error::KeyMismatch(Complaint::new(op, "t", t.tensor_ref().describe(), rule, remedy))
        })?;
        *out = t.as_blocked_dlpack()?.as_ptr().cast();
        Ok(())
    })
}

fn foreign(op: &'static str, t: &Tensor) -> Error {
    let rule = "tensors of this library's own backends are exported";
    Error::OpaqueLayout(Complaint::new(
        op,
        "t",
        t.tensor_ref().describe(),
        rule,
        "reorder it to strided first",
    ))
}
