//! How long things take: candidates and reorders, by turns.
//!
//! In each round everything runs once, so that weights have left the cache when they are read again, as in a network. Where
//! the activations are larger than the weights, the second of two runs is counted: in a network their producer has just
//! written them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use blocktensor::{
    Arena, DType, MemoryFormat, Operand, Operator, Scratchpad, StridedTensor, Tensor, TensorDesc,
};

use super::super::forms::is_foreign;
use super::super::run::{reorder, reordered};
use serde::{Deserialize, Serialize};

use super::budget::{Budget, Part};
use super::costs::is_lasting;
use super::estimate::Prior;
use super::load::{Load, Sample, least, undisturbed};
use crate::error::{Error, Result};
use crate::stop::Stop;

/// What a thing takes, in **seconds**, and the range that it is in.
///
/// Of undisturbed runs these are the median and the quartiles. Where other work disturbed nearly all of them, or may have disturbed
/// those that there are, the least time counts: what disturbs only ever adds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Profile {
    pub(crate) runs: usize,
    pub(crate) lower: f64,
    pub(crate) seconds: f64,
    pub(crate) upper: f64,
    pub(crate) disturbed: bool,
}

/// So many undisturbed runs are enough to be sure.
const SURE: usize = 3;

impl Profile {
    /// What was computed, or measured as a whole.
    pub(super) fn once(seconds: f64, disturbed: bool) -> Profile {
        Profile { runs: 1, lower: seconds, seconds, upper: seconds, disturbed }
    }

    /// Whether a measurement gives such times.
    pub(super) fn is_possible(&self) -> bool {
        let rising = self.lower <= self.seconds && self.seconds <= self.upper;
        self.runs > 0 && self.lower > 0.0 && rising && self.upper.is_finite()
    }

    /// Of at least one sample.
    fn of(samples: &[Sample], prior: &Prior) -> Profile {
        let possible: Vec<Sample> = samples.iter().copied().filter(|s| prior.can_be(s.seconds)).collect();
        if possible.is_empty() {
            return Profile::once(least(samples), true);
        }
        let samples = &possible[..];
        let mut clean = undisturbed(samples);
        // Few runs have nothing to be slower than: then nobody may have waited. Short runs are made often enough.
        let certain = || samples.iter().all(|s| s.seconds >= LONG && !s.threads_waited());
        if clean.len() >= SURE || certain() {
            clean.sort_by(f64::total_cmp);
            let at = |part: usize| clean[(clean.len() - 1) * part / 4];
            return Profile {
                runs: clean.len(),
                lower: at(1),
                seconds: at(2),
                upper: at(3),
                disturbed: false,
            };
        }
        let least = least(samples);
        Profile { runs: samples.len(), lower: least, seconds: least, upper: least, disturbed: true }
    }
}

/// Something to measure.
pub(super) struct Task {
    /// Tasks of one group are alternatives: those that are clearly slower are not run again.
    pub(super) group: usize,
    /// What decides its time, if that is known.
    pub(super) key: Option<String>,
    pub(super) work: Work,
    prior: Prior,
    samples: Vec<Sample>,
    /// Its first run, in which kernels are made.
    first: Option<Sample>,
    done: bool,
    /// Why it did not run.
    refused: Option<Error>,
}

pub(super) enum Work {
    Operator {
        op: Arc<dyn Operator>,
        inputs: Vec<Input>,
        outputs: Vec<TensorDesc>,
        /// Whether its weights are larger than its activations.
        cold: bool,
    },
    Reorder(Box<(TensorDesc, TensorDesc)>),
}

pub(super) enum Input {
    Data(TensorDesc),
    Constant(Tensor),
}

impl Task {
    pub(super) fn new(group: usize, key: Option<String>, work: Work, prior: Prior) -> Task {
        Task { group, key, work, prior, samples: Vec::new(), first: None, done: false, refused: None }
    }

    /// Whether the next planning will find the same.
    pub(super) fn is_lasting(&self) -> bool {
        !self.is_late() && self.refused.as_ref().is_none_or(is_lasting)
    }

