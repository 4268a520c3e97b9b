//! A call of a convolution: its operands checked, and the first implementation that computes it.

use super::epilogue::{Finish, channel_values, check_operands};
use super::implementation::{
    ConvImplementation, ConvKernel, ConvOperands, ConvTypes, Elements, NoKernel, Problem, Refusal, run,
};
use super::weights::{BLOCKS, PlainWeights, layout_beside, output_first, pack, repack};
use super::{Algorithm, ConvGeometry, ConvNumbers, ConvParams, implementations, integers, kind_of};
use crate::dtype::DType;
use crate::error::{self, Complaint, Error, Result, Text, Unsupported, fail};
use crate::key::DispatchKey;
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::either::SourceLayout;
use crate::layout::memory_format::MemoryFormat;
use crate::op::kernel::Engine;
use crate::op::lookup::convert;
use crate::op::params::Params;
use crate::op::results::Stop;
use crate::op::{Args, KernelResult, Results};
use crate::post_ops::PostOps;
use crate::tensor::any::TensorRef;
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::desc::TensorDesc;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;
use crate::threads::current_threads;

/// Convolutions on this engine. A call that it does not compute is declined, or refused by the last engine.
pub(crate) fn on(engine: Engine, args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    match args.key() {
        DispatchKey::BLOCKED => blocked(engine, args, results),
        _ => strided(engine, args, results),
    }
}

/// A call's operands and parameters, checked.
struct Call<'a> {
    g: ConvGeometry,
    types: ConvTypes,
    bias: Option<&'a StridedTensor>,
    residual: Option<TensorRef<'a>>,
    channel: &'a [TensorRef<'a>],
    post_ops: PostOps,
    algorithm: Algorithm,
    allow_reference: bool,
}

impl<'a> Call<'a> {
    /// `weights` are the sizes of the weights: `[O, C/g, k...]`, or with their groups apart.
    fn new(args: &Args<'a>, params: &ConvParams, weights: &[usize]) -> Result<Call<'a>> {
        let (spatial, transposed) = kind_of(args.op());
        let bias = args.optional_strided(2)?;
        let numbers = params.numbers(args.op(), spatial, transposed)?;
        let bias_dims = bias.map(StridedTensor::dims);
        let x = args.tensor(0)?;
        let g = ConvGeometry::new(args.op(), spatial, x.dims(), weights, bias_dims, &numbers)?;
        let (residual, channel) = (args.optional_tensor(3)?, args.tensors(4)?);
        let types = ConvTypes::of(x.dtype(), &params.post_ops);
        integers::check(args.op(), types, &params.post_ops, g.zero_point)?;
        check_operands(args.op(), &params.post_ops, (&g.dst_dims(), 1, types.residual()), residual, channel)?;
        Ok(Call {
            g,
            types,
            bias,
            residual,
            channel,
            post_ops: params.post_ops,
            algorithm: params.algorithm.chosen(args.op())?,
            allow_reference: params.allow_reference,
        })
    }

    fn problem<'p>(&'p self, src: SourceLayout, weights: Option<&'p Layout>) -> Problem<'p> {
        Problem {
            g: &self.g,
            types: self.types,
            src,
            dst: src,
            weights,
            bias: self.bias.is_some(),
            post_ops: &self.post_ops,
            allow_reference: self.allow_reference,
            threads: current_threads(),
        }
    }

    /// Whether each engine computes with these dtypes, so that another one may follow.
    fn is_for_all_engines(&self) -> bool {
        self.types == ConvTypes::F32
    }

    /// The first kernel of the engine that computes the call.
    fn kernel(
        &self,
        engine: Engine,
        args: &Args<'_>,
        problem: &Problem<'_>,
    ) -> KernelResult<std::sync::Arc<dyn ConvKernel>> {
        let mut why = Refusal::OtherKinds;
        let asked = |i: &&'static dyn ConvImplementation| {
            i.algorithm() == self.algorithm && i.engine() == engine && !i.only_packed()
        };
        for implementation in implementations::of_types(problem).filter(asked) {
            match implementation.kernel(problem) {
                Ok(kernel) => return Ok(kernel),
                Err(NoKernel::Failed(e)) => return Err(e.into()),
                Err(NoKernel::Refused(Refusal::OtherKinds)) => {}
                Err(NoKernel::Refused(refusal)) => why = refusal,
            }
        }
        // Another engine comes next.
        if engine != Engine::Rust && self.is_for_all_engines() {
            return Err(Stop::Declined);
        }
        Err(self.refused(args, why).into())
    }

