//! DLPack: tensors in and out of other libraries without a copy.
//!
//! The structures are those of `dlpack.h` 1.1 (<https://dmlc.github.io/dlpack/latest/c_api.html>): the versioned form, and the
//! older one without version and flags. Whoever receives one calls its deleter once; here that is when the last tensor that
//! uses the memory is dropped, or at once when it is refused.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::{Complaint, Error, Result, fail};
use crate::layout::blocked::Layout;
use crate::layout::dims::MAX_RANK;
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::foreign::Foreign;
use crate::tensor::strided::StridedTensor;

/// The version that is written; every 1.x is read.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };
/// Set in `flags` where the receiver must not write (`DLPACK_FLAG_BITMASK_READ_ONLY`).
pub const READ_ONLY: u64 = 1;
/// `kDLCPU`.
const CPU: i32 = 1;

/// `DLPackVersion`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// Another one has another ABI.
    pub major: u32,
    /// Another one adds to it.
    pub minor: u32,
}

/// `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// 1 is the CPU.
    pub device_type: i32,
    /// Which of its kind.
    pub device_id: i32,
}

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// 0 signed integer, 1 unsigned, 2 float, 4 bfloat.
    pub code: u8,
    /// Bits of an element.
    pub bits: u8,
    /// 1, unless elements are vectors.
    pub lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// Start of the memory.
    pub data: *mut c_void,
    /// Where it is.
    pub device: DLDevice,
    /// Number of dimensions.
    pub ndim: i32,
    /// Type of the elements.
    pub dtype: DLDataType,
    /// `ndim` sizes.
    pub shape: *mut i64,
    /// `ndim` steps in elements; null means row-major.
    pub strides: *mut i64,
    /// **Bytes** from `data` to the first element.
    pub byte_offset: u64,
}

/// `DLManagedTensor`: the form before version 1.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The owner's own.
    pub manager_ctx: *mut c_void,
    /// Gives it back; null where there is nothing to give.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// Decides what the rest means, but for the next two.
    pub version: DLPackVersion,
    /// The owner's own.
    pub manager_ctx: *mut c_void,
    /// Gives it back; null where there is nothing to give.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// [`READ_ONLY`], and others that do not matter here.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

/// One of the two forms.
trait Managed: Sized + 'static {
    fn pack(tensor: DLTensor, ctx: *mut c_void, read_only: bool) -> Self;
    fn ctx(&self) -> *mut c_void;
    /// # Safety
    /// `this` is live, and nobody uses it afterwards.
    unsafe fn give_back(this: NonNull<Self>);
}

