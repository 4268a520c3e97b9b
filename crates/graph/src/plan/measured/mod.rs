//! Plans whose layouts are chosen by measuring.
//!
//! Every way in which a node could run is timed, and every reorder that could join two of them. The choice with the smallest
//! sum becomes a plan. That plan is timed against the plans in one layout, and the fastest of them stays.

mod budget;
mod cache;
mod candidates;
mod choose;
mod costs;
mod estimate;
mod explain;
pub(super) mod like;
pub(super) mod limit;
mod load;
mod profile;
mod race;
#[cfg(test)]
pub(super) mod tests;
mod twins;

pub use twins::{ComparedWithF32, FasterInF32};

use std::hash::{DefaultHasher, Hash, Hasher};

use blocktensor::TensorDesc;
use serde::{Deserialize, Serialize};

use super::algorithms;
use super::build;
use super::choice::Choice;
use super::forms::Target;
use super::packed_weights::PackedWeights;
use super::{Layouts, Plan, PlanOptions, Profiles, Reorder};
use crate::error::Result;
use crate::minimise::{IMPOSSIBLE, Solution};
use crate::network::Network;
use crate::passes::{PassReport, Twins};
use budget::Budget;
use cache::Cache;
use candidates::data;
use costs::{NodeProfiles, key};
use profile::Profile;
use race::Race;

/// The largest table that the choice makes.
const LARGEST_TABLE: usize = 1 << 22;

/// How the layouts of a plan were chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    /// For each node of the network, in order, what was known of it.
    ///
    /// The plan that stayed is the mixture with the smallest sum, or a plan in one layout if that runs faster as a whole.
    pub nodes: Vec<NodeMeasurement>,
    /// The sum of the costs of the mixture, in **seconds**: nodes and reorders.
    pub cost: f64,
    /// No choice among the candidates that makes as few reorders as the plan must has a smaller sum, in **seconds**.
    pub lower_bound: f64,
    /// Whether the mixture has the smallest sum of all that make as few reorders as the plan must. `false` if the network was too
    /// entangled to know.
    pub proven: bool,
    /// The least time of a run of each plan that was timed, in **seconds**.
    pub plans: Vec<(Layouts, f64)>,
    /// The plan that stayed, the fastest.
    pub kept: Layouts,
    /// Whether all times are computed from bytes and multiply-adds ([`Profiles::Estimated`], [`PlanOptions::like`]), and no plan was
    /// timed.
    pub estimated: bool,
    /// Whose choices these are, and how many nodes have them, if the plan was made [like](PlanOptions::like) another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// Whether the machine was busy: other work disturbed the runs of whole plans, or nearly all runs of a good part of the candidates.
    /// Then the least times count. Times of earlier plannings are sure.
    #[serde(default)]
    pub busy: bool,
    /// How the quantised operators compare with the same in f32, if there are any and times were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_with_f32: Option<ComparedWithF32>,
    /// Why the file of earlier times was not used, or not written, with its path. A saved plan does not keep it.
    #[serde(skip)]
    pub cache_note: Option<String>,
}

impl Measurements {
    fn of(
        nodes: Vec<NodeMeasurement>,
        solution: &Solution,
        estimated: bool,
        plans: Vec<(Layouts, f64)>,
        kept: Layouts,
    ) -> Measurements {
        let Solution { cost, lower_bound, proven, .. } = *solution;
        let (busy, like, compared_with_f32, cache_note) = (false, None, None, None);
        Measurements {
            nodes,
            cost,
            lower_bound,
            proven,
            plans,
            kept,
            estimated,
            like,
            busy,
            compared_with_f32,
            cache_note,
        }
    }
}

/// What was measured of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeMeasurement {
    /// The node's name.
    pub name: String,
    /// Its op.
    pub op: String,
    /// The candidates, the one that runs first.
    pub candidates: Vec<CandidateMeasurement>,
}

/// What was measured of one way in which a node could run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidateMeasurement {
    /// The orders of its data operands and of its results: `nchw -> nChw16c`.
    pub layouts: String,
    /// The names of the nodes that it computes as one; none if it is the node alone. Its time is that of all of them, and stands with
    /// the last.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// How it computes, where the plan decides that: what computes several nodes, `direct`, or the name of an implementation such
    /// as `winograd4`, whose weights are transformed when they are packed, or `winograd4:each_run`, which transforms them in each
    /// run.
    #[serde(default)]
    pub algorithm: Option<String>,
    /// What runs, of the first candidate, if its weights are packed.
    pub implementation: Option<String>,
    /// What it takes, in **seconds**: the median of its times, or the least where other work disturbed them. `None` if it cannot
    /// run, or is a view.
    pub seconds: Option<f64>,
}

