//! `quantize` and `dequantize`: numbers as integers of 8 bits, and back.

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::dtype::{DType, Element};
use crate::elementwise::{self, MapDestination};
use crate::error::{Call, Result, Text, fail};
use crate::kernels::blocked_map::{self, MapOperand};
use crate::kernels::bytes::{ByteRange, number};
use crate::op::lookup::DTypeTuple;
use crate::op::params::{Axis, Params, params, with_params};
use crate::op::schema::{data, int, output_of, output_stated, param, word};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::pointwise::{layout_to_record, recorded};
use crate::stand_ins::are_stand_ins;
use crate::tensor::any::{Operand, Tensor, TensorMut, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::quantization::{Quantization, refuse};
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

params! {
    /// Parameters of `quantize`.
    struct Quantize {
        axis: Axis => int("axis", 1),
        dtype: DType => word("dtype", "u8"),
    }
}

params! {
    /// Parameters of `dequantize`.
    struct Dequantize {
        axis: Axis => int("axis", 1),
    }
}

/// An argument of scales.
pub(super) const fn scales(name: &'static str) -> ArgSpec {
    param(name).f32()
}

/// An argument of zero points.
pub(super) const fn zero_points(name: &'static str) -> ArgSpec {
    param(name).with_fixed_dtypes(&[DType::S32], "zero points are s32")
}

const SCALE: ArgSpec = scales("scale");
const ZERO_POINT: ArgSpec = zero_points("zero_point");

const QUANTIZE_ARGS: &[ArgSpec] = &with_params::<5>(&[data("x").f32(), SCALE, ZERO_POINT], Quantize::SPECS);
const DEQUANTIZE_ARGS: &[ArgSpec] =
    &with_params::<4>(&[data("x").with_dtypes(INTEGERS), SCALE, ZERO_POINT], Dequantize::SPECS);
/// What has scales and zero points.
pub(super) const INTEGERS: &[DType] = &[DType::U8, DType::S8, DType::S32];

pub(crate) static QUANTIZE: Op = Op::new(
    &Schema::new("quantize", QUANTIZE_ARGS)
        .with_outputs(&[output_stated("dst", "dtype")])
        .elementwise()
        .without_gradient("its results are integers"),
)
.with(&Kernel::rust(&quantize_kernel).with_dtypes(TO_BYTES).on_both());
const TO_BYTES: &[DTypeTuple] = &[
    DTypeTuple { operands: &[DType::F32], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::F32], results: &[DType::S8] },
];

pub(crate) static DEQUANTIZE: Op = Op::new(
    &Schema::new("dequantize", DEQUANTIZE_ARGS)
        .with_outputs(&[output_of("dst", DType::F32)])
        .elementwise()
        .inflating()
        .without_gradient("its operand is of integers"),
)
.with(&Kernel::rust(&dequantize_kernel).with_dtypes(FROM_INTEGERS).reading_quantization().on_both());
const FROM_INTEGERS: &[DTypeTuple] = &[
    DTypeTuple { operands: &[DType::U8], results: &[] },
    DTypeTuple { operands: &[DType::S8], results: &[] },
    DTypeTuple { operands: &[DType::S32], results: &[] },
];

pub(crate) const OPS: &[&Op] = &[&QUANTIZE, &DEQUANTIZE];

