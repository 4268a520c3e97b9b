//! Element-wise functions of one operand: activations, powers, rounding, trigonometry.
//!
//! All of them are lines of one table. The arithmetic is that of [`math`], and so the same on both keys, bit by bit.

use crate::elementwise::{Function, With};
use crate::error::{Result, fail};
use crate::math;
use crate::op::schema::ArgKind;
use crate::op::schema::{data, param};
use crate::op::{Arg, ArgSpec, Args, KernelResult, Op, Results, Schema};
use crate::ops::pointwise;
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

pointwise::unary_ops! {
    UNARY:
    /// The positive part, as `torch.nn.functional.relu`.
    relu relu_into () -> f32 { math::relu }
    /// `x` cut to 0 and 6, as `torch.nn.functional.relu6`.
    relu6 relu6_into () -> f32 { math::relu6 }
    /// `x` where positive, else `slope * x`, as `torch.nn.functional.leaky_relu`; PyTorch's default slope is 0.01.
    leaky_relu leaky_relu_into (slope = Some(0.01)) -> f32 {
        With(math::leaky_relu, slope as f32)
    }
    /// `x` where positive, else `alpha * (exp(x) - 1)`, as `torch.nn.functional.elu`; PyTorch's default is 1.
    elu elu_into (alpha = Some(1.0)) -> f32 {
        With(math::elu, alpha as f32)
    }
    /// A scaled [`elu`] with the constants of its paper, as `torch.nn.functional.selu`.
    selu selu_into () -> f32 { math::selu }
    /// `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`, as `torch.nn.functional.celu`; PyTorch's default is 1.
    celu celu_into (alpha = Some(1.0)) -> f32 {
        if alpha as f32 == 0.0 {
            fail!(InvalidArgument, "celu", "alpha", alpha.to_string(), "it divides", "pass another value than 0")
        }
        With(math::celu, alpha as f32)
    }
    /// `x` times the normal distribution's lower part, as `torch.nn.functional.gelu`.
    gelu gelu_into () -> f32 { math::gelu }
    /// [`gelu`] by its formula with `tanh`, as `torch.nn.functional.gelu` with `approximate="tanh"`.
    gelu_tanh gelu_tanh_into () -> f32 { math::gelu_tanh }
    /// `x * sigmoid(x)`, as `torch.nn.functional.silu`.
    silu silu_into () -> f32 { math::silu }
    /// `x * tanh(softplus(x))`, as `torch.nn.functional.mish`.
    mish mish_into () -> f32 { math::mish }
    /// `1 / (1 + exp(-x))`, as `torch.sigmoid`.
    sigmoid sigmoid_into () -> f32 { math::sigmoid }
    /// `relu6(x + 3) / 6`, as `torch.nn.functional.hardsigmoid`.
    hardsigmoid hardsigmoid_into () -> f32 { math::hardsigmoid }
    /// `x * relu6(x + 3) / 6`, as `torch.nn.functional.hardswish`.
    hardswish hardswish_into () -> f32 { math::hardswish }
    /// The hyperbolic tangent, as `torch.tanh`.
    tanh tanh_into () -> f32 { math::tanh }
    /// `x` cut to `min` and `max`, as `torch.nn.functional.hardtanh`; PyTorch's defaults are -1 and 1.
    hardtanh hardtanh_into (min = Some(-1.0), max = Some(1.0)) -> f32 {
        if min > max {
            let got = format!("{min}, with max {max}");
            fail!(InvalidArgument, "hardtanh", "min", got, "it cannot be larger than max", "exchange them")
        }
        let (min, max) = (min as f32, max as f32);
        let bad = min.is_nan() | max.is_nan();
        move |x| if bad { f32::NAN } else { math::hardtanh(x, min, max) }
    }
    /// `log(1 + exp(beta * x)) / beta`, and `x` where `beta * x > threshold`, as `torch.nn.functional.softplus`;
    /// PyTorch's defaults are 1 and 20.
    softplus softplus_into (beta = Some(1.0), threshold = Some(20.0)) -> f32 {
        #[inline(always)]
        fn softplus(x: f32, (beta, threshold): (f32, f32)) -> f32 {
            math::softplus(x, beta, threshold)
        }
        With(softplus, (beta as f32, threshold as f32))
    }
    /// `x / (1 + |x|)`, as `torch.nn.functional.softsign`.
    softsign softsign_into () -> f32 { math::softsign }
    /// The exponential function, as `torch.exp`.
    exp exp_into () -> f32 { math::exp }
    /// The natural logarithm, as `torch.log`.
    log log_into () -> f32 { math::log }
    /// The square root, as `torch.sqrt`.
    sqrt sqrt_into () -> f32 { math::sqrt }
    /// `1 / sqrt(x)`, as `torch.rsqrt`.
    rsqrt rsqrt_into () -> f32 { math::rsqrt }
    /// The absolute value, as `torch.abs`.
    abs abs_into () -> f32 { math::abs }
    /// `-x`, as `torch.neg`.
    neg neg_into () -> f32 { math::neg }
    /// `x * x`, as `torch.square`.
    square square_into () -> f32 { math::square }
    /// `1 / x`, as `torch.reciprocal`.
    reciprocal reciprocal_into () -> f32 { math::reciprocal }
    /// `min(max(x, min), max)`, as `torch.clamp`: `max` where the bounds cross, NaN where one of them is NaN. An infinite
    /// bound is none.
    clamp clamp_into (min = Some(f64::NEG_INFINITY), max = Some(f64::INFINITY)) -> f32 {
        let (min, max) = (min as f32, max as f32);
        let bad = min.is_nan() | max.is_nan();
        move |x| if bad { f32::NAN } else { math::clamp(x, min, max) }
    }
    /// The nearest integer, ties to even, as `torch.round`.
    round round_into () -> f32 { math::round }
    /// The next integer below, as `torch.floor`.
    floor floor_into () -> f32 { math::floor }
    /// The next integer above, as `torch.ceil`.
    ceil ceil_into () -> f32 { math::ceil }
    /// -1, 0 or 1, as `torch.sign`.
    sign sign_into () -> f32 { math::sign }
    /// The sine, as `torch.sin`.
    sin sin_into () -> f32 { math::sin }
    /// The cosine, as `torch.cos`.
    cos cos_into () -> f32 { math::cos }
    /// The error function, as `torch.erf`.
    erf erf_into () -> f32 { math::erf }
}

static PRELU_SCHEMA: Schema = Schema::new("prelu", &[data("x"), param("weights")]);
static PRELU: Op = pointwise::entry(&PRELU_SCHEMA, &prelu_kernel);

fn prelu_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    pointwise::run_channels(args, results, FormatRule::Like, math::prelu)
}

pub(crate) const PRELU_OPS: &[&Op] = &[&PRELU];

pointwise::pointwise_docs! {
    /// `x` where positive, else `x` times the slope of its channel, as `torch.nn.functional.prelu`.
    ///
    /// The slopes are a parameter, strided on both keys. (oneDNN has only its reference implementation for a plain operand
    /// beside a blocked one; this kernel is our own.)
    => "`x` any, its channels axis 1; `weights` `[C]` or one value.", "f32.",
    "`ShapeMismatch` when `weights` has neither 1 nor C values; `UnsupportedDType`.",
    pub fn prelu<T: Operand>(x: &T, weights: &StridedTensor) -> Result<T> {
        PRELU.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Tensor(TensorRef::Strided(weights))])
    }
}
