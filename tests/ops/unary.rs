//! Unary ops in every layout against their definitions in f64; every layout gives the same bits.

use blocktensor::dispatch::{self, Value};
use blocktensor::{DType, Error, Layout, MemoryFormat, StridedTensor, Tensor, ops};

use crate::support::activation::{elements, forms, same_bits_for_all_threads, sizes};
use crate::support::{Rng, assert_close, unary_ops};

/// One op, with values for its parameters.
#[derive(Clone, Copy)]
struct Case {
    op: &'static str,
    /// Names and values; parameters that are not here have their defaults.
    params: &'static [(&'static str, f64)],
    /// The definition in f64. Its second argument is the values of `params`.
    definition: fn(f64, &[f64]) -> f64,
    /// The largest error, relative to the result and a quarter of the largest result.
    tolerance: f64,
    /// The range of the inputs. Some rounds take a smaller part of it, nearer to 0.
    inputs: [f64; 2],
}

/// What most cases have: no parameters, an inexact result, inputs of both signs.
const CASE: Case =
    Case { op: "", params: &[], definition: |_, _| f64::NAN, tolerance: 4e-6, inputs: [-20.0, 20.0] };
/// As [`CASE`], for ops whose result is exact.
const EXACT: Case = Case { tolerance: 0.0, ..CASE };
/// As [`CASE`], for ops that are defined for positive numbers.
const POSITIVE: Case = Case { inputs: [1e-3, 20.0], ..CASE };

/// At least one case for every unary op.
#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { op: "relu", definition: |x, _| x.max(0.0), ..EXACT },
    Case { op: "relu6", definition: |x, _| relu6(x), ..EXACT },
    Case { op: "leaky_relu", params: &[("slope", 0.125)], definition: |x, p| if x > 0.0 { x } else { p[0] * x }, ..EXACT },
    Case { op: "elu", params: &[("alpha", 0.75)], definition: |x, p| elu(x, p[0]), ..CASE },
    Case { op: "selu", definition: |x, _| 1.050_700_987_355_480_5 * elu(x, 1.673_263_242_354_377_2), ..CASE },
    Case { op: "celu", params: &[("alpha", 1.5)], definition: |x, p| x.max(0.0) + (p[0] * (x / p[0]).exp_m1()).min(0.0), ..CASE },
    Case { op: "gelu", definition: |x, _| x / 2.0 * (1.0 + erf(x / 2f64.sqrt())), ..CASE },
    Case { op: "gelu_tanh", definition: |x, _| gelu_tanh(x), tolerance: 4e-5, ..CASE },
    Case { op: "silu", definition: |x, _| x * sigmoid(x), ..CASE },
    Case { op: "mish", definition: |x, _| x * softplus(x).tanh(), ..CASE },
    Case { op: "sigmoid", definition: |x, _| sigmoid(x), ..CASE },
    Case { op: "hardsigmoid", definition: |x, _| relu6(x + 3.0) / 6.0, ..CASE },
    Case { op: "hardswish", definition: |x, _| x * relu6(x + 3.0) / 6.0, ..CASE },
    Case { op: "tanh", definition: |x, _| x.tanh(), ..CASE },
    Case { op: "hardtanh", params: &[("min", -0.75), ("max", 2.5)], definition: |x, p| x.max(p[0]).min(p[1]), ..EXACT },
    Case { op: "softplus", params: &[("beta", 1.5), ("threshold", 4.0)],
           definition: |x, p| if p[0] * x > p[1] { x } else { softplus(p[0] * x) / p[0] }, ..CASE },
    Case { op: "softsign", definition: |x, _| x / (1.0 + x.abs()), ..CASE },
    Case { op: "exp", definition: |x, _| x.exp(), ..CASE },
    Case { op: "log", definition: |x, _| x.ln(), ..POSITIVE },
    Case { op: "logit", definition: |x, _| (x / (1.0 - x)).ln(), inputs: [0.0, 1.0], ..CASE },
    Case { op: "logit", params: &[("eps", 0.125)],
           definition: |x, p| { let x = x.max(p[0]).min(1.0 - p[0]); (x / (1.0 - x)).ln() }, inputs: [-1.0, 2.0], ..CASE },
    Case { op: "sqrt", definition: |x, _| x.sqrt(), ..POSITIVE },
    Case { op: "rsqrt", definition: |x, _| 1.0 / x.sqrt(), ..POSITIVE },
    Case { op: "abs", definition: |x, _| x.abs(), ..EXACT },
    Case { op: "neg", definition: |x, _| -x, ..EXACT },
    Case { op: "square", definition: |x, _| x * x, ..CASE },
    Case { op: "reciprocal", definition: |x, _| 1.0 / x, ..POSITIVE },
    Case { op: "clamp", params: &[("min", 0.5), ("max", 1.25)], definition: |x, p| x.max(p[0]).min(p[1]), ..EXACT },
    Case { op: "round", definition: |x, _| x.round_ties_even(), ..EXACT },
    Case { op: "floor", definition: |x, _| x.floor(), ..EXACT },
    Case { op: "ceil", definition: |x, _| x.ceil(), ..EXACT },
    Case { op: "sign", definition: |x, _| if x == 0.0 { 0.0 } else { x.signum() }, ..EXACT },
    Case { op: "sin", definition: |x, _| x.sin(), ..CASE },
    Case { op: "cos", definition: |x, _| x.cos(), ..CASE },
    Case { op: "erf", definition: |x, _| erf(x), ..CASE },
];

