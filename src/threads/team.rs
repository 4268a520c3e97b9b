//! The team: rayon workers led by one caller for the length of a run.
//!
//! A *section* is a number of tasks. The leader publishes it, all present threads claim tasks one by one, and the leader
//! continues when all tasks are done. Nobody waits for a worker that has not arrived: a second run at the same time takes the
//! workers that are free, and the result of a section never depends on which thread computed it.
//!
//! Each thread of a team has a *share* of the tasks, a range as oneDNN divides work, and claims those of others only when it has
//! none left. So the same part of each tensor of a run lies in the same core's cache: the parts of a result that the next op reads
//! are mostly those that the same thread wrote.
//!
//! Why not `rayon::join`: convolutions have sections of 20 to 1500 us, and workers that park between them cost 2 to 25 % of a
//! network's time. A member of a team spins for the next section, and leaves if none arrives; at its next section the leader
//! requests another member.
//!
//! Rayon may run the serving job on a thread that itself waits inside some other job: of this very leader, of one of its
//! tasks, or of something that the leader waits for. So nobody serves for ever. A thread that leads or runs a task does not
//! serve at all, and any other thread stops serving soon after its leader becomes idle, because the leader may be waiting for
//! it.
//!
//! Between two runs of a thread its team rests, for a while with its members ([`resting`]).

mod resting;

use self::resting::SPINS_AT_REST;
use super::section::{Order, Place, Section, in_task, share};
use super::{pool, process, stack, subnormals};

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

/// How long a member spins for the next section before it lets others have the core.
const SPINS: usize = 20_000;
/// How many times a member then yields before it leaves.
const YIELDS: usize = 200;

thread_local! {
    /// The team that this thread leads.
    static LEADING: RefCell<Option<Arc<Team>>> = const { RefCell::new(None) };
}

/// Rayon workers that serve one leader.
struct Team {
    /// The number of threads that a section is divided for: the pool's size within its bound, the leader included.
    threads: usize,
    /// The places of its threads, the leader's first.
    places: Box<[Place]>,
    /// Number of vacant member places.
    vacant: AtomicUsize,
    /// The open section, or null. The lifetime is erased; `Team::section` shows why no member outlives it.
    open: AtomicPtr<Section<'static>>,
    /// Counts sections, so that a member does not enter the same section twice.
    epoch: AtomicUsize,
    /// Members inside the open section.
    inside: AtomicUsize,
    closed: AtomicBool,
    /// Whether its leader runs nothing now.
    rests: AtomicBool,
}

impl Team {
    fn new(threads: usize) -> Team {
        Team {
            threads,
            places: (0..threads.max(1)).map(|_| Place::default()).collect(),
            vacant: AtomicUsize::new(threads.saturating_sub(1)),
            open: AtomicPtr::new(std::ptr::null_mut()),
            epoch: AtomicUsize::new(0),
            inside: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            rests: AtomicBool::new(false),
        }
    }

    /// Asks the pool to fill the vacant places. This is done at a section, so that a run of small ops wakes nobody. Places stay
    /// vacant if the pool cannot be started, or if as many jobs already wait as there are member places.
    fn call_members(self: &Arc<Team>) {
        if self.vacant.load(SeqCst) == 0 {
            return;
        }
        let places = self.vacant.swap(0, SeqCst);
        let team = Arc::clone(self);
        let called = pool::spawn(places, self.threads.saturating_sub(1), move || team.serve());
        if called < places {
            self.vacant.fetch_add(places - called, SeqCst);
        }
    }

