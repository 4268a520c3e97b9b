//! Linear layer and matrix product: strided only, as blocks of channels have no meaning in two dimensions.

use crate::dtype::DType;
use crate::error::{Call, Result, fail};
use crate::kernels::conv::epilogue::Finish;
use crate::layout::dims::Dims;
use crate::layout::iterator::{self, broadcast};
use crate::layout::memory_format::MemoryFormat;
use crate::matmul::{MOST_ROWS, Matrix, parallel_matmul, parallel_matmul_then, rows_times_transposed};
use crate::op::facts::Packing;
use crate::op::schema::{Ranks, data, optional_param, output_like};
use crate::op::{Arg, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::ops::pointwise::gradient::sum_to;
use crate::ops::reduce;

use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::strided::StridedTensor;

const X_RANKS: Ranks = Ranks::at_least(1, "it has a last dimension of inputs", "pass [..., inputs]");
const WEIGHTS_RANKS: Ranks = Ranks::between(
    1,
    2,
    "they are [outputs, inputs], or [inputs] of one output",
    "reshape them to two dimensions",
);
/// Of packed layers, which come without a schema.
const PACKED_RANKS: Ranks = Ranks::exactly(2, "they are [outputs, inputs]", "reshape them to two dimensions");
const MATRIX_RANKS: Ranks =
    Ranks::at_least(1, "it is a vector, or one or more matrices", "add an axis").by(&Call::Unsqueeze(0));

pub(crate) static LINEAR: Op = Op::new(
    &Schema::new(
        "linear",
        &[
            data("x").f32().with_ranks(X_RANKS),
            data("weights").f32().with_ranks(WEIGHTS_RANKS).weights(),
            optional_param("bias").f32().bias(),
        ],
    )
    .dst_like_x()
    .packs(Packing::Linear)
    .multiply_adds(|of| of.result_elements() * of.input("weights").last().copied().unwrap_or(0) as u64),
)
.with(
    &Kernel::rust(&linear_kernel)
        .needing_dense()
        .on_strided_beside(Kernel::gradient(&linear_gradient).reading(Reads::Operands)),
);
static MATMUL: Op = Op::new(
    &Schema::new(
        "matmul",
        &[data("a").f32().with_ranks(MATRIX_RANKS), data("b").f32().with_ranks(MATRIX_RANKS).weights()],
    )
    .with_outputs(&[output_like("dst", "a")])
    .packs(Packing::Matrix)
    .multiply_adds(|of| of.result_elements() * of.input("a").last().copied().unwrap_or(0) as u64),
)
.with(
    &Kernel::rust(&matmul_kernel)
        .on_strided_beside(Kernel::gradient(&matmul_gradient).reading(Reads::Operands)),
);

/// What a run of them is called in the ledger.
const GEMM: &str = "blocktensor:gemm";
/// The same of a few rows: a product of a matrix and a vector, or a few.
const GEMV: &str = "blocktensor:gemv";

pub(super) const OPS: &[&Op] = &[&LINEAR, &MATMUL];

/// `x W^T + b`, as `torch.nn.functional.linear`.
///
/// # Shapes
/// `x` [..., K], `weights` [O, K], `bias` `[O]`; the result is [..., O], contiguous. `weights` `[K]` of one output come without a
/// bias, and the result is [...].
///
/// # Dtypes
/// f32; packed weights also take bf16.
///
/// # Layouts
/// Strided only: from a blocked activation come back with `to_strided` and flatten. A view is copied dense first, and
/// the ledger counts it. Runs in Rust; [`PackedLinear`](crate::PackedLinear) packs the weights once and runs on oneDNN.
///
/// # Errors
/// `RankMismatch`, `ShapeMismatch`; `UnsupportedOp` on blocked tensors.
#[track_caller]
pub fn linear<T: Operand>(x: &T, weights: &T, bias: Option<&StridedTensor>) -> Result<T> {
    LINEAR.call_one(&[
        Arg::Tensor(x.tensor_ref()),
        Arg::Tensor(weights.tensor_ref()),
        bias.map_or(Arg::Absent, |b| Arg::Tensor(TensorRef::Strided(b))),
    ])
}

/// Matrix product with broadcast batch dimensions, as `torch.matmul`.
///
/// ```
/// use blocktensor::{StridedTensor, ops};
/// let a = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let v = StridedTensor::from_slice(&[10f32, 1.0], &[2])?;
/// assert_eq!(ops::matmul(&a, &v)?.to_vec::<f32>()?, [12.0, 34.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `a` [..., M, K], `b` [..., K, N]; the result is [..., M, N] with the leading dimensions broadcast, contiguous. A vector `a`
/// `[K]` is one row, a vector `b` `[K]` one column; the result has no dimension for it.
///
/// # Dtypes
/// f32.
///
/// # Layouts
/// Strided only; any strides, nothing is copied.
///
/// # Errors
/// `RankMismatch`, `ShapeMismatch`; `UnsupportedOp` on blocked tensors.
#[track_caller]
pub fn matmul<T: Operand>(a: &T, b: &T) -> Result<T> {
    MATMUL.call_one(&[Arg::Tensor(a.tensor_ref()), Arg::Tensor(b.tensor_ref())])
}

/// Sizes of a linear layer: rows, inputs, outputs, and the result's shape.
pub(crate) struct LinearShape {
    pub rows: usize,
    pub k: usize,
    pub o: usize,
    pub dst: Dims,
}

impl LinearShape {
    /// Checks `x` [..., K] against `weights` [O, K] and `bias` `[O]`.
    pub fn new(x: &[usize], weights: &[usize], bias: Option<&[usize]>) -> Result<LinearShape> {
        let op = "linear";
        PACKED_RANKS.check(op, "weights", weights.len(), || format!("{weights:?}"))?;
        X_RANKS.check(op, "x", x.len(), || format!("{x:?}"))?;
        let (o, k) = (weights[0], weights[1]);
        let (last, leading) = (x[x.len() - 1], &x[..x.len() - 1]);
        if last != k {
            fail!(
                ShapeMismatch,
                op,
                "x",
                format!("{x:?}"),
                format!("the weights {weights:?} take {k} inputs"),
                format!("pass rows of {k} numbers, for example flattened ones")
            );
        }
        if let Some(b) = bias
            && b != [o]
        {
            let got = format!("{b:?}");
            fail!(
                ShapeMismatch,
                op,
                "bias",
                got,
                format!("there are {o} outputs"),
                format!("pass {o} values")
            );
        }
        let mut dst = Dims::from_slice(leading);
        let rows = leading.iter().product();
        dst.push(o);
        Ok(LinearShape { rows, k, o, dst })
    }

    /// Whether rows are so few that reading the weights is all the work.
    pub fn is_of_few_rows(&self) -> bool {
        self.rows <= MOST_ROWS
    }

    /// The name of the kernel in Rust that multiplies with these weights, O x K.
    pub fn implementation(&self, w: Matrix<'_>) -> &'static str {
        if self.takes_rows(w) { GEMV } else { GEMM }
    }

    fn takes_rows(&self, w: Matrix<'_>) -> bool {
        self.is_of_few_rows() && (w.column == 1 || self.k <= 1) && (w.row == self.k || self.o <= 1)
    }
}

fn linear_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (x, w, bias) = (args.strided(0)?, args.strided(1)?, args.optional_strided(2)?);
    let is_vector = w.rank() == 1;
    if let (true, Some(bias)) = (is_vector, bias) {
        let (got, rule) = (TensorRef::Strided(bias).describe(), "weights of one dimension have no bias");
        fail!(
            InvalidArgument,
            args.op(),
            "bias",
            got,
            rule,
            "leave it out, or reshape the weights to [1, inputs]"
        );
    }
    let w = if is_vector { &w.unsqueeze(0)? } else { w };
    let s = LinearShape::new(x.dims(), w.dims(), bias.map(StridedTensor::dims))?;
    let mut dims = s.dst;
    if is_vector {
        dims.remove(dims.len() - 1);
    }
    let strides = MemoryFormat::Contiguous.strides(args.op(), &dims)?;
    let dst = results.strided(dims, strides, None, DType::F32)?;
    if dst.numel() == 0 {
        return Ok(());
    }
    let x = x.dense_at(args.op(), MemoryFormat::Contiguous, args.location())?;
    let bias = bias.map(StridedTensor::to_vec::<f32>).transpose()?;
    let w = matrix(w, 0, 0);
    crate::kernels::timed(
        args,
        s.implementation(w),
        || "contiguous -> contiguous".into(),
        || {
            let dst = dst.result_data::<f32>();
            let finish = Finish::bias(bias.as_deref());
            Ok(linear_gemm(&s, x.data::<f32>(), w, &finish, None, dst)?)
        },
    )
}

/// `diff W` by `x`, `diff^T x` by the weights, and the sum of the rows of `diff` by the bias.
fn linear_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let args = &call.args;
    let (x, w) = (args.strided(0)?, args.strided(1)?);
    let TensorRef::Strided(diff) = call.diff()? else { unreachable!("it has the key of the operands") };
    let k = w.dims()[w.rank() - 1];
    let o = if w.rank() == 1 { 1 } else { w.dims()[0] };
    let rows: usize = x.dims()[..x.rank() - 1].iter().product();
    let diff = diff.reshape(&[rows, o])?;
    call.each(|i| {
        Ok(match i {
            0 => matmul(&diff, &w.reshape(&[o, k])?)?.reshape(x.dims())?.into(),
            1 => matmul(&diff.transpose(0, 1)?, &x.reshape(&[rows, k])?)?.reshape(w.dims())?.into(),
            _ => reduce::sum(&diff, &[0], false)?.into(),
        })
    })
}

