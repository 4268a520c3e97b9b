//! Memory formats of strided tensors, by PyTorch's rules: a format is a property of the strides.
//!
//! The definitions are those of PyTorch's `c10/core/MemoryFormat.h`, `c10/core/Contiguity.h` and `infer_dense_strides`, under
//! the same names:
//!
//! - **contiguous** (`is_contiguous`): from the format's densest dimension to its outermost, every size other than 1 has the
//!   stride of a dense tensor. A tensor without elements is contiguous in row-major order whatever its strides. The
//!   channels-last formats make no such exception; there a size of 0 makes all further strides 0.
//! - **strides like channels-last** (`is_channels_last_strides_2d`, `_3d`): the strides grow in the order C, W, H, (D,) N,
//!   with room for each size. Gaps are allowed; sizes of 0 and a stride of 0 for C are not. N111 with equal strides counts as
//!   contiguous. `suggest_memory_format` tests this, not density.
//! - **non-overlapping and dense**: some order of the dimensions makes the tensor dense.
//! - **dense strides** (`infer_dense_strides`): the strides of a dense tensor whose dimensions have the order of the given
//!   strides. Stride 0 compares equal to everything; equal strides are ordered by size.
//!
//! A tensor with C = 1, or with H = W = 1, is contiguous both ways; PyTorch cannot tell which one was meant. Here a tensor
//! may have a format tag that states it (`StridedTensor::with_format_tag`).

use super::dims::{Dims, ToDims};
use super::iterator;
use crate::error::{Complaint, Error, Result, fail};

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
    /// Rank 3, channels densest (NWC). PyTorch has no such format. A tensor has it only if it is requested; it is never
    /// inferred from strides.
    ChannelsLast1d,
    /// The format of the input, like PyTorch's `torch.preserve_format`.
    Preserve,
}

impl MemoryFormat {
    /// PyTorch's name: `contiguous`, `channels_last`, `channels_last_3d`, `preserve`; `channels_last_1d` is this crate's.
    pub const fn name(self) -> &'static str {
        match self {
            MemoryFormat::Contiguous => "contiguous",
            MemoryFormat::ChannelsLast => "channels_last",
            MemoryFormat::ChannelsLast3d => "channels_last_3d",
            MemoryFormat::ChannelsLast1d => "channels_last_1d",
            MemoryFormat::Preserve => "preserve",
        }
    }

    /// The format with this [`name`](Self::name); `None` for `preserve`, which stands for no format of its own.
    pub(crate) fn of_name(name: &str) -> Option<MemoryFormat> {
        let known = [
            MemoryFormat::Contiguous,
            MemoryFormat::ChannelsLast,
            MemoryFormat::ChannelsLast3d,
            MemoryFormat::ChannelsLast1d,
        ];
        known.into_iter().find(|f| f.name() == name)
    }

    /// The channels-last format for a rank, if there is one: 3, 4 or 5.
    pub const fn channels_last_of(rank: usize) -> Option<MemoryFormat> {
        match rank {
            3 => Some(MemoryFormat::ChannelsLast1d),
            4 => Some(MemoryFormat::ChannelsLast),
            5 => Some(MemoryFormat::ChannelsLast3d),
            _ => None,
        }
    }

    /// The rank of a channels-last format.
    pub const fn rank(self) -> Option<usize> {
        match self {
            MemoryFormat::ChannelsLast1d => Some(3),
            MemoryFormat::ChannelsLast => Some(4),
            MemoryFormat::ChannelsLast3d => Some(5),
            MemoryFormat::Contiguous | MemoryFormat::Preserve => None,
        }
    }

    /// Whether a tensor of this rank can have this format. `Preserve` fits every rank.
    pub fn fits(self, rank: usize) -> bool {
        self.rank().is_none_or(|r| r == rank)
    }

    /// The dimensions from densest to outermost.
    fn order(self, rank: usize) -> Dims {
        match self.rank() {
            Some(_) => std::iter::once(1).chain((2..rank).rev()).chain(std::iter::once(0)).to_dims(),
            None => (0..rank).rev().to_dims(),
        }
    }

    /// The format of a dense tensor: channels-last if its strides match.
    pub(crate) fn of_dense(dims: &[usize], strides: &[usize]) -> MemoryFormat {
        match MemoryFormat::channels_last_of(dims.len()) {
            Some(f) if f.strides("result", dims).is_ok_and(|s| *s == *strides) => f,
            _ => MemoryFormat::Contiguous,
        }
    }

    /// Strides (in **elements**) of a dense tensor of these sizes in this format.
    ///
    /// As in PyTorch, a size of 0 counts as 1 in row-major order, and as 0 in the channels-last formats.
    ///
    /// # Errors
    /// `RankMismatch` for a channels-last format of another rank; `InvalidArgument` for `Preserve`, which stands for no
    /// format of its own; `Overflow` if a stride overflows.
    pub fn strides(self, op: &'static str, dims: &[usize]) -> Result<Dims> {
        let dims = &Dims::new(op, "dims", dims)?;
        if self == MemoryFormat::Preserve {
            fail!(
                InvalidArgument,
                op,
                "memory_format",
                "preserve",
                "it stands for no format of its own here",
                "name contiguous or channels_last"
            );
        }
        self.check_rank(op, dims)?;
        check_extent(op, dims)?;
        let zero_counts = if self.rank().is_some() { 0 } else { 1 };
        let mut strides = Dims::filled(1, dims.len());
        let mut step = 1usize;
        for &d in &self.order(dims.len()) {
            strides[d] = step;
            step *= dims[d].max(zero_counts);
        }
        Ok(strides)
    }

    /// `RankMismatch` if a tensor of these sizes cannot have this format.
    pub(crate) fn check_rank(self, op: &'static str, dims: &[usize]) -> Result<()> {
        match self.rank() {
            Some(rank) if rank != dims.len() => fail!(
                RankMismatch,
                op,
                "memory_format",
                format!("{} for sizes {dims:?}", self.name()),
                format!("it is for rank {rank}"),
                "use contiguous, or the channels-last format of that rank"
            ),
            _ => Ok(()),
        }
    }
}

