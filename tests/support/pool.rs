//! Pooling by its definition: loops over logical indices in 3-D, with sums in f64. Problems of fewer dimensions have sizes of 1.

/// One window along one axis: the positions in the source, and the number of elements that an average divides by.
#[derive(Clone, Debug)]
pub struct Window {
    pub positions: Vec<usize>,
    pub count: usize,
}

/// A pooling problem. Lists are `[d, h, w]`. Problems of fewer dimensions have, for the missing axes in front, 1 for sizes,
/// kernel, stride and dilation, and 0 for padding.
#[derive(Clone, Debug)]
pub struct Pool {
    pub input: [usize; 3],
    pub kernel: [usize; 3],
    pub stride: [usize; 3],
    /// Before each axis, and after it: PyTorch has one number for both.
    pub padding: [usize; 3],
    pub padding_end: [usize; 3],
    pub dilation: [usize; 3],
    pub ceil_mode: bool,
    pub count_include_pad: bool,
}

impl Pool {
    /// The windows along one axis; `None` where PyTorch refuses.
    fn axis(&self, a: usize) -> Option<Vec<Window>> {
        let [n, k, s, p, d] =
            [self.input[a], self.kernel[a], self.stride[a], self.padding[a], self.dilation[a]]
                .map(|v| v as f64);
        let end = self.padding_end[a];
        let exact = (n + p + end as f64 - d * (k - 1.0) - 1.0) / s + 1.0;
        let mut output = if self.ceil_mode { exact.ceil() } else { exact.floor() };
        if self.ceil_mode && (output - 1.0) * s >= n + p {
            output -= 1.0;
        }
        if output < 1.0 {
            return None;
        }
        let [n, k, s, p, d] = [n, k, s, p, d].map(|v| v as isize);
        let window = |o: isize| {
            let from = o * s - p;
            let positions: Vec<usize> =
                (0..k).map(|t| from + t * d).filter(|&i| 0 <= i && i < n).map(|i| i as usize).collect();
            let padded = (from..from + k).filter(|&i| i < n + end as isize).count();
            let count = if self.count_include_pad { padded } else { positions.len() };
            Window { positions, count }
        };
        Some((0..output as isize).map(window).collect())
    }

    /// The windows along all axes.
    pub fn windows(&self) -> Option<[Vec<Window>; 3]> {
        Some([self.axis(0)?, self.axis(1)?, self.axis(2)?])
    }
}

/// Windows of adaptive pooling.
pub fn adaptive(input: [usize; 3], output: [usize; 3]) -> [Vec<Window>; 3] {
    std::array::from_fn(|a| {
        let window = |o: usize| {
            let from = (o as f64 * input[a] as f64 / output[a] as f64).floor() as usize;
            let to = ((o + 1) as f64 * input[a] as f64 / output[a] as f64).ceil() as usize;
            Window { positions: (from..to).collect(), count: to - from }
        };
        (0..output[a]).map(window).collect()
    })
}

/// For each element of the result, `f` of the elements in its window and of the number that an average divides by.
pub fn each_window(
    x: &[f32],
    planes: usize,
    input: [usize; 3],
    windows: &[Vec<Window>; 3],
    f: impl Fn(&[f32], usize) -> f64,
) -> Vec<f64> {
    let mut y = Vec::new();
    let mut elements = Vec::new();
    for plane in 0..planes {
        for d in &windows[0] {
            for h in &windows[1] {
                for w in &windows[2] {
                    elements.clear();
                    for &i in &d.positions {
                        for &j in &h.positions {
                            for &k in &w.positions {
                                elements.push(x[((plane * input[0] + i) * input[1] + j) * input[2] + k]);
                            }
                        }
                    }
                    y.push(f(&elements, d.count * h.count * w.count));
                }
            }
        }
    }
    y
}

/// The maximum: NaN where an element is NaN, minus infinity of an empty window.
pub fn max(elements: &[f32], _: usize) -> f64 {
    let nan = elements.iter().any(|e| e.is_nan());
    let max = elements.iter().fold(f64::NEG_INFINITY, |m, &e| if f64::from(e) > m { e.into() } else { m });
    if nan { f64::NAN } else { max }
}

/// The mean.
pub fn mean(elements: &[f32], count: usize) -> f64 {
    elements.iter().map(|&e| f64::from(e)).sum::<f64>() / count as f64
}
