//! Matrix products in pure Rust: the `gemm` crate's kernels for f32, behind bounds checks, with tasks shared by the team; and
//! products of a few rows (`rows`).

use crate::error::Result;
use crate::fault;
use crate::memory::check_room;
use crate::threads::{SyncPtr, current_threads, parallel_for};

mod rows;

pub(crate) use rows::{MOST_ROWS, rows_times_transposed};

/// A matrix in a slice: element (i, j) is at index `i * row + j * column`; both strides are in **elements**.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    pub data: &'a [f32],
    pub row: usize,
    pub column: usize,
}

impl<'a> Matrix<'a> {
    /// The submatrix that begins at row `i` and column `j`.
    fn from(&self, i: usize, j: usize) -> Matrix<'a> {
        Matrix { data: &self.data[i * self.row + j * self.column..], ..*self }
    }

    fn transposed(&self) -> Matrix<'a> {
        Matrix { data: self.data, row: self.column, column: self.row }
    }

    fn holds(&self, rows: usize, columns: usize) -> bool {
        (rows - 1) * self.row + (columns - 1) * self.column < self.data.len()
    }
}

/// Rows and columns of the result that one task computes. They do not depend on the number of threads, so neither do the bits
/// of the result.
const TILE_ROWS: usize = 128;
const TILE_COLUMNS: usize = 256;

/// `dst = a b` for `a` of m x k and `b` of k x n; `dst` is m x n, row-major and dense. Runs on the calling thread.
pub(crate) fn matmul(m: usize, n: usize, k: usize, a: Matrix<'_>, b: Matrix<'_>, dst: &mut [f32]) {
    assert!(dst.len() >= m * n);
    // SAFETY: `dst` holds m rows of n, is borrowed mutably, and so overlaps neither operand.
    unsafe { tile(m, n, k, a, b, dst.as_mut_ptr(), n) }
}

/// Calls `task` for parts of at most `columns` columns of an m x n result, on any thread of the team: the part's first column, and its
/// elements, a slice for each row.
fn for_each_part<const M: usize>(
    dst: &mut [f32],
    n: usize,
    columns: usize,
    task: &(impl Fn(usize, [&mut [f32]; M]) + Sync),
) {
    assert!(dst.len() >= M * n);
    let out = SyncPtr::new(dst);
    parallel_for(n.div_ceil(columns), |part| {
        let first = part * columns;
        let len = columns.min(n - first);
        // SAFETY: the rows do not overlap, each part is inside its row, and no other task has this part.
        let part = std::array::from_fn(|row| unsafe {
            std::slice::from_raw_parts_mut(out.get().add(row * n + first), len)
        });
        task(first, part);
    });
}

/// The same product, computed by the team.
pub(crate) fn parallel_matmul(
    m: usize,
    n: usize,
    k: usize,
    a: Matrix<'_>,
    b: Matrix<'_>,
    dst: &mut [f32],
) -> Result<()> {
    parallel_matmul_then(m, n, k, a, b, dst, &|_, _, _| {})
}

/// The same product. `then` gets each part of a row when it is computed, and while it is in the cache: the row, the part's first
/// column, and its elements.
pub(crate) fn parallel_matmul_then(
    m: usize,
    n: usize,
    k: usize,
    a: Matrix<'_>,
    b: Matrix<'_>,
    dst: &mut [f32],
    then: &(impl Fn(usize, usize, &mut [f32]) + Sync),
) -> Result<()> {
    assert!(dst.len() >= m * n);
    if m == 0 || n == 0 {
        return Ok(());
    }
    check_memory()?;
    let across = n.div_ceil(TILE_COLUMNS);
    let out = SyncPtr::new(dst);
    parallel_for(m.div_ceil(TILE_ROWS) * across, |task| {
        let (i, j) = (task / across * TILE_ROWS, task % across * TILE_COLUMNS);
        let (rows, columns) = (TILE_ROWS.min(m - i), TILE_COLUMNS.min(n - j));
        let (a, b) = if k == 0 { (a, b) } else { (a.from(i, 0), b.from(0, j)) };
        // SAFETY: tile (i, j) is inside the m x n result, and no other task writes it.
        unsafe { tile(rows, columns, k, a, b, out.get().add(i * n + j), n) }
        for row in i..i + rows {
            // SAFETY: a row of the same tile.
            then(row, j, unsafe { std::slice::from_raw_parts_mut(out.get().add(row * n + j), columns) });
        }
    });
    Ok(())
}

