//! Memory of other libraries as tensors: DLPack and the buffer protocol. `shared` is the other direction.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

use blocktensor::dlpack::{DLManagedTensor, DLManagedTensorVersioned, OtherTypes, Unaligned};
use blocktensor::{Complaint, DType, Error, Foreign, Operand, StridedTensor, Tensor, TensorDesc};
use blocktensor_door::Failure as Known;
use blocktensor_graph::ElementType;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyMemoryView};

use crate::errors::{Failure, Outcome, text_of};
use crate::integers;
use crate::kinds::{self, Kind};
use crate::tape::PyVar;
use crate::tensor::{PyTensor, foreign_name};

pub(crate) const VERSIONED: &CStr = c"dltensor_versioned";
const VERSIONED_USED: &CStr = c"used_dltensor_versioned";
pub(crate) const UNVERSIONED: &CStr = c"dltensor";
const UNVERSIONED_USED: &CStr = c"used_dltensor";

/// The tensor that an argument is: one of this package as it is, any other that shares its memory by DLPack or by the buffer
/// protocol.
pub(crate) fn import(x: &Bound<'_, PyAny>, op: &'static str, argument: &str) -> Outcome<Tensor> {
    import_for(x, op, argument, None, Unaligned::Refused)
}

/// As [`import`], for an input of a plan: it takes elements of this type alone, and errors about others name its dtype. Integers of
/// other libraries become s32, if they fit, and Booleans u8.
pub(crate) fn import_for(
    x: &Bound<'_, PyAny>,
    op: &'static str,
    argument: &str,
    of: Option<ElementType>,
    unaligned: Unaligned,
) -> Outcome<Tensor> {
    let takes = of.map(ElementType::dtype);
    let others = match of {
        Some(ElementType::Int(_)) => OtherTypes::IntegersAsS32,
        Some(ElementType::Bool) => OtherTypes::BooleansAsU8,
        Some(ElementType::F32 | ElementType::Byte | ElementType::SignedByte) | None => OtherTypes::Refused,
    };
    if let Ok(var) = x.cast::<PyVar>() {
        var.get().check_leaves(op, argument)?;
    }
    if let Ok(t) = x.cast::<PyTensor>() {
        return Ok(t.get().0.clone());
    }
    if let Some(held) = held_by(x)? {
        return import_for(&held, op, argument, of, unaligned);
    }
    let refused = |e| foreign(op, argument, x, e, takes);
    // What `__dlpack__` returns: where the caller has a faster way to it.
    if x.cast::<PyCapsule>().is_ok() {
        return Ok(of_capsule(x, op, argument, others, unaligned).map_err(refused)?.into());
    }
    if x.hasattr("__dlpack__")? {
        if kinds::is_negated(x) {
            return Err(of_kind(op, argument, &kinds::NEGATED));
        }
        if kinds::is_masked(x) {
            return Err(of_kind(op, argument, &kinds::MASKED));
        }
        let capsule = capsule(x).map_err(|e| not_exported(op, argument, x, e))?;
        return Ok(of_capsule(&capsule, op, argument, others, unaligned).map_err(refused)?.into());
    }
    let mut got = x.get_type().fully_qualified_name()?.to_string();
    let mut remedy = "pass a tensor or a numpy array";
    // A view knows sizes and strides where the object does not say them, as arrays of ctypes.
    if let Ok(view) = PyMemoryView::from(x) {
        if let Ok(buffer) = PyUntypedBuffer::get(&view) {
            if others == OtherTypes::IntegersAsS32
                && let Some(converted) = integers::of_buffer(&view).map_err(refused)?
            {
                return Ok(converted.into());
            }
            return Ok(of_buffer(op, argument, buffer, takes, others, unaligned).map_err(refused)?.into());
        }
        got += ", a buffer without axes";
        remedy = "pass `numpy.asarray(x)`";
    }
    let rule = "it is a tensor: a blocktensor.Tensor, or an object with `__dlpack__` or the buffer protocol";
    Err(Error::InvalidArgument(Complaint::new(op, argument.to_string(), got, rule, remedy)).into())
}

/// The tensor of this package that a `blocktensor.torch.EagerTensor` holds. It may be blocked, which DLPack refuses.
fn held_by<'py>(x: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let held = x.getattr_opt("__blocktensor__")?;
    Ok(held.filter(|held| held.is_instance_of::<PyTensor>()))
}

