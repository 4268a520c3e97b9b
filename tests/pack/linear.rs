//! Linear layers, packed and not, against f64 loops from the definition.

use blocktensor::dispatch::Isa;
use blocktensor::{DType, Error, MemoryFormat, PackedLinear, StridedTensor, ledger, ops};

use crate::support::{Rng, assert_close};

fn problem(
    rng: &mut Rng,
    rows: usize,
    k: usize,
    o: usize,
) -> (StridedTensor, StridedTensor, StridedTensor, Vec<f64>) {
    let (x, w, b) = (rng.integers(rows * k), rng.integers(o * k), rng.integers(o));
    let mut want = Vec::new();
    for r in 0..rows {
        for j in 0..o {
            let sum: f64 = (0..k).map(|i| f64::from(x[r * k + i]) * f64::from(w[j * k + i])).sum();
            want.push(sum + f64::from(b[j]));
        }
    }
    let t = |v: &[f32], d: &[usize]| StridedTensor::from_slice(v, d).unwrap();
    (t(&x, &[rows, k]), t(&w, &[o, k]), t(&b, &[o]), want)
}

#[test]
fn linear_of_integers_is_exact_packed_and_not() {
    let mut rng = Rng(3);
    for (rows, k, o) in
        [(1, 1, 1), (1, 33, 10), (3, 16, 17), (2, 100, 31), (17, 5, 64), (0, 4, 3), (2, 0, 3), (130, 7, 300)]
    {
        let (x, w, b, want) = problem(&mut rng, rows, k, o);
        let y = ops::linear(&x, &w, Some(&b)).unwrap();
        assert_close(&format!("{rows} {k} {o}"), &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
        // Weights as a transposed view.
        let turned = w.transpose(0, 1).unwrap().contiguous(blocktensor::MemoryFormat::Contiguous).unwrap();
        let y = ops::linear(&x, &turned.transpose(0, 1).unwrap(), Some(&b)).unwrap();
        assert_close(&format!("view {rows} {k} {o}"), &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
        let layer = PackedLinear::new(&w, Some(&b), rows).unwrap();
        let (y, book) = ledger::record(|| layer.run(&x).unwrap());
        assert!(book.reorders.is_empty(), "{book}");
        assert_close(&format!("packed {rows} {k} {o}"), &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
        assert!(layer.bytes() >= 4 * (o * k + o));
    }
}

#[test]
fn packed_linear_runs_any_number_of_rows() {
    let mut rng = Rng(4);
    let (_, w, b, _) = problem(&mut rng, 1, 64, 48);
    for packed_for in [1, 8] {
        let layer = PackedLinear::new(&w, Some(&b), packed_for).unwrap();
        assert_eq!(layer.implementation() == "blocktensor:gemv", packed_for == 1);
        for rows in [1, 2, 5, 16, 2, 1] {
            let x = StridedTensor::from_slice(&rng.integers(rows * 64), &[rows, 64]).unwrap();
            let want = ops::linear(&x, &w, Some(&b)).unwrap().to_vec::<f32>().unwrap();
            assert_eq!(layer.run(&x).unwrap().to_vec::<f32>().unwrap(), want);
        }
    }
}

/// Views whose storage ends within their last row, that step over elements, and that repeat elements.
#[test]
fn packed_linear_takes_weights_of_any_strides() {
    let mut rng = Rng(5);
    let whole = StridedTensor::from_slice(&rng.integers(6 * 20), &[6, 20]).unwrap();
    let x = StridedTensor::from_slice(&rng.integers(3 * 7), &[3, 7]).unwrap();
    let one = whole.narrow(0, 5, 1).unwrap().narrow(1, 13, 7).unwrap();
    for w in [
        whole.narrow(1, 13, 7).unwrap(),
        whole.slice(1, 7, 20, 2).unwrap(),
        // The last step of a row ends within the next row; rows are interleaved.
        whole.as_strided(&[6, 7], &[13, 2], 0).unwrap(),
        whole.as_strided(&[6, 7], &[1, 6], 3).unwrap(),
        whole.as_strided(&[6, 7], &[7, 8], 2).unwrap(),
        one.expand(&[6, 7]).unwrap(),
        whole.as_strided(&[6, 7], &[1, 1], 108).unwrap(),
        whole.as_strided(&[6, 7], &[7, 0], 70).unwrap(),
    ] {
        let at = |t: &StridedTensor, i, j| f64::from(t.get::<f32>(&[i, j]).unwrap());
        let dot = |r, o| (0..7).map(|k| at(&x, r, k) * at(&w, o, k)).sum::<f64>();
        let want: Vec<f64> = (0..18).map(|i| dot(i / 6, i % 6)).collect();
        let y = ops::linear(&x, &w, None).unwrap().to_vec::<f32>().unwrap();
        assert_close(&format!("{w:?}"), &y, &want, |_| 0.0);
        for rows in [3, 9] {
            let y = PackedLinear::new(&w, None, rows).unwrap().run(&x).unwrap().to_vec::<f32>().unwrap();
            assert_close(&format!("packed {w:?}"), &y, &want, |_| 0.0);
        }
    }
}

#[test]
fn linear_names_operands_that_do_not_fit() {
    let t = |d: &[usize]| {
        StridedTensor::zeros(d, blocktensor::DType::F32, blocktensor::MemoryFormat::Contiguous).unwrap()
    };
    let layer = PackedLinear::new(&t(&[4, 8]), None, 2).unwrap();
    let e = layer.run(&t(&[2, 7])).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)) && e.to_string().contains("8 inputs"), "{e}");
    let e = layer.run(&t(&[8, 2]).transpose(0, 1).unwrap()).unwrap_err();
    assert!(matches!(e, Error::LayoutMismatch(_)) && e.to_string().contains("contiguous"), "{e}");
    let e = PackedLinear::new(&t(&[4, 8]), Some(&t(&[5])), 2).map(|_| ()).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)) && e.to_string().contains("bias"), "{e}");
    let e = PackedLinear::new(&t(&[4]), None, 2).map(|_| ()).unwrap_err();
    assert!(matches!(e, Error::RankMismatch(_)), "{e}");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(7).build().unwrap();
    let e = pool.install(|| layer.run(&t(&[2, 8]))).unwrap_err();
    assert!(matches!(e, Error::PackMismatch(_)) && e.to_string().contains("7 threads"), "{e}");
}

