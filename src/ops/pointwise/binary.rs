//! Element-wise functions of two operands with PyTorch's broadcasting (arithmetic, comparisons, `where_`), and the same
//! functions with a number or with one value for each channel.
//!
//! Blocked operands broadcast along axes of size 1. If that is the channel axis, the operand's elements are in lane 0 of its
//! only block. For a vector of one value for each channel, `v.view(1, C, 1, 1)` in PyTorch, there are [`add_channel`] and
//! [`mul_channel`]: the vector is a parameter and stays strided. (oneDNN has only a reference implementation for a plain
//! second operand beside a blocked one.)

use crate::dtype::DType;
use crate::elementwise::{Comparison, Function, math_function};
use crate::error::Result;
use crate::math;
use crate::op::lookup::{DTypeTuple, OF_ONE, OF_TWO};
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{data, float, output_like, param, required_float};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::ops::pointwise::{self, unary};
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

pointwise::binary_ops! {
    BINARY:
    /// The sum, as `torch.add`.
    ///
    /// ```
    /// use blocktensor::{StridedTensor, ops};
    /// let a = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// let row = StridedTensor::from_slice(&[10f32, 20.0], &[2])?;
    /// assert_eq!(ops::add(&a, &row)?.to_vec::<f32>()?, [11.0, 22.0, 13.0, 24.0]);
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    pub fn add(a, b) -> f32, pub fn add_into { |a, b| a + b },
    gradient_of_diff { |_, _, _, diff| Ok(diff.clone()) }, post_op |_| Some("residual".into())
    /// The difference, as `torch.sub`.
    pub fn sub(a, b) -> f32, pub fn sub_into { |a, b| a - b },
    gradient_of_diff { |i, _, _, diff| if i == 0 { Ok(diff.clone()) } else { unary::neg(diff) } }
    /// The product, as `torch.mul`.
    pub fn mul(a, b) -> f32, pub fn mul_into { |a, b| a * b },
    gradient { |i, a, b, diff| super::mul(diff, if i == 0 { b } else { a }) }
    /// The quotient, as `torch.div`.
    pub fn div(a, b) -> f32, pub fn div_into { |a, b| a / b },
    gradient { |i, a, b, diff| {
        let by_a = super::div(diff, b)?;
        if i == 0 { Ok(by_a) } else { unary::neg(&super::mul(&by_a, &super::div(a, b)?)?) }
    } }
    /// `a` to the power of `b`, as `torch.pow`.
    pub fn pow(a, b) -> f32, pub fn pow_into { math_function!(|a, b;| math::pow(a, b)) },
    gradient { |i, a, b, diff| {
        let of = |f: fn(f32, f32, f32) -> f32| pointwise::gradient::map_of_two("pow", (a, b, diff), f);
        if i == 0 { of(pow_by_base) } else { of(pow_by_exponent) }
    } }
    /// The larger of the two, NaN if either is NaN, as `torch.maximum`.
    pub fn maximum(a, b) -> f32, pub fn maximum_into { math::maximum },
    gradient { |i, a, b, diff| {
        let (own, other) = if i == 0 { (a, b) } else { (b, a) };
        pointwise::gradient::of_extreme("maximum", (own, other, diff), |own, other| own < other)
    } }
    /// The smaller of the two, NaN if either is NaN, as `torch.minimum`.
    pub fn minimum(a, b) -> f32, pub fn minimum_into { math::minimum },
    gradient { |i, a, b, diff| {
        let (own, other) = if i == 0 { (a, b) } else { (b, a) };
        pointwise::gradient::of_extreme("minimum", (own, other, diff), |own, other| own > other)
    } }
    /// 1 where the two are equal, else 0, as `torch.eq`.
    pub fn eq(a, b) -> u8, pub fn eq_into { |a, b| u8::from(a == b) }, without_gradient "its results are 0 and 1"
    /// 1 where the two differ, else 0, as `torch.ne`.
    pub fn ne(a, b) -> u8, pub fn ne_into { |a, b| u8::from(a != b) }, without_gradient "its results are 0 and 1"
    /// 1 where `a < b`, else 0, as `torch.lt`.
    pub fn lt(a, b) -> u8, pub fn lt_into { |a, b| u8::from(a < b) }, without_gradient "its results are 0 and 1"
    /// 1 where `a <= b`, else 0, as `torch.le`.
    pub fn le(a, b) -> u8, pub fn le_into { |a, b| u8::from(a <= b) }, without_gradient "its results are 0 and 1"
    /// 1 where `a > b`, else 0, as `torch.gt`.
    pub fn gt(a, b) -> u8, pub fn gt_into { |a, b| u8::from(a > b) }, without_gradient "its results are 0 and 1"
    /// 1 where `a >= b`, else 0, as `torch.ge`.
    pub fn ge(a, b) -> u8, pub fn ge_into { |a, b| u8::from(a >= b) }, without_gradient "its results are 0 and 1"
}

