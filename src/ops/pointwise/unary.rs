//! Element-wise functions of one operand: activations, powers, rounding, trigonometry.
//!
//! Each op is an entry of one table. The arithmetic is that of [`math`] for both keys, so strided and blocked results have
//! the same bits.

use crate::elementwise::{Function, math_function};
use crate::error::{Result, fail};
use crate::kernels::gradient::map::map3;
use crate::math::{self, Separate};
use crate::op::params::NegativeIsNone;
use crate::op::schema::{data, float, param};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::pointwise;
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

pointwise::unary_ops! {
    UNARY:
    /// The positive part, as `torch.nn.functional.relu`. The result of NaN is NaN.
    ///
    /// ```
    /// use blocktensor::{Layout, MemoryFormat, StridedTensor, ops};
    /// let x = StridedTensor::from_slice(&[-1f32, 0.0, 2.5], &[3])?;
    /// assert_eq!(ops::relu(&x)?.to_vec::<f32>()?, [0.0, 0.0, 2.5]);
    ///
    /// // A blocked tensor gives a blocked result.
    /// let x = StridedTensor::full(&[1, 3, 2, 2], -1f32, MemoryFormat::Contiguous)?.to_blocked(&Layout::NCHW16C)?;
    /// assert_eq!(ops::relu(&x)?.layout(), &Layout::NCHW16C);
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    pub fn relu(x) -> f32, pub fn relu_into { math::relu },
    gradient_of_result { |y, g| if y <= 0.0 { 0.0 } else { g } }, post_op |_| Some("relu".into())
    /// `x` limited to the range 0 to 6, as `torch.nn.functional.relu6`.
    pub fn relu6(x) -> f32, pub fn relu6_into { math::relu6 },
    gradient_of_result { |y, g| if y > 0.0 && y < 6.0 { g } else { 0.0 } }, post_op |_| Some("relu6".into())
    /// `x` where positive, else `slope * x`, as `torch.nn.functional.leaky_relu`; PyTorch's default slope is 0.01.
    pub fn leaky_relu(x, slope: f64 => float("slope", 0.01)) -> f32, pub fn leaky_relu_into {
        math_function!(|x, slope: f32| math::leaky_relu(x, slope), slope as f32)
    },
    gradient { let slope = slope as f32; move |x, g| if x > 0.0 { g } else { g * slope } }, post_op |number| Some(format!("leaky_relu({})", number("slope")?))
    /// `x` where positive, else `alpha * (exp(x) - 1)`, as `torch.nn.functional.elu`; PyTorch's default is 1.
    pub fn elu(x, alpha: f64 => float("alpha", 1.0)) -> f32, pub fn elu_into {
        math_function!(|x, alpha: f32| math::elu::<M>(x, alpha), alpha as f32)
    },
    gradient { let alpha = alpha as f32; move |x, g| if x > 0.0 { g } else { g * alpha * math::exp::<Separate>(x) } }
    /// A scaled [`elu`] with the constants of its paper, as `torch.nn.functional.selu`.
    pub fn selu(x) -> f32, pub fn selu_into { math_function!(|x| math::selu::<M>(x)) },
    gradient { |x, g| g * selu_slope(x) }
    /// `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`, as `torch.nn.functional.celu`; PyTorch's default is 1.
    pub fn celu(x, alpha: f64 => float("alpha", 1.0)) -> f32, pub fn celu_into {
        if alpha as f32 == 0.0 {
            fail!(InvalidArgument, "celu", "alpha", alpha.to_string(), "it divides", "pass another value than 0")
        }
        math_function!(|x, alpha: f32| math::celu::<M>(x, alpha), alpha as f32)
    },
    gradient { let alpha = alpha as f32; move |x, g| if x > 0.0 { g } else { g * math::exp::<Separate>(x / alpha) } }
    /// `x` times the cumulative distribution function of the normal distribution, as `torch.nn.functional.gelu`.
    pub fn gelu(x) -> f32, pub fn gelu_into { math_function!(|x| math::gelu::<M>(x)) },
    gradient { |x, g| g * gelu_slope(x) }, post_op |_| Some("gelu".into())
    /// The approximation of [`gelu`] with `tanh`, as `torch.nn.functional.gelu` with `approximate="tanh"`.
    pub fn gelu_tanh(x) -> f32, pub fn gelu_tanh_into { math_function!(|x| math::gelu_tanh::<M>(x)) },
    gradient { |x, g| g * gelu_tanh_slope(x) }
    /// `x * sigmoid(x)`, as `torch.nn.functional.silu`.
    pub fn silu(x) -> f32, pub fn silu_into { math_function!(|x| math::silu::<M>(x)) },
    gradient { |x, g| { let s = math::sigmoid::<Separate>(x); g * s * (1.0 + x * (1.0 - s)) } }, post_op |_| Some("silu".into())
    /// `x * tanh(softplus(x))`, as `torch.nn.functional.mish`.
    pub fn mish(x) -> f32, pub fn mish_into { math_function!(|x| math::mish::<M>(x)) },
    gradient { math_function!(|x, g;| g * mish_slope(x)) }
    /// `1 / (1 + exp(-x))`, as `torch.sigmoid`.
    pub fn sigmoid(x) -> f32, pub fn sigmoid_into { math_function!(|x| math::sigmoid::<M>(x)) },
    gradient_of_result { |y, g| g * y * (1.0 - y) }, post_op |_| Some("sigmoid".into())
    /// `relu6(x + 3) / 6`, as `torch.nn.functional.hardsigmoid`.
    pub fn hardsigmoid(x) -> f32, pub fn hardsigmoid_into { math::hardsigmoid },
    gradient { |x: f32, g| if x.abs() < 3.0 { g / 6.0 } else { 0.0 } }, post_op |_| Some("hardsigmoid".into())
    /// `x * relu6(x + 3) / 6`, as `torch.nn.functional.hardswish`.
    pub fn hardswish(x) -> f32, pub fn hardswish_into { math::hardswish },
    gradient { |x, g| if x <= -3.0 { 0.0 } else if x >= 3.0 { g } else { g * (x / 3.0 + 0.5) } }, post_op |_| Some("hardswish".into())
    /// The hyperbolic tangent, as `torch.tanh`.
    pub fn tanh(x) -> f32, pub fn tanh_into { math_function!(|x| math::tanh::<M>(x)) },
    gradient_of_result { |y, g| g * (1.0 - y * y) }, post_op |_| Some("tanh".into())
    /// `x` limited to the range `min` to `max`, as `torch.nn.functional.hardtanh`; PyTorch's defaults are -1 and 1.
    pub fn hardtanh(x, min: f64 => float("min", -1.0), max: f64 => float("max", 1.0)) -> f32, pub fn hardtanh_into {
        if min > max {
            let got = format!("{min}, with max {max}");
            fail!(InvalidArgument, "hardtanh", "min", got, "it cannot be larger than max", "exchange them")
        }
        let (min, max) = (min as f32, max as f32);
        let nan_bound = min.is_nan() | max.is_nan();
        move |x| if nan_bound { f32::NAN } else { math::hardtanh(x, min, max) }
    },
    gradient_of_result { let (min, max) = (min as f32, max as f32); move |y, g| if y > min && y < max { g } else { 0.0 } }, post_op |number| clip(number("min")?, number("max")?)
    /// `log(1 + exp(beta * x)) / beta`, and `x` where `beta * x > threshold`, as `torch.nn.functional.softplus`;
    /// PyTorch's defaults are 1 and 20.
    pub fn softplus(x, beta: f64 => float("beta", 1.0), threshold: f64 => float("threshold", 20.0)) -> f32,
    pub fn softplus_into {
        let (beta, threshold) = (beta as f32, threshold as f32);
        math_function!(|x, beta: f32, threshold: f32| math::softplus::<M>(x, beta, threshold), beta, threshold)
    },
    gradient {
        let (beta, threshold) = (beta as f32, threshold as f32);
        move |x, g| if beta * x > threshold { g } else { g * math::sigmoid::<Separate>(beta * x) }
    }
    /// `x / (1 + |x|)`, as `torch.nn.functional.softsign`.
    pub fn softsign(x) -> f32, pub fn softsign_into { math::softsign },
    gradient { |x: f32, g| { let d = 1.0 + x.abs(); g / (d * d) } }
    /// The exponential function, as `torch.exp`.
    pub fn exp(x) -> f32, pub fn exp_into { math_function!(|x| math::exp::<M>(x)) },
    gradient_of_result { |y, g| g * y }
    /// The natural logarithm, as `torch.log`.
    pub fn log(x) -> f32, pub fn log_into { math_function!(|x| math::log::<M>(x)) },
    gradient { |x, g| g / x }
    /// `log(x / (1 - x))`, the inverse of [`sigmoid`], as `torch.logit`; PyTorch's default is `None`.
    ///
    /// Without `eps`, the result of 0 is minus infinity, that of 1 is infinity, and outside of this range it is NaN. With `eps`,
    /// an `x` below `eps` is replaced by `eps`, any other `x` above `1 - eps` by `1 - eps`, computed in f32. If `eps` is negative
    /// or NaN, results are as without `eps`. In a call by name, `eps` is -1 by default.
    ///
    /// ```
    /// use blocktensor::{StridedTensor, ops};
    /// let x = StridedTensor::from_slice(&[0f32, 0.5, 1.0], &[3])?;
    /// assert_eq!(ops::logit(&x, None)?.to_vec::<f32>()?, [f32::NEG_INFINITY, 0.0, f32::INFINITY]);
    /// assert_eq!(ops::logit(&x, Some(0.5))?.to_vec::<f32>()?, [0.0, 0.0, 0.0]);
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    pub fn logit(x, eps: Option<f64> as NegativeIsNone => float("eps", -1.0)) -> f32, pub fn logit_into {
        // Not `math::clamp`: if `eps > 0.5`, the lower limit is the larger one, and PyTorch tests it first.
        #[inline(always)]
        fn limited(x: f32, lo: f32, hi: f32) -> f32 {
            let limited = if x > hi { hi } else { x };
            if x < lo { lo } else { limited }
        }
        let eps = eps.0.map(|eps| eps as f32);
        // Limits that are NaN have no effect, as in PyTorch.
        let (lo, hi) = eps.map_or((f32::NEG_INFINITY, f32::INFINITY), |eps| (eps, 1.0 - eps));
        math_function!(|x, lo: f32, hi: f32| math::logit::<M>(limited(x, lo, hi)), lo, hi)
    },
    gradient {
        // Without limits, the function is not defined outside of 0 to 1.
        let (lo, hi, outside) = eps.0.map_or((0.0, 1.0, f32::NAN), |eps| (eps as f32, 1.0 - eps as f32, 0.0));
        // Of -0 it is that of 0, as in PyTorch.
        move |x: f32, g| if x < lo || x > hi { outside } else { g / (x.abs() * (1.0 - x)) }
    }
    /// The square root, as `torch.sqrt`.
    pub fn sqrt(x) -> f32, pub fn sqrt_into { math::sqrt },
    gradient_of_result { |y, g| g / (2.0 * y) }
    /// `1 / sqrt(x)`, as `torch.rsqrt`.
    pub fn rsqrt(x) -> f32, pub fn rsqrt_into { math::rsqrt },
    gradient_of_result { |y, g| -0.5 * g * (y * y * y) }
    /// The absolute value, as `torch.abs`.
    pub fn abs(x) -> f32, pub fn abs_into { math::abs },
    gradient { |x, g| g * math::sign(x) }
    /// `-x`, as `torch.neg`.
    pub fn neg(x) -> f32, pub fn neg_into { math::neg },
    gradient { |_, g: f32| -g }
    /// `x * x`, as `torch.square`.
    pub fn square(x) -> f32, pub fn square_into { math::square },
    gradient { |x, g| 2.0 * x * g }
    /// `1 / x`, as `torch.reciprocal`.
    pub fn reciprocal(x) -> f32, pub fn reciprocal_into { math::reciprocal },
    gradient_of_result { |y, g: f32| -g * (y * y) }
    /// `min(max(x, min), max)`, as `torch.clamp`. If `min > max`, every result is `max`. If a bound is NaN, every result is
    /// NaN. An infinite bound has no effect.
    ///
    /// ```
    /// use blocktensor::{StridedTensor, ops};
    /// let x = StridedTensor::from_slice(&[-2f32, 0.5, 3.0], &[3])?;
    /// assert_eq!(ops::clamp(&x, -1.0, 1.0)?.to_vec::<f32>()?, [-1.0, 0.5, 1.0]);
    /// // PyTorch's `clamp(min=0)`.
    /// assert_eq!(ops::clamp(&x, 0.0, f64::INFINITY)?.to_vec::<f32>()?, [0.0, 0.5, 3.0]);
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    pub fn clamp(x, min: f64 => float("min", f64::NEG_INFINITY), max: f64 => float("max", f64::INFINITY)) -> f32,
    pub fn clamp_into {
        let (min, max) = (min as f32, max as f32);
        let nan_bound = min.is_nan() | max.is_nan();
        move |x| if nan_bound { f32::NAN } else { math::clamp(x, min, max) }
    },
    gradient {
        let (min, max) = (min as f32, max as f32);
        // At a bound it is 0. An infinite bound is none.
        let is_inside = move |x| (x > min || min == f32::NEG_INFINITY) && (x < max || max == f32::INFINITY);
        move |x, g| if is_inside(x) { g } else { 0.0 }
    }, post_op |number| clip(number("min")?, number("max")?)
    /// The nearest integer, ties to even, as `torch.round`.
    pub fn round(x) -> f32, pub fn round_into { math::round }, gradient { |_, _| 0.0 }
    /// The largest integer that is not above `x`, as `torch.floor`.
    pub fn floor(x) -> f32, pub fn floor_into { math::floor }, gradient { |_, _| 0.0 }
    /// The smallest integer that is not below `x`, as `torch.ceil`.
    pub fn ceil(x) -> f32, pub fn ceil_into { math::ceil }, gradient { |_, _| 0.0 }
    /// -1, 0 or 1, as `torch.sign`.
    pub fn sign(x) -> f32, pub fn sign_into { math::sign }, gradient { |_, _| 0.0 }
    /// The sine, as `torch.sin`.
    pub fn sin(x) -> f32, pub fn sin_into { math_function!(|x| math::sin(x)) },
    gradient { math_function!(|x, g;| g * math::cos(x)) }
    /// The cosine, as `torch.cos`.
    pub fn cos(x) -> f32, pub fn cos_into { math_function!(|x| math::cos(x)) },
    gradient { math_function!(|x, g;| -g * math::sin(x)) }
    /// The error function, as `torch.erf`.
    pub fn erf(x) -> f32, pub fn erf_into { math_function!(|x| math::erf::<M>(x)) },
    gradient { |x: f32, g| g * std::f32::consts::FRAC_2_SQRT_PI * math::exp::<Separate>(-x * x) }
}

