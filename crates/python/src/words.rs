//! Errors in the words of Python.

use std::borrow::Cow;

use blocktensor::{Call, Door};

use crate::tensor::foreign_name;

/// The package `blocktensor`.
pub(crate) struct Words;

/// Functions of Rust that an error may be about, and what they are here. Ops have the same names everywhere.
const FUNCTIONS: &[(&str, &str)] = &[
    ("PackedFile::read", "blocktensor.load_plan"),
    ("PackedFile::map", "blocktensor.load_plan"),
    ("PackedFile::get", "blocktensor.load_plan"),
    ("PackedFile::kind", "blocktensor.load_plan"),
    ("PackedFile::plain", "blocktensor.load_plan"),
    ("Plan::load", "blocktensor.load_plan"),
    ("Plan::load_or_replan", "blocktensor.load_plan"),
    ("Plan::load_with_constants", "blocktensor.load_plan"),
    ("Plan::save", "Plan.save"),
    ("PackedWriter::add", "Plan.save"),
    ("PackedWriter::save", "Plan.save"),
    ("Source::of", "blocktensor.pack_conv"),
    ("Source::strided", "blocktensor.pack_conv"),
    ("Source::blocked", "blocktensor.pack_conv"),
    // Other calls that make descriptors name themselves.
    ("TensorDesc::strided", "Model.plan"),
    ("TensorDesc::blocked", "Model.plan"),
    ("from_strided", "to_key"),
    ("reorder_to", "to_blocked"),
    ("to_blocked_into", "to_blocked"),
    ("reorder_into", "to_blocked"),
    ("to_strided_into", "to_strided"),
    ("copy_into", "to_strided"),
    ("deny_reorders", "blocktensor.deny_reorders"),
];

/// Arguments that have other names here.
const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("to_strided", "memory_format", "format"),
    ("contiguous", "memory_format", "format"),
    ("from_strided", "to", "result"),
    ("to_strided", "to", "result"),
    ("zeros", "memory_format", "layout"),
    ("zeros", "dims", "shape"),
    ("step", "gradient", "gradients"),
    ("quantized", "scales", "scale"),
    ("quantized", "zero_points", "zero_point"),
    ("backward", "diff", "gradient"),
    ("backward", "from", "loss"),
    ("PackedFile::get", "name", "path"),
    ("Plan::load_or_replan", "file", "path"),
    ("TensorDesc::strided", "dims", "sizes"),
    ("TensorDesc::blocked", "dims", "sizes"),
];

impl Door for Words {
    fn call(&self, call: &Call) -> String {
        let text = match call {
            Call::ToStrided | Call::ToAnyStrided => ".to_strided()",
            Call::ToBlocked(_) | Call::ToAnyBlocked | Call::ReorderToNative(_) => ".to_blocked()",
            Call::ToBlockedIn(layout) | Call::ReorderTo(layout) => {
                return format!(".to_blocked(\"{layout}\")");
            }
            Call::InFormat(name) => return format!(".contiguous(\"{name}\")"),
            Call::ReorderToAny => ".to_blocked(layout)",
            Call::NativeLayout(_) => "None",
            // An array of numpy has no such method.
            Call::Contiguous => ".contiguous()` or, of an array of numpy, `numpy.ascontiguousarray(x)",
            Call::Copy => "copy.deepcopy",
            // As above.
            // numpy has no bfloat16.
            Call::ToDType(dtype @ "bf16") => return format!(".to_dtype(\"{dtype}\")"),
            Call::ToDType(dtype) => {
                let name = foreign_name(dtype);
                return format!(
                    ".to_dtype(\"{dtype}\")` or, of an array of numpy, `.astype(\"{name}\")`, of a tensor of torch `.to(torch.{name})"
                );
            }
            Call::ToAnyDType => ".to_dtype()",
            Call::Quantized => ".quantized(scale, zero_point)",
            Call::WithoutQuantization => ".without_quantization()",
            Call::Dequantized => ".dequantized()",
            Call::Reshape(dims) => return format!(".reshape({dims:?})"),
            Call::ReshapeAny => ".reshape()",
            Call::Unsqueeze(axis) => return format!("blocktensor.ops.unsqueeze(x, axis={axis})"),
            Call::Transpose(a, b) => return format!("blocktensor.ops.transpose(x, a={a}, b={b})"),
            Call::ToVec => ".numpy()",
            Call::ToDlpack => ".__dlpack__()",
            Call::AsBlockedDlpack => ".as_blocks()",
            Call::EmptyLike | Call::StridedDesc | Call::BlockedDesc => "blocktensor.zeros",
            Call::Ops => "blocktensor.ops.__all__",
            Call::PackForTensor => "blocktensor.pack_conv(..., like=x)",
            Call::PackFor | Call::PackedConv => "blocktensor.pack_conv",
            Call::StridedSource => "like of blocktensor.pack_conv",
            Call::PackedConvTranspose => "blocktensor.pack_conv_transpose",
            Call::PackedStem => "blocktensor.pack_stem",
            Call::PackedLinear => "blocktensor.pack_linear",
            Call::StemRun => "PackedWeights",
            Call::StemRunFused => "residual of PackedWeights",
            Call::KeepPlain | Call::KeepPlainOfPlan => "Plan.save(..., keep_plain=True)",
            Call::SavePacked | Call::SavePlan => "Plan.save",
            Call::ReadOrRepack => "blocktensor.load_plan(..., replan=True)",
            Call::ReadStateDict => "safetensors.numpy.load_file",
            Call::StackSize => "threading.stack_size",
            Call::NewProcess => "subprocess.Popen",
            Call::DenyReorders => "blocktensor.deny_reorders",
            Call::ReorderBudget => "blocktensor.budget",
            Call::RunWithThreads(threads) => return format!("threads={threads}"),
            Call::ReadModel => "blocktensor.load_onnx",
            Call::PlanSize(name) => return format!("Model.plan(sizes={{\"{name}\": 1}})"),
            Call::KeepConstants => "Model.plan(keep_constants=True)",
            Call::LoadPlan => "blocktensor.load_plan",
            Call::LoadPlanWithConstants => "blocktensor.load_plan(..., keep_constants=True)",
            Call::RunTimed => "Plan.run_timed",
            Call::OfBackend(call) => call,
            Call::RegisterGradient => "gradients of blocktensor.register_backend",
            // No call of Python leads to an error that names it: it has no state dicts of its own.
            Call::StateDictNames => return call.to_string(),
        };
        text.to_string()
    }

    fn op<'a>(&'a self, op: &'a str) -> Cow<'a, str> {
        let known = FUNCTIONS.iter().find(|(rust, _)| *rust == op);
        known.map_or(op, |(_, python)| python).into()
    }

    fn argument<'a>(&'a self, op: &str, argument: &'a str) -> Cow<'a, str> {
        let known = ARGUMENTS.iter().find(|(of, rust, _)| (*of, *rust) == (op, argument));
        known.map_or(argument, |(_, _, python)| python).into()
    }
}