    /// Runs one section as its leader.
    fn section(self: &Arc<Team>, tasks: usize, order: Order, task: &(dyn Fn(usize) + Sync)) {
        self.call_members();
        let section = Section::new(tasks, order, &self.places, subnormals::flushes(), task);
        let erased = std::ptr::from_ref(&section).cast_mut().cast::<Section<'static>>();
        self.open.store(erased, SeqCst);
        self.epoch.fetch_add(1, SeqCst);
        section.work(0);
        // Close the section, then wait for the members inside. A member raises `inside` *before* it reads `open`; both are
        // SeqCst, so either it reads null, or this loop sees it. So nobody uses `section` after this function.
        self.open.store(std::ptr::null_mut(), SeqCst);
        let mut spins = 0;
        while self.inside.load(SeqCst) != 0 {
            // A task forked and returned in the child: its members exist only in the parent, and may never finish here.
            if process::forked() {
                section.panicked.store(true, SeqCst);
                break;
            }
            spins += 1;
            if spins < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        if section.panicked.load(SeqCst) {
            panic!("a task of a parallel section panicked; its message was printed before");
        }
    }

    /// Serves as a member: waits for sections and works on them, until the team closes or has been idle for long.
    fn serve(&self) {
        // Do not serve from a job that waits deep in its stack, nor in a pool with small stacks.
        let unfit = in_task() || leading(|_| ()).is_some() || !stack::is_enough();
        // A job that serves took a vacant place away, so one of them is free.
        let free = |place: &Place| !place.taken.swap(true, SeqCst);
        if !unfit && let Some(place) = (1..self.places.len()).find(|at| free(&self.places[*at])) {
            self.work_until_idle(place);
            self.places[place].taken.store(false, SeqCst);
        }
        self.vacant.fetch_add(1, SeqCst);
    }

    fn work_until_idle(&self, place: usize) {
        let mut seen = 0;
        let mut idle = 0;
        while !self.closed.load(SeqCst) && idle < SPINS + YIELDS {
            let epoch = self.epoch.load(SeqCst);
            if epoch != seen {
                seen = epoch;
                idle = 0;
                self.inside.fetch_add(1, SeqCst);
                let section = self.open.load(SeqCst);
                if !section.is_null() {
                    // SAFETY: `inside` was raised before `open` was read, so the leader is still in `Team::section`, where it
                    // waits for `inside` to fall to 0 before the section is dropped.
                    unsafe { &*section }.work(place);
                }
                self.inside.fetch_sub(1, SeqCst);
                continue;
            }
            idle += 1;
            if self.rests.load(SeqCst) && (idle > SPINS_AT_REST || pool::is_asked()) {
                return;
            }
            if idle < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }

    fn close(&self) {
        self.closed.store(true, SeqCst);
    }
}

/// Calls `look` with the team that this thread leads. A thread that runs its destructors leads none.
fn leading<R>(look: impl FnOnce(&Arc<Team>) -> R) -> Option<R> {
    LEADING.try_with(|l| l.borrow().as_ref().map(look)).ok().flatten()
}

/// Runs `f` with the caller's rayon pool kept as a team: parallel sections of the ops inside need not wake threads.
///
/// The pool is the one that the caller runs in (`ThreadPool::install` decides), otherwise rayon's global pool, of which at
/// most [`current_threads`] threads take part. A `run` inside a `run` of the same thread joins the outer run. Runs on several
/// threads at once share the free workers and do not wait for each other; results do not depend on the number of workers.
///
/// Without `run`, every op requests workers by itself, which is correct and costs some microseconds per op.
///
/// # Panics
/// Only if `f` panics; no member is in a section then.
pub fn run<R>(f: impl FnOnce() -> R) -> R {
    if in_task() || leading(|_| ()).is_some() {
        return f();
    }
    lead(current_threads(), f)
}

/// As [`run`], with sections divided for this number of threads, the caller included: 1 to [`max_threads`](crate::max_threads),
/// others become the nearest. [`current_threads`] returns it inside. Weights that are packed inside are packed for this number.
/// A pool with fewer threads lends those that it has, which does not change results. Inside a run for another number this is a
/// run of its own, and the outer run continues afterwards. Inside a task of a section it only calls `f`.
///
/// ```
/// let inside = blocktensor::run_with_threads(1, blocktensor::current_threads);
/// assert_eq!(inside, 1);
/// ```
///
/// # Panics
/// As [`run`].
pub fn run_with_threads<R>(threads: usize, f: impl FnOnce() -> R) -> R {
    let threads = threads.clamp(1, pool::max_threads());
    if in_task() || leading(|team| team.threads == threads) == Some(true) {
        return f();
    }
    lead(threads, f)
}

/// Runs `f` as the leader of the team that rests, or of a new one. Afterwards the thread leads the team that it led before, if there was
/// one.
fn lead<R>(threads: usize, f: impl FnOnce() -> R) -> R {
    struct Leave(Option<Arc<Team>>);
    impl Drop for Leave {
        fn drop(&mut self) {
            if let Ok(Some(team)) = LEADING.try_with(|l| l.replace(self.0.take())) {
                resting::put(team);
            }
        }
    }
    let team = resting::take(threads).unwrap_or_else(|| Arc::new(Team::new(threads)));
    let _leave = LEADING.try_with(|l| l.replace(Some(team))).ok().map(Leave);
    f()
}

/// Calls `task(i)` once for every `i < tasks`, on any thread of the team and in any order, and returns when all are done.
/// Inside a task, it runs them one after the other on the calling thread. For kernels, also those of other crates.
///
/// # Panics
/// If a task panicked; the other tasks are completed first.
pub fn parallel_for(tasks: usize, task: impl Fn(usize) + Sync) {
    parallel_for_dyn(tasks, Order::Ranges, &task);
}

/// Calls `task(i, item)` once for every item, as [`parallel_for`]: for tasks that write memory of their own.
pub(crate) fn parallel_each<T: Send>(items: &mut [T], task: impl Fn(usize, &mut T) + Sync) {
    // No two tasks want the same item: the locks are free.
    let items: Vec<Mutex<&mut T>> = items.iter_mut().map(Mutex::new).collect();
    parallel_for(items.len(), |i| task(i, &mut items[i].lock().unwrap_or_else(PoisonError::into_inner)));
}

/// Calls `work` with ranges that cover `0..count`, each of about `per_task`, and as many for each thread. What fits into one task
/// runs on the calling thread.
pub(crate) fn parallel_ranges(count: usize, per_task: usize, work: impl Fn(Range<usize>) + Sync) {
    let tasks = count.div_ceil(per_task.max(1));
    if tasks <= 1 {
        if count > 0 {
            work(0..count);
        }
        return;
    }
    // With the same share for each thread, one that has finished its own does not take elements away from another one's cache.
    let tasks = tasks.next_multiple_of(current_threads()).min(count);
    parallel_for(tasks, |task| work(share(0..count, task, tasks)));
}

/// As [`parallel_for`], for tasks of which neighbours read the same weights: the threads take turns, so that these are read at about
/// the same time.
pub(crate) fn parallel_in_turns(tasks: usize, task: impl Fn(usize) + Sync) {
    parallel_for_dyn(tasks, Order::Turns, &task);
}

/// Compiled once, not once for each closure type.
fn parallel_for_dyn(tasks: usize, order: Order, task: &(dyn Fn(usize) + Sync)) {
    if tasks <= 1 || in_task() || current_threads() == 1 {
        (0..tasks).for_each(task);
        return;
    }
    if let Some(team) = leading(Arc::clone) {
        return team.section(tasks, order, task);
    }
    run(|| match leading(Arc::clone) {
        Some(team) => team.section(tasks, order, task),
        None => (0..tasks).for_each(task),
    });
}

/// The number of threads that a section is divided for here: those of the run, otherwise of the caller's rayon pool, at most
/// four for each processor (and 16 on small machines). 1 in a forked child. If the pool's threads cannot be started now, the
/// intended number.
pub fn current_threads() -> usize {
    // Miri cannot follow crossbeam, which keeps pointers in integers. So there is no pool under Miri.
    if cfg!(miri) || process::forked() {
        return 1;
    }
    leading(|t| t.threads).unwrap_or_else(pool::size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    fn each_once(tasks: usize) {
        let hits: Vec<AtomicU32> = (0..tasks).map(|_| AtomicU32::new(0)).collect();
        let hit = |i: usize| {
            hits[i].fetch_add(1, SeqCst);
        };
        parallel_for(tasks, hit);
        assert!(hits.iter().all(|h| h.load(SeqCst) == 1), "{tasks} tasks");
        parallel_in_turns(tasks, hit);
        assert!(hits.iter().all(|h| h.load(SeqCst) == 2), "{tasks} tasks in turns");
    }

    #[test]
    fn every_task_runs_once_with_and_without_a_run() {
        for tasks in [0, 1, 2, 3, 7, 64, 1000] {
            each_once(tasks);
            run(|| (0..50).for_each(|_| each_once(tasks)));
        }
    }

    #[test]
    fn ranges_cover_each_number_once_and_are_as_many_for_each_thread() {
        for (count, per_task) in [(0, 1), (1, 1), (7, 3), (60, 21), (1000, 1), (5, 0), (5, 100)] {
            let hits: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
            let calls = AtomicUsize::new(0);
            run_with_threads(2, || {
                parallel_ranges(count, per_task, |range| {
                    calls.fetch_add(1, SeqCst);
                    range.for_each(|i| assert_eq!(hits[i].fetch_add(1, SeqCst), 0));
                });
            });
            assert!(hits.iter().all(|h| h.load(SeqCst) == 1), "{count} by {per_task}");
            let calls = calls.into_inner();
            assert!(
                calls < 2 || calls.is_multiple_of(2) || calls == count || cfg!(miri),
                "{count}: {calls} calls"
            );
        }
    }

    #[test]
    fn several_runs_at_once_and_pools_of_several_sizes() {
        std::thread::scope(|s| {
            for size in [1, 2, 3, 5] {
                s.spawn(move || {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(size).build().unwrap();
                    for _ in 0..20 {
                        pool.install(|| run(|| (0..20).for_each(each_once)));
                    }
                    run(|| pool.install(|| (0..20).for_each(each_once)));
                });
            }
        });
    }

    #[test]
    fn two_leaders_that_wait_for_their_own_pool_do_not_deadlock() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..20 {
                        pool.install(|| run(|| each_once(8)));
                        run(|| {
                            each_once(4);
                            pool.install(|| each_once(8));
                            rayon::join(|| each_once(3), || each_once(5));
                        });
                    }
                });
            }
        });
    }

    /// Runs `f` on a new thread, and fails if it does not end.
    fn ends(what: &str, f: impl FnOnce() + Send + 'static) {
        let (done, wait) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            f();
            let _ = done.send(());
        });
        assert!(
            wait.recv_timeout(std::time::Duration::from_secs(60)).is_ok(),
            "{what} does not end, or panicked"
        );
    }

    /// Rayon gives any job to a waiting worker, including the job that serves the leader who waits.
    #[test]
    fn leaders_and_tasks_that_wait_for_rayon_do_not_deadlock() {
        use rayon::prelude::*;
        for size in [1, 2, 3, 4] {
            let pool = move || rayon::ThreadPoolBuilder::new().num_threads(size).build().unwrap();
            ends("join in a run", move || {
                let p = pool();
                (0..50).for_each(|_| {
                    p.install(|| run(|| rayon::join(|| each_once(8), || each_once(9))));
                });
            });
            ends("par_iter in a run", move || {
                let p = pool();
                (0..50)
                    .for_each(|_| p.install(|| run(|| (0..16).into_par_iter().for_each(|_| each_once(8)))));
            });
            ends("join inside par_iter in a run", move || {
                let p = pool();
                let nested = |_| {
                    rayon::join(|| each_once(3), || each_once(5));
                };
                (0..50).for_each(|_| {
                    p.install(|| {
                        run(|| {
                            each_once(8);
                            (0..16).into_par_iter().for_each(nested);
                        })
                    });
                });
            });
            ends("another pool in a run", move || {
                let (p, other) = (pool(), pool());
                (0..50).for_each(|_| {
                    p.install(|| {
                        run(|| {
                            each_once(8);
                            other.install(|| each_once(8));
                        })
                    });
                });
            });
            ends("join in a task", move || {
                let p = pool();
                (0..200).for_each(|_| {
                    p.install(|| {
                        parallel_for(8, |i| {
                            rayon::join(
                                || std::hint::black_box(i),
                                || (0..i * 500).for_each(|_| std::hint::spin_loop()),
                            );
                        })
                    });
                });
            });
            ends("a spawned run", move || {
                let p = pool();
                let (done, wait) = std::sync::mpsc::channel();
                p.spawn(move || {
                    run(|| (0..16).into_par_iter().for_each(|_| each_once(8)));
                    done.send(()).unwrap();
                });
                wait.recv().unwrap();
            });
        }
    }

    #[test]
    fn a_panic_in_a_run_or_a_task_leaves_a_working_pool() {
        assert!(std::panic::catch_unwind(|| run(|| panic!("a caller's own"))).is_err());
        assert!(std::panic::catch_unwind(|| parallel_for(8, |i| assert!(i != 5))).is_err());
        assert!(!in_task());
        run(|| each_once(100));
    }

    /// Nothing unwinds out of a section before all members have left it.
    #[test]
    fn a_panic_whose_payload_panics_when_dropped() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("and again");
            }
        }
        for size in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(size).build().unwrap();
            for _ in 0..20 {
                let section = || parallel_for(64, |_| std::panic::panic_any(Bomb));
                let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.install(section)));
                // If one thread runs all tasks, the payload is a `Bomb` itself: do not drop it here.
                let payload = caught.expect_err("tasks panicked");
                if payload.is::<Bomb>() {
                    std::mem::forget(payload);
                }
                pool.install(|| each_once(64));
            }
        }
    }

    #[test]
    fn a_section_inside_a_task_runs_on_the_spot() {
        let total = AtomicU32::new(0);
        parallel_for(4, |_| {
            assert!(in_task());
            let me = std::thread::current().id();
            parallel_for(4, |_| {
                assert_eq!(std::thread::current().id(), me);
                total.fetch_add(1, SeqCst);
            });
        });
        assert_eq!(total.load(SeqCst), 16);
    }
}
