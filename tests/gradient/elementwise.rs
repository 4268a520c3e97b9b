//! Gradients of element-wise ops. Those of one operand are compared with their definitions in crates/graph/src/reference.

use blocktensor::{BoundOp, MemoryFormat, Operand, Operator, StridedTensor, Tensor};

use super::{KINDS, Kind, activation, bound, check, plain, refs};
use crate::support::Rng;

const POSITIVE: [f32; 2] = [0.3, 4.0];

fn numbers(rng: &mut Rng, n: usize, [low, high]: [f32; 2]) -> Vec<f32> {
    rng.reals(n).iter().map(|v| low + (v + 1.0) * 0.5 * (high - low)).collect()
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

/// The gradient by x of a batch norm with given statistics is `diff * weight / sqrt(var + eps)`: no element of x is in it.
#[test]
fn of_given_statistics_does_not_depend_on_x() {
    let mut rng = Rng(465);
    let vector = |values: &[f32]| Tensor::from(StridedTensor::from_slice(values, &[values.len()]).unwrap());
    for c in [1, 3, 16, 17, 40] {
        let (mut x, mut diff) = (rng.reals(2 * c * 30), rng.reals(2 * c * 30));
        (x[1], x[30 * c + 7]) = (f32::NAN, f32::INFINITY);
        (diff[4], diff[5]) = (f32::NAN, f32::NEG_INFINITY);
        let (mean, var) = (rng.reals(c), numbers(&mut rng, c, POSITIVE));
        let weight = rng.reals(c);
        let op = bound("batch_norm", &["x", "mean", "var", "weight"], &[]);
        for kind in KINDS {
            let [x, diff_of_kind] = [&x, &diff].map(|values| activation(values, &[2, c, 5, 6], kind));
            let inputs = [x, vector(&mean), vector(&var), vector(&weight)];
            let y = op.run(&refs(&inputs)).unwrap().remove(0);
            let wanted = [true, false, false, false];
            let made = op
                .backward(&refs(&inputs), &[y.tensor_ref()], &[Some(diff_of_kind.tensor_ref())], &wanted)
                .unwrap();
            for (i, got) in plain(made[0].as_ref().unwrap()).into_iter().enumerate() {
                let of = i / 30 % c;
                let want = f64::from(diff[i]) * f64::from(weight[of]) / (f64::from(var[of]) + 1e-5).sqrt();
                let is_near = (f64::from(got) - want).abs() <= 1e-6 * want.abs();
                assert!(
                    f64::from(got) == want || is_near || want.is_nan() && got.is_nan(),
                    "{kind:?}, {c}, {i}: {got} for {want}"
                );
            }
        }
    }
}
