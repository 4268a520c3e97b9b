//! Batch normalisation with given statistics.

use std::borrow::Cow;

use half::bf16;

use crate::dtype::{DType, Float};
use crate::elementwise;
use crate::error::{Result, fail};
use crate::kernels::gradient::planes::Dense;
use crate::kernels::lanes::Lanes;
use crate::kernels::same_shape::strided_lanes;
use crate::kernels::scale::{ChannelScale, ChannelScales};
use crate::memory::{try_collect, try_with_capacity};
use crate::op::lookup::OF_ONE;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{data, float, optional_param, param};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::ops::norm::args::{ACTIVATION_RANKS, channels_of, optional_param_arg, param_values_or};
use crate::ops::norm::gradient::{Statistics, of_sets};
use crate::tensor::any::{Operand, TensorRef, check_f32};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

/// Statistics and affine parameters of a batch norm, each 1-D with one f32 value for each channel.
#[derive(Clone, Copy, Debug)]
pub struct BatchNorm<'a> {
    /// Running mean.
    pub mean: &'a StridedTensor,
    /// Running variance.
    pub var: &'a StridedTensor,
    /// Scale (gamma); 1 if left out.
    pub weight: Option<&'a StridedTensor>,
    /// Shift (beta); 0 if left out.
    pub bias: Option<&'a StridedTensor>,
    /// Added to the variance.
    pub eps: f64,
}

impl<'a> BatchNorm<'a> {
    /// No weight, no bias, and PyTorch's default `eps` of 1e-5.
    pub fn new(mean: &'a StridedTensor, var: &'a StridedTensor) -> Self {
        BatchNorm { mean, var, weight: None, bias: None, eps: 1e-5 }
    }

    /// With scale (gamma) and shift (beta).
    pub fn affine(self, weight: &'a StridedTensor, bias: &'a StridedTensor) -> Self {
        BatchNorm { weight: Some(weight), bias: Some(bias), ..self }
    }
}

params! {
    /// The number among the arguments of a batch norm.
    pub(crate) struct BatchNormOptions {
        eps: f64 => float("eps", 1e-5),
    }
}

const TENSORS: &[ArgSpec] = &[
    data("x").f32().with_ranks(ACTIVATION_RANKS),
    param("mean").f32(),
    param("var").f32(),
    optional_param("weight").f32(),
    optional_param("bias").f32(),
];
const ARGS: &[ArgSpec] = &with_params::<6>(TENSORS, BatchNormOptions::SPECS);
static BATCH_NORM: Op = Op::new(&Schema::new("batch_norm", ARGS).dst_like_x()).with(
    &Kernel::rust(&run).with_dtypes(OF_ONE).needing_dense().on_both_reading(Reads::Operands, &gradient),
);

pub(crate) const OPS: &[&Op] = &[&BATCH_NORM];

/// Batch normalisation with given statistics, as `torch.nn.functional.batch_norm(training=False)`:
/// `(x - mean) / sqrt(var + eps) * weight + bias`, with statistics, weight and bias for each channel.
///
/// ```
/// use blocktensor::StridedTensor;
/// use blocktensor::ops::{BatchNorm, batch_norm};
/// // One image of two channels with two pixels each.
/// let x = StridedTensor::from_slice(&[1f32, 3.0, 10.0, 20.0], &[1, 2, 1, 2])?;
/// let mean = StridedTensor::from_slice(&[1f32, 15.0], &[2])?;
/// let var = StridedTensor::from_slice(&[4f32, 25.0], &[2])?;
/// let params = BatchNorm { eps: 0.0, ..BatchNorm::new(&mean, &var) };
/// let y = batch_norm(&x, &params)?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 1.0, -1.0, 1.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [N, C, ...] of rank 2 to 5 (blocked: 3 to 5); each parameter \[C\]. The result has the sizes of `x`.
///
/// # Dtypes
/// `x` f32 or bf16; the parameters f32.
///
/// # Layouts
/// Strided: any strides; the result has the strides that element-wise ops give. Blocked: any layout that blocks only the
/// channels; the result keeps it.
///
/// # Errors
/// `ShapeMismatch` for a parameter that does not have C values; `InvalidArgument` if variance + eps is not positive, or eps is
/// NaN (for both, PyTorch's results are NaN), and for C = 0; `RankMismatch`, `UnsupportedDType`, `LayoutMismatch`. Where
/// only sizes are inferred, there are no variances, and any eps is accepted, as PyTorch accepts NaN.
#[track_caller]
pub fn batch_norm<T: Operand>(x: &T, params: &BatchNorm<'_>) -> Result<T> {
    let tensors = [
        Arg::Tensor(x.tensor_ref()),
        Arg::Tensor(TensorRef::Strided(params.mean)),
        Arg::Tensor(TensorRef::Strided(params.var)),
        optional_param_arg(params.weight),
        optional_param_arg(params.bias),
    ];
    BATCH_NORM.call_with(&tensors, &BatchNormOptions { eps: params.eps })
}

