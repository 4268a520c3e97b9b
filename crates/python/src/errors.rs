//! Errors of Rust as exceptions of Python.
//!
//! The classes are written in Python (`blocktensor/_errors.py`), one for each kind of error.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use blocktensor::ledger::{self, ScopeError, Site};
use blocktensor::{Complaint, Door, Error};
use blocktensor_graph::Error as GraphError;
use blocktensor_onnx::Error as OnnxError;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// What ends a call.
pub(crate) enum Failure {
    Core(Error),
    Graph(GraphError),
    Onnx(OnnxError),
    Scope(ScopeError),
    /// An exception that Python code raised.
    Raised(PyErr),
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Core(e)
    }
}

impl From<GraphError> for Failure {
    fn from(e: GraphError) -> Failure {
        match e {
            GraphError::Engine(e) => Failure::Core(e),
            e => Failure::Graph(e),
        }
    }
}

impl From<OnnxError> for Failure {
    fn from(e: OnnxError) -> Failure {
        match e {
            OnnxError::Graph(e) => e.into(),
            OnnxError::Engine(e) => Failure::Core(e),
            e => Failure::Onnx(e),
        }
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

/// The name of the class of an error.
fn class(e: &Error) -> &'static str {
    match e {
        Error::UnsupportedOp(_) => "UnsupportedOp",
        Error::KeyMismatch(_) => "KeyMismatch",
        Error::LayoutMismatch(_) => "LayoutMismatch",
        Error::UnsupportedDType(_) => "UnsupportedDType",
        Error::DTypeMismatch(_) => "DTypeMismatch",
        Error::RankMismatch(_) => "RankMismatch",
        Error::ShapeMismatch(_) => "ShapeMismatch",
        Error::InvalidArgument(_) => "InvalidArgument",
        Error::Overflow(_) => "Overflow",
        Error::OutOfBounds(_) => "OutOfBounds",
        Error::UnsupportedStride(_) => "UnsupportedStride",
        Error::OverlappingOutput(_) => "OverlappingOutput",
        Error::Aliasing(_) => "Aliasing",
        Error::OpaqueLayout(_) => "OpaqueLayoutError",
        Error::PackMismatch(_) => "PackMismatch",
        Error::ReorderDenied(_) => "ReorderDenied",
        Error::Registration(_) => "Registration",
        Error::Misaligned(_) => "Misaligned",
        Error::DlpackUnsupported(_) => "DlpackUnsupported",
        Error::DlpackVersion(_) => "DlpackVersion",
        Error::Panicked(_) => "Panicked",
        Error::ForkedProcess(_) => "ForkedProcess",
        Error::StackTooSmall(_) => "StackTooSmall",
        Error::FileAccess(_) => "FileAccess",
        Error::CorruptFile(_) => "CorruptFile",
        Error::OutOfMemory { .. } => "OutOfMemory",
        Error::Backend { .. } => "Backend",
        // Errors of the C interface's handles, and kinds that a newer core adds.
        _ => "Error",
    }
}

fn core_class(e: &Error) -> (&'static str, Option<String>, Vec<String>, String) {
    let operands = match e {
        Error::UnsupportedOp(u) => u.operands.clone(),
        Error::ReorderDenied(r) => vec![format!("{} {}", r.shape, r.from)],
        other => other.complaint().map(|c| vec![format!("{}: {}", c.argument, c.got)]).unwrap_or_default(),
    };
    (class(e), e.op().map(str::to_string), operands, e.remedy().to_string())
}

impl Failure {
    /// The exception.
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        let (text, (class, op, operands, remedy)) = match &self {
            Failure::Raised(_) => (String::new(), ("", None, vec![], String::new())),
            Failure::Core(e) => (e.to_string(), core_class(e)),
            Failure::Graph(e) => (e.to_string(), graph_class(e)),
            Failure::Onnx(e) => (e.to_string(), onnx_class(e)),
            Failure::Scope(e) => {
                let text = e.to_string();
                let remedy = text.rsplit("; ").next().unwrap_or_default().to_string();
                (text, ("ScopeError", None, vec![], remedy))
            }
        };
        if let Failure::Raised(e) = self {
            return e;
        }
        let make = || -> PyResult<PyErr> {
            let fields = PyDict::new(py);
            // Ops have the same names everywhere; methods have not.
            let op = op.map(|op| match op.contains("::") {
                true => Door::Python.call(&op).unwrap_or(op),
                false => op,
            });
            fields.set_item("op", op)?;
            fields
                .set_item("operands", operands.iter().map(|o| Door::Python.spell(o)).collect::<Vec<_>>())?;
            fields.set_item("remedy", Door::Python.spell(&remedy))?;
            if let Failure::Graph(GraphError::Missing { nodes, .. }) = &self {
                let list: Vec<_> = nodes.iter().map(|n| (&n.node, &n.op, &n.reason)).collect();
                fields.set_item("missing", list)?;
            }
            let made = errors(py)?.getattr(class)?.call1((Door::Python.spell(&text),))?;
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

fn graph_class(e: &GraphError) -> (&'static str, Option<String>, Vec<String>, String) {
    match e {
        GraphError::Operator { source, .. } => core_class(source),
        GraphError::Invalid { what, got, remedy, .. } => {
            ("InvalidArgument", None, vec![format!("{what}: {got}")], remedy.clone())
        }
        GraphError::Missing { nodes, computable } => {
            let remedy = match computable.is_empty() {
                true => "write the model without these nodes".to_string(),
                false => format!("choose other outputs: {}", computable.join(", ")),
            };
            ("UnsupportedOp", nodes.first().map(|n| n.op.clone()), vec![], remedy)
        }
        _ => ("Error", None, vec![], String::new()),
    }
}

fn onnx_class(e: &OnnxError) -> (&'static str, Option<String>, Vec<String>, String) {
    let remedy = |text: &str| text.to_string();
    match e {
        OnnxError::Io { .. } => ("FileAccess", None, vec![], remedy("check the path")),
        OnnxError::Malformed { .. } => ("CorruptFile", None, vec![], remedy("export the model again")),
        OnnxError::Invalid { what, got, remedy, .. } => {
            ("CorruptFile", None, vec![format!("{what}: {got}")], remedy.clone())
        }
        OnnxError::Unsupported { what, remedy, .. } => {
            ("UnsupportedOp", None, vec![what.clone()], remedy.clone())
        }
        _ => ("Error", None, vec![], String::new()),
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
    let site = match ledger::is_watching() {
        true => Some(line(py)?),
        false => None,
    };
    let result = py.detach(|| {
        caught(op, || match site {
            Some(site) => ledger::at(site, work),
            None => work(),
        })
    });
    settled(py, result)
}

/// The same with the lock held, for what takes no time.
pub(crate) fn held<T>(py: Python<'_>, op: &'static str, work: impl FnOnce() -> Outcome<T>) -> PyResult<T> {
    settled(py, caught(op, work))
}

fn caught<T>(op: &'static str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(ToString::to_string);
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        let remedy = "please report this with the call that led to it";
        Err(Error::Panicked(Complaint::new(op, "call", said, "no call may panic", remedy)).into())
    })
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

/// Runs `work` on this many threads, if the caller says how many.
pub(crate) fn on_threads<T>(
    op: &'static str,
    threads: Option<usize>,
    work: impl FnOnce() -> Outcome<T>,
) -> Outcome<T> {
    let Some(threads) = threads else { return work() };
    let most = blocktensor::max_threads();
    if threads == 0 || threads > most {
        let rule = format!("a call here has 1 to {most} threads");
        return Err(invalid(op, "threads", threads.to_string(), rule, "pass one of these numbers"));
    }
    blocktensor::run_with_threads(threads, work)
}
