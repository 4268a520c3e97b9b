//! Ops that change sizes and order of axes.

use blocktensor_graph::{Expansion, Result, Value, broadcast_dims};

use super::args::{axes_of, axis_of, dims_of, float_input, input, int_list, ints_of};
use super::{Op, build, op};
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[
    op("DepthToSpace", depth_to_space, &[("blocksize", Kind::Int), ("mode", Kind::Str)]),
    op("Expand", expand, &[]),
    op("Flatten", flatten, &[("axis", Kind::Int)]),
    op("Reshape", reshape, &[("allowzero", Kind::Int)]),
    op("SpaceToDepth", space_to_depth, &[("blocksize", Kind::Int)]),
    op("Squeeze", squeeze, &[("axes", Kind::Ints)]),
    op("Tile", tile, &[]),
    op("Transpose", transpose, &[("perm", Kind::Ints)]),
    op("Unsqueeze", unsqueeze, &[("axes", Kind::Ints)]),
];

/// The sizes of the result of `Reshape`.
pub(crate) fn reshaped(
    node: &OnnxNode,
    dims: &[usize],
    shape: &[i64],
    cx: &Expansion<'_>,
) -> Result<Vec<usize>> {
    let keeps_zero = node.int("allowzero").unwrap_or(0) != 0;
    let wrong = |rule: &str| cx.invalid("shape", format!("{shape:?} of {dims:?}"), rule, "correct the shape");
    let mut sizes = Vec::with_capacity(shape.len());
    let mut open = None;
    for (i, &s) in shape.iter().enumerate() {
        sizes.push(match s {
            0 if !keeps_zero => match dims.get(i) {
                Some(&d) => d as i64,
                None => return Err(wrong("0 keeps the size of an axis that is there")),
            },
            -1 if open.is_some() => return Err(wrong("-1 is there once")),
            -1 => {
                open = Some(i);
                1
            }
            s => s,
        });
    }
    let mut sizes = dims_of(&sizes, cx)?;
    if let Some(i) = open {
        let (count, rest) = (dims.iter().product::<usize>(), sizes.iter().product::<usize>());
        if rest == 0 || count % rest != 0 {
            return Err(wrong("the number of elements stays"));
        }
        sizes[i] = count / rest;
    }
    if sizes.iter().product::<usize>() != dims.iter().product::<usize>() {
        return Err(wrong("the number of elements stays"));
    }
    Ok(sizes)
}

fn reshape(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let shape = int_list(input(inputs, 1, cx)?, "sizes", cx)?;
    let dims = reshaped(node, x.dims(), &shape, cx)?;
    Ok(vec![cx.reshape(x, &dims)?])
}

fn flatten(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    // The axis may be the rank: one column.
    let axis = match node.int("axis").unwrap_or(1) {
        axis if axis == x.rank() as i64 => x.rank(),
        axis => axis_of(axis, x.rank(), cx)?,
    };
    let (rows, columns) = x.dims().split_at(axis);
    Ok(vec![cx.reshape(x, &[rows.iter().product(), columns.iter().product()])?])
}

/// The sizes of the result of `Squeeze`.
fn squeezed(
    node: &OnnxNode,
    inputs: &[Option<Value>],
    dims: &[usize],
    cx: &Expansion<'_>,
) -> Result<Vec<usize>> {
    let axes = match ints_of(inputs, 1, node.ints("axes"), "axes", cx)? {
        Some(axes) => axes_of(&axes, dims.len(), cx)?,
        None => (0..dims.len()).filter(|&a| dims[a] == 1).collect(),
    };
    if let Some(&axis) = axes.iter().find(|&&a| dims[a] != 1) {
        let got = format!("axis {axis} of {dims:?}");
        return Err(cx.invalid("axes", got, "a removed axis has size 1", "correct the axes"));
    }
    Ok((0..dims.len()).filter(|a| !axes.contains(a)).map(|a| dims[a]).collect())
}

fn squeeze(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let dims = squeezed(node, inputs, x.dims(), cx)?;
    Ok(vec![cx.reshape(x, &dims)?])
}

fn unsqueeze(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let axes = ints_of(inputs, 1, node.ints("axes"), "axes", cx)?.unwrap_or_default();
    let rank = x.rank() + axes.len();
    let axes = axes_of(&axes, rank, cx)?;
    let mut old = x.dims().iter();
    let dims = (0..rank).map(|i| if axes.contains(&i) { 1 } else { old.next().copied().unwrap_or(1) });
    let dims: Vec<usize> = dims.collect();
    Ok(vec![cx.reshape(x, &dims)?])
}

fn expand(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let shape = int_list(input(inputs, 1, cx)?, "sizes", cx)?;
    let shape = dims_of(&shape, cx)?;
    let Some(dims) = broadcast_dims(x.dims(), &shape) else {
        let got = format!("{:?} to {shape:?}", x.dims());
        return Err(cx.invalid("shape", got, "the sizes broadcast", "correct the shape"));
    };
    let bytes = dims.iter().try_fold(4usize, |n, &d| n.checked_mul(d));
    if bytes.is_none_or(|n| n > isize::MAX as usize) {
        return Err(cx.invalid(
            "shape",
            format!("{dims:?}"),
            "the elements fit into memory",
            "correct the shape",
        ));
    }
    if x.constant().is_some() && dims.iter().product::<usize>() > super::constant::MAX_GENERATED {
        return Err(cx.unsupported(format!("a constant expanded to {dims:?}")));
    }
    Ok(vec![build::expand(cx, x, &dims)?])
}

