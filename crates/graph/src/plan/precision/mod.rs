//! Networks in bf16: which nodes compute in it, and the casts between them and the others.

use std::collections::HashMap;

use blocktensor::dispatch::{DispatchKey, Isa, Kernel};
use blocktensor::{
    BoundOp, DType, Layout, MemoryFormat, Operator, Tensor, TensorDesc, TensorRef, build_info,
};
use serde::{Deserialize, Serialize};

use super::forms::{Order, Target, kinds};
use super::pack;
use crate::error::{Error, Result};
use crate::network::{Network, Node, Operation, Origin, TensorId, facts};
use crate::stop::Stop;

/// The type in which the nodes of a plan compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Precision {
    /// Each node as the graph says: f32.
    #[default]
    F32,
    /// bf16 with sums in f32, where an op has a kernel for it.
    Bf16,
}

impl Precision {
    /// Every precision, the default first.
    pub const ALL: [Precision; 2] = [Precision::F32, Precision::Bf16];

    /// `f32`, `bf16`.
    pub const fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Bf16 => "bf16",
        }
    }
}

/// Turns nodes to bf16 that have kernels for it, and puts casts between them and the others: which are nodes (`BoundOp::cast`). Inputs and outputs of
/// the network stay as they are.
///
/// A convolution or linear layer with constant weights is worth a cast of its source. Other nodes follow: they run in bf16 if all that they
/// read is there in bf16 already, and their results are none of the network's.
///
/// # Errors
/// [`Error::Invalid`] where nothing computes in bf16 because this build, machine or layout has no kernel for it;
/// `Stopped`.
pub(super) fn run(network: &mut Network, targets: &[Target], stop: &Stop) -> Result<()> {
    let nodes = std::mem::take(&mut network.nodes);
    let mut casting = Casting { network, others: HashMap::new() };
    for mut node in nodes {
        stop.check()?;
        let to = match casting.is_for_bf16(&node, targets) {
            true => DType::BF16,
            false => DType::F32,
        };
        for (at, is_data) in kinds(&node.op).into_iter().enumerate() {
            if casting.is_float(node.inputs[at]) {
                node.inputs[at] = casting.as_dtype(node.inputs[at], if is_data { to } else { DType::F32 })?;
            }
        }
        if to == DType::BF16 {
            node.outputs.iter().for_each(|id| casting.round(*id));
        }
        casting.network.nodes.push(node);
    }
    let outputs: Vec<TensorId> = casting.network.outputs.iter().map(|(_, id)| *id).collect();
    for (at, id) in outputs.into_iter().enumerate() {
        if casting.network.tensor(id).dtype == DType::BF16 {
            casting.network.outputs[at].1 = casting.as_dtype(id, DType::F32)?;
        }
    }
    if of(casting.network) == Precision::F32
        && let Some(error) = casting.refused()
    {
        return Err(error);
    }
    network.remove_unused();
    Ok(())
}

fn is_cast(node: &Node) -> bool {
    node.op.bound().is_some_and(BoundOp::is_cast)
}

struct Casting<'a> {
    network: &'a mut Network,
    /// The same numbers in the other of the two dtypes.
    others: HashMap<TensorId, TensorId>,
}

