//! Fallible allocation for lengths that callers supply.

use crate::error::{Error, Result};

/// An empty vector with capacity for `count` values.
pub(crate) fn try_with_capacity<T>(op: &'static str, count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values
        .try_reserve_exact(count)
        .map_err(|_| Error::OutOfMemory { bytes: count.saturating_mul(size_of::<T>()), call: op })?;
    Ok(values)
}

/// A vector of `count` copies of `value`.
pub(crate) fn try_filled<T: Clone>(op: &'static str, count: usize, value: T) -> Result<Vec<T>> {
    let mut values = try_with_capacity(op, count)?;
    values.resize(count, value);
    Ok(values)
}
