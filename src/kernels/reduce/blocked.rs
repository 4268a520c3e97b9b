//! Reductions of blocked tensors: their loops.

use super::{Axes, channels};
use crate::dtype::Element;
use crate::elementwise::{Fold, Indices, Part, Reduction, argmax};
use crate::error::Result;
use crate::kernels::lanes::Lanes;
use crate::layout::loops::Loops;
use crate::layout::reorder;
use crate::tensor::blocked::BlockedTensor;

/// Reduces `x` over `axes`, which stay with size 1. `dst` has those sizes and the layout of `x`.
pub(crate) fn reduce<E: Element, F: Fold<In = E, Out = E>>(
    op: &'static str,
    x: &BlockedTensor,
    axes: &Axes,
    fold: &F,
    dst: &mut BlockedTensor,
) -> Result<()> {
    let view = Lanes::of_blocked(op, x)?;
    let dims = axes.kept_sizes(x.dims());
    let to = Lanes::of_layout(op, &dims, x.layout())?;
    let bytes = dst.storage_bytes_mut();
    if x.dims().contains(&0) {
        bytemuck::cast_slice_mut::<u8, E>(bytes).fill(fold.finish(fold.identity(), 0));
        if !dims.contains(&0) {
            reorder::zero_padding(size_of::<E>(), x.layout(), &dims, bytes);
        }
        return Ok(());
    }
    let (src, out) = (x.data(), bytemuck::cast_slice_mut(bytes));
    let channels_alone = (0..x.rank()).all(|d| axes.is_reduced[d] == (d == 1));
    if channels_alone && channels::fold(&view, &to, fold, src, out) {
        return Ok(());
    }
    reduction(&view, &to, x.rank(), axes, Indices::AllZero).run(op, fold, src, out)
}

/// The row-major index of the largest element, the first of equal ones. `axes` are all axes, and there are elements.
pub(crate) fn argmax_of(op: &'static str, x: &BlockedTensor, axes: &Axes) -> Result<usize> {
    let view = Lanes::of_blocked(op, x)?;
    let to = Lanes::of_layout(op, &axes.kept_sizes(x.dims()), x.layout())?;
    argmax(op, &reduction(&view, &to, x.rank(), axes, Indices::RowMajor), x.data())
}

/// The loops over a tensor with elements. Where channels stay, padding is reduced like any channel: zeros give zeros. Where they
/// are reduced, the last block is a part of its own if it is padded.
fn reduction(view: &Lanes, to: &Lanes, rank: usize, axes: &Axes, indices: Indices) -> Reduction {
    let spatial = |a: usize| a + rank >= 5 && axes.is_reduced[a + rank - 3];
    let [d, h, w] = view.spatial;
    let channels = axes.is_reduced[1];
    // The weights of the axes in an index.
    let mut elements = indices.first_weight();
    let mut weight = |size: usize, is_reduced: bool| {
        let next = if is_reduced { elements * size } else { elements };
        std::mem::replace(&mut elements, next)
    };
    let [of_w, of_h, of_d] = [weight(w, spatial(2)), weight(h, spatial(1)), weight(d, spatial(0))];
    let (of_c, of_n) = (weight(view.c, channels), weight(view.n, axes.is_reduced[0]));
    // Size, steps in the source, in the result and in the index, and whether it is reduced.
    let pixels = [
        (w, view.lanes, to.lanes, of_w, spatial(2)),
        (h, view.stride_h, to.stride_h, of_h, spatial(1)),
        (d, view.stride_d, to.stride_d, of_d, spatial(0)),
        (view.n, view.stride_n, to.stride_n, of_n, axes.is_reduced[0]),
    ];
    let lanes = |used: usize| (used, 1, 1, of_c, channels);
    let blocks = |n: usize| (n, view.stride_block, to.stride_block, view.lanes * of_c, channels);
    let part = |first: usize, n: usize, used: usize| {
        let loops = pixels.into_iter().chain([lanes(used), blocks(n)]).filter(|l| l.4);
        let loops = Loops::densest_first(loops.map(|(size, src, _, index, _)| (size, [src, index])));
        Part { base: first * view.stride_block, index: first * view.lanes * of_c, loops }
    };
    let kept = pixels.into_iter().chain([lanes(view.lanes), blocks(view.blocks)]).filter(|l| !l.4);
    let kept = Loops::densest_first(kept.map(|(size, src, dst, ..)| (size, [src, dst])));
    let full = view.c / view.lanes;
    let parts = if !channels || full == view.blocks {
        vec![part(0, view.blocks, view.lanes)]
    } else if full == 0 {
        vec![part(0, 1, view.c)]
    } else {
        vec![part(0, full, view.lanes), part(full, 1, view.lanes_in(full))]
    };
    Reduction { kept, parts, tail: if channels { to.lanes - 1 } else { 0 } }
}
