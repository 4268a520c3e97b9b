//! Random tensors, and how far results are apart.

use blocktensor::StridedTensor;

/// Numbers between -1 and 1, the same for the same seed.
pub fn random(dims: &[usize], seed: u64) -> StridedTensor {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let values: Vec<f32> = (0..dims.iter().product())
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 40) as f32) / (1u64 << 23) as f32 - 1.0
        })
        .collect();
    StridedTensor::from_slice(&values, dims).unwrap()
}

/// The L2 norm of the difference, relative to that of `want`.
pub fn relative_error(got: &StridedTensor, want: &StridedTensor) -> f64 {
    assert_eq!(got.dims(), want.dims());
    let (got, want) = (got.to_vec::<f32>().unwrap(), want.to_vec::<f32>().unwrap());
    let square = |x: f32| f64::from(x) * f64::from(x);
    let error: f64 = got.iter().zip(&want).map(|(g, w)| square(g - w)).sum();
    (error / want.iter().map(|w| square(*w)).sum::<f64>().max(1e-30)).sqrt()
}
