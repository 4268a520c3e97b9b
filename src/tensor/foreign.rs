//! Another library's memory as a strided tensor, without a copy; as the input of a run, with one where it is not aligned.

use std::any::Any;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

use super::reorder::unshared;
use super::strided::{StridedTensor, element_count};
use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::MemoryFormat;
use crate::ledger::{self, Cause, Move};

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

/// Memory of another library that runs of a plan read. A tensor of it needs elements at multiples of their size; where they are not,
/// and row-major, each run copies them. The ledger has each copy, with the cause [`Cause::Unaligned`].
///
/// ```
/// use std::sync::Arc;
///
/// use blocktensor::{DType, Foreign, ForeignInput, ledger};
/// let bytes = [0u8, 0, 0, 128, 63, 0, 0, 0, 64, 0, 0];
/// let start = (0..4).find(|i| (bytes.as_ptr().addr() + i) % 4 != 0).unwrap();
/// let data = bytes[start..].as_ptr().cast_mut();
/// let memory = Foreign { data, dtype: DType::F32, dims: &[1], strides: None, writable: false };
/// // SAFETY: the bytes of one element are there until the end, and nobody writes to them.
/// let input = unsafe { ForeignInput::new(memory, Arc::new(())) }?;
/// let (x, book) = ledger::record(|| input.tensor("run"));
/// assert_eq!((x?.dims(), book.reorders.len()), (&[1][..], 1));
/// # Ok::<(), blocktensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ForeignInput(Held);

#[derive(Clone, Debug)]
enum Held {
    Aligned(StridedTensor),
    /// The bytes of row-major elements.
    Unaligned {
        bytes: StridedTensor,
        dtype: DType,
        dims: Dims,
    },
}

impl ForeignInput {
    /// Wraps another library's memory without a copy. `owner` is dropped with the input and the last tensor that uses the memory.
    ///
    /// # Errors
    /// As [`StridedTensor::from_foreign`]: `Misaligned` only for elements that are not row-major either.
    ///
    /// # Safety
    /// As for `from_foreign`.
    pub unsafe fn new(memory: Foreign<'_>, owner: Arc<dyn Any + Send + Sync>) -> Result<ForeignInput> {
        // SAFETY: the caller's promise.
        unsafe { ForeignInput::wrap("from_foreign", memory, 0, owner) }
    }

    /// As [`new`](Self::new), on behalf of `op`, for memory that has `before` bytes before its first element.
    ///
    /// # Safety
    /// As for `new`.
    pub(crate) unsafe fn wrap(
        op: &'static str,
        memory: Foreign<'_>,
        before: usize,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<ForeignInput> {
        let Some((dims, count)) = only_copied(op, &memory) else {
            // SAFETY: the caller's promise.
            return Ok(ForeignInput(Held::Aligned(unsafe {
                StridedTensor::wrap(op, memory, before, owner)
            }?)));
        };
        let bytes = Foreign { dtype: DType::U8, dims: &[count], strides: None, writable: false, ..memory };
        // SAFETY: as above: these are the same bytes.
        let bytes = unsafe { StridedTensor::wrap(op, bytes, before, owner) }?;
        Ok(ForeignInput(Held::Unaligned { bytes, dtype: memory.dtype, dims }))
    }

    /// The tensor for a run, on behalf of the call `op`: of the memory itself, or of a copy.
    ///
    /// # Errors
    /// For a copy: `ReorderDenied`, `OutOfMemory`.
    #[track_caller]
    pub fn tensor(&self, op: &'static str) -> Result<StridedTensor> {
        let (bytes, dtype, dims) = match &self.0 {
            Held::Aligned(t) => return Ok(t.clone()),
            Held::Unaligned { bytes, dtype, dims } => (bytes, *dtype, *dims),
        };
        let (from, to) = (bytes.as_slice::<u8>()?, MemoryFormat::Contiguous);
        let strides = to.strides(op, &dims)?;
        let copy = Move {
            op,
            cause: Cause::Unaligned,
            from: &"unaligned",
            to: &to,
            dims: &dims,
            bytes: from.len(),
            // What is copied again may have changed: it is not told as redundant.
            source: 0,
            location: Location::caller(),
        };
        ledger::reorder(copy, || {
            let mut made = StridedTensor::for_result(op, dims, strides, dtype)?;
            unshared(op, &mut made.storage)?.as_bytes_mut()[..from.len()].copy_from_slice(from);
            Ok(made)
        })
    }
}

/// What becomes of elements that do not begin at multiples of their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unaligned {
    /// They are an error.
    Refused,
    /// Row-major ones are copied, for the run that is named: as by [`ForeignInput`].
    CopiedFor(&'static str),
}

impl Unaligned {
    /// Another library's memory as a tensor. `owner` is dropped with the last tensor that uses it.
    ///
    /// # Errors
    /// As [`StridedTensor::from_foreign`] and [`ForeignInput::tensor`].
    ///
    /// # Safety
    /// As for `from_foreign`.
    pub unsafe fn tensor(
        self,
        memory: Foreign<'_>,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<StridedTensor> {
        // SAFETY: the caller's promise.
        unsafe { self.wrap("from_foreign", memory, 0, owner) }
    }

    /// As [`tensor`](Self::tensor), on behalf of `op`, for memory that has `before` bytes before its first element.
    ///
    /// # Safety
    /// As for `tensor`.
    pub(crate) unsafe fn wrap(
        self,
        op: &'static str,
        memory: Foreign<'_>,
        before: usize,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<StridedTensor> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Unaligned::Refused => StridedTensor::wrap(op, memory, before, owner),
                Unaligned::CopiedFor(run) => ForeignInput::wrap(op, memory, before, owner)?.tensor(run),
            }
        }
    }
}

/// The sizes and the number of bytes of row-major elements that do not begin at multiples of their size; `None` for all else, and where
/// `StridedTensor::wrap` refuses the memory for another reason.
fn only_copied(op: &'static str, memory: &Foreign<'_>) -> Option<(Dims, i64)> {
    let size = memory.dtype.size_bytes();
    if memory.data.addr().is_multiple_of(size) || memory.dims.contains(&0) {
        return None;
    }
    let dims = sizes(op, memory.dims).ok()?;
    let row_major = MemoryFormat::Contiguous.strides(op, &dims).ok()?;
    let strides = memory.strides.map_or(Ok(row_major), |strides| steps(op, strides, &dims)).ok()?;
    let is_row_major = dims.iter().zip(&strides).zip(&row_major).all(|((&d, a), b)| d == 1 || a == b);
    let bytes = element_count(op, &dims).ok()?.checked_mul(size)?;
    is_row_major.then_some((dims, i64::try_from(bytes).ok()?))
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
