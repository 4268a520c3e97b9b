//! Softmax and log-softmax under every dispatch key and along every axis, against f64 loops from the definition.

use blocktensor::ops::{log_softmax, softmax};
use blocktensor::{Error, Layout, StridedTensor, Tensor};

use crate::support::activation::{elements, forms, index, same_bits_for_all_threads, sizes};
use crate::support::{Rng, assert_close};

/// Softmax and log-softmax, in f64.
fn defined(dims: &[usize], x: &[f32], axis: usize) -> (Vec<f64>, Vec<f64>) {
    let mut lines: std::collections::HashMap<Vec<usize>, Vec<usize>> = Default::default();
    for i in 0..x.len() {
        let mut at = index(dims, i);
        at[axis] = 0;
        lines.entry(at).or_default().push(i);
    }
    let (mut soft, mut log) = (vec![0f64; x.len()], vec![0f64; x.len()]);
    for line in lines.values() {
        let max = line.iter().fold(f64::NEG_INFINITY, |m, &i| m.max(f64::from(x[i])));
        let sum: f64 = line.iter().map(|&i| (f64::from(x[i]) - max).exp()).sum();
        for &i in line {
            log[i] = f64::from(x[i]) - max - sum.ln();
            soft[i] = (f64::from(x[i]) - max).exp() / sum;
        }
    }
    (soft, log)
}

#[test]
fn softmax_agrees_with_f64_loops_along_every_axis_in_every_layout() {
    let mut rng = Rng(21);
    for case in 0..400 {
        let dims = sizes(&mut rng);
        let scale = rng.pick(&[1.0, 10.0, 80.0]);
        let mut x: Vec<f32> = rng.reals(dims.iter().product()).into_iter().map(|v| v * scale).collect();
        if rng.below(3) == 0 {
            for _ in 0..x.len() / 7 {
                let at = rng.below(x.len());
                x[at] = rng.pick(&[f32::NEG_INFINITY, f32::NEG_INFINITY, 1e4]);
            }
        }
        if rng.below(6) == 0 && !x.is_empty() {
            let at = rng.below(x.len());
            x[at] = rng.pick(&[f32::NAN, f32::INFINITY]);
        }
        let axis = rng.below(dims.len());
        let (soft, log) = defined(&dims, &x, axis);
        let largest = log.iter().filter(|v| v.is_finite()).fold(0f64, |m, v| m.max(v.abs()));
        for (form, x) in forms(&StridedTensor::from_slice(&x, &dims).unwrap()) {
            let what = format!("case {case} {dims:?} axis {axis} {form}");
            let y = elements(&softmax(&x, axis).unwrap());
            assert_close(&what, &y, &soft, |i| 1.2e-6 * soft[i].abs() + 1e-9);
            let y = elements(&log_softmax(&x, axis).unwrap());
            assert_close(&what, &y, &log, |i| 6e-7 * log[i].abs() + 2e-7 * largest.max(1.0));
        }
    }
}

#[test]
fn softmax_leaves_channel_padding_out() {
    // Two channels: softmax of 0 and ln 3 is 1/4 and 3/4.
    let x = StridedTensor::from_slice(&[0f32, 3f32.ln()], &[1, 2, 1, 1]).unwrap();
    let y = elements(&softmax(&Tensor::from(x.to_blocked(&Layout::NCHW16C).unwrap()), 1).unwrap());
    assert!((y[0] - 0.25).abs() < 1e-7 && (y[1] - 0.75).abs() < 1e-7, "{y:?}");
}

#[test]
fn softmax_of_other_ranks_and_of_lines_without_a_finite_element() {
    let inf = f32::INFINITY;
    let lines = StridedTensor::from_slice(&[-inf, -inf, 0.0, inf, -inf, 0.0], &[3, 2]).unwrap();
    let y = softmax(&lines, 1).unwrap().to_vec::<f32>().unwrap();
    assert!(y[..4].iter().enumerate().all(|(i, v)| v.is_nan() || i == 2), "{y:?}");
    assert_eq!(y[4..], [0.0, 1.0]);
    let one = StridedTensor::from_slice(&[5f32; 3], &[3]).unwrap();
    assert_eq!(log_softmax(&one, 0).unwrap().to_vec::<f32>().unwrap(), [-(3f32.ln()); 3]);
    let deep = StridedTensor::from_slice(&[1f32; 64], &[2; 6]).unwrap();
    assert_eq!(softmax(&deep, 3).unwrap().to_vec::<f32>().unwrap(), [0.5; 64]);
}

#[test]
fn softmax_has_the_same_bits_for_any_number_of_threads_and_in_blocked_and_channels_last() {
    let dims = [2, 34, 30, 31];
    let x = StridedTensor::from_slice(&Rng(22).reals(dims.iter().product()), &dims).unwrap();
    let forms = forms(&x);
    for axis in 0..4 {
        let of = |x: &Tensor| {
            let mut y = elements(&softmax(x, axis).unwrap());
            y.extend(elements(&log_softmax(x, axis).unwrap()));
            y
        };
        for (form, x) in &forms {
            same_bits_for_all_threads(&format!("axis {axis} {form}"), || of(x));
        }
        let by = |name: &str| of(&forms.iter().find(|(form, _)| *form == name).unwrap().1);
        assert!(by("tagged") == by("blocked by 16"), "axis {axis}");
        assert!(by("tagged") == by("blocked by 8"), "axis {axis}");
    }
}

#[test]
fn softmax_refuses_an_axis_beyond_the_rank() {
    let x = StridedTensor::from_slice(&[0f32; 6], &[1, 2, 3]).unwrap();
    let e = softmax(&x.to_blocked(&Layout::native_activation(3).unwrap()).unwrap(), 3).unwrap_err();
    assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
    let text = e.to_string();
    assert!(["softmax", "`axis`", "got axis 3", "rank 3"].iter().all(|w| text.contains(w)), "{text}");
}
