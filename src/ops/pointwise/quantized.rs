//! `quantized_add` and `quantized_mul`: sums and products of quantised numbers, quantised again, in one pass over the bytes.

use crate::dtype::{DType, Element};
use crate::error::{Result, fail};
use crate::kernels::bytes::{ByteRange, number};
use crate::op::lookup::DTypeTuple;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{OutputSpec, data, float, int, output_stated, required_float, word};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::pointwise::map_two;
use crate::ops::pointwise::quantize::{check_bytes, check_scale, check_zero_point};
use crate::tensor::any::Operand;

params! {
    /// What the integers of the operands and of the result stand for.
    struct Quantized {
        a_scale: f64 => required_float("a_scale"),
        a_zero_point: i64 => int("a_zero_point", 0),
        b_scale: f64 => float("b_scale", 1.0),
        b_zero_point: i64 => int("b_zero_point", 0),
        dst_scale: f64 => required_float("dst_scale"),
        dst_zero_point: i64 => int("dst_zero_point", 0),
        dtype: DType => word("dtype", "u8"),
    }
}

const ARGS: &[ArgSpec] = &with_params::<9>(
    &[data("a").with_dtypes(BYTES), data("b").with_dtypes(&[DType::U8, DType::S8, DType::F32])],
    Quantized::SPECS,
);
const BYTES: &[DType] = &[DType::U8, DType::S8];
const EACH: &[DTypeTuple] = &[
    DTypeTuple { operands: &[DType::U8, DType::U8], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::U8, DType::U8], results: &[DType::S8] },
    DTypeTuple { operands: &[DType::U8, DType::S8], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::U8, DType::S8], results: &[DType::S8] },
    DTypeTuple { operands: &[DType::U8, DType::F32], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::U8, DType::F32], results: &[DType::S8] },
    DTypeTuple { operands: &[DType::S8, DType::U8], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::S8, DType::U8], results: &[DType::S8] },
    DTypeTuple { operands: &[DType::S8, DType::S8], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::S8, DType::S8], results: &[DType::S8] },
    DTypeTuple { operands: &[DType::S8, DType::F32], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::S8, DType::F32], results: &[DType::S8] },
];

const RESULT: &[OutputSpec] = &[output_stated("dst", "dtype")];

const fn schema(name: &'static str) -> Schema {
    Schema::new(name, ARGS).with_outputs(RESULT).elementwise().without_gradient("its results are integers")
}

static ADD: Op = Op::new(&schema("quantized_add")).with(
    &Kernel::rust(&|args: &Args<'_>, results: &mut Results<'_>| kernel(args, results, false))
        .with_dtypes(EACH)
        .on_both(),
);
static MUL: Op = Op::new(&schema("quantized_mul")).with(
    &Kernel::rust(&|args: &Args<'_>, results: &mut Results<'_>| kernel(args, results, true))
        .with_dtypes(EACH)
        .on_both(),
);

pub(crate) const OPS: &[&Op] = &[&ADD, &MUL];

/// What integers of 8 bits stand for: `scale * (integer - zero_point)`.
///
/// ```
/// use blocktensor::ops::Quantization;
/// assert_eq!(Quantization::default(), Quantization { scale: 1.0, zero_point: 0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantization {
    /// The distance of two neighbouring numbers, positive and finite.
    pub scale: f32,
    /// The integer that stands for 0.
    pub zero_point: i32,
}

impl Default for Quantization {
    /// Each integer stands for itself, as each f32 does.
    fn default() -> Quantization {
        Quantization { scale: 1.0, zero_point: 0 }
    }
}

/// The sum of quantised numbers, quantised: what [`dequantize`](crate::ops::dequantize) of both operands, [`add`](crate::ops::add) and
/// [`quantize`](crate::ops::quantize) compute, to the bit.
///
/// Scales and zero points are those of `a`, `b` and the result, in this order. `b` may be f32: numbers that stand for themselves.
///
/// ```
/// use blocktensor::{DType, StridedTensor, ops, ops::Quantization};
/// let a = StridedTensor::from_slice(&[10u8, 20, 255], &[3])?;
/// let b = StridedTensor::from_slice(&[1u8, 2, 255], &[3])?;
/// let halves = Quantization { scale: 0.5, zero_point: 0 };
/// let wholes = Quantization::default();
/// let sum = ops::quantized_add(&a, &b, [halves, wholes, wholes], DType::U8)?;
/// // 5 + 1, 10 + 2, and 127.5 + 255, for which there is no integer.
/// assert_eq!(sum.to_vec::<u8>()?, [6, 12, 255]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `a` and `b` broadcast against each other as in PyTorch; the result has the broadcast shape.
///
/// # Dtypes
/// `a` u8 or s8, `b` u8, s8 or f32. The result is u8 or s8, as `dtype` says.
///
/// # Layouts
/// Strided: any strides. The result has the strides that PyTorch's `TensorIterator` infers. Blocked: operands of one layout. The result
/// keeps it; its channel tail is 0, whatever the zero point.
///
/// # Errors
/// `ShapeMismatch`, `RankMismatch`, `LayoutMismatch`, `KeyMismatch`, `UnsupportedDType`. `InvalidArgument` for a scale that is not positive
/// and finite, and for a zero point that the dtype does not hold. `InvalidArgument` for a scale or zero point beside a `b` of f32, and for a
/// `dtype` that is not u8 or s8.
#[track_caller]
pub fn quantized_add<T: Operand>(a: &T, b: &T, of: [Quantization; 3], dtype: DType) -> Result<T> {
    ADD.call_with(&[a.tensor_ref(), b.tensor_ref()].map(Arg::Tensor), &Quantized::of(of, dtype))
}

