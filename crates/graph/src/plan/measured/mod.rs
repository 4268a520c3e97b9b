//! Plans whose layouts are chosen by measuring.
//!
//! Every way in which a node could run is timed, and every reorder that could join two of them. The choice with the smallest
//! sum becomes a plan. That plan is timed against the plans in one layout, and the fastest of them stays.

mod cache;
mod candidates;
mod choose;
mod explain;
mod profile;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use blocktensor::{MemoryFormat, StridedTensor, TensorDesc};

use super::build::{self, Choice, Packs};
use super::forms::{Target, VIEWS};
use super::{Layouts, Plan, Profiles, join, run};
use crate::error::Result;
use crate::network::Network;
use crate::passes::PassReport;
use cache::Cache;
use candidates::data;
use choose::Costs;
use profile::{Input, Profile, Task, Work};

/// The largest table that the choice makes.
const LARGEST_TABLE: usize = 1 << 22;

/// How the layouts of a plan were chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    /// For each node of the network, in order, what was known of it.
    pub nodes: Vec<NodeMeasurement>,
    /// The sum of the costs of the choice, in **seconds**: nodes and reorders.
    pub cost: f64,
    /// No choice among the candidates has a smaller sum, in **seconds**.
    pub lower_bound: f64,
    /// Whether the choice has the smallest sum of all. `false` if the network was too entangled to know.
    pub proven: bool,
    /// The least time of a run of each plan that was timed, in **seconds**.
    pub plans: Vec<(Layouts, f64)>,
    /// The plan that stayed, the fastest.
    pub kept: Layouts,
}

/// What was measured of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeMeasurement {
    /// The node's name.
    pub name: String,
    /// Its op.
    pub op: &'static str,
    /// The candidates, the chosen one first.
    pub candidates: Vec<CandidateMeasurement>,
}

/// What was measured of one way in which a node could run.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateMeasurement {
    /// The orders of its data operands and of its results: `nchw -> nChw16c`.
    pub layouts: String,
    /// What runs, of the chosen candidate, if its weights are packed.
    pub implementation: Option<String>,
    /// The median of its times, in **seconds**. `None` if it cannot run, or is a view.
    pub seconds: Option<f64>,
}

/// The targets whose plans give the candidates.
fn targets() -> Vec<Target> {
    let mut targets = vec![Target::RowMajor, Target::ChannelsLast];
    let native = blocktensor::Layout::native_activation(4).map(|layout| layout.block_of(1)).ok();
    if let Some(native) = native {
        targets.push(Target::Native);
        targets.extend([16, 8].into_iter().filter(|b| *b < native).map(Target::Blocked));
    }
    targets
}

/// The plans that are timed as a whole.
const TIMED: [Layouts; 3] = [Layouts::Measured, Layouts::Nhwc, Layouts::Blocked];

/// Plans the network with measured layouts.
pub(super) fn plan(network: &Network, profiles: &Profiles, passes: Vec<PassReport>) -> Result<Plan> {
    let packs = Packs::default();
    let candidates = candidates::candidates(network, &targets())?;
    let edges = choose::edges(network, &candidates)?;
    let mut cache = Cache::of(profiles);
    let (costs, profiles) = measured_costs(network, &candidates, &edges, &packs, &mut cache)?;
    let solution = choose::choose(&candidates, &edges, &costs, LARGEST_TABLE);
    let build = |layouts: Layouts| {
        let target = match layouts {
            Layouts::Nhwc => Target::ChannelsLast,
            Layouts::Blocked => Target::Native,
            _ => {
                let chosen =
                    candidates.iter().zip(&solution.values).map(|(list, &value)| list[value].clone());
                let chosen = chosen.collect::<Vec<_>>();
                return build::chosen(network, &chosen, &packs, Layouts::Measured, passes.clone());
            }
        };
        Ok(build::uniform(network, target, &packs, layouts, passes.clone())?.0)
    };
    let name = name(network, &candidates, &solution.values);
    let known =
        name.as_ref().map(|name| TIMED.map(|layouts| cache.get(&in_layouts(name, layouts)).flatten()));
    let (seconds, plan) = match known {
        Some([Some(a), Some(b), Some(c)]) => {
            let seconds = [a, b, c].map(|profile| profile.median);
            (seconds, build(TIMED[least(&seconds)])?)
        }
        _ => {
            let mut plans = TIMED.into_iter().map(build).collect::<Result<Vec<Plan>>>()?;
            let seconds = race(&plans)?;
            for (layouts, seconds) in TIMED.into_iter().zip(seconds) {
                if let Some(name) = &name {
                    cache.put(in_layouts(name, layouts), Some(Profile::once(seconds)));
                }
            }
            (seconds, plans.swap_remove(least(&seconds)))
        }
    };
    cache.save();
    let measurements = Measurements {
        nodes: report(network, &candidates, &solution.values, &packs, &profiles),
        cost: solution.cost,
        lower_bound: solution.lower_bound,
        proven: solution.proven,
        plans: TIMED.into_iter().zip(seconds).collect(),
        kept: TIMED[least(&seconds)],
    };
    Ok(Plan { layouts: Layouts::Measured, measurements: Some(measurements), ..plan })
}

