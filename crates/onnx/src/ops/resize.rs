//! `Resize` and `Upsample`.

use blocktensor::memory;
use blocktensor_graph::{ElementType, Expansion, Result, Value};

use super::args::{as_small, axes_of, float_input, int_list, maybe, small_input};
use super::{Op, build, op};
use crate::lists::{CONSTANT, collect, filled};
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[
    op(
        "Resize",
        resize,
        &[
            ("antialias", Kind::Int),
            ("axes", Kind::Ints),
            ("coordinate_transformation_mode", Kind::Str),
            ("cubic_coeff_a", Kind::Float),
            ("exclude_outside", Kind::Int),
            ("extrapolation_value", Kind::Float),
            ("keep_aspect_ratio_policy", Kind::Str),
            ("mode", Kind::Str),
            ("nearest_mode", Kind::Str),
        ],
    ),
    op("Upsample", upsample, &[("mode", Kind::Str)]),
];

/// How one axis is resampled.
#[derive(Clone, Copy, Debug)]
struct Axis {
    axis: usize,
    size: usize,
    output: usize,
    scale: f64,
    /// Whether the model gives the sizes, and the scale is only their ratio.
    is_by_sizes: bool,
    /// The length of the result that coordinates count with: given scales, it may not be a whole number.
    length: f64,
    /// The part of the axis that `tf_crop_and_resize` takes.
    roi: (f64, f64),
}

/// How coordinates and weights are computed.
#[derive(Clone, Debug)]
struct Rule {
    mode: String,
    coordinates: String,
    nearest: String,
    cubic_a: f64,
    exclude_outside: bool,
    extrapolation: f32,
    antialias: bool,
}

/// For each result index along an axis: the first source index that it reads, and the weights from there on. No weights: the
/// index is outside the source.
type Taps = Vec<(i64, Vec<f64>)>;

fn upsample(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    // Version 10 moved it to `Resize`, with the coordinates that it had.
    let x = float_input(inputs, 0, cx)?;
    let scales = scale_list(inputs, 1, cx)?.unwrap_or_default();
    if scales.len() != x.rank() {
        let rule = format!("there is one for each of the {} axes", x.rank());
        return Err(cx.invalid("scales", format!("{scales:?}"), &rule, "export the model again"));
    }
    let axes: Vec<usize> = (0..x.rank()).collect();
    let rule = Rule {
        mode: node.str("mode").unwrap_or("nearest").to_string(),
        coordinates: "asymmetric".to_string(),
        nearest: "floor".to_string(),
        cubic_a: -0.75,
        exclude_outside: false,
        extrapolation: 0.0,
        antialias: false,
    };
    let plan = by_scales(x, &axes, &scales, &[], cx)?;
    Ok(vec![resample(cx, x, &plan, &rule)?])
}

fn scale_list(inputs: &[Option<Value>], i: usize, cx: &Expansion<'_>) -> Result<Option<Vec<f64>>> {
    match maybe(inputs, i) {
        None => Ok(None),
        Some(v) => match v.constant() {
            Some(c) => Ok(Some(c.to_f64()?).filter(|list| !list.is_empty())),
            None => Err(cx.unsupported("scales that depend on the values of an input")),
        },
    }
}