/// The derivative of [`gelu`]: the distribution function of the normal distribution, and `x` times its density.
#[inline(always)]
fn gelu_slope(x: f32) -> f32 {
    let below = 0.5 * (1.0 + math::erf::<Separate>(x * std::f32::consts::FRAC_1_SQRT_2));
    let density = 0.398_942_3 * math::exp::<Separate>(-0.5 * x * x);
    below + x * density
}

/// The derivative of [`gelu_tanh`].
#[inline(always)]
fn gelu_tanh_slope(x: f32) -> f32 {
    const SCALE: f32 = 0.797_884_6;
    const CUBIC: f32 = 0.044_715;
    let t = math::tanh::<Separate>(SCALE * (x + CUBIC * x * x * x));
    0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * SCALE * (1.0 + 3.0 * CUBIC * x * x)
}

/// The derivative of [`mish`].
#[inline(always)]
fn mish_slope(x: f32) -> f32 {
    let t = math::tanh::<Separate>(math::softplus::<Separate>(x, 1.0, 20.0));
    t + x * (1.0 - t * t) * math::sigmoid::<Separate>(x)
}

/// The derivative of [`selu`].
#[inline(always)]
fn selu_slope(x: f32) -> f32 {
    if x > 0.0 { 1.050_701 } else { 1.758_099_3 * math::exp::<Separate>(x) }
}