/// Which of them is the least.
fn least(seconds: &[f64]) -> usize {
    (0..seconds.len()).min_by(|&a, &b| seconds[a].total_cmp(&seconds[b])).unwrap_or(0)
}

/// A name for the network and the choice. `None` if it has operators that have no name.
fn name(network: &Network, candidates: &[Vec<Choice>], values: &[usize]) -> Option<String> {
    let mut hasher = DefaultHasher::new();
    for (i, node) in network.nodes.iter().enumerate() {
        key(network, i, &candidates[i][values[i]])?.hash(&mut hasher);
        (&node.inputs, &node.outputs).hash(&mut hasher);
    }
    Some(format!("plan {:016x}", hasher.finish()))
}

fn in_layouts(name: &str, layouts: Layouts) -> String {
    format!("{name} with {} layouts", layouts.name())
}

/// Whether it is a view, or a concatenation in place. These are not measured.
fn takes_no_time(network: &Network, choice: &Choice) -> bool {
    let strided = choice.inputs.first().is_some_and(|(_, desc)| desc.strides().is_some());
    let is_view = strided && VIEWS.contains(&choice.op.op());
    let inputs: Vec<&TensorDesc> = data(network, choice).map(|(_, desc)| desc).collect();
    is_view || join::is_free(&*choice.op, &inputs, &choice.outputs)
}

/// What decides how long a candidate takes. `None` for an operator of somebody's own, of which nothing is known.
fn key(network: &Network, node: usize, choice: &Choice) -> Option<String> {
    let inputs: Vec<String> = choice
        .inputs
        .iter()
        .map(|(id, desc)| {
            format!("{}{desc}", if network.tensor(*id).constant.is_some() { "constant " } else { "" })
        })
        .collect();
    let outputs: Vec<String> = choice.outputs.iter().map(TensorDesc::to_string).collect();
    let op = network.nodes[node].op.bound()?;
    let threads = blocktensor::build_info().threads;
    Some(format!("{op}: {} -> {}, {threads} threads", inputs.join(", "), outputs.join(", ")))
}

type NodeProfiles = Vec<Vec<Option<Profile>>>;

/// Times all candidates and reorders. Candidates that cannot be packed or run cost what is impossible.
fn measured_costs(
    network: &Network,
    candidates: &[Vec<Choice>],
    edges: &[choose::Edge],
    packs: &Packs,
    cache: &mut Cache,
) -> Result<(Costs, NodeProfiles)> {
    let mut tasks: Vec<Task> = Vec::new();
    let mut known: HashMap<String, Place> = HashMap::new();
    let mut places: Vec<Vec<Place>> = Vec::new();
    let start = Instant::now();
    for (node, list) in candidates.iter().enumerate() {
        let mut own = Vec::new();
        for choice in list {
            if takes_no_time(network, choice) {
                own.push(Place::Free);
                continue;
            }
            let key = key(network, node, choice);
            let place = match key.as_ref().and_then(|key| known.get(key)) {
                Some(place) => *place,
                None => match key.as_ref().and_then(|key| cache.get(key)) {
                    Some(profile) => profile.map_or(Place::Impossible, Place::Known),
                    None => match packs.packed(network, node, choice) {
                        Ok(packed) => {
                            let work = operator_work(network, node, &packed)?;
                            tasks.push(Task::new(node, key.clone(), work));
                            Place::Task(tasks.len() - 1)
                        }
                        Err(_) => {
                            key.iter().for_each(|key| cache.put(key.clone(), None));
                            Place::Impossible
                        }
                    },
                },
            };
            key.into_iter().for_each(|key| {
                known.insert(key, place);
            });
            own.push(place);
        }
        places.push(own);
    }
    let threads = blocktensor::build_info().threads;
    let mut pairs: HashMap<(TensorDesc, TensorDesc), Place> = HashMap::new();
    for pair in edges.iter().flat_map(choose::Edge::pairs) {
        if let Entry::Vacant(entry) = pairs.entry(pair.clone()) {
            let key = format!("reorder: {} -> {}, {threads} threads", pair.0, pair.1);
            let place = match cache.get(&key) {
                Some(profile) => profile.map_or(Place::Impossible, Place::Known),
                None => {
                    // A reorder has no alternative: a group of its own.
                    let group = network.nodes.len() + tasks.len();
                    tasks.push(Task::new(group, Some(key), Work::Reorder(Box::new(pair))));
                    Place::Task(tasks.len() - 1)
                }
            };
            entry.insert(place);
        }
    }
    profile::measure(&mut tasks, Duration::from_millis(400).max(start.elapsed()))?;
    for task in &tasks {
        task.key.iter().for_each(|key| cache.put(key.clone(), task.profile()));
    }
    let profile_of = |place: &Place| match place {
        Place::Task(task) => tasks[*task].profile(),
        Place::Known(profile) => Some(*profile),
        Place::Free | Place::Impossible => None,
    };
    let profiles: NodeProfiles = places.iter().map(|list| list.iter().map(profile_of).collect()).collect();
    let nodes = places
        .iter()
        .zip(&profiles)
        .map(|(places, profiles)| {
            let seconds = settle(profiles);
            let cost = |(place, seconds): (&Place, &Option<f64>)| match place {
                Place::Free => 0.0,
                _ => seconds.unwrap_or(crate::minimise::IMPOSSIBLE),
            };
            places.iter().zip(&seconds).map(cost).collect()
        })
        .collect();
    let reorders =
        pairs.into_iter().filter_map(|(pair, place)| Some((pair, profile_of(&place)?.median))).collect();
    Ok((Costs { nodes, reorders }, profiles))
}

