//! How convolutions compute: what a plan lets its nodes choose from.

use blocktensor::ops::{Algorithm, WeightTransform};
use blocktensor::{Layout, ParamValue};
use serde::{Deserialize, Serialize};

use super::build::Choice;
use crate::network::{Network, Node};

/// How a convolution of packed weights computes, where a plan decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Computes {
    pub(super) algorithm: Algorithm,
    pub(super) transform: WeightTransform,
}

impl Computes {
    pub(super) const DIRECT: Computes =
        Computes { algorithm: Algorithm::Direct, transform: WeightTransform::EachRun };

    /// `winograd4, weights transformed ahead`
    pub(super) fn name(self) -> String {
        match (self.algorithm, self.transform) {
            (Algorithm::Direct, _) => self.algorithm.to_string(),
            (algorithm, WeightTransform::Ahead) => format!("{algorithm}, weights transformed ahead"),
            (algorithm, WeightTransform::EachRun) => format!("{algorithm}, weights transformed in each run"),
        }
    }
}

/// What a plan with measured layouts lets convolutions choose from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Limits {
    /// Whether only the direct algorithm is open.
    pub(super) exact: bool,
    /// How large packed weights may become, as a multiple of the plain ones: at least 1.
    pub(super) weight_growth: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { exact: false, weight_growth: 1.25 }
    }
}

impl Limits {
    /// **Bytes** by which packed weights may grow.
    fn room(self, network: &Network) -> f64 {
        (self.weight_growth - 1.0) * packed_bytes(network)
    }
}

/// The node's own word for how it computes.
fn asked(node: &Node) -> &str {
    match node.op.param("algorithm") {
        Some(ParamValue::Str(word)) => word,
        _ => "direct",
    }
}

/// The same choice with each way to compute that the planner may take: the direct one first.
pub(super) fn variants(network: &Network, node: &Node, choice: Choice, limits: Limits) -> Vec<Choice> {
    let open = asked(node) == "measured";
    let direct = Choice { computes: open.then_some(Computes::DIRECT), ..choice };
    if limits.exact || !(open || asked(node) == "direct") || !fits_winograd(network, node, &direct) {
        return vec![direct];
    }
    let mut all = vec![direct];
    // More would be above the limit for the whole network.
    let own = extra_bytes(network, node);
    let limit = limits.room(network);
    for (outputs, times) in [(4, TRANSFORMED_4), (2, TRANSFORMED_2)] {
        // Tiles of 2 take twice the multiplications: they are for images that tiles of 4 cover badly.
        if outputs == 2 && coverage(&all[0]) > 0.9 {
            continue;
        }
        for transform in [WeightTransform::Ahead, WeightTransform::EachRun] {
            if transform == WeightTransform::EachRun || own * times <= limit {
                let computes = Computes { algorithm: Algorithm::Winograd(outputs), transform };
                all.push(Choice { computes: Some(computes), ..all[0].clone() });
            }
        }
    }
    all
}

/// Transformed weights are so many times as large as plain ones.
const TRANSFORMED_4: f64 = 36.0 / 9.0;
const TRANSFORMED_2: f64 = 16.0 / 9.0;

/// Whether it could be computed by Winograd's algorithm, in the machine's own blocks. Packing has the last word.
fn fits_winograd(network: &Network, node: &Node, choice: &Choice) -> bool {
    let ones = |name: &str| match node.op.param(name) {
        Some(ParamValue::Ints(list)) => list.iter().all(|v| *v == 1),
        Some(ParamValue::Int(v)) => *v == 1,
        _ => true,
    };
    let Ok(native) = Layout::native_activation(4) else { return false };
    let in_native = |desc: &blocktensor::TensorDesc| desc.layout() == Some(&native);
    node.op.op() == "conv2d"
        && choice.unpacked
        && in_native(&choice.inputs[0].1)
        && in_native(&choice.outputs[0])
        && super::pack::weights_of(node).is_some_and(|id| network.tensor(id).dims().ends_with(&[3, 3]))
        && ones("stride")
        && ones("dilation")
}

