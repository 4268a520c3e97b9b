//! Reorders: the only calls that move data between layouts.

use std::panic::Location;
use std::sync::Arc;

use super::any::Operand;
use super::blocked::{BlockedTensor, checked};
use super::formats::Described;
use super::quantization;
use super::strided::StridedTensor;
use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::elementwise;
use crate::error::{Result, fail};
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::layout::overlap::check_own_memory;
use crate::layout::reorder;
use crate::ledger::{self, Cause, Move, Moved};

impl Moved for StridedTensor {
    fn storage_id(&self) -> u64 {
        self.storage.id()
    }
}

impl Moved for BlockedTensor {
    fn storage_id(&self) -> u64 {
        self.storage.id()
    }
}

impl BlockedTensor {
    /// The same elements as a strided tensor in this memory format. Makes one copy, whatever the layout.
    ///
    /// # Errors
    /// `RankMismatch` for a channels-last format of another rank, `InvalidArgument` for `Preserve`,
    /// `ReorderDenied`, `OutOfMemory`.
    #[track_caller]
    pub fn to_strided(&self, format: MemoryFormat) -> Result<StridedTensor> {
        let op = "to_strided";
        let strides = format.strides(op, &self.dims)?;
        let location = Location::caller();
        let bytes = self.numel() * self.dtype.size_bytes();
        ledger::reorder(self.moving(op, &format, bytes, location), || {
            let mut dst = StridedTensor::for_result(op, self.dims, strides, self.dtype)?;
            dst.format_tag = Some(format);
            dst.quantization = self.quantization.clone();
            let out = unshared(op, &mut dst.storage)?;
            self.copy_to_strided(&strides, out.as_bytes_mut());
            Ok(dst)
        })
    }

    /// As [`to_strided`](BlockedTensor::to_strided), into an existing tensor. `dst` may have any strides whose elements do
    /// not share memory.
    ///
    /// # Errors
    /// `ShapeMismatch`; `DTypeMismatch`, also for other scales and zero points; `OverlappingOutput`; `Aliasing` while another tensor
    /// shares the storage of `dst`; `ReorderDenied`. On an error `dst` is unchanged.
    #[track_caller]
    pub fn to_strided_into(&self, dst: &mut StridedTensor) -> Result<()> {
        let op = "to_strided_into";
        same_shape(op, &dst.dims, &self.dims)?;
        same_dtype(op, "dst", dst.dtype, self.dtype)?;
        quantization::check_same(op, dst.tensor_ref(), self.quantization())?;
        check_own_memory(op, &dst.dims, &dst.strides)?;
        let (strides, start) = (dst.strides, dst.offset.saturating_mul(self.dtype.size_bytes()));
        let (location, dims) = (Location::caller(), dst.dims);
        let to = Described(&dims, &strides);
        let bytes = self.numel() * self.dtype.size_bytes();
        let out = unshared(op, &mut dst.storage)?;
        ledger::reorder(self.moving(op, &to, bytes, location), || {
            let start = start.min(out.len());
            self.copy_to_strided(&strides, &mut out.as_bytes_mut()[start..]);
            Ok(())
        })
    }

    /// The same elements in another blocked layout. Makes one copy, or returns the tensor itself if it is already in
    /// `layout`.
    ///
    /// # Errors
    /// `RankMismatch`, `LayoutMismatch` for a layout without inner blocks, `Overflow`, `ReorderDenied`,
    /// `OutOfMemory`.
    #[track_caller]
    pub fn reorder_to(&self, layout: &Layout) -> Result<BlockedTensor> {
        let op = "reorder_to";
        let (_, bytes) = checked(op, &self.dims, layout, self.dtype)?;
        if *layout == self.layout {
            return Ok(self.clone());
        }
        ledger::reorder(self.moving(op, layout, bytes, Location::caller()), || {
            let mut dst = BlockedTensor::for_result(op, &self.dims, layout, self.dtype)?;
            dst.quantization = self.quantization.clone();
            let out = unshared(op, &mut dst.storage)?;
            let elem = self.dtype.size_bytes();
            reorder::blocked_to_blocked(
                elem,
                self.storage.as_bytes(),
                &self.layout,
                &self.dims,
                layout,
                out.as_bytes_mut(),
            );
            Ok(dst)
        })
    }