fn relu6(x: f64) -> f64 {
    x.clamp(0.0, 6.0)
}

fn elu(x: f64, alpha: f64) -> f64 {
    if x > 0.0 { x } else { alpha * x.exp_m1() }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    if x > 30.0 { x } else { x.exp().ln_1p() }
}

fn gelu_tanh(x: f64) -> f64 {
    x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x)).tanh())
}

/// `erf` by its series, and by the continued fraction of its complement.
pub(crate) fn erf(x: f64) -> f64 {
    let t = x.abs();
    if t < 3.0 {
        let (mut term, mut sum) = (t, t);
        for n in 1..200 {
            term *= -t * t / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return (2.0 / std::f64::consts::PI.sqrt() * sum).copysign(x);
    }
    let fraction = (1..60).rev().fold(t, |f, k| t + f64::from(k) / 2.0 / f);
    (1.0 - (-t * t).exp() / fraction / std::f64::consts::PI.sqrt()).copysign(x)
}

fn call(op: &str, x: &Tensor, params: &[(&'static str, f64)]) -> Tensor {
    let mut args = vec![("x", Value::from(x.clone()))];
    args.extend(params.iter().map(|&(n, v)| (n, Value::Float(v))));
    dispatch::call(op, &args).unwrap().remove(0)
}

fn bits(t: &Tensor) -> Vec<u32> {
    elements(t).into_iter().map(f32::to_bits).collect()
}

#[test]
fn every_unary_op_has_a_case() {
    for op in unary_ops() {
        assert!(CASES.iter().any(|case| case.op == op.schema().name), "add a case for {}", op.schema());
    }
}

#[test]
fn unary_ops_agree_with_f64_definitions_in_every_layout() {
    let mut rng = Rng(31);
    for round in 0..12 {
        for &Case { op, params, definition, tolerance, inputs: [from, to] } in CASES {
            let dims = sizes(&mut rng);
            let scale = rng.pick(&[0.05, 0.3, 1.0]);
            let data: Vec<f32> = rng
                .reals(dims.iter().product())
                .into_iter()
                .map(|v| (scale * (from + (to - from) * f64::from(v + 1.0) / 2.0)) as f32)
                .collect();
            let values: Vec<f64> = params.iter().map(|&(_, value)| value).collect();
            let want: Vec<f64> = data.iter().map(|&x| definition(f64::from(x), &values)).collect();
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
    for &Case { op, params, .. } in CASES {
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

#[test]
fn logit_limits_x_as_pytorch() {
    const INF: f32 = f32::INFINITY;
    let data = [f32::NAN, -INF, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, INF];
    let x = StridedTensor::from_slice(&data, &[1, 10, 1]).unwrap();
    let log3 = 3f32.ln();
    let unlimited = [f32::NAN, f32::NAN, -INF, -INF, -log3, 0.0, INF, f32::NAN, f32::NAN];
    let cases: [(Option<f64>, [f32; 9]); 6] = [
        (None, unlimited),
        (Some(-0.25), unlimited),
        (Some(f64::NAN), unlimited),
        (Some(0.0), [-INF, -INF, -INF, -INF, -log3, 0.0, INF, INF, INF]),
        (Some(0.25), [-log3, -log3, -log3, -log3, -log3, 0.0, log3, log3, log3]),
        (Some(0.75), [log3, log3, log3, log3, log3, log3, -log3, -log3, -log3]),
    ];
    for (form, x) in forms(&x) {
        for (eps, want) in cases {
            let y = elements(&ops::logit(&x, eps).unwrap());
            // NaN stays NaN, whatever the range.
            let want: Vec<f64> = [&[f32::NAN], &want[..]].concat().into_iter().map(f64::from).collect();
            assert_close(&format!("{form}, eps {eps:?}"), &y, &want, |i| 4e-7 * want[i].abs());
            let named: Vec<(&str, f64)> = eps.map(|eps| ("eps", eps)).into_iter().collect();
            let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            assert!(elements(&call("logit", &x, &named)).iter().zip(&y).all(same), "{form}, eps {eps:?}");
        }
    }
    let blocked = x.to_blocked(&Layout::native_activation(3).unwrap()).unwrap();
    let mut to = blocked.full_like(7f32).unwrap();
    ops::logit_into(&blocked, Some(0.25), &mut to).unwrap();
    assert_eq!(elements(&to.into())[1..], elements(&ops::logit(&x, Some(0.25)).unwrap().into())[1..]);
    // `1 - eps` is 1 in f32.
    let one = StridedTensor::from_slice(&[1f32], &[1]).unwrap();
    assert_eq!(ops::logit(&one, Some(1e-9)).unwrap().to_vec::<f32>().unwrap(), [INF]);
}
