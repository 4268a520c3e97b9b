//! Plain weights on their way to being packed: checked, folded, and laid for a kernel.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use super::{DirectWeights, PackedConv, PackedStem, Weights, WinogradWeights, no_kernel};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::kernels::conv::direct::DirectPlan;
use crate::kernels::conv::weights::{PlainWeights, output_first};
use crate::kernels::conv::winograd::{self, WinogradPlan};
use crate::kernels::conv::{Algorithm, ConvGeometry, WeightTransform};
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::memory::{try_collect, try_copied, try_filled};
use crate::ops::BatchNorm;
use crate::ops::conv::{Conv, Direction, Forward, op_of};
use crate::pack::source::{Source, SourceLayout};
use crate::post_ops::PostOps;
use crate::tensor::any::TensorRef;
use crate::tensor::any::check_f32;
use crate::tensor::strided::StridedTensor;
use crate::threads;

/// Plain weights on their way to being packed: checked, and folded with what follows the convolution.
#[derive(Clone, Debug)]
pub struct ConvPacker<const N: usize, D: Direction = Forward> {
    pub(super) weights: StridedTensor,
    pub(super) bias: Option<Vec<f32>>,
    pub(super) params: Conv<N, D>,
    pub(super) post_ops: PostOps,
    pub(super) transform: Option<WeightTransform>,
}

impl<const N: usize, D: Direction> PackedConv<N, D> {
    /// Takes plain weights `[O, C/groups, k...]` (a transposed convolution's `[C, O/groups, k...]`, as PyTorch has them) or
    /// `[groups, O/groups, C/groups, k...]`, and the bias `[O]`. The result still has to be packed, for a source.
    ///
    /// # Errors
    /// `UnsupportedDType` unless f32; `RankMismatch`, `ShapeMismatch`, `InvalidArgument` for weights, bias or
    /// parameters that do not go together.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(
        weights: &StridedTensor,
        bias: Option<&StridedTensor>,
        params: Conv<N, D>,
    ) -> Result<ConvPacker<N, D>> {
        const { assert!(N >= 1 && N <= 3, "1 to 3 spatial dimensions") };
        let op = op_of(N, D::TRANSPOSED).schema().name;
        threads::enter(op)?;
        for (name, t) in [("weights", Some(weights)), ("bias", bias)] {
            t.map_or(Ok(()), |t| check_f32(op, name, TensorRef::Strided(t), "kernels take f32"))?;
        }
        let numbers = params.numbers();
        let weights = match D::TRANSPOSED {
            true => output_first(op, weights, N, numbers.groups)?,
            false => weights.clone(),
        };
        // Any source that fits shows whether weights, bias and parameters fit each other.
        let grouped = weights.rank() == N + 3;
        let cg = weights.dims().get(if grouped { 2 } else { 1 }).copied().unwrap_or(1);
        let mut probe = Dims::from_slice(&[1, cg.saturating_mul(numbers.groups)]);
        for axis in 0..N {
            let k = weights.dims().get(weights.rank().saturating_sub(N) + axis).copied().unwrap_or(1);
            let reach = numbers.dilation[axis].saturating_mul(k.saturating_sub(1)).saturating_add(1);
            // Of a transposed convolution: enough that its padding leaves something.
            let cut = numbers.padding[axis].saturating_add(numbers.padding[N + axis]);
            probe.push(if D::TRANSPOSED { cut.saturating_add(1) } else { reach });
        }
        ConvGeometry::new(op, N, &probe, weights.dims(), bias.map(StridedTensor::dims), &numbers)?;
        let bias = bias.map(StridedTensor::to_vec::<f32>).transpose()?;
        Ok(ConvPacker { weights, bias, post_ops: params.post_ops()?, transform: None, params })
    }
}