    /// As [`reorder_to`](BlockedTensor::reorder_to), into an existing tensor, in its layout. Between tensors of one layout it is
    /// a copy, which is no reorder.
    ///
    /// # Errors
    /// `ShapeMismatch`; `DTypeMismatch`, also for other scales and zero points; `Aliasing` while another tensor shares the storage of
    /// `dst`; `ReorderDenied`. On an error `dst` is unchanged.
    #[track_caller]
    pub fn reorder_into(&self, dst: &mut BlockedTensor) -> Result<()> {
        let op = "reorder_into";
        same_shape(op, &dst.dims, &self.dims)?;
        same_dtype(op, "dst", dst.dtype, self.dtype)?;
        quantization::check_same(op, dst.tensor_ref(), self.quantization())?;
        let layout = dst.layout;
        let (_, bytes) = checked(op, &self.dims, &layout, self.dtype)?;
        let out = unshared(op, &mut dst.storage)?.as_bytes_mut();
        if layout == self.layout {
            out[..bytes].copy_from_slice(&self.storage.as_bytes()[..bytes]);
            return Ok(());
        }
        ledger::reorder(self.moving(op, &layout, bytes, Location::caller()), || {
            let elem = self.dtype.size_bytes();
            reorder::blocked_to_blocked(
                elem,
                self.storage.as_bytes(),
                &self.layout,
                &self.dims,
                &layout,
                out,
            );
            Ok(())
        })?;
        dst.check_tail_if_asked()
    }

    fn moving<'a>(
        &'a self,
        op: &'static str,
        to: &'a dyn std::fmt::Display,
        bytes: usize,
        location: &'static Location<'static>,
    ) -> Move<'a> {
        let source = self.storage.id();
        Move { op, cause: Cause::Call, from: &self.layout, to, dims: &self.dims, bytes, source, location }
    }

    fn copy_to_strided(&self, strides: &[usize], dst: &mut [u8]) {
        let elem = self.dtype.size_bytes();
        reorder::blocked_to_strided(elem, self.storage.as_bytes(), &self.layout, &self.dims, strides, dst);
    }
}

impl StridedTensor {
    /// The same elements in a blocked layout. Makes one copy, whatever the strides. The padding is zero.
    ///
    /// # Errors
    /// `RankMismatch` if the layout is for another rank, `LayoutMismatch` for a layout without inner blocks,
    /// `Overflow`, `ReorderDenied`, `OutOfMemory`.
    #[track_caller]
    pub fn to_blocked(&self, layout: &Layout) -> Result<BlockedTensor> {
        let op = "to_blocked";
        let (_, bytes) = checked(op, &self.dims, layout, self.dtype)?;
        let location = Location::caller();
        ledger::reorder(
            self.move_to_blocked(op, &Described(&self.dims, &self.strides), layout, bytes, location),
            || {
                let mut dst = BlockedTensor::for_result(op, &self.dims, layout, self.dtype)?;
                dst.quantization = self.quantization.clone();
                let out = unshared(op, &mut dst.storage)?;
                self.copy_to_blocked(layout, out.as_bytes_mut());
                Ok(dst)
            },
        )
    }

    /// As [`to_blocked`](StridedTensor::to_blocked), into an existing tensor, in its layout.
    ///
    /// # Errors
    /// `ShapeMismatch`; `DTypeMismatch`, also for other scales and zero points; `Aliasing` while another tensor shares the storage of
    /// `dst`; `ReorderDenied`. On an error `dst` is unchanged.
    #[track_caller]
    pub fn to_blocked_into(&self, dst: &mut BlockedTensor) -> Result<()> {
        let op = "to_blocked_into";
        same_shape(op, &dst.dims, &self.dims)?;
        same_dtype(op, "dst", dst.dtype, self.dtype)?;
        quantization::check_same(op, dst.tensor_ref(), self.quantization())?;
        let (layout, bytes) = (dst.layout, dst.bytes());
        let out = unshared(op, &mut dst.storage)?;
        let location = Location::caller();
        ledger::reorder(
            self.move_to_blocked(op, &Described(&self.dims, &self.strides), &layout, bytes, location),
            || {
                self.copy_to_blocked(&layout, out.as_bytes_mut());
                Ok(())
            },
        )?;
        dst.check_tail_if_asked()
    }

    /// The same elements into an existing tensor of any strides whose elements do not share memory. PyTorch's `copy_`.
    /// Copying between different strides is a reorder.
    ///
    /// ```
    /// use blocktensor::{DType, MemoryFormat, StridedTensor};
    /// let x = StridedTensor::full(&[1, 3, 2, 2], 1f32, MemoryFormat::Contiguous)?;
    /// let mut y = StridedTensor::zeros(&[1, 3, 2, 2], DType::F32, MemoryFormat::ChannelsLast)?;
    /// x.copy_into(&mut y)?;
    /// assert_eq!(y.to_vec::<f32>()?, x.to_vec::<f32>()?);
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `ShapeMismatch`; `DTypeMismatch`, also for other scales and zero points; `OverlappingOutput`; `Aliasing` while another tensor
    /// shares the storage of `dst`; `ReorderDenied`. On an error `dst` is unchanged.
    #[track_caller]
    pub fn copy_into(&self, dst: &mut StridedTensor) -> Result<()> {
        let op = "copy_into";
        same_shape(op, &dst.dims, &self.dims)?;
        same_dtype(op, "dst", dst.dtype, self.dtype)?;
        quantization::check_same(op, dst.tensor_ref(), self.quantization())?;
        check_own_memory(op, &dst.dims, &dst.strides)?;
        unshared(op, &mut dst.storage)?;
        if dst.strides == self.strides {
            return elementwise::copy_into(op, dst, self);
        }
        let (dims, strides) = (dst.dims, dst.strides);
        let bytes = self.numel().saturating_mul(self.dtype.size_bytes());
        let from = Described(&self.dims, &self.strides);
        let to = Described(&dims, &strides);
        let (source, location) = (self.storage.id(), Location::caller());
        let what =
            Move { op, cause: Cause::Call, from: &from, to: &to, dims: &dims, bytes, source, location };
        ledger::reorder(what, || elementwise::copy_into(op, dst, self))
    }

