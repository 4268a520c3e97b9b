//! Products of matrices of u8 and s8: exact sums of 32 bits.

use super::{Factors, MatMul};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::kernels::conv::products::Products;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::memory::{try_collect, try_collect_results};
use crate::op::facts::LARGEST_SUM;
use crate::op::params::Params;
use crate::op::{Args, KernelResult, Results};
use crate::ops::pointwise::quantize::check_zero_point;
use crate::tensor::strided::StridedTensor;

/// The farthest that two integers of 8 bits are apart.
const FARTHEST: i64 = 255;

/// The kernel multiplies by s8. Integers of u8 are made s8, and what each of them lacks is added to the sums:
/// `sum((a - p) * (b - q))` is `sum((a - p) * (b - 128)) + (128 - q) * sum(a - p)`.
pub(super) fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, location) = (args.op(), args.location());
    let of = Factors::new(args)?;
    let Factors { a, b, sizes: [m, k, n], .. } = &of;
    let (m, k, n) = (*m, *k, *n);
    let params = MatMul::read(args)?;
    let zero = |name, value: i64, of: &StridedTensor| check_zero_point(op, name, value, of.dtype());
    let p = zero("a_zero_point", params.a_zero_point, a)?;
    let q = zero("b_zero_point", params.b_zero_point, b)?;
    let strides = MemoryFormat::Contiguous.strides(op, &of.dims)?;
    let dst = results.strided(of.dims, strides, None, DType::S32)?;
    if dst.numel() == 0 {
        return Ok(());
    }
    if k == 0 {
        dst.result_data::<i32>().fill(0);
        return Ok(());
    }
    let a = a.dense_at(op, MemoryFormat::Contiguous, location)?;
    let shift = if b.dtype() == DType::U8 { 128 } else { 0 };
    let flipped;
    let signed = match shift {
        0 => b,
        _ => {
            let values = try_collect(op, b.to_vec::<u8>()?.into_iter().map(|v| (v ^ 0x80).cast_signed()))?;
            flipped = StridedTensor::from_slice(&values, b.dims())?;
            &flipped
        }
    };
    let matrices = matrices(signed)?;
    let (batch, own_of_a, own_of_b) = (&of.batch, outer(&a), outer(b));
    // One matrix for all rows.
    let parts = if matrices.len() == 1 { 1 } else { batch.iter().product::<usize>() };
    let rows = if matrices.len() == 1 { a.numel() / k } else { m };
    check_sums(op, signed, (shift - q, largest(p, a.dtype())))?;
    let products = Products::new(op, [rows, k, n], a.dtype(), p)?;
    let packed = products.pack(&matrices, b.storage.id(), location)?;
    let source = a.bytes();
    crate::kernels::timed(
        args,
        "blocktensor:int8",
        || "contiguous -> contiguous".into(),
        || {
            let dst = dst.result_data::<i32>();
            for (i, dst) in dst[..parts * rows * n].chunks_exact_mut(rows * n).enumerate() {
                let [from, by] =
                    if parts == 1 { [0, 0] } else { [own_of_a, own_of_b].map(|own| own_part(i, batch, own)) };
                let source = &source[from * rows * k..][..rows * k];
                products.run(source, &packed, by, bytemuck::cast_slice_mut(dst), location)?;
                if shift != q {
                    add_rows(source, (a.dtype(), p), shift - q, (k, n), dst);
                }
            }
            Ok(())
        },
    )
}

/// The sizes before those of the matrices.
fn outer(t: &StridedTensor) -> &[usize] {
    &t.dims()[..t.rank() - 2]
}

/// Each matrix of a batch, transposed, as weights of single pixels.
fn matrices(b: &StridedTensor) -> Result<Vec<StridedTensor>> {
    let (own, steps) = (outer(b), b.strides());
    let &[k, n] = &b.dims()[own.len()..] else { unreachable!("a matrix") };
    let [row, column] = [steps[own.len()], steps[own.len() + 1]];
    let view = |i: usize| {
        let mut rest = i;
        let at = own.iter().zip(steps).rev().fold(b.offset(), |at, (&size, &step)| {
            let index = rest % size;
            rest /= size;
            at + index * step
        });
        b.as_strided(&[n, k, 1, 1], &[column, row, 1, 1], at)
    };
    try_collect_results("matmul", (0..own.iter().product()).map(view))
}

/// Which of an operand's own matrices number `i` of the batch is.
fn own_part(i: usize, batch: &Dims, own: &[usize]) -> usize {
    let (mut rest, mut step, mut part) = (i, 1, 0);
    for (axis, &size) in batch.iter().enumerate().rev() {
        let index = rest % size;
        rest /= size;
        if let Some(&of_own) = (axis + own.len()).checked_sub(batch.len()).and_then(|at| own.get(at)) {
            part += if of_own == 1 { 0 } else { index * step };
            step *= of_own;
        }
    }
    part
}

/// The farthest that an integer is from the zero point.
fn largest(zero_point: i32, dtype: DType) -> u64 {
    let range = dtype.byte_range().expect("integers of 8 bits");
    u64::from((zero_point - range.start()).max(range.end() - zero_point).unsigned_abs())
}

/// Checks that no sum needs more than 32 bits, as the kernel of convolutions does; `more` is added to each of `b`.
///
/// # Errors
/// `InvalidArgument`.
fn check_sums(op: &'static str, b: &StridedTensor, (more, largest): (i32, u64)) -> Result<()> {
    let &[.., k, n] = b.dims() else { unreachable!("a matrix") };
    let most = LARGEST_SUM as u64 / largest;
    if k as u64 <= most / FARTHEST as u64 {
        return Ok(());
    }
    for matrix in b.to_vec::<i8>()?.chunks_exact(k * n) {
        for column in 0..n {
            let values = matrix[column..].iter().step_by(n).map(|&v| i32::from(v));
            // What the kernel adds up, and what is the result.
            let size = |more: i32| values.clone().map(|v| u64::from((v + more).unsigned_abs())).sum::<u64>();
            let size = size(0).max(size(more));
            if size > most {
                let got = format!("column {column} with a sum of magnitudes of {size}");
                let rule = format!("sums of 32 bits hold up to {most} with this zero point");
                let remedy = "split the columns of `a` and the rows of `b`, or compute in f32";
                fail!(InvalidArgument, op, "b", got, rule, remedy);
            }
        }
    }
    Ok(())
}

/// Adds `factor` times the sum of each row, less its zero points. It wraps where the products do: the sum of both fits.
fn add_rows(
    rows: &[u8],
    (dtype, zero_point): (DType, i32),
    factor: i32,
    (k, n): (usize, usize),
    dst: &mut [i32],
) {
    for (row, dst) in rows.chunks_exact(k).zip(dst.chunks_exact_mut(n)) {
        let sum: i64 = match dtype {
            DType::U8 => row.iter().map(|&v| i64::from(v)).sum(),
            _ => row.iter().map(|&v| i64::from(v.cast_signed())).sum(),
        };
        let more = (sum - k as i64 * i64::from(zero_point)).wrapping_mul(factor.into()) as i32;
        dst.iter_mut().for_each(|v| *v = v.wrapping_add(more));
    }
}