impl Casting<'_> {
    fn is_float(&self, id: TensorId) -> bool {
        matches!(self.network.tensor(id).dtype, DType::F32 | DType::BF16)
    }

    /// A result of a node that computes in bf16.
    fn round(&mut self, id: TensorId) {
        let tensor = &mut self.network.tensors[id.0];
        if tensor.dtype == DType::F32 {
            tensor.dtype = DType::BF16;
        }
    }

    /// Whether the node is to compute in bf16.
    fn is_for_bf16(&self, node: &Node, targets: &[Target]) -> bool {
        let Some(op) = node.op.bound() else { return false };
        if pack::packs(self.network, node) {
            return self.could_pack(node) && targets.iter().any(|target| self.packs_for(node, *target));
        }
        let is_data = kinds(&node.op);
        let data = || node.inputs.iter().zip(&is_data).filter(|(_, data)| **data).map(|(id, _)| *id);
        if !data().any(|id| self.is_float(id)) {
            return false;
        }
        if !has_kernel(op) {
            return false;
        }
        let is_there = |id: TensorId| {
            let tensor = self.network.tensor(id);
            let known = tensor.constant.is_some() || self.others.contains_key(&id);
            known || tensor.dtype == DType::BF16 || !self.is_float(id)
        };
        // The network's own results are f32: a cast before the node that makes them loses less than one after it.
        if node.outputs.iter().any(|id| self.network.outputs.iter().any(|(_, of)| of == id)) {
            return false;
        }
        let computed = data().any(|id| self.is_float(id) && self.network.tensor(id).constant.is_none());
        self.makes_f32(node) && computed && data().all(is_there) && self.takes_bf16(node, &is_data)
    }

    fn makes_f32(&self, node: &Node) -> bool {
        node.outputs.iter().any(|id| self.network.tensor(*id).dtype == DType::F32)
    }

    /// Whether a kernel for bf16 could take the node's packed weights, if there is one. A convolution of integers adds a residual, and makes
    /// results, of f32.
    fn could_pack(&self, node: &Node) -> bool {
        pack::packs(self.network, node)
            && self.is_float(node.inputs[0])
            && self.makes_f32(node)
            && !self.are_tiny(node)
    }

    /// Whether a kernel takes them for a source in this order, or for a stem.
    fn packs_for(&self, node: &Node, target: Target) -> bool {
        let x = self.network.tensor(node.inputs[0]);
        let row_major = Order::Strided(MemoryFormat::Contiguous);
        let order = target.order(x.dims.len());
        let can = |order: Order, stem: Option<&Layout>| {
            let x = order.desc(&x.dims, DType::BF16);
            x.is_ok_and(|x| pack::can_pack(self.network, node, &x, stem))
        };
        let is_stem = match &order {
            // Other tensors are in blocks already, where a kernel could take them as they are.
            Some(Order::Blocked(layout)) if self.network.inputs.contains(&node.inputs[0]) => {
                can(row_major, Some(layout))
            }
            _ => false,
        };
        is_stem || can(order.unwrap_or(row_major), None)
    }

    /// The error of a network of which nothing computes in bf16 for want of kernels. `None` where they are not the reason: it has no node for
    /// them, or one that none takes anywhere.
    fn refused(&self) -> Option<Error> {
        let node = self.network.nodes.iter().find(|node| self.could_pack(node))?;
        let is_elsewhere =
            || [Target::ChannelsLast, Target::Native].into_iter().any(|t| self.packs_for(node, t));
        let leave = "leave it out, and the plan computes in f32";
        let (lacks, remedy) = match build_info().engine {
            None => ("this build has no kernels for it, which take oneDNN", leave.to_string()),
            Some(_) if !Isa::Avx512Bf16.is_here() => {
                ("this machine has no kernels for it, which take AVX512_BF16", leave.to_string())
            }
            Some(_) if is_elsewhere() => {
                ("this layout has no kernels for it", format!("plan channels-last or blocked, or {leave}"))
            }
            Some(_) => return None,
        };
        let (name, op) = (&node.name, node.op.op());
        Some(Error::Invalid {
            what: "precision".into(),
            got: Precision::Bf16.name().into(),
            rule: format!("{lacks}: nothing would compute in it, such as node `{name}` ({op})").into(),
            remedy: remedy.into(),
        })
    }

    /// Whether the node's weights are all so small that some may be subnormal, which the kernels take for zero.
    fn are_tiny(&self, node: &Node) -> bool {
        const LEAST: f32 = 1e-30;
        let weights = pack::weights_of(node).and_then(|id| self.network.tensor(id).constant.as_ref());
        let values = weights.and_then(|w| w.to_vec::<f32>().ok()).unwrap_or_default();
        values.iter().any(|v| *v != 0.0) && values.iter().all(|v| v.abs() < LEAST)
    }

    /// Whether the op takes row-major operands of bf16, and makes results of it.
    fn takes_bf16(&self, node: &Node, is_data: &[bool]) -> bool {
        let desc = |(id, data): (&TensorId, &bool)| {
            let tensor = self.network.tensor(*id);
            let dtype = match tensor.dtype {
                DType::F32 if *data => DType::BF16,
                DType::BF16 if !data => DType::F32,
                other => other,
            };
            TensorDesc::strided(&tensor.dims, dtype, MemoryFormat::Contiguous)
        };
        let inputs: blocktensor::Result<Vec<TensorDesc>> =
            node.inputs.iter().zip(is_data).map(desc).collect();
        let Ok(results) = inputs.and_then(|inputs| node.op.infer(&inputs)) else { return false };
        let wanted = |(id, desc): (&TensorId, &TensorDesc)| match self.network.tensor(*id).dtype {
            DType::F32 => desc.dtype() == DType::BF16,
            other => desc.dtype() == other,
        };
        node.outputs.iter().zip(&results).all(wanted)
    }

    /// The tensor in this dtype: a constant, or a cast that all who read it share.
    fn as_dtype(&mut self, id: TensorId, dtype: DType) -> Result<TensorId> {
        let tensor = self.network.tensor(id);
        if tensor.dtype == dtype {
            return Ok(id);
        }
        if let Some(other) = self.others.get(&id) {
            return Ok(*other);
        }
        let other = match &tensor.constant {
            Some(constant) => {
                // As a run would cast it.
                match BoundOp::cast(dtype).run(&[TensorRef::Strided(constant)])?.remove(0) {
                    Tensor::Strided(constant) => self.network.add_constant(constant),
                    other => unreachable!("a strided tensor stays one: {other:?}"),
                }
            }
            None => {
                let (of, dims) = (tensor.name.clone(), tensor.dims.clone());
                let name = format!("{of} to {dtype}");
                let other = self.network.add_tensor(name.clone(), &dims, dtype, None);
                let op = BoundOp::cast(dtype);
                self.network.nodes.push(Node {
                    name,
                    origin: Origin { node: of, op: op.op().to_string(), number: 0 },
                    op: Operation::Bound(op),
                    inputs: vec![id],
                    outputs: vec![other],
                });
                other
            }
        };
        self.others.insert(id, other);
        Ok(other)
    }
}

