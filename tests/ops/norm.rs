//! Norms under every dispatch key, against f64 loops from the definition.

use blocktensor::ops::{self, BatchNorm, BatchNormTrain, LocalResponseNorm, NormParams};
use blocktensor::{Error, Layout, MemoryFormat, StridedTensor, Tensor, ledger};

use crate::support::activation::{elements, forms, index, same_bits_for_all_threads, sizes};
use crate::support::norm::{local_response, mean_and_variance, normalise};
use crate::support::{Rng, assert_close};

fn vector(values: &[f32]) -> StridedTensor {
    StridedTensor::from_slice(values, &[values.len()]).unwrap()
}

/// Values around a mean that may be thousands of standard deviations from zero.
fn data(rng: &mut Rng, n: usize) -> Vec<f32> {
    let (offset, scale) = (rng.pick(&[0.0, 0.0, 3.0, -1000.0]), rng.pick(&[1.0, 1.0, 1e-3, 50.0]));
    rng.reals(n).into_iter().map(|v| offset + scale * v).collect()
}

/// A weight and a bias, each of which may be left out.
fn affine(rng: &mut Rng, n: usize) -> (Option<Vec<f32>>, Option<Vec<f32>>) {
    let weight = (rng.below(3) > 0).then(|| rng.reals(n));
    (weight, (rng.below(3) > 0).then(|| rng.reals(n)))
}

/// Normalised values times weight plus bias, whose index `param` gives; and the magnitude that rounding errors scale with.
fn with_affine(
    dims: &[usize],
    normal: &[f64],
    (weight, bias): (&Option<Vec<f32>>, &Option<Vec<f32>>),
    param: impl Fn(&[usize]) -> usize,
) -> (Vec<f64>, Vec<f64>) {
    let value = |v: &Option<Vec<f32>>, i: usize, default| v.as_ref().map_or(default, |v| f64::from(v[i]));
    let one = |(i, n): (usize, &f64)| {
        let p = param(&index(dims, i));
        let scaled = n * value(weight, p, 1.0);
        (scaled + value(bias, p, 0.0), scaled.abs() + value(bias, p, 0.0).abs())
    };
    normal.iter().enumerate().map(one).unzip()
}

#[track_caller]
fn check(what: &str, y: &Tensor, (want, size): &(Vec<f64>, Vec<f64>)) {
    let largest = want.iter().fold(0f64, |m, v| m.max(v.abs()));
    assert_close(what, &elements(y), want, |i| 6e-7 * size[i] + 1e-6 * largest);
}

#[test]
fn batch_norm_agrees_with_f64_loops_in_every_layout() {
    let mut rng = Rng(11);
    for case in 0..400 {
        let dims = sizes(&mut rng);
        let c = dims[1];
        let x = data(&mut rng, dims.iter().product());
        let (mean, var) =
            (data(&mut rng, c), rng.reals(c).iter().map(|v| v.abs() + 0.01).collect::<Vec<_>>());
        let (weight, bias) = affine(&mut rng, c);
        let eps = rng.pick(&[1e-5, 1e-3, 0.0]);
        let normal: Vec<f64> = (0..x.len())
            .map(|i| {
                let c = index(&dims, i)[1];
                (f64::from(x[i]) - f64::from(mean[c])) / (f64::from(var[c]) + eps).sqrt()
            })
            .collect();
        let want = with_affine(&dims, &normal, (&weight, &bias), |i| i[1]);
        let (mean, var) = (vector(&mean), vector(&var));
        let (weight, bias) = (weight.map(|w| vector(&w)), bias.map(|b| vector(&b)));
        let params = BatchNorm { mean: &mean, var: &var, weight: weight.as_ref(), bias: bias.as_ref(), eps };
        for (form, x) in forms(&StridedTensor::from_slice(&x, &dims).unwrap()) {
            let y = ops::batch_norm(&x, &params).unwrap();
            check(&format!("case {case} {dims:?} {form}"), &y, &want);
        }
    }
}