    /// Whether it was not measured for want of time.
    pub(super) fn is_late(&self) -> bool {
        self.samples.is_empty() && self.refused.is_none()
    }

    /// What it took; `None` if it could not run.
    pub(super) fn profile(&self) -> Option<Profile> {
        (!self.samples.is_empty()).then(|| Profile::of(&self.samples, &self.prior))
    }

    /// What it takes as far as that is known, in **seconds**: its first run counts if there is no other.
    fn seconds(&self) -> Option<f64> {
        self.profile().map(|profile| profile.seconds).or_else(|| Some(self.first?.seconds))
    }

    /// Whether this profile of it, after several runs or fewer, may show it to be hopeless. What only other work explains shows nothing.
    fn tells(&self, profile: &Profile, several: bool) -> bool {
        match profile.disturbed {
            true => several && !self.prior.is_absurd(profile.seconds),
            false => several || self.is_long(),
        }
    }

    /// Whether even its fastest run was long.
    fn is_long(&self) -> bool {
        self.first.iter().chain(&self.samples).all(|sample| sample.seconds >= LONG)
    }
}

/// The most undisturbed runs of anything.
const MOST_RUNS: usize = 7;

/// How many rounds everything takes part in: what is long, and what is not.
const LEAST_ROUNDS: (usize, usize) = (2, SURE);

/// The most rounds, where other work disturbs.
const MOST_ROUNDS: usize = 60;

/// Something that takes this many times the time of the best of its group is not run again: where it was not disturbed, and where it
/// was.
const HOPELESS: (f64, f64) = (1.5, 2.5);

/// **Seconds** from which on a run is long. Little of it is left in the caches before the next step reads it, so that each run counts,
/// and a first run tells what is hopeless: planning for large batches would take a hundred runs of the network otherwise.
const LONG: f64 = 5e-3;

/// A long first run that takes this many times the time of the best of its group is the only one.
const HOPELESS_AT_ONCE: f64 = 2.5;

/// How long to measure.
#[derive(Clone, Copy)]
pub(super) struct Limit<'a> {
    /// Where nothing disturbs. What is not sure yet may take all of the budget.
    pub(super) usual: Duration,
    pub(super) budget: Budget,
    pub(super) part: Part,
    /// Whether other work disturbs the planning, as far as that is known before.
    pub(super) disturbed: bool,
    /// **Seconds** of a run of the network, by what each task took so far.
    pub(super) run: &'a (dyn Fn(&[Option<f64>]) -> f64 + Sync),
}

/// Runs the tasks by turns: several rounds, fewer if that takes longer than `limit`.
pub(super) fn measure(tasks: &mut [Task], limit: Limit<'_>, stop: &Stop) -> Result<()> {
    // One team for all: a worker that has just been woken may share the processor of the thread that woke it for a while.
    blocktensor::run(|| blocktensor::with_stand_ins(|| measure_by_turns(tasks, limit, stop)))
}

