//! The tape of `blocktensor.grad`: what ops do with its values is recorded, and run back.

use std::sync::{Arc, Mutex, TryLockError, Weak};

use blocktensor::dispatch::schema::Schema;
use blocktensor::dispatch::{Op, Value};
use blocktensor::dlpack::Unaligned;
use blocktensor::{Layout, Operand, Tensor, TensorDesc};
use blocktensor_grad::{Gradients, Tape, Var, loss};
use blocktensor_graph::ElementType;
use pyo3::PyClassInitializer;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::call::{bound, call};
use crate::errors::{Failure, Outcome, check_threads, held, invalid, on_threads, released};
use crate::exchange;
use crate::name::{self, Name, shown};
use crate::number::{self, Number};
use crate::opaque::{LAYOUT, key_of};
use crate::quantization::OneOrMore;
use crate::signals::Signals;
use crate::tensor::{PyTensor, format_of};

/// What a tape is good for.
enum State {
    /// Records.
    Open(Tape),
    /// Its block ended: it can run back.
    Closed(Tape),
    /// Nothing more, for this reason.
    Spent(&'static str),
}

type Shared = Arc<Mutex<State>>;

fn wrong(op: &'static str, argument: &str, got: &str, rule: &str, remedy: &str) -> Failure {
    invalid(op, argument, got.to_string(), rule.to_string(), remedy)
}

/// Calls `f` with the state, unless another call has it: a kernel in Python, or another thread.
fn with_state<R>(
    op: &'static str,
    state: &Mutex<State>,
    f: impl FnOnce(&mut State) -> Outcome<R>,
) -> Outcome<R> {
    match state.try_lock() {
        Ok(mut state) => f(&mut state),
        Err(TryLockError::Poisoned(state)) => f(&mut state.into_inner()),
        Err(TryLockError::WouldBlock) => {
            let rule = "one call at a time uses a tape";
            Err(wrong(op, "tape", "a tape in use", rule, "record on one thread, and not inside of a kernel"))
        }
    }
}

/// Calls `f` with a tape that records.
fn with_open<R>(
    op: &'static str,
    state: &Mutex<State>,
    f: impl FnOnce(&mut Tape) -> Outcome<R>,
) -> Outcome<R> {
    with_state(op, state, |state| match state {
        State::Open(tape) => f(tape),
        State::Closed(_) => Err(ended(op)),
        State::Spent(reason) => {
            let remedy = "pass `x.tensor`, or record the program again";
            Err(wrong(op, "tape", reason, "it records no more", remedy))
        }
    })
}

fn ended(op: &'static str) -> Failure {
    let rule = "a call records only in the block of its tape";
    wrong(
        op,
        "tape",
        "a value of a recording that has ended",
        rule,
        "call it in the block, or pass `x.tensor`",
    )
}

/// A tensor of a tape: calls on it are recorded, and their results are such tensors too.
#[pyclass(frozen, extends = PyTensor, name = "Var", module = "blocktensor.grad")]
pub(crate) struct PyVar {
    var: Var,
    /// A value keeps no tape alive, only its own tensor.
    tape: Weak<Mutex<State>>,
}

impl PyVar {
    fn new<'py>(py: Python<'py>, var: Var, tape: &Shared) -> PyResult<Bound<'py, PyVar>> {
        let base = PyTensor(var.tensor().clone());
        let made = PyClassInitializer::from(base).add_subclass(PyVar { var, tape: Arc::downgrade(tape) });
        Bound::new(py, made)
    }

    /// Refuses a call that is not recorded, if a gradient would come back through it: a constant has none.
    pub(crate) fn check_leaves(&self, op: &'static str, argument: &str) -> Outcome<()> {
        match self.var.is_differentiable() {
            true => Err(self.unrecorded(op, argument)),
            false => Ok(()),
        }
    }

    /// The error of a call that would not be recorded.
    fn unrecorded(&self, op: &'static str, argument: &str) -> Failure {
        let got = format!("{} on a tape", self.var.tensor().tensor_ref().describe());
        let rule = "this call is not recorded, so no gradient would come back through it";
        let remedy = "pass `x.tensor`, whose gradient is not wanted, or record ops of `blocktensor.ops`";
        invalid(op, argument, got, rule.to_string(), remedy)
    }

    /// The tensor for a method that is not recorded: of a constant.
    fn constant_of<'a>(slf: &'a Bound<'_, Self>, op: &'static str) -> PyResult<&'a PyTensor> {
        held(slf.py(), op, || slf.get().check_leaves(op, "self"))?;
        Ok(slf.as_super().get())
    }

    /// A recorded reorder. `to` is `None` for a value that is in this form already: it is returned as it is, as a tensor would be.
    fn reorder<'py>(
        slf: &Bound<'py, Self>,
        op: &'static str,
        to: &(dyn Fn(&Tensor) -> Outcome<Option<TensorDesc>> + Sync),
    ) -> PyResult<Bound<'py, PyVar>> {
        let (py, this) = (slf.py(), slf.get());
        let made = released(py, op, || {
            let tape = this.tape.upgrade().ok_or_else(|| ended(op))?;
            let Some(to) = to(this.var.tensor())? else { return Ok(None) };
            let var = with_open(op, &tape, |tape| Ok(tape.reorder(&this.var, &to)?))?;
            Ok(Some((tape, var)))
        })?;
        made.map_or_else(|| Ok(slf.clone()), |(tape, var)| PyVar::new(py, var, &tape))
    }
}

