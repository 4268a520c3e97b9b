//! What PyTorch is told of a run that writes into its tensors.

use pyo3::prelude::*;

/// Tells PyTorch that tensors of its own are written, as its calls in place do: gradients that need the old elements are refused then.
pub(crate) fn note_writes(written: &[Py<PyAny>]) -> PyResult<()> {
    Python::attach(|py| written.iter().try_for_each(|x| note_write(x.bind(py))))
}

fn note_write(x: &Bound<'_, PyAny>) -> PyResult<()> {
    // Other libraries' arrays have no versions, nor do tensors that were made under `torch.inference_mode()`.
    if x.getattr("_version").is_err() {
        return Ok(());
    }
    let modules = x.py().import("sys")?.getattr("modules")?;
    match modules.call_method1("get", ("torch",))? {
        torch if torch.is_none() => Ok(()),
        torch => {
            torch.getattr("autograd")?.getattr("graph")?.call_method1("increment_version", (x,))?;
            Ok(())
        }
    }
}
