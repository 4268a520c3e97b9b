//! Lists as long as a size that a caller gave, which may be more than memory has.

use crate::error::{Error, Result};

/// An empty list with room for `count` values.
pub(crate) fn table<T>(op: &'static str, count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count)
        .map_err(|_| Error::OutOfMemory { bytes: count.saturating_mul(size_of::<T>()), call: op })?;
    Ok(list)
}

/// `count` times the value.
pub(crate) fn filled<T: Clone>(op: &'static str, count: usize, value: T) -> Result<Vec<T>> {
    let mut list = table(op, count)?;
    list.resize(count, value);
    Ok(list)
}