#[pymethods]
impl PyVar {
    /// The tensor alone: what is computed with it is not recorded.
    #[getter]
    fn tensor(&self) -> PyTensor {
        PyTensor(self.var.tensor().clone())
    }

    /// Reorders to a strided tensor in a memory format. The gradient is reordered back.
    #[pyo3(signature = (format = "contiguous".into()), text_signature = "($self, format='contiguous')")]
    fn to_strided<'py>(slf: &Bound<'py, Self>, format: Name) -> PyResult<Bound<'py, PyVar>> {
        let op = "to_strided";
        let format = held(slf.py(), op, || format_of(op, format))?;
        PyVar::reorder(slf, op, &|x| {
            if matches!(x, Tensor::Strided(t) if t.is_contiguous(format)) {
                return Ok(None);
            }
            let x = x.tensor_ref();
            let to = TensorDesc::strided(x.dims(), x.dtype(), format);
            Ok(Some(to.map_err(|e| e.in_call(op, "format"))?))
        })
    }

    /// Reorders to a blocked layout, by default this machine's native one for activations. The gradient is reordered back.
    #[pyo3(signature = (layout = None))]
    fn to_blocked<'py>(slf: &Bound<'py, Self>, layout: Option<Name>) -> PyResult<Bound<'py, PyVar>> {
        let op = "to_blocked";
        let layout =
            held(slf.py(), op, || Ok(name::maybe(op, "layout", layout)?.map(|l| l.parse()).transpose()?))?;
        PyVar::reorder(slf, op, &|x| {
            let x = x.tensor_ref();
            let layout: Layout = layout.map_or_else(|| Layout::native_activation(x.dims().len()), Ok)?;
            let to =
                TensorDesc::blocked(x.dims(), x.dtype(), &layout).map_err(|e| e.in_call(op, "layout"))?;
            Ok(Some(to).filter(|to| TensorDesc::of(x) != *to))
        })
    }

    /// Reorders to a key that a program registered. The gradient is reordered back.
    fn to_key<'py>(slf: &Bound<'py, Self>, key: Name) -> PyResult<Bound<'py, PyVar>> {
        let op = "to_key";
        let key = held(slf.py(), op, || key_of(op, key))?;
        PyVar::reorder(slf, op, &|x| {
            let x = x.tensor_ref();
            Ok(Some(TensorDesc::opaque(x.dims(), x.dtype(), key, LAYOUT)?))
        })
    }

    /// As `to_strided`, of a value that is strided.
    #[pyo3(signature = (format = "contiguous".into()), text_signature = "($self, format='contiguous')")]
    fn contiguous<'py>(slf: &Bound<'py, Self>, format: Name) -> PyResult<Bound<'py, PyVar>> {
        held(slf.py(), "contiguous", || slf.as_super().get().strided("contiguous").map(|_| ()))?;
        PyVar::to_strided(slf, format)
    }

    /// A constant's integers with scales and zero points. Of a variable it is refused, as it is not recorded.
    #[pyo3(signature = (scale, zero_point = 0.into(), axis = None), text_signature = "($self, scale, zero_point=0, axis=None)")]
    fn quantized(
        slf: &Bound<'_, Self>,
        scale: OneOrMore<f64>,
        zero_point: OneOrMore<i64>,
        axis: Option<Number<i64>>,
    ) -> PyResult<PyTensor> {
        PyVar::constant_of(slf, "quantized")?.quantized(slf.py(), scale, zero_point, axis)
    }

    /// A constant without its scales and zero points. Of a variable it is refused, as it is not recorded.
    fn without_quantization(slf: &Bound<'_, Self>) -> PyResult<PyTensor> {
        Ok(PyVar::constant_of(slf, "without_quantization")?.without_quantization())
    }

    /// The numbers that a constant's integers stand for. Of a variable it is refused, as it is not recorded.
    fn dequantized(slf: &Bound<'_, Self>) -> PyResult<PyTensor> {
        PyVar::constant_of(slf, "dequantized")?.dequantized(slf.py())
    }

    /// As `blocktensor.ops.to_dtype`.
    fn to_dtype<'py>(slf: &Bound<'py, Self>, dtype: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("dtype", dtype)?;
        op(slf.py(), "to_dtype")?.call((slf,), Some(&options))
    }

    /// As `blocktensor.ops.reshape`.
    fn reshape<'py>(slf: &Bound<'py, Self>, shape: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("dims", shape)?;
        op(slf.py(), "reshape")?.call((slf,), Some(&options))
    }

    /// A value never changes: a copy is the value itself.
    fn __copy__(slf: &Bound<'_, Self>) -> Py<PyVar> {
        slf.clone().unbind()
    }

    /// Of a constant a tensor, as `tensor` is.
    fn __deepcopy__(slf: &Bound<'_, Self>, memo: Bound<'_, PyAny>) -> PyResult<PyTensor> {
        slf.get().check_leaves("copy.deepcopy", "x").map_err(|e| e.raise(slf.py()))?;
        slf.as_super().get().__deepcopy__(slf.py(), memo)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().check_leaves("pickle", "x").map_err(|e| e.raise(slf.py()))?;
        slf.as_super().get().__reduce__(slf.py())
    }

    fn __repr__(&self) -> String {
        format!("Var({})", self.var.tensor().tensor_ref().describe())
    }
}

