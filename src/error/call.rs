//! The calls and options that errors name.

use std::fmt;

/// Makes the enum from its lines: a variant, an example of each of its values, and how Rust writes it.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident$(($($value:ident: $of:ty = $example:expr),*))? => $rust:expr;)*) => {
        /// A call or an option that an error names. Errors print it as Rust writes it; a [`Door`](crate::Door) has another name for it.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Call {
            $($(#[$doc])* $name$(($($of),*))?,)*
        }

        impl fmt::Display for Call {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Call::$name$(($($value),*))? => write!(f, "{}", $rust),)*
                }
            }
        }

        impl Call {
            /// One of each, for tests of doors.
            #[doc(hidden)]
            pub fn examples() -> Vec<Call> {
                vec![$(Call::$name$(($($example),*))?),*]
            }
        }
    };
}

calls! {
    /// A reorder to row-major.
    ToStrided => "to_strided(MemoryFormat::Contiguous)";
    /// A reorder to any strided format.
    ToAnyStrided => "to_strided";
    /// A reorder of activations of this rank to the blocked layout of this machine.
    ToBlocked(rank: usize = 4) => match rank {
        4 => "to_blocked(&Layout::native().0)".to_string(),
        _ => format!("to_blocked(&Layout::native_activation({rank})?)"),
    };
    /// A reorder of a strided tensor to the layout of this name: that of weights, or of another operand.
    ToBlockedIn(layout: String = "OIhw16i16o".into()) => format!("to_blocked(&\"{layout}\".parse()?)");
    /// A reorder to any blocked layout.
    ToAnyBlocked => "to_blocked";
    /// A reorder of a blocked tensor to the layout of this name.
    ReorderTo(layout: String = "nChw16c".into()) => format!("reorder_to(&\"{layout}\".parse()?)");
    /// A reorder of a blocked tensor of this rank to the layout of this machine.
    ReorderToNative(rank: usize = 4) => format!("reorder_to(&Layout::native_activation({rank})?)");
    /// A reorder of a blocked tensor to a layout that the sentence names.
    ReorderToAny => "reorder_to(&Layout)";
    /// The blocked layout of this machine for activations of this rank, as an argument.
    NativeLayout(rank: usize = 4) => format!("Layout::native_activation({rank})?");
    /// The call of another crate's backend that reorders to or from its key. Every door names it as the backend does.
    OfBackend(call: &'static str = "to_tiles") => call;
    /// A row-major copy, unless the tensor is one.
    Contiguous => "contiguous(MemoryFormat::Contiguous)";
    /// A copy in the memory format of this name, unless the tensor has it.
    InFormat(name: String = "channels_last".into()) => format!("contiguous(\"{name}\".parse()?)");
    /// A copy in the same format.
    Copy => "copy(MemoryFormat::Preserve)";
    /// A conversion to the dtype of this name.
    ToDType(dtype: &'static str = "f32") => format!("to_dtype(DType::{})", dtype.to_uppercase());
    /// A conversion to any dtype.
    ToAnyDType => "to_dtype";
    /// A quantised tensor: one with scales and zero points.
    Quantized => "quantized";
    /// The integers of a quantised tensor, without its scales and zero points.
    WithoutQuantization => "without_quantization";
    /// The numbers that the integers of a quantised tensor stand for.
    Dequantized => "dequantized";
    /// A view or copy of these sizes.
    Reshape(dims: Vec<usize> = vec![1, 16, 1, 1]) => format!("reshape(&{dims:?})");
    /// A view or copy of any sizes.
    ReshapeAny => "reshape";
    /// A view with one axis more.
    Unsqueeze(axis: usize = 0) => format!("unsqueeze({axis})");
    /// A view with two axes exchanged.
    Transpose(a: usize = 0, b: usize = 1) => format!("transpose({a}, {b})");
    /// The elements in logical order.
    ToVec => "to_vec";
    /// A DLPack tensor of a strided one.
    ToDlpack => "to_dlpack";
    /// A DLPack tensor of a blocked tensor's blocks.
    AsBlockedDlpack => "as_blocked_dlpack";
    /// A new tensor like another.
    EmptyLike => "empty_like";
    /// The list of ops.
    Ops => "blocktensor::dispatch::ops()";
    /// Packs weights for a tensor's kind of source.
    PackForTensor => "pack_for(&Source::of(&x)?)";
    /// Packs weights for a source.
    PackFor => "pack_for";
    /// A description of a strided source.
    StridedSource => "Source::strided";
    /// A description of a strided tensor.
    StridedDesc => "TensorDesc::strided";
    /// A description of a blocked tensor.
    BlockedDesc => "TensorDesc::blocked";
    /// Packed weights of a convolution.
    PackedConv => "PackedConv2d";
    /// Packed weights of a transposed convolution.
    PackedConvTranspose => "PackedConvTranspose";
    /// Packed weights of a network's first convolution.
    PackedStem => "PackedStem";
    /// Packed weights of a linear layer.
    PackedLinear => "PackedLinear";
    /// The run of a stem.
    StemRun => "run";
    /// The run of a stem with a residual.
    StemRunFused => "run_fused";
    /// The option to keep plain weights in a packed file.
    KeepPlain => "PackedWriter::keep_plain";
    /// The argument to keep plain weights with a saved plan.
    KeepPlainOfPlan => "keep_plain";
    /// Writes a packed file.
    SavePacked => "PackedWriter::save";
    /// Reads a packed file, and packs again what does not fit here.
    ReadOrRepack => "PackedFile::read_or_repack";
    /// Reads a state dict.
    ReadStateDict => "StateDict::read";
    /// The names in a state dict.
    StateDictNames => "StateDict::names";
    /// The size of a thread's stack.
    StackSize => "std::thread::Builder::stack_size";
    /// A new process.
    NewProcess => "std::process::Command";
    /// The scope that refuses reorders.
    DenyReorders => "deny_reorders";
    /// The scope that counts reorders.
    ReorderBudget => "ReorderBudget";
    /// Runs on this number of threads.
    RunWithThreads(threads: usize = 4) => format!("run_with_threads({threads}, ..)");
    /// Reads an ONNX model.
    ReadModel => "blocktensor_onnx::from_path";
    /// The option of a plan that gives a number to the size of this name.
    PlanSize(name: String = "height".into()) => format!("PlanOptions::size(\"{name}\", 1)");
    /// The option of a plan to keep constants.
    KeepConstants => "PlanOptions::keep_constants";
    /// Reads a plan.
    LoadPlan => "Plan::load";
    /// Reads a plan with its constants.
    LoadPlanWithConstants => "Plan::load_with_constants";
    /// Writes a plan.
    SavePlan => "Plan::save";
    /// Runs a plan and times its steps.
    RunTimed => "Plan::run_timed";
    /// Registers the gradient of an op for a key.
    RegisterGradient => "Kernel::gradient";
}
