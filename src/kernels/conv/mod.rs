//! Convolution, transposed or not.
//!
//! `implementations.rs` lists the ways to compute one; `implementation.rs` says what such a way is. Each has a folder. The rest is
//! what they share: the geometry, the algorithms by name, the epilogue, weights on their way into a kernel's order. `call.rs` runs
//! a call by the list, and `pack/conv` packs by it.

/// `body` for each number below `count`, at most 14. Unrolled: indexed by a loop variable, the accumulators would spill.
macro_rules! for_each_below {
    ($p:ident < $count:ident => $body:block) => {
        for_each_below!(@ $p $count $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13)
    };
    (@ $p:ident $count:ident $body:block $($i:literal)*) => {
        $(if $i < $count {
            let $p: usize = $i;
            $body
        })*
    };
}

mod algorithm;
pub(crate) mod call;
pub(crate) mod epilogue;
mod gemm;
pub(crate) mod geometry;
pub(crate) mod implementation;
pub(crate) mod implementations;
mod int8;
pub(crate) mod integers;
#[cfg(feature = "onednn")]
mod onednn;
pub(crate) mod params;
pub(crate) mod phases;
mod pointwise;
pub(crate) mod preferred;
pub(crate) mod products;
mod tiled;
pub(crate) mod weights;
pub(crate) mod winograd;

pub use algorithm::Algorithm;
pub(crate) use geometry::{ConvGeometry, ConvNumbers};
pub(crate) use params::ConvParams;

/// Spatial dimensions of the op of this name, and whether it is a transposed one.
pub(crate) fn kind_of(op: &str) -> (usize, bool) {
    let spatial = op.bytes().find(u8::is_ascii_digit).map_or(2, |digit| usize::from(digit - b'0'));
    (spatial, op.starts_with("conv_transpose"))
}
