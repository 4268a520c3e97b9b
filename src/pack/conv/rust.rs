//! What the blocked kernels in Rust need beside packed weights.

use std::borrow::Cow;

use super::PackedConv;
use crate::error::Result;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::blocked::elements;
use crate::kernels::conv::direct::{self, DirectPlan};
use crate::kernels::conv::winograd::WinogradPlan;
use crate::ops::conv::Direction;
use crate::pack::source::SourceLayout;
use crate::tensor::any::TensorRef;

impl<const N: usize, D: Direction> PackedConv<N, D> {
    /// What a blocked kernel in Rust reads.
    pub(super) fn operands<'a>(
        &'a self,
        x: TensorRef<'a>,
        weights: &'a [f32],
        channel: &'a [Cow<'a, [f32]>],
        residual: Option<TensorRef<'a>>,
    ) -> direct::Operands<'a> {
        direct::Operands {
            src: elements(x).unwrap_or(&[]),
            weights,
            finish: self.finish(channel),
            residual: residual.and_then(elements),
        }
    }

    /// The plan of Winograd's algorithm for another batch, with the weights as they are.
    pub(super) fn winograd_for(&self, g: &ConvGeometry, plan: &WinogradPlan) -> Result<Option<WinogradPlan>> {
        match &self.source.layout {
            SourceLayout::Blocked(layout) => {
                WinogradPlan::new(g, layout, plan.outputs, plan.transform, self.source.threads)
            }
            SourceLayout::Strided(_) => Ok(None),
        }
    }

    /// The plan of the blocked kernel in Rust for another batch.
    pub(super) fn plan_for(&self, g: &ConvGeometry) -> Result<Option<DirectPlan>> {
        match &self.source.layout {
            SourceLayout::Blocked(layout) => DirectPlan::new(g, layout),
            SourceLayout::Strided(_) => Ok(None),
        }
    }
}
