//! Normalisation: batch norm with given statistics and in training, group, instance and layer norm, local response norm.

mod args;
pub(crate) mod batch_norm;
pub(crate) mod batch_norm_train;
mod gradient;
pub(crate) mod group_norm;
pub(crate) mod layer_norm;
mod layer_norm_gradient;
pub(crate) mod local_response_norm;
