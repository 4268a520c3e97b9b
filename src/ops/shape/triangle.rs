//! `tril` and `triu`: the elements on one side of a diagonal, and zeros on the other.

use half::{bf16, f16};

use crate::dtype::{DType, Element};
use crate::elementwise::map2_into;
use crate::error::Result;
use crate::layout::memory_format::MemoryFormat;
use crate::op::facts::Movement;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{Ranks, data, int};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::EACH_DTYPE;
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

params! {
    /// Parameters of `tril` and `triu`: 0 is the main diagonal, positive ones are above it.
    pub(crate) struct Triangle {
        diagonal: i64 => int("diagonal", 0),
    }
}

const MATRICES: Ranks = Ranks::at_least(2, "its last two axes are matrices", "reshape it to two dimensions");
const ARGS: &[ArgSpec] = &with_params::<2>(&[data("x").any_dtype().with_ranks(MATRICES)], Triangle::SPECS);
static TRIL: Op = Op::new(&Schema::new("tril", ARGS).dst_like_x().moving(Movement::ElementsAndZeros)).with(
    &Kernel::rust(&|args, results| run(args, results, |above, d| above <= d))
        .with_dtypes(EACH_DTYPE)
        .on_strided_with(&|call| gradient(call, &TRIL)),
);
static TRIU: Op = Op::new(&Schema::new("triu", ARGS).dst_like_x().moving(Movement::ElementsAndZeros)).with(
    &Kernel::rust(&|args, results| run(args, results, |above, d| above >= d))
        .with_dtypes(EACH_DTYPE)
        .on_strided_with(&|call| gradient(call, &TRIU)),
);

pub(crate) const OPS: &[&Op] = &[&TRIL, &TRIU];

/// The lower triangle of each matrix, as `torch.tril`: elements above the diagonal become zero.
///
/// ```
/// use blocktensor::{StridedTensor, ops};
/// let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// assert_eq!(ops::tril(&x, 0)?.to_vec::<f32>()?, [1.0, 0.0, 0.0, 4.0, 5.0, 0.0]);
/// assert_eq!(ops::tril(&x, 1)?.to_vec::<f32>()?, [1.0, 2.0, 0.0, 4.0, 5.0, 6.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [..., rows, columns]; the result has its shape, and is contiguous. `diagonal` 0 is the main diagonal, 1 the one above it,
/// -1 the one below.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// Strided only, any strides.
///
/// # Errors
/// `RankMismatch` for a tensor of fewer than two dimensions; `UnsupportedOp` on blocked tensors.
#[track_caller]
pub fn tril<T: Operand>(x: &T, diagonal: i64) -> Result<T> {
    TRIL.call_with(&[Arg::Tensor(x.tensor_ref())], &Triangle { diagonal })
}

/// The upper triangle of each matrix, as `torch.triu`: elements below the diagonal become zero.
///
/// # Shapes
/// As [`tril`].
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// As [`tril`].
///
/// # Errors
/// As [`tril`].
#[track_caller]
pub fn triu<T: Operand>(x: &T, diagonal: i64) -> Result<T> {
    TRIU.call_with(&[Arg::Tensor(x.tensor_ref())], &Triangle { diagonal })
}

/// `keeps` is asked with the number of the diagonal on which an element is, and with the op's.
fn run(args: &Args<'_>, results: &mut Results<'_>, keeps: fn(i64, i64) -> bool) -> KernelResult {
    let (op, x, Triangle { diagonal }) = (args.op(), args.strided(0)?, Triangle::read(args)?);
    let dst = results.in_any_strides(FormatRule::Contiguous, &[x], x.dims(), x.dtype())?;
    let work = || {
        let kept = kept(&x.dims()[x.rank() - 2..], |above| keeps(above, diagonal))?;
        match x.dtype() {
            DType::F32 => copy::<f32>(op, dst, x, &kept),
            DType::BF16 => copy::<bf16>(op, dst, x, &kept),
            DType::F16 => copy::<f16>(op, dst, x, &kept),
            DType::U8 => copy::<u8>(op, dst, x, &kept),
            DType::S8 => copy::<i8>(op, dst, x, &kept),
            DType::S32 => copy::<i32>(op, dst, x, &kept),
        }
    };
    Ok(crate::kernels::timed(args, "blocktensor:moves", || x.format_name(), work)?)
}

/// A matrix with 1 where an element is kept, else 0.
fn kept(matrix: &[usize], keeps: impl Fn(i64) -> bool) -> Result<StridedTensor> {
    let mut kept = StridedTensor::zeros(matrix, DType::U8, MemoryFormat::Contiguous)?;
    let columns = matrix[1].max(1);
    for (row, line) in kept.result_data::<u8>().chunks_mut(columns).enumerate() {
        line.iter_mut().enumerate().for_each(|(column, v)| *v = u8::from(keeps(column as i64 - row as i64)));
    }
    Ok(kept)
}

fn copy<E: Element>(
    op: &'static str,
    dst: &mut StridedTensor,
    x: &StridedTensor,
    kept: &StridedTensor,
) -> Result<()> {
    // Not a product: what is not kept may be infinite.
    map2_into(op, dst, x, kept, |v: E, kept: u8| if kept != 0 { v } else { E::zeroed() })
}

/// The same elements of the incoming gradient are kept.
fn gradient(call: &Backward<'_>, op: &'static Op) -> Result<Gradients> {
    let params = Triangle::read(&call.args)?;
    call.each(|_| op.call_with(&[Arg::Tensor(call.diff()?)], &params))
}