/// The kernel for both keys.
fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let op = args.op();
    let channels = channels_of(op, args.tensor(0)?)?;
    let params = params_of(args)?;
    let v = params.values(op, channels)?;
    let scale_of =
        |c: usize| ChannelScale::new(f64::from(v.mean[c]), v.inverse_deviation[c], v.weight[c], v.bias[c]);
    match args.tensor(0)?.dtype() {
        DType::BF16 => run_elements::<bf16>(args, results, scale_of),
        _ => run_elements::<f32>(args, results, scale_of),
    }
}

fn run_elements<E: Float>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    scale_of: impl Fn(usize) -> ChannelScale,
) -> KernelResult {
    if let TensorRef::Strided(x) = args.tensor(0)? {
        let dst = results.by_rule(FormatRule::ElementWise, &[x], x.dims(), x.dtype())?;
        return Ok(scale_strided::<E>(args, x, dst, scale_of)?);
    }
    let x = args.blocked(0)?;
    Ok(scale_blocked::<E>(args, x, results.blocked(x.dims(), x.layout(), x.dtype())?, scale_of)?)
}

/// The parameters of a batch norm, read and checked.
struct BatchNormValues<'a> {
    mean: Cow<'a, [f32]>,
    /// 1 / sqrt(variance + eps).
    inverse_deviation: Vec<f64>,
    weight: Cow<'a, [f32]>,
    bias: Cow<'a, [f32]>,
}

impl BatchNorm<'_> {
    /// `s` and `t` of `y = x * s + t`, in f64: `s = weight / sqrt(var + eps)`, `t = bias - mean * s`.
    pub(crate) fn scale_and_shift(&self, op: &'static str, channels: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        // Packing folds the norm without a call of the op, which has the same rule in its schema.
        let given = [
            ("mean", Some(self.mean)),
            ("var", Some(self.var)),
            ("weight", self.weight),
            ("bias", self.bias),
        ];
        for (name, t) in given.into_iter().filter_map(|(name, t)| Some((name, t?))) {
            check_f32(op, name, TensorRef::Strided(t), "it is f32")?;
        }
        let values = self.values(op, channels)?;
        let weights = values.weight.iter().map(|&w| f64::from(w));
        let scale = try_collect(op, values.inverse_deviation.iter().zip(weights).map(|(i, w)| i * w))?;
        let shift = |c: usize| f64::from(values.bias[c]) - f64::from(values.mean[c]) * scale[c];
        let shift = try_collect(op, (0..channels).map(shift))?;
        Ok((scale, shift))
    }

    fn values(&self, op: &'static str, channels: usize) -> Result<BatchNormValues<'_>> {
        let mean = param_values_or(op, "mean", Some(self.mean), channels, 0.0)?;
        let var = param_values_or(op, "var", Some(self.var), channels, 1.0)?;
        let weight = param_values_or(op, "weight", self.weight, channels, 1.0)?;
        let bias = param_values_or(op, "bias", self.bias, channels, 0.0)?;
        let mut inverse_deviation = try_with_capacity(op, channels)?;
        for (c, &v) in var.iter().enumerate() {
            let variance = f64::from(v) + self.eps;
            if variance.is_nan() && !v.is_nan() || variance <= 0.0 {
                fail!(
                    InvalidArgument,
                    op,
                    "eps",
                    format!("{} with a variance of {v} in channel {c}", self.eps),
                    "variance + eps is positive",
                    "pass a larger eps, or a variance that is not negative"
                );
            }
            inverse_deviation.push(1.0 / variance.sqrt());
        }
        Ok(BatchNormValues { mean, inverse_deviation, weight, bias })
    }
}

