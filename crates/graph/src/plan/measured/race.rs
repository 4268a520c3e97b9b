//! Plans as a whole, by turns.

use std::time::Instant;

use blocktensor::StridedTensor;

use super::super::run::Clock;
use super::super::{Layouts, Plan};
use super::budget::{Budget, Part};
use super::load::{Load, Sample, undisturbed};
use crate::error::Result;
use crate::stop::Stop;

/// How often each plan runs: in any case, where nothing disturbs, and where other work does.
const RUNS: (usize, usize, usize) = (2, 4, 8);

/// A plan that needs this many times the least time of another does not run again, after this many runs: the first one meets memory
/// that it never touched, and a moment in which the machine is slow may take as long as it.
const HOPELESS: (f64, usize) = (1.3, 2);

/// A plan whose runs all take this many times the sum of its least steps was disturbed, and so was one that takes this many times
/// the sum of what its nodes took alone and [`START`]: a slow machine is not always seen from the time that threads waited.
const DOUBTFUL: (f64, f64) = (1.1, 1.5);

/// More than what a run takes around its steps, in **seconds**.
const START: f64 = 5e-4;

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
    /// What its nodes and reorders took alone, if that is known.
    alone: Option<f64>,
}

impl Least {
    /// Of a plan of so many steps that did not run yet.
    fn new(steps: usize, alone: Option<f64>) -> Least {
        let steps = vec![f64::INFINITY; steps];
        Least { whole: f64::INFINITY, steps, between: f64::INFINITY, alone }
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

    /// Whether it took longer than it needs.
    fn is_doubtful(&self) -> bool {
        let alone = self.alone.is_some_and(|alone| self.seconds(true) > DOUBTFUL.1 * alone + START);
        alone || self.whole > DOUBTFUL.0 * self.seconds(true)
    }

    /// What it needs at least, as far as that is known.
    fn needs(&self) -> f64 {
        let measured = self.seconds(true);
        self.alone.map_or(measured, |alone| measured.min(alone))
    }
}

/// Whether so many rounds are enough. `spent` says that the time for them is over.
fn is_enough(rounds: usize, disturbed: bool, spent: bool) -> bool {
    rounds >= RUNS.0 && spent || rounds >= RUNS.1 && !disturbed
}

/// Runs the plans by turns. `mixture` is what the nodes and reorders of the plan of measured layouts took alone, in **seconds**.
pub(super) fn race(
    layouts: Vec<Layouts>,
    plans: &[Plan],
    mixture: f64,
    budget: &Budget,
    stop: &Stop,
) -> Result<Race> {
    // One team for all, as in `measure`.
    blocktensor::run(|| blocktensor::with_stand_ins(|| race_by_turns(layouts, plans, mixture, budget, stop)))
}

fn race_by_turns(
    layouts: Vec<Layouts>,
    plans: &[Plan],
    mixture: f64,
    budget: &Budget,
    stop: &Stop,
) -> Result<Race> {
    let inputs = plans[0].zeros()?;
    let refs: Vec<&StridedTensor> = inputs.iter().collect();
    let alone = |layouts: &Layouts| (*layouts == Layouts::Measured).then_some(mixture);
    let mut least: Vec<Least> =
        plans.iter().zip(&layouts).map(|(plan, l)| Least::new(plan.steps.len(), alone(l))).collect();
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); plans.len()];
    let load = Load::new();
    let mut disturbed = false;
    for round in 0..RUNS.2 {
        let best = least.iter().map(|l| l.seconds(true)).fold(f64::INFINITY, f64::min);
        if is_enough(round, disturbed, budget.is_spent(Part::Plans, best, disturbed)) {
            break;
        }
        let open = |l: &Least| round < HOPELESS.1 || l.needs() <= HOPELESS.0 * best;
        let runs = plans.iter().zip(&mut least).zip(&mut samples);
        for ((plan, least), samples) in runs.filter(|((_, l), _)| open(l)) {
            let mut watch = (stop, Clock::of(plan));
            let sample = load.sample(|| {
                let start = Instant::now();
                plan.run_watched(&refs, &mut watch)?;
                Ok::<f64, crate::Error>(start.elapsed().as_secs_f64())
            })?;
            samples.push(sample);
            least.take(sample.seconds, &watch.1.seconds);
        }
        // Where fewer than half of the runs of any plan count, or one that could win took longer than it needs.
        disturbed = samples.iter().any(|samples| undisturbed(samples).len() * 2 < samples.len())
            || least.iter().any(|l| open(l) && l.is_doubtful());
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
    fn the_budget_ends_a_race_but_not_before_each_plan_ran_twice() {
        let rounds =
            |disturbed, spent| (0..).find(|&rounds| is_enough(rounds, disturbed, spent) || rounds == RUNS.2);
        assert_eq!([rounds(false, false), rounds(true, false)], [Some(4), Some(8)]);
        assert_eq!([rounds(false, true), rounds(true, true)], [Some(2), Some(2)]);
    }

    #[test]
    fn a_disturbed_run_counts_by_its_least_steps() {
        let mut least = Least::new(2, None);
        least.take(8.5, &[1.0, 7.0]);
        least.take(7.25, &[5.0, 2.0]);
        assert_eq!(least.seconds(true), 3.25);
        assert_eq!(least.seconds(false), 7.25);
    }

    #[test]
    fn a_plan_far_above_its_steps_or_its_nodes_was_disturbed() {
        let of = |runs: &[(f64, [f64; 2])], alone| {
            let mut least = Least::new(2, alone);
            runs.iter().for_each(|(whole, steps)| least.take(*whole, steps));
            least
        };
        let quiet = of(&[(8.25, [4.0, 4.0]), (8.5, [4.25, 4.0])], Some(7.0));
        assert!(!quiet.is_doubtful());
        assert_eq!(quiet.needs(), 7.0);
        // A step was slow in one run, the other step in the other.
        assert!(of(&[(8.25, [6.0, 2.0]), (8.25, [2.0, 6.0])], None).is_doubtful());
        // Both runs were slow as a whole.
        let slow = of(&[(16.25, [8.0, 8.0]), (17.25, [8.0, 9.0])], Some(8.0));
        assert!(slow.is_doubtful());
        assert_eq!(slow.needs(), 8.0);
        assert_eq!(of(&[(16.25, [8.0, 8.0])], None).needs(), 16.25);
    }
}
