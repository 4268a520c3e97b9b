//! Weights packed once, for a stated source.

#[cfg(feature = "onednn")]
mod chosen;
mod conv;
#[cfg(feature = "onednn")]
mod kernels;
mod linear;
mod source;

pub use conv::{
    ConvPacker, PackedConv, PackedConv1d, PackedConv2d, PackedConv3d, PackedConvTranspose,
    PackedConvTranspose1d, PackedConvTranspose2d, PackedConvTranspose3d, PackedStem,
};
pub use linear::PackedLinear;
pub use source::Source;