#[test]
fn batch_norm_train_agrees_with_f64_loops_in_every_layout() {
    let mut rng = Rng(12);
    for case in 0..400 {
        let dims = sizes(&mut rng);
        let c = dims[1];
        let count = dims.iter().product::<usize>() / c;
        let x = data(&mut rng, dims.iter().product());
        let (weight, bias) = affine(&mut rng, c);
        let (old_mean, old_var) = (rng.reals(c), rng.reals(c));
        let (momentum, eps) = (rng.pick(&[0.1, 0.5, 1.0]), 1e-5);
        let normal = normalise(&dims, &x, eps, |i| vec![i[1]]);
        let want = with_affine(&dims, &normal, (&weight, &bias), |i| i[1]);
        let (mut new_mean, mut new_var) = (vec![], vec![]);
        for ch in 0..c {
            let of: Vec<f64> =
                (0..x.len()).filter(|&i| index(&dims, i)[1] == ch).map(|i| f64::from(x[i])).collect();
            let (mean, var) = mean_and_variance(&of);
            let unbiased = var * count as f64 / (count as f64 - 1.0);
            let moved = |old: f32, new: f64| (1.0 - momentum) * f64::from(old) + momentum * new;
            new_mean.push(if count == 0 { f64::from(old_mean[ch]) } else { moved(old_mean[ch], mean) });
            new_var.push(if count == 0 { f64::from(old_var[ch]) } else { moved(old_var[ch], unbiased) });
        }
        let (running_mean, running_var) = (vector(&old_mean), vector(&old_var));
        let (weight, bias) = (weight.map(|w| vector(&w)), bias.map(|b| vector(&b)));
        let params = BatchNormTrain {
            running_mean: &running_mean,
            running_var: &running_var,
            weight: weight.as_ref(),
            bias: bias.as_ref(),
            momentum,
            eps,
        };
        for (form, x) in forms(&StridedTensor::from_slice(&x, &dims).unwrap()) {
            let what = format!("case {case} {dims:?} {form}");
            let result = ops::batch_norm_train(&x, &params);
            if count == 1 {
                assert!(matches!(result, Err(Error::InvalidArgument(_))), "{what}");
                continue;
            }
            let result = result.unwrap();
            check(&what, &result.y, &want);
            let limit = |w: &Vec<f64>, i: usize| 2e-7 * w[i].abs() + 1e-9;
            assert_close(&what, &result.running_mean.to_vec().unwrap(), &new_mean, |i| limit(&new_mean, i));
            assert_close(&what, &result.running_var.to_vec().unwrap(), &new_var, |i| limit(&new_var, i));
        }
    }
}

#[test]
fn group_and_instance_norm_agree_with_f64_loops_in_every_layout() {
    let mut rng = Rng(13);
    for case in 0..400 {
        let dims = sizes(&mut rng);
        let c = dims[1];
        let x = data(&mut rng, dims.iter().product());
        let (weight, bias) = affine(&mut rng, c);
        let divisors: Vec<usize> = (1..=c).filter(|g| c.is_multiple_of(*g)).collect();
        let groups = rng.pick(&divisors);
        let eps = 1e-5;
        let of_groups = normalise(&dims, &x, eps, |i| vec![i[0], i[1] / (c / groups)]);
        let want_groups = with_affine(&dims, &of_groups, (&weight, &bias), |i| i[1]);
        let alone = normalise(&dims, &x, eps, |i| vec![i[0], i[1]]);
        let want_alone = with_affine(&dims, &alone, (&weight, &bias), |i| i[1]);
        let (weight, bias) = (weight.map(|w| vector(&w)), bias.map(|b| vector(&b)));
        let params = NormParams { weight: weight.as_ref(), bias: bias.as_ref(), eps };
        for (form, x) in forms(&StridedTensor::from_slice(&x, &dims).unwrap()) {
            let what = format!("case {case} {dims:?} {groups} groups {form}");
            match ops::group_norm(&x, groups, &params) {
                Ok(y) => check(&what, &y, &want_groups),
                Err(e) => assert!(dims[2..].contains(&0), "{what}: {e}"),
            }
            match ops::instance_norm(&x, &params) {
                Ok(y) => check(&what, &y, &want_alone),
                Err(e) => assert_eq!(dims[2..].iter().product::<usize>(), 1, "{what}: {e}"),
            }
        }
    }
}

#[test]
fn layer_norm_agrees_with_f64_loops_in_every_layout() {
    let mut rng = Rng(14);
    for case in 0..500 {
        let dims = sizes(&mut rng);
        let axes = 1 + rng.below(dims.len());
        let shape = &dims[dims.len() - axes..];
        let elements: usize = shape.iter().product();
        let x = data(&mut rng, dims.iter().product());
        let (weight, bias) = affine(&mut rng, elements);
        let eps = 1e-5;
        let normal = normalise(&dims, &x, eps, |i| i[..dims.len() - axes].to_vec());
        let param = |i: &[usize]| i[dims.len() - axes..].iter().zip(shape).fold(0, |p, (i, d)| p * d + i);
        let want = with_affine(&dims, &normal, (&weight, &bias), param);
        let (weight, bias) = (weight.map(|w| vector(&w)), bias.map(|b| vector(&b)));
        let params = NormParams { weight: weight.as_ref(), bias: bias.as_ref(), eps };
        for (form, x) in forms(&StridedTensor::from_slice(&x, &dims).unwrap()) {
            let y = ops::layer_norm(&x, shape, &params).unwrap();
            check(&format!("case {case} {dims:?} {shape:?} {form}"), &y, &want);
        }
    }
}

