//! Winograd's convolution as an implementation of the list.

use std::sync::Arc;

use super::WinogradPlan;
use crate::buffer::Buffer;
use crate::error::{Call, Result, Text};
use crate::kernels::conv::implementation::{
    ConvImplementation, ConvKernel, ConvOperands, NoKernel, Problem, Refusal,
};
use crate::kernels::conv::tiled::{self, Plain};
use crate::kernels::conv::weights::PlainWeights;
use crate::kernels::conv::{Algorithm, ConvGeometry};
use crate::layout::blocked::Layout;
use crate::machine::machine;
use crate::scratchpad::Scratchpad;

/// Winograd's algorithm with tiles of so many outputs along each axis.
pub(crate) struct Winograd {
    /// 2 or 4.
    pub outputs: usize,
    /// Whether weights are transformed when they are packed, else in each run.
    pub ahead: bool,
}

/// Groups of up to so many input channels are transformed ahead: above, the transformed weights take longer to read than the
/// plain ones to transform.
const AHEAD: usize = 128;
/// Tiles of 2 take nearly twice the multiplications: they are for images of which tiles of 4 cover less than this share.
const GOOD_COVERAGE: f64 = 0.9;

/// What precedes the names of our own kernels in the ledger.
const PREFIX: &str = "blocktensor:";

fn in_ledger(w: &Winograd) -> &'static str {
    match (w.outputs, w.ahead) {
        (2, true) => "blocktensor:winograd2",
        (2, false) => "blocktensor:winograd2:each_run",
        (_, true) => "blocktensor:winograd4",
        (_, false) => "blocktensor:winograd4:each_run",
    }
}

impl ConvImplementation for Winograd {
    fn name(&self) -> &'static str {
        &in_ledger(self)[PREFIX.len()..]
    }

    fn algorithm(&self) -> Algorithm {
        Algorithm::Winograd(self.outputs)
    }

    fn only_packed(&self) -> bool {
        self.ahead
    }

    fn check(&self, p: &Problem<'_>) -> Result<(), Refusal> {
        let layout = p.blocked();
        if let Some(rule) = misfit(p.g, layout.map_or(1, |l| l.block_of(1))) {
            return Err(Refusal::Misfit { rule, remedy: "pass `direct`".into() });
        }
        match layout {
            None => Err(Refusal::Misfit {
                rule: "it is for blocked tensors, and x is strided",
                remedy: Text::from("reorder x and the weights with ")
                    + Call::ToAnyBlocked
                    + ", or pass `direct`",
            }),
            Some(layout) => tiled::check_layout(p.g, layout),
        }
    }

    fn is_usual(&self, p: &Problem<'_>) -> bool {
        self.ahead == (p.g.c / p.g.groups <= AHEAD)
    }

    fn is_promising(&self, p: &Problem<'_>) -> bool {
        if !tiled::fills_vectors(p) {
            return false;
        }
        let share = |size: usize| size as f64 / size.max(1).next_multiple_of(4) as f64;
        self.outputs == 4 || p.g.output.iter().map(|&size| share(size)).product::<f64>() <= GOOD_COVERAGE
    }

    fn work(&self, p: &Problem<'_>) -> f64 {
        let tiles = p.g.n * p.g.output.iter().map(|size| size.div_ceil(self.outputs)).product::<usize>();
        let pairs = (p.g.weight_count() / 9) as f64;
        let costs = &machine().costs;
        let weights = if self.ahead { 0.0 } else { costs.winograd_weights as f64 * pairs };
        pairs * tiles as f64 * self.points() as f64 * costs.winograd_steps + weights
    }

    fn extra_bytes(&self, p: &Problem<'_>) -> usize {
        if self.ahead { p.g.weight_count() / 9 * self.points() * size_of::<f32>() } else { 0 }
    }

    fn kernel(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel> {
        self.check(p)?;
        let layout = p.blocked().ok_or(Refusal::Layout)?;
        let plan = WinogradPlan::new(p.g, layout, self.outputs, self.ahead, p.threads)?;
        Ok(Arc::new(plan.ok_or(Refusal::Layout)?))
    }
}

impl Winograd {
    fn points(&self) -> usize {
        (self.outputs + 2) * (self.outputs + 2)
    }
}

/// Why a convolution cannot be computed by Winograd's algorithm, in blocks of so many channels; `None` if it can.
fn misfit(g: &ConvGeometry, block: usize) -> Option<&'static str> {
    let each = |list: &[usize], value: usize| list.iter().all(|&v| v == value);
    if g.transposed || g.input.len() != 2 {
        return Some("it is for 2-D convolutions that are not transposed");
    }
    if !each(&g.kernel, 3) || !each(&g.stride, 1) || !each(&g.dilation, 1) {
        return Some("it is for 3x3 kernels with stride 1 and dilation 1");
    }
    if g.groups > 1 && (g.c / g.groups < block || g.o / g.groups < block) {
        return Some("each group has at least a block of input channels, and of output channels");
    }
    None
}

impl WinogradPlan {
    fn implementation(&self) -> Winograd {
        Winograd { outputs: self.outputs, ahead: self.ahead }
    }
}

impl ConvKernel for WinogradPlan {
    fn name(&self) -> &str {
        in_ledger(&self.implementation())
    }

    fn weights_name(&self) -> Result<String> {
        Ok(if self.ahead { format!("winograd{}", self.outputs) } else { self.tiled.weights_name() })
    }

    fn weight_bytes(&self) -> usize {
        self.weight_vectors() * self.tiled.block * size_of::<f32>()
    }

    fn takes(&self, weights: &Layout) -> bool {
        !self.ahead && self.tiled.takes(weights)
    }

    fn order(&self, w: &PlainWeights<'_>) -> Result<Arc<Buffer>> {
        self.transformed(&Plain::of(w)).map(Arc::new)
    }

    fn unorder(&self, packed: &[u8], plain: &mut [f32]) -> Result<()> {
        self.tiled.unpack(self.plain(bytemuck::cast_slice(packed)), plain);
        Ok(())
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
        self.implementation().kernel(p)
    }
}
