//! `GridSample`.

use blocktensor_graph::{Expansion, Result, Value};

use super::args::float_input;
use super::{Op, op};
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[op(
    "GridSample",
    grid_sample,
    &[("align_corners", Kind::Int), ("mode", Kind::Str), ("padding_mode", Kind::Str)],
)];

fn grid_sample(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let (x, grid) = (float_input(inputs, 0, cx)?, float_input(inputs, 1, cx)?);
    // Version 20 renamed the modes.
    let mode = match node.str("mode").unwrap_or("linear") {
        "linear" | "bilinear" => "bilinear",
        "cubic" | "bicubic" => "bicubic",
        "nearest" => "nearest",
        other => return Err(cx.unsupported(format!("mode = {other:?}"))),
    };
    let padding = node.str("padding_mode").unwrap_or("zeros");
    if !["zeros", "border", "reflection"].contains(&padding) {
        return Err(cx.unsupported(format!("padding_mode = {padding:?}")));
    }
    let align = node.int("align_corners").unwrap_or(0) != 0;
    let params = [("mode", mode.into()), ("padding_mode", padding.into()), ("align_corners", align.into())];
    Ok(vec![cx.op("grid_sample", &[("x", x), ("grid", grid)], &params)?])
}
