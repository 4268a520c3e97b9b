//! The one cache of primitives: bounded, keyed by all that decides a primitive, its figures visible.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use once_cell::sync::Lazy;
use quick_cache::sync::Cache;

use super::primitive::Executable;

/// How many primitives the cache keeps.
pub const CAPACITY: usize = 1024;

static CACHE: Lazy<Cache<Vec<u64>, Arc<Executable>>> = Lazy::new(|| Cache::new(CAPACITY));
static HITS: AtomicU64 = AtomicU64::new(0);
static MISSES: AtomicU64 = AtomicU64::new(0);

/// What the primitive cache did so far in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheStats {
    /// Calls that found their primitive.
    pub hits: u64,
    /// Calls that had oneDNN make one.
    pub misses: u64,
    /// Primitives held now.
    pub len: usize,
    /// The most that are held.
    pub capacity: usize,
}

/// The figures of the primitive cache.
pub fn cache_stats() -> CacheStats {
    CacheStats {
        hits: HITS.load(Relaxed),
        misses: MISSES.load(Relaxed),
        len: CACHE.len(),
        capacity: CAPACITY,
    }
}

/// Drops every primitive that the cache holds; packed weights keep theirs.
pub fn clear_cache() {
    CACHE.clear();
}

/// The primitive of this key; a miss makes it. `write_key` appends everything that decides the primitive.
pub(crate) fn get<E>(
    write_key: impl FnOnce(&mut Vec<u64>),
    create: impl FnOnce() -> Result<Executable, E>,
) -> Result<Arc<Executable>, E> {
    thread_local! {
        static KEY: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }
    let mut key = KEY.take();
    key.clear();
    write_key(&mut key);
    let mut made = false;
    let result = CACHE.get_or_insert_with(&key, || {
        made = true;
        create().map(Arc::new)
    });
    KEY.set(key);
    let counter = if made { &MISSES } else { &HITS };
    counter.fetch_add(1, Relaxed);
    result
}