/// Numbers as integers of 8 bits: `round(x / scale) + zero_point`, saturated, as ONNX's `QuantizeLinear`.
///
/// Ties are rounded to even. NaN becomes the zero point. The result does not know its scale:
/// [`quantized`](StridedTensor::quantized) gives it one, or keep it for [`dequantize`].
///
/// ```
/// use blocktensor::{DType, StridedTensor, ops};
/// let x = StridedTensor::from_slice(&[-1f32, 0.25, 1.5], &[3])?;
/// let scale = StridedTensor::from_slice(&[0.5f32], &[1])?;
/// let zero_point = StridedTensor::from_slice(&[1i32], &[1])?;
/// let bytes = ops::quantize(&x, &scale, &zero_point, 0, DType::U8)?;
/// assert_eq!(bytes.to_vec::<u8>()?, [0, 1, 4]);
/// assert_eq!(ops::dequantize(&bytes, &scale, &zero_point, 0)?.to_vec::<f32>()?, [-0.5, 0.0, 1.5]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` of any. `scale` and `zero_point` \[1\], or one value for each index of `axis`: of a blocked `x` that is axis 1. Beside one scale
/// and one zero point `axis` is not read, as in ONNX. The result has the shape of `x`.
///
/// # Dtypes
/// `x` and `scale` f32, `zero_point` s32. The result is u8 or s8, as `dtype` says.
///
/// # Layouts
/// Strided: any strides. The result has the strides that PyTorch's `TensorIterator` infers. Blocked: any activation. The result keeps
/// the layout; its channel tail is 0, whatever the zero point.
///
/// # Errors
/// `ShapeMismatch` for another number of scales or zero points. `InvalidArgument` for a scale that is not positive and finite, and for a
/// zero point that `dtype` does not hold. `InvalidArgument` for a `dtype` that is not u8 or s8, and for an axis that is not there.
/// `UnsupportedDType`.
#[track_caller]
pub fn quantize<T: Operand>(
    x: &T,
    scale: &StridedTensor,
    zero_point: &StridedTensor,
    axis: impl crate::int::Int,
    dtype: DType,
) -> Result<T> {
    let tensors =
        [x.tensor_ref(), TensorRef::Strided(scale), TensorRef::Strided(zero_point)].map(Arg::Tensor);
    QUANTIZE.call_with(&tensors, &Quantize { axis: Axis::of(axis), dtype })
}

/// The numbers that integers stand for: `(x - zero_point) * scale`, as ONNX's `DequantizeLinear`.
///
/// # Shapes
/// As [`quantize`] has them.
///
/// # Dtypes
/// `x` u8, s8 or s32, `scale` f32, `zero_point` s32. The result is f32. Differences of s32 wrap around. If `x` has scales and zero
/// points of its own, they are those of the call; [`dequantized`](StridedTensor::dequantized) needs no others.
///
/// # Layouts
/// As [`quantize`] has them.
///
/// # Errors
/// As [`quantize`]; zero points may be any, and scales any finite number. `InvalidArgument` if `x` has other scales and zero points.
#[track_caller]
pub fn dequantize<T: Operand>(
    x: &T,
    scale: &StridedTensor,
    zero_point: &StridedTensor,
    axis: impl crate::int::Int,
) -> Result<T> {
    let tensors =
        [x.tensor_ref(), TensorRef::Strided(scale), TensorRef::Strided(zero_point)].map(Arg::Tensor);
    DEQUANTIZE.call_with(&tensors, &Dequantize { axis: Axis::of(axis) })
}

/// Scales and zero points of a call: one pair, or one for each index of an axis. Their sizes are checked.
pub(super) struct Pairs<'a> {
    op: &'static str,
    /// The arguments.
    names: [&'static str; 2],
    scale: &'a StridedTensor,
    zero_point: &'a StridedTensor,
    pub is_one: bool,
    pub axis: usize,
    /// Those that `x` has itself, if these are of `x`.
    own: Option<&'a Quantization>,
}