#[test]
fn packed_linear_of_a_matrix_agrees_with_matmul() {
    let data = |n: usize| (0..n).map(|i| (i * 7 % 11) as f32 - 5.0).collect::<Vec<_>>();
    let (a, b) = (data(6 * 5), data(5 * 17));
    let x = StridedTensor::from_slice(&a, &[2, 3, 5]).unwrap();
    let packed = PackedLinear::of_matrix(&StridedTensor::from_slice(&b, &[5, 17]).unwrap(), 6).unwrap();
    let y = packed.run(&x).unwrap();
    assert_eq!(y.dims(), [2, 3, 17]);
    let want: Vec<f32> =
        (0..6 * 17).map(|i| (0..5).map(|k| a[i / 17 * 5 + k] * b[k * 17 + i % 17]).sum()).collect();
    assert_eq!(y.to_vec::<f32>().unwrap(), want);
    let w = StridedTensor::from_slice(&b, &[17, 5]).unwrap();
    let e = PackedLinear::new(&w, None, usize::MAX).unwrap_err();
    assert!(matches!(e, blocktensor::Error::Overflow(_)) && e.to_string().contains("`rows`"), "{e}");
    let e = PackedLinear::of_matrix(&x, 6).unwrap_err();
    assert!(matches!(e, blocktensor::Error::RankMismatch(_)) && e.to_string().contains("[K, N]"), "{e}");
}

