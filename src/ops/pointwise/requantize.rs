//! `requantize`: integers with a scale and a zero point as integers of 8 bits with others.

use crate::dtype::{DType, Element};
use crate::elementwise::{self, MapDestination};
use crate::error::Result;
use crate::kernels::blocked_map::{self, MapOperand};
use crate::kernels::bytes::ByteRange;
use crate::memory;
use crate::op::lookup::DTypeTuple;
use crate::op::params::{Axis, Params, params, with_params};
use crate::op::schema::{data, int, output_stated, word};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::pointwise::lookup::by_table;
use crate::ops::pointwise::quantize::{INTEGERS, Pairs, along, check_bytes, scales, zero_points};
use crate::ops::pointwise::{layout_to_record, map_one, recorded};
use crate::tensor::any::{Operand, TensorMut, TensorRef};
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

params! {
    /// Parameters of `requantize`.
    struct Requantize {
        axis: Axis => int("axis", 1),
        dtype: DType => word("dtype", "u8"),
    }
}

const ARGS: &[ArgSpec] = &with_params::<7>(
    &[
        data("x").with_dtypes(INTEGERS),
        scales("scale"),
        zero_points("zero_point"),
        scales("dst_scale"),
        zero_points("dst_zero_point"),
    ],
    Requantize::SPECS,
);
const EACH: &[DTypeTuple] = &[
    DTypeTuple { operands: &[DType::U8], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::U8], results: &[DType::S8] },
    DTypeTuple { operands: &[DType::S8], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::S8], results: &[DType::S8] },
    DTypeTuple { operands: &[DType::S32], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::S32], results: &[DType::S8] },
];

pub(crate) static REQUANTIZE: Op = Op::new(
    &Schema::new("requantize", ARGS)
        .with_outputs(&[output_stated("dst", "dtype")])
        .elementwise()
        .without_gradient("its results are integers"),
)
.with(&Kernel::rust(&kernel).with_dtypes(EACH).reading_quantization().on_both());

pub(crate) const OPS: &[&Op] = &[&REQUANTIZE];

/// Integers as integers of 8 bits with another scale and zero point: `round((x - zero_point) * scale / dst_scale) + dst_zero_point`,
/// saturated.
///
/// The quotient is exact and rounded once, ties to even. [`dequantize`](crate::ops::dequantize) and
/// [`quantize`](crate::ops::quantize) one after the other round to f32 between them, and so may give the integer on the other side of a tie
/// that is very near.
///
/// ```
/// use blocktensor::{DType, StridedTensor, ops};
/// let sums = StridedTensor::from_slice(&[-100i32, 50, 150, 100_000], &[4])?;
/// let scale = StridedTensor::from_slice(&[0.01f32], &[1])?;
/// let dst_scale = StridedTensor::from_slice(&[0.5f32], &[1])?;
/// let [zero, ten] = [0, 10].map(|z| StridedTensor::from_slice(&[z], &[1]));
/// let bytes = ops::requantize(&sums, &scale, &zero?, &dst_scale, &ten?, 0, DType::U8)?;
/// // -1, 0.5 and 1.5 are -2, 1 and 3 halves. For 1000 there is no integer.
/// assert_eq!(bytes.to_vec::<u8>()?, [8, 11, 13, 255]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` of any. `scale`, `zero_point`, `dst_scale` and `dst_zero_point` \[1\], or one value for each index of `axis`: of a blocked `x` that is
/// axis 1. Beside one value of each `axis` is not read. The result has the shape of `x`.
///
/// # Dtypes
/// `x` u8, s8 or s32, scales f32, zero points s32. The result is u8 or s8, as `dtype` says. If `x` has scales and zero points of its own,
/// they are `scale` and `zero_point`.
///
/// # Layouts
/// Strided: any strides. The result has the strides that PyTorch's `TensorIterator` infers. Blocked: any activation. The result keeps
/// the layout; its channel tail is 0, whatever the zero point.
///
/// # Errors
/// `ShapeMismatch` for another number of scales or zero points. `InvalidArgument` for a `scale` that is not finite, and a `dst_scale` that
/// is not positive and finite. `InvalidArgument` for a `dst_zero_point` that `dtype` does not hold, and for a `dtype` other than u8 and s8.
/// `InvalidArgument` for an axis that is not there, and if `x` has other scales and zero points. `UnsupportedDType`.
#[track_caller]
pub fn requantize<T: Operand>(
    x: &T,
    scale: &StridedTensor,
    zero_point: &StridedTensor,
    dst_scale: &StridedTensor,
    dst_zero_point: &StridedTensor,
    axis: impl crate::int::Int,
    dtype: DType,
) -> Result<T> {
    let [scale, zero_point, dst_scale, dst_zero_point] =
        [scale, zero_point, dst_scale, dst_zero_point].map(TensorRef::Strided);
    let tensors = [x.tensor_ref(), scale, zero_point, dst_scale, dst_zero_point].map(Arg::Tensor);
    REQUANTIZE.call_with(&tensors, &Requantize { axis: Axis::of(axis), dtype })
}

