//! What quantised operators would be, had their model left them in f32. Measured planning compares both. A `lookup` has none: its table
//! does not tell which functions made it, and reads and writes a fourth of the bytes.

use std::ops::Range;

use blocktensor::ops::{Activation, PostOp, PostOps};
use blocktensor::{BoundOp, DType, MemoryFormat, Operator as _, ParamValue, StridedTensor};

use super::integers::is_byte;
use super::post_ops::convolution;
use crate::Param;
use crate::error::Result;
use crate::network::{Links, Network, Node, Operation, Origin, TensorId, facts};

/// Operators of f32 with the sizes and parameters of quantised ones. Several of these may have the same one.
#[derive(Debug, Default)]
pub(crate) struct Twins {
    twins: Vec<Twin>,
    /// The quantised nodes, in order, with the number of the twin of each.
    pub(crate) of: Vec<(usize, usize)>,
}

impl Twins {
    /// Of all convolutions, sums, products and average pools of integers.
    pub(crate) fn of(network: &Network) -> Twins {
        let is_of_integers = |node: &Node| {
            (convolution(node) || plain_op(node).is_some()) && is_byte(network.tensor(node.inputs[0]).dtype())
        };
        let mut found = Twins::default();
        if !network.nodes.iter().any(is_of_integers) {
            return found;
        }
        let links = Links::of(network);
        for (i, node) in network.nodes.iter().enumerate().filter(|(_, node)| is_of_integers(node)) {
            // What no op of f32 computes has none.
            let twin = match plain_op(node) {
                Some(plain) => Twin::of_bytes(network, node, plain),
                None => Twin::of_convolution(network, node, &links),
            };
            let Ok(Some(twin)) = twin else { continue };
            let place = found.twins.iter().position(|other| *other == twin);
            found.of.push((i, place.unwrap_or(found.twins.len())));
            if place.is_none() {
                found.twins.push(twin);
            }
        }
        found
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.twins.len()
    }

    /// A network of all of them, with constants of no meaning, and the nodes of each, which run one after another.
    pub(crate) fn network(&self) -> Result<(Network, Vec<Range<usize>>)> {
        let mut network = Network::default();
        let nodes = self.twins.iter().map(|twin| twin.add_to(&mut network)).collect::<Result<_>>()?;
        Ok((network, nodes))
    }
}

#[derive(Debug, PartialEq)]
struct Twin {
    /// The first takes the operands, each other one the result before it.
    ops: Vec<BoundOp>,
    /// The sizes of the operands, and whether they are constants.
    operands: Vec<(Vec<usize>, bool)>,
    result: Vec<usize>,
}

impl Twin {
    /// Of a sum, a product or an average pool, which this op computes in f32.
    fn of_bytes(network: &Network, node: &Node, plain: &str) -> blocktensor::Result<Option<Twin>> {
        let dims = |id: TensorId| network.tensor(id).dims().to_vec();
        let Some(op) = node.op.bound() else { return Ok(None) };
        let names = node.op.inputs().iter().copied().zip(&node.inputs);
        let operands: Vec<Named> =
            names.map(|(name, &id)| (name, dims(id), network.tensor(id).constant().is_some())).collect();
        let own = |(name, _): &(&str, &ParamValue)| !SCALES.iter().any(|end| name.ends_with(end));
        let params: Vec<(&str, Param)> =
            op.params().filter(own).map(|(name, value)| (name, value.into())).collect();
        let image = &operands[0].1[2..];
        let twin = match op.param("kernel") {
            None => bound(plain, &operands, &params)?,
            // A window of all is what models write as a global pool.
            Some(_) if is_list(op, "kernel", image) => bound(&format!("global_{plain}"), &operands, &[])?,
            Some(_) => bound(&format!("{plain}{}d", image.len()), &operands, &params)?,
        };
        Ok(Some(Twin { ops: vec![twin], operands: unnamed(operands), result: dims(node.outputs[0]) }))
    }

    fn of_convolution(network: &Network, node: &Node, links: &Links) -> blocktensor::Result<Option<Twin>> {
        let named = |name: &str| node.op.inputs().iter().position(|n| *n == name).map(|at| node.inputs[at]);
        let (Some(x), Some(w), Some(op)) = (named("x"), named("weights"), node.op.bound()) else {
            return Ok(None);
        };
        let dims = |id: TensorId| network.tensor(id).dims().to_vec();
        let result = dims(node.outputs[0]);
        let channels = vec![result[1]];
        let (post_ops, has_bias) = match node.op.param("post_ops") {
            Some(ParamValue::Str(text)) => in_f32(&text.parse()?),
            _ => (PostOps::new(), false),
        };
        let mut operands = vec![("x", dims(x), false), ("weights", dims(w), true)];
        if has_bias || named("bias").is_some() {
            operands.push(("bias", channels.clone(), true));
        }
        if let Some(rows) = rows_of(network, x, w, links) {
            // Layers have no post-ops: activations follow, and are fused where a kernel does that.
            let outputs = channels[0];
            operands[1].1.truncate(2);
            let result = [&rows[..rows.len() - 1], &[outputs]].concat();
            operands[0].1 = rows;
            let mut ops = vec![bound("linear", &operands, &[])?];
            for post_op in post_ops.iter() {
                if let PostOp::Activation(activation) = post_op {
                    ops.push(activation_op(*activation)?);
                }
            }
            return Ok(Some(Twin { ops, operands: unnamed(operands), result }));
        }
        if post_ops.takes_residual() {
            operands.push(("residual", result.clone(), false));
        }
        for _ in 0..post_ops.channel_operands() {
            operands.push(("channel", channels.clone(), true));
        }
        let params: Vec<(&str, Param)> = op
            .params()
            .filter(|(name, _)| *name != "x_zero_point")
            .map(|(name, value)| match name {
                "post_ops" => (name, Param::Str(post_ops.to_string())),
                _ => (name, value.into()),
            })
            .collect();
        let ops = vec![bound(node.op.op(), &operands, &params)?];
        Ok(Some(Twin { ops, operands: unnamed(operands), result }))
    }