macro_rules! managed {
    ($form:ty, $make:expr) => {
        impl Managed for $form {
            fn pack(dl_tensor: DLTensor, manager_ctx: *mut c_void, read_only: bool) -> Self {
                let make: fn(DLTensor, *mut c_void, bool) -> Self = $make;
                make(dl_tensor, manager_ctx, read_only)
            }
            fn ctx(&self) -> *mut c_void {
                self.manager_ctx
            }
            unsafe fn give_back(this: NonNull<Self>) {
                // SAFETY: live, as the caller promises.
                if let Some(deleter) = unsafe { (*this.as_ptr()).deleter } {
                    // SAFETY: called once, by the one that received it.
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

/// What an exported tensor keeps alive.
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
        // Of the storage, not of a reference to its bytes: through one nothing may be written.
        data: storage.as_ptr().cast(),
        device: DLDevice { device_type: CPU, device_id: 0 },
        ndim: dims.len() as i32,
        dtype: DLDataType { code, bits, lanes: 1 },
        shape: kept.shape.as_mut_ptr(),
        strides: kept.strides.as_mut_ptr(),
        // Without elements the offset may lie anywhere.
        byte_offset: if dims.contains(&0) { 0 } else { (offset * dtype.size_bytes()) as u64 },
    };
    let ctx = Box::into_raw(kept).cast();
    NonNull::from(Box::leak(Box::new(M::pack(tensor, ctx, read_only))))
}

/// A received tensor; dropping it calls the deleter.
struct Received<M: Managed>(NonNull<M>);

// SAFETY: only its deleter is called, once, and `from_dlpack`'s caller promises that any thread may.
unsafe impl<M: Managed> Send for Received<M> {}
// SAFETY: as above; there is nothing to share.
unsafe impl<M: Managed> Sync for Received<M> {}

impl<M: Managed> Drop for Received<M> {
    fn drop(&mut self) {
        // SAFETY: received once, and dropped once.
        unsafe { M::give_back(self.0) };
    }
}

impl StridedTensor {
    /// The tensor for another library, marked read-only, as others here may share its memory. No copy; the receiver calls
    /// the deleter.
    pub fn to_dlpack(&self) -> NonNull<DLManagedTensorVersioned> {
        export(&self.storage, &self.dims, &self.strides, self.offset, self.dtype, true)
    }

    /// The tensor for another library, to write to. No copy.
    ///
    /// # Errors
    /// `Aliasing` when another tensor shares its storage.
    pub fn into_dlpack(self) -> Result<NonNull<DLManagedTensorVersioned>> {
        let t = self.unshared("into_dlpack")?;
        Ok(export(&t.storage, &t.dims, &t.strides, t.offset, t.dtype, false))
    }

    /// As [`into_dlpack`](Self::into_dlpack), in the form before version 1, which has no way to say read-only.
    ///
    /// # Errors
    /// `Aliasing` when another tensor shares its storage.
    pub fn into_dlpack_unversioned(self) -> Result<NonNull<DLManagedTensor>> {
        let t = self.unshared("into_dlpack_unversioned")?;
        Ok(export(&t.storage, &t.dims, &t.strides, t.offset, t.dtype, false))
    }

    fn unshared(mut self, op: &'static str) -> Result<StridedTensor> {
        if Buffer::exclusive(&mut self.storage).is_none() {
            fail!(
                Aliasing,
                op,
                "self",
                format!("{} {}, whose storage is shared or read-only", self.dims, self.dtype),
                "the receiver may write to it",
                "export it read-only with `to_dlpack`, or export a copy: `copy(MemoryFormat::Preserve)`"
            );
        }
        Ok(self)
    }

    /// Another library's tensor, without a copy. It is given back when the last tensor that uses it is dropped, or at once
    /// on an error.
    ///
    /// # Errors
    /// `DlpackVersion` unless of version 1, of which nothing but version and deleter is then read; `DlpackUnsupported` for
    /// another device, type or lanes; what [`from_foreign`](Self::from_foreign) refuses.
    ///
    /// # Safety
    /// `managed` is a live tensor that nobody else consumes, and what `from_foreign` asks; its deleter may be called on any
    /// thread.
    pub unsafe fn from_dlpack(managed: NonNull<DLManagedTensorVersioned>) -> Result<StridedTensor> {
        let owner = Received(managed);
        // SAFETY: live; this field is where it is in every version.
        let version = unsafe { (*managed.as_ptr()).version };
        if version.major != VERSION.major {
            let got = format!("version {}.{}", version.major, version.minor);
            let rule = format!("versions {}.x are read", VERSION.major);
            let remedy = "ask the other library for that version (`max_version`)";
            fail!(DlpackVersion, "from_dlpack", "managed", got, rule, remedy);
        }
        // SAFETY: of the version that the structure is of.
        let (tensor, flags) = unsafe { ((*managed.as_ptr()).dl_tensor, (*managed.as_ptr()).flags) };
        // SAFETY: the caller's promise.
        unsafe { import(tensor, flags & READ_ONLY == 0, Arc::new(owner)) }
    }

    /// As [`from_dlpack`](Self::from_dlpack), of the form before version 1.
    ///
    /// # Errors
    /// As `from_dlpack`, but for the version.
    ///
    /// # Safety
    /// As `from_dlpack`.
    pub unsafe fn from_dlpack_unversioned(managed: NonNull<DLManagedTensor>) -> Result<StridedTensor> {
        let owner = Received(managed);
        // SAFETY: live.
        let tensor = unsafe { (*managed.as_ptr()).dl_tensor };
        // SAFETY: the caller's promise.
        unsafe { import(tensor, true, Arc::new(owner)) }
    }
}

/// # Safety
/// As `from_foreign`, for the tensor's memory; shape and strides are null or hold `ndim` values.
unsafe fn import<M: Managed>(t: DLTensor, writable: bool, owner: Arc<Received<M>>) -> Result<StridedTensor> {
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
        // There is one CPU: `device_id` says nothing more.
        return unsupported("device", format!("device type {}", t.device.device_type), "it is 1, the CPU");
    }
    if t.dtype.lanes != 1 {
        return unsupported("dtype", format!("{} lanes", t.dtype.lanes), "elements are single numbers");
    }
    let dtype = match (t.dtype.code, t.dtype.bits) {
        (2, 32) => DType::F32,
        (2, 16) => DType::F16,
        (4, 16) => DType::BF16,
        (1, 8) => DType::U8,
        (0, 8) => DType::S8,
        (0, 32) => DType::S32,
        (code, bits) => {
            let got = format!("code {code} of {bits} bits");
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
    let list = |p: *const i64| {
        // SAFETY: holds `ndim` values, as the caller promises.
        (ndim > 0 && !p.is_null()).then(|| unsafe { std::slice::from_raw_parts(p, ndim) })
    };
    let (dims, strides) = (list(t.shape).unwrap_or(&[]), list(t.strides));
    // No object is larger than `isize::MAX` bytes, nor does one go around the address space.
    let skip = usize::try_from(t.byte_offset).ok().filter(|&s| isize::try_from(s).is_ok());
    let Some(skip) = skip.filter(|&s| t.data.addr().checked_add(s).is_some()) else {
        return unsupported(
            "byte_offset",
            format!("{} bytes from address {:p}", t.byte_offset, t.data),
            &format!("it is at most {} and ends within the address space", isize::MAX),
        );
    };
    let data = if t.data.is_null() { t.data.cast() } else { t.data.cast::<u8>().wrapping_add(skip) };
    let memory = Foreign { data, dtype, dims, strides, writable };
    // SAFETY: the caller's promise; `skip` bytes of the same object lie before `data`.
    unsafe { StridedTensor::wrap(op, memory, skip, owner) }
}

impl BlockedTensor {
    /// A blocked tensor has no strides to tell another library.
    ///
    /// # Errors
    /// `OpaqueLayout`, always, with the reorder to call.
    pub fn to_dlpack(&self) -> Result<NonNull<DLManagedTensorVersioned>> {
        fail!(
            OpaqueLayout,
            "to_dlpack",
            "self",
            format!("{:?} {} {}", self.dims(), self.dtype(), self.layout()),
            "DLPack tells strides, and a blocked layout has none",
            "reorder it with `to_strided(MemoryFormat::Contiguous)`, or export its blocks as they lie with `as_blocked_dlpack`"
        )
    }

    /// Activations in blocks, `nChw16c` or `nChw8c`, as the dense tensor of rank 5 that they are in memory, marked
    /// read-only: N, ceil(C / block), H, W, block (of ranks 3 and 5 alike). The lanes past C are zeros. No copy.
    ///
    /// # Errors
    /// `OpaqueLayout` for layouts that are more than one block of channels.
    pub fn as_blocked_dlpack(&self) -> Result<NonNull<DLManagedTensorVersioned>> {
        let (layout, rank) = (*self.layout(), self.dims().len());
        let block = layout.block_of(1);
        if block < 2 || !Layout::blocked_activation(rank, block).is_ok_and(|l| l == layout) {
            fail!(
                OpaqueLayout,
                "as_blocked_dlpack",
                "self",
                format!("{:?} {} {layout}", self.dims(), self.dtype()),
                "activations in blocks of channels are exported",
                "reorder it to such a layout, or with `to_strided(MemoryFormat::Contiguous)`"
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
