//! Packed linear layers.

use std::panic::Location;

use crate::dtype::DType;
use crate::error::{Call, Result, Text, counted, fail};
use crate::kernels::conv::epilogue::Finish;
#[cfg(feature = "onednn")]
use crate::kernels::lanes::for_each_chunk;
use crate::kernels::timed_as;
use crate::key::DispatchKey;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::matmul::Matrix;
use crate::op::lookup::convert;
use crate::ops::linear::{LinearShape, linear_gemm};
use crate::scratchpad::Scratchpad;
use crate::tensor::any::TensorRef;
use crate::tensor::any::{check_dtype, check_f32};
use crate::tensor::strided::StridedTensor;
use crate::threads;

/// A linear layer whose weights lie as its kernel wants them, for a stated number of rows. The kernels of 64 other numbers of
/// rows are kept.
pub struct PackedLinear {
    rows: usize,
    threads: usize,
    k: usize,
    o: usize,
    /// Of rows, weights and result.
    dtype: DType,
    bias: Option<Vec<f32>>,
    weights: Weights,
    /// How many of its values are subnormal numbers.
    subnormals: usize,
}

enum Weights {
    #[cfg(feature = "onednn")]
    Packed(engine::Packed),
    /// [O, K], dense, for the kernel in Rust.
    Plain(StridedTensor),
}

impl std::fmt::Debug for PackedLinear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let PackedLinear { k, o, rows, threads, dtype, .. } = self;
        let (rows, threads) = (counted(*rows, "row"), counted(*threads, "thread"));
        write!(f, "linear packed for {rows} of {k} to {o} {dtype} numbers on {threads}")
    }
}

/// Elements that one task finishes after oneDNN's product.
#[cfg(feature = "onednn")]
const CHUNK: usize = 4096;

/// Whether memory can hold so many rows.
fn check_rows(s: &LinearShape) -> Result<()> {
    let elements = s.rows.checked_mul(s.k.max(s.o).max(1));
    if elements.and_then(|n| DType::F32.bytes_of(n)).is_none() {
        let rule = format!("the bytes of so many rows of {} to {} numbers do not fit", s.k, s.o);
        fail!(Overflow, "linear", "rows", s.rows.to_string(), rule, "pack for fewer: any number runs");
    }
    Ok(())
}

impl PackedLinear {
    /// Packs weights [O, K] and bias `[O]` for inputs of `rows` rows of f32, on the threads that a run here would have.
    ///
    /// # Errors
    /// As [`for_dtype`](Self::for_dtype).
    #[track_caller]
    pub fn new(weights: &StridedTensor, bias: Option<&StridedTensor>, rows: usize) -> Result<PackedLinear> {
        PackedLinear::for_dtype(weights, bias, rows, DType::F32)
    }

    /// As [`new`](Self::new), for rows of this dtype, which is that of the result: f32, or bf16 with sums in f32. Weights are f32 or bf16, and
    /// packing converts them to the dtype of the rows. The bias is f32.
    ///
    /// ```
    /// use blocktensor::dispatch::Isa;
    /// use blocktensor::{DType, MemoryFormat, PackedLinear, StridedTensor};
    /// let w = StridedTensor::full(&[10, 64], 0.5f32, MemoryFormat::Contiguous)?;
    /// let has = Isa::Avx512Bf16.is_here() && cfg!(feature = "onednn");
    /// let dtype = if has { DType::BF16 } else { DType::F32 };
    /// let layer = PackedLinear::for_dtype(&w, None, 1, dtype)?;
    /// let x = StridedTensor::full(&[1, 64], 1f32, MemoryFormat::Contiguous)?.to_dtype(dtype)?;
    /// assert_eq!(layer.run(&x)?.dtype(), dtype);
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `UnsupportedDType` for other dtypes, and for bf16 where this build and machine have no kernel for it; `RankMismatch`, `ShapeMismatch` when weights and bias do not fit; `Overflow` for more
    /// rows than memory can have.
    #[track_caller]
    pub fn for_dtype(
        weights: &StridedTensor,
        bias: Option<&StridedTensor>,
        rows: usize,
        dtype: DType,
    ) -> Result<PackedLinear> {
        threads::enter("linear")?;
        if weights.dtype() != DType::BF16 {
            check_f32("linear", "weights", TensorRef::Strided(weights), "kernels take f32 and bf16")?;
        }
        bias.map_or(Ok(()), |b| check_f32("linear", "bias", TensorRef::Strided(b), "it is f32"))?;
        let k = weights.dims().get(1).copied().unwrap_or(0);
        let s = LinearShape::new(&[rows, k], weights.dims(), bias.map(StridedTensor::dims))?;
        check_rows(&s)?;
        kernel_name(&s, dtype, bias.is_some())?;
        let bias = bias.map(StridedTensor::to_vec::<f32>).transpose()?;
        let packed = pack(&s, dtype, weights, bias.is_some(), Location::caller())?;
        let subnormals = weights.to_dtype(DType::F32)?.count_subnormals()?;
        Ok(PackedLinear {
            rows,
            threads: threads::current_threads(),
            k: s.k,
            o: s.o,
            dtype,
            bias,
            weights: packed,
            subnormals,
        })
    }

