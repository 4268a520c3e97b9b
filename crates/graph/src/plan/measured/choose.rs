//! Which candidate each node takes, so that the sum of all costs is the smallest: nodes and reorders.
//!
//! A variable for each node says which candidate it takes. A tensor with several consumers has one more, the set of orders
//! that it exists in: so a reorder is paid once, whoever uses its result.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use blocktensor::{MemoryFormat, TensorDesc};

use super::super::choice::Choice;
use super::super::fuse::Group;
use super::candidates::{data, is_free};
use crate::error::Result;
use crate::minimise::{IMPOSSIBLE, Problem, Solution};
use crate::network::{Links, Network, TensorId};

/// What everything costs, in **seconds**. Costs are data: measured, computed, or made up by a test.
#[derive(Clone, Debug, Default)]
pub(super) struct Costs {
    /// For each candidate of each node.
    pub(super) nodes: Vec<Vec<f64>>,
    /// For each pair of orders that a reorder could have to join.
    pub(super) reorders: HashMap<(TensorDesc, TensorDesc), f64>,
    /// Added for each reorder, beside [`FOR_EACH_REORDER`].
    pub(super) price_of_reorder: f64,
}

/// Added for each reorder, in **seconds**: of choices that cost the same, the one with fewer reorders is taken.
const FOR_EACH_REORDER: f64 = 1e-8;

impl Costs {
    fn reorder(&self, from: &TensorDesc, to: &TensorDesc) -> f64 {
        if is_free(from, to) {
            return 0.0;
        }
        let cost = self.reorders.get(&(from.clone(), to.clone())).copied();
        FOR_EACH_REORDER + self.price_of_reorder + cost.unwrap_or(IMPOSSIBLE)
    }
}

/// A tensor that nodes compute or that comes from outside, and who wants it.
pub(super) struct Edge {
    producer: Option<usize>,
    /// What it is from each candidate of its producer; one order if it comes from outside.
    produced: Vec<TensorDesc>,
    consumers: Vec<usize>,
    /// For each consumer and each of its candidates the orders that it wants.
    wanted: Vec<Vec<Vec<TensorDesc>>>,
    is_output: bool,
}

/// The tensors between nodes.
pub(super) fn edges(network: &Network, candidates: &[Vec<Choice>]) -> Result<Vec<Edge>> {
    let links = Links::of(network);
    let mut consumers_of: Vec<Vec<usize>> = vec![Vec::new(); network.tensors.len()];
    for (n, node) in network.nodes.iter().enumerate() {
        for id in &node.inputs {
            // A node that takes a tensor twice wants it once.
            if consumers_of[id.0].last() != Some(&n) {
                consumers_of[id.0].push(n);
            }
        }
    }
    let outputs: HashSet<TensorId> = network.outputs.iter().map(|(_, id)| *id).collect();
    let mut edges = Vec::new();
    for (t, tensor) in network.tensors.iter().enumerate() {
        let id = TensorId(t);
        let consumers = std::mem::take(&mut consumers_of[t]);
        let is_output = outputs.contains(&id);
        if tensor.constant.is_some() || (consumers.is_empty() && !is_output) {
            continue;
        }
        let producer = links.producer(id);
        let produced = match producer {
            Some(n) => {
                let at = network.nodes[n].outputs.iter().position(|o| *o == id).unwrap_or(0);
                candidates[n].iter().map(|c| c.outputs[at].clone()).collect()
            }
            None => vec![row_major(network, id)?],
        };
        let wanted = consumers.iter().map(|&n| {
            let of =
                |c: &Choice| data(network, c).filter(|(i, _)| *i == id).map(|(_, d)| d.clone()).collect();
            candidates[n].iter().map(of).collect()
        });
        let wanted = wanted.collect();
        edges.push(Edge { producer, produced, consumers, wanted, is_output });
    }
    Ok(edges)
}

fn row_major(network: &Network, id: TensorId) -> Result<TensorDesc> {
    let tensor = network.tensor(id);
    Ok(TensorDesc::strided(&tensor.dims, tensor.dtype, MemoryFormat::Contiguous)?)
}

impl Edge {
    /// All orders that somebody may want.
    fn orders(&self) -> Vec<TensorDesc> {
        let mut orders: Vec<TensorDesc> = Vec::new();
        let outside = self.outside();
        for desc in self.wanted.iter().flatten().flatten().chain(&outside) {
            if !orders.iter().any(|o| is_free(o, desc)) {
                orders.push(desc.clone());
            }
        }
        orders
    }

