//! A linear layer and the element-wise ops after it: they are computed on each part of the result while that is in the cache.

use std::sync::Arc;

use super::{Fit, Region, RegionInput, RegionLayouts, Way, row_major};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::kernels::conv::epilogue::{Finish, channel_values};
use crate::key::DispatchKey;
use crate::layout::memory_format::MemoryFormat;
use crate::op::results::{check_count, check_given};
use crate::operator::{BoundOp, Operator};
use crate::ops::linear::LinearShape;
use crate::pack::{PackedLinear, PackedOp};
use crate::post_ops::{MAX_POST_OPS, PostOp, PostOps};
use crate::scratchpad::Scratchpad;
use crate::tensor::any::{Tensor, TensorMut, TensorRef, check_f32};
use crate::tensor::desc::TensorDesc;
use crate::tensor::strided::StridedTensor;

const OP: &str = "linear";

/// A linear layer with constant weights, and after it activations, products with and sums of a number for each output, and one
/// sum with a tensor of the result's sizes. The same bits as one by one.
pub(super) struct LinearEpilogue;

/// What follows the layer.
struct Epilogue {
    post_ops: PostOps,
    /// Which tensors from outside they take.
    residual: Option<usize>,
    channel: Vec<usize>,
}

/// Whether the first node is a linear layer with constant weights.
fn starts(region: &Region<'_>) -> bool {
    let node = &region.nodes[0];
    let of_constant = |at: Option<usize>| at.map(|at| region.constant(0, at));
    let Some(Some(weights)) = of_constant(node.op.weights()) else { return false };
    let has_bias = of_constant(node.op.bias()).is_none_or(|bias| bias.is_some());
    node.op.packed_op() == Some(OP) && weights.rank() == 2 && has_bias && is_f32(region)
}

fn is_f32(region: &Region<'_>) -> bool {
    let data = region.outside.iter().map(|t| t.dtype).chain(region.nodes.iter().map(|n| n.dtype));
    data.into_iter().all(|dtype| dtype == DType::F32)
}

/// The post-op that a node is on the result of the node before it, and the tensor from outside that it takes.
fn post_op(region: &Region<'_>, at: usize) -> Option<(PostOp, Option<usize>)> {
    let node = &region.nodes[at];
    let before = RegionInput::Node(at - 1);
    let of_activation = || {
        let list: PostOps = node.op.post_op()?.parse().ok()?;
        (list.len() == 1).then(|| list[0])
    };
    match node.inputs[..] {
        _ if node.dims != region.nodes[0].dims => None,
        [x] if x == before => match of_activation()? {
            op @ PostOp::Activation(_) => Some((op, None)),
            _ => None,
        },
        [x, RegionInput::Outside(other)] if x == before => {
            with_other(region, node.op, other, of_activation()).map(|op| (op, Some(other)))
        }
        [RegionInput::Outside(other), x] if x == before && commutes(node.op) => {
            with_other(region, node.op, other, of_activation()).map(|op| (op, Some(other)))
        }
        _ => None,
    }
}

fn commutes(op: &BoundOp) -> bool {
    matches!(op.op(), "add" | "mul")
}

/// The post-op that an op of two operands is; `stated` is what it says itself.
fn with_other(region: &Region<'_>, op: &BoundOp, other: usize, stated: Option<PostOp>) -> Option<PostOp> {
    let (own, dims) = (region.outside[other].dims, region.nodes[0].dims);
    let outputs = *dims.last()?;
    // One number for each output, broadcast along all other axes.
    let of_outputs = own.last() == Some(&outputs) && own.iter().product::<usize>() == outputs;
    match (op.op(), stated) {
        ("add", _) if own == dims => Some(PostOp::Residual),
        ("add", _) if of_outputs && own.len() <= dims.len() => Some(PostOp::AddChannel),
        ("mul", _) if of_outputs && own.len() <= dims.len() => Some(PostOp::MulChannel),
        // Channels are the second axis.
        (_, Some(op)) if op.takes_channel() && dims.len() == 2 && own == [outputs] => Some(op),
        _ => None,
    }
}

