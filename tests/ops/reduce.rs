//! Reductions under every dispatch key and over every set of axes, against f64 loops from the definition.

use blocktensor::ops::{self, argmax};
use blocktensor::{ALL_AXES, DType, Error, Layout, MemoryFormat, Operand, Result, StridedTensor, Tensor};

use crate::support::activation::{elements, forms, index, same_bits_for_all_threads, sizes};
use crate::support::{Rng, assert_close};

type Reduction = fn(&Tensor, &[usize], bool) -> Result<Tensor>;

/// Name, op, and its definition as a function of the reduced elements.
const OPS: [(&str, Reduction, fn(&[f64]) -> f64); 5] = [
    ("sum", ops::sum, |v| v.iter().sum()),
    ("mean", ops::mean, |v| v.iter().sum::<f64>() / v.len() as f64),
    ("prod", ops::prod, |v| v.iter().product()),
    ("amax", ops::amax, |v| {
        v.iter().fold(f64::NEG_INFINITY, |a, &b| if b > a || b.is_nan() { b } else { a })
    }),
    ("amin", ops::amin, |v| v.iter().fold(f64::INFINITY, |a, &b| if b < a || b.is_nan() { b } else { a })),
];

/// For each element of the result, in row-major order, the elements that it reduces; and the sizes of the result, with 1 for
/// reduced axes.
fn lines(dims: &[usize], x: &[f32], axes: &[usize]) -> (Vec<Vec<f64>>, Vec<usize>) {
    let reduced = |d: usize| axes.is_empty() || axes.contains(&d);
    let kept: Vec<usize> = (0..dims.len()).map(|d| if reduced(d) { 1 } else { dims[d] }).collect();
    let mut lines = vec![Vec::new(); kept.iter().product()];
    for (i, &v) in x.iter().enumerate() {
        let at =
            index(dims, i).into_iter().zip(&kept).fold(0, |p, (i, &k)| p * k + if k == 1 { 0 } else { i });
        lines[at].push(f64::from(v));
    }
    (lines, kept)
}

fn some_axes(rng: &mut Rng, rank: usize) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..rank).filter(|_| rng.below(2) == 0).collect();
    if rng.below(2) == 0 {
        axes.reverse();
    }
    axes
}

#[test]
fn reductions_agree_with_f64_loops_over_every_set_of_axes_in_every_layout() {
    let mut rng = Rng(31);
    for case in 0..600 {
        let dims = sizes(&mut rng);
        let mut x = rng.reals(dims.iter().product());
        if rng.below(2) == 0 {
            // All of one sign, so that a zero from the padding would be the maximum, or the minimum.
            let sign = rng.pick(&[1.0, -1.0]);
            x.iter_mut().for_each(|v| *v = sign * (v.abs() + 0.5));
        }
        if rng.below(8) == 0 && !x.is_empty() {
            let at = rng.below(x.len());
            x[at] = f32::NAN;
        }
        let axes = some_axes(&mut rng, dims.len());
        let (lines, kept) = lines(&dims, &x, &axes);
        for (form, x) in forms(&StridedTensor::from_slice(&x, &dims).unwrap()) {
            for (name, op, define) in OPS {
                let what = format!("case {case} {name} {dims:?} axes {axes:?} {form}");
                let y = op(&x, &axes, true);
                let extreme = name.starts_with("am");
                if extreme && axes_empty(&dims, &axes) {
                    assert!(matches!(y, Err(Error::InvalidArgument(_))), "{what}");
                    continue;
                }
                let y = y.unwrap();
                assert_eq!(y.tensor_ref().dims(), kept, "{what}");
                let want: Vec<f64> = lines.iter().map(|l| define(l)).collect();
                let size: Vec<f64> = lines.iter().map(|l| l.iter().map(|v| v.abs()).sum::<f64>()).collect();
                assert_close(&what, &elements(&y), &want, |i| match name {
                    "sum" | "mean" => 1e-7 * want[i].abs() + 1e-12 * size[i],
                    "prod" => 1e-7 * want[i].abs() + f64::from(f32::MIN_POSITIVE),
                    _ => 0.0,
                });
                if let Tensor::Strided(_) = x {
                    let flat = op(&x, &axes, false).unwrap();
                    assert_eq!(elements(&flat).len(), want.len(), "{what}");
                    assert!(
                        elements(&flat).iter().zip(elements(&y)).all(|(a, b)| a.to_bits() == b.to_bits()),
                        "{what}"
                    );
                }
            }
        }
    }
}

fn axes_empty(dims: &[usize], axes: &[usize]) -> bool {
    dims.iter().enumerate().any(|(d, &n)| n == 0 && (axes.is_empty() || axes.contains(&d)))
}

