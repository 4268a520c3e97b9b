//! `BlockedTensor`: logical sizes, dtype and layout; how the bytes lie is nobody else's business.

use std::panic::Location;
use std::sync::Arc;

use super::formats::Described;
use super::strided::StridedTensor;
use crate::buffer::Buffer;
use crate::dtype::{DType, Element};
use crate::error::{Result, fail};
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::layout::pack;
use crate::ledger::{self, Cause, Move};

/// An opaque tensor in a blocked [`Layout`].
///
/// It tells its logical sizes, its dtype and the name of its layout. It has no strides, no data pointer and no
/// views: to look inside, reorder it with [`to_strided`](BlockedTensor::to_strided), which copies. The padding of
/// its layout (the *channel tail*) is zero, always. It never changes once made, so clones are cheap and threads
/// may share it.
///
/// ```
/// use blocktensor::{Layout, MemoryFormat, StridedTensor};
/// let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[1, 2, 1, 2])?;
/// let blocked = x.to_blocked(&Layout::NCHW16C)?;
/// assert_eq!((blocked.dims(), blocked.bytes()), (&[1, 2, 1, 2][..], 16 * 2 * 4));
/// assert_eq!(blocked.to_strided(MemoryFormat::Contiguous)?.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
/// A program that asks for what only strides can answer does not compile:
/// ```compile_fail,E0599
/// # let x = blocktensor::BlockedTensor::zeros(&[1, 16, 2, 2], &blocktensor::Layout::NCHW16C, blocktensor::DType::F32).unwrap();
/// x.strides();
/// ```
/// ```compile_fail,E0599
/// # let x = blocktensor::BlockedTensor::zeros(&[1, 16, 2, 2], &blocktensor::Layout::NCHW16C, blocktensor::DType::F32).unwrap();
/// x.as_slice::<f32>();
/// ```
/// ```compile_fail,E0599
/// # let x = blocktensor::BlockedTensor::zeros(&[1, 16, 2, 2], &blocktensor::Layout::NCHW16C, blocktensor::DType::F32).unwrap();
/// x.narrow(1, 0, 8);
/// ```
/// ```compile_fail,E0599
/// # let x = blocktensor::BlockedTensor::zeros(&[1, 16, 2, 2], &blocktensor::Layout::NCHW16C, blocktensor::DType::F32).unwrap();
/// x.permute(&[0, 2, 3, 1]);
/// ```
/// ```compile_fail,E0599
/// # let x = blocktensor::BlockedTensor::zeros(&[1, 16, 2, 2], &blocktensor::Layout::NCHW16C, blocktensor::DType::F32).unwrap();
/// x.view(&[16, 4]);
/// ```
/// ```compile_fail,E0624
/// # let x = blocktensor::BlockedTensor::zeros(&[1, 16, 2, 2], &blocktensor::Layout::NCHW16C, blocktensor::DType::F32).unwrap();
/// x.data::<f32>();
/// ```
///
/// A layout without inner blocks is refused: strides express it, so it belongs to a [`StridedTensor`].
#[derive(Clone)]
pub struct BlockedTensor {
    storage: Arc<Buffer>,
    dims: Dims,
    layout: Layout,
    dtype: DType,
}

/// Sizes and **bytes** of a blocked tensor, checked on behalf of `op`.
fn checked(op: &'static str, dims: &[usize], layout: &Layout, dtype: DType) -> Result<(Dims, usize)> {
    if layout.is_plain() {
        fail!(
            LayoutMismatch,
            op,
            "layout",
            layout.to_string(),
            "a blocked tensor's layout has inner blocks",
            "use a strided tensor and `to_memory_format`"
        );
    }
    let sizes = Dims::new(op, "dims", dims)?;
    let extent = layout.extent(op, dims)?;
    Ok((sizes, layout.bytes_of(op, dims, extent.elements, dtype)?))
}

impl BlockedTensor {
    /// A tensor of zeros.
    ///
    /// # Errors
    /// `RankMismatch` when the layout is for another rank, `LayoutMismatch` for a layout without inner blocks,
    /// `Overflow`, `OutOfMemory`.
    pub fn zeros(dims: &[usize], layout: &Layout, dtype: DType) -> Result<BlockedTensor> {
        let (dims, bytes) = checked("zeros", dims, layout, dtype)?;
        Ok(BlockedTensor { storage: Arc::new(Buffer::zeroed(bytes)?), dims, layout: *layout, dtype })
    }

