//! Memory formats of tensors: queries, conversions, and tensors made like others.
//!
//! The answers are PyTorch's (`layout::memory_format` has the rules). A conversion that copies is a reorder: the ledger
//! records it, and `deny_reorders` refuses it.
//!
//! # Format tags
//! [`with_format_tag`](StridedTensor::with_format_tag) states a format if strides leave it open.
//! [`suggest_memory_format`](StridedTensor::suggest_memory_format) then returns the tag, and results follow it; see
//! [`FormatRule`](crate::FormatRule) for ops and `tensor::views` for views. `channels_last_1d` exists only as a tag.

use std::fmt;
use std::panic::Location;

use super::strided::StridedTensor;
use crate::elementwise;
use crate::error::{Result, fail};
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::{self, MemoryFormat};
use crate::ledger::{self, Cause, Move};

impl StridedTensor {
    /// Whether the elements are dense in this format; sizes of 1 may have any stride. False for a
    /// channels-last format of another rank. PyTorch's `is_contiguous(memory_format)`.
    pub fn is_contiguous(&self, format: MemoryFormat) -> bool {
        memory_format::is_contiguous(&self.dims, &self.strides, format)
    }

    /// Whether the elements are dense in some order. PyTorch's `is_non_overlapping_and_dense`.
    pub fn is_non_overlapping_and_dense(&self) -> bool {
        memory_format::is_non_overlapping_and_dense(&self.dims, &self.strides)
    }

    /// The format that results should have: the tag if there is one, otherwise the format that the strides suggest. With
    /// `exact`, channels-last strides must also be dense, those of sizes of 1 included. PyTorch's
    /// `suggest_memory_format(channels_last_strides_exact_match)`.
    pub fn suggest_memory_format(&self, exact: bool) -> MemoryFormat {
        self.format_tag.unwrap_or_else(|| memory_format::suggest(&self.dims, &self.strides, exact))
    }

    /// The format that was stated with [`with_format_tag`](Self::with_format_tag), if any.
    pub fn format_tag(&self) -> Option<MemoryFormat> {
        self.format_tag
    }

    /// This tensor with a stated format. No data is copied: the elements must already be in that format. Only the strides of
    /// sizes of 1, which no element uses, are set to the format's own. `Preserve` removes the tag.
    ///
    /// # Errors
    /// `RankMismatch` for a channels-last format of another rank; `LayoutMismatch` if the elements are not in that format.
    pub fn with_format_tag(&self, format: MemoryFormat) -> Result<StridedTensor> {
        let op = "with_format_tag";
        let mut tagged = self.clone();
        if format == MemoryFormat::Preserve {
            tagged.format_tag = None;
            return Ok(tagged);
        }
        format.check_rank(op, &self.dims)?;
        if !self.is_contiguous(format) {
            fail!(
                LayoutMismatch,
                op,
                "format",
                format.name(),
                format!("the elements of {self:?} are not in this format"),
                format!("call contiguous({format}) first, which copies")
            );
        }
        tagged.strides = format.strides(op, &self.dims)?;
        tagged.format_tag = Some(format);
        Ok(tagged)
    }

    /// Strides in **bytes**, as numpy counts them.
    pub fn strides_bytes(&self) -> Dims {
        self.strides.iter().map(|s| s.saturating_mul(self.dtype.size_bytes())).to_dims()
    }

    /// The tensor itself if it [`is_contiguous`](Self::is_contiguous) in this format, otherwise a contiguous copy. PyTorch's
    /// `contiguous(memory_format)`.
    ///
    /// # Errors
    /// `InvalidArgument` for `Preserve`; `RankMismatch` for a channels-last format of another rank;
    /// `ReorderDenied`, `OutOfMemory`.
    #[track_caller]
    pub fn contiguous(&self, format: MemoryFormat) -> Result<StridedTensor> {
        let op = "contiguous";
        let strides = format.strides(op, &self.dims)?;
        let tag = self.tag_after_conversion(format);
        if self.is_contiguous(format) {
            return Ok(StridedTensor { format_tag: tag, ..self.clone() });
        }
        self.moved(op, strides, tag, Cause::Call, Location::caller())
    }

