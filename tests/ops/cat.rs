//! `cat`, `stack`, `chunk` and `split` in every layout: results are exact.

use blocktensor::dispatch;
use blocktensor::{DType, Error, Layout, MemoryFormat, Operand, StridedTensor, Tensor, ops};

use crate::support::Rng;
use crate::support::activation::{elements, forms, index, same_bits_for_all_threads, sizes};

/// Row-major offset of an index.
fn offset(dims: &[usize], index: &[usize]) -> usize {
    index.iter().zip(dims).fold(0, |at, (&i, &d)| at * d + i)
}

fn dims_of(t: &Tensor) -> Vec<usize> {
    t.tensor_ref().dims().to_vec()
}

#[test]
fn cat_and_split_agree_with_loops_along_every_axis_in_every_layout() {
    let mut rng = Rng(51);
    for case in 0..400 {
        let dims = sizes(&mut rng);
        let axis = if rng.below(2) == 0 { 1 } else { rng.below(dims.len()) };
        let parts: Vec<usize> = (0..1 + rng.below(4))
            .map(|_| rng.pick(&[1, 2, 3, 5, 8, 15, 16, 17, 32, 33, 0]).min(if axis == 1 { 64 } else { 9 }))
            .collect();
        let mut whole = dims.clone();
        whole[axis] = parts.iter().sum();
        let data = rng.reals(whole.iter().product());
        let x = StridedTensor::from_slice(&data, &whole).unwrap();
        for (form, x) in forms(&x) {
            let what = format!("case {case} {dims:?} axis {axis} parts {parts:?} {form}");
            let pieces = ops::split(&x, &parts, axis).unwrap_or_else(|e| panic!("{what}: {e}"));
            // A single size means equal pieces, so a list of one size is another call.
            if parts.len() > 1 {
                assert_eq!(pieces.iter().map(|p| dims_of(p)[axis]).collect::<Vec<_>>(), parts, "{what}");
            }
            let mut start = 0;
            for piece in &pieces {
                let d = dims_of(piece);
                let got = elements(piece);
                for (i, v) in got.iter().enumerate() {
                    let mut at = index(&d, i);
                    at[axis] += start;
                    assert_eq!(*v, data[offset(&whole, &at)], "{what} piece at {start}, element {i}");
                }
                start += d[axis];
            }
            let refs: Vec<&Tensor> = pieces.iter().collect();
            let joined = ops::cat(&refs, axis).unwrap();
            assert_eq!((dims_of(&joined), elements(&joined)), (whole.clone(), data.clone()), "{what}");
        }
    }
}

#[test]
fn chunk_has_the_sizes_of_pytorch() {
    for (size, chunks, want) in [
        (7usize, 3usize, vec![3usize, 3, 1]),
        (6, 4, vec![2, 2, 2]),
        (33, 3, vec![11; 3]),
        (2, 5, vec![1, 1]),
        (0, 3, vec![0; 3]),
    ] {
        let x = StridedTensor::from_slice(&vec![1f32; 2 * size], &[1, size, 2]).unwrap();
        for (form, x) in forms(&x) {
            let pieces = ops::chunk(&x, chunks, 1).unwrap();
            assert_eq!(
                pieces.iter().map(|p| dims_of(p)[1]).collect::<Vec<_>>(),
                want,
                "{size} in {chunks} {form}"
            );
        }
    }
    let x = StridedTensor::from_slice(&[1f32; 12], &[2, 6]).unwrap();
    let pieces = ops::chunk(&x, 2, 1).unwrap();
    assert!(pieces.iter().all(|p| p.shares_storage(&x)), "strided pieces are views");
}

#[test]
fn stack_agrees_with_loops_along_every_new_axis() {
    let mut rng = Rng(52);
    for case in 0..100 {
        let dims = sizes(&mut rng);
        let (count, rank) = (1 + rng.below(3), dims.len());
        let data: Vec<Vec<f32>> = (0..count).map(|_| rng.reals(dims.iter().product())).collect();
        let all: Vec<_> = data.iter().map(|d| forms(&StridedTensor::from_slice(d, &dims).unwrap())).collect();
        for axis in 0..=rank {
            for i in 0..all[0].len() {
                let refs: Vec<&Tensor> = all.iter().map(|f| &f[i].1).collect();
                let what = format!("case {case} {dims:?} axis {axis} {}", all[0][i].0);
                let blocked = matches!(refs[0], Tensor::Blocked(_));
                let y = match ops::stack(&refs, axis) {
                    Ok(y) => y,
                    Err(Error::InvalidArgument(_)) if blocked && axis < 2 => continue,
                    Err(Error::RankMismatch(_)) if blocked && rank == 5 => continue,
                    Err(e) => panic!("{what}: {e}"),
                };
                let mut want_dims = dims.clone();
                want_dims.insert(axis, count);
                assert_eq!(dims_of(&y), want_dims, "{what}");
                for (i, v) in elements(&y).into_iter().enumerate() {
                    let mut at = index(&want_dims, i);
                    let which = at.remove(axis);
                    assert_eq!(v, data[which][offset(&dims, &at)], "{what}");
                }
            }
        }
    }
}