    /// Adds the operators. Nobody asks for their names.
    fn add_to(&self, network: &mut Network) -> Result<Range<usize>> {
        let first = network.nodes.len();
        // Sums of products stay small, and no number is subnormal.
        let products = self.operands.get(1).map_or(1, |(dims, _)| dims.iter().skip(1).product::<usize>());
        let value = 1.0 / products.max(1) as f32;
        let mut inputs = Vec::new();
        for (dims, is_constant) in &self.operands {
            inputs.push(match is_constant {
                true => network.add_constant(StridedTensor::full(dims, value, MemoryFormat::Contiguous)?),
                false => {
                    let id = network.add_tensor(String::new(), dims, DType::F32, None);
                    network.inputs.push(id);
                    id
                }
            });
        }
        for bound in &self.ops {
            let result = network.add_tensor(String::new(), &self.result, DType::F32, None);
            let inputs = std::mem::replace(&mut inputs, vec![result]);
            let (name, op) = (format!("{} in f32", bound.op()), bound.op().to_string());
            let origin = Origin { node: name.clone(), op, number: 0 };
            let (op, outputs) = (Operation::Bound(bound.clone()), vec![result]);
            network.nodes.push(Node { name, origin, op, inputs, outputs });
        }
        Ok(first..network.nodes.len())
    }
}

/// What an op of quantised numbers is called where they are plain: a sum, a product or an average pool.
fn plain_op(node: &Node) -> Option<&str> {
    node.op.op().strip_prefix("quantized_")
}

/// How the parameters end that say what integers stand for.
const SCALES: [&str; 3] = ["scale", "zero_point", "dtype"];

/// Whether a parameter is this list.
fn is_list(op: &BoundOp, name: &str, list: &[usize]) -> bool {
    let is = |given: &[i64]| given.iter().map(|&v| usize::try_from(v).ok()).eq(list.iter().map(|&v| Some(v)));
    matches!(op.param(name), Some(ParamValue::Ints(given)) if is(given))
}

type Named = (&'static str, Vec<usize>, bool);

fn unnamed(operands: Vec<Named>) -> Vec<(Vec<usize>, bool)> {
    operands.into_iter().map(|(_, dims, is_constant)| (dims, is_constant)).collect()
}

fn bound(op: &str, operands: &[Named], params: &[(&str, Param)]) -> blocktensor::Result<BoundOp> {
    let names: Vec<&str> = operands.iter().map(|(name, ..)| *name).collect();
    BoundOp::new(op, &names, params)
}

/// The post-ops without scales and roundings, and whether one of them was a bias.
fn in_f32(list: &PostOps) -> (PostOps, bool) {
    let (mut all, mut has_bias) = (PostOps::new(), false);
    for &post_op in list.iter() {
        match post_op {
            // The model's own cannot be told from scales, and cost next to nothing.
            PostOp::MulChannel | PostOp::Round { .. } => {}
            PostOp::AddChannel if all.is_empty() => has_bias = true,
            PostOp::QuantizedResidual { .. } => all = all.then(PostOp::Residual),
            // Bounds of integers have a scale, and no kernel takes longer for others.
            PostOp::Activation(Activation::Clip(0.0, _)) => {
                all = all.then(PostOp::Activation(Activation::Clip(0.0, 6.0)));
            }
            // Quantisers leave out a `relu` where no integer is below 0.
            PostOp::Quantize { dtype: DType::U8, zero_point: 0 }
                if !matches!(all.last(), Some(PostOp::Activation(_))) =>
            {
                all = all.then(PostOp::Activation(Activation::Relu));
            }
            PostOp::Quantize { .. } => {}
            other => all = all.then(other),
        }
    }
    (all, has_bias)
}

/// The sizes of the rows of a linear layer, where the convolution is one: its source is a view of them as pixels.
fn rows_of(network: &Network, x: TensorId, w: TensorId, links: &Links) -> Option<Vec<usize>> {
    let view = links.node(network, x).filter(|node| facts(&*node.op).sharing.is_view())?;
    let rows = network.tensor(view.inputs[0]).dims();
    let is_of_pixels = |id: TensorId| matches!(network.tensor(id).dims(), [_, _, 1, 1]);
    let inputs = network.tensor(x).dims().get(1);
    (is_of_pixels(x) && is_of_pixels(w) && rows.len() > 1 && rows.last() == inputs).then(|| rows.to_vec())
}

/// The op that computes an activation.
fn activation_op(activation: Activation) -> blocktensor::Result<BoundOp> {
    let number = |name, value: f32| (name, Param::Float(value.into()));
    let (op, params) = match activation {
        Activation::LeakyRelu(slope) => ("leaky_relu".to_string(), vec![number("slope", slope)]),
        Activation::Clip(low, high) => ("clamp".to_string(), vec![number("min", low), number("max", high)]),
        other => (other.to_string(), vec![]),
    };
    BoundOp::new(&op, &["x"], &params)
}