fn measure_by_turns(tasks: &mut [Task], limit: Limit<'_>, stop: &Stop) -> Result<()> {
    let mut tensors = Tensors::default();
    let is_over =
        |run: f64, disturbed: bool| limit.budget.is_spent(limit.part, run, limit.disturbed || disturbed);
    // Kernels are made in the first run, which does not count.
    let load = Load::new();
    let run_seconds = (limit.run)(&vec![None; tasks.len()]);
    for task in tasks.iter_mut() {
        stop.check()?;
        if limit.part.may_be_left() && is_over(run_seconds, false) {
            task.done = true;
            continue;
        }
        match load.sample(|| run(&task.work, &mut tensors, true)) {
            Ok(sample) => task.first = Some(sample),
            Err(error) => (task.refused, task.done) = (Some(error), true),
        }
    }
    leave_hopeless(tasks);
    let start = Instant::now();
    for round in 0..MOST_ROUNDS {
        let best = best_of_groups(tasks, |task| task.profile().map(|profile| profile.seconds));
        let seconds: Vec<Option<f64>> = tasks.iter().map(Task::seconds).collect();
        let (run_seconds, mut ran) = ((limit.run)(&seconds), 0);
        for task in tasks.iter_mut().filter(|t| !t.done) {
            let (long, profile) = (task.is_long(), task.profile());
            let spent = is_over(run_seconds, profile.is_some_and(|profile| profile.disturbed));
            if limit.part.may_be_left() && spent {
                task.done = true;
                continue;
            }
            if let Some(profile) = profile {
                let least_rounds = match long {
                    true if spent => 1,
                    true => LEAST_ROUNDS.0,
                    false => LEAST_ROUNDS.1,
                };
                let several = round >= least_rounds;
                let times = if profile.disturbed || !several { HOPELESS.1 } else { HOPELESS.0 };
                let hopeless = task.tells(&profile, several) && profile.lower > times * best[&task.group];
                let enough = several && (spent || !profile.disturbed && start.elapsed() > limit.usual);
                if hopeless || enough || undisturbed(&task.samples).len() >= MOST_RUNS {
                    task.done = true;
                    continue;
                }
            }
            stop.check()?;
            task.samples.push(load.sample(|| run(&task.work, &mut tensors, long))?);
            ran += 1;
        }
        if ran == 0 {
            break;
        }
    }
    Ok(())
}

/// Tensors to read from and to write to, one for each descriptor.
#[derive(Default)]
struct Tensors {
    sources: HashMap<TensorDesc, Tensor>,
    /// Written before, so that their pages are there. Free ones only.
    places: HashMap<TensorDesc, Vec<Tensor>>,
    scratchpad: Scratchpad,
}

impl Tensors {
    fn source(&mut self, desc: &TensorDesc) -> Result<Tensor> {
        if let Some(tensor) = self.sources.get(desc) {
            return Ok(tensor.clone());
        }
        let tensor = match desc.dtype() {
            DType::F32 | DType::BF16 => {
                let half = StridedTensor::full(desc.dims(), 0.5f32, MemoryFormat::Contiguous)?;
                let full = half.to_dtype(desc.dtype())?;
                reordered(&full, desc)?
            }
            // Of indices the first element is always there.
            dtype => {
                let zeros = StridedTensor::zeros(desc.dims(), dtype, MemoryFormat::Contiguous)?;
                reordered(&zeros, desc)?
            }
        };
        self.sources.insert(desc.clone(), tensor.clone());
        Ok(tensor)
    }
}

impl Tensors {
    fn place(&mut self, desc: &TensorDesc) -> Result<Tensor> {
        match self.places.get_mut(desc).and_then(Vec::pop) {
            Some(tensor) => Ok(tensor),
            None => {
                let mut place = Arena::new(desc.bytes()?)?.tensor(0, desc)?;
                // The system gives its pages at the first write, which is not part of a run.
                reorder(self.source(desc)?.tensor_ref(), &mut place)?;
                Ok(place)
            }
        }
    }

    fn give_back(&mut self, tensor: Tensor) {
        self.places.entry(TensorDesc::of(tensor.tensor_ref())).or_default().push(tensor);
    }
}

/// The least of the times that the tasks of each group have, in **seconds**.
fn best_of_groups(tasks: &[Task], seconds: impl Fn(&Task) -> Option<f64>) -> HashMap<usize, f64> {
    let mut best: HashMap<usize, f64> = HashMap::new();
    for task in tasks {
        if let Some(seconds) = seconds(task) {
            let best = best.entry(task.group).or_insert(f64::INFINITY);
            *best = best.min(seconds);
        }
    }
    best
}

/// Takes tasks out that a long first run shows to be hopeless. That run is their only sample. Where threads waited, it shows nothing.
fn leave_hopeless(tasks: &mut [Task]) {
    let best = best_of_groups(tasks, |task| Some(task.first?.seconds));
    for task in tasks.iter_mut().filter(|t| t.is_long()) {
        let Some(first) = task.first.filter(|first| !first.threads_waited()) else { continue };
        if first.seconds > HOPELESS_AT_ONCE * best[&task.group] {
            task.samples.push(first);
            task.done = true;
        }
    }
}