impl<'a> Pairs<'a> {
    /// Those of argument `first` and the one after it. Right after `x` they are of `x`.
    pub fn read(args: &Args<'a>, first: usize, axis: Axis) -> Result<Pairs<'a>> {
        let (op, x) = (args.op(), args.tensor(0)?);
        let (scale, zero_point) = (args.strided(first)?, args.strided(first + 1)?);
        let names = [args.name(first), args.name(first + 1)];
        let is_one = scale.numel() == 1 && zero_point.numel() == 1;
        let mut at = 0;
        if !is_one {
            at = axis.among(op, x.dims().len(), crate::int::Scalars::HaveNone)?;
            if matches!(x, TensorRef::Blocked(_)) && at != 1 {
                let rule = "scales of a blocked tensor are those of its channels";
                let remedy = Text::from("pass 1, or reorder with ") + Call::ToStrided;
                fail!(InvalidArgument, op, "axis", at.to_string(), rule, remedy);
            }
        }
        for (name, given) in names.into_iter().zip([scale, zero_point]) {
            let rule = "the zero points of a call have no scale";
            refuse(op, name, TensorRef::Strided(given), rule)?;
            let count = if is_one { 1 } else { x.dims()[at] };
            if given.numel() != count && given.numel() != 1 || given.rank() > 1 {
                let rule = format!("it has one value, or one for each of the {count} indices of axis {at}");
                let remedy = format!("pass a vector of 1 or {count}");
                fail!(ShapeMismatch, op, name, TensorRef::Strided(given).describe(), rule, remedy);
            }
        }
        let own = if first == 1 { x.quantization() } else { None };
        Ok(Pairs { op, names, scale, zero_point, is_one, axis: at, own })
    }

    /// The values, which are there only in a run. `dtype` is what is made, with zero points of it and by a division; without one,
    /// integers are multiplied.
    pub fn checked(&self, dtype: Option<DType>) -> Result<(Cow<'_, [f32]>, Cow<'_, [i32]>)> {
        let scales: Cow<'_, [f32]> = self.scale.values()?;
        let zero_points: Cow<'_, [i32]> = self.zero_point.values()?;
        if !are_stand_ins() {
            let [scale, zero_point] = self.names;
            scales.iter().try_for_each(|&s| check_scale(self.op, scale, s, dtype.is_some()))?;
            if let Some(dtype) = dtype {
                let check = |&z: &i32| check_zero_point(self.op, zero_point, z.into(), dtype).map(drop);
                zero_points.iter().try_for_each(check)?;
            }
            self.check_own(&scales, &zero_points)?;
        }
        Ok((scales, zero_points))
    }

    /// Checks the values. Returns the only pair, if it is one.
    fn check(&self, dtype: Option<DType>) -> Result<Option<(f32, i32)>> {
        let (scales, zero_points) = self.checked(dtype)?;
        Ok(if self.is_one { Some((scales[0], zero_points[0])) } else { None })
    }

    /// Refuses scales and zero points that are not those of `x`, if it has any.
    fn check_own(&self, scales: &[f32], zero_points: &[i32]) -> Result<()> {
        fn at<T>(list: &[T], i: usize) -> Option<&T> {
            list.get(if list.len() == 1 { 0 } else { i })
        }
        let Some(own) = self.own else { return Ok(()) };
        let is_axis = self.is_one || own.axis.is_none_or(|axis| axis == self.axis);
        let count = scales.len().max(zero_points.len()).max(own.scales.len());
        let is_same =
            |i| at(scales, i) == at(&own.scales, i) && at(zero_points, i) == at(&own.zero_points, i);
        if is_axis && (0..count).all(is_same) {
            return Ok(());
        }
        let index = (0..count).find(|&i| !is_same(i)).unwrap_or(0);
        let pair = |scale: Option<&f32>, zero_point: Option<&i32>| match (scale, zero_point) {
            (Some(s), Some(z)) => format!("scale {s:?} and zero point {z}"),
            _ => "no scale".to_string(),
        };
        let got = match is_axis {
            true => format!("{} at index {index}", pair(at(scales, index), at(zero_points, index))),
            false => format!("scales along axis {}", self.axis),
        };
        let rule = match own.axis {
            Some(axis) if !is_axis => format!("`x` has its own along axis {axis}"),
            _ => format!("`x` has {} there", pair(at(&own.scales, index), at(&own.zero_points, index))),
        };
        let remedy = Text::from("use its own with ")
            + Call::Dequantized
            + ", or pass "
            + Call::WithoutQuantization
            + " of `x`";
        fail!(InvalidArgument, self.op, "scale", got, rule, remedy)
    }

    /// Scales and zero points as operands that are broadcast against a strided tensor of this rank.
    fn along(&self, rank: usize) -> Result<[StridedTensor; 2]> {
        Ok([along(self.scale, self.axis, rank)?, along(self.zero_point, self.axis, rank)?])
    }
}

/// Values for the indices of an axis as an operand that is broadcast against a strided tensor of this rank.
pub(super) fn along(values: &StridedTensor, axis: usize, rank: usize) -> Result<StridedTensor> {
    let mut values = values.reshape(&[values.numel()])?;
    while values.rank() + axis < rank {
        values = values.unsqueeze(values.rank())?;
    }
    Ok(values)
}

/// Refuses what is no scale: of a division, also one that is not positive.
pub(crate) fn check_scale(
    op: &'static str,
    argument: &'static str,
    scale: impl Into<f64> + Display + Copy,
    divides: bool,
) -> Result<()> {
    let single = scale.into() as f32;
    if single.is_finite() && (single > 0.0 || !divides) {
        return Ok(());
    }
    let rule = if divides { "a scale is positive and finite in f32" } else { "a scale is finite in f32" };
    let size = scale.into().abs();
    let is_short = size == 0.0 || !size.is_finite() || (1e-5..1e9).contains(&size);
    let got = if is_short { scale.to_string() } else { format!("{:e}", scale.into()) };
    fail!(InvalidArgument, op, argument, got, rule, "pass another scale")
}

/// The zero point, if it is an integer of this dtype.
pub(crate) fn check_zero_point(
    op: &'static str,
    argument: &'static str,
    zero_point: i64,
    dtype: DType,
) -> Result<i32> {
    let range = check_bytes(op, dtype)?;
    if let Some(zero_point) = i32::try_from(zero_point).ok().filter(|zero| range.contains(zero)) {
        return Ok(zero_point);
    }
    let rule = format!("a zero point is an integer of {dtype}");
    let remedy = format!("pass {} to {}", range.start(), range.end());
    fail!(InvalidArgument, op, argument, zero_point.to_string(), rule, remedy)
}

/// The integers of a dtype of 8 bits. Others are not made.
pub(crate) fn check_bytes(op: &'static str, dtype: DType) -> Result<RangeInclusive<i32>> {
    let Some(range) = dtype.byte_range() else {
        let rule = "integers of 8 bits are made";
        fail!(InvalidArgument, op, "dtype", dtype.to_string(), rule, "pass `u8` or `s8`")
    };
    Ok(range)
}

/// Applies `f` to each element with its scale and zero point, which are of this dtype.
fn map<A: Element, O: Element>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    pairs: &Pairs<'_>,
    dtype: Option<DType>,
    f: impl Fn(A, f32, i32) -> O + Sync + Copy,
) -> KernelResult {
    let op = args.op();
    match args.tensor(0)? {
        TensorRef::Strided(x) => {
            let dst = results.in_any_strides(FormatRule::ElementWise, &[x], x.dims(), O::DTYPE)?;
            let one = pairs.check(dtype)?;
            let to = layout_to_record(&TensorMut::Strided(dst));
            let work = || match one {
                Some((s, z)) => {
                    elementwise::map1_to(op, MapDestination::of_result(dst), x, move |v: A| f(v, s, z))
                }
                None => {
                    let [scale, zero_point] = pairs.along(x.rank())?;
                    elementwise::map3_into(op, dst, x, &scale, &zero_point, f)
                }
            };
            Ok(recorded(args, || to, work)?)
        }
        TensorRef::Blocked(x) => {
            let channels = x.dims().get(1).copied().unwrap_or(1);
            let dst = results.blocked(x.dims(), x.layout(), O::DTYPE)?;
            let one = pairs.check(dtype)?;
            let work = || {
                let a = MapOperand::of_checked(op, x, channels)?;
                match one {
                    Some((s, z)) => blocked_map::map1(op, dst, &a, move |v: A| f(v, s, z)),
                    None => {
                        let [s, z] =
                            [pairs.scale, pairs.zero_point].map(|t| MapOperand::of_channels(op, t, x));
                        blocked_map::map3(op, dst, (&a, &s?, &z?), f)
                    }
                }
            };
            Ok(recorded(args, || x.layout().to_string(), work)?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
    }
}

fn quantize_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let Quantize { axis, dtype } = Quantize::read(args)?;
    let pairs = Pairs::read(args, 1, axis)?;
    check_bytes(args.op(), dtype)?;
    let of = Some(dtype);
    match dtype {
        DType::U8 => map(args, results, &pairs, of, |x: f32, s, z| ByteRange::new(DType::U8, z).byte(x / s)),
        _ => {
            let byte = |x: f32, s, z| ByteRange::new(DType::S8, z).byte(x / s).cast_signed();
            map(args, results, &pairs, of, byte)
        }
    }
}

fn dequantize_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let pairs = Pairs::read(args, 1, Dequantize::read(args)?.axis)?;
    match args.tensor(0)?.dtype() {
        DType::U8 => map(args, results, &pairs, None, |x: u8, s, z| number(x.into(), z, s)),
        DType::S8 => map(args, results, &pairs, None, |x: i8, s, z| number(x.into(), z, s)),
        _ => map(args, results, &pairs, None, |x: i32, s, z| number(x, z, s)),
    }
}