/// The targets whose plans give the candidates.
pub(super) fn targets() -> Vec<Target> {
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
pub(super) fn plan(network: &Network, options: &PlanOptions, passes: Vec<PassReport>) -> Result<Plan> {
    let PlanOptions { profiles, limits, stop, like, .. } = options;
    let estimated = like.is_some() || *profiles == Profiles::Estimated;
    let twins = if estimated { Twins::default() } else { Twins::of(network) };
    let (weights, budget) = (PackedWeights::new(stop), Budget::new(!twins.of.is_empty()));
    let mut candidates = candidates::candidates(network, &targets(), *limits, stop)?;
    let mut whose = None;
    if let Some(pattern) = like {
        (candidates, whose) = pattern.narrowed(network, candidates);
    }
    let unlike = || {
        let options = PlanOptions { like: None, profiles: Profiles::Estimated, ..options.clone() };
        plan(network, &options, passes.clone())
    };
    let edges = choose::edges(network, &candidates)?;
    let mut cache = Cache::of(if estimated { &Profiles::Estimated } else { profiles });
    let (mut costs, profiles) = match estimated {
        true => estimate::estimated(network, &candidates, &edges, &weights)?,
        false => costs::measured(network, &candidates, &edges, &weights, &mut cache, &budget)?,
    };
    for (node, candidate) in algorithms::beyond(network, &candidates, &costs.nodes, *limits) {
        costs.nodes[node][candidate] = IMPOSSIBLE;
    }
    stop.check()?;
    let mixture = |solution: &Solution| {
        let chosen = candidates.iter().zip(&solution.values).map(|(list, &value)| list[value].clone());
        let chosen = chosen.collect::<Vec<_>>();
        build::chosen(network, &chosen, &weights, Layouts::Measured, passes.clone())
    };
    let cheapest = || choose::choose(&candidates, &edges, &costs, LARGEST_TABLE);
    let most = limits.most_reorders;
    let solution = match most {
        None => cheapest(),
        Some(most) => {
            let open = limit::Open { network, candidates: &candidates, edges: &edges, costs: &costs };
            match limit::within(&open, most, mixture) {
                Err(error) if costs::is_lasting(&error) => cheapest(),
                solution => solution?,
            }
        }
    };
    // Choices of other sizes may not go together here.
    if like.is_some() && solution.cost >= IMPOSSIBLE {
        return unlike();
    }
    let build = |layouts: Layouts| match layouts {
        Layouts::Nhwc => {
            build::uniform(network, Target::ChannelsLast, &weights, *limits, layouts, passes.clone())
        }
        Layouts::Blocked => {
            build::uniform(network, Target::Native, &weights, *limits, layouts, passes.clone())
        }
        _ => mixture(&solution),
    };
    let chosen: Vec<Option<usize>> = solution.values.iter().copied().map(Some).collect();
    if estimated {
        let plan = build(Layouts::Measured)?;
        // Nor may they keep to the number of reorders here.
        if like.is_some() && most.is_some_and(|most| plan.reorders.len() > most) {
            return unlike();
        }
        limit::check(&plan.reorders, most, "")?;
        let nodes = report(network, &candidates, &chosen, &plan, &profiles);
        let of = Measurements::of(nodes, &solution, estimated, vec![], Layouts::Measured);
        let measurements = Measurements { like: whose, ..of };
        return Ok(Plan { measurements: Some(measurements), ..plan });
    }
    let name = name(network, &candidates, &solution.values);
    // With a limit, only plans that keep it are timed.
    let within = most.map(|_| buildable(build, most)).transpose()?;
    let timed = within.as_ref().map_or(TIMED.to_vec(), |(layouts, _)| layouts.clone());
    let (race, plans) = match name.as_ref().and_then(|name| known(name, &timed, &mut cache)) {
        // Only plans that could stay are built again.
        Some(race) => {
            let plans = race.equal().map(|i| Ok((i, build(race.layouts[i])?))).collect::<Result<Vec<_>>>()?;
            (race, plans)
        }
        None => {
            let (layouts, plans) = within.map_or_else(|| buildable(build, most), Ok)?;
            let race = race::race(layouts, &plans, solution.cost, &budget, stop)?;
            if let Some(name) = &name {
                race.times().for_each(|(layouts, seconds)| {
                    cache.put(in_layouts(name, layouts), Some(Profile::once(seconds, race.disturbed)));
                });
            }
            (race, plans.into_iter().enumerate().collect())
        }
    };
    let busy = is_busy(&profiles, race.disturbed);
    let (kept, plan) = race.winner(plans);
    let times: Vec<(Layouts, f64)> = race.times().collect();
    let runs = match kept {
        Layouts::Measured => chosen,
        _ => {
            let lists = candidates.iter().zip(&plan.recipe.choices);
            lists.map(|(list, choice)| candidates::position(network, list, choice)).collect()
        }
    };
    let taken: Vec<Option<Profile>> = runs.iter().zip(&profiles).map(|(run, list)| list[(*run)?]).collect();
    let run = times.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min);
    let time = twins::Time { budget: &budget, run, disturbed: busy };
    let compared_with_f32 = twins::compared(network, &twins, &taken, options, time, &mut cache)?;
    let cache_note = cache.save();
    let nodes = report(network, &candidates, &runs, &plan, &profiles);
    let of = Measurements::of(nodes, &solution, estimated, times, kept);
    let measurements = Measurements { busy, compared_with_f32, cache_note, ..of };
    Ok(Plan { layouts: Layouts::Measured, measurements: Some(measurements), ..plan })
}

