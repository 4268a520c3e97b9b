//! Packed convolutions as operators.

use std::panic::Location;

use super::{AnyPackedConv, PackedConv, PackedStem};
use crate::error::{Result, fail};
use crate::kernels::conv::{ConvGeometry, kind_of};
use crate::key::DispatchKey;
use crate::op::Schema;
use crate::op::results::{check_count, new_result};
use crate::operator::Operator;
use crate::ops::conv::{Direction, op_of};
use crate::pack::source::SourceLayout;
use crate::post_ops::MAX_POST_OPS;
use crate::scratchpad::Scratchpad;
use crate::tensor::any::{Operand, Tensor, TensorMut, TensorRef};
use crate::tensor::desc::TensorDesc;

/// Names of the inputs with a residual, and without: as many vectors of channels as the post-ops take.
const WITH_RESIDUAL: [&str; MAX_POST_OPS + 2] = {
    let mut names = ["channel"; MAX_POST_OPS + 2];
    (names[0], names[1]) = ("x", "residual");
    names
};
const WITHOUT_RESIDUAL: [&str; MAX_POST_OPS + 1] = {
    let mut names = ["channel"; MAX_POST_OPS + 1];
    names[0] = "x";
    names
};

/// The inputs of a run by their names.
type Inputs<'a> = (TensorRef<'a>, Option<TensorRef<'a>>, &'a [TensorRef<'a>]);

impl AnyPackedConv {
    fn input_names(&self) -> &'static [&'static str] {
        let channel = self.post_ops.channel_operands();
        match self.post_ops.takes_residual() {
            true => &WITH_RESIDUAL[..channel + 2],
            false => &WITHOUT_RESIDUAL[..channel + 1],
        }
    }

    fn split<'a>(&self, inputs: &'a [TensorRef<'a>]) -> Result<Inputs<'a>> {
        let names = self.input_names();
        if inputs.len() != names.len() {
            let rule = format!("it takes {names:?}");
            let got = format!("{} tensors", inputs.len());
            fail!(InvalidArgument, self.g.op, "inputs", got, rule, "pass one tensor for each");
        }
        Ok(match self.post_ops.takes_residual() {
            true => (inputs[0], Some(inputs[1]), &inputs[2..]),
            false => (inputs[0], None, &inputs[1..]),
        })
    }

    /// The geometry of a run with these inputs, all checked.
    fn checked(&self, inputs: &[TensorDesc]) -> Result<ConvGeometry> {
        let tensors: Vec<Tensor> = inputs.iter().map(TensorDesc::without_elements).collect();
        let refs: Vec<TensorRef<'_>> = tensors.iter().map(Operand::tensor_ref).collect();
        let (x, residual, channel) = self.split(&refs)?;
        let g = self.geometry(x)?;
        self.check_operands(&g, residual, channel)?;
        Ok(g)
    }
}

impl Operator for AnyPackedConv {
    fn op(&self) -> &'static str {
        self.g.op
    }

    fn schema(&self) -> Option<&'static Schema> {
        let (spatial, transposed) = kind_of(self.g.op);
        Some(op_of(spatial, transposed).schema())
    }

    fn inputs(&self) -> &[&'static str] {
        self.input_names()
    }

    fn infer(&self, inputs: &[TensorDesc]) -> Result<Vec<TensorDesc>> {
        Ok(vec![self.result_desc(&self.checked(inputs)?)?])
    }

    /// The source as the weights were packed for it, whatever the batch.
    fn preferred(&self, key: DispatchKey, inputs: &[TensorDesc]) -> Result<Option<Vec<TensorDesc>>> {
        let mut wanted = inputs.to_vec();
        let Some(x) = wanted.first_mut() else { return Ok(Some(wanted)) };
        *x = match (self.source.layout, key) {
            (SourceLayout::Strided(format), DispatchKey::STRIDED) => {
                TensorDesc::strided(x.dims(), x.dtype(), format)?
            }
            (SourceLayout::Blocked(layout), DispatchKey::BLOCKED) => {
                TensorDesc::blocked(x.dims(), x.dtype(), &layout)?
            }
            _ => return Ok(None),
        };
        Ok(Some(wanted))
    }

    fn scratchpad_bytes(&self, inputs: &[TensorDesc]) -> Result<usize> {
        let g = self.checked(inputs)?;
        if g.dst_dims().contains(&0) {
            return Ok(0);
        }
        Ok(self.packed.way(&self.problem(&g), &self.source)?.kernel.scratchpad_bytes())
    }

    #[track_caller]
    fn run(&self, inputs: &[TensorRef<'_>]) -> Result<Vec<Tensor>> {
        let (x, residual, channel) = self.split(inputs)?;
        let g = self.geometry(x)?;
        let mut dst = new_result(g.op, &self.result_desc(&g)?)?;
        self.write(&g, x, residual, channel, dst.tensor_mut(), Location::caller(), None)?;
        Ok(vec![dst])
    }

    #[track_caller]
    fn run_into(
        &self,
        inputs: &[TensorRef<'_>],
        outputs: Vec<TensorMut<'_>>,
        scratchpad: &mut Scratchpad,
    ) -> Result<()> {
        let (x, residual, channel) = self.split(inputs)?;
        let g = self.geometry(x)?;
        check_count(g.op, outputs.len(), 1)?;
        let location = Location::caller();
        outputs
            .into_iter()
            .try_for_each(|dst| self.write(&g, x, residual, channel, dst, location, Some(&mut *scratchpad)))
    }
}

operator_inside! { [const N: usize, D: Direction] PackedConv<N, D>, packed => &packed.0 }
operator_inside! { [const N: usize] PackedStem<N>, packed => &packed.0 }
