//! Which nodes of a graph run here, as which regions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use blocktensor::counted;
use blocktensor_graph::{Constant, Dim, Graph, Outcome, Sizes, partition};
use blocktensor_onnx::{HostModel, HostNode, HostValue, Importer};

use crate::assumed;
use crate::failure::Result;

/// A list of integers with more is no list of sizes.
const MOST_NUMBERS: usize = 8;

/// A graph of ONNX Runtime's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) opsets: Vec<(String, i64)>,
    /// The model's file, if it has one.
    pub(crate) path: Option<PathBuf>,
    /// Whether it takes values from a graph around it.
    pub(crate) is_body: bool,
    /// In an order in which they can run, with names that differ.
    pub(crate) nodes: Vec<Node>,
    /// Names of the graph's outputs.
    pub(crate) outputs: HashSet<String>,
    /// The types of the values that a run computes or gets.
    pub(crate) values: HashMap<String, HostValue>,
    /// Values that are known, or why they cannot be read.
    pub(crate) constants: HashMap<String, Result<Constant, String>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) read: HostNode,
    /// What the graphs inside take from the graph around them.
    pub(crate) implicit: Vec<String>,
    /// Whether another provider has it.
    pub(crate) is_taken: bool,
    /// Whether it carries a plan of this provider.
    pub(crate) is_compiled: bool,
    /// Whether it has graphs inside, such as `If`.
    pub(crate) has_graphs: bool,
    /// Why it cannot run, where its op does not matter.
    pub(crate) reason: Option<String>,
}

impl Node {
    /// What it and the graphs inside read.
    fn takes(&self) -> impl Iterator<Item = &str> {
        self.read.inputs.iter().chain(&self.implicit).map(String::as_str).filter(|name| !name.is_empty())
    }
}

/// What runs here, and what does not, with the reasons.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    /// Numbers of nodes.
    pub(crate) regions: Vec<Vec<usize>>,
    /// Numbers of nodes, and why each cannot run.
    pub(crate) left: Vec<(usize, String)>,
}

impl Model {
    /// Gives every node a name of its own: errors name nodes.
    pub(crate) fn name_nodes(&mut self) {
        let mut names = HashSet::new();
        for node in &mut self.nodes {
            let node = &mut node.read;
            if node.name.is_empty() || !names.insert(node.name.clone()) {
                let output = node.outputs.iter().find(|name| !name.is_empty());
                let base = if node.name.is_empty() { &node.op_type } else { &node.name };
                node.name = format!("{base} -> {}", output.map_or("", |name| name));
                names.insert(node.name.clone());
            }
        }
    }

    /// Refuses every second node of an op, as if it could not run: for tests of what other providers then compute.
    #[cfg(any(test, feature = "refusals"))]
    pub(crate) fn refuse_every_second(&mut self, op: &str) {
        let of_op = self.nodes.iter_mut().filter(|node| node.read.op_type == op);
        of_op.step_by(2).for_each(|node| node.reason = Some("a test refuses it".to_string()));
    }

    /// The nodes that run here. Named sizes are those of the option `sizes`, where it has them. Without `partial` the search ends where
    /// some nodes do not run: the caller refuses the model.
    pub(crate) fn claims(&self, partial: bool, sizes: &[Sizes]) -> Claims {
        let reads = self.reads();
        let mut runs: Vec<bool> = self.nodes.iter().map(|node| !node.is_taken && !node.is_compiled).collect();
        let compiled =
            || (0..self.nodes.len()).filter(|&i| self.nodes[i].is_compiled && !self.nodes[i].is_taken);
        let mut left = BTreeMap::new();
        loop {
            let mut regions = partition(&reads, &runs);
            let missing: Vec<_> = regions.iter().flat_map(|region| self.missing(region, sizes)).collect();
            let ends = missing.is_empty() || !partial;
            missing.iter().for_each(|&(i, _)| runs[i] = false);
            left.extend(missing);
            if ends {
                // ONNX Runtime gives a fused node the results that others read, and one without any cannot be planned.
                let unused = regions.extract_if(.., |region| self.results(region).is_empty()).flatten();
                left.extend(unused.map(|i| (i, "nothing reads its results".to_string())));
                regions.extend(compiled().map(|i| vec![i]));
                return Claims { regions, left: left.into_iter().collect() };
            }
        }
    }

