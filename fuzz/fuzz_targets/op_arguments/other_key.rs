//! The same call under the other key.

use blocktensor::dispatch::{self, DispatchKey, Op, Value};
use blocktensor::{DType, Layout, MemoryFormat, Operand, Tensor};
use blocktensor_fuzz::check_error;
use blocktensor_fuzz::numbers::{bits, elements};

use crate::{Call, blocked_weights};

/// Makes the same call with its operands under the other key. If that key has a kernel, the results must agree.
pub fn on_other_key(op: &Op, call: &Call, results: &[Tensor]) {
    let to_blocked = call.key(op) == DispatchKey::STRIDED;
    let transposed = op.schema().name.starts_with("conv_t");
    let reordered = |name: &str, t: &Tensor| -> Option<Tensor> {
        Some(match t {
            Tensor::Strided(s) if to_blocked && name == "weights" => {
                let (first, second) = (*s.dims().first()?, s.dims().get(1)? * call.groups);
                let (c, o) = if transposed { (first, second) } else { (second, first) };
                blocked_weights(s, op.schema().name, call.groups, c, o)?
            }
            Tensor::Strided(s) if to_blocked => {
                s.to_blocked(&Layout::native_activation(s.rank()).ok()?).ok()?.into()
            }
            Tensor::Blocked(b) => {
                let plain = b.to_strided(MemoryFormat::Contiguous).expect("a reorder of what is there");
                if name != "weights" {
                    return Some(plain.into());
                }
                // Strided convolutions take weights without a dimension for the groups, transposed ones with their input
                // channels first.
                let first = usize::from(call.groups > 1);
                let plain = if transposed { plain.transpose(first, first + 1).ok()? } else { plain };
                if call.groups > 1 { plain.flatten(0, 1).ok()?.into() } else { plain.into() }
            }
            other => other.clone(),
        })
    };
    let mut values = Vec::new();
    for (name, value) in &call.values {
        let is_data = op.schema().args.iter().any(|a| a.name == name && a.kind.is_data());
        let other = match value {
            Value::Tensor(t) if is_data => reordered(name, t).map(Value::Tensor),
            Value::Tensors(list) if is_data => {
                list.iter().map(|t| reordered(name, t)).collect::<Option<Vec<_>>>().map(Value::Tensors)
            }
            other => Some(other.clone()),
        };
        let Some(other) = other else { return };
        values.push((name.as_str(), other));
    }
    let others = match dispatch::call(op.schema().name, &values) {
        Ok(others) => others,
        Err(e) => {
            check_error(&e);
            // Every op with a blocked kernel has a strided one.
            assert!(to_blocked, "{} on blocked operands only: {e}: {call:?}", op.schema().name);
            return;
        }
    };
    assert_eq!(results.len(), others.len(), "{}: {call:?}", op.schema().name);
    for (a, b) in results.iter().zip(&others) {
        let (a, b) = (numbers(a), numbers(b));
        assert_eq!((&a.0, a.1.len()), (&b.0, b.1.len()), "{}: {call:?}", op.schema().name);
        for (i, (x, y)) in a.1.iter().zip(&b.1).enumerate() {
            let near = (x - y).abs() <= 1e-3 * (1.0 + x.abs().min(y.abs()));
            // Sums in another order may overflow at other elements.
            assert!(
                near || !x.is_finite() || !y.is_finite(),
                "{} at {i}: {x} and {y} on the other key",
                op.schema()
            );
        }
    }
}

/// Sizes, and elements as numbers; for dtypes that no kernel computes with, their bits.
fn numbers(t: &Tensor) -> (Vec<usize>, Vec<f64>) {
    let dims = t.tensor_ref().dims().to_vec();
    if dims.iter().product::<usize>() > 1 << 16 {
        return (dims, Vec::new());
    }
    let list = match t {
        Tensor::Strided(s) if s.dtype() == DType::F32 => {
            elements::<f32>(s).into_iter().map(f64::from).collect()
        }
        Tensor::Blocked(b) if b.dtype() == DType::F32 => {
            let plain = b.to_strided(MemoryFormat::Contiguous).expect("a reorder of what is there");
            elements::<f32>(&plain).into_iter().map(f64::from).collect()
        }
        other => bits(other).1.into_iter().map(f64::from).collect(),
    };
    (dims, list)
}
