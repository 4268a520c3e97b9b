//! DLPack: exchanging tensors with other libraries without a copy.
//!
//! The structures are those of `dlpack.h` 1.1 (<https://dmlc.github.io/dlpack/latest/c_api.html>): the versioned structure,
//! and the older one without version and flags. The receiver of a structure calls its deleter once. This crate calls it when
//! the last tensor that uses the memory is dropped, or at once if it refuses the tensor.

mod structures;

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::{Call, Complaint, Error, Result, Text, fail};
use crate::layout::blocked::Layout;
use crate::layout::dims::MAX_RANK;
use crate::tensor::any::TensorRef;
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::foreign::Foreign;
pub use crate::tensor::foreign::Unaligned;
use crate::tensor::integers::Width;
use crate::tensor::quantization::refuse;
use crate::tensor::strided::StridedTensor;
pub use structures::*;

/// Why a quantised tensor is not exported.
const NO_SCALES: &str = "DLPack has no scales and zero points";
/// `kDLCPU`.
const CPU: i32 = 1;

/// What becomes of a DLPack tensor of a type that no dtype is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherTypes {
    /// It is refused.
    Refused,
    /// Integers of 8 to 64 bits become s32, in a row-major copy unless they are. A number that s32 does not hold is an error.
    IntegersAsS32,
    /// Booleans become u8, without a copy.
    BooleansAsU8,
}

/// One of the two structures.
trait Managed: Sized + 'static {
    fn new(tensor: DLTensor, ctx: *mut c_void, read_only: bool) -> Self;
    fn ctx(&self) -> *mut c_void;
    /// # Safety
    /// `this` is live, and nobody uses it afterwards.
    unsafe fn give_back(this: NonNull<Self>);
}

macro_rules! managed {
    ($form:ty, $make:expr) => {
        impl Managed for $form {
            fn new(dl_tensor: DLTensor, manager_ctx: *mut c_void, read_only: bool) -> Self {
                let make: fn(DLTensor, *mut c_void, bool) -> Self = $make;
                make(dl_tensor, manager_ctx, read_only)
            }
            fn ctx(&self) -> *mut c_void {
                self.manager_ctx
            }
            unsafe fn give_back(this: NonNull<Self>) {
                // SAFETY: live, as the caller promises.
                if let Some(deleter) = unsafe { (*this.as_ptr()).deleter } {
                    // SAFETY: called once, by the receiver.
                    unsafe { deleter(this.as_ptr()) };
                }
            }
        }
    };
}
managed!(DLManagedTensor, |dl_tensor, manager_ctx, _| DLManagedTensor {
    dl_tensor,
    manager_ctx,
    deleter: Some(delete::<DLManagedTensor>),
});
managed!(DLManagedTensorVersioned, |dl_tensor, manager_ctx, read_only| DLManagedTensorVersioned {
    version: VERSION,
    manager_ctx,
    deleter: Some(delete::<DLManagedTensorVersioned>),
    flags: if read_only { READ_ONLY } else { 0 },
    dl_tensor,
});