/// The post-op that limits to this range.
fn clip(low: f32, high: f32) -> Option<String> {
    match (low, high) {
        (0.0, f32::INFINITY) => Some("relu".into()),
        _ if low.is_finite() && high.is_finite() && low <= high => Some(format!("clip({low},{high})")),
        _ => None,
    }
}

static PRELU: Op = Op::new(
    &Schema::new("prelu", &[data("x").f32(), param("weights").f32()])
        .dst_like_x()
        .elementwise()
        .post_op(|_| Some("prelu".into())),
)
.with(&Kernel::rust(&run_prelu).with_dtypes(crate::op::lookup::OF_ONE).on_both_with(&prelu_gradient));

pub(crate) const PRELU_OPS: &[&Op] = &[&PRELU];

fn run_prelu(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    pointwise::run_with_channel_values(args, results, FormatRule::Like, math::prelu)
}

fn prelu_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let (op, x) = (call.args.op(), call.args.tensor(0)?);
    let by_x = |diff: &Tensor, slopes: &StridedTensor| {
        let scaled = super::binary::mul_channel(diff, slopes)?;
        let diff = diff.tensor_ref();
        map3(op, x, (x, diff, scaled.tensor_ref()), |x, g, scaled| if x > 0.0 { g } else { scaled })
    };
    pointwise::gradient::of_channel_values(call, by_x, |x, g| if x > 0.0 { 0.0 } else { x * g })
}

pointwise::pointwise_docs! {
    /// `x` where positive, else `x` times the slope of its channel, as `torch.nn.functional.prelu`.
    ///
    /// The slopes are a parameter: a strided tensor for strided and for blocked `x`. (oneDNN has only a reference
    /// implementation for a plain operand beside a blocked one, so this kernel is our own.)
    => "`x` any; axis 1 holds the channels. `weights` `[C]` or one value.", "`x` f32, or bf16; `weights` f32.",
    "`ShapeMismatch` when `weights` has neither 1 nor C values; `UnsupportedDType`.",
    pub fn prelu<T: Operand>(x: &T, weights: &StridedTensor) -> Result<T> {
        PRELU.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Tensor(TensorRef::Strided(weights))])
    }
}
