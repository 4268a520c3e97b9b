//! `Conv` and `ConvTranspose`.

use blocktensor_graph::{Expansion, Param, Result, Value};

use super::args::{absent, float_input, floats, maybe};
use super::{Attributes, Op, build, joined, op};
use crate::node::{Kind, OnnxNode};

pub(super) const WINDOW: Attributes = &[
    ("auto_pad", Kind::Str),
    ("dilations", Kind::Ints),
    ("group", Kind::Int),
    ("kernel_shape", Kind::Ints),
    ("pads", Kind::Ints),
    ("strides", Kind::Ints),
];
const TRANSPOSED: Attributes =
    &joined::<8>(WINDOW, &[("output_padding", Kind::Ints), ("output_shape", Kind::Ints)]);

pub(super) const OPS: &[Op] = &[op("Conv", conv, WINDOW), op("ConvTranspose", conv_transpose, TRANSPOSED)];

/// The attributes that windows share, with a value for each spatial axis.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub kernel: Vec<usize>,
    pub strides: Vec<usize>,
    pub dilations: Vec<usize>,
    /// Explicit pads; `auto_pad` may replace them.
    pub before: Vec<usize>,
    pub after: Vec<usize>,
    pub auto_pad: AutoPad,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AutoPad {
    NotSet,
    Valid,
    SameUpper,
    SameLower,
}

impl Window {
    /// Reads the attributes. `kernel` is the size of the weights' windows; pools have none.
    pub(super) fn of(
        node: &OnnxNode,
        x: &Value,
        kernel: Option<&[usize]>,
        cx: &Expansion<'_>,
    ) -> Result<Window> {
        let Some(spatial) = x.rank().checked_sub(2).filter(|n| (1..=3).contains(n)) else {
            return Err(cx.unsupported(format!("an input of rank {}: windows have 1 to 3 axes", x.rank())));
        };
        let sizes = |name: &str, count: usize, least: i64, default: Option<usize>| {
            let Some(values) = node.ints(name) else {
                return match default {
                    Some(value) => Ok(vec![value; count]),
                    None => Err(absent(name, cx)),
                };
            };
            // No axis is longer, so that any longer stride makes one window.
            let most = i64::from(i32::MAX);
            let values = values.iter().map(|&v| if name == "strides" { v.min(most) } else { v });
            let values: Vec<i64> = values.collect();
            if values.len() != count || values.iter().any(|v| !(least..=most).contains(v)) {
                let rule = format!("it has {count} values, each from {least} to {most}");
                return Err(cx.invalid(
                    name,
                    format!("{values:?}"),
                    &rule,
                    "export the model with such values",
                ));
            }
            Ok(values.into_iter().map(|v| v as usize).collect())
        };
        let given = match kernel {
            Some(kernel) if node.ints("kernel_shape").is_none() => kernel.to_vec(),
            _ => sizes("kernel_shape", spatial, 1, None)?,
        };
        if kernel.is_some_and(|k| k != given) {
            let rule = format!("the weights' windows are {:?}", kernel.unwrap_or_default());
            return Err(cx.invalid("kernel_shape", format!("{given:?}"), &rule, "export the model again"));
        }
        let pads = sizes("pads", 2 * spatial, 0, Some(0))?;
        let auto_pad = match node.str("auto_pad") {
            None | Some("NOTSET" | "") => AutoPad::NotSet,
            Some("VALID") => AutoPad::Valid,
            Some("SAME_UPPER") => AutoPad::SameUpper,
            Some("SAME_LOWER") => AutoPad::SameLower,
            Some(other) => {
                let rule = "it is NOTSET, VALID, SAME_UPPER or SAME_LOWER";
                return Err(cx.invalid("auto_pad", format!("{other:?}"), rule, "write one of these"));
            }
        };
        if auto_pad != AutoPad::NotSet && pads.iter().any(|&p: &usize| p > 0) {
            let rule = "pads are given by one of `auto_pad` and `pads`";
            return Err(cx.invalid("pads", format!("{pads:?}"), rule, "export the model again"));
        }
        Ok(Window {
            kernel: given,
            strides: sizes("strides", spatial, 1, Some(1))?,
            dilations: sizes("dilations", spatial, 1, Some(1))?,
            before: pads[..spatial].to_vec(),
            after: pads[spatial..].to_vec(),
            auto_pad,
        })
    }

    /// How many elements a window spans along an axis.
    pub(super) fn span(&self, axis: usize) -> usize {
        (self.kernel[axis] - 1) * self.dilations[axis] + 1
    }

    /// The pads, with `auto_pad` resolved for a source of these spatial sizes.
    pub(super) fn resolve(mut self, sizes: &[usize]) -> Window {
        for (axis, &size) in sizes.iter().enumerate() {
            let (before, after) = match self.auto_pad {
                AutoPad::NotSet => continue,
                AutoPad::Valid => (0, 0),
                AutoPad::SameUpper | AutoPad::SameLower => {
                    let output = size.div_ceil(self.strides[axis]);
                    let needed = output.saturating_sub(1) * self.strides[axis] + self.span(axis);
                    let total = needed.saturating_sub(size);
                    let (less, more) = (total / 2, total - total / 2);
                    if self.auto_pad == AutoPad::SameUpper { (less, more) } else { (more, less) }
                }
            };
            (self.before[axis], self.after[axis]) = (before, after);
        }
        self.auto_pad = AutoPad::NotSet;
        self
    }

