//! Packed convolutions: weights validated, batch norm folded in, and reordered once.

mod operator;
mod packed;
mod packer;
mod saved;
mod typed;

use std::panic::Location;

pub use self::packer::{AnyConvPacker, Candidate};
pub use self::typed::{
    ConvPacker, PackedConv, PackedConv1d, PackedConv2d, PackedConv3d, PackedConvTranspose,
    PackedConvTranspose1d, PackedConvTranspose2d, PackedConvTranspose3d, PackedStem,
};

use self::packed::Packed;
use super::source::{Source, SourceLayout};
use crate::buffer::Buffer;
use crate::error::{Call, Complaint, Error, Result, Text, counted, fail};
use crate::kernels::conv::call::elements;
use crate::kernels::conv::epilogue::{Finish, channel_values, check_operands};
use crate::kernels::conv::implementation::{ConvOperands, ConvTypes, Problem};
use crate::kernels::conv::{Algorithm, ConvGeometry, weights};
use crate::layout::dims::Dims;
use crate::op::results::new_result;
use crate::ops::conv::Fusion;
use crate::post_ops::PostOps;
use crate::scratchpad::Scratchpad;
use crate::tensor::any::check_dtype;
use crate::tensor::any::{Operand, TensorMut, TensorRef};
use crate::tensor::desc::TensorDesc;
use crate::tensor::quantization::refuse;
use crate::tensor::strided::StridedTensor;
use crate::threads;

/// Why a quantised operand is refused.
const NOT_READ: &str = "packed weights do not read its scales and zero points";

/// A convolution of any rank and direction whose weights have the layout that its kernel reads. Running it reorders nothing.
///
/// It is for one source: sizes, dtype, layout and number of threads. Packed for one image, it runs any batch. If oneDNN would need
/// a different weight layout for this batch, the batch is split into smaller ones; the ledger has an entry for each. Packed for
/// more images, a batch that is no multiple of them may be a `PackMismatch`. Cheap to share between threads, which
/// may all run it at once. The kernels of 64 other batch sizes are kept; the first call with a batch size makes its kernel, and
/// only calls with the same size wait for it.
///
/// [`PackedConv`] is the same for a rank and a direction that the program knows.
pub struct AnyPackedConv {
    g: ConvGeometry,
    source: Source,
    to: SourceLayout,
    types: ConvTypes,
    bias: Option<Vec<f32>>,
    post_ops: PostOps,
    allow_reference: bool,
    packed: Packed,
    /// How many of its values are subnormal numbers.
    subnormals: usize,
}

impl AnyPackedConv {
    /// What it was packed for.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether it is a network's stem: a strided source and a blocked result.
    pub fn is_stem(&self) -> bool {
        self.source.layout != self.to
    }

    /// Name of the weights' layout: oneDNN's letters where it chose; `dense` for the strided kernel in Rust; for the
    /// blocked ones a layout's name, or `tiled` where it lies in an order of its own; `winograd2` or `winograd4` for weights
    /// that were transformed ahead.
    pub fn weights_layout(&self) -> String {
        self.packed.layout.clone()
    }

    /// **Bytes** of packed weights and bias.
    pub fn bytes(&self) -> usize {
        self.packed.weights.bytes().len() + self.bias.as_ref().map_or(0, |b| b.len() * 4)
    }

    /// How many weights are subnormal numbers (below 1.18e-38, and not 0), with a folded batch norm in them: they can cost
    /// time in every run, see [`ConvPacker::flush_subnormals`].
    pub fn subnormals(&self) -> usize {
        self.subnormals
    }

    /// A plain copy of the packed weights, as they run: with a folded batch norm in them, the groups (where there is more than
    /// one) apart, and output channels before input channels, also of a transposed convolution.
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[track_caller]
    pub fn unpack_weights(&self) -> Result<StridedTensor> {
        let plain = weights::unpack(&*self.packed.main, &self.g, &self.packed.weights, Location::caller())?;
        self.types.plain_weights(plain)
    }

    /// Name of the kernel that runs it, as the ledger has it.
    pub fn implementation(&self) -> String {
        self.packed.main.name().into()
    }

    /// How it is computed.
    pub fn algorithm(&self) -> Algorithm {
        self.packed.implementation.algorithm()
    }

