//! Dispatch keys that a program of Python registers: its own tensors, with its own kernels.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, RwLock};

use blocktensor::dispatch::{
    self, Arg, Args, Backward, DispatchKey, Gradients, Kernel, KernelResult, KeySpec, Registrar, Reorders,
    Results, Value, register_backend as register,
};
use blocktensor::{
    BoundOp, Complaint, DType, Error, Layout, MemoryFormat, OpaqueTensor, Operand, Operator, StridedTensor,
    Tensor, TensorDesc, TensorRef,
};
use blocktensor_door::Failure as Known;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::errors::{Failure, Outcome, held, invalid, text_of};
use crate::exchange;
use crate::name::{Mapped, Name};
use crate::number::{self, Sizes};
use crate::tensor::{PyTensor, dtype_of};

/// What a layout is called that a program gives no name.
pub(crate) const LAYOUT: &str = "opaque";

/// A tensor whose elements an object of Python has.
struct PyOpaque {
    object: Py<PyAny>,
    key: DispatchKey,
    dims: Vec<usize>,
    dtype: DType,
    layout: String,
}

impl fmt::Debug for PyOpaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} {}", self.dims, self.dtype, self.layout)
    }
}

impl OpaqueTensor for PyOpaque {
    fn key(&self) -> DispatchKey {
        self.key
    }
    fn dims(&self) -> &[usize] {
        &self.dims
    }
    fn dtype(&self) -> DType {
        self.dtype
    }
    fn layout_name(&self) -> String {
        self.layout.clone()
    }
}

/// The functions that a program registered with a key.
struct Backend {
    from_strided: Py<PyAny>,
    to_strided: Py<PyAny>,
}

static BACKENDS: RwLock<BTreeMap<DispatchKey, Arc<Backend>>> = RwLock::new(BTreeMap::new());

fn backend(key: DispatchKey) -> Option<Arc<Backend>> {
    BACKENDS.read().unwrap_or_else(|e| e.into_inner()).get(&key).cloned()
}

/// An exception of Python as an error of the core.
fn raised(py: Python<'_>, op: &'static str, e: PyErr) -> Error {
    let (rule, remedy) = ("the function of the program returns a tensor", "correct what `__cause__` shows");
    Error::InvalidArgument(Complaint::new(op, "function", text_of(py, e), rule, remedy))
}

/// The same of any failure of this package.
fn failed(py: Python<'_>, op: &'static str, failure: Failure) -> Error {
    match failure {
        Failure::Known(Known::Core(e)) => e,
        other => raised(py, op, other.raise(py)),
    }
}

/// Refuses a result of another key, shape or dtype than the call has. A dtype of `None` is not known.
fn check(
    op: &'static str,
    made: TensorRef<'_>,
    key: DispatchKey,
    dims: &[usize],
    dtype: Option<DType>,
) -> blocktensor::Result<()> {
    let got = || format!("{} of key `{}`", made.describe(), made.key());
    let complain = |rule: String, remedy: &str| Complaint::new(op, "result", got(), rule, remedy);
    if made.key() != key {
        let remedy = match key {
            DispatchKey::STRIDED => "return a numpy array",
            _ => "return what `wrap` makes for this key",
        };
        return Err(Error::KeyMismatch(complain(
            format!("the function returns a tensor of key `{key}`"),
            remedy,
        )));
    }
    if made.dims() != dims {
        let rule = format!("the result of this call has the sizes {dims:?}");
        return Err(Error::ShapeMismatch(complain(
            rule,
            "correct the function, or the sizes that it states",
        )));
    }
    match dtype.filter(|dtype| *dtype != made.dtype()) {
        Some(dtype) => {
            let rule = format!("the result of this call is {dtype}");
            Err(Error::DTypeMismatch(complain(rule, "correct the function, or the dtype that it states")))
        }
        None => Ok(()),
    }
}

