//! Every op that has a blocked kernel: blocked, NHWC and NCHW, compared with a parallel copy of the same bytes.
//!
//! `cargo bench --profile dev --bench ops -- [table] [op ...]` prints the table and then runs criterion's own measurements
//! of the blocked kernels; with `table` it prints only the table. Everything in a line takes turns within one process. Each
//! turn runs it twice and the second run counts, because the first brings the operands back into the cache; best times. The
//! share of a copy is for memory-bound ops: it counts the bytes that must move, sources and result once, and a source once
//! more for norms that compute their own statistics. A `*` marks a share below 60 % or a blocked op that is over 1.3 times
//! slower than NHWC.

mod cases;

use std::hint::black_box;
use std::time::{Duration, Instant};

use blocktensor::elementwise::copy_into;
use blocktensor::{Layout, MemoryFormat, StridedTensor, run};
use cases::{Bound, Case, Operands, cases};
use criterion::{Criterion, Throughput};

/// Images, channels, H, W.
const SHAPES: [[usize; 4]; 4] = [[1, 64, 56, 56], [8, 64, 56, 56], [1, 256, 14, 14], [8, 256, 14, 14]];
const ROUNDS: usize = 30;

/// The same operands blocked, channels-last and row-major; channels-last operands are tagged, so that results keep the
/// format.
fn forms(dims: [usize; 4]) -> [Operands; 3] {
    let last = MemoryFormat::ChannelsLast;
    let layout = Layout::native().0;
    [
        Operands::new(dims, |t| t.to_blocked(&layout).expect("blocked").into()),
        Operands::new(dims, |t| {
            t.contiguous(last).and_then(|t| t.with_format_tag(last)).expect("channels-last").into()
        }),
        Operands::new(dims, |t| t.into()),
    ]
}

/// Best times of all, taking turns.
fn in_turns(work: &mut [&mut dyn FnMut()]) -> Vec<Duration> {
    let mut best = vec![Duration::MAX; work.len()];
    for _ in 0..ROUNDS {
        for (work, best) in work.iter_mut().zip(&mut best) {
            work();
            let start = Instant::now();
            work();
            *best = start.elapsed().min(*best);
        }
    }
    best
}

fn table(chosen: impl Fn(&Case) -> bool) {
    println!("{} threads; times in microseconds, shares in percent of a copy", rayon::current_num_threads());
    println!(
        "{:<24} {:<12} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7}",
        "op", "sizes", "blocked", "NHWC", "NCHW", "blocked", "NHWC", "NCHW", "/ NHWC"
    );
    for dims in SHAPES {
        let forms = forms(dims);
        let numel = dims.iter().product::<usize>();
        let from = StridedTensor::full(&[numel], 1f32, MemoryFormat::Contiguous).expect("a source");
        let mut to = from.zeros_like(MemoryFormat::Contiguous).expect("a place");
        for case in cases(dims).into_iter().filter(&chosen) {
            let mut copy = || copy_into("copy", black_box(&mut to), black_box(&from)).expect("copied");
            let [mut blocked, mut nhwc, mut nchw] = forms.each_ref().map(|o| {
                let call = &case.call;
                move || drop(black_box(call(black_box(o)).expect("a result")))
            });
            let times = in_turns(&mut [&mut copy, &mut blocked, &mut nhwc, &mut nchw]);
            let us: Vec<f64> = times.iter().map(|t| t.as_secs_f64() * 1e6).collect();
            let shares: Vec<String> = us[1..]
                .iter()
                .map(|time| match case.bound {
                    Bound::Memory(streams) => format!("{:.0}", 100.0 * us[0] * streams / 2.0 / time),
                    Bound::Compute => "-".into(),
                })
                .collect();
            let low = |share: &String| share.parse::<f64>().is_ok_and(|s| s < 60.0);
            let ratio = us[1] / us[2];
            println!(
                "{:<24} {:<12} {:>9.1} {:>9.1} {:>9.1} {:>7} {:>7} {:>7} {:>7.2}{}",
                case.name,
                dims.map(|d| d.to_string()).join("x"),
                us[1],
                us[2],
                us[3],
                shares[0],
                shares[1],
                shares[2],
                ratio,
                if low(&shares[0]) || ratio > 1.3 { " *" } else { "" }
            );
        }
    }
}

fn measurements(c: &mut Criterion, chosen: impl Fn(&Case) -> bool) {
    let dims = SHAPES[1];
    let [blocked, ..] = forms(dims);
    let mut group = c.benchmark_group("blocked 8x64x56x56");
    group.throughput(Throughput::Bytes(4 * dims.iter().product::<usize>() as u64)).sample_size(10);
    group.measurement_time(Duration::from_millis(500)).warm_up_time(Duration::from_millis(100));
    for case in cases(dims).into_iter().filter(chosen) {
        group.bench_function(&case.name, |b| b.iter(|| (case.call)(black_box(&blocked)).expect("a result")));
    }
    group.finish();
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let names: Vec<&String> = arguments.iter().filter(|a| *a != "table").collect();
    let chosen = |c: &Case| names.is_empty() || names.iter().any(|n| c.name.starts_with(n.as_str()));
    run(|| table(chosen));
    if arguments.iter().any(|a| a == "table") {
        return;
    }
    let mut criterion = Criterion::default();
    run(|| measurements(&mut criterion, chosen));
    criterion.final_summary();
}
