//! Norms, softmax and reductions: blocked, channels-last and row-major against a parallel copy of the same bytes,
//! then criterion's own measurements of the blocked ones.
//!
//! Everything in a line ran in turns within one process; best times. Bytes are those that must move: source and result for
//! what takes one pass, the source once more for norms with statistics of their own, the source alone for reductions.
//! `cargo bench --bench norm [-- op ...]` prints the table; nothing here fails on a slow machine.

use std::hint::black_box;
use std::time::{Duration, Instant};

use blocktensor::elementwise::copy_into;
use blocktensor::ops::{self, BatchNorm, BatchNormTrain, LocalResponseNorm, NormParams};
use blocktensor::{Layout, MemoryFormat, Operand, Result, StridedTensor, Tensor, run};
use criterion::{Criterion, Throughput};

/// Images, channels, H, W.
const SHAPES: [[usize; 4]; 4] = [[1, 64, 56, 56], [8, 64, 56, 56], [1, 256, 14, 14], [8, 256, 14, 14]];
const ROUNDS: usize = 60;

type Call = Box<dyn Fn(&Tensor) -> Result<Tensor>>;

/// An op, how often it must move the source's bytes, and the call.
struct Case {
    name: &'static str,
    passes: f64,
    call: Call,
}

fn vector(n: usize) -> StridedTensor {
    StridedTensor::full(&[n], 1.5f32, MemoryFormat::Contiguous).expect("a vector")
}

fn cases(dims: [usize; 4]) -> Vec<Case> {
    let case = |name, passes, call: Call| Case { name, passes, call };
    let [_, c, h, w] = dims;
    let (p, q, e) = (vector(c), vector(c), vector(c * h * w));
    let given = move |x: &Tensor| {
        let params = BatchNorm { mean: &p, var: &p, weight: Some(&p), bias: Some(&p), eps: 1e-5 };
        ops::batch_norm(x, &params)
    };
    let train = move |x: &Tensor| {
        let (running_mean, running_var) = (&q, &q);
        let (weight, bias) = (Some(&q), Some(&q));
        let params = BatchNormTrain { running_mean, running_var, weight, bias, momentum: 0.1, eps: 1e-5 };
        ops::batch_norm_train(x, &params).map(|t| t.y)
    };
    let weighted = move |x: &Tensor| {
        let params = NormParams { weight: Some(&e), bias: Some(&e), eps: 1e-5 };
        ops::layer_norm(x, &[c, h, w], &params)
    };
    let none = NormParams::default;
    vec![
        case("batch_norm", 2.0, Box::new(given)),
        case("batch_norm_train", 3.0, Box::new(train)),
        case("group_norm", 3.0, Box::new(move |x| ops::group_norm(x, 32, &none()))),
        case("instance_norm", 3.0, Box::new(move |x| ops::instance_norm(x, &none()))),
        case("layer_norm CHW", 3.0, Box::new(move |x| ops::layer_norm(x, &[c, h, w], &none()))),
        case("layer_norm CHW affine", 5.0, Box::new(weighted)),
        case(
            "local_response_norm",
            2.0,
            Box::new(|x| ops::local_response_norm(x, &LocalResponseNorm::new(5))),
        ),
        case("softmax C", 2.0, Box::new(|x| ops::softmax(x, 1))),
        case("softmax H", 2.0, Box::new(|x| ops::softmax(x, 2))),
        case("softmax W", 2.0, Box::new(|x| ops::softmax(x, 3))),
        case("log_softmax C", 2.0, Box::new(|x| ops::log_softmax(x, 1))),
        case("mean HW", 1.0, Box::new(|x| ops::mean(x, &[2, 3], true))),
        case("sum C", 1.0, Box::new(|x| ops::sum(x, &[1], true))),
        case("sum NHW", 1.0, Box::new(|x| ops::sum(x, &[0, 2, 3], true))),
        case("sum all", 1.0, Box::new(|x| ops::sum(x, &[], true))),
        case("amax HW", 1.0, Box::new(|x| ops::amax(x, &[2, 3], true))),
        case("amax C", 1.0, Box::new(|x| ops::amax(x, &[1], true))),
        case("amax W", 1.0, Box::new(|x| ops::amax(x, &[3], true))),
        case("argmax C", 1.0, Box::new(|x| ops::argmax(x, Some(1), true))),
        case("argmax all", 1.0, Box::new(|x| ops::argmax(x, None, true))),
    ]
}

