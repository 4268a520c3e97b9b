//! Matrix product: strided only, as blocks of channels have no meaning in two dimensions.

mod integers;

use super::linear::{GEMM, matrix};
use crate::dtype::DType;
use crate::error::{Call, Result, fail};
use crate::key::DispatchKey;
use crate::layout::dims::Dims;
use crate::layout::iterator::{self, broadcast};
use crate::layout::memory_format::MemoryFormat;
use crate::matmul::parallel_matmul;
use crate::op::facts::Packing;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{Ranks, data, int, output_like};
use crate::op::{
    Arg, ArgSpec, Args, Backward, DTypeTuple, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema,
};
use crate::ops::pointwise::gradient::sum_to;
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::strided::StridedTensor;

const MATRIX_RANKS: Ranks =
    Ranks::at_least(1, "it is a vector, or one or more matrices", "add an axis").by(&Call::Unsqueeze(0));

params! {
    /// The integers of u8 or s8 that stand for 0.
    #[derive(Default)]
    struct MatMul {
        a_zero_point: i64 => int("a_zero_point", 0),
        b_zero_point: i64 => int("b_zero_point", 0),
    }
}

const ARGS: &[ArgSpec] = &with_params::<4>(
    &[data("a").f32().with_ranks(MATRIX_RANKS), data("b").f32().with_ranks(MATRIX_RANKS).weights()],
    MatMul::SPECS,
);
static MATMUL: Op = Op::new(
    &Schema::new("matmul", ARGS)
        .with_outputs(&[output_like("dst", "a")])
        .packs(Packing::Matrix)
        .multiply_adds(|of| of.result_elements() * of.input("a").last().copied().unwrap_or(0) as u64),
)
.with(&[
    (DispatchKey::STRIDED, Kernel::rust(&matmul_kernel)),
    // It copies `a` where it is not dense. Planners would copy the operands of the other for that, too.
    (DispatchKey::STRIDED, Kernel::rust(&integers::kernel).with_dtypes(INTEGERS)),
    (DispatchKey::STRIDED, Kernel::gradient(&matmul_gradient).reading(Reads::Operands)),
]);
const INTEGERS: &[DTypeTuple] = &[
    DTypeTuple { operands: &[DType::U8, DType::U8], results: &[DType::S32] },
    DTypeTuple { operands: &[DType::U8, DType::S8], results: &[DType::S32] },
    DTypeTuple { operands: &[DType::S8, DType::U8], results: &[DType::S32] },
    DTypeTuple { operands: &[DType::S8, DType::S8], results: &[DType::S32] },
];

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
/// f32. u8 or s8, each for itself: the sums are exact, of 32 bits, as those of [`conv2d`](crate::ops::conv2d), whose kernels compute
/// them.
///
/// # Layouts
/// Strided only. Of f32 any strides, and nothing is copied. Of integers a view `a` is copied dense first, and `b` is packed on every call.
///
/// # Errors
/// `RankMismatch`, `ShapeMismatch`; `UnsupportedOp` on blocked tensors; `InvalidArgument` for integers whose sums may not fit into 32 bits.
#[track_caller]
pub fn matmul<T: Operand>(a: &T, b: &T) -> Result<T> {
    MATMUL.call_with(&[a.tensor_ref(), b.tensor_ref()].map(Arg::Tensor), &MatMul::default())
}

/// [`matmul`] of u8 or s8, less the zero point of each: the sums of `(a - zero_points[0]) * (b - zero_points[1])`, as s32.
///
/// ```
/// use blocktensor::{StridedTensor, ops};
/// let a = StridedTensor::from_slice(&[13u8, 7], &[1, 2])?;
/// let b = StridedTensor::from_slice(&[130u8, 125], &[2, 1])?;
/// // 3 * 2 - 3 * -3.
/// assert_eq!(ops::matmul_integers(&a, &b, [10, 128])?.to_vec::<i32>()?, [15]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Errors
/// As [`matmul`]; `InvalidArgument` for a zero point that is no integer of its operand's dtype.
#[track_caller]
pub fn matmul_integers<T: Operand>(a: &T, b: &T, zero_points: [i64; 2]) -> Result<T> {
    let [a_zero_point, b_zero_point] = zero_points;
    let params = MatMul { a_zero_point, b_zero_point };
    MATMUL.call_with(&[a.tensor_ref(), b.tensor_ref()].map(Arg::Tensor), &params)
}

/// The operands of a product, checked: matrices, with those before them broadcast.
struct Factors {
    a: StridedTensor,
    b: StridedTensor,
    /// Rows of `a`, its columns, columns of `b`.
    sizes: [usize; 3],
    batch: Dims,
    /// The sizes of the result.
    dims: Dims,
}

impl Factors {
    fn new(args: &Args<'_>) -> Result<Factors> {
        let op = args.op();
        let (a, b) = (args.strided(0)?, args.strided(1)?);
        // A vector is one row of the first matrix, or one column of the second; the result has no dimension for it.
        let (is_row, is_column) = (a.rank() == 1, b.rank() == 1);
        let a = if is_row { a.unsqueeze(0)? } else { a.clone() };
        let b = if is_column { b.unsqueeze(1)? } else { b.clone() };
        let (ra, rb) = (a.rank() - 2, b.rank() - 2);
        let (m, k, n) = (a.dims()[ra], a.dims()[ra + 1], b.dims()[rb + 1]);
        if b.dims()[rb] != k {
            fail!(
                ShapeMismatch,
                op,
                "b",
                TensorRef::Strided(&b).describe(),
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
        Ok(Factors { a, b, sizes: [m, k, n], batch, dims })
    }
}

fn matmul_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let op = args.op();
    let Factors { a, b, sizes: [m, k, n], batch, dims } = Factors::new(args)?;
    let MatMul { a_zero_point, b_zero_point } = MatMul::read(args)?;
    for (name, value) in [("a_zero_point", a_zero_point), ("b_zero_point", b_zero_point)] {
        if value != 0 {
            let rule = "it is the integer of u8 or s8 that stands for 0";
            fail!(InvalidArgument, op, name, value.to_string(), rule, "leave it out");
        }
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
    let (a, b) = (expanded(&a, &batch)?, expanded(&b, &batch)?);
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