/// The memory of another library's tensor, for a result of these sizes and this dtype. Tensors of this package never change.
pub(crate) fn import_for_result(
    x: &Bound<'_, PyAny>,
    op: &'static str,
    argument: &str,
    desc: &TensorDesc,
) -> Outcome<StridedTensor> {
    let remedy = || {
        let dims: Vec<String> = desc.dims().iter().map(usize::to_string).collect();
        let (dims, dtype) = (dims.join(", "), foreign_name(desc.dtype().name()));
        format!("the result goes into the array itself: make one with `numpy.empty([{dims}], \"{dtype}\")`")
    };
    let refused = |got: String| {
        let rule = "a result goes into another library's memory, as tensors of this package never change";
        Err(Error::InvalidArgument(Complaint::new(op, argument.to_string(), got, rule, remedy())).into())
    };
    let held = held_by(x)?;
    if let Ok(t) = held.as_ref().unwrap_or(x).cast::<PyTensor>() {
        return refused(t.get().0.tensor_ref().describe());
    }
    // By the buffer protocol nothing tells whether the memory may be written.
    if !x.hasattr("__dlpack__")? && x.cast::<PyCapsule>().is_err() {
        return refused(x.get_type().fully_qualified_name()?.to_string());
    }
    match import(x, op, argument) {
        Ok(Tensor::Strided(t)) => Ok(t),
        Ok(other) => refused(other.tensor_ref().describe()),
        // What makes an input of such an object makes another one, which no result would be seen in.
        Err(Failure::Known(Known::Core(Error::DlpackUnsupported(c)))) => {
            Err(Error::DlpackUnsupported(Box::new(Complaint { remedy: remedy().into(), ..*c })).into())
        }
        Err(Failure::Known(Known::Core(Error::Misaligned(c)))) => {
            Err(Error::Misaligned(Box::new(Complaint { remedy: remedy().into(), ..*c })).into())
        }
        Err(Failure::Known(Known::Core(Error::UnsupportedStride(c)))) => {
            Err(Error::UnsupportedStride(Box::new(Complaint { remedy: remedy().into(), ..*c })).into())
        }
        Err(e) => Err(e),
    }
}

/// The error of DLPack for an argument of a call: it says what Python's libraries call the way out.
fn foreign(
    op: &'static str,
    argument: &str,
    x: &Bound<'_, PyAny>,
    e: Failure,
    takes: Option<DType>,
) -> Failure {
    if let Some(kind) = kinds::of(x) {
        return of_kind(op, argument, kind);
    }
    match e {
        Failure::Known(Known::Core(Error::DlpackUnsupported(c))) => {
            let remedy = match &*c.argument {
                "dtype" => kinds::convert(&c.got, takes).into(),
                "device" => "move it to the CPU first: a tensor of torch with `.cpu()`".into(),
                _ => c.remedy,
            };
            let complaint = Complaint { op: op.into(), argument: argument.to_string().into(), remedy, ..*c };
            Error::DlpackUnsupported(Box::new(complaint)).into()
        }
        Failure::Known(Known::Core(Error::UnsupportedStride(c))) => {
            let got = if c.argument == "strides" { format!("strides {}", c.got) } else { c.got.to_string() };
            Error::UnsupportedStride(Box::new(of_argument(op, argument, got, *c))).into()
        }
        Failure::Known(Known::Core(Error::Misaligned(c))) => {
            let got = c.got.to_string();
            Error::Misaligned(Box::new(of_argument(op, argument, got, *c))).into()
        }
        // An integer that does not fit.
        Failure::Known(Known::Core(Error::InvalidArgument(c))) if c.argument == "numbers" => {
            let complaint = Complaint { op: op.into(), argument: argument.to_string().into(), ..*c };
            Error::InvalidArgument(Box::new(complaint)).into()
        }
        e => e,
    }
}

/// The complaint about memory that only a copy makes right, for an argument of a call.
fn of_argument(op: &'static str, argument: &str, got: String, complaint: Complaint) -> Complaint {
    let remedy = "pass a copy: `numpy.array(x)`, or of torch `x.clone()`".into();
    Complaint { op: op.into(), argument: argument.to_string().into(), got, remedy, ..complaint }
}

fn of_kind(op: &'static str, argument: &str, kind: &Kind) -> Failure {
    let rule = "a dense tensor of numbers is shared, as it is in memory";
    Error::DlpackUnsupported(Complaint::new(op, argument.to_string(), kind.got, rule, kind.remedy)).into()
}

/// The error for an object whose library does not export it, with that library's exception as its cause.
fn not_exported(op: &'static str, argument: &str, x: &Bound<'_, PyAny>, e: PyErr) -> Failure {
    let py = x.py();
    if let Some(kind) = kinds::of(x) {
        return of_kind(op, argument, kind);
    }
    // An error of this package says what to do: of an object around one of its tensors.
    let own = py.import("blocktensor._errors").and_then(|module| module.getattr("Error"));
    if !e.is_instance_of::<PyBufferError>(py) || own.is_ok_and(|own| e.is_instance(py, &own)) {
        return e.into();
    }
    let got = format!("a tensor that its library does not export ({})", text_of(py, e));
    let rule = "it is shared by its `__dlpack__`";
    // Whole numbers stay so: f32 would round the large ones.
    let kind = x.getattr("dtype").and_then(|dtype| dtype.getattr("kind")?.extract::<String>());
    let number = if kind.is_ok_and(|kind| kind == "i" || kind == "u") { "int32" } else { "float32" };
    let remedy = format!(
        "pass a copy of it in the machine's own number format: `numpy.array(x, \"{number}\")`, or of torch \
         `x.detach().clone()`"
    );
    Error::DlpackUnsupported(Complaint::new(op, argument.to_string(), got, rule, remedy)).into()
}