impl std::str::FromStr for MemoryFormat {
    type Err = Error;

    /// # Errors
    /// `InvalidArgument` for anything but a format's [`name`](MemoryFormat::name).
    fn from_str(name: &str) -> Result<MemoryFormat> {
        match name {
            "preserve" => Ok(MemoryFormat::Preserve),
            _ => MemoryFormat::of_name(name).ok_or_else(|| {
                let shown: String = name.chars().take(40).flat_map(char::escape_default).collect();
                Error::InvalidArgument(Complaint::new(
                    "memory_format",
                    "name",
                    format!("`{shown}`"),
                    "it is not the name of a memory format",
                    "use contiguous, channels_last, channels_last_3d, channels_last_1d or preserve",
                ))
            }),
        }
    }
}

impl std::fmt::Display for MemoryFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// `Overflow` unless the product of the sizes, with 0 counted as 1, fits in an `isize`.
///
/// It is checked for every tensor, with elements or without, so products of sizes need no further checks.
pub(crate) fn check_extent(op: &'static str, dims: &[usize]) -> Result<()> {
    let product = dims.iter().try_fold(1usize, |p, &d| p.checked_mul(d.max(1)));
    match product.filter(|&n| n <= isize::MAX as usize) {
        Some(_) => Ok(()),
        None => fail!(
            Overflow,
            op,
            "dims",
            format!("{dims:?}"),
            "the number of elements overflows",
            "use smaller sizes"
        ),
    }
}

/// Whether the strides are those of a dense tensor in this format, except along sizes of 1. `Preserve` is treated as
/// `Contiguous`. PyTorch's `is_contiguous(memory_format)`.
pub(crate) fn is_contiguous(dims: &[usize], strides: &[usize], format: MemoryFormat) -> bool {
    if !format.fits(dims.len()) {
        return false;
    }
    if format.rank().is_none() && dims.contains(&0) {
        return true;
    }
    let mut expected = 1usize;
    for &d in &format.order(dims.len()) {
        if dims[d] != 1 {
            if strides[d] != expected {
                return false;
            }
            expected = expected.saturating_mul(dims[d]);
        }
    }
    true
}

/// Whether some order of the dimensions makes the tensor dense. PyTorch's `is_non_overlapping_and_dense`.
pub(crate) fn is_non_overlapping_and_dense(dims: &[usize], strides: &[usize]) -> bool {
    if dims.contains(&0) {
        return true;
    }
    let mut used: Dims = (0..dims.len()).filter(|&d| dims[d] > 1).to_dims();
    used.sort_by_key(|&d| strides[d]);
    let mut expected = 1usize;
    used.iter().all(|&d| {
        let fits = strides[d] == expected;
        expected = expected.saturating_mul(dims[d]);
        fits
    })
}

