//! Binary ops with broadcasting, in every layout, against their definitions in f64.

use blocktensor::dispatch::{self, Value};
use blocktensor::{Error, Layout, MemoryFormat, StridedTensor, Tensor, ops};

use crate::support::activation::{elements, forms, index, same_bits_for_all_threads, sizes};
use crate::support::{Rng, assert_close};

#[rustfmt::skip]
const OPS: &[&str] = &[
    "add", "sub", "mul", "div", "pow", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "axpby",
];

/// PyTorch's definition of a binary op.
fn binary(op: &str, a: f64, b: f64) -> f64 {
    let truth = |t: bool| f64::from(u8::from(t));
    match op {
        // Its factors are 1 by default.
        "add" | "axpby" => a + b,
        "sub" => a - b,
        "mul" => a * b,
        "div" => a / b,
        "pow" => a.powf(b),
        "maximum" => a.max(b),
        "minimum" => a.min(b),
        "eq" => truth(a == b),
        "ne" => truth(a != b),
        "lt" => truth(a < b),
        "le" => truth(a <= b),
        "gt" => truth(a > b),
        "ge" => truth(a >= b),
        other => panic!("no definition of {other}"),
    }
}

/// The sizes, with random ones replaced by 1.
fn stretched(rng: &mut Rng, dims: &[usize]) -> Vec<usize> {
    let n = dims.len();
    match rng.below(9) {
        0 | 1 => dims.to_vec(),
        2 => [&dims[..2], &vec![1; n - 2]].concat(),
        3 => [&[1, dims[1]], &vec![1; n - 2][..]].concat(),
        4 => [&[dims[0], 1], &dims[2..]].concat(),
        5 => [&[1, 1], &dims[2..]].concat(),
        6 => vec![1; n],
        _ => dims.iter().map(|&d| if rng.below(2) == 0 { d } else { 1 }).collect(),
    }
}

/// The row-major offset, in an operand of these sizes, of element `i` of the common shape.
fn at(common: &[usize], i: usize, dims: &[usize]) -> usize {
    index(common, i).iter().zip(dims).fold(0, |at, (&i, &d)| at * d + if d == 1 { 0 } else { i })
}

#[test]
fn binary_ops_broadcast_as_their_f64_definitions_in_every_layout() {
    let mut rng = Rng(41);
    for case in 0..700 {
        let op = OPS[case % OPS.len()];
        let dims = sizes(&mut rng);
        let (a_dims, b_dims) = (stretched(&mut rng, &dims), stretched(&mut rng, &dims));
        let common: Vec<usize> =
            a_dims.iter().zip(&b_dims).map(|(&a, &b)| if a == 1 { b } else { a }).collect();
        let integers = rng.below(2) == 0 && op != "pow";
        let data = |rng: &mut Rng, dims: &[usize]| {
            let n = dims.iter().product();
            if integers { rng.integers(n) } else { rng.reals(n) }
        };
        let (mut a, b) = (data(&mut rng, &a_dims), data(&mut rng, &b_dims));
        if op == "pow" {
            a.iter_mut().for_each(|v| *v = v.abs() + 0.01);
        }
        let want: Vec<f64> = (0..common.iter().product())
            .map(|i| {
                let (a, b) = (a[at(&common, i, &a_dims)], b[at(&common, i, &b_dims)]);
                binary(op, f64::from(a), f64::from(b))
            })
            .collect();
        let a = forms(&StridedTensor::from_slice(&a, &a_dims).unwrap());
        let b = forms(&StridedTensor::from_slice(&b, &b_dims).unwrap());
        // Strided operands may differ in memory format; blocked ones must have the same layout.
        let shift = rng.below(5);
        for (i, (form, a)) in a.iter().enumerate() {
            let (other, b) = if i < 5 { &b[(i + shift) % 5] } else { &b[i] };
            let what = format!("case {case} {op} {a_dims:?} {form} with {b_dims:?} {other}");
            let y =
                dispatch::call(op, &[("a", a.clone().into()), ("b", b.clone().into())]).unwrap().remove(0);
            let dims = y.tensor_dims();
            assert_eq!(dims, common, "{what}");
            let tolerance = if matches!(op, "pow" | "div") { 2e-7 } else { 6e-8 };
            assert_close(&what, &elements(&y), &want, |i| tolerance * want[i].abs());
        }
    }
}

trait Sizes {
    fn tensor_dims(&self) -> Vec<usize>;
}

impl Sizes for Tensor {
    fn tensor_dims(&self) -> Vec<usize> {
        use blocktensor::Operand;
        self.tensor_ref().dims().to_vec()
    }
}