/// Writes the scaled channels of `x` to `dst`, a tensor of the same sizes and any strides.
pub(super) fn scale_strided<E: Float>(
    args: &Args<'_>,
    x: &StridedTensor,
    dst: &mut StridedTensor,
    scale_of: impl Fn(usize) -> ChannelScale,
) -> Result<()> {
    let op = args.op();
    if x.strides() != dst.strides() || Lanes::of_strided(x).is_none() {
        return crate::kernels::timed(
            args,
            "blocktensor:elementwise",
            || x.format_name(),
            || scale_elementwise::<E>(op, dst, x, scale_of),
        );
    }
    let view = strided_lanes(op, x)?;
    let scales = ChannelScales::new(op, &view, scale_of)?;
    crate::kernels::timed(
        args,
        "blocktensor:scale",
        || x.format_name(),
        || scales.apply::<E>(&view, x.data(), dst.result_data()),
    );
    Ok(())
}

/// Writes the scaled channels of `x` to `dst`, a tensor of the same layout.
pub(super) fn scale_blocked<E: Float>(
    args: &Args<'_>,
    x: &BlockedTensor,
    dst: &mut BlockedTensor,
    scale_of: impl Fn(usize) -> ChannelScale,
) -> Result<()> {
    let view = Lanes::of_blocked(args.op(), x)?;
    let scales = ChannelScales::new(args.op(), &view, scale_of)?;
    let dst = bytemuck::cast_slice_mut(dst.storage_bytes_mut());
    crate::kernels::timed(
        args,
        "blocktensor:scale",
        || x.layout().to_string(),
        || scales.apply::<E>(&view, x.data(), dst),
    );
    Ok(())
}

/// As [`ChannelScales::apply`], for any strides and without a copy. The operations are the same, and so are the bits.
fn scale_elementwise<E: Float>(
    op: &'static str,
    dst: &mut StridedTensor,
    x: &StridedTensor,
    scale_of: impl Fn(usize) -> ChannelScale,
) -> Result<()> {
    let channels = x.dims()[1];
    let mut dims = vec![1; x.rank() - 1];
    dims[0] = channels;
    let vector = |field: fn(ChannelScale) -> f32| {
        StridedTensor::from_slice(&try_collect(op, (0..channels).map(|c| field(scale_of(c))))?, &dims)
    };
    let center = elementwise::map2(op, x, &vector(|s| s.center)?, |x: E, c: f32| x.widen() - c)?;
    let (scale, shift) = (vector(|s| s.scale)?, vector(|s| s.shift)?);
    elementwise::map3_into(op, dst, &center, &scale, &shift, |x: f32, s: f32, t: f32| E::rounded(x * s + t))
}

fn params_of<'a>(args: &Args<'a>) -> Result<BatchNorm<'a>> {
    Ok(BatchNorm {
        mean: args.strided(1)?,
        var: args.strided(2)?,
        weight: args.optional_strided(3)?,
        bias: args.optional_strided(4)?,
        eps: BatchNormOptions::read(args)?.eps,
    })
}

/// The gradients of `x`, weight and bias, and those of the given statistics.
fn gradient(call: &Backward<'_>) -> Result<Gradients> {
    let op = call.args.op();
    let params = params_of(&call.args)?;
    let v = params.values(op, channels_of(op, call.args.tensor(0)?)?)?;
    let given = |c: usize| Statistics {
        mean: v.mean[c].into(),
        inverse: v.inverse_deviation[c],
        count: f64::INFINITY,
    };
    let statistics = |_: &Dense<'_>| try_collect(op, (0..v.mean.len()).map(given));
    let scale = |c: usize| f64::from(v.weight[c]) * v.inverse_deviation[c];
    of_sets(call, statistics, |_, c| c, &v.weight)?.by_name(call, |of, name| {
        let each = |f: &dyn Fn(usize) -> f64| Some((0..v.mean.len()).map(f).collect());
        match name {
            "mean" => each(&|c| -scale(c) * of.bias[c]),
            "var" => each(&|c| -0.5 * scale(c) * v.inverse_deviation[c] * of.weight[c]),
            _ => None,
        }
    })
}
