//! The machine's native layouts: those that its kernels are fastest on.

use super::blocked::{Layout, Role};
use crate::error::{Result, fail};
use crate::machine::machine;
use crate::weights_kind::WeightsKind;

impl Layout {
    /// The machine's native layouts for 2-D convolutions: activations and weights. `nChw16c` and `OIhw16i16o` with AVX-512
    /// (F, BW, DQ, VL), otherwise `nChw8c` and `OIhw8i8o`.
    pub fn native() -> (Layout, Layout) {
        match native_block() {
            16 => (Layout::NCHW16C, Layout::OIHW16I16O),
            _ => (Layout::NCHW8C, Layout::OIHW8I8O),
        }
    }

    /// Activations of rank 3, 4 or 5 in blocks of this many channels: `nCw16c`, `nChw16c`, `nCdhw16c`.
    ///
    /// # Errors
    /// `RankMismatch` for another rank, `InvalidArgument` for a block outside 2 to 65535.
    pub fn blocked_activation(rank: usize, block: usize) -> Result<Layout> {
        if !(3..=5).contains(&rank) {
            fail!(
                RankMismatch,
                "layout",
                "rank",
                rank.to_string(),
                "blocked activations have rank 3, 4 or 5",
                "keep tensors of other ranks strided"
            );
        }
        let order: Vec<usize> = (0..rank).collect();
        Ok(Layout::new(&order, &[(1, block)])?.with_role(Role::Activations))
    }

    /// The machine's native activation layout, for rank 3, 4 or 5.
    ///
    /// # Errors
    /// `RankMismatch` for another rank.
    pub fn native_activation(rank: usize) -> Result<Layout> {
        Layout::blocked_activation(rank, native_block())
    }

    /// The machine's native weight layout. `rank` counts all dimensions of the weights, the group's included. Dense:
    /// `OIw16i16o`, `OIhw16i16o`, `OIdhw16i16o` for rank 3 to 5. For rank 4 to 6, grouped weights have `gOIhw16i16o` and its
    /// variants, depthwise weights `Goihw16g` and its variants.
    ///
    /// # Errors
    /// `RankMismatch` for another rank.
    pub fn native_weights(rank: usize, kind: WeightsKind) -> Result<Layout> {
        let spatial_first = if kind == WeightsKind::Dense { 2 } else { 3 };
        if !(spatial_first + 1..=spatial_first + 3).contains(&rank) {
            fail!(
                RankMismatch,
                "layout",
                "rank",
                format!("{rank} for {kind:?} weights"),
                "dense weights have rank 3 to 5, grouped and depthwise weights 4 to 6",
                "count the group's dimension, and one to three spatial dimensions"
            );
        }
        Layout::blocked_weights(rank, kind, native_block())
    }

    /// The weight layout of a convolution with this many spatial dimensions, groups and channels (of all groups), whose
    /// activations have blocks of `block` channels.
    pub(crate) fn weights_for(
        spatial: usize,
        groups: usize,
        c: usize,
        o: usize,
        block: usize,
    ) -> Result<Layout> {
        let kind = WeightsKind::of(groups, c, o);
        let rank = spatial + if kind == WeightsKind::Dense { 2 } else { 3 };
        Layout::blocked_weights(rank, kind, block)
    }

    fn blocked_weights(rank: usize, kind: WeightsKind, b: usize) -> Result<Layout> {
        let order: Vec<usize> = (0..rank).collect();
        match kind {
            WeightsKind::Dense => Ok(Layout::new(&order, &[(1, b), (0, b)])?.with_role(Role::Weights)),
            WeightsKind::Grouped => {
                Ok(Layout::new(&order, &[(2, b), (1, b)])?.with_role(Role::GroupedWeights))
            }
            WeightsKind::Depthwise => Ok(Layout::new(&order, &[(0, b)])?.with_role(Role::GroupedWeights)),
        }
    }
}

/// Channels in one block of the native layouts: 16 or 8.
///
/// The instruction set decides. `ONEDNN_MAX_CPU_ISA` limits it, for this crate's kernels as for oneDNN's.
pub(crate) fn native_block() -> usize {
    machine().block
}
