//! `Tensor`: a tensor of any backend as an object of Python.

use blocktensor::{
    BlockedTensor, Complaint, DType, Error, Layout, MemoryFormat, Operand, StridedTensor, Tensor, TensorDesc,
    TensorRef, Text,
};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::errors::{Failure, Outcome, held, invalid, released};
use crate::exchange;
use crate::name::{self, Name};
use crate::number::{self, Number, Sizes};
use crate::opaque::{LAYOUT, key_of};
use crate::pickled;
use crate::quantization::{self, OneOrMore};
use crate::shared;
use crate::tape::check_leaves;

/// A tensor: sizes, a dtype, and strides or a layout. Its elements never change.
#[pyclass(frozen, subclass, name = "Tensor", module = "blocktensor")]
pub(crate) struct PyTensor(pub(crate) Tensor);

/// `OpaqueLayout` for a question that only strided tensors answer.
pub(crate) fn opaque(t: TensorRef<'_>, question: &'static str) -> Failure {
    let remedy = Text::from("reorder it with ") + t.key().way_out().0;
    let rule = "its layout has no strides, so it has no address, no array and no DLPack of its elements";
    Error::OpaqueLayout(Complaint::new(question, "self", t.describe(), rule, remedy)).into()
}

impl PyTensor {
    /// The tensor, if it is strided; otherwise `OpaqueLayout` for this question.
    pub(crate) fn strided(&self, question: &'static str) -> Outcome<&StridedTensor> {
        match &self.0 {
            Tensor::Strided(t) => Ok(t),
            other => Err(opaque(other.tensor_ref(), question)),
        }
    }

    fn dims(&self) -> &[usize] {
        self.0.tensor_ref().dims()
    }
}

/// The names that dtypes have in numpy and PyTorch.
const FOREIGN_DTYPES: [(&str, DType); 6] = [
    ("float32", DType::F32),
    ("float16", DType::F16),
    ("bfloat16", DType::BF16),
    ("uint8", DType::U8),
    ("int8", DType::S8),
    ("int32", DType::S32),
];

/// The name of a dtype in numpy and PyTorch.
pub(crate) fn foreign_name(dtype: &str) -> &str {
    FOREIGN_DTYPES.iter().find(|(_, of)| of.name() == dtype).map_or(dtype, |(name, _)| name)
}

pub(crate) fn dtype_of(op: &'static str, name: Name) -> Outcome<DType> {
    let given = name.of(op, "dtype")?;
    let name = given.strip_prefix("torch.").unwrap_or(&given);
    let name_here = match name {
        "float" => "f32",
        "half" => "f16",
        other => FOREIGN_DTYPES.iter().find(|(name, _)| *name == other).map_or(other, |(_, of)| of.name()),
    };
    name_here.parse().map_err(|_| {
        let names = DType::ALL.map(DType::name).join(", ");
        invalid(op, "dtype", format!("`{name}`"), format!("dtypes are {names}"), "pass one of them")
    })
}

pub(crate) fn format_of(op: &'static str, name: Name) -> Outcome<MemoryFormat> {
    let name = name.of(op, "format")?;
    name.parse().map_err(|_| {
        let rule = "formats are contiguous, channels_last_1d, channels_last, channels_last_3d and preserve";
        invalid(op, "format", format!("`{name}`"), rule.to_string(), "pass one of them")
    })
}

pub(crate) fn reorder_to_blocked(t: &Tensor, layout: Option<&str>) -> Outcome<BlockedTensor> {
    let layout = match layout {
        Some(name) => name.parse()?,
        None => Layout::native_activation(t.tensor_ref().dims().len())?,
    };
    match t {
        Tensor::Strided(t) => Ok(t.to_blocked(&layout)?),
        Tensor::Blocked(t) => Ok(t.reorder_to(&layout)?),
        Tensor::Opaque(_) => Err(opaque(t.tensor_ref(), "to_blocked")),
    }
}

/// Refuses a tensor whose elements another library cannot have.
fn check_elements(t: &Bound<'_, PyTensor>, op: &'static str) -> PyResult<()> {
    held(t.py(), op, || {
        check_leaves(t, op)?;
        quantization::check_absent(op, t.get().0.tensor_ref())?;
        t.get().strided(op).map(|_| ())
    })
}

/// As [`check_elements`], for an argument of a function of numpy, or one of a list.
fn check_readable(x: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(t) = x.cast::<PyTensor>() {
        return check_elements(t, "__array__");
    }
    match x.is_instance_of::<PyList>() || x.is_instance_of::<PyTuple>() {
        true => x.try_iter()?.try_for_each(|one| check_readable(&one?)),
        false => Ok(()),
    }
}

