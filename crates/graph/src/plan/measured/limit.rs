//! The cheapest choice whose plan makes no more reorders than are allowed.
//!
//! Each reorder gets a higher price, so that the choice with the smallest sum makes fewer of them. The price at which two known
//! choices cost the same is tried next, until no choice lies between them. Between the choices that some price makes the
//! cheapest, there may be others that are allowed: these are not found.

use std::collections::HashMap;

use blocktensor::{TensorDesc, counted};

use super::super::choice::Choice;
use super::super::{Plan, Reorder, Work};
use super::LARGEST_TABLE;
use super::candidates::is_free;
use super::choose::{self, Costs, Edge};
use crate::error::{Error, Result};
use crate::minimise::{IMPOSSIBLE, Solution};
use crate::network::Network;

/// How many prices are tried. Two or three are usual.
const PRICES: usize = 40;

/// Costs that differ by this share are the same: sums are rounded.
const NOTHING: f64 = 1e-9;

/// What the choice is made of.
pub(super) struct Open<'a> {
    pub(super) network: &'a Network,
    pub(super) candidates: &'a [Vec<Choice>],
    pub(super) edges: &'a [Edge],
    pub(super) costs: &'a Costs,
}

/// A choice, and the reorders of its plan.
struct Tried {
    solution: Solution,
    /// Its cost where reorders have no price of their own.
    cost: f64,
    price: f64,
    reorders: Vec<Reorder>,
}

impl Tried {
    /// No choice that makes at most so many reorders costs less than this.
    fn bound(&self, most: usize) -> f64 {
        self.solution.lower_bound - self.price * most as f64
    }
}

/// The choice with the smallest sum of those that were found with at most this many reorders. If there is none, the one that
/// makes the fewest. `build` makes the plan of a choice.
pub(super) fn within(
    open: &Open<'_>,
    most: usize,
    build: impl Fn(&Solution) -> Result<Plan>,
) -> Result<Solution> {
    let mut prices = Prices { open, build, inside: HashMap::new(), several: HashMap::new() };
    let mut more = prices.tried(0.0)?;
    if more.reorders.len() <= most {
        return Ok(more.solution);
    }
    let mut fewer = prices.tried(highest(open))?;
    let mut bound = more.bound(most).max(fewer.bound(most));
    for _ in 0..PRICES {
        if fewer.reorders.len() > most {
            break;
        }
        let price = (fewer.cost - more.cost) / (more.reorders.len() - fewer.reorders.len()) as f64;
        let between = prices.tried(price)?;
        bound = bound.max(between.bound(most));
        let priced = |t: &Tried| t.cost + price * t.reorders.len() as f64;
        if priced(&between) >= priced(&fewer) - NOTHING * fewer.cost.abs() {
            break;
        }
        match between.reorders.len() <= most {
            true => fewer = between,
            false => more = between,
        }
    }
    let Tried { solution, cost, .. } = fewer;
    let proven = cost - bound <= NOTHING * cost.abs();
    Ok(Solution { cost, lower_bound: bound.min(cost), proven, ..solution })
}

/// A price at which no saving is worth a reorder.
fn highest(open: &Open<'_>) -> f64 {
    let possible = |costs: &[f64]| costs.iter().copied().filter(|c| *c < IMPOSSIBLE).fold(0.0, f64::max);
    let nodes: f64 = open.costs.nodes.iter().map(|list| possible(list)).sum();
    let reorder = open.costs.reorders.values().copied().fold(0.0, f64::max);
    let count = (open.edges.len() + open.candidates.len() + 1) as f64;
    // The price of all reorders together stays below that of what cannot be.
    (nodes + count * reorder).min(IMPOSSIBLE / (8.0 * count))
}

struct Prices<'a, B> {
    open: &'a Open<'a>,
    build: B,
    /// How often the kernel of a candidate reorders inside itself, as (node, candidate): known of those that ran in a plan.
    inside: HashMap<(usize, usize), usize>,
    /// Pairs of orders whose reorder is several, through row-major elements.
    several: HashMap<(TensorDesc, TensorDesc), usize>,
}

impl<B: Fn(&Solution) -> Result<Plan>> Prices<'_, B> {
    /// The cheapest choice at this price of a reorder.
    fn tried(&mut self, price: f64) -> Result<Tried> {
        loop {
            let mut costs = self.open.costs.clone();
            costs.price_of_reorder += price;
            for (&(node, candidate), &count) in &self.inside {
                costs.nodes[node][candidate] += price * count as f64;
            }
            for (pair, &count) in &self.several {
                if let Some(cost) = costs.reorders.get_mut(pair) {
                    *cost += price * (count - 1) as f64;
                }
            }
            let solution = choose::choose(self.open.candidates, self.open.edges, &costs, LARGEST_TABLE);
            let plan = (self.build)(&solution)?;
            let is_news = self.learn(&solution, &plan.reorders) | self.learn_several(&plan);
            let reorders = plan.reorders;
            if !(is_news && price > 0.0) {
                let cost = solution.cost - price * reorders.len() as f64;
                return Ok(Tried { solution, cost, price, reorders });
            }
        }
    }

    /// Notes which kernels reorder inside themselves. Gives whether one of them does that was not known to.
    fn learn(&mut self, solution: &Solution, reorders: &[Reorder]) -> bool {
        let mut is_news = false;
        for (node, &candidate) in solution.values.iter().enumerate() {
            let name = &self.open.network.nodes[node].name;
            let count = reorders.iter().filter(|r| r.in_kernel && r.node == *name).count();
            is_news |= self.inside.insert((node, candidate), count).unwrap_or(0) != count;
        }
        is_news
    }

    /// Notes which reorders of a plan are several. Gives whether one is that was not known to be.
    fn learn_several(&mut self, plan: &Plan) -> bool {
        let mut is_news = false;
        for step in plan.steps.iter().filter(|step| matches!(step.work, Work::Reorder)) {
            let count = plan.reorders.iter().filter(|r| !r.in_kernel && *r.node == *step.name).count();
            let [from, to] = [step.inputs[0], step.outputs[0]].map(|slot| &plan.slots[slot.0].desc);
            let pairs = self.open.costs.reorders.keys().filter(|(a, b)| is_free(a, from) && is_free(b, to));
            for pair in pairs.filter(|_| count > 1) {
                is_news |= self.several.insert(pair.clone(), count).is_none();
            }
        }
        is_news
    }
}

/// Refuses a plan with more reorders than are allowed. Without `elsewhere`, a remedy, no plan was found that makes fewer.
pub(in crate::plan) fn check(reorders: &[Reorder], most: Option<usize>, elsewhere: &str) -> Result<()> {
    let (count, Some(most)) = (reorders.len(), most) else { return Ok(()) };
    if count <= most {
        return Ok(());
    }
    let least = if elsewhere.is_empty() { " at least" } else { "" };
    let places: Vec<String> =
        reorders.iter().map(|r| format!("{} ({} -> {})", r.node, r.from, r.to)).collect();
    Err(Error::Invalid {
        what: "reorders".to_string(),
        got: format!("{}{least} in each run: {}", counted(count, "reorder"), places.join(", ")),
        rule: format!("at most {most} may be").into(),
        // The option's name of `PlanOptions::parse`, which every door has.
        remedy: format!("allow that with `reorders={count}`{elsewhere}").into(),
    })
}
