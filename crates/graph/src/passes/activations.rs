//! Activations that exporters write as several nodes.

use crate::error::Result;
use crate::network::{Links, Network, TensorId};

/// Returns how many activations were recognised.
pub(super) fn run(network: &mut Network) -> Result<usize> {
    let mut changes = 0;
    let links = Links::of(network);
    for i in 0..network.nodes.len() {
        let found = gated(network, &links, i).or_else(|| gelu(network, &links, i));
        if let Some((op, x)) = found {
            network.nodes[i].rewrite(op, &[("x", x)], &[])?;
            changes += 1;
        }
    }
    Ok(changes)
}

/// The node that computes a tensor, by its op's name, with its inputs.
fn computed<'a>(
    network: &'a Network,
    links: &Links,
    id: TensorId,
) -> Option<(&'a str, &'a [TensorId], usize)> {
    let i = links.producer(id)?;
    let node = &network.nodes[i];
    Some((node.op.op(), &node.inputs, i))
}

/// `x * sigmoid(x)` and `x * hardsigmoid(x)`.
fn gated(network: &Network, links: &Links, i: usize) -> Option<(&'static str, TensorId)> {
    let node = &network.nodes[i];
    if node.op.op() != "mul" {
        return None;
    }
    let (a, b) = (*node.inputs.first()?, *node.inputs.get(1)?);
    [(a, b), (b, a)].into_iter().find_map(|(x, gate)| match computed(network, links, gate)? {
        ("sigmoid", [y], _) if *y == x => Some(("silu", x)),
        ("hardsigmoid", [y], _) if *y == x => Some(("hardswish", x)),
        _ => None,
    })
}

/// `x * 0.5 * (1 + erf(x / sqrt(2)))`, with the factors in any order.
fn gelu(network: &Network, links: &Links, i: usize) -> Option<(&'static str, TensorId)> {
    let (mut scale, mut factors) = (1.0, Vec::new());
    let node = &network.nodes[i];
    if !matches!(node.op.op(), "mul" | "mul_scalar") {
        return None;
    }
    factors_of(network, links, node.outputs[0], &mut scale, &mut factors, 0)?;
    if factors.len() != 2 || (scale - 0.5f64).abs() > 1e-6 {
        return None;
    }
    [(factors[0], factors[1]), (factors[1], factors[0])].into_iter().find_map(|(x, gate)| {
        let (op, inputs, at) = computed(network, links, gate)?;
        if op != "add_scalar" || (number(network, at)? - 1.0).abs() > 1e-6 {
            return None;
        }
        let (op, inputs, _) = computed(network, links, inputs[0])?;
        if op != "erf" {
            return None;
        }
        let (op, inputs, at) = computed(network, links, inputs[0])?;
        let factor = match op {
            "mul_scalar" => number(network, at)?,
            "div_scalar" => 1.0 / number(network, at)?,
            _ => return None,
        };
        let is_gelu = (factor - std::f64::consts::FRAC_1_SQRT_2).abs() < 1e-6 && inputs[0] == x;
        is_gelu.then_some(("gelu", x))
    })
}

/// The tensors whose product this is, and the number that multiplies it.
fn factors_of(
    network: &Network,
    links: &Links,
    id: TensorId,
    scale: &mut f64,
    factors: &mut Vec<TensorId>,
    depth: usize,
) -> Option<()> {
    match computed(network, links, id) {
        Some(("mul", [a, b], _)) if depth < 4 => {
            let (a, b) = (*a, *b);
            factors_of(network, links, a, scale, factors, depth + 1)?;
            factors_of(network, links, b, scale, factors, depth + 1)
        }
        Some(("mul_scalar", [a], at)) if depth < 4 => {
            *scale *= number(network, at)?;
            factors_of(network, links, *a, scale, factors, depth + 1)
        }
        _ => {
            factors.push(id);
            Some(())
        }
    }
}

/// The number of `add_scalar` and its like.
fn number(network: &Network, node: usize) -> Option<f64> {
    match network.nodes[node].op.param("other")? {
        blocktensor::ParamValue::Float(v) => Some(*v),
        blocktensor::ParamValue::Int(v) => Some(*v as f64),
        _ => None,
    }
}
