//! Batch normalisation with given statistics.

use std::borrow::Cow;

use crate::elementwise;
use crate::error::{Result, fail};
use crate::kernels::lanes::Lanes;
use crate::kernels::same_shape::{param_arg, strided_lanes};
use crate::kernels::scale::{Scale, Scales};
use crate::op::schema::{data, float, optional_param, param};
use crate::op::{Arg, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::try_vec::{try_filled, try_with_capacity};

use crate::tensor::any::{Operand, TensorRef};
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
    /// Scale (gamma); 1 where left out.
    pub weight: Option<&'a StridedTensor>,
    /// Shift (beta); 0 where left out.
    pub bias: Option<&'a StridedTensor>,
    /// Added to the variance.
    pub eps: f64,
}

impl<'a> BatchNorm<'a> {
    /// No weight, no bias, PyTorch's eps of 1e-5.
    pub fn new(mean: &'a StridedTensor, var: &'a StridedTensor) -> Self {
        BatchNorm { mean, var, weight: None, bias: None, eps: 1e-5 }
    }

    /// With scale (gamma) and shift (beta).
    pub fn affine(self, weight: &'a StridedTensor, bias: &'a StridedTensor) -> Self {
        BatchNorm { weight: Some(weight), bias: Some(bias), ..self }
    }
}

impl BatchNorm<'_> {
    /// `s` and `t` of `y = x * s + t`, in f64: `s = weight / sqrt(var + eps)`, `t = bias - mean * s`.
    pub(crate) fn scale_and_shift(&self, op: &'static str, channels: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        let values = self.values(op, channels)?;
        let scale: Vec<f64> =
            values.inverse.iter().zip(&*values.weight).map(|(i, &w)| i * f64::from(w)).collect();
        let shift = |c: usize| f64::from(values.bias[c]) - f64::from(values.mean[c]) * scale[c];
        let shift = (0..channels).map(shift).collect();
        Ok((scale, shift))
    }

    fn values(&self, op: &'static str, channels: usize) -> Result<Values<'_>> {
        let mean = channel_values(op, "mean", Some(self.mean), channels, 0.0)?;
        let var = channel_values(op, "var", Some(self.var), channels, 1.0)?;
        let weight = channel_values(op, "weight", self.weight, channels, 1.0)?;
        let bias = channel_values(op, "bias", self.bias, channels, 0.0)?;
        let mut inverse = try_with_capacity(op, channels)?;
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
            inverse.push(1.0 / variance.sqrt());
        }
        Ok(Values { mean, inverse, weight, bias })
    }
}

/// A batch norm's parameters, read and checked.
struct Values<'a> {
    mean: Cow<'a, [f32]>,
    /// 1 / sqrt(variance + eps).
    inverse: Vec<f64>,
    weight: Cow<'a, [f32]>,
    bias: Cow<'a, [f32]>,
}

/// The values of a parameter with one f32 for each channel, or `default` where it is left out.
pub(crate) fn channel_values<'a>(
    op: &'static str,
    name: &'static str,
    t: Option<&'a StridedTensor>,
    channels: usize,
    default: f32,
) -> Result<Cow<'a, [f32]>> {
    given_values(op, name, t, channels)?.map_or_else(|| default_values(op, channels, default), Ok)
}

/// What a parameter that is left out has for values.
pub(crate) fn default_values<'a>(op: &'static str, count: usize, default: f32) -> Result<Cow<'a, [f32]>> {
    Ok(try_filled(op, count, default)?.into())
}

/// The values of a parameter with one f32 for each channel, or whatever it is that there are so many of; `None` where
/// it is left out.
pub(crate) fn given_values<'a>(
    op: &'static str,
    name: &'static str,
    t: Option<&'a StridedTensor>,
    channels: usize,
) -> Result<Option<Cow<'a, [f32]>>> {
    let Some(t) = t else { return Ok(None) };
    let got = || TensorRef::Strided(t).describe();
    if t.dims() != [channels] {
        let rule = format!("it has one value for each of the {channels} channels");
        fail!(ShapeMismatch, op, name, got(), rule, format!("pass {channels} values"));
    }
    crate::tensor::any::check_f32(op, name, TensorRef::Strided(t), "parameters are f32")?;
    t.values().map(Some)
}

/// The channels of an activation, of rank 2 to 5 where it is strided.
pub(crate) fn channels_of(op: &'static str, x: TensorRef<'_>) -> Result<usize> {
    let dims = x.dims();
    if !(2..=5).contains(&dims.len()) {
        fail!(
            RankMismatch,
            op,
            "x",
            x.describe(),
            "it has images and channels, and at most three spatial dimensions: rank 2 to 5",
            "reshape it"
        );
    }
    if dims[1] == 0 {
        fail!(
            InvalidArgument,
            op,
            "x",
            x.describe(),
            "axis 1, the channels, is not empty",
            "pass at least one channel"
        );
    }
    Ok(dims[1])
}

