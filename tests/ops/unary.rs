//! Unary ops in every layout against their definitions in f64; every layout gives the same bits.

use blocktensor::dispatch::{self, Value};
use blocktensor::{DType, Error, Layout, MemoryFormat, StridedTensor, Tensor, ops};

use crate::support::activation::{elements, forms, same_bits_for_all_threads, sizes};
use crate::support::elementwise::unary;
use crate::support::{Rng, assert_close};

/// Every op: names and values of its parameters, the tolerance, and whether its domain is the positive numbers.
#[rustfmt::skip]
const OPS: &[(&str, &[(&str, f64)], f64, bool)] = &[
    ("relu", &[], 0.0, false), ("relu6", &[], 0.0, false), ("leaky_relu", &[("slope", 0.125)], 0.0, false),
    ("elu", &[("alpha", 0.75)], 4e-6, false), ("selu", &[], 4e-6, false), ("celu", &[("alpha", 1.5)], 4e-6, false),
    ("gelu", &[], 4e-6, false), ("gelu_tanh", &[], 4e-5, false), ("silu", &[], 4e-6, false),
    ("mish", &[], 4e-6, false), ("sigmoid", &[], 4e-6, false), ("hardsigmoid", &[], 4e-6, false),
    ("hardswish", &[], 4e-6, false), ("tanh", &[], 4e-6, false),
    ("hardtanh", &[("min", -0.75), ("max", 2.5)], 0.0, false),
    ("softplus", &[("beta", 1.5), ("threshold", 4.0)], 4e-6, false), ("softsign", &[], 4e-6, false),
    ("exp", &[], 4e-6, false), ("log", &[], 4e-6, true), ("sqrt", &[], 4e-6, true), ("rsqrt", &[], 4e-6, true),
    ("abs", &[], 0.0, false), ("neg", &[], 0.0, false), ("square", &[], 4e-6, false),
    ("reciprocal", &[], 4e-6, true), ("clamp", &[("min", 0.5), ("max", 1.25)], 0.0, false),
    ("round", &[], 0.0, false), ("floor", &[], 0.0, false), ("ceil", &[], 0.0, false), ("sign", &[], 0.0, false),
    ("sin", &[], 4e-6, false), ("cos", &[], 4e-6, false), ("erf", &[], 4e-6, false),
];