    fn refused(&self, args: &Args<'_>, why: Refusal) -> Error {
        let in_f32 = || {
            let or = match self.g.op {
                "linear" => "",
                _ => ", or pass x in channels-last or in blocks of 16 channels",
            };
            let way = || convert(DType::F32) + or;
            (!self.is_for_all_engines()).then(way)
        };
        match why {
            Refusal::OtherKinds if !self.is_for_all_engines() && self.algorithm != Algorithm::Direct => {
                let (got, rule) = (format!("`{}`", self.algorithm), "it computes in f32");
                let remedy = "write `direct`, or pass f32";
                Error::InvalidArgument(Complaint::new(self.g.op, "algorithm", got, rule, remedy))
            }
            Refusal::Misfit { rule, remedy } => {
                let got = format!("`{}`", self.algorithm);
                Error::InvalidArgument(Complaint::new(self.g.op, "algorithm", got, rule, remedy))
            }
            Refusal::Engine(reason) => args.unsupported(reason, in_f32()),
            Refusal::OtherKinds | Refusal::Layout => {
                let layout = args.tensor(0).map_or(String::new(), TensorRef::layout_name);
                args.unsupported(Unsupported::Layout { layout }, Some(other_layout(self.g.input.len() + 2)))
            }
        }
    }

    /// What a kernel does to the sums; `bias` and `channel` are the values of the operands.
    fn finish<'f>(
        &'f self,
        bias: Option<&'f [f32]>,
        channel: &'f [std::borrow::Cow<'f, [f32]>],
    ) -> Finish<'f> {
        Finish { bias, post_ops: &self.post_ops, channel }
    }
}

/// The way out for layouts that no kernel takes.
pub(crate) fn other_layout(rank: usize) -> Text {
    Text::from("channels come in blocks of 8 or 16: reorder with ") + error::Call::ReorderToNative(rank)
}

/// The elements of a tensor of our own.
pub(crate) fn elements(t: TensorRef<'_>) -> Elements<'_> {
    match t {
        TensorRef::Strided(t) => Elements { bytes: t.bytes(), strides: t.strides() },
        TensorRef::Blocked(t) => Elements { bytes: t.storage_bytes(), strides: &[] },
        TensorRef::Opaque(_) => Elements { bytes: &[], strides: &[] },
    }
}

/// A blocked call's operands, checked.
fn checked<'a>(args: &Args<'a>) -> Result<(Call<'a>, &'a BlockedTensor, &'a BlockedTensor)> {
    let (x, w) = (args.blocked(0)?, args.blocked(1)?);
    let call = Call::new(args, &ConvParams::read(args)?, w.dims())?;
    let g = &call.g;
    let wanted = layout_beside(g, Some(x.layout()))?;
    if w.rank() != g.weight_dims().len() {
        let mut apart = g.weight_dims();
        let mut turn = Text::default();
        if g.transposed && g.groups > 1 {
            apart.swap(1, 2);
            turn = Text::from(", ") + error::Call::Transpose(1, 2) + ",";
        }
        fail!(
            RankMismatch,
            g.op,
            "weights",
            TensorRef::Blocked(w).describe(),
            format!("blocked weights of {} groups are {}", g.groups, g.weight_dims()),
            Text::from(format!("view the plain ones as {apart}"))
                + turn
                + " and reorder with "
                + error::Call::ToBlockedIn(wanted.to_string())
        );
    }
    // Weights in another layout would be packed on every call, and nobody would see it.
    if wanted != *w.layout() && BLOCKS.contains(&x.layout().block_of(1)) {
        fail!(
            LayoutMismatch,
            g.op,
            "weights",
            TensorRef::Blocked(w).describe(),
            format!("x is in {}, with which {wanted} goes", x.layout()),
            Text::from("reorder them with ")
                + error::Call::ReorderTo(wanted.to_string())
                + ", or once and for all with a packed form"
        );
    }
    if let Some(TensorRef::Blocked(r)) = call.residual
        && r.layout() != x.layout()
    {
        fail!(
            LayoutMismatch,
            g.op,
            "residual",
            TensorRef::Blocked(r).describe(),
            format!("the result is in {}", x.layout()),
            Text::from("reorder it with ") + error::Call::ReorderToAny + format!(" to {}", x.layout())
        );
    }
    Ok((call, x, w))
}

