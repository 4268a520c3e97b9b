//! Upsampling by nearest neighbour and by linear interpolation, and `grid_sample`.

use blocktensor::{BoundOp, ParamValue};

use super::{Call, Evaluate, collect, filled, image, in_parts};
use crate::error::Result;

pub(super) fn evaluator(op: &str) -> Option<Evaluate> {
    match op {
        "upsample_nearest" => Some(|call| upsample(call, true)),
        "upsample_linear" | "upsample_bilinear" | "upsample_trilinear" => Some(|call| upsample(call, false)),
        "grid_sample" => Some(grid_sample),
        _ => None,
    }
}

/// Whether these parameters have no f64 version: `grid_sample` by nearest neighbour counts coordinates in f32, and by cubic
/// convolution nobody has needed it.
pub(super) fn is_left_out(op: &BoundOp) -> bool {
    let is_linear = |value: &ParamValue| matches!(value, ParamValue::Str(word) if word == "bilinear");
    op.registered().schema().name == "grid_sample"
        && !op.params().any(|(name, value)| name == "mode" && is_linear(value))
}

/// A source position, and its weight. `None` reads zero.
type Tap = (Option<usize>, f64);

/// For each position of the result along an axis what it reads.
fn taps(
    call: &Call<'_>,
    axis: usize,
    sizes: [usize; 3],
    outputs: [usize; 3],
    nearest: bool,
) -> Result<Vec<[Tap; 2]>> {
    let (size, output) = (sizes[axis], outputs[axis]);
    let by_scale = call.counts("output")?.is_empty() && !call.flag("recompute_scale_factor")?;
    let scale = call.double(["scale_d", "scale_h", "scale_w"][axis])?;
    let scale = Some(scale).filter(|scale| by_scale && *scale > 0.0);
    let rank = call.input("x")?.dims.len().saturating_sub(2);
    if nearest {
        // Which neighbour is the nearest is defined by coordinates in f32.
        let step = scale.map_or(size as f32 / output as f32, |scale| (1.0 / scale) as f32);
        let whole = [1, 2].into_iter().find(|factor| rank == 2 && size * factor == output);
        let from = |i: usize| whole.map_or((i as f32 * step) as usize, |factor| i / factor);
        return collect((0..output).map(|i| [(Some(from(i).min(size - 1)), 1.0), (None, 0.0)]));
    }
    let align_corners = call.flag("align_corners")?;
    let neighbours = |i: usize| {
        if size == output {
            return [(Some(i), 1.0), (None, 0.0)];
        }
        let i = i as f64;
        let x = match scale {
            _ if align_corners => i * (size - 1) as f64 / (output - 1).max(1) as f64,
            Some(scale) => (i + 0.5) / scale - 0.5,
            None => (i + 0.5) * size as f64 / output as f64 - 0.5,
        };
        let x = x.max(0.0);
        let low = (x as usize).min(size - 1);
        let weight = (x - low as f64).min(1.0);
        [(Some(low), 1.0 - weight), (Some((low + 1).min(size - 1)), weight)]
    };
    collect((0..output).map(neighbours))
}

/// The sum over all combinations of what three axes read.
fn read(image: &[f64], sizes: [usize; 3], taps: [&[Tap; 2]; 3]) -> f64 {
    let mut sum = 0.0;
    for (z, wz) in taps[0] {
        for (y, wy) in taps[1] {
            for (x, wx) in taps[2] {
                let weight = wz * wy * wx;
                if let (Some(z), Some(y), Some(x)) = (z, y, x)
                    && weight != 0.0
                {
                    sum += weight * image[(z * sizes[1] + y) * sizes[2] + x];
                }
            }
        }
    }
    sum
}

fn upsample(call: &Call<'_>, nearest: bool) -> Result<Vec<Vec<f64>>> {
    let x = call.input("x")?;
    let [_, _, sizes @ ..] = image(&x.dims);
    let [_, _, outputs @ ..] = image(call.result());
    let axis = |axis| taps(call, axis, sizes, outputs, nearest);
    let axes = [axis(0)?, axis(1)?, axis(2)?];
    let (plane, pixels) = (sizes.iter().product::<usize>(), outputs.iter().product::<usize>());
    let mut data = filled(call.result().iter().product(), 0.0)?;
    in_parts(&mut data, pixels, |part, to| {
        let from = &x.data[part * plane..][..plane];
        let [_, h, w] = outputs;
        for (i, v) in to.iter_mut().enumerate() {
            *v = read(from, sizes, [&axes[0][i / w / h], &axes[1][i / w % h], &axes[2][i % w]]);
        }
    });
    Ok(vec![data])
}

/// Linear interpolation at the points of a grid: [N, OH, OW, 2] or [N, OD, OH, OW, 3], x first.
fn grid_sample(call: &Call<'_>) -> Result<Vec<Vec<f64>>> {
    let (x, grid) = (call.input("x")?, call.input("grid")?);
    let (padding, align_corners) = (call.word("padding_mode")?, call.flag("align_corners")?);
    let rank = x.dims.len().saturating_sub(2);
    let [_, channels, sizes @ ..] = image(&x.dims);
    let [_, _, outputs @ ..] = image(call.result());
    let (plane, pixels) = (sizes.iter().product::<usize>(), outputs.iter().product::<usize>());
    let tap = |coordinate: f64, size: usize| -> [Tap; 2] {
        let last = (size - 1) as f64;
        let at = match align_corners {
            true => (coordinate + 1.0) / 2.0 * last,
            false => ((coordinate + 1.0) * size as f64 - 1.0) / 2.0,
        };
        // PyTorch reads the first pixel of an image at NaN, and the last of a volume.
        let clipped = |at: f64| match at.is_nan() {
            true if rank == 3 => last,
            true => 0.0,
            false => at.clamp(0.0, last),
        };
        let at = match padding {
            "border" => clipped(at),
            "reflection" => {
                let (low, period) = if align_corners { (0.0, 2.0 * last) } else { (-0.5, 2.0 * size as f64) };
                let beyond = (at - low).abs() % period;
                clipped(if period == 0.0 { 0.0 } else { beyond.min(period - beyond) + low })
            }
            // Outside of a volume; in an image the result is NaN there.
            _ if !at.is_finite() => return [(if rank == 3 { None } else { Some(0) }, f64::NAN), (None, 0.0)],
            _ => at,
        };
        let low = at.floor();
        let inside = |index: f64| (index >= 0.0 && index <= last).then_some(index as usize);
        [(inside(low), 1.0 - (at - low)), (inside(low + 1.0), at - low)]
    };
    let mut data = filled(call.result().iter().product(), 0.0)?;
    in_parts(&mut data, pixels, |part, to| {
        let (from, n) = (&x.data[part * plane..][..plane], part / channels);
        for (i, v) in to.iter_mut().enumerate() {
            let point = &grid.data[(n * pixels + i) * rank..][..rank];
            let mut axes = [[(Some(0), 1.0), (None, 0.0)]; 3];
            // The last axis has the first coordinate.
            axes.iter_mut().zip(sizes).rev().zip(point).for_each(|((axis, size), c)| *axis = tap(*c, size));
            *v = read(from, sizes, [&axes[0], &axes[1], &axes[2]]);
        }
    });
    Ok(vec![data])
}