    /// Leaves regions of fewer nodes than the option `min_nodes` says to other providers. Compiled nodes stay.
    pub(crate) fn leave_small(&self, claims: Claims, min_nodes: usize) -> Claims {
        let Claims { mut regions, mut left } = claims;
        let is_small =
            |region: &[usize]| region.len() < min_nodes && !region.iter().any(|&i| self.nodes[i].is_compiled);
        for region in regions.extract_if(.., |region| is_small(region)) {
            let reason = format!(
                "its fused node would have {}, and the option `min_nodes` is {min_nodes}",
                counted(region.len(), "node")
            );
            left.extend(region.into_iter().map(|i| (i, reason.clone())));
        }
        left.sort_by_key(|(i, _)| *i);
        Claims { regions, left }
    }

    /// For each node those whose results it reads.
    fn reads(&self) -> Vec<Vec<usize>> {
        let makers = self.makers();
        let of = |node: &Node| node.takes().filter_map(|name| makers.get(name).copied()).collect();
        self.nodes.iter().map(of).collect()
    }

    /// The node that computes each value.
    fn makers(&self) -> HashMap<&str, usize> {
        let named = |i: usize| self.nodes[i].read.outputs.iter().filter(|name| !name.is_empty());
        (0..self.nodes.len()).flat_map(|i| named(i).map(move |name| (name.as_str(), i))).collect()
    }

    /// The tensors that leave a region or come into one: name, the node that makes it, and the first that reads it on the other side.
    fn crossings(&self, regions: &[Vec<usize>]) -> Vec<(&str, usize, usize)> {
        let region = |i: usize| regions.iter().position(|region| region.contains(&i));
        let region: Vec<Option<usize>> = (0..self.nodes.len()).map(region).collect();
        let (makers, mut seen, mut crossings) = (self.makers(), HashSet::new(), Vec::new());
        for (to, node) in self.nodes.iter().enumerate() {
            for name in node.takes() {
                let Some(&from) = makers.get(name) else { continue };
                let alone = region[to].is_none().then_some(to);
                if region[from] != region[to] && seen.insert((name, region[to], alone)) {
                    crossings.push((name, from, to));
                }
            }
        }
        crossings
    }

    /// A node that the provider may have: one without graphs inside, where there is one.
    pub(crate) fn any(&self) -> Option<usize> {
        let free = || (0..self.nodes.len()).filter(|&i| !self.nodes[i].is_taken);
        free().find(|&i| !self.nodes[i].has_graphs).or_else(|| free().next())
    }

    /// The nodes that cannot run, for people.
    pub(crate) fn listed(&self, left: &[(usize, String)]) -> String {
        let line = |(i, reason): &(usize, String)| {
            let node = &self.nodes[*i].read;
            let domain = if node.domain.is_empty() { String::new() } else { format!("{}.", node.domain) };
            format!("\n  node `{}`: {domain}{}: {reason}", node.name, node.op_type)
        };
        left.iter().map(line).collect()
    }

    /// The crossings between these regions and all other nodes, for people.
    pub(crate) fn listed_crossings(&self, regions: &[Vec<usize>]) -> String {
        let name = |i: usize| &self.nodes[i].read.name;
        let line = |&(tensor, from, to): &(&str, usize, usize)| {
            format!("\n  tensor `{tensor}`: node `{}` -> node `{}`", name(from), name(to))
        };
        let crossings = self.crossings(regions);
        let lines: String = crossings.iter().map(line).collect();
        let colon = if lines.is_empty() { "" } else { ":" };
        format!("{} into and out of fused nodes{colon}{lines}", counted(crossings.len(), "crossing"))
    }

    /// Those of the nodes that cannot run as one region, and why.
    fn missing(&self, run: &[usize], sizes: &[Sizes]) -> Vec<(usize, String)> {
        let unread = |&i: &usize| self.unread(i).map(|reason| (i, reason));
        let unread: Vec<_> = run.iter().filter_map(unread).collect();
        if !unread.is_empty() {
            return unread;
        }
        let graph = match self.graph(run) {
            Ok(graph) => graph,
            Err(e) => {
                // An importer's error is about the first node or value that it refuses.
                let alone = |&i: &usize| self.graph(&[i]).err().map(|reason| (i, reason));
                let refused: Vec<_> = run.iter().filter_map(alone).collect();
                let all = || run.iter().map(|&i| (i, e.clone())).collect();
                return if refused.is_empty() { all() } else { refused };
            }
        };
        assumed::missing(self, &graph, run, sizes)
    }