/// Refuses to give the elements of a value that depends on a variable to another library, which records nothing.
pub(crate) fn check_leaves(x: &Bound<'_, PyTensor>, op: &'static str) -> Outcome<()> {
    x.cast::<PyVar>().map_or(Ok(()), |var| var.get().check_leaves(op, "self"))
}

/// A function of `blocktensor.ops`.
fn op<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("blocktensor.ops")?.getattr(name)
}

/// Which tensors of a call are values of a tape: one entry for each, in the order of the call.
#[derive(Default)]
pub(crate) struct Recorded(Vec<Option<Py<PyVar>>>);

impl Recorded {
    /// The tensor of an object, which may be a value of a tape.
    pub(crate) fn import(
        &mut self,
        x: &Bound<'_, PyAny>,
        op: &'static str,
        argument: &str,
    ) -> Outcome<Tensor> {
        if let Ok(var) = x.cast::<PyVar>() {
            self.0.push(Some(var.clone().unbind()));
            return Ok(var.get().var.tensor().clone());
        }
        self.0.push(None);
        exchange::import(x, op, argument)
    }

    /// Whether one of them is a value of a tape.
    pub(crate) fn is_recorded(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    /// Runs and records a call on the tape of its first value that has one. Its other tensors are constants of that tape.
    pub(crate) fn call<'py>(
        &self,
        py: Python<'py>,
        schema: &'static Schema,
        given: Vec<Option<Value>>,
        threads: Option<usize>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let name = schema.name;
        let (tape, results) = released(py, name, || {
            let (op, tensors) = bound(schema, given)?;
            let tape = self.0.iter().flatten().next().and_then(|var| var.get().tape.upgrade());
            let tape = tape.ok_or_else(|| ended(name))?;
            let results = with_open(name, &tape, |tape| {
                let inputs = self.0.iter().zip(tensors).map(|(var, tensor)| match var {
                    Some(var) => var.get().var.clone(),
                    None => tape.constant(tensor),
                });
                let inputs: Vec<Var> = inputs.collect();
                on_threads(name, threads, || Ok(tape.call_all(&op, &inputs.iter().collect::<Vec<_>>())?))
            })?;
            Ok((tape, results))
        })?;
        results.into_iter().map(|var| Ok(PyVar::new(py, var, &tape)?.into_any())).collect()
    }
}

