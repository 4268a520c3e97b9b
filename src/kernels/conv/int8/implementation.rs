//! The integer kernel as an implementation of the list.

use std::sync::Arc;

use super::plan::{Int8Plan, Matrix};
use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::conv::implementation::{
    ConvImplementation, ConvKernel, ConvOperands, ConvTypes, NoKernel, Problem, Refusal,
};
use crate::kernels::conv::weights::PlainWeights;
use crate::scratchpad::Scratchpad;

/// Any convolution of u8 or s8.
pub(crate) struct Int8;

/// Each source with each result.
const TYPES: [ConvTypes; 8] = {
    let mut all = [ConvTypes::F32; 8];
    let results = [DType::S32, DType::F32, DType::U8, DType::S8];
    let mut i = 0;
    while i < all.len() {
        let src = if i < 4 { DType::U8 } else { DType::S8 };
        all[i] = ConvTypes { src, weights: DType::S8, dst: results[i % 4] };
        i += 1;
    }
    all
};

impl ConvImplementation for Int8 {
    fn name(&self) -> &'static str {
        "int8"
    }

    fn types(&self) -> &'static [ConvTypes] {
        &TYPES
    }

    fn check(&self, p: &Problem<'_>) -> Result<(), Refusal> {
        Int8Plan::new(p).map(|_| ())
    }

    fn kernel(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel> {
        Ok(Arc::new(Int8Plan::new(p)?))
    }
}

impl ConvKernel for Int8Plan {
    fn name(&self) -> &str {
        "blocktensor:int8"
    }

    fn weights_name(&self) -> Result<String> {
        Ok(match self.matrix {
            Some(Matrix { quads, .. }) => format!("int8 in tiles of {quads} quads"),
            None => "int8".into(),
        })
    }

    fn weight_bytes(&self) -> usize {
        self.ordered_bytes()
    }

    fn order(&self, weights: &PlainWeights<'_>) -> Result<Arc<Buffer>> {
        self.ordered(weights).map(Arc::new)
    }

    fn unorder(&self, packed: &[u8], plain: &mut [f32]) -> Result<()> {
        self.unordered(packed, plain);
        Ok(())
    }

    fn run(&self, operands: &ConvOperands<'_>, dst: &mut [u8], _: Option<&mut Scratchpad>) -> Result<()> {
        self.compute(operands, dst)
    }

    fn for_batch(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel> {
        Int8.kernel(p)
    }
}