/// `x` to the power of `y`. For the exponents 0.5 and -0.5 PyTorch computes `sqrt` and `rsqrt`, which differ from C's `pow` at
/// -0 and at minus infinity.
#[inline(always)]
fn pow_number(x: f32, y: f32) -> f32 {
    // By far the most frequent exponent. `pow` gives the same bits.
    if y == 2.0 {
        return x * x;
    }
    let power = math::pow(x, y);
    let root = y.abs() == 0.5;
    let power = if root & (x == 0.0) { power.copysign(x) } else { power };
    if root & (x == f32::NEG_INFINITY) { f32::NAN } else { power }
}

/// The derivative of `x` to the power of `y` by `x`, times `g`.
#[inline(always)]
fn pow_by_base(x: f32, y: f32, g: f32) -> f32 {
    if y == 0.0 { 0.0 } else { g * (y * math::pow(x, y - 1.0)) }
}

/// The derivative of `x` to the power of `y` by `y`, times `g`. Along a base of 0 the power is constant.
#[inline(always)]
fn pow_by_exponent(x: f32, y: f32, g: f32) -> f32 {
    g * if x == 0.0 && y >= 0.0 { 0.0 } else { math::pow(x, y) * x.ln() }
}

pointwise::unary_ops! {
    SCALARS:
    /// `x + other`, as `torch.add` with a number.
    pub fn add_scalar(x, other: f64 => required_float("other")) -> f32,
    pub fn add_scalar_into { let other = other as f32; move |x| x + other }, gradient { let _ = other; |_, g| g }
    /// `x - other`, as `torch.sub` with a number.
    pub fn sub_scalar(x, other: f64 => required_float("other")) -> f32,
    pub fn sub_scalar_into { let other = other as f32; move |x| x - other }, gradient { let _ = other; |_, g| g }
    /// `x * other`, as `torch.mul` with a number.
    pub fn mul_scalar(x, other: f64 => required_float("other")) -> f32,
    pub fn mul_scalar_into { let other = other as f32; move |x| x * other }, gradient { let other = other as f32; move |_, g| g * other }
    /// `x / other`, as `torch.div` with a number.
    pub fn div_scalar(x, other: f64 => required_float("other")) -> f32,
    pub fn div_scalar_into { let other = other as f32; move |x| x / other }, gradient { let other = other as f32; move |_, g| g / other }
    /// `x` to the power of `other`, as `torch.pow` with a number.
    pub fn pow_scalar(x, other: f64 => required_float("other")) -> f32,
    pub fn pow_scalar_into { math_function!(|x, other: f32| pow_number(x, other), other as f32) },
    gradient {
        math_function!(
            |x, g; other: f32| if other == 0.0 { 0.0 } else { g * (other * pow_number(x, other - 1.0)) },
            other as f32
        )
    }
    /// 1 where `x == other`, else 0, as `torch.eq` with a number. Beside bf16, `other` is rounded first in this and the other comparisons.
    pub fn eq_scalar(x, other: f64 => required_float("other")) -> u8,
    pub fn eq_scalar_into { Comparison::new(other as f32, |x, other| x == other) }, without_gradient "its results are 0 and 1"
    /// 1 where `x != other`, else 0, as `torch.ne` with a number.
    pub fn ne_scalar(x, other: f64 => required_float("other")) -> u8,
    pub fn ne_scalar_into { Comparison::new(other as f32, |x, other| x != other) }, without_gradient "its results are 0 and 1"
    /// 1 where `x < other`, else 0, as `torch.lt` with a number.
    pub fn lt_scalar(x, other: f64 => required_float("other")) -> u8,
    pub fn lt_scalar_into { Comparison::new(other as f32, |x, other| x < other) }, without_gradient "its results are 0 and 1"
    /// 1 where `x <= other`, else 0, as `torch.le` with a number.
    pub fn le_scalar(x, other: f64 => required_float("other")) -> u8,
    pub fn le_scalar_into { Comparison::new(other as f32, |x, other| x <= other) }, without_gradient "its results are 0 and 1"
    /// 1 where `x > other`, else 0, as `torch.gt` with a number.
    pub fn gt_scalar(x, other: f64 => required_float("other")) -> u8,
    pub fn gt_scalar_into { Comparison::new(other as f32, |x, other| x > other) }, without_gradient "its results are 0 and 1"
    /// 1 where `x >= other`, else 0, as `torch.ge` with a number.
    pub fn ge_scalar(x, other: f64 => required_float("other")) -> u8,
    pub fn ge_scalar_into { Comparison::new(other as f32, |x, other| x >= other) }, without_gradient "its results are 0 and 1"
}