/// From integers of one scale and zero point to those of another.
#[derive(Clone, Copy)]
struct Step {
    scale: f64,
    zero_point: f64,
    dst_scale: f64,
    range: ByteRange,
}

impl Step {
    /// The bits of the integer for `x`.
    ///
    /// A quotient in f64 may be rounded to a number halfway between two integers, but not past it: such a number times a scale is exact.
    /// So its integer part is right, and the remainder, which is computed without rounding, tells the side of the half.
    #[inline(always)]
    fn byte(self, x: i32) -> u8 {
        /// More than the distance of any two integers of 8 bits.
        const LIMIT: f64 = 512.0;
        const HALF_WORD: f64 = 65536.0;
        let distance = f64::from(x) - self.zero_point;
        let quotient = (distance * self.scale / self.dst_scale).clamp(-LIMIT, LIMIT);
        let below = quotient.floor();
        // A distance has up to 33 bits, and a scale 24: products of its parts have at most 53.
        let high = (distance / HALF_WORD).floor() * HALF_WORD;
        let past = high * self.scale - (below + 0.5) * self.dst_scale + (distance - high) * self.scale;
        let is_odd = (below / 2.0).floor() * 2.0 != below;
        let is_up = past > 0.0 || past == 0.0 && is_odd;
        self.range.byte((below + f64::from(u8::from(is_up))) as f32)
    }

    /// [`byte`](Self::byte) of all integers of 8 bits, as a table for `lookup`.
    fn table(self, dtype: DType) -> [u8; 256] {
        std::array::from_fn(|bits| {
            let bits = bits as u8;
            self.byte(if dtype == DType::U8 { bits.into() } else { bits.cast_signed().into() })
        })
    }
}

/// The scales and zero points of a call.
struct Steps<'a> {
    op: &'static str,
    from: Pairs<'a>,
    to: Pairs<'a>,
    dtype: DType,
}

impl Steps<'_> {
    /// One for each index of the axis, or the only one. The values are there only in a run.
    fn all(&self) -> Result<Vec<Step>> {
        let ((scales, zero_points), (dst_scales, dst_zero_points)) =
            (self.from.checked(None)?, self.to.checked(Some(self.dtype))?);
        let counts = [scales.len(), zero_points.len(), dst_scales.len(), dst_zero_points.len()];
        // An axis of no indices has no values, beside arguments of one.
        let count = if counts.contains(&0) { 0 } else { counts.into_iter().max().unwrap_or(0) };
        let step = |i: usize| Step {
            scale: scales[i % scales.len()].into(),
            zero_point: zero_points[i % zero_points.len()].into(),
            dst_scale: dst_scales[i % dst_scales.len()].into(),
            range: ByteRange::new(self.dtype, dst_zero_points[i % dst_zero_points.len()]),
        };
        memory::try_collect(self.op, (0..count).map(step))
    }

    fn is_one(&self) -> bool {
        self.from.is_one && self.to.is_one
    }

    /// The axis that has a step for each index.
    fn axis(&self) -> usize {
        if self.from.is_one { self.to.axis } else { self.from.axis }
    }
}

fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let Requantize { axis, dtype } = Requantize::read(args)?;
    let from = Pairs::read(args, 1, axis)?;
    let to = Pairs::read(args, 3, axis)?;
    check_bytes(args.op(), dtype)?;
    let steps = Steps { op: args.op(), from, to, dtype };
    match (args.tensor(0)?.dtype(), dtype) {
        (x @ (DType::U8 | DType::S8), _) if steps.is_one() => {
            by_table(args, results, dtype, || Ok(steps.all()?[0].table(x)))
        }
        (DType::U8, DType::U8) => each::<u8, u8>(args, results, &steps),
        (DType::U8, _) => each::<u8, i8>(args, results, &steps),
        (DType::S8, DType::U8) => each::<i8, u8>(args, results, &steps),
        (DType::S8, _) => each::<i8, i8>(args, results, &steps),
        (_, DType::U8) => each::<i32, u8>(args, results, &steps),
        _ => each::<i32, i8>(args, results, &steps),
    }
}

fn each<A: Element + Into<i32>, O: Element>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    steps: &Steps<'_>,
) -> KernelResult {
    if steps.is_one() {
        return map_one::<A, O, _>(args, results, || {
            let step = steps.all()?[0];
            Ok(move |x: A| -> O { bytemuck::cast(step.byte(x.into())) })
        });
    }
    let (dims, axis) = (args.tensor(0)?.dims(), steps.axis());
    let per_index: usize = dims.iter().enumerate().map(|(i, d)| if i == axis { 1 } else { *d }).product();
    if A::DTYPE == DType::S32 || per_index < 256 {
        return map_with_index(args, results, axis, || {
            let steps = steps.all()?;
            Ok(move |x: A, i: i32| -> O { bytemuck::cast(steps[i as usize].byte(x.into())) })
        });
    }
    // As many elements as a table has or more: one for each index.
    map_with_index(args, results, axis, || {
        let steps = steps.all()?;
        let tables = memory::try_collect(args.op(), steps.iter().map(|step| step.table(A::DTYPE)))?;
        Ok(move |x: A, i: i32| -> O {
            let x: i32 = x.into();
            bytemuck::cast(tables[i as usize][usize::from(x as u8)])
        })
    })
}

/// Applies a function to each element and its index along the axis. `f` makes the function of what only a run has.
fn map_with_index<A: Element, O: Element, F: Fn(A, i32) -> O + Sync>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    axis: usize,
    f: impl FnOnce() -> Result<F>,
) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    let count = x.dims()[axis];
    let indices = || {
        let indices = memory::try_collect(op, 0..count as i32)?;
        StridedTensor::from_slice(&indices, &[count])
    };
    match x {
        TensorRef::Strided(x) => {
            let dst = results.in_any_strides(FormatRule::ElementWise, &[x], x.dims(), O::DTYPE)?;
            let to = layout_to_record(&TensorMut::Strided(dst));
            let work = || {
                let indices = along(&indices()?, axis, x.rank())?;
                elementwise::map2_to(op, MapDestination::of_result(dst), x, &indices, f()?)
            };
            Ok(recorded(args, || to, work)?)
        }
        TensorRef::Blocked(x) => {
            let dst = results.blocked(x.dims(), x.layout(), O::DTYPE)?;
            let work = || {
                let a = MapOperand::of_checked(op, x, count)?;
                let indices = MapOperand::of_channels(op, &indices()?, x)?;
                blocked_map::map2(op, dst, (&a, &indices), f()?)
            };
            Ok(recorded(args, || x.layout().to_string(), work)?)
        }
        TensorRef::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
    }
}
