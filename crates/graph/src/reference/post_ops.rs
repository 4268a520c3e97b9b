//! What a convolution does to its result: [`PostOps`].

use blocktensor::ops::{Activation, PostOp, PostOps};

use super::{Call, Values, functions as f};
use crate::error::Result;

/// The post-ops of a call with their operands.
pub(super) struct Fused<'a> {
    ops: PostOps,
    residual: Option<&'a Values>,
    channel: Vec<&'a Values>,
}

impl<'a> Fused<'a> {
    pub(super) fn of(call: &Call<'a>) -> Result<Fused<'a>> {
        let ops: PostOps = call.word("post_ops")?.parse()?;
        let (residual, channel) = (call.optional("residual"), call.all("channel"));
        if ops.takes_residual() != residual.is_some() || ops.channel_operands() != channel.len() {
            return Err(call.lacks("residual"));
        }
        Ok(Fused { ops, residual, channel })
    }

    /// Applies them to the pixels of one channel of one image, which begin at element `first` of the result.
    pub(super) fn apply(&self, channel: usize, first: usize, pixels: &mut [f64]) {
        let mut numbers = self.channel.iter();
        for op in self.ops.iter() {
            let mut of_channel = || numbers.next().map_or(f64::NAN, |list| list.data[channel]);
            match *op {
                PostOp::Residual => {
                    if let Some(residual) = self.residual {
                        pixels.iter_mut().zip(&residual.data[first..]).for_each(|(v, r)| *v += r);
                    }
                }
                PostOp::MulChannel => {
                    let factor = of_channel();
                    pixels.iter_mut().for_each(|v| *v *= factor);
                }
                PostOp::AddChannel => {
                    let summand = of_channel();
                    pixels.iter_mut().for_each(|v| *v += summand);
                }
                PostOp::Prelu => {
                    let slope = of_channel();
                    pixels.iter_mut().for_each(|v| *v = f::leaky_relu(*v, slope));
                }
                PostOp::Activation(activation) => {
                    pixels.iter_mut().for_each(|v| *v = activated(activation, *v));
                }
                PostOp::QuantizedResidual { scale, zero_point, .. } => {
                    if let Some(residual) = self.residual {
                        let number = |r: &f64| f64::from(scale) * (r - f64::from(zero_point));
                        pixels.iter_mut().zip(&residual.data[first..]).for_each(|(v, r)| *v += number(r));
                    }
                }
                PostOp::Round { dtype, zero_point } => {
                    let number = |v: f64| f::quantize(v, dtype, zero_point) - f64::from(zero_point);
                    pixels.iter_mut().for_each(|v| *v = number(*v));
                }
                PostOp::Quantize { dtype, zero_point } => {
                    pixels.iter_mut().for_each(|v| *v = f::quantize(*v, dtype, zero_point));
                }
                // A post-op that this version does not know shows as NaN.
                _ => pixels.fill(f64::NAN),
            }
        }
    }
}

fn activated(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Relu => f::relu(x),
        Activation::LeakyRelu(slope) => f::leaky_relu(x, f64::from(slope)),
        Activation::Clip(low, high) => f::clamp(x, f64::from(low), f64::from(high)),
        Activation::Silu => f::silu(x),
        Activation::HardSwish => f::hardswish(x),
        Activation::HardSigmoid => f::hardsigmoid(x),
        Activation::Gelu => f::gelu(x),
        Activation::Sigmoid => f::sigmoid(x),
        Activation::Tanh => x.tanh(),
        _ => f64::NAN,
    }
}
