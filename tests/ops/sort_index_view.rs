//! Ops with strided kernels alone: `sort`, `topk`, `cumsum`, `gather`, `index_select`, views, `matmul` and `linear`. Blocked
//! operands are refused with a remedy.

use blocktensor::dispatch::{self, DispatchKey, Value};
use blocktensor::{DType, Error, Layout, MemoryFormat, StridedTensor, Tensor, Unsupported, ops};

use crate::support::Rng;
use crate::support::activation::{elements, forms, index, sizes};

fn offset(dims: &[usize], at: &[usize]) -> usize {
    at.iter().zip(dims).fold(0, |offset, (&i, &d)| offset * d + i)
}

fn strided_forms(x: &StridedTensor) -> Vec<(&'static str, StridedTensor)> {
    let strided = |(name, t)| if let Tensor::Strided(t) = t { Some((name, t)) } else { None };
    forms(x).into_iter().filter_map(strided).collect()
}

#[test]
fn sort_and_topk_are_stable_along_every_axis_of_any_strides() {
    let mut rng = Rng(81);
    for case in 0..150 {
        let dims = sizes(&mut rng);
        let axis = rng.below(dims.len());
        let descending = rng.below(2) == 0;
        let mut data = rng.integers(dims.iter().product());
        if rng.below(3) == 0 {
            data.iter_mut().step_by(5).for_each(|v| *v = f32::NAN);
        }
        let k = rng.below(dims[axis] + 1);
        let x = StridedTensor::from_slice(&data, &dims).unwrap();
        for (form, x) in strided_forms(&x) {
            let what = format!("case {case} {dims:?} axis {axis} {form} {descending}");
            let (values, indices) = ops::sort(&x, axis, descending).unwrap();
            let (top, top_indices) = ops::topk(&x, k, axis, descending).unwrap();
            let (values, indices) = (values.to_vec::<f32>().unwrap(), indices.to_vec::<i32>().unwrap());
            let mut top_dims = dims.clone();
            top_dims[axis] = k;
            assert_eq!((top.dims(), top_indices.dims()), (&top_dims[..], &top_dims[..]), "{what}");
            for i in 0..values.len() {
                let at = index(&dims, i);
                let mut from = at.clone();
                from[axis] = indices[i] as usize;
                assert_eq!(values[i].to_bits(), data[offset(&dims, &from)].to_bits(), "{what}");
                if at[axis] + 1 < dims[axis] {
                    let mut after = at.clone();
                    after[axis] += 1;
                    let (j, rank) =
                        (offset(&dims, &after), |v: f32| if v.is_nan() { f32::INFINITY } else { v });
                    let (a, b) = (rank(values[i]), rank(values[j]));
                    assert!(if descending { a >= b } else { a <= b }, "{what}");
                    assert!(a != b || indices[i] < indices[j], "{what}: stable");
                }
                if at[axis] < k {
                    assert_eq!(top.get::<f32>(&at).unwrap().to_bits(), values[i].to_bits(), "{what}");
                    assert_eq!(top_indices.get::<i32>(&at), Some(indices[i]), "{what}");
                }
            }
        }
    }
}

#[test]
fn sort_and_topk_of_long_lines_order_nan_infinities_and_zeros() {
    let mut rng = Rng(83);
    let kinds = [0.0, -0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-45, -1e-45, f32::MAX];
    for length in [1usize, 127, 128, 129, 1000] {
        let line: Vec<f32> = (0..length)
            .map(|_| match rng.below(2) {
                0 => kinds[rng.below(kinds.len())],
                _ => rng.below(50) as f32 - 25.0,
            })
            .collect();
        let order = |a: f32, b: f32| match (a.is_nan(), b.is_nan()) {
            (false, false) => a.partial_cmp(&b).unwrap(),
            (a, b) => a.cmp(&b),
        };
        let x = StridedTensor::from_slice(&line, &[length]).unwrap();
        for descending in [false, true] {
            let mut want: Vec<i32> = (0..length as i32).collect();
            want.sort_by(|&a, &b| {
                let (a, b) = (line[a as usize], line[b as usize]);
                if descending { order(b, a) } else { order(a, b) }
            });
            for k in [0, 1, length / 2, length.saturating_sub(1), length] {
                let (values, indices) = ops::topk(&x, k, 0, descending).unwrap();
                assert_eq!(indices.to_vec::<i32>().unwrap(), want[..k], "{length} {k} {descending}");
                let bits = |v: f32| v.to_bits();
                let got: Vec<u32> = values.to_vec::<f32>().unwrap().into_iter().map(bits).collect();
                assert_eq!(got, want[..k].iter().map(|&i| bits(line[i as usize])).collect::<Vec<_>>());
            }
            let (_, indices) = ops::sort(&x, 0, descending).unwrap();
            assert_eq!(indices.to_vec::<i32>().unwrap(), want, "{length} {descending}");
        }
    }
}