/// One run, in **seconds**. `once` says that the first run counts in any case.
fn run(work: &Work, tensors: &mut Tensors, once: bool) -> Result<f64> {
    match work {
        Work::Reorder(pair) if is_foreign(&pair.0) || is_foreign(&pair.1) => {
            let from = tensors.source(&pair.0)?;
            from.reorder(&pair.1)?;
            let start = Instant::now();
            blocktensor::run(|| from.reorder(&pair.1))?;
            Ok(start.elapsed().as_secs_f64())
        }
        Work::Reorder(pair) => {
            let (from, to) = &**pair;
            let from = tensors.source(from)?;
            let mut place = tensors.place(to)?;
            reorder(from.tensor_ref(), &mut place)?;
            let start = Instant::now();
            blocktensor::run(|| reorder(from.tensor_ref(), &mut place))?;
            let seconds = start.elapsed().as_secs_f64();
            tensors.give_back(place);
            Ok(seconds)
        }
        Work::Operator { op, inputs, outputs, cold } => {
            let inputs = inputs
                .iter()
                .map(|input| match input {
                    Input::Data(desc) => tensors.source(desc),
                    Input::Constant(tensor) => Ok(tensor.clone()),
                })
                .collect::<Result<Vec<Tensor>>>()?;
            let refs: Vec<_> = inputs.iter().map(Operand::tensor_ref).collect();
            if outputs.iter().any(is_foreign) {
                let start = Instant::now();
                blocktensor::run(|| op.run(&refs))?;
                return Ok(start.elapsed().as_secs_f64());
            }
            let mut places =
                outputs.iter().map(|desc| tensors.place(desc)).collect::<Result<Vec<Tensor>>>()?;
            let scratchpad = &mut tensors.scratchpad;
            let mut run = || -> Result<f64> {
                let outputs = places.iter_mut().map(Operand::tensor_mut).collect();
                let start = Instant::now();
                blocktensor::run(|| op.run_into(&refs, outputs, scratchpad))?;
                Ok(start.elapsed().as_secs_f64())
            };
            let first = run()?;
            let seconds = if *cold || once { first } else { run()? };
            places.into_iter().for_each(|tensor| tensors.give_back(tensor));
            Ok(seconds)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(list: &[(f64, f64)]) -> Vec<Sample> {
        list.iter().map(|&(seconds, waited)| Sample { seconds, waited }).collect()
    }

    /// Of what writes nothing.
    fn prior() -> Prior {
        let nothing = TensorDesc::strided(&[0], DType::F32, MemoryFormat::Contiguous).unwrap();
        Prior::of_reorder(&(nothing.clone(), nothing))
    }

    /// Integers of 8 bits were row-major whatever was asked for, so that no packed convolution of them could be measured.
    #[test]
    fn what_is_read_and_written_is_as_the_descriptor_says() {
        let (mut tensors, dims) = (Tensors::default(), [1, 20, 3, 2]);
        for dtype in [DType::F32, DType::BF16, DType::U8, DType::S8, DType::S32] {
            for desc in [
                TensorDesc::strided(&dims, dtype, MemoryFormat::Contiguous),
                TensorDesc::strided(&dims, dtype, MemoryFormat::ChannelsLast),
                TensorDesc::blocked(&dims, dtype, &"nChw16c".parse().unwrap()),
            ] {
                let desc = desc.unwrap();
                assert_eq!(TensorDesc::of(tensors.source(&desc).unwrap().tensor_ref()), desc);
                assert_eq!(TensorDesc::of(tensors.place(&desc).unwrap().tensor_ref()), desc);
            }
        }
    }

    #[test]
    fn samples_that_no_machine_gives_do_not_count() {
        let large = TensorDesc::strided(&[1 << 28], DType::F32, MemoryFormat::Contiguous).unwrap();
        let prior = Prior::of_reorder(&(large.clone(), large));
        let mut list = samples(&[(1e-9, 0.0), (0.5, 0.0), (0.75, 0.0), (0.75, 0.0)]);
        let profile = Profile::of(&list, &prior);
        assert_eq!((profile.runs, profile.lower, profile.disturbed), (3, 0.5, false));
        list.truncate(1);
        assert!(Profile::of(&list, &prior).disturbed);
    }

    #[test]
    fn few_runs_are_sure_if_they_are_long_and_nobody_waited() {
        let disturbed = |list: &[(f64, f64)]| Profile::of(&samples(list), &prior()).disturbed;
        assert!(!disturbed(&[(8e-3, 0.0)]));
        assert!(!disturbed(&[(8e-3, 0.0), (9e-3, 0.0)]));
        // A lone run that waited is the fastest of its kind.
        assert!(disturbed(&[(8e-3, 4e-3)]));
        assert!(disturbed(&[(8e-3, 0.0), (8e-3, 4e-3)]));
        assert!(disturbed(&[(1e-3, 0.0), (1e-3, 0.0)]));
        assert!(!disturbed(&[(1e-3, 0.0), (1e-3, 0.0), (1e-3, 0.0)]));
        assert!(!disturbed(&[(8e-3, 4e-3), (8e-3, 4e-3), (8e-3, 4e-3)]));
    }

    #[test]
    fn what_only_other_work_explains_is_not_given_up() {
        let desc = TensorDesc::strided(&[1], DType::F32, MemoryFormat::Contiguous).unwrap();
        let tells = |list: &[(f64, f64)]| {
            let work = Work::Reorder(Box::new((desc.clone(), desc.clone())));
            let task = Task { samples: samples(list), ..Task::new(0, None, work, prior()) };
            let profile = task.profile().unwrap();
            [task.tells(&profile, false), task.tells(&profile, true)]
        };
        assert_eq!(tells(&[(9e-3, 5e-3)]), [false, false]);
        assert_eq!(tells(&[(5e-5, 4e-5)]), [false, true]);
        assert_eq!(tells(&[(9e-3, 0.0)]), [true, true]);
        assert_eq!(tells(&[(1e-3, 0.0); 3]), [false, true]);
    }

    #[test]
    fn without_time_a_twin_is_left_and_a_candidate_is_not() {
        let desc = TensorDesc::strided(&[64], DType::F32, MemoryFormat::Contiguous).unwrap();
        for part in [Part::Twins, Part::Candidates] {
            let work = Work::Reorder(Box::new((desc.clone(), desc.clone())));
            let mut tasks = [Task::new(0, None, work, prior())];
            let (usual, budget) = (Duration::ZERO, Budget::over());
            let limit = Limit { usual, budget, part, disturbed: true, run: &|_| 0.0 };
            measure(&mut tasks, limit, &Stop::default()).unwrap();
            let is_left = part.may_be_left();
            assert_eq!(tasks[0].profile().is_none(), is_left);
            // What was left may run the next time.
            assert_eq!((tasks[0].is_late(), tasks[0].is_lasting()), (is_left, !is_left));
        }
    }

    #[test]
    fn a_long_first_run_takes_a_task_out_unless_threads_waited() {
        let desc = TensorDesc::strided(&[1], DType::F32, MemoryFormat::Contiguous).unwrap();
        let task = |group, seconds, waited| {
            let work = Work::Reorder(Box::new((desc.clone(), desc.clone())));
            let first = Some(Sample { seconds, waited });
            Task { first, ..Task::new(group, None, work, prior()) }
        };
        let mut tasks = [
            task(0, 3e-3, 0.0),
            task(0, 9e-3, 0.0),
            task(0, 9e-3, 5e-3),
            task(0, 6e-3, 0.0),
            task(1, 9e-3, 0.0),
        ];
        leave_hopeless(&mut tasks);
        assert_eq!(tasks.each_ref().map(|task| task.done), [false, true, false, false, false]);
        assert_eq!(tasks.each_ref().map(|task| task.samples.len()), [0, 1, 0, 0, 0]);
        assert!(tasks[1].profile().is_some_and(|profile| !profile.disturbed));
    }
}
