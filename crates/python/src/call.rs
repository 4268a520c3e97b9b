//! Ops by name, and what their schemas say.

use blocktensor::dispatch::schema::{ArgSpec, Schema};
use blocktensor::dispatch::{self, Arg, ArgKind, DispatchKey, Engine, Op, Value};
use blocktensor::{BoundOp, DType, Operand, Tensor, TensorRef};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};

use crate::errors::{Outcome, invalid, on_threads, released};
use crate::exchange;
use crate::name::{self, shown};
use crate::number::{self, Number};
use crate::tape::Recorded;
use crate::tensor::PyTensor;

/// A value as the op takes it; the default if it was left out. `list` borrows the tensors of a list.
fn arg<'a>(spec: &ArgSpec, given: &'a Option<Value>, list: &'a [TensorRef<'a>]) -> Arg<'a> {
    match given {
        None => spec.kind.default(),
        Some(Value::Tensor(t)) => Arg::Tensor(t.tensor_ref()),
        Some(Value::Tensors(_)) => Arg::Tensors(list),
        Some(Value::Int(v)) => Arg::Int(*v),
        Some(Value::Ints(v)) => Arg::Ints(v),
        Some(Value::Float(v)) => Arg::Float(*v),
        Some(Value::Bool(v)) => Arg::Bool(*v),
        Some(Value::Str(v)) => Arg::Str(v),
        Some(_) => Arg::Absent,
    }
}

fn refs(given: &Option<Value>) -> Vec<TensorRef<'_>> {
    match given {
        Some(Value::Tensors(list)) => list.iter().map(Operand::tensor_ref).collect(),
        _ => Vec::new(),
    }
}

/// An integer. To Python `True` is 1, but as an axis or a size it is a mistake, as in PyTorch.
fn integer(x: &Bound<'_, PyAny>) -> Option<i64> {
    if x.is_instance_of::<PyBool>() { None } else { x.extract().ok() }
}

/// An object as the value that an argument of this kind takes.
pub(crate) fn value(op: &'static str, spec: &ArgSpec, x: &Bound<'_, PyAny>) -> Outcome<Value> {
    value_with(op, spec, x, &mut |x| exchange::import(x, op, spec.name))
}

/// The same, with a function that makes a tensor of an object.
fn value_with(
    op: &'static str,
    spec: &ArgSpec,
    x: &Bound<'_, PyAny>,
    import: &mut dyn FnMut(&Bound<'_, PyAny>) -> Outcome<Tensor>,
) -> Outcome<Value> {
    let name = spec.name;
    let wrong = || {
        let is_number = matches!(spec.kind, ArgKind::Int(_) | ArgKind::Ints(_) | ArgKind::Float(_));
        let is_int = x.is_instance_of::<PyInt>() && !x.is_instance_of::<PyBool>();
        let fits = if is_number && is_int { " that fits into 64 bits" } else { "" };
        let rule = format!("it is {}{fits}", spec.kind.describe());
        let words = || x.extract::<Vec<String>>().ok().filter(|words| !words.is_empty());
        let remedy = match spec.kind {
            ArgKind::Bool(_) => Some("pass True or False".to_string()),
            ArgKind::Str(_) => words().map(|words| format!("pass {:?}", words.join(","))),
            _ => None,
        };
        let remedy = remedy.unwrap_or_else(|| "pass what the signature says".to_string());
        invalid(op, name, shown(x), rule, &remedy)
    };
    Ok(match spec.kind {
        ArgKind::DataList | ArgKind::ParamList => {
            let mut tensors = Vec::new();
            for item in number::items(x).ok_or_else(wrong)? {
                tensors.push(import(&item?)?);
            }
            Value::Tensors(tensors)
        }
        kind if kind.is_tensor() => Value::Tensor(import(x)?),
        ArgKind::Int(_) => Value::Int(integer(x).ok_or_else(wrong)?),
        ArgKind::Ints(_) => match integer(x) {
            Some(one) => Value::Ints(vec![one]),
            None => {
                let mut all = Vec::new();
                for item in number::items(x).ok_or_else(wrong)? {
                    all.push(integer(&item?).ok_or_else(wrong)?);
                }
                Value::Ints(all)
            }
        },
        ArgKind::Float(_) => Value::Float(x.extract().map_err(|_| wrong())?),
        ArgKind::Bool(_) => Value::Bool(x.extract().map_err(|_| wrong())?),
        _ => Value::Str(name::of_text(x).ok_or_else(wrong)?.of(op, name)?),
    })
}

/// Calls an op with one value for each argument of its schema; `None` is its default.
#[pyfunction]
#[pyo3(signature = (name, threads, *args))]
pub(crate) fn call<'py>(
    py: Python<'py>,
    name: &str,
    threads: Option<Number<usize>>,
    args: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let op = registered("call", "name", name).map_err(|e| e.raise(py))?;
    let schema = op.schema();
    let threads = number::maybe(schema.name, "threads", threads).map_err(|e| e.raise(py))?;
    if args.len() != schema.args.len() {
        let rule = format!("the op is `{schema}`");
        let e = invalid(
            schema.name,
            "args",
            format!("{} values", args.len()),
            rule,
            "pass one for each, or None",
        );
        return Err(e.raise(py));
    }
    let mut recorded = Recorded::default();
    let given = schema.args.iter().zip(args.iter_borrowed()).map(|(spec, x)| match x.is_none() {
        true => Ok(None),
        false => {
            value_with(schema.name, spec, &x, &mut |x| recorded.import(x, schema.name, spec.name)).map(Some)
        }
    });
    let given = given.collect::<Outcome<Vec<Option<Value>>>>().map_err(|e| e.raise(py))?;
    if recorded.is_recorded() {
        let results = recorded.call(py, schema, given, threads)?;
        return results_of(py, schema, results);
    }
    let results = released(py, schema.name, || {
        let lists: Vec<Vec<TensorRef<'_>>> = given.iter().map(refs).collect();
        let values = schema.args.iter().zip(&given).zip(&lists);
        let values: Vec<Arg<'_>> = values.map(|((spec, given), list)| arg(spec, given, list)).collect();
        on_threads(schema.name, threads, || Ok(dispatch::call_in_order(op, &values)?))
    })?;
    let results = results.into_iter().map(|t| PyTensor(t).into_bound_py_any(py));
    results_of(py, schema, results.collect::<PyResult<Vec<_>>>()?)
}

