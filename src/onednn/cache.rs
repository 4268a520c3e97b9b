//! The one cache of primitives: bounded, keyed by all that decides a primitive, its figures visible.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

use quick_cache::sync::Cache;

use super::Refused;
use super::primitive::Executable;
use crate::error::Unsupported;
use crate::threads;

/// How many primitives the cache keeps.
pub const CAPACITY: usize = 1024;

/// What oneDNN answered for a key.
#[derive(Clone)]
enum Entry {
    Ready(Arc<Executable>),
    Refused(Unsupported),
}

static CACHE: LazyLock<Cache<Vec<u64>, Entry>> = LazyLock::new(|| Cache::new(CAPACITY));
static HITS: AtomicU64 = AtomicU64::new(0);
static MISSES: AtomicU64 = AtomicU64::new(0);

/// What the primitive cache did so far in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheStats {
    /// Calls that found their primitive.
    pub hits: u64,
    /// Calls that had oneDNN make one.
    pub misses: u64,
    /// Primitives held now, and refusals.
    pub len: usize,
    /// The most that are held.
    pub capacity: usize,
}

/// The figures of the primitive cache.
pub fn cache_stats() -> CacheStats {
    CacheStats {
        hits: HITS.load(Relaxed),
        misses: MISSES.load(Relaxed),
        // In a forked child its locks may be held by nobody who is there.
        len: if threads::forked() { 0 } else { CACHE.len() },
        capacity: CAPACITY,
    }
}

/// Drops every primitive that the cache holds; packed weights keep theirs. Does nothing in a forked child.
pub fn clear_cache() {
    if !threads::forked() {
        CACHE.clear();
    }
}

/// The primitive of this key; a miss makes it. `write_key` appends everything that decides the primitive. That
/// oneDNN has only `ref` for a configuration is kept as well: asking costs as much as making.
pub(super) fn get(
    write_key: impl FnOnce(&mut Vec<u64>),
    create: impl FnOnce() -> Result<Executable, Refused>,
) -> Result<Arc<Executable>, Refused> {
    thread_local! {
        static KEY: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }
    // A thread that is ending, in a destructor, makes one each time.
    let mut key = KEY.try_with(RefCell::take).unwrap_or_default();
    key.clear();
    write_key(&mut key);
    let mut made = false;
    let entry = CACHE.get_or_insert_with(&key, || {
        made = true;
        match create() {
            Ok(executable) => Ok(Entry::Ready(Arc::new(executable))),
            Err(Refused::Unsupported(reason @ Unsupported::RefOnly { .. })) => Ok(Entry::Refused(reason)),
            Err(other) => Err(other),
        }
    });
    let _ = KEY.try_with(|k| k.replace(key));
    let counter = if made { &MISSES } else { &HITS };
    counter.fetch_add(1, Relaxed);
    match entry? {
        Entry::Ready(executable) => Ok(executable),
        Entry::Refused(reason) => Err(reason.into()),
    }
}
