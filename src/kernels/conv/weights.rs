//! Convolution weights as they come: plain, with their groups apart.

use std::panic::Location;

use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::direct::{DirectPlan, Plain};
use crate::kernels::conv::winograd::WinogradPlan;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::layout::pack;
use crate::ledger::{self, Cause, Move};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::strided::StridedTensor;

/// Plain weights seen with their groups apart: `[g, O/g, C/g, k...]`, or `[O, C, k...]` without groups.
pub(crate) struct PlainWeights<'a> {
    pub(crate) tensor: &'a StridedTensor,
    pub(crate) dims: Dims,
    pub(crate) strides: Dims,
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
        PlainWeights { tensor: w, dims, strides }
    }

    /// A copy as our own kernel wants them; in the ledger as packing.
    pub(crate) fn pack_direct(
        &self,
        g: &ConvGeometry,
        plan: &DirectPlan,
        location: &'static Location<'static>,
    ) -> Result<Buffer> {
        let from = self.tensor.format_name();
        let what = (plan.weights_name(g), plan.weight_vectors * plan.block);
        packed(g, what, &from, &self.dims, location, || {
            plan.pack(&Plain::new(g, self.tensor.data::<f32>(), &self.strides))
        })
    }

    /// A copy as Winograd's algorithm reads them; in the ledger as packing.
    pub(crate) fn pack_winograd(
        &self,
        g: &ConvGeometry,
        plan: &WinogradPlan,
        location: &'static Location<'static>,
    ) -> Result<Buffer> {
        let from = self.tensor.format_name();
        let what = (plan.weights_name(g), plan.weight_vectors() * plan.direct.block);
        packed(g, what, &from, &self.dims, location, || {
            plan.pack(&Plain::new(g, self.tensor.data::<f32>(), &self.strides))
        })
    }
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

/// A copy of blocked weights, in whichever layout, as our own kernel wants them; in the ledger as packing.
pub(crate) fn pack_blocked(
    g: &ConvGeometry,
    plan: &DirectPlan,
    w: &BlockedTensor,
    location: &'static Location<'static>,
) -> Result<Buffer> {
    let what = (plan.weights_name(g), plan.weight_vectors * plan.block);
    packed(g, what, w.layout(), w.dims(), location, || {
        let dims = g.weight_dims();
        let strides = MemoryFormat::Contiguous.strides(g.op, &dims)?;
        let mut plain = Buffer::for_result(w.numel() * size_of::<f32>())?;
        let elem = size_of::<f32>();
        pack::unpack(elem, w.storage_bytes(), w.layout(), &dims, &strides, plain.as_bytes_mut());
        plan.pack(&Plain::new(g, plain.as_slice::<f32>(), &strides))
    })
}

/// A plain copy of weights that our own kernel reads, groups apart; in the ledger as packing.
pub(crate) fn unpack_direct(
    g: &ConvGeometry,
    plan: &DirectPlan,
    packed: &[f32],
    location: &'static Location<'static>,
) -> Result<StridedTensor> {
    let dims = g.weight_dims();
    let strides = MemoryFormat::Contiguous.strides(g.op, &dims)?;
    let mut plain = StridedTensor::for_result(g.op, dims, strides, DType::F32)?;
    let (from, bytes) = (plan.weights_name(g), plain.numel() * size_of::<f32>());
    let what = Move {
        op: g.op,
        cause: Cause::Packing,
        from: &from,
        to: &MemoryFormat::Contiguous,
        dims: &dims,
        bytes,
        source: 0,
        location,
    };
    ledger::reorder(what, || {
        plan.unpack(packed, plain.result_data::<f32>());
        Ok(())
    })?;
    Ok(plain)
}

/// Runs `work`, with an entry in the ledger: packing into a layout of this name, of so many elements.
fn packed(
    g: &ConvGeometry,
    (to, elements): (String, usize),
    from: &dyn std::fmt::Display,
    dims: &[usize],
    location: &'static Location<'static>,
    work: impl FnOnce() -> Result<Buffer>,
) -> Result<Buffer> {
    let bytes = elements * size_of::<f32>();
    let what = Move { op: g.op, cause: Cause::Packing, from, to: &to, dims, bytes, source: 0, location };
    ledger::reorder(what, work)
}
