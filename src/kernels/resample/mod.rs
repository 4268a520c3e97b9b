//! The kernels of resampling: which source pixels a result pixel is made of, and the loops over them.

pub(crate) mod grid_coordinates;
pub(crate) mod grid_sample;
pub(crate) mod upsample;
pub(crate) mod upsample_geometry;
