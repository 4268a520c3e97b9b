//! Plain weights on their way to being packed: checked, folded, and laid for a kernel.

use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;

use super::AnyPackedConv;
use super::packed::Packed;
use crate::dtype::DType;
use crate::error::{Call, Complaint, Error, Result, Text, Unsupported, UnsupportedOp, fail};
use crate::kernels::conv::call::other_layout;
use crate::kernels::conv::implementation::{
    ConvImplementation, ConvKernel, ConvTypes, NoKernel, Problem, Refusal,
};
use crate::kernels::conv::weights::{PlainWeights, output_first, pack};
use crate::kernels::conv::{Algorithm, ConvGeometry, ConvParams, implementations, integers, kind_of};
use crate::key::DispatchKey;
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::memory::{try_collect, try_copied, try_filled};
use crate::op::Value;
use crate::ops::BatchNorm;
use crate::ops::conv::op_of;
use crate::pack::source::{Source, SourceLayout};
use crate::tensor::any::TensorRef;
use crate::tensor::any::check_f32;
use crate::tensor::quantization::refuse;
use crate::tensor::strided::StridedTensor;
use crate::threads;

/// Plain weights of a convolution of any rank and direction on their way to being packed: checked, and folded with what follows
/// the convolution. [`ConvPacker`](crate::ConvPacker) is the same for a rank and a direction that the program knows.
#[derive(Clone, Debug)]
pub struct AnyConvPacker {
    op: &'static str,
    spatial: usize,
    transposed: bool,
    weights: StridedTensor,
    bias: Option<Vec<f32>>,
    params: ConvParams,
    implementation: Option<&'static str>,
}

/// A way to compute a convolution that [`AnyConvPacker::implementation`] takes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The implementation's name.
    pub name: &'static str,
    /// What decides how it rounds.
    pub algorithm: Algorithm,
    /// How many multiply-adds of a direct convolution are estimated to take as long.
    pub work: f64,
    /// **Bytes** of packed weights beyond those of the plain ones.
    pub extra_bytes: usize,
    /// Whether it may be the fastest for a problem like this one, so that measuring it may pay.
    pub promising: bool,
}

