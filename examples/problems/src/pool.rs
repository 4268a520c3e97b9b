//! Pooling in every layout: the maximum, and averages that count the padding or do not.

use blocktensor::ops::{self, AvgPool, MaxPool};
use blocktensor::{Result, StridedTensor, Tensor};

use crate::check::{LAYOUTS, Outcome, Refusal, Want, in_layouts};
use crate::data::{LARGEST, Random};
use crate::notation::Problem;
use crate::oracle;

/// benchdnn's names of the pooling algorithms.
pub const ALGORITHMS: [&str; 3] = ["max", "avg_np", "avg_p"];

/// PyTorch's two sizes of the result along one axis: rounded down, and rounded up if the last window begins inside the
/// source or the padding before it.
fn sizes(p: &Problem, a: usize) -> [i64; 2] {
    let (size, pad, stride) = (p.input[a] as i64, p.pad_begin[a], p.stride[a] as i64);
    let room = size + 2 * pad - ((p.kernel[a] - 1) * p.dilation[a]) as i64 - 1;
    let up = (room + stride - 1).div_euclid(stride) + 1;
    let outside = (up - 1) * stride >= size + pad;
    [room.div_euclid(stride) + 1, if outside { up - 1 } else { up }]
}

/// Whether the problem's output needs `ceil_mode`, or why neither mode gives it.
fn ceil_mode(p: &Problem) -> Result<bool, &'static str> {
    let gives = |mode: usize| (0..3).all(|a| sizes(p, a)[mode] == p.output[a] as i64);
    if p.pad_begin.iter().any(|&pad| pad < 0) {
        return Err("padding before an axis is negative");
    }
    match (gives(0), gives(1)) {
        (true, _) => Ok(false),
        (_, true) => Ok(true),
        _ => Err("padding after an axis is another than before it"),
    }
}

/// Runs a problem with each algorithm in every layout.
pub fn run(p: &Problem, seed: u64) -> Result<Vec<(&'static str, [Outcome; 3])>> {
    let none = |why: &str| LAYOUTS.map(|_| Outcome::unsupported(format!("pool: {why}")));
    let ceil_mode = match ceil_mode(p) {
        Ok(ceil_mode) => ceil_mode,
        Err(why) => return Ok(ALGORITHMS.map(|a| (a, none(why))).to_vec()),
    };
    let dims = (p.src_dims(), p.dst_dims());
    let x = Random::new(seed, &p.to_string()).integers(dims.0.iter().product(), LARGEST);
    let windows = oracle::pool(p, &x);
    let x = StridedTensor::from_slice(&x, &dims.0)?;
    let half = (0..3).all(|a| p.pad_begin[a] as usize <= p.kernel[a] / 2);
    let dense = (0..3).all(|a| p.dilation[a] == 1 || p.kernel[a] == 1);
    let overhangs = (0..3).any(|a| p.pad_end[a] > p.pad_begin[a]);
    let plane: usize = p.output.iter().product();
    let window: usize = p.kernel.iter().product();
    let mut runs = Vec::new();
    for algorithm in ALGORITHMS {
        let average = |count: &dyn Fn(usize) -> usize| -> Vec<f64> {
            windows.sum.iter().enumerate().map(|(i, sum)| sum / count(i % plane) as f64).collect()
        };
        let values = match algorithm {
            "max" => &windows.max,
            _ if !dense => {
                runs.push((algorithm, none("average pooling has no dilation")));
                continue;
            }
            // A window is empty only if the padding is refused.
            "avg_np" => &average(&|i| windows.inside[i].max(1)),
            _ if overhangs => {
                runs.push((algorithm, none("the average counts what reaches beyond the padding")));
                continue;
            }
            _ => &average(&|_| window),
        };
        // Sums are exact; the quotient is not.
        let limit =
            |i: usize| if algorithm == "max" { 0.0 } else { 6e-7 * f64::from(values[i] as f32).abs() };
        let rule = "padding is more than half of the window";
        let refusal = (!half).then_some(Refusal { argument: "padding", rule });
        let want = Want { dims: &dims.1, values, limit: &limit, norm: None, refusal };
        let outcomes = in_layouts(&x, |_, x| {
            want.of(algorithm, || match p.spatial {
                1 => call(p, algorithm, ceil_mode, x, ops::max_pool1d, ops::avg_pool1d),
                2 => call(p, algorithm, ceil_mode, x, ops::max_pool2d, ops::avg_pool2d),
                _ => call(p, algorithm, ceil_mode, x, ops::max_pool3d, ops::avg_pool3d),
            })
        })?;
        runs.push((algorithm, outcomes));
    }
    Ok(runs)
}

fn call<const N: usize>(
    p: &Problem,
    algorithm: &str,
    ceil_mode: bool,
    x: &Tensor,
    max: fn(&Tensor, &MaxPool<N>) -> Result<Tensor>,
    average: fn(&Tensor, &AvgPool<N>) -> Result<Tensor>,
) -> Result<Tensor> {
    let last = |all: [usize; 3]| -> [usize; N] { std::array::from_fn(|i| all[3 - N + i]) };
    let padding = last(p.pad_begin.map(|v| v as usize));
    if algorithm == "max" {
        let m = MaxPool::window(last(p.kernel)).strides(last(p.stride)).paddings(padding, padding);
        let m = m.dilations(last(p.dilation));
        return max(x, &if ceil_mode { m.ceil_mode() } else { m });
    }
    let a = AvgPool::window(last(p.kernel)).strides(last(p.stride)).paddings(padding, padding);
    let a = a.count_include_pad(algorithm == "avg_p");
    average(x, &if ceil_mode { a.ceil_mode() } else { a })
}
