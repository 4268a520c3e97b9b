//! The tensors: strided, blocked, or either.

pub mod blocked;
pub mod strided;
