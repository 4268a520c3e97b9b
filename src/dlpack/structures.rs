//! The structures of `dlpack.h`, and what stands in their fields.

use std::ffi::c_void;

/// The version that is exported; every 1.x is imported.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };
/// Set in `flags` if the receiver must not write (`DLPACK_FLAG_BITMASK_READ_ONLY`).
pub const READ_ONLY: u64 = 1;

/// `DLPackVersion`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// A different major version means a different ABI.
    pub major: u32,
    /// A higher minor version only adds to the structures.
    pub minor: u32,
}

/// `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// 1 is the CPU.
    pub device_type: i32,
    /// The index among devices of this type.
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
    /// The device that holds it.
    pub device: DLDevice,
    /// Number of dimensions.
    pub ndim: i32,
    /// Type of the elements.
    pub dtype: DLDataType,
    /// `ndim` sizes.
    pub shape: *mut i64,
    /// `ndim` strides in elements; null means row-major.
    pub strides: *mut i64,
    /// **Bytes** from `data` to the first element.
    pub byte_offset: u64,
}

/// `DLManagedTensor`: the structure used before version 1.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// For the owner's use.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor; null if there is nothing to free.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// Determines the meaning of the remaining fields, except the next two.
    pub version: DLPackVersion,
    /// For the owner's use.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor; null if there is nothing to free.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// [`READ_ONLY`], and other flags that this crate ignores.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}