/// How the cost of something is known.
#[derive(Clone, Copy)]
enum Place {
    /// It is a view, or a concatenation in place.
    Free,
    Task(usize),
    /// It was measured before.
    Known(Profile),
    Impossible,
}

/// The medians of alternatives. Those whose quartiles overlap with the best one's count as equal to it: they differ by noise.
fn settle(profiles: &[Option<Profile>]) -> Vec<Option<f64>> {
    let best = profiles.iter().flatten().min_by(|a, b| a.median.total_cmp(&b.median)).copied();
    let settled = |p: &Profile| match best {
        Some(best) if p.lower <= best.upper => best.median,
        _ => p.median,
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
    let constants = network.nodes[node].inputs.iter().filter_map(|id| network.tensor(*id).constant.as_ref());
    let weights: usize = constants.map(|c| 4 * c.numel()).sum();
    let activations: usize =
        data(network, choice).map(|(_, d)| d).chain(&choice.outputs).filter_map(|d| d.bytes().ok()).sum();
    let (op, outputs) = (Arc::clone(&choice.op), choice.outputs.clone());
    Ok(Work::Operator { op, inputs, outputs, cold: weights > activations })
}

fn report(
    network: &Network,
    all: &[Vec<Choice>],
    values: &[usize],
    packs: &Packs,
    profiles: &NodeProfiles,
) -> Vec<NodeMeasurement> {
    let of = |node: usize| {
        let candidate = |k: usize| {
            let choice = &all[node][k];
            let name = |list: Vec<&TensorDesc>| {
                list.into_iter().map(TensorDesc::layout_name).collect::<Vec<_>>().join(", ")
            };
            CandidateMeasurement {
                layouts: format!(
                    "{} -> {}",
                    name(data(network, choice).map(|(_, d)| d).collect()),
                    name(choice.outputs.iter().collect())
                ),
                implementation: packs.implementation(node, choice).filter(|_| k == values[node]),
                seconds: profiles[node][k].map(|p| p.median),
            }
        };
        let mut order: Vec<usize> = (0..all[node].len()).collect();
        order.sort_by(|&a, &b| {
            let rank = |k: usize| (k != values[node], profiles[node][k].map_or(f64::INFINITY, |p| p.median));
            let (a, b) = (rank(a), rank(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        NodeMeasurement {
            name: network.nodes[node].name.clone(),
            op: network.nodes[node].op.op(),
            candidates: order.into_iter().map(candidate).collect(),
        }
    };
    (0..all.len()).map(of).collect()
}

/// Runs the plans by turns; the least time of each, in **seconds**.
fn race(plans: &[Plan]) -> Result<[f64; TIMED.len()]> {
    let inputs = plans[0]
        .inputs()
        .map(|(_, desc)| Ok(StridedTensor::zeros(desc.dims(), desc.dtype(), MemoryFormat::Contiguous)?))
        .collect::<Result<Vec<_>>>()?;
    let refs: Vec<&StridedTensor> = inputs.iter().collect();
    let mut least = [f64::INFINITY; TIMED.len()];
    for _ in 0..RACES {
        for (plan, least) in plans.iter().zip(&mut least) {
            let start = Instant::now();
            plan.run(&refs)?;
            *least = least.min(start.elapsed().as_secs_f64());
        }
    }
    Ok(least)
}

/// How often each plan runs in the race.
const RACES: usize = 4;
