//! The product of a few rows with weights of a row for each output: a linear layer at batch 1, where reading the weights is all the
//! work.
//!
//! An output is the dot product of its weights with a row, in two vectors of sums. Its bits depend on neither the other outputs and
//! rows, nor on the number of threads.

use super::for_each_part;
use crate::machine::machine;
use crate::simd::vectors::{Vector, VectorLoop, VectorWidth, Width};

/// So many rows are multiplied at once at most. Above that a product of tiles, which reads weights and rows from near caches, is faster.
pub(crate) const MOST_ROWS: usize = 4;

/// f32 lanes of a vector.
const B: usize = 16;

/// **Bytes** of weights that a task reads, about.
const TASK_BYTES: usize = 1 << 16;

/// Weights that come from memory are read output by output if the **bytes** of one are not more: memory is fastest as one stream. On a Zen 4
/// one core reads 22 GB/s so, and 12 to 18 as four streams. Of longer outputs four streams are faster, and of weights in a cache.
const LONGEST_ALONE: usize = 1 << 13;

/// `dst = x w'` for `x` of m x k and `w` of n x k, all row-major and dense, with m up to [`MOST_ROWS`]. `then` gets each part of a row
/// when it is computed: the row, the part's first column, and its elements.
pub(crate) fn rows_times_transposed(
    [m, n, k]: [usize; 3],
    x: &[f32],
    w: &[f32],
    dst: &mut [f32],
    then: &(impl Fn(usize, usize, &mut [f32]) + Sync),
) {
    match m {
        0 => {}
        1 => multiply::<1>(n, k, x, w, dst, then),
        2 => multiply::<2>(n, k, x, w, dst, then),
        3 => multiply::<3>(n, k, x, w, dst, then),
        MOST_ROWS => multiply::<MOST_ROWS>(n, k, x, w, dst, then),
        _ => unreachable!("callers ask for at most {MOST_ROWS} rows"),
    }
}

fn multiply<const M: usize>(
    n: usize,
    k: usize,
    x: &[f32],
    w: &[f32],
    dst: &mut [f32],
    then: &(impl Fn(usize, usize, &mut [f32]) + Sync),
) {
    let rows: [&[f32]; M] = std::array::from_fn(|row| &x[row * k..][..k]);
    let columns = (TASK_BYTES / (k.max(1) * size_of::<f32>())).max(1).next_multiple_of(4);
    let alone = k * size_of::<f32>() <= LONGEST_ALONE && size_of_val(w) > machine().caches.second;
    for_each_part(dst, n, columns, &|first, mut to: [&mut [f32]; M]| {
        let weights = &w[first * k..][..to[0].len() * k];
        Width::<B>::dispatch(Dots { k, rows, weights, to: to.each_mut().map(|to| &mut **to), alone });
        to.iter_mut().enumerate().for_each(|(row, to)| then(row, first, to));
    });
}

/// Dot products of `M` rows with the weights of some outputs.
struct Dots<'a, const M: usize> {
    k: usize,
    rows: [&'a [f32]; M],
    weights: &'a [f32],
    to: [&'a mut [f32]; M],
    /// Whether the weights of one output are read after those of another.
    alone: bool,
}

impl<const M: usize> VectorLoop<B> for Dots<'_, M> {
    #[inline(always)]
    fn run<V: Vector<B>>(mut self, proof: V::Proof) {
        // As many outputs at once as leave the sums in registers.
        let n = self.to[0].len();
        let at = match V::REGISTERS {
            _ if self.alone => 0,
            32.. if M <= 2 => self.groups::<V, 4>(proof, 0),
            8.. if M <= 2 => self.groups::<V, 2>(proof, 0),
            32.. => self.groups::<V, 2>(proof, 0),
            _ => 0,
        };
        let end = self.groups::<V, 1>(proof, at);
        debug_assert_eq!(end, n);
    }
}

impl<const M: usize> Dots<'_, M> {
    /// `R` outputs at once, from output `at` on; returns the first that is left.
    #[inline(always)]
    fn groups<V: Vector<B>, const R: usize>(&mut self, proof: V::Proof, mut at: usize) -> usize {
        while at + R <= self.to[0].len() {
            let mut weights = [&[][..]; R];
            for r in 0..R {
                weights[r] = &self.weights[(at + r) * self.k..][..self.k];
            }
            let sums = dots::<V, M, R>(proof, &self.rows, &weights);
            for m in 0..M {
                self.to[m][at..at + R].copy_from_slice(&sums[m]);
            }
            at += R;
        }
        at
    }
}

#[inline(always)]
fn dots<V: Vector<B>, const M: usize, const R: usize>(
    proof: V::Proof,
    rows: &[&[f32]; M],
    weights: &[&[f32]; R],
) -> [[f32; R]; M] {
    let mut sums = [[[V::splat(proof, 0.0); 2]; R]; M];
    let (mut x, mut x_rest) = ([&[][..]; M], [[0.0; B]; M]);
    for m in 0..M {
        let (whole, rest) = rows[m].as_chunks::<B>();
        (x[m], x_rest[m]) = (whole, padded(rest));
    }
    let (mut w, mut w_rest) = ([&[][..]; R], [[0.0; B]; R]);
    for r in 0..R {
        let (whole, rest) = weights[r].as_chunks::<B>();
        (w[r], w_rest[r]) = (whole, padded(rest));
    }
    let vectors = rows[0].len() / B;
    for i in 0..vectors / 2 {
        for u in 0..2 {
            add::<V, M, R>(proof, &mut sums, u, &x, &w, 2 * i + u);
        }
    }
    if vectors % 2 == 1 {
        add::<V, M, R>(proof, &mut sums, 0, &x, &w, vectors - 1);
    }
    let (x, w) = (x_rest.each_ref().map(std::slice::from_ref), w_rest.each_ref().map(std::slice::from_ref));
    add::<V, M, R>(proof, &mut sums, 1, &x, &w, 0);
    let mut all = [[0.0; R]; M];
    for m in 0..M {
        for r in 0..R {
            all[m][r] = sum(sums[m][r][0].add(sums[m][r][1]));
        }
    }
    all
}

