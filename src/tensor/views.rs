//! Views: tensors that share storage. Sizes, strides and offset are those of PyTorch's functions of the same name.
//!
//! Axes count from 0 in logical order, and from -1 backwards from the last. A view keeps a format tag while its dimensions keep their meaning (`narrow`, `slice`,
//! `chunk`, `split`, `expand` to the same rank); a view that reorders or regroups them drops the tag. Scales and zero points are
//! those of the view's elements.

use std::sync::Arc;

use super::any::TensorRef;
use super::quantization::{Shared, expanded, moved, refuse, selected, sliced, squeezed};
use super::strided::StridedTensor;
use crate::error::{Result, fail};
use crate::int::{self, Int, Scalars};
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::{MemoryFormat, check_extent};

/// `chunk` and `split` return at most this many pieces.
const MAX_PIECES: usize = 1 << 20;

impl StridedTensor {
    /// The same storage with other sizes, strides and offset.
    pub(super) fn with_geometry(
        &self,
        dims: Dims,
        strides: Dims,
        offset: usize,
        tag: Option<MemoryFormat>,
        quantization: Shared,
    ) -> StridedTensor {
        let storage = Arc::clone(&self.storage);
        StridedTensor { storage, dims, strides, offset, dtype: self.dtype, format_tag: tag, quantization }
    }

    /// The dimensions in another order: dimension `i` of the result is dimension `axes[i]`. PyTorch's `permute`.
    ///
    /// # Errors
    /// `RankMismatch` unless `axes` has one entry per dimension; `InvalidArgument` if an axis is out of range or named twice.
    pub fn permute(&self, axes: &[impl Int]) -> Result<StridedTensor> {
        let op = "permute";
        let rank = self.rank();
        if axes.len() != rank {
            fail!(
                RankMismatch,
                op,
                "axes",
                format!("{} axes", axes.len()),
                format!("the tensor has rank {rank}"),
                "name every axis once"
            );
        }
        let axes = axes.iter().map(|a| int::axis(op, "axes", a.to_i64(), rank, Scalars::HaveNone));
        let axes = axes.collect::<Result<Vec<usize>>>()?;
        let mut seen = Dims::filled(0, rank);
        for &a in &axes {
            if std::mem::replace(&mut seen[a], 1) == 1 {
                fail!(
                    InvalidArgument,
                    op,
                    "axes",
                    format!("{axes:?}"),
                    format!("axis {a} is named twice"),
                    "name every axis once"
                );
            }
        }
        let dims = axes.iter().map(|&a| self.dims[a]).to_dims();
        let strides = axes.iter().map(|&a| self.strides[a]).to_dims();
        let tag = self.format_tag.filter(|_| axes.is_sorted());
        let place = |axis| axes.iter().position(|&a| a == axis).unwrap_or(axis);
        Ok(self.with_geometry(dims, strides, self.offset, tag, moved(&self.quantization, place)))
    }

    /// Swaps two dimensions. PyTorch's `transpose`; a scalar has axis 0 here.
    ///
    /// # Errors
    /// `InvalidArgument` for an axis out of range.
    pub fn transpose(&self, a: impl Int, b: impl Int) -> Result<StridedTensor> {
        let op = "transpose";
        let a = int::axis(op, "a", a.to_i64(), self.rank(), Scalars::HaveOneAxis)?;
        let b = int::axis(op, "b", b.to_i64(), self.rank(), Scalars::HaveOneAxis)?;
        if a == b {
            return Ok(self.clone());
        }
        let (mut dims, mut strides) = (self.dims, self.strides);
        dims.swap(a, b);
        strides.swap(a, b);
        let place = |axis| match axis {
            _ if axis == a => b,
            _ if axis == b => a,
            _ => axis,
        };
        Ok(self.with_geometry(dims, strides, self.offset, None, moved(&self.quantization, place)))
    }

    /// `length` indices of one axis, starting at `start`. A negative `start` counts from the end. PyTorch's `narrow`.
    ///
    /// # Errors
    /// `InvalidArgument` for an axis out of range; `OutOfBounds` if `start` is before the first index, or `start + length`
    /// exceeds the size.
    pub fn narrow(&self, axis: impl Int, start: impl Int, length: usize) -> Result<StridedTensor> {
        let op = "narrow";
        let axis = int::axis(op, "axis", axis.to_i64(), self.rank(), Scalars::HaveNone)?;
        let (size, start) = (self.dims[axis], start.to_i64());
        let first = int::from_front(start, size);
        match usize::try_from(first).ok().and_then(|first| Some((first, first.checked_add(length)?))) {
            Some((first, end)) if end <= size => Ok(self.sliced(axis, first, length, 1)),
            _ => fail!(
                OutOfBounds,
                op,
                "length",
                format!("start {start}, length {length}"),
                format!("axis {axis} has size {size}"),
                "stay within the size"
            ),
        }
    }

