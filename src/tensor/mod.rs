//! The tensors: strided, blocked, or either.

pub mod strided;
