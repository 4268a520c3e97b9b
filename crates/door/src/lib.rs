//! What the C library and the Python package share: errors of the library's crates as one type, the text of a caught panic, and
//! convolutions to pack.

use blocktensor::{Layout, WeightsKind};

mod failure;
mod packing;

pub use failure::{Failure, panicked};
pub use packing::{Norm, Request};

/// The layout of this machine for weights of this rank and kind, as [`Call::ToBlockedWeights`](blocktensor::Call) has
/// them.
pub fn weights_layout(rank: usize, kind: &str) -> Option<Layout> {
    let kind = match kind {
        "Dense" => WeightsKind::Dense,
        "Grouped" => WeightsKind::Grouped,
        _ => WeightsKind::Depthwise,
    };
    Layout::native_weights(rank, kind).ok()
}