/// Fails unless there is memory for the copies of tiles that the kernels of all threads make: the `gemm` crate ends the process
/// where it finds none.
pub(crate) fn check_memory() -> Result<()> {
    /// **Bytes** of the copies of a tile's operands, at most.
    const COPIES: usize = 1 << 20;
    check_room("matrix product", current_threads().saturating_mul(COPIES))
}

/// # Safety
/// `dst` is valid for writing m rows of n elements, whose starts are `dst_row` elements apart, and overlaps neither operand.
unsafe fn tile(m: usize, n: usize, k: usize, a: Matrix<'_>, b: Matrix<'_>, dst: *mut f32, dst_row: usize) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(k == 0 || a.holds(m, k) && b.holds(k, n));
    // The kernels need dense columns of the result and of the left operand; otherwise they copy them. So for a row-major
    // result it is best to compute the transposed product, `b' a'`, unless `b` would be copied and is larger than `a`. For 16
    // rows times 2048 x 1000 weights of a linear layer, this exception reduces the time to a third.
    let copies_b = b.column != 1 && 2 * m <= n;
    let ((rows, columns), (left, right), (row, column)) = if dst_row > 1 && !copies_b {
        ((n, m), (b.transposed(), a.transposed()), (1, dst_row))
    } else {
        ((m, n), (a, b), (dst_row, 1))
    };
    let (read_dst, alpha, beta) = (false, 0.0, 1.0);
    // SAFETY: the assert shows that every element of `a` and `b` is inside its slice; `dst` is the caller's promise. With k =
    // 0 nothing is read, and zeros are written.
    fault::in_other_crate(|| unsafe {
        gemm_f32::gemm::f32::get_gemm_fn()(
            rows,
            columns,
            k,
            dst,
            column as isize,
            row as isize,
            read_dst,
            left.data.as_ptr(),
            left.column as isize,
            left.row as isize,
            right.data.as_ptr(),
            right.column as isize,
            right.row as isize,
            alpha,
            beta,
            false,
            false,
            false,
            gemm_common::Parallelism::None,
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_by_hand_with_a_transposed_operand() {
        // [1 2; 3 4] times the transpose of [5 6; 7 8]
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let (a, b) = (Matrix { data: &a, row: 2, column: 1 }, Matrix { data: &b, row: 1, column: 2 });
        let mut dst = [0.0; 4];
        matmul(2, 2, 2, a, b, &mut dst);
        assert_eq!(dst, [17.0, 23.0, 39.0, 53.0]);
    }

    #[test]
    fn tiles_make_the_whole() {
        let (m, n, k) = (TILE_ROWS + 3, 2 * TILE_COLUMNS + 5, 7);
        let a: Vec<f32> = (0..m * k).map(|i| (i % 5) as f32).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i % 7) as f32).collect();
        let (x, y) = (Matrix { data: &a, row: k, column: 1 }, Matrix { data: &b, row: n, column: 1 });
        let mut dst = vec![f32::NAN; m * n];
        parallel_matmul(m, n, k, x, y, &mut dst).unwrap();
        for (i, &v) in dst.iter().enumerate() {
            let want: f32 = (0..k).map(|p| a[i / n * k + p] * b[p * n + i % n]).sum();
            assert_eq!(v, want, "element {i}");
        }
        parallel_matmul(2, 2, 0, x, y, &mut dst).unwrap();
        assert_eq!(dst[..4], [0.0; 4]);
    }

    #[test]
    fn every_element_is_finished_once_and_is_told_its_place() {
        let (m, n) = (TILE_ROWS + 3, 2 * TILE_COLUMNS + 5);
        let ones = vec![1.0; m.max(n)];
        let one = Matrix { data: &ones, row: 1, column: 1 };
        let mut dst = vec![f32::NAN; m * n];
        let then = |row: usize, column: usize, part: &mut [f32]| {
            part.iter_mut().enumerate().for_each(|(i, v)| *v += (row * n + column + i) as f32);
        };
        parallel_matmul_then(m, n, 1, one, one, &mut dst, &then).unwrap();
        assert!(dst.iter().enumerate().all(|(i, &v)| v == 1.0 + i as f32));
    }
}
