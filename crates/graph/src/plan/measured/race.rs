//! Plans as a whole, by turns.

use std::time::{Duration, Instant};

use blocktensor::StridedTensor;

use super::super::run::Clock;
use super::super::{Layouts, Plan};
use super::load::{Load, Sample, undisturbed};
use crate::error::Result;
use crate::stop::Stop;

/// How often each plan runs: where nothing disturbs, and where other work does.
const RUNS: (usize, usize) = (4, 8);

/// After so long, other work does not add runs.
const LONGEST: Duration = Duration::from_secs(2);

/// A plan whose runs all take this many times the least time of another does not run again, after this many runs: the first one meets
/// memory that it never touched, and a moment in which the machine is slow may take as long as it.
const HOPELESS: (f64, usize) = (1.3, 2);

/// Plans whose times differ by less than this share are equally fast: so where nothing disturbed, and where other work did.
const TIE: (f64, f64) = (0.005, 0.02);

/// What the plans took.
pub(super) struct Race {
    pub(super) layouts: Vec<Layouts>,
    /// The least time of each, in **seconds**.
    pub(super) seconds: Vec<f64>,
    /// Whether other work disturbed the runs.
    pub(super) disturbed: bool,
}

impl Race {
    pub(super) fn times(&self) -> impl Iterator<Item = (Layouts, f64)> {
        self.layouts.iter().copied().zip(self.seconds.iter().copied())
    }

    /// The plans that are as fast as the fastest.
    pub(super) fn equal(&self) -> impl Iterator<Item = usize> {
        let least = self.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let tie = if self.disturbed { TIE.1 } else { TIE.0 };
        (0..self.seconds.len()).filter(move |&i| self.seconds[i] <= least * (1.0 + tie))
    }

    /// The plan that stays, of at least those that are equally fast: the one with the fewest reorders, and the fastest of these.
    pub(super) fn winner(&self, mut plans: Vec<(usize, Plan)>) -> (Layouts, Plan) {
        let reorders: Vec<(usize, usize)> = plans.iter().map(|(i, plan)| (*i, plan.reorders.len())).collect();
        let first = self.first(&reorders);
        let (i, plan) = plans.swap_remove(first);
        (self.layouts[i], plan)
    }

    /// The place of the winner among these plans and their numbers of reorders.
    fn first(&self, plans: &[(usize, usize)]) -> usize {
        let equal: Vec<usize> = self.equal().collect();
        let open = plans.iter().enumerate().filter(|(_, (i, _))| equal.contains(i));
        let order = |&(_, &(i, reorders)): &(usize, &(usize, usize))| (reorders, self.seconds[i]);
        let first = open.min_by(|a, b| {
            let (a, b) = (order(a), order(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        first.map_or(0, |(place, _)| place)
    }
}

/// The least times of one plan.
struct Least {
    whole: f64,
    steps: Vec<f64>,
    /// What passes between the steps.
    between: f64,
}

impl Least {
    /// Of a plan of so many steps that did not run yet.
    fn new(steps: usize) -> Least {
        Least { whole: f64::INFINITY, steps: vec![f64::INFINITY; steps], between: f64::INFINITY }
    }

    fn take(&mut self, whole: f64, steps: &[f64]) {
        self.whole = self.whole.min(whole);
        self.between = self.between.min((whole - steps.iter().sum::<f64>()).max(0.0));
        self.steps.iter_mut().zip(steps).for_each(|(least, step)| *least = least.min(*step));
    }

    /// What a run takes that nothing disturbs. A whole run is rarely undisturbed where other work runs; a step of it often is.
    fn seconds(&self, disturbed: bool) -> f64 {
        match disturbed {
            true => self.whole.min(self.steps.iter().sum::<f64>() + self.between),
            false => self.whole,
        }
    }
}

/// Runs the plans by turns.
pub(super) fn race(layouts: Vec<Layouts>, plans: &[Plan], stop: &Stop) -> Result<Race> {
    // One team for all, as in `measure`.
    blocktensor::run(|| blocktensor::with_stand_ins(|| race_by_turns(layouts, plans, stop)))
}

fn race_by_turns(layouts: Vec<Layouts>, plans: &[Plan], stop: &Stop) -> Result<Race> {
    let inputs = plans[0].zeros()?;
    let refs: Vec<&StridedTensor> = inputs.iter().collect();
    let mut least: Vec<Least> = plans.iter().map(|plan| Least::new(plan.steps.len())).collect();
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); plans.len()];
    let (start, load) = (Instant::now(), Load::new());
    let mut disturbed = false;
    for round in 0..RUNS.1 {
        if round >= RUNS.0 && (!disturbed || start.elapsed() > LONGEST) {
            break;
        }
        let best = least.iter().map(|l| l.whole).fold(f64::INFINITY, f64::min);
        let runs = plans.iter().zip(&mut least).zip(&mut samples);
        for ((plan, least), samples) in
            runs.filter(|((_, l), _)| round < HOPELESS.1 || l.whole <= HOPELESS.0 * best)
        {
            let mut watch = (stop, Clock::of(plan));
            let sample = load.sample(|| {
                let start = Instant::now();
                plan.run_watched(&refs, &mut watch)?;
                Ok::<f64, crate::Error>(start.elapsed().as_secs_f64())
            })?;
            samples.push(sample);
            least.take(sample.seconds, &watch.1.seconds);
        }
        // Where fewer than half of the runs of any plan count.
        disturbed = samples.iter().any(|samples| undisturbed(samples).len() * 2 < samples.len());
    }
    Ok(Race { layouts, seconds: least.iter().map(|l| l.seconds(disturbed)).collect(), disturbed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_plans_that_are_equally_fast_the_one_with_fewer_reorders_wins() {
        let first = |seconds: [f64; 3], reorders: [usize; 3], disturbed| {
            let layouts = vec![Layouts::Measured, Layouts::Nhwc, Layouts::Blocked];
            let race = Race { layouts, seconds: seconds.to_vec(), disturbed };
            race.first(&[(0, reorders[0]), (1, reorders[1]), (2, reorders[2])])
        };
        assert_eq!(first([1.0, 1.003, 0.999], [7, 2, 3], false), 1);
        assert_eq!(first([1.0, 1.006, 1.0], [7, 2, 3], false), 2);
        assert_eq!(first([1.0, 1.006, 1.0], [7, 2, 3], true), 1);
        assert_eq!(first([1.0, 1.03, 0.9], [7, 2, 9], true), 2);
        assert_eq!(first([1.0, 1.004, 1.002], [2, 2, 2], false), 0);
    }

    #[test]
    fn a_disturbed_run_counts_by_its_least_steps() {
        let mut least = Least::new(2);
        least.take(8.5, &[1.0, 7.0]);
        least.take(7.25, &[5.0, 2.0]);
        assert_eq!(least.seconds(true), 3.25);
        assert_eq!(least.seconds(false), 7.25);
    }
}
