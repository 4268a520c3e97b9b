//! Packed weights in the layout that a oneDNN primitive chose.

use std::panic::Location;
use std::sync::Arc;

use super::{ConvPacker, PackedConv, Weights};
use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::{Complaint, Error, Result, Unsupported, UnsupportedOp};
use crate::file::entry::Identity;
use crate::kernels::conv::ConvGeometry;
use crate::kernels::conv::onednn::{Operands, Spec, execute, primitive, without_implementation};
use crate::kernels::conv::weights::PlainWeights;
use crate::key::DispatchKey;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::ledger::{self, Cause, Move};
use crate::onednn::{self, Executable, Refused};
use crate::ops::PostOps;
use crate::ops::conv::{Conv, Direction};
use crate::pack::chosen;
use crate::pack::kernels::Kernels;
use crate::pack::source::{Source, SourceLayout};
use crate::scratchpad::Scratchpad;
use crate::tensor::any::TensorRef;
use crate::tensor::strided::StridedTensor;

/// Weights and the primitives that read them.
pub(super) struct Packed {
    bytes: Arc<Buffer>,
    layout: String,
    /// For the batch that was packed for.
    main: Arc<Executable>,
    main_batch: usize,
    /// For others.
    others: Kernels<Way>,
}

/// How a batch runs: so many images at once, the parts one after the other.
#[derive(Clone)]
struct Way {
    images: usize,
    executable: Arc<Executable>,
}

/// Why a batch does not run.
enum NoWay {
    /// The engine has no fast kernel for it.
    Refused,
    Failed(Error),
}

impl From<Error> for NoWay {
    fn from(e: Error) -> NoWay {
        NoWay::Failed(e)
    }
}

impl Packed {
    fn new(bytes: Arc<Buffer>, main: Arc<Executable>, main_batch: usize) -> Result<Packed> {
        let layout = chosen::layout_name(&main)?;
        Ok(Packed { bytes, layout, main, main_batch, others: Kernels::default() })
    }

