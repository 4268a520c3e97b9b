//! Convolution by its definition: f64 loops over logical indices in 3-D. Problems of fewer dimensions have sizes of 1.

/// A convolution problem. Lists are `[d, h, w]`. 1-D and 2-D problems have, for the missing axes in front, 1 for sizes,
/// kernel, stride and dilation, and 0 for padding.
#[derive(Clone, Debug)]
pub struct Problem {
    pub n: usize,
    pub c: usize,
    pub o: usize,
    pub groups: usize,
    pub input: [usize; 3],
    pub kernel: [usize; 3],
    pub stride: [usize; 3],
    pub dilation: [usize; 3],
    pub pad_begin: [usize; 3],
    pub pad_end: [usize; 3],
}

impl Problem {
    /// One group, strides and dilation of 1, no padding.
    pub fn new([n, c, o]: [usize; 3], input: [usize; 3], kernel: [usize; 3]) -> Problem {
        Problem {
            n,
            c,
            o,
            groups: 1,
            input,
            kernel,
            stride: [1; 3],
            dilation: [1; 3],
            pad_begin: [0; 3],
            pad_end: [0; 3],
        }
    }

    /// The same with this padding at both ends of each axis.
    pub fn padded(self, by: [usize; 3]) -> Problem {
        Problem { pad_begin: by, pad_end: by, ..self }
    }

    pub fn output(&self) -> [usize; 3] {
        std::array::from_fn(|a| {
            let reach = self.dilation[a] * (self.kernel[a] - 1) + 1;
            (self.input[a] + self.pad_begin[a] + self.pad_end[a] - reach) / self.stride[a] + 1
        })
    }

    /// The result, and for each element the sum of the absolute products, which rounding errors scale with.
    pub fn solve(&self, x: &[f32], w: &[f32], bias: Option<&[f32]>) -> (Vec<f64>, Vec<f64>) {
        let (out, inp, k) = (self.output(), self.input, self.kernel);
        let (cg, og) = (self.c / self.groups, self.o / self.groups);
        let (mut y, mut magnitude) = (Vec::new(), Vec::new());
        for n in 0..self.n {
            for o in 0..self.o {
                for p in 0..out.iter().product::<usize>() {
                    let at = [p / (out[1] * out[2]), p / out[2] % out[1], p % out[2]];
                    let (mut sum, mut abs) = (0f64, 0f64);
                    for c in 0..cg {
                        for t in 0..k.iter().product::<usize>() {
                            let tap = [t / (k[1] * k[2]), t / k[2] % k[1], t % k[2]];
                            let pos: [isize; 3] = std::array::from_fn(|a| {
                                (at[a] * self.stride[a] + tap[a] * self.dilation[a]) as isize
                                    - self.pad_begin[a] as isize
                            });
                            if (0..3).all(|a| pos[a] >= 0 && pos[a] < inp[a] as isize) {
                                let ch = o / og * cg + c;
                                let i =
                                    ((n * self.c + ch) * inp[0] + pos[0] as usize) * inp[1] + pos[1] as usize;
                                let v = f64::from(x[i * inp[2] + pos[2] as usize])
                                    * f64::from(w[(o * cg + c) * k.iter().product::<usize>() + t]);
                                sum += v;
                                abs += v.abs();
                            }
                        }
                    }
                    let b = bias.map_or(0.0, |b| f64::from(b[o]));
                    y.push(sum + b);
                    magnitude.push(abs + b.abs());
                }
            }
        }
        (y, magnitude)
    }
}

/// A transposed convolution problem. Fields are those of [`Problem`]; `input` holds the sizes of the source.
#[derive(Clone, Debug)]
pub struct Transposed {
    pub of: Problem,
    pub output_padding: [usize; 3],
}

impl Transposed {
    /// The sizes of the result; `None` where padding leaves no element.
    pub fn output(&self) -> Option<[usize; 3]> {
        let p = &self.of;
        let size = |a: usize| {
            let spread = (p.input[a] - 1) * p.stride[a] + p.dilation[a] * (p.kernel[a] - 1) + 1;
            (spread + self.output_padding[a]).checked_sub(p.pad_begin[a] + p.pad_end[a]).filter(|&s| s > 0)
        };
        Some([size(0)?, size(1)?, size(2)?])
    }

    /// As [`Problem::solve`]: adds every source pixel, times the kernel, to the result. Weights are `[C, O/groups, k...]`.
    pub fn solve(&self, x: &[f32], w: &[f32], bias: Option<&[f32]>) -> (Vec<f64>, Vec<f64>) {
        let (p, out) = (&self.of, self.output().unwrap());
        let (cg, og) = (p.c / p.groups, p.o / p.groups);
        let (pixels, taps) = (p.input.iter().product::<usize>(), p.kernel.iter().product::<usize>());
        let plane: usize = out.iter().product();
        let split = |i: usize, s: &[usize; 3]| [i / (s[1] * s[2]), i / s[2] % s[1], i % s[2]];
        let mut y: Vec<f64> =
            (0..p.n * p.o * plane).map(|i| bias.map_or(0.0, |b| f64::from(b[i / plane % p.o]))).collect();
        let mut magnitude: Vec<f64> = y.iter().map(|v| v.abs()).collect();
        for n in 0..p.n {
            for c in 0..p.c {
                for pixel in 0..pixels {
                    let from = split(pixel, &p.input);
                    let v = f64::from(x[(n * p.c + c) * pixels + pixel]);
                    for tap in 0..taps {
                        let k = split(tap, &p.kernel);
                        let to: [isize; 3] = std::array::from_fn(|a| {
                            (from[a] * p.stride[a] + k[a] * p.dilation[a]) as isize - p.pad_begin[a] as isize
                        });
                        if (0..3).any(|a| to[a] < 0 || to[a] >= out[a] as isize) {
                            continue;
                        }
                        let at = (to[0] as usize * out[1] + to[1] as usize) * out[2] + to[2] as usize;
                        for o in 0..og {
                            let product = v * f64::from(w[(c * og + o) * taps + tap]);
                            let i = (n * p.o + c / cg * og + o) * plane + at;
                            y[i] += product;
                            magnitude[i] += product.abs();
                        }
                    }
                }
            }
        }
        (y, magnitude)
    }
}
