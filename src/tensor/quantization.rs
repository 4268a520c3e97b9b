//! Scales and zero points of tensors: their rules, and what views make of them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::any::{Operand, Tensor, TensorRef};
use super::blocked::BlockedTensor;
use super::strided::StridedTensor;
use crate::dtype::DType;
use crate::error::{Call, Complaint, Error, Result, Text, fail};
use crate::layout::dims::Dims;

/// Quantisation parameters: `real = scale * (integer - zero_point)`, with one pair for the tensor or one for each index of an
/// axis. Tensors of u8, s8 and s32 can have them: see [`StridedTensor::quantized`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantization {
    /// The axis that has one pair per index; `None` if one pair applies to the whole tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<usize>,
    /// The scales: finite, above 0.
    pub scales: Vec<f32>,
    /// The integers that represent 0, one for each scale. The tensor's dtype holds them.
    pub zero_points: Vec<i32>,
}

impl Eq for Quantization {}

impl std::hash::Hash for Quantization {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.axis.hash(state);
        self.scales.iter().for_each(|s| s.to_bits().hash(state));
        self.zero_points.hash(state);
    }
}

impl Quantization {
    /// One pair for the whole tensor.
    pub fn per_tensor(scale: f32, zero_point: i32) -> Quantization {
        Quantization { axis: None, scales: vec![scale], zero_points: vec![zero_point] }
    }

    /// Checks the parameters for a tensor of these sizes and dtype.
    pub(crate) fn check(&self, op: &'static str, dims: &[usize], dtype: DType) -> Result<()> {
        let range = match dtype {
            DType::U8 => 0..=i32::from(u8::MAX),
            DType::S8 => i32::from(i8::MIN)..=i32::from(i8::MAX),
            DType::S32 => i32::MIN..=i32::MAX,
            _ => {
                let rule = "scales and zero points belong to tensors of u8, s8 or s32";
                fail!(UnsupportedDType, op, "self", dtype.name(), rule, "make integers of it with `quantize`")
            }
        };
        let count = match self.axis {
            None => 1,
            Some(axis) if axis < dims.len() => dims[axis],
            Some(axis) => {
                let rule = format!("sizes {dims:?} have {} axes", dims.len());
                fail!(InvalidArgument, op, "axis", axis.to_string(), rule, "name an existing axis")
            }
        };
        let Quantization { scales, zero_points, .. } = self;
        if scales.len() != count || zero_points.len() != count {
            let got = format!("{} scales and {} zero points", scales.len(), zero_points.len());
            let rule = format!("there must be {count} of each");
            fail!(ShapeMismatch, op, "scales", got, rule, format!("pass {count}"));
        }
        if let Some(at) = scales.iter().position(|s| !s.is_finite() || *s <= 0.0) {
            let got = format!("{:?} at index {at}", scales[at]);
            fail!(InvalidArgument, op, "scales", got, "scales are finite and above 0", "pass such a number");
        }
        if let Some(at) = zero_points.iter().position(|z| !range.contains(z)) {
            let got = format!("{} at index {at}", zero_points[at]);
            let rule = format!("a zero point is an integer of {dtype}");
            let remedy = format!("pass {} to {}", range.start(), range.end());
            fail!(InvalidArgument, op, "zero_points", got, rule, remedy);
        }
        Ok(())
    }

    /// The remedy for a tensor with scales and zero points, where they would be lost or are not read.
    pub fn way_out() -> Text {
        Text::from("pass its integers, ")
            + Call::WithoutQuantization
            + ", or its numbers, "
            + Call::Dequantized
    }

    /// The words that follow a tensor's description.
    pub(crate) fn describe(&self) -> String {
        match self.axis {
            Some(axis) => format!(", quantised along axis {axis}"),
            None => ", quantised".to_string(),
        }
    }
}

/// A tensor's parameters, which its views and copies share.
pub(crate) type Shared = Option<Arc<Quantization>>;

/// Whether both are the same, or neither is there.
pub(crate) fn are_equal(a: Option<&Quantization>, b: Option<&Quantization>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => std::ptr::eq(a, b) || a == b,
        _ => false,
    }
}

/// The parameters with another axis; `None` for one pair of the whole tensor.
fn with_axis(of: &Quantization, axis: Option<usize>) -> Shared {
    Some(Arc::new(Quantization { axis, ..of.clone() }))
}

/// The parameters of a view whose axes are others. `place` gives the new number of the axis that has a pair per index.
pub(super) fn moved(of: &Shared, place: impl FnOnce(usize) -> usize) -> Shared {
    match of.as_deref() {
        Some(q) if let Some(axis) = q.axis => with_axis(q, Some(place(axis))),
        _ => of.clone(),
    }
}

