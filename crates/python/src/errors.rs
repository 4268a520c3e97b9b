//! Errors of Rust as exceptions of Python.
//!
//! The classes are written in Python (`blocktensor/_errors.py`), one for each kind of error.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use blocktensor::ledger::{self, ScopeError, Site};
use blocktensor::{Complaint, Door, Error};
use blocktensor_door::{Failure as Known, panicked};
use blocktensor_graph::Error as GraphError;
use blocktensor_onnx::Error as OnnxError;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::words::Words;

/// What ends a call.
pub(crate) enum Failure {
    /// An error of the library's crates.
    Known(Known),
    Scope(ScopeError),
    /// An exception that Python code raised.
    Raised(PyErr),
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Known(e.into())
    }
}

impl From<GraphError> for Failure {
    fn from(e: GraphError) -> Failure {
        Failure::Known(e.into())
    }
}

impl From<OnnxError> for Failure {
    fn from(e: OnnxError) -> Failure {
        Failure::Known(e.into())
    }
}

impl From<ScopeError> for Failure {
    fn from(e: ScopeError) -> Failure {
        Failure::Scope(e)
    }
}

impl From<PyErr> for Failure {
    fn from(e: PyErr) -> Failure {
        Failure::Raised(e)
    }
}

thread_local! {
    /// The last exception that code of the program raised inside the call that this thread makes, and the text that an error
    /// has of it.
    static RAISED: RefCell<Option<(String, PyErr)>> = const { RefCell::new(None) };
}

/// The text of an exception for an error of the core, which carries no exceptions. The exception itself becomes the error's
/// `__cause__`. One that is to end the program, such as `KeyboardInterrupt`, is raised in the error's place.
pub(crate) fn text_of(py: Python<'_>, e: PyErr) -> String {
    let text = e.to_string();
    RAISED.with_borrow_mut(|raised| {
        if !raised.as_ref().is_some_and(|(_, before)| ends(py, before)) {
            *raised = Some((text.clone(), e));
        }
    });
    text
}

/// Whether it is to end the program: no error, and not to be handled as one.
fn ends(py: Python<'_>, e: &PyErr) -> bool {
    !e.is_instance_of::<PyException>(py)
}

/// Whether code of the program raised such an exception inside this thread's call.
pub(crate) fn is_ending() -> bool {
    let is_raised = RAISED.with_borrow(Option::is_some);
    is_raised && Python::attach(|py| RAISED.with_borrow(|r| r.as_ref().is_some_and(|(_, e)| ends(py, e))))
}

/// The end of a call: its result or its exception.
fn settled<T>(py: Python<'_>, result: Outcome<T>) -> PyResult<T> {
    if let Some((_, e)) = RAISED.with_borrow_mut(|raised| raised.take_if(|(_, e)| ends(py, e))) {
        return Err(e);
    }
    let result = result.map_err(|failure| failure.raise(py));
    // An exception after which the library went on.
    drop(RAISED.take());
    result
}

pub(crate) type Outcome<T> = Result<T, Failure>;

/// The classes of errors, at the places of their codes.
const CLASSES: [&str; 31] = [
    "Error",
    "UnsupportedOp",
    "KeyMismatch",
    "LayoutMismatch",
    "UnsupportedDType",
    "DTypeMismatch",
    "RankMismatch",
    "ShapeMismatch",
    "InvalidArgument",
    "Overflow",
    "OutOfBounds",
    "UnsupportedStride",
    "OverlappingOutput",
    "Aliasing",
    "OpaqueLayoutError",
    "PackMismatch",
    "ReorderDenied",
    "Registration",
    "CorruptFile",
    "FileAccess",
    "OutOfMemory",
    "Backend",
    "Misaligned",
    "DlpackUnsupported",
    "DlpackVersion",
    // Errors of the C interface's handles.
    "Error",
    "Error",
    "Error",
    "Panicked",
    "ForkedProcess",
    "StackTooSmall",
];

/// What an exception has: the name of its class, its text and its attributes.
struct Parts {
    class: &'static str,
    text: String,
    op: Option<String>,
    operands: Vec<String>,
    remedy: String,
}

impl Parts {
    fn of_scope(e: &ScopeError) -> Parts {
        let (text, remedy) = (e.told(&Words), e.remedy().to_string());
        Parts { class: "ScopeError", text, op: None, operands: vec![], remedy }
    }

    fn of(failure: &Known) -> Parts {
        let class = usize::try_from(failure.code()).ok().and_then(|code| CLASSES.get(code));
        let mut op = failure.core().and_then(Error::op).map(|op| Words.op(op).into_owned());
        let about = |what: &str, got: &str| vec![format!("{what}: {got}")];
        let (operands, remedy) = match failure {
            Known::Graph(GraphError::Invalid { what, got, remedy, .. })
            | Known::Onnx(OnnxError::Graph(GraphError::Invalid { what, got, remedy, .. }))
            | Known::Onnx(OnnxError::Invalid { what, got, remedy, .. }) => (about(what, got), remedy.clone()),
            Known::Graph(GraphError::Missing { nodes, computable }) => {
                op = nodes.first().map(|n| n.op.clone());
                let remedy = match computable.is_empty() {
                    true => "write the model without these nodes".to_string(),
                    false => format!("choose other outputs: {}", computable.join(", ")),
                };
                (vec![], remedy.into())
            }
            Known::Graph(GraphError::InFloat { nodes, remedy }) => {
                op = nodes.first().map(|n| n.op.clone());
                (vec![], remedy.clone())
            }
            Known::Onnx(e @ OnnxError::Io { .. }) => (vec![], e.file_remedy().unwrap_or_default().into()),
            Known::Onnx(OnnxError::Malformed { .. }) => (vec![], "export the model again".into()),
            Known::Onnx(OnnxError::Unsupported { what, remedy, .. }) => (vec![what.clone()], remedy.clone()),
            other => other.core().map(|e| (operands(e), e.remedy())).unwrap_or_default(),
        };
        let (text, remedy) = (failure.told(&Words), remedy.told(&Words));
        Parts { class: class.unwrap_or(&CLASSES[0]), text, op, operands, remedy }
    }
}

