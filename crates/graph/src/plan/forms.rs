//! Orders of elements, and which of them ops can take.

use blocktensor::dispatch::{ArgKind, DispatchKey};
use blocktensor::{Layout, MemoryFormat, ParamValue, TensorDesc};

use crate::network::{Node, Operation};

/// In which order of its elements a node takes its data operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// Each as its producer left it.
    AsItIs,
    /// Row-major.
    Contiguous,
    /// The layout that the plan is for.
    Target,
    /// Channels-last, for a permutation that makes a row-major view of it.
    ChannelsLast,
    /// A convolution from a strided source of few channels to a blocked result.
    Stem,
    /// As another crate's backend prefers it.
    Key(DispatchKey),
}

/// The order that a plan is for, where an op has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    RowMajor,
    ChannelsLast,
    /// Blocks of the machine's own size.
    Native,
    /// Blocks of this many channels.
    Blocked(usize),
}

impl Target {
    /// The order, for tensors of this rank. `None` if that is row-major.
    pub(super) fn order(self, rank: usize) -> Option<Order> {
        match (self, rank) {
            (Target::ChannelsLast, 4) => Some(Order::Strided(MemoryFormat::ChannelsLast)),
            (Target::ChannelsLast, 5) => Some(Order::Strided(MemoryFormat::ChannelsLast3d)),
            (Target::Native, 3..=5) => Layout::native_activation(rank).ok().map(Order::Blocked),
            (Target::Blocked(block), 3..=5) => {
                Layout::blocked_activation(rank, block).ok().map(Order::Blocked)
            }
            _ => None,
        }
    }

    pub(super) fn is_blocked(self) -> bool {
        matches!(self, Target::Native | Target::Blocked(_))
    }
}

/// Ops, by the beginning of their names, whose strided kernels would copy an operand that is not dense in a memory format.
pub(super) const DENSE: [&str; 20] = [
    "conv",
    "linear",
    "max_pool",
    "avg_pool",
    "adaptive_",
    "global_",
    "upsample_",
    "grid_sample",
    "pixel_",
    "channel_shuffle",
    "batch_norm",
    "layer_norm",
    "instance_norm",
    "group_norm",
    "local_response_norm",
    "softmax",
    "log_softmax",
    "argmax",
    "pad",
    "cumsum",
];

/// Ops whose results share their operand's storage.
pub(crate) const VIEWS: [&str; 12] = [
    "view",
    "permute",
    "transpose",
    "narrow",
    "slice",
    "select",
    "expand",
    "squeeze",
    "unsqueeze",
    "flatten",
    "split",
    "chunk",
];

/// An order of elements.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Strided(MemoryFormat),
    Blocked(Layout),
}

impl Order {
    pub(super) fn desc(self, dims: &[usize], dtype: blocktensor::DType) -> blocktensor::Result<TensorDesc> {
        match self {
            Order::Strided(format) => TensorDesc::strided(dims, dtype, format),
            Order::Blocked(layout) => TensorDesc::blocked(dims, dtype, &layout),
        }
    }
}

/// Whether it is a tensor of another crate's backend.
pub(super) fn is_foreign(desc: &TensorDesc) -> bool {
    ![DispatchKey::STRIDED, DispatchKey::BLOCKED].contains(&desc.key())
}

/// For each input of an operator: whether its layout is that of the result (data), or always row-major (parameters).
pub(super) fn kinds(op: &Operation) -> Vec<bool> {
    let Some(bound) = op.bound() else { return vec![true; op.inputs().len()] };
    let args = bound.registered().schema().args;
    let is_data = |name: &&str| {
        args.iter().any(|arg| {
            arg.name == *name && matches!(arg.kind, ArgKind::Data | ArgKind::DataList | ArgKind::OptionalData)
        })
    };
    op.inputs().iter().map(is_data).collect()
}

/// Whether it is strided, and neither row-major nor channels-last.
pub(super) fn is_sparse(desc: &TensorDesc) -> bool {
    let formats = [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d];
    desc.key() == DispatchKey::STRIDED
        && !formats.into_iter().any(|format| {
            TensorDesc::strided(desc.dims(), desc.dtype(), format).is_ok_and(|dense| same_order(&dense, desc))
        })
}

/// Whether both describe the same bytes: strides of axes of size 1 say nothing.
pub(super) fn same_order(a: &TensorDesc, b: &TensorDesc) -> bool {
    match (a.strides(), b.strides()) {
        (Some(x), Some(y)) => a.dims().iter().zip(x.iter().zip(y)).all(|(&d, (s, t))| d <= 1 || s == t),
        _ => false,
    }
}

/// Whether a permutation moves the channels behind the spatial axes.
pub(super) fn channels_to_the_end(node: &Node) -> bool {
    let Some(ParamValue::Ints(axes)) = node.op.param("axes") else { return false };
    matches!(axes[..], [0, 2, 3, 1] | [0, 2, 3, 4, 1])
}
