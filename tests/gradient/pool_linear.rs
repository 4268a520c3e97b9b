//! Gradients of pooling, linear layers and reshaping views.

use blocktensor::dispatch::Value;
use blocktensor::{Operand, Operator, StridedTensor};

use super::{KINDS, activation, bound, check, plain, refs};
use crate::support::Rng;

fn ints(list: &[i64]) -> Value {
    list.to_vec().into()
}

/// Windows of one plane along one axis: the pixels of each.
fn windows(size: usize, [kernel, stride, pad, dilation]: [usize; 4]) -> Vec<Vec<usize>> {
    let reach = dilation * (kernel - 1) + 1;
    let count = (size + 2 * pad - reach) / stride + 1;
    let tap = |i: usize, k: usize| (i * stride + k * dilation).checked_sub(pad).filter(|&at| at < size);
    (0..count).map(|i| (0..kernel).filter_map(|k| tap(i, k)).collect()).collect()
}

/// `f` of the values of each window of each plane of `h` x `w`.
fn pool(
    x: &[f64],
    rows: &[Vec<usize>],
    columns: &[Vec<usize>],
    w: usize,
    f: impl Fn(&[f64]) -> f64,
    plane: usize,
) -> Vec<f64> {
    let mut y = Vec::new();
    for x in x.chunks(plane) {
        for r in rows {
            for c in columns {
                let values: Vec<f64> = r.iter().flat_map(|r| c.iter().map(move |c| x[r * w + c])).collect();
                y.push(f(&values));
            }
        }
    }
    y
}

/// As in PyTorch an element goes to the first largest of its window, or to the last NaN; two zeros are equal, whatever their signs.
/// What windows give to an element is added up in their order.
#[test]
fn of_a_maximum_among_equals_infinities_and_nans() {
    // Sizes, and kernel, stride, padding and dilation along each axis. Many windows of a row are compared at once.
    let cases: [(&[usize], [usize; 4]); 13] = [
        (&[6, 7], [3, 2, 1, 1]),
        (&[5, 57], [3, 2, 1, 1]),
        (&[4, 33], [3, 1, 1, 1]),
        (&[9, 100], [2, 2, 0, 1]),
        (&[7, 41], [3, 3, 1, 2]),
        (&[13, 90], [5, 4, 2, 3]),
        (&[11, 16], [4, 7, 2, 1]),
        (&[3, 19], [1, 2, 0, 1]),
        (&[1, 1], [1, 1, 0, 1]),
        (&[40, 5], [5, 3, 2, 1]),
        // The first and the last window have no elements along H.
        (&[2, 40], [2, 1, 1, 3]),
        (&[37], [3, 2, 1, 1]),
        (&[4, 5, 23], [3, 2, 1, 1]),
    ];
    let values = [0.0, -0.0, 1.0, 1.0, -2.0, f32::NEG_INFINITY, f32::INFINITY, f32::NAN];
    for (case, &(sizes, numbers)) in cases.iter().enumerate() {
        for (c, nans) in [1, 3, 16, 17, 40].into_iter().flat_map(|c| [(c, false), (c, true)]) {
            let mut rng = Rng((464 + 100 * case + c) as u64);
            let image: usize = sizes.iter().product();
            let x: Vec<f32> = (0..2 * c * image)
                .map(|i| {
                    // Few channels have NaNs, those of some more are infinities alone.
                    let has_nan = nans && i / image % 5 == 2;
                    if i / image % 7 == 6 {
                        f32::NEG_INFINITY
                    } else {
                        values[rng.below(if has_nan { 8 } else { 7 })]
                    }
                })
                .collect();
            // The pixels of each window, in their order.
            let mut pixels = vec![vec![0]];
            for &size in sizes {
                let of_axis = windows(size, numbers);
                let pairs = pixels.iter().flat_map(|rows| of_axis.iter().map(move |taps| (rows, taps)));
                let joined = |(rows, taps): (&Vec<usize>, &Vec<usize>)| {
                    rows.iter().flat_map(|row| taps.iter().map(move |tap| row * size + tap)).collect()
                };
                pixels = pairs.map(joined).collect();
            }
            let diff = rng.reals(2 * c * pixels.len());
            let mut want = vec![0f32; x.len()];
            let planes = x.chunks(image).zip(want.chunks_mut(image)).zip(diff.chunks(pixels.len()));
            for ((x, want), diff) in planes {
                for (window, g) in pixels.iter().zip(diff) {
                    let mut best: Option<usize> = None;
                    for &at in window {
                        if best.is_none_or(|best| x[at] > x[best] || x[at].is_nan()) {
                            best = Some(at);
                        }
                    }
                    if let Some(best) = best {
                        want[best] += g;
                    }
                }
            }
            let [kernel, stride, padding, dilation] = numbers.map(|v| ints(&[v as i64]));
            let params =
                [("kernel", kernel), ("stride", stride), ("padding", padding), ("dilation", dilation)];
            let op = bound(&format!("max_pool{}d", sizes.len()), &["x"], &params);
            for kind in KINDS {
                let x = [activation(&x, &[&[2, c], sizes].concat(), kind)];
                let y = op.run(&refs(&x)).unwrap().remove(0);
                let diff = activation(&diff, y.tensor_ref().dims(), kind);
                let made =
                    op.backward(&refs(&x), &[y.tensor_ref()], &[Some(diff.tensor_ref())], &[true]).unwrap();
                let made = plain(made[0].as_ref().unwrap());
                assert_eq!(made, want, "{kind:?}, {c} channels of {sizes:?}, {numbers:?}, with NaN: {nans}");
            }
        }
    }
}