fn from_strided(x: &StridedTensor, to: &TensorDesc) -> blocktensor::Result<Tensor> {
    let op = "from_strided";
    Python::attach(|py| {
        let backend = backend(to.key()).ok_or_else(|| raised(py, op, unknown(to.key().name())))?;
        let made =
            backend.from_strided.call1(py, (PyTensor(x.clone().into()),)).map_err(|e| raised(py, op, e))?;
        let made = of_object(op, made.bind(py))?;
        check(op, made.tensor_ref(), to.key(), to.dims(), Some(to.dtype()))?;
        Ok(made)
    })
}

fn to_strided(x: &Arc<dyn OpaqueTensor>) -> blocktensor::Result<StridedTensor> {
    let op = "to_strided";
    Python::attach(|py| {
        let backend = backend(x.key()).ok_or_else(|| raised(py, op, unknown(x.key().name())))?;
        let given = PyTensor(Tensor::Opaque(Arc::clone(x)));
        let made = backend.to_strided.call1(py, (given,)).map_err(|e| raised(py, op, e))?;
        let made = exchange::import(made.bind(py), op, "result").map_err(|e| failed(py, op, e))?;
        check(op, made.tensor_ref(), DispatchKey::STRIDED, x.dims(), Some(x.dtype()))?;
        match made {
            Tensor::Strided(t) => Ok(t),
            _ => unreachable!("its key was just checked"),
        }
    })
}

fn unknown(name: &str) -> PyErr {
    pyo3::exceptions::PyLookupError::new_err(format!("no backend of the key `{name}`"))
}

fn of_object(op: &'static str, object: &Bound<'_, PyAny>) -> blocktensor::Result<Tensor> {
    match object.cast::<PyTensor>() {
        Ok(t) => Ok(t.get().0.clone()),
        Err(_) => {
            let got = object.get_type().to_string();
            let rule = "the function returns a blocktensor.Tensor of its key";
            Err(Error::KeyMismatch(Complaint::new(op, "result", got, rule, "return what `wrap` makes")))
        }
    }
}