/// Owns the data that an exported tensor needs.
struct Kept {
    _storage: Arc<Buffer>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

unsafe extern "C" fn delete<M: Managed>(this: *mut M) {
    if this.is_null() {
        return;
    }
    // SAFETY: `export` made both boxes, and the receiver calls this once.
    unsafe {
        let managed = Box::from_raw(this);
        drop(Box::from_raw(managed.ctx().cast::<Kept>()));
    }
}

fn export<M: Managed>(
    storage: &Arc<Buffer>,
    dims: &[usize],
    strides: &[usize],
    offset: usize,
    dtype: DType,
    read_only: bool,
) -> NonNull<M> {
    let signed = |v: &[usize]| v.iter().map(|&d| d as i64).collect::<Vec<i64>>();
    let kept = Kept { _storage: Arc::clone(storage), shape: signed(dims), strides: signed(strides) };
    let mut kept = Box::new(kept);
    let (code, bits) = match dtype {
        DType::F32 => (2, 32),
        DType::F16 => (2, 16),
        DType::BF16 => (4, 16),
        DType::U8 => (1, 8),
        DType::S8 => (0, 8),
        DType::S32 => (0, 32),
    };
    let tensor = DLTensor {
        // The storage's own pointer: a pointer from a reference to its bytes would not allow writing.
        data: storage.as_ptr().cast(),
        device: DLDevice { device_type: CPU, device_id: 0 },
        ndim: dims.len() as i32,
        dtype: DLDataType { code, bits, lanes: 1 },
        shape: kept.shape.as_mut_ptr(),
        strides: kept.strides.as_mut_ptr(),
        // Without elements the offset may be outside the memory.
        byte_offset: if dims.contains(&0) { 0 } else { (offset * dtype.size_bytes()) as u64 },
    };
    let ctx = Box::into_raw(kept).cast();
    NonNull::from(Box::leak(Box::new(M::new(tensor, ctx, read_only))))
}

/// A received tensor; dropping it calls the deleter.
struct Received<M: Managed>(NonNull<M>);

// SAFETY: only its deleter is called, once, and `from_dlpack`'s caller promises that any thread may call it.
unsafe impl<M: Managed> Send for Received<M> {}
// SAFETY: as above; `&Received` gives no access.
unsafe impl<M: Managed> Sync for Received<M> {}

impl<M: Managed> Drop for Received<M> {
    fn drop(&mut self) {
        // SAFETY: received once, and dropped once.
        unsafe { M::give_back(self.0) };
    }
}

impl StridedTensor {
    /// Exports the tensor to another library, marked read-only, because other tensors here may share its memory. No copy is
    /// made; the receiver calls the deleter.
    ///
    /// # Errors
    /// `UnsupportedDType` for a tensor with scales and zero points, which DLPack does not have.
    pub fn to_dlpack(&self) -> Result<NonNull<DLManagedTensorVersioned>> {
        refuse("to_dlpack", "self", TensorRef::Strided(self), NO_SCALES)?;
        Ok(export(&self.storage, &self.dims, &self.strides, self.offset, self.dtype, true))
    }

    /// Exports the tensor to another library, which may write to it. No copy is made.
    ///
    /// # Errors
    /// `Aliasing` if another tensor shares its storage; as [`to_dlpack`](Self::to_dlpack).
    pub fn into_dlpack(self) -> Result<NonNull<DLManagedTensorVersioned>> {
        let t = self.unshared("into_dlpack")?;
        Ok(export(&t.storage, &t.dims, &t.strides, t.offset, t.dtype, false))
    }

    /// As [`into_dlpack`](Self::into_dlpack), in the structure used before version 1, which has no read-only flag.
    ///
    /// # Errors
    /// As `into_dlpack`.
    pub fn into_dlpack_unversioned(self) -> Result<NonNull<DLManagedTensor>> {
        let t = self.unshared("into_dlpack_unversioned")?;
        Ok(export(&t.storage, &t.dims, &t.strides, t.offset, t.dtype, false))
    }

    fn unshared(mut self, op: &'static str) -> Result<StridedTensor> {
        refuse(op, "self", TensorRef::Strided(&self), NO_SCALES)?;
        if Buffer::exclusive(&mut self.storage).is_none() {
            fail!(
                Aliasing,
                op,
                "self",
                format!("{} {}, whose storage is shared or read-only", self.dims, self.dtype),
                "the receiver may write to it",
                Text::from("export it read-only with ")
                    + Call::ToDlpack
                    + ", or export a copy: "
                    + Call::Copy
            );
        }
        Ok(self)
    }

    /// Imports another library's tensor, without a copy. Its deleter is called when the last tensor that uses it is dropped,
    /// or at once on an error.
    ///
    /// # Errors
    /// `DlpackVersion` for a major version other than 1; then only version and deleter are read. `DlpackUnsupported` for
    /// another device, type or number of lanes; the errors of [`from_foreign`](Self::from_foreign).
    ///
    /// # Safety
    /// `managed` is a live tensor that nobody else consumes, and its memory meets the conditions of `from_foreign`; any
    /// thread may call its deleter.
    pub unsafe fn from_dlpack(managed: NonNull<DLManagedTensorVersioned>) -> Result<StridedTensor> {
        // SAFETY: the caller's promise.
        unsafe { StridedTensor::from_dlpack_with(managed, OtherTypes::Refused, Unaligned::Refused) }
    }

