//! Convolutions that run on our own kernel, compared with other ways to compute the same result. All take turns, so that
//! machine noise affects all of them: `cargo bench --bench conv` prints one line of ratios per case; a word after `--`
//! selects the cases whose name contains it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use blocktensor::ops::Conv2d;
use blocktensor::{DType, Layout, MemoryFormat, PackedConv2d, Source, StridedTensor};

/// Name, image edge, channels in and out, groups, kernel, stride.
const CASES: [(&str, usize, [usize; 2], usize, usize, usize); 12] = [
    ("3 channels", 112, [3, 64], 1, 3, 1),
    ("8 channels", 56, [8, 64], 1, 3, 1),
    ("12 channels", 56, [12, 64], 1, 3, 2),
    ("4 a group", 56, [128, 128], 32, 3, 1),
    ("4 a group, stride 2", 56, [128, 128], 32, 3, 2),
    ("6 a group", 28, [48, 48], 8, 3, 1),
    ("8 a group", 28, [256, 256], 32, 3, 1),
    ("24 a group", 28, [96, 96], 4, 3, 1),
    ("24 a group, 1x1", 28, [240, 240], 10, 1, 1),
    ("depthwise, 4 fold", 28, [32, 128], 32, 3, 1),
    ("depthwise", 56, [128, 128], 128, 3, 1),
    ("dense", 56, [64, 64], 1, 3, 1),
];

fn main() {
    println!(
        "{:<20} {:>6} {:<24} {:>9} {:>9} {:>9} {:>12}",
        "case", "batch", "implementation", "GFLOP/s", "us", "nhwc", "round trip"
    );
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str()));
    for (name, edge, [c, o], groups, kernel, stride) in CASES.into_iter().filter(|c| is_wanted(c.0)) {
        for batch in [1, 8] {
            let w =
                StridedTensor::ones(&[o, c / groups, kernel, kernel], DType::F32, MemoryFormat::Contiguous);
            let x =
                StridedTensor::ones(&[batch, c, edge, edge], DType::F32, MemoryFormat::ChannelsLast).unwrap();
            let params = Conv2d::new().padding(kernel / 2).stride(stride).groups(groups);
            let packer = PackedConv2d::new(&w.unwrap(), None, params).unwrap();
            let act = Layout::native().0;
            let xb = x.to_blocked(&act).unwrap();
            let blocked = packer.pack_for(&Source::of(&xb).unwrap()).unwrap();
            let nhwc = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
            let [one, other, around] = in_turns([
                &mut || drop(black_box(blocked.run(&xb).unwrap())),
                &mut || drop(black_box(nhwc.run(&x).unwrap())),
                &mut || {
                    let x = xb.to_strided(MemoryFormat::ChannelsLast).unwrap();
                    drop(black_box(nhwc.run(&x).unwrap().to_blocked(&act).unwrap()));
                },
            ]);
            let out = (edge / stride) * (edge / stride);
            let flops = 2 * batch * out * o * (c / groups) * kernel * kernel;
            println!(
                "{name:<20} {batch:>6} {:<24} {:>9.1} {:>9.1} {:>8.2}x {:>11.2}x",
                blocked.implementation(),
                flops as f64 / one.as_secs_f64() / 1e9,
                one.as_secs_f64() * 1e6,
                other.as_secs_f64() / one.as_secs_f64(),
                around.as_secs_f64() / one.as_secs_f64(),
            );
        }
    }
}

/// The shortest time of each, over rounds in which they take turns.
fn in_turns<const N: usize>(mut ways: [&mut dyn FnMut(); N]) -> [Duration; N] {
    let mut best = [Duration::MAX; N];
    let end = Instant::now() + Duration::from_millis(600);
    blocktensor::run(|| {
        while Instant::now() < end {
            for (way, best) in ways.iter_mut().zip(&mut best) {
                let start = Instant::now();
                way();
                *best = start.elapsed().min(*best);
            }
        }
    });
    best
}
