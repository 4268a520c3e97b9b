//! The rayon pool of a caller: the pool that it runs in, otherwise the shared pool.
//!
//! The shared pool is rayon's global pool. If that pool once fails to start, rayon never recovers: every later use panics. So
//! its threads are started here first, and are passed to rayon once all of them run. If they cannot be started, calls run on
//! their caller's thread alone, and later calls try again.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};

use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};

use super::process;
use super::processors::processors;
use crate::buffer::has_room;

/// The largest number of threads of a team, and of the shared pool, for each processor that this process may use. More
/// threads would only take turns, because members wait actively.
const MOST_PER_PROCESSOR: usize = 4;
/// The lower limit of the bound, for machines with few processors.
const LEAST_BOUND: usize = 16;

/// The largest number of threads of a team, and of the shared pool: four for each processor that this process may use, and at
/// least 16. A rayon pool of more threads works; the others stay idle.
///
/// ```
/// assert!(blocktensor::current_threads() <= blocktensor::max_threads());
/// ```
pub fn max_threads() -> usize {
    // An atomic: a `OnceLock` that is being set while the process forks stays locked in the child.
    static BOUND: AtomicUsize = AtomicUsize::new(0);
    match BOUND.load(SeqCst) {
        0 => {
            let bound = (MOST_PER_PROCESSOR * processors()).max(LEAST_BOUND).min(rayon::max_num_threads());
            BOUND.store(bound, SeqCst);
            bound
        }
        known => known,
    }
}

/// The intended number of threads of the shared pool: that of rayon's global pool, within the bound.
fn wanted() -> usize {
    let asked = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<usize>().ok());
    let asked = match asked("RAYON_NUM_THREADS") {
        Some(0) => None,
        Some(n) => Some(n),
        // The old name, which rayon still reads.
        None => asked("RAYON_RS_NUM_CPUS").filter(|&n| n > 0),
    };
    asked.unwrap_or_else(processors).min(max_threads())
}

/// Memory of a thread's stack, and of what it allocates before it runs, in **bytes**.
const THREAD: usize = 4 << 20;

/// The pool of callers that run in no pool of their own.
struct Shared {
    /// The number of threads that sections are divided for.
    threads: usize,
    /// A separate pool, used if a failed start has made rayon's global pool unusable.
    own: Option<ThreadPool>,
    /// Jobs that wait for one of its threads.
    waiting: Arc<AtomicUsize>,
}

static SHARED: OnceLock<Shared> = OnceLock::new();

/// Attempts to start the shared pool.
struct Attempts {
    failed: u32,
    /// How many callers run without the pool before the next attempt.
    pause: u32,
}

/// The shared pool, started if necessary; `None` if its threads cannot be started now.
fn shared() -> Option<&'static Shared> {
    static ATTEMPTS: Mutex<Attempts> = Mutex::new(Attempts { failed: 0, pause: 0 });
    if let Some(shared) = SHARED.get() {
        return Some(shared);
    }
    process::note_use();
    let mut attempts = ATTEMPTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(shared) = SHARED.get() {
        return Some(shared);
    }
    if attempts.pause > 0 {
        attempts.pause -= 1;
        return None;
    }
    match start(wanted()) {
        Some(shared) => Some(SHARED.get_or_init(|| shared)),
        None => {
            // The first call after a failure tries again at once; then the pauses grow, because attempts cost time.
            attempts.pause = (1 << attempts.failed.min(10)) - 1;
            attempts.failed += 1;
            None
        }
    }
}

fn start(threads: usize) -> Option<Shared> {
    let mut idle = idle_threads(threads)?.into_iter();
    // As many threads wait as rayon asks for, so the handler does not fail.
    let hand_over = move |worker: ThreadBuilder| {
        let gone = || std::io::Error::other("no thread for this worker");
        idle.next().ok_or_else(gone)?.send(worker).map_err(|_| gone())
    };
    let waiting = Arc::new(AtomicUsize::new(0));
    if ThreadPoolBuilder::new().num_threads(threads).spawn_handler(hand_over).build_global().is_ok() {
        return Some(Shared { threads, own: None, waiting });
    }
    // There already is a global pool, or one that failed to start. In the second case rayon panics when it is queried.
    if let Ok(threads) = catch_unwind(rayon::current_num_threads) {
        return Some(Shared { threads: threads.min(max_threads()), own: None, waiting });
    }
    let own = ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
    Some(Shared { threads, own: Some(own), waiting })
}

