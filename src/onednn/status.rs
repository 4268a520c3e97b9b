//! oneDNN's status codes as errors.

use onednn_sys as sys;

use crate::error::{Error, Result};
use crate::fault;

/// Makes a call of oneDNN, and returns its status as a result.
pub(super) fn call(name: &'static str, make: impl FnOnce() -> sys::dnnl_status_t) -> Result<()> {
    check(name, status_of(make))
}

/// As [`call`], for a call that catches exceptions itself.
pub(super) fn guarded_call(name: &'static str, make: impl FnOnce() -> sys::dnnl_status_t) -> Result<()> {
    check(name, fault::engine_status().unwrap_or_else(|| fault::inside(make)))
}

/// Makes a call of oneDNN, unless a test injects a failure. An exception is returned as the status that oneDNN should have
/// returned.
pub(super) fn status_of(make: impl FnOnce() -> sys::dnnl_status_t) -> sys::dnnl_status_t {
    fault::engine_status().unwrap_or_else(|| fault::inside(|| sys::guard(make)))
}

/// `Ok` for success, otherwise `OutOfMemory` or `Backend`. Callers for which `unimplemented` means that a configuration has
/// no kernel must test for it first.
pub(crate) fn check(call: &'static str, status: sys::dnnl_status_t) -> Result<()> {
    match status {
        sys::dnnl_success => Ok(()),
        sys::dnnl_out_of_memory => Err(Error::out_of_memory(0, call)),
        _ => Err(Error::Backend { call, status: status as i32, name: name(status) }),
    }
}

fn name(status: sys::dnnl_status_t) -> &'static str {
    match status {
        sys::dnnl_invalid_arguments => "invalid_arguments",
        sys::dnnl_unimplemented => "unimplemented",
        sys::dnnl_last_impl_reached => "last_impl_reached",
        sys::dnnl_runtime_error => "runtime_error",
        sys::dnnl_not_required => "not_required",
        sys::dnnl_invalid_graph => "invalid_graph",
        sys::dnnl_invalid_graph_op => "invalid_graph_op",
        sys::dnnl_invalid_shape => "invalid_shape",
        sys::dnnl_invalid_data_type => "invalid_data_type",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_becomes_an_error_that_names_the_call() {
        assert!(check("dnnl_x", sys::dnnl_success).is_ok());
        assert_eq!(check("dnnl_x", sys::dnnl_out_of_memory), Err(Error::out_of_memory(0, "dnnl_x")));
        for status in 2..12 {
            let text = check("dnnl_x", status).unwrap_err().to_string();
            assert!(text.contains("dnnl_x") && text.contains(&status.to_string()), "{text}");
        }
        assert!(check("dnnl_x", 77).unwrap_err().to_string().contains("unknown"));
    }
}
