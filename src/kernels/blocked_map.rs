//! Blocked activations for the element-wise engine, viewed as strided tensors with one dimension more.
//!
//! `nChw16c` is dense in the order N, blocks, H, W, lanes. With this view every element-wise loop serves blocked tensors too,
//! with the same arithmetic and the same bits. An operand that broadcasts along the channels (C = 1) has its channel in lane 0
//! of its only block, and is read from that lane. The pass that writes a result also zeroes its tail lanes, unless the function
//! leaves zeros there anyway.
//!
//! Weights of equal sizes and layouts are one run of elements, padding included: optimisers compute on them as they are.

use crate::buffer::Buffer;
use crate::dtype::Element;
use crate::elementwise::{self, ChannelTail, Function, Function2, MapDestination};
use crate::error::{Call, Result, Text, fail};
use crate::kernels::lanes::Lanes;
use crate::layout::blocked::{Layout, Role};
use crate::layout::dims::Dims;
use crate::layout::iterator::{self, Operand};
use crate::layout::reorder;
use crate::math::Separate;
use crate::tensor::any::TensorRef;
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::strided::StridedTensor;

/// Sizes of a blocked activation in the order of memory: N, blocks, then those of D, H, W that it has, lanes.
pub(crate) fn dense_dims(op: &'static str, dims: &[usize], layout: &Layout) -> Result<Dims> {
    let lanes = Lanes::of_layout(op, dims, layout)?;
    let mut all = Dims::from_slice(dims);
    all[1] = lanes.blocks;
    all.push(lanes.lanes);
    Ok(all)
}

/// The storage of a blocked activation as a dense strided tensor, in the order of memory.
pub(crate) fn dense_view(op: &'static str, t: &BlockedTensor) -> Result<StridedTensor> {
    t.storage_view(op, dense_dims(op, t.dims(), t.layout())?)
}

/// Whether all elements may be mapped as one run: weights, whose operands [`common`] held to equal sizes.
fn is_one_run(layout: &Layout) -> bool {
    layout.role() != Role::Activations
}

/// An operand of a map.
pub(crate) struct MapOperand {
    view: StridedTensor,
    /// Whether it reads as zero at the result's tail lanes.
    zero_tail: bool,
}

impl MapOperand {
    /// A blocked operand of a result with `channels` channels.
    pub fn of(op: &'static str, t: &BlockedTensor, channels: usize) -> Result<MapOperand> {
        let view = dense_view(op, t)?;
        if t.dims()[1] == channels {
            return Ok(MapOperand { view, zero_tail: true });
        }
        Ok(MapOperand { view: view.narrow(t.rank(), 0, 1)?, zero_tail: false })
    }

    /// As [`of`](Self::of), for a call whose operands [`common`] checked: weights too.
    pub fn of_checked(op: &'static str, t: &BlockedTensor, channels: usize) -> Result<MapOperand> {
        if !is_one_run(t.layout()) {
            return MapOperand::of(op, t, channels);
        }
        let elements = t.bytes() / t.dtype().size_bytes();
        Ok(MapOperand { view: t.storage_view(op, Dims::from_slice(&[elements]))?, zero_tail: true })
    }

    /// A parameter with one value for each channel of `like`, or one for all.
    pub fn of_channels(op: &'static str, values: &StridedTensor, like: &BlockedTensor) -> Result<MapOperand> {
        if values.numel() == 1 && like.dims()[1] != 1 {
            return Ok(MapOperand { view: values.reshape(&[1])?, zero_tail: false });
        }
        let mut dims = Dims::filled(1, like.rank());
        dims[1] = values.numel();
        MapOperand::of_features(op, &values.reshape(&dims)?, like)
    }

    /// A small tensor with as many channels as `like`, copied into its layout. It is a parameter, so this is no reorder.
    pub fn of_features(op: &'static str, values: &StridedTensor, like: &BlockedTensor) -> Result<MapOperand> {
        let (elem, layout) = (values.dtype().size_bytes(), like.layout());
        let mut blocked = BlockedTensor::for_result(op, values.dims(), layout, values.dtype())?;
        reorder::strided_to_blocked(
            elem,
            values.bytes(),
            values.dims(),
            values.strides(),
            layout,
            blocked.storage_bytes_mut(),
        );
        Ok(MapOperand { view: dense_view(op, &blocked)?, zero_tail: true })
    }

    /// A small strided tensor with one channel, for a function that is zero wherever its other operands are.
    pub fn of_pixels(values: &StridedTensor) -> Result<MapOperand> {
        Ok(MapOperand { view: values.unsqueeze(values.rank())?, zero_tail: true })
    }
}