fn call(op: &str, x: &Tensor, params: &[(&'static str, f64)]) -> Tensor {
    let mut args = vec![("x", Value::from(x.clone()))];
    args.extend(params.iter().map(|&(n, v)| (n, Value::Float(v))));
    dispatch::call(op, &args).unwrap().remove(0)
}

fn bits(t: &Tensor) -> Vec<u32> {
    elements(t).into_iter().map(f32::to_bits).collect()
}

#[test]
fn unary_ops_agree_with_f64_definitions_in_every_layout() {
    let mut rng = Rng(31);
    for round in 0..12 {
        for &(op, params, tolerance, positive) in OPS {
            let dims = sizes(&mut rng);
            let scale = rng.pick(&[1.0, 6.0, 20.0]);
            let data: Vec<f32> = rng
                .reals(dims.iter().product())
                .into_iter()
                .map(|v| if positive { v.abs() * scale + 1e-3 } else { v * scale })
                .collect();
            let p = [0, 1].map(|i| params.get(i).map_or(0.0, |p| p.1));
            let want: Vec<f64> = data.iter().map(|&x| unary(op, f64::from(x), p)).collect();
            let largest = want.iter().fold(0f64, |m, v| m.max(v.abs()));
            let x = StridedTensor::from_slice(&data, &dims).unwrap();
            let first = call(op, &x.clone().into(), params);
            for (form, x) in forms(&x) {
                let what = format!("round {round} {op} {dims:?} {form}");
                let y = call(op, &x, params);
                assert_close(&what, &elements(&y), &want, |i| tolerance * (want[i].abs() + 0.25 * largest));
                assert!(bits(&y) == bits(&first), "{what}: other bits than contiguous");
            }
        }
    }
}

#[test]
fn unary_ops_of_special_values_have_the_same_bits_in_every_layout() {
    let special =
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1e-40, -1e-40, f32::MAX, f32::MIN, 0.5];
    let data: Vec<f32> = (0..2 * 17 * 5 * 3).map(|i| special[i % special.len()]).collect();
    let x = StridedTensor::from_slice(&data, &[2, 17, 5, 3]).unwrap();
    for &(op, params, ..) in OPS {
        let first = bits(&call(op, &x.clone().into(), params));
        for (form, x) in forms(&x) {
            let got = bits(&call(op, &x, params));
            // All NaN count as equal.
            let same =
                |(a, b): (&u32, &u32)| a == b || f32::from_bits(*a).is_nan() && f32::from_bits(*b).is_nan();
            assert!(first.iter().zip(&got).all(same), "{op} {form}");
        }
    }
}

#[test]
fn prelu_add_channel_and_mul_channel_agree_with_f64_loops_in_every_layout() {
    let mut rng = Rng(32);
    for case in 0..200 {
        let dims = sizes(&mut rng);
        let data = rng.integers(dims.iter().product());
        let one = rng.below(4) == 0;
        let values = rng.reals(if one { 1 } else { dims[1] });
        let pixels: usize = dims[2..].iter().product();
        let of = |i: usize| f64::from(values[if one { 0 } else { i / pixels.max(1) % dims[1] }]);
        let v = StridedTensor::from_slice(&values, &[values.len()]).unwrap();
        for (form, x) in forms(&StridedTensor::from_slice(&data, &dims).unwrap()) {
            let what = format!("case {case} {dims:?} {form}");
            let slope = |i: usize, x: f64| if x > 0.0 { x } else { x * of(i) };
            let check = |op: &str, y: Tensor, f: &dyn Fn(usize, f64) -> f64| {
                let want: Vec<f64> = data.iter().enumerate().map(|(i, &x)| f(i, f64::from(x))).collect();
                assert_close(&format!("{what} {op}"), &elements(&y), &want, |i| {
                    1e-7 * want[i].abs().max(1.0)
                });
            };
            check("prelu", ops::prelu(&x, &v).unwrap(), &slope);
            check("add_channel", ops::add_channel(&x, &v).unwrap(), &|i, x| x + of(i));
            check("mul_channel", ops::mul_channel(&x, &v).unwrap(), &|i, x| x * of(i));
        }
    }
    let x = StridedTensor::from_slice(&[1f32, -2.0, 3.0], &[3]).unwrap();
    let slope = StridedTensor::from_slice(&[0.5f32], &[]).unwrap();
    assert_eq!(ops::prelu(&x, &slope).unwrap().to_vec::<f32>().unwrap(), [1.0, -1.0, 3.0]);
}

#[test]
fn unary_ops_keep_the_strides_of_their_destination() {
    let data = Rng(33).reals(2 * 19 * 4 * 3);
    let x = StridedTensor::from_slice(&data, &[2, 19, 4, 3]).unwrap();
    let want = ops::gelu(&x).unwrap().to_vec::<f32>().unwrap();
    let mut dst = StridedTensor::full(&[2, 19, 4, 3], 7f32, MemoryFormat::ChannelsLast).unwrap();
    let strides = dst.strides().to_vec();
    ops::gelu_into(&x, &mut dst).unwrap();
    assert_eq!((dst.strides(), dst.to_vec::<f32>().unwrap()), (&strides[..], want.clone()));
    let blocked = x.to_blocked(&Layout::NCHW16C).unwrap();
    let mut to = blocked.full_like(7f32).unwrap();
    ops::sigmoid_into(&blocked, &mut to).unwrap();
    assert_eq!(elements(&to.into()), elements(&ops::sigmoid(&x).unwrap().into()));
    let mut to = blocked.full_like(7f32).unwrap();
    ops::leaky_relu_into(&blocked, 0.5, &mut to).unwrap();
    assert_eq!(elements(&to.into()), elements(&ops::leaky_relu(&x, 0.5).unwrap().into()));

    // Tensors that cannot be a destination.
    let other = x.to_blocked(&Layout::NCHW8C).unwrap();
    let mut eight = other.full_like(0f32).unwrap();
    let e = ops::relu_into(&blocked, &mut eight).unwrap_err();
    assert!(matches!(e, Error::LayoutMismatch(_)), "{e}");
    assert!(e.to_string().contains("nChw8c") && e.to_string().contains("nChw16c"), "{e}");
    let mut shared = blocked.clone();
    let e = ops::relu_into(&blocked, &mut shared).unwrap_err();
    assert!(matches!(e, Error::Aliasing(_)), "{e}");
    let mut shared = x.clone();
    let e = ops::relu_into(&x, &mut shared).unwrap_err();
    assert!(matches!(e, Error::Aliasing(_)), "{e}");
    let mut small = StridedTensor::full(&[2, 19, 4, 1], 0f32, MemoryFormat::Contiguous).unwrap();
    let e = ops::relu_into(&x, &mut small).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)), "{e}");
    let mut bytes = StridedTensor::zeros(&[2, 19, 4, 3], DType::U8, MemoryFormat::Contiguous).unwrap();
    let e = ops::relu_into(&x, &mut bytes).unwrap_err();
    assert!(matches!(e, Error::DTypeMismatch(_)), "{e}");
    let mut stretched =
        StridedTensor::full(&[1], 0f32, MemoryFormat::Contiguous).unwrap().expand(&[2, 19, 4, 3]).unwrap();
    let e = ops::relu_into(&x, &mut stretched).unwrap_err();
    assert!(matches!(e, Error::OverlappingOutput(_)), "{e}");
    let mut mixed = Tensor::from(blocked.full_like(0f32).unwrap());
    let e = ops::relu_into(&Tensor::from(x), &mut mixed).unwrap_err();
    assert!(matches!(e, Error::KeyMismatch(_)), "{e}");
}

