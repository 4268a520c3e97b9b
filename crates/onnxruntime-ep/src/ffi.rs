//! The structs of ONNX Runtime's interface for execution providers that `ort-sys` does not declare, as ONNX Runtime 1.23 has them.
//!
//! Later versions add members at the end. `VERSION` tells ONNX Runtime how far it may read: a higher one would make it read past the
//! end of these structs.
#![allow(missing_docs, reason = "the names are those of onnxruntime_ep_c_api.h")]

use std::ffi::{c_char, c_void};
use std::mem::offset_of;

use ort_sys::{
    OrtEpDevice, OrtGraph, OrtHardwareDevice, OrtKernelContext, OrtKeyValuePairs, OrtLogger, OrtNode,
    OrtSessionOptions, OrtStatusPtr,
};

/// The version of ONNX Runtime whose members the structs have.
pub(crate) const VERSION: u32 = 23;

/// The size of ONNX Runtime's table in the version `VERSION`, in **bytes**. What is behind it came later.
pub(crate) const API_BYTES: usize = offset_of!(ort_sys::OrtApi, TensorTypeAndShape_HasShape);

/// A member that is left out. ONNX Runtime allows it where it is never set here.
pub(crate) type Unset = Option<unsafe extern "system" fn()>;

/// ONNX Runtime's own, which only it looks into.
#[repr(C)]
pub(crate) struct OrtEpGraphSupportInfo {
    _private: [u8; 0],
}

#[repr(C)]
pub(crate) struct OrtNodeComputeContext {
    _private: [u8; 0],
}

#[repr(C)]
pub(crate) struct OrtEpFactory {
    pub ort_version_supported: u32,
    pub get_name: unsafe extern "system" fn(*const OrtEpFactory) -> *const c_char,
    pub get_vendor: unsafe extern "system" fn(*const OrtEpFactory) -> *const c_char,
    pub get_supported_devices: unsafe extern "system" fn(
        *mut OrtEpFactory,
        *const *const OrtHardwareDevice,
        usize,
        *mut *mut OrtEpDevice,
        usize,
        *mut usize,
    ) -> OrtStatusPtr,
    pub create_ep: unsafe extern "system" fn(
        *mut OrtEpFactory,
        *const *const OrtHardwareDevice,
        *const *const OrtKeyValuePairs,
        usize,
        *const OrtSessionOptions,
        *const OrtLogger,
        *mut *mut OrtEp,
    ) -> OrtStatusPtr,
    pub release_ep: unsafe extern "system" fn(*mut OrtEpFactory, *mut OrtEp),
    pub get_vendor_id: Unset,
    pub get_version: unsafe extern "system" fn(*const OrtEpFactory) -> *const c_char,
    pub validate_compiled_model_compatibility_info: Unset,
    pub create_allocator: Unset,
    pub release_allocator: Unset,
    pub create_data_transfer: unsafe extern "system" fn(*mut OrtEpFactory, *mut *mut c_void) -> OrtStatusPtr,
    pub is_stream_aware: Unset,
    pub create_sync_stream_for_device: Unset,
}

#[repr(C)]
pub(crate) struct OrtEp {
    pub ort_version_supported: u32,
    pub get_name: unsafe extern "system" fn(*const OrtEp) -> *const c_char,
    pub get_capability:
        unsafe extern "system" fn(*mut OrtEp, *const OrtGraph, *mut OrtEpGraphSupportInfo) -> OrtStatusPtr,
    pub compile: unsafe extern "system" fn(
        *mut OrtEp,
        *mut *const OrtGraph,
        *mut *const OrtNode,
        usize,
        *mut *mut OrtNodeComputeInfo,
        *mut *mut OrtNode,
    ) -> OrtStatusPtr,
    pub release_node_compute_infos:
        unsafe extern "system" fn(*mut OrtEp, *mut *mut OrtNodeComputeInfo, usize),
    pub get_preferred_data_layout: Unset,
    pub should_convert_data_layout_for_op: Unset,
    pub set_dynamic_options: Unset,
    pub on_run_start: Unset,
    pub on_run_end: Unset,
    pub create_allocator: Unset,
    pub create_sync_stream_for_device: Unset,
    pub get_compiled_model_compatibility_info: Unset,
}