/// An argument of a kernel as an object.
fn object<'py>(py: Python<'py>, arg: &Arg<'_>) -> PyResult<Bound<'py, PyAny>> {
    let tensor = |t: &TensorRef<'_>| PyTensor(t.to_tensor()).into_bound_py_any(py);
    match arg {
        Arg::Tensor(t) => tensor(t),
        Arg::Tensors(list) => {
            PyList::new(py, list.iter().map(tensor).collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(py)
        }
        Arg::Int(v) => v.into_bound_py_any(py),
        Arg::Ints(v) => v.into_bound_py_any(py),
        Arg::Sizes(v) => v.into_bound_py_any(py),
        Arg::Float(v) => v.into_bound_py_any(py),
        Arg::Bool(v) => v.into_bound_py_any(py),
        Arg::Str(v) => v.into_bound_py_any(py),
        Arg::PostOps(v) => v.to_string().into_bound_py_any(py),
        Arg::Absent => Ok(py.None().into_bound(py)),
    }
}

/// The result that the op's definition has for these operands: sizes, and the dtype where our own kernel takes the operands' dtypes.
/// `None` if none of our kernels takes them.
///
/// # Errors
/// The op's own, for operands that it does not define a result for.
fn defined(args: &Args<'_>) -> blocktensor::Result<Option<(Vec<usize>, Option<DType>)>> {
    let Some(op) = dispatch::op(args.op()) else { return Ok(None) };
    let (mut names, mut operands, mut params) = (Vec::new(), Vec::new(), Vec::new());
    for (spec, value) in op.schema().args.iter().zip(args.values()) {
        let value = match value {
            Arg::Tensor(t) => {
                names.push(spec.name);
                operands.push(*t);
                continue;
            }
            Arg::Tensors(list) => {
                names.extend(list.iter().map(|_| spec.name));
                operands.extend(list.iter().copied());
                continue;
            }
            Arg::Int(v) => Value::Int(*v),
            Arg::Ints(v) => Value::Ints(v.to_vec()),
            Arg::Sizes(v) => Value::Ints(v.iter().map(|&size| size as i64).collect()),
            Arg::Float(v) => Value::Float(*v),
            Arg::Bool(v) => Value::Bool(*v),
            Arg::Str(v) => Value::Str(v.to_string()),
            Arg::PostOps(v) => Value::Str(v.to_string()),
            Arg::Absent => continue,
        };
        params.push((spec.name, value));
    }
    let bound = BoundOp::of(op, &names, &params)?;
    let infer = |of: &dyn Fn(DType) -> DType| {
        let desc = |t: &TensorRef<'_>| TensorDesc::strided(t.dims(), of(t.dtype()), MemoryFormat::Contiguous);
        bound.infer(&operands.iter().map(desc).collect::<blocktensor::Result<Vec<_>>>()?)
    };
    let unknown = |e: &Error| {
        matches!(e, Error::UnsupportedOp(_) | Error::UnsupportedDType(_) | Error::DTypeMismatch(_))
    };
    let (results, is_exact) = match infer(&|dtype| dtype) {
        Err(e) if unknown(&e) => (infer(&|_| DType::F32), false),
        results => (results, true),
    };
    match results.as_deref() {
        Ok([one]) => Ok(Some((one.dims().to_vec(), is_exact.then_some(one.dtype())))),
        Ok(_) => {
            let (got, rule) = ("one result".to_string(), "the op has several");
            let remedy = "register no kernel in Python for it";
            Err(Error::InvalidArgument(Complaint::new(args.op(), "result", got, rule, remedy)))
        }
        Err(e) if unknown(e) => Ok(None),
        Err(e) => Err(e.clone()),
    }
}

/// Runs a kernel of Python. A description of its result needs a run too: a function says nothing of its result before it ran.
fn kernel(function: &Py<PyAny>, args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let op = args.op();
    let mut operands = args.data_operands();
    let described = operands
        .any(|(_, t)| !matches!(t, TensorRef::Opaque(o) if (o.as_ref() as &dyn Any).is::<PyOpaque>()));
    if described {
        let (rule, remedy) =
            ("a kernel in Python tells its result only by running", "call the op, do not plan it");
        let got = "descriptions without elements";
        return Err(Error::InvalidArgument(Complaint::new(op, "operands", got, rule, remedy)).into());
    }
    let defined = defined(args)?;
    let made = Python::attach(|py| -> blocktensor::Result<Tensor> {
        let call = || {
            let values = args.values().iter().map(|a| object(py, a)).collect::<PyResult<Vec<_>>>()?;
            function.call1(py, PyTuple::new(py, values)?)
        };
        of_object(op, call().map_err(|e| raised(py, op, e))?.bind(py))
    })?;
    let (dims, dtype) = match &defined {
        Some((dims, dtype)) => (&dims[..], *dtype),
        None => (made.tensor_ref().dims(), None),
    };
    check(op, made.tensor_ref(), args.key(), dims, dtype)?;
    let Tensor::Opaque(made) = made else { unreachable!("its key was just checked") };
    let desc = TensorDesc::opaque(made.dims(), made.dtype(), made.key(), &made.layout_name())?;
    results.opaque(desc, |given| match given {
        Some(place) => {
            *place = made;
            Ok(None)
        }
        None => Ok(Some(Tensor::Opaque(made))),
    })
}

/// Runs a gradient of Python: a function of the op's arguments, and of the results, their gradients, and which gradients are wanted.
fn gradient(function: &Py<PyAny>, call: &Backward<'_>) -> blocktensor::Result<Gradients> {
    let op = call.args.op();
    Python::attach(|py| {
        let tensor = |t: Option<&TensorRef<'_>>| t.map(|t| PyTensor(t.to_tensor()));
        let run = || {
            let values = call.args.values().iter().map(|a| object(py, a)).collect::<PyResult<Vec<_>>>()?;
            let options = PyDict::new(py);
            let results: Vec<_> = call.results.iter().map(|t| tensor(Some(t))).collect();
            let diffs: Vec<_> = call.diffs.iter().map(|t| tensor(t.as_ref())).collect();
            options.set_item("results", results)?;
            options.set_item("diff_dst", diffs)?;
            options.set_item("wanted", call.wanted)?;
            function.bind(py).call(PyTuple::new(py, values)?, Some(&options))
        };
        let made = run().map_err(|e| raised(py, op, e))?;
        let is_list = made.is_instance_of::<PyList>() || made.is_instance_of::<PyTuple>();
        let made: Vec<Bound<'_, PyAny>> = match is_list {
            true => made.try_iter().and_then(Iterator::collect).map_err(|e| raised(py, op, e))?,
            false => vec![made],
        };
        if made.len() != call.wanted.len() {
            let got = format!("{} values", made.len());
            let rule = "the function returns a gradient or None for each tensor of the call";
            let remedy = format!("return {}", call.wanted.len());
            return Err(Error::InvalidArgument(Complaint::new(op, "gradient", got, rule, remedy)));
        }
        made.iter().map(|x| if x.is_none() { Ok(None) } else { of_object(op, x).map(Some) }).collect()
    })
}