/// The parameters of `size` indices of `axis`, every `step`-th from `start`.
pub(crate) fn sliced(of: &Shared, axis: usize, start: usize, size: usize, step: usize) -> Shared {
    let Some(q) = of.as_deref().filter(|q| q.axis == Some(axis)) else { return of.clone() };
    Some(Arc::new(Quantization {
        axis: q.axis,
        scales: q.scales.iter().skip(start).step_by(step).take(size).copied().collect(),
        zero_points: q.zero_points.iter().skip(start).step_by(step).take(size).copied().collect(),
    }))
}

/// The parameters of one index of `axis`, which the view does not have.
pub(super) fn selected(of: &Shared, axis: usize, index: usize) -> Shared {
    match of.as_deref() {
        Some(q) if q.axis == Some(axis) => {
            Some(Arc::new(Quantization::per_tensor(q.scales[index], q.zero_points[index])))
        }
        _ => moved(of, |other| other - usize::from(other > axis)),
    }
}

/// The parameters of a view without the axes of size 1.
pub(super) fn squeezed(of: &Shared, dims: &[usize]) -> Shared {
    match of.as_deref() {
        Some(q) if let Some(axis) = q.axis => match dims[axis] {
            1 => with_axis(q, None),
            _ => with_axis(q, Some(dims[..axis].iter().filter(|d| **d != 1).count())),
        },
        _ => of.clone(),
    }
}

/// The parameters of a view that has `new` axes more in front, and the sizes `to`. The single pair of a stretched axis is the
/// tensor's.
pub(super) fn expanded(of: &Shared, dims: &[usize], to: &[usize], new: usize) -> Shared {
    match of.as_deref() {
        Some(q) if let Some(axis) = q.axis => match dims[axis] == to[axis + new] {
            true if new == 0 => of.clone(),
            true => with_axis(q, Some(axis + new)),
            false => with_axis(q, None),
        },
        _ => of.clone(),
    }
}

/// The parameters of the same elements in logical order with other sizes.
///
/// # Errors
/// `UnsupportedDType` if the axis that has a pair per index is merged with another, or divided.
pub(super) fn reshaped(op: &'static str, of: &Shared, from: TensorRef<'_>, to: &Dims) -> Result<Shared> {
    let Some((q, axis)) = of.as_deref().and_then(|q| Some((q, q.axis?))) else { return Ok(of.clone()) };
    let dims = from.dims();
    let product = |sizes: &[usize]| sizes.iter().product::<usize>();
    let is_same = |i: &usize| {
        to[*i] == dims[axis]
            && product(&to[..*i]) == product(&dims[..axis])
            && product(&to[i + 1..]) == product(&dims[axis + 1..])
    };
    match (0..to.len()).find(is_same) {
        Some(i) if i == axis => Ok(of.clone()),
        Some(i) => Ok(with_axis(q, Some(i))),
        None if dims[axis] == 1 => Ok(with_axis(q, None)),
        None => {
            let got = format!("{to} of {}", from.describe());
            let rule =
                format!("axis {axis} has a scale for each of its {} indices, and stays one axis", dims[axis]);
            fail!(
                UnsupportedDType,
                op,
                "dims",
                got,
                rule,
                Text::from("keep that axis; or ") + Quantization::way_out()
            )
        }
    }
}

/// Refuses a tensor with scales and zero points, for what does not read or keep them.
///
/// # Errors
/// `UnsupportedDType`.
#[inline]
pub(crate) fn refuse(
    op: &'static str,
    argument: &'static str,
    t: TensorRef<'_>,
    rule: &'static str,
) -> Result<()> {
    match t.quantization() {
        None => Ok(()),
        Some(_) => Err(refused(op, argument, t.describe(), rule)),
    }
}

/// The error of a tensor or descriptor with scales and zero points, which a call does not read or keep.
#[cold]
pub(crate) fn refused(op: &'static str, argument: &'static str, got: String, rule: impl Into<Text>) -> Error {
    Error::UnsupportedDType(Complaint::new(op, argument, got, rule, Quantization::way_out()))
}

/// Checks that a caller's tensor has the scales and zero points of what is written to it.
///
/// # Errors
/// `DTypeMismatch`.
#[inline]
pub(crate) fn check_same(op: &'static str, dst: TensorRef<'_>, src: Option<&Quantization>) -> Result<()> {
    if are_equal(dst.quantization(), src) { Ok(()) } else { Err(different(op, "dst", dst, src)) }
}

