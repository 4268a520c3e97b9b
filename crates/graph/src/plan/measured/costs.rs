//! What the candidates and the reorders cost.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use blocktensor::TensorDesc;
use blocktensor::dispatch::DispatchKey;

use super::super::choice::Choice;
use super::super::packed_weights::PackedWeights;
use super::super::{join, run};
use super::budget::{Budget, Part};
use super::cache::Cache;
use super::candidates::data;
use super::choose::{Costs, Edge};
use super::estimate::Prior;
use super::profile::{self, Input, Limit, Profile, Task, Work};
use crate::error::{Error, Result};
use crate::minimise::IMPOSSIBLE;
use crate::network::{Network, facts};

/// For each node the profiles of its candidates: `None` for what cannot run, and for views.
pub(super) type NodeProfiles = Vec<Vec<Option<Profile>>>;

/// The least time for which candidates are measured; where packing takes longer, as long as that.
const LEAST_TIME: Duration = Duration::from_millis(400);

/// How the cost of something is known.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// It is a view, or a concatenation in place.
    Free,
    Task(usize),
    /// It was measured before.
    Known(Profile),
    Impossible,
    /// Nothing is known: there was no time to pack its weights.
    Late,
}

impl Place {
    /// What it takes as far as that is known, in **seconds**, from what each task takes.
    fn seconds(&self, tasks: &[Option<f64>]) -> Option<f64> {
        match self {
            Place::Free => Some(0.0),
            Place::Task(task) => tasks[*task],
            Place::Known(profile) => Some(profile.seconds),
            Place::Impossible | Place::Late => None,
        }
    }

    /// What it takes; `None` if it cannot run, and for views.
    pub(super) fn profile(&self, tasks: &[Task]) -> Option<Profile> {
        match self {
            Place::Task(task) => tasks[*task].profile(),
            Place::Known(profile) => Some(*profile),
            Place::Free | Place::Impossible | Place::Late => None,
        }
    }

    /// Whether it was not measured for want of time.
    pub(super) fn is_late(&self, tasks: &[Task]) -> bool {
        match self {
            Place::Task(task) => tasks[*task].is_late(),
            place => matches!(place, Place::Late),
        }
    }
}

/// What is to be measured, and what is known.
pub(super) struct Measuring<'a> {
    network: &'a Network,
    weights: &'a PackedWeights,
    cache: &'a mut Cache,
    tasks: Vec<Task>,
    /// Candidates of other nodes may be the same.
    places: HashMap<String, Place>,
    start: Instant,
    /// When there is no time left to pack weights.
    last: Option<Instant>,
}

/// Times all candidates and reorders. Candidates that cannot be packed or run cost what is impossible.
pub(super) fn measured(
    network: &Network,
    candidates: &[Vec<Choice>],
    edges: &[Edge],
    weights: &PackedWeights,
    cache: &mut Cache,
    budget: &Budget,
) -> Result<(Costs, NodeProfiles)> {
    let mut measuring = Measuring::new(network, weights, cache, None);
    let places = measuring.candidates(candidates)?;
    let mut pairs: HashMap<(TensorDesc, TensorDesc), Place> = HashMap::new();
    for pair in edges.iter().flat_map(Edge::pairs) {
        if let Entry::Vacant(entry) = pairs.entry(pair) {
            let place = measuring.reorder(entry.key());
            entry.insert(place);
        }
    }
    let run = |tasks: &[Option<f64>]| -> f64 {
        let least = |(list, places): (&Vec<Choice>, &Vec<Place>)| {
            let alone = list.iter().zip(places).filter(|(choice, _)| choice.group.is_none());
            let least = alone.filter_map(|(_, place)| place.seconds(tasks)).fold(f64::INFINITY, f64::min);
            if least.is_finite() { least } else { 0.0 }
        };
        candidates.iter().zip(&places).map(least).sum()
    };
    let tasks = measuring.measured(*budget, (Part::Candidates, false), &run)?;
    let profile_of = |place: &Place| place.profile(&tasks);
    let profiles: NodeProfiles = places.iter().map(|list| list.iter().map(profile_of).collect()).collect();
    let costs_of = |node: usize| {
        let (places, profiles) = (&places[node], &profiles[node]);
        // Nodes that run as one are no alternative to the last of them alone.
        let alone = |k: usize| candidates[node][k].group.is_none();
        let alternatives: Vec<_> = (0..profiles.len()).map(|k| profiles[k].filter(|_| alone(k))).collect();
        let settled = settle(&alternatives);
        let cost = |k: usize| match places[k] {
            Place::Free => 0.0,
            _ if alone(k) => settled[k].unwrap_or(IMPOSSIBLE),
            _ => profiles[k].map_or(IMPOSSIBLE, |p| p.seconds),
        };
        (0..places.len()).map(cost).collect()
    };
    let nodes = (0..places.len()).map(costs_of).collect();
    let reorders =
        pairs.iter().filter_map(|(pair, place)| Some((pair.clone(), profile_of(place)?.seconds))).collect();
    Ok((Costs { nodes, reorders, price_of_reorder: 0.0 }, profiles))
}