#[pymethods]
impl PyTensor {
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.dims())
    }

    #[getter]
    fn ndim(&self) -> usize {
        self.dims().len()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.dims().iter().product()
    }

    /// f32, bf16, f16, u8, s8 or s32.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.tensor_ref().dtype().name()
    }

    /// The dispatch key: `strided`, `blocked`, or one that a program registered.
    #[getter]
    fn key(&self) -> &'static str {
        self.0.tensor_ref().key().name()
    }

    /// The layout's name: `nChw16c`, `contiguous`, `channels_last` ...
    #[getter]
    fn layout(&self) -> String {
        self.0.tensor_ref().layout_name()
    }

    #[getter]
    fn is_blocked(&self) -> bool {
        matches!(self.0, Tensor::Blocked(_))
    }

    /// Strides in elements. A blocked tensor has none: `OpaqueLayoutError`.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let t = held(py, "strides", || self.strided("strides"))?;
        PyTuple::new(py, t.strides())
    }

    /// The address of the first element. A blocked tensor has none: `OpaqueLayoutError`.
    fn data_ptr(&self, py: Python<'_>) -> PyResult<usize> {
        held(py, "data_ptr", || Ok(shared::address(self.strided("data_ptr")?)))
    }

    /// Reorders to a strided tensor in a memory format. A strided tensor that is in it already is returned as it is.
    #[pyo3(signature = (format = "contiguous".into()), text_signature = "($self, format='contiguous')")]
    pub(crate) fn to_strided(&self, py: Python<'_>, format: Name) -> PyResult<PyTensor> {
        let op = "to_strided";
        released(py, op, || {
            let format = format_of(op, format)?;
            let made = match &self.0 {
                Tensor::Strided(t) => t.contiguous(format).map_err(|e| e.in_call(op, "format"))?,
                Tensor::Blocked(t) => t.to_strided(format)?,
                Tensor::Opaque(t) if t.key().reorders().is_none() => {
                    return Err(opaque(self.0.tensor_ref(), op));
                }
                Tensor::Opaque(t) => {
                    let to = TensorDesc::strided(t.dims(), t.dtype(), format);
                    let to = to.map_err(|e| e.in_call(op, "format"))?;
                    return Ok(PyTensor(self.0.reorder(&to)?));
                }
            };
            Ok(PyTensor(made.into()))
        })
    }

    /// Reorders to a blocked layout, by default this machine's native one for activations.
    #[pyo3(signature = (layout = None))]
    fn to_blocked(&self, py: Python<'_>, layout: Option<Name>) -> PyResult<PyTensor> {
        let op = "to_blocked";
        released(py, op, || {
            let layout = name::maybe(op, "layout", layout)?;
            Ok(PyTensor(reorder_to_blocked(&self.0, layout.as_deref())?.into()))
        })
    }

    /// Reorders to a key that a program registered, with its function for that.
    fn to_key(&self, py: Python<'_>, key: Name) -> PyResult<PyTensor> {
        let op = "to_key";
        released(py, op, || {
            let (from, key) = (self.0.tensor_ref(), key_of(op, key)?);
            let to = TensorDesc::opaque(from.dims(), from.dtype(), key, LAYOUT)?;
            Ok(PyTensor(self.0.reorder(&to)?))
        })
    }

    /// The tensor itself if its elements are dense in this format, otherwise a copy.
    #[pyo3(signature = (format = "contiguous".into()), text_signature = "($self, format='contiguous')")]
    fn contiguous(&self, py: Python<'_>, format: Name) -> PyResult<PyTensor> {
        let op = "contiguous";
        released(py, op, || Ok(PyTensor(self.strided(op)?.contiguous(format_of(op, format)?)?.into())))
    }

    /// The same numbers in another dtype.
    fn to_dtype(&self, py: Python<'_>, dtype: Name) -> PyResult<PyTensor> {
        let op = "to_dtype";
        released(py, op, || {
            let dtype = dtype_of(op, dtype)?;
            let made = match &self.0 {
                Tensor::Strided(t) => t.to_dtype(dtype)?.into(),
                Tensor::Blocked(t) => t.to_dtype(dtype)?.into(),
                Tensor::Opaque(_) => return Err(opaque(self.0.tensor_ref(), op)),
            };
            Ok(PyTensor(made))
        })
    }

    /// The same elements under other sizes; one of them may be -1.
    fn reshape(&self, py: Python<'_>, shape: Sizes<i64>) -> PyResult<PyTensor> {
        let op = "reshape";
        let shape = number::all(op, "shape", shape.0).map_err(|e| e.raise(py))?;
        released(py, op, || Ok(PyTensor(self.strided(op)?.reshape(&shape)?.into())))
    }

    /// Blocked activations as the strided tensor of blocks that they are in memory: N, C / block, spatial sizes, block.
    fn as_blocks(slf: &Bound<'_, Self>) -> PyResult<PyTensor> {
        let op = "as_blocks";
        held(slf.py(), op, || {
            check_leaves(slf, op)?;
            quantization::check_absent(op, slf.get().0.tensor_ref())?;
            match &slf.get().0 {
                Tensor::Blocked(t) => Ok(PyTensor(shared::blocks(t)?.into())),
                other => {
                    let got = other.tensor_ref().describe();
                    let rule = "only blocked tensors have blocks".into();
                    Err(invalid(op, "self", got, rule, "call `.to_blocked()`"))
                }
            }
        })
    }

    /// The elements as a read-only numpy array that shares the memory.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        check_elements(slf, "numpy")?;
        let view = pyo3::types::PyMemoryView::from(slf.as_any())?;
        py.import("numpy")?.call_method1("asarray", (view,))
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        check_elements(slf, "__array__")?;
        let array = PyTensor::numpy(slf)?;
        let options = PyDict::new(py);
        options.set_item("dtype", dtype)?;
        options.set_item("copy", copy)?;
        py.import("numpy")?.call_method("array", (array,), Some(&options))
    }

    /// A function of numpy, which reads the elements. Some, such as `np.array_equal`, would take an error of `__array__` for an answer.
    fn __array_function__<'py>(
        _slf: &Bound<'py, Self>,
        func: &Bound<'py, PyAny>,
        _types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        args.iter().chain(kwargs.values()).try_for_each(|x| check_readable(&x))?;
        func.getattr("_implementation")?.call(args, Some(kwargs))
    }

    /// The only element, as a number.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let op = "item";
        let t = held(py, op, || {
            quantization::check_absent(op, self.0.tensor_ref())?;
            let t = self.strided(op)?;
            match t.numel() {
                1 => Ok(t),
                n => Err(invalid(
                    op,
                    "self",
                    format!("{n} elements"),
                    "only one element is a number".to_string(),
                    "call `.numpy()`",
                )),
            }
        })?;
        let plain = held(py, op, || Ok(t.to_dtype(DType::F32)?.to_vec::<f32>()?))?[0];
        match t.dtype() {
            DType::F32 | DType::BF16 | DType::F16 => plain.into_bound_py_any(py),
            // 24 bits are exact in f32, s32 is not.
            DType::S32 => held(py, op, || Ok(t.to_vec::<i32>()?))?[0].into_bound_py_any(py),
            _ => (plain as i64).into_bound_py_any(py),
        }
    }

    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(Number<u32>, Number<u32>)>,
        dl_device: Option<(Number<i32>, Number<i32>)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, op) = (slf.py(), "__dlpack__");
        let numbers = || -> Outcome<_> {
            check_leaves(slf, op)?;
            quantization::check_absent(op, slf.get().0.tensor_ref())?;
            let version = max_version.map(|(major, minor)| {
                Ok::<_, Failure>((major.of(op, "max_version")?, minor.of(op, "max_version")?))
            });
            let device = dl_device
                .map(|(of, id)| Ok::<_, Failure>((of.of(op, "dl_device")?, id.of(op, "dl_device")?)));
            Ok((version.transpose()?, device.transpose()?))
        };
        let (max_version, device) = numbers().map_err(|e| e.raise(py))?;
        shared::export(py, slf.get(), stream.is_some(), max_version, device, copy)
    }

    fn __dlpack_device__(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        held(py, "__dlpack_device__", || self.strided("__dlpack_device__").map(|_| (1, 0)))
    }

    // Named as the slots of the buffer protocol.
    #[allow(unsafe_code)]
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: std::ffi::c_int,
    ) -> PyResult<()> {
        // SAFETY: the interpreter passes a view that may be written.
        unsafe { shared::fill_buffer(slf, view, flags) }
    }

    #[allow(unsafe_code)]
    unsafe fn __releasebuffer__(&self, view: *mut pyo3::ffi::Py_buffer) {
        // SAFETY: the interpreter passes a view that `__getbuffer__` filled, once.
        unsafe { shared::release_buffer(view) }
    }

    fn __repr__(&self) -> String {
        let plain = self.0.without_quantization();
        let text = match &plain {
            Tensor::Strided(t) if t.numel() <= 1000 => format!("{t} {}", self.layout()),
            other => other.tensor_ref().describe(),
        };
        match quantization::shown(&self.0) {
            of if of.is_empty() => format!("Tensor({text})"),
            of => format!("Tensor({text}, {of})"),
        }
    }

    fn _repr_html_(&self) -> String {
        let t = self.0.tensor_ref();
        let row = |name: &str, value: String| format!("<tr><th>{name}</th><td>{value}</td></tr>");
        let rows = [
            row("shape", format!("{:?}", t.dims())),
            row("dtype", t.dtype().name().to_string()),
            row("key", t.key().name().to_string()),
            row("layout", crate::html::escape(&t.layout_name())),
            match quantization::shown(&self.0) {
                of if of.is_empty() => of,
                of => row("quantised", of),
            },
        ];
        format!("<table><caption>blocktensor.Tensor</caption>{}</table>", rows.concat())
    }

    fn __copy__(&self) -> PyTensor {
        PyTensor(self.0.clone())
    }

    /// A tensor with memory of its own: another library may write to memory that this one only borrowed.
    pub(crate) fn __deepcopy__(&self, py: Python<'_>, _memo: Bound<'_, PyAny>) -> PyResult<PyTensor> {
        released(py, "deepcopy", || {
            Ok(PyTensor(match &self.0 {
                Tensor::Strided(t) => t.copy(MemoryFormat::Preserve)?.into(),
                other => other.clone(),
            }))
        })
    }

    /// The same integers with scales and zero points: one of each, or one for each index of an axis.
    #[pyo3(signature = (scale, zero_point = 0.into(), axis = None), text_signature = "($self, scale, zero_point=0, axis=None)")]
    pub(crate) fn quantized(
        &self,
        py: Python<'_>,
        scale: OneOrMore<f64>,
        zero_point: OneOrMore<i64>,
        axis: Option<Number<i64>>,
    ) -> PyResult<PyTensor> {
        let op = "quantized";
        held(py, op, || {
            let of = quantization::parameters(op, self.dims().len(), scale, zero_point, axis)?;
            Ok(PyTensor(self.0.quantized(of)?))
        })
    }

    /// Whether it has scales and zero points.
    #[getter]
    fn is_quantized(&self) -> bool {
        self.0.quantization().is_some()
    }

    /// The scale, or a tuple of one for each index of `quantization_axis`; None if it has none.
    #[getter]
    fn scale<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        quantization::scale(py, &self.0)
    }

    /// The integer that stands for 0, or a tuple of one for each index of `quantization_axis`; None if it has none.
    #[getter]
    fn zero_point<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        quantization::zero_point(py, &self.0)
    }

    /// The axis that has a scale for each index; None if there is one scale, or none.
    #[getter]
    fn quantization_axis(&self) -> Option<usize> {
        self.0.quantization().and_then(|of| of.axis)
    }

    /// The same integers without scales and zero points.
    pub(crate) fn without_quantization(&self) -> PyTensor {
        PyTensor(self.0.without_quantization())
    }

    /// The numbers that the integers stand for, in f32.
    pub(crate) fn dequantized(&self, py: Python<'_>) -> PyResult<PyTensor> {
        released(py, "dequantized", || Ok(PyTensor(self.0.dequantized()?)))
    }

    pub(crate) fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        pickled::reduce(py, self)
    }
}

