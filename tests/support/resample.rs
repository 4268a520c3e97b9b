//! Resampling by its definition in 3-D, with coordinates and sums in f64. Problems of fewer dimensions have sizes of 1.

/// For each result index along one axis, source indices and weights.
pub type Axis = Vec<Vec<(usize, f64)>>;

/// Nearest neighbour, with coordinates in f32 as in PyTorch.
pub fn nearest(size: usize, output: usize, scale: Option<f64>) -> Axis {
    let step = scale.map_or(size as f32 / output as f32, |s| (1.0 / s) as f32);
    (0..output).map(|i| vec![(((i as f32 * step).floor() as usize).min(size - 1), 1.0)]).collect()
}

/// The same for images. There PyTorch uses integer arithmetic where the size stays the same or doubles.
pub fn nearest_of_images(size: usize, output: usize, scale: Option<f64>) -> Axis {
    match output {
        _ if output == size => (0..output).map(|i| vec![(i, 1.0)]).collect(),
        _ if output == 2 * size => (0..output).map(|i| vec![(i / 2, 1.0)]).collect(),
        _ => nearest(size, output, scale),
    }
}

/// Linear interpolation.
pub fn linear(size: usize, output: usize, scale: Option<f64>, align_corners: bool) -> Axis {
    if size == output {
        return (0..output).map(|i| vec![(i, 1.0)]).collect();
    }
    let at = |i: usize| -> f64 {
        if align_corners {
            return if output > 1 { i as f64 * (size - 1) as f64 / (output - 1) as f64 } else { 0.0 };
        }
        let step = scale.map_or(size as f64 / output as f64, |s| 1.0 / s);
        ((i as f64 + 0.5) * step - 0.5).max(0.0)
    };
    (0..output)
        .map(|i| {
            let low = (at(i).floor() as usize).min(size - 1);
            let weight = (at(i) - low as f64).clamp(0.0, 1.0);
            vec![(low, 1.0 - weight), ((low + 1).min(size - 1), weight)]
        })
        .collect()
}

/// The weighted sums, and for each the sum of the absolute terms, which rounding errors scale with.
pub fn solve(x: &[f32], planes: usize, input: [usize; 3], axes: &[Axis; 3]) -> (Vec<f64>, Vec<f64>) {
    let (mut y, mut magnitude) = (Vec::new(), Vec::new());
    for plane in 0..planes {
        for d in &axes[0] {
            for h in &axes[1] {
                for w in &axes[2] {
                    let (mut sum, mut abs) = (0.0, 0.0);
                    for &(i, wi) in d {
                        for &(j, wj) in h {
                            for &(k, wk) in w {
                                let at = ((plane * input[0] + i) * input[1] + j) * input[2] + k;
                                sum += wi * wj * wk * f64::from(x[at]);
                                abs += (wi * wj * wk * f64::from(x[at])).abs();
                            }
                        }
                    }
                    y.push(sum);
                    magnitude.push(abs);
                }
            }
        }
    }
    (y, magnitude)
}
