//! The C interface.
//!
//! Every function returns a status: 0, or an error's code. [`bt_last_error_message`] returns the full text of the calling
//! thread's last error. Objects are handles: numbers that only this library makes. A handle that is 0, was freed or never
//! existed is an error, never a crash. No panic crosses the interface, and nothing is printed.
//!
//! Pointers must be valid for what each function states: C gives no way to check them. Strings are UTF-8 and end with NUL;
//! arrays come with their lengths. Objects may be used from any thread.

mod api;
mod call;
mod desc;
mod dict;
mod dlpack;
mod fallback;
mod handles;
mod lent;
mod model;
mod operator;
mod packed;
mod packed_file;
mod plan;
mod reorder;
mod scopes;
mod status;
mod table;
mod temporaries;
mod tensor;
mod text;
mod values;
#[doc(hidden)]
pub mod words;

pub use api::bt_api;
pub use call::{bt_arg, bt_arg_kind, bt_call, bt_call_into};
pub use desc::{bt_desc_new, bt_tensor_zeros};
pub use dict::{bt_dict_len, bt_dict_load, bt_dict_map, bt_dict_name, bt_dict_take, bt_dict_take_at};
pub use dlpack::{
    bt_blocked_to_dlpack, bt_dlpack, bt_tensor_from_dlpack, bt_tensor_from_dlpack_unversioned,
    bt_tensor_into_dlpack_unversioned, bt_tensor_to_dlpack,
};
pub use fallback::{bt_allow_fallback, bt_fallback_note};
pub use handles::{bt_clear_cache, bt_free, bt_handle, bt_live_handles};
pub use model::{bt_model_from_data, bt_model_inputs, bt_model_load, bt_model_outputs, bt_model_run};
pub use operator::{
    bt_op_infer, bt_op_new, bt_op_preferred, bt_op_run, bt_op_run_into, bt_op_scratchpad_bytes,
    bt_scratchpad_new,
};
pub use packed::{
    bt_pack_conv, bt_pack_conv_transpose, bt_pack_linear, bt_pack_stem, bt_packed_run, bt_packed_run_into,
};
pub use packed_file::{
    bt_packed_file_get, bt_packed_file_map, bt_packed_file_read, bt_packed_writer_add, bt_packed_writer_new,
    bt_packed_writer_save,
};
pub use plan::{
    bt_named_size, bt_plan_inputs, bt_plan_load, bt_plan_new, bt_plan_outputs, bt_plan_run, bt_plan_save,
    bt_plan_text,
};
pub use reorder::{bt_reorder_into, bt_to_blocked, bt_to_strided};
pub use scopes::{bt_body, bt_deny_reorders, bt_record, bt_run, bt_run_with_threads, bt_thread_count};
pub use status::{bt_code, bt_last_error_code, bt_last_error_message, bt_status};
pub use table::{BT_ABI_OLDEST, BT_ABI_VERSION, bt_abi_version, bt_build_info, bt_get_api, bt_version};
pub use temporaries::{bt_keep, bt_scope};
pub use tensor::{
    bt_cast, bt_dtype, bt_info, bt_release, bt_reshape, bt_tensor_data, bt_tensor_from_data, bt_tensor_info,
    bt_tensor_read, bt_tensor_wrap,
};
pub use text::{bt_describe, bt_layout_name, bt_schema};
pub use values::bt_value_info;
