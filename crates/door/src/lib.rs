//! What the C library and the Python package share: errors of the library's crates as one type, the text of a caught panic, and
//! convolutions to pack.

mod failure;
mod packing;

pub use failure::{Failure, panicked};
pub use packing::{Norm, Request};
