//! Memory formats of strided tensors: PyTorch's rules, where the format *is* the strides.

use super::dims::Dims;
use crate::error::{Result, fail};

/// The order in memory of a strided tensor's dimensions; sizes are always given as N, C, (D,) (H,) W.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryFormat {
    /// Row-major: the last dimension is the densest (NCHW).
    Contiguous,
    /// Rank 4, channels densest (NHWC).
    ChannelsLast,
    /// Rank 5, channels densest (NDHWC).
    ChannelsLast3d,
    /// Rank 3, channels densest (NWC). PyTorch has no such format: it exists only where it is asked for, and is
    /// never inferred from strides.
    ChannelsLast1d,
    /// The format of the input, as PyTorch's `torch.preserve_format`.
    Preserve,
}

impl MemoryFormat {
    /// PyTorch's name: `contiguous`, `channels_last`, `channels_last_3d`, `preserve`; `channels_last_1d` is ours.
    pub const fn name(self) -> &'static str {
        match self {
            MemoryFormat::Contiguous => "contiguous",
            MemoryFormat::ChannelsLast => "channels_last",
            MemoryFormat::ChannelsLast3d => "channels_last_3d",
            MemoryFormat::ChannelsLast1d => "channels_last_1d",
            MemoryFormat::Preserve => "preserve",
        }
    }

    /// The channels-last format of a rank, if it has one: 3, 4 or 5.
    pub const fn channels_last_of(rank: usize) -> Option<MemoryFormat> {
        match rank {
            3 => Some(MemoryFormat::ChannelsLast1d),
            4 => Some(MemoryFormat::ChannelsLast),
            5 => Some(MemoryFormat::ChannelsLast3d),
            _ => None,
        }
    }

    /// The rank that a channels-last format is for.
    pub const fn rank(self) -> Option<usize> {
        match self {
            MemoryFormat::ChannelsLast1d => Some(3),
            MemoryFormat::ChannelsLast => Some(4),
            MemoryFormat::ChannelsLast3d => Some(5),
            MemoryFormat::Contiguous | MemoryFormat::Preserve => None,
        }
    }

    /// Strides (in elements) of a dense tensor of these sizes in this format. Sizes of 0 count as 1, as in
    /// PyTorch.
    ///
    /// # Errors
    /// `RankMismatch` for a channels-last format of another rank; `InvalidArgument` for `Preserve`, which names no
    /// format of its own; `Overflow` when the strides do not fit.
    pub fn strides(self, op: &'static str, dims: &[usize]) -> Result<Dims> {
        let mut strides = Dims::filled(1, dims.len());
        let mut order = Dims::EMPTY;
        match (self, self.rank()) {
            (MemoryFormat::Preserve, _) => fail!(
                InvalidArgument,
                op,
                "memory_format",
                "preserve",
                "it names no format of its own here",
                "name contiguous or channels_last"
            ),
            (_, Some(rank)) if rank != dims.len() => fail!(
                RankMismatch,
                op,
                "memory_format",
                format!("{} for sizes {dims:?}", self.name()),
                format!("it is for rank {rank}"),
                "use contiguous, or the channels-last format of that rank"
            ),
            (_, Some(rank)) => {
                order.push(1);
                (2..rank).rev().for_each(|d| order.push(d));
                order.push(0);
            }
            (_, None) => (0..dims.len()).rev().for_each(|d| order.push(d)),
        }
        let mut step = 1usize;
        for &d in &order {
            strides[d] = step;
            step = match step.checked_mul(dims[d].max(1)) {
                Some(s) if s <= isize::MAX as usize => s,
                _ => fail!(
                    Overflow,
                    op,
                    "dims",
                    format!("{dims:?}"),
                    "the number of elements does not fit",
                    "use smaller sizes"
                ),
            };
        }
        Ok(strides)
    }
}

impl std::fmt::Display for MemoryFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