    /// A tensor whose every element is `value`; its padding is zero.
    ///
    /// # Errors
    /// As [`zeros`](BlockedTensor::zeros).
    pub fn full<E: Element>(value: E, dims: &[usize], layout: &Layout) -> Result<BlockedTensor> {
        let (sizes, bytes) = checked("full", dims, layout, E::DTYPE)?;
        let mut buffer = Buffer::zeroed(bytes)?;
        buffer.as_mut_slice::<E>().fill(value);
        pack::zero_padding(size_of::<E>(), layout, dims, buffer.as_bytes_mut());
        Ok(BlockedTensor { storage: Arc::new(buffer), dims: sizes, layout: *layout, dtype: E::DTYPE })
    }

    /// Zeros of the same sizes, layout and dtype.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn zeros_like(&self) -> Result<BlockedTensor> {
        BlockedTensor::zeros(&self.dims, &self.layout, self.dtype)
    }

    /// `value` everywhere, in the same sizes and layout.
    ///
    /// # Errors
    /// `DTypeMismatch` when `value` is not of the tensor's element type, `OutOfMemory`.
    pub fn full_like<E: Element>(&self, value: E) -> Result<BlockedTensor> {
        same_dtype("full_like", "value", E::DTYPE, self.dtype)?;
        BlockedTensor::full(value, &self.dims, &self.layout)
    }

    /// Recycled storage for a result whose every byte, padding included, the caller writes.
    pub(crate) fn for_result(
        op: &'static str,
        dims: &[usize],
        layout: &Layout,
        dtype: DType,
    ) -> Result<BlockedTensor> {
        let (dims, bytes) = checked(op, dims, layout, dtype)?;
        Ok(BlockedTensor { storage: Arc::new(Buffer::for_result(bytes)?), dims, layout: *layout, dtype })
    }

    /// The storage, padding included, as a dense strided tensor with these sizes: the outer dimensions and the inner
    /// blocks in the order of memory.
    pub(crate) fn storage_view(&self, op: &'static str, dims: Dims) -> Result<StridedTensor> {
        let strides = MemoryFormat::Contiguous.strides(op, &dims)?;
        debug_assert!(dims.iter().product::<usize>() * self.dtype.size_bytes() <= self.bytes());
        let storage = Arc::clone(&self.storage);
        Ok(StridedTensor { storage, dims, strides, offset: 0, dtype: self.dtype, format_tag: None })
    }

    /// [`check_tail`](Self::check_tail) where `BLOCKTENSOR_CHECK_TAILS` is set: a switch for users who write kernels, or
    /// doubt ours. Every blocked result of an op and of a packed convolution is then read once more.
    pub(crate) fn check_tail_if_asked(&self) -> Result<()> {
        static ASKED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        let asked = *ASKED.get_or_init(|| {
            std::env::var_os("BLOCKTENSOR_CHECK_TAILS").is_some_and(|v| !v.is_empty() && v != "0")
        });
        if asked { self.check_tail() } else { Ok(()) }
    }

    /// Every byte, padding included, for a kernel to read.
    pub(crate) fn storage_bytes(&self) -> &[u8] {
        self.storage.as_bytes()
    }

    /// Every byte, for a kernel to write.
    ///
    /// # Panics
    /// When another tensor shares the storage: for results that were just made.
    pub(crate) fn storage_bytes_mut(&mut self) -> &mut [u8] {
        Arc::get_mut(&mut self.storage).expect("a result that was just made").as_bytes_mut()
    }

    /// Sizes, in logical order.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Number of logical dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Number of logical elements: the padding does not count.
    pub fn numel(&self) -> usize {
        self.dims.iter().product()
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The layout: it compares, hashes and prints its name.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// **Bytes** of storage, the padding included.
    pub fn bytes(&self) -> usize {
        self.storage.len()
    }

    /// Checks that the padding is zero, as every kernel must leave it: a single NaN there spoils convolutions.
    ///
    /// # Errors
    /// `InvalidArgument` with the place of the first padding element that is not zero.
    pub fn check_tail(&self) -> Result<()> {
        let elem = self.dtype.size_bytes();
        match pack::first_dirty_lane(elem, &self.layout, &self.dims, self.storage.as_bytes()) {
            None => Ok(()),
            Some(at) => fail!(
                InvalidArgument,
                "check_tail",
                "self",
                format!("element {at} of {self:?}, a padding element, not zero"),
                "the padding of a blocked tensor is zero",
                "report the op that wrote it"
            ),
        }
    }

    /// The storage, padding included. The dtype is the caller's to know.
    pub(crate) fn data<E: Element>(&self) -> &[E] {
        debug_assert_eq!(E::DTYPE, self.dtype);
        self.storage.as_slice()
    }

    /// The storage, or `None` while another tensor shares it. Who writes it leaves the padding zero.
    pub(crate) fn data_mut<E: Element>(&mut self) -> Option<&mut [E]> {
        debug_assert_eq!(E::DTYPE, self.dtype);
        Some(Arc::get_mut(&mut self.storage)?.as_mut_slice())
    }

    /// The same elements as a strided tensor in this memory format: one copy, whatever the layout.
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
            let out = unshared(op, &mut dst.storage)?;
            self.unpack(&strides, out.as_bytes_mut());
            Ok(dst)
        })
    }

    /// As [`to_strided`](BlockedTensor::to_strided), into a tensor that is there: any strides whose elements do
    /// not share memory.
    ///
    /// # Errors
    /// `ShapeMismatch`, `DTypeMismatch`, `OverlappingOutput`; `Aliasing` while another tensor shares the storage
    /// of `dst`; `ReorderDenied`. On an error `dst` is as it was.
    #[track_caller]
    pub fn to_strided_into(&self, dst: &mut StridedTensor) -> Result<()> {
        let op = "to_strided_into";
        same_shape(op, &dst.dims, &self.dims)?;
        same_dtype(op, "dst", dst.dtype, self.dtype)?;
        if overlaps(&dst.dims, &dst.strides) {
            fail!(
                OverlappingOutput,
                op,
                "dst",
                format!("sizes {} with strides {}", dst.dims, dst.strides),
                "no two elements of a result may share memory",
                "pass a dense tensor"
            );
        }
        let (strides, start) = (dst.strides, dst.offset * self.dtype.size_bytes());
        let (location, dims) = (Location::caller(), dst.dims);
        let to = Described(&dims, &strides);
        let bytes = self.numel() * self.dtype.size_bytes();
        let out = unshared(op, &mut dst.storage)?;
        ledger::reorder(self.moving(op, &to, bytes, location), || {
            let start = start.min(out.len());
            self.unpack(&strides, &mut out.as_bytes_mut()[start..]);
            Ok(())
        })
    }

    /// The same elements in another blocked layout: one copy. A tensor that is in `layout` already is returned
    /// as it is, without one.
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
            let out = unshared(op, &mut dst.storage)?;
            let elem = self.dtype.size_bytes();
            pack::reorder(
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

    fn moving<'a>(
        &'a self,
        op: &'static str,
        to: &'a dyn std::fmt::Display,
        bytes: usize,
        location: &'static Location<'static>,
    ) -> Move<'a> {
        Move { op, cause: Cause::Call, from: &self.layout, to, dims: &self.dims, bytes, location }
    }

    fn unpack(&self, strides: &[usize], dst: &mut [u8]) {
        let elem = self.dtype.size_bytes();
        pack::unpack(elem, self.storage.as_bytes(), &self.layout, &self.dims, strides, dst);
    }
}