    /// The numbers in the constants that a node takes: their sizes, and short lists of integers.
    pub(crate) fn numbers(&self, i: usize) -> impl Iterator<Item = usize> {
        let constants =
            self.nodes[i].read.inputs.iter().filter_map(|name| self.constants.get(name)?.as_ref().ok());
        constants.flat_map(|constant| {
            let few = constant.as_ints().filter(|list| list.len() <= MOST_NUMBERS).unwrap_or_default();
            let integers = few.iter().filter_map(|n| usize::try_from(*n).ok());
            constant.dims().iter().copied().chain(integers).filter(|n| *n > 0).collect::<Vec<_>>()
        })
    }

    /// The names of all sizes.
    pub(crate) fn named_sizes(&self) -> impl Iterator<Item = &str> {
        let dims = self.values.values().flat_map(|value| value.dims.iter().flatten());
        dims.filter_map(|dim| if let Dim::Named(name) = dim { Some(name.as_str()) } else { None })
    }

    /// Those of the nodes that cannot run with these sizes.
    pub(crate) fn missing_at(&self, graph: &Graph, run: &[usize], sizes: &Sizes) -> Vec<(usize, String)> {
        let outcomes = match graph.outcomes(sizes) {
            Ok((outcomes, _)) => outcomes,
            Err(e) => return run.iter().map(|&i| (i, e.to_string())).collect(),
        };
        let numbers: HashMap<&str, usize> =
            run.iter().map(|&i| (self.nodes[i].read.name.as_str(), i)).collect();
        let missing = graph.nodes().zip(outcomes).filter_map(|((name, ..), became)| match became {
            Outcome::Missing(reason) => Some((*numbers.get(name)?, reason)),
            _ => None,
        });
        missing.collect()
    }

    /// Why a node cannot run, if no sizes have to be known for that.
    fn unread(&self, i: usize) -> Option<String> {
        let node = &self.nodes[i];
        let constant = |name: &String| self.constants.get(name)?.as_ref().err().cloned();
        let reason = node.reason.clone().or_else(|| node.read.inputs.iter().find_map(constant));
        reason.or_else(|| Importer::new().refusal(&node.read, &self.opsets))
    }

    fn graph(&self, run: &[usize]) -> Result<Graph, String> {
        Importer::new().from_host(self.part(run)).map_err(|e| e.to_string())
    }

    /// These nodes as a model of their own.
    fn part(&self, run: &[usize]) -> HostModel {
        let nodes: Vec<HostNode> = run.iter().map(|&i| self.nodes[i].read.clone()).collect();
        let made: HashSet<&str> = nodes.iter().flat_map(|n| &n.outputs).map(String::as_str).collect();
        let mut seen = HashSet::new();
        let outer = nodes.iter().flat_map(|n| &n.inputs).filter(|name| {
            !name.is_empty() && !made.contains(name.as_str()) && !self.constants.contains_key(*name)
        });
        let outer: Vec<&String> = outer.filter(|name| seen.insert(name.as_str())).collect();
        let mut outputs = self.results(run);
        if outputs.is_empty() {
            outputs = nodes.iter().flat_map(|n| &n.outputs).filter(|name| !name.is_empty()).collect();
        }
        let values = |names: Vec<&String>| names.into_iter().map(|name| self.value(name)).collect();
        let (inputs, outputs) = (values(outer), values(outputs));
        HostModel {
            opsets: self.opsets.clone(),
            constants: self.constants_of(&nodes),
            inputs,
            nodes,
            outputs,
        }
    }

    /// What nodes give to others, or to the graph's outputs.
    fn results(&self, run: &[usize]) -> Vec<&String> {
        let inside: HashSet<usize> = run.iter().copied().collect();
        let elsewhere = (0..self.nodes.len()).filter(|i| !inside.contains(i)).map(|i| &self.nodes[i]);
        let used: HashSet<&str> = elsewhere.flat_map(Node::takes).collect();
        let all = run.iter().flat_map(|&i| &self.nodes[i].read.outputs);
        all.filter(|name| used.contains(name.as_str()) || self.outputs.contains(*name)).collect()
    }

    fn value(&self, name: &str) -> HostValue {
        let unknown = || HostValue { name: name.to_string(), ..HostValue::default() };
        self.values.get(name).cloned().unwrap_or_else(unknown)
    }

