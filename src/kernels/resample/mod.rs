//! Resampling: which source pixels a result pixel is made of, and the loops over them.

pub(crate) mod geometry;
pub(crate) mod kernel;