/// The scale and zero point operands of `dequantize` that the parameters are, and its axis.
fn operands(of: &Quantization) -> Result<(StridedTensor, StridedTensor, usize)> {
    let count = &[of.scales.len()];
    let scales = StridedTensor::from_slice(&of.scales, count)?;
    Ok((scales, StridedTensor::from_slice(&of.zero_points, count)?, of.axis.unwrap_or(0)))
}

#[track_caller]
fn dequantized<T: Operand>(t: &T) -> Result<T> {
    let Some(q) = t.tensor_ref().quantization() else {
        let (got, rule) = (t.tensor_ref().describe(), "it has no scales and zero points");
        let remedy = Text::from("give it some, ") + Call::Quantized + ", or call the op `dequantize`";
        fail!(InvalidArgument, "dequantized", "self", got, rule, remedy)
    };
    if let (TensorRef::Blocked(_), Some(0 | 2..)) = (t.tensor_ref(), q.axis) {
        let rule = "blocked tensors are dequantised by one scale, or by scales of their channels";
        let remedy = Text::from("reorder it first with ") + Call::ToStrided;
        fail!(InvalidArgument, "dequantized", "self", t.tensor_ref().describe(), rule, remedy)
    }
    let (scale, zero_point, axis) = operands(q)?;
    dequantize(t, &scale, &zero_point, axis)
}

impl StridedTensor {
    /// The numbers that the integers stand for, in f32: [`ops::dequantize`](crate::ops::dequantize) with the tensor's own scales
    /// and zero points.
    ///
    /// # Errors
    /// `InvalidArgument` for a tensor without them; those of `dequantize`.
    #[track_caller]
    pub fn dequantized(&self) -> Result<StridedTensor> {
        dequantized(self)
    }
}

impl BlockedTensor {
    /// The numbers that the integers stand for: see [`StridedTensor::dequantized`].
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn dequantized(&self) -> Result<BlockedTensor> {
        dequantized(self)
    }
}

impl Tensor {
    /// The numbers that the integers stand for: see [`StridedTensor::dequantized`].
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn dequantized(&self) -> Result<Tensor> {
        dequantized(self)
    }
}