    /// Packs the right operand of a matrix product, `b` [K, N], for left operands of `rows` rows: `run` then is
    /// `matmul(x, b)`.
    ///
    /// # Errors
    /// `RankMismatch` unless `b` is a matrix; as [`new`](Self::new).
    #[track_caller]
    pub fn of_matrix(b: &StridedTensor, rows: usize) -> Result<PackedLinear> {
        PackedLinear::of_matrix_for(b, rows, DType::F32)
    }

    /// As [`of_matrix`](Self::of_matrix), for rows of this dtype.
    #[track_caller]
    pub(crate) fn of_matrix_for(b: &StridedTensor, rows: usize, dtype: DType) -> Result<PackedLinear> {
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
        PackedLinear::for_dtype(&b.transpose(0, 1)?, None, rows, dtype)
    }

    /// `x W^T + b` for `x` [..., K]; the result is [..., O]. Any number of rows runs; weights were packed for one.
    ///
    /// # Errors
    /// `ShapeMismatch`, `UnsupportedDType`, `LayoutMismatch` unless `x` is contiguous, `PackMismatch` on another
    /// number of threads.
    #[track_caller]
    pub fn run(&self, x: &StridedTensor) -> Result<StridedTensor> {
        let s = self.shape(x)?;
        let strides = MemoryFormat::Contiguous.strides("linear", &s.dst)?;
        let mut dst = StridedTensor::for_result("linear", s.dst, strides, self.dtype)?;
        self.write(&s, x, &mut dst, None, &Finish::bias(None), None)?;
        Ok(dst)
    }

    /// Checks a source.
    pub(crate) fn shape(&self, x: &StridedTensor) -> Result<LinearShape> {
        threads::enter("linear")?;
        let bias_dims = self.bias.as_ref().map(|b| [b.len()]);
        let s = LinearShape::new(x.dims(), &[self.o, self.k], bias_dims.as_ref().map(|d| &d[..]))?;
        let got = || TensorRef::Strided(x).describe();
        check_dtype(
            "linear",
            "x",
            TensorRef::Strided(x),
            self.dtype,
            "the weights were packed for another dtype",
        )?;
        if !x.is_contiguous(MemoryFormat::Contiguous) {
            let remedy = Text::from("call ") + Call::Contiguous + " first";
            fail!(LayoutMismatch, "linear", "x", got(), "packed weights meet contiguous rows", remedy);
        }
        let threads = threads::current_threads();
        if threads != self.threads {
            fail!(
                PackMismatch,
                "linear",
                "x",
                format!("a run on {}", counted(threads, "thread")),
                format!(
                    "the weights were packed for {} on {}",
                    counted(self.rows, "row"),
                    counted(self.threads, "thread")
                ),
                "pack them where they run"
            );
        }
        Ok(s)
    }