#[test]
fn where_and_scalar_ops_agree_with_their_definitions() {
    let mut rng = Rng(42);
    for case in 0..200 {
        let dims = sizes(&mut rng);
        let parts: Vec<Vec<usize>> = (0..3).map(|_| stretched(&mut rng, &dims)).collect();
        let common: Vec<usize> =
            (0..dims.len()).map(|d| parts.iter().map(|p| p[d]).find(|&d| d != 1).unwrap_or(1)).collect();
        let data: Vec<Vec<f32>> = parts.iter().map(|p| rng.integers(p.iter().product())).collect();
        let want: Vec<f64> = (0..common.iter().product())
            .map(|i| {
                let v = |k: usize| f64::from(data[k][at(&common, i, &parts[k])]);
                if v(0) > 0.0 { v(1) } else { v(2) }
            })
            .collect();
        let tensors: Vec<_> =
            (0..3).map(|k| forms(&StridedTensor::from_slice(&data[k], &parts[k]).unwrap())).collect();
        for (i, (form, x)) in tensors[0].iter().enumerate() {
            let what = format!("case {case} {parts:?} {form}");
            let condition = ops::gt_scalar(x, 0.0).unwrap();
            let y = ops::where_(&condition, &tensors[1][i].1, &tensors[2][i].1).unwrap();
            assert_close(&what, &elements(&y), &want, |_| 0.0);
            let number = |y: Tensor, f: &dyn Fn(f32) -> f32| {
                let want: Vec<f64> = data[0].iter().map(|&v| f64::from(f(v))).collect();
                assert_close(&what, &elements(&y), &want, |i| 2e-7 * want[i].abs());
            };
            let truth = |t: bool| f32::from(u8::from(t));
            number(ops::add_scalar(x, 2.5).unwrap(), &|v| v + 2.5);
            number(ops::sub_scalar(x, 2.5).unwrap(), &|v| v - 2.5);
            number(ops::mul_scalar(x, -3.0).unwrap(), &|v| v * -3.0);
            number(ops::div_scalar(x, 0.5).unwrap(), &|v| v / 0.5);
            number(ops::pow_scalar(x, 2.0).unwrap(), &|v| v * v);
            number(ops::pow_scalar(x, 3.0).unwrap(), &|v| v * v * v);
            number(ops::eq_scalar(x, 0.0).unwrap(), &|v| truth(v == 0.0));
            number(ops::ne_scalar(x, 1.0).unwrap(), &|v| truth(v != 1.0));
            number(ops::lt_scalar(x, 1.0).unwrap(), &|v| truth(v < 1.0));
            number(ops::le_scalar(x, 0.0).unwrap(), &|v| truth(v <= 0.0));
            number(ops::ge_scalar(x, 0.0).unwrap(), &|v| truth(v >= 0.0));
        }
    }
}

#[test]
fn binary_ops_broadcast_lower_ranks_and_scalars() {
    let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
    let row = StridedTensor::from_slice(&[10f32, 20.0, 30.0], &[3]).unwrap();
    let scalar = StridedTensor::from_slice(&[100f32], &[]).unwrap();
    let y = ops::add(&ops::add(&x, &row).unwrap(), &scalar).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [111.0, 122.0, 133.0, 114.0, 125.0, 136.0]);
    let mut dst = StridedTensor::full(&[2, 3], 0f32, MemoryFormat::Contiguous).unwrap();
    ops::mul_into(&x, &row, &mut dst).unwrap();
    assert_eq!(dst.to_vec::<f32>().unwrap(), [10.0, 40.0, 90.0, 40.0, 100.0, 180.0]);
}

#[test]
fn binary_ops_write_into_a_blocked_destination() {
    let data = Rng(43).reals(2 * 5 * 3 * 2);
    let x = StridedTensor::from_slice(&data, &[2, 5, 3, 2]).unwrap();
    let one = StridedTensor::from_slice(&data[..12], &[2, 1, 3, 2]).unwrap();
    let want = ops::add(&x, &one).unwrap().to_vec::<f32>().unwrap();
    let (x, one) = (x.to_blocked(&Layout::NCHW16C).unwrap(), one.to_blocked(&Layout::NCHW16C).unwrap());
    let mut dst = x.full_like(3f32).unwrap();
    ops::add_into(&x, &one, &mut dst).unwrap();
    assert_eq!(elements(&dst.into()), want);
    let mut wrong = one.full_like(3f32).unwrap();
    let e = ops::add_into(&x, &one, &mut wrong).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)), "{e}");
    assert_eq!(elements(&wrong.into()), vec![3.0; 12]);
}

