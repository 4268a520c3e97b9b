//! Normalisation: batch norm with given statistics and in training, group, instance and layer norm, local response norm.

mod args;
pub(crate) mod batch_norm;
pub(crate) mod batch_norm_train;
pub(crate) mod group_norm;
pub(crate) mod layer_norm;
pub(crate) mod local_response_norm;