const ARGS: &[crate::op::ArgSpec] = &[
    data("x"),
    param("mean"),
    param("var"),
    optional_param("weight"),
    optional_param("bias"),
    float("eps", 1e-5),
];
static SCHEMA: Schema = Schema::new("batch_norm", ARGS);
static OP: Op = Op::new(&SCHEMA).on_both(Kernel::rust(&kernel));

pub(crate) const OPS: &[&Op] = &[&OP];

/// Batch normalisation with given statistics: `(x - mean) / sqrt(var + eps) * weight + bias`, each channel with its
/// own. `torch.nn.functional.batch_norm(training=False)`.
///
/// # Shapes
/// `x` [N, C, ...] of rank 2 to 5 (blocked: 3 to 5); each parameter \[C\]. The result has the sizes of `x`.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided: any strides, which the result takes over as element-wise ops do. Blocked: any layout that blocks the
/// channels alone; the result keeps it.
///
/// # Errors
/// `ShapeMismatch` for a parameter that has not C values; `InvalidArgument` for variance + eps that is not
/// positive, and for C = 0; `RankMismatch`, `UnsupportedDType`, `LayoutMismatch`.
#[track_caller]
pub fn batch_norm<T: Operand>(x: &T, params: &BatchNorm<'_>) -> Result<T> {
    OP.call_one(&[
        Arg::Tensor(x.tensor_ref()),
        Arg::Tensor(TensorRef::Strided(params.mean)),
        Arg::Tensor(TensorRef::Strided(params.var)),
        param_arg(params.weight),
        param_arg(params.bias),
        Arg::Float(params.eps),
    ])
}

fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let op = args.op();
    let channels = channels_of(op, args.tensor(0)?)?;
    let params = BatchNorm {
        mean: args.strided(1)?,
        var: args.strided(2)?,
        weight: args.optional_strided(3)?,
        bias: args.optional_strided(4)?,
        eps: args.float(5)?,
    };
    let v = params.values(op, channels)?;
    normalise(args, results, |c| Scale::new(f64::from(v.mean[c]), v.inverse[c], v.weight[c], v.bias[c]))
}

/// Operand 0 with these scales, in the format that batch norm's results have.
pub(crate) fn normalise(
    args: &Args<'_>,
    results: &mut Results<'_>,
    of: impl Fn(usize) -> Scale,
) -> KernelResult {
    if let TensorRef::Strided(x) = args.tensor(0)? {
        let dst = results.by_rule(FormatRule::ElementWise, &[x], x.dims(), x.dtype())?;
        return Ok(normalise_strided(args, x, dst, of)?);
    }
    let x = args.blocked(0)?;
    Ok(normalise_blocked(args, x, results.blocked(x.dims(), x.layout(), x.dtype())?, of)?)
}

/// As [`normalise`], of a strided tensor into a result that lies as it does or in another way.
pub(crate) fn normalise_strided(
    args: &Args<'_>,
    x: &StridedTensor,
    dst: &mut StridedTensor,
    of: impl Fn(usize) -> Scale,
) -> Result<()> {
    let op = args.op();
    if x.strides() != dst.strides() || Lanes::of_strided(x).is_none() {
        return crate::kernels::timed(
            args,
            "blocktensor:elementwise",
            || x.format_name(),
            || map(op, dst, x, of),
        );
    }
    let view = strided_lanes(op, x)?;
    let scales = Scales::new(&view, of);
    crate::kernels::timed(
        args,
        "blocktensor:scale",
        || x.format_name(),
        || {
            scales.apply(&view, x.data(), dst.result_data());
        },
    );
    Ok(())
}

/// The same of a blocked one.
pub(crate) fn normalise_blocked(
    args: &Args<'_>,
    x: &BlockedTensor,
    dst: &mut BlockedTensor,
    of: impl Fn(usize) -> Scale,
) -> Result<()> {
    let view = Lanes::of_blocked(args.op(), x)?;
    let scales = Scales::new(&view, of);
    let dst = bytemuck::cast_slice_mut(dst.storage_bytes_mut());
    crate::kernels::timed(
        args,
        "blocktensor:scale",
        || x.layout().to_string(),
        || {
            scales.apply(&view, x.data(), dst);
        },
    );
    Ok(())
}

/// As [`Scales::apply`], for any strides and without a copy: with the same operations, so the same bits.
fn map(
    op: &'static str,
    dst: &mut StridedTensor,
    x: &StridedTensor,
    of: impl Fn(usize) -> Scale,
) -> Result<()> {
    let channels = x.dims()[1];
    let mut dims = vec![1; x.rank() - 1];
    dims[0] = channels;
    let vector = |part: fn(Scale) -> f32| {
        StridedTensor::from_slice(&(0..channels).map(|c| part(of(c))).collect::<Vec<_>>(), &dims)
    };
    let center = elementwise::map2(op, x, &vector(|s| s.center)?, |x: f32, c: f32| x - c)?;
    let (scale, shift) = (vector(|s| s.scale)?, vector(|s| s.shift)?);
    elementwise::map3_into(op, dst, &center, &scale, &shift, |x: f32, s: f32, t: f32| x * s + t)
}
