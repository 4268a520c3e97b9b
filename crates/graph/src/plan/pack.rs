//! Packs constant weights for the kernels that will read them.

use std::sync::Arc;

use blocktensor::dispatch::{DispatchKey, Value};
use blocktensor::ops::{Conv, ConvTranspose};
use blocktensor::{
    ConvPacker, Layout, MemoryFormat, Operator, Packable, PackedConv, PackedConvTranspose, PackedLinear,
    PackedWriter, ParamValue, Result, Source, StridedTensor, TensorDesc,
};

use super::algorithms::Computes;
use crate::network::{Network, Node, TensorId};

/// A node whose weights are packed.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub(super) op: Arc<dyn Weights>,
    pub(super) implementation: String,
    /// Which of the node's inputs a run still takes.
    pub(super) inputs: Vec<usize>,
}

/// Packed weights as an operator that a file can hold.
pub(super) trait Weights: Operator {
    /// Adds them to a file.
    fn add_to<'a>(&'a self, writer: &mut PackedWriter<'a>, name: String) -> Result<()>;
}

impl<T: Operator + Packable> Weights for T {
    fn add_to<'a>(&'a self, writer: &mut PackedWriter<'a>, name: String) -> Result<()> {
        writer.add(name, self)
    }
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

/// Packs the weights of a convolution or linear layer for its source. `None` for other ops, and for weights that are not
/// constant. With `stem`, packs for a result in that layout. Without `computes`, it computes as the node says.
pub(super) fn pack(
    network: &Network,
    node: &Node,
    inputs: &[(TensorId, TensorDesc)],
    stem: Option<Layout>,
    computes: Option<Computes>,
) -> Result<Option<Packed>> {
    let names = node.op.inputs();
    let find = |name: &str| names.iter().position(|n| *n == name);
    let constant = |name: &str| find(name).and_then(|i| network.tensor(node.inputs[i]).constant());
    let op = node.op.op();
    let weights = match op {
        "matmul" => constant("b"),
        _ => constant("weights"),
    };
    let Some(weights) = weights.filter(|_| node.op.bound().is_some()) else { return Ok(None) };
    let bias = match find("bias") {
        Some(_) => match constant("bias") {
            None => return Ok(None),
            bias => bias,
        },
        None => None,
    };
    let x = &inputs[0].1;
    let rows = || {
        let last = x.dims().last().copied().unwrap_or(1).max(1);
        x.dims().iter().product::<usize>() / last
    };
    if stem.is_some() && !matches!(op, "conv1d" | "conv2d" | "conv3d") {
        return Ok(None);
    }
    let conv = Convolution { node, weights, bias, x, stem, computes };
    let (op, implementation): (Arc<dyn Weights>, String) = match op {
        "linear" => {
            let packed = PackedLinear::new(weights, bias, rows())?;
            let text = packed.weights_layout();
            (Arc::new(packed), text)
        }
        "matmul" if weights.rank() == 2 && x.dims().len() >= 2 => {
            let packed = PackedLinear::of_matrix(weights, rows())?;
            let text = packed.weights_layout();
            (Arc::new(packed), text)
        }
        "conv1d" => conv.pack::<1>()?,
        "conv2d" => conv.pack::<2>()?,
        "conv3d" => conv.pack::<3>()?,
        "conv_transpose1d" => conv.pack_transposed::<1>()?,
        "conv_transpose2d" => conv.pack_transposed::<2>()?,
        "conv_transpose3d" => conv.pack_transposed::<3>()?,
        _ => return Ok(None),
    };
    Ok(Some(Packed { op, implementation, inputs: kept(node) }))
}

struct Convolution<'a> {
    node: &'a Node,
    weights: &'a StridedTensor,
    bias: Option<&'a StridedTensor>,
    x: &'a TensorDesc,
    stem: Option<Layout>,
    computes: Option<Computes>,
}

impl Convolution<'_> {
    fn source(&self) -> Result<Source> {
        match self.x.layout() {
            Some(layout) => Source::blocked(self.x.dims(), layout),
            None => Source::strided(self.x.dims(), format_of(self.x)),
        }
    }

    fn params(&self) -> Vec<(&str, Value)> {
        let params = self.node.op.bound().into_iter().flat_map(|op| op.params());
        params.map(|(name, value)| (name, value_of(value))).collect()
    }

    fn pack<const N: usize>(&self) -> Result<(Arc<dyn Weights>, String)> {
        let mut params = Conv::from_values(&self.params())?;
        if let Some(computes) = self.computes {
            params = params.algorithm(computes.algorithm);
        }
        let mut packer: ConvPacker<N> = PackedConv::new(self.weights, self.bias, params)?;
        if let Some(computes) = self.computes {
            packer = packer.weight_transform(computes.transform);
        }
        if let Some(layout) = &self.stem {
            let packed = packer.pack_stem(&self.source()?, layout)?;
            let text = packed.packed().implementation();
            return Ok((Arc::new(packed), text));
        }
        let packed = packer.pack_for(&self.source()?)?;
        let text = packed.implementation();
        Ok((Arc::new(packed), text))
    }

    fn pack_transposed<const N: usize>(&self) -> Result<(Arc<dyn Weights>, String)> {
        let params = ConvTranspose::from_values(&self.params())?;
        let packer = PackedConvTranspose::<N>::new(self.weights, self.bias, params)?;
        let packed = packer.pack_for(&self.source()?)?;
        let text = packed.implementation();
        Ok((Arc::new(packed), text))
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
