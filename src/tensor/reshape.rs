//! Views and copies with other sizes: `view`, `reshape`, `flatten`.

use std::panic::Location;

use super::any::TensorRef;
use super::quantization::reshaped;
use super::strided::StridedTensor;
use super::views::unused_stride;
use crate::error::{Call, Result, Text, fail};
use crate::int::{self, Int, Scalars};
use crate::layout::dims::Dims;
use crate::layout::memory_format::{MemoryFormat, check_extent};

impl StridedTensor {
    /// The same elements in logical order with other sizes, without a copy. One size may be -1: it is found from the others.
    /// PyTorch's `view`.
    ///
    /// # Errors
    /// `ShapeMismatch` if the number of elements differs; `InvalidArgument` if -1 is there twice, or can be any number;
    /// `UnsupportedStride` if no strides express the view: then [`reshape`](Self::reshape) copies. `UnsupportedDType` if an axis
    /// that has a scale for each index would be merged or divided. `RankMismatch`, `Overflow`.
    pub fn view(&self, dims: &[impl Int]) -> Result<StridedTensor> {
        let op = "view";
        let to = self.check_reshape(op, &int::inferred(op, dims, self.numel())?)?;
        match view_strides(&self.dims, &self.strides, &to) {
            Some(strides) => {
                let quantization = reshaped(op, &self.quantization, TensorRef::Strided(self), &to)?;
                Ok(self.with_geometry(to, strides, self.offset, self.tag_for(&to), quantization))
            }
            None => fail!(
                UnsupportedStride,
                op,
                "dims",
                to.to_string(),
                format!(
                    "sizes {} with strides {} cannot be merged or split like that",
                    self.dims, self.strides
                ),
                Text::from("make `x` dense with ")
                    + Call::Contiguous
                    + "; or call "
                    + Call::ReshapeAny
                    + ", which copies where it must"
            ),
        }
    }

    /// [`view`](Self::view) if strides express it, otherwise a contiguous copy, which the ledger records as a dense copy.
    /// PyTorch's `reshape`.
    ///
    /// # Errors
    /// As [`view`](Self::view), without `UnsupportedStride`; `ReorderDenied`, `OutOfMemory`.
    #[track_caller]
    pub fn reshape(&self, dims: &[impl Int]) -> Result<StridedTensor> {
        let op = "reshape";
        self.reshaped(op, &int::inferred(op, dims, self.numel())?, Location::caller())
    }

    #[track_caller]
    fn reshaped(
        &self,
        op: &'static str,
        dims: &[usize],
        caller: &'static Location<'static>,
    ) -> Result<StridedTensor> {
        let to = self.check_reshape(op, dims)?;
        let quantization = reshaped(op, &self.quantization, TensorRef::Strided(self), &to)?;
        if let Some(strides) = view_strides(&self.dims, &self.strides, &to) {
            return Ok(self.with_geometry(to, strides, self.offset, self.tag_for(&to), quantization));
        }
        let dense = self.dense_at(op, MemoryFormat::Contiguous, caller)?;
        let strides = MemoryFormat::Contiguous.strides(op, &to)?;
        Ok(dense.with_geometry(to, strides, 0, None, quantization))
    }

    /// Merges dimensions `start` to `end`, both included, into one, with [`reshape`](Self::reshape). PyTorch's
    /// `flatten(start_dim, end_dim)`; a scalar becomes rank 1.
    ///
    /// # Errors
    /// `InvalidArgument` for an axis out of range or `end` before `start`; as `reshape`.
    #[track_caller]
    pub fn flatten(&self, start: impl Int, end: impl Int) -> Result<StridedTensor> {
        let op = "flatten";
        let start = int::axis(op, "start", start.to_i64(), self.rank(), Scalars::HaveOneAxis)?;
        let end = int::axis(op, "end", end.to_i64(), self.rank(), Scalars::HaveOneAxis)?;
        if end < start {
            fail!(
                InvalidArgument,
                op,
                "end",
                end.to_string(),
                format!("the range starts at axis {start}"),
                "pass an end at or after the start"
            );
        }
        if self.rank() == 0 {
            return self.reshaped(op, &[1], Location::caller());
        }
        if start == end {
            return Ok(self.clone());
        }
        let merged: usize = self.dims[start..=end].iter().product();
        let mut dims = Dims::from_slice(&self.dims[..start]);
        dims.push(merged);
        self.dims[end + 1..].iter().for_each(|&d| dims.push(d));
        self.reshaped(op, &dims, Location::caller())
    }

    fn check_reshape(&self, op: &'static str, dims: &[usize]) -> Result<Dims> {
        let to = Dims::new(op, "dims", dims)?;
        check_extent(op, &to)?;
        if to.iter().product::<usize>() != self.numel() {
            fail!(
                ShapeMismatch,
                op,
                "dims",
                to.to_string(),
                format!("the tensor has {} elements (sizes {})", self.numel(), self.dims),
                "pass sizes with that product",
            );
        }
        Ok(to)
    }

    fn tag_for(&self, to: &Dims) -> Option<MemoryFormat> {
        self.format_tag.filter(|_| *to == self.dims)
    }
}

/// Strides under which the same elements have the sizes `to` (whose product is the same), or `None`. PyTorch's
/// `computeStride`.
///
/// The old dimensions form groups that are dense within themselves. Each group must become a whole number of new dimensions.
fn view_strides(dims: &[usize], strides: &[usize], to: &[usize]) -> Option<Dims> {
    if dims.is_empty() {
        return Some(Dims::filled(1, to.len()));
    }
    if dims.contains(&0) {
        if dims == to {
            return Some(Dims::from_slice(strides));
        }
        let mut out = Dims::filled(1, to.len());
        for i in (0..to.len().saturating_sub(1)).rev() {
            out[i] = out[i + 1] * to[i + 1].max(1);
        }
        return Some(out);
    }
    let mut out = Dims::filled(0, to.len());
    let mut left = to.len();
    let mut base = strides[dims.len() - 1];
    let mut run = 1usize;
    for d in (0..dims.len()).rev() {
        run *= dims[d];
        let run_ends = d == 0 || (dims[d - 1] != 1 && strides[d - 1] != run.saturating_mul(base));
        if !run_ends {
            continue;
        }
        let mut covered = 1usize;
        while left > 0 && (covered < run || to[left - 1] == 1) {
            left -= 1;
            out[left] = unused_stride(covered, base);
            covered *= to[left];
        }
        if covered != run {
            return None;
        }
        if d > 0 {
            base = strides[d - 1];
            run = 1;
        }
    }
    (left == 0).then_some(out)
}
