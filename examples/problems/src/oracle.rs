//! Convolution, transposed convolution and pooling by their definitions, in f64: the loops that results are checked
//! against. They use no code of the library.

use rayon::prelude::*;

use crate::notation::Problem;

/// For each output index along axis `a`: the kernel's taps that are inside the input, with the input index.
fn hits(p: &Problem, a: usize) -> Vec<Vec<(usize, usize)>> {
    let of = |o: usize| {
        let position = |t: usize| (o * p.stride[a] + t * p.dilation[a]) as i64 - p.pad_begin[a];
        let inside = |t: usize| usize::try_from(position(t)).ok().filter(|&i| i < p.input[a]);
        (0..p.kernel[a]).filter_map(|t| Some((t, inside(t)?))).collect()
    };
    (0..p.output[a]).map(of).collect()
}

/// Pixels of a row and output channels that are summed in parallel, in registers.
const PIXELS: usize = 4;
const CHANNELS: usize = 4;

/// One image with zeros before and after each row. Positions one stride apart are adjacent, so that the pixels of a
/// result's row read neighbours.
struct Rows {
    data: Vec<f64>,
    /// Elements of a row.
    length: usize,
    /// The position that each tap of the kernel's row reads for the first pixel.
    taps: Vec<usize>,
}

impl Rows {
    fn new(p: &Problem, image: &[f32]) -> Rows {
        let (stride, pad) = (p.stride[2], p.pad_begin[2] as usize);
        let reach = (p.kernel[2] - 1) * p.dilation[2];
        let apart = (p.output[2].next_multiple_of(PIXELS) - 1) + reach / stride + 1;
        let length = apart * stride;
        let place = |position: usize| position % stride * apart + position / stride;
        let mut data = vec![0.0; image.len() / p.input[2] * length];
        let rows = data.par_chunks_mut(length).zip(image.par_chunks(p.input[2]));
        rows.for_each(|(row, from)| {
            for (i, &v) in from.iter().enumerate().take_while(|(i, _)| i + pad < length) {
                row[place(i + pad)] = f64::from(v);
            }
        });
        Rows { data, length, taps: (0..p.kernel[2]).map(|t| place(t * p.dilation[2])).collect() }
    }
}

/// If the kernel has one pixel and reads every pixel, all pixels are treated as one row.
fn flattened(p: &Problem) -> Problem {
    let mut flat = p.clone();
    if p.kernel == [1; 3] && p.stride == [1; 3] && p.pad_begin == [0; 3] && p.input == p.output {
        let pixels = p.input.iter().product();
        (flat.input, flat.output) = ([1, 1, pixels], [1, 1, pixels]);
    }
    flat
}

/// The sums of a convolution of `x` `[N, C, d, h, w]` by `w` `[O, C/groups, d, h, w]`. No padding before an axis may be
/// negative.
pub fn conv(p: &Problem, x: &[f32], w: &[f32]) -> Vec<f64> {
    let p = &flattened(p);
    let plane: usize = p.output.iter().product();
    let mut y = vec![0.0; p.n * p.o * plane];
    if y.is_empty() {
        return y;
    }
    let (along_d, along_h) = (hits(p, 0), hits(p, 1));
    let og = p.o / p.groups;
    for (y, x) in y.chunks_mut(p.o * plane).zip(x.chunks(x.len() / p.n)) {
        let rows = Rows::new(p, x);
        // Channels of one group, as many at a time as fit.
        let mut work = Vec::new();
        let (mut rest, mut o) = (y, 0);
        while o < p.o {
            let together = if og - o % og >= CHANNELS { CHANNELS } else { 1 };
            let (part, after) = rest.split_at_mut(together * plane);
            work.push((o, part));
            (rest, o) = (after, o + together);
        }
        work.into_par_iter().for_each(|(o, y)| match y.len() / plane {
            CHANNELS => block::<CHANNELS>(p, &rows, &along_d, &along_h, w, o, y),
            _ => block::<1>(p, &rows, &along_d, &along_h, w, o, y),
        });
    }
    y
}

/// `M` output channels of one group, starting at `o`.
fn block<const M: usize>(
    p: &Problem,
    rows: &Rows,
    along_d: &[Vec<(usize, usize)>],
    along_h: &[Vec<(usize, usize)>],
    w: &[f32],
    o: usize,
    y: &mut [f64],
) {
    let cg = p.c / p.groups;
    let first = o / (p.o / p.groups) * cg;
    let [kd, kh, kw] = p.kernel;
    let of_one = cg * kd * kh * kw;
    let weights: Vec<[f64; M]> =
        (0..of_one).map(|i| std::array::from_fn(|m| f64::from(w[(o + m) * of_one + i]))).collect();
    let [_, oh, ow] = p.output;
    let plane = y.len() / M;
    for (z, deep) in along_d.iter().enumerate() {
        for (v, high) in along_h.iter().enumerate() {
            for from in (0..ow).step_by(PIXELS) {
                let mut sums = [[0.0; PIXELS]; M];
                for c in 0..cg {
                    for &(a, d) in deep {
                        for &(b, h) in high {
                            let row = ((first + c) * p.input[0] + d) * p.input[1] + h;
                            let row = &rows.data[row * rows.length..][..rows.length];
                            let weights = &weights[((c * kd + a) * kh + b) * kw..][..kw];
                            for (weights, &tap) in weights.iter().zip(&rows.taps) {
                                let x = &row[tap + from..][..PIXELS];
                                for m in 0..M {
                                    for i in 0..PIXELS {
                                        sums[m][i] += weights[m] * x[i];
                                    }
                                }
                            }
                        }
                    }
                }
                let at = (z * oh + v) * ow + from;
                for (m, sums) in sums.iter().enumerate() {
                    let pixels = PIXELS.min(ow - from);
                    y[m * plane + at..][..pixels].copy_from_slice(&sums[..pixels]);
                }
            }
        }
    }
}