/// The last elements of a row, and zeros.
#[inline(always)]
fn padded(rest: &[f32]) -> [f32; B] {
    let mut all = [0.0; B];
    all[..rest.len()].copy_from_slice(rest);
    all
}

/// Adds the products of vector `i` of the rows and of the weights to the sums `u`.
#[inline(always)]
fn add<V: Vector<B>, const M: usize, const R: usize>(
    proof: V::Proof,
    sums: &mut [[[V; 2]; R]; M],
    u: usize,
    x: &[&[[f32; B]]; M],
    w: &[&[[f32; B]]; R],
    i: usize,
) {
    let mut loaded = [V::splat(proof, 0.0); R];
    for r in 0..R {
        loaded[r] = V::load(proof, &w[r][i]);
    }
    for m in 0..M {
        let x = V::load(proof, &x[m][i]);
        for r in 0..R {
            sums[m][r][u] = sums[m][r][u].add_product(x, loaded[r]);
        }
    }
}

/// The sum of all lanes, by halves.
#[inline(always)]
fn sum<V: Vector<B>>(lanes: V) -> f32 {
    let mut all = [0.0; B];
    lanes.store(&mut all);
    let mut half = B / 2;
    while half > 0 {
        for i in 0..half {
            all[i] += all[i + half];
        }
        half /= 2;
    }
    all[0]
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn values(n: usize, seed: u32) -> Vec<f32> {
        let state = Cell::new(seed);
        let next = |_| {
            state.set(state.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
            (state.get() >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..n).map(next).collect()
    }

    fn product([m, n, k]: [usize; 3], x: &[f32], w: &[f32]) -> Vec<f32> {
        let mut dst = vec![f32::NAN; m * n];
        rows_times_transposed([m, n, k], x, w, &mut dst, &|_, _, _| {});
        dst
    }

    #[test]
    fn products_agree_with_the_definition_in_f64() {
        for m in 0..=MOST_ROWS {
            for (n, k) in
                [(1, 1), (3, 15), (4, 16), (5, 17), (7, 31), (8, 33), (2, 0), (0, 5), (33, 100), (3, 40_000)]
            {
                let (x, w) = (values(m * k, 1), values(n * k, 2));
                let got = product([m, n, k], &x, &w);
                for (i, &got) in got.iter().enumerate() {
                    let pairs = || x[i / n * k..][..k].iter().zip(&w[i % n * k..][..k]);
                    let want: f64 = pairs().map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                    let size: f64 = pairs().map(|(&a, &b)| (f64::from(a) * f64::from(b)).abs()).sum();
                    assert!((f64::from(got) - want).abs() <= 1e-6 * size, "{m} {n} {k}: {got} and {want}");
                }
            }
        }
    }

    /// Weights that come from memory, and the same in parts that do not.
    #[test]
    fn bits_do_not_depend_on_how_weights_are_read() {
        let k = 1000;
        let n = machine().caches.second / (k * size_of::<f32>()) + 5;
        let (x, w) = (values(MOST_ROWS * k, 3), values(n * k, 4));
        for m in [1, 2, MOST_ROWS] {
            let all = product([m, n, k], &x[..m * k], &w);
            for first in (0..n).step_by(64) {
                let some = 64.min(n - first);
                let part = product([m, some, k], &x[..m * k], &w[first * k..][..some * k]);
                for row in 0..m {
                    assert_eq!(part[row * some..][..some], all[row * n + first..][..some]);
                }
            }
        }
    }

    #[test]
    fn bits_depend_neither_on_other_rows_and_outputs_nor_on_threads() {
        let (n, k) = (37, 1000);
        let (x, w) = (values(MOST_ROWS * k, 3), values(n * k, 4));
        let all = product([MOST_ROWS, n, k], &x, &w);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(|| product([MOST_ROWS, n, k], &x, &w)), all);
        for m in 1..MOST_ROWS {
            assert_eq!(product([m, n, k], &x[..m * k], &w), all[..m * n]);
        }
        for j in 0..n {
            assert_eq!(product([1, 1, k], &x[..k], &w[j * k..][..k]), [all[j]]);
        }
    }

    #[test]
    fn what_follows_gets_each_element_once() {
        let (x, w) = (values(2 * 9, 5), values(50_000 * 9, 6));
        let plain = product([2, 50_000, 9], &x, &w);
        let mut dst = vec![0.0; 2 * 50_000];
        rows_times_transposed([2, 50_000, 9], &x, &w, &mut dst, &|row, first, part| {
            part.iter_mut().enumerate().for_each(|(i, v)| *v += (row * 50_000 + first + i) as f32);
        });
        let mut all = dst.iter().zip(&plain).enumerate();
        assert!(all.all(|(i, (&got, &product))| got == product + i as f32));
    }
}