#[test]
fn local_response_norm_agrees_with_f64_loops_in_every_layout() {
    let mut rng = Rng(15);
    for case in 0..300 {
        let dims = sizes(&mut rng);
        let x = data(&mut rng, dims.iter().product());
        let size = rng.pick(&[1, 2, 3, 4, 5, 7, 40]);
        let (alpha, beta, k) =
            (rng.pick(&[1e-4, 0.5, 2.0]), rng.pick(&[0.75, 0.5, 1.0, 0.6, 2.0]), rng.pick(&[1.0, 2.0]));
        let want = local_response(&dims, &x, size, (alpha, beta, k));
        let params = LocalResponseNorm { size, alpha, beta, k };
        for (form, x) in forms(&StridedTensor::from_slice(&x, &dims).unwrap()) {
            let y = elements(&ops::local_response_norm(&x, &params).unwrap());
            let what = format!("case {case} {dims:?} {params:?} {form}");
            assert_close(&what, &y, &want, |i| 3.0 * size.max(4) as f64 * 6e-8 * want[i].abs());
        }
    }
}

#[test]
fn norms_give_hand_computed_values() {
    // Two channels of two pixels: means 2 and 6, variances 1 and 4.
    let x = StridedTensor::from_slice(&[1f32, 3.0, 4.0, 8.0], &[1, 2, 1, 2]).unwrap();
    let blocked = x.to_blocked(&Layout::NCHW16C).unwrap();
    let none = NormParams { eps: 0.0, ..NormParams::default() };
    let plain = |t: blocktensor::BlockedTensor| elements(&t.into());
    assert_eq!(plain(ops::instance_norm(&blocked, &none).unwrap()), [-1.0, 1.0, -1.0, 1.0]);
    let (mean, var, weight, bias) =
        (vector(&[1.0, 2.0]), vector(&[4.0, 1.0]), vector(&[2.0, 3.0]), vector(&[0.5, 1.0]));
    let given = BatchNorm { mean: &mean, var: &var, weight: Some(&weight), bias: Some(&bias), eps: 0.0 };
    assert_eq!(plain(ops::batch_norm(&blocked, &given).unwrap()), [0.5, 2.5, 7.0, 19.0]);
    let train = BatchNormTrain {
        running_mean: &vector(&[0.0, 0.0]),
        running_var: &vector(&[1.0, 1.0]),
        weight: None,
        bias: None,
        momentum: 0.5,
        eps: 0.0,
    };
    let trained = ops::batch_norm_train(&blocked, &train).unwrap();
    assert_eq!(trained.running_mean.to_vec::<f32>().unwrap(), [1.0, 3.0]);
    // Unbiased variances are 2 and 8.
    assert_eq!(trained.running_var.to_vec::<f32>().unwrap(), [1.5, 4.5]);
    // One group of all four: mean 4, variance 6.5.
    let y = plain(ops::group_norm(&blocked, 1, &none).unwrap());
    assert!((y[0] - -3.0 / 6.5f32.sqrt()).abs() < 1e-6, "{y:?}");
    assert_eq!(y, plain(ops::layer_norm(&blocked, &[2, 1, 2], &none).unwrap()));
    // Squares 1, 9 | 16, 64; a window of two holds the channel itself and the one before.
    let lrn = LocalResponseNorm { size: 2, alpha: 2.0, beta: 0.5, k: 0.0 };
    let y = plain(ops::local_response_norm(&blocked, &lrn).unwrap());
    let want = [1.0, 1.0, 4.0 / 17f32.sqrt(), 8.0 / 73f32.sqrt()];
    assert!(y.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-6), "{y:?}");
}