#[test]
fn cat_and_split_take_every_dtype() {
    for dtype in DType::ALL {
        let x = StridedTensor::zeros(&[1, 17, 2, 2], dtype, MemoryFormat::Contiguous).unwrap();
        for x in [Tensor::from(x.clone()), x.to_blocked(&Layout::NCHW16C).unwrap().into()] {
            let y = ops::cat(&[&x, &x], 1).unwrap();
            assert_eq!((dims_of(&y), y.tensor_ref().dtype()), (vec![1, 34, 2, 2], dtype));
        }
    }
}

#[test]
fn cat_stack_chunk_and_split_refuse_bad_arguments_by_name() {
    let x = StridedTensor::from_slice(&[1f32; 24], &[1, 6, 2, 2]).unwrap();
    let other = StridedTensor::from_slice(&[1f32; 12], &[1, 3, 2, 2]).unwrap();
    let e = ops::cat(&[&x, &other], 2).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)), "{e}");
    assert!(e.to_string().contains("number 1") && e.to_string().contains("[1, 3, 2, 2]"), "{e}");
    let e = ops::cat(&[&x, &other.squeeze_axis(0).unwrap()], 1).unwrap_err();
    assert!(matches!(e, Error::RankMismatch(_)), "{e}");
    let e = ops::cat(&[&x], 4).unwrap_err();
    assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
    let e = ops::cat::<StridedTensor>(&[], 0).unwrap_err();
    assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
    let bytes = StridedTensor::zeros(&[1, 6, 2, 2], DType::U8, MemoryFormat::Contiguous).unwrap();
    let e = ops::cat(&[&x, &bytes], 1).unwrap_err();
    assert!(matches!(e, Error::DTypeMismatch(_)), "{e}");
    let (a, b) = (x.to_blocked(&Layout::NCHW16C).unwrap(), x.to_blocked(&Layout::NCHW8C).unwrap());
    let e = ops::cat(&[&a, &b], 1).unwrap_err();
    assert!(matches!(e, Error::LayoutMismatch(_)), "{e}");
    let e = ops::cat(&[&Tensor::from(x.clone()), &Tensor::from(a.clone())], 1).unwrap_err();
    assert!(matches!(e, Error::KeyMismatch(_)), "{e}");
    let text = e.to_string();
    assert!(text.contains("got number 1, [") && text.contains("number 0 of `tensors` is ["), "{text}");
    assert!(text.contains("reorder number 1 of `tensors` with `to_strided"), "{text}");
    let e = ops::cat(&[&Tensor::from(a.clone()), &a.clone().into(), &x.clone().into()], 1).unwrap_err();
    assert!(e.to_string().contains("reorder number 2 of `tensors` with `to_blocked"), "{e}");
    let e = ops::stack(&[&a], 1).unwrap_err();
    assert!(e.to_string().contains("to_strided"), "{e}");
    for x in [Tensor::from(x), a.into()] {
        let e = ops::chunk(&x, 0, 1).unwrap_err();
        assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
        let e = ops::split(&x, &[0], 1).unwrap_err();
        assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
        let e = ops::split(&x, &[1, 2], 1).unwrap_err();
        assert!(matches!(e, Error::ShapeMismatch(_)) && e.to_string().contains("size 6"), "{e}");
        let e = ops::split(&x, &[3], 9).unwrap_err();
        assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
        let args = [("x", x.into()), ("sizes", vec![-1i64, 7].into()), ("axis", 1i64.into())];
        let e = dispatch::call("split", &args).unwrap_err();
        assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
    }
}

#[test]
fn cat_and_split_have_the_same_bits_for_any_number_of_threads() {
    let x = StridedTensor::from_slice(&Rng(53).reals(2 * 35 * 40 * 30), &[2, 35, 40, 30]).unwrap();
    for (form, x) in forms(&x) {
        same_bits_for_all_threads(form, || elements(&ops::cat(&[&x, &x], 1).unwrap()));
    }
}
