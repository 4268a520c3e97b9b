//! A way to compute a convolution, as one object: what it is for, how its weights lie, and what runs.

use std::panic::Location;
use std::sync::Arc;

use super::epilogue::Finish;
use super::weights::PlainWeights;
use super::{Algorithm, ConvGeometry};
use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::{Error, Result, Text, Unsupported};
use crate::key::DispatchKey;
use crate::layout::blocked::Layout;
use crate::layout::either::SourceLayout;
use crate::layout::identity::Identity;
use crate::ledger;
use crate::op::kernel::Engine;
use crate::post_ops::PostOps;
use crate::scratchpad::Scratchpad;

/// The dtypes of source, weights and result, together. Bias and the numbers of post-ops are f32. What a source of integers has is in
/// `integers.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConvTypes {
    pub src: DType,
    pub weights: DType,
    pub dst: DType,
}

impl ConvTypes {
    pub const F32: ConvTypes = ConvTypes::all_of(DType::F32);
    #[cfg_attr(not(feature = "onednn"), allow(dead_code))]
    pub const BF16: ConvTypes = ConvTypes::all_of(DType::BF16);

    /// Source, weights and result of one dtype.
    pub const fn all_of(dtype: DType) -> ConvTypes {
        ConvTypes { src: dtype, weights: dtype, dst: dtype }
    }
}

/// What is to be computed: all that decides which implementations can, and what they prepare.
#[derive(Clone, Copy)]
// Our own kernels take them all, whatever they are.
#[cfg_attr(not(feature = "onednn"), allow(dead_code))]
pub(crate) struct Problem<'a> {
    pub g: &'a ConvGeometry,
    pub types: ConvTypes,
    pub src: SourceLayout,
    pub dst: SourceLayout,
    /// The layout of weights that a call gets in blocked form; of others the kernel chooses it.
    pub weights: Option<&'a Layout>,
    pub bias: bool,
    pub post_ops: &'a PostOps,
    pub allow_reference: bool,
    pub threads: usize,
}

impl Problem<'_> {
    /// The layout of source and result, if both are in the same blocked one.
    pub fn blocked(&self) -> Option<&Layout> {
        match (&self.src, &self.dst) {
            (SourceLayout::Blocked(src), SourceLayout::Blocked(dst)) if src == dst => Some(src),
            _ => None,
        }
    }
}

/// Why an implementation does not compute a problem. The door that asked makes an error of it.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It is for sources and results of other kinds, which is no news to the user: another implementation is for these.
    OtherKinds,
    /// It is for other problems.
    Misfit { rule: &'static str, remedy: Text },
    /// It is for such tensors, but not in this layout.
    Layout,
    /// oneDNN says why.
    #[cfg_attr(not(feature = "onednn"), allow(dead_code))]
    Engine(Unsupported),
}

/// Why there is no kernel.
#[derive(Debug)]
pub(crate) enum NoKernel {
    Refused(Refusal),
    Failed(Error),
}

impl From<Refusal> for NoKernel {
    fn from(refusal: Refusal) -> NoKernel {
        NoKernel::Refused(refusal)
    }
}

impl From<Error> for NoKernel {
    fn from(error: Error) -> NoKernel {
        NoKernel::Failed(error)
    }
}

/// A way to compute convolutions. All there are stand in [`ALL`](super::implementations::ALL).
pub(crate) trait ConvImplementation: Send + Sync {
    /// Its name in the list, and in files of packed weights.
    fn name(&self) -> &'static str;

    /// What decides how it rounds.
    fn algorithm(&self) -> Algorithm {
        Algorithm::Direct
    }