#[repr(C)]
pub(crate) struct OrtNodeComputeInfo {
    pub ort_version_supported: u32,
    pub create_state: unsafe extern "system" fn(
        *mut OrtNodeComputeInfo,
        *mut OrtNodeComputeContext,
        *mut *mut c_void,
    ) -> OrtStatusPtr,
    pub compute: unsafe extern "system" fn(
        *mut OrtNodeComputeInfo,
        *mut c_void,
        *mut OrtKernelContext,
    ) -> OrtStatusPtr,
    pub release_state: unsafe extern "system" fn(*mut OrtNodeComputeInfo, *mut c_void),
}

#[repr(C)]
pub(crate) struct OrtNodeFusionOptions {
    pub ort_version_supported: u32,
    pub drop_constant_initializers: bool,
}

/// The first members of ONNX Runtime's own table.
#[repr(C)]
pub(crate) struct OrtEpApi {
    pub create_ep_device: unsafe extern "system" fn(
        *mut OrtEpFactory,
        *const OrtHardwareDevice,
        *const OrtKeyValuePairs,
        *const OrtKeyValuePairs,
        *mut *mut OrtEpDevice,
    ) -> OrtStatusPtr,
    pub release_ep_device: unsafe extern "system" fn(*mut OrtEpDevice),
    pub add_nodes_to_fuse: unsafe extern "system" fn(
        *mut OrtEpGraphSupportInfo,
        *const *const OrtNode,
        usize,
        *const OrtNodeFusionOptions,
    ) -> OrtStatusPtr,
    pub add_single_node:
        unsafe extern "system" fn(*mut OrtEpGraphSupportInfo, *const OrtNode) -> OrtStatusPtr,
    pub node_compute_context_node_name:
        unsafe extern "system" fn(*const OrtNodeComputeContext) -> *const c_char,
}

/// Asserts that members are at these slots of 8 **bytes**, and the size in slots.
macro_rules! slots {
    ($of:ty, $size:expr, $($member:ident = $slot:expr),+) => {
        const _: () = {
            assert!(size_of::<$of>() == 8 * $size);
            $(assert!(offset_of!($of, $member) == 8 * $slot);)+
        };
    };
}

slots!(
    OrtEpFactory,
    14,
    ort_version_supported = 0,
    get_name = 1,
    get_vendor = 2,
    get_supported_devices = 3,
    create_ep = 4,
    release_ep = 5,
    get_vendor_id = 6,
    get_version = 7,
    validate_compiled_model_compatibility_info = 8,
    create_allocator = 9,
    release_allocator = 10,
    create_data_transfer = 11,
    is_stream_aware = 12,
    create_sync_stream_for_device = 13
);
slots!(
    OrtEp,
    13,
    ort_version_supported = 0,
    get_name = 1,
    get_capability = 2,
    compile = 3,
    release_node_compute_infos = 4,
    get_preferred_data_layout = 5,
    should_convert_data_layout_for_op = 6,
    set_dynamic_options = 7,
    on_run_start = 8,
    on_run_end = 9,
    create_allocator = 10,
    create_sync_stream_for_device = 11,
    get_compiled_model_compatibility_info = 12
);
slots!(OrtNodeComputeInfo, 4, ort_version_supported = 0, create_state = 1, compute = 2, release_state = 3);
slots!(
    OrtEpApi,
    5,
    create_ep_device = 0,
    release_ep_device = 1,
    add_nodes_to_fuse = 2,
    add_single_node = 3,
    node_compute_context_node_name = 4
);
slots!(OrtNodeFusionOptions, 1, ort_version_supported = 0);
const _: () = assert!(offset_of!(OrtNodeFusionOptions, drop_constant_initializers) == 4);

// Where `ort-sys` must have the members of ONNX Runtime's table that are called here.
slots!(
    ort_sys::OrtApi,
    size_of::<ort_sys::OrtApi>() / 8,
    CreateStatus = 0,
    GetTensorMutableData = 51,
    KernelContext_GetInput = 90,
    KernelContext_GetOutput = 91,
    ReleaseStatus = 93,
    Logger_LogMessage = 247,
    CreateOpAttr = 211,
    ReadOpAttr = 272,
    GetModelEditorApi = 291,
    GetEpApi = 317,
    Graph_GetModelPath = 334,
    Graph_GetNodes = 345,
    GetTensorData = 378
);

slots!(ort_sys::OrtModelEditorApi, size_of::<ort_sys::OrtModelEditorApi>() / 8, CreateNode = 6);