/// The error of a tensor whose scales and zero points are not those that are written to it.
#[cold]
pub(crate) fn different(
    op: &'static str,
    argument: &str,
    dst: TensorRef<'_>,
    src: Option<&Quantization>,
) -> Error {
    let rule = match (dst.quantization(), src) {
        (Some(_), None) => "what is written to it has no scales and zero points",
        (None, _) => "what is written to it has scales and zero points",
        _ => "what is written to it has other scales and zero points",
    };
    let remedy = match src {
        None => Text::from("pass ") + Call::WithoutQuantization + " of it",
        Some(_) => {
            Text::from("make one with ")
                + Call::EmptyLike
                + " of the source, or pass "
                + Call::WithoutQuantization
        }
    };
    Error::DTypeMismatch(Complaint::new(op, argument.to_string(), dst.describe(), rule, remedy))
}

impl StridedTensor {
    /// The same tensor with these scales and zero points. It shares the storage. Views and reorders keep them; ops that do not
    /// read them refuse the tensor, and readers of elements, such as [`to_vec`](Self::to_vec), give the integers.
    ///
    /// ```
    /// use blocktensor::{Quantization, StridedTensor};
    /// let bytes = StridedTensor::from_slice(&[1u8, 2, 3, 4], &[1, 2, 1, 2])?;
    /// let axis = Quantization { axis: Some(1), scales: vec![0.5, 2.0], zero_points: vec![1, 0] };
    /// let x = bytes.quantized(axis)?;
    /// assert_eq!(x.dequantized()?.to_vec::<f32>()?, [0.0, 0.5, 6.0, 8.0]);
    /// // The second channel has the second scale.
    /// assert_eq!(x.select(1, 1)?.quantization(), Some(&Quantization::per_tensor(2.0, 0)));
    /// assert_eq!(x.without_quantization().quantization(), None);
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `UnsupportedDType` unless the dtype is u8, s8 or s32; `InvalidArgument` for an axis out of range, a scale that is not
    /// finite and above 0, and a zero point that the dtype does not hold; `ShapeMismatch` unless there is one scale and one
    /// zero point for the tensor, or for each index of the axis.
    pub fn quantized(&self, quantization: Quantization) -> Result<StridedTensor> {
        quantization.check("quantized", &self.dims, self.dtype)?;
        Ok(StridedTensor { quantization: Some(Arc::new(quantization)), ..self.clone() })
    }

    /// The scales and zero points, if it has any.
    pub fn quantization(&self) -> Option<&Quantization> {
        self.quantization.as_deref()
    }

    /// The same integers without scales and zero points. It shares the storage.
    pub fn without_quantization(&self) -> StridedTensor {
        StridedTensor { quantization: None, ..self.clone() }
    }
}

impl BlockedTensor {
    /// The same tensor with these scales and zero points: see [`StridedTensor::quantized`]. The padding stays zero.
    ///
    /// # Errors
    /// As there.
    pub fn quantized(&self, quantization: Quantization) -> Result<BlockedTensor> {
        quantization.check("quantized", &self.dims, self.dtype)?;
        Ok(BlockedTensor { quantization: Some(Arc::new(quantization)), ..self.clone() })
    }

    /// The scales and zero points, if it has any.
    pub fn quantization(&self) -> Option<&Quantization> {
        self.quantization.as_deref()
    }

    /// The same integers without scales and zero points. It shares the storage.
    pub fn without_quantization(&self) -> BlockedTensor {
        BlockedTensor { quantization: None, ..self.clone() }
    }
}

impl Tensor {
    /// The same tensor with these scales and zero points: see [`StridedTensor::quantized`].
    ///
    /// # Errors
    /// As there; `KeyMismatch` for a tensor of another crate's backend.
    pub fn quantized(&self, quantization: Quantization) -> Result<Tensor> {
        match self {
            Tensor::Strided(t) => t.quantized(quantization).map(Tensor::Strided),
            Tensor::Blocked(t) => t.quantized(quantization).map(Tensor::Blocked),
            Tensor::Opaque(t) => fail!(
                KeyMismatch,
                "quantized",
                "self",
                self.tensor_ref().describe(),
                format!("only the backend of key `{}` makes its tensors", t.key()),
                "call that backend, or reorder the tensor first"
            ),
        }
    }

    /// The scales and zero points, if it has any.
    pub fn quantization(&self) -> Option<&Quantization> {
        self.tensor_ref().quantization()
    }

    /// The same integers without scales and zero points. A tensor of another crate's backend is returned as it is.
    pub fn without_quantization(&self) -> Tensor {
        match self {
            Tensor::Strided(t) => t.without_quantization().into(),
            Tensor::Blocked(t) => t.without_quantization().into(),
            Tensor::Opaque(t) => Tensor::Opaque(Arc::clone(t)),
        }
    }
}
