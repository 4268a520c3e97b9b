//! Versions, and the function table for programs that load the library at run time.

use std::ffi::{CString, c_char, c_void};
use std::sync::LazyLock;

use blocktensor::{Complaint, Error};

use crate::call::{bt_arg, bt_call};
use crate::dlpack::*;
use crate::handles::{bt_clear_cache, bt_free, bt_handle, bt_live_handles};
use crate::model::*;
use crate::packed::*;
use crate::plan::*;
use crate::scopes::*;
use crate::status::{bt_last_error_code, bt_last_error_message, bt_status, guard};
use crate::tensor::*;
use crate::values::bt_value_info;

/// The version of the ABI that the header describes. Another version is another ABI.
pub const BT_ABI_VERSION: u32 = 1;

/// The ABI version of the library; compare it with the header's `BT_ABI_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn bt_abi_version() -> u32 {
    BT_ABI_VERSION
}

/// Versions of the library and of oneDNN, and the instruction set: `blocktensor 0.1.0, oneDNN 3.14.1 (...)`.
#[unsafe(no_mangle)]
pub extern "C" fn bt_version() -> *const c_char {
    static TEXT: LazyLock<CString> = LazyLock::new(|| {
        let engine = {
            #[cfg(feature = "onednn")]
            {
                let (major, minor, patch) = blocktensor::onednn::version();
                format!("oneDNN {major}.{minor}.{patch} ({})", blocktensor::onednn::effective_isa())
            }
            #[cfg(not(feature = "onednn"))]
            "without oneDNN"
        };
        CString::new(format!("blocktensor {}, {engine}", env!("CARGO_PKG_VERSION"))).unwrap_or_default()
    });
    TEXT.as_ptr()
}

/// Writes how the library was built and what it runs on into `room` bytes, as `bt_describe` does: versions, the engine's
/// threading runtime, instruction sets, threads; for a build that is not optimised, also the remedy.
///
/// # Safety
/// `text` may be written for `room` bytes; `needed` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_build_info(text: *mut c_char, room: usize, needed: *mut usize) -> bt_status {
    let op = "bt_build_info";
    // SAFETY: the caller's promises.
    guard(op, || unsafe { write_out(op, &blocktensor::build_info().to_string(), text, room, needed) })
}