/// What follows the layer in a region. `None` if it is something else.
fn epilogue(region: &Region<'_>) -> Option<Epilogue> {
    if !starts(region) || region.nodes.len() > MAX_POST_OPS + 1 {
        return None;
    }
    let mut epilogue = Epilogue { post_ops: PostOps::new(), residual: None, channel: vec![] };
    for at in 1..region.nodes.len() {
        let (op, other) = post_op(region, at)?;
        match other {
            Some(_) if op == PostOp::Residual && epilogue.residual.is_some() => return None,
            Some(other) if op == PostOp::Residual => epilogue.residual = Some(other),
            Some(other) => epilogue.channel.push(other),
            None => {}
        }
        epilogue.post_ops = epilogue.post_ops.then(op);
    }
    Some(epilogue)
}

impl Way for LinearEpilogue {
    fn name(&self) -> &'static str {
        "linear_epilogue"
    }

    fn fit(&self, region: &Region<'_>) -> Fit {
        match epilogue(region) {
            None => Fit::NO,
            Some(_) => {
                let nodes = region.nodes.len();
                Fit { whole: nodes > 1, more: nodes <= MAX_POST_OPS }
            }
        }
    }

    fn weights(&self, _: &Region<'_>) -> Vec<usize> {
        vec![0]
    }

    fn layouts(&self, region: &Region<'_>, _: &RegionLayouts) -> Result<RegionLayouts> {
        row_major(region)
    }

    fn bind(&self, region: &Region<'_>, packed: &[Option<Arc<PackedOp>>]) -> Result<Arc<dyn Operator>> {
        let got = || format!("{} ops", region.nodes.len());
        let Some(epilogue) = epilogue(region) else {
            let remedy = "ask whether the region fits first";
            fail!(InvalidArgument, OP, "region", got(), "a linear layer and element-wise ops", remedy);
        };
        let Some(Some(weights)) = packed.first().filter(|w| w.as_ref().is_some_and(|w| w.linear().is_some()))
        else {
            let remedy = "pack them with WeightsPacker";
            fail!(InvalidArgument, OP, "packed", got(), "the first has packed linear weights", remedy);
        };
        let operands = super::Fusion(&LinearEpilogue).operands(region);
        let place = |outside: usize| operands.iter().position(|o| *o == outside).unwrap_or(0);
        let residual = epilogue.residual.map(place);
        let channel: Vec<usize> = epilogue.channel.iter().map(|o| place(*o)).collect();
        let name = |i: usize| match i {
            0 => "x",
            _ if residual == Some(i) => "residual",
            _ => "channel",
        };
        Ok(Arc::new(FusedLinear {
            weights: Arc::clone(weights),
            post_ops: epilogue.post_ops,
            residual,
            channel,
            names: (0..operands.len()).map(name).collect(),
        }))
    }
}

/// A packed linear layer with what follows it.
#[derive(Debug)]
struct FusedLinear {
    weights: Arc<PackedOp>,
    post_ops: PostOps,
    /// Which inputs the post-ops take.
    residual: Option<usize>,
    channel: Vec<usize>,
    names: Vec<&'static str>,
}

impl FusedLinear {
    fn layer(&self) -> &PackedLinear {
        match self.weights.linear() {
            Some(layer) => layer,
            None => unreachable!("`bind` looked"),
        }
    }

