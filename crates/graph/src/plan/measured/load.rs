//! Whether other work disturbs a measurement: for how long threads of this process waited for a processor.
//!
//! Linux counts that for each thread (`run_delay` in `/proc/<pid>/schedstat`, see `Documentation/scheduler/sched-stats.rst`).
//! Where there is no such file, nothing is known, and every sample counts as undisturbed.
//!
//! Involuntary switches add nothing to that: they count how often a thread had to go, and what follows each is the wait for a processor,
//! which is in `run_delay`. Time that a hypervisor steals is not in it. `/proc/stat` tells that in ticks of 10 ms for all processors
//! together, and most samples are shorter than a tick: it could not say which of them was hit. Such a sample is one slow one of several,
//! and the median leaves it out; whole plans are compared with their steps and their nodes ([`race`](super::race)).

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Threads that waited longer than this share of a sample may have made it longer.
const WAITED: f64 = 0.02;

/// A sample of which threads waited is disturbed if it took longer than the fastest by more than this share. A thread that waits
/// and has nothing to do disturbs nothing: a worker of the pool that looks for work does that until it sleeps.
const SLOWER: f64 = 0.02;

/// What something took once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// **Seconds** by the clock.
    pub(super) seconds: f64,
    /// **Seconds** for which threads waited for a processor, all together.
    pub(super) waited: f64,
}

impl Sample {
    /// Whether threads waited long enough to have made it longer.
    pub(super) fn threads_waited(&self) -> bool {
        self.waited > WAITED * self.seconds
    }

    /// Whether other work made it longer. `least` is the fastest of its kind.
    fn is_disturbed(&self, least: f64) -> bool {
        self.threads_waited() && self.seconds > least * (1.0 + SLOWER)
    }
}

/// The fastest, in **seconds**.
pub(super) fn least(samples: &[Sample]) -> f64 {
    samples.iter().map(|s| s.seconds).fold(f64::INFINITY, f64::min)
}

/// The times of the samples that other work did not disturb, in **seconds**.
pub(super) fn undisturbed(samples: &[Sample]) -> Vec<f64> {
    let least = least(samples);
    samples.iter().filter(|s| !s.is_disturbed(least)).map(|s| s.seconds).collect()
}

/// Counts for how long the threads of this process wait.
#[derive(Debug)]
pub(super) struct Load {
    files: Vec<File>,
}

impl Load {
    /// Of all threads that there are now.
    pub(super) fn new() -> Load {
        let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let files = tasks.filter_map(|task| File::open(task.path().join("schedstat")).ok()).collect();
        Load { files }
    }

    /// **Seconds** for which they waited until now.
    fn waited(&self) -> f64 {
        let of = |file: &File| -> Option<f64> {
            let mut text = [0; 96];
            let bytes = file.read_at(&mut text, 0).ok()?;
            let mut words = std::str::from_utf8(&text[..bytes]).ok()?.split_whitespace();
            words.nth(1)?.parse().ok()
        };
        self.files.iter().filter_map(of).sum::<f64>() * 1e-9
    }

    /// A sample of what `measure` times itself.
    pub(super) fn sample<E>(&self, measure: impl FnOnce() -> Result<f64, E>) -> Result<Sample, E> {
        let before = self.waited();
        let seconds = measure()?;
        Ok(Sample { seconds, waited: self.waited() - before })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_sample_is_disturbed_if_threads_waited_and_it_took_longer() {
        let samples = [(1.0, 0.5), (1.25, 0.0), (1.5, 0.5), (1.75, 0.01), (1.01, 4.0)];
        let samples = samples.map(|(seconds, waited)| Sample { seconds, waited });
        assert_eq!(least(&samples), 1.0);
        assert_eq!(undisturbed(&samples), [1.0, 1.25, 1.75, 1.01]);
    }

    /// More threads than processors: some of them wait.
    #[test]
    fn threads_that_wait_for_a_processor_are_seen() {
        let threads = 4 * std::thread::available_parallelism().unwrap().get();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let ready = std::sync::Barrier::new(threads + 1);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    ready.wait();
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            ready.wait();
            let load = Load::new();
            let (is_counted, before) = (!load.files.is_empty(), load.waited());
            // Until somebody was made to wait: the system's turns are some milliseconds long.
            let start = Instant::now();
            while is_counted && load.waited() <= before && start.elapsed().as_secs() < 60 {
                std::thread::yield_now();
            }
            let waited = load.waited() - before;
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(!is_counted || waited > 0.0);
        });
    }
}
