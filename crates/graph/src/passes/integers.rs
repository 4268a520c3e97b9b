//! Convolutions between `dequantize` and `quantize` become convolutions of integers.

use blocktensor::dispatch::Isa;
use blocktensor::dispatch::facts::{LARGEST_BIAS, MOST_PRODUCTS};
use blocktensor::{DType, Operand, ParamValue, StridedTensor, Tensor, memory};

use super::post_ops::convolution;
use super::{joins, layers, moves, tables};
use crate::Param;
use crate::constant::CONSTANT;
use crate::error::Result;
use crate::network::{Links, Network, Node, TensorId, facts};

/// Returns how many nodes changed. With `is_strict`, also where f32 would be as fast.
pub(super) fn run(network: &mut Network, is_strict: bool) -> Result<usize> {
    let computes = computes();
    let mut changes = 0;
    // Each makes work for the others.
    loop {
        let layers = if computes { layers::as_convolutions(network)? } else { 0 };
        let more = layers + moves::run(network)? + joins::run(network)?;
        changes += more;
        if more == 0 {
            break;
        }
    }
    layers::before_views(network)?;
    if !computes {
        return Ok(changes);
    }
    changes += tables::run(network, tables::Wanted { cheap: false, small: is_strict })?;
    let links = Links::of(network);
    for i in 0..network.nodes.len() {
        changes += usize::from(convolution(&network.nodes[i]) && use_integers(network, i, &links)?);
    }
    Ok(changes)
}

/// Whether this machine computes with integers in plans. Elsewhere f32 is the faster one.
pub(super) fn computes() -> bool {
    Isa::has_byte_products()
}

/// Whether a tensor of this dtype has integers of 8 bits.
pub(super) fn is_byte(dtype: DType) -> bool {
    matches!(dtype, DType::U8 | DType::S8)
}

/// What `dequantize` or `quantize` does to all elements alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub scale: f32,
    pub zero_point: i32,
}

/// The scale and the zero point of a `quantize` or `dequantize` node, if they are constant and the same for all elements. A scale that
/// is not positive stays with its node, which refuses it or multiplies by it: with one, the largest integer is not the largest number.
pub(super) fn pair_of(network: &Network, node: &Node, op: &str) -> Option<Pair> {
    if node.op.op() != op {
        return None;
    }
    let constant = |i: usize| network.tensor(*node.inputs.get(i)?).constant().filter(|c| c.numel() == 1);
    let scale = *constant(1)?.to_vec::<f32>().ok()?.first()?;
    let zero_point = *constant(2)?.to_vec::<i32>().ok()?.first()?;
    (scale > 0.0 && scale.is_finite()).then_some(Pair { scale, zero_point })
}

/// The integers that a tensor was dequantised from: of 8 bits, all with one scale.
pub(super) fn integers_of(network: &Network, id: TensorId, links: &Links) -> Option<(TensorId, Pair)> {
    let node = links.node(network, id)?;
    let pair = pair_of(network, node, "dequantize")?;
    let x = node.inputs[0];
    is_byte(network.tensor(x).dtype).then_some((x, pair))
}

/// Constant weights of integers, with a scale for each output channel.
pub(super) struct Weights {
    integers: StridedTensor,
    scales: Vec<f64>,
}

