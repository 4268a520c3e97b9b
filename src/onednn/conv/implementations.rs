//! Tests every implementation that oneDNN has for a convolution, not only its first choice, against the definition.

use std::collections::BTreeMap;

use onednn_sys as sys;

use super::{BAD_WITH_BIAS, BATCH_SPECIFIC, ConvSpec, PostSpec};
use crate::layout::blocked::Layout;
use crate::layout::memory_format::MemoryFormat;
use crate::onednn::memory::Spec;
use crate::onednn::primitive::{Executable, RunArg};
use crate::onednn::{Refused, pack};
use crate::simd::Isa;
use crate::tensor::strided::StridedTensor;
use crate::{DType, threads};

struct Problem {
    n: usize,
    groups: usize,
    /// Channels per group.
    c: usize,
    o: usize,
    size: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    pad: [usize; 2],
    bias: bool,
}

struct Draw(u64);

impl Draw {
    fn of(&mut self, list: &[usize]) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        list[(self.0 >> 33) as usize % list.len()]
    }

    fn integers(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.of(&[0, 1, 2, 3, 4, 5, 6, 7, 8]) as f32 - 4.0).collect()
    }
}

impl Problem {
    fn draw(d: &mut Draw) -> Problem {
        let kernel = [d.of(&[1, 1, 2, 3, 3, 5]), d.of(&[1, 1, 2, 3, 3, 5])];
        let dilation = [d.of(&[1, 1, 1, 2]), d.of(&[1, 1, 1, 2])];
        let pad = [d.of(&[0, 1, 2]), d.of(&[0, 1, 2])];
        let least =
            [0, 1].map(|a| (dilation[a] * (kernel[a] - 1) + 1usize).saturating_sub(2 * pad[a]).max(1));
        let (groups, c, o) = match d.of(&[0, 0, 0, 1, 2, 3]) {
            0 => (1, d.of(&[1, 3, 15, 16, 17, 31, 33, 64]), d.of(&[1, 3, 15, 16, 17, 31, 33, 64])),
            1 => (2, 16, 32),
            2 => (d.of(&[16, 32, 17]), 1, 1),
            _ => (3, 8, 8),
        };
        Problem {
            n: d.of(&[1, 2, 3]),
            groups,
            c,
            o,
            size: least.map(|l| l + d.of(&[0, 1, 4, 6, 9])),
            kernel,
            stride: [d.of(&[1, 1, 2, 3]), d.of(&[1, 1, 2, 3])],
            dilation,
            pad,
            bias: d.of(&[0, 1]) == 1,
        }
    }

    fn output(&self) -> [usize; 2] {
        [0, 1].map(|a| {
            (self.size[a] + 2 * self.pad[a] - self.dilation[a] * (self.kernel[a] - 1) - 1) / self.stride[a]
                + 1
        })
    }

    /// Computes the result with loops from the definition.
    fn solve(&self, x: &[f32], w: &[f32], b: &[f32]) -> Vec<f64> {
        let ([oh, ow], [ih, iw], [kh, kw]) = (self.output(), self.size, self.kernel);
        let mut y = Vec::new();
        for n in 0..self.n {
            for o in 0..self.groups * self.o {
                for at in 0..oh * ow {
                    let mut sum = if self.bias { f64::from(b[o]) } else { 0.0 };
                    for c in 0..self.c {
                        for tap in 0..kh * kw {
                            let i = (at / ow * self.stride[0] + tap / kw * self.dilation[0])
                                .wrapping_sub(self.pad[0]);
                            let j = (at % ow * self.stride[1] + tap % kw * self.dilation[1])
                                .wrapping_sub(self.pad[1]);
                            if i < ih && j < iw {
                                let channel = n * self.groups * self.c + o / self.o * self.c + c;
                                let v = x[(channel * ih + i) * iw + j];
                                sum += f64::from(v) * f64::from(w[(o * self.c + c) * kh * kw + tap]);
                            }
                        }
                    }
                    y.push(sum);
                }
            }
        }
        y
    }
}

