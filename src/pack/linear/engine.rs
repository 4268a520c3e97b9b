//! Packed linear weights in the layout that a oneDNN matrix product chose.

use std::sync::Arc;

use super::*;
use crate::buffer::Buffer;
use crate::kernels::conv::weights::in_order;
use crate::layout::dims::Dims;
use crate::layout::identity::Identity;
use crate::ledger::{self, Cause, Move};
use crate::onednn::{self, Executable, MatmulSpec, Refused, RunArg, Spec, chosen};
use crate::pack::kernels::Kernels;
use crate::simd::Isa;

pub(super) struct Packed {
    bytes: Arc<Buffer>,
    /// Of rows, weights and result.
    dtype: DType,
    layout: String,
    main: Arc<Executable>,
    main_rows: usize,
    /// For other numbers of rows.
    others: Kernels<Arc<Executable>>,
}

/// The product of `rows` rows of this dtype with weights as `weights` says.
fn primitive(
    s: &LinearShape,
    dtype: DType,
    rows: usize,
    weights: Option<&onednn::MemoryDesc>,
    bias: bool,
    threads: usize,
) -> Result<Arc<Executable>, Refused> {
    let (src, dst, w) =
        (Dims::from_slice(&[rows, s.k]), Dims::from_slice(&[rows, s.o]), Dims::from_slice(&[s.k, s.o]));
    let (src_strides, dst_strides) = (Dims::from_slice(&[s.k, 1]), Dims::from_slice(&[s.o, 1]));
    let spec = MatmulSpec {
        src: Spec::Strided { dims: &src, strides: &src_strides, dtype },
        weights: weights.map_or(Spec::Any { dims: &w, dtype }, Spec::Chosen),
        bias: bias.then_some(s.o),
        dst: Spec::Strided { dims: &dst, strides: &dst_strides, dtype },
        threads,
    };
    if weights.is_some() { spec.create().map(Arc::new) } else { spec.executable() }
}

/// `None` where oneDNN has nothing fast.
pub(super) fn pack(
    s: &LinearShape,
    dtype: DType,
    w: &StridedTensor,
    bias: bool,
    location: &'static Location<'static>,
) -> Result<Option<Packed>> {
    let Some(main) = product(s, dtype, bias, threads::current_threads())? else { return Ok(None) };
    let to = main.desc(1);
    let tag = to.blocking()?;
    let from = w.format_name();
    let what = Move {
        op: "linear",
        cause: Cause::Packing,
        from: &from,
        to: &tag,
        dims: w.dims(),
        bytes: to.size_bytes(),
        source: w.storage.id(),
        location,
    };
    let turned = w.transpose(0, 1)?;
    let bytes = ledger::reorder(what, || {
        onednn::pack(&turned, to).map_err(|refused| refused.of("dnnl_reorder_primitive_desc_create"))
    })?;
    let bytes = Arc::new(bytes);
    Packed::new(bytes, dtype, main, main_rows(s, dtype)).map(Some)
}

/// The rows that weights are packed for. No other kernel packs for no rows of bf16; a run without rows computes nothing.
fn main_rows(s: &LinearShape, dtype: DType) -> usize {
    if dtype == DType::F32 { s.rows } else { s.rows.max(1) }
}

/// The product whose weights are in the layout that it chooses, for a layer of these sizes.
pub(super) fn product(
    s: &LinearShape,
    dtype: DType,
    bias: bool,
    threads: usize,
) -> Result<Option<Arc<Executable>>> {
    // Without the instructions for it, oneDNN widens and rounds every number: slower than f32.
    let runs = dtype == DType::F32 || Isa::Avx512Bf16.is_here();
    let rows = main_rows(s, dtype);
    if !runs || rows == 0 || s.k == 0 || s.o == 0 {
        return Ok(None);
    }
    match primitive(s, dtype, rows, None, bias, threads) {
        Ok(executable) => Ok(Some(executable)),
        Err(Refused::Unsupported(_)) => Ok(None),
        Err(Refused::Failed(e)) => Err(e),
    }
}

impl Packed {
    fn new(bytes: Arc<Buffer>, dtype: DType, main: Arc<Executable>, main_rows: usize) -> Result<Packed> {
        let layout = chosen::layout_name(&main)?;
        Ok(Packed { bytes, dtype, layout, main, main_rows, others: Kernels::default() })
    }