/// The share of candidates with disturbed times from which on a machine counts as busy: any other program disturbs a few.
const BUSY: f64 = 0.05;

/// Whether other work disturbed what was measured, or the runs of whole plans.
fn is_busy(profiles: &NodeProfiles, race_disturbed: bool) -> bool {
    let all = profiles.iter().flatten().flatten();
    let disturbed = all.clone().filter(|profile| profile.disturbed).count();
    race_disturbed || disturbed as f64 > BUSY * all.count() as f64
}

/// The plans that can be built, of those that are timed, and that make no more reorders than are allowed: a network may have a
/// node that does not run in one layout.
fn buildable(
    build: impl Fn(Layouts) -> Result<Plan>,
    most: Option<usize>,
) -> Result<(Vec<Layouts>, Vec<Plan>)> {
    let (mut layouts, mut plans, mut refused) = (Vec::new(), Vec::new(), None);
    let mut fewest: Option<Vec<Reorder>> = None;
    for one in TIMED {
        match build(one) {
            Ok(plan) if most.is_some_and(|most| plan.reorders.len() > most) => {
                if fewest.as_ref().is_none_or(|fewest| plan.reorders.len() < fewest.len()) {
                    fewest = Some(plan.reorders);
                }
            }
            Ok(plan) => {
                layouts.push(one);
                plans.push(plan);
            }
            Err(error) if costs::is_lasting(&error) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    if !plans.is_empty() {
        return Ok((layouts, plans));
    }
    match (fewest, refused) {
        (None, Some(error)) => Err(error),
        (fewest, _) => limit::check(&fewest.unwrap_or_default(), most, "").map(|()| (layouts, plans)),
    }
}

/// The times of these plans, if an earlier planning is sure of them.
fn known(name: &str, layouts: &[Layouts], cache: &mut Cache) -> Option<Race> {
    let profiles: Vec<_> =
        layouts.iter().map(|layouts| cache.get(&in_layouts(name, *layouts)).flatten()).collect();
    let sure = profiles.iter().map(|profile| profile.filter(|p| !p.disturbed).map(|p| p.seconds));
    Some(Race { layouts: layouts.to_vec(), seconds: sure.collect::<Option<_>>()?, disturbed: false })
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

/// What was measured of each node. `runs` says which candidate the plan runs: `None` if it is none of them.
fn report(
    network: &Network,
    all: &[Vec<Choice>],
    runs: &[Option<usize>],
    plan: &Plan,
    profiles: &NodeProfiles,
) -> Vec<NodeMeasurement> {
    let of = |node: usize| {
        let measured = |choice: &Choice, profile: Option<Profile>| {
            let name = |list: Vec<&TensorDesc>| {
                list.into_iter().map(TensorDesc::layout_name).collect::<Vec<_>>().join(", ")
            };
            CandidateMeasurement {
                layouts: format!(
                    "{} -> {}",
                    name(data(network, choice).map(|(_, d)| d).collect()),
                    name(choice.outputs.iter().collect())
                ),
                nodes: choice.group.as_ref().map_or(vec![], |group| {
                    group.nodes.iter().map(|&n| network.nodes[n].name.clone()).collect()
                }),
                algorithm: match &choice.group {
                    Some(group) => Some(group.fusion.name().to_string()),
                    None => choice.computes.map(|c| c.name().to_string()),
                },
                implementation: None,
                seconds: profile.map(|p| p.seconds),
            }
        };
        let choice = &plan.recipe.choices[node];
        let first = runs[node].map_or(measured(choice, None), |k| measured(&all[node][k], profiles[node][k]));
        let first = CandidateMeasurement { implementation: choice.implementation.clone(), ..first };
        let mut others: Vec<usize> = (0..all[node].len()).filter(|k| runs[node] != Some(*k)).collect();
        let seconds = |k: usize| profiles[node][k].map_or(f64::INFINITY, |p| p.seconds);
        others.sort_by(|&a, &b| seconds(a).total_cmp(&seconds(b)));
        let others = others.into_iter().map(|k| measured(&all[node][k], profiles[node][k]));
        NodeMeasurement {
            name: network.nodes[node].name.clone(),
            op: network.nodes[node].op.op().to_string(),
            candidates: std::iter::once(first).chain(others).collect(),
        }
    };
    (0..all.len()).map(of).collect()
}