    pub(super) fn layout_name(&self) -> &str {
        &self.layout
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn implementation(&self) -> &str {
        self.main.implementation()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.as_bytes()
    }

    /// What tells the layout from others, for a file.
    pub(super) fn identity(&self) -> Result<Identity> {
        chosen::identity(&self.main)
    }

    /// Weights from a file, where the engine still chooses the layout that they are in: else what it does now.
    pub(super) fn stored<const N: usize, D: Direction>(
        conv: &Unpacked<'_, N, D>,
        g: &ConvGeometry,
        bytes: Arc<Buffer>,
        identity: &Identity,
    ) -> Result<Result<Packed, String>> {
        let made = conv.primitive(g);
        let main = match made {
            Ok(executable) => executable,
            Err(Refused::Failed(e)) => return Err(e),
            Err(Refused::Unsupported(_)) => return Ok(Err("the engine has no kernel for them here".into())),
        };
        if let Some(wanted) = chosen::instead(&main, identity, bytes.len())? {
            return Ok(Err(wanted));
        }
        Packed::new(bytes, main, g.n).map(Ok)
    }

    pub(super) fn unpack(
        &self,
        g: &ConvGeometry,
        location: &'static Location<'static>,
    ) -> Result<StridedTensor> {
        let dims = g.weight_dims();
        let strides = MemoryFormat::Contiguous.strides(g.op, &dims)?;
        let mut plain = StridedTensor::for_result(g.op, dims, strides, DType::F32)?;
        let (from, to) = (self.layout_name(), "contiguous");
        let bytes = plain.numel() * DType::F32.size_bytes();
        let what = Move {
            op: g.op,
            cause: Cause::Packing,
            from: &from,
            to: &to,
            dims: &dims,
            bytes,
            source: 0,
            location,
        };
        ledger::reorder(what, || {
            let spec = Spec::Strided { dims: &dims, strides: &strides, dtype: DType::F32 };
            let dst = bytemuck::cast_slice_mut(plain.result_data::<f32>());
            onednn::unpack(self.main.desc(1), self.bytes.as_bytes(), spec, dst)
                .map_err(|refused| without_implementation(refused, "dnnl_reorder_primitive_desc_create"))
        })?;
        Ok(plain)
    }

    /// **Bytes** of scratchpad of a run with this geometry.
    pub(super) fn scratchpad_bytes<const N: usize, D: Direction>(
        &self,
        conv: &PackedConv<N, D>,
        g: &ConvGeometry,
    ) -> Result<usize> {
        Ok(self.way_for(conv, g)?.executable.scratchpad_bytes())
    }

    /// As [`way`](Self::way), an error where there is none.
    fn way_for<const N: usize, D: Direction>(
        &self,
        conv: &PackedConv<N, D>,
        g: &ConvGeometry,
    ) -> Result<Way> {
        self.way(conv, g)?.ok_or_else(|| {
            Error::PackMismatch(Complaint::new(
                g.op,
                "x",
                format!("a batch of {}", g.n),
                format!(
                    "weights packed as {} for {} have no fast kernel there (or its memory could not be had)",
                    self.layout_name(),
                    conv.source
                ),
                "pack the weights for this batch with `pack_for(&Source::of(&x)?)`, or for a batch of 1",
            ))
        })
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn run<const N: usize, D: Direction>(
        &self,
        conv: &PackedConv<N, D>,
        g: &ConvGeometry,
        x: TensorRef<'_>,
        residual: Option<TensorRef<'_>>,
        channel: &[TensorRef<'_>],
        dst: &mut [u8],
        location: &'static Location<'static>,
        mut scratchpad: Option<&mut Scratchpad>,
    ) -> Result<()> {
        let way = self.way_for(conv, g)?;
        let part = ConvGeometry { n: way.images, ..*g };
        let (src_dims, dst_dims) = (part.src_dims(), part.dst_dims());
        let (src_strides, dst_strides) =
            (strides_of(conv.source.layout, &src_dims)?, strides_of(conv.to, &dst_dims)?);
        let parts = g.n / way.images;
        let share = |all: &[u8], i: usize| all.len() / parts * i..all.len() / parts * (i + 1);
        let (src, residual) = (bytes_of(x), residual.map(bytes_of));
        for i in 0..parts {
            let operands = Operands {
                src: spec(&conv.source.layout, &src_dims, &src_strides),
                src_bytes: &src[share(src, i)],
                weights_bytes: self.bytes.as_bytes(),
                bias: conv.bias.as_deref(),
                residual: residual.map(|r| &r[share(r, i)]),
                channel,
                dst: spec(&conv.to, &dst_dims, &dst_strides),
                post_ops: &conv.post_ops,
                key: x.key(),
                location,
            };
            let here = share(dst, i);
            execute(&way.executable, &part, &operands, &mut dst[here], scratchpad.as_deref_mut())?;
        }
        Ok(())
    }

    /// How a batch runs on the weights as they lie: at once, else as the batch packed for, else image by image.
    /// `None` where the engine has a fast kernel for none of them, which is asked anew each time: it may have been
    /// for want of memory.
    fn way<const N: usize, D: Direction>(
        &self,
        conv: &PackedConv<N, D>,
        g: &ConvGeometry,
    ) -> Result<Option<Way>> {
        if g.n == self.main_batch {
            return Ok(Some(Way { images: g.n, executable: Arc::clone(&self.main) }));
        }
        let made = self.others.get(g.n, || {
            if let Some(executable) = self.primitive(conv, g)? {
                return Ok(Way { images: g.n, executable });
            }
            if self.main_batch != 0 && g.n.is_multiple_of(self.main_batch) {
                return Ok(Way { images: self.main_batch, executable: Arc::clone(&self.main) });
            }
            if g.n == 1 {
                return Err(NoWay::Refused);
            }
            // The kernel of one image is shared by all batches that run image by image.
            self.way(conv, &ConvGeometry { n: 1, ..*g })?.ok_or(NoWay::Refused)
        });
        match made {
            Ok(way) => Ok(Some(way)),
            Err(NoWay::Refused) => Ok(None),
            Err(NoWay::Failed(e)) => Err(e),
        }
    }

    /// The primitive that reads the weights as they lie, if the engine has a fast one.
    fn primitive<const N: usize, D: Direction>(
        &self,
        conv: &PackedConv<N, D>,
        g: &ConvGeometry,
    ) -> Result<Option<Arc<Executable>>> {
        let (src_dims, dst_dims) = (g.src_dims(), g.dst_dims());
        let (src_strides, dst_strides) =
            (strides_of(conv.source.layout, &src_dims)?, strides_of(conv.to, &dst_dims)?);
        let made = primitive(
            g,
            spec(&conv.source.layout, &src_dims, &src_strides),
            Spec::Chosen(self.main.desc(1)),
            spec(&conv.to, &dst_dims, &dst_strides),
            conv.bias.is_some(),
            &conv.post_ops,
            conv.allow_reference,
            conv.source.threads,
        );
        match made {
            Ok(executable) => Ok(Some(executable)),
            Err(Refused::Failed(e)) => Err(e),
            Err(Refused::Unsupported(_)) => Ok(None),
        }
    }
}

/// What a primitive is made for, before there are weights.
pub(super) struct Unpacked<'a, const N: usize, D: Direction> {
    pub params: &'a Conv<N, D>,
    pub post_ops: &'a PostOps,
    pub bias: bool,
    pub source: &'a Source,
    pub to: SourceLayout,
}

impl<const N: usize, D: Direction> Unpacked<'_, N, D> {
    /// The primitive, which chooses how its weights lie.
    fn primitive(&self, g: &ConvGeometry) -> Result<Arc<Executable>, Refused> {
        let (src_dims, dst_dims, weight_dims) = (g.src_dims(), g.dst_dims(), g.weight_dims());
        let src_strides = strides_of(self.source.layout, &src_dims)?;
        let dst_strides = strides_of(self.to, &dst_dims)?;
        primitive(
            g,
            spec(&self.source.layout, &src_dims, &src_strides),
            Spec::Any { dims: &weight_dims, dtype: DType::F32 },
            spec(&self.to, &dst_dims, &dst_strides),
            self.bias,
            self.post_ops,
            self.params.allows_reference(),
            self.source.threads,
        )
    }
}

impl<const N: usize, D: Direction> ConvPacker<N, D> {
    pub(super) fn packed_weights(
        &self,
        g: &ConvGeometry,
        source: &Source,
        to: SourceLayout,
        location: &'static Location<'static>,
    ) -> Result<Weights> {
        let unpacked = Unpacked {
            params: &self.params,
            post_ops: &self.post_ops,
            bias: self.bias.is_some(),
            source,
            to,
        };
        let made = unpacked.primitive(g);
        let main = match made {
            Ok(executable) => executable,
            Err(Refused::Failed(e)) => return Err(e),
            Err(Refused::Unsupported(reason)) => {
                let rust = self.rust_weights(g, source, to, location)?;
                return rust.ok_or_else(|| refusal(g, source, to, reason));
            }
        };
        let bytes = PlainWeights::new(g, &self.weights).pack(g, main.desc(1), location)?;
        let bytes = Arc::new(bytes);
        Packed::new(bytes, main, g.n).map(Weights::Packed)
    }
}

fn refusal(g: &ConvGeometry, source: &Source, to: SourceLayout, reason: Unsupported) -> Error {
    let blocked = "reorder it with `to_blocked` and pack for that with `pack_for`";
    let remedy = match (source.layout, to) {
        (SourceLayout::Strided(f), _) if f != MemoryFormat::Contiguous => {
            format!(
                "a stem reads contiguous NCHW, and the source is {f}: call `contiguous(MemoryFormat::Contiguous)`"
            )
        }
        (SourceLayout::Strided(_), SourceLayout::Blocked(l)) if ![8, 16].contains(&l.block_of(1)) => {
            format!("a stem writes blocks of 8 or 16 channels, not {l}: pass `Layout::native_activation`")
        }
        (SourceLayout::Strided(_), SourceLayout::Blocked(l)) if g.c >= l.block_of(1) || g.groups > 1 => {
            format!(
                "a stem reads fewer channels than a block, in one group, and the source has {}: {blocked}",
                g.c
            )
        }
        (SourceLayout::Strided(_), _) => format!("the engine has no fast stem for these sizes: {blocked}"),
        (SourceLayout::Blocked(_), _) => "pack for the layout of the source".into(),
    };
    Error::UnsupportedOp(Box::new(UnsupportedOp {
        op: g.op.into(),
        key: DispatchKey::BLOCKED.name().into(),
        reason,
        operands: vec![
            format!("x {source}"),
            format!("weights {} plain", g.weight_dims()),
            format!("dst {} {to}", g.dst_dims()),
        ],
        available: vec![DispatchKey::STRIDED.name().into()],
        remedy,
    }))
}

fn strides_of(layout: SourceLayout, dims: &Dims) -> Result<Dims> {
    match layout {
        SourceLayout::Strided(format) => format.strides("pack", dims),
        SourceLayout::Blocked(_) => Ok(Dims::EMPTY),
    }
}

fn spec<'a>(layout: &'a SourceLayout, dims: &'a Dims, strides: &'a Dims) -> Spec<'a> {
    match layout {
        SourceLayout::Strided(_) => Spec::Strided { dims, strides, dtype: DType::F32 },
        SourceLayout::Blocked(layout) => Spec::Layout { dims, layout, dtype: DType::F32 },
    }
}

