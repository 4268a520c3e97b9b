//! Whole networks: this library, compared with a bare loop over the same oneDNN primitives and with their convolutions
//! alone.
//!
//! Everything runs in one process and interleaved, so that machine noise affects all sides. Each side runs twice in a row
//! and the second run counts, so that it finds in the caches what its own last run left there. Ratios of medians. The
//! convolutions run in two ways: in the network's order with nothing between them, and each repeated by itself with its
//! weights in the cache.
//!
//! oneDNN as this library builds it has no pooling, so the pools of the bare side are ours too.
//!
//! `cargo bench --bench models [-- resnet50|mobilenet_v2 ... --layers]`; `--layers` also compares each of our kernels with
//! its bare primitive.

mod bare;

use std::time::{Duration, Instant};

use bare::{Adapter, Bare, Primitive, attributes};
use blocktensor::ops::{self, MaxPool};
use blocktensor::{Layout, StridedTensor, Tensor, ledger};
use blocktensor_nets::{Arch, ConvSpec, Mode, Network, Unit, Weights};
use onednn_sys::*;

/// Rounds at batch 1 and at larger batches.
const ROUNDS: [usize; 2] = [41, 11];

fn main() {
    let (options, chosen): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with('-'));
    let layers = options.iter().any(|o| o == "--layers");
    println!(
        "{:<14} {:>5} {:<8} {:>10} {:>11} {:>11} {:>11} {:>11}",
        "network", "batch", "layout", "ours", "/ bare team", "/ bare join", "/ convs", "/ each warm"
    );
    for name in ["resnet50", "mobilenet_v2"] {
        if !chosen.is_empty() && !chosen.iter().any(|c| c == name) {
            continue;
        }
        let arch = Arch::by_name(name).expect("a known network");
        for batch in [1, 16] {
            for mode in [Mode::Blocked, Mode::Nhwc] {
                compare(&arch, batch, mode, layers);
            }
        }
    }
}

fn compare(arch: &Arch, batch: usize, mode: Mode, layers: bool) {
    let mut weights = Weights::random(arch, 1).expect("weights");
    let network = Network::pack(arch, &mut weights, mode, batch, 224).expect("packed");
    let image = blocktensor_nets::noise(batch, 224, 7)
        .and_then(|t| t.contiguous(mode.image_format()))
        .expect("an image");
    let team = Bare::new(Adapter::Team);
    let join = Bare::new(Adapter::Join);
    let chain = Chain::new(&team, arch, batch, mode);
    let mut times = [const { Vec::new() }; 4];
    let mut alone = vec![Vec::new(); chain.convs.len()];
    let rounds = ROUNDS[usize::from(batch > 1)];
    for _ in 0..rounds {
        times[0].push(blocktensor::run(|| second(|| drop(network.run(&image).expect("a run")))));
        times[1].push(blocktensor::run(|| second(|| chain.execute(&team))));
        times[3].push(blocktensor::run(|| second(|| chain.convolutions().for_each(|c| c.execute(&team)))));
        blocktensor::run(|| {
            for (conv, times) in chain.convolutions().zip(&mut alone) {
                times.push(second(|| conv.execute(&team)));
            }
        });
        times[2].push(rayon::scope(|_| second(|| chain.execute(&join))));
        // The system needs some time until leader and member run on separate cores again.
        blocktensor::run(|| (0..4).for_each(|_| chain.execute(&team)));
    }
    let [ours, bare, joined, convs] = times.map(median);
    let warm: Duration = alone.into_iter().map(median).sum();
    let ratio = |d: Duration| ours.as_secs_f64() / d.as_secs_f64();
    println!(
        "{:<14} {batch:>5} {:<8} {:>7.2} ms {:>11.3} {:>11.3} {:>11.3} {:>11.3}",
        arch.name,
        mode.name(),
        ours.as_secs_f64() * 1e3,
        ratio(bare),
        ratio(joined),
        ratio(convs),
        ratio(warm)
    );
    if layers {
        print_layers(&network, &image, &chain, &team);
    }
}

