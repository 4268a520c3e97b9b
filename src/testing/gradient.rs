//! Compares the gradients of a case's operands with PyTorch's.

use super::case::Case;
use crate::dispatch::Value;
use crate::error::Result;
use crate::op::facts::WeightsRole;
use crate::operator::BoundOp;
use crate::tensor::any::{Operand, Tensor, TensorRef};

/// The names of gradients in the cases: those of operands whose names there are shorter, then `d` and the argument's name.
fn golden_of(case: &Case<'_>, argument: &str) -> Option<String> {
    let short = match argument {
        "a" => "dx",
        "b" => "dz",
        "weights" | "weight" => "dw",
        "bias" => "db",
        _ => "",
    };
    [short.to_string(), format!("d{argument}")].into_iter().find(|name| case.has(name))
}

/// Runs the op back from the gradient `dy` of its first result, if the case has one and the op has a gradient for the key. Returns
/// the first difference.
///
/// # Errors
/// What the backward call returns.
pub fn check_gradients(
    case: &Case<'_>,
    op: &'static str,
    values: &[(&'static str, Value)],
    results: &[Tensor],
) -> Result<Option<String>> {
    let (bound, tensors) = BoundOp::of_call(op, values)?;
    let inputs: Vec<TensorRef<'_>> = tensors.iter().map(Operand::tensor_ref).collect();
    let schema = bound.registered().schema();
    if !case.has("dy") || bound.check_gradient(&inputs, &[]).is_err() {
        return Ok(None);
    }
    let Value::Tensor(diff) = case.data("dy") else { unreachable!("it is one tensor") };
    if let Some(e) = case.failed.take() {
        return Err(e);
    }
    let names = bound.input_names();
    let goldens: Vec<Option<String>> = names.iter().map(|name| golden_of(case, name)).collect();
    let wanted: Vec<bool> = goldens.iter().map(Option::is_some).collect();
    let outputs: Vec<TensorRef<'_>> = results.iter().map(Operand::tensor_ref).collect();
    let mut diffs = vec![None; outputs.len()];
    diffs[0] = Some(diff.tensor_ref());
    // Of what a tape keeps, which is no more than the gradient reads.
    let made = bound.keep(&inputs, &outputs)?.backward(&diffs, &wanted)?;
    for ((name, golden), made) in names.iter().zip(&goldens).zip(&made) {
        let (Some(golden), Some(made)) = (golden, made) else { continue };
        let is_weights =
            schema.args.iter().any(|arg| arg.name == *name && arg.role == Some(WeightsRole::Weights));
        let want = case.plain(golden)?;
        // Weights have another order in some layouts: both are compared there.
        let (got, want) = match made {
            Tensor::Strided(got) => (got.reshape(want.dims())?, want),
            other if is_weights => (case.backend.back(other)?, case.backend.back(&case.weights_of(golden)?)?),
            other => (case.backend.back(other)?.reshape(want.dims())?, want),
        };
        if let Some(wrong) = super::compare(&got, &want)? {
            return Ok(Some(format!("the gradient of {name}{wrong}")));
        }
    }
    Ok(None)
}
