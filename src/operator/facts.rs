//! What is known of an op with its parameters ([`facts`](crate::dispatch::facts)).

use super::BoundOp;
use crate::dtype::DType;
use crate::error::Result;
use crate::op::facts::{CallSizes, WeightsRole};
use crate::op::param_value::ParamValue;
use crate::op::rules::OutputDType;

impl BoundOp {
    /// The op that gives a tensor other sizes, of as many elements. It shares the storage, so the operand's strides must allow it.
    ///
    /// # Errors
    /// None today: sizes that no tensor has are errors of the run.
    pub fn view(dims: &[usize]) -> Result<BoundOp> {
        let dims = dims.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect::<Vec<_>>();
        BoundOp::of(&crate::ops::VIEW, &["x"], &[("dims", dims.into())])
    }

    /// The word of the post-op that computes the same with these parameters: what a convolution takes in its `post_ops`.
    ///
    /// Its `residual` is the second operand, its `channel` the parameter with a number for each channel.
    pub fn post_op(&self) -> Option<String> {
        let number = |name: &str| match self.param(name)? {
            ParamValue::Float(v) => Some(*v as f32),
            ParamValue::Int(v) => Some(*v as f32),
            _ => None,
        };
        self.registered().schema().facts.post_op.and_then(|word| word(&number))
    }

    /// The parameter of this name.
    pub fn param(&self, name: &str) -> Option<&ParamValue> {
        self.params().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// Which of the inputs is the op's weights.
    pub fn weights(&self) -> Option<usize> {
        self.of_role(WeightsRole::Weights)
    }

    /// Which of the inputs is the bias that goes with the weights.
    pub fn bias(&self) -> Option<usize> {
        self.of_role(WeightsRole::Bias)
    }

    /// The op that gives the same numbers with this dtype, [`to_dtype`](crate::ops::to_dtype). What is finite stays finite: numbers beyond
    /// the dtype's range become its largest.
    ///
    /// ```
    /// use blocktensor::{BoundOp, DType};
    /// assert!(BoundOp::cast(DType::BF16).is_cast());
    /// assert!(!BoundOp::new("relu", &["x"], &[])?.is_cast());
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    pub fn cast(dtype: DType) -> BoundOp {
        let op = &crate::ops::TO_DTYPE;
        BoundOp::of(op, &["x"], &[("dtype", dtype.name().into()), ("saturate", true.into())])
            .expect("its own parameters")
    }

    /// Whether the op gives the same numbers with the dtype that a parameter names.
    pub fn is_cast(&self) -> bool {
        self.makes_stated_dtype() && self.registered().schema().tensors().count() == 1
    }

    /// Whether a parameter names the dtype of the only result.
    pub fn makes_stated_dtype(&self) -> bool {
        matches!(self.registered().schema().outputs, [one] if matches!(one.dtype, OutputDType::Stated(_)))
    }

    fn of_role(&self, role: WeightsRole) -> Option<usize> {
        self.roles().position(|r| r == Some(role))
    }

    /// For each input its role.
    pub(crate) fn roles(&self) -> impl Iterator<Item = Option<WeightsRole>> {
        let args = self.registered().schema().args;
        self.input_names().iter().map(move |name| args.iter().find(|a| a.name == *name).and_then(|a| a.role))
    }

    /// How many multiplications, each with its addition, a call takes whose inputs and results have these sizes; `None` if the op
    /// does not state it.
    pub fn multiply_adds(&self, inputs: &[&[usize]], results: &[&[usize]]) -> Option<u64> {
        let count = self.registered().schema().facts.multiply_adds?;
        Some(count(&CallSizes { names: self.input_names(), inputs, results }))
    }
}