    /// Every `step`-th index of one axis from `start` up to, but not including, `end`. Negative ones count from the end. Both are
    /// clamped to the size; an `end` before `start` gives size 0. PyTorch's `slice`, the `x[start:end:step]` of one axis.
    ///
    /// # Errors
    /// `InvalidArgument` for an axis out of range or step 0.
    pub fn slice(
        &self,
        axis: impl Int,
        start: impl Int,
        end: impl Int,
        step: usize,
    ) -> Result<StridedTensor> {
        let op = "slice";
        let axis = int::axis(op, "axis", axis.to_i64(), self.rank(), Scalars::HaveNone)?;
        if step == 0 {
            fail!(
                InvalidArgument,
                op,
                "step",
                "0",
                "a slice cannot stay at one index",
                "pass a step of 1 or more"
            );
        }
        let start = int::clamped(start.to_i64(), self.dims[axis]);
        let length = int::clamped(end.to_i64(), self.dims[axis]).saturating_sub(start);
        Ok(self.sliced(axis, start, length.div_ceil(step), step))
    }

    /// The arguments are already checked. Only strides and offsets that no element uses can saturate.
    fn sliced(&self, axis: usize, start: usize, size: usize, step: usize) -> StridedTensor {
        let (mut dims, mut strides) = (self.dims, self.strides);
        let offset = self.offset.saturating_add(start.saturating_mul(strides[axis]));
        dims[axis] = size;
        strides[axis] = strides[axis].saturating_mul(step).min(isize::MAX as usize);
        let quantization = sliced(&self.quantization, axis, start, size, step);
        self.with_geometry(dims, strides, offset, self.format_tag, quantization)
    }

    /// Picks one index of an axis; the result does not have that axis. A negative index counts from the end. PyTorch's `select`.
    ///
    /// # Errors
    /// `InvalidArgument` for an axis out of range; `OutOfBounds` for an index past the size.
    pub fn select(&self, axis: impl Int, index: impl Int) -> Result<StridedTensor> {
        let op = "select";
        let axis = int::axis(op, "axis", axis.to_i64(), self.rank(), Scalars::HaveNone)?;
        let (size, index) = (self.dims[axis], index.to_i64());
        let Some(index) = usize::try_from(int::from_front(index, size)).ok().filter(|&i| i < size) else {
            let rule = format!("axis {axis} has size {size}");
            let remedy = match size {
                0 => "select from a tensor with elements".to_string(),
                _ => format!("pass an index from -{size} to {}", size - 1),
            };
            fail!(OutOfBounds, op, "index", index.to_string(), rule, remedy)
        };
        let (mut dims, mut strides) = (self.dims, self.strides);
        dims.remove(axis);
        let stride = strides.remove(axis);
        let offset = self.offset.saturating_add(index.saturating_mul(stride));
        Ok(self.with_geometry(dims, strides, offset, None, selected(&self.quantization, axis, index)))
    }