/// A tensor of zeros: strided in a memory format, or blocked in a layout.
#[pyfunction]
#[pyo3(
    signature = (shape, *, dtype = "f32".into(), layout = "contiguous".into()),
    text_signature = "(shape, *, dtype='f32', layout='contiguous')"
)]
pub(crate) fn zeros(py: Python<'_>, shape: Sizes, dtype: Name, layout: Name) -> PyResult<PyTensor> {
    let op = "zeros";
    let shape = number::all(op, "shape", shape.0).map_err(|e| e.raise(py))?;
    released(py, op, || {
        let (dtype, layout) = (dtype_of(op, dtype)?, layout.of(op, "layout")?);
        let made = match layout.parse::<MemoryFormat>() {
            Ok(format) => StridedTensor::zeros(&shape, dtype, format)?.into(),
            Err(_) => BlockedTensor::zeros(&shape, dtype, &layout.parse()?)?.into(),
        };
        Ok(PyTensor(made))
    })
}

/// A tensor that shares the memory of another library's tensor or array (DLPack, else the buffer protocol).
#[pyfunction]
pub(crate) fn from_dlpack(x: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
    let t = exchange::import(x, "from_dlpack", "x").map_err(|e| e.raise(x.py()))?;
    Ok(PyTensor(t))
}