fn resize(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let word = |name: &str, default: &str| node.str(name).unwrap_or(default).to_string();
    let (mode, coordinates) = (word("mode", "nearest"), word("coordinate_transformation_mode", "half_pixel"));
    // Elements that are picked keep their type; others are rounded in one that ONNX does not state.
    let (x, of) = match mode == "nearest" && coordinates != "tf_crop_and_resize" {
        true => small_input(inputs, 0, cx)?,
        false => (float_input(inputs, 0, cx)?.clone(), ElementType::F32),
    };
    let x = &x;
    let rule = Rule {
        mode,
        coordinates,
        nearest: word("nearest_mode", "round_prefer_floor"),
        cubic_a: f64::from(node.float("cubic_coeff_a").unwrap_or(-0.75)),
        exclude_outside: node.int("exclude_outside").unwrap_or(0) != 0,
        extrapolation: node.float("extrapolation_value").unwrap_or(0.0),
        antialias: node.int("antialias").unwrap_or(0) != 0,
    };
    let axes = match node.ints("axes") {
        Some(axes) => axes_of(axes, x.rank(), cx)?,
        None => (0..x.rank()).collect(),
    };
    let roi = scale_list(inputs, 1, cx)?.unwrap_or_default();
    let sizes = match maybe(inputs, 3) {
        Some(v) => Some(int_list(v, "sizes", cx)?).filter(|list| !list.is_empty()),
        None => None,
    };
    let plan = match (scale_list(inputs, 2, cx)?, sizes) {
        (Some(scales), Some(sizes)) => {
            let (got, rule) = (format!("{scales:?} beside sizes {sizes:?}"), "one of them is given");
            return Err(cx.invalid("scales", got, rule, "leave one out, as an input without a name"));
        }
        (None, Some(sizes)) => by_sizes(node, x, &axes, &sizes, &roi, cx)?,
        (Some(scales), None) => by_scales(x, &axes, &scales, &roi, cx)?,
        (None, None) => {
            return Err(cx.invalid(
                "scales",
                "neither scales nor sizes",
                "one of them is given",
                "export the model again",
            ));
        }
    };
    let y = resample(cx, x, &plan, &rule)?;
    Ok(vec![as_small(cx, &y, of)?])
}

/// The region of an axis that `tf_crop_and_resize` takes: all begins come first.
fn region(roi: &[f64], i: usize, count: usize) -> (f64, f64) {
    if roi.len() == 2 * count { (roi[i], roi[count + i]) } else { (0.0, 1.0) }
}

fn by_scales(
    x: &Value,
    axes: &[usize],
    scales: &[f64],
    roi: &[f64],
    cx: &Expansion<'_>,
) -> Result<Vec<Axis>> {
    let fits = scales.iter().all(|s| *s > 0.0 && s.is_finite());
    if scales.len() != axes.len() || !fits {
        let rule = format!("there are {} positive numbers", axes.len());
        return Err(cx.invalid("scales", format!("{scales:?}"), &rule, "export the model again"));
    }
    let list = axes.iter().enumerate().map(|(i, &axis)| {
        let (size, roi) = (x.dims()[axis], region(roi, i, axes.len()));
        // In f32, as ONNX infers shapes: 10 times 0.7 is 7. The region does not change the size.
        let output = (size as f32 * scales[i] as f32).floor();
        let length = scales[i] * size as f64;
        let output = output.clamp(0.0, 1e12) as usize;
        Axis { axis, size, output, scale: scales[i], is_by_sizes: false, length, roi }
    });
    Ok(list.collect())
}

fn by_sizes(
    node: &OnnxNode,
    x: &Value,
    axes: &[usize],
    sizes: &[i64],
    roi: &[f64],
    cx: &Expansion<'_>,
) -> Result<Vec<Axis>> {
    let given = super::dims_of(sizes, cx)?;
    if given.len() != axes.len() {
        let rule = format!("there are {} sizes", axes.len());
        return Err(cx.invalid("sizes", format!("{sizes:?}"), &rule, "export the model again"));
    }
    let ratios: Vec<f64> = axes.iter().zip(&given).map(|(&a, &s)| s as f64 / x.dims()[a] as f64).collect();
    let common = match node.str("keep_aspect_ratio_policy").unwrap_or("stretch") {
        "stretch" => None,
        "not_larger" => ratios.iter().copied().reduce(f64::min),
        "not_smaller" => ratios.iter().copied().reduce(f64::max),
        other => return Err(cx.unsupported(format!("keep_aspect_ratio_policy = {other:?}"))),
    };
    let list = axes.iter().enumerate().map(|(i, &axis)| {
        let (size, roi) = (x.dims()[axis], region(roi, i, axes.len()));
        let (output, scale) = match common {
            None => (given[i], ratios[i]),
            Some(scale) => ((scale * size as f64).round() as usize, scale),
        };
        // A product with a rounded ratio is not quite the length that was given.
        let length = scale * size as f64;
        let is_given = (length - output as f64).abs() < 1e-9 * output as f64;
        let length = if is_given { output as f64 } else { length };
        Axis { axis, size, output, scale, is_by_sizes: common.is_none(), length, roi }
    });
    Ok(list.collect())
}