#[test]
fn binary_ops_refuse_operands_that_do_not_fit() {
    let x = StridedTensor::from_slice(&[1f32; 2 * 16 * 2 * 2], &[2, 16, 2, 2]).unwrap();
    let (sixteen, eight) = (x.to_blocked(&Layout::NCHW16C).unwrap(), x.to_blocked(&Layout::NCHW8C).unwrap());
    let e = ops::add(&sixteen, &eight).unwrap_err();
    let text = e.to_string();
    assert!(matches!(e, Error::LayoutMismatch(_)), "{e}");
    assert!(text.contains("nChw16c") && text.contains("nChw8c") && text.contains("reorder_to"), "{text}");
    let flat = StridedTensor::from_slice(&[1f32; 2 * 16 * 2], &[2, 16, 2]).unwrap();
    let flat = flat.to_blocked(&Layout::blocked_activation(3, 16).unwrap()).unwrap();
    let e = ops::mul(&sixteen, &flat).unwrap_err();
    assert!(matches!(e, Error::RankMismatch(_)) && e.to_string().contains("unsqueeze"), "{e}");
    let other = StridedTensor::from_slice(&[1f32; 2 * 3 * 2 * 2], &[2, 3, 2, 2]).unwrap();
    let e = ops::mul(&x, &other).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)), "{e}");
    let e = ops::mul(&sixteen, &other.to_blocked(&Layout::NCHW16C).unwrap()).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)), "{e}");
    let e = ops::mul(&Tensor::from(x.clone()), &Tensor::from(sixteen.clone())).unwrap_err();
    assert!(matches!(e, Error::KeyMismatch(_)) && e.to_string().contains("to_strided"), "{e}");
    let e = ops::where_(&x, &x, &x).unwrap_err();
    assert!(matches!(e, Error::DTypeMismatch(_)), "{e}");
    let condition = ops::gt(&x, &x).unwrap();
    let e = ops::add(&condition, &condition).unwrap_err();
    assert!(matches!(e, Error::UnsupportedDType(_)), "{e}");
    let e = dispatch::call("add", &[("a", Value::from(x))]).unwrap_err();
    assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
}

#[test]
fn binary_ops_have_the_same_bits_for_any_number_of_threads() {
    let mut rng = Rng(44);
    let dims = [2, 37, 41, 40];
    let x = forms(&StridedTensor::from_slice(&rng.reals(dims.iter().product()), &dims).unwrap());
    for part in [vec![2, 37, 1, 1], vec![2, 1, 41, 40], vec![1, 1, 1, 40]] {
        let z = forms(&StridedTensor::from_slice(&rng.reals(part.iter().product()), &part).unwrap());
        for ((form, x), (_, z)) in x.iter().zip(&z) {
            let what = format!("{part:?} {form}");
            same_bits_for_all_threads(&what, || elements(&ops::div(x, z).unwrap()));
            same_bits_for_all_threads(&what, || elements(&ops::le(x, z).unwrap()));
        }
    }
}

/// Weights of one layout are mapped as they are, padding included; what broadcasts is refused.
#[test]
fn blocked_weights_of_equal_sizes_are_mapped_in_place() {
    let plain = |value: f32, o| StridedTensor::full(&[o, 3, 2, 2], value, MemoryFormat::Contiguous).unwrap();
    let blocked = |value, o| plain(value, o).to_blocked(&Layout::OIHW16I16O).unwrap();
    let (w, diff) = (blocked(3.0, 17), blocked(0.5, 17));
    for y in [
        ops::sub(&w, &ops::mul_scalar(&diff, 2.0).unwrap()).unwrap(),
        ops::add_scalar(&w, -1.0).unwrap(),
        ops::where_(&ops::gt(&w, &diff).unwrap(), &ops::add_scalar(&w, -1.0).unwrap(), &diff).unwrap(),
    ] {
        y.check_tail().unwrap();
        assert_eq!(y.layout(), w.layout());
        assert_eq!(y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap(), [2.0; 17 * 12]);
    }
    let one = blocked(1.0, 1);
    assert!(matches!(ops::add(&blocked(1.0, 16), &one), Err(Error::LayoutMismatch(_))));
    assert!(matches!(ops::dropout(&w, 0.5, 1, true), Err(Error::LayoutMismatch(_))));
}

#[test]
fn axpby_is_a_sum_of_two_products_in_every_layout() {
    let mut rng = Rng(43);
    for dims in [vec![2, 17, 3, 5], vec![1, 33, 1, 1], vec![0, 3, 2, 2]] {
        let of = |rng: &mut Rng| StridedTensor::from_slice(&rng.reals(dims.iter().product()), &dims).unwrap();
        let (a, b) = (of(&mut rng), of(&mut rng));
        let (alpha, beta) = (0.9, -0.037);
        let sum =
            ops::add(&ops::mul_scalar(&a, alpha).unwrap(), &ops::mul_scalar(&b, beta).unwrap()).unwrap();
        for ((form, a), (_, b)) in forms(&a).into_iter().zip(forms(&b)) {
            assert_eq!(
                elements(&ops::axpby(&a, &b, alpha, beta).unwrap()),
                sum.to_vec::<f32>().unwrap(),
                "{form}"
            );
        }
    }
}
