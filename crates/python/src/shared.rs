//! Memory of this package's tensors for other libraries: DLPack and the buffer protocol. `exchange` is the other direction.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use blocktensor::dlpack::{DLManagedTensor, DLManagedTensorVersioned};
use blocktensor::{
    BlockedTensor, Call, Complaint, DType, Error, Foreign, MemoryFormat, Operand, StridedTensor, Text,
};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Failure, Outcome, held};
use crate::exchange::{UNVERSIONED, VERSIONED};
use crate::quantization::check_absent;
use crate::tape::check_leaves;
use crate::tensor::PyTensor;

/// The capsule that `__dlpack__` returns.
pub(crate) fn export<'py>(
    py: Python<'py>,
    t: &PyTensor,
    has_stream: bool,
    max_version: Option<(u32, u32)>,
    device: Option<(i32, i32)>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let op = "__dlpack__";
    let t = held(py, op, || t.strided(op).cloned())?;
    let elsewhere = match device {
        Some(device) if device != (1, 0) => Some(("dl_device", format!("{device:?}"))),
        _ => has_stream.then(|| ("stream", "a stream".to_string())),
    };
    if let Some((argument, got)) = elsewhere {
        let rule = match argument {
            "stream" => "tensors are on the CPU, which has no streams",
            _ => "tensors are on the CPU, (1, 0)",
        };
        let e = Error::DlpackUnsupported(Complaint::new(op, argument, got, rule, "leave it out"));
        return Err(Failure::from(e).raise(py));
    }
    let is_versioned = max_version.is_some_and(|(major, _)| major >= 1);
    let is_heeded = !py.import("blocktensor._site")?.getattr("is_torch")?.call0()?.extract::<bool>()?;
    held(py, op, || {
        // The older structure cannot say that the memory is read-only, and PyTorch does not read it.
        if copy == Some(true) || (copy.is_none() && !(is_versioned && is_heeded)) {
            let own = t.copy(MemoryFormat::Preserve)?;
            return Ok(match is_versioned {
                true => versioned(py, own.into_dlpack()?),
                false => unversioned(py, own.into_dlpack_unversioned()?),
            }?);
        }
        if !is_versioned {
            let rule = "DLPack before 1.0 cannot mark memory as read-only";
            let remedy = "pass `max_version=(1, 0)`, or allow a copy";
            return Err(Error::Aliasing(Complaint::new(op, "copy", "False", rule, remedy)).into());
        }
        if !is_heeded {
            let rule = "PyTorch writes into memory that is marked as read-only";
            let remedy = "leave `copy` out, or share it read-only with `.numpy()`";
            return Err(Error::Aliasing(Complaint::new(op, "copy", "False", rule, remedy)).into());
        }
        Ok(versioned(py, t.to_dlpack()?)?)
    })
}

unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this once, with its lock held. Under this name nobody has taken the structure.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            let managed =
                ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast::<DLManagedTensorVersioned>();
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}

unsafe extern "C" fn drop_unversioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, UNVERSIONED.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, UNVERSIONED.as_ptr()).cast::<DLManagedTensor>();
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}

