//! Memory that may not be there: lists whose lengths a file, a model or a caller gives are reserved fallibly.
//!
//! Rust ends the process where a list finds no memory. These functions return [`Error::OutOfMemory`] instead. `call` is the name
//! of what needs the memory. Many small allocations, such as the nodes of a graph, cannot each be fallible: [`require`] asks for
//! their sum ahead. Large lists and storage leave 4 MiB free for them.

use std::sync::OnceLock;

use crate::buffer::{has_room, is_available};
use crate::error::{Error, Result};

fn out_of_memory<T>(call: &'static str, count: usize) -> Error {
    Error::out_of_memory(count.saturating_mul(size_of::<T>()), call)
}

/// An empty list with capacity for `count` values.
///
/// # Errors
/// `OutOfMemory`.
///
/// ```
/// assert!(blocktensor::memory::try_with_capacity::<u64>("a list", usize::MAX / 16).is_err());
/// ```
pub fn try_with_capacity<T>(call: &'static str, count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    if !has_room(count.saturating_mul(size_of::<T>())) || values.try_reserve_exact(count).is_err() {
        return Err(out_of_memory::<T>(call, count));
    }
    Ok(values)
}

/// A list of `count` copies of `value`.
///
/// # Errors
/// `OutOfMemory`.
///
/// ```
/// assert_eq!(blocktensor::memory::try_filled("a list", 3, 1)?, [1, 1, 1]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
pub fn try_filled<T: Clone>(call: &'static str, count: usize, value: T) -> Result<Vec<T>> {
    let mut values = try_with_capacity(call, count)?;
    values.resize(count, value);
    Ok(values)
}

/// A copy of a list.
///
/// # Errors
/// `OutOfMemory`.
///
/// ```
/// assert_eq!(blocktensor::memory::try_copied("a list", &[1, 2])?, [1, 2]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
pub fn try_copied<T: Copy>(call: &'static str, list: &[T]) -> Result<Vec<T>> {
    let mut values = try_with_capacity(call, list.len())?;
    values.extend_from_slice(list);
    Ok(values)
}

/// The values of an iterator as a list.
///
/// # Errors
/// `OutOfMemory`.
///
/// ```
/// assert_eq!(blocktensor::memory::try_collect("a list", (0..9).filter(|i| i % 4 == 0))?, [0, 4, 8]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
pub fn try_collect<T>(call: &'static str, values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let values = values.into_iter();
    let (least, most) = values.size_hint();
    let mut list = try_with_capacity(call, least)?;
    if most == Some(least) {
        list.extend(values);
        return Ok(list);
    }
    for value in values {
        push(call, &mut list, value)?;
    }
    Ok(list)
}

/// The values of an iterator of results as a list, or the first error.
///
/// # Errors
/// The iterator's; `OutOfMemory`.
///
/// ```
/// use blocktensor::{Error, memory};
///
/// let halves = [2, 4].iter().map(|&i| Ok::<i32, Error>(i / 2));
/// assert_eq!(memory::try_collect_results("a list", halves)?, [1, 2]);
/// # Ok::<(), Error>(())
/// ```
pub fn try_collect_results<T, E: From<Error>>(
    call: &'static str,
    values: impl IntoIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    let values = values.into_iter();
    // An iterator of results promises only an upper bound where it may end early.
    let (least, most) = values.size_hint();
    let mut list = try_with_capacity(call, most.unwrap_or(least))?;
    for value in values {
        push(call, &mut list, value?)?;
    }
    Ok(list)
}

fn push<T>(call: &'static str, list: &mut Vec<T>, value: T) -> Result<()> {
    if list.len() == list.capacity() {
        let count = list.len().saturating_mul(2);
        if !has_room(count.saturating_mul(size_of::<T>())) || list.try_reserve(1).is_err() {
            return Err(out_of_memory::<T>(call, count));
        }
    }
    list.push(value);
    Ok(())
}

/// Fails unless the process can take this many **bytes** more at this moment. Nothing is kept.
///
/// # Errors
/// `OutOfMemory`.
///
/// ```
/// blocktensor::memory::require("nodes of a graph", 1 << 20)?;
/// assert!(blocktensor::memory::require("nodes of a graph", usize::MAX).is_err());
/// # Ok::<(), blocktensor::Error>(())
/// ```
pub fn require(call: &'static str, bytes: usize) -> Result<()> {
    match is_available(bytes) {
        true => Ok(()),
        false => Err(Error::out_of_memory(bytes, call)),
    }
}

/// As [`require`], for memory that is small unless sizes are unusual: it asks only for large amounts.
pub(crate) fn check_room(call: &'static str, bytes: usize) -> Result<()> {
    match has_room(bytes) {
        true => Ok(()),
        false => Err(Error::out_of_memory(bytes, call)),
    }
}

/// The first error of the tasks of a parallel section, which cannot return any.
#[derive(Default)]
pub(crate) struct Failed(OnceLock<Error>);

impl Failed {
    /// A task's list of `count` copies of `value`, or nothing if there is no memory: the task then ends.
    pub(crate) fn try_filled<T: Clone>(&self, op: &'static str, count: usize, value: T) -> Option<Vec<T>> {
        match try_filled(op, count, value) {
            Ok(list) => Some(list),
            Err(error) => {
                // Another task's error is as good.
                let _ = self.0.set(error);
                None
            }
        }
    }

    /// What the section returns.
    pub(crate) fn result(self) -> Result<()> {
        self.0.into_inner().map_or(Ok(()), Err)
    }
}
