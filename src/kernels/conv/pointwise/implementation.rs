//! The pointwise kernels as an implementation of the list.

use std::sync::Arc;

use super::PointwisePlan;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::implementation::{
    ConvImplementation, ConvKernel, ConvOperands, NoKernel, Problem, Refusal,
};
use crate::kernels::conv::tiled::{Plain, check_layout, fills_vectors};
use crate::kernels::conv::weights::PlainWeights;
use crate::layout::blocked::Layout;
use crate::scratchpad::Scratchpad;

/// Convolutions of one tap, in one group and without padding, of activations in blocks of 8 or 16 channels. Its bits are the
/// direct kernels'.
pub(crate) struct Pointwise;

/// Why a convolution is not pointwise; `None` if it is.
pub(super) fn misfit(g: &ConvGeometry) -> Option<&'static str> {
    if g.transposed || g.groups > 1 {
        return Some("it is for convolutions of one group that are not transposed");
    }
    if g.kernel.iter().any(|&k| k != 1) {
        return Some("it is for kernels of one tap");
    }
    if g.pad_begin.iter().chain(g.pad_end.iter()).any(|&p| p != 0) {
        return Some("it is for convolutions without padding");
    }
    None
}

impl ConvImplementation for Pointwise {
    fn name(&self) -> &'static str {
        "pointwise"
    }

    fn check(&self, p: &Problem<'_>) -> Result<(), Refusal> {
        let layout = p.blocked().ok_or(Refusal::OtherKinds)?;
        match misfit(p.g) {
            Some(rule) => {
                Err(Refusal::Misfit { rule, remedy: "pass another of `candidates`, or none".into() })
            }
            None => check_layout(p.g, layout),
        }
    }

    fn is_promising(&self, p: &Problem<'_>) -> bool {
        fills_vectors(p)
    }

    fn kernel(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel> {
        self.check(p)?;
        let layout = p.blocked().ok_or(Refusal::OtherKinds)?;
        Ok(Arc::new(PointwisePlan::new(p.g, layout, p.threads)?.ok_or(Refusal::Layout)?))
    }
}

impl ConvKernel for PointwisePlan {
    fn name(&self) -> &str {
        "blocktensor:pointwise"
    }

    fn weights_name(&self) -> Result<String> {
        Ok(self.tiled.weights_name())
    }

    fn weight_bytes(&self) -> usize {
        self.tiled.weight_bytes()
    }

    fn takes(&self, weights: &Layout) -> bool {
        self.tiled.takes(weights)
    }

    fn order(&self, w: &PlainWeights<'_>) -> Result<Arc<Buffer>> {
        self.tiled.ordered(&Plain::of(w)).map(Arc::new)
    }

    fn unorder(&self, packed: &[u8], plain: &mut [f32]) -> Result<()> {
        self.tiled.unorder(packed, plain)
    }

    fn scratchpad_bytes(&self) -> usize {
        self.scratch_bytes()
    }

    fn run(
        &self,
        operands: &ConvOperands<'_>,
        dst: &mut [u8],
        scratchpad: Option<&mut Scratchpad>,
    ) -> Result<()> {
        self.compute(&operands.into(), bytemuck::cast_slice_mut(dst), scratchpad)
    }

    fn for_batch(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel> {
        Pointwise.kernel(p)
    }
}
