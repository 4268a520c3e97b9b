//! How far a result may be from PyTorch's.

use crate::calls::{Held, info, read, to_strided};
use crate::samples::Array;

/// Limits of a difference: a part of the element's magnitude, and a part of the largest finite one of the result.
/// docs/checks.md has the table that these follow. Answers are rounded to f32, which adds 6e-8.
fn limits(op: &str) -> (f64, f64) {
    match op {
        "conv1d" | "conv2d" | "conv3d" | "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d"
        | "linear" | "matmul" | "cumsum" | "sum" | "mean" => (1e-5, 1e-5),
        "batch_norm" | "batch_norm_train" | "group_norm" | "instance_norm" | "layer_norm" => (1e-5, 1e-5),
        "local_response_norm" => (1e-6, 1e-6),
        "softmax" => (1.3e-6, 1e-8),
        "log_softmax" => (7e-7, 3e-7),
        "prod" => (3e-7, 0.0),
        _ if op.starts_with("upsample_") && op != "upsample_nearest" => (1e-6, 1e-6),
        "grid_sample" => (5e-6, 5e-6),
        _ if op.contains("avg_pool") => (7e-7, 1e-6),
        "gelu_tanh" => (4e-5, 1e-5),
        "celu" | "cos" | "elu" | "erf" | "exp" | "gelu" | "hardsigmoid" | "hardswish" | "log" | "logit"
        | "mish" | "rsqrt" | "selu" | "sigmoid" | "silu" | "sin" | "softplus" | "softsign" | "sqrt"
        | "tanh" | "reciprocal" | "square" | "leaky_relu" | "prelu" => (4e-6, 1e-6),
        "pow" | "pow_scalar" | "div" | "div_scalar" => (3e-7, 0.0),
        "add" | "sub" | "mul" | "add_channel" | "mul_channel" | "mul_scalar" => (1.3e-7, 0.0),
        // PyTorch's answer is computed with the number in f64.
        "add_scalar" | "sub_scalar" => (1.3e-7, 1.3e-7),
        // Moves, comparisons, extremes, rounding.
        _ => (0.0, 0.0),
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Why the results are not PyTorch's. Blocked results are reordered first.
pub fn differences(op: &str, got: &[Held], want: &[Option<Array>]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} results, PyTorch has {}", got.len(), want.len()));
    }
    got.iter().zip(want).enumerate().find_map(|(i, (got, want))| {
        let want = want.as_ref()?;
        different(op, got, want).map(|text| format!("result {i}: {text}"))
    })
}

fn different(op: &str, got: &Held, want: &Array) -> Option<String> {
    let known = info(got);
    if (known.dtype, &known.dims) != (want.dtype, &want.dims) {
        return Some(format!(
            "type {}, sizes {:?}; PyTorch has type {}, {:?}",
            known.dtype, known.dims, want.dtype, want.dims
        ));
    }
    let plain;
    let strided = if known.key == "blocked" {
        plain = to_strided(got);
        &plain
    } else {
        got
    };
    let bytes = match read(strided, want.bytes) {
        Ok(bytes) => bytes,
        Err((status, text)) => return Some(format!("cannot be read: {status}: {text}")),
    };
    if want.dtype != 0 {
        let at = bytes.iter().zip(want.as_bytes()).position(|(a, b)| a != b)?;
        return Some(format!("byte {at} is {}, PyTorch's is {}", bytes[at], want.as_bytes()[at]));
    }
    let (got, want) = (floats(&bytes), floats(want.as_bytes()));
    let largest = want.iter().filter(|v| v.is_finite()).fold(0f64, |m, &v| m.max(f64::from(v).abs()));
    let (of_value, of_largest) = limits(op);
    got.iter().zip(&want).enumerate().find_map(|(at, (&got, &want))| {
        let limit = of_value * f64::from(want).abs() + of_largest * largest;
        let same = if want.is_finite() {
            (f64::from(got) - f64::from(want)).abs() <= limit
        } else {
            got == want || got.is_nan() && want.is_nan()
        };
        (!same).then(|| format!("element {at} is {got:e}, PyTorch's is {want:e}, limit {limit:e}"))
    })
}