impl AnyConvPacker {
    /// Takes plain weights `[O, C/groups, k...]` (a transposed convolution's `[C, O/groups, k...]`, as PyTorch has them) or
    /// `[groups, O/groups, C/groups, k...]`, the bias `[O]`, and the op's parameters as a call by name takes them; what is left
    /// out has its default. `op` is the op's name. Weights are f32 or bf16 for a source of either, and packing rounds to its
    /// dtype; for a source of u8 or s8 they are s8.
    ///
    /// ```
    /// use blocktensor::{AnyConvPacker, MemoryFormat, Source, StridedTensor};
    /// let x = StridedTensor::full(&[1, 3, 8, 8], 1f32, MemoryFormat::ChannelsLast)?;
    /// let w = StridedTensor::full(&[4, 3, 3, 3], 0.5f32, MemoryFormat::Contiguous)?;
    /// let packer = AnyConvPacker::new("conv2d", &w, None, &[("padding", 1i64.into())])?;
    /// let conv = packer.pack_for(&Source::of(&x)?)?;
    /// assert_eq!(conv.run(&x)?.get::<f32>(&[0, 0, 4, 4]), Some(13.5));
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` unless `op` is a convolution, and for parameters that it does not have; `UnsupportedDType` unless weights are f32,
    /// bf16 or s8, and the bias f32;
    /// `RankMismatch`, `ShapeMismatch` for weights, bias and parameters that do not go together.
    pub fn new(
        op: &str,
        weights: &StridedTensor,
        bias: Option<&StridedTensor>,
        params: &[(&str, Value)],
    ) -> Result<AnyConvPacker> {
        let all = (1..4).flat_map(|spatial| [false, true].map(|t| op_of(spatial, t).schema().name));
        let Some(op) = all.into_iter().find(|name| *name == op) else {
            fail!(
                InvalidArgument,
                "pack",
                "op",
                format!("`{}`", op.escape_debug()),
                "it is the name of a convolution",
                "pass `conv1d` to `conv3d`, or `conv_transpose1d` to `conv_transpose3d`"
            );
        };
        AnyConvPacker::of(op, weights, bias, ConvParams::from_values(op, params)?)
    }

    /// `op` is a convolution's name.
    pub(crate) fn of(
        op: &'static str,
        weights: &StridedTensor,
        bias: Option<&StridedTensor>,
        params: ConvParams,
    ) -> Result<AnyConvPacker> {
        let (spatial, transposed) = kind_of(op);
        threads::enter(op)?;
        if ![DType::BF16, DType::S8].contains(&weights.dtype()) {
            check_f32(op, "weights", TensorRef::Strided(weights), "kernels take f32, bf16 and s8")?;
        }
        let rule = "packing does not read its scales and zero points";
        refuse(op, "weights", TensorRef::Strided(weights), rule)?;
        bias.map_or(Ok(()), |b| check_f32(op, "bias", TensorRef::Strided(b), "it is f32"))?;
        let numbers = params.numbers(op, spatial, transposed)?;
        let weights = match transposed {
            true => output_first(op, weights, spatial, numbers.groups)?,
            false => weights.clone(),
        };
        // Any source that fits shows whether weights, bias and parameters fit each other.
        let grouped = weights.rank() == spatial + 3;
        let cg = weights.dims().get(if grouped { 2 } else { 1 }).copied().unwrap_or(1);
        let mut probe = Dims::from_slice(&[1, cg.saturating_mul(numbers.groups)]);
        for axis in 0..spatial {
            let k = weights.dims().get(weights.rank().saturating_sub(spatial) + axis).copied().unwrap_or(1);
            let reach = numbers.dilation[axis].saturating_mul(k.saturating_sub(1)).saturating_add(1);
            // Of a transposed convolution: enough that its padding leaves something.
            let cut = numbers.padding[axis].saturating_add(numbers.padding[spatial + axis]);
            probe.push(if transposed { cut.saturating_add(1) } else { reach });
        }
        ConvGeometry::new(op, spatial, &probe, weights.dims(), bias.map(StridedTensor::dims), &numbers)?;
        params.post_ops.check()?;
        let bias = bias.map(StridedTensor::to_vec::<f32>).transpose()?;
        Ok(AnyConvPacker { op, spatial, transposed, weights, bias, params, implementation: None })
    }

    /// The packer of weights that a file holds, in the form of [`AnyPackedConv::unpack_weights`].
    pub(super) fn of_unpacked(
        op: &'static str,
        weights: StridedTensor,
        bias: Option<Vec<f32>>,
        params: ConvParams,
    ) -> AnyConvPacker {
        let (spatial, transposed) = kind_of(op);
        AnyConvPacker { op, spatial, transposed, weights, bias, params, implementation: None }
    }

    /// Packs for this implementation alone, by a name of [`candidates`](Self::candidates), whatever algorithm the parameters ask
    /// for. Unless it is said, packing takes the first that computes by the algorithm that is asked for.
    ///
    /// # Errors
    /// `InvalidArgument` if this build has none of this name.
    pub fn implementation(mut self, name: &str) -> Result<Self> {
        let found = implementations::of_name(self.op, name)?;
        self.params.algorithm = found.algorithm();
        self.implementation = Some(found.name());
        Ok(self)
    }

    /// The names of all implementations of this build, in the order in which packing asks them.
    pub fn implementations() -> impl Iterator<Item = &'static str> {
        implementations::ALL.iter().map(|i| i.name())
    }

    /// The ways to compute the convolution of a source like this, with a result in its layout. Packing has the last word: oneDNN
    /// may refuse.
    ///
    /// # Errors
    /// As [`pack_for`](Self::pack_for) for weights that do not fit the source.
    pub fn candidates(&self, source: &Source) -> Result<Vec<Candidate>> {
        let g = self.geometry(source)?;
        let p = self.problem(&g, source, source.layout);
        Ok(implementations::candidates(&p)
            .map(|i| Candidate {
                name: i.name(),
                algorithm: i.algorithm(),
                work: i.work(&p),
                extra_bytes: i.extra_bytes(&p),
                promising: i.is_promising(&p),
            })
            .collect())
    }

    /// Folds a batch norm that follows the convolution into weights and bias, in f64: `w * s` and
    /// `(b - mean) * s + beta` with `s = gamma / sqrt(var + eps)`. Before any post-op. A product that f32 cannot hold is
    /// infinite in the weights, where convolution and norm in two steps may have given a finite number.
    ///
    /// # Errors
    /// `ShapeMismatch` when a vector has not one value for each output channel; `InvalidArgument` when `var + eps`
    /// is not positive.
    pub fn fold_batch_norm(mut self, bn: &BatchNorm<'_>) -> Result<Self> {
        let grouped = self.weights.rank() == self.spatial + 3;
        let dims = self.weights.dims().to_vec();
        let o = if grouped { dims[0] * dims[1] } else { dims[0] };
        let op = self.op;
        let (scale, shift) = bn.scale_and_shift(op, o)?;
        let weights = self.weights.to_dtype(DType::F32)?;
        let plain = match weights.as_slice::<f32>() {
            Ok(values) => Cow::Borrowed(values),
            Err(_) => Cow::Owned(weights.to_vec::<f32>()?),
        };
        let mut scaled = StridedTensor::zeros(&dims, DType::F32, MemoryFormat::Contiguous)?;
        let row = (scaled.numel() / o).max(1);
        let rows = scaled.data_mut::<f32>().unwrap_or(&mut []).chunks_mut(row);
        for ((to, from), s) in rows.zip(plain.chunks(row)).zip(&scale) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = (f64::from(*from) * s) as f32);
        }
        self.weights = scaled;
        let bias = self.bias.map_or_else(|| try_filled(op, o, 0.0), Ok)?;
        let folded = bias.iter().zip(&scale).zip(&shift).map(|((&b, s), t)| (f64::from(b) * s + t) as f32);
        self.bias = Some(try_collect(op, folded)?);
        Ok(self)
    }

    /// How many weights are subnormal numbers (below 1.18e-38, and not 0), with what was folded in so far.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn subnormals(&self) -> Result<usize> {
        self.weights.to_dtype(DType::F32)?.count_subnormals()
    }

    /// Replaces weights that are subnormal numbers by zeros. Arithmetic on subnormal numbers can be many times slower. We know
    /// of no trained network whose results visibly change.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn flush_subnormals(mut self) -> Result<Self> {
        self.weights = self.weights.to_dtype(DType::F32)?.flush_subnormals()?;
        Ok(self)
    }

    /// Packs for a source; the result of a run has the source's layout.
    ///
    /// # Errors
    /// `ShapeMismatch`, `RankMismatch`, `UnsupportedDType` when the weights do not fit the source; `InvalidArgument` for an
    /// algorithm or implementation that is not for it; `UnsupportedOp` where no kernel takes its layout, with the way out.
    #[track_caller]
    pub fn pack_for(&self, source: &Source) -> Result<AnyPackedConv> {
        self.pack(source, source.layout, Location::caller())
    }

    /// Packs for a plain NCHW source of fewer channels than a block, and a blocked result: a network's stem.
    ///
    /// # Errors
    /// As [`pack_for`](Self::pack_for); `InvalidArgument` for a transposed convolution.
    #[track_caller]
    pub fn pack_stem(&self, source: &Source, to: &Layout) -> Result<AnyPackedConv> {
        let rank = self.spatial + 2;
        if self.transposed {
            let rule = "a stem is no transposed convolution";
            fail!(
                InvalidArgument,
                self.op,
                "to",
                to.to_string(),
                rule,
                Text::from("pack for this source with ") + Call::PackFor
            );
        }
        if !Layout::blocked_activation(rank, to.block_of(1)).is_ok_and(|l| l == *to) {
            fail!(
                LayoutMismatch,
                self.op,
                "to",
                to.to_string(),
                format!("a stem writes blocked activations of rank {rank}"),
                Text::from("pass ") + Call::NativeLayout(rank)
            );
        }
        if let SourceLayout::Blocked(from) = source.layout {
            fail!(
                LayoutMismatch,
                self.op,
                "source",
                from.to_string(),
                "a stem reads strided activations",
                Text::from("pack for this source with ") + Call::PackFor
            );
        }
        self.pack(source, SourceLayout::Blocked(*to), Location::caller())
    }

    fn geometry(&self, source: &Source) -> Result<ConvGeometry> {
        let bias_dims = self.bias.as_ref().map(|b| [b.len()]);
        let bias_dims = bias_dims.as_ref().map(|d| &d[..]);
        let numbers = self.params.numbers(self.op, self.spatial, self.transposed)?;
        ConvGeometry::new(self.op, self.spatial, &source.dims, self.weights.dims(), bias_dims, &numbers)
    }

    fn problem<'a>(&'a self, g: &'a ConvGeometry, source: &Source, to: SourceLayout) -> Problem<'a> {
        Problem {
            g,
            types: ConvTypes::of(source.dtype, &self.params.post_ops),
            src: source.layout,
            dst: to,
            weights: None,
            bias: self.bias.is_some(),
            post_ops: &self.params.post_ops,
            allow_reference: self.params.allow_reference,
            threads: source.threads,
        }
    }

    pub(super) fn pack(
        &self,
        source: &Source,
        to: SourceLayout,
        location: &'static Location<'static>,
    ) -> Result<AnyPackedConv> {
        threads::enter(self.op)?;
        let types = ConvTypes::of(source.dtype, &self.params.post_ops);
        if !implementations::ALL.iter().any(|i| i.types().contains(&types)) {
            fail!(
                UnsupportedDType,
                self.op,
                "source",
                source.to_string(),
                "no kernel of this build and machine takes it",
                "pack for an f32 source"
            );
        }
        let g = self.geometry(source)?;
        integers::check(self.op, types, &self.params.post_ops, g.zero_point)?;
        integers::check_bias(self.op, types, self.bias.as_deref())?;
        integers::check_weights(self.op, types, TensorRef::Strided(&self.weights))?;
        let (implementation, kernel) = self.chosen(source, &self.problem(&g, source, to))?;
        let weights = pack(&*kernel, &PlainWeights::new(&g, &self.weights), types.weights, location)?;
        Ok(AnyPackedConv {
            g,
            source: source.clone(),
            to,
            types,
            bias: self.bias.as_deref().map(|bias| try_copied(self.op, bias)).transpose()?,
            post_ops: self.params.post_ops,
            allow_reference: self.params.allow_reference,
            packed: Packed::new(implementation, weights, kernel, g.n)?,
            subnormals: self.subnormals()?,
        })
    }

    /// The name of the kernel that packing for this source would take, and for a result in its layout, or that of a stem. Nothing is
    /// packed.
    ///
    /// # Errors
    /// As [`pack_for`](Self::pack_for).
    pub fn implementation_for(&self, source: &Source, stem: Option<&Layout>) -> Result<String> {
        threads::enter(self.op)?;
        let g = self.geometry(source)?;
        let to = stem.map_or(source.layout, |to| SourceLayout::Blocked(*to));
        let (_, kernel) = self.chosen(source, &self.problem(&g, source, to))?;
        Ok(kernel.name().to_string())
    }

    /// The first implementation that computes a problem, or the one that was asked for.
    fn chosen(
        &self,
        source: &Source,
        p: &Problem<'_>,
    ) -> Result<(&'static dyn ConvImplementation, Arc<dyn ConvKernel>)> {
        let algorithm = self.params.algorithm.chosen(self.op)?;
        let mut why = Refusal::OtherKinds;
        for candidate in implementations::of_types(p) {
            let asked = match self.implementation {
                Some(name) => candidate.name() == name,
                None => candidate.algorithm() == algorithm && candidate.is_usual(p),
            };
            if !asked {
                continue;
            }
            match candidate.kernel(p) {
                Ok(kernel) => return Ok((candidate, kernel)),
                Err(NoKernel::Failed(e)) => return Err(e),
                Err(NoKernel::Refused(Refusal::OtherKinds)) => {}
                Err(NoKernel::Refused(refusal)) => why = refusal,
            }
        }
        Err(self.refused(source, p, why))
    }

    fn refused(&self, source: &Source, p: &Problem<'_>, why: Refusal) -> Error {
        let (argument, got) = match self.implementation {
            Some(name) => ("implementation", format!("`{name}`")),
            None => ("algorithm", format!("`{}`", self.params.algorithm)),
        };
        let invalid = |rule: String, remedy: Text| {
            Error::InvalidArgument(Complaint::new(self.op, argument, got, rule, remedy))
        };
        let (blocked, strided) = (DispatchKey::BLOCKED.name(), DispatchKey::STRIDED.name());
        let is_f32 = p.types == ConvTypes::F32;
        let (reason, available, remedy) = match why {
            Refusal::OtherKinds if !is_f32 => {
                return invalid(
                    format!("it does not compute in {}", source.dtype),
                    "pack for an f32 source".into(),
                );
            }
            Refusal::Misfit { rule, remedy } => return invalid(rule.into(), remedy),
            Refusal::OtherKinds if self.implementation.is_some() => {
                let rule = format!("it does not compute {} -> {}", p.src, p.dst);
                return invalid(rule, "pass another of `candidates`, or none".into());
            }
            Refusal::Engine(reason) => (reason, vec![strided], without_stem(p)),
            Refusal::Layout => {
                let layout = p.dst.to_string();
                (Unsupported::Layout { layout }, vec![strided], other_layout(self.spatial + 2))
            }
            Refusal::OtherKinds => {
                let remedy =
                    Text::from("reorder the source with ") + Call::ToAnyBlocked + " and pack for that with ";
                let remedy = remedy + Call::PackForTensor + ", or build with feature `onednn`";
                (Unsupported::EngineNotBuilt, vec![strided, blocked], remedy)
            }
        };
        Error::UnsupportedOp(Box::new(UnsupportedOp {
            op: self.op.into(),
            key: if matches!(p.dst, SourceLayout::Blocked(_)) { blocked } else { strided }.into(),
            reason,
            operands: vec![
                format!("x {source}"),
                format!("weights {} plain", p.g.weight_dims()),
                format!("dst {} {}", p.g.dst_dims(), p.dst),
            ],
            available: available.into_iter().map(String::from).collect(),
            remedy: if is_f32 { remedy } else { "pack for an f32 source".into() },
        }))
    }
}

/// The way out where oneDNN refuses a stem.
fn without_stem(p: &Problem<'_>) -> Text {
    let blocked =
        Text::from("reorder it with ") + Call::ToAnyBlocked + " and pack for that with " + Call::PackFor;
    match (p.src, p.dst) {
        (SourceLayout::Strided(f), _) if f != MemoryFormat::Contiguous => {
            Text::from(format!("a stem reads contiguous NCHW, and the source is {f}: call "))
                + Call::Contiguous
        }
        (SourceLayout::Strided(_), SourceLayout::Blocked(l)) if ![8, 16].contains(&l.block_of(1)) => {
            let words = format!("a stem writes blocks of 8 or 16 channels, not {l}: pass ");
            Text::from(words) + Call::NativeLayout(p.g.input.len() + 2)
        }
        (SourceLayout::Strided(_), SourceLayout::Blocked(l)) if p.g.c >= l.block_of(1) || p.g.groups > 1 => {
            let rule = "a stem reads fewer channels than a block, in one group, and the source has ";
            Text::from(rule) + format!("{}: ", p.g.c) + blocked
        }
        (SourceLayout::Strided(_), _) => {
            Text::from("the engine has no fast stem for these sizes: ") + blocked
        }
        (SourceLayout::Blocked(_), _) => "pack for the layout of the source".into(),
    }
}
