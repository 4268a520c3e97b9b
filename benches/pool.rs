//! Pooling and resampling on blocked, NHWC and NCHW beside a parallel copy of the same bytes.
//!
//! `cargo bench --bench pool` prints the table, then criterion's own measurements of the blocked form;
//! `cargo bench --bench pool -- table` prints the table alone. Copy and forms take turns within one process, best
//! time of each, so that noise of the machine meets all of them. The copy reads and writes half of source + result
//! each.

use std::hint::black_box;
use std::time::{Duration, Instant};

use blocktensor::elementwise::copy_into;
use blocktensor::ops::{self, AvgPool, MaxPool, Resample};
use blocktensor::{Layout, MemoryFormat, Operand, Result, StridedTensor, Tensor, run};
use criterion::{Criterion, Throughput};

const SHAPES: [[usize; 4]; 4] = [[1, 64, 56, 56], [8, 64, 56, 56], [1, 256, 14, 14], [8, 256, 14, 14]];

type Call = fn(&Tensor) -> Result<Tensor>;

const CALLS: [(&str, Call); 12] = [
    ("max_pool2d 3x3 s2 p1", |x| ops::max_pool2d(x, &MaxPool::new(3).stride(2).padding(1))),
    ("max_pool2d 2x2 s2", |x| ops::max_pool2d(x, &MaxPool::new(2))),
    ("max_pool2d 3x3 s1 p1", |x| ops::max_pool2d(x, &MaxPool::new(3).stride(1).padding(1))),
    ("max_pool2d 5x5 s1 p2", |x| ops::max_pool2d(x, &MaxPool::new(5).stride(1).padding(2))),
    ("avg_pool2d 3x3 s1 p1", |x| ops::avg_pool2d(x, &AvgPool::new(3).stride(1).padding(1))),
    ("avg_pool2d 2x2 s2", |x| ops::avg_pool2d(x, &AvgPool::new(2))),
    ("adaptive_avg_pool2d 7x7", |x| ops::adaptive_avg_pool2d(x, [7, 7])),
    ("adaptive_max_pool2d 3x3", |x| ops::adaptive_max_pool2d(x, [3, 3])),
    ("global_avg_pool", |x| ops::global_avg_pool(x)),
    ("global_max_pool", |x| ops::global_max_pool(x)),
    ("upsample_nearest x2", |x| ops::upsample_nearest(x, &Resample::<2>::by(2.0))),
    ("upsample_bilinear x2", |x| ops::upsample_bilinear(x, &Resample::by(2.0))),
];

fn numel(t: &Tensor) -> usize {
    t.tensor_ref().dims().iter().product()
}

/// The same image in all three forms.
fn forms(dims: &[usize]) -> [Tensor; 3] {
    let data: Vec<f32> =
        (0..dims.iter().product()).map(|i: usize| (i * 7919 % 1013) as f32 / 500.0 - 1.0).collect();
    let x = StridedTensor::from_slice(&data, dims).unwrap();
    let blocked = x.to_blocked(&Layout::native_activation(4).unwrap()).unwrap();
    [blocked.into(), x.contiguous(MemoryFormat::ChannelsLast).unwrap().into(), x.into()]
}

/// Best time of each, in turns.
fn in_turns(work: &mut [&mut dyn FnMut()]) -> Vec<Duration> {
    let mut best = vec![Duration::MAX; work.len()];
    for _ in 0..40 {
        for (work, best) in work.iter_mut().zip(&mut best) {
            for _ in 0..6 {
                let start = Instant::now();
                work();
                *best = start.elapsed().min(*best);
            }
        }
    }
    best
}

fn table() {
    println!(
        "{} threads; microseconds; share of the copy's bandwidth that blocked reaches; blocked / NHWC",
        rayon::current_num_threads()
    );
    println!(
        "{:<24} {:>14} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7}",
        "", "", "copy", "blocked", "NHWC", "NCHW", "share", "ratio"
    );
    for (name, call) in CALLS {
        for dims in SHAPES {
            let [blocked, nhwc, nchw] = forms(&dims);
            let half = (numel(&nchw) + numel(&call(&nchw).unwrap())) / 2;
            let from = StridedTensor::full(&[half], 1f32, MemoryFormat::Contiguous).unwrap();
            let mut to = from.zeros_like(MemoryFormat::Contiguous).unwrap();
            let mut copy = || copy_into("copy", black_box(&mut to), black_box(&from)).unwrap();
            let form = |x: &Tensor| drop(black_box(call(black_box(x)).unwrap()));
            let times =
                in_turns(&mut [&mut copy, &mut || form(&blocked), &mut || form(&nhwc), &mut || form(&nchw)]);
            let us: Vec<f64> = times.iter().map(|t| t.as_secs_f64() * 1e6).collect();
            println!(
                "{name:<24} {:>14} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>5.0} % {:>7.2}",
                dims.map(|d| d.to_string()).join("x"),
                us[0],
                us[1],
                us[2],
                us[3],
                100.0 * us[0] / us[1],
                us[1] / us[2]
            );
        }
    }
}

fn measurements(c: &mut Criterion) {
    for (name, call) in CALLS {
        let mut group = c.benchmark_group(name);
        group
            .measurement_time(Duration::from_secs(1))
            .warm_up_time(Duration::from_millis(200))
            .sample_size(20);
        for dims in SHAPES {
            let [blocked, ..] = forms(&dims);
            let bytes = 4 * (numel(&blocked) + numel(&call(&blocked).unwrap()));
            group.throughput(Throughput::Bytes(bytes as u64));
            let shape = dims.map(|d| d.to_string()).join("x");
            group.bench_function(shape, |b| b.iter(|| call(black_box(&blocked)).unwrap()));
        }
        group.finish();
    }
}

fn main() {
    run(table);
    if std::env::args().any(|a| a == "table") {
        return;
    }
    let mut criterion = Criterion::default().configure_from_args();
    run(|| measurements(&mut criterion));
    criterion.final_summary();
}
