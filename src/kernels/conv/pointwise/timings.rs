//! The 1x1 layers of ResNet-50 and MobileNetV2 beside the direct kernel, and oneDNN if it is there: by turns, the least of
//! several rounds. `cargo test --release --lib pointwise::timings -- --ignored --nocapture`; `BATCH` and `BLOCK` choose.
//!
//! Before each run other memory is read, so that weights come from memory as in a network, and the source is written.

use std::time::Instant;

use super::PointwisePlan;
use super::tests::{Case, numbers};
use crate::kernels::conv::direct::{DirectPlan, Operands};
use crate::kernels::conv::finish::Finish;
use crate::kernels::lanes::for_each_chunk;
use crate::post_ops::PostOps;
use crate::scratchpad::Scratchpad;
use crate::threads::current_threads;

/// Channels in and out, size of the source, stride, how often.
const LAYERS: [(&str, &[[usize; 5]]); 2] = [
    (
        "ResNet-50",
        &[
            [64, 64, 56, 1, 1],
            [64, 256, 56, 1, 4],
            [256, 64, 56, 1, 2],
            [256, 128, 56, 1, 1],
            [256, 512, 56, 2, 1],
            [128, 512, 28, 1, 4],
            [512, 128, 28, 1, 3],
            [512, 256, 28, 1, 1],
            [512, 1024, 28, 2, 1],
            [256, 1024, 14, 1, 6],
            [1024, 256, 14, 1, 5],
            [1024, 512, 14, 1, 1],
            [1024, 2048, 14, 2, 1],
            [512, 2048, 7, 1, 3],
            [2048, 512, 7, 1, 2],
        ],
    ),
    (
        "MobileNetV2",
        &[
            [32, 16, 112, 1, 1],
            [16, 96, 112, 1, 1],
            [96, 24, 56, 1, 1],
            [24, 144, 56, 1, 2],
            [144, 24, 56, 1, 1],
            [144, 32, 28, 1, 1],
            [32, 192, 28, 1, 3],
            [192, 32, 28, 1, 2],
            [192, 64, 14, 1, 1],
            [64, 384, 14, 1, 4],
            [384, 64, 14, 1, 3],
            [384, 96, 14, 1, 1],
            [96, 576, 14, 1, 3],
            [576, 96, 14, 1, 2],
            [576, 160, 7, 1, 1],
            [160, 960, 7, 1, 3],
            [960, 160, 7, 1, 2],
            [960, 320, 7, 1, 1],
            [320, 1280, 7, 1, 1],
        ],
    ),
];

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
#[ignore = "prints timings"]
fn table() {
    let (batch, block) = (number("BATCH", 1), number("BLOCK", 16));
    let rounds = number("ROUNDS", if batch > 1 { 9 } else { 31 });
    println!("batch {batch}, block {block}, {:?}, {} threads", crate::simd::level(), current_threads());
    for (network, layers) in LAYERS {
        let mut totals = [0.0; 3];
        println!(
            "{network:24} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7}",
            "direct us", "us", "oneDNN us", "times", "of 1DNN", "GFLOP/s"
        );
        for &[c, o, size, stride, count] in layers {
            let best = layer(batch, block, [c, o, size, stride], rounds);
            let out = (size - 1) / stride + 1;
            let flops = (2 * batch * c * o * out * out) as f64;
            println!(
                "{:24} {:9.1} {:9.1} {:9.1} {:7.2} {:7.2} {:7.0}",
                format!("{c} -> {o} {size}/{stride} x{count}"),
                best[0] * 1e6,
                best[1] * 1e6,
                best[2] * 1e6,
                best[0] / best[1],
                best[2] / best[1],
                flops / best[1] / 1e9
            );
            totals.iter_mut().zip(best).for_each(|(t, b)| *t += b * count as f64);
        }
        let [direct, own, engine] = totals;
        println!(
            "{:24} {:9.1} {:9.1} {:9.1} {:7.2} {:7.2}",
            "all",
            direct * 1e6,
            own * 1e6,
            engine * 1e6,
            direct / own,
            engine / own
        );
    }
}

