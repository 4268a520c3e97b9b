//! Packed weights, and the kernels that read them: one for each batch.

use std::sync::Arc;

use crate::error::{Call, Complaint, Error, Result, Text};
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::implementation::{
    ConvImplementation, ConvKernel, ConvOperands, NoKernel, Problem, run,
};
use crate::key::DispatchKey;
use crate::pack::kernels::Kernels;
use crate::pack::source::Source;
use crate::scratchpad::Scratchpad;
use crate::tensor::strided::StridedTensor;

/// Weights and the kernels that read them.
pub(super) struct Packed {
    pub implementation: &'static dyn ConvImplementation,
    /// All elements, in the kernel's order.
    pub weights: StridedTensor,
    /// The name of their layout.
    pub layout: String,
    /// For the batch that was packed for.
    pub main: Arc<dyn ConvKernel>,
    main_batch: usize,
    /// For others.
    others: Kernels<Way>,
}

/// How a batch runs: so many images at once, the parts one after the other.
#[derive(Clone)]
pub(super) struct Way {
    images: usize,
    pub kernel: Arc<dyn ConvKernel>,
}

impl Packed {
    pub fn new(
        implementation: &'static dyn ConvImplementation,
        weights: StridedTensor,
        main: Arc<dyn ConvKernel>,
        main_batch: usize,
    ) -> Result<Packed> {
        let layout = main.weights_name()?;
        Ok(Packed { implementation, layout, weights, main, main_batch, others: Kernels::default() })
    }

    /// How a batch runs on the weights as they lie: at once, else as the batch packed for, else image by image.
    ///
    /// # Errors
    /// `PackMismatch` where there is no kernel for any of them. The next call asks anew: it may have been for want of memory.
    pub fn way(&self, p: &Problem<'_>, source: &Source) -> Result<Way> {
        self.find(p).map_err(|e| match e {
            NoKernel::Failed(e) => e,
            NoKernel::Refused(_) => Error::PackMismatch(Complaint::new(
                p.g.op,
                "x",
                format!("a batch of {}", p.g.n),
                format!(
                    "weights packed as {} for {source} have no fast kernel there (or its memory could not be had)",
                    self.layout
                ),
                Text::from("pack the weights for this batch with ") + Call::PackForTensor + ", or for a batch of 1",
            )),
        })
    }

    fn find(&self, p: &Problem<'_>) -> Result<Way, NoKernel> {
        let n = p.g.n;
        let main = |images| Way { images, kernel: Arc::clone(&self.main) };
        if n == self.main_batch {
            return Ok(main(n));
        }
        self.others.get(n, || match self.main.for_batch(p) {
            Ok(kernel) => Ok(Way { images: n, kernel }),
            Err(NoKernel::Refused(_)) if self.main_batch != 0 && n.is_multiple_of(self.main_batch) => {
                Ok(main(self.main_batch))
            }
            // The kernel of one image is shared by all batches that run image by image.
            Err(NoKernel::Refused(_)) if n != 1 => {
                self.find(&Problem { g: &ConvGeometry { n: 1, ..*p.g }, ..*p })
            }
            Err(e) => Err(e),
        })
    }

    /// Runs all parts of a batch.
    pub fn run(
        &self,
        (p, source): (&Problem<'_>, &Source),
        key: DispatchKey,
        all: &ConvOperands<'_>,
        dst: &mut [u8],
        mut scratchpad: Option<&mut Scratchpad>,
    ) -> Result<()> {
        let way = self.way(p, source)?;
        let layouts = || format!("{} -> {}", p.src, p.dst);
        let parts = p.g.n / way.images;
        for i in 0..parts {
            let operands = if parts == 1 { *all } else { all.part(i, parts) };
            let share = dst.len() / parts * i..dst.len() / parts * (i + 1);
            let (named, scratchpad) = ((p.g.op, key), scratchpad.as_deref_mut());
            run(&*way.kernel, named, layouts, &operands, &mut dst[share], scratchpad)?;
        }
        Ok(())
    }

    #[cfg(test)]
    pub fn made(&self) -> usize {
        self.others.made()
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::Conv2d;
    use crate::pack::kernels::KEPT;
    use crate::pack::{AnyConvPacker, PackedConv2d, Source};
    use crate::{MemoryFormat, StridedTensor};

    /// Batches in turn, as many as keep their kernels: each kernel is made once, whoever wrote it. What was made is counted where
    /// it is made.
    #[test]
    fn batches_in_turn_make_each_kernel_once() {
        let numbers = |dims: &[usize]| StridedTensor::full(dims, 0.5f32, MemoryFormat::Contiguous).unwrap();
        let layout = crate::Layout::native_activation(4).unwrap();
        let packer = PackedConv2d::new(&numbers(&[16, 16, 3, 3]), None, Conv2d::new().padding(1)).unwrap();
        let batch = |n: usize| numbers(&[n, 16, 4, 4]).to_blocked(&layout).unwrap();
        let source = Source::of(&batch(1)).unwrap();
        let blocked = packer.candidates(&source).unwrap();
        assert!(blocked.len() >= 5, "{blocked:?}");
        for name in AnyConvPacker::implementations().filter(|name| blocked.iter().any(|c| c.name == *name)) {
            let conv = packer.clone().implementation(name).unwrap().pack_for(&source).unwrap();
            for round in 0..3 {
                for n in 2..KEPT + 2 {
                    conv.run(&batch(n)).unwrap();
                }
                assert_eq!(conv.packed.made(), KEPT, "{name}, round {round}");
            }
        }
    }
}
