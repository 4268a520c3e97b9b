//! How the ops of the golden files are called here: one function a family.

use crate::goldens_ops::Case;
use blocktensor::dispatch::Value;

type Call = (&'static str, Vec<(&'static str, Value)>);

/// The call that answers a case, or `None` for an op that nobody knows.
pub fn call_of(c: &Case<'_>) -> Option<Call> {
    [pools(c), norms(c), elementwise(c), shapes(c), products(c)].into_iter().flatten().next()
}

/// Pooling and resampling.
fn pools(_c: &Case<'_>) -> Option<Call> {
    None
}

/// Norms, softmax, reductions.
fn norms(_c: &Case<'_>) -> Option<Call> {
    None
}

/// Unary and binary.
fn elementwise(_c: &Case<'_>) -> Option<Call> {
    None
}

/// Cat, chunk, pad, shuffles.
fn shapes(_c: &Case<'_>) -> Option<Call> {
    None
}

/// Linear, matmul, transposed convolution.
fn products(c: &Case<'_>) -> Option<Call> {
    Some(match c.op.as_str() {
        "linear" => ("linear", vec![("x", c.data("x")), ("weights", c.data("w")), ("bias", c.param("b"))]),
        "matmul" => ("matmul", vec![("a", c.data("x")), ("b", c.data("z"))]),
        _ => return None,
    })
}
