//! `tril` and `triu`.

use blocktensor::dispatch;
use blocktensor::{DType, Error, Layout, StridedTensor, Tensor, Unsupported, ops};

use crate::support::Rng;
use crate::support::activation::{elements, forms, index, sizes};

#[test]
fn triangles_agree_with_their_definition_on_any_strides() {
    let mut rng = Rng(311);
    for case in 0..150 {
        let dims = sizes(&mut rng);
        if dims.len() < 2 {
            continue;
        }
        let mut data = rng.integers(dims.iter().product());
        // What is left out may be anything.
        data.iter_mut().step_by(5).for_each(|v| *v = f32::INFINITY);
        let diagonal = rng.below(9) as i64 - 4;
        for (form, x) in forms(&StridedTensor::from_slice(&data, &dims).unwrap()) {
            let Tensor::Strided(x) = x else { continue };
            let (lower, upper) = (ops::tril(&x, diagonal).unwrap(), ops::triu(&x, diagonal).unwrap());
            let (lower, upper) = (elements(&lower.into()), elements(&upper.into()));
            for (i, &v) in data.iter().enumerate() {
                let at = index(&dims, i);
                let (row, column) = (at[dims.len() - 2] as i64, at[dims.len() - 1] as i64);
                let what = format!("case {case} {dims:?} {form} diagonal {diagonal} at {at:?}");
                assert_eq!(lower[i], if column <= row + diagonal { v } else { 0.0 }, "{what}");
                assert_eq!(upper[i], if column >= row + diagonal { v } else { 0.0 }, "{what}");
            }
        }
    }
}

#[test]
fn triangles_are_of_every_dtype_and_of_matrices_alone() {
    let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    for dtype in DType::ALL {
        let lower = ops::tril(&x.to_dtype(dtype).unwrap(), 0).unwrap();
        assert_eq!(lower.dtype(), dtype);
        assert_eq!(lower.to_dtype(DType::F32).unwrap().to_vec::<f32>().unwrap(), [1.0, 0.0, 3.0, 4.0]);
    }
    // Diagonals far outside.
    assert_eq!(ops::triu(&x, i64::MIN).unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(ops::triu(&x, i64::MAX).unwrap().to_vec::<f32>().unwrap(), [0.0; 4]);
    let empty = StridedTensor::from_slice::<f32>(&[], &[3, 0]).unwrap();
    assert_eq!(ops::tril(&empty, 0).unwrap().dims(), [3, 0]);
    let vector = StridedTensor::from_slice(&[1f32], &[1]).unwrap();
    let error = ops::tril(&vector, 0).unwrap_err();
    assert!(
        matches!(error, Error::RankMismatch(_)) && error.to_string().contains("reshape it to two dimensions"),
        "{error}"
    );
    let blocked = ops::tril(
        &StridedTensor::from_slice(&[0f32; 8], &[1, 8, 1, 1]).unwrap().to_blocked(&Layout::NCHW8C).unwrap(),
        0,
    );
    match blocked.unwrap_err() {
        Error::UnsupportedOp(u) => assert_eq!((u.reason, &*u.op), (Unsupported::NoKernel, "tril")),
        other => panic!("{other}"),
    }
    assert!(dispatch::call("triu", &[("x", x.into())]).is_ok());
}
