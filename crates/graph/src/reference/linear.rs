//! Linear layers and products of matrices.

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

/// `x W^T + b` with W of [outputs, inputs].
fn linear(call: &Call<'_>) -> Result<Vec<f64>> {
    let (x, weights, bias) = (call.input("x")?, call.input("weights")?, call.optional("bias"));
    let (outputs, inputs) = match weights.dims[..] {
        [outputs, inputs] => (outputs, inputs),
        _ => return Err(call.lacks("weights")),
    };
    let mut transposed = filled(weights.data.len(), 0.0)?;
    in_parts(&mut transposed, outputs, |i, to| {
        to.iter_mut().enumerate().for_each(|(o, v)| *v = weights.data[o * inputs + i]);
    });
    let mut data = filled(call.result().iter().product(), 0.0)?;
    if let Some(bias) = bias {
        data.chunks_exact_mut(outputs.max(1)).for_each(|row| row.copy_from_slice(&bias.data));
    }
    add_product(&x.data, &transposed, (inputs, outputs), &mut data);
    Ok(data)
}

/// The product over the last two axes; those before them broadcast.
fn matmul(call: &Call<'_>) -> Result<Vec<f64>> {
    let (a, b, dims) = (call.input("a")?, call.input("b")?, call.result());
    let ([.., m, k], [.., n]) = (&a.dims[..], &b.dims[..]) else { return Err(call.lacks("a")) };
    let (m, k, n) = (*m, *k, *n);
    let batch = &dims[..dims.len().saturating_sub(2)];
    let mut data = filled(dims.iter().product(), 0.0)?;
    if m * n == 0 {
        return Ok(data);
    }
    for (i, to) in data.chunks_exact_mut(m * n).enumerate() {
        let first = |own: &[usize], size: usize| {
            let own = &own[..own.len() - 2];
            super::binary::source(i, batch, own) * size
        };
        let (from_a, from_b) = (first(&a.dims, m * k), first(&b.dims, k * n));
        add_product(&a.data[from_a..][..m * k], &b.data[from_b..][..k * n], (k, n), to);
    }
    Ok(data)
}
