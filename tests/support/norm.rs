//! Norms by their definitions, in f64 over logical indices.

use super::activation::index;

/// `(x - mean) / sqrt(biased variance + eps)`. Elements with the same `group` share mean and variance.
pub fn normalise(dims: &[usize], x: &[f32], eps: f64, group: impl Fn(&[usize]) -> Vec<usize>) -> Vec<f64> {
    let groups: Vec<Vec<usize>> = (0..x.len()).map(|i| group(&index(dims, i))).collect();
    let mut members: std::collections::HashMap<&[usize], Vec<f64>> = Default::default();
    for (g, &v) in groups.iter().zip(x) {
        members.entry(g).or_default().push(f64::from(v));
    }
    let stats: std::collections::HashMap<&[usize], (f64, f64)> =
        members.into_iter().map(|(g, v)| (g, mean_and_variance(&v))).collect();
    let one = |(g, &v): (&Vec<usize>, &f32)| {
        let (mean, var) = stats[g.as_slice()];
        (f64::from(v) - mean) / (var + eps).sqrt()
    };
    groups.iter().zip(x).map(one).collect()
}

/// Mean and biased variance, in two passes.
pub fn mean_and_variance(v: &[f64]) -> (f64, f64) {
    let mean = v.iter().sum::<f64>() / v.len() as f64;
    (mean, v.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / v.len() as f64)
}

/// `x / (k + alpha / size * sum of squares)^beta`. The window takes zeros outside of the channels.
pub fn local_response(dims: &[usize], x: &[f32], size: usize, (alpha, beta, k): (f64, f64, f64)) -> Vec<f64> {
    let step: usize = dims[2..].iter().product();
    let one = |(i, &v): (usize, &f32)| {
        let c = index(dims, i)[1] as isize;
        let window = c - (size / 2) as isize..=c + ((size - 1) / 2) as isize;
        let sum: f64 = window
            .filter(|&o| o >= 0 && o < dims[1] as isize)
            .map(|o| f64::from(x[(i as isize + (o - c) * step as isize) as usize]).powi(2))
            .sum();
        f64::from(v) / (k + alpha / size as f64 * sum).powf(beta)
    };
    x.iter().enumerate().map(one).collect()
}
