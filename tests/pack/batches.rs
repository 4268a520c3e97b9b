//! Weights packed for one batch run others. If the engine would need other weights for a batch, the batch is split.

use blocktensor::ops::{Conv2d, Fusion};
use blocktensor::{Error, MemoryFormat, PackedConv2d, Source, StridedTensor, ledger};

use crate::support::conv::Problem;
use crate::support::{Rng, assert_close};

const IMAGES: usize = 8;

/// Runs each batch up to eight on weights packed for `packed_for` images. The result must be right; a batch that `packed_for`
/// does not divide may be refused. Returns how many batches were split and how many were refused.
fn every_batch(packed_for: usize) -> (usize, usize) {
    let mut rng = Rng(31);
    let (mut in_parts, mut refused) = (0, 0);
    for (c, o) in [(16, 32), (128, 64), (64, 33)] {
        for (side, k) in [(4, 3), (7, 3), (7, 1), (14, 1)] {
            let dims = [IMAGES, c, side, side];
            let x = StridedTensor::from_slice(&rng.integers(dims.iter().product()), &dims).unwrap();
            let w = StridedTensor::from_slice(&rng.integers(o * c * k * k), &[o, c, k, k]).unwrap();
            let residual = [IMAGES, o, side, side];
            let residual =
                StridedTensor::from_slice(&rng.integers(residual.iter().product()), &residual).unwrap();
            let p = Problem::new([IMAGES, c, o], [1, side, side], [1, k, k]).padded([0, k / 2, k / 2]);
            let (sums, _) = p.solve(&x.to_vec().unwrap(), &w.to_vec().unwrap(), None);
            let residuals = residual.to_vec::<f32>().unwrap();
            let want: Vec<f64> =
                sums.iter().zip(&residuals).map(|(y, &r)| (y + f64::from(r)).max(0.0)).collect();
            let packer = PackedConv2d::new(&w, None, Conv2d::new().padding(k / 2).residual().relu()).unwrap();
            for format in [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast] {
                let source = |n| Source::strided(&[n, c, side, side], format).unwrap();
                let conv = packer.pack_for(&source(packed_for)).unwrap();
                for n in 1..=IMAGES {
                    let part = |t: &StridedTensor| t.narrow(0, 0, n).unwrap().contiguous(format).unwrap();
                    let (x, residual) = (part(&x), part(&residual));
                    let fused = Fusion { residual: Some(&residual), channel: &[] };
                    let what = format!("{c} to {o}, {side}x{side}, {k}x{k}, {format}, {n} images: {conv:?}");
                    let (result, book) = ledger::record(|| conv.run_fused(&x, fused));
                    let y = match result {
                        Ok(y) => y,
                        Err(Error::PackMismatch(_)) if n % packed_for != 0 => {
                            refused += 1;
                            // Follow the remedy of the error.
                            let for_one = packer.pack_for(&source(1)).unwrap();
                            for_one.run_fused(&x, fused).unwrap()
                        }
                        Err(e) => panic!("{what}: {e}"),
                    };
                    let y = y.to_vec::<f32>().unwrap();
                    assert_close(&what, &y, &want[..y.len()], |_| 0.0);
                    assert!([0, 1, n, n / packed_for].contains(&book.runs.len()), "{what}: {book}");
                    in_parts += usize::from(book.runs.len() > 1);
                }
            }
        }
    }
    (in_parts, refused)
}

#[test]
fn packed_conv_for_one_image_runs_every_batch() {
    let (in_parts, refused) = every_batch(1);
    assert_eq!(refused, 0);
    println!("{in_parts} in parts");
}

#[test]
fn packed_conv_for_three_images_runs_other_batches_or_gives_a_remedy() {
    let (in_parts, refused) = every_batch(3);
    println!("{in_parts} in parts, {refused} refused");
}