    /// Runs into a contiguous result that nobody else uses. `finish` follows, without a bias of its own; outputs are its channels, and
    /// `residual` lies as the result does. In bf16 nothing may follow.
    pub(crate) fn write(
        &self,
        s: &LinearShape,
        x: &StridedTensor,
        dst: &mut StridedTensor,
        scratchpad: Option<&mut Scratchpad>,
        finish: &Finish<'_>,
        residual: Option<&[f32]>,
    ) -> Result<()> {
        if dst.numel() == 0 {
            return Ok(());
        }
        match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => {
                p.run(self, s, x, dst.result_bytes(), scratchpad)?;
                if !finish.is_nothing() {
                    let values = dst.result_data::<f32>();
                    let rows = (CHUNK / s.o.max(1)).max(1) * s.o;
                    for_each_chunk(values, rows, |i, values| {
                        let residual = residual.map(|r| &r[i * rows..][..values.len()]);
                        finish.pixels(s.o, 0..s.o, residual, values);
                    });
                }
            }
            Weights::Plain(w) => {
                let _ = scratchpad;
                let w = self.matrix(w);
                let layouts = || "contiguous -> contiguous".into();
                timed_as("linear", DispatchKey::STRIDED, s.implementation(w), layouts, || {
                    let finish = Finish { bias: self.bias.as_deref(), ..*finish };
                    linear_gemm(s, x.data::<f32>(), w, &finish, residual, dst.result_data::<f32>())
                })?;
            }
        }
        Ok(())
    }

    fn matrix<'a>(&self, w: &'a StridedTensor) -> Matrix<'a> {
        Matrix { data: w.data::<f32>(), row: self.k, column: 1 }
    }

    /// How many weights are subnormal numbers (below 1.18e-38, and not 0): they can cost time in every run. To make zeros
    /// of them, pack [`StridedTensor::flush_subnormals`] of the weights.
    pub fn subnormals(&self) -> usize {
        self.subnormals
    }

    /// A plain copy of the packed weights, [O, K].
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[track_caller]
    pub fn unpack_weights(&self) -> Result<StridedTensor> {
        match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => p.unpack(self, Location::caller()),
            Weights::Plain(w) => Ok(w.clone()),
        }
    }

    /// Name of the weights' layout: oneDNN's letters where it chose, `dense` for the kernel in Rust.
    pub fn weights_layout(&self) -> String {
        match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => p.layout_name().into(),
            Weights::Plain(_) => "dense".into(),
        }
    }

    /// Name of the kernel that runs it, as the ledger has it.
    pub fn implementation(&self) -> String {
        match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => p.implementation().into(),
            Weights::Plain(w) => {
                let s = LinearShape { rows: self.rows, k: self.k, o: self.o, dst: Dims::from_slice(&[]) };
                s.implementation(self.matrix(w)).into()
            }
        }
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

/// Checks that rows of this dtype have a kernel, and names it. Nothing is packed.
///
/// # Errors
/// `UnsupportedDType` for a dtype that no kernel of this build and machine takes.
pub(crate) fn kernel_name(s: &LinearShape, dtype: DType, bias: bool) -> Result<&'static str> {
    let _ = bias;
    match dtype {
        DType::F32 => return Ok("linear"),
        #[cfg(feature = "onednn")]
        DType::BF16 if engine::product(s, dtype, bias, threads::current_threads())?.is_some() => {
            return Ok("linear");
        }
        _ => {}
    }
    let got = format!("{} rows of {} {dtype} numbers", s.rows, s.k);
    let rule = "no kernel of this build and machine takes it";
    fail!(
        UnsupportedDType,
        "linear",
        "x",
        got,
        rule,
        Text::from("pack for an f32 source, and ") + convert(DType::F32)
    )
}

fn pack(
    s: &LinearShape,
    dtype: DType,
    w: &StridedTensor,
    bias: bool,
    location: &'static Location<'static>,
) -> Result<Weights> {
    // Of few rows in f32: oneDNN's kernels read weights more slowly than memory gives them.
    #[cfg(feature = "onednn")]
    if (dtype != DType::F32 || !s.is_of_few_rows())
        && let Some(packed) = engine::pack(s, dtype, w, bias, location)?
    {
        return Ok(Weights::Packed(packed));
    }
    let _ = (s, dtype, bias);
    let w = w.to_dtype(DType::F32)?;
    Ok(Weights::Plain(w.dense_at("linear", MemoryFormat::Contiguous, location)?))
}

#[cfg(feature = "onednn")]
mod engine;
mod operator;
mod saved;
