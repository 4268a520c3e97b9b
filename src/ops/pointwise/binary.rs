//! Element-wise functions of two operands, with PyTorch's broadcasting: arithmetic, comparisons, `where_`; the same
//! with a number or with one value for each channel.
//!
//! Blocked operands broadcast where a size is 1, along channels too: such an operand lies in lane 0 of its only block. What
//! a vector of one value for each channel is in PyTorch, `v.view(1, C, 1, 1)`, is here [`add_channel`] and
//! [`mul_channel`]: the vector is a parameter and stays plain. (oneDNN has only its reference implementation for a
//! plain second operand beside a blocked one.)

use crate::dtype::DType;
use crate::elementwise::{Function, Inline, With};
use crate::error::Result;
use crate::math;
use crate::op::schema::ArgKind;
use crate::op::schema::{data, param};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::pointwise;
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

pointwise::binary_ops! {
    BINARY:
    /// The sum, as `torch.add`.
    add add_into -> f32 |a, b| a + b;
    /// The difference, as `torch.sub`.
    sub sub_into -> f32 |a, b| a - b;
    /// The product, as `torch.mul`.
    mul mul_into -> f32 |a, b| a * b;
    /// The quotient, as `torch.div`.
    div div_into -> f32 |a, b| a / b;
    /// `a` to the power of `b`, as `torch.pow`.
    pow pow_into -> f32 Inline(math::pow);
    /// The larger of the two, NaN where either is, as `torch.maximum`.
    maximum maximum_into -> f32 math::maximum;
    /// The smaller of the two, NaN where either is, as `torch.minimum`.
    minimum minimum_into -> f32 math::minimum;
    /// 1 where the two are equal, else 0, as `torch.eq`.
    eq eq_into -> u8 |a, b| u8::from(a == b);
    /// 1 where the two differ, else 0, as `torch.ne`.
    ne ne_into -> u8 |a, b| u8::from(a != b);
    /// 1 where `a < b`, else 0, as `torch.lt`.
    lt lt_into -> u8 |a, b| u8::from(a < b);
    /// 1 where `a <= b`, else 0, as `torch.le`.
    le le_into -> u8 |a, b| u8::from(a <= b);
    /// 1 where `a > b`, else 0, as `torch.gt`.
    gt gt_into -> u8 |a, b| u8::from(a > b);
    /// 1 where `a >= b`, else 0, as `torch.ge`.
    ge ge_into -> u8 |a, b| u8::from(a >= b);
}

/// Roots are PyTorch's `sqrt` and `rsqrt`, which differ from C's `pow` at -0 and at minus infinity.
#[inline(always)]
fn pow_number(x: f32, y: f32) -> f32 {
    // By far the most frequent number, and the same bits.
    if y == 2.0 {
        return x * x;
    }
    let power = math::pow(x, y);
    let root = y.abs() == 0.5;
    let power = if root & (x == 0.0) { power.copysign(x) } else { power };
    if root & (x == f32::NEG_INFINITY) { f32::NAN } else { power }
}

pointwise::unary_ops! {
    SCALARS:
    /// `x + other`, as `torch.add` with a number.
    add_scalar add_scalar_into (other = None) -> f32 { let other = other as f32; move |x| x + other }
    /// `x - other`, as `torch.sub` with a number.
    sub_scalar sub_scalar_into (other = None) -> f32 { let other = other as f32; move |x| x - other }
    /// `x * other`, as `torch.mul` with a number.
    mul_scalar mul_scalar_into (other = None) -> f32 { let other = other as f32; move |x| x * other }
    /// `x / other`, as `torch.div` with a number.
    div_scalar div_scalar_into (other = None) -> f32 { let other = other as f32; move |x| x / other }
    /// `x` to the power of `other`, as `torch.pow` with a number.
    pow_scalar pow_scalar_into (other = None) -> f32 { With(pow_number, other as f32) }
    /// 1 where `x == other`, else 0, as `torch.eq` with a number.
    eq_scalar eq_scalar_into (other = None) -> u8 { let other = other as f32; move |x| u8::from(x == other) }
    /// 1 where `x != other`, else 0, as `torch.ne` with a number.
    ne_scalar ne_scalar_into (other = None) -> u8 { let other = other as f32; move |x| u8::from(x != other) }
    /// 1 where `x < other`, else 0, as `torch.lt` with a number.
    lt_scalar lt_scalar_into (other = None) -> u8 { let other = other as f32; move |x| u8::from(x < other) }
    /// 1 where `x <= other`, else 0, as `torch.le` with a number.
    le_scalar le_scalar_into (other = None) -> u8 { let other = other as f32; move |x| u8::from(x <= other) }
    /// 1 where `x > other`, else 0, as `torch.gt` with a number.
    gt_scalar gt_scalar_into (other = None) -> u8 { let other = other as f32; move |x| u8::from(x > other) }
    /// 1 where `x >= other`, else 0, as `torch.ge` with a number.
    ge_scalar ge_scalar_into (other = None) -> u8 { let other = other as f32; move |x| u8::from(x >= other) }
}

