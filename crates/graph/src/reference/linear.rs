//! Linear layers and products of matrices.

use super::post_ops::Fused;
use super::{Call, Evaluate, filled, in_parts};
use crate::error::Result;

pub(super) fn evaluator(op: &str) -> Option<Evaluate> {
    match op {
        "linear" => Some(|call| Ok(vec![linear(call)?])),
        "matmul" => Some(|call| Ok(vec![matmul(call)?])),
        _ => None,
    }
}

/// Rows that one thread computes together.
const ROWS: usize = 16;

/// Adds the product of `a`, rows of `k` numbers, and `b`, `k` rows of `n` numbers.
fn add_product(a: &[f64], b: &[f64], (k, n): (usize, usize), to: &mut [f64]) {
    if n == 0 {
        return;
    }
    in_parts(to, ROWS * n, |part, to| {
        let mut at = 0;
        while at < k {
            let together = (k - at).min(4);
            for (i, to) in to.chunks_exact_mut(n).enumerate() {
                let factors = &a[(part * ROWS + i) * k + at..][..together];
                match *factors {
                    [f0, f1, f2, f3] => {
                        let rows = |l: usize| &b[(at + l) * n..][..n];
                        let (r0, r1, r2, r3) = (rows(0), rows(1), rows(2), rows(3));
                        for j in 0..n {
                            to[j] += f0 * r0[j] + f1 * r1[j] + f2 * r2[j] + f3 * r3[j];
                        }
                    }
                    _ => {
                        for (l, f) in factors.iter().enumerate() {
                            to.iter_mut().zip(&b[(at + l) * n..]).for_each(|(v, b)| *v += f * b);
                        }
                    }
                }
            }
            at += together;
        }
    });
}

/// Outputs that one thread computes together, and rows of the source that it reads for all of them before it goes on.
const OUTPUTS: usize = 16;
const TILE: usize = 64;

/// The sums of the products of `weights` with four rows.
fn dots(weights: &[f64], rows: [&[f64]; 4]) -> [f64; 4] {
    let mut sums = [[0.0; 4]; 4];
    let (chunks, rest) = weights.as_chunks::<4>();
    let split = rows.map(|row| row.as_chunks::<4>());
    for (i, w) in chunks.iter().enumerate() {
        for (sum, (row, _)) in sums.iter_mut().zip(&split) {
            (0..4).for_each(|l| sum[l] += w[l] * row[i][l]);
        }
    }
    for (sum, (_, row)) in sums.iter_mut().zip(&split) {
        sum.iter_mut().zip(rest).zip(*row).for_each(|((s, w), x)| *s += w * x);
    }
    sums.map(|sum| sum.iter().sum())
}

/// `x W^T + b` with W of [outputs, inputs], and post-ops, of which outputs are the channels.
fn linear(call: &Call<'_>) -> Result<Vec<f64>> {
    let (x, weights, bias) = (call.input("x")?, call.input("weights")?, call.optional("bias"));
    let (outputs, inputs) = match weights.dims[..] {
        [outputs, inputs] => (outputs, inputs),
        // One output, without an axis in the result.
        [inputs] => (1, inputs),
        _ => return Err(call.lacks("weights")),
    };
    let (fused, centred) = (Fused::of(call)?, call.centred(x, "x_zero_point")?);
    let rows = call.result().iter().product::<usize>() / outputs.max(1);
    let row = |r: usize| &centred[r.min(rows - 1) * inputs..][..inputs];
    // By outputs first, as threads share neither outputs nor their weights.
    let mut by_output = filled(outputs * rows, 0.0)?;
    in_parts(&mut by_output, OUTPUTS * rows, |part, to| {
        for tile in (0..rows).step_by(TILE) {
            for (o, to) in to.chunks_exact_mut(rows).enumerate() {
                let o = part * OUTPUTS + o;
                let (weights, shift) =
                    (&weights.data[o * inputs..][..inputs], bias.map_or(0.0, |b| b.data[o]));
                for (i, to) in to[tile..(tile + TILE).min(rows)].chunks_mut(4).enumerate() {
                    let first = tile + 4 * i;
                    let sums = dots(weights, [row(first), row(first + 1), row(first + 2), row(first + 3)]);
                    to.iter_mut().zip(sums).for_each(|(v, sum)| *v = sum + shift);
                }
            }
        }
    });
    super::each(by_output.len(), |i| {
        let mut value = [by_output[i % outputs * rows + i / outputs]];
        fused.apply(i % outputs, i, &mut value);
        value[0]
    })
}

/// The product over the last two axes; those before them broadcast.
fn matmul(call: &Call<'_>) -> Result<Vec<f64>> {
    let (a, b, dims) = (call.input("a")?, call.input("b")?, call.result());
    let (numbers_a, numbers_b) = (call.centred(a, "a_zero_point")?, call.centred(b, "b_zero_point")?);
    // A vector is one row of `a`, or one column of `b`; the result has no axis for it.
    let (is_row, is_column) = (a.dims.len() == 1, b.dims.len() == 1);
    let of_a = if is_row { [&[1], &a.dims[..]].concat() } else { a.dims.clone() };
    let of_b = if is_column { [&b.dims[..], &[1]].concat() } else { b.dims.clone() };
    let ([.., m, k], [.., n]) = (&of_a[..], &of_b[..]) else { return Err(call.lacks("a")) };
    let (m, k, n) = (*m, *k, *n);
    let batch = &dims[..dims.len() - usize::from(!is_row) - usize::from(!is_column)];
    let mut data = filled(dims.iter().product(), 0.0)?;
    if m * n == 0 {
        return Ok(data);
    }
    for (i, to) in data.chunks_exact_mut(m * n).enumerate() {
        let first = |own: &[usize], size: usize| {
            let own = &own[..own.len() - 2];
            super::binary::source(i, batch, own) * size
        };
        let (from_a, from_b) = (first(&of_a, m * k), first(&of_b, k * n));
        add_product(&numbers_a[from_a..][..m * k], &numbers_b[from_b..][..k * n], (k, n), to);
    }
    Ok(data)
}
