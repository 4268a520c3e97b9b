//! Padding goes into the convolution or pool after it.

use blocktensor::ParamValue;

use super::post_ops::convolution;
use crate::Param;
use crate::error::Result;
use crate::network::{Links, Network, Node};

/// Returns how many pads were folded.
pub(super) fn run(network: &mut Network) -> Result<usize> {
    let mut changes = 0;
    let links = Links::of(network);
    for i in 0..network.nodes.len() {
        changes += usize::from(fold(network, &links, i)?);
    }
    Ok(changes)
}

fn fold(network: &mut Network, links: &Links, i: usize) -> Result<bool> {
    let node = &network.nodes[i];
    let Some(padding_of) = rule(node) else { return Ok(false) };
    let x = node.inputs[0];
    let Some(pad) = links.node(network, x) else { return Ok(false) };
    let Some(padded) = padded(pad, network.tensor(x).dims.len() - 2) else { return Ok(false) };
    let Some(params) = padding_of(node, &padded) else { return Ok(false) };
    let source = pad.inputs[0];
    network.nodes[i].set_params(&params)?;
    network.nodes[i].inputs[0] = source;
    Ok(true)
}

/// What an op's parameters become with the padding before it. `None` if it cannot take it.
type PaddingOf = fn(&Node, &Padded) -> Option<Vec<(&'static str, Param)>>;

fn rule(node: &Node) -> Option<PaddingOf> {
    match node.op.op() {
        "max_pool1d" | "max_pool2d" | "max_pool3d" => Some(of_max_pool),
        "avg_pool1d" | "avg_pool2d" | "avg_pool3d" => Some(of_avg_pool),
        op if convolution(node) && !op.starts_with("conv_transpose") => Some(of_convolution),
        _ => None,
    }
}

/// Constant padding of the spatial axes.
struct Padded {
    value: f64,
    before: Vec<i64>,
    after: Vec<i64>,
}

fn padded(pad: &Node, spatial: usize) -> Option<Padded> {
    let (Some(ParamValue::Str(mode)), Some(ParamValue::Float(value))) =
        (pad.op.param("mode"), pad.op.param("value"))
    else {
        return None;
    };
    let Some(ParamValue::Ints(pads)) = pad.op.param("padding") else { return None };
    let elsewhere = pads.iter().skip(2 * spatial).any(|&p| p != 0);
    if pad.op.op() != "pad" || mode != "constant" || elsewhere || pads.iter().any(|&p| p < 0) {
        return None;
    }
    // The pad lists its axes from the last one on, before and after each.
    let side = |axis: usize, after: usize| pads.get(2 * (spatial - 1 - axis) + after).copied().unwrap_or(0);
    let [before, after] = [0, 1].map(|after| (0..spatial).map(|axis| side(axis, after)).collect());
    Some(Padded { value: *value, before, after })
}

/// A list of an op's parameters, one number for each axis.
fn numbers(node: &Node, name: &str, count: usize) -> Option<Vec<i64>> {
    match node.op.param(name)? {
        ParamValue::Int(v) => Some(vec![*v; count]),
        ParamValue::Ints(v) if v.len() == 1 => Some(vec![v[0]; count]),
        ParamValue::Ints(v) => Some(v.iter().cycle().copied().take(count).collect()),
        _ => None,
    }
}

fn of_convolution(node: &Node, padded: &Padded) -> Option<Vec<(&'static str, Param)>> {
    let sides = padded.before.iter().chain(&padded.after);
    let own = numbers(node, "padding", 2 * padded.before.len())?;
    let padding = own.iter().zip(sides).map(|(a, b)| a + b).collect();
    (padded.value == 0.0).then(|| vec![("padding", Param::Ints(padding))])
}

/// A pool's padding is at most half of its window.
fn of_pool(node: &Node, padded: &Padded) -> Option<Vec<i64>> {
    let sides = 2 * padded.before.len();
    let (own, kernel) = (numbers(node, "padding", sides)?, numbers(node, "kernel", sides)?);
    let added = padded.before.iter().chain(&padded.after);
    let padding: Vec<i64> = own.iter().zip(added).map(|(a, b)| a + b).collect();
    let fits = padding.iter().zip(&kernel).all(|(pad, kernel)| *pad <= kernel / 2);
    // Rounded up, the last window may begin in the padding that was an operand of its own.
    let rounds_down = matches!(node.op.param("ceil_mode"), Some(ParamValue::Bool(false)));
    (fits && rounds_down).then_some(padding)
}

fn of_max_pool(node: &Node, padded: &Padded) -> Option<Vec<(&'static str, Param)>> {
    let padding = of_pool(node, padded)?;
    (padded.value == f64::NEG_INFINITY).then(|| vec![("padding", Param::Ints(padding))])
}

/// Zeros that count as elements of their windows.
fn of_avg_pool(node: &Node, padded: &Padded) -> Option<Vec<(&'static str, Param)>> {
    let padding = of_pool(node, padded)?;
    let own = numbers(node, "padding", padding.len())?;
    let counts = matches!(node.op.param("count_include_pad"), Some(ParamValue::Bool(true)));
    let divisor = matches!(node.op.param("divisor_override"), None | Some(ParamValue::Int(0)));
    let plain = divisor && (counts || own.iter().all(|&p| p == 0));
    (plain && padded.value == 0.0)
        .then(|| vec![("padding", Param::Ints(padding)), ("count_include_pad", true.into())])
}
