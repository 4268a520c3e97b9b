//! `Kept`: what a gradient reads of a forward call.

use super::BoundOp;
use crate::error::Result;
use crate::op::{Gradients, Reads};
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::desc::TensorDesc;

/// A call of an op, kept for its gradient: the operands and the results that the gradient reads. Of the others it has the sizes, the
/// dtypes and the layouts alone, so that their memory is free as soon as nobody else needs it.
///
/// ```
/// use blocktensor::{BoundOp, MemoryFormat, Operand, Operator, StridedTensor, Tensor};
/// let relu = BoundOp::new("relu", &["x"], &[])?;
/// let x = Tensor::from(StridedTensor::from_slice(&[-1f32, 2.0], &[2])?);
/// let y = relu.run(&[x.tensor_ref()])?;
/// let kept = relu.keep(&[x.tensor_ref()], &[y[0].tensor_ref()])?;
/// // The sign of the result is enough.
/// assert!(kept.operands().is_none() && kept.results().is_some());
/// drop(x);
/// let diff_dst = StridedTensor::from_slice(&[10f32, 20.0], &[2])?;
/// let diff_src = kept.backward(&[Some(diff_dst.tensor_ref())], &[true])?;
/// let Some(Tensor::Strided(diff_src)) = &diff_src[0] else { panic!("strided, as x was") };
/// assert_eq!(diff_src.to_vec::<f32>()?, [0.0, 20.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Kept {
    op: BoundOp,
    reads: Reads,
    operands: Vec<Tensor>,
    results: Vec<Tensor>,
}

impl BoundOp {
    /// Keeps a call for its gradient. `inputs` are those of the run, `results` what it gave.
    ///
    /// # Errors
    /// As [`check_gradient`](Self::check_gradient), of which none is wanted.
    #[track_caller]
    pub fn keep(&self, inputs: &[TensorRef<'_>], results: &[TensorRef<'_>]) -> Result<Kept> {
        let reads = self.gradient_reads(inputs)?;
        let kept = |tensors: &[TensorRef<'_>], with_elements: bool| {
            let of = |t: &TensorRef<'_>| match with_elements {
                true => t.to_tensor(),
                false => TensorDesc::of(*t).without_elements(),
            };
            tensors.iter().map(of).collect()
        };
        let operands = kept(inputs, reads.operands());
        let results = kept(results, reads.results());
        Ok(Kept { op: self.clone(), reads, operands, results })
    }
}

impl Kept {
    /// The op.
    pub fn op(&self) -> &BoundOp {
        &self.op
    }

    /// The operands, if the gradient reads them.
    pub fn operands(&self) -> Option<&[Tensor]> {
        self.reads.operands().then_some(&self.operands)
    }

    /// The results, if the gradient reads them.
    pub fn results(&self) -> Option<&[Tensor]> {
        self.reads.results().then_some(&self.results)
    }

    /// As [`BoundOp::backward`] of this call.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn backward(&self, diffs: &[Option<TensorRef<'_>>], wanted: &[bool]) -> Result<Gradients> {
        fn refs(tensors: &[Tensor]) -> Vec<TensorRef<'_>> {
            tensors.iter().map(Operand::tensor_ref).collect()
        }
        self.op.backward(&refs(&self.operands), &refs(&self.results), diffs, wanted)
    }
}
