//! Constants of element-wise arithmetic, in the form in which kernels take them on every layout.

use blocktensor::{DType, MemoryFormat, StridedTensor};

use super::layers;
use crate::Param;
use crate::error::Result;
use crate::network::{Links, Network, Node, TensorId};

/// Returns how many nodes were changed.
pub(super) fn run(network: &mut Network) -> Result<usize> {
    let mut changes = layers::of_products(network)?;
    let links = Links::of(network);
    for i in 0..network.nodes.len() {
        changes += usize::from(simplify(network, &links, i)?);
    }
    Ok(changes)
}

/// A product with a constant matrix becomes a linear layer, which takes up what follows it.
fn to_linear(network: &mut Network, i: usize) -> Result<bool> {
    let &[x, matrix] = &network.nodes[i].inputs[..] else { return Ok(false) };
    let Some(weights) = network.tensor(matrix).constant.clone() else { return Ok(false) };
    let is_f32 = weights.dtype() == DType::F32;
    if !is_f32
        || weights.rank() != 2
        || network.tensor(x).dims.len() < 2
        || network.tensor(x).constant.is_some()
    {
        return Ok(false);
    }
    let weights = weights.transpose(0, 1)?.contiguous(MemoryFormat::Contiguous)?;
    let weights = network.add_constant(weights);
    network.nodes[i].rewrite("linear", &[("x", x), ("weights", weights)], &[])?;
    Ok(true)
}

fn simplify(network: &mut Network, links: &Links, i: usize) -> Result<bool> {
    let node = &network.nodes[i];
    let op = node.op.op();
    if op == "matmul" {
        return to_linear(network, i);
    }
    if !matches!(op, "add" | "sub" | "mul" | "div" | "pow" | "maximum" | "minimum") || node.inputs.len() != 2
    {
        return Ok(false);
    }
    if let Some((place, narrow)) = expanded(network, links, node) {
        network.nodes[i].inputs[place] = narrow;
        simplify(network, links, i)?;
        return Ok(true);
    }
    let (a, b) = (node.inputs[0], node.inputs[1]);
    let commutes = matches!(op, "add" | "mul" | "maximum" | "minimum");
    let (x, constant) = match (network.tensor(a).constant.is_some(), network.tensor(b).constant.is_some()) {
        (false, true) => (a, b),
        (true, false) if commutes => (b, a),
        _ => return Ok(false),
    };
    let dims = network.tensor(x).dims.clone();
    let result = &network.tensor(node.outputs[0]).dims;
    let Some(values) = network.tensor(constant).constant.clone() else { return Ok(false) };
    let keeps_shape = dims == *result;
    if keeps_shape && values.numel() == 1 {
        let number = f64::from(values.to_vec::<f32>()?[0]);
        let scalar = match op {
            "add" => "add_scalar",
            "sub" => "sub_scalar",
            "mul" => "mul_scalar",
            "div" => "div_scalar",
            "pow" => "pow_scalar",
            "maximum" => return clamp(network, i, x, ("min", number)),
            _ => return clamp(network, i, x, ("max", number)),
        };
        network.nodes[i].rewrite(scalar, &[("x", x)], &[("other", Param::Float(number))])?;
        return Ok(true);
    }
    if keeps_shape && is_per_channel(values.dims(), &dims) && matches!(op, "add" | "sub" | "mul") {
        let mut list = values.to_vec::<f32>()?;
        if op == "sub" {
            list.iter_mut().for_each(|v| *v = -*v);
        }
        let name = if op == "mul" { "mul_channel" } else { "add_channel" };
        let vector = StridedTensor::from_slice(&list, &[list.len()])?;
        let vector = network.add_constant(vector);
        network.nodes[i].rewrite(name, &[("x", x), ("values", vector)], &[])?;
        return Ok(true);
    }
    if values.rank() < dims.len() {
        let mut padded = vec![1; dims.len() - values.rank()];
        padded.extend_from_slice(values.dims());
        let reshaped = network.add_constant(values.reshape(&padded)?);
        let place = if constant == b { 1 } else { 0 };
        network.nodes[i].inputs[place] = reshaped;
        return Ok(true);
    }
    Ok(false)
}

/// An operand that an `expand` repeats, where the op would repeat it itself: its place, and what was expanded.
fn expanded(network: &Network, links: &Links, node: &Node) -> Option<(usize, TensorId)> {
    let result = &network.tensor(node.outputs[0]).dims;
    (0..2).find_map(|place| {
        let id = node.inputs[place];
        let other = &network.tensor(node.inputs[1 - place]).dims;
        let expand = links.node(network, id).filter(|n| n.op.op() == "expand")?;
        let source = expand.inputs[0];
        let same_rank = network.tensor(source).dims.len() == result.len();
        (same_rank && other == result).then_some((place, source))
    })
}

fn clamp(network: &mut Network, i: usize, x: TensorId, (name, bound): (&str, f64)) -> Result<bool> {
    if bound.is_nan() {
        return Ok(false);
    }
    network.nodes[i].rewrite("clamp", &[("x", x)], &[(name, Param::Float(bound))])?;
    Ok(true)
}

/// Whether a constant of these sizes has one value for each channel (axis 1) of `x`.
pub(super) fn is_per_channel(constant: &[usize], x: &[usize]) -> bool {
    x.len() >= 2
        && constant.len() <= x.len()
        && constant.iter().rev().zip(x.iter().rev()).enumerate().all(|(from_end, (&c, &size))| {
            let axis = x.len() - 1 - from_end;
            if axis == 1 { c == size } else { c == 1 }
        })
        && constant.len() + 1 >= x.len()
}

impl Node {
    /// Makes the node another registered op.
    pub(crate) fn rewrite(
        &mut self,
        op: &str,
        inputs: &[(&str, TensorId)],
        params: &[(&str, Param)],
    ) -> Result<()> {
        let names: Vec<&str> = inputs.iter().map(|(name, _)| *name).collect();
        let bound = blocktensor::BoundOp::new(op, &names, params).map_err(|source| {
            crate::Error::Operator { node: self.name.clone(), op: op.to_string(), source }
        })?;
        self.op = crate::network::Operation::Bound(bound);
        self.inputs = inputs.iter().map(|(_, id)| *id).collect();
        Ok(())
    }
}
