//! Linear layers of bf16 with plain weights: sums in f32, one rounding, and a packing in the ledger, as convolutions have them.

use blocktensor::dispatch::Isa;
use blocktensor::{DType, Error, MemoryFormat, StridedTensor, ledger, ops};

use crate::support::Rng;

#[test]
fn plain_weights_are_packed_on_every_call() {
    let mut rng = Rng(0x5eed_4421);
    for (leading, k, o) in [
        (&[1usize][..], 33, 17),
        (&[3], 1, 1),
        (&[2, 31], 16, 33),
        (&[17], 15, 3),
        (&[0], 31, 16),
        (&[], 64, 15),
    ] {
        let mut of = |dims: &[usize]| {
            let t = StridedTensor::from_slice(&rng.reals(dims.iter().product()), dims).unwrap();
            t.to_dtype(DType::BF16).unwrap()
        };
        let (x, w) = (of(&[leading, &[k]].concat()), of(&[o, k]));
        let wide = |t: &StridedTensor| t.to_dtype(DType::F32).unwrap();
        let (bias, residual) = (wide(&of(&[o])), of(&[leading, &[o]].concat()));
        let params = ops::Linear::new()
            .post_op(ops::PostOp::Residual)
            .post_op(ops::PostOp::Activation(ops::Activation::Relu));
        let fusion = ops::Fusion { residual: Some(&residual), channel: &[] };
        let (y, book) = ledger::record(|| ops::linear_fused(&x, &w, Some(&bias), &params, fusion));
        if !Isa::Avx512Bf16.is_here() || cfg!(not(feature = "onednn")) {
            assert!(matches!(y, Err(Error::UnsupportedDType(_))), "{y:?}");
            continue;
        }
        if let Err(e) = &y {
            // oneDNN has nothing fast for one number.
            assert!(matches!(e, Error::UnsupportedOp(_)) && (k, o) == (1, 1), "{e}");
            assert!(e.to_string().ends_with("convert it with `to_dtype(DType::F32)`"), "{e}");
            continue;
        }
        let y = y.unwrap();
        assert_eq!((y.dims(), y.dtype()), (&[leading, &[o]].concat()[..], DType::BF16));
        let packed = book.reorders.iter().filter(|r| r.op == "linear" && r.cause == ledger::Cause::Packing);
        assert_eq!(packed.count(), usize::from(y.numel() > 0), "{book}");
        let sums = ops::linear(&wide(&x), &wide(&w), Some(&bias)).unwrap();
        let want = ops::relu(&ops::add(&sums, &wide(&residual)).unwrap()).unwrap();
        assert!(y.is_contiguous(MemoryFormat::Contiguous));
        for (got, want) in wide(&y).to_vec::<f32>().unwrap().iter().zip(want.to_vec::<f32>().unwrap()) {
            // Half of a unit in the last of 8 bits, and the order of the sums.
            assert!((got - want).abs() <= want.abs() / 256.0 + 1e-5, "{got} instead of {want}");
        }
    }
}
