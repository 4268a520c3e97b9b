//! Convolution weights as they come, and their way into a kernel's order and back.

use std::fmt::Display;
use std::panic::Location;
use std::sync::Arc;

use super::ConvGeometry;
use super::implementation::ConvKernel;
use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::layout::native::native_block;
use crate::layout::reorder;
use crate::ledger::{self, Cause, Move};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::strided::StridedTensor;

/// Plain weights seen with their groups apart: `[g, O/g, C/g, k...]`, or `[O, C, k...]` without groups.
pub(crate) struct PlainWeights<'a> {
    pub op: &'static str,
    pub tensor: &'a StridedTensor,
    pub dims: Dims,
    pub strides: Dims,
    /// How many of the dimensions are the kernel's.
    pub spatial: usize,
}

impl<'a> PlainWeights<'a> {
    /// `w` is `[O, C/g, k...]` or `[g, O/g, C/g, k...]`, of any strides; the geometry has checked it.
    pub(crate) fn new(g: &ConvGeometry, w: &'a StridedTensor) -> PlainWeights<'a> {
        let dims = g.weight_dims();
        let mut strides = Dims::from_slice(w.strides());
        if w.rank() < dims.len() {
            strides.insert(0, w.strides()[0] * (g.o / g.groups));
        } else if w.rank() > dims.len() {
            strides.remove(0);
        }
        PlainWeights { op: g.op, tensor: w, dims, strides, spatial: g.kernel.len() }
    }
}

/// Where each of plain weights is: the strides of group, output channel of the group, input channel of the group, and the kernel's
/// axes, in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightStrides {
    group: usize,
    o: usize,
    c: usize,
    kernel: [usize; 3],
}

impl WeightStrides {
    pub fn of(w: &PlainWeights<'_>) -> WeightStrides {
        let (channels, along) = w.strides.split_at(w.strides.len() - w.spatial);
        let mut kernel = [0; 3];
        kernel[3 - w.spatial..].copy_from_slice(along);
        let [group, o, c] = match *channels {
            [group, o, c] => [group, o, c],
            [o, c] => [0, o, c],
            _ => unreachable!("weights have two dimensions of channels, and one of groups or none"),
        };
        WeightStrides { group, o, c, kernel }
    }

    /// The place of a weight: output channel `o`, of `og` in each group, input channel `c` of its group, and tap of a kernel of this size.
    pub fn offset(&self, (og, [_, kh, kw]): (usize, [usize; 3]), o: usize, c: usize, tap: usize) -> usize {
        let [d, h, w] = [tap / (kh * kw), tap / kw % kh, tap % kw];
        let along = d * self.kernel[0] + h * self.kernel[1] + w * self.kernel[2];
        o / og * self.group + o % og * self.o + c * self.c + along
    }
}

/// Channels in the blocks of the layouts that kernels take.
pub(crate) const BLOCKS: [usize; 2] = [8, 16];

/// The layout of blocked weights that goes with a source in this layout: blocks of as many channels, or those of this machine if no kernel
/// takes the source.
pub(crate) fn layout_beside(g: &ConvGeometry, source: Option<&Layout>) -> Result<Layout> {
    let own = source.map_or(0, |layout| layout.block_of(1));
    let block = if BLOCKS.contains(&own) { own } else { native_block() };
    Layout::weights_for(g.input.len(), g.groups, g.c, g.o, block)
}

/// A transposed convolution's plain weights with output channels first, as a view: `[C, O/groups, k...]` becomes
/// `[O, C, k...]`, or `[groups, O/groups, C/groups, k...]`. Those that have their groups apart are so already.
pub(crate) fn output_first(
    op: &'static str,
    w: &StridedTensor,
    spatial: usize,
    groups: usize,
) -> Result<StridedTensor> {
    if w.rank() != spatial + 2 || groups == 0 || w.numel() == 0 {
        // As they should be, or wrong: the geometry checks.
        return Ok(w.clone());
    }
    if groups == 1 {
        return w.transpose(0, 1);
    }
    let c = w.dims()[0];
    if !c.is_multiple_of(groups) {
        fail!(
            InvalidArgument,
            op,
            "groups",
            groups.to_string(),
            format!("the {c} input channels of the weights do not divide into {groups} groups"),
            "pass a divisor"
        );
    }
    let mut dims = Dims::from_slice(&[groups, c / groups]);
    let mut strides = Dims::from_slice(&[w.strides()[0] * (c / groups), w.strides()[0]]);
    w.dims()[1..].iter().for_each(|&d| dims.push(d));
    w.strides()[1..].iter().for_each(|&s| strides.push(s));
    w.as_strided(&dims, &strides, w.offset())?.transpose(1, 2)
}

