//! Weights packed for one image serve every batch of a strided source, in parts where the engine would want others for it.

use blocktensor::ops::{Conv2d, Fusion};
use blocktensor::{MemoryFormat, PackedConv2d, Source, StridedTensor, ledger};

use crate::support::conv::Problem;
use crate::support::{Rng, assert_close};

#[test]
fn weights_for_one_image_serve_every_batch() {
    let mut rng = Rng(31);
    let mut in_parts = 0;
    for (c, o) in [(16, 32), (128, 64), (64, 33)] {
        for (side, k) in [(4, 3), (7, 3), (7, 1), (14, 1)] {
            let dims = [5, c, side, side];
            let x = StridedTensor::from_slice(&rng.integers(dims.iter().product()), &dims).unwrap();
            let w = StridedTensor::from_slice(&rng.integers(o * c * k * k), &[o, c, k, k]).unwrap();
            let residual = [5, o, side, side];
            let residual =
                StridedTensor::from_slice(&rng.integers(residual.iter().product()), &residual).unwrap();
            let p = Problem {
                n: 5,
                c,
                o,
                groups: 1,
                input: [1, side, side],
                kernel: [1, k, k],
                stride: [1; 3],
                dilation: [1; 3],
                pad_begin: [0, k / 2, k / 2],
                pad_end: [0, k / 2, k / 2],
            };
            let (sums, _) = p.solve(&x.to_vec().unwrap(), &w.to_vec().unwrap(), None);
            let residuals = residual.to_vec::<f32>().unwrap();
            let want: Vec<f64> =
                sums.iter().zip(&residuals).map(|(y, &r)| (y + f64::from(r)).max(0.0)).collect();
            let packer = PackedConv2d::new(&w, None, Conv2d::new().padding(k / 2).residual().relu()).unwrap();
            for format in [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast] {
                let conv = packer.pack_for(&Source::strided(&[1, c, side, side], format).unwrap()).unwrap();
                for n in [2, 4, 5] {
                    let part = |t: &StridedTensor| t.narrow(0, 0, n).unwrap().contiguous(format).unwrap();
                    let (x, residual) = (part(&x), part(&residual));
                    let fused = Fusion { residual: Some(&residual), channel: &[] };
                    let (y, book) = ledger::record(|| conv.run_fused(&x, fused).unwrap());
                    let what = format!("{c} to {o}, {side}x{side}, {k}x{k}, {format}, {n} images: {conv:?}");
                    let y = y.to_vec::<f32>().unwrap();
                    assert_close(&what, &y, &want[..y.len()], |_| 0.0);
                    assert!([1, n].contains(&book.runs.len()), "{what}: {book}");
                    in_parts += usize::from(book.runs.len() > 1);
                }
            }
        }
    }
    println!("{in_parts} in parts");
}
