//! Pickled tensors.

use blocktensor::{Operand, Quantization, Tensor};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::errors::{held, released};
use crate::name::{self, Name};
use crate::number::{self, Number};
use crate::shared;
use crate::tensor::{PyTensor, dtype_of, opaque, reorder_to_blocked};

/// Scales, zero points, and the axis that they are along.
type Parameters = (Vec<f32>, Vec<i32>, Option<usize>);

/// What makes the tensor again: its elements row-major, with the name of a blocked layout, to which loading reorders them, and its
/// scales and zero points.
pub(crate) fn reduce<'py>(py: Python<'py>, t: &PyTensor) -> PyResult<Bound<'py, PyAny>> {
    let (plain, layout) = match &t.0 {
        Tensor::Strided(_) => (t.to_strided(py, "contiguous".into())?, None),
        Tensor::Blocked(t) => {
            (PyTensor(t.clone().into()).to_strided(py, "contiguous".into())?, Some(t.layout().to_string()))
        }
        other => return Err(opaque(other.tensor_ref(), "pickle").raise(py)),
    };
    let plain = held(py, "pickle", || plain.strided("pickle").cloned())?;
    let bytes = shared::bytes(py, &plain)?;
    let rebuild = py.import("blocktensor._native")?.getattr("_from_bytes")?;
    let (dims, dtype) = (plain.dims().to_vec(), plain.dtype().name());
    match plain.quantization().cloned() {
        None => (rebuild, (bytes, dims, dtype, layout)).into_bound_py_any(py),
        Some(Quantization { axis, scales, zero_points }) => {
            (rebuild, (bytes, dims, dtype, layout, (scales, zero_points, axis))).into_bound_py_any(py)
        }
    }
}

/// A tensor of pickled elements.
#[pyfunction]
#[pyo3(signature = (bytes, shape, dtype, layout, quantization = None))]
pub(crate) fn _from_bytes(
    py: Python<'_>,
    bytes: &[u8],
    shape: Vec<Number<usize>>,
    dtype: Name,
    layout: Option<Name>,
    quantization: Option<Parameters>,
) -> PyResult<PyTensor> {
    let op = "unpickle";
    let shape = number::all(op, "shape", shape).map_err(|e| e.raise(py))?;
    let bytes = bytes.to_vec();
    released(py, op, || {
        let layout = name::maybe(op, "layout", layout)?;
        let mut t: Tensor = shared::of_bytes(op, &bytes, &shape, dtype_of(op, dtype)?)?.into();
        if let Some((scales, zero_points, axis)) = quantization {
            t = t.quantized(Quantization { axis, scales, zero_points })?;
        }
        Ok(PyTensor(match layout {
            Some(_) => reorder_to_blocked(&t, layout.as_deref())?.into(),
            None => t,
        }))
    })
}
