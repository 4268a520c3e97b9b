//! Weights packed once, for a stated source.

/// A type that is an operator by the one inside it.
macro_rules! operator_inside {
    ([$($generics:tt)*] $type:ty, $packed:ident => $inside:expr) => {
        impl<$($generics)*> crate::operator::Operator for $type {
            fn op(&self) -> &'static str {
                let $packed = self;
                $inside.op()
            }

            fn schema(&self) -> Option<&'static crate::op::Schema> {
                let $packed = self;
                $inside.schema()
            }

            fn inputs(&self) -> &[&'static str] {
                let $packed = self;
                $inside.inputs()
            }

            fn infer(&self, inputs: &[crate::TensorDesc]) -> crate::Result<Vec<crate::TensorDesc>> {
                let $packed = self;
                $inside.infer(inputs)
            }

            fn preferred(
                &self,
                key: crate::key::DispatchKey,
                inputs: &[crate::TensorDesc],
            ) -> crate::Result<Option<Vec<crate::TensorDesc>>> {
                let $packed = self;
                $inside.preferred(key, inputs)
            }

            fn scratchpad_bytes(&self, inputs: &[crate::TensorDesc]) -> crate::Result<usize> {
                let $packed = self;
                $inside.scratchpad_bytes(inputs)
            }

            #[track_caller]
            fn run(&self, inputs: &[crate::TensorRef<'_>]) -> crate::Result<Vec<crate::Tensor>> {
                let $packed = self;
                crate::operator::Operator::run($inside, inputs)
            }

            #[track_caller]
            fn run_into(
                &self,
                inputs: &[crate::TensorRef<'_>],
                outputs: Vec<crate::TensorMut<'_>>,
                scratchpad: &mut crate::Scratchpad,
            ) -> crate::Result<()> {
                let $packed = self;
                crate::operator::Operator::run_into($inside, inputs, outputs, scratchpad)
            }
        }
    };
}

mod conv;
mod kernels;
mod linear;
mod op;
mod packer;
mod source;

pub use conv::{
    AnyConvPacker, AnyPackedConv, Candidate, ConvPacker, PackedConv, PackedConv1d, PackedConv2d,
    PackedConv3d, PackedConvTranspose, PackedConvTranspose1d, PackedConvTranspose2d, PackedConvTranspose3d,
    PackedStem,
};
pub use linear::PackedLinear;
pub use op::PackedOp;
pub use packer::WeightsPacker;
pub use source::Source;