fn blocked(engine: Engine, args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (call, x, w) = checked(args)?;
    let (g, location) = (&call.g, args.location());
    // Layouts of weights with names are for f32: of others the kernel chooses its own.
    let stated = (call.types == ConvTypes::F32).then_some(w.layout());
    let problem = call.problem(SourceLayout::Blocked(*x.layout()), stated);
    let dims = g.dst_dims();
    let empty = dims.contains(&0);
    if engine != Engine::Rust && call.is_for_all_engines() {
        if empty || call.algorithm != Algorithm::Direct {
            return Err(Stop::Declined);
        }
        // Without a primitive: the next engine's result is the same.
        results.describe(&TensorDesc::of_layout(dims, x.layout(), call.types.dst))?;
    }
    if empty && call.algorithm == Algorithm::Direct {
        results.blocked(&dims, x.layout(), call.types.dst)?;
        return Ok(());
    }
    let kernel = call.kernel(engine, args, &problem)?;
    results.describe(&TensorDesc::of_layout(dims, x.layout(), call.types.dst))?;
    let scratchpad = results.scratchpad(kernel.scratchpad_bytes())?;
    let dst = results.blocked(&dims, x.layout(), call.types.dst)?;
    if empty {
        return Ok(());
    }
    let repacked;
    let weights = if stated.is_some() && kernel.takes(w.layout()) {
        w.storage_bytes()
    } else {
        repacked = repack(&*kernel, g, w, call.types.weights, location)?;
        repacked.bytes()
    };
    let bias = call.bias.map(StridedTensor::values).transpose()?;
    integers::check_bias(g.op, call.types, bias.as_deref())?;
    let channel = channel_values(call.channel)?;
    let operands = ConvOperands {
        src: elements(TensorRef::Blocked(x)),
        weights,
        finish: call.finish(bias.as_deref(), &channel),
        residual: call.residual.map(elements),
        location,
    };
    let layouts = || format!("{} -> {}", x.layout(), x.layout());
    Ok(run(&*kernel, (g.op, args.key()), layouts, &operands, dst.storage_bytes_mut(), scratchpad)?)
}

/// The operands that the result's format follows. Weights with their groups apart have another rank, and no format to suggest.
fn format_operands<'a>(x: &'a StridedTensor, w: &'a StridedTensor) -> Vec<&'a StridedTensor> {
    if w.rank() == x.rank() { vec![x, w] } else { vec![x] }
}

fn strided(engine: Engine, args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (x, given) = (args.strided(0)?, args.strided(1)?);
    let params = ConvParams::read(args)?;
    let w = match kind_of(args.op()) {
        (_, false) => given.clone(),
        (spatial, true) => output_first(args.op(), given, spatial, params.groups)?,
    };
    let call = Call::new(args, &params, w.dims())?;
    let g = &call.g;
    let desc =
        FormatRule::AnySuggests.desc(args.op(), &format_operands(x, given), &g.dst_dims(), call.types.dst)?;
    let format = MemoryFormat::of_dense(&g.dst_dims(), desc.strides().unwrap_or(&[]));
    computed(engine, (args, results), &call, (x, &w), desc, (format, format))
}

/// A linear layer, which is a convolution of one image: its rows are the pixels, channels-last.
pub(crate) struct Pixels<'a> {
    /// [..., C].
    pub x: &'a StridedTensor,
    pub rows: usize,
    /// [O, C].
    pub weights: &'a StridedTensor,
    pub bias: Option<&'a StridedTensor>,
    /// [..., O].
    pub residual: Option<&'a StridedTensor>,
    pub channel: &'a [TensorRef<'a>],
    pub post_ops: PostOps,
    pub zero_point: i64,
    /// The sizes of the result, whose elements lie in rows.
    pub dst: Dims,
}

