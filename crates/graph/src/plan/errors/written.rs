//! Errors against the graph as it was written: what the passes and the folding of constants lose.

use std::fmt;
use std::sync::Arc;

use blocktensor::{Operand, Operator, StridedTensor};

use super::{OutputError, difference, of_outputs};
use crate::error::Result;
use crate::network::{Fold, Network};
use crate::reference::{self, Values};

/// How far a plan's results are from the graph as it was before the passes, and how far the constants are that were computed from
/// other constants.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AsWritten {
    /// The constants that operators computed while the graph got its sizes, in order: each against the same operator in f64.
    pub constants: Vec<ConstantError>,
    /// Each output, in the order of [`Plan::outputs`](crate::Plan::outputs). `None` if a node that they need has no f64 version.
    pub outputs: Option<Vec<OutputError>>,
}

/// The error of a constant that was computed from other constants.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConstantError {
    /// The name of the graph's node.
    pub node: String,
    /// The operator's name.
    pub op: String,
    /// Its own error: the largest one if it has several results. `None` if the op has no f64 version.
    pub relative_l2: Option<f64>,
}

impl AsWritten {
    pub(super) fn of(
        network: &Network,
        inputs: &[&StridedTensor],
        results: &[StridedTensor],
    ) -> Result<AsWritten> {
        let constants = network.folds.iter().flatten().map(of_fold).collect::<Result<_>>()?;
        Ok(AsWritten { constants, outputs: of_outputs(network, inputs, results)? })
    }
}

fn of_fold(fold: &Fold) -> Result<ConstantError> {
    let Fold { node, op, inputs, results } = fold;
    let mut error = ConstantError { node: node.clone(), op: op.op().to_string(), relative_l2: None };
    let Some(bound) = op.bound().filter(|op| reference::has(op)) else { return Ok(error) };
    let values = |t: &StridedTensor| Values::of(t.tensor_ref());
    let operands = inputs.iter().map(|t| Ok(Arc::new(values(t)?))).collect::<Result<Vec<_>>>()?;
    let dims: Vec<&[usize]> = results.iter().map(|t| t.dims()).collect();
    let wanted = reference::evaluate(bound, &operands, &dims).map_err(|e| e.within(node, bound.op()))?;
    let Some(wanted) = wanted else { return Ok(error) };
    let mut largest = 0.0;
    for (got, want) in results.iter().zip(&wanted) {
        let one = difference(&values(got)?, want);
        largest = if one.is_nan() || one > largest { one } else { largest };
    }
    error.relative_l2 = Some(largest);
    Ok(error)
}

/// A line for each output.
pub(super) fn lines(f: &mut fmt::Formatter<'_>, outputs: &[OutputError], against: &str) -> fmt::Result {
    outputs.iter().try_for_each(|output| {
        writeln!(f, "output {}: {:.1e} against {against}", output.name, output.relative_l2)
    })
}

/// Its lines in the text of [`Errors`](super::Errors).
impl fmt::Display for AsWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outputs {
            None => {
                writeln!(f, "the model as written: not compared, as some of its nodes have no f64 version")?
            }
            Some(outputs) => lines(f, outputs, "the model as written, in f64")?,
        }
        let compared = || self.constants.iter().filter_map(|one| Some((one, one.relative_l2?)));
        // A NaN is the largest.
        let weight = |error: f64| if error.is_nan() { f64::INFINITY } else { error };
        let Some((one, error)) = compared().max_by(|a, b| weight(a.1).total_cmp(&weight(b.1))) else {
            return Ok(());
        };
        let count = self.constants.len();
        let words = if count == 1 { "1 constant was" } else { &format!("{count} constants were") };
        write!(f, "{words} computed while planning, and {} compared", compared().count())?;
        match error {
            0.0 => writeln!(f, ": exact"),
            _ => writeln!(f, "; the largest error is {error:.1e}, of {}: {}", one.node, one.op),
        }
    }
}
