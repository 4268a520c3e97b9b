//! A line on the terminal for work that takes more than a second.

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long work runs before its line appears.
const DELAY: Duration = Duration::from_secs(1);

/// The line of one piece of work. It disappears when this is dropped. Without a terminal nothing is printed.
pub struct Progress {
    bar: ProgressBar,
    timer: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// A line with a count of seconds.
    pub fn start(message: &'static str) -> Progress {
        Progress::with_style(ProgressBar::no_length(), "{spinner} {msg} ({elapsed})", message)
    }

    /// A line with a bar of `count` steps.
    pub fn of_steps(message: &'static str, count: u64) -> Progress {
        Progress::with_style(ProgressBar::new(count), "{msg} {bar:30} {pos}/{len}", message)
    }

    fn with_style(bar: ProgressBar, style: &str, message: &'static str) -> Progress {
        bar.set_draw_target(ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.set_message(message);
        let show = std::io::stderr().is_terminal();
        let timer = show.then(|| {
            let (ended, wait) = mpsc::channel();
            let bar = bar.clone();
            let thread = std::thread::Builder::new().spawn(move || {
                if wait.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(Duration::from_millis(200));
                }
            });
            // Without a thread nothing is shown.
            thread.ok().map(|thread| (ended, thread))
        });
        let timer = timer.flatten();
        Progress { bar, timer }
    }

    /// Counts one step.
    pub fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((ended, thread)) = self.timer.take() {
            drop(ended);
            // The thread only shows the bar: whether it failed does not matter.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}