/// Every function, for programs that load the library with `dlopen`: they look up only `bt_get_api`. New functions are added
/// only at the end.
#[allow(non_camel_case_types)]
#[repr(C)]
pub struct bt_api {
    /// Size of this structure in **bytes**.
    pub struct_size: usize,
    /// The ABI version of this table.
    pub table_version: u32,
    /// `bt_abi_version`.
    pub abi_version: extern "C" fn() -> u32,
    /// `bt_version`.
    pub version: extern "C" fn() -> *const c_char,
    /// `bt_last_error_code`.
    pub last_error_code: extern "C" fn() -> bt_status,
    /// `bt_last_error_message`.
    pub last_error_message: extern "C" fn() -> *const c_char,
    /// `bt_free`.
    pub free: extern "C" fn(handle: bt_handle) -> bt_status,
    /// `bt_live_handles`.
    pub live_handles: extern "C" fn() -> usize,
    /// `bt_tensor_from_data`.
    pub tensor_from_data: unsafe extern "C" fn(
        dtype: i32,
        rank: usize,
        dims: *const i64,
        strides: *const i64,
        data: *const c_void,
        bytes: usize,
        out: *mut bt_handle,
    ) -> bt_status,
    /// `bt_tensor_wrap`.
    pub tensor_wrap: unsafe extern "C" fn(
        dtype: i32,
        rank: usize,
        dims: *const i64,
        strides: *const i64,
        data: *mut c_void,
        writable: bool,
        context: *mut c_void,
        release: bt_release,
        out: *mut bt_handle,
    ) -> bt_status,
    /// `bt_tensor_info`.
    pub tensor_info: unsafe extern "C" fn(t: bt_handle, info: *mut bt_info) -> bt_status,
    /// `bt_tensor_read`.
    pub tensor_read: unsafe extern "C" fn(t: bt_handle, data: *mut c_void, bytes: usize) -> bt_status,
    /// `bt_tensor_data`.
    pub tensor_data:
        unsafe extern "C" fn(t: bt_handle, data: *mut *const c_void, strides: *mut i64) -> bt_status,
    /// `bt_to_blocked`.
    pub to_blocked:
        unsafe extern "C" fn(t: bt_handle, layout: *const c_char, out: *mut bt_handle) -> bt_status,
    /// `bt_to_strided`.
    pub to_strided:
        unsafe extern "C" fn(t: bt_handle, format: *const c_char, out: *mut bt_handle) -> bt_status,
    /// `bt_call`.
    pub call: unsafe extern "C" fn(
        op: *const c_char,
        args: *const bt_arg,
        arg_count: usize,
        outs: *mut bt_handle,
        room: usize,
        count: *mut usize,
    ) -> bt_status,
    /// `bt_pack_conv`.
    pub pack_conv: unsafe extern "C" fn(
        weights: bt_handle,
        bias: bt_handle,
        params: *const bt_arg,
        param_count: usize,
        like: bt_handle,
        out: *mut bt_handle,
    ) -> bt_status,
    /// `bt_pack_linear`.
    pub pack_linear: unsafe extern "C" fn(
        weights: bt_handle,
        bias: bt_handle,
        rows: usize,
        out: *mut bt_handle,
    ) -> bt_status,
    /// `bt_packed_run`.
    pub packed_run: unsafe extern "C" fn(
        packed: bt_handle,
        x: bt_handle,
        residual: bt_handle,
        out: *mut bt_handle,
    ) -> bt_status,
    /// `bt_dict_load`.
    pub dict_load: unsafe extern "C" fn(path: *const c_char, out: *mut bt_handle) -> bt_status,
    /// `bt_dict_take`.
    pub dict_take:
        unsafe extern "C" fn(dict: bt_handle, name: *const c_char, out: *mut bt_handle) -> bt_status,
    /// `bt_run`.
    pub run: unsafe extern "C" fn(body: bt_body, context: *mut c_void) -> bt_status,
    /// `bt_deny_reorders`.
    pub deny_reorders: unsafe extern "C" fn(body: bt_body, context: *mut c_void) -> bt_status,
    /// `bt_record`.
    pub record: unsafe extern "C" fn(body: bt_body, context: *mut c_void, out: *mut bt_handle) -> bt_status,
    /// `bt_describe`.
    pub describe: unsafe extern "C" fn(
        handle: bt_handle,
        text: *mut c_char,
        room: usize,
        needed: *mut usize,
    ) -> bt_status,
    /// `bt_tensor_from_dlpack`.
    pub tensor_from_dlpack: unsafe extern "C" fn(managed: bt_dlpack, out: *mut bt_handle) -> bt_status,
    /// `bt_tensor_from_dlpack_unversioned`.
    pub tensor_from_dlpack_unversioned:
        unsafe extern "C" fn(managed: bt_dlpack, out: *mut bt_handle) -> bt_status,
    /// `bt_tensor_to_dlpack`.
    pub tensor_to_dlpack: unsafe extern "C" fn(t: bt_handle, out: *mut bt_dlpack) -> bt_status,
    /// `bt_tensor_into_dlpack_unversioned`.
    pub tensor_into_dlpack_unversioned: unsafe extern "C" fn(t: bt_handle, out: *mut bt_dlpack) -> bt_status,
    /// `bt_blocked_to_dlpack`.
    pub blocked_to_dlpack: unsafe extern "C" fn(t: bt_handle, out: *mut bt_dlpack) -> bt_status,
    /// `bt_schema`.
    pub schema: unsafe extern "C" fn(
        op: *const c_char,
        text: *mut c_char,
        room: usize,
        needed: *mut usize,
    ) -> bt_status,
    /// `bt_clear_cache`.
    pub clear_cache: extern "C" fn(),
    /// `bt_build_info`.
    pub build_info: unsafe extern "C" fn(text: *mut c_char, room: usize, needed: *mut usize) -> bt_status,
    /// `bt_dict_map`.
    pub dict_map: unsafe extern "C" fn(path: *const c_char, out: *mut bt_handle) -> bt_status,
    /// `bt_model_load`.
    pub model_load: unsafe extern "C" fn(path: *const c_char, out: *mut bt_handle) -> bt_status,
    /// `bt_model_from_data`.
    pub model_from_data:
        unsafe extern "C" fn(data: *const c_void, bytes: usize, out: *mut bt_handle) -> bt_status,
    /// `bt_model_inputs`.
    pub model_inputs: unsafe extern "C" fn(
        model: bt_handle,
        values: *mut bt_value_info,
        room: usize,
        count: *mut usize,
    ) -> bt_status,
    /// `bt_model_outputs`.
    pub model_outputs: unsafe extern "C" fn(
        model: bt_handle,
        names: *mut *const c_char,
        room: usize,
        count: *mut usize,
    ) -> bt_status,
    /// `bt_model_run`.
    pub model_run: unsafe extern "C" fn(
        model: bt_handle,
        inputs: *const bt_handle,
        input_count: usize,
        outs: *mut bt_handle,
        room: usize,
        count: *mut usize,
    ) -> bt_status,
    /// `bt_plan_new`.
    pub plan_new: unsafe extern "C" fn(
        model: bt_handle,
        layout: *const c_char,
        sizes: *const bt_named_size,
        size_count: usize,
        outputs: *const *const c_char,
        output_count: usize,
        out: *mut bt_handle,
    ) -> bt_status,
    /// `bt_plan_inputs`.
    pub plan_inputs: unsafe extern "C" fn(
        plan: bt_handle,
        values: *mut bt_value_info,
        room: usize,
        count: *mut usize,
    ) -> bt_status,
    /// `bt_plan_outputs`.
    pub plan_outputs: unsafe extern "C" fn(
        plan: bt_handle,
        values: *mut bt_value_info,
        room: usize,
        count: *mut usize,
    ) -> bt_status,
    /// `bt_plan_text`.
    pub plan_text: unsafe extern "C" fn(
        plan: bt_handle,
        text: *mut c_char,
        room: usize,
        needed: *mut usize,
    ) -> bt_status,
    /// `bt_plan_run`.
    pub plan_run: unsafe extern "C" fn(
        plan: bt_handle,
        inputs: *const bt_handle,
        input_count: usize,
        outs: *mut bt_handle,
        room: usize,
        count: *mut usize,
    ) -> bt_status,
}