/// Whether the strides have the order of this channels-last format. PyTorch's `is_channels_last_strides_2d` and `_3d`; false
/// for every other format.
fn is_strides_like(dims: &[usize], strides: &[usize], format: MemoryFormat) -> bool {
    if format.rank() != Some(dims.len()) || strides[1] == 0 {
        return false;
    }
    let mut least = 0usize;
    for &d in &format.order(dims.len()) {
        if dims[d] == 0 || strides[d] < least {
            return false;
        }
        // N111 with equal strides is contiguous, or sliced along W, but not channels-last.
        if d == 0 && least == strides[1] {
            return false;
        }
        least = strides[d].saturating_mul(dims[d].max(1));
    }
    true
}

/// The format that the strides suggest: `ChannelsLast` (rank 4), `ChannelsLast3d` (rank 5), otherwise `Contiguous`. With
/// `exact`, the strides must also be those of a dense channels-last tensor, those of sizes of 1 included. PyTorch's
/// `suggest_memory_format(channels_last_strides_exact_match)`.
pub(crate) fn suggest(dims: &[usize], strides: &[usize], exact: bool) -> MemoryFormat {
    let format = match dims.len() {
        4 => MemoryFormat::ChannelsLast,
        5 => MemoryFormat::ChannelsLast3d,
        _ => return MemoryFormat::Contiguous,
    };
    let like = is_strides_like(dims, strides, format);
    if like && (!exact || format.strides("suggest_memory_format", dims).is_ok_and(|s| *s == *strides)) {
        format
    } else {
        MemoryFormat::Contiguous
    }
}

/// The strides of a dense tensor whose dimensions have the order of these strides. PyTorch's
/// `infer_dense_strides`.
pub(crate) fn dense_strides(dims: &[usize], strides: &[usize]) -> Dims {
    let order = iterator::order(dims, &[strides]);
    let mut dense = Dims::filled(1, dims.len());
    let mut step = 1usize;
    for &d in &order {
        dense[d] = step;
        step = step.saturating_mul(dims[d].max(1));
    }
    dense
}

/// The strides of `empty_like` and of a clone: those of the named format. `Preserve` keeps dense strides, and makes other
/// strides dense in their order.
pub(crate) fn like(
    op: &'static str,
    dims: &[usize],
    strides: &[usize],
    format: MemoryFormat,
) -> Result<Dims> {
    match format {
        MemoryFormat::Preserve if is_non_overlapping_and_dense(dims, strides) => {
            Ok(Dims::from_slice(strides))
        }
        MemoryFormat::Preserve => Ok(dense_strides(dims, strides)),
        named => named.strides(op, dims),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_sizes_are_contiguous_both_ways() {
        for (dims, strides) in [([2, 1, 4, 4], [16, 1, 4, 1]), ([2, 4, 1, 1], [4, 1, 4, 4])] {
            assert!(is_contiguous(&dims, &strides, MemoryFormat::Contiguous));
            assert!(is_contiguous(&dims, &strides, MemoryFormat::ChannelsLast));
        }
        assert_eq!(suggest(&[7, 1, 1, 1], &[1, 1, 1, 1], false), MemoryFormat::Contiguous);
        assert_eq!(suggest(&[2, 4, 1, 1], &[4, 1, 4, 4], true), MemoryFormat::ChannelsLast);
        assert_eq!(suggest(&[2, 4, 1, 1], &[8, 1, 4, 4], true), MemoryFormat::Contiguous);
        assert_eq!(suggest(&[2, 4, 1, 1], &[8, 1, 4, 4], false), MemoryFormat::ChannelsLast);
    }

    #[test]
    fn dense_strides_keep_the_order_and_close_gaps() {
        assert_eq!(*dense_strides(&[2, 3, 4], &[1, 40, 5]), [1, 8, 2]);
        assert_eq!(*dense_strides(&[2, 3, 4], &[0, 0, 0]), [12, 4, 1]);
        assert_eq!(*dense_strides(&[], &[]), [0usize; 0]);
    }

    #[test]
    fn an_extent_that_does_not_fit_is_refused_even_without_elements() {
        assert!(check_extent("t", &[0, 1 << 40, 1 << 40]).is_err());
        assert!(check_extent("t", &[0, 1 << 30, 1 << 30]).is_ok());
    }
}
