//! Matrix products in pure Rust: the `gemm` crate behind bounds checks.

/// A matrix in a slice: element (i, j) lies at `i * row + j * column`, in elements.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    pub data: &'a [f32],
    pub row: usize,
    pub column: usize,
}

/// `dst = a b` for `a` of m x k and `b` of k x n; `dst` is m x n, row-major and dense. Runs on the calling thread.
pub(crate) fn matmul(m: usize, n: usize, k: usize, a: Matrix<'_>, b: Matrix<'_>, dst: &mut [f32]) {
    if m == 0 || n == 0 {
        return;
    }
    let reach = |rows: usize, columns: usize, x: &Matrix<'_>| (rows - 1) * x.row + (columns - 1) * x.column;
    assert!(dst.len() >= m * n);
    if k == 0 {
        dst[..m * n].fill(0.0);
        return;
    }
    assert!(reach(m, k, &a) < a.data.len() && reach(k, n, &b) < b.data.len());
    // SAFETY: the asserts above show that every element of the three matrices lies inside its slice, and `dst` is
    // borrowed mutably, so it overlaps neither operand.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            dst.as_mut_ptr(),
            1,
            n as isize,
            false,
            a.data.as_ptr(),
            a.column as isize,
            a.row as isize,
            b.data.as_ptr(),
            b.column as isize,
            b.row as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_by_hand_with_a_transposed_operand() {
        // [1 2; 3 4] times the transpose of [5 6; 7 8]
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let mut dst = [0.0; 4];
        let a = Matrix { data: &a, row: 2, column: 1 };
        matmul(2, 2, 2, a, Matrix { data: &b, row: 1, column: 2 }, &mut dst);
        assert_eq!(dst, [17.0, 23.0, 39.0, 53.0]);
    }
}