    /// The order in which it leaves the network.
    fn outside(&self) -> Option<TensorDesc> {
        let first = &self.produced[0];
        let desc = TensorDesc::strided(first.dims(), first.dtype(), MemoryFormat::Contiguous);
        desc.ok().filter(|_| self.is_output)
    }

    /// All pairs of orders between which a reorder could be needed.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (TensorDesc, TensorDesc)> {
        let orders = self.orders();
        self.produced.iter().flat_map(move |from| {
            let pairs: Vec<_> =
                orders.iter().filter(|to| !is_free(from, to)).map(|to| (from.clone(), to.clone())).collect();
            pairs
        })
    }
}

/// Chooses a candidate for each node. Tables of more than `largest` entries are not made: then the choice may not be the best,
/// and the solution says so.
pub(super) fn choose(candidates: &[Vec<Choice>], edges: &[Edge], costs: &Costs, largest: usize) -> Solution {
    let mut problem = Problem::default();
    for list in candidates {
        problem.variable(list.len());
    }
    for (node, own) in costs.nodes.iter().enumerate() {
        problem.table(&[node], |at| own[at[0]]);
    }
    for edge in edges {
        add_edge(&mut problem, edge, costs);
    }
    add_groups(&mut problem, candidates);
    let mut solution = problem.solve(largest);
    solution.values.truncate(candidates.len());
    solution
}

/// The nodes of a group run together or not at all. Its cost is the last one's.
fn add_groups(problem: &mut Problem, candidates: &[Vec<Choice>]) {
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    let groups = candidates.iter().flatten().filter_map(|choice| choice.group.as_ref());
    pairs.extend(
        groups.flat_map(|group| group.nodes.iter().copied().zip(group.nodes.iter().copied().skip(1))),
    );
    for (a, b) in pairs {
        problem.table(&[a, b], |at| {
            let (of_a, of_b) = (&candidates[a][at[0]].group, &candidates[b][at[1]].group);
            let split = |group: &Option<Arc<Group>>, other: &Option<Arc<Group>>, node: usize| {
                group
                    .as_ref()
                    .is_some_and(|group| group.nodes.contains(&node) && Some(group) != other.as_ref())
            };
            if split(of_a, of_b, b) || split(of_b, of_a, a) { IMPOSSIBLE } else { 0.0 }
        });
    }
}

fn add_edge(problem: &mut Problem, edge: &Edge, costs: &Costs) {
    let orders = edge.orders();
    let place = |desc: &TensorDesc| orders.iter().position(|o| is_free(o, desc)).unwrap_or(0);
    // cost[p][o] of having order o where the producer leaves p.
    let cost: Vec<Vec<f64>> =
        edge.produced.iter().map(|from| orders.iter().map(|to| costs.reorder(from, to)).collect()).collect();
    let of_set = |from: usize, set: usize| {
        (0..orders.len()).filter(|o| set >> o & 1 == 1).map(|o| cost[from][o]).sum::<f64>()
    };
    let set_of = |list: &[TensorDesc]| list.iter().fold(0usize, |set, desc| set | 1 << place(desc));
    let outside = edge.outside().map_or(0, |desc| 1 << place(&desc));
    match (edge.producer, &edge.consumers[..]) {
        (Some(p), []) => problem.table(&[p], |at| of_set(at[0], outside)),
        (None, []) => {}
        (Some(p), [c]) => {
            problem.table(&[p, *c], |at| of_set(at[0], outside | set_of(&edge.wanted[0][at[1]])));
        }
        (None, [c]) => problem.table(&[*c], |at| of_set(0, outside | set_of(&edge.wanted[0][at[0]]))),
        (producer, consumers) => {
            let set = problem.variable(1 << orders.len());
            let total = |from: usize, set: usize| match set & outside == outside {
                true => of_set(from, set),
                false => IMPOSSIBLE,
            };
            match producer {
                Some(p) => problem.table(&[p, set], |at| total(at[0], at[1])),
                None => problem.table(&[set], |at| total(0, at[0])),
            }
            for (i, &c) in consumers.iter().enumerate() {
                problem.table(&[set, c], |at| {
                    let wanted = set_of(&edge.wanted[i][at[1]]);
                    if at[0] & wanted == wanted { 0.0 } else { IMPOSSIBLE }
                });
            }
        }
    }
}