fn tile(_: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let repeats = dims_of(&int_list(input(inputs, 1, cx)?, "repeats", cx)?, cx)?;
    if repeats.len() != x.rank() {
        let rule = format!("there is one for each of the {} axes", x.rank());
        return Err(cx.invalid("repeats", format!("{repeats:?}"), &rule, "export the model again"));
    }
    let total: Option<usize> =
        x.dims().iter().zip(&repeats).try_fold(1usize, |n, (d, r)| n.checked_mul(d.checked_mul(*r)?));
    if total.is_none_or(|n| n > 1 << 40 || (x.constant().is_some() && n > super::constant::MAX_GENERATED)) {
        return Err(cx.unsupported(format!("{:?} repeated {repeats:?} times", x.dims())));
    }
    let mut y = x.clone();
    for (axis, &count) in repeats.iter().enumerate() {
        if y.dims()[axis] == 1 && count > 0 {
            let mut dims = y.dims().to_vec();
            dims[axis] = count;
            y = build::expand(cx, &y, &dims)?;
        } else if count == 0 {
            y = build::narrow(cx, &y, axis, 0, 0)?;
        } else if count > 1 {
            // An axis of repeats in front of the axis, then both as one.
            let mut apart = y.dims().to_vec();
            apart.insert(axis, 1);
            let mut spread = apart.clone();
            spread[axis] = count;
            let mut dims = y.dims().to_vec();
            dims[axis] *= count;
            if spread.len() > blocktensor::MAX_RANK || count <= 8 {
                blocktensor::memory::require("a list of operands", count.saturating_mul(256))?;
                y = build::cat(cx, &vec![&y; count], axis)?;
                continue;
            }
            y = cx.reshape(&y, &apart)?;
            y = build::expand(cx, &y, &spread)?;
            y = cx.reshape(&y, &dims)?;
        }
    }
    Ok(vec![y])
}

/// The order of axes of `Transpose`.
pub(crate) fn order(node: &OnnxNode, rank: usize, cx: &Expansion<'_>) -> Result<Vec<usize>> {
    let Some(perm) = node.ints("perm") else {
        return Ok((0..rank).rev().collect());
    };
    let order = axes_of(perm, rank, cx)?;
    if order.len() != rank {
        let rule = format!("it names each of the {rank} axes");
        return Err(cx.invalid("perm", format!("{perm:?}"), &rule, "export the model again"));
    }
    Ok(order)
}

fn transpose(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let order = order(node, x.rank(), cx)?;
    Ok(vec![build::permute(cx, x, &order)?])
}

/// The sizes of an image, and the size of the blocks.
fn image(node: &OnnxNode, x: &Value, cx: &Expansion<'_>) -> Result<([usize; 4], usize)> {
    let &[n, c, h, w] = x.dims() else {
        return Err(cx.invalid(
            "input",
            format!("{:?}", x.dims()),
            "it has four axes",
            "export the model again",
        ));
    };
    let block = node.int("blocksize").unwrap_or(0);
    match usize::try_from(block) {
        Ok(b) if (1..1 << 15).contains(&b) => Ok(([n, c, h, w], b)),
        _ => Err(cx.invalid("blocksize", block, "it counts from 1", "export the model again")),
    }
}

fn depth_to_space(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let ([n, c, h, w], block) = image(node, x, cx)?;
    let cells = block * block;
    if c % cells != 0 {
        let rule = format!("{c} channels are a multiple of its square");
        return Err(cx.invalid("blocksize", block, &rule, "export the model again"));
    }
    let source = match node.str("mode").unwrap_or("DCR") {
        "CRD" => x.clone(),
        // The place in the block comes before the channel: it moves behind it.
        "DCR" => {
            let y = cx.reshape(x, &[n, cells, c / cells, h, w])?;
            let y = build::permute(cx, &y, &[0, 2, 1, 3, 4])?;
            cx.reshape(&y, &[n, c, h, w])?
        }
        other => return Err(cx.unsupported(format!("mode = {other:?}"))),
    };
    Ok(vec![cx.op("pixel_shuffle", &[("x", &source)], &[("factor", build::int(block))])?])
}

fn space_to_depth(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    let ([n, c, h, w], block) = image(node, x, cx)?;
    let y = cx.op("pixel_unshuffle", &[("x", x)], &[("factor", build::int(block))])?;
    // The place in the block comes before the channel.
    let (h, w, cells) = (h / block, w / block, block * block);
    let y = cx.reshape(&y, &[n, c, cells, h, w])?;
    let y = build::permute(cx, &y, &[0, 2, 1, 3, 4])?;
    Ok(vec![cx.reshape(&y, &[n, c * cells, h, w])?])
}