/// The kernel in Rust. `w` is O x K. `finish` follows on each part of a row while it is in the cache; outputs are its channels, and
/// `residual` lies as the result does.
pub(crate) fn linear_gemm(
    s: &LinearShape,
    x: &[f32],
    w: Matrix<'_>,
    finish: &Finish<'_>,
    residual: Option<&[f32]>,
    dst: &mut [f32],
) -> Result<()> {
    let then = |row: usize, first: usize, values: &mut [f32]| {
        let residual = residual.map(|r| &r[row * s.o + first..][..values.len()]);
        finish.pixels(values.len(), first..first + values.len(), residual, values);
    };
    if s.takes_rows(w) {
        rows_times_transposed([s.rows, s.o, s.k], x, w.data, dst, &then);
        return Ok(());
    }
    let x = Matrix { data: x, row: s.k, column: 1 };
    let transposed = Matrix { data: w.data, row: w.column, column: w.row };
    parallel_matmul_then(s.rows, s.o, s.k, x, transposed, dst, &then)
}

fn matmul_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let op = args.op();
    let (a, b) = (args.strided(0)?, args.strided(1)?);
    // A vector is one row of the first matrix, or one column of the second; the result has no dimension for it.
    let (is_row, is_column) = (a.rank() == 1, b.rank() == 1);
    let a = if is_row { &a.unsqueeze(0)? } else { a };
    let b = if is_column { &b.unsqueeze(1)? } else { b };
    let (ra, rb) = (a.rank() - 2, b.rank() - 2);
    let (m, k, n) = (a.dims()[ra], a.dims()[ra + 1], b.dims()[rb + 1]);
    if b.dims()[rb] != k {
        fail!(
            ShapeMismatch,
            op,
            "b",
            TensorRef::Strided(b).describe(),
            format!("a is {:?}, so b has {k} rows", a.dims()),
            "transpose one of them, or pass matrices that meet"
        );
    }
    let batch = broadcast(
        op,
        &[
            iterator::Operand { dims: &a.dims()[..ra], strides: &a.strides()[..ra] },
            iterator::Operand { dims: &b.dims()[..rb], strides: &b.strides()[..rb] },
        ],
    )?;
    let mut dims = batch;
    if !is_row {
        dims.push(m);
    }
    if !is_column {
        dims.push(n);
    }
    let strides = MemoryFormat::Contiguous.strides(op, &dims)?;
    let dst = results.strided(dims, strides, None, DType::F32)?;
    if dst.numel() == 0 {
        return Ok(());
    }
    if k == 0 {
        dst.result_data::<f32>().fill(0.0);
        return Ok(());
    }
    let (a, b) = (expanded(a, &batch)?, expanded(b, &batch)?);
    crate::kernels::timed(
        args,
        GEMM,
        || "strided -> contiguous".into(),
        || {
            let out = dst.result_data::<f32>();
            for (i, out) in out[..batch.iter().product::<usize>() * m * n].chunks_mut(m * n).enumerate() {
                let start = |t: &StridedTensor| -> usize {
                    let mut rest = i;
                    batch.iter().enumerate().rev().fold(0, |at, (axis, &d)| {
                        let index = rest % d;
                        rest /= d;
                        at + index * t.strides()[axis]
                    })
                };
                let r = batch.len();
                parallel_matmul(m, n, k, matrix(&a, start(&a), r), matrix(&b, start(&b), r), out)?;
            }
            Ok(())
        },
    )
}

