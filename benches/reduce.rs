//! Reductions on one thread: the least time of several rounds for each shape, layout, axes and op, one a line.
//!
//! `cargo bench --bench reduce` prints the table. To compare two versions, run their binaries by turns, and take the least of
//! each line.

use std::hint::black_box;
use std::time::{Duration, Instant};

use blocktensor::{Layout, MemoryFormat, Operand, StridedTensor, elementwise, ops, run_with_threads};

/// How long one round of a case takes, about.
const ROUND: Duration = Duration::from_millis(3);
const ROUNDS: usize = 7;

/// The least time of a call in microseconds.
fn least(mut f: impl FnMut()) -> f64 {
    f();
    let start = Instant::now();
    f();
    let calls = (ROUND.as_nanos() / start.elapsed().as_nanos().max(1)).clamp(1, 10_000) as u32;
    let round = |_| {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        start.elapsed() / calls
    };
    (0..ROUNDS).map(round).min().unwrap_or_default().as_secs_f64() * 1e6
}

fn tensor(dims: &[usize]) -> StridedTensor {
    let values: Vec<f32> =
        (0..dims.iter().product()).map(|i: usize| (i * 7919 % 1009) as f32 / 64.0 - 8.0).collect();
    StridedTensor::from_slice(&values, dims).unwrap()
}

/// Every reduction of `x` over each list of axes.
fn cases<T: Operand>(name: &str, x: &T, axes: &[&[i64]]) {
    for axes in axes {
        let line = |op: &str, us: f64| println!("{name} over {axes:?} {op}: {us:.2}");
        line("sum", least(|| drop(black_box(ops::sum(black_box(x), axes, true).unwrap()))));
        line("amax", least(|| drop(black_box(ops::amax(black_box(x), axes, true).unwrap()))));
        if axes.len() < 2 {
            let axis = axes.first().copied();
            line("argmax", least(|| drop(black_box(ops::argmax(black_box(x), axis, true).unwrap()))));
        }
    }
}

/// The public function of `elementwise`.
fn f32_sum(name: &str, x: &StridedTensor, axes: &[&[usize]]) {
    for axes in axes {
        let us = least(|| drop(black_box(elementwise::sum(black_box(x), axes, true).unwrap())));
        println!("{name} over {axes:?} elementwise::sum: {us:.2}");
    }
}

fn main() {
    run_with_threads(1, || {
        let axes: [&[i64]; 7] = [&[3], &[2], &[1], &[0], &[2, 3], &[1, 2, 3], &[]];
        for dims in [[1, 64, 56, 56], [16, 512, 7, 7], [1, 20, 56, 56]] {
            let x = tensor(&dims);
            let [n, c, h, w] = dims;
            cases(&format!("{dims:?} NCHW"), &x, &axes);
            let nhwc = x.contiguous(MemoryFormat::ChannelsLast).unwrap();
            cases(&format!("{dims:?} NHWC"), &nhwc, &axes);
            cases(&format!("{dims:?} nChw16c"), &x.to_blocked(&Layout::NCHW16C).unwrap(), &axes);
            let transposed = tensor(&[n, c, w, h]).permute(&[0, 1, 3, 2]).unwrap();
            cases(&format!("{dims:?} transposed"), &transposed, &axes);
            f32_sum(&format!("{dims:?} NCHW"), &x, &[&[3], &[2], &[1], &[2, 3], &[]]);
        }
        let axes: [&[i64]; 3] = [&[1], &[0], &[]];
        let x = tensor(&[1000, 1000]);
        cases("[1000, 1000] row-major", &x, &axes);
        cases("[1000, 1000] transposed", &x.permute(&[1, 0]).unwrap(), &axes);
        f32_sum("[1000, 1000] row-major", &x, &[&[1], &[0], &[]]);
    });
}
