//! The gradients of norms.
//!
//! Of elements that are normalised together (a channel, or a group of channels of an image), with mean `m`, `r = 1 / deviation` and
//! `g = diff * weight`: `r * (g - mean(g) - (x - m) * r^2 * mean(g * (x - m)))`.

use crate::error::Result;
use crate::kernels::gradient::norm::{Affine, ChannelSums, sums};
use crate::kernels::gradient::planes::{Dense, with_dense};
use crate::kernels::moments::{Moments, moments};
use crate::kernels::scale::{ChannelScale, ChannelScales};
use crate::memory::try_filled;
use crate::op::{Backward, Gradients};
use crate::tensor::any::Tensor;
use crate::tensor::strided::StridedTensor;

/// The statistics of elements that are normalised together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statistics {
    pub mean: f64,
    /// 1 / deviation.
    pub inverse: f64,
    /// How many elements; infinite where mean and deviation do not depend on them.
    pub count: f64,
}

impl Statistics {
    pub fn of(m: &Moments, eps: f64) -> Statistics {
        Statistics { mean: m.mean, inverse: m.inverse_deviation(eps), count: m.count }
    }
}

/// The gradients of a norm.
pub(super) struct NormGradients {
    /// By `x`, if it is asked for.
    pub x: Option<Tensor>,
    /// By weight and bias, one for each channel.
    pub weight: Vec<f64>,
    pub bias: Vec<f64>,
}

impl NormGradients {
    /// Those of the arguments `x`, `weight` and `bias`, and what `of` gives for others.
    pub fn by_name(
        mut self,
        call: &Backward<'_>,
        of: impl Fn(&NormGradients, &'static str) -> Option<Vec<f64>>,
    ) -> Result<Gradients> {
        let x = self.x.take();
        call.by_name(|name| {
            let values = match name {
                "x" => return Ok(x.clone()),
                "weight" => Some(self.weight.clone()),
                "bias" => Some(self.bias.clone()),
                name => of(&self, name),
            };
            let Some(values) = values else { return Ok(None) };
            let values: Vec<f32> = values.iter().map(|v| *v as f32).collect();
            Ok(Some(StridedTensor::from_slice(&values, &[values.len()])?.into()))
        })
    }
}

/// The moments of each channel of each image, without padding.
pub(super) fn channel_moments(op: &'static str, dense: &Dense<'_>) -> Result<Vec<Vec<Moments>>> {
    let view = &dense.x_view;
    let all = moments(op, view, dense.x, view.pixels())?;
    Ok(all.chunks_exact(view.padded_channels()).map(|image| image[..view.c].to_vec()).collect())
}

/// The gradients of a norm with these weights. Channel `c` of image `n` has the statistics of number `set_of(n, c)`.
pub(super) fn of_sets(
    call: &Backward<'_>,
    statistics: impl FnOnce(&Dense<'_>) -> Result<Vec<Statistics>>,
    set_of: impl Fn(usize, usize) -> usize,
    weight: &[f32],
) -> Result<NormGradients> {
    let op = call.args.op();
    let zeros = || try_filled(op, weight.len(), 0f64);
    let mut made = NormGradients { x: None, weight: zeros()?, bias: zeros()? };
    let x = with_dense(call, |dense, dst| {
        let view = dense.x_view.with_points_as_lanes();
        if view.len() == 0 {
            return Ok(());
        }
        let dense = &Dense { x_view: view, ..*dense };
        let statistics = statistics(dense)?;
        let padded = view.padded_channels();
        // Image, channel, their place among padded channels, and the number of their statistics.
        let channels = || {
            (0..view.n)
                .flat_map(|n| (0..view.c).map(move |c| (n, c)))
                .map(|(n, c)| (c, n * padded + c, set_of(n, c)))
        };
        let mut affine = Affine::new(op, &view)?;
        for (_, at, set) in channels() {
            affine.mean[at] = statistics[set].mean as f32;
        }
        let sums = sums(op, dense, &affine.mean)?;
        // What f32 rounded off the means.
        let rest = |at: usize, set: usize| f64::from(affine.mean[at]) - statistics[set].mean;
        let mut of_sets = try_filled(op, statistics.len(), ChannelSums::default())?;
        for (c, at, set) in channels() {
            let ChannelSums { diff, product } = sums[at];
            let (product, w) = (product + rest(at, set) * diff, f64::from(weight[c]));
            made.bias[c] += diff;
            made.weight[c] += product * statistics[set].inverse;
            of_sets[set].diff += w * diff;
            of_sets[set].product += w * product;
        }
        if !call.wants(0) {
            return Ok(());
        }
        if statistics.iter().all(|of| of.count == f64::INFINITY) {
            // Given statistics: it does not depend on x, where zero times an infinity would be NaN.
            let of = |n: usize, c: usize| {
                let scale = statistics[set_of(n, c)].inverse * f64::from(weight[c]);
                ChannelScale { center: 0.0, scale: scale as f32, shift: 0.0 }
            };
            ChannelScales::per_image(op, &view, of)?.apply(&view, dense.diff, dst);
            return Ok(());
        }
        for (c, at, set) in channels() {
            let (Statistics { inverse, count, .. }, sums) = (statistics[set], of_sets[set]);
            let by_x = -inverse.powi(3) * sums.product / count;
            let shift = by_x * rest(at, set) - inverse * sums.diff / count;
            affine.by_diff[at] = (inverse * f64::from(weight[c])) as f32;
            (affine.by_x[at], affine.shift[at]) = (by_x as f32, shift as f32);
        }
        affine.apply(dense, dst);
        Ok(())
    })?;
    made.x = call.wants(0).then_some(x);
    Ok(made)
}
