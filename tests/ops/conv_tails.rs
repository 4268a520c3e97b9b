//! Convolutions that kernels of an engine are known to get wrong: channel tails beside infinities and NaN and after every
//! post-op, operands that end at the end of their memory, and the largest number of operands.

use blocktensor::ops::{self, Activation, Conv2d, Fusion, PostOp};
use blocktensor::{Layout, MemoryFormat, PackedConv2d, Source, StridedTensor};

use super::conv::{Data, conv2d, problem};
use crate::support::conv::Problem;
use crate::support::{Rng, assert_close};

fn blocks() -> [Layout; 2] {
    [16, 8].map(|b| Layout::blocked_activation(4, b).unwrap())
}

/// The weights of padding lanes are zero, and zero times infinity is NaN.
#[test]
fn conv2d_tail_stays_zero_beside_infinities_and_nan() {
    let mut rng = Rng(71);
    for case in 0..120 {
        let p = problem(&mut rng, 2);
        let special = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        let (mut operand, at) = (0, rng.below(1000));
        let data = Data::new(&p, 2, |n| {
            let mut v = rng.integers(n);
            if operand == 0 {
                v[at % n] = special[at % 3];
            }
            operand += 1;
            v
        });
        let clamped: Vec<f64> =
            data.want.iter().map(|v| if v.is_nan() { *v } else { v.clamp(-1.0, 1.0) }).collect();
        let pixels = p.output().iter().product::<usize>();
        let sum =
            |i: usize| (0..p.o).map(|c| clamped[(i / pixels * p.o + c) * pixels + i % pixels]).sum::<f64>();
        let sums: Vec<f64> = (0..p.n * pixels).map(sum).collect();
        let ones = StridedTensor::full(&[1, p.o, 1, 1], 1f32, MemoryFormat::Contiguous).unwrap();
        for layout in blocks() {
            let what = format!("case {case} {layout} {p:?}");
            let x = data.x.to_blocked(&layout).unwrap();
            let packer = PackedConv2d::new(&data.w, Some(&data.b), conv2d(&p)).unwrap();
            let y = packer.pack_for(&Source::of(&x).unwrap()).unwrap().run(&x).unwrap();
            y.check_tail().unwrap_or_else(|e| panic!("{what}: {e}"));
            let plain = y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
            assert_close(&what, &plain, &data.want, |_| 0.0);
            let y = ops::clamp(&y, -1.0, 1.0).unwrap();
            let next = PackedConv2d::new(&ones, None, Conv2d::new()).unwrap();
            let z = next.pack_for(&Source::of(&y).unwrap()).unwrap().run(&y).unwrap();
            let z = z.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
            assert_close(&format!("{what}, and the next"), &z, &sums, |_| 0.0);
        }
    }
}

fn operands(op: PostOp) -> usize {
    usize::from(matches!(op, PostOp::MulChannel | PostOp::Prelu))
}

#[test]
fn conv2d_tail_stays_zero_after_every_post_op() {
    let mut rng = Rng(72);
    let functions = [
        Activation::LeakyRelu(-0.5),
        Activation::LeakyRelu(-0.0),
        Activation::LeakyRelu(f32::INFINITY),
        Activation::Clip(-0.0, 6.0),
        Activation::Clip(-4.0, -0.0),
        Activation::Clip(1.0, 2.0),
        Activation::Sigmoid,
        Activation::HardSwish,
        Activation::HardSigmoid,
        Activation::Gelu,
    ];
    for (i, f) in functions.into_iter().enumerate() {
        for before in
            [None, Some(PostOp::Activation(Activation::Tanh)), Some(PostOp::MulChannel), Some(PostOp::Prelu)]
        {
            let p =
                Problem { groups: 1, c: [16, 3, 17][i % 3], o: [5, 17, 20][i % 3], ..problem(&mut rng, 2) };
            let data = Data::new(&p, 2, |n| rng.integers(n));
            let numbers = StridedTensor::from_slice(&rng.integers(p.o), &[p.o]).unwrap();
            let channel = [&numbers];
            let fusion = Fusion { residual: None, channel: &channel[..before.map_or(0, operands)] };
            let params = before.into_iter().fold(conv2d(&p), Conv2d::post_op).activation(f);
            for layout in blocks() {
                let x = data.x.to_blocked(&layout).unwrap();
                let packer = PackedConv2d::new(&data.w, Some(&data.b), params.clone()).unwrap();
                let packed = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
                let y = packed.run_fused(&x, fusion).unwrap();
                y.check_tail().unwrap_or_else(|e| panic!("{before:?} {f:?} {layout} {p:?}: {e}"));
            }
        }
    }
}

