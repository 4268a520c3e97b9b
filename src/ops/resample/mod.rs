//! Resampling: to a size or by a scale (`upsample_*`), and at the coordinates of a grid (`grid_sample`).

pub(crate) mod grid_sample;
pub(crate) mod upsample;