/// Records what ops do with its values: `with blocktensor.grad.record() as tape`.
#[pyclass(frozen, name = "Tape", module = "blocktensor.grad")]
pub(crate) struct PyTape(Shared);

impl PyTape {
    fn of(tape: Tape) -> PyTape {
        PyTape(Arc::new(Mutex::new(State::Open(tape))))
    }

    fn value<'py>(
        &self,
        op: &'static str,
        x: &Bound<'py, PyAny>,
        make: fn(&mut Tape, Tensor) -> Var,
    ) -> PyResult<Bound<'py, PyVar>> {
        let py = x.py();
        let var = held(py, op, || {
            let tensor = exchange::import(x, op, "x")?;
            with_open(op, &self.0, |tape| Ok(make(tape, tensor)))
        })?;
        PyVar::new(py, var, &self.0)
    }

    /// Ends the recording.
    fn replace(&self, op: &'static str, next: impl FnOnce(State) -> State) -> Outcome<()> {
        with_state(op, &self.0, |state| {
            let before = std::mem::replace(state, State::Spent("a recording that has ended"));
            *state = next(before);
            Ok(())
        })
    }
}

#[pymethods]
impl PyTape {
    fn __enter__(slf: Py<Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        held(py, "record", || with_open("record", &slf.get().0, |_| Ok(())))?;
        Ok(slf)
    }

    /// Ends the recording. After an exception nothing is kept.
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Bound<'_, PyAny>,
        _value: Bound<'_, PyAny>,
        _traceback: Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let is_raised = !kind.is_none();
        held(py, "record", || {
            self.replace("record", |state| match state {
                State::Open(_) | State::Closed(_) if is_raised => {
                    State::Spent("a recording that an exception ended")
                }
                State::Open(tape) => State::Closed(tape),
                other => other,
            })
        })?;
        Ok(false)
    }

    /// A tensor whose gradient is wanted.
    fn variable<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyVar>> {
        self.value("variable", x, Tape::variable)
    }

    /// A tensor without a gradient. Ops take plain tensors as such: this is for reorders that the tape records.
    fn constant<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyVar>> {
        self.value("constant", x, Tape::constant)
    }

    /// The gradients of the variables, from a loss of one element or from the gradient of any value. Frees what was saved. Ctrl-C works
    /// between two steps; the tape is spent then.
    #[pyo3(signature = (loss, gradient = None, *, threads = None))]
    fn backward(
        &self,
        py: Python<'_>,
        loss: &Bound<'_, PyAny>,
        gradient: Option<&Bound<'_, PyAny>>,
        threads: Option<Number<usize>>,
    ) -> PyResult<PyGradients> {
        let op = "backward";
        let (from, threads, gradient) = held(py, op, || {
            let gradient = gradient.map(|x| exchange::import(x, op, "gradient")).transpose()?;
            let threads = number::maybe(op, "threads", threads)?;
            check_threads(op, threads)?;
            Ok((var_of(op, "loss", loss)?, threads, gradient))
        })?;
        let from = &from.get().var;
        let made = released(py, op, || {
            let (tape, diff) = with_state(op, &self.0, |state| {
                let tape = match state {
                    State::Open(tape) | State::Closed(tape) => tape,
                    State::Spent(reason) => {
                        let remedy = "record the program again";
                        return Err(wrong(op, "tape", reason, "a tape runs back once", remedy));
                    }
                };
                // Until here the caller may try again.
                let diff = tape.first_gradient(from, gradient)?;
                let spent = State::Spent("a tape whose `backward` ran");
                match std::mem::replace(state, spent) {
                    State::Open(tape) | State::Closed(tape) => Ok((tape, diff)),
                    State::Spent(_) => unreachable!("it had a tape just now"),
                }
            })?;
            let signals = Signals::new();
            let run = || match tape.backward_until(from, diff, &mut || signals.stop())? {
                Some(made) => Ok(made),
                None => Err(wrong(
                    op,
                    "tape",
                    "a call that was ended",
                    "its steps run to the first",
                    "record the program again",
                )),
            };
            signals.end(on_threads(op, threads, run))
        })?;
        Ok(PyGradients(made))
    }
}

