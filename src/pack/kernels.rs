//! The kernels of one packed operator by size: one for each batch, or number of rows, beside the one that it was packed for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use once_cell::sync::OnceCell;

/// How many sizes keep their kernel; beyond it, the one that was not used for longest is made again at its next call.
pub(super) const KEPT: usize = 64;

/// Kernels by size. The lock is held to find a kernel, never while one is made, so that a call waits only for its own.
pub(super) struct Kernels<T>(Mutex<Kept<T>>);

struct Kept<T> {
    by_size: HashMap<usize, Entry<T>>,
    /// Counts calls.
    now: u64,
    /// How many kernels were made.
    #[cfg(test)]
    made: usize,
}

struct Entry<T> {
    last_use: u64,
    kernel: Arc<OnceCell<T>>,
}

impl<T> Default for Kernels<T> {
    fn default() -> Kernels<T> {
        Kernels(Mutex::new(Kept {
            by_size: HashMap::new(),
            now: 0,
            #[cfg(test)]
            made: 0,
        }))
    }
}

impl<T: Clone> Kernels<T> {
    fn lock(&self) -> MutexGuard<'_, Kept<T>> {
        // A panic cannot leave the list inconsistent, so poison is ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel of this size, made if there is none. Calls for the same size wait for one of them to make it. A failure
    /// is not kept: it may have been for want of memory.
    pub(super) fn get<E>(&self, size: usize, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let place = self.place(size);
        let result = place.get_or_try_init(|| {
            let kernel = make()?;
            #[cfg(test)]
            {
                self.lock().made += 1;
            }
            Ok(kernel)
        });
        if result.is_err() {
            let mut kept = self.lock();
            if kept.by_size.get(&size).is_some_and(|e| Arc::ptr_eq(&e.kernel, &place)) {
                kept.by_size.remove(&size);
            }
        }
        result.cloned()
    }

    /// The place of this size, which may be empty yet.
    fn place(&self, size: usize) -> Arc<OnceCell<T>> {
        let mut kept = self.lock();
        kept.now += 1;
        let now = kept.now;
        if let Some(entry) = kept.by_size.get_mut(&size) {
            entry.last_use = now;
            return Arc::clone(&entry.kernel);
        }
        if kept.by_size.len() == KEPT {
            let oldest = kept.by_size.iter().min_by_key(|(_, e)| e.last_use).map(|(&size, _)| size);
            oldest.and_then(|size| kept.by_size.remove(&size));
        }
        let kernel = Arc::new(OnceCell::new());
        kept.by_size.insert(size, Entry { last_use: now, kernel: Arc::clone(&kernel) });
        kernel
    }

    /// How many kernels were made so far.
    #[cfg(test)]
    pub(super) fn made(&self) -> usize {
        self.lock().made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    type Made = Result<usize, &'static str>;

    #[test]
    fn sizes_in_turn_keep_their_kernels_up_to_the_limit() {
        let kernels = Kernels::default();
        for _ in 0..3 {
            for size in 0..KEPT {
                assert_eq!(kernels.get(size, || Made::Ok(size * 10)), Ok(size * 10));
            }
        }
        assert_eq!(kernels.made(), KEPT);
        // One more takes the place of size 1, as size 0 was used after it.
        kernels.get(0, || Made::Err("kept")).unwrap();
        kernels.get(KEPT, || Made::Ok(1)).unwrap();
        kernels.get(0, || Made::Err("kept")).unwrap();
        assert_eq!(kernels.get(1, || Made::Ok(11)), Ok(11));
        assert_eq!(kernels.made(), KEPT + 2);
    }

    #[test]
    fn a_failure_is_asked_for_again_and_takes_no_place() {
        let kernels = Kernels::default();
        for size in 0..KEPT {
            assert_eq!(kernels.get(size, || Made::Ok(size)), Ok(size));
        }
        for size in KEPT..3 * KEPT {
            assert_eq!(kernels.get(size, || Made::Err("no memory")), Err("no memory"));
        }
        assert_eq!(kernels.get(KEPT, || Made::Ok(7)), Ok(7));
        assert_eq!(kernels.made(), KEPT + 1);
        assert_eq!(kernels.lock().by_size.len(), KEPT);
    }

    /// While one kernel is being made, calls for others return; a second call for the same one gets the same.
    #[test]
    fn a_call_waits_for_its_own_kernel_only() {
        let kernels = &Kernels::default();
        kernels.get(1, || Made::Ok(10)).unwrap();
        let (started, wait) = mpsc::channel();
        let (finish, may_finish) = mpsc::channel::<()>();
        std::thread::scope(|s| {
            let slow = s.spawn(move || {
                kernels.get(2, || {
                    started.send(()).unwrap();
                    // Ends when `finish` is dropped.
                    assert!(may_finish.recv().is_err());
                    Made::Ok(20)
                })
            });
            wait.recv().unwrap();
            // These would not return if they waited for the slow one, which waits for `finish`.
            assert_eq!(kernels.get(1, || Made::Err("is there")), Ok(10));
            assert_eq!(kernels.get(3, || Made::Ok(30)), Ok(30));
            let same = s.spawn(|| kernels.get(2, || Made::Ok(20)));
            drop(finish);
            assert_eq!((slow.join().unwrap(), same.join().unwrap()), (Ok(20), Ok(20)));
        });
        assert_eq!(kernels.made(), 3);
    }
}