    /// The parameters of a convolution.
    fn params(&self, groups: usize) -> Vec<(&'static str, Param)> {
        let padding: Vec<usize> = self.before.iter().chain(&self.after).copied().collect();
        vec![
            ("stride", build::list(&self.strides)),
            ("padding", build::list(&padding)),
            ("dilation", build::list(&self.dilations)),
            ("groups", build::int(groups)),
        ]
    }
}

fn groups(node: &OnnxNode, cx: &Expansion<'_>) -> Result<usize> {
    let group = node.int("group").unwrap_or(1);
    usize::try_from(group)
        .ok()
        .filter(|g| *g > 0)
        .ok_or_else(|| cx.invalid("group", group, "it counts from 1", "export the model again"))
}

/// The weights, of the rank of `x`.
fn weights<'a>(inputs: &'a [Option<Value>], x: &Value, cx: &Expansion<'_>) -> Result<&'a Value> {
    let w = float_input(inputs, 1, cx)?;
    check_rank(w, x, cx)?;
    Ok(w)
}

fn check_rank(w: &Value, x: &Value, cx: &Expansion<'_>) -> Result<()> {
    if w.rank() != x.rank() {
        let rule = format!("they have the rank of x, which is {}", x.rank());
        return Err(cx.invalid("weights", format!("{:?}", w.dims()), &rule, "export the model again"));
    }
    Ok(())
}

/// The op of a convolution of these operands, and its parameters.
pub(super) fn op_of(
    node: &OnnxNode,
    x: &Value,
    w: &Value,
    cx: &Expansion<'_>,
) -> Result<(&'static str, Vec<(&'static str, Param)>)> {
    check_rank(w, x, cx)?;
    let window = Window::of(node, x, w.dims().get(2..), cx)?.resolve(&x.dims()[2..]);
    Ok((["conv1d", "conv2d", "conv3d"][x.rank() - 3], window.params(groups(node, cx)?)))
}

pub(super) fn conv(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let w = float_input(inputs, 1, cx)?;
    let (op, params) = op_of(node, x, w, cx)?;
    let mut operands = vec![("x", x), ("weights", w)];
    if let Some(bias) = maybe(inputs, 2) {
        operands.push(("bias", floats(bias, cx)?));
    }
    Ok(vec![cx.op(op, &operands, &params)?])
}

fn conv_transpose(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let w = weights(inputs, x, cx)?;
    let mut window = Window::of(node, x, w.dims().get(2..), cx)?;
    let spatial = x.rank() - 2;
    let list = |name: &str| match node.ints(name) {
        None => Ok(None),
        Some(values) if values.len() == spatial && values.iter().all(|v| (0..1 << 31).contains(v)) => {
            Ok(Some(values.iter().map(|&v| v as usize).collect::<Vec<_>>()))
        }
        Some(values) => {
            let rule =
                format!("it has one value for each of the {spatial} spatial axes, none of them negative");
            Err(cx.invalid(name, format!("{values:?}"), &rule, "export the model again"))
        }
    };
    let mut extra = list("output_padding")?.unwrap_or_else(|| vec![0; spatial]);
    if (0..spatial).any(|i| extra[i] >= window.strides[i].max(window.dilations[i])) {
        let rule = "on each axis it is less than the stride or the dilation";
        let remedy = "export the model with less of it, or pad the result with `Pad`";
        return Err(cx.invalid("output_padding", format!("{extra:?}"), rule, remedy));
    }
    let mut output = list("output_shape")?;
    let same = matches!(window.auto_pad, AutoPad::SameUpper | AutoPad::SameLower);
    if same && output.is_none() {
        output = Some((0..spatial).map(|i| x.dims()[2 + i] * window.strides[i]).collect());
    }
    if window.auto_pad == AutoPad::Valid {
        window = window.resolve(&x.dims()[2..]);
    }
    if let Some(output) = output {
        for axis in 0..spatial {
            let full =
                window.strides[axis] * x.dims()[2 + axis].saturating_sub(1) + extra[axis] + window.span(axis);
            match full.checked_sub(output[axis]) {
                Some(total) => {
                    let (less, more) = (total / 2, total - total / 2);
                    let upper = window.auto_pad == AutoPad::SameUpper;
                    (window.before[axis], window.after[axis]) =
                        if upper { (less, more) } else { (more, less) };
                }
                // The result is larger than what the windows reach: it grows at its end.
                None => {
                    (window.before[axis], window.after[axis]) = (0, 0);
                    extra[axis] += output[axis] - full;
                }
            }
        }
    }
    let op = ["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"][spatial - 1];
    let bias = maybe(inputs, 2).map(|b| floats(b, cx)).transpose()?;
    let mut params = window.params(groups(node, cx)?);
    let fits = (0..spatial).all(|i| extra[i] < window.strides[i].max(window.dilations[i]));
    if fits {
        params.push(("output_padding", build::list(&extra)));
        let mut operands = vec![("x", x), ("weights", w)];
        operands.extend(bias.map(|b| ("bias", b)));
        return Ok(vec![cx.op(op, &operands, &params)?]);
    }
    let y = cx.op(op, &[("x", x), ("weights", w)], &params)?;
    let none = vec![0; x.rank()];
    let after: Vec<usize> = [0, 0].into_iter().chain(extra).collect();
    let y = build::pad(cx, &y, &none, &after, "constant", 0.0)?;
    Ok(vec![match bias {
        Some(bias) => cx.op("add_channel", &[("x", &y), ("values", bias)], &[])?,
        None => y,
    }])
}