#[test]
fn cumsum_gather_and_index_select_agree_with_loops_along_every_axis() {
    let mut rng = Rng(82);
    for case in 0..150 {
        let dims = sizes(&mut rng);
        let axis = rng.below(dims.len());
        let data = rng.integers(dims.iter().product());
        let x = StridedTensor::from_slice(&data, &dims).unwrap();
        let mut picked: Vec<usize> = dims.iter().map(|&d| rng.below(d + 1)).collect();
        picked[axis] = if dims[axis] == 0 { 0 } else { rng.below(7) };
        let below =
            |rng: &mut Rng, n: usize| -> Vec<i32> { (0..n).map(|_| rng.below(dims[axis]) as i32).collect() };
        let indices = below(&mut rng, picked.iter().product());
        let list = below(&mut rng, picked[axis]);
        let index_tensor = StridedTensor::from_slice(&indices, &picked).unwrap();
        let list_tensor = StridedTensor::from_slice(&list, &[list.len()]).unwrap();
        for (form, x) in strided_forms(&x) {
            let what = format!("case {case} {dims:?} axis {axis} {form}");
            let sums = ops::cumsum(&x, axis).unwrap().to_vec::<f32>().unwrap();
            for (i, sum) in sums.into_iter().enumerate() {
                let at = index(&dims, i);
                let want: f32 = (0..=at[axis])
                    .map(|j| {
                        let mut from = at.clone();
                        from[axis] = j;
                        data[offset(&dims, &from)]
                    })
                    .sum();
                assert_eq!(sum, want, "{what}");
            }
            let y = ops::gather(&x, axis, &index_tensor).unwrap();
            assert_eq!(y.dims(), picked, "{what}");
            for (i, v) in y.to_vec::<f32>().unwrap().into_iter().enumerate() {
                let mut from = index(&picked, i);
                from[axis] = indices[i] as usize;
                assert_eq!(v, data[offset(&dims, &from)], "{what}");
            }
            let y = ops::index_select(&x, axis, &list_tensor).unwrap();
            let mut chosen = dims.clone();
            chosen[axis] = list.len();
            assert_eq!(y.dims(), chosen, "{what}");
            for (i, v) in y.to_vec::<f32>().unwrap().into_iter().enumerate() {
                let mut from = index(&chosen, i);
                from[axis] = list[from[axis]] as usize;
                assert_eq!(v, data[offset(&dims, &from)], "{what}");
            }
        }
    }
}

/// A call of every view op on sizes [2, 3, 4, 2], and the sizes of its result.
fn views() -> Vec<(&'static str, Vec<(&'static str, Value)>, Vec<usize>)> {
    let ints = |list: &[i64]| Value::Ints(list.to_vec());
    vec![
        ("view", vec![("dims", ints(&[6, 8]))], vec![6, 8]),
        ("permute", vec![("axes", ints(&[0, 2, 3, 1]))], vec![2, 4, 2, 3]),
        ("transpose", vec![("a", Value::Int(1)), ("b", Value::Int(3))], vec![2, 2, 4, 3]),
        (
            "narrow",
            vec![("axis", Value::Int(2)), ("start", Value::Int(1)), ("length", Value::Int(2))],
            vec![2, 3, 2, 2],
        ),
        (
            "slice",
            vec![("axis", Value::Int(2)), ("start", Value::Int(1)), ("step", Value::Int(2))],
            vec![2, 3, 2, 2],
        ),
        ("select", vec![("axis", Value::Int(1)), ("index", Value::Int(2))], vec![2, 4, 2]),
        ("expand", vec![("dims", ints(&[5, 2, 3, 4, 2]))], vec![5, 2, 3, 4, 2]),
        ("squeeze", vec![("axis", Value::Int(1))], vec![2, 3, 4, 2]),
        ("unsqueeze", vec![("axis", Value::Int(4))], vec![2, 3, 4, 2, 1]),
        ("flatten", vec![("start", Value::Int(1)), ("end", Value::Int(3))], vec![2, 24]),
    ]
}

#[test]
fn view_ops_by_name_share_storage() {
    let x = StridedTensor::from_slice(&(0..48).map(|i| i as f32).collect::<Vec<_>>(), &[2, 3, 4, 2]).unwrap();
    for (op, args, dims) in views() {
        let args: Vec<_> = [("x", x.clone().into())].into_iter().chain(args).collect();
        match dispatch::call(op, &args).unwrap().remove(0) {
            Tensor::Strided(t) => {
                assert_eq!(t.dims(), dims, "{op}");
                assert!(t.shares_storage(&x), "{op}");
            }
            other => panic!("{op}: {other:?}"),
        }
    }
}

