//! oneDNN's convolutions as an implementation of the list.

use std::sync::Arc;

use super::{primitive, run};
use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::implementation::{
    ConvImplementation, ConvKernel, ConvOperands, ConvTypes, NoKernel, Problem, Refusal,
};
use crate::kernels::conv::weights::PlainWeights;
use crate::layout::blocked::Layout;
use crate::layout::either::SourceLayout;
use crate::layout::identity::Identity;
use crate::layout::memory_format::MemoryFormat;
use crate::onednn::{self, Executable, Refused, Spec, chosen};
use crate::op::kernel::Engine;
use crate::scratchpad::Scratchpad;
use crate::simd::Isa;

/// Whatever oneDNN has a fast implementation for; only asking it tells.
pub(crate) struct OneDnn;

/// A primitive for one problem.
struct OneDnnKernel {
    executable: Arc<Executable>,
    g: ConvGeometry,
    types: ConvTypes,
    src: SourceLayout,
    dst: SourceLayout,
}

impl From<Refused> for NoKernel {
    fn from(refused: Refused) -> NoKernel {
        match refused {
            Refused::Unsupported(reason) => NoKernel::Refused(Refusal::Engine(reason)),
            Refused::Failed(error) => NoKernel::Failed(error),
        }
    }
}

fn made(p: &Problem<'_>, weights: Spec<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel> {
    let executable = primitive(p, weights)?;
    Ok(Arc::new(OneDnnKernel { executable, g: *p.g, types: p.types, src: p.src, dst: p.dst }))
}

impl ConvImplementation for OneDnn {
    fn name(&self) -> &'static str {
        "onednn"
    }

    fn engine(&self) -> Engine {
        Engine::OneDnn
    }

    fn types(&self) -> &'static [ConvTypes] {
        // Without the instructions for it, oneDNN widens and rounds every number: slower than f32.
        const ALL: [ConvTypes; 2] = [ConvTypes::F32, ConvTypes::BF16];
        if Isa::Avx512Bf16.is_here() { &ALL } else { &ALL[..1] }
    }

    fn check(&self, _: &Problem<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    fn kernel(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel> {
        let (dims, dtype) = (p.g.weight_dims(), p.types.weights);
        // No other implementation packs for an empty batch of bf16; a run without images computes nothing.
        let one = ConvGeometry { n: 1, ..*p.g };
        let p = if p.g.n == 0 && p.types != ConvTypes::F32 { &Problem { g: &one, ..*p } } else { p };
        made(
            p,
            match p.weights {
                Some(layout) => Spec::Layout { dims: &dims, layout, dtype },
                None => Spec::Any { dims: &dims, dtype },
            },
        )
    }
}

impl ConvKernel for OneDnnKernel {
    fn name(&self) -> &str {
        self.executable.implementation()
    }

    fn weights_name(&self) -> Result<String> {
        chosen::layout_name(&self.executable)
    }

    fn weight_bytes(&self) -> usize {
        self.executable.desc(1).size_bytes()
    }

    fn identity(&self) -> Result<Option<Identity>> {
        chosen::identity(&self.executable).map(Some)
    }

    fn takes(&self, _: &Layout) -> bool {
        // It was made for them.
        true
    }

    fn order(&self, w: &PlainWeights<'_>) -> Result<Arc<Buffer>> {
        let view = w.tensor.as_strided(&w.dims, &w.strides, w.tensor.offset())?;
        let packed = onednn::pack(&view, self.executable.desc(1));
        packed.map(Arc::new).map_err(|refused| refused.of("dnnl_reorder_primitive_desc_create"))
    }

    fn unorder(&self, packed: &[u8], plain: &mut [f32]) -> Result<()> {
        let dims = self.g.weight_dims();
        let strides = MemoryFormat::Contiguous.strides(self.g.op, &dims)?;
        let to = Spec::Strided { dims: &dims, strides: &strides, dtype: DType::F32 };
        onednn::unpack(self.executable.desc(1), packed, to, bytemuck::cast_slice_mut(plain))
            .map_err(|refused| refused.of("dnnl_reorder_primitive_desc_create"))
    }

    fn scratchpad_bytes(&self) -> usize {
        self.executable.scratchpad_bytes()
    }

    fn run(&self, o: &ConvOperands<'_>, dst: &mut [u8], scratchpad: Option<&mut Scratchpad>) -> Result<()> {
        run(&self.executable, (&self.g, self.types.dst), (&self.src, &self.dst), o, dst, scratchpad)
    }

    fn for_batch(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel> {
        made(p, Spec::Chosen(self.executable.desc(1)))
    }
}
