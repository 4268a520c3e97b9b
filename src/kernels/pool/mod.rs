//! The kernels of pooling: windows over the spatial dimensions, folded by maximum or mean.

mod direct;
mod fold;
pub(crate) mod geometry;
pub(crate) mod kernel;
mod scratch;
