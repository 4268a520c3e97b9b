//! Linear layers of integers, as convolutions of single pixels: these have kernels for integers, and post-ops.

use std::collections::{HashMap, HashSet};

use blocktensor::{BoundOp, MemoryFormat, ParamValue, StridedTensor};

use super::integers::{int_param, integers_of, pair_of, weights_of};
use super::post_ops::convolution;
use super::quantized::averages_integers;
use crate::error::Result;
use crate::network::{Links, Network, Node, Operation, TensorId, facts};

/// A product with a matrix that `dequantize` makes of constants becomes a linear layer, as one with a constant matrix does; and where
/// such a matrix is transposed, its constant is. Returns how many products changed.
pub(super) fn of_products(network: &mut Network) -> Result<usize> {
    let mut made: HashMap<TensorId, Node> = HashMap::new();
    let mut changes = 0;
    for mut node in std::mem::take(&mut network.nodes) {
        if node.op.op() == "dequantize" {
            made.insert(node.outputs[0], node.clone());
        }
        if let Some(matrix) = node.inputs.first().and_then(|x| made.get(x)).filter(|_| exchanges_axes(&node))
            && let Some(mut turned) = transposed(network, matrix, &node)?
        {
            turned.outputs = node.outputs;
            made.insert(turned.outputs[0], turned.clone());
            network.nodes.push(turned);
            continue;
        }
        if let [x, matrix] = node.inputs[..]
            && node.op.op() == "matmul"
            && network.tensor(x).dims().len() > 1
            && let Some(matrix) = made.get(&matrix)
            && let Some(matrix) = transposed(network, matrix, &node)?
        {
            node.rewrite("linear", &[("x", x), ("weights", matrix.outputs[0])], &[])?;
            network.nodes.push(matrix);
            changes += 1;
        }
        network.nodes.push(node);
    }
    Ok(changes)
}

/// Whether the node transposes a matrix.
fn exchanges_axes(node: &Node) -> bool {
    match node.op.op() {
        "transpose" => int_param(node, "a") != int_param(node, "b"),
        "permute" => matches!(node.op.param("axes"), Some(ParamValue::Ints(axes)) if axes[..] == [1, 0]),
        _ => false,
    }
}

/// The transpose of constant integers `[K, N]` that are dequantised with one scale, or one for each column.
fn transposed(network: &mut Network, node: &Node, user: &Node) -> Result<Option<Node>> {
    let Some(w) = network.tensor(node.inputs[0]).constant().filter(|w| w.rank() == 2) else {
        return Ok(None);
    };
    let is_one = node.inputs[1..].iter().all(|id| network.tensor(*id).dims().iter().product::<usize>() == 1);
    let is_constant = node.inputs[1..].iter().all(|id| network.tensor(*id).constant().is_some());
    if !is_constant || !is_one && int_param(node, "axis") != Some(1) {
        return Ok(None);
    }
    let w = w.transpose(0, 1)?.contiguous(MemoryFormat::Contiguous)?;
    with_constant(network, node, w, 0, user).map(Some)
}

/// `dequantize` of another constant, for the node that uses it.
fn with_constant(
    network: &mut Network,
    node: &Node,
    w: StridedTensor,
    axis: i64,
    user: &Node,
) -> Result<Node> {
    let mut made = node.clone();
    let name = format!("{} for {}", network.tensor(node.outputs[0]).name(), user.name);
    let dtype = network.tensor(node.outputs[0]).dtype;
    made.outputs[0] = network.add_tensor(name, w.dims(), dtype, None);
    made.inputs[0] = network.add_constant(w);
    made.set_params(&[("axis", axis.into())])?;
    Ok(made)
}

