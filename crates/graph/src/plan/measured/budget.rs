//! For how long a planning measures: so many runs of the network, and a second.
//!
//! Candidates and whole plans share that time. Some runs are made in any case: each candidate runs once while its kernels are made,
//! and once more unless it is hopeless; short ones run until they are sure, and each plan runs twice. Where these take longer, so does
//! planning. Of a quantised network the last part is for operators that no plan runs ([`twins`](super::twins)): these wait for the next
//! planning if there is no time.

use std::time::{Duration, Instant};

/// Runs of the network, and **seconds** beside them.
const WHOLE: (f64, f64) = (30.0, 1.0);

/// The part that candidates may take. The rest is for whole plans.
const FOR_CANDIDATES: f64 = 0.6;

/// When whole plans end, if twins come after them.
const BEFORE_TWINS: f64 = 0.75;

/// The least in **seconds** where other work disturbs: a small network would have no time to meet a quiet moment.
const DISTURBED: f64 = 4.5;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Candidates,
    Plans,
    /// What the plan does not need.
    Twins,
}

impl Part {
    /// Whether what there is no time for is not measured at all.
    pub(super) fn may_be_left(self) -> bool {
        matches!(self, Part::Twins)
    }
}

/// When a planning began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    start: Instant,
    /// Whether there are operators that no plan runs.
    has_twins: bool,
}

impl Budget {
    /// From now on.
    pub(super) fn new(has_twins: bool) -> Budget {
        Budget { start: Instant::now(), has_twins }
    }

    /// One that is over, of runs that take no time.
    #[cfg(test)]
    pub(super) fn over() -> Budget {
        Budget { start: Instant::now().checked_sub(Duration::from_secs(10)).unwrap(), has_twins: true }
    }

    /// Whether the time for this part is over. `run` is what a run of the network takes as far as that is known, in **seconds**.
    pub(super) fn is_spent(&self, part: Part, run: f64, disturbed: bool) -> bool {
        self.start.elapsed().as_secs_f64() > self.until(part, run, disturbed)
    }

    /// When half of what is left of this part is over.
    pub(super) fn half(&self, part: Part, run: f64, disturbed: bool) -> Instant {
        let now = self.start.elapsed();
        let left = (self.until(part, run, disturbed) - now.as_secs_f64()).max(0.0);
        self.start + now + Duration::from_secs_f64(left / 2.0)
    }

    /// When the part ends, in **seconds** from the start.
    fn until(&self, part: Part, run: f64, disturbed: bool) -> f64 {
        let whole = WHOLE.0 * run + WHOLE.1;
        let whole = if disturbed { whole.max(DISTURBED) } else { whole };
        match part {
            Part::Candidates => FOR_CANDIDATES * whole,
            Part::Plans if self.has_twins => BEFORE_TWINS * whole,
            Part::Plans | Part::Twins => whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planning_takes_30_runs_and_a_second() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let until = |part, run, disturbed| Budget::new(false).until(part, run, disturbed);
        assert!(near(until(Part::Plans, 0.25, false), 8.5));
        assert!(near(until(Part::Candidates, 0.25, false), 5.1));
        assert!(near(until(Part::Plans, 0.0, false), 1.0));
        // Operators that no plan runs come last.
        let beside = |part| Budget::new(true).until(part, 0.25, false);
        assert!(near(beside(Part::Plans), 6.375) && near(beside(Part::Twins), 8.5));
        // Beside other work, small networks get more, and large ones do not.
        assert!(near(until(Part::Plans, 0.005, true), 4.5));
        assert!(near(until(Part::Candidates, 0.005, true), 2.7));
        assert!(near(until(Part::Plans, 0.25, true), 8.5));
    }
}
