//! The kernel against its definition, in every instruction set of this machine.

use std::borrow::Cow;
use std::process::Command;
use std::sync::Arc;

use super::implementation::misfit;
use super::plan::{PointwisePlan, Scheme};
use crate::StridedTensor;
use crate::buffer::Buffer;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::epilogue::Finish;
use crate::kernels::conv::geometry::ConvNumbers;
use crate::kernels::conv::implementation::ConvKernel;
use crate::kernels::conv::tiled::{F32Operands, TiledPlan};
use crate::kernels::conv::weights::PlainWeights;
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::ops::{Activation, PostOp};
use crate::post_ops::PostOps;
use crate::threads;

/// One convolution.
pub(super) struct Case {
    /// N, C and the spatial sizes.
    pub dims: Vec<usize>,
    pub o: usize,
    pub strides: Vec<usize>,
    pub block: usize,
}

/// Numbers between -1 and 1.
pub(super) fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

impl Case {
    pub fn geometry(&self) -> ConvGeometry {
        self.with(&vec![1; self.strides.len()], 0, 1, None).unwrap()
    }

    /// The geometry with another kernel, padding or number of groups.
    fn with(
        &self,
        kernel: &[usize],
        padding: usize,
        groups: usize,
        transposed: Option<Dims>,
    ) -> crate::Result<ConvGeometry> {
        let spatial = self.strides.len();
        let weights = [&[self.o, self.dims[1] / groups], kernel].concat();
        let numbers = ConvNumbers {
            stride: Dims::from_slice(&self.strides),
            padding: Dims::filled(padding, 2 * spatial),
            dilation: Dims::filled(3, spatial),
            groups,
            transposed,
            zero_point: 0,
        };
        ConvGeometry::new("conv", spatial, &self.dims, &weights, None, &numbers)
    }

    pub fn layout(&self) -> Layout {
        Layout::blocked_activation(self.dims.len(), self.block).unwrap()
    }

    fn plan(&self, threads: usize) -> PointwisePlan {
        PointwisePlan::new(&self.geometry(), &self.layout(), threads).unwrap().unwrap()
    }

    /// Output pixel `p`'s source pixel.
    fn source_pixel(&self, p: usize) -> usize {
        let (mut rest, mut at, mut stride) = (p, 0, 1);
        for (axis, &size) in self.dims[2..].iter().enumerate().rev() {
            let output = (size - 1) / self.strides[axis] + 1;
            at += rest % output * self.strides[axis] * stride;
            (rest, stride) = (rest / output, stride * size);
        }
        at
    }
}

/// Plain operands, `[N, C, pixels]`.
struct Data {
    src: Vec<f32>,
    weights: Vec<f32>,
    bias: Vec<f32>,
    residual: Vec<f32>,
    channel: Vec<Vec<f32>>,
}

impl Data {
    fn new(g: &ConvGeometry, post_ops: &PostOps) -> Data {
        Data {
            src: numbers(g.src_dims().iter().product(), 1),
            weights: numbers(g.o * g.c, 2),
            bias: numbers(g.o, 3),
            residual: numbers(g.dst_dims().iter().product(), 4),
            channel: (0..post_ops.channel_operands()).map(|i| numbers(g.o, 5 + i as u64)).collect(),
        }
    }
}

/// Where a value lies in blocked memory.
fn place(channels: usize, pixels: usize, block: usize, [n, c, p]: [usize; 3]) -> usize {
    ((n * channels.div_ceil(block) + c / block) * pixels + p) * block + c % block
}

/// `[N, C, pixels]` in blocks, with zeros as padding.
fn blocked(plain: &[f32], n: usize, channels: usize, block: usize) -> Vec<f32> {
    let pixels = plain.len() / (n * channels).max(1);
    let mut to = vec![0.0; n * channels.next_multiple_of(block) * pixels];
    for (i, v) in plain.iter().enumerate() {
        let at = [i / pixels / channels, i / pixels % channels, i % pixels];
        to[place(channels, pixels, block, at)] = *v;
    }
    to
}

