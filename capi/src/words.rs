//! Errors in the words of C.

use std::borrow::Cow;

use blocktensor::{Call, Door, dispatch};

/// C, for an error that this function returned. `t` is the tensor that the error is about.
pub struct C<'f>(pub &'f str);

/// Arguments of calls in Rust whose parameters have other names in C.
const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("layout", "name", "layout"),
    ("memory_format", "name", "format"),
    ("contiguous", "memory_format", "format"),
    ("to_strided", "memory_format", "format"),
    ("TensorDesc::strided", "memory_format", "layout"),
];

impl C<'_> {
    /// Whether errors name an op as it is: the op is registered, or a function of C. Methods of Rust are named by the function
    /// that was called.
    fn keeps(&self, op: &str) -> bool {
        op.starts_with("bt_") || dispatch::op(op).is_some()
    }
}

impl Door for C<'_> {
    fn call(&self, call: &Call) -> String {
        let text = match call {
            Call::ToStrided | Call::Contiguous | Call::Copy => "bt_to_strided(t, \"contiguous\", &out)",
            Call::ToAnyStrided => "bt_to_strided",
            Call::ToAnyBlocked | Call::ReorderToAny => "bt_to_blocked",
            Call::ToBlocked(_) | Call::ReorderToNative(_) => "bt_to_blocked(t, NULL, &out)",
            Call::InFormat(name) => return format!("bt_to_strided(t, \"{name}\", &out)"),
            Call::ToBlockedIn(layout) | Call::ReorderTo(layout) => {
                return format!("bt_to_blocked(t, \"{layout}\", &out)");
            }
            Call::NativeLayout(_) => "NULL",
            Call::ToDType(dtype) => return format!("bt_cast(t, BT_{}, &out)", dtype.to_uppercase()),
            Call::ToAnyDType => "bt_cast",
            Call::Quantized => "bt_tensor_quantized",
            Call::WithoutQuantization => "bt_tensor_without_quantization(t, &out)",
            Call::Dequantized => "bt_tensor_dequantized(t, &out)",
            Call::Reshape(dims) => {
                let list = dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                return format!("bt_reshape(t, {}, (int64_t[]){{{list}}}, &out)", dims.len());
            }
            Call::ReshapeAny => "bt_reshape",
            Call::Unsqueeze(axis) => return format!("bt_call(\"unsqueeze\", axis = {axis})"),
            Call::Transpose(a, b) => return format!("bt_call(\"transpose\", a and b = {a}, {b})"),
            Call::ToVec => "bt_tensor_read",
            Call::ToDlpack => "bt_tensor_to_dlpack",
            Call::AsBlockedDlpack => "bt_blocked_to_dlpack",
            Call::EmptyLike => "bt_tensor_zeros",
            Call::Ops => "bt_schema",
            Call::PackForTensor | Call::PackFor | Call::PackedConv => "bt_pack_conv",
            Call::StridedSource | Call::StridedDesc | Call::BlockedDesc => "bt_desc_new",
            Call::PackedConvTranspose => "bt_pack_conv_transpose",
            Call::PackedStem => "bt_pack_stem",
            Call::PackedLinear => "bt_pack_linear",
            Call::StemRun | Call::StemRunFused => "bt_packed_run",
            Call::KeepPlain if self.0 == "bt_plan_load" => "keep_plain of bt_plan_save",
            Call::KeepPlain => "keep_plain of bt_packed_writer_new",
            Call::KeepPlainOfPlan => "keep_plain of bt_plan_save",
            Call::SavePacked if self.0 == "bt_plan_load" => "bt_plan_save",
            Call::SavePacked => "bt_packed_writer_save",
            Call::ReadOrRepack if self.0 == "bt_plan_load" => "replan of bt_plan_load",
            Call::ReadOrRepack if self.0 == "bt_packed_file_map" => "repack of bt_packed_file_map",
            Call::ReadOrRepack => "repack of bt_packed_file_read",
            Call::ReadStateDict => "bt_dict_load",
            Call::StateDictNames => "bt_dict_name",
            Call::StackSize => "pthread_attr_setstacksize",
            Call::NewProcess => "posix_spawn",
            Call::DenyReorders | Call::ReorderBudget => "bt_deny_reorders",
            Call::RunWithThreads(threads) => return format!("bt_run_with_threads({threads}, ...)"),
            Call::ReadModel => "bt_model_load",
            Call::PlanSize(_) => "sizes of bt_plan_new",
            Call::LoadPlan => "bt_plan_load",
            Call::SavePlan => "bt_plan_save",
            Call::OfBackend(call) => call,
            // No function of C leads to an error that names these.
            Call::KeepConstants | Call::LoadPlanWithConstants | Call::RunTimed | Call::RegisterGradient => {
                return call.to_string();
            }
        };
        text.to_string()
    }

    fn op<'a>(&'a self, op: &'a str) -> Cow<'a, str> {
        if self.keeps(op) { op.into() } else { self.0.into() }
    }

    fn argument<'a>(&'a self, op: &str, argument: &'a str) -> Cow<'a, str> {
        let known = ARGUMENTS.iter().find(|(of, rust, _)| (*of, *rust) == (op, argument));
        match (known, argument) {
            // Errors of the file's parts are about the file.
            (_, "name" | "file") if self.0 == "bt_plan_load" => "path",
            (_, "eps") if self.0.starts_with("bt_pack_") => "norm_eps",
            _ if self.keeps(op) => argument,
            (Some((_, _, c)), _) => c,
            (None, "self") => "t",
            (None, other) => other,
        }
        .into()
    }
}