static WHERE_SCHEMA: Schema = Schema::new("where", &[data("condition"), data("a"), data("b")]);
static WHERE: Op = Op::new(&WHERE_SCHEMA).on_both(WHERE_KERNEL);
static ADD_CHANNEL_SCHEMA: Schema = Schema::new("add_channel", &[data("x"), param("values")]);
static ADD_CHANNEL: Op = pointwise::entry(&ADD_CHANNEL_SCHEMA, &|args, results| {
    pointwise::run_channels(args, results, FormatRule::ElementWise, |x, v| x + v)
});
static MUL_CHANNEL_SCHEMA: Schema = Schema::new("mul_channel", &[data("x"), param("values")]);
static MUL_CHANNEL: Op = pointwise::entry(&MUL_CHANNEL_SCHEMA, &|args, results| {
    pointwise::run_channels(args, results, FormatRule::ElementWise, |x, v| x * v)
});

const WHERE_KERNEL: Kernel = Kernel::rust(&|args, results| {
    pointwise::run3(args, results, |condition, a, b| if condition != 0 { a } else { b })
})
.with_dtypes(&[DType::U8, DType::F32]);

pub(crate) const OTHERS: &[&Op] = &[&WHERE, &ADD_CHANNEL, &MUL_CHANNEL];

pointwise::pointwise_docs! {
    /// `a` where `condition` is not 0, else `b`, as `torch.where`.
    => "Any three that broadcast, as in PyTorch; blocked operands have the same rank.",
    "`condition` u8 (what comparisons give), `a` and `b` f32.",
    "`ShapeMismatch`, `DTypeMismatch`; on blocked `RankMismatch` and `LayoutMismatch`.",
    pub fn where_<T: Operand>(condition: &T, a: &T, b: &T) -> Result<T> {
        WHERE.call_one(&[
            Arg::Tensor(condition.tensor_ref()),
            Arg::Tensor(a.tensor_ref()),
            Arg::Tensor(b.tensor_ref()),
        ])
    }
}

pointwise::pointwise_docs! {
    /// Adds to each element the value of its channel: `x + values.view(1, C, 1, 1)` in PyTorch.
    => "`x` any, its channels axis 1; `values` `[C]` or one value.", "f32.",
    "`ShapeMismatch` when `values` has neither 1 nor C values; `UnsupportedDType`.",
    pub fn add_channel<T: Operand>(x: &T, values: &StridedTensor) -> Result<T> {
        ADD_CHANNEL.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Tensor(TensorRef::Strided(values))])
    }
}

pointwise::pointwise_docs! {
    /// Multiplies each element by the value of its channel: `x * values.view(1, C, 1, 1)` in PyTorch.
    => "`x` any, its channels axis 1; `values` `[C]` or one value.", "f32.",
    "`ShapeMismatch` when `values` has neither 1 nor C values; `UnsupportedDType`.",
    pub fn mul_channel<T: Operand>(x: &T, values: &StridedTensor) -> Result<T> {
        MUL_CHANNEL.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Tensor(TensorRef::Strided(values))])
    }
}
