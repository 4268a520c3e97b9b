//! Numbers for named sizes, with which a graph is asked what runs before any run has told them.

use std::collections::{BTreeSet, HashMap};

use blocktensor_graph::{Dim, Graph, Sizes};

use crate::claim::Model;

/// Numbers that are tried: for names of a first axis, and for all others.
const TRIED: [(usize, usize); 6] = [(1, 224), (2, 64), (1, 16), (1, 1), (2, 7), (1, 640)];
/// How many more are tried, from the constants of the nodes that do not run with those.
const MOST: usize = 64;

/// Those of a region's nodes that cannot run, and why.
type Missing = Vec<(usize, String)>;

/// What was asked so far.
struct Asked<'a> {
    model: &'a Model,
    graph: &'a Graph,
    run: &'a [usize],
    /// The fewest nodes that cannot run, and the sizes with which that was found.
    best: Option<(Missing, Sizes)>,
    /// For each node the first reason, and whether there were others: then it depends on the sizes.
    reasons: HashMap<usize, (String, bool)>,
}

impl Asked<'_> {
    /// Asks with these sizes, and returns whether fewer nodes are missing.
    fn improves(&mut self, sizes: Sizes) -> bool {
        let missing = self.model.missing_at(self.graph, self.run, &sizes);
        for (i, reason) in &missing {
            let (first, differs) = self.reasons.entry(*i).or_insert_with(|| (reason.clone(), false));
            *differs |= first != reason;
        }
        let is_better = self.best.as_ref().is_none_or(|(best, _)| missing.len() < best.len());
        if is_better {
            self.best = Some((missing, sizes));
        }
        is_better
    }

    fn is_whole(&self) -> bool {
        self.best.as_ref().is_some_and(|(missing, _)| missing.is_empty())
    }

    /// Tries the numbers of the constants that the missing nodes take: a convolution's weights have the channels of its source.
    fn improves_by_constants(&mut self, left: &mut usize) -> bool {
        let Some((missing, sizes)) = self.best.clone() else { return false };
        let numbers: BTreeSet<usize> = missing.iter().flat_map(|(i, _)| self.model.numbers(*i)).collect();
        for name in self.graph.named_sizes() {
            for &number in &numbers {
                if *left == 0 {
                    return false;
                }
                *left -= 1;
                if self.improves(sizes.clone().with(name, number)) {
                    return true;
                }
            }
        }
        false
    }
}

/// Those of a region's nodes that cannot run. Named sizes get the numbers of the option `sizes` first, then others; where none of these
/// lets all nodes run, it is as with those of which most run.
pub(crate) fn missing(model: &Model, graph: &Graph, run: &[usize], stated: &[Sizes]) -> Missing {
    if graph.named_sizes().is_empty() {
        return model.missing_at(graph, run, &Sizes::new());
    }
    let mut asked = Asked { model, graph, run, best: None, reasons: HashMap::new() };
    let of_option = stated.iter().map(|stated| {
        let known = stated.iter();
        known.fold(numbers(graph, TRIED[0]), |sizes, (name, number)| sizes.with(name, number))
    });
    for sizes in of_option.chain(TRIED.iter().map(|tried| numbers(graph, *tried))) {
        asked.improves(sizes);
        if asked.is_whole() {
            return Vec::new();
        }
    }
    let mut left = MOST;
    while !asked.is_whole() && asked.improves_by_constants(&mut left) {}
    let Asked { best, reasons, .. } = asked;
    let (mut missing, sizes) = best.unwrap_or_default();
    let list: Vec<String> = sizes.iter().map(|(name, number)| format!("{name}={number}")).collect();
    for (i, reason) in &mut missing {
        if reasons.get(i).is_some_and(|(_, differs)| *differs) {
            *reason +=
                &format!(" (asked with {}: state the model's own in the option `sizes`)", list.join(", "));
        }
    }
    missing
}

/// A number for each named size.
fn numbers(graph: &Graph, (first, others): (usize, usize)) -> Sizes {
    let is_first = |name: &str| {
        graph.inputs().any(|(_, _, dims)| matches!(dims.first(), Some(Dim::Named(dim)) if dim == name))
    };
    let names = graph.named_sizes().into_iter();
    names.fold(Sizes::new(), |sizes, name| sizes.with(name, if is_first(name) { first } else { others }))
}

#[cfg(test)]
mod tests {
    use blocktensor::{DType, MemoryFormat, StridedTensor};
    use blocktensor_graph::Constant;
    use blocktensor_onnx::{HostNode, HostValue};

    use super::*;
    use crate::claim::{Claims, Node};

    /// One node that takes `x`, whose sizes have these names, and a constant.
    fn model(op_type: &str, names: &[&str], constant: Constant) -> Model {
        let names: Vec<Dim> = names.iter().map(|name| Dim::from(*name)).collect();
        let value =
            |name: &str, dims| (name.to_string(), HostValue { name: name.into(), data_type: 1, dims });
        let read = HostNode {
            op_type: op_type.into(),
            inputs: vec!["x".into(), "c".into()],
            outputs: vec!["y".into()],
            ..HostNode::default()
        };
        let mut model = Model {
            opsets: vec![(String::new(), 17)],
            nodes: vec![Node { read, ..Node::default() }],
            outputs: ["y".to_string()].into(),
            values: [value("x", Some(names)), value("y", None)].into(),
            constants: [("c".to_string(), Ok(constant))].into(),
            ..Model::default()
        };
        model.name_nodes();
        model
    }

    fn zeros(dims: &[usize]) -> Constant {
        Constant::F32(StridedTensor::zeros(dims, DType::F32, MemoryFormat::Contiguous).unwrap())
    }

    #[test]
    fn sizes_that_constants_determine_are_found() {
        let image = ["batch", "num_channels", "height", "width"];
        for (op, names, constant) in [
            ("Conv", &image[..], zeros(&[8, 3, 16, 16])),
            ("MatMul", &["batch", "time", "mels"], zeros(&[80, 32])),
            ("Add", &["n", "m"], zeros(&[11])),
        ] {
            let Claims { regions, left } = model(op, names, constant).claims(false, &[]);
            assert_eq!((regions, left), (vec![vec![0]], vec![]), "{op}");
        }
    }

    #[test]
    fn sizes_of_the_option_come_first_and_the_reason_names_those_that_were_asked() {
        let model = model("Reshape", &["n", "m"], Constant::ints(&[2, 11, 13]));
        let stated = [Sizes::new().with("n", 26).with("m", 11)];
        assert_eq!(model.claims(false, &stated).regions, [[0]]);
        // A name that has no number gets one.
        assert_eq!(model.claims(false, &[Sizes::new().with("m", 286)]).regions, [[0]]);
        let [(0, reason)] = &model.claims(false, &[]).left[..] else { panic!("one node is left") };
        assert!(
            reason.contains(" (asked with m=") && reason.ends_with("own in the option `sizes`)"),
            "{reason}"
        );
    }

    #[test]
    fn a_reason_that_does_not_depend_on_sizes_names_none() {
        let model = model("Add", &["n", "m"], Constant::ints(&[1]));
        let left = model.claims(false, &[]).left;
        assert!(left.len() == 1 && !left[0].1.contains("asked with"), "{left:?}");
    }
}