/// The common sizes and the layout of blocked operands that broadcast against each other.
///
/// # Errors
/// `RankMismatch`, `LayoutMismatch`, `ShapeMismatch`.
pub(crate) fn common(
    op: &'static str,
    operands: &[(&'static str, &BlockedTensor)],
) -> Result<(Dims, Layout)> {
    let (first_name, first) = operands[0];
    for &(name, t) in &operands[1..] {
        let first = || TensorRef::Blocked(first).describe();
        if t.rank() != operands[0].1.rank() {
            fail!(
                RankMismatch,
                op,
                name,
                TensorRef::Blocked(t).describe(),
                format!("`{first_name}` is {}, and blocked operands broadcast between equal ranks", first()),
                Text::from("unsqueeze the strided tensor to that rank before ") + Call::ToAnyBlocked
            );
        }
        if t.layout() != operands[0].1.layout() {
            fail!(
                LayoutMismatch,
                op,
                name,
                TensorRef::Blocked(t).describe(),
                format!("`{first_name}` is {}, and operands share one layout", first()),
                Text::from(format!("reorder `{name}` with "))
                    + Call::ReorderTo(operands[0].1.layout().to_string())
            );
        }
    }
    // `broadcast` reads the sizes only: any list of that length may stand for the strides.
    let views: Vec<Operand<'_>> =
        operands.iter().map(|(_, t)| Operand { dims: t.dims(), strides: t.dims() }).collect();
    let dims = iterator::broadcast(op, &views)?;
    if is_one_run(first.layout()) && operands.iter().all(|(_, t)| *t.dims() == *dims) {
        return Ok((dims, *first.layout()));
    }
    Lanes::of_layout(op, &dims, first.layout())?;
    Ok((dims, *first.layout()))
}

/// The destination of a map. `keeps_zero_tail` says that the map itself writes zeros to the tail lanes.
fn target<'a, O: Element>(
    op: &'static str,
    dst: &'a mut BlockedTensor,
    keeps_zero_tail: bool,
) -> Result<MapDestination<'a, O>> {
    if is_one_run(dst.layout()) {
        let elements = Dims::from_slice(&[dst.bytes() / O::DTYPE.size_bytes()]);
        return match dst.data_mut::<O>() {
            Some(data) => MapDestination::dense(op, elements, data, None),
            None => Err(Buffer::not_for_writing(op)),
        };
    }
    let lanes = Lanes::of_blocked(op, dst)?;
    let dims = dense_dims(op, dst.dims(), dst.layout())?;
    let used = lanes.c % lanes.lanes;
    let tail = ChannelTail { lanes: lanes.lanes, used, plane: lanes.plane_len(), blocks: lanes.blocks };
    let tail = Some(tail).filter(|_| used != 0 && !keeps_zero_tail);
    match dst.data_mut::<O>() {
        Some(data) => MapDestination::dense(op, dims, data, tail),
        None => Err(Buffer::not_for_writing(op)),
    }
}

/// Zeroes the padding of weights after a map that does not keep it zero.
fn zero_weights_padding(dst: &mut BlockedTensor, keeps_zero_tail: bool) -> Result<()> {
    if !keeps_zero_tail && is_one_run(dst.layout()) {
        let (size, layout, dims) = (dst.dtype().size_bytes(), *dst.layout(), Dims::from_slice(dst.dims()));
        reorder::zero_padding(size, &layout, &dims, dst.storage_bytes_mut());
    }
    Ok(())
}

fn is_zero<O: Element>(value: O) -> bool {
    bytemuck::bytes_of(&value).iter().all(|&b| b == 0)
}

/// `f` of every element. The caller has checked the destination, or made it for this result.
pub(crate) fn map1<A: Element, O: Element>(
    op: &'static str,
    dst: &mut BlockedTensor,
    a: &MapOperand,
    f: impl Function<A, O>,
) -> Result<()> {
    let keeps_zero_tail = a.zero_tail && is_zero(f.of::<Separate>(A::zeroed()));
    elementwise::map1_to(op, target(op, dst, keeps_zero_tail)?, &a.view, f)?;
    zero_weights_padding(dst, keeps_zero_tail)
}

/// `f` of every pair of elements. As [`map1`].
pub(crate) fn map2<A: Element, B: Element, O: Element>(
    op: &'static str,
    dst: &mut BlockedTensor,
    (a, b): (&MapOperand, &MapOperand),
    f: impl Function2<A, B, O>,
) -> Result<()> {
    let keeps_zero_tail = a.zero_tail && b.zero_tail && is_zero(f.of(A::zeroed(), B::zeroed()));
    elementwise::map2_to(op, target(op, dst, keeps_zero_tail)?, &a.view, &b.view, f)?;
    zero_weights_padding(dst, keeps_zero_tail)
}

/// `f` of every triple of elements. As [`map1`].
pub(crate) fn map3<A: Element, B: Element, C: Element, O: Element>(
    op: &'static str,
    dst: &mut BlockedTensor,
    (a, b, c): (&MapOperand, &MapOperand, &MapOperand),
    f: impl Fn(A, B, C) -> O + Sync,
) -> Result<()> {
    let zeros = a.zero_tail && b.zero_tail && c.zero_tail;
    let keeps_zero_tail = zeros && is_zero(f(A::zeroed(), B::zeroed(), C::zeroed()));
    elementwise::map3_to(op, target(op, dst, keeps_zero_tail)?, &a.view, &b.view, &c.view, f)?;
    zero_weights_padding(dst, keeps_zero_tail)
}