fn versioned(py: Python<'_>, managed: NonNull<DLManagedTensorVersioned>) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the lock is held; the name is static, and the destructor frees the structure unless a receiver took it.
    unsafe {
        let capsule = ffi::PyCapsule_New(managed.as_ptr().cast(), VERSIONED.as_ptr(), Some(drop_versioned));
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

fn unversioned(py: Python<'_>, managed: NonNull<DLManagedTensor>) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: as above.
    unsafe {
        let capsule =
            ffi::PyCapsule_New(managed.as_ptr().cast(), UNVERSIONED.as_ptr(), Some(drop_unversioned));
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// An exported tensor that this module itself received.
struct Held(NonNull<DLManagedTensorVersioned>);

impl Held {
    fn of(t: &StridedTensor) -> Held {
        Held(t.without_quantization().to_dlpack().expect("it has no scales"))
    }

    fn address(&self) -> *mut c_void {
        // SAFETY: live until this is dropped.
        let t = unsafe { &self.0.as_ref().dl_tensor };
        t.data.cast::<u8>().wrapping_add(t.byte_offset as usize).cast()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: received once, and dropped once.
        unsafe {
            if let Some(deleter) = self.0.as_ref().deleter {
                deleter(self.0.as_ptr());
            }
        }
    }
}

/// The address of the first element.
pub(crate) fn address(t: &StridedTensor) -> usize {
    Held::of(t).address().addr()
}

/// The memory of blocked activations as a strided tensor.
pub(crate) fn blocks(t: &BlockedTensor) -> Outcome<StridedTensor> {
    let managed = t.as_blocked_dlpack()?;
    // SAFETY: it was just exported, and nobody else has it.
    Ok(unsafe { StridedTensor::from_dlpack(managed) }?)
}

/// The bytes of a row-major tensor.
pub(crate) fn bytes<'py>(py: Python<'py>, t: &StridedTensor) -> PyResult<Bound<'py, PyBytes>> {
    let held = Held::of(t);
    let len = t.numel() * t.dtype().size_bytes();
    if len == 0 {
        return Ok(PyBytes::new(py, &[]));
    }
    // SAFETY: a row-major tensor has this many bytes from its first element on, which `held` keeps.
    Ok(PyBytes::new(py, unsafe { std::slice::from_raw_parts(held.address().cast::<u8>(), len) }))
}

/// A row-major tensor of bytes that are copied.
pub(crate) fn of_bytes(
    op: &'static str,
    bytes: &[u8],
    shape: &[usize],
    dtype: DType,
) -> Outcome<StridedTensor> {
    let wanted = shape.iter().try_fold(dtype.size_bytes(), |n, &d| n.checked_mul(d));
    if wanted != Some(bytes.len()) {
        let rule = format!("a {dtype} tensor of sizes {shape:?} has as many bytes as its elements");
        let got = format!("{} bytes", bytes.len());
        return Err(Error::CorruptFile(Complaint::new(op, "bytes", got, rule, "pickle it again")).into());
    }
    let mut owner = blocktensor::memory::try_filled(op, bytes.len().div_ceil(8), 0u64)?;
    let data = owner.as_mut_ptr().cast::<u8>();
    // SAFETY: the list has at least this many bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len()) };
    let dims: Vec<i64> = shape.iter().map(|&d| d as i64).collect();
    let memory = Foreign { data, dtype, dims: &dims, strides: None, writable: false };
    // SAFETY: the list stays where it is when it moves into the owner, and nobody else has it.
    Ok(unsafe { StridedTensor::from_foreign(memory, Arc::new(owner)) }?)
}

/// What a view of the buffer protocol points to.
struct Exported {
    held: Held,
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
    format: CString,
}

/// Fills a view of the buffer protocol: read-only.
///
/// # Safety
/// `view` may be written.
pub(crate) unsafe fn fill_buffer(
    slf: Bound<'_, PyTensor>,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let (op, py) = ("buffer", slf.py());
    // SAFETY: the caller's promise. The protocol asks for null on an error.
    unsafe { (*view).obj = std::ptr::null_mut() };
    let t = held(py, op, || {
        check_leaves(&slf, op)?;
        check_absent(op, slf.get().0.tensor_ref())?;
        slf.get().strided(op).cloned()
    })?;
    let format = match t.dtype() {
        DType::F32 => c"f",
        DType::F16 => c"e",
        DType::U8 => c"B",
        DType::S8 => c"b",
        DType::S32 => c"i",
        _ => {
            let rule = "the buffer protocol has no such type";
            let remedy = Text::from("convert it with ") + Call::ToDType("f32");
            let got = t.tensor_ref().describe();
            let e = Error::UnsupportedDType(Complaint::new(op, "self", got, rule, remedy));
            return Err(Failure::from(e).raise(py));
        }
    };
    if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
        return Err(PyBufferError::new_err("tensors are read-only; copy it with `numpy().copy()`"));
    }
    if flags & ffi::PyBUF_STRIDES != ffi::PyBUF_STRIDES && !t.is_contiguous(MemoryFormat::Contiguous) {
        return Err(PyBufferError::new_err("the tensor is not row-major; call `.contiguous()`"));
    }
    let size = t.dtype().size_bytes();
    let mut exported = Box::new(Exported {
        held: Held::of(&t),
        shape: t.dims().iter().map(|&d| d as ffi::Py_ssize_t).collect(),
        strides: t.strides().iter().map(|&s| (s * size) as ffi::Py_ssize_t).collect(),
        format: format.to_owned(),
    });
    // SAFETY: as above. What the view points to lives in the box until `release_buffer`, the tensor's memory too.
    unsafe {
        let view = &mut *view;
        view.buf = exported.held.address();
        view.len = (t.numel() * size) as ffi::Py_ssize_t;
        view.readonly = 1;
        view.itemsize = size as ffi::Py_ssize_t;
        view.ndim = t.rank() as c_int;
        view.format = match flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT {
            true => exported.format.as_ptr().cast_mut(),
            false => std::ptr::null_mut(),
        };
        view.shape = match flags & ffi::PyBUF_ND == ffi::PyBUF_ND {
            true => exported.shape.as_mut_ptr(),
            false => std::ptr::null_mut(),
        };
        view.strides = match flags & ffi::PyBUF_STRIDES == ffi::PyBUF_STRIDES {
            true => exported.strides.as_mut_ptr(),
            false => std::ptr::null_mut(),
        };
        view.suboffsets = std::ptr::null_mut();
        view.internal = Box::into_raw(exported).cast();
        view.obj = slf.into_any().into_ptr();
    }
    Ok(())
}

/// # Safety
/// `fill_buffer` filled the view, and nobody uses it afterwards.
pub(crate) unsafe fn release_buffer(view: *mut ffi::Py_buffer) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw((*view).internal.cast::<Exported>()) });
}