/// Activations in one of the layouts: their spec, and the offsets of their elements.
struct TestLayout<'a> {
    dims: &'a [usize],
    layout: Option<&'a Layout>,
    strides: Vec<usize>,
}

impl<'a> TestLayout<'a> {
    fn new(dims: &'a [usize], format: MemoryFormat, layout: Option<&'a Layout>) -> TestLayout<'a> {
        TestLayout { dims, layout, strides: format.strides("test", dims).unwrap().to_vec() }
    }

    fn spec(&self) -> Spec<'_> {
        match self.layout {
            Some(layout) => Spec::Layout { dims: self.dims, layout, dtype: DType::F32 },
            None => Spec::Strided { dims: self.dims, strides: &self.strides, dtype: DType::F32 },
        }
    }

    fn elements(&self) -> usize {
        self.layout.map_or(self.dims.iter().product(), |l| l.size_elements(self.dims).unwrap())
    }

    /// The offset of element `i` of row-major order.
    fn offset(&self, i: usize) -> usize {
        let [_, c, h, w] = *self.dims else { unreachable!() };
        let index = [i / (c * h * w), i / (h * w) % c, i / w % h, i % w];
        match self.layout {
            Some(l) => l.offset(self.dims, &index).unwrap(),
            None => index.iter().zip(&self.strides).map(|(i, s)| i * s).sum(),
        }
    }
}

#[test]
fn every_implementation_gives_the_numbers_of_the_definition() {
    let mut d = Draw(20_261_120);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let layouts = [16, 8].map(|block| Layout::blocked_activation(4, block).unwrap());
    let formats = [
        (MemoryFormat::Contiguous, None),
        (MemoryFormat::ChannelsLast, None),
        (MemoryFormat::Contiguous, Some(&layouts[0])),
        (MemoryFormat::Contiguous, Some(&layouts[1])),
    ];
    for case in 0..120 {
        let p = Problem::draw(&mut d);
        let ([oh, ow], o) = (p.output(), p.groups * p.o);
        let (src_dims, dst_dims) = ([p.n, p.groups * p.c, p.size[0], p.size[1]], [p.n, o, oh, ow]);
        let x = d.integers(src_dims.iter().product());
        let w = d.integers(o * p.c * p.kernel[0] * p.kernel[1]);
        let b = d.integers(o);
        let want = p.solve(&x, &w, &b);
        let weight_dims = match p.groups {
            1 => vec![p.o, p.c, p.kernel[0], p.kernel[1]],
            g => vec![g, p.o, p.c, p.kernel[0], p.kernel[1]],
        };
        let plain = StridedTensor::from_slice(&w, &weight_dims).unwrap();
        for (format, layout) in formats {
            let (src, dst) =
                (TestLayout::new(&src_dims, format, layout), TestLayout::new(&dst_dims, format, layout));
            let spec = ConvSpec {
                transposed: false,
                src: src.spec(),
                weights: Spec::Any { dims: &weight_dims, dtype: DType::F32 },
                bias: p.bias.then_some(o),
                dst: dst.spec(),
                strides: &p.stride,
                dilation: &p.dilation,
                pad_begin: &p.pad,
                pad_end: &p.pad,
                output_padding: &[0, 0],
                post_ops: &[],
                finished_apart: false,
                allow_reference: true,
                threads: threads::current_threads(),
            };
            let mut desc = match spec.ask(&[]) {
                Ok(desc) => desc,
                Err(Refused::Unsupported(_)) => continue,
                Err(Refused::Failed(e)) => panic!("{e}"),
            };
            let mut src_data = vec![0f32; src.elements()];
            x.iter().enumerate().for_each(|(i, &v)| src_data[src.offset(i)] = v);
            loop {
                let name = desc.implementation().unwrap();
                // The faults of oneDNN that `create` avoids.
                if !(p.bias && name.starts_with(BAD_WITH_BIAS) || name.contains(BATCH_SPECIFIC)) {
                    let run = Executable::new(&desc, &spec.arguments(&[])).unwrap();
                    let packed = pack(&plain, run.desc(1)).ok().unwrap();
                    let mut y = vec![f32::NAN; dst.elements()];
                    let mut args = vec![
                        RunArg::In(bytemuck::cast_slice(&src_data)),
                        RunArg::In(packed.as_bytes()),
                        RunArg::Out(bytemuck::cast_slice_mut(&mut y)),
                    ];
                    if p.bias {
                        args.insert(2, RunArg::In(bytemuck::cast_slice(&b)));
                    }
                    run.run(&mut args).unwrap();
                    let what = format!("case {case}: {name}, {src_dims:?} to {dst_dims:?}, {}", src.spec());
                    for (i, &want) in want.iter().enumerate() {
                        let at = &mut y[dst.offset(i)];
                        assert_eq!(f64::from(*at), want, "{what}: element {i}");
                        *at = 0.0;
                    }
                    assert!(y.iter().all(|&v| v == 0.0), "{what}: the channel tail");
                    *seen.entry(name).or_default() += 1;
                }
                if !desc.advance().unwrap() {
                    break;
                }
            }
        }
    }
    println!("{} implementations: {seen:?}", seen.len());
    assert!(seen.len() >= 6 && seen.values().sum::<usize>() > 500, "{seen:?}");
}

