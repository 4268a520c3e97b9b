//! The function table, for programs that load the library at run time: its type.

use std::ffi::{c_char, c_void};

use crate::call::bt_arg;
use crate::dlpack::bt_dlpack;
use crate::fallback::bt_fallback_note;
use crate::handles::bt_handle;
use crate::plan::bt_named_size;
use crate::scopes::bt_body;
use crate::status::bt_status;
use crate::tensor::{bt_info, bt_release};
use crate::values::bt_value_info;

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
    /// `bt_cast`.
    pub cast: unsafe extern "C" fn(t: bt_handle, dtype: i32, out: *mut bt_handle) -> bt_status,
    /// `bt_reshape`.
    pub reshape:
        unsafe extern "C" fn(t: bt_handle, rank: usize, dims: *const i64, out: *mut bt_handle) -> bt_status,
    /// `bt_reorder_into`.
    pub reorder_into: extern "C" fn(t: bt_handle, dst: bt_handle) -> bt_status,
    /// `bt_desc_new`.
    pub desc_new: unsafe extern "C" fn(
        dtype: i32,
        rank: usize,
        dims: *const i64,
        layout: *const c_char,
        out: *mut bt_handle,
    ) -> bt_status,
    /// `bt_tensor_zeros`.
    pub tensor_zeros: unsafe extern "C" fn(like: bt_handle, out: *mut bt_handle) -> bt_status,
    /// `bt_call_into`.
    pub call_into: unsafe extern "C" fn(
        op: *const c_char,
        args: *const bt_arg,
        arg_count: usize,
        outs: *const bt_handle,
        out_count: usize,
    ) -> bt_status,
    /// `bt_pack_conv_transpose`.
    pub pack_conv_transpose: unsafe extern "C" fn(
        weights: bt_handle,
        bias: bt_handle,
        params: *const bt_arg,
        param_count: usize,
        like: bt_handle,
        out: *mut bt_handle,
    ) -> bt_status,
    /// `bt_pack_stem`.
    pub pack_stem: unsafe extern "C" fn(
        weights: bt_handle,
        bias: bt_handle,
        params: *const bt_arg,
        param_count: usize,
        like: bt_handle,
        layout: *const c_char,
        out: *mut bt_handle,
    ) -> bt_status,
    /// `bt_packed_run_into`.
    pub packed_run_into:
        extern "C" fn(packed: bt_handle, x: bt_handle, residual: bt_handle, dst: bt_handle) -> bt_status,
    /// `bt_packed_writer_new`.
    pub packed_writer_new: unsafe extern "C" fn(keep_plain: bool, out: *mut bt_handle) -> bt_status,
    /// `bt_packed_writer_add`.
    pub packed_writer_add:
        unsafe extern "C" fn(writer: bt_handle, name: *const c_char, packed: bt_handle) -> bt_status,
    /// `bt_packed_writer_save`.
    pub packed_writer_save: unsafe extern "C" fn(writer: bt_handle, path: *const c_char) -> bt_status,
    /// `bt_packed_file_read`.
    pub packed_file_read:
        unsafe extern "C" fn(path: *const c_char, repack: bool, out: *mut bt_handle) -> bt_status,
    /// `bt_packed_file_map`.
    pub packed_file_map:
        unsafe extern "C" fn(path: *const c_char, repack: bool, out: *mut bt_handle) -> bt_status,
    /// `bt_packed_file_get`.
    pub packed_file_get:
        unsafe extern "C" fn(file: bt_handle, name: *const c_char, out: *mut bt_handle) -> bt_status,
    /// `bt_dict_len`.
    pub dict_len: unsafe extern "C" fn(dict: bt_handle, count: *mut usize) -> bt_status,
    /// `bt_dict_name`.
    pub dict_name: unsafe extern "C" fn(
        dict: bt_handle,
        index: usize,
        name: *mut *const c_char,
        length: *mut usize,
    ) -> bt_status,
    /// `bt_dict_take_at`.
    pub dict_take_at: unsafe extern "C" fn(dict: bt_handle, index: usize, out: *mut bt_handle) -> bt_status,
    /// `bt_op_new`.
    pub op_new: unsafe extern "C" fn(
        name: *const c_char,
        inputs: *const *const c_char,
        input_count: usize,
        params: *const bt_arg,
        param_count: usize,
        out: *mut bt_handle,
    ) -> bt_status,
    /// `bt_op_infer`.
    pub op_infer: unsafe extern "C" fn(
        handle: bt_handle,
        inputs: *const bt_handle,
        input_count: usize,
        outs: *mut bt_handle,
        room: usize,
        count: *mut usize,
    ) -> bt_status,
    /// `bt_op_preferred`.
    pub op_preferred: unsafe extern "C" fn(
        handle: bt_handle,
        key: *const c_char,
        inputs: *const bt_handle,
        input_count: usize,
        outs: *mut bt_handle,
        room: usize,
        count: *mut usize,
    ) -> bt_status,
    /// `bt_op_scratchpad_bytes`.
    pub op_scratchpad_bytes: unsafe extern "C" fn(
        handle: bt_handle,
        inputs: *const bt_handle,
        input_count: usize,
        bytes: *mut usize,
    ) -> bt_status,
    /// `bt_op_run`.
    pub op_run: unsafe extern "C" fn(
        handle: bt_handle,
        inputs: *const bt_handle,
        input_count: usize,
        outs: *mut bt_handle,
        room: usize,
        count: *mut usize,
    ) -> bt_status,
    /// `bt_op_run_into`.
    pub op_run_into: unsafe extern "C" fn(
        handle: bt_handle,
        inputs: *const bt_handle,
        input_count: usize,
        outs: *const bt_handle,
        out_count: usize,
        scratchpad: bt_handle,
    ) -> bt_status,
    /// `bt_scratchpad_new`.
    pub scratchpad_new: unsafe extern "C" fn(bytes: usize, out: *mut bt_handle) -> bt_status,
    /// `bt_run_with_threads`.
    pub run_with_threads:
        unsafe extern "C" fn(threads: usize, body: bt_body, context: *mut c_void) -> bt_status,
    /// `bt_thread_count`.
    pub thread_count: unsafe extern "C" fn(count: *mut usize) -> bt_status,
    /// `bt_scope`.
    pub scope: unsafe extern "C" fn(body: bt_body, context: *mut c_void) -> bt_status,
    /// `bt_keep`.
    pub keep: extern "C" fn(handle: bt_handle) -> bt_status,
    /// `bt_allow_fallback`.
    pub allow_fallback: unsafe extern "C" fn(
        name: *const c_char,
        tell: bt_fallback_note,
        context: *mut c_void,
        out: *mut bt_handle,
    ) -> bt_status,
    /// `bt_layout_name`.
    pub layout_name:
        unsafe extern "C" fn(t: bt_handle, text: *mut c_char, room: usize, needed: *mut usize) -> bt_status,
    /// `bt_plan_save`.
    pub plan_save: unsafe extern "C" fn(plan: bt_handle, path: *const c_char, keep_plain: bool) -> bt_status,
    /// `bt_plan_load`.
    pub plan_load: unsafe extern "C" fn(path: *const c_char, replan: bool, out: *mut bt_handle) -> bt_status,
}