#[test]
fn unary_ops_refuse_bad_operands_by_name() {
    let x = StridedTensor::from_slice(&[1f32, 2.0], &[2]).unwrap();
    for e in [
        ops::celu(&x, 0.0).unwrap_err(),
        ops::hardtanh(&x, 1.0, -1.0).unwrap_err(),
        dispatch::call("leaky_relu", &[("x", x.clone().into()), ("alpha", Value::Float(1.0))]).unwrap_err(),
    ] {
        assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
    }
    let e = ops::prelu(&x, &x.view(&[1, 2]).unwrap()).unwrap_err();
    assert!(matches!(e, Error::RankMismatch(_)), "{e}");
    let wide = StridedTensor::from_slice(&[1f32; 6], &[1, 3, 2]).unwrap();
    let e = ops::prelu(&wide, &x).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)) && e.to_string().contains("3 channels"), "{e}");
    let bytes = StridedTensor::zeros(&[2], DType::U8, MemoryFormat::Contiguous).unwrap();
    let e = ops::relu(&bytes).unwrap_err();
    assert!(matches!(e, Error::UnsupportedDType(_)), "{e}");
    let e =
        ops::mul_channel(&wide, &StridedTensor::zeros(&[3], DType::S32, MemoryFormat::Contiguous).unwrap());
    assert!(matches!(e, Err(Error::UnsupportedDType(_))), "{e:?}");
    let chwn4 =
        StridedTensor::from_slice(&[1f32; 8], &[1, 4, 2, 1]).unwrap().to_blocked(&Layout::CHWN4).unwrap();
    let e = ops::relu(&chwn4).unwrap_err();
    assert!(matches!(e, Error::LayoutMismatch(_)) && e.to_string().contains("CHWN4"), "{e}");
    let nan = ops::clamp(&x, f64::NAN, 1.0).unwrap().to_vec::<f32>().unwrap();
    assert!(nan.iter().all(|v| v.is_nan()));
}

#[test]
fn unary_ops_have_the_same_bits_for_any_number_of_threads() {
    let data = Rng(34).reals(3 * 67 * 40 * 41);
    let x = StridedTensor::from_slice(&data, &[3, 67, 40, 41]).unwrap();
    for (form, x) in forms(&x) {
        for op in ["sigmoid", "mish"] {
            same_bits_for_all_threads(&format!("{op} {form}"), || elements(&call(op, &x, &[])));
        }
    }
}

#[test]
fn clamp_and_hardtanh_with_a_nan_bound_give_nan_as_pytorch() {
    let x = StridedTensor::from_slice(&[1f32, -3.0], &[2]).unwrap();
    for y in
        [ops::hardtanh(&x, f64::NAN, 1.0), ops::hardtanh(&x, -1.0, f64::NAN), ops::clamp(&x, f64::NAN, 1.0)]
    {
        assert!(y.unwrap().to_vec::<f32>().unwrap().iter().all(|v| v.is_nan()));
    }
}