static API: bt_api = bt_api {
    struct_size: size_of::<bt_api>(),
    table_version: BT_ABI_VERSION,
    abi_version: bt_abi_version,
    version: bt_version,
    last_error_code: bt_last_error_code,
    last_error_message: bt_last_error_message,
    free: bt_free,
    live_handles: bt_live_handles,
    tensor_from_data: bt_tensor_from_data,
    tensor_wrap: bt_tensor_wrap,
    tensor_info: bt_tensor_info,
    tensor_read: bt_tensor_read,
    tensor_data: bt_tensor_data,
    to_blocked: bt_to_blocked,
    to_strided: bt_to_strided,
    call: bt_call,
    pack_conv: bt_pack_conv,
    pack_linear: bt_pack_linear,
    packed_run: bt_packed_run,
    dict_load: bt_dict_load,
    dict_take: bt_dict_take,
    run: bt_run,
    deny_reorders: bt_deny_reorders,
    record: bt_record,
    describe: bt_describe,
    tensor_from_dlpack: bt_tensor_from_dlpack,
    tensor_from_dlpack_unversioned: bt_tensor_from_dlpack_unversioned,
    tensor_to_dlpack: bt_tensor_to_dlpack,
    tensor_into_dlpack_unversioned: bt_tensor_into_dlpack_unversioned,
    blocked_to_dlpack: bt_blocked_to_dlpack,
    schema: bt_schema,
    clear_cache: bt_clear_cache,
    build_info: bt_build_info,
    dict_map: bt_dict_map,
    model_load: bt_model_load,
    model_from_data: bt_model_from_data,
    model_inputs: bt_model_inputs,
    model_outputs: bt_model_outputs,
    model_run: bt_model_run,
    plan_new: bt_plan_new,
    plan_inputs: bt_plan_inputs,
    plan_outputs: bt_plan_outputs,
    plan_text: bt_plan_text,
    plan_run: bt_plan_run,
};

/// The function table, for a caller compiled with a header of `version` whose `bt_api` has `struct_size` bytes. Null, and an
/// error, if this library is older than the header.
#[unsafe(no_mangle)]
pub extern "C" fn bt_get_api(version: u32, struct_size: usize) -> *const bt_api {
    let op = "bt_get_api";
    let status = guard(op, || {
        let (ours, least) = (size_of::<bt_api>(), std::mem::offset_of!(bt_api, abi_version));
        if version != BT_ABI_VERSION || struct_size > ours || struct_size < least {
            let got = format!("version {version}, {struct_size} bytes");
            let rule = format!("this library's table has version {BT_ABI_VERSION} and {ours} bytes");
            let remedy = "load a library of the header's version, at least as new as the header";
            return Err(Error::AbiMismatch(Complaint::new(op, "version", got, rule, remedy)));
        }
        Ok(())
    });
    if status == 0 { &raw const API } else { std::ptr::null() }
}