    fn move_to_blocked<'a>(
        &'a self,
        op: &'static str,
        from: &'a dyn std::fmt::Display,
        to: &'a Layout,
        bytes: usize,
        location: &'static Location<'static>,
    ) -> Move<'a> {
        let source = self.storage.id();
        Move { op, cause: Cause::Call, from, to, dims: &self.dims, bytes, source, location }
    }

    fn copy_to_blocked(&self, layout: &Layout, dst: &mut [u8]) {
        let elem = self.dtype.size_bytes();
        let bytes = self.storage.as_bytes();
        let start = self.offset.saturating_mul(elem).min(bytes.len());
        reorder::strided_to_blocked(elem, &bytes[start..], &self.dims, &self.strides, layout, dst);
    }
}

pub(super) fn unshared<'a>(op: &'static str, storage: &'a mut Arc<Buffer>) -> Result<&'a mut Buffer> {
    Buffer::exclusive(storage).ok_or_else(|| Buffer::not_for_writing(op))
}

fn same_shape(op: &'static str, dst: &Dims, src: &Dims) -> Result<()> {
    if dst != src {
        fail!(
            ShapeMismatch,
            op,
            "dst",
            dst.to_string(),
            format!("the source has sizes {src}"),
            "pass a result of the same sizes"
        );
    }
    Ok(())
}

pub(super) fn same_dtype(op: &'static str, argument: &'static str, got: DType, wanted: DType) -> Result<()> {
    if got != wanted {
        fail!(
            DTypeMismatch,
            op,
            argument,
            got.name(),
            format!("the tensor holds {wanted}"),
            "use the tensor's own element type"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A view of a storage that holds the numbers 1 to 24.
    fn view(dims: &[usize], strides: &[usize], offset: usize) -> StridedTensor {
        let data: Vec<f32> = (1..=24).map(|i| i as f32).collect();
        let mut x = StridedTensor::from_slice(&data, &[24]).unwrap();
        (x.dims, x.strides, x.offset) = (Dims::from_slice(dims), Dims::from_slice(strides), offset);
        x
    }

    #[test]
    fn any_view_is_copied_once_from_where_it_lies() {
        for (dims, strides, offset) in [
            ([1, 2, 3, 4], [24, 12, 4, 1], 0),
            ([2, 3, 2, 1], [12, 1, 3, 7], 5),
            ([2, 3, 2, 2], [0, 4, 0, 1], 3),
            ([2, 3, 2, 2], [0, 0, 0, 0], 23),
        ] {
            let x = view(&dims, &strides, offset);
            for layout in [Layout::NCHW16C, Layout::CHWN4] {
                let y = x.to_blocked(&layout).unwrap();
                y.check_tail().unwrap();
                let back = y.to_strided(MemoryFormat::Contiguous).unwrap();
                assert_eq!(back.to_vec::<f32>().unwrap(), x.to_vec::<f32>().unwrap(), "{x:?} {layout}");
            }
        }
    }

    #[test]
    fn a_result_may_have_holes_but_no_two_elements_in_one_place() {
        let x = BlockedTensor::full(&[1, 2, 2, 2], 0f32, &Layout::NCHW16C).unwrap();
        let mut holes = view(&[1, 2, 2, 2], &[0, 8, 4, 2], 1);
        x.to_strided_into(&mut holes).unwrap();
        let written: Vec<usize> = (0..24).filter(|&i| holes.storage.as_slice::<f32>()[i] == 0.0).collect();
        assert_eq!(written, [1, 3, 5, 7, 9, 11, 13, 15]);
        for strides in [[8, 0, 2, 1], [8, 1, 2, 1], [8, 3, 2, 1]] {
            let mut dst = view(&[1, 2, 2, 2], &strides, 0);
            let e = x.to_strided_into(&mut dst).unwrap_err();
            assert!(matches!(e, crate::Error::OverlappingOutput(_)), "{strides:?}: {e}");
            assert_eq!(dst.storage.as_slice::<f32>()[0], 1.0);
        }
    }
}