/// Whether an axis does not change.
fn is_identity(a: &Axis, rule: &Rule) -> bool {
    a.scale == 1.0 && a.size == a.output && rule.coordinates != "tf_crop_and_resize"
}

fn resample(cx: &mut Expansion<'_>, x: &Value, plan: &[Axis], rule: &Rule) -> Result<Value> {
    let plan: Vec<Axis> = plan.iter().copied().filter(|a| !is_identity(a, rule)).collect();
    if plan.is_empty() {
        return Ok(x.clone());
    }
    for a in &plan {
        if a.size == 0 || a.output == 0 || a.output > i32::MAX as usize {
            let got = format!("{} to {} along axis {}", a.size, a.output, a.axis);
            let rule = "an axis has elements, at most 2^31";
            return Err(cx.invalid("scales or sizes", got, rule, "correct those of this axis"));
        }
    }
    if let Some(y) = registered(cx, x, &plan, rule)? {
        return Ok(y);
    }
    let mut y = x.clone();
    let mut outside = Vec::new();
    for a in &plan {
        let taps = taps(a, rule, cx)?;
        if taps.iter().any(|(_, weights)| weights.is_empty()) {
            outside.push((a.axis, collect(taps.iter().map(|(_, w)| w.is_empty()))?));
        }
        y = along_axis(cx, &y, a, &taps)?;
    }
    // Positions outside the source get the extrapolation value.
    for (axis, list) in outside {
        let mut dims = vec![1; y.rank()];
        dims[axis] = list.len();
        let mask = blocktensor_graph::Constant::Bool { dims, values: list }.into();
        let value = build::filled(rule.extrapolation, y.rank())?;
        y = cx.op("where", &[("condition", &mask), ("a", &value), ("b", &y)], &[])?;
    }
    Ok(y)
}

/// The registered op, where its definition is the node's.
fn registered(cx: &mut Expansion<'_>, x: &Value, plan: &[Axis], rule: &Rule) -> Result<Option<Value>> {
    let spatial = x.rank().wrapping_sub(2);
    if !(1..=3).contains(&spatial) || plan.iter().any(|a| a.axis < 2) {
        return Ok(None);
    }
    let mut output = x.dims()[2..].to_vec();
    plan.iter().for_each(|a| output[a.axis - 2] = a.output);
    // The op's coordinates follow from the sizes.
    let by_size =
        plan.iter().all(|a| (a.scale * a.size as f64 - a.output as f64).abs() < 1e-6 * a.output as f64);
    let is_whole = plan.iter().all(|a| a.output % a.size == 0);
    let params = [("output", build::list(&output))];
    let nearest = match (rule.coordinates.as_str(), rule.nearest.as_str()) {
        ("asymmetric", "floor") => by_size && exact_floor(plan),
        // For integer factors, the nearest source pixel is the one that contains the result pixel.
        (
            "half_pixel" | "half_pixel_symmetric" | "pytorch_half_pixel",
            "round_prefer_floor" | "round_prefer_ceil",
        ) => by_size && is_whole && plan.iter().all(|a| a.output > 1),
        _ => false,
    };
    if rule.mode == "nearest" && nearest {
        return cx.op("upsample_nearest", &[("x", x)], &params).map(Some);
    }
    if rule.mode != "linear" || rule.antialias || !by_size {
        return Ok(None);
    }
    let align = match rule.coordinates.as_str() {
        "half_pixel" | "half_pixel_symmetric" => false,
        "pytorch_half_pixel" => {
            if plan.iter().any(|a| a.output == 1 && a.size > 1) {
                return Ok(None);
            }
            false
        }
        "align_corners" => true,
        _ => return Ok(None),
    };
    let op = ["upsample_linear", "upsample_bilinear", "upsample_trilinear"][spatial - 1];
    let [sizes] = params;
    cx.op(op, &[("x", x)], &[sizes, ("align_corners", align.into())]).map(Some)
}

/// The longest axis whose neighbours and weights are listed.
const LONGEST: usize = 1 << 20;

/// Whether the op, which counts in f32, takes the same neighbours as ONNX.
fn exact_floor(plan: &[Axis]) -> bool {
    plan.iter().all(|a| {
        if a.output > LONGEST {
            return false;
        }
        let step = a.size as f32 / a.output as f32;
        (0..a.output).all(|i| (i as f32 * step) as usize == a.begin(i).floor() as usize)
    })
}