    /// Sizes of 1 become those of `dims` with stride 0, and new dimensions are added in front; -1 keeps a size. PyTorch's
    /// `expand`.
    ///
    /// # Errors
    /// `RankMismatch` if `dims` is shorter than the rank; `ShapeMismatch` if a size other than 1 would change; `InvalidArgument`
    /// for -1 as the size of a new dimension, and for other negative sizes; `Overflow`.
    pub fn expand(&self, dims: &[impl Int]) -> Result<StridedTensor> {
        let op = "expand";
        let dims = int::to_i64s(dims);
        let Some(new) = dims.len().checked_sub(self.rank()) else {
            fail!(
                RankMismatch,
                op,
                "dims",
                format!("{dims:?}"),
                format!("the tensor has rank {}", self.rank()),
                "pass a size for every dimension"
            )
        };
        let kept = |(i, &d): (usize, &i64)| match d {
            -1 => i.checked_sub(new).map(|i| self.dims[i]),
            d => usize::try_from(d).ok(),
        };
        let Some(to) = dims.iter().enumerate().map(kept).collect::<Option<Vec<usize>>>() else {
            let rule = format!(
                "the tensor has rank {}, and -1 keeps the size of one of its dimensions",
                self.rank()
            );
            fail!(
                InvalidArgument,
                op,
                "dims",
                format!("{dims:?}"),
                rule,
                "pass sizes of 0 or more for the others"
            )
        };
        let to = Dims::new(op, "dims", &to)?;
        check_extent(op, &to)?;
        let mut strides = Dims::filled(0, to.len());
        for i in (0..to.len()).rev() {
            let (size, stride) = if i >= new {
                (self.dims[i - new], self.strides[i - new])
            } else if self.rank() == 0 {
                (1, 0)
            } else {
                (1, unused_stride(to[i + 1], strides[i + 1]))
            };
            if size == to[i] {
                strides[i] = stride;
            } else if size != 1 {
                fail!(
                    ShapeMismatch,
                    op,
                    "dims",
                    to.to_string(),
                    format!(
                        "axis {} has size {size}, and only size 1 stretches (sizes {})",
                        i - new,
                        self.dims
                    ),
                    "keep the other sizes unchanged"
                );
            }
        }
        let quantization = expanded(&self.quantization, &self.dims, &to, new);
        Ok(self.with_geometry(to, strides, self.offset, self.format_tag.filter(|_| new == 0), quantization))
    }

    /// Adds a dimension of size 1; `axis` is its number in the result. PyTorch's `unsqueeze`.
    ///
    /// # Errors
    /// `InvalidArgument` if the result has no such axis; `RankMismatch` if the rank would exceed
    /// [`MAX_RANK`](crate::MAX_RANK).
    pub fn unsqueeze(&self, axis: impl Int) -> Result<StridedTensor> {
        let op = "unsqueeze";
        let axis = int::axis(op, "axis", axis.to_i64(), self.rank() + 1, Scalars::HaveNone)?;
        if self.rank() == crate::MAX_RANK {
            fail!(
                RankMismatch,
                op,
                "self",
                format!("rank {}", self.rank()),
                format!("a tensor has at most {} dimensions", crate::MAX_RANK),
                "squeeze or flatten first"
            );
        }
        let stride = if axis == self.rank() { 1 } else { unused_stride(self.dims[axis], self.strides[axis]) };
        let (mut dims, mut strides) = (self.dims, self.strides);
        dims.insert(axis, 1);
        strides.insert(axis, stride);
        let quantization = moved(&self.quantization, |old| old + usize::from(old >= axis));
        Ok(self.with_geometry(dims, strides, self.offset, None, quantization))
    }

    /// Removes the dimensions of size 1. PyTorch's `squeeze()`.
    pub fn squeeze(&self) -> StridedTensor {
        let kept = |d: &usize| self.dims[*d] != 1;
        let dims = (0..self.rank()).filter(kept).map(|d| self.dims[d]).to_dims();
        let strides = (0..self.rank()).filter(kept).map(|d| self.strides[d]).to_dims();
        let tag = self.format_tag.filter(|_| dims == self.dims);
        self.with_geometry(dims, strides, self.offset, tag, squeezed(&self.quantization, &self.dims))
    }

    /// Removes this dimension if its size is 1. PyTorch's `squeeze(dim)`; a scalar has axis 0 here.
    ///
    /// # Errors
    /// `InvalidArgument` for an axis out of range.
    pub fn squeeze_axis(&self, axis: impl Int) -> Result<StridedTensor> {
        let axis = int::axis("squeeze_axis", "axis", axis.to_i64(), self.rank(), Scalars::HaveOneAxis)?;
        if self.rank() == 0 || self.dims[axis] != 1 {
            return Ok(self.clone());
        }
        self.select(axis, 0)
    }

    /// At most `chunks` pieces along `axis`; all but the last have the same size. PyTorch's `chunk`: the size of a piece is
    /// rounded up, so there may be fewer pieces.
    ///
    /// # Errors
    /// `InvalidArgument` for an axis out of range, 0 chunks, or more than 2^20 pieces.
    pub fn chunk(&self, chunks: usize, axis: impl Int) -> Result<Vec<StridedTensor>> {
        let op = "chunk";
        let axis = int::axis(op, "axis", axis.to_i64(), self.rank(), Scalars::HaveNone)?;
        if chunks == 0 {
            fail!(InvalidArgument, op, "chunks", "0", "there must be at least one piece", "pass 1 or more");
        }
        let size = self.dims[axis];
        match size {
            0 => self.pieces(op, axis, 0, chunks),
            _ => self.pieces(op, axis, size.div_ceil(chunks), size.div_ceil(size.div_ceil(chunks))),
        }
    }

