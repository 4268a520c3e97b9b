//! Packs the constant weights of a registered op, whatever kind they are of.

use super::{AnyConvPacker, Candidate, PackedLinear, PackedOp, Source, linear};
use crate::error::{Call, Result, Text, fail};
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::op::Value;
use crate::op::facts::Packing;
use crate::op::param_value::ParamValue;
use crate::operator::{BoundOp, Operator};
use crate::ops::linear::LinearShape;
use crate::tensor::desc::TensorDesc;
use crate::tensor::strided::StridedTensor;

/// The parameter by which a convolution says how it computes.
const ALGORITHM: &str = "algorithm";

/// Packs the constant weights of a registered op: for planners, which do not know which ops have weights, and of what kind.
///
/// ```
/// use blocktensor::{BoundOp, DType, MemoryFormat, Operator, StridedTensor, TensorDesc, WeightsPacker};
/// let op = BoundOp::new("linear", &["x", "weights"], &[])?;
/// let w = StridedTensor::full(&[10, 64], 0.5f32, MemoryFormat::Contiguous)?;
/// let x = TensorDesc::strided(&[8, 64], DType::F32, MemoryFormat::Contiguous)?;
///
/// let packer = WeightsPacker::new(&op, x.dims(), &[None, Some(&w)]).expect("constant weights");
/// let packed = packer.pack_for(&x)?;
/// assert_eq!(packed.inputs(), ["x"]);
/// assert_eq!(op.inputs_beside_weights(), [0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct WeightsPacker<'a> {
    op: &'a BoundOp,
    packing: Packing,
    weights: &'a StridedTensor,
    bias: Option<&'a StridedTensor>,
    how: How,
}

/// How a convolution computes.
#[derive(Clone, Copy, Debug)]
enum How {
    /// As its parameters say.
    AsAsked,
    Directly,
    By(&'static str),
}

impl<'a> WeightsPacker<'a> {
    /// `x` is the sizes of the first input. `constants` has for each input its elements if they are constant. `None` if the op has no
    /// weights that can be packed, or if they, or the bias, are not constant.
    pub fn new(
        op: &'a BoundOp,
        x: &[usize],
        constants: &[Option<&'a StridedTensor>],
    ) -> Option<WeightsPacker<'a>> {
        let packing = op.packing()?;
        let constant = |at: usize| constants.get(at).copied().flatten();
        let weights = constant(op.weights()?)?;
        let bias = match op.bias() {
            Some(at) => Some(constant(at)?),
            None => None,
        };
        let is_packed = match packing {
            Packing::Conv => true,
            // Integers are packed in each run.
            Packing::Linear => weights.dtype().is_float(),
            Packing::Matrix => weights.dtype().is_float() && weights.rank() == 2 && x.len() >= 2,
        };
        is_packed.then_some(WeightsPacker { op, packing, weights, bias, how: How::AsAsked })
    }

    /// The same for the direct algorithm, whatever the op's parameters say.
    pub fn directly(self) -> Self {
        WeightsPacker { how: How::Directly, ..self }
    }

    /// The same for this one of the [`candidates`](Self::candidates), whatever the op's parameters say.
    pub fn candidate(self, candidate: &Candidate) -> Self {
        WeightsPacker { how: How::By(candidate.name), ..self }
    }

    /// The ways to compute the op for such a source; none if there is no choice.
    ///
    /// # Errors
    /// Those of packing for weights that do not fit the source.
    pub fn candidates(&self, x: &TensorDesc) -> Result<Vec<Candidate>> {
        match self.packing {
            Packing::Conv => self.conv()?.candidates(&source(x)?),
            Packing::Linear | Packing::Matrix => Ok(vec![]),
        }
    }

    /// Packs for a source that is dense in a memory format, or blocked.
    ///
    /// # Errors
    /// Those of [`AnyConvPacker`] and [`PackedLinear`].
    #[track_caller]
    pub fn pack_for(&self, x: &TensorDesc) -> Result<PackedOp> {
        Ok(match self.packing {
            Packing::Conv => self.conv()?.pack_for(&source(x)?)?.into(),
            Packing::Linear => PackedLinear::for_dtype(self.weights, self.bias, rows(x), x.dtype())?.into(),
            Packing::Matrix => PackedLinear::of_matrix_for(self.weights, rows(x), x.dtype())?.into(),
        })
    }

