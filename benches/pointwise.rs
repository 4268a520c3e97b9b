//! The 1x1 layers of ResNet-50 and MobileNetV2 by every implementation that computes them, by turns, the least of several rounds:
//! packed weights, bias and relu, blocked activations. `cargo bench --bench pointwise -- [batch]`
//!
//! Before each run other memory is read, so that weights come from memory as in a network, and the source is written.

use std::time::Instant;

use blocktensor::ops::{Algorithm, Conv2d};
use blocktensor::{Arena, Layout, Operand, Operator, PackedConv2d, Scratchpad, Source, StridedTensor};

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

/// Numbers between -1 and 1.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 8 & 0xffff) as f32 / 32768.0 - 1.0).collect()
}

fn main() -> blocktensor::Result<()> {
    let batch = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(1);
    let rounds = if batch > 1 { 7 } else { 25 };
    println!("batch {batch}, {} threads, times in us", blocktensor::current_threads());
    for (network, layers) in LAYERS {
        let mut totals: Vec<(&str, f64)> = vec![];
        for &[c, o, size, stride, count] in layers {
            let best = layer(batch, [c, o, size, stride], rounds)?;
            let line: Vec<String> = best.iter().map(|(name, s)| format!("{name} {:8.1}", s * 1e6)).collect();
            println!("{:24} {}", format!("{c} -> {o} {size}/{stride} x{count}"), line.join("  "));
            totals.resize(best.len(), ("", 0.0));
            for (total, (name, seconds)) in totals.iter_mut().zip(best) {
                *total = (name, total.1 + seconds * count as f64);
            }
        }
        let first = totals[0].1;
        let line: Vec<String> =
            totals.iter().map(|(name, s)| format!("{name} {:8.1} ({:.2})", s * 1e6, s / first)).collect();
        println!("{network:24} {}", line.join("  "));
    }
    Ok(())
}

/// Seconds of each implementation.
fn layer(
    batch: usize,
    [c, o, size, stride]: [usize; 4],
    rounds: usize,
) -> blocktensor::Result<Vec<(&'static str, f64)>> {
    let layout = Layout::native_activation(4)?;
    let x = StridedTensor::from_slice(&numbers(batch * c * size * size), &[batch, c, size, size])?;
    let x = x.to_blocked(&layout)?;
    let w = StridedTensor::from_slice(&numbers(c * o), &[o, c, 1, 1])?;
    let bias = StridedTensor::from_slice(&numbers(o), &[o])?;
    let packer = PackedConv2d::new(&w, Some(&bias), Conv2d::new().stride(stride).relu())?;
    let source = Source::of(&x)?;
    let mut convs = vec![];
    for candidate in packer.candidates(&source)?.iter().filter(|c| c.algorithm == Algorithm::Direct) {
        convs.push((candidate.name, packer.clone().implementation(candidate.name)?.pack_for(&source)?));
    }
    let cold = StridedTensor::from_slice(&vec![1f32; 12 << 20], &[12 << 20])?;
    let desc = &convs[0].1.infer(&[blocktensor::TensorDesc::of(x.tensor_ref())])?[0];
    let mut dst = Arena::new(desc.bytes()?)?.tensor(0, desc)?;
    let (mut scratchpad, mut best) = (Scratchpad::new(), vec![f64::INFINITY; convs.len()]);
    for round in 0..rounds + 1 {
        for ((_, conv), best) in convs.iter().zip(&mut best) {
            std::hint::black_box(blocktensor::ops::sum(&cold, &[0], false)?);
            let seconds = blocktensor::run(|| -> blocktensor::Result<f64> {
                // The source was just written in a network.
                std::hint::black_box(blocktensor::ops::relu(&x)?);
                let start = Instant::now();
                Operator::run_into(conv, &[x.tensor_ref()], vec![dst.tensor_mut()], &mut scratchpad)?;
                Ok(start.elapsed().as_secs_f64())
            })?;
            if round > 0 {
                *best = best.min(seconds);
            }
        }
    }
    Ok(convs.iter().map(|(name, _)| *name).zip(best).collect())
}