/// Whether a kernel that runs on this machine takes bf16 for the op's data.
fn has_kernel(op: &BoundOp) -> bool {
    let schema = op.registered().schema();
    let data = || schema.args.iter().filter(|arg| arg.kind.is_data());
    let takes = |name: &str, kernel: &Kernel| {
        kernel.dtypes_of(schema, name).is_none_or(|dtypes| dtypes.contains(&DType::BF16))
    };
    let keys = [DispatchKey::STRIDED, DispatchKey::BLOCKED];
    keys.iter().any(|key| op.registered().kernels(*key).any(|k| data().any(|arg| takes(arg.name, k))))
}

/// The precision that a network was made for.
pub(super) fn of(network: &Network) -> Precision {
    match network.tensors.iter().any(|tensor| tensor.dtype == DType::BF16) {
        true => Precision::Bf16,
        false => Precision::F32,
    }
}

/// Whether the network has constants that were rounded to bf16: it does not hold the model's own.
pub(super) fn rounds_constants(network: &Network) -> bool {
    network.tensors.iter().any(|tensor| tensor.dtype == DType::BF16 && tensor.constant.is_some())
}

/// The nodes that compute in f32 where another precision was asked for, with their ops.
pub(super) fn in_f32(network: &Network, asked: Precision) -> Vec<(&str, &str)> {
    if asked == Precision::F32 {
        return vec![];
    }
    let is_f32 = |id: &TensorId| network.tensor(*id).dtype == DType::F32;
    let computes = |node: &&Node| {
        !is_cast(node) && !facts(&*node.op).sharing.is_view() && node.outputs.iter().any(is_f32)
    };
    network.nodes.iter().filter(computes).map(|node| (node.name.as_str(), node.op.op())).collect()
}

#[cfg(test)]
mod tests;
