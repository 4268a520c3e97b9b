//! Every implementation that oneDNN has for a convolution, not only its first choice, gives the numbers of the definition.

use std::collections::BTreeMap;

use super::{BAD_WITH_BIAS, ConvSpec, FOR_THIS_BATCH};
use crate::layout::blocked::Layout;
use crate::layout::memory_format::MemoryFormat;
use crate::onednn::memory::Spec;
use crate::onednn::primitive::{Executable, RunArg};
use crate::onednn::{Refused, pack};
use crate::tensor::strided::StridedTensor;
use crate::{DType, threads};

struct Problem {
    n: usize,
    groups: usize,
    /// Channels a group.
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

    /// Loops from the definition.
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

/// Activations in one of the layouts: their description, and where an index lies.
struct Form<'a> {
    dims: &'a [usize],
    layout: Option<&'a Layout>,
    strides: Vec<usize>,
}

impl<'a> Form<'a> {
    fn new(dims: &'a [usize], format: MemoryFormat, layout: Option<&'a Layout>) -> Form<'a> {
        Form { dims, layout, strides: format.strides("test", dims).unwrap().to_vec() }
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

    /// The place of element `i` of row-major order.
    fn place(&self, i: usize) -> usize {
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
    let forms = [
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
        for (format, layout) in forms {
            let (src, dst) = (Form::new(&src_dims, format, layout), Form::new(&dst_dims, format, layout));
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
                allow_reference: true,
                threads: threads::current_threads(),
            };
            let mut desc = match spec.ask(&[]) {
                Ok(desc) => desc,
                Err(Refused::Unsupported(_)) => continue,
                Err(Refused::Failed(e)) => panic!("{e}"),
            };
            let mut lying = vec![0f32; src.elements()];
            x.iter().enumerate().for_each(|(i, &v)| lying[src.place(i)] = v);
            loop {
                let name = desc.implementation().unwrap();
                // The engine's faults that `create` works around.
                if !(p.bias && name.starts_with(BAD_WITH_BIAS) || name.contains(FOR_THIS_BATCH)) {
                    let run = Executable::new(&desc, &spec.arguments(&[])).unwrap();
                    let packed = pack(&plain, run.desc(1)).ok().unwrap();
                    let mut y = vec![f32::NAN; dst.elements()];
                    let mut args = vec![
                        RunArg::In(bytemuck::cast_slice(&lying)),
                        RunArg::In(packed.as_bytes()),
                        RunArg::Out(bytemuck::cast_slice_mut(&mut y)),
                    ];
                    if p.bias {
                        args.insert(2, RunArg::In(bytemuck::cast_slice(&b)));
                    }
                    run.run(&mut args).unwrap();
                    let what = format!("case {case}: {name}, {src_dims:?} to {dst_dims:?}, {}", src.spec());
                    for (i, &want) in want.iter().enumerate() {
                        let at = &mut y[dst.place(i)];
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