/// The sums of a transposed convolution of `x` `[N, C, d, h, w]` by `w` `[C, O/groups, d, h, w]`: every pixel of the source
/// is added to the result at its positions. No padding before an axis may be negative.
pub fn deconv(p: &Problem, x: &[f32], w: &[f32]) -> Vec<f64> {
    let plane: usize = p.output.iter().product();
    let pixels: usize = p.input.iter().product();
    let (cg, og) = (p.c / p.groups, p.o / p.groups);
    let taps: usize = p.kernel.iter().product();
    let x: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
    // The positions to which the taps of the kernel's row add the first pixel of a row: positions one stride apart are
    // adjacent.
    let (stride, pad) = (p.stride[2], p.pad_begin[2] as usize);
    let apart = p.input[2] + (p.kernel[2] - 1) * p.dilation[2] / stride;
    let place = |position: usize| position % stride * apart + position / stride;
    let mut y = vec![0.0; p.n * p.o * plane];
    y.par_chunks_mut(plane).enumerate().for_each(|(i, y)| {
        let (n, o) = (i / p.o, i % p.o);
        let mut spread = vec![0.0; p.output[0] * p.output[1] * apart * stride];
        for c in o / og * cg..(o / og + 1) * cg {
            let source = &x[(n * p.c + c) * pixels..][..pixels];
            let weights = &w[(c * og + o % og) * taps..][..taps];
            for (t, &weight) in weights.iter().enumerate() {
                let [a, b, k] =
                    [t / (p.kernel[1] * p.kernel[2]), t / p.kernel[2] % p.kernel[1], t % p.kernel[2]];
                for (r, row) in source.chunks(p.input[2]).enumerate() {
                    let to = |axis: usize, from: usize, tap: usize| {
                        let at = (from * p.stride[axis] + tap * p.dilation[axis]) as i64 - p.pad_begin[axis];
                        usize::try_from(at).ok().filter(|&at| at < p.output[axis])
                    };
                    let (Some(d), Some(h)) = (to(0, r / p.input[1], a), to(1, r % p.input[1], b)) else {
                        continue;
                    };
                    let at = (d * p.output[1] + h) * apart * stride + place(k * p.dilation[2]);
                    let sums = spread[at..].iter_mut().zip(row);
                    sums.for_each(|(sum, v)| *sum += f64::from(weight) * v);
                }
            }
        }
        for (y, spread) in y.chunks_mut(p.output[2]).zip(spread.chunks(apart * stride)) {
            for (i, y) in y.iter_mut().enumerate().filter(|(i, _)| i + pad < apart * stride) {
                *y = spread[place(i + pad)];
            }
        }
    });
    y
}

/// The results of pooling by window.
pub struct Windows {
    /// The largest element; minus infinity if the window is empty.
    pub max: Vec<f64>,
    pub sum: Vec<f64>,
    /// For each pixel of the result, the number of elements of the source in its window.
    pub inside: Vec<usize>,
}

/// The windows of a pooling of `x` `[N, C, d, h, w]`.
pub fn pool(p: &Problem, x: &[f32]) -> Windows {
    let plane: usize = p.output.iter().product();
    let [along_d, along_h, along_w] = [hits(p, 0), hits(p, 1), hits(p, 2)];
    let pixel = |i: usize| {
        let [_, oh, ow] = p.output;
        (&along_d[i / (oh * ow)], &along_h[i / ow % oh], &along_w[i % ow])
    };
    let one = |x: &[f32], i: usize| {
        let (deep, high, wide) = pixel(i);
        let (mut max, mut sum) = (f64::NEG_INFINITY, 0.0);
        for &(_, d) in deep {
            for &(_, h) in high {
                let row = &x[(d * p.input[1] + h) * p.input[2]..][..p.input[2]];
                for &(_, w) in wide {
                    let v = f64::from(row[w]);
                    max = if v > max { v } else { max };
                    sum += v;
                }
            }
        }
        (max, sum)
    };
    let images = x.par_chunks(p.input.iter().product::<usize>().max(1));
    let each = images.flat_map_iter(|x| (0..plane).map(move |i| one(x, i)));
    let (max, sum) = each.unzip();
    let count = |i: usize| {
        let (deep, high, wide) = pixel(i);
        deep.len() * high.len() * wide.len()
    };
    Windows { max, sum, inside: (0..plane).map(count).collect() }
}