impl<'a> Measuring<'a> {
    /// Nothing yet. After `last` no more weights are packed.
    pub(super) fn new(
        network: &'a Network,
        weights: &'a PackedWeights,
        cache: &'a mut Cache,
        last: Option<Instant>,
    ) -> Measuring<'a> {
        let (tasks, places, start) = (Vec::new(), HashMap::new(), Instant::now());
        Measuring { network, weights, cache, tasks, places, start, last }
    }

    /// How the cost of each candidate is known.
    pub(super) fn candidates(&mut self, candidates: &[Vec<Choice>]) -> Result<Vec<Vec<Place>>> {
        let nodes = candidates.iter().enumerate();
        nodes.map(|(node, list)| list.iter().map(|choice| self.candidate(node, choice)).collect()).collect()
    }

    /// Measures what is not known, and keeps it. `run` is what a run of the network takes, in **seconds**, by what each task takes.
    pub(super) fn measured(
        mut self,
        budget: Budget,
        (part, disturbed): (Part, bool),
        run: &(dyn Fn(&[Option<f64>]) -> f64 + Sync),
    ) -> Result<Vec<Task>> {
        let usual = LEAST_TIME.max(self.start.elapsed());
        let limit = Limit { usual, budget, part, disturbed, run };
        profile::measure(&mut self.tasks, limit, &self.weights.stop)?;
        for task in self.tasks.iter().filter(|task| task.is_lasting()) {
            task.key.iter().for_each(|key| self.cache.put(key.clone(), task.profile()));
        }
        Ok(self.tasks)
    }

    /// What an earlier planning is sure of, if it can be.
    fn known(&mut self, key: &str, prior: &Prior) -> Option<Place> {
        match self.cache.get(key)? {
            Some(profile) if !prior.can_be(profile.seconds) => {
                self.cache.forget(key);
                None
            }
            Some(profile) if profile.disturbed => None,
            profile => Some(profile.map_or(Place::Impossible, Place::Known)),
        }
    }

    fn candidate(&mut self, node: usize, choice: &Choice) -> Result<Place> {
        if takes_no_time(self.network, node, choice) {
            return Ok(Place::Free);
        }
        let Some(key) = key(self.network, node, choice) else {
            return Ok(self.packed(node, choice, None)?.unwrap_or(Place::Impossible));
        };
        if let Some(place) = self.places.get(&key) {
            return Ok(*place);
        }
        let place = match self.known(&key, &Prior::of_choice(self.network, node, choice)) {
            Some(place) => place,
            None => self.packed(node, choice, Some(&key))?.unwrap_or(Place::Impossible),
        };
        self.places.insert(key, place);
        Ok(place)
    }

    /// A task for a candidate whose weights can be packed.
    fn packed(&mut self, node: usize, choice: &Choice, key: Option<&String>) -> Result<Option<Place>> {
        if self.last.is_some_and(|last| Instant::now() > last) {
            return Ok(Some(Place::Late));
        }
        let packed = match self.weights.packed(self.network, node, choice) {
            Ok(packed) => packed,
            Err(Error::Stopped) => return Err(Error::Stopped),
            Err(error) => {
                if let Some(key) = key.filter(|_| is_lasting(&error)) {
                    self.cache.put(key.clone(), None);
                }
                return Ok(None);
            }
        };
        let work = operator_work(self.network, node, &packed)?;
        // Nodes that run as one are no alternative to the last of them alone.
        let group = if choice.group.is_some() { self.network.nodes.len() + self.tasks.len() } else { node };
        let prior = Prior::of_choice(self.network, node, choice);
        self.tasks.push(Task::new(group, key.cloned(), work, prior));
        Ok(Some(Place::Task(self.tasks.len() - 1)))
    }

    fn reorder(&mut self, pair: &(TensorDesc, TensorDesc)) -> Place {
        let threads = blocktensor::build_info().threads;
        let key = format!("reorder: {} -> {}, {threads} threads", pair.0, pair.1);
        let prior = Prior::of_reorder(pair);
        match self.known(&key, &prior) {
            Some(place) => place,
            None => {
                // A reorder has no alternative: a group of its own.
                let group = self.network.nodes.len() + self.tasks.len();
                self.tasks.push(Task::new(group, Some(key), Work::Reorder(Box::new(pair.clone())), prior));
                Place::Task(self.tasks.len() - 1)
            }
        }
    }
}