fn operands(e: &Error) -> Vec<String> {
    match e {
        Error::UnsupportedOp(u) => u.operands.clone(),
        Error::ReorderDenied(r) => vec![format!("{} {}", r.shape, r.from)],
        other => other
            .complaint()
            .map(|c| vec![format!("{}: {}", Words.argument(&c.op, &c.argument), c.got)])
            .unwrap_or_default(),
    }
}

impl Failure {
    /// The exception.
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        let parts = match &self {
            Failure::Known(e) => Parts::of(e),
            Failure::Scope(e) => Parts::of_scope(e),
            Failure::Raised(e) => return e.clone_ref(py),
        };
        let make = || -> PyResult<PyErr> {
            let Parts { class, text, op, operands, remedy } = parts;
            let fields = PyDict::new(py);
            fields.set_item("op", op)?;
            fields.set_item("operands", operands)?;
            fields.set_item("remedy", remedy)?;
            if let Failure::Known(Known::Graph(
                GraphError::Missing { nodes, .. } | GraphError::InFloat { nodes, .. },
            )) = &self
            {
                let list: Vec<_> = nodes.iter().map(|n| (&n.node, &n.op, &n.reason)).collect();
                fields.set_item("missing", list)?;
            }
            let made = errors(py)?.getattr(class)?.call1((&text,))?;
            made.getattr("__dict__")?.cast_into::<PyDict>()?.update(fields.as_mapping())?;
            let made = PyErr::from_value(made);
            if let Some((_, cause)) = RAISED.take().filter(|(kept, _)| text.contains(kept)) {
                made.set_cause(py, Some(cause));
            }
            Ok(made)
        };
        make().unwrap_or_else(|e| e)
    }
}

/// The module with the classes.
fn errors(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static MODULE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module =
        MODULE.get_or_try_init(py, || PyResult::Ok(py.import("blocktensor._errors")?.into_any().unbind()))?;
    Ok(module.bind(py).clone())
}

/// Runs `work` with the interpreter's lock released. Its reorders are attributed to the line of Python that made the call, and a
/// panic in it becomes an exception of this package.
pub(crate) fn released<T: Send>(
    py: Python<'_>,
    op: &'static str,
    work: impl FnOnce() -> Outcome<T> + Send,
) -> PyResult<T> {
    let site = site(py)?;
    let result = py.detach(|| caught(op, || at(site, work)));
    settled(py, result)
}

/// Runs `work` with its reorders attributed to the line of Python that made the call.
pub(crate) fn at_line<T>(py: Python<'_>, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    at(site(py)?, work)
}

/// The line of Python, where someone asks for it.
fn site(py: Python<'_>) -> PyResult<Option<Site>> {
    ledger::is_watching().then(|| line(py)).transpose()
}

fn at<T>(site: Option<Site>, work: impl FnOnce() -> T) -> T {
    match site {
        Some(site) => ledger::at(site, work),
        None => work(),
    }
}

/// The same with the lock held, for what takes no time.
pub(crate) fn held<T>(py: Python<'_>, op: &'static str, work: impl FnOnce() -> Outcome<T>) -> PyResult<T> {
    settled(py, caught(op, work))
}

fn caught<T>(op: &'static str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(op, panic).into()))
}

/// The line of Python outside of this package that is running.
fn line(py: Python<'_>) -> PyResult<Site> {
    static HERE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let here =
        HERE.get_or_try_init(py, || PyResult::Ok(py.import("blocktensor._site")?.getattr("here")?.unbind()))?;
    let text: String = here.bind(py).call0()?.extract()?;
    Ok(Site::Line(text.into()))
}

/// An error about one argument of a call.
pub(crate) fn invalid(op: &'static str, argument: &str, got: String, rule: String, remedy: &str) -> Failure {
    Error::InvalidArgument(Complaint::new(op, argument.to_string(), got, rule, remedy)).into()
}

/// The error for a number of threads that no call here can have.
pub(crate) fn no_threads(op: &'static str, got: String) -> Failure {
    let rule = format!("a call here has 1 to {} threads", blocktensor::max_threads());
    invalid(op, "threads", got, rule, "pass one of these numbers")
}

/// Refuses a number of threads that no call here can have.
pub(crate) fn check_threads(op: &'static str, threads: Option<usize>) -> Outcome<()> {
    match threads.filter(|threads| !(1..=blocktensor::max_threads()).contains(threads)) {
        Some(threads) => Err(no_threads(op, threads.to_string())),
        None => Ok(()),
    }
}

/// Runs `work` on this many threads, if the caller says how many.
pub(crate) fn on_threads<T>(
    op: &'static str,
    threads: Option<usize>,
    work: impl FnOnce() -> Outcome<T>,
) -> Outcome<T> {
    check_threads(op, threads)?;
    match threads {
        Some(threads) => blocktensor::run_with_threads(threads, work),
        None => work(),
    }
}