    /// The tensor itself if [`suggest_memory_format`](Self::suggest_memory_format) returns this format (it may still have
    /// gaps), otherwise a dense copy in this format. For `Preserve`, always the tensor itself. PyTorch's
    /// `to(memory_format=...)`.
    ///
    /// # Errors
    /// `RankMismatch` for a channels-last format of another rank; `ReorderDenied`, `OutOfMemory`.
    #[track_caller]
    pub fn to_memory_format(&self, format: MemoryFormat) -> Result<StridedTensor> {
        let op = "to_memory_format";
        if format == MemoryFormat::Preserve || self.suggest_memory_format(false) == format {
            return Ok(self.clone());
        }
        let strides = format.strides(op, &self.dims)?;
        self.moved(op, strides, self.tag_after_conversion(format), Cause::Call, Location::caller())
    }

    /// A copy with its own storage. `Preserve` keeps dense strides unchanged and makes other strides dense. A copy whose
    /// strides differ is a reorder. PyTorch's `clone(memory_format)`.
    ///
    /// # Errors
    /// `RankMismatch` for a channels-last format of another rank; `ReorderDenied`, `OutOfMemory`.
    #[track_caller]
    pub fn copy(&self, format: MemoryFormat) -> Result<StridedTensor> {
        let op = "copy";
        let (strides, tag) = self.like(op, format)?;
        self.moved(op, strides, tag, Cause::Call, Location::caller())
    }

    /// The tensor itself if it is contiguous in this format, otherwise a contiguous copy, for a kernel that needs dense
    /// input. The ledger records a dense copy of `op`, made at `caller`.
    pub(crate) fn dense_at(
        &self,
        op: &'static str,
        format: MemoryFormat,
        caller: &'static Location<'static>,
    ) -> Result<StridedTensor> {
        let strides = format.strides(op, &self.dims)?;
        if self.is_contiguous(format) {
            return Ok(self.clone());
        }
        self.moved(op, strides, self.format_tag.filter(|&t| t == format), Cause::DenseCopy, caller)
    }

    fn moved(
        &self,
        op: &'static str,
        strides: Dims,
        tag: Option<MemoryFormat>,
        cause: Cause,
        location: &'static Location<'static>,
    ) -> Result<StridedTensor> {
        if self.storage.is_none() {
            // A tensor without elements (a descriptor's) has nothing to copy.
            return Ok(StridedTensor { strides, offset: 0, format_tag: tag, ..self.clone() });
        }
        let work = || {
            let mut to = StridedTensor::for_result(op, self.dims, strides, self.dtype)?;
            to.quantization = self.quantization.clone();
            elementwise::copy_into(op, &mut to, self)?;
            to.format_tag = tag;
            Ok(to)
        };
        if strides == self.strides {
            return work();
        }
        let bytes = self.numel().saturating_mul(self.dtype.size_bytes());
        let from = Described(&self.dims, &self.strides);
        let to = Described(&self.dims, &strides);
        let source = self.storage.id();
        let what = Move { op, cause, from: &from, to: &to, dims: &self.dims, bytes, source, location };
        ledger::reorder(what, work)
    }

    pub(super) fn like(
        &self,
        op: &'static str,
        format: MemoryFormat,
    ) -> Result<(Dims, Option<MemoryFormat>)> {
        let wanted = match (format, self.format_tag) {
            (MemoryFormat::Preserve, Some(tag)) if !self.is_non_overlapping_and_dense() => tag,
            _ => format,
        };
        let strides = memory_format::like(op, &self.dims, &self.strides, wanted)?;
        let tag = if format == MemoryFormat::Preserve {
            self.format_tag
        } else {
            self.tag_after_conversion(format)
        };
        Ok((strides, tag))
    }

    /// A tagged tensor stays tagged, with the new format. `channels_last_1d` is always tagged.
    fn tag_after_conversion(&self, format: MemoryFormat) -> Option<MemoryFormat> {
        self.format_tag.map(|_| format).or(stated_only(format))
    }
}

/// The format as a tag, if it is one that exists only as a tag.
pub(crate) fn stated_only(format: MemoryFormat) -> Option<MemoryFormat> {
    (format == MemoryFormat::ChannelsLast1d).then_some(format)
}

/// How the ledger and errors print sizes and strides: the format's name, otherwise the strides.
pub(crate) struct Described<'a>(pub &'a [usize], pub &'a [usize]);

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Described(dims, strides) = self;
        let named = [Some(MemoryFormat::Contiguous), MemoryFormat::channels_last_of(dims.len())];
        let mut fitting =
            named.into_iter().flatten().filter(|&n| memory_format::is_contiguous(dims, strides, n));
        match fitting.next() {
            Some(format) => f.write_str(format.name()),
            None => write!(f, "strides {}", Dims::from_slice(strides)),
        }
    }
}