fn var_of<'a, 'py>(
    op: &'static str,
    argument: &str,
    x: &'a Bound<'py, PyAny>,
) -> Outcome<&'a Bound<'py, PyVar>> {
    x.cast::<PyVar>().map_err(|_| {
        let rule = "it is a value of the tape: a variable, or what was computed of one";
        invalid(op, argument, shown(x), rule.to_string(), "make one with `tape.variable(x)`")
    })
}

/// The gradients of a tape's variables.
#[pyclass(frozen, mapping, name = "Gradients", module = "blocktensor.grad")]
pub(crate) struct PyGradients(Gradients);

#[pymethods]
impl PyGradients {
    /// The gradient of a variable; `None` if the result does not depend on it.
    fn get(&self, py: Python<'_>, var: &Bound<'_, PyAny>) -> PyResult<Option<PyTensor>> {
        held(py, "gradients", || {
            Ok(self.0.of(&var_of("gradients", "var", var)?.get().var).cloned().map(PyTensor))
        })
    }

    fn __getitem__(&self, py: Python<'_>, var: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
        let found = self.get(py, var)?;
        held(py, "gradients", || {
            found.ok_or_else(|| {
                let rule = "the result depends on no such variable of its tape";
                let remedy = "call `.get(var)`, which returns None then";
                invalid("gradients", "var", shown(var), rule.to_string(), remedy)
            })
        })
    }

    fn __contains__(&self, py: Python<'_>, var: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.get(py, var)?.is_some())
    }
}

/// A tape that records.
#[pyfunction]
pub(crate) fn record_gradients() -> PyTape {
    PyTape::of(Tape::open())
}

/// The errors of the ops of a program that have no gradient. `program` is called with a tape, and nothing is computed.
#[pyfunction]
pub(crate) fn check_gradients<'py>(
    py: Python<'py>,
    program: &Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let tape = Bound::new(py, PyTape::of(Tape::describing()))?;
    program.call1((&tape,))?;
    let mut missing = Vec::new();
    held(py, "check", || {
        tape.get().replace("check", |state| {
            if let State::Open(tape) | State::Closed(tape) = state {
                missing = tape.into_missing();
            }
            State::Spent("the tape of a check")
        })
    })?;
    Ok(missing
        .into_iter()
        .map(|e| Failure::from(e).raise(py).into_value(py).into_bound(py).into_any())
        .collect())
}

/// Calls a loss.
fn call_loss<'py>(
    py: Python<'py>,
    name: &str,
    x: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    threads: Option<Number<usize>>,
) -> PyResult<Bound<'py, PyAny>> {
    let op: &'static Op = held(py, "loss", || Ok(loss(name)?))?;
    call(py, op.schema().name, threads, &PyTuple::new(py, [x, target])?)
}

/// The mean cross entropy of logits and classes.
#[pyfunction]
#[pyo3(signature = (x, target, *, threads = None))]
pub(crate) fn cross_entropy<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    threads: Option<Number<usize>>,
) -> PyResult<Bound<'py, PyAny>> {
    let name = "cross_entropy";
    // Classes of numpy and torch have 64 bits.
    if target.is_instance_of::<PyTensor>() {
        return call_loss(py, name, x, target, threads);
    }
    let target = held(py, name, || {
        exchange::import_for(target, name, "target", Some(ElementType::I64), Unaligned::Refused)
    })?;
    call_loss(py, name, x, PyTensor(target).into_pyobject(py)?.as_any(), threads)
}

/// The mean of the squares of the differences.
#[pyfunction]
#[pyo3(signature = (x, target, *, threads = None))]
pub(crate) fn mse_loss<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    threads: Option<Number<usize>>,
) -> PyResult<Bound<'py, PyAny>> {
    call_loss(py, "mse_loss", x, target, threads)
}