    /// The dtypes that it computes with. It is asked for no others.
    fn types(&self) -> &'static [ConvTypes] {
        &[ConvTypes::F32]
    }

    /// Who wrote its kernels.
    fn engine(&self) -> Engine {
        Engine::Rust
    }

    /// Whether it is for packed weights alone: it does more work for them ahead than a single run saves.
    fn only_packed(&self) -> bool {
        false
    }

    /// Whether it can be for this problem, without making a kernel. Making one has the last word.
    fn check(&self, p: &Problem<'_>) -> Result<(), Refusal>;

    /// Whether packing takes it where it is not asked for by name.
    fn is_usual(&self, _: &Problem<'_>) -> bool {
        true
    }

    /// Whether a planner should measure it beside the others: it may be the fastest somewhere on problems like this one.
    fn is_promising(&self, _: &Problem<'_>) -> bool {
        true
    }

    /// How many multiply-adds of a direct convolution take as long.
    fn work(&self, p: &Problem<'_>) -> f64 {
        p.g.multiply_adds()
    }

    /// **Bytes** of packed weights beyond those of the plain ones.
    fn extra_bytes(&self, _: &Problem<'_>) -> usize {
        0
    }

    /// The kernel for a problem with elements.
    fn kernel(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel>;
}

/// An implementation made ready for one problem.
pub(crate) trait ConvKernel: Send + Sync {
    /// Its name in the ledger.
    fn name(&self) -> &str;

    /// The name of its weights' layout.
    fn weights_name(&self) -> Result<String>;

    /// **Bytes** of its weights.
    fn weight_bytes(&self) -> usize;

    /// What tells the layout of its weights from others, where its name does not.
    fn identity(&self) -> Result<Option<Identity>> {
        Ok(None)
    }

    /// Whether it reads blocked weights in this layout as they lie.
    fn takes(&self, _: &Layout) -> bool {
        false
    }

    /// Whether it reads weights that are dense and row-major as they lie.
    fn takes_row_major(&self) -> bool {
        false
    }

    /// Whether source and residual of strided tensors may have any strides; else they lie as the problem says.
    fn takes_any_strides(&self) -> bool {
        false
    }

    /// A copy of plain weights in the order and the dtype in which it reads them.
    fn order(&self, weights: &PlainWeights<'_>) -> Result<Arc<Buffer>>;

    /// Weights in its order as plain ones: dense and row-major, groups apart.
    fn unorder(&self, packed: &[u8], plain: &mut [f32]) -> Result<()>;

    /// **Bytes** of scratchpad of a run.
    fn scratchpad_bytes(&self) -> usize {
        0
    }

    /// Computes every element of the result, its padding too.
    fn run(
        &self,
        operands: &ConvOperands<'_>,
        dst: &mut [u8],
        scratchpad: Option<&mut Scratchpad>,
    ) -> Result<()>;

    /// The kernel for the same problem with another batch, which reads the same weights.
    fn for_batch(&self, p: &Problem<'_>) -> Result<Arc<dyn ConvKernel>, NoKernel>;
}

/// The elements of a dense tensor, or of a strided one with its strides.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a> {
    /// All of a blocked tensor, its padding too.
    pub bytes: &'a [u8],
    /// In elements; of a blocked tensor none.
    pub strides: &'a [usize],
}

impl<'a> Elements<'a> {
    pub fn f32(self) -> &'a [f32] {
        bytemuck::cast_slice(self.bytes)
    }

    /// One of so many parts of the batch, which is outermost.
    fn part(self, i: usize, parts: usize) -> Elements<'a> {
        let bytes = self.bytes.len() / parts;
        Elements { bytes: &self.bytes[bytes * i..bytes * (i + 1)], ..self }
    }
}

/// What one run reads.
#[derive(Clone, Copy)]
pub(crate) struct ConvOperands<'a> {
    pub src: Elements<'a>,
    pub weights: &'a [u8],
    pub finish: Finish<'a>,
    /// As the result lies, unless the kernel takes any strides.
    pub residual: Option<Elements<'a>>,
    #[cfg_attr(not(feature = "onednn"), allow(dead_code))]
    pub location: &'static Location<'static>,
}

impl ConvOperands<'_> {
    /// Those of one of so many parts of the batch.
    pub fn part(&self, i: usize, parts: usize) -> Self {
        let residual = self.residual.map(|r| r.part(i, parts));
        ConvOperands { src: self.src.part(i, parts), residual, ..*self }
    }
}

/// Runs a kernel, and writes the run into the ledger.
pub(crate) fn run(
    kernel: &dyn ConvKernel,
    (op, key): (&'static str, DispatchKey),
    layouts: impl FnOnce() -> String,
    operands: &ConvOperands<'_>,
    dst: &mut [u8],
    scratchpad: Option<&mut Scratchpad>,
) -> Result<()> {
    if !ledger::is_recording() {
        return kernel.run(operands, dst, scratchpad);
    }
    let start = std::time::Instant::now();
    kernel.run(operands, dst, scratchpad)?;
    ledger::ran(op, key, kernel.name().to_string(), layouts(), start, kernel.scratchpad_bytes());
    Ok(())
}