/// The dtypes of `where`: a condition, and two operands in f32 or in bf16.
const OF_WHERE: &[DTypeTuple] = &[
    DTypeTuple { operands: &[], results: &[] },
    DTypeTuple { operands: &[DType::U8, DType::BF16, DType::BF16], results: &[] },
];
static WHERE: Op = Op::new(
    &Schema::new(
        "where",
        &[data("condition").with_fixed_dtypes(&[DType::U8], "it is u8"), data("a").f32(), data("b").f32()],
    )
    .with_outputs(&[output_like("dst", "a")])
    .elementwise(),
)
.with(
    &Kernel::rust(&pointwise::run_where)
        .with_dtypes(OF_WHERE)
        .on_both_reading(Reads::Operands, &pointwise::gradient::of_where),
);

static ADD_CHANNEL: Op =
    Op::new(
        &Schema::new("add_channel", &[data("x").f32(), param("values").f32()])
            .dst_like_x()
            .elementwise()
            .post_op(|_| Some("add_channel".into())),
    )
    .with(&Kernel::rust(&run_add_channel).with_dtypes(OF_ONE).on_both_with(&|call| {
        pointwise::gradient::of_channel_values(call, |diff, _| Ok(diff.clone()), |_, g| g)
    }));
static MUL_CHANNEL: Op = Op::new(
    &Schema::new("mul_channel", &[data("x").f32(), param("values").f32()])
        .dst_like_x()
        .elementwise()
        .post_op(|_| Some("mul_channel".into())),
)
.with(
    &Kernel::rust(&run_mul_channel)
        .with_dtypes(OF_ONE)
        .on_both_reading(Reads::Operands, &mul_channel_gradient),
);

params! {
    /// The numbers among the arguments of `axpby`.
    pub(crate) struct Axpby {
        alpha: f64 => float("alpha", 1.0),
        beta: f64 => float("beta", 1.0),
    }
}

const AXPBY_ARGS: &[ArgSpec] = &with_params::<4>(&[data("a").f32(), data("b").f32()], Axpby::SPECS);
static AXPBY: Op =
    Op::new(&Schema::new("axpby", AXPBY_ARGS).with_outputs(&[pointwise::output::<f32>("a")]).elementwise())
        .with(&Kernel::rust(&run_axpby).with_dtypes(OF_TWO).on_both_reading(Reads::Nothing, &axpby_gradient));