    /// The constants that nodes take.
    fn constants_of(&self, nodes: &[HostNode]) -> Vec<(String, Constant)> {
        let mut seen = HashSet::new();
        let names = nodes.iter().flat_map(|n| &n.inputs).filter(|name| seen.insert(name.as_str()));
        let known =
            names.filter_map(|name| Some((name.clone(), self.constants.get(name)?.as_ref().ok()?.clone())));
        known.collect()
    }

    /// All nodes, for a fused node with these ends.
    pub(crate) fn fused(&self, inputs: Vec<HostValue>, outputs: Vec<HostValue>) -> HostModel {
        let nodes: Vec<HostNode> = self.nodes.iter().map(|node| node.read.clone()).collect();
        HostModel {
            opsets: self.opsets.clone(),
            constants: self.constants_of(&nodes),
            inputs,
            nodes,
            outputs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain.
    fn model(ops: &[&str]) -> Model {
        let reads: Vec<[usize; 1]> = (0..ops.len()).map(|i| [i]).collect();
        let nodes: Vec<(&str, &[usize])> =
            ops.iter().zip(&reads).map(|(op, reads)| (*op, &reads[..])).collect();
        graph(&nodes)
    }

    /// Nodes with the numbers of the values that they read: 0 is the input, `i + 1` the result of node `i`.
    fn graph(nodes: &[(&str, &[usize])]) -> Model {
        let mut model = Model { opsets: vec![(String::new(), 17)], ..Model::default() };
        let name = |i: usize| format!("v{i}");
        for i in 0..=nodes.len() {
            let value =
                HostValue { name: name(i), data_type: 1, dims: Some(vec![Dim::from("n"), Dim::from(3)]) };
            model.values.insert(name(i), value);
        }
        for (i, (op, reads)) in nodes.iter().enumerate() {
            let read = HostNode {
                op_type: op.to_string(),
                inputs: reads.iter().map(|&i| name(i)).collect(),
                outputs: vec![name(i + 1)],
                ..HostNode::default()
            };
            model.nodes.push(Node { read, ..Node::default() });
        }
        model.outputs.insert(name(nodes.len()));
        model.name_nodes();
        model
    }

    #[test]
    fn all_nodes_are_one_region_where_all_run() {
        let claims = model(&["Relu", "Exp", "Relu"]).claims(false, &[]);
        assert_eq!((claims.regions, claims.left.len()), (vec![vec![0, 1, 2]], 0));
    }

    #[test]
    fn every_second_node_of_an_op_is_refused() {
        let mut model = model(&["Relu", "Exp", "Relu", "Relu", "Exp", "Relu"]);
        model.refuse_every_second("Relu");
        let Claims { regions, left } = model.claims(true, &[]);
        let refused = "a test refuses it".to_string();
        assert_eq!((regions, left), (vec![vec![1, 2], vec![4, 5]], vec![(0, refused.clone()), (3, refused)]));
    }

    #[test]
    fn a_whole_model_is_one_region_though_its_parts_are_not_connected() {
        let nodes: [(&str, &[usize]); 2] = [("Relu", &[0]), ("Exp", &[0])];
        assert_eq!(graph(&nodes).claims(false, &[]).regions, [vec![0, 1]]);
    }

    #[test]
    fn regions_end_at_nodes_that_cannot_run() {
        let model = model(&["Relu", "Det", "Exp", "Bernoulli", "Relu", "Relu"]);
        let claims = model.claims(true, &[]);
        assert_eq!(claims.regions, [vec![0], vec![2], vec![4, 5]]);
        let text = model.listed(&claims.left);
        assert!(
            text.contains("node `Det -> v2`: Det: ") && text.contains("node `Bernoulli -> v4`"),
            "{text}"
        );
        assert_eq!(model.claims(false, &[]).left.len(), 2);
    }

    #[test]
    fn regions_of_few_nodes_are_left_where_the_option_says_so() {
        let mut model = model(&["Relu", "Det", "Exp", "Relu", "Det", "EPContext"]);
        model.nodes[5].is_compiled = true;
        let claims = |min_nodes| model.leave_small(model.claims(true, &[]), min_nodes);
        assert_eq!(claims(0).regions, [vec![0], vec![2, 3], vec![5]]);
        assert_eq!(claims(2).regions, [vec![2, 3], vec![5]]);
        let Claims { regions, left } = claims(3);
        assert_eq!(regions, [[5]]);
        assert_eq!(left.iter().map(|(i, _)| *i).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        let text = model.listed(&left);
        for part in [
            "node `Relu -> v1`: Relu: its fused node would have 1 node, and the option `min_nodes` is 3",
            "node `Relu -> v4`: Relu: its fused node would have 2 nodes, and the option `min_nodes` is 3",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_refusal_lists_nodes_with_all_kinds_of_reasons() {
        let mut model = model(&["Relu", "If", "Det", "Exp", "Relu"]);
        model.nodes[1].reason = Some("it has graphs inside".to_string());
        model.constants.insert("w".into(), Err("its file is elsewhere".to_string()));
        model.nodes[3].read.inputs.push("w".into());
        let left = model.claims(false, &[]).left;
        assert_eq!(left.iter().map(|(i, _)| *i).collect::<Vec<_>>(), [1, 2, 3]);
        let text = model.listed(&left);
        assert!(["graphs inside", "no importer", "elsewhere"].iter().all(|p| text.contains(p)), "{text}");
    }

    #[test]
    fn regions_whose_results_nothing_reads_are_left() {
        // 0 -> 1 (`Det`) -> 4, and 1 -> 2 -> 3.
        let nodes: [(&str, &[usize]); 5] =
            [("Relu", &[0]), ("Det", &[1]), ("Exp", &[2]), ("Abs", &[3]), ("Relu", &[2])];
        let model = graph(&nodes);
        let claims = model.claims(true, &[]);
        assert_eq!(claims.regions, [vec![0], vec![4]]);
        let text = model.listed(&claims.left);
        assert!(text.contains("node `Exp -> v3`: Exp: nothing reads its results"), "{text}");
        assert_eq!(claims.left.len(), 3);
    }

    /// 0 -> 1 (`Det`) -> 2 -> 4, and 0 -> 3 -> 4.
    #[test]
    fn nodes_of_a_region_need_not_be_neighbours_in_the_order() {
        let nodes: [(&str, &[usize]); 5] =
            [("Relu", &[0]), ("Det", &[1]), ("Exp", &[2]), ("Abs", &[1]), ("Add", &[3, 4])];
        let model = graph(&nodes);
        let claims = model.claims(true, &[]);
        assert_eq!(claims.regions, [vec![0, 3], vec![2, 4]]);
        let lines = model.listed_crossings(&claims.regions);
        let wanted = "3 crossings into and out of fused nodes:\n  tensor `v1`: node `Relu -> v1` -> node `Det -> v2`\n  \
                      tensor `v2`: node `Det -> v2` -> node `Exp -> v3`\n  tensor `v4`: node `Abs -> v4` -> node `Add -> v5`";
        assert_eq!(lines, wanted);
    }

    #[test]
    fn a_tensor_crosses_once_into_each_region_and_each_other_node() {
        let nodes: [(&str, &[usize]); 5] =
            [("Det", &[0]), ("Relu", &[1]), ("Add", &[2, 1]), ("Det", &[3]), ("Bernoulli", &[3])];
        let mut model = graph(&nodes);
        model.outputs.insert("v4".into());
        let claims = model.claims(true, &[]);
        assert_eq!(claims.regions, [vec![1, 2]]);
        assert_eq!(model.crossings(&claims.regions), [("v1", 0, 1), ("v3", 2, 3), ("v3", 2, 4)]);
    }

    #[test]
    fn compiled_nodes_are_regions_of_their_own() {
        let mut model = model(&["Relu", "EPContext", "Exp", "Relu"]);
        model.nodes[1].is_compiled = true;
        let claims = model.claims(false, &[]);
        assert_eq!((claims.regions, claims.left.len()), (vec![vec![0], vec![2, 3], vec![1]], 0));
        model.nodes[1].is_taken = true;
        assert_eq!(model.claims(false, &[]).regions, [vec![0], vec![2, 3]]);
    }

    #[test]
    fn nodes_of_other_providers_are_left_alone() {
        let mut model = model(&["Relu", "Det", "Exp"]);
        model.nodes[1].is_taken = true;
        let claims = model.claims(false, &[]);
        assert_eq!((claims.regions, claims.left.len()), (vec![vec![0], vec![2]], 0));
    }
}