/// Registers a dispatch key with kernels for ops that exist. `kernels` maps an op's name to a function of the op's arguments, in
/// the schema's order, that returns a tensor of `wrap`. `gradients` maps it to a function of the same arguments and of `results`,
/// `diff_dst` and `wanted`, which returns a gradient or None for each tensor. It stays for the life of the process.
#[pyfunction]
#[pyo3(signature = (name, from_strided_function, to_strided_function, kernels, *, gradients = Mapped::default()),
    text_signature = "(name, from_strided_function, to_strided_function, kernels, *, gradients={})")]
pub(crate) fn register_backend(
    py: Python<'_>,
    name: Name,
    from_strided_function: Py<PyAny>,
    to_strided_function: Py<PyAny>,
    kernels: Mapped,
    gradients: Mapped,
) -> PyResult<()> {
    let op = "register_backend";
    held(py, op, || {
        let name = name.of(op, "name")?;
        let by_name = |argument: &str, given: Mapped| -> Outcome<BTreeMap<String, Py<PyAny>>> {
            let given = given.of(py, op, argument, "functions")?;
            Ok(given.into_iter().map(|(name, function)| (name, function.unbind())).collect())
        };
        let (kernels, gradients) = (by_name("kernels", kernels)?, by_name("gradients", gradients)?);
        let functions = [
            ("from_strided_function", None, &from_strided_function),
            ("to_strided_function", None, &to_strided_function),
        ];
        let kernel_of = kernels.iter().map(|(of, function)| ("kernels", Some(of), function));
        let gradient_of = gradients.iter().map(|(of, function)| ("gradients", Some(of), function));
        for (argument, of, function) in functions.into_iter().chain(kernel_of).chain(gradient_of) {
            let function = function.bind(py);
            if !function.is_callable() {
                let of = of.map_or(String::new(), |of| format!(" for `{}`", of.escape_debug()));
                let got = format!("{}{of}", function.get_type().fully_qualified_name()?);
                let rule = "a backend's functions must be callable".to_string();
                return Err(invalid(op, argument, got, rule, "pass a function"));
            }
        }
        for (argument, mut names) in [("kernels", kernels.keys()), ("gradients", gradients.keys())] {
            if let Some(unknown) = names.find(|name| dispatch::op(name).is_none()) {
                let got = format!("`{}`", unknown.escape_debug());
                let rule = format!("{argument} are for ops that there are");
                let remedy = "pass names of `blocktensor.ops.__all__`";
                return Err(Error::Registration(Complaint::new(op, argument, got, rule, remedy)).into());
            }
        }
        let name: &'static str = name.leak();
        let from: &'static str = format!(".to_key(\"{name}\")").leak();
        let mut made = None;
        register(|r: &mut dyn Registrar| {
            let key = r.key(KeySpec { name, to_strided: ".to_strided()", from_strided: from })?;
            r.reorders(key, Reorders { from_strided, to_strided })?;
            for (op, function) in kernels {
                let run = move |args: &Args<'_>, results: &mut Results<'_>| kernel(&function, args, results);
                r.kernel(&op, key, Kernel::rust(Box::leak(Box::new(run))))?;
            }
            for (op, function) in gradients {
                let run = move |call: &Backward<'_>| gradient(&function, call);
                r.kernel(&op, key, Kernel::gradient(Box::leak(Box::new(run))))?;
            }
            made = Some(key);
            Ok(())
        })?;
        if let Some(key) = made {
            let backend = Backend { from_strided: from_strided_function, to_strided: to_strided_function };
            BACKENDS.write().unwrap_or_else(|e| e.into_inner()).insert(key, Arc::new(backend));
        }
        Ok(())
    })
}