    /// Packs for a strided source of few channels and a result in this layout.
    ///
    /// # Errors
    /// Those of [`AnyConvPacker::pack_stem`]; `InvalidArgument` for another op than a convolution.
    #[track_caller]
    pub fn pack_stem(&self, x: &TensorDesc, to: &Layout) -> Result<PackedOp> {
        match self.packing {
            Packing::Conv => Ok(self.conv()?.pack_stem(&source(x)?, to)?.into()),
            Packing::Linear | Packing::Matrix => fail!(
                InvalidArgument,
                self.op.op(),
                "to",
                to.to_string(),
                "a stem is a convolution",
                Text::from("pack for this source with ") + Call::PackFor
            ),
        }
    }

    /// The name of the kernel that packing for such a source would take, and for a result in its layout, or that of a stem. Nothing is
    /// packed.
    ///
    /// # Errors
    /// As [`pack_for`](Self::pack_for).
    pub fn implementation_for(&self, x: &TensorDesc, stem: Option<&Layout>) -> Result<String> {
        match self.packing {
            Packing::Conv => self.conv()?.implementation_for(&source(x)?, stem),
            Packing::Linear | Packing::Matrix => {
                // A matrix product has its weights the other way round.
                let mut weights = Dims::from_slice(self.weights.dims());
                if self.packing == Packing::Matrix {
                    weights.reverse();
                }
                let k = weights.get(1).copied().unwrap_or(0);
                let s = LinearShape::new(&[rows(x), k], &weights, None)?;
                linear::kernel_name(&s, x.dtype(), self.bias.is_some()).map(String::from)
            }
        }
    }

    fn conv(&self) -> Result<AnyConvPacker> {
        let params =
            self.op.params().filter(|(name, _)| *name != ALGORITHM || matches!(self.how, How::AsAsked));
        let params: Vec<(&str, Value)> = params.map(|(name, value)| (name, value.into())).collect();
        let packer = AnyConvPacker::new(self.op.op(), self.weights, self.bias, &params)?;
        match self.how {
            How::By(name) => packer.implementation(name),
            How::AsAsked | How::Directly => Ok(packer),
        }
    }
}

impl BoundOp {
    /// The inputs that a run still takes once the weights are packed.
    pub fn inputs_beside_weights(&self) -> Vec<usize> {
        let roles = self.roles().enumerate();
        roles.filter(|(_, role)| role.is_none()).map(|(i, _)| i).collect()
    }

    /// How its weights are packed. Packed linear layers have no post-ops.
    fn packing(&self) -> Option<Packing> {
        let packing = self.registered().schema().facts.packing?;
        let has_post_ops =
            || matches!(self.param("post_ops"), Some(ParamValue::Str(words)) if !words.is_empty());
        (packing == Packing::Conv || !has_post_ops()).then_some(packing)
    }

    /// The op that packed weights of this op compute: a matrix product becomes a linear layer. `None` if they cannot be packed.
    pub fn packed_op(&self) -> Option<&'static str> {
        Some(match self.packing()? {
            Packing::Conv => self.op(),
            Packing::Linear | Packing::Matrix => crate::ops::linear::LINEAR.schema().name,
        })
    }

    /// Weights as the op takes them, of these sizes, from those that a file of packed weights holds
    /// ([`PackedFile::plain`](crate::PackedFile::plain)): there, output channels come before input channels, and groups may be apart.
    ///
    /// # Errors
    /// `ShapeMismatch` if they have other sizes.
    pub fn weights_of_plain(&self, plain: &StridedTensor, dims: &[usize]) -> Result<StridedTensor> {
        // [G, O / G, C / G, k...]
        let outputs = usize::from(plain.rank() > dims.len());
        let schema = self.registered().schema();
        let is_matrix = schema.facts.packing == Some(Packing::Matrix);
        let plain = match is_matrix || schema.args.iter().any(|arg| arg.is_input_first) {
            true => plain.transpose(outputs, outputs + 1)?,
            false => plain.clone(),
        };
        plain.contiguous(MemoryFormat::Contiguous)?.reshape(dims)
    }
}

/// The rows of a matrix product's source: all but its last dimension.
fn rows(x: &TensorDesc) -> usize {
    let last = x.dims().last().copied().unwrap_or(1).max(1);
    x.dims().iter().product::<usize>() / last
}

fn source(x: &TensorDesc) -> Result<Source> {
    let source = match x.layout() {
        Some(layout) => Source::blocked(x.dims(), layout),
        None => Source::strided(x.dims(), MemoryFormat::of_dense(x.dims(), x.strides().unwrap_or_default())),
    };
    source.map(|source| source.dtype(x.dtype()))
}