/// Plain weights as a kernel reads them, of this dtype: all elements, in its order. A copy is in the ledger.
pub(crate) fn pack(
    kernel: &dyn ConvKernel,
    w: &PlainWeights<'_>,
    dtype: DType,
    location: &'static Location<'static>,
) -> Result<StridedTensor> {
    if kernel.takes_row_major() {
        let dense = w.tensor.dense_at(w.op, MemoryFormat::Contiguous, location)?;
        return dense.reshape(&[dense.numel()]);
    }
    let (from, to, source) = (w.tensor.format_name(), kernel.weights_name()?, w.tensor.storage.id());
    let (way, bytes) = ((&from as &dyn Display, &to as &dyn Display), kernel.weight_bytes());
    moved(w.op, &w.dims, way, bytes, source, location, || in_order(w.op, kernel.order(w)?, dtype))
}

/// Blocked weights as a kernel reads them that does not take them as they lie; in the ledger as one packing.
pub(crate) fn repack(
    kernel: &dyn ConvKernel,
    g: &ConvGeometry,
    w: &BlockedTensor,
    dtype: DType,
    location: &'static Location<'static>,
) -> Result<StridedTensor> {
    let to = kernel.weights_name()?;
    let (way, bytes) = ((w.layout() as &dyn Display, &to as &dyn Display), kernel.weight_bytes());
    moved(g.op, w.dims(), way, bytes, 0, location, || {
        let dims = g.weight_dims();
        let strides = MemoryFormat::Contiguous.strides(g.op, &dims)?;
        let mut plain = StridedTensor::for_result(g.op, dims, strides, w.dtype())?;
        let (size, bytes) = (w.dtype().size_bytes(), plain.result_bytes());
        reorder::blocked_to_strided(size, w.storage_bytes(), w.layout(), &dims, &strides, bytes);
        in_order(g.op, kernel.order(&PlainWeights::new(g, &plain))?, dtype)
    })
}

/// A plain copy of packed weights, groups apart; in the ledger as packing.
pub(crate) fn unpack(
    kernel: &dyn ConvKernel,
    g: &ConvGeometry,
    packed: &StridedTensor,
    location: &'static Location<'static>,
) -> Result<StridedTensor> {
    let dims = g.weight_dims();
    if kernel.takes_row_major() {
        return packed.reshape(&dims);
    }
    let strides = MemoryFormat::Contiguous.strides(g.op, &dims)?;
    let mut plain = StridedTensor::for_result(g.op, dims, strides, DType::F32)?;
    let from = kernel.weights_name()?;
    let (way, bytes) = ((&from as _, &MemoryFormat::Contiguous as _), plain.numel() * size_of::<f32>());
    moved(g.op, &dims, way, bytes, 0, location, || {
        kernel.unorder(packed.bytes(), plain.result_data::<f32>())
    })?;
    Ok(plain)
}

/// All elements of storage in a kernel's order.
pub(crate) fn in_order(op: &'static str, data: Arc<Buffer>, dtype: DType) -> Result<StridedTensor> {
    let elements = Dims::from_slice(&[data.len() / dtype.size_bytes()]);
    StridedTensor::of_storage(op, data, elements, dtype)
}

/// Runs `work`, with an entry in the ledger: packing from one layout into another.
pub(super) fn moved<R: ledger::Moved>(
    op: &'static str,
    dims: &[usize],
    (from, to): (&dyn Display, &dyn Display),
    bytes: usize,
    source: u64,
    location: &'static Location<'static>,
    work: impl FnOnce() -> Result<R>,
) -> Result<R> {
    ledger::reorder(Move { op, cause: Cause::Packing, from, to, dims, bytes, source, location }, work)
}