/// The same data in every form; channels-last is tagged, so that results keep it.
fn forms(dims: [usize; 4]) -> [Tensor; 3] {
    let data: Vec<f32> =
        (0..dims.iter().product::<usize>()).map(|i| (i * 7919 % 1009) as f32 / 1009.0).collect();
    let x = StridedTensor::from_slice(&data, &dims).expect("data");
    let last = MemoryFormat::ChannelsLast;
    let nhwc = x.contiguous(last).and_then(|t| t.with_format_tag(last)).expect("channels-last");
    let blocked = x.to_blocked(&Layout::native().0).expect("blocked");
    [blocked.into(), nhwc.into(), x.into()]
}

/// Best times of all, in turns.
fn in_turns(work: &mut [&mut dyn FnMut()]) -> Vec<Duration> {
    let mut best = vec![Duration::MAX; work.len()];
    for _ in 0..ROUNDS {
        for (work, best) in work.iter_mut().zip(&mut best) {
            // Twice: the first brings the operands back into the cache.
            work();
            let start = Instant::now();
            work();
            *best = (*best).min(start.elapsed());
        }
    }
    best
}

fn table(chosen: &[String]) {
    println!("bandwidth in percent of a parallel copy's, and times against channels-last");
    println!(
        "{:<22} {:<15} {:>9} {:>8} {:>8} {:>8} {:>14}",
        "op", "sizes", "blocked", "blocked", "NHWC", "NCHW", "blocked / NHWC"
    );
    for dims in SHAPES {
        let forms = forms(dims);
        let Tensor::Strided(plain) = &forms[2] else { unreachable!("made so") };
        let mut copied = plain.empty_like(MemoryFormat::Preserve).expect("a tensor");
        for case in cases(dims) {
            if !chosen.is_empty() && !chosen.iter().any(|c| case.name.starts_with(c.as_str())) {
                continue;
            }
            let mut copy = || copy_into("copy", &mut copied, black_box(plain)).expect("copied");
            let [mut blocked, mut nhwc, mut nchw] = forms.each_ref().map(|x| {
                let call = &case.call;
                move || drop(black_box(call(black_box(x)).expect("a result")))
            });
            let times = run(|| in_turns(&mut [&mut copy, &mut blocked, &mut nhwc, &mut nchw]));
            let percent = |t: Duration| 100.0 * case.passes / 2.0 * times[0].as_secs_f64() / t.as_secs_f64();
            println!(
                "{:<22} {:<15} {:>6.1} us {:>6.0} % {:>6.0} % {:>6.0} % {:>14.2}",
                case.name,
                format!("{}x{}x{}x{}", dims[0], dims[1], dims[2], dims[3]),
                times[1].as_secs_f64() * 1e6,
                percent(times[1]),
                percent(times[2]),
                percent(times[3]),
                times[1].as_secs_f64() / times[2].as_secs_f64(),
            );
        }
    }
}

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    table(&chosen);
    if !chosen.is_empty() {
        return;
    }
    let mut criterion = Criterion::default().sample_size(20);
    let dims = SHAPES[1];
    let [blocked, ..] = forms(dims);
    let bytes = blocked.tensor_ref().dims().iter().product::<usize>() as u64 * 4;
    let mut group = criterion.benchmark_group("blocked 8x64x56x56");
    group.throughput(Throughput::Bytes(bytes));
    for case in cases(dims) {
        group.bench_function(case.name, |b| run(|| b.iter(|| (case.call)(black_box(&blocked)))));
    }
    group.finish();
}
