//! Winograd's algorithm beside oneDNN's direct convolution, by turns, the least of several rounds: packed weights, bias and
//! relu, blocked activations. `cargo bench --bench winograd -- [batch] [N C O H W]`
//!
//! Between two runs other memory is read, so that weights come from memory as in a network. The errors are relative L2 norms
//! against f64, over some outputs.

use std::time::Instant;

use blocktensor::ops::Conv2d;
use blocktensor::{Arena, Layout, Operand, Operator, PackedConv2d, Scratchpad, Source, StridedTensor};

/// Channels in, channels out, height and width.
const SIZES: [(usize, usize, usize); 6] =
    [(64, 64, 56), (128, 128, 28), (256, 256, 14), (512, 512, 7), (64, 64, 224), (512, 512, 28)];

fn numbers(count: usize, seed: u64, scale: f32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let normal = |a: f64, b: f64| (-2.0 * a.max(1e-300).ln()).sqrt() * (std::f64::consts::TAU * b).cos();
    (0..count).map(|_| normal(uniform(), uniform()) as f32 * scale).collect()
}

/// The relative L2 error of some outputs against f64.
fn error(x: &[f32], w: &[f32], bias: &[f32], y: &[f32], dims: [usize; 5]) -> f64 {
    let [n, c, o, h, width] = dims;
    let (mut wrong, mut all) = (0.0, 0.0);
    for k in 0..3000usize {
        let mut r = k.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = |m: usize| {
            r = r.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (r >> 33) % m
        };
        let (n, o_, row, column) = (next(n), next(o), next(h), next(width));
        let mut sum = f64::from(bias[o_]);
        for i in 0..c {
            for tap in 0..9 {
                let (y, x_) = ((row + tap / 3).wrapping_sub(1), (column + tap % 3).wrapping_sub(1));
                if y < h && x_ < width {
                    let value = x[((n * c + i) * h + y) * width + x_];
                    sum += f64::from(value) * f64::from(w[(o_ * c + i) * 9 + tap]);
                }
            }
        }
        let want = sum.max(0.0);
        let got = f64::from(y[((n * o + o_) * h + row) * width + column]);
        wrong += (got - want).powi(2);
        all += want * want;
    }
    (wrong / all).sqrt()
}

fn main() -> blocktensor::Result<()> {
    let args: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let batch = args.first().copied().unwrap_or(1);
    let sizes: Vec<(usize, usize, usize)> = match args[..] {
        [_, c, o, size, ..] => vec![(c, o, size)],
        _ => SIZES.to_vec(),
    };
    let layout = Layout::native_activation(4)?;
    let rounds = if batch > 1 { 7 } else { 21 };
    let cold = StridedTensor::from_slice(&vec![1f32; 12 << 20], &[12 << 20])?;
    for (c, o, size) in sizes {
        let x_values = numbers(batch * c * size * size, 1, 1.0);
        let w_values = numbers(o * c * 9, 2, (2.0 / (9.0 * c as f32)).sqrt());
        let bias_values = numbers(o, 3, 0.1);
        let x = StridedTensor::from_slice(&x_values, &[batch, c, size, size])?.to_blocked(&layout)?;
        let w = StridedTensor::from_slice(&w_values, &[o, c, 3, 3])?;
        let bias = StridedTensor::from_slice(&bias_values, &[o])?;
        let source = Source::of(&x)?;
        let mut convs = vec![];
        let params = Conv2d::new().padding(1).relu();
        let packer = PackedConv2d::new(&w, Some(&bias), params)?;
        convs.push(packer.pack_for(&source)?);
        for name in ["winograd4", "winograd4:each_run", "winograd2", "winograd2:each_run"] {
            let packer = packer.clone().implementation(name)?;
            convs.push(packer.pack_for(&source)?);
        }
        let mut best = vec![f64::INFINITY; convs.len()];
        let mut scratchpad = Scratchpad::new();
        let desc = &convs[0].infer(&[blocktensor::TensorDesc::of(x.tensor_ref())])?[0];
        let mut dst = Arena::new(desc.bytes()?)?.tensor(0, desc)?;
        for round in 0..rounds + 1 {
            for (conv, best) in convs.iter().zip(&mut best) {
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
        println!("N{batch} C{c} O{o} {size}x{size}");
        for (conv, seconds) in convs.iter().zip(&best) {
            let y = conv.run(&x)?.to_strided(blocktensor::MemoryFormat::Contiguous)?.to_vec::<f32>()?;
            let error = error(&x_values, &w_values, &bias_values, &y, [batch, c, o, size, size]);
            println!(
                "  {:36} {:8.3} ms  {:5.2} times as fast as direct  error {error:.1e}  {:6.2} MB",
                conv.implementation(),
                seconds * 1e3,
                best[0] / seconds,
                conv.bytes() as f64 / 1e6
            );
        }
    }
    Ok(())
}