/// Each of our kernels compared with its bare primitive: medians, in microseconds.
fn print_layers(network: &Network, image: &StridedTensor, chain: &Chain, team: &Bare) {
    let count = chain.steps.len();
    let (mut ours, mut bare) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    let mut names = Vec::new();
    for _ in 0..ROUNDS[0] {
        let mut book = ledger::Ledger::default();
        blocktensor::run(|| {
            network.run(image).expect("a run");
            book = ledger::record(|| network.run(image).expect("a run")).1;
        });
        let ledger = book;
        assert_eq!(ledger.runs.len(), count, "the same kernels on both sides");
        ours.iter_mut().zip(&ledger.runs).for_each(|(times, run)| times.push(run.time));
        names = ledger.runs.iter().map(|r| format!("{} {}", r.op, r.implementation)).collect();
        blocktensor::run(|| {
            chain.execute(team);
            for (step, times) in chain.steps.iter().zip(&mut bare) {
                times.push(time(|| step.execute(team)));
            }
        });
    }
    for (((name, ours), bare), step) in names.iter().zip(ours).zip(bare).zip(&chain.steps) {
        let us = |times| median(times).as_secs_f64() * 1e6;
        let (ours, bare) = (us(ours), us(bare));
        println!("    {name:<40} {ours:>9.1} {bare:>9.1} {:>7.2}  {}", ours / bare, step.name());
    }
}

fn dst_of(p: &Primitive) -> dnnl_memory_t {
    p.args.iter().find(|a| a.arg == DNNL_ARG_DST).expect("a destination").memory
}

/// The time of the second of two runs.
fn second(f: impl Fn()) -> Duration {
    f();
    time(f)
}