    /// As [`from_dlpack`](Self::from_dlpack), for types that no dtype is, and for elements that are not aligned, too.
    ///
    /// # Errors
    /// As `from_dlpack`; `InvalidArgument` for an integer that does not fit; `ReorderDenied` and `OutOfMemory` for copies.
    ///
    /// # Safety
    /// As `from_dlpack`.
    pub unsafe fn from_dlpack_with(
        managed: NonNull<DLManagedTensorVersioned>,
        others: OtherTypes,
        unaligned: Unaligned,
    ) -> Result<StridedTensor> {
        let owner = Received(managed);
        // SAFETY: live; this field is at the same place in every version.
        let version = unsafe { (*managed.as_ptr()).version };
        if version.major != VERSION.major {
            let got = format!("version {}.{}", version.major, version.minor);
            let rule = format!("only versions {}.x are supported", VERSION.major);
            let remedy = "request that version from the other library (`max_version`)";
            fail!(DlpackVersion, "from_dlpack", "managed", got, rule, remedy);
        }
        // SAFETY: the version is that of this structure.
        let (tensor, flags) = unsafe { ((*managed.as_ptr()).dl_tensor, (*managed.as_ptr()).flags) };
        // SAFETY: the caller's promise.
        unsafe { import(tensor, flags & READ_ONLY == 0, Arc::new(owner), others, unaligned) }
    }

    /// As [`from_dlpack`](Self::from_dlpack), for the structure used before version 1.
    ///
    /// # Errors
    /// As `from_dlpack`, except for the version.
    ///
    /// # Safety
    /// As `from_dlpack`.
    pub unsafe fn from_dlpack_unversioned(managed: NonNull<DLManagedTensor>) -> Result<StridedTensor> {
        // SAFETY: the caller's promise.
        unsafe {
            StridedTensor::from_dlpack_unversioned_with(managed, OtherTypes::Refused, Unaligned::Refused)
        }
    }

    /// As [`from_dlpack_with`](Self::from_dlpack_with), for the structure used before version 1.
    ///
    /// # Errors
    /// As `from_dlpack_with`, except for the version.
    ///
    /// # Safety
    /// As `from_dlpack`.
    pub unsafe fn from_dlpack_unversioned_with(
        managed: NonNull<DLManagedTensor>,
        others: OtherTypes,
        unaligned: Unaligned,
    ) -> Result<StridedTensor> {
        let owner = Received(managed);
        // SAFETY: live.
        let tensor = unsafe { (*managed.as_ptr()).dl_tensor };
        // SAFETY: the caller's promise.
        unsafe { import(tensor, true, Arc::new(owner), others, unaligned) }
    }
}

/// # Safety
/// As `from_foreign`, for the tensor's memory; shape and strides are null or hold `ndim` values.
unsafe fn import<M: Managed>(
    t: DLTensor,
    writable: bool,
    owner: Arc<Received<M>>,
    others: OtherTypes,
    unaligned: Unaligned,
) -> Result<StridedTensor> {
    let op = "from_dlpack";
    let unsupported = |field: &'static str, got: String, rule: &str| {
        Err(Error::DlpackUnsupported(Complaint::new(
            op,
            field,
            got,
            rule,
            "convert it in the other library first",
        )))
    };
    if t.device.device_type != CPU {
        // There is one CPU, so `device_id` is ignored.
        return unsupported(
            "device",
            format!("device type {}", t.device.device_type),
            "only 1, the CPU, is supported",
        );
    }
    if t.dtype.lanes != 1 {
        return unsupported("dtype", format!("{} lanes", t.dtype.lanes), "elements must be single numbers");
    }
    // The parts of an integer are one more axis.
    let takes_integers = others == OtherTypes::IntegersAsS32 && t.ndim < MAX_RANK as i32;
    let mut parts = None;
    let dtype = match (t.dtype.code, t.dtype.bits) {
        (code @ (0 | 1), bits @ (8 | 16 | 32 | 64)) if takes_integers && (code, bits) != (0, 32) => {
            let width = Width { bits, is_signed: code == 0 };
            let dtype = width.of_part();
            parts = Some((width, i64::from(bits) / (8 * dtype.size_bytes() as i64)));
            dtype
        }
        (2, 32) => DType::F32,
        (2, 16) => DType::F16,
        (4, 16) => DType::BF16,
        (1, 8) => DType::U8,
        (0, 8) => DType::S8,
        (0, 32) => DType::S32,
        (6, 8) if others == OtherTypes::BooleansAsU8 => DType::U8,
        (code, bits) => {
            let got = match code {
                0 => format!("s{bits}"),
                1 => format!("u{bits}"),
                2 => format!("f{bits}"),
                4 => format!("bf{bits}"),
                5 => format!("complex numbers of {bits} bits"),
                6 => "bool".to_string(),
                code => format!("elements of DLPack's type {code}, of {bits} bits"),
            };
            return unsupported("dtype", got, "tensors are f32, bf16, f16, u8, s8 or s32");
        }
    };
    let Ok(ndim) = usize::try_from(t.ndim) else {
        return unsupported("ndim", t.ndim.to_string(), "it is 0 or more");
    };
    if ndim > MAX_RANK {
        let (got, rule) = (format!("{ndim} dimensions"), format!("tensors have at most {MAX_RANK}"));
        fail!(RankMismatch, op, "ndim", got, rule, "merge some of them first");
    }
    if ndim > 0 && t.shape.is_null() {
        return unsupported("shape", "null".into(), "there is a size for each dimension");
    }
    // Copies: where the tensor is refused, the lists are gone with `owner` before `wrap` returns.
    let list = |p: *const i64| {
        // SAFETY: holds `ndim` values, as the caller promises.
        (ndim > 0 && !p.is_null()).then(|| unsafe { std::slice::from_raw_parts(p, ndim) }.to_vec())
    };
    let (mut dims, mut strides) = (list(t.shape).unwrap_or_default(), list(t.strides));
    if let Some((_, count)) = parts {
        dims.push(count);
        strides = strides.map(|list| list.iter().map(|s| s.saturating_mul(count)).chain([1]).collect());
    }
    // No object is larger than `isize::MAX` bytes or wraps around the address space.
    let skip = usize::try_from(t.byte_offset).ok().filter(|&s| isize::try_from(s).is_ok());
    let Some(skip) = skip.filter(|&s| t.data.addr().checked_add(s).is_some()) else {
        return unsupported(
            "byte_offset",
            format!("{} bytes from address {:p}", t.byte_offset, t.data),
            &format!("it is at most {} and ends within the address space", isize::MAX),
        );
    };
    let data = if t.data.is_null() { t.data.cast() } else { t.data.cast::<u8>().wrapping_add(skip) };
    let memory = Foreign { data, dtype, dims: &dims, strides: strides.as_deref(), writable };
    // SAFETY: the caller's promise; `skip` bytes of the same object precede `data`.
    let t = unsafe { unaligned.wrap(op, memory, skip, owner) }?;
    match parts {
        Some((width, _)) => width.narrowed(op, &t),
        None => Ok(t),
    }
}