impl StridedTensor {
    /// The same elements in a blocked layout: one copy, whatever the strides. The padding is zero.
    ///
    /// # Errors
    /// `RankMismatch` when the layout is for another rank, `LayoutMismatch` for a layout without inner blocks,
    /// `Overflow`, `ReorderDenied`, `OutOfMemory`.
    #[track_caller]
    pub fn to_blocked(&self, layout: &Layout) -> Result<BlockedTensor> {
        let op = "to_blocked";
        let (_, bytes) = checked(op, &self.dims, layout, self.dtype)?;
        let location = Location::caller();
        ledger::reorder(
            self.packing(op, &Described(&self.dims, &self.strides), layout, bytes, location),
            || {
                let mut dst = BlockedTensor::for_result(op, &self.dims, layout, self.dtype)?;
                let out = unshared(op, &mut dst.storage)?;
                self.pack(layout, out.as_bytes_mut());
                Ok(dst)
            },
        )
    }

    /// As [`to_blocked`](StridedTensor::to_blocked), into a tensor that is there, in its layout.
    ///
    /// # Errors
    /// `ShapeMismatch`, `DTypeMismatch`; `Aliasing` while another tensor shares the storage of `dst`;
    /// `ReorderDenied`. On an error `dst` is as it was.
    #[track_caller]
    pub fn to_blocked_into(&self, dst: &mut BlockedTensor) -> Result<()> {
        let op = "to_blocked_into";
        same_shape(op, &dst.dims, &self.dims)?;
        same_dtype(op, "dst", dst.dtype, self.dtype)?;
        let (layout, bytes) = (dst.layout, dst.bytes());
        let out = unshared(op, &mut dst.storage)?;
        let location = Location::caller();
        ledger::reorder(
            self.packing(op, &Described(&self.dims, &self.strides), &layout, bytes, location),
            || {
                self.pack(&layout, out.as_bytes_mut());
                Ok(())
            },
        )
    }

