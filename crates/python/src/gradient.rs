//! Gradients of one op by its name.

use blocktensor::Tensor;
use blocktensor::dispatch::{Op, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::call::{bound, registered, value};
use crate::errors::{Outcome, held, invalid, on_threads, released};
use crate::exchange;
use crate::name::{self, Name, shown};
use crate::number::{self, Number};
use crate::tensor::PyTensor;

/// A tensor, or a list or tuple of tensors; `None` among them where the caller allows it.
fn tensors(op: &'static str, argument: &str, x: &Bound<'_, PyAny>) -> Outcome<Vec<Option<Tensor>>> {
    let is_list = x.is_instance_of::<PyList>() || x.is_instance_of::<PyTuple>();
    let import = |x: &Bound<'_, PyAny>| match x.is_none() {
        true => Ok(None),
        false => exchange::import(x, op, argument).map(Some),
    };
    match is_list {
        true => x.try_iter()?.map(|item| import(&item?)).collect(),
        false => Ok(vec![import(x)?]),
    }
}

/// An argument that only errors leave out.
pub(crate) struct Asked(Option<Py<PyAny>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Asked {
    type Error = PyErr;

    fn extract(x: Borrowed<'a, 'py, PyAny>) -> PyResult<Asked> {
        Ok(Asked(Some(x.to_owned().unbind())))
    }
}

impl Asked {
    const NONE: Asked = Asked(None);

    fn of<'py>(
        self,
        py: Python<'py>,
        op: &'static str,
        argument: &str,
        rule: &str,
    ) -> Outcome<Bound<'py, PyAny>> {
        self.0.map(|x| x.into_bound(py)).ok_or_else(|| {
            let remedy = "pass it by name; `tape.backward(loss)` has the gradients of a whole program";
            invalid(op, argument, "nothing".into(), rule.to_string(), remedy)
        })
    }
}

/// The names of `wanted`: one, or a sequence of them.
fn names(op: &'static str, x: &Bound<'_, PyAny>) -> Outcome<Vec<String>> {
    let of = |x: &Bound<'_, PyAny>| match name::of_text(x) {
        Some(name) => name.of(op, "wanted"),
        None => {
            let rule = "it is the name of a tensor of the op, or a sequence of names".to_string();
            Err(invalid(op, "wanted", shown(x), rule, "pass a name such as \"x\""))
        }
    };
    match number::items(x) {
        Some(items) => items.map(|item| of(&item?)).collect(),
        None => Ok(vec![of(x)?]),
    }
}

/// The op of a name.
fn op_of(x: &Bound<'_, PyAny>) -> Outcome<&'static Op> {
    match name::of_text(x) {
        Some(name) => registered("backward", "op", &name.of("backward", "op")?),
        None => {
            let rule =
                "it is the name of an op: the gradients of a whole program are those of its tape".to_string();
            Err(invalid(
                "backward",
                "op",
                shown(x),
                rule,
                "pass a name of `blocktensor.ops.__all__`, or call `tape.backward(loss)`",
            ))
        }
    }
}

/// The gradients of an op's tensors from those of its results, by the op's name. Tensors and parameters are those of the op's
/// function in `blocktensor.ops`.
#[pyfunction]
#[pyo3(
    signature = (op, /, *args, results = Asked::NONE, diff_dst = Asked::NONE, wanted = Asked::NONE, threads = None, **params),
    text_signature = "(op, /, *args, results, diff_dst, wanted, threads=None, **params)"
)]
#[allow(clippy::too_many_arguments)]
pub(crate) fn backward(
    py: Python<'_>,
    op: &Bound<'_, PyAny>,
    args: &Bound<'_, PyTuple>,
    results: Asked,
    diff_dst: Asked,
    wanted: Asked,
    threads: Option<Number<usize>>,
    params: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<PyTensor>> {
    let op = op_of(op).map_err(|e| e.raise(py))?;
    let schema = op.schema();
    let name = schema.name;
    let complain = |argument: &str, got: String, rule: &str| {
        invalid(name, argument, got, rule.to_string(), &format!("the op is `{schema}`"))
    };
    let prepared = held(py, name, || {
        let results = results.of(py, name, "results", "it is what the forward call gave")?;
        let diff_dst =
            diff_dst.of(py, name, "diff_dst", "it is the gradient of each result, or None for zeros")?;
        let wanted =
            wanted.of(py, name, "wanted", "it is the names of the tensors whose gradients are returned")?;
        let threads = number::maybe(name, "threads", threads)?;
        // Tensors by position, in the schema's order; the rest by name.
        let mut given: Vec<Option<Bound<'_, PyAny>>> = vec![None; schema.args.len()];
        let places = (0..schema.args.len()).filter(|&i| schema.args[i].kind.is_tensor());
        if places.clone().count() < args.len() {
            return Err(complain("args", format!("{} tensors", args.len()), "the op takes fewer tensors"));
        }
        for (place, x) in places.zip(args) {
            given[place] = Some(x);
        }
        for (key, x) in params.into_iter().flatten() {
            let key = key.extract::<Name>()?.of(name, "params")?;
            // As in `blocktensor.ops`: a name that is a word of Python ends in `_`.
            let plain = key.strip_suffix('_').unwrap_or(&key);
            let place = schema.args.iter().position(|spec| spec.name == key || spec.name == plain);
            let Some(place) = place else {
                return Err(complain(&key, "a value".into(), "the op has no such argument"));
            };
            if given[place].replace(x).is_some() {
                return Err(complain(&key, "two values".into(), "it takes one"));
            }
        }
        let given = schema.args.iter().zip(given).map(|(spec, x)| match x {
            Some(x) if !x.is_none() => value(name, spec, &x).map(Some),
            _ => Ok(None),
        });
        let given = given.collect::<Outcome<Vec<Option<Value>>>>()?;
        let results = tensors(name, "results", &results)?;
        let results = results.into_iter().collect::<Option<Vec<Tensor>>>().ok_or_else(|| {
            let rule = "they are those of the forward call".to_string();
            invalid(name, "results", "None".into(), rule, "pass what the forward call gave")
        })?;
        Ok((threads, given, results, tensors(name, "diff_dst", &diff_dst)?, names(name, &wanted)?))
    });
    let (threads, given, results, diffs, wanted) = prepared?;
    let made = released(py, name, || {
        let (op, inputs) = bound(schema, given)?;
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        on_threads(name, threads, || Ok(op.backward_by(&inputs, &results, &diffs, &wanted)?))
    })?;
    Ok(made.into_iter().map(PyTensor).collect())
}
