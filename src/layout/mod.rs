//! The order of elements in memory: sizes, memory formats (strided) and layouts (blocked).

pub mod blocked;
pub mod dims;
pub(crate) mod either;
pub(crate) mod identity;
pub(crate) mod iterator;
pub(crate) mod loops;
pub mod memory_format;
mod name;
pub mod native;
pub(crate) mod overlap;
pub(crate) mod reorder;
