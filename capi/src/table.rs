//! Versions, and the function table for programs that load the library at run time.

use std::ffi::{CString, c_char, c_void};
use std::sync::LazyLock;

use blocktensor::{Complaint, Error};

use crate::call::*;
use crate::desc::*;
use crate::dict::*;
use crate::dlpack::*;
use crate::fallback::*;
use crate::handles::{bt_clear_cache, bt_free, bt_live_handles};
use crate::model::*;
use crate::operator::*;
use crate::packed::*;
use crate::packed_file::*;
use crate::plan::*;
use crate::quantization::*;
use crate::reorder::*;
use crate::scopes::*;
use crate::status::{bt_last_error_code, bt_last_error_message, bt_status, guard};
use crate::temporaries::*;
use crate::tensor::*;
use crate::text::*;
use crate::values::bt_input_wrap;

/// The version of the ABI that the header describes. Every change of the header's declarations has a new version.
pub const BT_ABI_VERSION: u32 = 8;

/// The oldest version of the ABI whose programs this library runs: since then, declarations were only added.
pub const BT_ABI_OLDEST: u32 = 1;

/// The ABI version of the library. `bt_get_api` tells whether it runs programs of the header's `BT_ABI_VERSION`.
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
    /// The functions: tests/abi.rs writes a field for each into the header, with the type of the function.
    functions: [*const c_void; COUNT],
}

// SAFETY: the pointers are those of functions, and nobody writes the table.
unsafe impl Sync for bt_api {}

/// The functions of the table, in the order of its fields.
macro_rules! table {
    ($($function:ident,)*) => {
        const COUNT: usize = TABLE.len();

        /// The names of the functions in the table.
        #[doc(hidden)]
        pub const TABLE: &[&str] = &[$(stringify!($function)),*];

        static API: bt_api = bt_api {
            struct_size: size_of::<bt_api>(),
            table_version: BT_ABI_VERSION,
            functions: [$($function as *const c_void),*],
        };
    };
}

table! {
    bt_abi_version,
    bt_version,
    bt_last_error_code,
    bt_last_error_message,
    bt_free,
    bt_live_handles,
    bt_tensor_from_data,
    bt_tensor_wrap,
    bt_tensor_info,
    bt_tensor_read,
    bt_tensor_data,
    bt_to_blocked,
    bt_to_strided,
    bt_call,
    bt_pack_conv,
    bt_pack_linear,
    bt_packed_run,
    bt_dict_load,
    bt_dict_take,
    bt_run,
    bt_deny_reorders,
    bt_record,
    bt_describe,
    bt_tensor_from_dlpack,
    bt_tensor_from_dlpack_unversioned,
    bt_tensor_to_dlpack,
    bt_tensor_into_dlpack_unversioned,
    bt_blocked_to_dlpack,
    bt_schema,
    bt_clear_cache,
    bt_build_info,
    bt_dict_map,
    bt_model_load,
    bt_model_from_data,
    bt_model_inputs,
    bt_model_outputs,
    bt_model_run,
    bt_plan_new,
    bt_plan_inputs,
    bt_plan_outputs,
    bt_plan_text,
    bt_plan_run,
    bt_cast,
    bt_reshape,
    bt_reorder_into,
    bt_desc_new,
    bt_tensor_zeros,
    bt_call_into,
    bt_pack_conv_transpose,
    bt_pack_stem,
    bt_packed_run_into,
    bt_packed_writer_new,
    bt_packed_writer_add,
    bt_packed_writer_save,
    bt_packed_file_read,
    bt_packed_file_map,
    bt_packed_file_get,
    bt_dict_len,
    bt_dict_name,
    bt_dict_take_at,
    bt_op_new,
    bt_op_infer,
    bt_op_preferred,
    bt_op_scratchpad_bytes,
    bt_op_run,
    bt_op_run_into,
    bt_scratchpad_new,
    bt_run_with_threads,
    bt_thread_count,
    bt_scope,
    bt_keep,
    bt_allow_fallback,
    bt_layout_name,
    bt_plan_save,
    bt_plan_load,
    bt_plan_run_into,
    bt_call_backward,
    bt_tensor_quantized,
    bt_tensor_quantization,
    bt_tensor_without_quantization,
    bt_tensor_dequantized,
    bt_input_wrap,
}

/// The function table, for a caller compiled with a header of `version` whose `bt_api` has `struct_size` bytes. Null, and an
/// error, if this library is older than the header, or no longer runs programs of that version. So every program can check that
/// it has the right library: with `bt_get_api(BT_ABI_VERSION, sizeof(bt_api))`.
#[unsafe(no_mangle)]
pub extern "C" fn bt_get_api(version: u32, struct_size: usize) -> *const bt_api {
    let op = "bt_get_api";
    let status = guard(op, || {
        let (ours, least) = (size_of::<bt_api>(), std::mem::offset_of!(bt_api, functions));
        let known = (BT_ABI_OLDEST..=BT_ABI_VERSION).contains(&version);
        if !known || struct_size > ours || struct_size < least {
            let got = format!("version {version}, {struct_size} bytes");
            let rule = format!(
                "this library has versions {BT_ABI_OLDEST} to {BT_ABI_VERSION}, and a table of {ours} bytes"
            );
            let remedy = "pass `BT_ABI_VERSION` and `sizeof(bt_api)` of the header of this library, or of an older one";
            return Err(Error::AbiMismatch(Complaint::new(op, "version", got, rule, remedy)));
        }
        Ok(())
    });
    if status == 0 { &raw const API } else { std::ptr::null() }
}
