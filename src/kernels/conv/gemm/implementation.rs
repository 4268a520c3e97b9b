//! Patches and a matrix product as an implementation of the list.

use std::sync::Arc;

use super::{GemmConv, gemm_conv};
use crate::buffer::Buffer;
use crate::error::Result;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::implementation::{
    ConvImplementation, ConvKernel, ConvOperands, NoKernel, Problem, Refusal,
};
use crate::kernels::conv::weights::PlainWeights;
use crate::layout::dims::Dims;
use crate::layout::either::SourceLayout;
use crate::layout::memory_format::MemoryFormat;
use crate::scratchpad::Scratchpad;

/// Any convolution of strided tensors.
pub(crate) struct Gemm;

/// What it needs to know of a problem.
struct GemmKernel {
    g: ConvGeometry,
    dst_strides: Dims,
}

impl ConvImplementation for Gemm {
    fn name(&self) -> &'static str {
        "gemm"
    }

    fn check(&self, p: &Problem<'_>) -> Result<(), Refusal> {
        match (p.src, p.dst) {
            (SourceLayout::Strided(_), SourceLayout::Strided(_)) => Ok(()),
            _ => Err(Refusal::OtherKinds),
        }
    }

    fn is_promising(&self, _: &Problem<'_>) -> bool {
        // Where oneDNN computes the same, it is faster.
        false
    }

    fn kernel(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel> {
        self.check(p)?;
        Ok(Arc::new(GemmKernel { g: *p.g, dst_strides: p.dst.strides(p.g.op, &p.g.dst_dims())? }))
    }
}

impl ConvKernel for GemmKernel {
    fn name(&self) -> &str {
        "blocktensor:gemm"
    }

    fn weights_name(&self) -> Result<String> {
        Ok("dense".into())
    }

    fn weight_bytes(&self) -> usize {
        self.g.weight_count() * size_of::<f32>()
    }

    fn takes_row_major(&self) -> bool {
        true
    }

    fn takes_any_strides(&self) -> bool {
        true
    }

    fn order(&self, w: &PlainWeights<'_>) -> Result<Arc<Buffer>> {
        let mut copy = Buffer::for_result(self.weight_bytes())?;
        copy.as_mut_slice::<f32>()
            .copy_from_slice(w.tensor.contiguous(MemoryFormat::Contiguous)?.data::<f32>());
        Ok(Arc::new(copy))
    }

    fn unorder(&self, packed: &[u8], plain: &mut [f32]) -> Result<()> {
        plain.copy_from_slice(bytemuck::cast_slice(packed));
        Ok(())
    }

    fn run(&self, o: &ConvOperands<'_>, dst: &mut [u8], _: Option<&mut Scratchpad>) -> Result<()> {
        let conv = GemmConv {
            g: &self.g,
            src: o.src.f32(),
            src_strides: o.src.strides,
            weights: bytemuck::cast_slice(o.weights),
            dst_strides: &self.dst_strides,
            finish: o.finish,
            residual: o.residual.map(|r| (r.f32(), r.strides)),
        };
        gemm_conv(&conv, bytemuck::cast_slice_mut(dst))
    }

    fn for_batch(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel> {
        Gemm.kernel(p)
    }
}
