//! `StridedTensor`: sizes, strides, offset, dtype and shared storage.

use std::borrow::Cow;
use std::sync::Arc;

use super::quantization::Shared;
use crate::buffer::Buffer;
use crate::dtype::{DType, Element};
use crate::error::{Call, Result, Text, fail};
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::layout::overlap::{for_each_offset, span};
use crate::memory::try_with_capacity;

/// A tensor whose layout strides can express: NCHW, NHWC, or any view of them.
///
/// Sizes are in logical order (N, C, D, H, W). Strides and offset are in **elements**; they may be zero but not negative.
/// Clones and views share the storage; data is written only while one tensor owns it.
#[derive(Clone)]
pub struct StridedTensor {
    pub(crate) storage: Arc<Buffer>,
    pub(crate) dims: Dims,
    pub(crate) strides: Dims,
    pub(crate) offset: usize,
    pub(crate) dtype: DType,
    /// The format that the user stated. It matters if strides alone are ambiguous.
    pub(crate) format_tag: Option<MemoryFormat>,
    pub(crate) quantization: Shared,
}

impl StridedTensor {
    /// A contiguous tensor with a copy of `data`, which is in logical (row-major) order.
    ///
    /// # Errors
    /// `ShapeMismatch` if the length of `data` is not the product of `dims`; `Overflow`, `RankMismatch`, `OutOfMemory`.
    pub fn from_slice<E: Element>(data: &[E], dims: &[usize]) -> Result<StridedTensor> {
        let op = "from_slice";
        let d = Dims::new(op, "dims", dims)?;
        let strides = MemoryFormat::Contiguous.strides(op, dims)?;
        let numel = element_count(op, &d)?;
        if numel != data.len() {
            fail!(
                ShapeMismatch,
                op,
                "data",
                format!("{} elements", data.len()),
                format!("sizes {d} hold {numel}"),
                "pass exactly that many, in row-major order"
            );
        }
        let mut buf = Buffer::zeroed(byte_count(op, numel, E::DTYPE)?)?;
        buf.as_mut_slice::<E>().copy_from_slice(data);
        Ok(StridedTensor {
            storage: Arc::new(buf),
            dims: d,
            strides,
            offset: 0,
            dtype: E::DTYPE,
            format_tag: None,
            quantization: None,
        })
    }

    /// The row-major tensor of these sizes at the beginning of a storage.
    pub(crate) fn of_storage(
        op: &'static str,
        storage: Arc<Buffer>,
        dims: Dims,
        dtype: DType,
    ) -> Result<StridedTensor> {
        let strides = MemoryFormat::Contiguous.strides(op, &dims)?;
        debug_assert!(dims.iter().product::<usize>() * dtype.size_bytes() <= storage.len());
        Ok(StridedTensor { storage, dims, strides, offset: 0, dtype, format_tag: None, quantization: None })
    }

    /// Recycled storage for a result. The caller writes every element; `strides` are dense.
    pub(crate) fn for_result(
        op: &'static str,
        dims: Dims,
        strides: Dims,
        dtype: DType,
    ) -> Result<StridedTensor> {
        let bytes = byte_count(op, element_count(op, &dims)?, dtype)?;
        let storage = Arc::new(Buffer::for_result(bytes)?);
        Ok(StridedTensor { storage, dims, strides, offset: 0, dtype, format_tag: None, quantization: None })
    }

    /// Sizes, in logical order.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Number of logical elements.
    pub fn numel(&self) -> usize {
        self.dims.iter().product()
    }

    /// Strides: the distance between neighbours along each dimension, in **elements**.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// The position of the first element in the storage, in **elements**.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Whether a call may write into this tensor: no other tensor shares its storage, and its owner allows writing.
    ///
    /// ```
    /// let mut x = blocktensor::StridedTensor::from_slice(&[1f32, 2.0], &[2])?;
    /// assert!(x.is_writable());
    /// let shared = x.clone();
    /// assert!(!x.is_writable());
    /// drop(shared);
    /// assert!(x.is_writable());
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    pub fn is_writable(&mut self) -> bool {
        Buffer::exclusive(&mut self.storage).is_some()
    }