impl BlockedTensor {
    /// A blocked tensor has no strides that DLPack could express.
    ///
    /// # Errors
    /// `OpaqueLayout`, always; it names the reorder to call.
    pub fn to_dlpack(&self) -> Result<NonNull<DLManagedTensorVersioned>> {
        fail!(
            OpaqueLayout,
            "to_dlpack",
            "self",
            format!("{:?} {} {}", self.dims(), self.dtype(), self.layout()),
            "DLPack needs strides, and a blocked layout has none",
            Text::from("reorder it with ")
                + Call::ToStrided
                + ", or export its blocks unchanged with "
                + Call::AsBlockedDlpack
        )
    }

    /// Exports blocked activations, `nChw16c` or `nChw8c`, as the dense tensor of rank 5 that they are in memory, marked
    /// read-only: N, ceil(C / block), H, W, block (likewise for ranks 3 and 5). The lanes past C are zero. No copy is made.
    ///
    /// # Errors
    /// `OpaqueLayout` for layouts other than a single block of channels; `UnsupportedDType` for a tensor with scales and zero
    /// points.
    pub fn as_blocked_dlpack(&self) -> Result<NonNull<DLManagedTensorVersioned>> {
        refuse("as_blocked_dlpack", "self", TensorRef::Blocked(self), NO_SCALES)?;
        let (layout, rank) = (*self.layout(), self.dims().len());
        let block = layout.block_of(1);
        if block < 2 || !Layout::blocked_activation(rank, block).is_ok_and(|l| l == layout) {
            fail!(
                OpaqueLayout,
                "as_blocked_dlpack",
                "self",
                format!("{:?} {} {layout}", self.dims(), self.dtype()),
                "only activations in blocks of channels can be exported",
                Text::from("reorder it to such a layout, or with ") + Call::ToStrided
            );
        }
        let mut dims = self.dims().to_vec();
        dims[1] = dims[1].div_ceil(block);
        dims.push(block);
        let mut strides = vec![1; dims.len()];
        for i in (0..dims.len() - 1).rev() {
            strides[i] = strides[i + 1] * dims[i + 1].max(1);
        }
        Ok(export(&self.storage, &dims, &strides, 0, self.dtype(), true))
    }
}
