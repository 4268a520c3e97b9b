//! The C interface.
//!
//! Every function returns a status: 0, or an error's code. [`bt_last_error_message`] returns the full text of the calling
//! thread's last error. Objects are handles: numbers that only this library makes. A handle that is 0, was freed or never
//! existed is an error, never a crash. No panic crosses the interface, and nothing is printed.
//!
//! Pointers must be valid for what each function states: C gives no way to check them. Strings are UTF-8 and end with NUL;
//! arrays come with their lengths. Objects may be used from any thread.

mod call;
mod dlpack;
mod failure;
mod handles;
mod model;
mod packed;
mod plan;
mod scopes;
mod status;
mod table;
mod tensor;
mod values;

pub use call::{bt_arg, bt_arg_kind, bt_call};
pub use dlpack::{
    bt_blocked_to_dlpack, bt_dlpack, bt_tensor_from_dlpack, bt_tensor_from_dlpack_unversioned,
    bt_tensor_into_dlpack_unversioned, bt_tensor_to_dlpack,
};
pub use handles::{bt_clear_cache, bt_free, bt_handle, bt_live_handles};
pub use model::{bt_model_from_data, bt_model_inputs, bt_model_load, bt_model_outputs, bt_model_run};
pub use packed::{bt_dict_load, bt_dict_map, bt_dict_take, bt_pack_conv, bt_pack_linear, bt_packed_run};
pub use plan::{bt_named_size, bt_plan_inputs, bt_plan_new, bt_plan_outputs, bt_plan_run, bt_plan_text};
pub use scopes::{bt_body, bt_deny_reorders, bt_describe, bt_record, bt_run, bt_schema};
pub use status::{bt_code, bt_last_error_code, bt_last_error_message, bt_status};
pub use table::{BT_ABI_VERSION, bt_abi_version, bt_api, bt_build_info, bt_get_api, bt_version};
pub use tensor::{
    bt_dtype, bt_info, bt_release, bt_tensor_data, bt_tensor_from_data, bt_tensor_info, bt_tensor_read,
    bt_tensor_wrap, bt_to_blocked, bt_to_strided,
};
pub use values::bt_value_info;
