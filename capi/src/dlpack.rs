//! DLPack: the structures of `dlpack.h`, passed by address.

use std::ffi::c_void;
use std::ptr::NonNull;

use blocktensor::dlpack::{DLManagedTensor, DLManagedTensorVersioned};
use blocktensor::{BlockedTensor, Complaint, Error, Operand, StridedTensor, Tensor};

use crate::handles::{Object, bt_handle, give, tensor};
use crate::status::{bt_status, guard, null, place};

/// The address of a `DLManagedTensorVersioned` or `DLManagedTensor` of `dlpack.h`.
#[allow(non_camel_case_types)]
pub type bt_dlpack = *mut c_void;

/// Makes a tensor of another library's tensor (`DLManagedTensorVersioned`), without a copy. Its deleter is called once: when
/// the memory is no longer used, or at once on an error.
///
/// # Safety
/// `managed` is a live tensor that nobody else consumes and whose memory nobody else writes to; any thread may call its
/// deleter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_from_dlpack(managed: bt_dlpack, out: *mut bt_handle) -> bt_status {
    let op = "bt_tensor_from_dlpack";
    guard(op, || {
        let managed =
            NonNull::new(managed.cast::<DLManagedTensorVersioned>()).ok_or_else(|| null(op, "managed"))?;
        // SAFETY: the caller's promise. It is taken first, so that its deleter is called whatever happens.
        let t = unsafe { StridedTensor::from_dlpack(managed) }?;
        // SAFETY: the caller's promise. Checked before the handle is made: on an error the tensor's deleter is called.
        let out = unsafe { place(op, "out", out)? };
        out.write(give(Object::Tensor(t.into())));
        Ok(())
    })
}

/// As `bt_tensor_from_dlpack`, for the structure used before DLPack 1.0 (`DLManagedTensor`).
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
        // SAFETY: the caller's promise. Checked before the handle is made: on an error the tensor's deleter is called.
        let out = unsafe { place(op, "out", out)? };
        out.write(give(Object::Tensor(t.into())));
        Ok(())
    })
}

/// Exports a strided tensor to another library (`DLManagedTensorVersioned`), read-only, without a copy. A blocked tensor is
/// refused; the error names the reorder to call.
///
/// # Safety
/// `out` may be written. The receiver calls the deleter once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_to_dlpack(t: bt_handle, out: *mut bt_dlpack) -> bt_status {
    let op = "bt_tensor_to_dlpack";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        let managed = match tensor(op, "t", t)? {
            Tensor::Strided(t) => t.to_dlpack()?,
            Tensor::Blocked(t) => t.to_dlpack()?,
            other => return Err(foreign(op, &other)),
        };
        out.write(managed.as_ptr().cast());
        Ok(())
    })
}

/// Exports a strided tensor to another library that knows only the structure used before DLPack 1.0 (`DLManagedTensor`). That
/// structure has no read-only flag, so the receiver gets a copy of its own.
///
/// # Safety
/// `out` may be written. The receiver calls the deleter once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_into_dlpack_unversioned(t: bt_handle, out: *mut bt_dlpack) -> bt_status {
    let op = "bt_tensor_into_dlpack_unversioned";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        out.write(match tensor(op, "t", t)? {
            Tensor::Strided(t) => {
                t.copy(blocktensor::MemoryFormat::Preserve)?.into_dlpack_unversioned()?.as_ptr().cast()
            }
            Tensor::Blocked(t) => t.to_dlpack()?.as_ptr().cast(),
            other => return Err(foreign(op, &other)),
        });
        Ok(())
    })
}

/// Exports a blocked tensor's memory unchanged to another library, read-only, with dimensions N, ceil(C / block), spatial
/// sizes, block.
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
            let rule = "this function exports blocked tensors";
            let remedy = "export it with `bt_tensor_to_dlpack`";
            Error::KeyMismatch(Complaint::new(op, "t", t.tensor_ref().describe(), rule, remedy))
        })?;
        out.write(t.as_blocked_dlpack()?.as_ptr().cast());
        Ok(())
    })
}

fn foreign(op: &'static str, t: &Tensor) -> Error {
    let rule = "only tensors of this library's own backends can be exported";
    Error::OpaqueLayout(Complaint::new(
        op,
        "t",
        t.tensor_ref().describe(),
        rule,
        "reorder it to strided first",
    ))
}