#[test]
fn packed_linear_in_bf16_agrees_with_f64_loops() {
    let mut rng = Rng(6);
    let (mut ran, mut refused) = (0, 0);
    for (rows, k, o) in [
        (1, 1, 1),
        (1, 33, 10),
        (2, 16, 17),
        (3, 15, 31),
        (4, 257, 33),
        (5, 64, 16),
        (17, 31, 3),
        (40, 100, 65),
        (0, 4, 3),
    ] {
        let numbers = |rng: &mut Rng, dims: &[usize]| {
            let data = rng.reals(dims.iter().product());
            StridedTensor::from_slice(&data, dims).unwrap().to_dtype(DType::BF16).unwrap()
        };
        let (x, w) = (numbers(&mut rng, &[rows, k]), numbers(&mut rng, &[o, k]));
        let bias = StridedTensor::from_slice(&rng.reals(o), &[o]).unwrap();
        let wide = |t: &StridedTensor| t.to_dtype(DType::F32).unwrap().to_vec::<f32>().unwrap();
        let (xs, ws, bs) = (wide(&x), wide(&w), wide(&bias));
        for packed_for in [rows, 1, 8] {
            let what = format!("{rows} {k} {o}, packed for {packed_for}");
            let pack = |w: &StridedTensor| PackedLinear::for_dtype(w, Some(&bias), packed_for, DType::BF16);
            let layer = match pack(&w) {
                Ok(layer) => layer,
                Err(e @ Error::UnsupportedDType(_)) => {
                    assert!(e.to_string().contains("pack for an f32 source"), "{e}");
                    refused += 1;
                    continue;
                }
                Err(e) => panic!("{what}: {e}"),
            };
            let y = layer.run(&x).unwrap();
            assert_eq!((y.dtype(), y.dims()), (DType::BF16, &[rows, o][..]), "{what}");
            for (i, got) in wide(&y).into_iter().enumerate() {
                let pairs = || xs[i / o * k..][..k].iter().zip(&ws[i % o * k..][..k]);
                let product = |(a, b): (&f32, &f32)| f64::from(*a) * f64::from(*b);
                let want = pairs().map(product).sum::<f64>() + f64::from(bs[i % o]);
                let size = pairs().map(product).map(f64::abs).sum::<f64>() + f64::from(bs[i % o]).abs();
                // Half a unit of bf16's last place, and what sums in f32 may lose.
                let limit = want.abs() / 256.0 + 2e-6 * size;
                assert!((f64::from(got) - want).abs() <= limit, "{what}, element {i}: {got}, not {want}");
            }
            // The same weights in f32 give the same bits, and come back.
            let again = pack(&w.to_dtype(DType::F32).unwrap()).unwrap();
            assert_eq!(wide(&again.run(&x).unwrap()), wide(&y), "{what}");
            let plain = layer.unpack_weights().unwrap();
            assert_eq!((plain.dtype(), wide(&plain)), (DType::F32, wide(&w)), "{what}");
            let e = layer.run(&x.to_dtype(DType::F32).unwrap()).unwrap_err();
            assert!(
                matches!(e, Error::UnsupportedDType(_)) && e.to_string().contains("to_dtype(DType::BF16)"),
                "{e}"
            );
            ran += 1;
        }
    }
    let has = Isa::Avx512Bf16.is_here() && cfg!(feature = "onednn");
    assert_eq!(if has { (ran, refused) } else { (refused, ran) }, (27, 0));
    if has {
        let w = StridedTensor::zeros(&[256, 256], DType::F32, MemoryFormat::Contiguous).unwrap();
        let bytes = |dtype| PackedLinear::for_dtype(&w, None, 8, dtype).unwrap().bytes();
        assert_eq!(2 * bytes(DType::BF16), bytes(DType::F32));
    }
    let none = StridedTensor::zeros(&[3, 0], DType::BF16, MemoryFormat::Contiguous).unwrap();
    let e = PackedLinear::for_dtype(&none, None, 2, DType::BF16).unwrap_err();
    assert!(matches!(e, Error::UnsupportedDType(_)), "{e}");
}