/// Results of every norm on one tensor, by name.
fn all(x: &Tensor) -> Vec<(&'static str, Vec<f32>)> {
    let dims: Vec<usize> = x.clone_dims();
    let mut rng = Rng(5);
    let c = dims[1];
    let (a, b) =
        (vector(&rng.reals(c)), vector(&rng.reals(c).iter().map(|v| v.abs() + 0.1).collect::<Vec<_>>()));
    let params = NormParams { weight: Some(&a), bias: Some(&b), eps: 1e-5 };
    let shape = &dims[1..];
    let w = vector(&rng.reals(shape.iter().product()));
    let train = BatchNormTrain {
        running_mean: &a,
        running_var: &b,
        weight: Some(&a),
        bias: Some(&b),
        momentum: 0.1,
        eps: 1e-5,
    };
    let trained = ops::batch_norm_train(x, &train).unwrap();
    let layer = NormParams { weight: Some(&w), bias: Some(&w), eps: 1e-5 };
    let given = BatchNorm { mean: &a, var: &b, weight: Some(&a), bias: Some(&b), eps: 1e-5 };
    vec![
        ("batch_norm", elements(&ops::batch_norm(x, &given).unwrap())),
        ("batch_norm_train", elements(&trained.y)),
        ("running_mean", trained.running_mean.to_vec().unwrap()),
        ("running_var", trained.running_var.to_vec().unwrap()),
        ("group_norm", elements(&ops::group_norm(x, 2, &params).unwrap())),
        ("instance_norm", elements(&ops::instance_norm(x, &params).unwrap())),
        ("layer_norm", elements(&ops::layer_norm(x, shape, &layer).unwrap())),
        (
            "layer_norm over W",
            elements(&ops::layer_norm(x, &dims[dims.len() - 1..], &NormParams::default()).unwrap()),
        ),
        ("local_response_norm", elements(&ops::local_response_norm(x, &LocalResponseNorm::new(5)).unwrap())),
    ]
}

trait CloneDims {
    fn clone_dims(&self) -> Vec<usize>;
}

impl CloneDims for Tensor {
    fn clone_dims(&self) -> Vec<usize> {
        blocktensor::Operand::tensor_ref(self).dims().to_vec()
    }
}

#[test]
fn norms_have_the_same_bits_for_any_number_of_threads_and_in_blocked_and_channels_last() {
    for dims in [vec![2, 34, 33, 34], vec![3, 66, 50], vec![1, 18, 7, 9, 10]] {
        let mut rng = Rng(6);
        let x = rng.reals(dims.iter().product()).into_iter().map(|v| v + 2.0).collect::<Vec<_>>();
        let x = StridedTensor::from_slice(&x, &dims).unwrap();
        let forms = forms(&x);
        for (form, x) in &forms {
            same_bits_for_all_threads(&format!("{dims:?} {form}"), || {
                all(x).into_iter().flat_map(|(_, y)| y).collect()
            });
        }
        let of = |name: &str| all(&forms.iter().find(|(form, _)| *form == name).unwrap().1);
        let (tagged, blocked) = (of("tagged"), of("blocked by 16"));
        for (a, b) in tagged.iter().zip(&blocked) {
            assert!(a == b, "{dims:?} {}", a.0);
        }
    }
}

#[test]
fn norms_reorder_nothing_in_a_native_layout() {
    let x = StridedTensor::from_slice(&Rng(7).reals(2 * 18 * 5 * 6), &[2, 18, 5, 6]).unwrap();
    for (form, x) in forms(&x) {
        if !matches!(form, "reversed" | "with gaps" | "channels_last") {
            let (_, ledger) = ledger::record(|| all(&x));
            // `elements` makes one reorder for each blocked result; there is no other.
            let by_ops = ledger.reorders.iter().filter(|r| r.op != "to_strided").count();
            assert_eq!(by_ops, 0, "{form}: {ledger}");
        }
    }
}

#[test]
fn layer_norm_of_any_rank_and_of_images_of_one_pixel() {
    let rows = StridedTensor::from_slice(&[1f32, 3.0, 10.0, 30.0], &[2, 2]).unwrap();
    let none = NormParams { eps: 0.0, ..NormParams::default() };
    let y = ops::layer_norm(&rows, &[2], &none).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [-1.0, 1.0, -1.0, 1.0]);
    let line = StridedTensor::from_slice(&[1f32, 3.0], &[2]).unwrap();
    assert_eq!(ops::layer_norm(&line, &[2], &none).unwrap().to_vec::<f32>().unwrap(), [-1.0, 1.0]);
    // Rank 2 is a batch of vectors, without pixels.
    let train = BatchNormTrain {
        running_mean: &vector(&[0.0; 2]),
        running_var: &vector(&[1.0; 2]),
        weight: None,
        bias: None,
        momentum: 1.0,
        eps: 0.0,
    };
    let trained = ops::batch_norm_train(&rows, &train).unwrap();
    assert_eq!(trained.running_mean.to_vec::<f32>().unwrap(), [5.5, 16.5]);
    assert_eq!(trained.y.to_vec::<f32>().unwrap(), [-1.0, -1.0, 1.0, 1.0]);
}

