//! Whether other work disturbs a measurement: for how long threads of this process waited for a processor.
//!
//! Linux counts that for each thread (`run_delay` in `/proc/<pid>/schedstat`, see `Documentation/scheduler/sched-stats.rst`).
//! Where there is no such file, nothing is known, and every sample counts as undisturbed.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// A sample during which threads waited longer than this share of it is disturbed.
const DISTURBED: f64 = 0.02;

/// What something took once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// **Seconds** by the clock.
    pub(super) seconds: f64,
    /// **Seconds** for which threads waited for a processor, all together.
    pub(super) waited: f64,
}

impl Sample {
    pub(super) fn is_disturbed(&self) -> bool {
        self.waited > DISTURBED * self.seconds
    }
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
    fn a_short_wait_disturbs_nothing() {
        let sample = |seconds, waited| Sample { seconds, waited };
        assert!(!sample(1.0, 0.01).is_disturbed());
        assert!(sample(1.0, 0.03).is_disturbed());
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