/// Where result index `i` is in the source, for the choice of the nearest element. Rounding decides between two neighbours: of sizes the
/// coordinates are exact, and of scales they are computed in f32, as the scales are.
fn nearest_coordinate(a: &Axis, rule: &Rule, i: usize, cx: &Expansion<'_>) -> Result<f64> {
    Ok(match rule.coordinates.as_str() {
        "asymmetric" => a.begin(i),
        "half_pixel" => a.centre(i),
        "half_pixel_symmetric" if a.is_by_sizes => a.centre(i),
        "pytorch_half_pixel" if a.output > 1 => a.centre(i),
        _ => coordinate(a, rule, i, cx)?,
    })
}

impl Axis {
    /// Where a result pixel begins in the source.
    fn begin(&self, i: usize) -> f64 {
        match self.is_by_sizes {
            true => i as f64 * self.size as f64 / self.output as f64,
            false => f64::from(i as f32 / self.scale as f32),
        }
    }

    /// Where the centre of a result pixel is, counted from the centre of the first source pixel.
    fn centre(&self, i: usize) -> f64 {
        let (size, output) = (self.size as f64, self.output as f64);
        match self.is_by_sizes {
            // One division: it is exact where the coordinate is halfway between two pixels.
            true => ((2 * i + 1) as f64 * size - output) / (2.0 * output),
            false => f64::from((i as f32 + 0.5) / self.scale as f32 - 0.5),
        }
    }
}

/// Where result index `i` is in the source.
fn coordinate(a: &Axis, rule: &Rule, i: usize, cx: &Expansion<'_>) -> Result<f64> {
    let (i, size, output) = (i as f64, a.size as f64, a.output as f64);
    Ok(match rule.coordinates.as_str() {
        "half_pixel" => (i + 0.5) / a.scale - 0.5,
        "half_pixel_symmetric" => {
            // Centres the result where its size was rounded.
            let adjustment = output / a.length;
            let centre = size / 2.0;
            centre * (1.0 - adjustment) + (i + 0.5) / a.scale - 0.5
        }
        "pytorch_half_pixel" if a.output == 1 => 0.0,
        "pytorch_half_pixel" => (i + 0.5) / a.scale - 0.5,
        "align_corners" if a.output == 1 => 0.0,
        "align_corners" => i * (size - 1.0) / (a.length - 1.0),
        "asymmetric" => i / a.scale,
        "tf_crop_and_resize" if a.output == 1 => 0.5 * (a.roi.0 + a.roi.1) * (size - 1.0),
        "tf_crop_and_resize" => {
            a.roi.0 * (size - 1.0) + i * (a.roi.1 - a.roi.0) * (size - 1.0) / (output - 1.0)
        }
        other => return Err(cx.unsupported(format!("coordinate_transformation_mode = {other:?}"))),
    })
}