pub(super) fn weights_of(
    network: &Network,
    id: TensorId,
    outputs: usize,
    axis: usize,
    links: &Links,
) -> Result<Option<Weights>> {
    let Some(node) = links.node(network, id).filter(|node| node.op.op() == "dequantize") else {
        return Ok(None);
    };
    let constant = |i: usize| network.tensor(node.inputs[i]).constant();
    let (Some(w), Some(scale), Some(zero_point)) = (constant(0), constant(1), constant(2)) else {
        return Ok(None);
    };
    let of_axis = int_param(node, "axis");
    let is_along = of_axis == Some(axis as i64) || scale.numel() == 1 && zero_point.numel() == 1;
    if !is_along || !is_byte(w.dtype()) {
        return Ok(None);
    }
    let all = |values: Vec<f64>| match values[..] {
        [one] => memory::try_filled(CONSTANT, outputs, one),
        _ => Ok(values),
    };
    let scales = all(memory::try_collect(CONSTANT, scale.to_vec::<f32>()?.into_iter().map(f64::from))?)?;
    let zero_points = zero_point.to_vec::<i32>()?;
    let products = w.numel() / outputs.max(1);
    if scales.len() != outputs
        || ![1, outputs].contains(&zero_points.len())
        || scales.iter().any(|s| !s.is_finite())
        || products > MOST_PRODUCTS
    {
        return Ok(None);
    }
    if w.dtype() == DType::S8 && zero_points.iter().all(|z| *z == 0) {
        return Ok(Some(Weights { integers: w.clone(), scales }));
    }
    // u8 with a zero point of 128 is s8 with one of 0.
    let values = w.to_dtype(DType::S32)?.to_vec::<i32>()?;
    let inner: usize = w.dims()[axis + 1..].iter().product();
    let zero_point =
        |i: usize| zero_points[if zero_points.len() == 1 { 0 } else { i / inner.max(1) % outputs }];
    let centred = values.iter().enumerate().map(|(i, v)| i8::try_from(v - zero_point(i)).ok());
    let Some(centred) = centred.collect::<Option<Vec<i8>>>() else { return Ok(None) };
    Ok(Some(Weights { integers: StridedTensor::from_slice(&centred, w.dims())?, scales }))
}

/// Why a convolution or a linear layer has no weights of integers, if it has none.
pub(super) fn weights_problem(network: &Network, node: &Node, links: &Links) -> Result<Option<&'static str>> {
    let at = node.op.inputs().iter().position(|name| *name == "weights");
    let is_layer = convolution(node) || node.op.op() == "linear";
    let Some(&id) = at.filter(|_| is_layer).and_then(|at| node.inputs.get(at)) else { return Ok(None) };
    let axis = usize::from(node.op.op().contains("transpose"));
    let dims = network.tensor(id).dims();
    let outputs = dims.get(axis).copied().unwrap_or(0)
        * if axis == 0 { 1 } else { int_param(node, "groups").unwrap_or(1) as usize };
    if weights_of(network, id, outputs, axis, links)?.is_some() {
        return Ok(None);
    }
    if network.tensor(id).constant().is_some() {
        return Ok(Some("it is computed with constant weights of f32, which no `dequantize` makes"));
    }
    let Some(made) = links.node(network, id).filter(|node| node.op.op() == "dequantize") else {
        return Ok(Some("its weights are computed, or a factor such as `alpha` changes them"));
    };
    let constant = |i: usize| network.tensor(made.inputs[i]).constant();
    let (Some(w), Some(scale), Some(_)) = (constant(0), constant(1), constant(2)) else {
        return Ok(Some("its weights, or their scales or zero points, are no constants"));
    };
    if !is_byte(w.dtype()) {
        return Ok(Some("its weights are no integers of 8 bits"));
    }
    Ok(Some(if w.numel() / outputs.max(1) > MOST_PRODUCTS {
        "a sum of its products of 8 bits may not fit into 32 bits"
    } else if ![1, outputs].contains(&scale.numel())
        || scale.numel() > 1 && int_param(made, "axis") != Some(axis as i64)
    {
        "the scales of its weights are not those of its output channels"
    } else {
        "its weights minus their zero points do not fit into 8 bits with a sign: quantise them symmetrically"
    }))
}

pub(super) fn int_param(node: &Node, name: &str) -> Option<i64> {
    match node.op.param(name) {
        Some(ParamValue::Int(value)) => Some(*value),
        _ => None,
    }
}

