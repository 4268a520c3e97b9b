//! The private extension module `blocktensor._native`. The package around it is written in Python (`python/blocktensor`).
//!
//! Every call goes through [`errors::released`] or [`errors::held`]: errors become exceptions that name Python's calls, and a
//! panic never leaves this module. Kernels run with the interpreter's lock released.

mod call;
mod errors;
mod exchange;
mod gradient;
mod graph;
mod html;
mod integers;
mod kinds;
mod mapped;
mod name;
mod number;
mod opaque;
mod optimisers;
mod packed;
mod pickled;
mod plan;
mod quantization;
mod scopes;
mod shared;
mod signals;
mod tape;
mod tensor;
mod words;
mod written;

use std::ffi::OsString;

use pyo3::prelude::*;

/// The command line: runs `blocktensor` with these arguments, the first of which is its own name, and returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| blocktensor_cli::main(args))
}

/// The number of threads that a call here uses.
#[pyfunction]
fn thread_count() -> usize {
    blocktensor::current_threads()
}

/// What was compiled: the library's version and its engine's.
#[pyfunction]
fn build_info() -> String {
    blocktensor::build_info().to_string()
}

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<tensor::PyTensor>()?;
    m.add_class::<scopes::PyLedger>()?;
    m.add_class::<scopes::PyBudget>()?;
    m.add_class::<graph::PyModel>()?;
    m.add_class::<plan::PyPlan>()?;
    m.add_class::<packed::PyPacked>()?;
    m.add_class::<tape::PyTape>()?;
    m.add_class::<tape::PyVar>()?;
    m.add_class::<tape::PyGradients>()?;
    m.add_class::<optimisers::PySgd>()?;
    m.add_class::<optimisers::PyAdamW>()?;
    m.add_function(wrap_pyfunction!(main, m)?)?;
    m.add_function(wrap_pyfunction!(thread_count, m)?)?;
    m.add_function(wrap_pyfunction!(build_info, m)?)?;
    m.add_function(wrap_pyfunction!(call::call, m)?)?;
    // The same function under the type of its result, for stubs.
    m.add("call_list", m.getattr("call")?)?;
    m.add_function(wrap_pyfunction!(call::schemas, m)?)?;
    m.add_function(wrap_pyfunction!(pickled::_from_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(tensor::zeros, m)?)?;
    m.add_function(wrap_pyfunction!(tensor::from_dlpack, m)?)?;
    m.add_function(wrap_pyfunction!(scopes::record, m)?)?;
    m.add_function(wrap_pyfunction!(scopes::deny_reorders, m)?)?;
    m.add_function(wrap_pyfunction!(scopes::budget, m)?)?;
    m.add_function(wrap_pyfunction!(graph::load_onnx, m)?)?;
    m.add_function(wrap_pyfunction!(graph::check_options, m)?)?;
    m.add_function(wrap_pyfunction!(graph::schedule, m)?)?;
    m.add_function(wrap_pyfunction!(plan::load_plan, m)?)?;
    m.add_function(wrap_pyfunction!(plan::_plan_from_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(packed::pack_conv, m)?)?;
    m.add_function(wrap_pyfunction!(packed::pack_conv_transpose, m)?)?;
    m.add_function(wrap_pyfunction!(packed::pack_stem, m)?)?;
    m.add_function(wrap_pyfunction!(packed::pack_linear, m)?)?;
    m.add_function(wrap_pyfunction!(gradient::backward, m)?)?;
    m.add_function(wrap_pyfunction!(tape::record_gradients, m)?)?;
    m.add_function(wrap_pyfunction!(tape::check_gradients, m)?)?;
    m.add_function(wrap_pyfunction!(tape::cross_entropy, m)?)?;
    m.add_function(wrap_pyfunction!(tape::mse_loss, m)?)?;
    m.add_function(wrap_pyfunction!(opaque::register_backend, m)?)?;
    m.add_function(wrap_pyfunction!(opaque::wrap, m)?)?;
    m.add_function(wrap_pyfunction!(opaque::unwrap, m)?)
}