/// An op with the values of a call, in the schema's order, as its parameters, and the tensors among them.
pub(crate) fn bound(
    schema: &Schema,
    given: Vec<Option<Value>>,
) -> blocktensor::Result<(BoundOp, Vec<Tensor>)> {
    let values = schema.args.iter().zip(given).filter_map(|(spec, given)| Some((spec.name, given?)));
    BoundOp::of_call(schema.name, &values.collect::<Vec<_>>())
}

/// The op of this name.
pub(crate) fn registered(call: &'static str, argument: &str, name: &str) -> Outcome<&'static Op> {
    dispatch::op(name).ok_or_else(|| {
        let (got, rule) = (format!("`{}`", name.escape_debug()), "no op has this name".to_string());
        invalid(call, argument, got, rule, "`blocktensor.ops.__all__` has them")
    })
}

/// One tensor, a tuple, or a list where the number depends on the call.
fn results_of<'py>(
    py: Python<'py>,
    schema: &Schema,
    mut results: Vec<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let is_list = matches!(schema.outputs, [one] if one.is_list);
    match results.len() {
        _ if is_list => PyList::new(py, results)?.into_bound_py_any(py),
        1 => Ok(results.remove(0)),
        _ => PyTuple::new(py, results)?.into_bound_py_any(py),
    }
}

fn kind(spec: &ArgSpec) -> &'static str {
    match spec.kind {
        ArgKind::Data => "tensor",
        ArgKind::Param => "param",
        ArgKind::Plain => "plain",
        ArgKind::OptionalData => "optional tensor",
        ArgKind::OptionalParam => "optional param",
        ArgKind::DataList => "tensors",
        ArgKind::ParamList => "params",
        ArgKind::Int(_) => "int",
        ArgKind::Ints(_) => "ints",
        ArgKind::Float(_) => "float",
        ArgKind::Bool(_) => "bool",
        ArgKind::Str(_) => "str",
    }
}

const OURS: [DispatchKey; 2] = [DispatchKey::STRIDED, DispatchKey::BLOCKED];

/// For each key that has kernels of ours, the dtypes that they take for a tensor argument, also those that this machine has no
/// instructions for.
fn kernels<'py>(py: Python<'py>, op: &Op, arg: &str) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for key in OURS {
        let mut names: Vec<&str> = Vec::new();
        for (_, kernel) in op.implementations().filter(|(of, k)| *of == key && k.engine != Engine::Other) {
            for dtype in kernel.dtypes_of(op.schema(), arg).unwrap_or(DType::ALL.to_vec()) {
                if !names.contains(&dtype.name()) {
                    names.push(dtype.name());
                }
            }
        }
        if !names.is_empty() {
            all.set_item(key.name(), names)?;
        }
    }
    Ok(all)
}

/// The schemas of all ops: what the functions of `blocktensor.ops` are generated from.
#[pyfunction]
pub(crate) fn schemas(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let all = PyList::empty(py);
    for op in dispatch::ops() {
        let schema = op.schema();
        let args = PyList::empty(py);
        for spec in schema.args {
            let arg = PyDict::new(py);
            arg.set_item("name", spec.name)?;
            arg.set_item("kind", kind(spec))?;
            arg.set_item("describe", spec.kind.describe())?;
            arg.set_item("dtypes", spec.dtypes.to_string())?;
            arg.set_item("ranks", spec.ranks.to_string())?;
            let default = match spec.kind.default() {
                Arg::Int(v) => v.into_bound_py_any(py)?,
                Arg::Ints(v) => PyTuple::new(py, v)?.into_any(),
                Arg::Float(v) => v.into_bound_py_any(py)?,
                Arg::Bool(v) => v.into_bound_py_any(py)?,
                Arg::Str(v) => PyString::new(py, v).into_any(),
                _ => py.None().into_bound(py),
            };
            arg.set_item("default", default)?;
            if spec.kind.is_tensor() {
                arg.set_item("kernels", kernels(py, op, spec.name)?)?;
            }
            args.append(arg)?;
        }
        let entry = PyDict::new(py);
        entry.set_item("name", schema.name)?;
        entry.set_item("args", args)?;
        let outputs: Vec<(&str, String, bool)> =
            schema.outputs.iter().map(|o| (o.name, o.to_string(), o.is_list)).collect();
        entry.set_item("outputs", outputs)?;
        let is_ours = |key: &DispatchKey| op.kernels(*key).any(|kernel| kernel.engine != Engine::Other);
        let keys: Vec<&str> = OURS.iter().filter(|key| is_ours(key)).map(|k| k.name()).collect();
        entry.set_item("keys", keys)?;
        all.append(entry)?;
    }
    Ok(all)
}