/// A kernel that reads blocks of 8 as vectors of 16 would read past the last of 64 numbers, or past a residual. Both fill
/// their memory to the end.
#[test]
fn conv2d_post_ops_do_not_read_past_the_end_of_their_operands() {
    let mut rng = Rng(73);
    for (kernel, pad) in [([1, 2, 1], [0, 1, 0]), ([1, 3, 3], [0, 1, 1]), ([1, 1, 2], [0; 3])] {
        let p = Problem { groups: 4, ..Problem::new([1, 32, 64], [1, 3, 3], kernel).padded(pad) };
        let data = Data::new(&p, 2, |n| rng.integers(n));
        let [mul, add, residual] = [64, 64, data.want.len()].map(|n| rng.integers(n));
        let [_, h, w] = p.output();
        let of = |i: usize| {
            let c = i / (h * w) % 64;
            (data.want[i] + f64::from(residual[i])) * f64::from(mul[c]) + f64::from(add[c])
        };
        let want: Vec<f64> = (0..data.want.len()).map(of).collect();
        let [mul, add] = [mul, add].map(|v| StridedTensor::from_slice(&v, &[64]).unwrap());
        let residual = StridedTensor::from_slice(&residual, &[1, 64, h, w]).unwrap();
        let channel = [&mul, &add];
        let params = conv2d(&p).residual().post_op(PostOp::MulChannel).post_op(PostOp::AddChannel);
        for layout in blocks() {
            let x = data.x.to_blocked(&layout).unwrap();
            let packer = PackedConv2d::new(&data.w, Some(&data.b), params.clone()).unwrap();
            let packed = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
            let residual = residual.to_blocked(&layout).unwrap();
            let y = packed.run_fused(&x, Fusion { residual: Some(&residual), channel: &channel }).unwrap();
            let y = y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
            assert_close(&format!("{layout} {p:?}"), &y, &want, |_| 0.0);
        }
    }
}

#[test]
fn conv2d_takes_a_bias_and_eight_post_ops_with_operands() {
    let mut rng = Rng(74);
    for kernel in [1, 3] {
        let p = Problem::new([2, 32, 32], [1, 5, 4], [1, kernel, kernel]).padded([0, kernel / 2, kernel / 2]);
        let data = Data::new(&p, 2, |n| rng.integers(n));
        let residual = rng.integers(data.want.len());
        let numbers: Vec<Vec<f32>> = (0..7).map(|_| rng.integers(32)).collect();
        let of = |i: usize| {
            let added: f32 = numbers.iter().map(|n| n[i / 20 % 32]).sum();
            data.want[i] + f64::from(residual[i] + added)
        };
        let want: Vec<f64> = (0..data.want.len()).map(of).collect();
        let residual = StridedTensor::from_slice(&residual, &[2, 32, 5, 4]).unwrap();
        let numbers: Vec<_> = numbers.iter().map(|n| StridedTensor::from_slice(n, &[32]).unwrap()).collect();
        let channel: Vec<&StridedTensor> = numbers.iter().collect();
        let params = channel.iter().fold(conv2d(&p).residual(), |p, _| p.post_op(PostOp::AddChannel));
        let packer = PackedConv2d::new(&data.w, Some(&data.b), params.clone()).unwrap();
        for format in [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast] {
            let (x, r) = (data.x.contiguous(format).unwrap(), residual.contiguous(format).unwrap());
            let fusion = Fusion { residual: Some(&r), channel: &channel };
            let y = ops::conv2d_fused(&x, &data.w, Some(&data.b), &params, fusion).unwrap();
            assert_close(&format!("{format}"), &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
            let packed = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
            let y = packed.run_fused(&x, fusion).unwrap();
            assert_close(&format!("packed {format}"), &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
        }
        for layout in blocks() {
            let (x, r) = (data.x.to_blocked(&layout).unwrap(), residual.to_blocked(&layout).unwrap());
            let packed = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
            let y = packed.run_fused(&x, Fusion { residual: Some(&r), channel: &channel }).unwrap();
            let y = y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
            assert_close(&format!("packed {layout}"), &y, &want, |_| 0.0);
        }
    }
}