/// Adaptive windows that overlap, that are equal, and that have one element each.
#[test]
fn of_a_maximum_of_adaptive_windows() {
    let mut rng = Rng(465);
    for (w, output) in [(1, 7), (3, 40), (40, 40), (41, 20), (64, 16), (50, 7)] {
        for kind in KINDS {
            let x = [activation(&rng.reals(2 * 3 * 4 * w), &[2, 3, 4, w], kind)];
            let op = bound("adaptive_max_pool2d", &["x"], &[("output", ints(&[3, output as i64]))]);
            let of = |size: usize, count: usize| -> Vec<Vec<usize>> {
                (0..count).map(|i| (i * size / count..((i + 1) * size).div_ceil(count)).collect()).collect()
            };
            let largest = |v: &[f64]| v.iter().copied().fold(f64::MIN, f64::max);
            check(&op, &x, 1, |x| pool(&x[0], &of(4, 3), &of(w, output), w, largest, 4 * w), &mut rng);
        }
    }
}

#[test]
fn of_pooling() {
    let mut rng = Rng(456);
    let (h, w) = (7, 6);
    for c in [1, 3, 15, 16, 17, 31, 33] {
        for kind in KINDS {
            for n in [0, 1, 2] {
                let x = [activation(&rng.reals(n * c * h * w), &[n, c, h, w], kind)];
                for numbers in [[2, 2, 0, 1], [3, 2, 1, 1], [3, 1, 1, 2], [2, 3, 0, 1]] {
                    let [kernel, stride, pad, dilation] = numbers.map(|v| ints(&[v as i64]));
                    let (rows, columns) = (windows(h, numbers), windows(w, numbers));
                    let shape = [("kernel", kernel), ("stride", stride), ("padding", pad)];
                    let max = bound("max_pool2d", &["x"], &[&shape[..], &[("dilation", dilation)]].concat());
                    let largest = |v: &[f64]| v.iter().copied().fold(f64::MIN, f64::max);
                    check(&max, &x, 1, |x| pool(&x[0], &rows, &columns, w, largest, h * w), &mut rng);
                    if numbers[3] == 1 {
                        let mean = bound("avg_pool2d", &["x"], &shape);
                        let taps = (numbers[0] * numbers[0]) as f64;
                        let of = |v: &[f64]| v.iter().sum::<f64>() / taps;
                        check(&mean, &x, 1, |x| pool(&x[0], &rows, &columns, w, of, h * w), &mut rng);
                    }
                }
                let all = |size: usize| vec![(0..size).collect::<Vec<_>>()];
                let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
                let global = bound("global_avg_pool", &["x"], &[]);
                check(&global, &x, 1, |x| pool(&x[0], &all(h), &all(w), w, mean, h * w), &mut rng);
                let largest = |v: &[f64]| v.iter().copied().fold(f64::MIN, f64::max);
                let global = bound("global_max_pool", &["x"], &[]);
                check(&global, &x, 1, |x| pool(&x[0], &all(h), &all(w), w, largest, h * w), &mut rng);
                let adaptive = bound("adaptive_avg_pool2d", &["x"], &[("output", ints(&[2, 3]))]);
                let rows = [(0..4).collect::<Vec<_>>(), (3..7).collect()];
                let columns = [vec![0, 1], vec![2, 3], vec![4, 5]];
                check(&adaptive, &x, 1, |x| pool(&x[0], &rows, &columns, w, mean, h * w), &mut rng);
            }
        }
    }
}

