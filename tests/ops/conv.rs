//! Convolution on every key against loops from the definition.

use blocktensor::ops::{self, Conv2d};
use blocktensor::{Error, Layout, MemoryFormat, PackedConv2d, Source, StridedTensor, ledger};

use crate::support::conv::Problem;
use crate::support::{Rng, assert_close};

/// A random 2-D problem; sizes that meet channel tails, one-pixel images, padding beyond the kernel.
fn problem(rng: &mut Rng) -> Problem {
    let channels = [1, 3, 15, 16, 17, 31, 32, 33];
    let (mut c, mut o, groups) = match rng.below(4) {
        0 => {
            let c = rng.pick(&channels);
            (c, c, c)
        }
        1 => (32 * rng.pick(&[1, 2]), 32 * rng.pick(&[1, 2]), 2),
        _ => (rng.pick(&channels), rng.pick(&channels), 1),
    };
    if rng.below(8) == 0 && groups == 1 {
        (c, o) = (c + 16, o + 16);
    }
    let kernel: [usize; 3] = [1, rng.pick(&[1, 2, 3, 5]), rng.pick(&[1, 3, 4])];
    let dilation: [usize; 3] = [1, rng.pick(&[1, 1, 2]), rng.pick(&[1, 1, 3])];
    let pad_begin = [0, rng.below(3), rng.below(3)];
    let pad_end = [0, rng.below(3), rng.below(4)];
    let reach = |a: usize| -> usize { dilation[a] * (kernel[a] - 1) + 1 };
    let size = |rng: &mut Rng, a: usize| {
        reach(a).saturating_sub(pad_begin[a] + pad_end[a]).max(1) + rng.pick(&[0, 0, 1, 4, 9])
    };
    let input = [1, size(rng, 1), size(rng, 2)];
    let stride = [1, rng.pick(&[1, 1, 2, 3]), rng.pick(&[1, 2])];
    Problem { n: rng.pick(&[1, 1, 2, 3]), c, o, groups, input, kernel, stride, dilation, pad_begin, pad_end }
}

fn params(p: &Problem) -> Conv2d {
    Conv2d::new()
        .strides([p.stride[1], p.stride[2]])
        .dilations([p.dilation[1], p.dilation[2]])
        .paddings([p.pad_begin[1], p.pad_begin[2]], [p.pad_end[1], p.pad_end[2]])
        .groups(p.groups)
}

#[test]
fn integers_are_exact_on_every_key_and_packed() {
    let mut rng = Rng(1);
    let (mut blocked_ran, mut refused) = (0, 0);
    for case in 0..300 {
        let p = problem(&mut rng);
        let cg = p.c / p.groups;
        let x = rng.integers(p.n * p.c * p.input.iter().product::<usize>());
        let w = rng.integers(p.o * cg * p.kernel.iter().product::<usize>());
        let b = rng.integers(p.o);
        let (want, _) = p.solve(&x, &w, Some(&b));
        let x = StridedTensor::from_slice(&x, &[p.n, p.c, p.input[1], p.input[2]]).unwrap();
        let w = StridedTensor::from_slice(&w, &[p.o, cg, p.kernel[1], p.kernel[2]]).unwrap();
        let b = StridedTensor::from_slice(&b, &[p.o]).unwrap();
        let conv = params(&p);
        let check = |what: &str, y: &StridedTensor| {
            assert_close(&format!("case {case} {what} {p:?}"), &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
        };
        check("nchw", &ops::conv2d(&x, &w, Some(&b), &conv).unwrap());
        let nhwc = x.contiguous(MemoryFormat::ChannelsLast).unwrap();
        check("nhwc", &ops::conv2d(&nhwc, &w, Some(&b), &conv).unwrap());
        let packer = PackedConv2d::new(&w, Some(&b), conv.clone()).unwrap();
        let packed = packer.pack_for(&Source::of(&nhwc).unwrap()).unwrap();
        check("packed nhwc", &packed.run(&nhwc).unwrap());
        let (act, _) = Layout::native();
        let xb = x.to_blocked(&act).unwrap();
        match packer.pack_for(&Source::of(&xb).unwrap()) {
            Ok(packed) => {
                let (y, ledger) = ledger::record(|| packed.run(&xb).unwrap());
                assert!(ledger.reorders.is_empty(), "{ledger}");
                y.check_tail().unwrap();
                check("packed blocked", &y.to_strided(MemoryFormat::Contiguous).unwrap());
                blocked_ran += 1;
            }
            Err(e) => {
                assert!(matches!(e, Error::UnsupportedOp(_)), "{e}");
                refused += 1;
            }
        }
        if p.groups == 1 && cg >= 16 {
            let wb = w.to_blocked(&Layout::native().1).unwrap();
            match ops::conv2d(&xb, &wb, Some(&b), &conv) {
                Ok(y) => {
                    y.check_tail().unwrap();
                    check("blocked", &y.to_strided(MemoryFormat::ChannelsLast).unwrap());
                }
                Err(e) => assert!(matches!(e, Error::UnsupportedOp(_)), "{e}"),
            }
        }
    }
    println!("{blocked_ran} of 300 problems ran blocked, {refused} were refused");
}