    /// Shape of the result for the source that it was packed for.
    pub fn dst_dims(&self) -> Dims {
        self.g.dst_dims()
    }

    /// The result as the source of the next packed op, for the source that it was packed for.
    pub fn dst_source(&self) -> Source {
        Source { dims: self.g.dst_dims(), layout: self.to, ..self.source.clone() }
    }

    /// Runs the convolution.
    ///
    /// # Errors
    /// `PackMismatch` when `x` is not what the weights were packed for: it says what they were packed for. `ForkedProcess`,
    /// `StackTooSmall`.
    #[track_caller]
    pub fn run<T: Operand>(&self, x: &T) -> Result<T> {
        self.run_fused(x, Fusion::default())
    }

    /// Runs the convolution with the operands of its post-ops.
    ///
    /// # Errors
    /// As [`run`](Self::run), and for post-op operands of the wrong shape, layout or number.
    #[track_caller]
    pub fn run_fused<T: Operand>(&self, x: &T, fusion: Fusion<'_, T>) -> Result<T> {
        let g = self.geometry(x.tensor_ref())?;
        let mut dst: T = self.result_for(&g, x.tensor_ref())?;
        let (residual, channel) = operands(&fusion);
        self.write(&g, x.tensor_ref(), residual, &channel, dst.tensor_mut(), Location::caller(), None)?;
        Ok(dst)
    }

    /// Runs the convolution into a tensor of the caller's.
    ///
    /// # Errors
    /// As [`run_fused`](Self::run_fused); `UnsupportedDType`, `ShapeMismatch`, `LayoutMismatch` or `Aliasing` when `dst` is
    /// not of the result's dtype, shape and layout, or shares its storage with another tensor. `dst` is then as it was.
    #[track_caller]
    pub fn run_into<T: Operand>(&self, x: &T, fusion: Fusion<'_, T>, dst: &mut T) -> Result<()> {
        let g = self.geometry(x.tensor_ref())?;
        let (residual, channel) = operands(&fusion);
        self.write(&g, x.tensor_ref(), residual, &channel, dst.tensor_mut(), Location::caller(), None)
    }

    fn result_for<T: Operand>(&self, g: &ConvGeometry, x: TensorRef<'_>) -> Result<T> {
        T::from_tensor(new_result(g.op, &self.result_desc(g)?)?).map_err(|_| {
            Error::LayoutMismatch(Complaint::new(
                g.op,
                "x",
                x.describe(),
                format!("a stem's result, in {}, is of another type than its source", self.to),
                Text::from("call ")
                    + Call::StemRun
                    + " or "
                    + Call::StemRunFused
                    + " of the "
                    + Call::PackedStem
                    + ", or pass a `Tensor`",
            ))
        })
    }

    /// What comes out.
    fn result_desc(&self, g: &ConvGeometry) -> Result<TensorDesc> {
        let dims = g.dst_dims();
        match self.to {
            SourceLayout::Strided(format) => TensorDesc::strided(&dims, self.types.dst, format),
            SourceLayout::Blocked(layout) => TensorDesc::blocked(&dims, self.types.dst, &layout),
        }
    }

    /// The geometry for this source, which may have another batch than the one packed for.
    fn geometry(&self, x: TensorRef<'_>) -> Result<ConvGeometry> {
        threads::enter(self.g.op)?;
        refuse(self.g.op, "x", x, NOT_READ)?;
        let s = &self.source;
        let layout_fits = match (x, s.layout) {
            // Without elements there is no layout to get wrong.
            (TensorRef::Strided(t), SourceLayout::Strided(f)) => t.numel() == 0 || t.is_contiguous(f),
            (TensorRef::Blocked(t), SourceLayout::Blocked(l)) => *t.layout() == l,
            _ => false,
        };
        let dims_fit = x.dims().len() == s.dims.len() && x.dims().get(1..) == s.dims.get(1..);
        let threads = threads::current_threads();
        if layout_fits && dims_fit && x.dtype() == s.dtype && threads == s.threads {
            return Ok(ConvGeometry { n: x.dims()[0], ..self.g });
        }
        fail!(
            PackMismatch,
            self.g.op,
            "x",
            format!("{} on {}", x.describe(), counted(threads, "thread")),
            format!("the weights were packed for {s} (any batch)"),
            Text::from("bring the source into that form, or pack the weights for this one with ")
                + Call::PackForTensor
        )
    }