/// `alpha * a + beta * b` in one pass, each product rounded before the sum: `axpby` of BLAS. With `alpha` 1 it is `torch.add` with
/// `alpha=beta`.
///
/// ```
/// use blocktensor::{StridedTensor, ops};
/// let weights = StridedTensor::from_slice(&[1f32, 2.0], &[2])?;
/// let gradient = StridedTensor::from_slice(&[10f32, -10.0], &[2])?;
/// assert_eq!(ops::axpby(&weights, &gradient, 1.0, -0.1)?.to_vec::<f32>()?, [0.0, 3.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// Any two that broadcast, as in [`add`].
///
/// # Dtypes
/// Both f32; or both bf16, computed in f32 and rounded once.
///
/// # Layouts
/// As [`add`].
///
/// # Errors
/// As [`add`].
#[track_caller]
pub fn axpby<T: Operand>(a: &T, b: &T, alpha: f64, beta: f64) -> Result<T> {
    AXPBY.call_with(&[Arg::Tensor(a.tensor_ref()), Arg::Tensor(b.tensor_ref())], &Axpby { alpha, beta })
}

fn run_axpby(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let Axpby { alpha, beta } = Axpby::read(args)?;
    let (alpha, beta) = (alpha as f32, beta as f32);
    pointwise::run_binary(args, results, move |a: f32, b: f32| alpha * a + beta * b)
}

fn axpby_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let Axpby { alpha, beta } = Axpby::read(&call.args)?;
    pointwise::gradient::of_two(call, |i, _, _, diff| mul_scalar(diff, if i == 0 { alpha } else { beta }))
}

fn mul_channel_gradient(call: &Backward<'_>) -> Result<Gradients> {
    pointwise::gradient::of_channel_values(call, mul_channel, |x, g| x * g)
}

pub(crate) const OTHERS: &[&Op] = &[&AXPBY, &WHERE, &ADD_CHANNEL, &MUL_CHANNEL];

fn run_add_channel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    pointwise::run_with_channel_values(args, results, FormatRule::ElementWise, |x, v| x + v)
}

fn run_mul_channel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    pointwise::run_with_channel_values(args, results, FormatRule::ElementWise, |x, v| x * v)
}

pointwise::pointwise_docs! {
    /// `a` where `condition` is not 0, else `b`, as `torch.where`.
    ///
    /// ```
    /// use blocktensor::{StridedTensor, ops};
    /// let a = StridedTensor::from_slice(&[1f32, -2.0, 3.0], &[3])?;
    /// let b = StridedTensor::from_slice(&[0f32], &[1])?;
    /// let positive = ops::gt_scalar(&a, 0.0)?;
    /// assert_eq!(ops::where_(&positive, &a, &b)?.to_vec::<f32>()?, [1.0, 0.0, 3.0]);
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    => "Any three that broadcast, as in PyTorch. Blocked operands have the same rank.",
    "`condition` u8, the dtype of comparison results; `a` and `b` both f32 or both bf16.",
    "`ShapeMismatch`, `DTypeMismatch`, `UnsupportedDType`. Blocked: `RankMismatch` and `LayoutMismatch`.",
    pub fn where_<T: Operand>(condition: &T, a: &T, b: &T) -> Result<T> {
        let tensors = [condition, a, b].map(|t| Arg::Tensor(t.tensor_ref()));
        WHERE.call_one(&tensors)
    }
}

pointwise::pointwise_docs! {
    /// Adds to each element the value of its channel: `x + values.view(1, C, 1, 1)` in PyTorch.
    => "`x` any; axis 1 holds the channels. `values` `[C]` or one value.", "`x` f32, or bf16; `values` f32.",
    "`ShapeMismatch` when `values` has neither 1 nor C values; `UnsupportedDType`.",
    pub fn add_channel<T: Operand>(x: &T, values: &StridedTensor) -> Result<T> {
        ADD_CHANNEL.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Tensor(TensorRef::Strided(values))])
    }
}

pointwise::pointwise_docs! {
    /// Multiplies each element by the value of its channel: `x * values.view(1, C, 1, 1)` in PyTorch.
    => "`x` any; axis 1 holds the channels. `values` `[C]` or one value.", "`x` f32, or bf16; `values` f32.",
    "`ShapeMismatch` when `values` has neither 1 nor C values; `UnsupportedDType`.",
    pub fn mul_channel<T: Operand>(x: &T, values: &StridedTensor) -> Result<T> {
        MUL_CHANNEL.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Tensor(TensorRef::Strided(values))])
    }
}
