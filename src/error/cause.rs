//! Why data moved between layouts: what the ledger writes down, and what errors say.

use super::{Call, Text};

/// Why data moved between layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The user asked: `to_blocked`, `to_strided`, `reorder_to`, `contiguous`, `to_memory_format`.
    Call,
    /// Weights were packed for a kernel.
    Packing,
    /// A strided kernel that needs dense input took a copy of a view. Or a gradient was copied into the format of its operand.
    DenseCopy,
    /// The engine's implementation reorders inside itself (its name says so: `jit_uni_ncsp...`).
    Internal,
    /// An op without a kernel ran on another key's: `dispatch::allow_fallback` was called.
    Fallback,
    /// A run copied an input whose elements do not begin at multiples of their size.
    Unaligned,
}

impl Cause {
    /// All of them, in the order of reports.
    pub(crate) const ALL: [Cause; 6] =
        [Cause::Call, Cause::Packing, Cause::DenseCopy, Cause::Internal, Cause::Fallback, Cause::Unaligned];

    /// How to do without a reorder to this layout.
    pub(crate) fn remedy(self, to: &str) -> Text {
        match self {
            Cause::Call => "move the call out of the scope".into(),
            Cause::Packing => {
                let once = Text::from("pack the weights once, before the scope (");
                once + Call::PackedConv + ", " + Call::PackedLinear + ")"
            }
            Cause::DenseCopy => {
                let before = Text::from("before the scope, bring the tensor into that layout");
                match to {
                    "contiguous" => before + ": call " + Call::Contiguous,
                    _ if to.starts_with("channels_last") => {
                        before + ": call " + Call::InFormat(to.to_string())
                    }
                    _ => before,
                }
            }
            Cause::Internal => "pass a channels-last or blocked tensor, whose kernels reorder nothing".into(),
            Cause::Fallback => {
                "reorder once and call the op on strided tensors, or switch the fallback off".into()
            }
            Cause::Unaligned => "before the scope, copy the input to aligned memory".into(),
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Cause::Call => "call",
            Cause::Packing => "packing",
            Cause::DenseCopy => "dense copy",
            Cause::Internal => "inside the kernel",
            Cause::Fallback => "fallback",
            Cause::Unaligned => "unaligned input",
        })
    }
}
