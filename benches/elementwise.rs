//! Element-wise and shape ops: what they reach of a parallel copy of the same bytes, on the three layouts.
//!
//! `cargo bench --bench elementwise` prints the table, then criterion's own measurements. A figure is the best of several
//! rounds in which op and copy take turns, so that noise of the machine meets both; nothing here fails on a slow machine.

use std::hint::black_box;
use std::time::{Duration, Instant};

use blocktensor::elementwise::copy_into;
use blocktensor::{Layout, MemoryFormat, Operand, StridedTensor, ops, run};
use criterion::{Criterion, Throughput};

const SHAPES: [[usize; 4]; 4] = [[1, 64, 56, 56], [8, 64, 56, 56], [1, 256, 14, 14], [8, 256, 14, 14]];

/// What one op is measured on.
struct Operands<T> {
    x: T,
    /// Of the same shape.
    same: T,
    /// N x C x 1 x 1.
    channel: T,
    /// N x 1 x H x W.
    spatial: T,
}

impl Operands<StridedTensor> {
    fn new(dims: [usize; 4], format: MemoryFormat) -> Self {
        let [n, c, h, w] = dims;
        let make = |dims: &[usize]| {
            let data: Vec<f32> = (0..dims.iter().product()).map(|i| (i % 251) as f32 / 83.0 - 1.5).collect();
            StridedTensor::from_slice(&data, dims).unwrap().contiguous(format).unwrap()
        };
        Operands {
            x: make(&dims),
            same: make(&dims),
            channel: make(&[n, c, 1, 1]),
            spatial: make(&[n, 1, h, w]),
        }
    }
}

/// An op by name, and how many tensors of the size of `x` it moves.
type Case<T> = (&'static str, f64, fn(&Operands<T>) -> T);

fn cases<T: Operand>() -> Vec<Case<T>> {
    vec![
        ("relu", 2.0, |o| ops::relu(&o.x).unwrap()),
        ("gelu", 2.0, |o| ops::gelu(&o.x).unwrap()),
        ("sigmoid", 2.0, |o| ops::sigmoid(&o.x).unwrap()),
        ("softplus", 2.0, |o| ops::softplus(&o.x, 1.0, 20.0).unwrap()),
        ("add", 3.0, |o| ops::add(&o.x, &o.same).unwrap()),
        ("mul NxCx1x1", 2.0, |o| ops::mul(&o.x, &o.channel).unwrap()),
        ("mul Nx1xHxW", 2.0, |o| ops::mul(&o.x, &o.spatial).unwrap()),
    ]
}

/// The best time of `rounds` rounds of each, in turns, per call.
fn in_turns(calls: usize, mut a: impl FnMut(), mut b: impl FnMut()) -> (Duration, Duration) {
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..12 {
        let start = Instant::now();
        (0..calls).for_each(|_| a());
        let middle = Instant::now();
        (0..calls).for_each(|_| b());
        best = (best.0.min(middle - start), best.1.min(middle.elapsed()));
    }
    (best.0 / calls as u32, best.1 / calls as u32)
}

/// What an op reaches of a parallel copy, in percent, and its time in us.
fn measure<T>(numel: usize, (_, streams, op): &Case<T>, o: &Operands<T>) -> (f64, f64) {
    let src = StridedTensor::full(&[numel], 1.5f32, MemoryFormat::Contiguous).unwrap();
    let mut dst = StridedTensor::full(&[numel], 0f32, MemoryFormat::Contiguous).unwrap();
    let calls = (20_000_000 / numel).clamp(3, 100);
    let (plain, time) = in_turns(
        calls,
        || copy_into("copy", black_box(&mut dst), black_box(&src)).unwrap(),
        || drop(black_box(op(black_box(o)))),
    );
    (100.0 * plain.as_secs_f64() * streams / 2.0 / time.as_secs_f64(), time.as_secs_f64() * 1e6)
}

fn table() {
    println!("percent of a parallel copy of the same bytes (us), {} threads", rayon::current_num_threads());
    let layout = Layout::native().0;
    for dims in SHAPES {
        println!("{dims:?} {:>10} {layout:>16} {:>16} {:>16}", "", "NHWC", "NCHW");
        let numel = dims.iter().product();
        let nchw = Operands::new(dims, MemoryFormat::Contiguous);
        let nhwc = Operands::new(dims, MemoryFormat::ChannelsLast);
        let blocked = |t: &StridedTensor| t.to_blocked(&layout).unwrap();
        let blocked = Operands {
            x: blocked(&nchw.x),
            same: blocked(&nchw.same),
            channel: blocked(&nchw.channel),
            spatial: blocked(&nchw.spatial),
        };
        for (on_blocked, on_strided) in cases().iter().zip(&cases()) {
            let results = [
                measure(numel, on_blocked, &blocked),
                measure(numel, on_strided, &nhwc),
                measure(numel, on_strided, &nchw),
            ];
            let cells: Vec<String> =
                results.iter().map(|(percent, us)| format!("{percent:>5.0} % {us:>7.1}")).collect();
            println!("  {:<22} {}", on_blocked.0, cells.join("  "));
        }
    }
}

/// One small call of each kind: what it costs beside its memory traffic.
fn small(c: &mut Criterion) {
    let mut group = c.benchmark_group("1x64x56x56");
    group.throughput(Throughput::Bytes(2 * 4 * 64 * 56 * 56)).sample_size(20);
    group.measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(300));
    let o = Operands::new(SHAPES[0], MemoryFormat::ChannelsLast);
    let x = o.x.to_blocked(&Layout::native().0).unwrap();
    group.bench_function("relu NHWC", |b| b.iter(|| ops::relu(&o.x).unwrap()));
    group.bench_function("relu blocked", |b| b.iter(|| ops::relu(&x).unwrap()));
    group.finish();
}

fn main() {
    run(table);
    let mut criterion = Criterion::default().configure_from_args();
    run(|| small(&mut criterion));
    criterion.final_summary();
}
