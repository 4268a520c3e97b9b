//! Choices of another plan, for the same graph at other sizes.

use std::collections::HashMap;
use std::sync::Arc;

use blocktensor::{TensorDesc, counted};

use super::super::algorithms::Computes;
use super::super::choice::Choice;
use super::super::recipe::Recipe;
use super::candidates::data;
use crate::network::{Network, Node};

/// How each node of a plan runs, as far as other sizes can have it too.
#[derive(Clone, Debug)]
pub(in crate::plan) struct Pattern(Arc<Pieces>);

#[derive(Debug)]
struct Pieces {
    /// The inputs that the plan is for, for people.
    inputs: String,
    nodes: HashMap<String, Trait>,
}

/// What a choice is, whatever its sizes are.
#[derive(Clone, Debug, PartialEq)]
struct Trait {
    op: String,
    /// The orders of what it takes and makes.
    layouts: (Vec<String>, Vec<String>),
    /// How it computes; the node decides that where it is `direct`.
    computes: &'static str,
    /// What computes it together with other nodes, and their names.
    group: Option<(&'static str, Vec<String>)>,
}

impl Trait {
    fn of(network: &Network, node: &Node, choice: &Choice) -> Trait {
        let names = |list: Vec<&TensorDesc>| list.into_iter().map(TensorDesc::layout_name).collect();
        let inputs = data(network, choice).map(|(_, desc)| desc).collect();
        let group = choice.group.as_ref().map(|group| {
            let nodes = group.nodes.iter().map(|&n| network.nodes[n].name.clone());
            (group.fusion.name(), nodes.collect())
        });
        Trait {
            op: node.op.op().to_string(),
            layouts: (names(inputs), names(choice.outputs.iter().collect())),
            computes: choice.computes.as_ref().map_or(Computes::Direct.name(), Computes::name),
            group,
        }
    }
}

impl Pattern {
    pub(in crate::plan) fn of(recipe: &Recipe) -> Pattern {
        let network = &recipe.network;
        let inputs = network.inputs.iter().map(|id| &network.tensors[id.0]);
        let inputs: Vec<String> = inputs.map(|t| format!("{} {:?}", t.name, t.dims)).collect();
        let nodes = network.nodes.iter().zip(&recipe.choices);
        let nodes = nodes.map(|(n, c)| (n.name.clone(), Trait::of(network, n, c))).collect();
        Pattern(Arc::new(Pieces { inputs: inputs.join(", "), nodes }))
    }

    /// The candidates without those that the plan does not take. A node that the plan does not have, or that cannot run as it does
    /// there, keeps all of its own. Then whose choices they are, for people, if there are any.
    pub(super) fn narrowed(
        &self,
        network: &Network,
        candidates: Vec<Vec<Choice>>,
    ) -> (Vec<Vec<Choice>>, Option<String>) {
        let mut count = 0;
        let narrow = |(node, mut list): (&Node, Vec<Choice>)| {
            let known = self.0.nodes.get(&node.name);
            let same = known.and_then(|t| list.iter().position(|c| Trait::of(network, node, c) == *t));
            match same {
                Some(i) => {
                    count += 1;
                    vec![list.swap_remove(i)]
                }
                None => list,
            }
        };
        let narrowed = network.nodes.iter().zip(candidates).map(narrow).collect();
        let nodes = counted(network.nodes.len(), "node");
        let whose = || format!("the plan for {}: {count} of {nodes}", self.0.inputs);
        (narrowed, (count > 0).then(whose))
    }
}
