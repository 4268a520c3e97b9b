//! Batch norms in every layout: with given statistics, and with those of the batch.

use blocktensor::ops::{self, BatchNorm, BatchNormTrain};
use blocktensor::{Result, StridedTensor};

use crate::check::{Outcome, Refusal, Want, in_layouts};
use crate::data::{LARGEST, Random};
use crate::notation::Problem;

/// Values per channel.
struct Numbers {
    mean: Vec<f32>,
    var: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
}

fn vector(values: &[f32]) -> Result<StridedTensor> {
    StridedTensor::from_slice(values, &[values.len()])
}

/// Runs a problem with given statistics (`inference`) and with the batch's (`training`) in every layout.
pub fn run(p: &Problem, seed: u64) -> Result<Vec<(&'static str, [Outcome; 3])>> {
    let dims = p.src_dims();
    let mut random = Random::new(seed, &p.to_string());
    let x = random.integers(dims.iter().product(), LARGEST);
    let eps = f64::from(p.eps);
    // Variances are powers of 4 minus eps, so that dividing by the root is exact, or nearly so if eps is not exact.
    let power = |v: &f32| (4f64.powi(v.abs() as i32 % 3) - eps) as f32;
    let numbers = Numbers {
        mean: random.integers(p.c, LARGEST),
        var: random.integers(p.c, LARGEST).iter().map(power).collect(),
        weight: random.integers(p.c, LARGEST),
        bias: random.integers(p.c, LARGEST),
    };
    let plane: usize = dims[2..].iter().product();
    Ok(vec![
        ("inference", inference(&dims, &x, plane, &numbers, eps)?),
        ("training", training(&dims, &x, plane, &numbers, eps)?),
    ])
}

fn inference(dims: &[usize], x: &[f32], plane: usize, n: &Numbers, eps: f64) -> Result<[Outcome; 3]> {
    let c = dims[1];
    let scale = |c: usize| f64::from(n.weight[c]) / (f64::from(n.var[c]) + eps).sqrt();
    let scales: Vec<f64> = (0..c).map(scale).collect();
    let channel = |i: usize| i / plane % c;
    let part = |i: usize| (f64::from(x[i]) - f64::from(n.mean[channel(i)])) * scales[channel(i)];
    let values: Vec<f64> = (0..x.len()).map(|i| part(i) + f64::from(n.bias[channel(i)])).collect();
    let exact = n.var.iter().all(|&v| (f64::from(v) + eps).log2() % 2.0 == 0.0);
    // The scale, the shift, the product and the sum are rounded once each, if at all.
    let limit = |i: usize| {
        let (scale, c) = (scales[channel(i)], channel(i));
        let size = (f64::from(x[i]) * scale).abs() + (f64::from(n.mean[c]) * scale).abs();
        if exact { 0.0 } else { (size + f64::from(n.bias[c]).abs()) * 2f64.powi(-22) }
    };
    let (mean, var, weight, bias) = (vector(&n.mean)?, vector(&n.var)?, vector(&n.weight)?, vector(&n.bias)?);
    let params = BatchNorm { eps, ..BatchNorm::new(&mean, &var).affine(&weight, &bias) };
    let want = Want { dims, values: &values, limit: &limit, norm: None, refusal: None };
    in_layouts(&StridedTensor::from_slice(x, dims)?, |_, x| {
        want.of("inference", || ops::batch_norm(x, &params))
    })
}

fn training(dims: &[usize], x: &[f32], plane: usize, n: &Numbers, eps: f64) -> Result<[Outcome; 3]> {
    let c = dims[1];
    let count = dims[0] * plane;
    let of_channel = |c_: usize| {
        let planes = (0..dims[0]).map(move |image| (image * c + c_) * plane);
        planes.flat_map(|from| &x[from..][..plane]).map(|&v| f64::from(v))
    };
    // If a batch has no elements, its mean is not used.
    let means: Vec<f64> = (0..c).map(|c| of_channel(c).sum::<f64>() / count.max(1) as f64).collect();
    let squares = |c: usize| of_channel(c).map(|v| (v - means[c]) * (v - means[c])).sum::<f64>();
    let squares: Vec<f64> = (0..c).map(squares).collect();
    let inverse = |c: usize| f64::from(n.weight[c]) / (squares[c] / count as f64 + eps).sqrt();
    let inverse: Vec<f64> = (0..c).map(inverse).collect();
    let channel = |i: usize| i / plane % c;
    let part = |i: usize| (f64::from(x[i]) - means[channel(i)]) * inverse[channel(i)];
    let values: Vec<f64> = (0..x.len()).map(|i| part(i) + f64::from(n.bias[channel(i)])).collect();
    // The result's rounding, plus the cancellation by the bias.
    let largest = values.iter().fold(0f64, |m, v| m.max(v.abs()));
    let limit = |i: usize| 6e-7 * (part(i).abs() + f64::from(n.bias[channel(i)]).abs()) + 1e-6 * largest;
    let (mean, var, weight, bias) = (vector(&n.mean)?, vector(&n.var)?, vector(&n.weight)?, vector(&n.bias)?);
    let params =
        BatchNormTrain { eps, momentum: 0.5, ..BatchNormTrain::new(&mean, &var).affine(&weight, &bias) };
    let moved = |old: &[f32], new: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let one = |(c, &old): (usize, &f32)| (f64::from(old) + new(c)) / 2.0;
        old.iter().enumerate().map(one).collect()
    };
    let (new_mean, new_var) = match count {
        0 => (n.mean.iter().map(|&v| v.into()).collect(), n.var.iter().map(|&v| v.into()).collect()),
        _ => (moved(&n.mean, &|c| means[c]), moved(&n.var, &|c| squares[c] / (count as f64 - 1.0))),
    };
    let rule = "one value for each channel has no variance";
    let refusal = || (count == 1).then_some(Refusal { argument: "x", rule });
    let want = Want { dims, values: &values, limit: &limit, norm: None, refusal: refusal() };
    let of_vector = |what: &str, values: &[f64], got: &StridedTensor| {
        let limit = |i: usize| 2e-7 * values[i].abs() + 1e-6;
        let want = Want { dims: &[c], values, limit: &limit, norm: None, refusal: None };
        want.of(what, || Ok(got.clone().into()))
    };
    in_layouts(&StridedTensor::from_slice(x, dims)?, |_, x| {
        let mut statistics = Outcome::Passed;
        let outcome = want.of("training", || {
            let trained = ops::batch_norm_train(x, &params)?;
            statistics = of_vector("running mean", &new_mean, &trained.running_mean).and(of_vector(
                "running variance",
                &new_var,
                &trained.running_var,
            ));
            Ok(trained.y)
        });
        outcome.and(statistics)
    })
}