/// The weights as a kernel reads them.
fn ordered(kernel: &dyn ConvKernel, g: &ConvGeometry, data: &Data) -> Arc<Buffer> {
    let plain = StridedTensor::from_slice(&data.weights, &g.weight_dims()).unwrap();
    kernel.order(&PlainWeights::new(g, &plain)).unwrap()
}

/// What the kernel makes of it, with a plan of its own or that of `change`.
fn result(case: &Case, data: &Data, post_ops: &PostOps, change: impl FnOnce(&mut PointwisePlan)) -> Vec<f32> {
    let (g, mut plan) = (case.geometry(), case.plan(threads::current_threads()));
    change(&mut plan);
    let packed = ordered(&plan, &g, data);
    let mut dst = vec![f32::NAN; plan.tiled.dst.len()];
    with_operands(case, data, post_ops, packed.as_slice(), |o| plan.compute(o, &mut dst, None).unwrap());
    dst
}

fn with_operands<R>(
    case: &Case,
    data: &Data,
    post_ops: &PostOps,
    weights: &[f32],
    f: impl FnOnce(&F32Operands<'_>) -> R,
) -> R {
    let g = case.geometry();
    let src = blocked(&data.src, g.n, g.c, case.block);
    let residual = blocked(&data.residual, g.n, g.o, case.block);
    let channel: Vec<Cow<'_, [f32]>> = data.channel.iter().map(|c| Cow::Borrowed(&c[..])).collect();
    f(&F32Operands {
        src: &src,
        weights,
        finish: Finish { bias: Some(&data.bias), post_ops, channel: &channel },
        residual: post_ops.takes_residual().then_some(&residual[..]),
    })
}

/// Checks every element of a result, the padding too, against the definition in f64.
fn check(case: &Case, data: &Data, post_ops: &PostOps, got: &[f32]) {
    let g = case.geometry();
    let pixels: usize = g.output.iter().product();
    let source_pixels: usize = g.input.iter().product();
    let padded = g.o.next_multiple_of(case.block);
    assert_eq!(got.len(), g.n * padded * pixels);
    for n in 0..g.n {
        for o in 0..padded {
            for p in 0..pixels {
                let got = got[place(padded, pixels, case.block, [n, o, p])];
                if o >= g.o {
                    assert_eq!(got.to_bits(), 0, "padding {:?} {n} {o} {p}", case.dims);
                    continue;
                }
                let from = case.source_pixel(p);
                let product = |c: usize| {
                    let source = data.src[(n * g.c + c) * source_pixels + from];
                    f64::from(source) * f64::from(data.weights[o * g.c + c])
                };
                let sum = f64::from(data.bias[o]) + (0..g.c).map(product).sum::<f64>();
                let mut channel = data.channel.iter().map(|c| f64::from(c[o]));
                let residual = f64::from(data.residual[(n * g.o + o) * pixels + p]);
                let want = post_ops.iter().fold(sum, |x, op| match *op {
                    PostOp::Residual => x + residual,
                    PostOp::MulChannel => x * channel.next().unwrap(),
                    PostOp::AddChannel => x + channel.next().unwrap(),
                    PostOp::Prelu => channel.next().map(|c| if x > 0.0 { x } else { x * c }).unwrap(),
                    PostOp::Activation(a) => activation(a, x),
                    PostOp::QuantizedResidual { .. } | PostOp::Round { .. } | PostOp::Quantize { .. } => {
                        unreachable!("they are of integers")
                    }
                });
                let error = (f64::from(got) - want).abs();
                assert!(
                    error <= 2e-5 * (1.0 + want.abs()),
                    "{:?} {post_ops} {n} {o} {p}: {got} {want}",
                    case.dims
                );
            }
        }
    }
}

fn activation(a: Activation, x: f64) -> f64 {
    let sigmoid = 1.0 / (1.0 + (-x).exp());
    let hard = (x + 3.0).clamp(0.0, 6.0) / 6.0;
    match a {
        Activation::Relu => x.max(0.0),
        Activation::LeakyRelu(slope) => x.max(0.0) + f64::from(slope) * x.min(0.0),
        Activation::Clip(low, high) => x.clamp(f64::from(low), f64::from(high)),
        Activation::Silu => x * sigmoid,
        Activation::HardSwish => x * hard,
        Activation::HardSigmoid => hard,
        Activation::Gelu => x * (1.0 + erf(x / 2f64.sqrt())) / 2.0,
        Activation::Sigmoid => sigmoid,
        Activation::Tanh => x.tanh(),
    }
}

/// By the series, which is exact enough for values of these tests.
fn erf(x: f64) -> f64 {
    let (mut sum, mut term) = (0.0, x);
    for k in 0..200 {
        sum += term / f64::from(2 * k + 1);
        term *= -x * x / f64::from(k + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

/// Batches, spatial sizes and strides.
const SIZES: [(usize, &[usize], &[usize]); 11] = [
    (1, &[1], &[1]),
    (3, &[17], &[1]),
    (1, &[16], &[2]),
    (0, &[5, 3], &[1, 1]),
    (0, &[5, 3], &[2, 2]),
    (1, &[5, 3], &[1, 1]),
    (3, &[7, 9], &[2, 2]),
    (2, &[6, 5], &[1, 2]),
    (3, &[1, 1], &[2, 2]),
    (3, &[2, 3, 5], &[1, 1, 1]),
    (1, &[5, 4, 3], &[2, 2, 2]),
];

#[test]
fn every_tail_of_channels_agrees_with_the_definition() {
    let post_ops: PostOps = "residual,sigmoid".parse().unwrap();
    for block in [8, 16] {
        for (n, spatial, strides) in SIZES {
            for c in [1, 3, 15, 16, 17, 31, 33] {
                for o in [1, 3, 15, 16, 17, 31, 33] {
                    let dims = [&[n, c], spatial].concat();
                    let case = Case { dims, o, strides: strides.to_vec(), block };
                    for post_ops in [PostOps::new(), post_ops] {
                        let data = Data::new(&case.geometry(), &post_ops);
                        check(&case, &data, &post_ops, &result(&case, &data, &post_ops, |_| ()));
                    }
                }
            }
        }
    }
}

#[test]
fn every_post_op_agrees_with_the_definition() {
    let lists = [
        "residual",
        "mul_channel",
        "add_channel",
        "prelu",
        "relu",
        "leaky_relu(0.1)",
        "clip(-0.5,0.25)",
        "silu",
        "hardswish",
        "hardsigmoid",
        "gelu",
        "sigmoid",
        "tanh",
        "mul_channel,add_channel,residual,prelu,sigmoid",
        "relu,residual,add_channel",
    ];
    for block in [8, 16] {
        for strides in [[1, 1], [2, 2]] {
            for list in lists {
                let post_ops: PostOps = list.parse().unwrap();
                let case = Case { dims: vec![2, 19, 11, 7], o: 27, strides: strides.to_vec(), block };
                let data = Data::new(&case.geometry(), &post_ops);
                check(&case, &data, &post_ops, &result(&case, &data, &post_ops, |_| ()));
            }
        }
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Cases of more than one step, unit and run.
fn larger_cases() -> Vec<Case> {
    let case = |dims: &[usize], o, stride, block| Case {
        dims: dims.to_vec(),
        o,
        strides: vec![stride; dims.len() - 2],
        block,
    };
    vec![
        case(&[3, 50, 7, 7], 100, 1, 16),
        case(&[2, 40, 23, 29], 72, 1, 8),
        case(&[2, 40, 23, 29], 72, 2, 16),
        case(&[1, 700, 40, 20], 33, 1, 16),
        case(&[5, 33, 300], 20, 3, 8),
    ]
}

#[test]
fn bits_depend_neither_on_threads_nor_on_how_the_work_is_cut() {
    let post_ops: PostOps = "residual,relu".parse().unwrap();
    for case in larger_cases() {
        let data = Data::new(&case.geometry(), &post_ops);
        let one = threads::run_with_threads(1, || result(&case, &data, &post_ops, |_| ()));
        check(&case, &data, &post_ops, &one);
        let one = bits(&one);
        for threads in [2, 3] {
            let other = threads::run_with_threads(threads, || result(&case, &data, &post_ops, |_| ()));
            assert_eq!(one, bits(&other), "{:?} {threads}", case.dims);
        }
        for (tile_parts, unit_parts, step_tiles, step_units) in [(1, 1, 1, 1), (3, 2, 2, 2), (2, 1, 9, 1)] {
            let scheme = Scheme { tile_parts, unit_parts, step_tiles, step_units };
            let other = result(&case, &data, &post_ops, |plan| plan.scheme = scheme);
            assert_eq!(one, bits(&other), "{:?} {scheme:?}", case.dims);
        }
    }
}

#[test]
fn bits_are_those_of_a_direct_convolution() {
    let post_ops: PostOps = "mul_channel,tanh".parse().unwrap();
    for case in larger_cases() {
        let g = case.geometry();
        let data = Data::new(&g, &post_ops);
        let tiled = TiledPlan::new(&g, &case.layout()).unwrap().unwrap();
        let packed = ordered(&tiled, &g, &data);
        let mut dst = vec![f32::NAN; tiled.dst.len()];
        with_operands(&case, &data, &post_ops, packed.as_slice(), |o| tiled.compute(o, &mut dst).unwrap());
        assert_eq!(bits(&dst), bits(&result(&case, &data, &post_ops, |_| ())), "{:?}", case.dims);
    }
}

#[test]
fn weights_lie_as_in_their_blocked_layout_and_come_back() {
    for block in [8, 16] {
        let case = Case { dims: vec![1, 21, 3, 3], o: 35, strides: vec![1, 1], block };
        let (g, plan) = (case.geometry(), case.plan(1));
        let layout = Layout::weights_for(2, 1, 21, 35, block).unwrap();
        assert!(plan.takes(&layout) && plan.weights_name().unwrap() == layout.to_string());
        let data = Data::new(&g, &PostOps::new());
        let packed = ordered(&plan, &g, &data);
        assert_eq!(packed.len(), plan.weight_bytes());
        let squares = 21usize.div_ceil(block);
        for (i, w) in data.weights.iter().enumerate() {
            let (o, c) = (i / 21, i % 21);
            let at = ((o / block * squares + c / block) * block + c % block) * block + o % block;
            assert_eq!(packed.as_slice::<f32>()[at], *w);
        }
        let mut plain = vec![f32::NAN; data.weights.len()];
        plan.unorder(packed.as_bytes(), &mut plain).unwrap();
        assert_eq!(plain, data.weights);
    }
}

#[test]
fn other_convolutions_are_refused_with_a_reason() {
    let case = Case { dims: vec![1, 32, 9, 9], o: 32, strides: vec![1, 1], block: 16 };
    assert_eq!(misfit(&case.geometry()), None);
    let reason = |kernel: [usize; 2], padding, groups, transposed| {
        misfit(&case.with(&kernel, padding, groups, transposed).unwrap()).unwrap_or("none")
    };
    assert!(reason([1, 3], 0, 1, None).contains("one tap"));
    assert!(reason([1, 1], 1, 1, None).contains("without padding"));
    assert!(reason([1, 1], 0, 2, None).contains("one group"));
    assert!(reason([1, 1], 0, 1, Some(Dims::filled(0, 2))).contains("not transposed"));
    assert!(PointwisePlan::new(&case.geometry(), &Layout::CHWN4, 1).unwrap().is_none());
}

#[test]
#[should_panic(expected = "out of range")]
fn a_short_result_is_refused() {
    let case = Case { dims: vec![1, 16, 4, 4], o: 16, strides: vec![1, 1], block: 16 };
    let (plan, data) = (case.plan(1), Data::new(&case.geometry(), &PostOps::new()));
    let (weights, mut dst) = (vec![0.5; 256], vec![0.0; 16 * 16 - 1]);
    with_operands(&case, &data, &PostOps::new(), &weights, |o| plan.compute(o, &mut dst, None)).unwrap();
}

/// Runs the tests above once more in processes that are limited to narrower vectors.
#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn narrower_instruction_sets_pass_the_same_tests() {
    const ISA: &str = "ONEDNN_MAX_CPU_ISA";
    if std::env::var_os(ISA).is_some() {
        return;
    }
    for isa in ["AVX2", "SSE41"] {
        let mut tests = Command::new(std::env::current_exe().unwrap());
        let output = tests.arg("conv::pointwise::tests::").env(ISA, isa).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("8 passed"), "{isa}: {text}");
    }
}