fn bytes_of(t: TensorRef<'_>) -> &[u8] {
    match t {
        TensorRef::Strided(t) => bytemuck::cast_slice(t.data::<f32>()),
        TensorRef::Blocked(t) => t.storage_bytes(),
        TensorRef::Opaque(_) => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Conv2d;
    use crate::pack::PackedConv2d;
    use crate::pack::kernels::KEPT;

    /// Batches in turn, as many as keep their kernels: each kernel is made once. What was made is counted where it is made.
    #[test]
    fn batches_in_turn_make_each_kernel_once() {
        let numbers = |dims: &[usize]| StridedTensor::full(dims, 0.5f32, MemoryFormat::Contiguous).unwrap();
        let layout = crate::Layout::native_activation(4).unwrap();
        let packer = PackedConv2d::new(&numbers(&[16, 16, 3, 3]), None, Conv2d::new().padding(1)).unwrap();
        let batch = |n: usize| numbers(&[n, 16, 4, 4]).to_blocked(&layout).unwrap();
        let conv = packer.pack_for(&Source::of(&batch(1)).unwrap()).unwrap();
        let Weights::Packed(packed) = &conv.weights else { return };
        for round in 0..3 {
            for n in 2..KEPT + 2 {
                conv.run(&batch(n)).unwrap();
            }
            assert_eq!(packed.others.made(), KEPT, "round {round}");
        }
    }
}
