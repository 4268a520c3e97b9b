//! Packed linear layers.

use std::panic::Location;

use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::layout::memory_format::MemoryFormat;
use crate::matmul::Matrix;
use crate::ops::check_f32;
use crate::ops::linear::{LinearShape, linear_gemm};
use crate::tensor::any::TensorRef;
use crate::tensor::strided::StridedTensor;
use crate::threads;

/// A linear layer whose weights lie as its kernel wants them, for a stated number of rows.
pub struct PackedLinear {
    rows: usize,
    threads: usize,
    k: usize,
    o: usize,
    bias: Option<Vec<f32>>,
    weights: Weights,
}

enum Weights {
    #[cfg(feature = "onednn")]
    Packed(engine::Packed),
    /// [O, K], dense, for the kernel in Rust.
    Plain(StridedTensor),
}

impl std::fmt::Debug for PackedLinear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let PackedLinear { k, o, rows, threads, .. } = self;
        write!(f, "PackedLinear {{ {k} -> {o}, for {rows} rows on {threads} threads }}")
    }
}

impl PackedLinear {
    /// Packs weights [O, K] and bias `[O]` for inputs of `rows` rows, on the threads that a run here would have.
    ///
    /// # Errors
    /// `UnsupportedDType` unless f32; `RankMismatch`, `ShapeMismatch` when weights and bias do not fit.
    #[track_caller]
    pub fn new(weights: &StridedTensor, bias: Option<&StridedTensor>, rows: usize) -> Result<PackedLinear> {
        for (name, t) in [("weights", Some(weights)), ("bias", bias)] {
            t.map_or(Ok(()), |t| check_f32("linear", name, TensorRef::Strided(t), "kernels take f32"))?;
        }
        let k = weights.dims().get(1).copied().unwrap_or(0);
        let s = LinearShape::new(&[rows, k], weights.dims(), bias.map(StridedTensor::dims))?;
        let bias = bias.map(StridedTensor::to_vec::<f32>).transpose()?;
        let packed = pack(&s, weights, bias.is_some(), Location::caller())?;
        Ok(PackedLinear { rows, threads: threads::current_threads(), k: s.k, o: s.o, bias, weights: packed })
    }

    /// Packs the right operand of a matrix product, `b` [K, N], for left operands of `rows` rows: `run` then is
    /// `matmul(x, b)`.
    ///
    /// # Errors
    /// `RankMismatch` unless `b` is a matrix; as [`new`](Self::new).
    #[track_caller]
    pub fn of_matrix(b: &StridedTensor, rows: usize) -> Result<PackedLinear> {
        if b.rank() != 2 {
            let got = TensorRef::Strided(b).describe();
            fail!(
                RankMismatch,
                "matmul",
                "b",
                got,
                "it is a matrix [K, N]",
                "pack each matrix of a batch by itself"
            );
        }
        PackedLinear::new(&b.transpose(0, 1)?, None, rows)
    }

    /// `x W^T + b` for `x` [..., K]; the result is [..., O]. Any number of rows runs; weights were packed for one.
    ///
    /// # Errors
    /// `ShapeMismatch`, `UnsupportedDType`, `LayoutMismatch` unless `x` is contiguous, `PackMismatch` on another
    /// number of threads.
    #[track_caller]
    pub fn run(&self, x: &StridedTensor) -> Result<StridedTensor> {
        let bias_dims = self.bias.as_ref().map(|b| [b.len()]);
        let s = LinearShape::new(x.dims(), &[self.o, self.k], bias_dims.as_ref().map(|d| &d[..]))?;
        let got = || TensorRef::Strided(x).describe();
        check_f32("linear", "x", TensorRef::Strided(x), "the kernel takes f32")?;
        if !x.is_contiguous(MemoryFormat::Contiguous) {
            let remedy = "call `contiguous(MemoryFormat::Contiguous)` first";
            fail!(LayoutMismatch, "linear", "x", got(), "packed weights meet contiguous rows", remedy);
        }
        let threads = threads::current_threads();
        if threads != self.threads {
            fail!(
                PackMismatch,
                "linear",
                "x",
                format!("a run on {threads} threads"),
                format!("the weights were packed for {} rows on {} threads", self.rows, self.threads),
                "pack them where they run"
            );
        }
        let strides = MemoryFormat::Contiguous.strides("linear", &s.dst)?;
        let mut dst = StridedTensor::for_result("linear", s.dst, strides, DType::F32)?;
        if dst.numel() == 0 {
            return Ok(dst);
        }
        match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => p.run(self, &s, x, dst.result_data::<f32>())?,
            Weights::Plain(w) => {
                let w = Matrix { data: w.data::<f32>(), row: self.k, column: 1 };
                linear_gemm(&s, x.data::<f32>(), w, self.bias.as_deref(), dst.result_data::<f32>());
            }
        }
        Ok(dst)
    }

    /// **Bytes** of packed weights and bias.
    pub fn bytes(&self) -> usize {
        let weights = match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => p.bytes(),
            Weights::Plain(t) => t.numel() * t.dtype().size_bytes(),
        };
        weights + self.bias.as_ref().map_or(0, |b| b.len() * 4)
    }
}

#[cfg(not(feature = "onednn"))]
fn pack(
    _: &LinearShape,
    w: &StridedTensor,
    _: bool,
    location: &'static Location<'static>,
) -> Result<Weights> {
    Ok(Weights::Plain(w.dense_at("linear", MemoryFormat::Contiguous, location)?))
}