#[test]
fn of_linear_layers() {
    let mut rng = Rng(457);
    for (rows, k, o) in [(0, 3, 2), (1, 17, 5), (7, 33, 10), (40, 64, 33)] {
        for bias in [false, true] {
            let mut inputs = vec![
                StridedTensor::from_slice(&rng.reals(rows * k), &[rows, k]).unwrap().into(),
                StridedTensor::from_slice(&rng.reals(o * k), &[o, k]).unwrap().into(),
            ];
            let names: &[&str] = if bias { &["x", "weights", "bias"] } else { &["x", "weights"] };
            if bias {
                inputs.push(StridedTensor::from_slice(&rng.reals(o), &[o]).unwrap().into());
            }
            let f = |x: &[Vec<f64>]| {
                let dot =
                    |r: usize, o: usize| -> f64 { (0..k).map(|i| x[0][r * k + i] * x[1][o * k + i]).sum() };
                let bias = |o: usize| x.get(2).map_or(0.0, |b| b[o]);
                (0..rows * o).map(|i| dot(i / o, i % o) + bias(i % o)).collect::<Vec<_>>()
            };
            check(&bound("linear", names, &[]), &inputs, inputs.len(), f, &mut rng);
        }
    }
    // More dimensions, and weights of one output.
    let x = StridedTensor::from_slice(&rng.reals(24), &[2, 3, 4]).unwrap().into();
    let w = StridedTensor::from_slice(&rng.reals(4), &[4]).unwrap().into();
    let f = |x: &[Vec<f64>]| -> Vec<f64> {
        x[0].chunks(4).map(|row| row.iter().zip(&x[1]).map(|(a, b)| a * b).sum()).collect()
    };
    check(&bound("linear", &["x", "weights"], &[]), &[x, w], 2, f, &mut rng);
}

#[test]
fn of_views_that_keep_the_order() {
    let mut rng = Rng(458);
    let same = |x: &[Vec<f64>]| x[0].clone();
    let x = activation(&rng.reals(120), &[2, 3, 4, 5], super::Kind::Nchw);
    let flatten = bound("flatten", &["x"], &[("start", 1.into()), ("end", (-1).into())]);
    check(&flatten, std::slice::from_ref(&x), 1, same, &mut rng);
    let reshape = bound("reshape", &["x"], &[("dims", ints(&[6, -1]))]);
    check(&reshape, std::slice::from_ref(&x), 1, same, &mut rng);
    check(&bound("unsqueeze", &["x"], &[("axis", 1.into())]), &[x], 1, same, &mut rng);
    let x = activation(&rng.reals(120), &[2, 3, 4, 5], super::Kind::Nhwc);
    check(&flatten, &[x], 1, same, &mut rng);
}