/// The share of the pixels of tiles of 4x4 that are pixels of the result.
fn coverage(choice: &Choice) -> f64 {
    let share = |size: usize| size as f64 / size.max(1).next_multiple_of(4) as f64;
    choice.outputs[0].dims()[2..].iter().map(|&size| share(size)).product()
}

/// **Bytes** of a node's plain weights: transformed ones come in addition.
fn extra_bytes(network: &Network, node: &Node) -> f64 {
    super::pack::weights_of(node)
        .map_or(0.0, |id| 4.0 * network.tensor(id).dims().iter().product::<usize>() as f64)
}

/// **Bytes** of all weights that are packed.
fn packed_bytes(network: &Network) -> f64 {
    let packed = network.nodes.iter().filter(|node| super::pack::packs(network, node));
    packed.map(|node| extra_bytes(network, node)).sum()
}

/// How many multiply-adds of a direct convolution take as long as this way to compute, for so many of them.
pub(super) fn multiply_adds(network: &Network, node: &Node, choice: &Choice, direct: f64) -> f64 {
    let Some(Computes { algorithm: Algorithm::Winograd(outputs), transform }) = choice.computes else {
        return direct;
    };
    let dims = choice.outputs[0].dims();
    let tiles: usize = dims[0] * dims[2..].iter().map(|size| size.div_ceil(outputs)).product::<usize>();
    let pairs = extra_bytes(network, node) / (4.0 * 9.0);
    let points = ((outputs + 2) * (outputs + 2)) as f64;
    let costs = &blocktensor::machine().costs;
    let weights =
        if transform == WeightTransform::EachRun { costs.winograd_weights as f64 * pairs } else { 0.0 };
    pairs * tiles as f64 * points * costs.winograd_steps + weights
}

/// **Bytes** that transformed weights take in addition to the plain ones.
pub(super) fn growth_bytes(network: &Network, node: &Node, choice: &Choice) -> f64 {
    let times = match choice.computes {
        Some(Computes { algorithm: Algorithm::Winograd(2), transform: WeightTransform::Ahead }) => {
            TRANSFORMED_2
        }
        Some(Computes { algorithm: Algorithm::Winograd(_), transform: WeightTransform::Ahead }) => {
            TRANSFORMED_4
        }
        _ => return 0.0,
    };
    extra_bytes(network, node) * times
}

/// Which candidates would make packed weights grow beyond the limit, as (node, candidate): those that save the
/// least time for their bytes. `seconds` are the costs of all candidates.
pub(super) fn beyond(
    network: &Network,
    candidates: &[Vec<Choice>],
    seconds: &[Vec<f64>],
    limits: Limits,
) -> Vec<(usize, usize)> {
    let mut wishes: Vec<(f64, f64, usize, usize)> = vec![];
    for (n, list) in candidates.iter().enumerate() {
        for (k, choice) in list.iter().enumerate() {
            let bytes = growth_bytes(network, &network.nodes[n], choice);
            if bytes > 0.0 {
                let others = list.iter().zip(&seconds[n]).filter(|(other, _)| {
                    growth_bytes(network, &network.nodes[n], other) == 0.0 && other.outputs == choice.outputs
                });
                let best = others.map(|(_, s)| *s).fold(f64::INFINITY, f64::min);
                wishes.push(((best - seconds[n][k]) / bytes, bytes, n, k));
            }
        }
    }
    wishes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut room = limits.room(network);
    let mut granted: Vec<usize> = vec![];
    let mut refused = vec![];
    for (_, bytes, n, k) in wishes {
        if bytes <= room && !granted.contains(&n) {
            room -= bytes;
            granted.push(n);
        } else {
            refused.push((n, k));
        }
    }
    refused
}