/// The capsule of an object, of the newest structure that it knows.
fn capsule<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(x.py());
    options.set_item("max_version", (1, 1))?;
    match x.call_method("__dlpack__", (), Some(&options)) {
        // A library from before DLPack 1.0 does not know the argument.
        Err(e) if e.is_instance_of::<PyTypeError>(x.py()) => x.call_method0("__dlpack__"),
        made => made,
    }
}

fn of_capsule(
    capsule: &Bound<'_, PyAny>,
    op: &'static str,
    argument: &str,
    others: OtherTypes,
    unaligned: Unaligned,
) -> Outcome<StridedTensor> {
    // SAFETY: the interpreter's lock is held, and the object is alive. The pointer of a valid capsule of this name is a live
    // structure that nobody else takes: its name is changed before anything else, as the protocol asks. Programs of Python that
    // write to the memory while a call reads it race, as they do with every library that shares it.
    unsafe {
        let object = capsule.as_ptr();
        let take = |name: &CStr, used: &CStr| {
            if ffi::PyCapsule_IsValid(object, name.as_ptr()) == 0 {
                return None;
            }
            let pointer = NonNull::new(ffi::PyCapsule_GetPointer(object, name.as_ptr()))?;
            (ffi::PyCapsule_SetName(object, used.as_ptr()) == 0).then_some(pointer)
        };
        if let Some(managed) = take(VERSIONED, VERSIONED_USED) {
            return Ok(StridedTensor::from_dlpack_with(
                managed.cast::<DLManagedTensorVersioned>(),
                others,
                unaligned,
            )?);
        }
        if let Some(managed) = take(UNVERSIONED, UNVERSIONED_USED) {
            return Ok(StridedTensor::from_dlpack_unversioned_with(
                managed.cast::<DLManagedTensor>(),
                others,
                unaligned,
            )?);
        }
    }
    let was_used = capsule.cast::<PyCapsule>().is_ok_and(|capsule| {
        [VERSIONED_USED, UNVERSIONED_USED].iter().any(|name| capsule.is_valid_checked(Some(name)))
    });
    let got = if was_used { "a DLPack capsule that was used" } else { "no DLPack capsule" };
    let rule = "`__dlpack__` returns a capsule, which one library takes once";
    let remedy = "pass the tensor itself, or a new capsule of its `__dlpack__`";
    Err(Error::DlpackUnsupported(Complaint::new(op, argument.to_string(), got, rule, remedy)).into())
}

fn of_buffer(
    op: &'static str,
    argument: &str,
    buffer: PyUntypedBuffer,
    takes: Option<DType>,
    others: OtherTypes,
    unaligned: Unaligned,
) -> Outcome<StridedTensor> {
    let format = buffer.format().to_string_lossy().into_owned();
    let letter = format.trim_start_matches(['@', '=', '<']);
    let dtype = match (letter, buffer.item_size()) {
        ("f", 4) => DType::F32,
        ("e", 2) => DType::F16,
        ("B", 1) => DType::U8,
        ("b", 1) => DType::S8,
        ("i" | "l", 4) => DType::S32,
        // Python's Booleans are bytes of 0 and 1.
        ("?", 1) if others == OtherTypes::BooleansAsU8 => DType::U8,
        _ => {
            let bits = 8 * buffer.item_size();
            let got = match letter {
                "d" => "f64".to_string(),
                "?" => "bool".to_string(),
                "b" | "h" | "i" | "l" | "q" | "n" => format!("s{bits}"),
                "B" | "H" | "I" | "L" | "Q" | "N" => format!("u{bits}"),
                "Zf" | "Zd" => format!("complex numbers of {bits} bits"),
                _ => format!("a buffer of format `{}`", format.escape_debug()),
            };
            let remedy = kinds::convert(&got, takes);
            let rule = "tensors are f32, f16, u8, s8 or s32";
            let complaint = Complaint::new(op, argument.to_string(), got, rule, remedy);
            return Err(Error::DlpackUnsupported(complaint).into());
        }
    };
    let size = dtype.size_bytes() as isize;
    if let Some(stride) = buffer.strides().iter().find(|s| *s % size != 0) {
        let got = format!("a stride of {stride} bytes");
        let rule = format!("strides are whole elements of {size} bytes");
        let complaint = Complaint::new(op, argument.to_string(), got, rule, "copy it first");
        return Err(Error::UnsupportedStride(complaint).into());
    }
    let dims: Vec<i64> = buffer.shape().iter().map(|&d| d as i64).collect();
    let strides: Vec<i64> = buffer.strides().iter().map(|s| (s / size) as i64).collect();
    let memory = Foreign {
        data: buffer.buf_ptr().cast(),
        dtype,
        dims: &dims,
        strides: Some(&strides),
        writable: false,
    };
    // SAFETY: the exporter keeps the memory, with these sizes and strides, until the buffer is dropped, which any thread may do.
    // That nobody writes to it while a call reads it is the Python program's part of the contract (docs/python.md): neither the
    // buffer protocol nor DLPack can enforce it.
    Ok(unsafe { unaligned.tensor(memory, Arc::new(buffer)) }?)
}