/// Whether it will be refused the next time as well. Other errors, such as those of full memory, are of the moment.
pub(super) fn is_lasting(error: &Error) -> bool {
    use blocktensor::Error as E;
    match error {
        Error::Operator { source, .. } | Error::Engine(source) => matches!(
            source,
            E::UnsupportedOp(_)
                | E::InvalidArgument(_)
                | E::KeyMismatch(_)
                | E::LayoutMismatch(_)
                | E::ShapeMismatch(_)
                | E::UnsupportedStride(_)
        ),
        Error::Invalid { .. } => true,
        Error::InFloat { .. } | Error::Missing { .. } | Error::Stopped => false,
    }
}

/// Whether it is a view, or a concatenation in place, or runs with another node. These are not measured.
pub(super) fn takes_no_time(network: &Network, node: usize, choice: &Choice) -> bool {
    if choice.group.is_some() {
        return choice.is_inner(node);
    }
    let strided = choice.inputs.first().is_some_and(|(_, desc)| desc.strides().is_some());
    let is_view = strided && facts(&*choice.op).sharing.is_view();
    let inputs: Vec<&TensorDesc> = data(network, choice).map(|(_, desc)| desc).collect();
    is_view || join::is_free(&*choice.op, &inputs, &choice.outputs)
}

/// What decides how long a candidate takes. `None` for an operator of somebody's own, and for an op with kernels of other crates: a
/// file of times does not tell which version of them ran.
pub(super) fn key(network: &Network, node: usize, choice: &Choice) -> Option<String> {
    let inputs: Vec<String> = choice
        .inputs
        .iter()
        .map(|(id, desc)| {
            format!("{}{desc}", if network.tensor(*id).constant.is_some() { "constant " } else { "" })
        })
        .collect();
    let outputs: Vec<String> = choice.outputs.iter().map(TensorDesc::to_string).collect();
    let op = match &choice.group {
        None => text(network, node)?,
        Some(group) => {
            let ops = group.nodes.iter().map(|&n| text(network, n));
            let role = if choice.is_inner(node) { "part of " } else { "" };
            format!("{role}{} of {}", group.fusion.name(), ops.collect::<Option<Vec<_>>>()?.join("; "))
        }
    };
    let threads = blocktensor::build_info().threads;
    let computes = choice.computes.map_or(String::new(), |c| format!(", {}", c.name()));
    Some(format!("{op}: {} -> {}{computes}, {threads} threads", inputs.join(", "), outputs.join(", ")))
}

/// The op of a node with its parameters.
fn text(network: &Network, node: usize) -> Option<String> {
    let op = network.nodes[node].op.bound()?;
    let is_extended =
        [DispatchKey::STRIDED, DispatchKey::BLOCKED].iter().any(|&key| op.registered().is_extended(key));
    (!is_extended).then(|| op.to_string())
}

/// The times of alternatives. Those whose ranges overlap with the best one's count as equal to it: they differ by noise.
pub(super) fn settle(profiles: &[Option<Profile>]) -> Vec<Option<f64>> {
    let best = profiles.iter().flatten().min_by(|a, b| a.seconds.total_cmp(&b.seconds)).copied();
    let settled = |p: &Profile| match best {
        Some(best) if p.lower <= best.upper => best.seconds,
        _ => p.seconds,
    };
    profiles.iter().map(|p| p.as_ref().map(settled)).collect()
}

fn operator_work(network: &Network, node: usize, choice: &Choice) -> Result<Work> {
    let inputs = choice
        .inputs
        .iter()
        .map(|(id, desc)| match &network.tensor(*id).constant {
            Some(constant) => Ok(Input::Constant(run::reordered(constant, desc)?)),
            None => Ok(Input::Data(desc.clone())),
        })
        .collect::<Result<Vec<_>>>()?;
    let nodes = choice.group.as_ref().map_or(vec![node], |group| group.nodes.clone());
    let constants = nodes.iter().flat_map(|&n| &network.nodes[n].inputs);
    let constants = constants.filter_map(|id| network.tensor(*id).constant.as_ref());
    let weights: usize = constants.map(|c| 4 * c.numel()).sum();
    let activations: usize =
        data(network, choice).map(|(_, d)| d).chain(&choice.outputs).filter_map(|d| d.bytes().ok()).sum();
    let (op, outputs) = (Arc::clone(&choice.op), choice.outputs.clone());
    Ok(Work::Operator { op, inputs, outputs, cold: weights > activations })
}
