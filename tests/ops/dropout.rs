//! Dropout: the same mask in every layout, with the right proportion.

use blocktensor::{Error, Layout, MemoryFormat, StridedTensor, Tensor, ops};

use crate::support::Rng;
use crate::support::activation::{elements, forms, same_bits_for_all_threads, sizes};

/// An expanded tensor has more elements than memory has bytes.
#[test]
fn dropout_with_a_result_beyond_memory_is_a_typed_error() {
    let one = |dims: &[usize]| StridedTensor::full(dims, 1f32, MemoryFormat::Contiguous).unwrap();
    for e in [
        ops::dropout(&one(&[1]).expand(&[1usize << 45]).unwrap(), 0.5, 1, true).unwrap_err(),
        ops::dropout(&one(&[1, 1, 1]).expand(&[1, 1, 1usize << 45]).unwrap(), 0.5, 1, true).unwrap_err(),
        ops::feature_dropout(&one(&[1, 1]).expand(&[1usize << 45, 1]).unwrap(), 0.5, 1, true).unwrap_err(),
    ] {
        assert!(matches!(e, Error::OutOfMemory { .. }), "{e}");
    }
}

#[test]
fn dropout_mask_depends_on_seed_and_logical_index_alone() {
    let mut rng = Rng(71);
    for case in 0..150 {
        let dims = sizes(&mut rng);
        let data = rng.integers(dims.iter().product());
        let (p, seed) = (rng.pick(&[0.1, 0.5, 0.9]), case - 70);
        let scale = (1.0 / (1.0 - p)) as f32;
        let x = StridedTensor::from_slice(&data, &dims).unwrap();
        let element = elements(&ops::dropout(&x, p, seed, true).unwrap().into());
        let feature = elements(&ops::feature_dropout(&x, p, seed, true).unwrap().into());
        for y in [&element, &feature] {
            assert!(data.iter().zip(y).all(|(x, y)| *y == 0.0 || *y == x * scale));
        }
        for (form, x) in forms(&x) {
            let what = format!("case {case} {dims:?} {form}");
            assert_eq!(elements(&ops::dropout(&x, p, seed, true).unwrap()), element, "{what}");
            assert_eq!(elements(&ops::feature_dropout(&x, p, seed, true).unwrap()), feature, "{what}");
            assert_eq!(elements(&ops::dropout(&x, p, seed, false).unwrap()), data, "{what}");
            assert_eq!(elements(&ops::feature_dropout(&x, 0.0, seed, true).unwrap()), data, "{what}");
        }
    }
}

#[test]
fn dropout_drops_the_proportion_p_and_seeds_give_independent_masks() {
    let (dims, n) = ([4, 32, 32, 32], 4 * 32 * 32 * 32);
    let x = StridedTensor::from_slice(&vec![1f32; n], &dims).unwrap();
    let kept = |p: f64, seed: i64| -> Vec<bool> {
        elements(&ops::dropout(&x, p, seed, true).unwrap().into()).into_iter().map(|v| v != 0.0).collect()
    };
    for p in [0.05, 0.3, 0.5, 0.95] {
        for seed in [0, 1, 2, -1, 1 << 40] {
            let stayed = kept(p, seed).iter().filter(|&&k| k).count() as f64 / n as f64;
            // Five standard deviations.
            assert!(
                (stayed - (1.0 - p)).abs() < 5.0 * (p * (1.0 - p) / n as f64).sqrt(),
                "{p} {seed}: {stayed}"
            );
        }
    }
    // Two masks agree as often as independent ones: of two seeds, and a mask with itself moved by a pixel, a channel, an image.
    let (a, b) = (kept(0.5, 7), kept(0.5, 8));
    let moved = |by: usize| a.iter().zip(a.iter().cycle().skip(by)).filter(|(a, b)| a == b).count();
    let agree =
        [a.iter().zip(&b).filter(|(a, b)| a == b).count(), moved(1), moved(32), moved(1024), moved(32768)];
    for count in agree {
        assert!((count as f64 / n as f64 - 0.5).abs() < 5.0 * 0.5 / (n as f64).sqrt(), "{agree:?}");
    }
    assert!(elements(&ops::dropout(&x, 1.0, 3, true).unwrap().into()).iter().all(|&v| v == 0.0));
}

#[test]
fn feature_dropout_drops_whole_channels() {
    let x = StridedTensor::from_slice(&vec![1f32; 64 * 64 * 6], &[64, 64, 3, 2]).unwrap();
    let y = elements(&ops::feature_dropout(&x, 0.25, 5, true).unwrap().into());
    let dropped = y.chunks(6).filter(|c| c[0] == 0.0).count();
    assert!(y.chunks(6).all(|c| c.iter().all(|v| v == &c[0])));
    assert!((dropped as f64 / 4096.0 - 0.25).abs() < 0.035, "{dropped}");
}

#[test]
fn dropout_of_other_ranks_on_any_number_of_threads_and_with_bad_arguments() {
    let x = StridedTensor::from_slice(&[1f32; 100], &[100]).unwrap();
    let y = ops::dropout(&x, 0.5, 0, true).unwrap().to_vec::<f32>().unwrap();
    assert!(y.contains(&0.0) && y.contains(&2.0));
    assert!(ops::dropout(&x, 0.0, 0, true).unwrap().shares_storage(&x));
    for p in [-0.1, 1.1, f64::NAN] {
        let e = ops::dropout(&x, p, 0, true).unwrap_err();
        assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
    }
    let line = x.to_blocked(&"A16a".parse().unwrap()).unwrap();
    let e = ops::dropout(&line, 0.5, 0, true).unwrap_err();
    assert!(matches!(e, Error::LayoutMismatch(_)), "{e}");
    let e = ops::feature_dropout(&x, 0.5, 0, true).unwrap_err();
    assert!(matches!(e, Error::RankMismatch(_)), "{e}");
    let x = StridedTensor::from_slice(&Rng(72).reals(2 * 35 * 41 * 40), &[2, 35, 41, 40]).unwrap();
    for x in [Tensor::from(x.clone()), x.to_blocked(&Layout::NCHW8C).unwrap().into()] {
        same_bits_for_all_threads("dropout", || elements(&ops::dropout(&x, 0.3, 9, true).unwrap()));
    }
}