fn time(f: impl FnOnce()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

enum Step {
    OneDnn(Primitive),
    /// A pool of ours, on a tensor of the same sizes and layout as the previous step's result.
    Pool(Box<dyn Fn() + Send + Sync>),
}

impl Step {
    fn execute(&self, bare: &Bare) {
        match self {
            Step::OneDnn(p) => p.execute(bare),
            Step::Pool(run) => run(),
        }
    }

    fn name(&self) -> &str {
        match self {
            Step::OneDnn(p) => &p.implementation,
            Step::Pool(_) => "ours",
        }
    }
}

/// The network's steps in order; each primitive reads the result of the previous one.
struct Chain {
    steps: Vec<Step>,
    /// The indices of the convolutions.
    convs: Vec<usize>,
}

impl Chain {
    fn execute(&self, bare: &Bare) {
        self.steps.iter().for_each(|s| s.execute(bare));
    }

    fn convolutions(&self) -> impl Iterator<Item = &Primitive> {
        self.convs.iter().map(|&i| match &self.steps[i] {
            Step::OneDnn(p) => p,
            Step::Pool(_) => unreachable!("an index of a convolution"),
        })
    }

    fn new(bare: &Bare, arch: &Arch, batch: usize, mode: Mode) -> Chain {
        let tag = if mode == Mode::Blocked { dnnl_nChw16c } else { dnnl_nhwc };
        let mut chain = Chain { steps: Vec::new(), convs: Vec::new() };
        let image_tag = if mode == Mode::Blocked { dnnl_nchw } else { dnnl_nhwc };
        let mut side = 224;
        let push_conv = |chain: &mut Chain,
                         spec: &ConvSpec,
                         side: usize,
                         from: u32,
                         src: Option<dnnl_memory_t>,
                         residual| {
            let p = conv(bare, spec, batch, side, from, tag, src, residual);
            let dst = dst_of(&p);
            chain.convs.push(chain.steps.len());
            chain.steps.push(Step::OneDnn(p));
            dst
        };
        let mut x = push_conv(&mut chain, &arch.stem, side, image_tag, None, None);
        side = (side - 1) / arch.stem.stride + 1;
        for unit in &arch.units {
            match unit {
                Unit::MaxPool => {
                    let to = (side - 1) / 2 + 1;
                    let params = MaxPool::new(3).stride(2).padding(1);
                    let t = x_like(batch, 64, side, mode);
                    chain.steps.push(pool(move || ops::max_pool2d(&t, &params)));
                    x = bare.memory(bare.md(&[batch, 64, to, to], tag));
                    side = to;
                }
                Unit::Block { convs, project, residual } => {
                    let mut saved = x;
                    if let Some(p) = project {
                        saved = push_conv(&mut chain, p, side, tag, Some(x), None);
                    }
                    for (i, spec) in convs.iter().enumerate() {
                        let add = (*residual && i + 1 == convs.len()).then_some(saved);
                        x = push_conv(&mut chain, spec, side, tag, Some(x), add);
                        side = (side - 1) / spec.stride + 1;
                    }
                }
            }
        }
        let features = arch.features();
        let t = x_like(batch, features, side, mode);
        chain.steps.push(pool(move || ops::global_avg_pool(&t)));
        let (src, weights) =
            (bare.md(&[batch, features], dnnl_ab), bare.md(&[features, 1000], dnnl_format_tag_any));
        let (bias, dst) = (bare.md(&[1, 1000], dnnl_ab), bare.md(&[batch, 1000], dnnl_ab));
        let mut pd = std::ptr::null_mut();
        // SAFETY: live descriptors and attributes.
        let status = unsafe {
            dnnl_matmul_primitive_desc_create(
                &mut pd,
                bare.engine,
                src,
                weights,
                bias,
                dst,
                attributes(None, None),
            )
        };
        assert_eq!(status, dnnl_success);
        let args = [DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST];
        chain.steps.push(Step::OneDnn(Primitive::new(bare, pd, &args, &[])));
        chain
    }
}

#[allow(clippy::too_many_arguments)]
fn conv(
    bare: &Bare,
    c: &ConvSpec,
    batch: usize,
    side: usize,
    from: dnnl_format_tag_t,
    to: dnnl_format_tag_t,
    src: Option<dnnl_memory_t>,
    residual: Option<dnnl_memory_t>,
) -> Primitive {
    let out = (side - 1) / c.stride + 1;
    let src_md = bare.md(&[batch, c.c, side, side], from);
    let k = c.kernel;
    let weights = match c.groups {
        1 => bare.md(&[c.o, c.c, k, k], dnnl_format_tag_any),
        g => bare.md(&[g, c.o / g, c.c / g, k, k], dnnl_format_tag_any),
    };
    let (bias, dst) = (bare.md(&[c.o], dnnl_a), bare.md(&[batch, c.o, out, out], to));
    let eltwise = c.activation.map(|a| match a {
        blocktensor::ops::Activation::Clip(low, high) => (dnnl_eltwise_clip, low, high),
        _ => (dnnl_eltwise_relu, 0.0, 0.0),
    });
    let attr = attributes(residual.map(|_| dst), eltwise);
    let (stride, pad) = ([c.stride as i64; 2], [(k / 2) as i64; 2]);
    let mut pd = std::ptr::null_mut();
    // SAFETY: live descriptors and attributes, arrays of two values.
    let status = unsafe {
        dnnl_convolution_forward_primitive_desc_create(
            &mut pd,
            bare.engine,
            dnnl_forward_inference,
            dnnl_convolution_direct,
            src_md,
            weights,
            bias,
            dst,
            stride.as_ptr(),
            [0i64; 2].as_ptr(),
            pad.as_ptr(),
            pad.as_ptr(),
            attr,
        )
    };
    assert_eq!(status, dnnl_success, "{c:?}");
    let mut args = vec![DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST];
    let mut shared: Vec<(i32, dnnl_memory_t)> = src.map(|m| (DNNL_ARG_SRC, m)).into_iter().collect();
    if let Some(r) = residual {
        let arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;
        args.push(arg);
        shared.push((arg, r));
    }
    let p = Primitive::new(bare, pd, &args, &shared);
    assert!(!p.implementation.starts_with("ref"), "{c:?}: {}", p.implementation);
    p
}

fn pool<T>(run: impl Fn() -> blocktensor::Result<T> + Send + Sync + 'static) -> Step {
    Step::Pool(Box::new(move || drop(run().expect("a pool"))))
}

/// A tensor of noise in the layout of `mode`.
fn x_like(batch: usize, channels: usize, side: usize, mode: Mode) -> Tensor {
    let values: Vec<f32> = (0..batch * channels * side * side).map(|i| (i % 7) as f32 * 0.01).collect();
    let x = StridedTensor::from_slice(&values, &[batch, channels, side, side]).expect("a tensor");
    match mode {
        Mode::Blocked => Tensor::Blocked(x.to_blocked(&Layout::native().0).expect("blocked")),
        _ => Tensor::Strided(x.contiguous(mode.image_format()).expect("a format")),
    }
}
