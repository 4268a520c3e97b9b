//! Padding with zeros goes into the convolution after it.

use blocktensor::ParamValue;

use super::post_ops::convolution;
use crate::Param;
use crate::error::Result;
use crate::network::Network;

/// Returns how many pads were folded.
pub(super) fn run(network: &mut Network) -> Result<usize> {
    let mut changes = 0;
    for i in 0..network.nodes.len() {
        changes += usize::from(fold(network, i)?);
    }
    Ok(changes)
}

fn fold(network: &mut Network, i: usize) -> Result<bool> {
    let node = &network.nodes[i];
    if !convolution(node) || node.op.op().starts_with("conv_transpose") {
        return Ok(false);
    }
    let x = node.inputs[0];
    let Some(pad) = network.nodes.iter().find(|n| n.outputs.contains(&x) && n.op.op() == "pad") else {
        return Ok(false);
    };
    let is_zero = match (pad.op.param("mode"), pad.op.param("value")) {
        (Some(ParamValue::Str(mode)), Some(ParamValue::Float(value))) => mode == "constant" && *value == 0.0,
        _ => false,
    };
    let (Some(ParamValue::Ints(pads)), Some(ParamValue::Ints(own))) =
        (pad.op.param("padding"), node.op.param("padding"))
    else {
        return Ok(false);
    };
    let spatial = network.tensor(x).dims.len() - 2;
    // The pad lists its axes from the last one on, before and after each.
    if !is_zero || pads.iter().skip(2 * spatial).any(|&p| p != 0) || pads.iter().any(|&p| p < 0) {
        return Ok(false);
    }
    let own_of = |i: usize| match own.len() {
        1 => own[0],
        n if n == spatial => own[i % spatial],
        _ => own[i],
    };
    let mut padding: Vec<i64> = (0..2 * spatial).map(own_of).collect();
    for (k, pair) in pads.chunks(2).take(spatial).enumerate() {
        let axis = spatial - 1 - k;
        padding[axis] += pair[0];
        padding[spatial + axis] += pair.get(1).copied().unwrap_or(0);
    }
    let source = pad.inputs[0];
    network.nodes[i].set_params(&[("padding", Param::Ints(padding))])?;
    network.nodes[i].inputs[0] = source;
    Ok(true)
}
