//! The pool of free storage for results: how much is kept, and what is given back to the system.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{LazyLock, Mutex};

use super::give_to_system;
use crate::threads;

/// Free storage for results, by capacity.
pub(super) struct Pool {
    bins: Mutex<Bins>,
}

#[derive(Default)]
struct Bins {
    /// By capacity; no list is empty.
    free: BTreeMap<usize, Vec<Free>>,
    held: usize,
    limit: usize,
    /// Whether the program has set the limit.
    is_set: bool,
}

struct Free(NonNull<u8>);
// SAFETY: the pointer is the sole owner of its memory while it is in the pool.
unsafe impl Send for Free {}

/// How many **bytes** of free result storage are kept for reuse by default; [`set_recycle_limit`] changes it.
pub const DEFAULT_RECYCLE_LIMIT: usize = 512 << 20;

pub(super) fn pool() -> &'static Pool {
    static POOL: LazyLock<Pool> =
        LazyLock::new(|| Pool { bins: Mutex::new(Bins { limit: DEFAULT_RECYCLE_LIMIT, ..Bins::default() }) });
    &POOL
}

impl Pool {
    fn lock(&self) -> std::sync::MutexGuard<'_, Bins> {
        // The bins are consistent wherever a thread could panic, so a poisoned lock is still usable.
        self.bins.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Free storage of this capacity or up to twice as much, with its own capacity. This way a network whose activations
    /// shrink from layer to layer does not need storage for each size.
    pub fn take(&self, capacity: usize) -> Option<(NonNull<u8>, usize)> {
        let mut bins = self.lock();
        let (&found, list) = bins.free.range_mut(capacity..=capacity.saturating_mul(2)).next()?;
        let p = list.pop()?;
        if list.is_empty() {
            bins.free.remove(&found);
        }
        bins.held -= found;
        Some((p.0, found))
    }

    /// Returns whether the pool kept it.
    pub fn put(&self, ptr: NonNull<u8>, capacity: usize) -> bool {
        // Another thread of the parent may have held the lock during the fork.
        if threads::forked() {
            return false;
        }
        let mut bins = self.lock();
        if bins.held + capacity > bins.limit {
            return false;
        }
        bins.held += capacity;
        bins.free.entry(capacity).or_default().push(Free(ptr));
        true
    }
}

impl Bins {
    /// Keeps at least so much, unless the program has said how much.
    fn raise(&mut self, bytes: usize) {
        if !self.is_set {
            self.limit = self.limit.max(bytes);
        }
    }
}

/// How many **bytes** of free result storage may be kept; 0 in a forked child.
pub fn recycle_limit() -> usize {
    if threads::forked() {
        return 0;
    }
    pool().lock().limit
}

/// **Bytes** of free result storage that the recycling allocator holds now; 0 in a forked child.
pub fn recycled_bytes() -> usize {
    if threads::forked() {
        return 0;
    }
    pool().lock().held
}

/// Sets how many **bytes** of free result storage may be kept ([`DEFAULT_RECYCLE_LIMIT`] initially), and returns all of it to
/// the system. 0 switches recycling off. Does nothing in a forked child.
pub fn set_recycle_limit(bytes: usize) {
    if threads::forked() {
        return;
    }
    let free = {
        let mut bins = pool().lock();
        (bins.limit, bins.is_set) = (bytes, true);
        bins.held = 0;
        std::mem::take(&mut bins.free)
    };
    for (capacity, list) in free {
        for p in list {
            give_to_system(p.0, capacity);
        }
    }
}

/// Has at least so many **bytes** of free result storage kept, unless [`set_recycle_limit`] was called. A caller that frees much and
/// will soon want the same again, such as a tape of gradients, says so by it: memory that comes back from the system is cleared, which
/// takes a third of a training step. Does nothing in a forked child.
pub fn raise_recycle_limit(bytes: usize) {
    if !threads::forked() {
        pool().lock().raise(bytes);
    }
}

/// Returns free result storage to the system, the largest first, until at most so many **bytes** are held. A program calls it after
/// work that does not come back, such as measuring; [`set_recycle_limit`] says how much is kept from then on. Does nothing in a forked
/// child.
///
/// ```
/// blocktensor::trim_recycled(1 << 20);
/// assert!(blocktensor::recycled_bytes() <= 1 << 20);
/// ```
pub fn trim_recycled(bytes: usize) {
    if threads::forked() {
        return;
    }
    let mut gone = Vec::new();
    {
        let mut bins = pool().lock();
        while bins.held > bytes {
            let Some((capacity, mut list)) = bins.free.pop_last() else { break };
            bins.held -= capacity;
            gone.extend(list.pop().map(|p| (p, capacity)));
            if !list.is_empty() {
                bins.free.insert(capacity, list);
            }
        }
    }
    for (p, capacity) in gone {
        give_to_system(p.0, capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_the_program_has_set_is_not_raised() {
        let mut bins = Bins { limit: 10, ..Bins::default() };
        bins.raise(20);
        assert_eq!(bins.limit, 20);
        bins.raise(15);
        assert_eq!(bins.limit, 20);
        bins.is_set = true;
        bins.raise(30);
        assert_eq!(bins.limit, 20);
    }
}
