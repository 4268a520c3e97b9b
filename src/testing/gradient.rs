//! Compares the gradients of a case's operands with PyTorch's.

use std::collections::BTreeMap;

use super::case::Case;
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::op::facts::WeightsRole;
use crate::operator::BoundOp;
use crate::tensor::any::{Operand, Tensor, TensorRef};

/// The name of the gradient of the `i`-th operand in the case: that of a list's operand is numbered, some operands have shorter names
/// there, and the rest is `d` and the argument's name.
fn golden_of(case: &Case<'_>, argument: &str, i: usize) -> Option<String> {
    let short = match argument {
        "a" => "dx".to_string(),
        "b" => "dz".to_string(),
        "weights" | "weight" => "dw".to_string(),
        "bias" => "db".to_string(),
        "tensors" => format!("dx{i}"),
        _ => String::new(),
    };
    [short, format!("d{argument}")].into_iter().find(|name| case.has(name))
}

/// Runs the op back from the gradients of its results, if the case has some and the op has a gradient for the key. They are `dy`, or
/// `dy0`, `dy1` ... of each result. Returns the first difference, and counts by op what it compared.
///
/// # Errors
/// What the backward call returns.
pub fn check_gradients(
    case: &Case<'_>,
    op: &'static str,
    values: &[(&'static str, Value)],
    results: &[Tensor],
    compared: &mut BTreeMap<String, usize>,
) -> Result<Option<String>> {
    let (bound, tensors) = BoundOp::of_call(op, values)?;
    let inputs: Vec<TensorRef<'_>> = tensors.iter().map(Operand::tensor_ref).collect();
    let schema = bound.registered().schema();
    let of_results: Vec<String> = match case.has("dy") {
        true => vec!["dy".into()],
        false => (0..results.len()).map(|i| format!("dy{i}")).filter(|name| case.has(name)).collect(),
    };
    if of_results.is_empty() {
        return Ok(None);
    }
    match bound.check_gradient(&inputs, &[]) {
        // Backends may have fewer gradients than kernels. `Report::gradients` does not count this one.
        Err(Error::UnsupportedOp(_)) => return Ok(None),
        checked => checked?,
    }
    let given: Vec<Tensor> = of_results.iter().map(|name| case.tensor(name)).collect();
    if let Some(e) = case.failed.take() {
        return Err(e);
    }
    let names = bound.input_names();
    let goldens: Vec<Option<String>> =
        names.iter().enumerate().map(|(i, name)| golden_of(case, name, i)).collect();
    let is_known = |name: &String| of_results.contains(name) || goldens.iter().flatten().any(|g| g == name);
    if let Some(other) = case.shapes.keys().find(|name| name.starts_with('d') && !is_known(name)) {
        return Ok(Some(format!("`{other}` is the gradient of no operand")));
    }
    let wanted: Vec<bool> = goldens.iter().map(Option::is_some).collect();
    let outputs: Vec<TensorRef<'_>> = results.iter().map(Operand::tensor_ref).collect();
    let mut diffs = vec![None; outputs.len()];
    diffs.iter_mut().zip(&given).for_each(|(diff, given)| *diff = Some(given.tensor_ref()));
    // Of what a tape keeps, which is no more than the gradient reads.
    let made = bound.keep(&inputs, &outputs)?.backward(&diffs, &wanted)?;
    for ((name, golden), made) in names.iter().zip(&goldens).zip(&made) {
        let Some(golden) = golden else { continue };
        let Some(made) = made else { return Ok(Some(format!("there is no gradient of {name}"))) };
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
        *compared.entry(op.to_string()).or_default() += 1;
    }
    Ok(None)
}
