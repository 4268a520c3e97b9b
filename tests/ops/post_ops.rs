//! Lists of post-ops applied in place.

use blocktensor::ops::{self, PostOp, PostOps};
use blocktensor::{Error, Layout, MemoryFormat, Operand, StridedTensor, Tensor, ledger};

use super::conv_activations::{ACTIVATIONS, of};
use crate::support::activation::elements;
use crate::support::{Rng, assert_close};

/// A residual, a number for each channel, a slope for each channel, an activation.
fn list(activation: ops::Activation) -> PostOps {
    let list = PostOps::new().then(PostOp::Residual).then(PostOp::MulChannel).then(PostOp::Prelu);
    list.then(PostOp::Activation(activation))
}

#[test]
fn lists_applied_in_place_agree_with_f64_definitions_in_every_layout() {
    let mut rng = Rng(91);
    for (round, activation) in ACTIVATIONS.into_iter().cycle().take(36).enumerate() {
        let rank = 3 + round % 3;
        let channels = rng.pick(&[1, 3, 15, 16, 17, 31, 33]);
        let mut dims = vec![rng.pick(&[0, 1, 2]), channels];
        dims.extend((2..rank).map(|_| 1 + rng.below(5)));
        let numel: usize = dims.iter().product();
        let (x, residual) = (rng.reals(numel), rng.reals(numel));
        let (scale, slope) = (rng.reals(channels), rng.reals(channels));
        let pixels: usize = dims[2..].iter().product();
        let want: Vec<f64> = (0..numel)
            .map(|i| {
                let c = i / pixels % channels;
                let v = (f64::from(x[i]) + f64::from(residual[i])) * f64::from(scale[c]);
                of(activation, if v > 0.0 { v } else { v * f64::from(slope[c]) })
            })
            .collect();
        let tensor = |values: &[f32], dims: &[usize]| StridedTensor::from_slice(values, dims).unwrap();
        let (x, residual) = (tensor(&x, &dims), tensor(&residual, &dims));
        let (scale, slope) = (tensor(&scale, &[channels]), tensor(&slope, &[channels]));
        let channel = [&scale, &slope];
        let last = MemoryFormat::channels_last_of(rank).unwrap();
        let layouts = [16, 8].map(|b| Layout::blocked_activation(rank, b).unwrap());
        let formats = [MemoryFormat::Contiguous, last];
        let strided =
            formats.map(|f| [&x, &residual].map(|t| Tensor::from(t.to_memory_format(f).unwrap().clone())));
        let blocked = layouts.map(|l| [&x, &residual].map(|t| Tensor::from(t.to_blocked(&l).unwrap())));
        for [x, residual] in strided.into_iter().chain(blocked) {
            // Its own storage: the first format may share that of `x`.
            let mut y = match &x {
                Tensor::Strided(x) => {
                    let mut own = x.empty_like(MemoryFormat::Preserve).unwrap();
                    x.copy_into(&mut own).unwrap();
                    Tensor::from(own)
                }
                x => x.clone(),
            };
            drop(x);
            let what = format!("{activation} {dims:?} {}", y.tensor_ref().layout_name());
            let run = || list(activation).apply(y.tensor_mut(), Some(residual.tensor_ref()), &channel);
            let (result, ledger) = ledger::record(run);
            result.unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!((ledger.runs.len(), ledger.reorders.len()), (1, 0), "{what}");
            if let Tensor::Blocked(y) = &y {
                y.check_tail().unwrap();
            }
            assert_close(&what, &elements(&y), &want, |_| 3e-6);
        }
    }
}

#[test]
fn lists_without_channels_take_any_rank_and_leave_what_others_see() {
    let mut x = StridedTensor::from_slice(&[-1f32, 2.0, 3.0, -4.0, 5.0, -6.0], &[6]).unwrap();
    let relu = PostOps::new().then(PostOp::Activation(ops::Activation::Relu));
    let copy = x.clone();
    let error = relu.apply(x.tensor_mut(), None, &[]).unwrap_err();
    assert!(matches!(error, Error::Aliasing(_)) && error.to_string().contains("one by one"), "{error}");
    drop(copy);
    relu.apply(x.tensor_mut(), None, &[]).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap(), [0.0, 2.0, 3.0, 0.0, 5.0, 0.0]);
}

#[test]
fn operands_that_do_not_fit_are_errors_and_change_nothing() {
    let values = [-1f32, 2.0, 3.0, -4.0];
    let mut x = StridedTensor::from_slice(&values, &[1, 2, 2]).unwrap();
    let other = StridedTensor::from_slice(&[1f32; 4], &[1, 2, 2]).unwrap();
    let long = StridedTensor::from_slice(&[1f32; 3], &[3]).unwrap();
    let turned = StridedTensor::from_slice(&[1f32; 4], &[1, 2, 2]).unwrap().transpose(1, 2).unwrap();
    let (sum, scaled) = (PostOps::new().then(PostOp::Residual), PostOps::new().then(PostOp::MulChannel));
    let ints = StridedTensor::from_slice(&[1i32; 4], &[1, 2, 2]).unwrap();
    let text = |r: Result<(), Error>| r.unwrap_err().to_string();
    assert!(text(sum.apply(x.tensor_mut(), None, &[])).contains("`residual`: got nothing"));
    assert!(text(scaled.apply(x.tensor_mut(), None, &[])).contains("takes 1"));
    assert!(text(scaled.apply(x.tensor_mut(), None, &[&long])).contains("each of the 2 channels"));
    assert!(
        text(sum.apply(x.tensor_mut(), Some(turned.tensor_ref()), &[]))
            .contains("in the layout of the target")
    );
    assert!(
        text(sum.apply(x.tensor_mut(), Some(long.tensor_ref()), &[])).contains("the sizes of the result")
    );
    assert!(text(sum.apply(x.tensor_mut(), Some(ints.tensor_ref()), &[])).contains("dtype of the result"));
    let blocked = other.unsqueeze(3).unwrap().to_blocked(&Layout::NCHW16C).unwrap();
    let mut square = other.unsqueeze(3).unwrap();
    assert!(text(sum.apply(square.tensor_mut(), Some(blocked.tensor_ref()), &[])).contains("in the layout"));
    assert_eq!(x.to_vec::<f32>().unwrap(), values);
}