    /// Pieces of `size` indices along `axis`; the last may be smaller. PyTorch's `split(split_size)`.
    ///
    /// # Errors
    /// `InvalidArgument` for an axis out of range, size 0 of an axis that is not empty, or more than 2^20
    /// pieces.
    pub fn split(&self, size: usize, axis: impl Int) -> Result<Vec<StridedTensor>> {
        let op = "split";
        let axis = int::axis(op, "axis", axis.to_i64(), self.rank(), Scalars::HaveNone)?;
        let whole = self.dims[axis];
        if size == 0 && whole != 0 {
            fail!(
                InvalidArgument,
                op,
                "size",
                "0",
                format!("axis {axis} has size {whole}, and pieces of size 0 never cover it"),
                "pass 1 or more"
            );
        }
        self.pieces(op, axis, size, if size == 0 { 1 } else { whole.div_ceil(size).max(1) })
    }

    fn pieces(&self, op: &'static str, axis: usize, size: usize, count: usize) -> Result<Vec<StridedTensor>> {
        if count > MAX_PIECES {
            fail!(
                InvalidArgument,
                op,
                "axis",
                format!("{count} pieces"),
                format!("at most {MAX_PIECES} pieces are returned"),
                "take larger pieces"
            );
        }
        let whole = self.dims[axis];
        let piece = |i: usize| {
            let start = (i * size).min(whole);
            self.sliced(axis, start, size.min(whole - start), 1)
        };
        Ok((0..count).map(piece).collect())
    }

    /// A view with any sizes, strides and offset (from the start of the storage, in **elements**) that stay within the
    /// storage. PyTorch's `as_strided`.
    ///
    /// # Errors
    /// `RankMismatch` if the lists differ in length; `OutOfBounds` if an element would be outside the storage;
    /// `UnsupportedStride` for a stride or offset above `isize::MAX`, which a negative number becomes; `Overflow`;
    /// `UnsupportedDType` for a tensor with scales and zero points.
    pub fn as_strided(&self, dims: &[usize], strides: &[usize], offset: usize) -> Result<StridedTensor> {
        let op = "as_strided";
        let rule = "the view may reach elements of the storage that have other scales and zero points";
        refuse(op, "self", TensorRef::Strided(self), rule)?;
        let d = Dims::new(op, "dims", dims)?;
        let s = Dims::new(op, "strides", strides)?;
        if d.len() != s.len() {
            fail!(
                RankMismatch,
                op,
                "strides",
                format!("{} strides", s.len()),
                format!("there are {} sizes", d.len()),
                "pass one stride for each size"
            );
        }
        if let Some(&bad) = s.iter().chain([&offset]).find(|&&v| v > isize::MAX as usize) {
            fail!(
                UnsupportedStride,
                op,
                "strides",
                format!("{bad} (strides {s}, offset {offset})"),
                format!("strides and offset must be 0 to {}; negative strides are not supported", isize::MAX),
                "copy the elements in the order that you want"
            );
        }
        check_extent(op, &d)?;
        // A tensor without elements (a descriptor's) has no storage to check against.
        let described = self.storage.is_none();
        let length = self.storage.len() / self.dtype.size_bytes();
        let last = d.iter().zip(&s).try_fold(offset, |at, (&n, &stride)| {
            (n.saturating_sub(1)).checked_mul(stride).and_then(|reach| at.checked_add(reach))
        });
        if !described && !d.contains(&0) && last.is_none_or(|at| at >= length) {
            let reach = last.map_or("past every address".to_string(), |at| format!("to element {at}"));
            fail!(
                OutOfBounds,
                op,
                "strides",
                format!("sizes {d}, strides {s}, offset {offset}, which reach {reach}"),
                format!("the storage has {length} elements"),
                "stay within the storage"
            );
        }
        Ok(self.with_geometry(d, s, offset, None, None))
    }
}

/// The stride of a new dimension of size 1 in front of another. No element uses it, so it may saturate.
pub(super) fn unused_stride(size: usize, stride: usize) -> usize {
    size.saturating_mul(stride).min(isize::MAX as usize)
}