/// A 1x1 convolution, its operands and the expected result.
struct Pointwise<'a> {
    src: TestLayout<'a>,
    dst: TestLayout<'a>,
    x: Vec<f32>,
    weights: StridedTensor,
    bias: Vec<f32>,
}

impl Pointwise<'_> {
    /// Runs the primitive that `create` makes; returns its implementation, and the result in row-major order. `None` for a
    /// primitive without bias and post-ops.
    fn run(
        &self,
        post_ops: &[PostSpec<'_>],
        others: &[&[f32]],
        create: impl FnOnce(&ConvSpec<'_>) -> Result<Executable, Refused>,
    ) -> Option<(String, Vec<f32>)> {
        let spec = ConvSpec {
            transposed: false,
            src: self.src.spec(),
            weights: Spec::Any { dims: self.weights.dims(), dtype: DType::F32 },
            bias: Some(self.bias.len()),
            dst: self.dst.spec(),
            strides: &[1, 1],
            dilation: &[1, 1],
            pad_begin: &[0, 0],
            pad_end: &[0, 0],
            output_padding: &[0, 0],
            post_ops,
            finished_apart: false,
            allow_reference: true,
            threads: threads::current_threads(),
        };
        let run = create(&spec).ok().filter(|run| !run.is_bare())?;
        let mut x = vec![0f32; self.src.elements()];
        self.x.iter().enumerate().for_each(|(i, &v)| x[self.src.offset(i)] = v);
        let packed = pack(&self.weights, run.desc(1)).ok().unwrap();
        let mut y = vec![f32::NAN; self.dst.elements()];
        let mut args = vec![
            RunArg::In(bytemuck::cast_slice(&x)),
            RunArg::In(packed.as_bytes()),
            RunArg::In(bytemuck::cast_slice(&self.bias)),
            RunArg::Out(bytemuck::cast_slice_mut(&mut y)),
        ];
        args.extend(others.iter().map(|other| RunArg::In(bytemuck::cast_slice(other))));
        run.run(&mut args).unwrap();
        let elements = self.dst.dims.iter().product();
        Some((run.implementation().into(), (0..elements).map(|i| y[self.dst.offset(i)]).collect()))
    }
}

/// Whichever implementation is faulty, all requested post-ops are applied, and no bit differs. The test does not depend on
/// the version of oneDNN: each of its first choices is treated as faulty in turn.
#[test]
fn the_workaround_for_a_faulty_implementation_keeps_all_post_ops() {
    let mut d = Draw(3);
    let layout = Layout::blocked_activation(4, 16).unwrap();
    let formats = [
        (MemoryFormat::Contiguous, None),
        (MemoryFormat::ChannelsLast, None),
        (MemoryFormat::Contiguous, Some(&layout)),
    ];
    let relu = PostSpec::Eltwise { alg: sys::dnnl_eltwise_relu, alpha: 0.0, beta: 0.0 };
    let (src_dims, dst_dims) = ([2, 32, 5, 5], [2, 48, 5, 5]);
    let mut compared = 0;
    for (format, layout) in formats {
        let p = Pointwise {
            src: TestLayout::new(&src_dims, format, layout),
            dst: TestLayout::new(&dst_dims, format, layout),
            x: d.integers(2 * 32 * 25),
            weights: StridedTensor::from_slice(&d.integers(48 * 32), &[48, 32, 1, 1]).unwrap(),
            bias: d.integers(48),
        };
        let (residual, w) = (d.integers(p.dst.elements()), p.weights.to_vec::<f32>().unwrap());
        let add = PostSpec::Binary { alg: sys::dnnl_binary_add, other: p.dst.spec() };
        let lists: [&[PostSpec<'_>]; 4] = [&[], &[relu], &[add], &[add, relu]];
        for list in lists {
            let others = [&residual[..]];
            let adds = list.iter().any(|op| matches!(op, PostSpec::Binary { .. }));
            let others = if adds { &others[..] } else { &[] };
            let relus = list.iter().any(|op| matches!(op, PostSpec::Eltwise { .. }));
            let want: Vec<f32> = (0..p.dst.dims.iter().product())
                .map(|i| {
                    let (n, o, pixel) = (i / 25 / 48, i / 25 % 48, i % 25);
                    let product = |c| p.x[(n * 32 + c) * 25 + pixel] * w[o * 32 + c];
                    let y = p.bias[o] + (0..32).map(product).sum::<f32>();
                    let y = if adds { y + residual[p.dst.offset(i)] } else { y };
                    if relus { y.max(0.0) } else { y }
                })
                .collect();
            let what = format!("{} post-ops, {}", list.len(), p.src.spec());
            let Some((first, y)) = p.run(list, others, |spec| spec.create()) else { continue };
            assert_eq!(y, want, "{first}, {what}");
            let faulty = |name: &str| name == first || name.starts_with(BAD_WITH_BIAS);
            let Some((second, y)) = p.run(list, others, |spec| spec.create_without(faulty)) else { continue };
            assert_ne!(first, second, "{what}");
            assert_eq!(y, want, "{second} instead of {first}, {what}");
            compared += 1;
        }
    }
    assert!(compared >= 4, "{compared}");
}

/// Sums that are -0, infinite or NaN pass unchanged through the workaround for the fault of NCHW 1x1 with a bias.
#[test]
fn the_identity_keeps_every_kind_of_number() {
    let dims = [1, 16, 3, 4];
    // Products with 2^-100 are exact, or so small that they become a zero with their sign.
    let small = 2f32.powi(-100);
    let kinds = [
        small,
        -small,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1.5,
        -1.5,
        1e-45,
        -1e-45,
        0.0,
        f32::MAX,
        -2.0,
    ];
    let p = Pointwise {
        src: TestLayout::new(&dims, MemoryFormat::Contiguous, None),
        dst: TestLayout::new(&dims, MemoryFormat::Contiguous, None),
        x: kinds.iter().copied().cycle().take(16 * 12).collect(),
        weights: StridedTensor::from_slice(&[small; 16 * 16], &[16, 16, 1, 1]).unwrap(),
        bias: vec![-0.0; 16],
    };
    let Some((name, y)) = p.run(&[], &[], |spec| spec.create()) else {
        // With AVX2 the first choice takes no bias, so that there is nothing to work around.
        assert!(!Isa::Avx512.is_here());
        return;
    };
    for (i, got) in y.into_iter().enumerate() {
        let want = (0..16).fold(-0.0, |sum, _| kinds[i % 12].mul_add(small, sum));
        assert!(
            got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
            "{name}: {i} is {got}, not {want}"
        );
    }
}