/// Fails unless the text of the error contains all `words`. Returns the error.
#[track_caller]
fn says<T: std::fmt::Debug>(result: blocktensor::Result<T>, words: &[&str]) -> Error {
    let error = result.unwrap_err();
    let text = error.to_string();
    words.iter().for_each(|w| assert!(text.contains(w), "`{w}` is not in: {text}"));
    error
}

#[test]
fn norms_refuse_bad_arguments_by_name() {
    let x = StridedTensor::zeros(&[2, 6, 3, 3], blocktensor::DType::F32, MemoryFormat::Contiguous).unwrap();
    let xb = x.to_blocked(&Layout::NCHW16C).unwrap();
    let (six, five) = (vector(&[1.0; 6]), vector(&[1.0; 5]));
    let good = BatchNorm { mean: &six, var: &six, weight: None, bias: None, eps: 1e-5 };
    let e =
        says(ops::batch_norm(&xb, &BatchNorm { var: &five, ..good }), &["batch_norm", "`var`", "[5]", "6"]);
    assert!(matches!(e, Error::ShapeMismatch(_)));
    says(ops::batch_norm(&x, &BatchNorm { bias: Some(&five), ..good }), &["`bias`", "[5]", "6"]);
    for eps in [f64::NAN, -1.0, -2.0] {
        let e =
            says(ops::batch_norm(&xb, &BatchNorm { eps, ..good }), &["`eps`", &eps.to_string(), "positive"]);
        assert!(matches!(e, Error::InvalidArgument(_)));
        let params = NormParams { eps, ..NormParams::default() };
        says(ops::instance_norm(&xb, &params), &["`eps`", &eps.to_string()]);
        says(ops::group_norm(&x, 2, &params), &["`eps`"]);
        says(ops::layer_norm(&x, &[3], &params), &["`eps`"]);
    }
    let none = NormParams::default();
    for groups in [0, 4] {
        let e = says(ops::group_norm(&xb, groups, &none), &["`groups`", &groups.to_string(), "6 channels"]);
        assert!(matches!(e, Error::InvalidArgument(_)));
    }
    says(ops::group_norm(&x, 2, &NormParams { weight: Some(&five), ..none }), &["`weight`", "[5]", "6"]);
    let e = says(ops::layer_norm(&xb, &[6, 3], &none), &["`normalized_shape`", "[6, 3]", "[2, 6, 3, 3]"]);
    assert!(matches!(e, Error::ShapeMismatch(_)));
    says(ops::layer_norm(&xb, &[], &none), &["`normalized_shape`"]);
    says(
        ops::layer_norm(&xb, &[3, 3], &NormParams { weight: Some(&six), ..none }),
        &["`weight`", "[6]", "9"],
    );
    says(ops::local_response_norm(&xb, &LocalResponseNorm::new(0)), &["`size`", "at least one"]);
    let point =
        StridedTensor::zeros(&[1, 6, 1, 1], blocktensor::DType::F32, MemoryFormat::Contiguous).unwrap();
    says(ops::instance_norm(&point, &none), &["[1, 6, 1, 1]", "more than one pixel"]);
    let train = BatchNormTrain {
        running_mean: &six,
        running_var: &six,
        weight: None,
        bias: None,
        momentum: 0.1,
        eps: 1e-5,
    };
    says(ops::batch_norm_train(&point, &train), &["[1, 6, 1, 1]", "more than one value"]);
    says(
        ops::batch_norm_train(&xb, &BatchNormTrain { running_var: &five, ..train }),
        &["`running_var`", "[5]"],
    );
    let empty = StridedTensor::zeros(&[2, 0, 3], blocktensor::DType::F32, MemoryFormat::Contiguous).unwrap();
    let nothing = vector(&[]);
    let e = says(
        ops::batch_norm(&empty, &BatchNorm { mean: &nothing, var: &nothing, ..good }),
        &["axis 1", "[2, 0, 3]"],
    );
    assert!(matches!(e, Error::InvalidArgument(_)));
    says(ops::batch_norm(&vector(&[1.0]), &good), &["[1]", "rank 2 to 5"]);
    let bytes = StridedTensor::zeros(&[2, 6, 3], blocktensor::DType::U8, MemoryFormat::Contiguous).unwrap();
    let e = says(ops::batch_norm(&bytes, &good), &["u8", "f32"]);
    assert!(matches!(e, Error::UnsupportedDType(_)));
    let odd = x.to_blocked(&Layout::CHWN4).unwrap();
    assert!(matches!(says(ops::batch_norm(&odd, &good), &["CHWN4", "reorder_to"]), Error::LayoutMismatch(_)));
}
