//! Packed convolutions of a rank and a direction that the program knows.

use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;

use super::{AnyConvPacker, AnyPackedConv, operands};
use crate::error::Result;
use crate::layout::blocked::Layout;
use crate::ops::BatchNorm;
use crate::ops::conv::{Conv, Direction, Forward, Fusion, Transposed, op_of};
use crate::pack::source::Source;
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::strided::StridedTensor;

/// A convolution whose weights have the layout that its kernel reads: an [`AnyPackedConv`] of a known rank and direction.
pub struct PackedConv<const N: usize, D: Direction = Forward>(pub(super) AnyPackedConv, PhantomData<D>);

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
pub struct PackedStem<const N: usize>(pub(super) AnyPackedConv);

/// Plain weights on their way to being packed: an [`AnyConvPacker`] of a known rank and direction.
#[derive(Clone, Debug)]
pub struct ConvPacker<const N: usize, D: Direction = Forward>(AnyConvPacker, PhantomData<D>);

impl<const N: usize, D: Direction> std::fmt::Debug for PackedConv<N, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<const N: usize, D: Direction> Deref for PackedConv<N, D> {
    type Target = AnyPackedConv;

    fn deref(&self) -> &AnyPackedConv {
        &self.0
    }
}

impl<const N: usize, D: Direction> PackedConv<N, D> {
    pub(super) fn of(packed: AnyPackedConv) -> Self {
        PackedConv(packed, PhantomData)
    }

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
        AnyConvPacker::of(op, weights, bias, params.params().clone()).map(|p| ConvPacker(p, PhantomData))
    }

    // As the methods of `AnyPackedConv`, which those of `Operator` would hide.

    /// Runs the convolution.
    ///
    /// # Errors
    /// As [`AnyPackedConv::run`].
    #[track_caller]
    pub fn run<T: Operand>(&self, x: &T) -> Result<T> {
        self.0.run(x)
    }

    /// Runs the convolution with the operands of its post-ops.
    ///
    /// # Errors
    /// As [`AnyPackedConv::run_fused`].
    #[track_caller]
    pub fn run_fused<T: Operand>(&self, x: &T, fusion: Fusion<'_, T>) -> Result<T> {
        self.0.run_fused(x, fusion)
    }

    /// Runs the convolution into a tensor of the caller's.
    ///
    /// # Errors
    /// As [`AnyPackedConv::run_into`].
    #[track_caller]
    pub fn run_into<T: Operand>(&self, x: &T, fusion: Fusion<'_, T>, dst: &mut T) -> Result<()> {
        self.0.run_into(x, fusion, dst)
    }
}

impl<const N: usize, D: Direction> Deref for ConvPacker<N, D> {
    type Target = AnyConvPacker;

    fn deref(&self) -> &AnyConvPacker {
        &self.0
    }
}

impl<const N: usize, D: Direction> ConvPacker<N, D> {
    /// As [`AnyConvPacker::fold_batch_norm`].
    ///
    /// # Errors
    /// As there.
    pub fn fold_batch_norm(self, norm: &BatchNorm<'_>) -> Result<Self> {
        self.0.fold_batch_norm(norm).map(|p| ConvPacker(p, PhantomData))
    }

    /// As [`AnyConvPacker::flush_subnormals`].
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn flush_subnormals(self) -> Result<Self> {
        self.0.flush_subnormals().map(|p| ConvPacker(p, PhantomData))
    }

    /// As [`AnyConvPacker::implementation`].
    ///
    /// # Errors
    /// As there.
    pub fn implementation(self, name: &str) -> Result<Self> {
        self.0.implementation(name).map(|p| ConvPacker(p, PhantomData))
    }

    /// Packs for a source; the result of a run has the source's layout.
    ///
    /// # Errors
    /// As [`AnyConvPacker::pack_for`].
    #[track_caller]
    pub fn pack_for(&self, source: &Source) -> Result<PackedConv<N, D>> {
        self.0.pack_for(source).map(PackedConv::of)
    }
}

impl<const N: usize> ConvPacker<N> {
    /// Packs for a plain NCHW source of fewer channels than a block, and a blocked result: a network's stem.
    ///
    /// # Errors
    /// As [`AnyConvPacker::pack_stem`].
    #[track_caller]
    pub fn pack_stem(&self, source: &Source, to: &Layout) -> Result<PackedStem<N>> {
        self.0.pack_stem(source, to).map(PackedStem)
    }
}

impl<const N: usize> PackedStem<N> {
    /// Runs the convolution: a plain source, a blocked result.
    ///
    /// # Errors
    /// As [`AnyPackedConv::run`].
    #[track_caller]
    pub fn run(&self, x: &StridedTensor) -> Result<BlockedTensor> {
        self.run_fused(x, Fusion::default())
    }

    /// Runs the convolution with the operands of its post-ops; the residual is blocked, as the result.
    ///
    /// # Errors
    /// As [`AnyPackedConv::run_fused`].
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
    pub fn packed(&self) -> &AnyPackedConv {
        &self.0
    }
}
