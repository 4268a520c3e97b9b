//! The relations for convolutions. Elements are small integers, whose sums are exact in every order.

use blocktensor::ops::{self, Conv2d};
use blocktensor::{Error, Layout, MemoryFormat, Operand, PackedConv2d, Source, StridedTensor, Tensor};

use super::{part, poisoned, pool, renamed, strided};
use crate::support::Rng;
use crate::support::activation::elements;

fn integers(rng: &mut Rng, dims: &[usize]) -> StridedTensor {
    StridedTensor::from_slice(&rng.integers(dims.iter().product()), dims).unwrap()
}

/// The same activation for each key and format that convolutions have kernels for.
fn forms(x: &StridedTensor) -> [Tensor; 4] {
    let last = x.contiguous(MemoryFormat::ChannelsLast).unwrap();
    let blocked = |b| Tensor::from(x.to_blocked(&Layout::blocked_activation(4, b).unwrap()).unwrap());
    [x.clone().into(), last.into(), blocked(16), blocked(8)]
}

#[test]
fn convolutions_satisfy_every_metamorphic_relation() {
    let mut rng = Rng(21);
    for case in 0..200 {
        let (mut c, mut o, groups) = match rng.below(4) {
            0 => {
                let c = rng.pick(&[3, 16, 17, 32]);
                (c, c, c)
            }
            1 => (32, 48, 2),
            _ => (rng.pick(&[1, 3, 15, 16, 17, 31, 33]), rng.pick(&[1, 3, 15, 16, 17, 31, 33]), 1),
        };
        if rng.below(20) == 0 && groups == 1 {
            (c, o) = (64, 96);
        }
        let kernel = [1 + rng.below(3), 1 + rng.below(3)];
        let dims = [1 + rng.below(3), c, kernel[0] + rng.below(7), kernel[1] + rng.below(9)];
        let params =
            Conv2d::new().strides([1 + rng.below(2), 1 + rng.below(3)]).padding(rng.below(2)).groups(groups);
        let x = integers(&mut rng, &dims);
        let w = integers(&mut rng, &[o, c / groups, kernel[0], kernel[1]]);
        let bias = integers(&mut rng, &[o]);
        let want = ops::conv2d(&x, &w, Some(&bias), &params).unwrap();
        let want = Tensor::from(want);
        let what = |more: &str| format!("case {case}: {dims:?} {:?} in {groups} groups: {more}", w.dims());
        let packer = PackedConv2d::new(&w, Some(&bias), params.clone()).unwrap();
        for (f, form) in forms(&x).into_iter().enumerate() {
            let conv = packer.pack_for(&Source::of(&form).unwrap()).unwrap();
            let y = conv.run(&form).unwrap();
            assert_eq!(elements(&y), elements(&want), "{}", what(&format!("form {f}")));
            // A batch may be split: other batches run on the same packed weights.
            let n = rng.below(dims[0]);
            let image = part(&form, 0, n, 1);
            let one = match conv.run(&image) {
                Ok(one) => one,
                // The engine may need other weights for one image; then it is an error that says so.
                Err(Error::PackMismatch(_)) => {
                    packer.pack_for(&Source::of(&image).unwrap()).unwrap().run(&image).unwrap()
                }
                Err(e) => panic!("{}", what(&e.to_string())),
            };
            assert_eq!(elements(&one), elements(&part(&y, 0, n, 1)), "{}", what("one image"));
            // Threads.
            for threads in 1..=3 {
                let again = pool(threads).install(|| {
                    let conv = packer.pack_for(&Source::of(&form).unwrap()).unwrap();
                    elements(&blocktensor::run(|| conv.run(&form)).unwrap())
                });
                assert!(again == elements(&want), "{}", what(&format!("{threads} threads")));
            }
        }
        // Input channels may be permuted together with those of the weights, and output channels together with the bias.
        if groups == 1 {
            let mut order: Vec<usize> = (0..c).collect();
            (1..c).rev().for_each(|i| order.swap(i, rng.below(i + 1)));
            let turned = PackedConv2d::new(&renamed(&w, &order), Some(&bias), params.clone()).unwrap();
            for form in forms(&renamed(&x, &order)) {
                let y = turned.pack_for(&Source::of(&form).unwrap()).unwrap().run(&form).unwrap();
                assert_eq!(elements(&y), elements(&want), "{}", what("input channels renamed"));
            }
            let mut order: Vec<usize> = (0..o).collect();
            (1..o).rev().for_each(|i| order.swap(i, rng.below(i + 1)));
            let swap =
                |t: &StridedTensor| t.transpose(0, 1).unwrap().contiguous(MemoryFormat::Contiguous).unwrap();
            let outs = swap(&renamed(&swap(&w), &order));
            let b = bias.to_vec::<f32>().unwrap();
            let b: Vec<f32> = order.iter().map(|&o| b[o]).collect();
            let b = StridedTensor::from_slice(&b, &[o]).unwrap();
            let turned = PackedConv2d::new(&outs, Some(&b), params.clone()).unwrap();
            let expected = elements(&renamed(&strided(&want), &order).into());
            for form in forms(&x) {
                let y = turned.pack_for(&Source::of(&form).unwrap()).unwrap().run(&form).unwrap();
                assert_eq!(elements(&y), expected, "{}", what("output channels renamed"));
            }
        }
        // The channels outside of the view are NaN.
        for view in poisoned(&x) {
            let y = ops::conv2d(&view, &w, Some(&bias), &params).unwrap();
            assert_eq!(elements(&y.into()), elements(&want), "{}", what("a view amid NaN"));
            let blocked = Tensor::from(view.to_blocked(&Layout::native().0).unwrap());
            let y = packer.pack_for(&Source::of(&blocked).unwrap()).unwrap().run(&blocked).unwrap();
            assert_eq!(y.tensor_ref().key(), blocked.tensor_ref().key());
            assert_eq!(elements(&y), elements(&want), "{}", what("blocks from amid NaN"));
        }
    }
}
