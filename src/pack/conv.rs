//! Packed convolutions: weights validated, batch norm folded in, and reordered once.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use super::source::{Source, SourceLayout};
use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::{Complaint, Error, Result, Unsupported, UnsupportedOp, fail};
use crate::kernels::conv::blocked::other_layout;
use crate::kernels::conv::direct::{self, DirectPlan};
use crate::kernels::conv::finish::{Finish, channel_values};
use crate::kernels::conv::weights::unpack_direct;
use crate::kernels::conv::winograd::WinogradPlan;
use crate::kernels::conv::{ConvGeometry, GemmConv, check_fusion, gemm_conv, strided};
use crate::kernels::timed_as;
use crate::key::DispatchKey;
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::op::results::new_result;
use crate::ops::conv::{Direction, Forward, Fusion, Transposed};
use crate::post_ops::PostOps;
use crate::scratchpad::Scratchpad;
use crate::tensor::any::check_f32;
use crate::tensor::any::{Operand, TensorMut, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::desc::TensorDesc;
use crate::tensor::strided::StridedTensor;
use crate::threads;

#[cfg(feature = "onednn")]
use engine::Packed;
pub use packer::ConvPacker;

/// A convolution whose weights have the layout that its kernel reads. Running it reorders nothing.
///
/// It is for one source: sizes, dtype, layout and number of threads. Packed for one image, it runs any batch. If oneDNN would need
/// a different weight layout for this batch, the batch is split into smaller ones; the ledger has an entry for each. Packed for
/// more images, a batch that is no multiple of them may be a `PackMismatch`. Cheap to share between threads, which
/// may all run it at once. The kernels of 64 other batch sizes are kept; the first call with a batch size makes its kernel, and
/// only calls with the same size wait for it.
pub struct PackedConv<const N: usize, D: Direction = Forward> {
    g: ConvGeometry,
    source: Source,
    to: SourceLayout,
    bias: Option<Vec<f32>>,
    post_ops: PostOps,
    allow_reference: bool,
    weights: Weights,
    /// How many of its values are subnormal numbers.
    subnormals: usize,
    direction: PhantomData<D>,
}

/// A packed 1-D convolution.
pub type PackedConv1d = PackedConv<1>;
/// A packed 2-D convolution.
pub type PackedConv2d = PackedConv<2>;
/// A packed 3-D convolution.
pub type PackedConv3d = PackedConv<3>;

/// A packed transposed convolution.
pub type PackedConvTranspose<const N: usize> = PackedConv<N, Transposed>;
/// A packed 1-D transposed convolution.
pub type PackedConvTranspose1d = PackedConvTranspose<1>;
/// A packed 2-D transposed convolution.
pub type PackedConvTranspose2d = PackedConvTranspose<2>;
/// A packed 3-D transposed convolution.
pub type PackedConvTranspose3d = PackedConvTranspose<3>;

/// A packed convolution that crosses keys on purpose: it reads a plain NCHW source of few channels and writes a
/// blocked result, and no reorder is paid.
#[derive(Debug)]
pub struct PackedStem<const N: usize>(PackedConv<N>);

enum Weights {
    #[cfg(feature = "onednn")]
    Packed(Packed),
    /// Dense and row-major, for the strided kernel in Rust.
    Plain(Box<StridedTensor>),
    /// For the blocked kernel in Rust.
    Direct(Box<DirectWeights>),
    /// For Winograd's algorithm.
    Winograd(Box<WinogradWeights>),
}

struct DirectWeights {
    data: Arc<Buffer>,
    /// For the batch that was packed for.
    plan: DirectPlan,
}

struct WinogradWeights {
    data: Arc<Buffer>,
    /// For the batch that was packed for.
    plan: WinogradPlan,
}

impl<const N: usize, D: Direction> PackedConv<N, D> {
    /// What it was packed for.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Name of the weights' layout: oneDNN's letters where it chose; `dense` for the strided kernel in Rust; for the
    /// blocked one a layout's name, or `direct` where it lies in an order of its own; `winograd2` or `winograd4` for weights
    /// that were transformed ahead.
    pub fn weights_layout(&self) -> String {
        match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => p.layout_name().into(),
            Weights::Plain(_) => "dense".into(),
            Weights::Direct(d) => d.plan.weights_name(&self.g),
            Weights::Winograd(w) => w.plan.weights_name(&self.g),
        }
    }

    /// **Bytes** of packed weights and bias.
    pub fn bytes(&self) -> usize {
        let weights = match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => p.bytes(),
            Weights::Plain(t) => t.numel() * t.dtype().size_bytes(),
            Weights::Direct(d) => d.data.len(),
            Weights::Winograd(w) => w.data.len(),
        };
        weights + self.bias.as_ref().map_or(0, |b| b.len() * 4)
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
        match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => p.unpack(&self.g, Location::caller()),
            Weights::Plain(t) => t.reshape(&self.g.weight_dims()),
            Weights::Direct(d) => unpack_direct(&self.g, &d.plan, d.data.as_slice(), Location::caller()),
            Weights::Winograd(w) => {
                let plain = w.plan.plain(w.data.as_slice());
                unpack_direct(&self.g, &w.plan.direct, plain, Location::caller())
            }
        }
    }

    /// Name of the implementation that runs it.
    pub fn implementation(&self) -> String {
        match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => p.implementation().to_string(),
            Weights::Plain(_) => "blocktensor:gemm".into(),
            Weights::Direct(_) => direct::NAME.into(),
            Weights::Winograd(w) => w.plan.name().into(),
        }
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
    /// not f32 of the result's shape and layout, or shares its storage with another tensor. `dst` is then as it was.
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
                "call `run` or `run_fused` of the `PackedStem`, or pass a `Tensor`",
            ))
        })
    }

    /// What comes out.
    fn result_desc(&self, g: &ConvGeometry) -> Result<TensorDesc> {
        let dims = g.dst_dims();
        match self.to {
            SourceLayout::Strided(format) => TensorDesc::strided(&dims, DType::F32, format),
            SourceLayout::Blocked(layout) => TensorDesc::blocked(&dims, DType::F32, &layout),
        }
    }

    /// The geometry for this source, which may have another batch than the one packed for.
    fn geometry(&self, x: TensorRef<'_>) -> Result<ConvGeometry> {
        threads::enter(self.g.op)?;
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
            format!("{} on {threads} threads", x.describe()),
            format!("the weights were packed for {s} (any batch)"),
            "bring the source into that form, or pack the weights for this one with `pack_for(&Source::of(&x)?)`"
        )
    }

    /// Checks the operands of the post-ops, and that the residual and a destination lie as the result does.
    fn check_operands(
        &self,
        g: &ConvGeometry,
        residual: Option<TensorRef<'_>>,
        channel: &[TensorRef<'_>],
    ) -> Result<()> {
        if residual.is_some() != self.post_ops.takes_residual() {
            let got = residual.map_or("nothing".into(), TensorRef::describe);
            let rule = format!("the post-ops are `{}`", self.post_ops);
            let remedy = match residual {
                Some(_) => "add `.residual()` to the parameters before packing, or leave it out",
                None => "pass one in `Fusion`, or leave `.residual()` out of the parameters",
            };
            fail!(InvalidArgument, g.op, "residual", got, rule, remedy);
        }
        check_fusion(g.op, g, &self.post_ops, residual, channel)?;
        channel.iter().try_for_each(|&c| check_f32(g.op, "channel", c, "it is f32"))?;
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
        self.check_place(g, "dst", dst.as_ref())?;
        let bytes: Option<&mut [u8]> = match &mut dst {
            TensorMut::Strided(t) => t.data_mut::<f32>().map(bytemuck::cast_slice_mut),
            TensorMut::Blocked(t) => t.data_mut::<f32>().map(bytemuck::cast_slice_mut),
            TensorMut::Opaque(_) => None,
        };
        let bytes = bytes.ok_or_else(|| Buffer::not_for_writing(g.op))?;
        if g.dst_dims().checked_product() == Some(0) {
            return Ok(());
        }
        self.compute(g, x, residual, channel, bytes, location, scratchpad)?;
        match dst.as_ref() {
            TensorRef::Blocked(t) => t.check_tail_if_asked(),
            _ => Ok(()),
        }
    }

    fn finish<'a>(&'a self, channel: &'a [Cow<'a, [f32]>]) -> Finish<'a> {
        Finish { bias: self.bias.as_deref(), post_ops: &self.post_ops, channel }
    }

    #[allow(clippy::too_many_arguments)]
    fn compute(
        &self,
        g: &ConvGeometry,
        x: TensorRef<'_>,
        residual: Option<TensorRef<'_>>,
        channel: &[TensorRef<'_>],
        bytes: &mut [u8],
        location: &'static Location<'static>,
        scratchpad: Option<&mut Scratchpad>,
    ) -> Result<()> {
        match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => p.run(self, g, x, residual, channel, bytes, location, scratchpad),
            Weights::Plain(w) => {
                let channel = channel_values(channel)?;
                let SourceLayout::Strided(format) = self.to else { return Err(not_built(g, &self.source)) };
                let TensorRef::Strided(x) = x else { return Err(not_built(g, &self.source)) };
                let _ = (location, scratchpad);
                let strides = format.strides(g.op, &g.dst_dims())?;
                let conv = GemmConv {
                    g,
                    src: x.data::<f32>(),
                    src_strides: x.strides(),
                    weights: w.data::<f32>(),
                    dst_strides: &strides,
                    finish: self.finish(&channel),
                    residual: residual.and_then(strided::plain),
                };
                let layouts = || format!("{} -> {}", self.source.layout, self.to);
                timed_as(g.op, DispatchKey::STRIDED, "blocktensor:gemm", layouts, || {
                    gemm_conv(&conv, bytemuck::cast_slice_mut(bytes))
                })
            }
            Weights::Direct(d) => {
                let channel = channel_values(channel)?;
                let operands = self.operands(x, d.data.as_slice(), &channel, residual);
                let other = if g.n == self.g.n { None } else { self.plan_for(g)? };
                let plan = other.as_ref().unwrap_or(&d.plan);
                let layouts = || format!("{} -> {}", self.source.layout, self.to);
                timed_as(g.op, x.key(), direct::NAME, layouts, || {
                    plan.run(&operands, bytemuck::cast_slice_mut(bytes))
                })
            }
            Weights::Winograd(w) => {
                let channel = channel_values(channel)?;
                let operands = self.operands(x, w.data.as_slice(), &channel, residual);
                let other = if g.n == self.g.n { None } else { self.winograd_for(g, &w.plan)? };
                let plan = other.as_ref().unwrap_or(&w.plan);
                let layouts = || format!("{} -> {}", self.source.layout, self.to);
                timed_as(g.op, x.key(), plan.name(), layouts, || {
                    plan.run(&operands, bytemuck::cast_slice_mut(bytes), scratchpad)
                })
            }
        }
    }

    /// Checks that a tensor has the shape and the layout of the result.
    fn check_place(&self, g: &ConvGeometry, name: &'static str, t: TensorRef<'_>) -> Result<()> {
        check_f32(g.op, name, t, "the result is f32")?;
        if t.dims() != g.dst_dims().as_slice() {
            let rule = format!("the result is {} f32", g.dst_dims());
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

fn no_kernel(g: &ConvGeometry, source: &Source, layout: &Layout) -> Error {
    Error::UnsupportedOp(Box::new(UnsupportedOp {
        op: g.op.into(),
        key: DispatchKey::BLOCKED.name().into(),
        reason: Unsupported::Layout { layout: layout.to_string() },
        operands: vec![format!("x {source}")],
        available: vec![DispatchKey::STRIDED.name().into()],
        remedy: other_layout(g.input.len() + 2),
    }))
}

/// A stem, without oneDNN.
fn not_built(g: &ConvGeometry, source: &Source) -> Error {
    Error::UnsupportedOp(Box::new(UnsupportedOp {
        op: g.op.into(),
        key: DispatchKey::BLOCKED.name().into(),
        reason: Unsupported::EngineNotBuilt,
        operands: vec![format!("x {source}")],
        available: vec![DispatchKey::STRIDED.name().into(), DispatchKey::BLOCKED.name().into()],
        remedy: "reorder the source with `to_blocked` and pack for that with `pack_for(&Source::of(&x)?)`, or build with \
                 feature `onednn`"
            .into(),
    }))
}

impl<const N: usize, D: Direction> std::fmt::Debug for PackedConv<N, D> {
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

impl<const N: usize> PackedStem<N> {
    /// Runs the convolution: a plain source, a blocked result.
    ///
    /// # Errors
    /// As [`PackedConv::run`].
    #[track_caller]
    pub fn run(&self, x: &StridedTensor) -> Result<BlockedTensor> {
        self.run_fused(x, Fusion::default())
    }

    /// Runs the convolution with the operands of its post-ops; the residual is blocked, as the result.
    ///
    /// # Errors
    /// As [`PackedConv::run_fused`].
    #[track_caller]
    pub fn run_fused(&self, x: &StridedTensor, fusion: Fusion<'_, BlockedTensor>) -> Result<BlockedTensor> {
        let (conv, x) = (&self.0, TensorRef::Strided(x));
        let g = conv.geometry(x)?;
        let mut dst: BlockedTensor = conv.result_for(&g, x)?;
        let (residual, channel) = operands(&fusion);
        conv.write(&g, x, residual, &channel, dst.tensor_mut(), Location::caller(), None)?;
        Ok(dst)
    }

    /// The convolution inside: what it was packed for, and how.
    pub fn packed(&self) -> &PackedConv<N> {
        &self.0
    }
}

/// The operands of post-ops, as a kernel takes them.
fn operands<'a, T: Operand>(fusion: &Fusion<'a, T>) -> (Option<TensorRef<'a>>, Vec<TensorRef<'a>>) {
    let residual = fusion.residual.map(Operand::tensor_ref);
    (residual, fusion.channel.iter().map(|&c| TensorRef::Strided(c)).collect())
}

#[cfg(feature = "onednn")]
mod engine;
mod operator;
mod packer;
mod rust;
mod saved;
