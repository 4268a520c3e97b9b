//! Convolutions whose post-ops multiply each channel by a number and add another: results of every shape, most of them with
//! sizes of 1, depthwise and dense, under every key and packed. The vectors are the first and the last part of one storage, so a
//! read past them gives wrong numbers or leaves the memory.

use blocktensor::ops::{self, Fusion, PostOp};
use blocktensor::{MemoryFormat, PackedConv2d, PackedConv3d, Source, StridedTensor};

use super::conv::{Data, conv2d, conv3d, problem};
use crate::support::conv::Problem;
use crate::support::{Rng, assert_close};

/// A random problem whose result often has sizes of 1.
fn small(rng: &mut Rng, spatial: usize) -> Problem {
    let mut p = problem(rng, spatial);
    for a in 3 - spatial..3 {
        let size = rng.pick(&[1, 1, 2, 5]);
        let reach = p.dilation[a] * (p.kernel[a] - 1) + 1;
        (p.pad_begin[a], p.pad_end[a]) = (0, 0);
        p.input[a] = reach + (size - 1) * p.stride[a];
    }
    p
}

macro_rules! in_every_format {
    ($spatial:literal, $fused:path, $packed:ident, $params:expr, $cases:literal) => {{
        let mut rng = Rng(40 + $spatial);
        for case in 0..$cases {
            let p = small(&mut rng, $spatial);
            let data = Data::new(&p, $spatial, |n| rng.integers(n));
            let numbers = rng.integers(3 * p.o);
            let all = StridedTensor::from_slice(&numbers, &[3, p.o]).unwrap();
            let [mul, add] = [0, 2].map(|row| all.select(0, row).unwrap());
            let pixels = p.output().iter().product::<usize>();
            let of = |i: usize| {
                let c = i / pixels % p.o;
                (data.want[i] * f64::from(numbers[c]) + f64::from(numbers[2 * p.o + c])).max(0.0)
            };
            let want: Vec<f64> = (0..data.want.len()).map(of).collect();
            let channel = [&mul, &add];
            let fusion = Fusion { residual: None, channel: &channel };
            let params = $params(&p).post_op(PostOp::MulChannel).post_op(PostOp::AddChannel).relu();
            let check = |what: &str, y: &StridedTensor| {
                let what = format!("case {case} {what} {p:?}");
                assert_close(&what, &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
            };
            let packer = $packed::new(&data.w, Some(&data.b), params.clone()).unwrap();
            let last = MemoryFormat::channels_last_of($spatial + 2).unwrap();
            for format in [MemoryFormat::Contiguous, last] {
                let x = data.x.contiguous(format).unwrap();
                let y = $fused(&x, &data.w, Some(&data.b), &params, fusion).unwrap();
                check(&format!("{format}"), &y);
                let packed = packer.pack_for(&Source::strided(x.dims(), format).unwrap()).unwrap();
                check(&format!("packed {format}"), &packed.run_fused(&x, fusion).unwrap());
            }
            for layout in [16, 8].map(|b| blocktensor::Layout::blocked_activation($spatial + 2, b).unwrap()) {
                let x = data.x.to_blocked(&layout).unwrap();
                let packed = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
                let y = packed.run_fused(&x, Fusion { residual: None, channel: &channel }).unwrap();
                y.check_tail().unwrap();
                check(&format!("packed {layout}"), &y.to_strided(MemoryFormat::Contiguous).unwrap());
            }
        }
    }};
}

#[test]
fn conv2d_with_a_scale_and_a_shift_per_channel_is_exact_for_sizes_of_one() {
    in_every_format!(2, ops::conv2d_fused, PackedConv2d, conv2d, 400);
}

#[test]
fn conv3d_with_a_scale_and_a_shift_per_channel_is_exact_for_sizes_of_one() {
    in_every_format!(3, ops::conv3d_fused, PackedConv3d, conv3d, 150);
}