impl<const N: usize> ConvPacker<N> {
    /// Packs for a plain NCHW source of fewer channels than a block, and a blocked result: a network's stem.
    ///
    /// # Errors
    /// As [`pack_for`](Self::pack_for).
    #[track_caller]
    pub fn pack_stem(&self, source: &Source, to: &Layout) -> Result<PackedStem<N>> {
        if !Layout::blocked_activation(N + 2, to.block_of(1)).is_ok_and(|l| l == *to) {
            fail!(
                LayoutMismatch,
                op_of(N, false).schema().name,
                "to",
                to.to_string(),
                format!("a stem writes blocked activations of rank {}", N + 2),
                format!("pass `Layout::native_activation({})?`", N + 2)
            );
        }
        if let SourceLayout::Blocked(from) = source.layout {
            fail!(
                LayoutMismatch,
                op_of(N, false).schema().name,
                "source",
                from.to_string(),
                "a stem reads strided activations",
                "pack for this source with `pack_for`"
            );
        }
        self.pack(source, SourceLayout::Blocked(*to), Location::caller()).map(PackedStem)
    }
}

impl<const N: usize, D: Direction> ConvPacker<N, D> {
    /// Folds a batch norm that follows the convolution into weights and bias, in f64: `w * s` and
    /// `(b - mean) * s + beta` with `s = gamma / sqrt(var + eps)`. Before any post-op. A product that f32 cannot hold is
    /// infinite in the weights, where convolution and norm in two steps may have given a finite number.
    ///
    /// # Errors
    /// `ShapeMismatch` when a vector has not one value for each output channel; `InvalidArgument` when `var + eps`
    /// is not positive.
    pub fn fold_batch_norm(mut self, bn: &BatchNorm<'_>) -> Result<Self> {
        let grouped = self.weights.rank() == N + 3;
        let dims = self.weights.dims().to_vec();
        let o = if grouped { dims[0] * dims[1] } else { dims[0] };
        let op = op_of(N, D::TRANSPOSED).schema().name;
        let (scale, shift) = bn.scale_and_shift(op, o)?;
        let plain = match self.weights.as_slice::<f32>() {
            Ok(values) => Cow::Borrowed(values),
            Err(_) => Cow::Owned(self.weights.to_vec::<f32>()?),
        };
        let mut scaled = StridedTensor::zeros(&dims, DType::F32, MemoryFormat::Contiguous)?;
        let row = (scaled.numel() / o).max(1);
        let rows = scaled.data_mut::<f32>().unwrap_or(&mut []).chunks_mut(row);
        for ((to, from), s) in rows.zip(plain.chunks(row)).zip(&scale) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = (f64::from(*from) * s) as f32);
        }
        self.weights = scaled;
        let bias = self.bias.map_or_else(|| try_filled(op, o, 0.0), Ok)?;
        let folded = bias.iter().zip(&scale).zip(&shift).map(|((&b, s), t)| (f64::from(b) * s + t) as f32);
        self.bias = Some(try_collect(op, folded)?);
        Ok(self)
    }

    /// How many weights are subnormal numbers (below 1.18e-38, and not 0), with what was folded in so far.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn subnormals(&self) -> Result<usize> {
        self.weights.count_subnormals()
    }

    /// Replaces weights that are subnormal numbers by zeros. Arithmetic on subnormal numbers can be many times slower. We know
    /// of no trained network whose results visibly change.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn flush_subnormals(mut self) -> Result<Self> {
        self.weights = self.weights.flush_subnormals()?;
        Ok(self)
    }

    /// When the weights are transformed for [`Algorithm::Winograd`]. Unless it is said, ahead for groups of up to 128 input
    /// channels: above these the transformed weights take longer to read than the plain ones to transform.
    pub fn weight_transform(mut self, transform: WeightTransform) -> Self {
        self.transform = Some(transform);
        self
    }

    /// Packs for a source; the result of a run has the source's layout.
    ///
    /// # Errors
    /// `ShapeMismatch`, `RankMismatch`, `UnsupportedDType` when the weights do not fit the source; `UnsupportedOp`
    /// where oneDNN has no fast implementation for a blocked source, with the way out.
    #[track_caller]
    pub fn pack_for(&self, source: &Source) -> Result<PackedConv<N, D>> {
        self.pack(source, source.layout, Location::caller())
    }

    pub(super) fn pack(
        &self,
        source: &Source,
        to: SourceLayout,
        location: &'static Location<'static>,
    ) -> Result<PackedConv<N, D>> {
        let op = op_of(N, D::TRANSPOSED).schema().name;
        threads::enter(op)?;
        if source.dtype != DType::F32 {
            fail!(
                UnsupportedDType,
                op,
                "source",
                source.to_string(),
                "kernels take f32",
                "pack for an f32 source"
            );
        }
        let bias_dims = self.bias.as_ref().map(|b| [b.len()]);
        let g = ConvGeometry::new(
            op,
            N,
            &source.dims,
            self.weights.dims(),
            bias_dims.as_ref().map(|d| &d[..]),
            &self.params.numbers(),
        )?;
        let weights = match self.params.params().algorithm.chosen(op)? {
            Algorithm::Winograd(outputs) => self.winograd_weights(&g, source, to, outputs, location)?,
            _ => self.packed_weights(&g, source, to, location)?,
        };
        Ok(PackedConv {
            g,
            source: source.clone(),
            to,
            bias: self.bias.as_deref().map(|bias| try_copied(op, bias)).transpose()?,
            post_ops: self.post_ops,
            allow_reference: self.params.allows_reference(),
            weights,
            subnormals: self.subnormals()?,
            direction: PhantomData,
        })
    }

    #[cfg(not(feature = "onednn"))]
    fn packed_weights(
        &self,
        g: &ConvGeometry,
        source: &Source,
        to: SourceLayout,
        location: &'static Location<'static>,
    ) -> Result<Weights> {
        self.rust_weights(g, source, to, location)?.ok_or_else(|| super::not_built(g, source))
    }

    /// Weights for a kernel in Rust, where there is one for source and result in these layouts.
    pub(super) fn rust_weights(
        &self,
        g: &ConvGeometry,
        source: &Source,
        to: SourceLayout,
        location: &'static Location<'static>,
    ) -> Result<Option<Weights>> {
        match (source.layout, to) {
            (SourceLayout::Strided(_), SourceLayout::Strided(_)) => self.plain_weights(g, location).map(Some),
            (SourceLayout::Blocked(from), SourceLayout::Blocked(to)) if from == to => {
                let Some(plan) = DirectPlan::new(g, &to)? else { return Err(no_kernel(g, source, &to)) };
                let data = PlainWeights::new(g, &self.weights).pack_direct(g, &plan, location)?;
                Ok(Some(Weights::Direct(Box::new(DirectWeights { data: Arc::new(data), plan }))))
            }
            _ => Ok(None),
        }
    }

    fn winograd_weights(
        &self,
        g: &ConvGeometry,
        source: &Source,
        to: SourceLayout,
        outputs: usize,
        location: &'static Location<'static>,
    ) -> Result<Weights> {
        let (SourceLayout::Blocked(layout), true) = (source.layout, source.layout == to) else {
            winograd::check_strided(g, Algorithm::Winograd(outputs))?;
            return Err(no_kernel(g, source, &Layout::native_activation(N + 2)?));
        };
        winograd::check(g, outputs, layout.block_of(1))?;
        let transform = self.transform.unwrap_or(match g.c / g.groups {
            0..=128 => WeightTransform::Ahead,
            _ => WeightTransform::EachRun,
        });
        let plan = WinogradPlan::new(g, &layout, outputs, transform, source.threads)?;
        let plan = plan.ok_or_else(|| no_kernel(g, source, &layout))?;
        let data = PlainWeights::new(g, &self.weights).pack_winograd(g, &plan, location)?;
        Ok(Weights::Winograd(Box::new(WinogradWeights { data: Arc::new(data), plan })))
    }

    fn plain_weights(&self, g: &ConvGeometry, location: &'static Location<'static>) -> Result<Weights> {
        Ok(Weights::Plain(Box::new(self.weights.dense_at(g.op, MemoryFormat::Contiguous, location)?)))
    }
}