/// Writes a source, on all threads of the team: so they are awake.
fn negate(values: &mut [f32]) {
    for_each_chunk(values, 4096, |_, part| part.iter_mut().for_each(|v| *v = -*v));
}

/// Seconds of direct, pointwise and oneDNN.
fn layer(batch: usize, block: usize, [c, o, size, stride]: [usize; 4], rounds: usize) -> [f64; 3] {
    let case = Case { dims: vec![batch, c, size, size], o, strides: vec![stride; 2], block };
    let (g, layout) = (case.geometry(), case.layout());
    let direct = DirectPlan::new(&g, &layout).unwrap().unwrap();
    let plan = PointwisePlan::new(&g, &layout, current_threads()).unwrap().unwrap();
    let post_ops: PostOps = "relu".parse().unwrap();
    let mut src = numbers(direct.src.len(), 1);
    let weights = numbers(direct.weight_vectors * block, 2);
    let bias = numbers(o, 3);
    let mut dst = vec![0.0; direct.dst.len()];
    let mut scratchpad = Scratchpad::new();
    let other = vec![1f32; 12 << 20];
    #[cfg(feature = "onednn")]
    let mut engine = engine::Engine::new(&case, &weights, &bias);
    let mut best = [f64::INFINITY; 3];
    for round in 0..rounds + 1 {
        for (i, best) in best.iter_mut().enumerate() {
            std::hint::black_box(other.iter().sum::<f32>());
            let seconds = crate::threads::run(|| {
                #[cfg(feature = "onednn")]
                if i == 2 {
                    return engine.run();
                }
                negate(&mut src);
                let finish = Finish { bias: Some(&bias), post_ops: &post_ops, channel: &[] };
                let operands = Operands { src: &src, weights: &weights, finish, residual: None };
                let start = Instant::now();
                match i {
                    0 => direct.run(&operands, &mut dst).unwrap(),
                    1 => plan.run(&operands, &mut dst, Some(&mut scratchpad)).unwrap(),
                    _ => return f64::NAN,
                }
                start.elapsed().as_secs_f64()
            });
            if round > 0 {
                *best = best.min(seconds);
            }
        }
    }
    best
}

#[cfg(feature = "onednn")]
mod engine {
    use super::*;
    use crate::ops::Conv2d;
    use crate::{
        Arena, BlockedTensor, Operand, Operator, PackedConv2d, Source, StridedTensor, Tensor, TensorDesc,
    };

    pub(super) struct Engine {
        x: BlockedTensor,
        conv: PackedConv2d,
        dst: Tensor,
        scratchpad: Scratchpad,
    }

    impl Engine {
        pub fn new(case: &Case, weights: &[f32], bias: &[f32]) -> Engine {
            let (c, o) = (case.dims[1], case.o);
            let values = numbers(case.dims.iter().product(), 1);
            let x =
                StridedTensor::from_slice(&values, &case.dims).unwrap().to_blocked(&case.layout()).unwrap();
            let w = StridedTensor::from_slice(&weights[..c * o], &[o, c, 1, 1]).unwrap();
            let bias = StridedTensor::from_slice(bias, &[o]).unwrap();
            let params = Conv2d::new().stride(case.strides[0]).relu();
            let packer = PackedConv2d::new(&w, Some(&bias), params).unwrap();
            let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
            let desc = conv.infer(&[TensorDesc::of(x.tensor_ref())]).unwrap().remove(0);
            let dst = Arena::new(desc.bytes().unwrap()).unwrap().tensor(0, &desc).unwrap();
            Engine { x, conv, dst, scratchpad: Scratchpad::new() }
        }

        pub fn run(&mut self) -> f64 {
            negate(self.x.data_mut::<f32>().unwrap());
            let start = Instant::now();
            let dst = vec![self.dst.tensor_mut()];
            Operator::run_into(&self.conv, &[self.x.tensor_ref()], dst, &mut self.scratchpad).unwrap();
            start.elapsed().as_secs_f64()
        }
    }
}
