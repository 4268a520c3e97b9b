//! The only cache of primitives: bounded, keyed by everything that decides a primitive, with public statistics.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

use quick_cache::sync::Cache;

use super::Refused;
use super::primitive::Executable;
use crate::error::Unsupported;
use crate::threads;

/// The largest number of primitives that the cache keeps.
pub const CAPACITY: usize = 1024;

/// What the cache holds for a key: a primitive, or the reason why oneDNN has none.
#[derive(Clone)]
enum CachedPrimitive {
    /// With the number of misses before it was made.
    Ready(Arc<Executable>, u64),
    Refused(Unsupported),
}

static CACHE: LazyLock<Cache<Vec<u64>, CachedPrimitive>> = LazyLock::new(|| Cache::new(CAPACITY));
static HITS: AtomicU64 = AtomicU64::new(0);
static MISSES: AtomicU64 = AtomicU64::new(0);

/// Statistics of the primitive cache in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheStats {
    /// Calls that found their primitive.
    pub hits: u64,
    /// Calls for which oneDNN made a primitive.
    pub misses: u64,
    /// Primitives and refusals that are cached now.
    pub len: usize,
    /// The largest number that is cached.
    pub capacity: usize,
}

/// The statistics of the primitive cache.
pub fn cache_stats() -> CacheStats {
    CacheStats {
        hits: HITS.load(Relaxed),
        misses: MISSES.load(Relaxed),
        // In a forked child its locks may be held by threads that do not exist.
        len: if threads::forked() { 0 } else { CACHE.len() },
        capacity: CAPACITY,
    }
}

/// Drops every primitive in the cache; packed weights keep theirs. Does nothing in a forked child.
pub fn clear_cache() {
    if !threads::forked() {
        CACHE.clear();
    }
}

/// Drops the primitives that nobody keeps and that were made since there were `misses` of these ([`CacheStats::misses`]). A program
/// calls it after work that does not come back, such as measuring; primitives that other threads made meanwhile are among them, and are
/// made again when they are needed. Refusals stay, which take little memory. Does nothing in a forked child.
pub fn drop_unused_since(misses: u64) {
    if !threads::forked() {
        CACHE.retain(|_, entry| match entry {
            CachedPrimitive::Ready(executable, made) => *made < misses || Arc::strong_count(executable) > 1,
            CachedPrimitive::Refused(_) => true,
        });
    }
}

/// The primitive for this key; a miss makes it. `write_key` appends everything that decides the primitive. If oneDNN has only
/// `ref` for a configuration, that is cached as well: finding out costs as much as making a primitive.
pub(super) fn get(
    write_key: impl FnOnce(&mut Vec<u64>),
    create: impl FnOnce() -> Result<Executable, Refused>,
) -> Result<Arc<Executable>, Refused> {
    thread_local! {
        static KEY: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }
    // A thread that runs its destructors allocates a key for each call.
    let mut key = KEY.try_with(RefCell::take).unwrap_or_default();
    key.clear();
    write_key(&mut key);
    let mut made = false;
    let entry = CACHE.get_or_insert_with(&key, || {
        made = true;
        let before = MISSES.fetch_add(1, Relaxed);
        match create() {
            Ok(executable) => Ok(CachedPrimitive::Ready(Arc::new(executable), before)),
            Err(Refused::Unsupported(reason @ Unsupported::RefOnly { .. })) => {
                Ok(CachedPrimitive::Refused(reason))
            }
            Err(other) => Err(other),
        }
    });
    let _ = KEY.try_with(|k| k.replace(key));
    if !made {
        HITS.fetch_add(1, Relaxed);
    }
    match entry? {
        CachedPrimitive::Ready(executable, _) => Ok(executable),
        CachedPrimitive::Refused(reason) => Err(reason.into()),
    }
}