    /// The inputs, all checked, and the shape of a run with them.
    fn checked<'a>(&self, inputs: &[TensorRef<'a>]) -> Result<(Vec<&'a StridedTensor>, LinearShape)> {
        if inputs.len() != self.names.len() {
            let (got, rule) = (format!("{} tensors", inputs.len()), format!("it takes {:?}", self.names));
            fail!(InvalidArgument, OP, "inputs", got, rule, "pass one tensor for each");
        }
        let mut strided = Vec::with_capacity(inputs.len());
        for (name, input) in self.names.iter().zip(inputs) {
            check_f32(OP, name, *input, "kernels take f32")?;
            match *input {
                TensorRef::Strided(t) if t.is_contiguous(MemoryFormat::Contiguous) => strided.push(t),
                other => {
                    let rule = "packed weights meet contiguous rows";
                    fail!(LayoutMismatch, OP, *name, other.describe(), rule, "reorder it to row-major")
                }
            }
        }
        let s = self.layer().shape(strided[0])?;
        if let Some(r) = self.residual.map(|i| strided[i]).filter(|r| *r.dims() != *s.dst) {
            let (got, rule) = (TensorRef::Strided(r).describe(), format!("the result is {:?}", s.dst));
            fail!(ShapeMismatch, OP, "residual", got, rule, "pass a residual of these sizes");
        }
        if let Some(c) = self.channel.iter().map(|i| strided[*i]).find(|c| c.numel() != s.o) {
            let (got, rule) = (TensorRef::Strided(c).describe(), format!("there are {} outputs", s.o));
            fail!(ShapeMismatch, OP, "channel", got, rule, "pass a number for each output");
        }
        Ok((strided, s))
    }

    fn described(&self, inputs: &[TensorDesc]) -> Result<LinearShape> {
        let tensors: Vec<Tensor> = inputs.iter().map(TensorDesc::without_elements).collect();
        let refs: Vec<TensorRef<'_>> = tensors.iter().map(crate::tensor::any::Operand::tensor_ref).collect();
        self.checked(&refs).map(|(_, s)| s)
    }

    fn write(
        &self,
        inputs: &[&StridedTensor],
        s: &LinearShape,
        dst: &mut StridedTensor,
        scratchpad: Option<&mut Scratchpad>,
    ) -> Result<()> {
        let channel: Vec<TensorRef<'_>> =
            self.channel.iter().map(|i| TensorRef::Strided(inputs[*i])).collect();
        let channel = channel_values(&channel)?;
        let finish = Finish { bias: None, post_ops: &self.post_ops, channel: &channel };
        let residual = self.residual.map(|i| inputs[i].data::<f32>());
        self.layer().write(s, inputs[0], dst, scratchpad, &finish, residual)
    }
}

impl Operator for FusedLinear {
    fn op(&self) -> &'static str {
        OP
    }

    fn inputs(&self) -> &[&'static str] {
        &self.names
    }

    fn infer(&self, inputs: &[TensorDesc]) -> Result<Vec<TensorDesc>> {
        let s = self.described(inputs)?;
        Ok(vec![TensorDesc::strided(&s.dst, DType::F32, MemoryFormat::Contiguous)?])
    }

    fn preferred(&self, key: DispatchKey, inputs: &[TensorDesc]) -> Result<Option<Vec<TensorDesc>>> {
        self.layer().preferred(key, inputs)
    }

    fn scratchpad_bytes(&self, inputs: &[TensorDesc]) -> Result<usize> {
        self.described(inputs)?;
        self.layer().scratchpad_bytes(&inputs[..1])
    }

    #[track_caller]
    fn run(&self, inputs: &[TensorRef<'_>]) -> Result<Vec<Tensor>> {
        let (inputs, s) = self.checked(inputs)?;
        let strides = MemoryFormat::Contiguous.strides(OP, &s.dst)?;
        let mut dst = StridedTensor::for_result(OP, s.dst, strides, DType::F32)?;
        self.write(&inputs, &s, &mut dst, None)?;
        Ok(vec![dst.into()])
    }

    #[track_caller]
    fn run_into(
        &self,
        inputs: &[TensorRef<'_>],
        mut outputs: Vec<TensorMut<'_>>,
        scratchpad: &mut Scratchpad,
    ) -> Result<()> {
        let (inputs, s) = self.checked(inputs)?;
        check_count(OP, outputs.len(), 1)?;
        let desc = TensorDesc::strided(&s.dst, DType::F32, MemoryFormat::Contiguous)?;
        check_given(OP, "dst", &desc, &mut outputs[0], false)?;
        match &mut outputs[0] {
            TensorMut::Strided(dst) => self.write(&inputs, &s, dst, Some(scratchpad)),
            _ => unreachable!("it was checked to be strided"),
        }
    }
}
