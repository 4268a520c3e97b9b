//! `RoiAlign` as a bilinear sampling of each region and an average pool.

use blocktensor_graph::{Expansion, Result, Value};

use super::args::{float_input, input};
use super::indexing::indices;
use super::{Op, build, op};
use crate::lists::collect;
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[op(
    "RoiAlign",
    roi_align,
    &[
        ("coordinate_transformation_mode", Kind::Str),
        ("mode", Kind::Str),
        ("output_height", Kind::Int),
        ("output_width", Kind::Int),
        ("sampling_ratio", Kind::Int),
        ("spatial_scale", Kind::Float),
    ],
)];

fn roi_align(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (x, rois) = (float_input(inputs, 0, cx)?, float_input(inputs, 1, cx)?);
    let (&[images, _, height, width], &[regions, 4]) = (x.dims(), rois.dims()) else {
        let got = format!("{:?} and {:?}", x.dims(), rois.dims());
        let rule = "an image has four axes, and there are four coordinates for each region";
        return Err(cx.invalid("inputs", got, rule, "export the model again"));
    };
    match node.str("mode").unwrap_or("avg") {
        "avg" => {}
        other => return Err(cx.unsupported(format!("mode = {other:?}"))),
    }
    let count = |name: &str, default: i64| {
        let value = node.int(name).unwrap_or(default);
        let fits = usize::try_from(value).ok().filter(|v| (1..1 << 12).contains(v));
        fits.ok_or_else(|| cx.unsupported(format!("{name} = {value}")))
    };
    let (rows, columns) = (count("output_height", 1)?, count("output_width", 1)?);
    let samples = count("sampling_ratio", 0)?;
    // Version 16 moved pixels by half of their size unless the node says otherwise.
    let default = if node.version() < 16 { "output_half_pixel" } else { "half_pixel" };
    let is_moved = match node.str("coordinate_transformation_mode").unwrap_or(default) {
        "half_pixel" => true,
        "output_half_pixel" => false,
        other => return Err(cx.unsupported(format!("coordinate_transformation_mode = {other:?}"))),
    };
    let scaled = build::with_number(cx, "mul_scalar", rois, node.float("spatial_scale").unwrap_or(1.0))?;
    let corners = if is_moved { build::with_number(cx, "sub_scalar", &scaled, 0.5)? } else { scaled };
    // The coordinates of samples along one axis, as the grid counts them: -1 and 1 are the first and the last pixel. And which
    // samples are at most one pixel outside the image: others are 0.
    let along = |first: usize, bins: usize, size: usize, cx: &mut Expansion<'_>| -> Result<(Value, Value)> {
        let start = build::narrow(cx, &corners, 1, first, 1)?;
        let end = build::narrow(cx, &corners, 1, first + 2, 1)?;
        let mut length = build::binary(cx, "sub", &end, &start)?;
        if !is_moved {
            length = build::clamp(cx, &length, 1.0, f32::INFINITY)?;
        }
        let points = bins * samples;
        let fractions = collect((0..points).map(|i| (i as f32 + 0.5) / points as f32))?;
        let fractions = build::constant(&fractions, &[1, points])?;
        let offsets = build::binary(cx, "mul", &length, &fractions)?;
        let places = build::binary(cx, "add", &offsets, &start)?;
        let above = build::with_number(cx, "ge_scalar", &places, -1.0)?;
        let below = build::with_number(cx, "le_scalar", &places, size as f32)?;
        let (above, below) = (build::as_numbers(cx, &above)?, build::as_numbers(cx, &below)?);
        let inside = build::binary(cx, "mul", &above, &below)?;
        let step = if size > 1 { 2.0 / (size - 1) as f32 } else { 0.0 };
        let grid = build::with_number(cx, "mul_scalar", &places, step)?;
        Ok((build::with_number(cx, "sub_scalar", &grid, 1.0)?, inside))
    };
    let (across, across_inside) = along(0, columns, width, cx)?;
    let (down, down_inside) = along(1, rows, height, cx)?;
    let (w, h) = (columns * samples, rows * samples);
    let across = cx.reshape(&across, &[regions, 1, w, 1])?;
    let across = build::expand(cx, &across, &[regions, h, w, 1])?;
    let down = cx.reshape(&down, &[regions, h, 1, 1])?;
    let down = build::expand(cx, &down, &[regions, h, w, 1])?;
    let grid = build::cat(cx, &[&across, &down], 3)?;
    let batch = indices(input(inputs, 2, cx)?, images, cx)?;
    let source = build::index_select(cx, x, 0, &batch)?;
    let params =
        [("mode", "bilinear".into()), ("padding_mode", "border".into()), ("align_corners", true.into())];
    let sampled = cx.op("grid_sample", &[("x", &source), ("grid", &grid)], &params)?;
    let across_inside = cx.reshape(&across_inside, &[regions, 1, 1, w])?;
    let down_inside = cx.reshape(&down_inside, &[regions, 1, h, 1])?;
    let inside = build::binary(cx, "mul", &across_inside, &down_inside)?;
    let sampled = build::binary(cx, "mul", &sampled, &inside)?;
    let params = [("kernel", build::list(&[samples, samples]))];
    Ok(vec![cx.op("avg_pool2d", &[("x", &sampled)], &params)?])
}
