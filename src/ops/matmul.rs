//! Matrix product: strided only, as blocks of channels have no meaning in two dimensions.

use super::linear::{GEMM, matrix};
use crate::dtype::DType;
use crate::error::{Call, Result, fail};
use crate::layout::dims::Dims;
use crate::layout::iterator::{self, broadcast};
use crate::layout::memory_format::MemoryFormat;
use crate::matmul::parallel_matmul;
use crate::op::facts::Packing;
use crate::op::schema::{Ranks, data, output_like};
use crate::op::{Arg, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::ops::pointwise::gradient::sum_to;
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::strided::StridedTensor;

const MATRIX_RANKS: Ranks =
    Ranks::at_least(1, "it is a vector, or one or more matrices", "add an axis").by(&Call::Unsqueeze(0));

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

pub(super) const OPS: &[&Op] = &[&MATMUL];

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