pub(crate) fn key_of(op: &'static str, name: Name) -> Result<DispatchKey, Failure> {
    let name = name.of(op, "key")?;
    DispatchKey::by_name(&name).filter(|key| backend(*key).is_some()).ok_or_else(|| {
        let own = match &*name {
            "blocked" => Some(".to_blocked()"),
            "strided" => Some(".to_strided()"),
            _ => None,
        };
        let (rule, remedy) = match own {
            Some(call) => ("blocktensor makes tensors of this key itself", &*format!("call `{call}`")),
            None => ("no program registered this key", "call `register_backend` first"),
        };
        invalid(op, "key", format!("`{name}`"), rule.to_string(), remedy)
    })
}

/// A tensor of a registered key around an object.
#[pyfunction]
#[pyo3(
    signature = (key, object, shape, *, dtype = "f32".into(), layout = LAYOUT.into()),
    text_signature = "(key, object, shape, *, dtype='f32', layout='opaque')"
)]
pub(crate) fn wrap(
    py: Python<'_>,
    key: Name,
    object: Py<PyAny>,
    shape: Sizes,
    dtype: Name,
    layout: Name,
) -> PyResult<PyTensor> {
    let op = "wrap";
    held(py, op, || {
        let shape = number::all(op, "shape", shape.0)?;
        let (key, dtype, layout) = (key_of(op, key)?, dtype_of(op, dtype)?, layout.of(op, "layout")?);
        if layout.parse::<MemoryFormat>().is_ok() || layout.parse::<Layout>().is_ok() {
            let rule = "such a layout is a tensor's of this package".to_string();
            return Err(invalid(op, "layout", format!("`{layout}`"), rule, "pass a name of your own"));
        }
        // Sizes whose product is a number.
        let desc = TensorDesc::strided(&shape, dtype, MemoryFormat::Contiguous);
        desc.and_then(|desc| desc.bytes()).map_err(|e| e.in_call(op, "shape"))?;
        Ok(PyTensor(Tensor::Opaque(Arc::new(PyOpaque { object, key, dims: shape, dtype, layout }))))
    })
}

/// The object in a tensor that `wrap` made.
#[pyfunction]
pub(crate) fn unwrap(py: Python<'_>, tensor: &Bound<'_, PyTensor>) -> PyResult<Py<PyAny>> {
    held(py, "unwrap", || {
        let of = match &tensor.get().0 {
            Tensor::Opaque(t) => (t.as_ref() as &dyn Any).downcast_ref::<PyOpaque>(),
            _ => None,
        };
        of.map(|t| t.object.clone_ref(py)).ok_or_else(|| {
            let got = tensor.get().0.tensor_ref().describe();
            invalid("unwrap", "tensor", got, "no program wrapped it".into(), "pass a tensor of `wrap`")
        })
    })
}
