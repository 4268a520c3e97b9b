//! Max, average, adaptive and global pooling with one to three spatial axes.

use blocktensor::memory;

use super::binary::byte_of;
use super::{CALL, Call, Evaluate, collect, filled, functions as f, image, in_parts};
use crate::error::{Error, Result};

pub(super) fn evaluator(op: &str) -> Option<Evaluate> {
    match op {
        "max_pool1d" | "max_pool2d" | "max_pool3d" => {
            Some(|call| Ok(vec![run(call, Kind::Window, Max, 0.0)?]))
        }
        "avg_pool1d" | "avg_pool2d" | "avg_pool3d" => {
            Some(|call| Ok(vec![run(call, Kind::Window, Mean, 0.0)?]))
        }
        "adaptive_max_pool1d" | "adaptive_max_pool2d" | "adaptive_max_pool3d" | "global_max_pool" => {
            Some(|call| Ok(vec![run(call, Kind::Adaptive, Max, 0.0)?]))
        }
        "adaptive_avg_pool1d" | "adaptive_avg_pool2d" | "adaptive_avg_pool3d" | "global_avg_pool" => {
            Some(|call| Ok(vec![run(call, Kind::Adaptive, Mean, 0.0)?]))
        }
        "quantized_avg_pool" => Some(quantized),
        _ => None,
    }
}

/// The mean of quantised numbers, quantised.
fn quantized(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let x_zero = call.number("x_zero_point")?;
    let (scale, zero) = (call.number("dst_scale")?, call.number("dst_zero_point")? as i32);
    let ratio = call.number("x_scale")? / scale;
    let dtype = byte_of(call)?;
    let mut means = run(call, Kind::Window, Mean, x_zero)?;
    means.iter_mut().for_each(|mean| *mean = f::quantize(*mean * ratio, dtype, zero));
    Ok(vec![means])
}

/// How windows are found.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// By size, stride, padding and dilation.
    Window,
    /// By the sizes of source and result.
    Adaptive,
}

/// What becomes of a window.
#[derive(Clone, Copy, PartialEq)]
enum Fold {
    Max,
    Mean,
}
use Fold::{Max, Mean};

/// The window of one position along one axis: the source's positions, and how many a mean counts.
struct Span {
    taps: Vec<usize>,
    count: usize,
}

/// `zero` is what each element is less, of a mean.
fn run(call: &Call<'_>, kind: Kind, fold: Fold, zero: f64) -> Result<Vec<f64>> {
    let x = call.input("x")?;
    let rank = x.dims.len().saturating_sub(2);
    let [_, _, sizes @ ..] = image(&x.dims);
    let [_, _, outputs @ ..] = image(call.result());
    let axes: Vec<Vec<Span>> = match kind {
        Kind::Adaptive => (0..3).map(|axis| adaptive(sizes[axis], outputs[axis])).collect::<Result<_>>()?,
        Kind::Window => {
            let kernel = call.spatial("kernel", rank, 1)?;
            let stride =
                if call.counts("stride")?.is_empty() { kernel } else { call.spatial("stride", rank, 1)? };
            let [before, after] = call.sides("padding", rank)?;
            let dilation = if fold == Max { call.spatial("dilation", rank, 1)? } else { [1; 3] };
            let counts_padding = fold == Mean && call.flag("count_include_pad")?;
            let span = |axis: usize, i: usize| {
                let (size, pad) = (sizes[axis] as isize, before[axis] as isize);
                let from = (i * stride[axis]) as isize - pad;
                let taps = (0..kernel[axis]).map(|k| from + (k * dilation[axis]) as isize);
                let taps = collect(taps.filter(|t| (0..size).contains(t)).map(|t| t as usize))?;
                // The padding counts, but nothing behind it.
                let whole = (from + kernel[axis] as isize).min(size + after[axis] as isize) - from;
                let count = if counts_padding { whole as usize } else { taps.len() };
                Ok::<_, Error>(Span { taps, count })
            };
            let axis = |axis: usize| spans(outputs[axis], |i| span(axis, i));
            (0..3).map(axis).collect::<Result<_>>()?
        }
    };
    let (plane, pixels) = (sizes.iter().product::<usize>(), outputs.iter().product::<usize>());
    let mut data = filled(call.result().iter().product(), 0.0)?;
    in_parts(&mut data, pixels, |part, to| {
        let from = &x.data[part * plane..][..plane];
        for (i, v) in to.iter_mut().enumerate() {
            let [_, h, w] = outputs;
            let spans = [&axes[0][i / w / h], &axes[1][i / w % h], &axes[2][i % w]];
            let (mut largest, mut sum) = (f64::NEG_INFINITY, 0.0);
            for &z in &spans[0].taps {
                for &y in &spans[1].taps {
                    let row = &from[(z * sizes[1] + y) * sizes[2]..][..sizes[2]];
                    for &x in &spans[2].taps {
                        match fold {
                            Max => largest = f::maximum(largest, row[x]),
                            Mean => sum += row[x] - zero,
                        }
                    }
                }
            }
            *v = match fold {
                Max => largest,
                Mean => sum / spans.iter().map(|span| span.count).product::<usize>() as f64,
            };
        }
    });
    Ok(data)
}

/// Position `i` of the result has the source from `floor(i * size / output)` up to `ceil((i + 1) * size / output)`.
fn adaptive(size: usize, output: usize) -> Result<Vec<Span>> {
    let span = |i: usize| {
        let taps = collect(i * size / output..((i + 1) * size).div_ceil(output))?;
        Ok(Span { count: taps.len(), taps })
    };
    spans(output, span)
}

/// The windows of all positions along an axis.
fn spans(output: usize, span: impl Fn(usize) -> Result<Span>) -> Result<Vec<Span>> {
    memory::try_collect_results(CALL, (0..output).map(span))
}
