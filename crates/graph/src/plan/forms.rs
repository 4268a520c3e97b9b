//! Orders of elements, and which of them ops can take.

use blocktensor::dispatch::DispatchKey;
use blocktensor::{Layout, MemoryFormat, TensorDesc};

use crate::network::{Operation, Tensor};

/// In which order of its elements a node takes its data operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// Each as its producer left it.
    AsItIs,
    /// Row-major.
    Contiguous,
    /// The layout that the plan is for.
    Target,
    /// Channels-last, for a view of it that is row-major.
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
    let is_data = |name: &&str| args.iter().any(|arg| arg.name == *name && arg.kind.is_data());
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

/// The channels-last format of tensors of this rank, for images.
pub(super) fn channels_last(rank: usize) -> MemoryFormat {
    if rank == 5 { MemoryFormat::ChannelsLast3d } else { MemoryFormat::ChannelsLast }
}

/// Whether it is strided, and row-major.
fn is_row_major(desc: &TensorDesc) -> bool {
    TensorDesc::strided(desc.dims(), desc.dtype(), MemoryFormat::Contiguous)
        .is_ok_and(|row_major| same_order(&row_major, desc))
}

/// Whether a view of this tensor is row-major if the tensor is channels-last, and is not if it is row-major: one that moves the
/// channels behind the spatial axes.
pub(super) fn views_channels_last(op: &Operation, x: &Tensor) -> bool {
    let rank = x.dims().len();
    let makes_row_major = |format| {
        let of = TensorDesc::strided(x.dims(), x.dtype(), format).and_then(|x| op.infer(&[x]));
        of.is_ok_and(|results| results.iter().all(is_row_major))
    };
    (4..=5).contains(&rank)
        && op.inputs().len() == 1
        && makes_row_major(channels_last(rank))
        && !makes_row_major(MemoryFormat::Contiguous)
}

/// Whether both describe the same bytes: strides of axes of size 1 say nothing.
pub(super) fn same_order(a: &TensorDesc, b: &TensorDesc) -> bool {
    match (a.strides(), b.strides()) {
        (Some(x), Some(y)) => a.dims().iter().zip(x.iter().zip(y)).all(|(&d, (s, t))| d <= 1 || s == t),
        _ => false,
    }
}