/// The matrix over this axis and the next, from an element on. The stride of an axis of size 1 is ignored.
fn matrix(t: &StridedTensor, start: usize, axis: usize) -> Matrix<'_> {
    let step = |axis: usize| if t.dims()[axis] == 1 { 1 } else { t.strides()[axis] };
    Matrix { data: &t.data::<f32>()[start..], row: step(axis), column: step(axis + 1) }
}

/// The tensor with its leading dimensions broadcast to `batch`: a view.
fn expanded(t: &StridedTensor, batch: &Dims) -> Result<StridedTensor> {
    let mut dims = *batch;
    t.dims()[t.rank() - 2..].iter().for_each(|&d| dims.push(d));
    t.expand(&dims)
}

/// `diff b^T` and `a^T diff`, each summed over the batch axes along which its operand was repeated.
fn matmul_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let (a, b) = (call.args.strided(0)?, call.args.strided(1)?);
    let TensorRef::Strided(diff) = call.diff()? else { unreachable!("it has the key of the operands") };
    let (is_row, is_column) = (a.rank() == 1, b.rank() == 1);
    let of_column = if is_column { &diff.unsqueeze(diff.rank())? } else { diff };
    let diff = if is_row { &of_column.unsqueeze(of_column.rank() - 1)? } else { of_column };
    let a_matrix = if is_row { &a.unsqueeze(0)? } else { a };
    let b_matrix = if is_column { &b.unsqueeze(1)? } else { b };
    let turned = |t: &StridedTensor| t.transpose(t.rank() - 2, t.rank() - 1);
    call.each(|i| {
        let (made, operand) = match i {
            0 => (matmul(diff, &turned(b_matrix)?)?, a),
            // One product over all rows, where one matrix serves the whole batch.
            _ if b_matrix.rank() == 2 => {
                let rows = |t: &StridedTensor| {
                    let columns = t.dims()[t.rank() - 1];
                    t.reshape(&[t.dims()[..t.rank() - 1].iter().product(), columns])
                };
                (matmul(&turned(&rows(a_matrix)?)?, &rows(diff)?)?, b)
            }
            _ => (matmul(&turned(a_matrix)?, diff)?, b),
        };
        let matrix = if i == 0 { a_matrix } else { b_matrix };
        match sum_to(made.into(), matrix.dims())? {
            Tensor::Strided(made) => Ok(made.reshape(operand.dims())?.into()),
            other => Ok(other),
        }
    })
}