    /// Whether both tensors have the same storage. Their elements need not overlap.
    pub fn shares_storage(&self, other: &StridedTensor) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage)
    }

    /// Whether both tensors have memory in common, from the first element to the last of each, whoever owns the storages: two storages
    /// may be one memory of a caller's.
    ///
    /// ```
    /// let x = blocktensor::StridedTensor::from_slice(&[0f32; 6], &[6])?;
    /// let (left, right) = (x.narrow(0, 0, 3)?, x.narrow(0, 3, 3)?);
    /// assert!(x.overlaps(&left) && !left.overlaps(&right));
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    pub fn overlaps(&self, other: &StridedTensor) -> bool {
        let bytes = |t: &StridedTensor| {
            let (place, size) = (t.place(), t.dtype.size_bytes());
            let start = t.storage.as_ptr().addr();
            start + place.start * size..start + place.end * size
        };
        let (a, b) = (bytes(self), bytes(other));
        a.start.max(b.start) < a.end.min(b.end)
    }

    /// One element, or `None` if the index is out of range or `E` is not the tensor's element type.
    pub fn get<E: Element>(&self, index: &[usize]) -> Option<E> {
        let inside = index.len() == self.rank() && index.iter().zip(&self.dims).all(|(i, d)| i < d);
        if !inside || E::DTYPE != self.dtype {
            return None;
        }
        let at: usize = index.iter().zip(&self.strides).map(|(i, s)| i * s).sum();
        Some(self.storage.as_slice::<E>()[self.offset + at])
    }

    fn check_element<E: Element>(&self, op: &'static str) -> Result<()> {
        if E::DTYPE != self.dtype {
            fail!(
                DTypeMismatch,
                op,
                "self",
                self.dtype.name(),
                format!("{} was requested", E::DTYPE),
                Text::from("use the tensor's own element type, or convert it with ") + Call::ToAnyDType
            );
        }
        Ok(())
    }

    /// The elements of a contiguous tensor, in logical (row-major) order.
    ///
    /// # Errors
    /// `DTypeMismatch` if `E` is not the tensor's element type; `LayoutMismatch` if the tensor is not contiguous.
    pub fn as_slice<E: Element>(&self) -> Result<&[E]> {
        self.check_element::<E>("as_slice")?;
        if !self.is_contiguous(MemoryFormat::Contiguous) {
            fail!(
                LayoutMismatch,
                "as_slice",
                "self",
                format!("sizes {} with strides {}", self.dims, self.strides),
                "only a contiguous tensor's elements form one slice",
                Text::from("call ") + Call::Contiguous + " first, or " + Call::ToVec
            );
        }
        Ok(self.data())
    }

    /// A copy of the elements in logical (row-major) order.
    ///
    /// # Errors
    /// `DTypeMismatch` if `E` is not the tensor's element type; `OutOfMemory`, which an expanded tensor can cause although
    /// its storage is small.
    pub fn to_vec<E: Element>(&self) -> Result<Vec<E>> {
        self.check_element::<E>("to_vec")?;
        let data = self.data::<E>();
        // A tensor without elements (a descriptor's) has none to copy.
        if data.is_empty() {
            return Ok(Vec::new());
        }
        let mut out = try_with_capacity("to_vec", self.numel())?;
        for_each_offset(&self.dims, &self.strides, |at| out.push(data[at]));
        Ok(out)
    }

    /// The elements in row-major order: borrowed if the tensor is contiguous, otherwise copied.
    pub(crate) fn values<E: Element>(&self) -> Result<Cow<'_, [E]>> {
        if E::DTYPE == self.dtype && self.is_contiguous(MemoryFormat::Contiguous) {
            return Ok(Cow::Borrowed(self.data()));
        }
        self.to_vec().map(Cow::Owned)
    }

    /// The storage from the tensor's first element to its last, gaps included: for a dense tensor, exactly its elements. The
    /// caller must know the dtype.
    pub(crate) fn data<E: Element>(&self) -> &[E] {
        debug_assert_eq!(E::DTYPE, self.dtype);
        // A tensor without elements may have an offset past the end of its storage, as in PyTorch.
        self.storage.as_slice::<E>().get(self.place()).unwrap_or(&[])
    }

    /// As [`data`](Self::data), for any dtype, in bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        let (elem, place) = (self.dtype.size_bytes(), self.place());
        let place = place.start.saturating_mul(elem)..place.end.saturating_mul(elem);
        let all = self.storage.as_bytes();
        // The empty slice keeps the storage's address, which is aligned for the elements.
        all.get(place).unwrap_or(&all[..0])
    }

    fn place(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + span(&self.dims, &self.strides)
    }

    /// The memory format's name, or the strides if they match no format. Errors and the ledger print it.
    pub(crate) fn format_name(&self) -> String {
        super::formats::Described(&self.dims, &self.strides).to_string()
    }

    /// The bytes of a result that no other tensor shares, from its first element to its last.
    ///
    /// # Panics
    /// If another tensor shares the storage.
    pub(crate) fn result_bytes(&mut self) -> &mut [u8] {
        self.bytes_mut().expect("a result that nobody else uses")
    }

    /// The bytes of the view's elements; `None` while another tensor shares the storage.
    pub(crate) fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        let (elem, place) = (self.dtype.size_bytes(), self.place());
        let place = place.start.saturating_mul(elem)..place.end.saturating_mul(elem);
        Some(Buffer::exclusive(&mut self.storage)?.as_bytes_mut().get_mut(place).unwrap_or(&mut []))
    }

    /// As [`result_bytes`](Self::result_bytes), as elements.
    ///
    /// # Panics
    /// If another tensor shares the storage.
    pub(crate) fn result_data<E: Element>(&mut self) -> &mut [E] {
        self.data_mut().expect("a result that nobody else uses")
    }

    /// As [`StridedTensor::data`], or `None` while another tensor shares the storage.
    pub(crate) fn data_mut<E: Element>(&mut self) -> Option<&mut [E]> {
        debug_assert_eq!(E::DTYPE, self.dtype);
        let place = self.place();
        Some(Buffer::exclusive(&mut self.storage)?.as_mut_slice::<E>().get_mut(place).unwrap_or(&mut []))
    }
}

impl std::fmt::Debug for StridedTensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "StridedTensor {{ {} {}, strides: {}, offset: {}{} }}",
            self.dtype,
            self.dims,
            self.strides,
            self.offset,
            self.quantization.as_ref().map_or(String::new(), |q| q.describe())
        )
    }
}

/// The number of elements, or `Overflow`.
pub(crate) fn element_count(op: &'static str, dims: &Dims) -> Result<usize> {
    match dims.checked_product().filter(|&n| n <= isize::MAX as usize) {
        Some(n) => Ok(n),
        None => fail!(
            Overflow,
            op,
            "dims",
            dims.to_string(),
            "the number of elements overflows",
            "use smaller sizes"
        ),
    }
}

/// **Bytes** of `numel` elements, or `Overflow`.
pub(crate) fn byte_count(op: &'static str, numel: usize, dtype: DType) -> Result<usize> {
    match dtype.bytes_of(numel) {
        Some(n) => Ok(n),
        None => fail!(
            Overflow,
            op,
            "dims",
            format!("{numel} elements of {dtype}"),
            "the number of bytes overflows",
            "use smaller sizes"
        ),
    }
}