/// Makes a convolution one of integers, whose result is multiplied by the scales.
fn use_integers(network: &mut Network, i: usize, links: &Links) -> Result<bool> {
    let node = &network.nodes[i];
    let named = |name: &str| node.op.inputs().iter().position(|n| *n == name).map(|at| node.inputs[at]);
    let (Some(x), Some(w)) = (named("x"), named("weights")) else { return Ok(false) };
    // With post-ops or another algorithm it is not the definition alone.
    let is_empty = |name: &str, default: &str| matches!(node.op.param(name), Some(ParamValue::Str(word)) if word == default);
    let is_plain = node.op.inputs().iter().all(|name| ["x", "weights", "bias"].contains(name))
        && is_empty("post_ops", "")
        && is_empty("algorithm", "direct");
    let Some((source, pair)) = integers_of(network, x, links) else { return Ok(false) };
    let outputs = network.tensor(node.outputs[0]).dims()[1];
    let is_transposed = node.op.op().contains("transpose");
    let is_grouped = int_param(node, "groups").unwrap_or(1) != 1;
    if !is_plain || is_transposed && is_grouped {
        return Ok(false);
    }
    let Some(weights) = weights_of(network, w, outputs, usize::from(is_transposed), links)? else {
        return Ok(false);
    };
    let bias = match named("bias") {
        None => None,
        Some(id) => match network.tensor(id).constant() {
            Some(bias) => Some(bias.to_vec::<f32>()?),
            None => return Ok(false),
        },
    };
    let scales: Vec<f64> = weights.scales.iter().map(|s| s * f64::from(pair.scale)).collect();
    let mut inputs = vec![("x", source), ("weights", network.add_constant(weights.integers))];
    let vector = |values: Vec<f32>| StridedTensor::from_slice(&values, &[values.len()]);
    let mut post_ops = "mul_channel".to_string();
    let mut channel = vec![vector(scales.iter().map(|s| *s as f32).collect())?];
    if let Some(bias) = bias {
        match whole(&bias, &scales) {
            Some(sums) => inputs.push(("bias", network.add_constant(vector(sums)?))),
            None => {
                post_ops += ",add_channel";
                channel.push(vector(bias)?);
            }
        }
    }
    for numbers in channel {
        inputs.push(("channel", network.add_constant(numbers)));
    }
    let node = &mut network.nodes[i];
    let params: [(&str, Param); 2] =
        [("post_ops", post_ops.into()), ("x_zero_point", i64::from(pair.zero_point).into())];
    node.set_inputs_and_params(&inputs, &params)?;
    Ok(true)
}

/// A bias in units of the sums, if it is of whole numbers there, as quantisers make them, but for the roundings of f32. What is
/// rounded away is relative to the bias: where all sums are 0, the result is the bias.
fn whole(bias: &[f32], scales: &[f64]) -> Option<Vec<f32>> {
    let of = |(b, s): (&f32, &f64)| {
        let sums = f64::from(*b) / s;
        let is_whole = (sums - sums.round()).abs() <= 3e-7 * sums.abs();
        (is_whole && sums.abs() <= f64::from(LARGEST_BIAS)).then_some(sums.round() as f32)
    };
    bias.iter().zip(scales).map(of).collect()
}

/// Computes nodes of constants that were kept, and that no convolution took. A constant needs no node. Returns how many there were.
pub(super) fn fold_constants(network: &mut Network) -> Result<usize> {
    let mut gone = Vec::new();
    for (i, node) in network.nodes.iter().enumerate().filter(|(_, node)| facts(&*node.op).inflates) {
        let constant = |id: &TensorId| network.tensors[id.0].constant.as_ref();
        let constants: Option<Vec<&StridedTensor>> = node.inputs.iter().map(constant).collect();
        let Some(constants) = constants else { continue };
        let refs: Vec<_> = constants.iter().map(|c| c.tensor_ref()).collect();
        let result = node.op.run(&refs).map_err(|source| node.origin.error(source))?.swap_remove(0);
        if let Tensor::Strided(result) = result {
            network.tensors[node.outputs[0].0].constant = Some(result);
            gone.push(i);
        }
    }
    network.remove_nodes(&gone);
    Ok(gone.len())
}
