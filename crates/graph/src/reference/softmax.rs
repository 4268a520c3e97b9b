//! Softmax and its logarithm.

use super::{Call, Evaluate, around, filled, in_parts};
use crate::error::Result;

pub(super) fn evaluator(op: &str) -> Option<Evaluate> {
    match op {
        "softmax" => Some(|call| run(call, false)),
        "log_softmax" => Some(|call| run(call, true)),
        _ => None,
    }
}

fn run(call: &Call<'_>, log: bool) -> Result<Vec<Vec<f64>>> {
    let x = call.input("x")?;
    let (_, length, after) = around(&x.dims, call.count("axis")?);
    let mut data = filled(x.data.len(), 0.0)?;
    let size = length * after;
    in_parts(&mut data, size, |part, to| {
        let from = &x.data[part * size..][..to.len()];
        for first in 0..after {
            let line = || from[first..].iter().step_by(after);
            let largest = line().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = line().map(|x| (x - largest).exp()).sum();
            for (v, x) in to[first..].iter_mut().step_by(after).zip(line()) {
                *v = if log { x - largest - sum.ln() } else { (x - largest).exp() / sum };
            }
        }
    });
    Ok(vec![data])
}
