//! Gradients of element-wise ops.

use blocktensor::{BoundOp, MemoryFormat, Operand, Operator, StridedTensor, Tensor};

use super::{KINDS, Kind, activation, bound, check, plain, refs};
use crate::support::Rng;

/// An op, its parameter, its definition in f64, and the range of its inputs.
type Case = (&'static str, &'static [(&'static str, f64)], fn(f64) -> f64, [f32; 2]);

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `erf` by its series, which converges fast below 4.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..80 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

const ALL: [f32; 2] = [-4.0, 4.0];
const POSITIVE: [f32; 2] = [0.3, 4.0];

const CASES: &[Case] = &[
    ("relu", &[], |x| x.max(0.0), ALL),
    ("relu6", &[], |x| x.clamp(0.0, 6.0), [-3.0, 9.0]),
    ("leaky_relu", &[("slope", 0.2)], |x| if x > 0.0 { x } else { 0.2 * x }, ALL),
    ("elu", &[("alpha", 0.7)], |x| if x > 0.0 { x } else { 0.7 * (x.exp() - 1.0) }, ALL),
    ("gelu", &[], |x| 0.5 * x * (1.0 + erf(x / 2f64.sqrt())), ALL),
    ("silu", &[], |x| x * sigmoid(x), ALL),
    ("sigmoid", &[], sigmoid, ALL),
    ("hardsigmoid", &[], |x| (x + 3.0).clamp(0.0, 6.0) / 6.0, ALL),
    ("hardswish", &[], |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0, ALL),
    ("tanh", &[], f64::tanh, ALL),
    ("hardtanh", &[("min", -0.5), ("max", 2.0)], |x| x.clamp(-0.5, 2.0), ALL),
    (
        "softplus",
        &[("beta", 2.0), ("threshold", 3.0)],
        |x| {
            if 2.0 * x > 3.0 { x } else { (1.0 + (2.0 * x).exp()).ln() / 2.0 }
        },
        ALL,
    ),
    ("softsign", &[], |x| x / (1.0 + x.abs()), ALL),
    ("exp", &[], f64::exp, [-2.0, 1.5]),
    ("log", &[], f64::ln, POSITIVE),
    ("sqrt", &[], f64::sqrt, POSITIVE),
    ("rsqrt", &[], |x| 1.0 / x.sqrt(), POSITIVE),
    ("abs", &[], f64::abs, ALL),
    ("neg", &[], |x| -x, ALL),
    ("square", &[], |x| x * x, ALL),
    ("reciprocal", &[], |x| 1.0 / x, POSITIVE),
    ("clamp", &[("min", -1.0), ("max", 1.0)], |x| x.clamp(-1.0, 1.0), ALL),
    ("add_scalar", &[("other", 1.5)], |x| x + 1.5, ALL),
    ("sub_scalar", &[("other", 1.5)], |x| x - 1.5, ALL),
    ("mul_scalar", &[("other", -2.5)], |x| x * -2.5, ALL),
    ("div_scalar", &[("other", 4.0)], |x| x / 4.0, ALL),
];

fn numbers(rng: &mut Rng, n: usize, [low, high]: [f32; 2]) -> Vec<f32> {
    rng.reals(n).iter().map(|v| low + (v + 1.0) * 0.5 * (high - low)).collect()
}

#[test]
fn functions_of_one_operand() {
    let mut rng = Rng(450);
    for &(name, params, f, range) in CASES {
        let params: Vec<_> = params.iter().map(|&(name, v)| (name, v.into())).collect();
        let op = bound(name, &["x"], &params);
        for c in [1, 3, 15, 16, 17, 31, 33] {
            for kind in KINDS {
                for n in [0, 1, 2] {
                    let dims = [n, c, 3, 5];
                    let values = numbers(&mut rng, n * c * 15, range);
                    let x = activation(&values, &dims, kind);
                    check(&op, &[x], 1, |x| x[0].iter().map(|&v| f(v)).collect(), &mut rng);
                }
            }
        }
    }
}

/// Every element-wise op of one operand with a gradient has a case.
#[test]
fn no_gradient_is_without_a_case() {
    for op in crate::support::unary_ops() {
        let has = op.gradients(blocktensor::dispatch::DispatchKey::STRIDED).next().is_some();
        let name = op.schema().name;
        assert!(!has || CASES.iter().any(|case| case.0 == name), "{name} has a gradient and no case");
    }
}

/// `f` of two operands that broadcast, in logical order.
fn broadcast(f: impl Fn(f64, f64) -> f64, a: (&[f64], &[usize]), b: (&[f64], &[usize])) -> Vec<f64> {
    let rank = a.1.len().max(b.1.len());
    let size = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |i| dims[i]);
    let common = |a: usize, b: usize| if a == 1 { b } else { a };
    let dims: Vec<usize> = (0..rank).map(|i| common(size(a.1, i), size(b.1, i))).collect();
    let element = |(values, of): (&[f64], &[usize]), mut i: usize| {
        let (mut at, mut step) = (0, 1);
        for axis in (0..rank).rev() {
            let index = i % dims[axis];
            i /= dims[axis];
            at += if size(of, axis) == 1 { 0 } else { index * step };
            step *= size(of, axis);
        }
        values[at]
    };
    (0..dims.iter().product()).map(|i| f(element(a, i), element(b, i))).collect()
}

#[test]
fn functions_of_two_operands_sum_over_broadcast_axes() {
    let mut rng = Rng(451);
    let ops: [(&str, fn(f64, f64) -> f64); 4] =
        [("add", |a, b| a + b), ("sub", |a, b| a - b), ("mul", |a, b| a * b), ("div", |a, b| a / b)];
    let shapes: [[[usize; 4]; 2]; 6] = [
        [[2, 17, 3, 5], [2, 17, 3, 5]],
        [[2, 17, 3, 5], [1, 17, 1, 1]],
        [[2, 17, 3, 5], [2, 1, 3, 5]],
        [[1, 31, 1, 5], [2, 31, 3, 5]],
        [[1, 1, 1, 1], [2, 3, 3, 5]],
        [[2, 16, 3, 1], [2, 1, 1, 5]],
    ];
    for (name, f) in ops {
        let op = bound(name, &["a", "b"], &[]);
        for [a, b] in shapes {
            for kind in KINDS {
                let both = [a, b]
                    .map(|dims| activation(&numbers(&mut rng, dims.iter().product(), POSITIVE), &dims, kind));
                check(&op, &both, 2, |x| broadcast(f, (&x[0], &a), (&x[1], &b)), &mut rng);
            }
        }
        // Of other ranks, and without elements.
        for (a, b) in [(vec![2, 3, 4], vec![4]), (vec![3], vec![2, 1, 3]), (vec![0, 3], vec![1, 3])] {
            let both = [&a, &b].map(|dims| {
                activation(&numbers(&mut rng, dims.iter().product(), POSITIVE), dims, Kind::Nchw)
            });
            check(&op, &both, 2, |x| broadcast(f, (&x[0], &a), (&x[1], &b)), &mut rng);
        }
    }
}

/// A view with gaps has a dense gradient in the order of its strides.
#[test]
fn the_gradient_of_a_view_is_dense_in_its_order() {
    let mut rng = Rng(452);
    let wide = StridedTensor::from_slice(&rng.reals(2 * 7 * 3 * 5), &[2, 7, 3, 5]).unwrap();
    let x = wide.contiguous(MemoryFormat::ChannelsLast).unwrap().narrow(1, 2, 4).unwrap();
    let x = Tensor::from(x);
    let op: BoundOp = bound("square", &["x"], &[]);
    let y = op.run(&refs(std::slice::from_ref(&x))).unwrap();
    let diff = StridedTensor::full(&[2, 4, 3, 5], 1f32, MemoryFormat::Contiguous).unwrap();
    let made =
        op.backward(&[x.tensor_ref()], &[y[0].tensor_ref()], &[Some(diff.tensor_ref())], &[true]).unwrap();
    let made = made[0].as_ref().unwrap();
    let Tensor::Strided(d) = made else { panic!("strided") };
    assert!(d.is_contiguous(MemoryFormat::ChannelsLast), "{:?}", d.strides());
    let want: Vec<f32> = plain(&x).iter().map(|v| 2.0 * v).collect();
    assert_eq!(plain(made), want);
}
