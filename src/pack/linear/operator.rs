//! Packed linear layers as operators.

use super::PackedLinear;
#[cfg(feature = "onednn")]
use super::Weights;
use crate::error::{Result, Text, fail};
use crate::kernels::conv::epilogue::Finish;
use crate::key::DispatchKey;
use crate::layout::memory_format::MemoryFormat;
use crate::op::Schema;
use crate::op::results::{check_count, check_given};
use crate::operator::Operator;
use crate::ops::linear::{LINEAR, LinearShape};
use crate::scratchpad::Scratchpad;
use crate::tensor::any::{Operand, Tensor, TensorMut, TensorRef};
use crate::tensor::desc::TensorDesc;
use crate::tensor::strided::StridedTensor;

/// The one input.
fn source<'a>(inputs: &[TensorRef<'a>]) -> Result<&'a StridedTensor> {
    check_inputs(inputs.len())?;
    match inputs[0] {
        TensorRef::Strided(x) => Ok(x),
        other => fail!(
            KeyMismatch,
            "linear",
            "x",
            format!("{} of key `{}`", other.describe(), other.key()),
            "packed linear layers take strided tensors",
            Text::from("reorder `x` with ") + other.key().way_out().0
        ),
    }
}

fn check_inputs(count: usize) -> Result<()> {
    if count == 1 {
        return Ok(());
    }
    fail!(InvalidArgument, "linear", "inputs", format!("{count} tensors"), "it takes `x`", "pass one tensor")
}

impl PackedLinear {
    /// The shape of a run with these inputs, all checked.
    fn checked(&self, inputs: &[TensorDesc]) -> Result<LinearShape> {
        check_inputs(inputs.len())?;
        let x = inputs[0].without_elements();
        self.shape(source(&[x.tensor_ref()])?)
    }
}

impl Operator for PackedLinear {
    fn op(&self) -> &'static str {
        "linear"
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(LINEAR.schema())
    }

    fn inputs(&self) -> &[&'static str] {
        &["x"]
    }

    fn infer(&self, inputs: &[TensorDesc]) -> Result<Vec<TensorDesc>> {
        let s = self.checked(inputs)?;
        Ok(vec![TensorDesc::strided(&s.dst, inputs[0].dtype(), MemoryFormat::Contiguous)?])
    }

    fn preferred(&self, key: DispatchKey, inputs: &[TensorDesc]) -> Result<Option<Vec<TensorDesc>>> {
        if key != DispatchKey::STRIDED {
            return Ok(None);
        }
        let contiguous = |x: &TensorDesc| TensorDesc::strided(x.dims(), x.dtype(), MemoryFormat::Contiguous);
        inputs.iter().map(contiguous).collect::<Result<_>>().map(Some)
    }

    fn scratchpad_bytes(&self, inputs: &[TensorDesc]) -> Result<usize> {
        let s = self.checked(inputs)?;
        match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(packed) if !s.dst.contains(&0) => packed.scratchpad_bytes(self, &s),
            _ => {
                let _ = s;
                Ok(0)
            }
        }
    }

    #[track_caller]
    fn run(&self, inputs: &[TensorRef<'_>]) -> Result<Vec<Tensor>> {
        Ok(vec![PackedLinear::run(self, source(inputs)?)?.into()])
    }

    #[track_caller]
    fn run_into(
        &self,
        inputs: &[TensorRef<'_>],
        mut outputs: Vec<TensorMut<'_>>,
        scratchpad: &mut Scratchpad,
    ) -> Result<()> {
        let x = source(inputs)?;
        let s = self.shape(x)?;
        check_count("linear", outputs.len(), 1)?;
        let desc = TensorDesc::strided(&s.dst, x.dtype(), MemoryFormat::Contiguous)?;
        check_given("linear", "dst", &desc, &mut outputs[0], false)?;
        match &mut outputs[0] {
            TensorMut::Strided(dst) => self.write(&s, x, dst, Some(scratchpad), &Finish::bias(None), None),
            _ => unreachable!("it was checked to be strided"),
        }
    }
}
