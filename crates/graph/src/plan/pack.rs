//! Packs constant weights for the kernels that will read them.

use std::sync::Arc;

use blocktensor::dispatch::{DispatchKey, Value};
use blocktensor::{
    AnyConvPacker, Candidate, Layout, MemoryFormat, PackedLinear, PackedOp, ParamValue, Result, Source,
    StridedTensor, TensorDesc,
};

use super::algorithms::Computes;
use crate::network::{Network, Node, TensorId};

/// A node whose weights are packed.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub(super) op: Arc<PackedOp>,
    pub(super) implementation: String,
    /// Which of the node's inputs a run still takes.
    pub(super) inputs: Vec<usize>,
}

/// Which of the node's inputs a run still takes once the weights are packed.
pub(super) fn kept(node: &Node) -> Vec<usize> {
    let names = node.op.inputs();
    (0..names.len()).filter(|&i| !matches!(names[i], "weights" | "bias" | "b")).collect()
}

/// The input that becomes packed weights.
pub(super) fn weights_of(node: &Node) -> Option<TensorId> {
    let at = node.op.inputs().iter().position(|name| matches!(*name, "weights" | "b"))?;
    node.inputs.get(at).copied()
}

/// Whether the node has weights that are packed: constant ones, with a constant bias if any. An operator of the caller's own runs
/// as it is: its parameters are not known.
pub(super) fn packs(network: &Network, node: &Node) -> bool {
    if node.op.bound().is_none() {
        return false;
    }
    let names = node.op.inputs();
    let constant = |name: &str| {
        let at = names.iter().position(|n| *n == name);
        at.map(|i| network.tensor(node.inputs[i]).constant().is_some())
    };
    let x_rank = || node.inputs.first().map_or(0, |id| network.tensor(*id).dims().len());
    match node.op.op() {
        "matmul" => {
            constant("b") == Some(true) && network.tensor(node.inputs[1]).dims().len() == 2 && x_rank() >= 2
        }
        op if op == "linear" || op.starts_with("conv") => {
            constant("weights") == Some(true) && constant("bias") != Some(false)
        }
        _ => false,
    }
}

/// The constant of the node's input of this name.
fn constant<'a>(network: &'a Network, node: &Node, name: &str) -> Option<&'a StridedTensor> {
    let at = node.op.inputs().iter().position(|n| *n == name)?;
    network.tensor(node.inputs[at]).constant()
}

/// Packs the weights of a convolution or linear layer for its source. `None` for other ops, and for weights that are not
/// constant. With `stem`, packs for a result in that layout. Without `computes`, it computes as the node says.
pub(super) fn pack(
    network: &Network,
    node: &Node,
    inputs: &[(TensorId, TensorDesc)],
    stem: Option<Layout>,
    computes: Option<Computes>,
) -> Result<Option<Packed>> {
    if !packs(network, node) {
        return Ok(None);
    }
    let x = &inputs[0].1;
    let rows = || {
        let last = x.dims().last().copied().unwrap_or(1).max(1);
        x.dims().iter().product::<usize>() / last
    };
    let bias = constant(network, node, "bias");
    let op: PackedOp = match (constant(network, node, "weights"), constant(network, node, "b")) {
        (Some(weights), _) if node.op.op() == "linear" && stem.is_none() => {
            PackedLinear::new(weights, bias, rows())?.into()
        }
        (None, Some(b)) if stem.is_none() => PackedLinear::of_matrix(b, rows())?.into(),
        (Some(weights), _) if node.op.op() != "linear" => {
            let packer = packer(node, weights, bias, computes)?;
            match &stem {
                Some(layout) => packer.pack_stem(&source(x)?, layout)?.into(),
                None => packer.pack_for(&source(x)?)?.into(),
            }
        }
        _ => return Ok(None),
    };
    let implementation = op.implementation();
    Ok(Some(Packed { op: Arc::new(op), implementation, inputs: kept(node) }))
}

/// The ways to compute a convolution of packed weights, for a source like this; none for other nodes.
pub(super) fn candidates(network: &Network, node: &Node, x: &TensorDesc) -> Vec<Candidate> {
    let weights = constant(network, node, "weights").filter(|_| node.op.op() != "linear");
    let found = weights.map(|weights| {
        let packer = packer(node, weights, constant(network, node, "bias"), None)?;
        packer.candidates(&source(x)?)
    });
    // What cannot be packed has no ways: packing says why.
    found.and_then(Result::ok).unwrap_or_default()
}

/// The packer of a convolution.
fn packer(
    node: &Node,
    weights: &StridedTensor,
    bias: Option<&StridedTensor>,
    computes: Option<Computes>,
) -> Result<AnyConvPacker> {
    let params = node.op.bound().into_iter().flat_map(|op| op.params());
    let mut params: Vec<(&str, Value)> = params.map(|(name, value)| (name, value_of(value))).collect();
    if let Some(Computes::Direct) = computes {
        params.retain(|(name, _)| *name != "algorithm");
    }
    let packer = AnyConvPacker::new(node.op.op(), weights, bias, &params)?;
    match computes {
        Some(Computes::As(candidate)) => packer.implementation(candidate.name),
        _ => Ok(packer),
    }
}

fn source(x: &TensorDesc) -> Result<Source> {
    match x.layout() {
        Some(layout) => Source::blocked(x.dims(), layout),
        None => Source::strided(x.dims(), format_of(x)),
    }
}

/// The memory format of a dense strided tensor.
fn format_of(x: &TensorDesc) -> MemoryFormat {
    let formats = match x.dims().len() {
        4 => Some(MemoryFormat::ChannelsLast),
        5 => Some(MemoryFormat::ChannelsLast3d),
        _ => None,
    };
    let is_it = |format: &MemoryFormat| {
        x.key() == DispatchKey::STRIDED
            && TensorDesc::strided(x.dims(), x.dtype(), *format).is_ok_and(|d| d.strides() == x.strides())
    };
    formats.filter(is_it).unwrap_or(MemoryFormat::Contiguous)
}

/// A parameter as a call takes it.
pub(crate) fn value_of(value: &ParamValue) -> Value {
    match value {
        ParamValue::Bool(v) => Value::Bool(*v),
        ParamValue::Int(v) => Value::Int(*v),
        ParamValue::Float(v) => Value::Float(*v),
        ParamValue::Ints(v) => Value::Ints(v.clone()),
        ParamValue::Str(v) => Value::Str(v.clone()),
    }
}