    /// Checks the operands of the post-ops, and that the residual lies as the result does.
    fn check_operands(
        &self,
        g: &ConvGeometry,
        residual: Option<TensorRef<'_>>,
        channel: &[TensorRef<'_>],
    ) -> Result<()> {
        for &t in channel {
            refuse(g.op, "channel", t, NOT_READ)?;
        }
        check_operands(g.op, &self.post_ops, (&g.dst_dims(), 1, self.types.residual()), residual, channel)?;
        residual.map_or(Ok(()), |r| self.check_place(g, "residual", r))
    }

    #[allow(clippy::too_many_arguments)]
    fn write(
        &self,
        g: &ConvGeometry,
        x: TensorRef<'_>,
        residual: Option<TensorRef<'_>>,
        channel: &[TensorRef<'_>],
        mut dst: TensorMut<'_>,
        location: &'static Location<'static>,
        scratchpad: Option<&mut Scratchpad>,
    ) -> Result<()> {
        self.check_operands(g, residual, channel)?;
        check_dtype(g.op, "dst", dst.as_ref(), self.types.dst, "it is the dtype of the result")?;
        self.check_place(g, "dst", dst.as_ref())?;
        let bytes: Option<&mut [u8]> = match &mut dst {
            TensorMut::Strided(t) => t.bytes_mut(),
            TensorMut::Blocked(t) => t.bytes_mut(),
            TensorMut::Opaque(_) => None,
        };
        let bytes = bytes.ok_or_else(|| Buffer::not_for_writing(g.op))?;
        if g.dst_dims().checked_product() == Some(0) {
            return Ok(());
        }
        let channel = channel_values(channel)?;
        let operands = ConvOperands {
            src: elements(x),
            weights: self.packed.weights.bytes(),
            finish: Finish { bias: self.bias.as_deref(), post_ops: &self.post_ops, channel: &channel },
            residual: residual.map(elements),
            location,
        };
        let problem = (&self.problem(g), &self.source);
        self.packed.run(problem, x.key(), &operands, bytes, scratchpad)?;
        match dst.as_ref() {
            TensorRef::Blocked(t) => t.check_tail_if_asked(),
            _ => Ok(()),
        }
    }

    fn problem<'a>(&'a self, g: &'a ConvGeometry) -> Problem<'a> {
        Problem {
            g,
            types: self.types,
            src: self.source.layout,
            dst: self.to,
            weights: None,
            bias: self.bias.is_some(),
            post_ops: &self.post_ops,
            allow_reference: self.allow_reference,
            threads: self.source.threads,
        }
    }

    /// Checks that a tensor has the shape and the layout of the result.
    fn check_place(&self, g: &ConvGeometry, name: &'static str, t: TensorRef<'_>) -> Result<()> {
        refuse(g.op, name, t, NOT_READ)?;
        if t.dims() != g.dst_dims().as_slice() {
            let rule = format!("the result is {} {}", g.dst_dims(), self.types.dst);
            fail!(ShapeMismatch, g.op, name, t.describe(), rule, "pass a tensor of that shape");
        }
        match (t, self.to) {
            (TensorRef::Strided(t), SourceLayout::Strided(f)) if t.numel() == 0 || t.is_contiguous(f) => {
                Ok(())
            }
            (TensorRef::Blocked(t), SourceLayout::Blocked(l)) if *t.layout() == l => Ok(()),
            _ => {
                let rule = format!("the result is in {}", self.to);
                let remedy = "reorder it, or pass a tensor in that layout";
                fail!(LayoutMismatch, g.op, name, t.describe(), rule, remedy)
            }
        }
    }
}

impl std::fmt::Debug for AnyPackedConv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} packed as {} for {}, {} bytes, {}",
            self.g.op,
            self.weights_layout(),
            self.source,
            self.bytes(),
            self.implementation()
        )
    }
}

/// The operands of post-ops, as a kernel takes them.
fn operands<'a, T: Operand>(fusion: &Fusion<'a, T>) -> (Option<TensorRef<'a>>, Vec<TensorRef<'a>>) {
    let residual = fusion.residual.map(Operand::tensor_ref);
    (residual, fusion.channel.iter().map(|&c| TensorRef::Strided(c)).collect())
}
