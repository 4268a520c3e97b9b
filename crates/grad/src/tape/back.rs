//! The way back: gradients of the variables, from the last step to the first.

use std::collections::HashMap;

use blocktensor::{
    Complaint, DEFAULT_RECYCLE_LIMIT, Error, MemoryFormat, Operand, Result, StridedTensor, Tensor,
    TensorDesc, UnsupportedOp, ledger, ops, raise_recycle_limit,
};

use crate::check_like;

use super::{Gradients, Step, Tape, Var, foreign, strided};

impl Tape {
    /// As [`backward_from`](Self::backward_from) a loss of one element, whose gradient is 1.
    ///
    /// # Errors
    /// As `backward_from`; `ShapeMismatch` for a loss of several elements.
    #[track_caller]
    pub fn backward(self, loss: &Var) -> Result<Gradients> {
        let one = self.first_gradient(loss, None)?;
        self.backward_from(loss, one)
    }

    /// The gradient that the way back begins with: `diff`, checked, or 1 for a loss of one element. The tape is as it was, so a caller
    /// may try again.
    ///
    /// # Errors
    /// `InvalidArgument` for a value of another tape, and for one that depends on no variable; `ShapeMismatch` for a loss of several
    /// elements; `ShapeMismatch`, `DTypeMismatch`, `KeyMismatch` and `LayoutMismatch` for a gradient that is not as its value.
    pub fn first_gradient(&self, from: &Var, diff: Option<Tensor>) -> Result<Tensor> {
        if from.tape != self.number {
            return Err(foreign("backward", "from"));
        }
        if !from.is_differentiable {
            let got = from.tensor.tensor_ref().describe();
            let rule = "it depends on no variable of the tape";
            let complaint =
                Complaint::new("backward", "from", got, rule, "make its operands with `variable`");
            return Err(Error::InvalidArgument(complaint));
        }
        if let Some(diff) = diff {
            let (value, diff_ref) = (from.tensor.tensor_ref(), diff.tensor_ref());
            check_like(value, diff_ref, |what| {
                let rule = format!("the value is {}, and its gradient has its {what}", value.describe());
                let remedy = format!("pass a gradient of this {what}");
                Complaint::new("backward", "diff", diff_ref.describe(), rule, remedy)
            })?;
            return Ok(diff);
        }
        let of = strided("backward", from)?;
        if of.numel() != 1 {
            let rule = "a loss has one element";
            let remedy = "take the mean, or pass the gradient of this value";
            let complaint =
                Complaint::new("backward", "loss", from.tensor.tensor_ref().describe(), rule, remedy);
            return Err(Error::ShapeMismatch(complaint));
        }
        Ok(StridedTensor::full(of.dims(), 1f32, MemoryFormat::Contiguous)?.into())
    }

    /// Runs the tape back from `from`, whose gradient is `diff`. The gradients of a value that is used more than once are summed in
    /// the order of the tape, so that two runs give the same bits. Each step is freed after its gradients are computed. The memory of
    /// the whole tape is kept for the next one ([`raise_recycle_limit`]); [`blocktensor::set_recycle_limit`] and
    /// [`blocktensor::trim_recycled`] give it back.
    ///
    /// # Errors
    /// As [`first_gradient`](Self::first_gradient); the ops' own errors.
    #[track_caller]
    pub fn backward_from(self, from: &Var, diff: Tensor) -> Result<Gradients> {
        let made = self.backward_until(from, diff, &mut || false)?;
        Ok(made.expect("nobody stopped it"))
    }

    /// As [`backward_from`](Self::backward_from), but asks before each step whether to stop, and then returns `None`: what was computed
    /// is lost, and so is the tape.
    ///
    /// # Errors
    /// As `backward_from`.
    #[track_caller]
    pub fn backward_until(
        self,
        from: &Var,
        diff: Tensor,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Gradients>> {
        let diff = self.first_gradient(from, Some(diff))?;
        ledger::in_backward(|| self.run_back(from, diff, stop))
    }

    #[track_caller]
    fn run_back(
        mut self,
        from: &Var,
        diff: Tensor,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Gradients>> {
        raise_recycle_limit(DEFAULT_RECYCLE_LIMIT + self.bytes());
        let mut of = HashMap::from([(from.number, diff)]);
        while let Some(step) = self.steps.pop() {
            if stop() {
                return Ok(None);
            }
            match step {
                Step::Op { kept, inputs, results } => {
                    let diffs: Vec<Option<Tensor>> = results.iter().map(|number| of.remove(number)).collect();
                    if diffs.iter().all(Option::is_none) {
                        continue;
                    }
                    let wanted: Vec<bool> = inputs.iter().map(|(_, is_wanted)| *is_wanted).collect();
                    let diffs: Vec<_> =
                        diffs.iter().map(|diff| diff.as_ref().map(Operand::tensor_ref)).collect();
                    let made = kept.backward(&diffs, &wanted)?;
                    for ((number, _), made) in inputs.into_iter().zip(made) {
                        made.map_or(Ok(()), |made| add(&mut of, number, made))?;
                    }
                }
                Step::Reorder(reorder) => {
                    let (input, result) = *reorder;
                    let Some(diff) = of.remove(&result.number) else { continue };
                    add(&mut of, input.number, back(&input.tensor, diff)?)?;
                }
            }
        }
        Ok(Some(Gradients { tape: self.number, of }))
    }
}

/// Adds a gradient to what a value has.
#[track_caller]
fn add(of: &mut HashMap<usize, Tensor>, number: usize, made: Tensor) -> Result<()> {
    let sum = match of.remove(&number) {
        Some(before) => ops::add(&before, &made).map_err(of_sum)?,
        None => made,
    };
    of.insert(number, sum);
    Ok(())
}

/// The program has no such call: another key's kernel for it may be missing.
fn of_sum(e: Error) -> Error {
    let Error::UnsupportedOp(e) = e else { return e };
    let remedy = "a value that is used more than once has the sum of its gradients: register a kernel of `add` for this key";
    Error::UnsupportedOp(Box::new(UnsupportedOp { remedy: remedy.into(), ..*e }))
}

/// The gradient of a reorder's operand: reordered to the operand's layout, or to its memory format.
#[track_caller]
fn back(operand: &Tensor, diff: Tensor) -> Result<Tensor> {
    match (operand, &diff) {
        (Tensor::Strided(x), Tensor::Blocked(diff)) => {
            Ok(diff.to_strided(x.suggest_memory_format(false))?.into())
        }
        (Tensor::Blocked(x), Tensor::Strided(diff)) => Ok(diff.to_blocked(x.layout())?.into()),
        (Tensor::Strided(x), _) => {
            diff.reorder(&TensorDesc::strided(x.dims(), x.dtype(), x.suggest_memory_format(false))?)
        }
        (x, _) => diff.reorder(&TensorDesc::of(x.tensor_ref())),
    }
}