    /// Weights from a file, where the engine still chooses the layout that they are in: else what it does now.
    pub(super) fn stored(
        s: &LinearShape,
        dtype: DType,
        bias: bool,
        threads: usize,
        bytes: Arc<Buffer>,
        identity: &Identity,
    ) -> Result<Result<Packed, String>> {
        let Some(main) = product(s, dtype, bias, threads)? else {
            return Ok(Err("the engine has no kernel for them here".into()));
        };
        if let Some(wanted) = chosen::instead(&main, identity, bytes.len())? {
            return Ok(Err(wanted));
        }
        Packed::new(bytes, dtype, main, main_rows(s, dtype)).map(Ok)
    }

    /// All elements in the engine's order.
    pub(super) fn weights(&self) -> Result<StridedTensor> {
        in_order("linear", Arc::clone(&self.bytes), self.dtype)
    }

    pub(super) fn layout_name(&self) -> &str {
        &self.layout
    }

    pub(super) fn implementation(&self) -> &str {
        self.main.implementation()
    }

    /// What tells the layout from others, for a file.
    pub(super) fn identity(&self) -> Result<Identity> {
        chosen::identity(&self.main)
    }

    pub(super) fn unpack(
        &self,
        layer: &PackedLinear,
        location: &'static Location<'static>,
    ) -> Result<StridedTensor> {
        let dims = Dims::from_slice(&[layer.o, layer.k]);
        let strides = MemoryFormat::Contiguous.strides("linear", &dims)?;
        let mut plain = StridedTensor::for_result("linear", dims, strides, DType::F32)?;
        let (from, bytes) = (self.layout_name(), plain.numel() * DType::F32.size_bytes());
        let what = Move {
            op: "linear",
            cause: Cause::Packing,
            from: &from,
            to: &"contiguous",
            dims: &dims,
            bytes,
            source: 0,
            location,
        };
        // The engine's weights are [K, O]: the same numbers, seen the other way.
        let (seen, steps) = (Dims::from_slice(&[layer.k, layer.o]), Dims::from_slice(&[1, layer.k]));
        ledger::reorder(what, || {
            let dst = bytemuck::cast_slice_mut(plain.result_data::<f32>());
            let to = Spec::Strided { dims: &seen, strides: &steps, dtype: DType::F32 };
            onednn::unpack(self.main.desc(1), self.bytes.as_bytes(), to, dst)
                .map_err(|refused| refused.of("dnnl_reorder_primitive_desc_create"))
        })?;
        Ok(plain)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn run(
        &self,
        layer: &PackedLinear,
        s: &LinearShape,
        x: &StridedTensor,
        dst: &mut [u8],
        scratchpad: Option<&mut Scratchpad>,
    ) -> Result<()> {
        let executable = self.executable(layer, s)?;
        let start = ledger::is_recording().then(std::time::Instant::now);
        let (src, weights) = (x.bytes(), self.bytes.as_bytes());
        match &layer.bias {
            Some(b) => {
                let bias = RunArg::In(bytemuck::cast_slice(b));
                let mut args = [RunArg::In(src), RunArg::In(weights), bias, RunArg::Out(dst)];
                executable.run_in(&mut args, scratchpad)?;
            }
            None => {
                let mut args = [RunArg::In(src), RunArg::In(weights), RunArg::Out(dst)];
                executable.run_in(&mut args, scratchpad)?;
            }
        }
        if let Some(start) = start {
            let (layouts, scratchpad) = ("contiguous -> contiguous".into(), executable.scratchpad_bytes());
            let implementation = executable.implementation().to_string();
            ledger::ran("linear", DispatchKey::STRIDED, implementation, layouts, start, scratchpad);
        }
        Ok(())
    }

    /// **Bytes** of scratchpad of a run with these sizes.
    pub(super) fn scratchpad_bytes(&self, layer: &PackedLinear, s: &LinearShape) -> Result<usize> {
        Ok(self.executable(layer, s)?.scratchpad_bytes())
    }

    fn executable(&self, layer: &PackedLinear, s: &LinearShape) -> Result<Arc<Executable>> {
        if s.rows == self.main_rows { Ok(Arc::clone(&self.main)) } else { self.for_rows(layer, s) }
    }

    fn for_rows(&self, layer: &PackedLinear, s: &LinearShape) -> Result<Arc<Executable>> {
        let make =
            || primitive(s, self.dtype, s.rows, Some(self.main.desc(1)), layer.bias.is_some(), layer.threads);
        match self.others.get(s.rows, make) {
            Ok(executable) => Ok(executable),
            Err(Refused::Failed(e)) => Err(e),
            Err(Refused::Unsupported(_)) => fail!(
                PackMismatch,
                "linear",
                "x",
                format!("{} rows", s.rows),
                format!(
                    "weights packed for {} rows have no fast kernel there (or its memory could not be had)",
                    layer.rows
                ),
                "pack the weights for this number of rows"
            ),
        }
    }
}
