//! Another library's memory as a strided tensor, without a copy.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use super::strided::{StridedTensor, element_count};
use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::MemoryFormat;

/// Memory that another library owns, and the dtype, sizes and strides of the tensor in it.
#[derive(Clone, Copy, Debug)]
pub struct Foreign<'a> {
    /// The address of the first element. May be null if there are no elements.
    pub data: *mut u8,
    /// Type of the elements.
    pub dtype: DType,
    /// Sizes, in logical order.
    pub dims: &'a [i64],
    /// Strides in **elements**; row-major if `None`.
    pub strides: Option<&'a [i64]>,
    /// Whether ops that write into a tensor may write into this one.
    pub writable: bool,
}

impl StridedTensor {
    /// Wraps another library's memory without a copy. `owner` is dropped with the last tensor that uses the memory.
    ///
    /// # Errors
    /// On an error `owner` is dropped at once. `RankMismatch`; `InvalidArgument` for negative sizes; `UnsupportedStride` for
    /// negative strides; `Overflow`; `Misaligned` unless the data's address is a multiple of its element's size;
    /// `InvalidArgument` for null data.
    ///
    /// # Safety
    /// Every element that sizes and strides reach is valid for reading, and for writing if `writable`, for as long as `owner`
    /// lives. Meanwhile nobody else writes to the memory, and nobody else reads it while a tensor made here is written to.
    /// `owner` may be dropped on any thread.
    pub unsafe fn from_foreign(
        memory: Foreign<'_>,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<StridedTensor> {
        // SAFETY: the caller's promise.
        unsafe { StridedTensor::wrap("from_foreign", memory, 0, owner) }
    }

    /// As [`from_foreign`](Self::from_foreign), on behalf of `op`, for memory that has `before` bytes before its first
    /// element.
    ///
    /// # Safety
    /// As for `from_foreign`.
    pub(crate) unsafe fn wrap(
        op: &'static str,
        memory: Foreign<'_>,
        before: usize,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<StridedTensor> {
        let dims = sizes(op, memory.dims)?;
        let numel = element_count(op, &dims)?;
        // This also checks that the product of the sizes does not overflow, whatever the strides.
        let row_major = MemoryFormat::Contiguous.strides(op, &dims)?;
        let strides = match memory.strides {
            Some(strides) if numel > 0 => steps(op, strides, &dims)?,
            // Without elements, strides have no effect; they are kept if they are valid.
            Some(strides) => steps(op, strides, &dims).unwrap_or(row_major),
            None => row_major,
        };
        let size = memory.dtype.size_bytes();
        let reach = if numel == 0 { Some(0) } else { reach(&dims, &strides) };
        let address = memory.data.addr();
        let bytes = reach.and_then(|r| r.checked_mul(size)).filter(|bytes| {
            let object = bytes.checked_add(before);
            object.is_some_and(|n| isize::try_from(n).is_ok()) && address.checked_add(*bytes).is_some()
        });
        let Some(bytes) = bytes else {
            let from = format!("{before} bytes into memory, at address {:p}", memory.data);
            fail!(
                Overflow,
                op,
                "strides",
                format!("sizes {dims} with strides {strides}, {from}"),
                format!(
                    "the last element must end within the address space, and within {} bytes",
                    isize::MAX
                ),
                "pass the strides in elements"
            );
        };
        let data = match NonNull::new(memory.data) {
            _ if numel == 0 => NonNull::<u64>::dangling().cast(),
            Some(data) => data,
            None => fail!(
                InvalidArgument,
                op,
                "data",
                "null",
                format!("sizes {dims} have {numel} elements"),
                "pass the address of the first element"
            ),
        };
        if !data.addr().get().is_multiple_of(size) {
            fail!(
                Misaligned,
                op,
                "data",
                format!("address {:p}", data.as_ptr()),
                format!("{} elements must begin at multiples of {size} bytes", memory.dtype),
                "copy it to aligned memory first"
            );
        }
        // SAFETY: the caller's promise, for the bytes that sizes and strides reach.
        let storage = unsafe { Buffer::foreign(data, bytes, owner, memory.writable) };
        let (storage, dtype) = (Arc::new(storage), memory.dtype);
        Ok(StridedTensor { storage, dims, strides, offset: 0, dtype, format_tag: None, quantization: None })
    }
}

fn sizes(op: &'static str, dims: &[i64]) -> Result<Dims> {
    let plain: Vec<usize> = dims.iter().map(|&d| usize::try_from(d).unwrap_or(usize::MAX)).collect();
    if dims.iter().any(|&d| d < 0) {
        fail!(
            InvalidArgument,
            op,
            "dims",
            format!("{dims:?}"),
            "sizes cannot be negative",
            "pass sizes of 0 or more"
        );
    }
    Dims::new(op, "dims", &plain)
}

fn steps(op: &'static str, strides: &[i64], dims: &Dims) -> Result<Dims> {
    if strides.len() != dims.len() {
        fail!(
            InvalidArgument,
            op,
            "strides",
            format!("{strides:?}"),
            format!("there must be one for each of sizes {dims}"),
            "pass one stride for each size"
        );
    }
    if let Some(axis) = strides.iter().zip(dims).position(|(&s, &d)| s < 0 && d > 1) {
        fail!(
            UnsupportedStride,
            op,
            "strides",
            format!("{strides:?}"),
            format!("the stride of axis {axis} is negative, which is not supported"),
            "copy it to a tensor with positive strides first"
        );
    }
    // The stride of an axis of size 1 has no effect, whatever it is.
    Ok(strides.iter().map(|&s| usize::try_from(s).unwrap_or(1)).to_dims())
}

/// The number of elements from the first to the last, both included.
fn reach(dims: &[usize], strides: &[usize]) -> Option<usize> {
    dims.iter().zip(strides).try_fold(1usize, |at, (&d, &s)| at.checked_add((d - 1).checked_mul(s)?))
}