    fn packing<'a>(
        &'a self,
        op: &'static str,
        from: &'a dyn std::fmt::Display,
        to: &'a Layout,
        bytes: usize,
        location: &'static Location<'static>,
    ) -> Move<'a> {
        Move { op, cause: Cause::Call, from, to, dims: &self.dims, bytes, location }
    }

    fn pack(&self, layout: &Layout, dst: &mut [u8]) {
        let elem = self.dtype.size_bytes();
        let bytes = self.storage.as_bytes();
        let start = (self.offset * elem).min(bytes.len());
        pack::pack(elem, &bytes[start..], &self.dims, &self.strides, layout, dst);
    }
}

impl std::fmt::Debug for BlockedTensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlockedTensor {{ {} {} {} }}", self.dtype, self.dims, self.layout)
    }
}

fn unshared<'a>(op: &'static str, storage: &'a mut Arc<Buffer>) -> Result<&'a mut Buffer> {
    match Arc::get_mut(storage) {
        Some(buffer) => Ok(buffer),
        None => fail!(
            Aliasing,
            op,
            "dst",
            "a tensor whose storage another tensor shares",
            "a result's storage must be its own",
            "drop the other tensor, or let the call make the result"
        ),
    }
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

fn same_dtype(op: &'static str, argument: &'static str, got: DType, wanted: DType) -> Result<()> {
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

/// Whether two elements may share memory. Exact for views of dense tensors; a few interleaved strides that do not
/// overlap count as overlapping, as in PyTorch (`at::has_internal_overlap` and its like).
fn overlaps(dims: &[usize], strides: &[usize]) -> bool {
    if dims.contains(&0) {
        return false;
    }
    let mut axes: Vec<(usize, usize)> =
        dims.iter().zip(strides).filter(|(d, _)| **d > 1).map(|(&d, &s)| (s, d)).collect();
    axes.sort_unstable();
    let mut reach = 0;
    axes.iter().any(|&(stride, size)| {
        let clash = stride <= reach;
        reach += (size - 1) * stride;
        clash
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers 1 to 24 in a storage, and views of it.
    fn view(dims: &[usize], strides: &[usize], offset: usize) -> StridedTensor {
        let data: Vec<f32> = (1..=24).map(|i| i as f32).collect();
        let mut x = StridedTensor::from_slice(&data, &[24]).unwrap();
        (x.dims, x.strides, x.offset) = (Dims::from_slice(dims), Dims::from_slice(strides), offset);
        x
    }

    #[test]
    fn a_dirty_tail_is_found_and_told() {
        let mut x = BlockedTensor::full(1f32, &[1, 3, 2, 2], &Layout::NCHW16C).unwrap();
        x.check_tail().unwrap();
        x.data_mut::<f32>().unwrap()[16 + 5] = f32::NAN;
        let e = x.check_tail().unwrap_err().to_string();
        assert!(e.contains("element 21") && e.contains("nChw16c"), "{e}");
        assert_eq!(x.data::<f32>()[16], 1.0);
        let shared = x.clone();
        assert!(x.data_mut::<f32>().is_none());
        drop(shared);
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
        let x = BlockedTensor::full(0f32, &[1, 2, 2, 2], &Layout::NCHW16C).unwrap();
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