fn taps(a: &Axis, rule: &Rule, cx: &Expansion<'_>) -> Result<Taps> {
    // A scale may have nothing to do with the sizes, and then a filter could be of any width.
    let is_long = a.size.max(a.output) > LONGEST || (rule.antialias && a.scale * (LONGEST as f64) < 1.0);
    if is_long {
        return Err(cx.unsupported(format!("{} to {} elements along axis {}", a.size, a.output, a.axis)));
    }
    let last = a.size as i64 - 1;
    // Each result element has a list of its own.
    let reach = if rule.antialias { 2.0 / a.scale.min(1.0) } else { 2.0 };
    memory::require(CONSTANT, ((2.0 * reach + 8.0) * 8.0 * a.output as f64) as usize)?;
    let (mut list, mut count) = (memory::try_with_capacity(CONSTANT, a.output)?, 0);
    for i in 0..a.output {
        let x = match rule.mode.as_str() {
            "nearest" => nearest_coordinate(a, rule, i, cx)?,
            _ => coordinate(a, rule, i, cx)?,
        };
        if rule.coordinates == "tf_crop_and_resize" && !(0.0..=last as f64).contains(&x) {
            list.push((0, vec![]));
            continue;
        }
        let (first, mut weights) = match rule.mode.as_str() {
            "nearest" => {
                let nearest = match rule.nearest.as_str() {
                    "round_prefer_floor" => (x - 0.5).ceil(),
                    "round_prefer_ceil" => (x + 0.5).floor(),
                    "floor" => x.floor(),
                    "ceil" => x.ceil(),
                    other => return Err(cx.unsupported(format!("nearest_mode = {other:?}"))),
                };
                (nearest as i64, vec![1.0])
            }
            "linear" if rule.antialias => wide(x, a.scale, 1.0, |d| (1.0 - d.abs()).max(0.0)),
            "linear" => {
                let rest = x - x.floor();
                (x.floor() as i64, vec![1.0 - rest, rest])
            }
            "cubic" if rule.antialias => wide(x, a.scale, 2.0, |d| cubic(d.abs(), rule.cubic_a)),
            "cubic" => {
                let rest = x - x.floor();
                let weights = [1.0 + rest, rest, 1.0 - rest, 2.0 - rest];
                (x.floor() as i64 - 1, weights.iter().map(|&d| cubic(d, rule.cubic_a)).collect())
            }
            other => return Err(cx.unsupported(format!("mode = {other:?}"))),
        };
        if rule.exclude_outside || rule.antialias {
            if rule.exclude_outside {
                for (k, w) in weights.iter_mut().enumerate() {
                    if !(0..=last).contains(&(first + k as i64)) {
                        *w = 0.0;
                    }
                }
            }
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|w| *w /= sum);
        }
        count += weights.len();
        super::check_generated(Some(count), cx)?;
        list.push((first, weights));
    }
    Ok(list)
}

/// The cubic function of interpolation at a distance.
fn cubic(d: f64, a: f64) -> f64 {
    if d <= 1.0 {
        ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    } else if d < 2.0 {
        ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
    } else {
        0.0
    }
}

/// Weights of a filter that is wider where the result is smaller than the source.
fn wide(x: f64, scale: f64, radius: f64, filter: impl Fn(f64) -> f64) -> (i64, Vec<f64>) {
    let scale = scale.min(1.0);
    let reach = radius / scale;
    let (first, last) = ((x - reach).floor() as i64 + 1, (x + reach).ceil() as i64 - 1);
    (first, (first..=last.max(first)).map(|k| filter((k as f64 - x) * scale)).collect())
}

/// Resamples one axis: a selection of the nearest, or a product with a matrix of weights.
fn along_axis(cx: &mut Expansion<'_>, x: &Value, a: &Axis, taps: &Taps) -> Result<Value> {
    let last = a.size as i64 - 1;
    if taps.iter().all(|(_, w)| w.is_empty() || w[..] == [1.0]) {
        let index = collect(taps.iter().map(|(first, _)| (*first).clamp(0, last)))?;
        let count = index.len();
        return build::index_select(cx, x, a.axis, &build::ints(index, &[count]));
    }
    super::check_generated(a.size.checked_mul(a.output), cx)?;
    // Rows are source indices, columns result indices.
    let mut matrix = filled(a.size * a.output, 0f64)?;
    for (column, (first, weights)) in taps.iter().enumerate() {
        for (k, w) in weights.iter().enumerate() {
            let row = (first + k as i64).clamp(0, last) as usize;
            matrix[row * a.output + column] += w;
        }
    }
    let matrix = collect(matrix.into_iter().map(|w| w as f32))?;
    let end = x.rank() - 1;
    if a.axis == end {
        let weights = build::constant(&matrix, &[a.size, a.output])?;
        return build::binary(cx, "matmul", x, &weights);
    }
    // [outer, size, inner]: the transposed matrix from the left.
    let transposed =
        (0..a.output).flat_map(|c| (0..a.size).map(move |r| (r, c))).map(|(r, c)| matrix[r * a.output + c]);
    let weights = build::constant(&collect(transposed)?, &[a.output, a.size])?;
    let (outer, inner) = (&x.dims()[..a.axis], &x.dims()[a.axis + 1..]);
    let mut dims = outer.to_vec();
    dims.extend([a.size, inner.iter().product()]);
    let flat = cx.reshape(x, &dims)?;
    let y = build::binary(cx, "matmul", &weights, &flat)?;
    let dims: Vec<usize> = outer.iter().copied().chain([a.output]).chain(inner.iter().copied()).collect();
    cx.reshape(&y, &dims)
}