/// Linear layers whose inputs and weights are dequantised become convolutions of single pixels between two views. Returns how many.
pub(super) fn as_convolutions(network: &mut Network) -> Result<usize> {
    let links = Links::of(network);
    let layers = network.nodes.iter().map(|node| layer_of(network, node, &links));
    let taken = layers.collect::<Result<Vec<_>>>()?;
    let changes = taken.iter().flatten().count();
    for (mut node, layer) in std::mem::take(&mut network.nodes).into_iter().zip(taken) {
        let Some((dequantize, w)) = layer else {
            network.nodes.push(node);
            continue;
        };
        let (x, result) = (node.inputs[0], node.outputs[0]);
        let (outputs, inputs) = (w.dims()[0], w.dims()[1]);
        let rows = network.tensor(x).dims().iter().rev().skip(1).product::<usize>();
        let weights = with_constant(network, &dequantize, w.reshape(&[outputs, inputs, 1, 1])?, 0, &node)?;
        let pixels = view(network, &node, x, &[rows, inputs, 1, 1], "as pixels")?;
        let mut names = vec![("x", pixels.outputs[0]), ("weights", weights.outputs[0])];
        names.extend(node.inputs.get(2).map(|bias| ("bias", *bias)));
        let dtype = network.tensor(result).dtype;
        let name = format!("{} as pixels", network.tensor(result).name());
        let made = network.add_tensor(name, &[rows, outputs, 1, 1], dtype, None);
        let dims = network.tensor(result).dims().to_vec();
        let mut after = view(network, &node, made, &dims, "as rows")?;
        after.outputs[0] = result;
        node.rewrite("conv2d", &names, &[])?;
        node.outputs[0] = made;
        network.nodes.extend([weights, pixels, node, after]);
    }
    Ok(changes)
}

/// The node that dequantises the weights of a linear layer of integers, and their integers, where a convolution would take them.
fn layer_of(network: &Network, node: &Node, links: &Links) -> Result<Option<(Node, StridedTensor)>> {
    let is_plain = node.op.inputs().iter().all(|name| ["x", "weights", "bias"].contains(name));
    let has_post_ops = matches!(node.op.param("post_ops"), Some(ParamValue::Str(words)) if !words.is_empty());
    if node.op.op() != "linear" || !is_plain || has_post_ops {
        return Ok(None);
    }
    let (x, w) = (node.inputs[0], node.inputs[1]);
    let [outputs, _] = *network.tensor(w).dims() else { return Ok(None) };
    if integers_of(network, x, links).is_none() || weights_of(network, w, outputs, 0, links)?.is_none() {
        return Ok(None);
    }
    let Some(dequantize) = links.node(network, w) else { return Ok(None) };
    let integers = network.tensor(dequantize.inputs[0]).constant();
    Ok(integers.map(|integers| (dequantize.clone(), integers.clone())))
}

fn view(network: &mut Network, node: &Node, x: TensorId, dims: &[usize], suffix: &str) -> Result<Node> {
    let mut made = node.clone();
    made.name = format!("{} {suffix}", node.name);
    let name = format!("{} {suffix}", network.tensor(x).name());
    let dtype = network.tensor(x).dtype;
    made.outputs[0] = network.add_tensor(name, dims, dtype, None);
    made.op = Operation::Bound(BoundOp::view(dims).map_err(|source| node.origin.error(source))?);
    made.inputs = vec![x];
    Ok(made)
}

/// What follows a view of the result of a convolution, or of an average pool of integers, element by element, runs before the view, where it
/// can become a part of that node. Returns how many nodes moved.
pub(super) fn before_views(network: &mut Network) -> Result<usize> {
    let mut changes = 0;
    let links = Links::of(network);
    let takes = |node: &&Node| convolution(node) || averages_integers(network, node, &links);
    // Results of such nodes, and of what moved behind them.
    let mut before: HashSet<TensorId> =
        network.nodes.iter().filter(takes).flat_map(|node| node.outputs.clone()).collect();
    for i in 0..network.nodes.len() {
        let node = &network.nodes[i];
        let (Some(&x), &[result]) = (node.inputs.first(), &node.outputs[..]) else { continue };
        let moves = pair_of(network, node, "quantize").is_some()
            || node.inputs.len() == 1 && node.op.bound().and_then(BoundOp::post_op).is_some();
        let Some(at) = links.producer(x).filter(|_| moves && links.is_used_once(x)) else { continue };
        let view = &network.nodes[at];
        if !facts(&*view.op).sharing.is_view() || view.outputs.len() != 1 || !before.contains(&view.inputs[0])
        {
            continue;
        }
        let source = view.inputs[0];
        let dims = network.tensor(source).dims().to_vec();
        let (name, dtype) = (network.tensor(result).name().to_string(), network.tensor(result).dtype);
        let made = network.add_tensor(format!("{name} before the view"), &dims, dtype, None);
        before.insert(made);
        network.nodes.swap(at, i);
        // Now the one that moved is where the view was.
        (network.nodes[at].inputs[0], network.nodes[at].outputs[0]) = (source, made);
        (network.nodes[i].inputs[0], network.nodes[i].outputs[0]) = (made, result);
        changes += 1;
    }
    Ok(changes)
}
