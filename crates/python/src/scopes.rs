//! The ledger: `record`, `deny_reorders` and `budget` as context managers.

use std::sync::{Mutex, PoisonError};

use blocktensor::Door;
use blocktensor::ledger::{Ledger, Scope, ScopeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{Failure, held};
use crate::html;
use crate::number::Number;
use crate::words::Words;

/// A scope that may be open.
#[derive(Default)]
struct Guard(Mutex<Option<Scope>>);

impl Guard {
    fn enter(&self, py: Python<'_>, scope: &'static str, open: impl FnOnce() -> Scope) -> PyResult<()> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if place.is_some() {
            return Err(Failure::from(ScopeError::Open { scope }).raise(py));
        }
        *place = Some(open());
        Ok(())
    }

    fn exit(&self, py: Python<'_>, op: &'static str) -> PyResult<Ledger> {
        let scope = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        held(py, op, || match scope {
            Some(mut scope) => Ok(scope.close()?),
            None => Err(ScopeError::Closed { scope: op }.into()),
        })
    }
}

/// The reorders and kernel runs of the calls in a `with` block: `with bt.record() as book`.
#[pyclass(frozen, name = "Ledger", module = "blocktensor")]
#[derive(Default)]
pub(crate) struct PyLedger {
    guard: Guard,
    /// Filled when the block ends.
    book: Mutex<Ledger>,
}

impl PyLedger {
    fn book(&self) -> Ledger {
        self.book.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[pymethods]
impl PyLedger {
    fn __enter__(slf: Py<Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        slf.get().guard.enter(py, "record", Scope::record)?;
        Ok(slf)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _type: Bound<'_, PyAny>,
        _value: Bound<'_, PyAny>,
        _traceback: Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let mut ledger = self.guard.exit(py, "record")?;
        for reorder in &mut ledger.reorders {
            reorder.op = Words.op(&reorder.op).into_owned().into();
        }
        *self.book.lock().unwrap_or_else(PoisonError::into_inner) = ledger;
        Ok(false)
    }

    /// The number of reorders.
    fn __len__(&self) -> usize {
        self.book().reorders.len()
    }

    /// A book is true even without reorders.
    fn __bool__(&self) -> bool {
        true
    }

    /// Each reorder: op, cause, from, to, shape, bytes, seconds, site, and whether it computed gradients (`backward`).
    #[getter]
    fn reorders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for r in &self.book().reorders {
            let row = PyDict::new(py);
            row.set_item("op", &r.op)?;
            row.set_item("cause", r.cause.to_string())?;
            row.set_item("from", &r.from)?;
            row.set_item("to", &r.to)?;
            row.set_item("shape", r.dims.to_vec())?;
            row.set_item("bytes", r.bytes)?;
            row.set_item("seconds", r.time.as_secs_f64())?;
            row.set_item("site", r.site.to_string())?;
            row.set_item("backward", r.is_backward)?;
            list.append(row)?;
        }
        Ok(list)
    }

    /// Each kernel run: op, key, implementation, layouts, seconds, and whether it computed gradients (`backward`).
    #[getter]
    fn runs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for r in &self.book().runs {
            let row = PyDict::new(py);
            row.set_item("op", &r.op)?;
            row.set_item("key", r.key)?;
            row.set_item("implementation", &r.implementation)?;
            row.set_item("layouts", &r.layouts)?;
            row.set_item("seconds", r.time.as_secs_f64())?;
            row.set_item("backward", r.is_backward)?;
            list.append(row)?;
        }
        Ok(list)
    }

    /// The records as a trace for chrome://tracing and Perfetto.
    fn chrome_trace(&self) -> String {
        self.book().chrome_trace()
    }

    fn __repr__(&self) -> String {
        self.book().to_string().trim_end().to_string()
    }

    fn _repr_html_(&self) -> String {
        let book = self.book();
        let cells = |tag: &str, cells: &[String]| {
            let cells: String = cells.iter().map(|c| format!("<{tag}>{}</{tag}>", html::escape(c))).collect();
            format!("<tr>{cells}</tr>")
        };
        let head = ["op", "cause", "from", "to", "shape", "bytes", "site"].map(String::from);
        let rows: String = book
            .reorders
            .iter()
            .map(|r| {
                let row = [
                    r.op.to_string(),
                    r.cause.to_string(),
                    r.from.clone(),
                    r.to.clone(),
                    r.dims.to_string(),
                    r.bytes.to_string(),
                    r.site.to_string(),
                ];
                cells("td", &row)
            })
            .collect();
        let caption = format!("{} reorders, {} kernel runs", book.reorders.len(), book.runs.len());
        format!("<table><caption>{caption}</caption>{}{rows}</table>", cells("th", &head))
    }
}

/// A limit on reorders for a `with` block.
#[pyclass(frozen, name = "Budget", module = "blocktensor")]
pub(crate) struct PyBudget {
    /// `None` for `deny_reorders`, whose errors do not speak of a budget.
    limit: Option<usize>,
    guard: Guard,
}

impl PyBudget {
    fn name(&self) -> &'static str {
        self.limit.map_or("deny_reorders", |_| "budget")
    }
}

#[pymethods]
impl PyBudget {
    fn __enter__(slf: Py<Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        let budget = slf.get();
        budget
            .guard
            .enter(py, budget.name(), || budget.limit.map_or_else(Scope::deny_reorders, Scope::budget))?;
        Ok(slf)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _type: Bound<'_, PyAny>,
        _value: Bound<'_, PyAny>,
        _traceback: Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        self.guard.exit(py, self.name())?;
        Ok(false)
    }

    fn __repr__(&self) -> String {
        self.limit.map_or("deny_reorders()".to_string(), |n| format!("budget({n})"))
    }
}

/// Records the reorders and kernel runs of this thread in a `with` block.
#[pyfunction]
pub(crate) fn record() -> PyLedger {
    PyLedger::default()
}

/// Makes every reorder of this thread in a `with` block a `ReorderDenied`.
#[pyfunction]
pub(crate) fn deny_reorders() -> PyBudget {
    PyBudget { limit: None, guard: Guard::default() }
}

/// Allows this many reorders of this thread in a `with` block; the next one is a `ReorderDenied`.
#[pyfunction]
pub(crate) fn budget(py: Python<'_>, reorders: Number<usize>) -> PyResult<PyBudget> {
    let reorders = reorders.of("budget", "reorders").map_err(|e| e.raise(py))?;
    Ok(PyBudget { limit: Some(reorders), guard: Guard::default() })
}
