//! The tiled kernels as an implementation of the list.

use std::sync::Arc;

use super::{F32Operands, Plain, TiledPlan};
use crate::buffer::Buffer;
use crate::error::Result;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::implementation::{
    ConvImplementation, ConvKernel, ConvOperands, NoKernel, Problem, Refusal,
};
use crate::kernels::conv::weights::PlainWeights;
use crate::layout::blocked::Layout;
use crate::scratchpad::Scratchpad;

/// Any convolution of activations in blocks of 8 or 16 channels.
pub(crate) struct Tiled;

/// Whether activations of a convolution in this layout are in blocks that our kernels take.
pub(crate) fn check_layout(g: &ConvGeometry, layout: &Layout) -> Result<(), Refusal> {
    let block = layout.block_of(1);
    let fits = [8, 16].contains(&block)
        && Layout::blocked_activation(g.input.len() + 2, block).is_ok_and(|wanted| wanted == *layout);
    if fits { Ok(()) } else { Err(Refusal::Layout) }
}

/// Whether blocks are as long as the machine's vectors: else kernels of ours fill half of each.
pub(crate) fn fills_vectors(p: &Problem<'_>) -> bool {
    p.blocked().is_some_and(|layout| layout.block_of(1) == Layout::native().0.block_of(1))
}

impl ConvImplementation for Tiled {
    fn name(&self) -> &'static str {
        "tiled"
    }

    fn check(&self, p: &Problem<'_>) -> Result<(), Refusal> {
        p.blocked().map_or(Err(Refusal::OtherKinds), |layout| check_layout(p.g, layout))
    }

    fn is_promising(&self, _: &Problem<'_>) -> bool {
        // Where another computes the same, it is not the slower one.
        false
    }

    fn kernel(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel> {
        let layout = p.blocked().ok_or(Refusal::OtherKinds)?;
        Ok(Arc::new(TiledPlan::new(p.g, layout)?.ok_or(Refusal::Layout)?))
    }
}

impl<'a> From<&'a ConvOperands<'a>> for F32Operands<'a> {
    fn from(o: &'a ConvOperands<'a>) -> F32Operands<'a> {
        F32Operands {
            src: o.src.f32(),
            weights: bytemuck::cast_slice(o.weights),
            finish: o.finish,
            residual: o.residual.map(|r| r.f32()),
        }
    }
}

impl ConvKernel for TiledPlan {
    fn name(&self) -> &str {
        "blocktensor:tiled"
    }

    fn weights_name(&self) -> Result<String> {
        Ok(TiledPlan::weights_name(self))
    }

    fn weight_bytes(&self) -> usize {
        self.weight_vectors * self.block * size_of::<f32>()
    }

    fn takes(&self, weights: &Layout) -> bool {
        TiledPlan::takes(self, weights)
    }

    fn order(&self, w: &PlainWeights<'_>) -> Result<Arc<Buffer>> {
        self.ordered(&Plain::of(w)).map(Arc::new)
    }

    fn unorder(&self, packed: &[u8], plain: &mut [f32]) -> Result<()> {
        self.unpack(bytemuck::cast_slice(packed), plain);
        Ok(())
    }

    fn run(&self, operands: &ConvOperands<'_>, dst: &mut [u8], _: Option<&mut Scratchpad>) -> Result<()> {
        self.compute(&operands.into(), bytemuck::cast_slice_mut(dst))
    }

    fn for_batch(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel> {
        Tiled.kernel(p)
    }
}