#[test]
fn argmax_finds_the_first_maximum_in_every_layout() {
    let mut rng = Rng(32);
    for case in 0..500 {
        let dims = sizes(&mut rng);
        // Few values, so that there are ties; all negative, so that a zero from the padding would be the maximum.
        let mut x: Vec<f32> = (0..dims.iter().product()).map(|_| -1.0 - rng.below(5) as f32).collect();
        match rng.below(6) {
            0 => x.iter_mut().for_each(|v| *v = f32::NEG_INFINITY),
            1 if !x.is_empty() => (0..3).for_each(|_| {
                let at = rng.below(x.len());
                x[at] = f32::NAN;
            }),
            _ => {}
        }
        let axis = if rng.below(5) == 0 { None } else { Some(rng.below(dims.len())) };
        let (lines, kept) = lines(&dims, &x, axis.as_slice());
        let first = |line: &Vec<f64>| {
            let mut best = 0;
            for (i, &v) in line.iter().enumerate() {
                if v > line[best] || v.is_nan() && !line[best].is_nan() {
                    best = i;
                }
            }
            best as f32
        };
        let want: Vec<f32> = lines.iter().map(first).collect();
        for (form, x) in forms(&StridedTensor::from_slice(&x, &dims).unwrap()) {
            let what = format!("case {case} {dims:?} axis {axis:?} {form}");
            // From the front or from the end.
            let named = axis.map(|a| a as i64 - if case % 2 == 0 { 0 } else { dims.len() as i64 });
            let y = argmax(&x, named, true);
            if axes_empty(&dims, axis.as_slice()) {
                assert!(matches!(y, Err(Error::InvalidArgument(_))), "{what}");
                continue;
            }
            let y = y.unwrap();
            assert_eq!((y.tensor_ref().dims(), y.tensor_ref().dtype()), (&kept[..], DType::S32), "{what}");
            assert_eq!(elements(&y), want, "{what}");
            if let Tensor::Strided(_) = x {
                assert_eq!(elements(&argmax(&x, named, false).unwrap()), want, "{what}");
            }
        }
    }
}

#[test]
fn reductions_leave_channel_padding_out() {
    let x = StridedTensor::from_slice(&[-1f32, -2.0, -3.0, -4.0, -5.0, -6.0], &[1, 3, 1, 2]).unwrap();
    let b = Tensor::from(x.to_blocked(&Layout::NCHW16C).unwrap());
    let of = |op: Reduction, axes: &[usize]| elements(&op(&b, axes, true).unwrap());
    assert_eq!(of(ops::sum, &[1]), [-9.0, -12.0]);
    assert_eq!(of(ops::mean, &[1, 3]), [-3.5]);
    assert_eq!(of(ops::amax, &[1]), [-1.0, -2.0]);
    assert_eq!(of(ops::prod, &[1, 2, 3]), [720.0]);
    assert_eq!(of(ops::amin, &[]), [-6.0]);
    assert_eq!(elements(&argmax(&b, Some(1), true).unwrap()), [0.0, 0.0]);
}

#[test]
fn reductions_of_empty_tensors_and_of_other_ranks() {
    let empty = StridedTensor::zeros(&[2, 0], DType::F32, MemoryFormat::Contiguous).unwrap();
    assert_eq!(ops::sum(&empty, &[1], false).unwrap().to_vec::<f32>().unwrap(), [0.0, 0.0]);
    assert_eq!(ops::prod(&empty, &[1], false).unwrap().to_vec::<f32>().unwrap(), [1.0, 1.0]);
    assert!(ops::mean(&empty, &[1], false).unwrap().to_vec::<f32>().unwrap().iter().all(|v| v.is_nan()));
    assert!(ops::amax(&empty, &[0], false).unwrap().to_vec::<f32>().unwrap().is_empty());
    let scalar = StridedTensor::from_slice(&[3f32], &[]).unwrap();
    assert_eq!(ops::sum(&scalar, ALL_AXES, false).unwrap().to_vec::<f32>().unwrap(), [3.0]);
    let line = StridedTensor::from_slice(&[1f32, 4.0, 4.0], &[3]).unwrap();
    assert_eq!(argmax(&line, Some(0), false).unwrap().to_vec::<i32>().unwrap(), [1]);
    assert_eq!(argmax(&line, None, false).unwrap().dims(), &[] as &[usize]);
}

#[test]
fn reductions_have_the_same_bits_for_any_number_of_threads() {
    for dims in [vec![2, 34, 20, 21], vec![1, 3, 110, 111]] {
        let x = StridedTensor::from_slice(&Rng(33).reals(dims.iter().product()), &dims).unwrap();
        for (form, x) in forms(&x) {
            for axes in [ALL_AXES, &[1], &[2, 3], &[0, 2, 3], &[3]] {
                same_bits_for_all_threads(&format!("{dims:?} {axes:?} {form}"), || {
                    let mut y = elements(&argmax(&x, axes.first().map(|&a| a as i64), true).unwrap());
                    OPS.iter().for_each(|(_, op, _)| y.extend(elements(&op(&x, axes, true).unwrap())));
                    y
                });
            }
        }
    }
}

#[test]
fn reductions_refuse_bad_arguments_by_name() {
    let x = StridedTensor::from_slice(&[0f32; 12], &[2, 3, 2]).unwrap();
    let b = x.to_blocked(&Layout::native_activation(3).unwrap()).unwrap();
    let says = |result: Result<()>, words: &[&str]| {
        let e = result.unwrap_err();
        let text = e.to_string();
        words.iter().for_each(|w| assert!(text.contains(w), "`{w}` is not in: {text}"));
        e
    };
    says(ops::sum(&b, &[3], true).map(drop), &["sum", "`axes`", "axis 3", "rank 3"]);
    says(ops::sum(&x, &[1, 1], true).map(drop), &["`axes`", "axis 1 is there twice"]);
    let e = says(ops::mean(&b, &[2], false).map(drop), &["mean", "[2]", "keepdim = true", "to_strided"]);
    assert!(matches!(e, Error::OpaqueLayout(_)));
    says(argmax(&b, Some(1), false).map(drop), &["argmax", "keepdim = true", "to_strided"]);
    says(argmax(&x, Some(4), false).map(drop), &["argmax", "`axis`", "rank 3"]);
    let empty = StridedTensor::zeros(&[0, 3, 2], DType::F32, MemoryFormat::Contiguous).unwrap();
    says(ops::amax(&empty, &[0], true).map(drop), &["amax", "axis 0", "no elements"]);
    says(argmax(&empty, None, false).map(drop), &["argmax", "axis 0", "no elements"]);
}