#[cfg(feature = "onednn")]
fn pack(
    s: &LinearShape,
    w: &StridedTensor,
    bias: bool,
    location: &'static Location<'static>,
) -> Result<Weights> {
    match engine::pack(s, w, bias, location)? {
        Some(packed) => Ok(Weights::Packed(packed)),
        None => Ok(Weights::Plain(w.dense_at("linear", MemoryFormat::Contiguous, location)?)),
    }
}

#[cfg(feature = "onednn")]
mod engine {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::buffer::Buffer;
    use crate::dispatch::DispatchKey;
    use crate::layout::dims::Dims;
    use crate::ledger::{self, Cause, Move};
    use crate::onednn::{self, Executable, MatmulSpec, Refused, RunArg, Spec};
    use crate::ops::conv::onednn::without_implementation;

    /// How many numbers of rows beside the one packed for keep their primitive.
    const OTHER_ROWS: usize = 16;

    pub(super) struct Packed {
        bytes: Buffer,
        main: Arc<Executable>,
        main_rows: usize,
        others: Mutex<Vec<(usize, Arc<Executable>)>>,
    }

    fn plain<'a>(dims: &'a Dims, strides: &'a Dims) -> Spec<'a> {
        Spec::Strided { dims, strides, dtype: DType::F32 }
    }

    /// The product of `rows` rows with weights as `weights` says.
    fn primitive(
        s: &LinearShape,
        rows: usize,
        weights: Option<&onednn::MemoryDesc>,
        bias: bool,
        threads: usize,
    ) -> Result<Arc<Executable>, Refused> {
        let (src, dst, w) =
            (Dims::from_slice(&[rows, s.k]), Dims::from_slice(&[rows, s.o]), Dims::from_slice(&[s.k, s.o]));
        let (src_strides, dst_strides) = (Dims::from_slice(&[s.k, 1]), Dims::from_slice(&[s.o, 1]));
        let spec = MatmulSpec {
            src: plain(&src, &src_strides),
            weights: weights.map_or(Spec::Any { dims: &w, dtype: DType::F32 }, Spec::Chosen),
            bias: bias.then_some(s.o),
            dst: plain(&dst, &dst_strides),
            post_ops: &[],
            threads,
        };
        if weights.is_some() { spec.create().map(Arc::new) } else { spec.executable() }
    }

    /// `None` where oneDNN has nothing fast.
    pub(super) fn pack(
        s: &LinearShape,
        w: &StridedTensor,
        bias: bool,
        location: &'static Location<'static>,
    ) -> Result<Option<Packed>> {
        if s.rows == 0 || s.k == 0 || s.o == 0 {
            return Ok(None);
        }
        let main = match primitive(s, s.rows, None, bias, threads::current_threads()) {
            Ok(executable) => executable,
            Err(Refused::Unsupported(_)) => return Ok(None),
            Err(Refused::Failed(e)) => return Err(e),
        };
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
        let (dims, strides) =
            (Dims::from_slice(&[s.k, s.o]), Dims::from_slice(&[w.strides()[1], w.strides()[0]]));
        let bytes = ledger::reorder(what, || {
            onednn::pack(plain(&dims, &strides), bytemuck::cast_slice(w.data::<f32>()), to)
                .map_err(|refused| without_implementation(refused, "dnnl_reorder_primitive_desc_create"))
        })?;
        Ok(Some(Packed { bytes, main, main_rows: s.rows, others: Mutex::default() }))
    }

    impl Packed {
        pub(super) fn bytes(&self) -> usize {
            self.bytes.len()
        }

        pub(super) fn run(
            &self,
            layer: &PackedLinear,
            s: &LinearShape,
            x: &StridedTensor,
            dst: &mut [f32],
        ) -> Result<()> {
            let executable =
                if s.rows == self.main_rows { Arc::clone(&self.main) } else { self.for_rows(layer, s)? };
            let start = ledger::is_recording().then(std::time::Instant::now);
            let (src, weights) = (bytemuck::cast_slice(x.data::<f32>()), self.bytes.as_bytes());
            let dst = bytemuck::cast_slice_mut(dst);
            match &layer.bias {
                Some(b) => executable.run(&mut [
                    RunArg::In(src),
                    RunArg::In(weights),
                    RunArg::In(bytemuck::cast_slice(b)),
                    RunArg::Out(dst),
                ])?,
                None => executable.run(&mut [RunArg::In(src), RunArg::In(weights), RunArg::Out(dst)])?,
            }
            if let Some(start) = start {
                let (layouts, scratchpad) =
                    ("contiguous -> contiguous".into(), executable.scratchpad_bytes());
                let implementation = executable.implementation().to_string();
                ledger::ran("linear", DispatchKey::STRIDED, implementation, layouts, start, scratchpad);
            }
            Ok(())
        }

        fn for_rows(&self, layer: &PackedLinear, s: &LinearShape) -> Result<Arc<Executable>> {
            let mut others = self.others.lock().unwrap_or_else(|e| e.into_inner());
            if let Some((_, executable)) = others.iter().find(|(rows, _)| *rows == s.rows) {
                return Ok(Arc::clone(executable));
            }
            match primitive(s, s.rows, Some(self.main.desc(1)), layer.bias.is_some(), layer.threads) {
                Ok(executable) => {
                    if others.len() == OTHER_ROWS {
                        others.remove(0);
                    }
                    others.push((s.rows, Arc::clone(&executable)));
                    Ok(executable)
                }
                Err(Refused::Failed(e)) => Err(e),
                Err(Refused::Unsupported(_)) => fail!(
                    PackMismatch,
                    "linear",
                    "x",
                    format!("{} rows", s.rows),
                    format!("weights packed for {} rows have no fast kernel there", layer.rows),
                    "pack the weights for this number of rows"
                ),
            }
        }
    }
}
