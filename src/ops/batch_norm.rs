//! Batch normalisation with given statistics.

use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::tensor::any::TensorRef;
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

impl BatchNorm<'_> {
    /// `s` and `t` of `y = x * s + t`, in f64: `s = weight / sqrt(var + eps)`, `t = bias - mean * s`.
    pub(crate) fn scale_and_shift(&self, op: &'static str, channels: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        let read = |name: &'static str, t: Option<&StridedTensor>, default: f32| -> Result<Vec<f32>> {
            let Some(t) = t else { return Ok(vec![default; channels]) };
            let got = || TensorRef::Strided(t).describe();
            if t.dims() != [channels] {
                let rule = format!("it has one value for each of the {channels} channels");
                fail!(ShapeMismatch, op, name, got(), rule, format!("pass {channels} values"));
            }
            if t.dtype() != DType::F32 {
                fail!(UnsupportedDType, op, name, got(), "parameters are f32", "convert it to f32 first");
            }
            t.to_vec::<f32>()
        };
        let (mean, var) = (read("mean", Some(self.mean), 0.0)?, read("var", Some(self.var), 1.0)?);
        let (weight, bias) = (read("weight", self.weight, 1.0)?, read("bias", self.bias, 0.0)?);
        let mut scale = Vec::with_capacity(channels);
        let mut shift = Vec::with_capacity(channels);
        for c in 0..channels {
            let variance = f64::from(var[c]) + self.eps;
            if variance.is_nan() && !var[c].is_nan() || variance <= 0.0 {
                fail!(
                    InvalidArgument,
                    op,
                    "eps",
                    format!("{} with a variance of {} in channel {c}", self.eps, var[c]),
                    "variance + eps is positive",
                    "pass a larger eps, or a variance that is not negative"
                );
            }
            let s = f64::from(weight[c]) / variance.sqrt();
            scale.push(s);
            shift.push(f64::from(bias[c]) - f64::from(mean[c]) * s);
        }
        Ok((scale, shift))
    }
}