#[test]
fn sort_index_and_view_ops_refuse_blocked_tensors_with_a_remedy() {
    let x =
        StridedTensor::from_slice(&[1f32; 48], &[2, 3, 4, 2]).unwrap().to_blocked(&Layout::NCHW16C).unwrap();
    let index = StridedTensor::from_slice(&[0i32], &[1]).unwrap();
    let mut calls: Vec<_> = views().into_iter().map(|(op, args, _)| (op, args)).collect();
    calls.extend([
        ("sort", vec![("axis", Value::Int(1))]),
        ("topk", vec![("axis", Value::Int(1)), ("k", Value::Int(1))]),
        ("cumsum", vec![("axis", Value::Int(1))]),
        ("gather", vec![("axis", Value::Int(1)), ("index", x.clone().into())]),
        ("index_select", vec![("axis", Value::Int(1)), ("index", index.into())]),
    ]);
    assert!(calls.len() >= 12);
    for (op, args) in calls {
        let args: Vec<_> = [("x", x.clone().into())].into_iter().chain(args).collect();
        match dispatch::call(op, &args).unwrap_err() {
            Error::UnsupportedOp(u) => {
                assert_eq!((u.reason.clone(), &*u.op, &*u.key), (Unsupported::NoKernel, op, "blocked"));
                assert_eq!(u.available, ["strided"]);
                assert!(u.to_string().contains("to_strided"), "{u}");
            }
            other => panic!("{op}: {other}"),
        }
        assert!(dispatch::op(op).unwrap().kernel(DispatchKey::STRIDED).is_some());
    }
}

#[test]
fn sort_and_index_ops_refuse_bad_arguments() {
    let x = StridedTensor::from_slice(&[3f32, 1.0, 2.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
    assert!(matches!(ops::sort(&x, 2, false).unwrap_err(), Error::InvalidArgument(_)));
    assert!(matches!(ops::topk(&x, 4, 1, true).unwrap_err(), Error::InvalidArgument(_)));
    assert!(matches!(ops::cumsum(&x, 5).unwrap_err(), Error::InvalidArgument(_)));
    let at = |values: &[i32], dims: &[usize]| StridedTensor::from_slice(values, dims).unwrap();
    assert!(matches!(ops::gather(&x, 1, &at(&[3], &[1, 1])).unwrap_err(), Error::OutOfBounds(_)));
    assert!(matches!(ops::gather(&x, 1, &at(&[-1], &[1, 1])).unwrap_err(), Error::OutOfBounds(_)));
    assert!(matches!(ops::gather(&x, 1, &at(&[0], &[1])).unwrap_err(), Error::RankMismatch(_)));
    assert!(matches!(ops::gather(&x, 1, &at(&[0; 3], &[3, 1])).unwrap_err(), Error::ShapeMismatch(_)));
    assert!(matches!(ops::gather(&x, 1, &x).unwrap_err(), Error::DTypeMismatch(_)));
    assert!(matches!(ops::index_select(&x, 0, &at(&[2], &[1])).unwrap_err(), Error::OutOfBounds(_)));
    let floats = StridedTensor::from_slice(&[0f32], &[1]).unwrap();
    assert!(matches!(ops::index_select(&x, 0, &floats).unwrap_err(), Error::DTypeMismatch(_)));
    let top = elements(&ops::topk(&x, 1, 1, true).unwrap().0.into());
    assert_eq!(top, [3.0, 6.0]);
}

#[test]
fn matmul_and_linear_over_an_empty_inner_dimension_are_zero() {
    let zeros = |dims: &[usize]| StridedTensor::zeros(dims, DType::F32, MemoryFormat::Contiguous).unwrap();
    for (a, b, want) in [
        (&[3, 0][..], &[0, 4][..], &[3, 4][..]),
        (&[2, 3, 0], &[2, 0, 4], &[2, 3, 4]),
        (&[3, 0], &[2, 0, 4], &[2, 3, 4]),
        (&[2, 3, 0], &[0, 4], &[2, 3, 4]),
        (&[0, 3, 5], &[5, 4], &[0, 3, 4]),
        (&[2, 0, 5], &[2, 5, 4], &[2, 0, 4]),
    ] {
        let y = ops::matmul(&zeros(a), &zeros(b)).unwrap();
        assert_eq!(y.dims(), want, "{a:?} x {b:?}");
        assert_eq!(y.to_vec::<f32>().unwrap(), vec![0.0; want.iter().product()], "{a:?} x {b:?}");
    }
    let bias = StridedTensor::from_slice(&[1f32, 2.0], &[2]).unwrap();
    let y = ops::linear(&zeros(&[3, 0]), &zeros(&[2, 0]), Some(&bias)).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
}