/// Threads that wait to be given a worker, and end if they are given none; `None` if not all of them can be started.
fn idle_threads(count: usize) -> Option<Vec<mpsc::Sender<ThreadBuilder>>> {
    // A thread that finds no memory for its first steps ends the process.
    if !has_room(count.saturating_mul(THREAD)) {
        return None;
    }
    let start = |_| {
        let (give, take) = mpsc::channel::<ThreadBuilder>();
        let life = move || {
            if let Ok(worker) = take.recv() {
                worker.run();
            }
        };
        std::thread::Builder::new().spawn(life).ok().map(|_| give)
    };
    (0..count).map(start).collect()
}

/// The number of threads that this caller's sections are divided for. It does not depend on whether the threads can be
/// started, so weights packed for this number run in any case.
pub(super) fn size() -> usize {
    if process::forked() {
        return 1;
    }
    if rayon::current_thread_index().is_some() {
        return rayon::current_num_threads().min(max_threads());
    }
    shared().map_or_else(wanted, |s| s.threads)
}

thread_local! {
    /// Jobs that this worker of a pool has spawned, and that no thread has taken yet.
    static WAITING: Arc<AtomicUsize> = Arc::default();
}

/// Spawns up to `count` jobs in this caller's pool, and returns how many were spawned. At most `limit` jobs wait for a thread
/// at once, for each worker of a pool and for all callers of the shared pool together: a pool that is busy with other work
/// does not collect jobs.
pub(super) fn spawn(count: usize, limit: usize, job: impl Fn() + Clone + Send + 'static) -> usize {
    process::note_use();
    let (waiting, own) = if rayon::current_thread_index().is_some() {
        // A thread that runs its destructors spawns nothing.
        let Ok(waiting) = WAITING.try_with(Arc::clone) else { return 0 };
        (waiting, None)
    } else {
        let Some(shared) = shared() else { return 0 };
        (Arc::clone(&shared.waiting), shared.own.as_ref())
    };
    for spawned in 0..count {
        let room = waiting.fetch_update(SeqCst, SeqCst, |n| (n < limit).then_some(n + 1));
        if room.is_err() {
            return spawned;
        }
        let (job, waiting) = (job.clone(), Arc::clone(&waiting));
        let job = move || {
            waiting.fetch_sub(1, SeqCst);
            job();
        };
        match own {
            Some(pool) => pool.spawn(job),
            None => rayon::spawn(job),
        }
    }
    count
}

/// Whether callers of the shared pool wait for one of its threads.
pub(super) fn is_asked() -> bool {
    SHARED.get().is_some_and(|shared| shared.waiting.load(SeqCst) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::parallel_for;
    use std::sync::Barrier;

    /// The number of jobs that wait for a thread of this caller's pool: this worker's, or those of all callers outside.
    fn waiting() -> usize {
        match rayon::current_thread_index() {
            Some(_) => WAITING.with(|n| n.load(SeqCst)),
            None => SHARED.get().map_or(0, |s| s.waiting.load(SeqCst)),
        }
    }

    /// Runs many sections while `busy` threads, all of the pool except the caller, do other work.
    fn sections_beside(busy: usize, spawn: impl Fn(Box<dyn FnOnce() + Send>)) {
        let gate = Arc::new((Barrier::new(busy + 1), Barrier::new(busy + 1)));
        for _ in 0..busy {
            let gate = Arc::clone(&gate);
            spawn(Box::new(move || {
                gate.0.wait();
                gate.1.wait();
            }));
        }
        gate.0.wait();
        let limit = size() - 1;
        let mut most = 0;
        for _ in 0..10_000 {
            parallel_for(8, |_| ());
            most = most.max(waiting());
        }
        gate.1.wait();
        assert!(most <= limit, "{most} jobs of at most {limit}");
        // Every section requested workers.
        assert!(limit == 0 || most > 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "no pool under Miri")]
    fn a_busy_pool_collects_no_jobs() {
        let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        pool.install(|| {
            sections_beside(3, rayon::spawn);
            // Once the other threads are free, no job is left.
            while waiting() > 0 {
                rayon::yield_now();
            }
        });
        sections_beside(size(), rayon::spawn);
    }

    #[test]
    fn the_size_asked_for_is_bounded() {
        assert!(max_threads() >= LEAST_BOUND && max_threads() >= MOST_PER_PROCESSOR * processors().min(1000));
        assert!(wanted() <= max_threads());
    }
}