/// The product of quantised numbers, quantised. All else is as of [`quantized_add`].
///
/// # Shapes
/// As of [`quantized_add`].
///
/// # Dtypes
/// As of [`quantized_add`].
///
/// # Layouts
/// As of [`quantized_add`].
///
/// # Errors
/// As of [`quantized_add`].
#[track_caller]
pub fn quantized_mul<T: Operand>(a: &T, b: &T, of: [Quantization; 3], dtype: DType) -> Result<T> {
    MUL.call_with(&[a.tensor_ref(), b.tensor_ref()].map(Arg::Tensor), &Quantized::of(of, dtype))
}

impl Quantized {
    fn of([a, b, result]: [Quantization; 3], dtype: DType) -> Quantized {
        Quantized {
            a_scale: a.scale.into(),
            a_zero_point: a.zero_point.into(),
            b_scale: b.scale.into(),
            b_zero_point: b.zero_point.into(),
            dst_scale: result.scale.into(),
            dst_zero_point: result.zero_point.into(),
            dtype,
        }
    }
}

/// One of the three, checked. `dtype` is f32 for numbers that stand for themselves.
fn checked(
    op: &'static str,
    [scale_name, zero_name]: [&'static str; 2],
    (scale, zero_point): (f64, i64),
    dtype: DType,
) -> Result<(f32, i32)> {
    if dtype != DType::F32 {
        check_scale(op, scale_name, scale, true)?;
        return Ok((scale as f32, check_zero_point(op, zero_name, zero_point, dtype)?));
    }
    let (name, got) = match (scale, zero_point) {
        (1.0, 0) => return Ok((1.0, 0)),
        (1.0, _) => (zero_name, zero_point.to_string()),
        _ => (scale_name, scale.to_string()),
    };
    let rule = "`b` is f32, whose numbers stand for themselves";
    fail!(InvalidArgument, op, name, got, rule, "leave it out")
}

fn kernel(args: &Args<'_>, results: &mut Results<'_>, is_product: bool) -> KernelResult {
    let (op, given) = (args.op(), Quantized::read(args)?);
    let (a, b, dtype) = (args.tensor(0)?.dtype(), args.tensor(1)?.dtype(), given.dtype);
    check_bytes(op, dtype)?;
    let of = Combined {
        a: checked(op, ["a_scale", "a_zero_point"], (given.a_scale, given.a_zero_point), a)?,
        b: checked(op, ["b_scale", "b_zero_point"], (given.b_scale, given.b_zero_point), b)?,
        dst: checked(op, ["dst_scale", "dst_zero_point"], (given.dst_scale, given.dst_zero_point), dtype)?,
        dtype,
        is_product,
    };
    match a {
        DType::U8 => of.beside::<u8>(args, results, b),
        _ => of.beside::<i8>(args, results, b),
    }
}

/// Scales and zero points, and what is done.
#[derive(Clone, Copy)]
struct Combined {
    a: (f32, i32),
    b: (f32, i32),
    dst: (f32, i32),
    dtype: DType,
    is_product: bool,
}

impl Combined {
    fn beside<A: Element + Into<i32>>(
        self,
        args: &Args<'_>,
        results: &mut Results<'_>,
        b: DType,
    ) -> KernelResult {
        match b {
            DType::U8 => self.run::<A, u8>(args, results, |b, (scale, zero)| number(b.into(), zero, scale)),
            DType::S8 => self.run::<A, i8>(args, results, |b, (scale, zero)| number(b.into(), zero, scale)),
            _ => self.run::<A, f32>(args, results, |b, _| b),
        }
    }

    fn run<A: Element + Into<i32>, B: Element>(
        self,
        args: &Args<'_>,
        results: &mut Results<'_>,
        number_of_b: impl Fn(B, (f32, i32)) -> f32 + Sync + Copy,
    ) -> KernelResult {
        let byte = move |range: ByteRange, a: A, b: B| {
            let (a, b) = (number(a.into(), self.a.1, self.a.0), number_of_b(b, self.b));
            let made = if self.is_product { a * b } else { a + b };
            range.byte(made / self.dst.0)
        };
        let range = ByteRange::new(self.dtype, self.dst.1);
        match self.dtype {
            DType::U8 => map_two::<A, B, u8>(args, results, move |a, b| byte(range, a, b)),
            _ => map_two::<A, B, i8>(args, results, move |a, b| byte(range, a, b).cast_signed()),
        }
    }
}