/// Computes a linear layer on this engine. The operands of its post-ops are checked.
pub(crate) fn pixels(
    engine: Engine,
    args: &Args<'_>,
    results: &mut Results<'_>,
    of: &Pixels<'_>,
) -> KernelResult {
    let (op, spatial) = (args.op(), 2);
    let numbers = ConvNumbers {
        stride: Dims::filled(1, spatial),
        padding: Dims::filled(0, 2 * spatial),
        dilation: Dims::filled(1, spatial),
        groups: 1,
        transposed: None,
        zero_point: integers::zero_point(op, of.zero_point)?,
    };
    let bias_dims = of.bias.map(StridedTensor::dims);
    let weights = of.weights.unsqueeze(2)?.unsqueeze(3)?;
    let image = [of.rows.min(1), weights.dims()[1], 1, of.rows.max(1)];
    let g = ConvGeometry::new(op, spatial, &image, weights.dims(), bias_dims, &numbers)?;
    let types = ConvTypes::of(of.x.dtype(), &of.post_ops);
    integers::check(op, types, &of.post_ops, g.zero_point)?;
    let call = Call {
        g,
        types,
        bias: of.bias,
        residual: of.residual.map(TensorRef::Strided),
        channel: of.channel,
        post_ops: of.post_ops,
        algorithm: Algorithm::Direct,
        allow_reference: false,
    };
    let strides = MemoryFormat::Contiguous.strides(op, &of.dst)?;
    let desc = TensorDesc::of_strides(of.dst, strides, None, call.types.dst);
    let dense = (MemoryFormat::Contiguous, MemoryFormat::ChannelsLast);
    computed(engine, (args, results), &call, (of.x, &weights), desc, dense)
}

/// Computes a call of strided tensors on this engine. The kernel reads dense copies of them in the first format, which are its problem's
/// source and result in the second.
fn computed(
    engine: Engine,
    (args, results): (&Args<'_>, &mut Results<'_>),
    call: &Call<'_>,
    (x, w): (&StridedTensor, &StridedTensor),
    desc: TensorDesc,
    (copied, format): (MemoryFormat, MemoryFormat),
) -> KernelResult {
    let (g, location) = (&call.g, args.location());
    let problem = call.problem(SourceLayout::Strided(format), None);
    let empty = g.dst_dims().contains(&0);
    if engine != Engine::Rust && call.is_for_all_engines() {
        if empty || call.algorithm != Algorithm::Direct {
            return Err(Stop::Declined);
        }
        results.describe(&desc)?;
    }
    if empty && !call.is_for_all_engines() {
        results.strided_as(desc)?;
        return Ok(());
    }
    let kernel = call.kernel(engine, args, &problem)?;
    let scratchpad = results.scratchpad(kernel.scratchpad_bytes())?;
    let dst = results.strided_as(desc)?;
    if empty {
        return Ok(());
    }
    let dense = |t: &StridedTensor| match kernel.takes_any_strides() {
        true => Ok(t.clone()),
        false => t.dense_at(g.op, copied, location),
    };
    let x = dense(x)?;
    let residual = match call.residual {
        Some(TensorRef::Strided(r)) => Some(dense(r)?),
        _ => None,
    };
    let weights = pack(&*kernel, &PlainWeights::new(g, w), call.types.weights, location)?;
    let bias = call.bias.map(StridedTensor::values).transpose()?;
    integers::check_bias(g.op, call.types, bias.as_deref())?;
    let channel = channel_values(call.channel)?;
    let operands = ConvOperands {
        src: elements(TensorRef::Strided(&x)),
        weights: weights.bytes(),
        finish: call.finish(bias.as_deref(), &channel),
        residual: residual.as_ref().map(|r| elements(TensorRef::Strided(r))),
        location,
    };
    let layouts = || format!("{} -> {copied}", x.format_name());
    Ok(run(&*kernel, (g.op, args.key()), layouts, &operands, dst.result_bytes(), scratchpad)?)
}
